"""SparseTensorClassifier: the scikit-learn estimator. It validates, and delegates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from stc import formulas
from stc.encode import encode, encode_sample_weight, encode_target
from stc.explain import LocalExplanation
from stc.model import Model
from stc.observations import Column, Observations
from stc.schema import Schema
from stc.scoring import Scorer, seen_share
from stc.tables import corpus_table, feature_names


class HardlyCategoricalWarning(UserWarning):
    """A column of measurements was given where categories are expected.

    Examples
    --------
    >>> import warnings
    >>> from stc import HardlyCategoricalWarning, SparseTensorClassifier
    >>> weights = [[k + 0.5] for k in range(30)]
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = SparseTensorClassifier().fit(weights, [k % 2 for k in range(30)])
    >>> caught[0].category is HardlyCategoricalWarning
    True
    """


class SparseTensorClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Explainable probabilistic classifier for categorical data.

    An item is a bag of values; the model is one sparse table of numbers, the corpus; a prediction
    is a sum of named contributions.

    Parameters
    ----------
    power : float, default=0.5
        p: how contributions add up. 1 adds probabilities, 1/2 amplitudes; smaller is bolder.
    balance : float, default=1.0
        b: how far frequent classes lose their advantage. 0 keeps it, 1 makes classes equal.
    entropy : float, default=1.0
        h: how much values that occur in all classes alike are discounted. 0: not at all.
    missing : {"ignore", "category"}, default="ignore"
        Whether a missing value contributes nothing or is a category of its own.
    tokenizer : callable, default=None
        How a document (a string) becomes a list of tokens. None: words and punctuation.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted, in the dtype of y.
    n_features_in_ : int
        Number of attributes (columns, or keys of the records) learnt from.
    feature_names_in_ : ndarray of str
        Their names, if they had any.
    class_mass_ : ndarray
        Weight of the items learnt, per class.
    corpus_ : polars.DataFrame
        What was learnt: attribute, value, class, mass, support.

    Notes
    -----
    `power`, `balance` and `entropy` act at prediction time: change them with `set_params` and
    predict again, without fitting again.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}, {"fins": 1, "legs": 0}]
    >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird", "fish"])
    >>> model.predict([{"legs": 2}, {"fins": 1, "hair": None}]).tolist()
    ['bird', 'fish']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "power": [Interval(Real, 0, None, closed="neither")],
        "balance": [Interval(Real, 0, None, closed="left")],
        "entropy": [Interval(Real, 0, None, closed="left")],
        "missing": [StrOptions({"ignore", "category"})],
        "tokenizer": [callable, None],
    }

    _model: Model
    _scorers: dict[tuple[float, float, float], Scorer]
    _warned: bool

    def __init__(
        self,
        power: float = 0.5,
        balance: float = 1.0,
        entropy: float = 1.0,
        *,
        missing: Literal["ignore", "category"] = "ignore",
        tokenizer: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        self.power = power
        self.balance = balance
        self.entropy = entropy
        self.missing = missing
        self.tokenizer = tokenizer

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from nothing.

        Parameters
        ----------
        X : frame, list of dicts, 2-D array, sparse matrix, or strings
            The items: see the guide to inputs. Never changed.
        y : array-like of labels, or list of dicts class -> weight
            The class of each item, or a distribution over classes.
        sample_weight : array-like, default=None
            Weight of each item; zero is absence.

        Returns
        -------
        SparseTensorClassifier
            Itself.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.predict([["green"]]).tolist()
        ['go']
        """
        self._validate_params()
        batch = self._batch(X, y, sample_weight, None)
        self._become(Model.blank(batch[0]).learnt(*batch), batch[0], warned=False)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more. New values and classes may come at any time; in records, attributes too.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, default=None
            Classes to have from now on even if no item shows them; optional.

        Returns
        -------
        SparseTensorClassifier
            Itself.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().partial_fit([["red"]], ["stop"])
        >>> model.partial_fit([["green"]], ["go"]).classes_.tolist()
        ['go', 'stop']
        """
        self._validate_params()
        model = getattr(self, "_model", None)
        batch = self._batch(X, y, sample_weight, model)
        warned = model is not None and self._warned
        if model is None:
            model = Model.blank(batch[0])
        if classes is not None:
            model = model.declaring(np.asarray(encode_target(classes).values))
        self._become(model.learnt(*batch), batch[0], warned=warned)
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget items that were learnt: exactly, as if they had never been seen.

        Parameters
        ----------
        X, y, sample_weight
            The items as they were learnt.

        Returns
        -------
        SparseTensorClassifier
            Itself.

        Raises
        ------
        ValueError
            If some of it was never learnt; the model stays as it was.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.unlearn([["red"]], ["stop"]).classes_.tolist()
        ['go']
        """
        check_is_fitted(self)
        model = self._model.unlearnt(*self._batch(X, y, sample_weight, self._model))
        if len(model.classes):
            self._model, self._scorers = model, {}
        else:  # nothing is left, not even the attributes
            del self._model, self._scorers, self._warned
        return self

    def merge(self, other: SparseTensorClassifier) -> Self:
        """Learn all that another model has learnt.

        Parameters
        ----------
        other : SparseTensorClassifier
            A fitted model of the same attributes; it is not changed.

        Returns
        -------
        SparseTensorClassifier
            Itself, the same as if it had learnt the other's items.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> north = SparseTensorClassifier().fit([["snow"]], ["winter"])
        >>> south = SparseTensorClassifier().fit([["sun"]], ["summer"])
        >>> (north + south).predict([["sun"], ["snow"]]).tolist()
        ['summer', 'winter']
        """
        if not isinstance(other, SparseTensorClassifier):
            raise TypeError(f"can only merge a SparseTensorClassifier, got {type(other).__name__}")
        check_is_fitted(self)
        check_is_fitted(other)
        self._model = self._model.merged(other._model)
        self._scorers = {}
        return self

    def __add__(self, other: Any) -> SparseTensorClassifier:
        """Merge two models into a new one; neither is changed."""
        if not isinstance(other, SparseTensorClassifier):
            return NotImplemented
        check_is_fitted(self)
        both = type(self)(**self.get_params(deep=False))
        both._model, both._scorers = self._model, {}
        both._warned = self._warned
        return both.merge(other)

    # --- predicting -------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Most probable class of each item; of equals, the first.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of shape (n_items,)
            Classes, in the dtype of y.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.predict(["what fun!"]).tolist()
        ['+']
        """
        frequencies = self._fitted_model().frequencies
        best = self._map_scores(X, lambda U: formulas.most_probable(U, frequencies))
        labels: NDArray[Any] = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class for each item, in the order of `classes_`.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            Rows sum to 1. An item of which nothing is known gets the class frequencies.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["a"], ["b"]], [0, 1, 1])
        >>> model.predict_proba([["b"], ["never seen"]]).round(2).tolist()
        [[0.0, 1.0], [0.33, 0.67]]
        """
        frequencies = self._fitted_model().frequencies
        return self._map_scores(X, lambda U: formulas.probabilities(U, self.power, frequencies))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithm of the probabilities, exact also where they are too small for a double.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of shape (n_items, n_classes)
            Natural logarithms, -inf for probability 0.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"])
        >>> model.predict_log_proba([["a"]]).tolist()
        [[0.0, -inf]]
        """
        frequencies = self._fitted_model().frequencies
        return self._map_scores(X, lambda U: formulas.log_probabilities(U, self.power, frequencies))

    def coverage(self, X: Any) -> NDArray[np.float64]:
        """Share of each item that was ever seen in learning; 0 for an item without values.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of shape (n_items,)
            From 0 (the prediction is the class frequencies) to 1 (all values known).

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"]], ["x"])
        >>> model.coverage([["a", "b"], ["a", "new"]]).tolist()
        [1.0, 0.5]
        """
        return self._seen_share(self._observe(X, self._fitted_model()))

    def explain(self, X: Any) -> LocalExplanation:
        """Why each item gets the class it gets: the contributions that its score is the sum of.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        LocalExplanation
            A table of contributions; printed, it is a sentence an item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}]
        >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird"])
        >>> print(model.explain([{"hair": 1, "legs": 4}]))
        mammal, 1.00: because hair=1 (50 %), legs=4 (50 %)
        """
        model = self._fitted_model()
        observed = self._observe(X, model)
        frequencies = model.frequencies
        proba = self._scorer().map(
            observed, lambda U: formulas.probabilities(U, self.power, frequencies)
        )
        best = np.argmax(proba, axis=1)
        return LocalExplanation.of(
            labels=self.classes_[best],
            probabilities=proba[np.arange(len(best)), best],
            coverage=self._seen_share(observed),
            contributions=self._scorer().contributions(observed, best),
            features=model.vocabulary.features(),
        )

    # --- what was learnt ----------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted, in the dtype of y."""
        return self._learnt().classes

    @property
    def class_mass_(self) -> NDArray[np.float64]:
        """Weight of the items learnt, per class."""
        return self._learnt().corpus.class_mass

    @property
    def corpus_(self) -> pl.DataFrame:
        """What was learnt, one row an entry: attribute, value, class, mass, support."""
        return corpus_table(self._learnt())

    @property
    def n_features_in_(self) -> int:
        """Number of attributes learnt from; documents are one."""
        return max(self._learnt().schema.width, 1)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the attributes learnt from, if they had names."""
        schema = self._learnt().schema
        if not schema.named:
            raise AttributeError("the columns learnt from had no names")
        return np.array(schema.names, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features: "attribute=value", a word, or a column of counts.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Not used; there because scikit-learn passes it.

        Returns
        -------
        ndarray of str
            One name a feature, in the model's order.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([{"legs": 4}, {"legs": 2}], ["dog", "hen"])
        >>> model.get_feature_names_out().tolist()
        ['legs=4', 'legs=2']
        """
        return np.array(feature_names(self._fitted_model()), dtype=object)

    # --- inside ---------------------------------------------------------------------------------

    def _learnt(self) -> Model:
        """The model, or an AttributeError, which is how scikit-learn asks what is fitted."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"this {type(self).__name__} has not been fitted yet")
        return self._model

    def _fitted_model(self) -> Model:
        check_is_fitted(self)
        return self._model

    def _become(self, model: Model, observed: Observations, *, warned: bool) -> None:
        """Take over a new model: the only place where learning changes the estimator."""
        doubtful = [str(c.attribute) for c in observed.columns if c.continuous and not warned]
        if doubtful:
            warnings.warn(
                f"nearly every value of column {', '.join(map(repr, doubtful))} is distinct: "
                "numbers like these are hardly categories; bin them first",
                HardlyCategoricalWarning,
                stacklevel=3,
            )
        self._model = model
        self._warned = warned or bool(doubtful)
        self._scorers = {}

    def _batch(
        self, X: Any, y: Any, sample_weight: Any, model: Model | None
    ) -> tuple[Observations, Column, NDArray[np.float64]]:
        """Encode and check everything a call brings before anything is changed."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, "
                "but the target y is None."
            )
        observed = self._observe(X, model)
        target = encode_target(y)
        if target.n_items != observed.n_items:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {observed.n_items} items, y has {target.n_items}"
            )
        return observed, target, encode_sample_weight(sample_weight, observed.n_items)

    def _observe(self, X: Any, model: Model | None) -> Observations:
        names = () if model is None else model.schema.names
        counts = model is not None and model.schema.kind == "counts"
        observed = encode(
            X, missing=self.missing, tokenizer=self.tokenizer, names=names, counts=counts
        )
        if model is None:
            return observed
        schema = model.schema
        schema.admit(Schema.of(observed))
        if not (schema.closed and observed.closed) or schema.kind == "documents":
            return observed
        self._check_columns(observed)
        return observed if schema.named == observed.named else observed.renamed(schema.names)

    def _check_columns(self, observed: Observations) -> None:
        """Let scikit-learn compare number and names of the columns, in its own words."""
        schema = Schema.of(observed)
        columns: Any = np.broadcast_to(0, (1, schema.width))
        if schema.named:
            columns = pl.DataFrame(schema=dict.fromkeys(schema.names, pl.Null))
        validate_data(self, columns, reset=False, skip_check_array=True)

    def _map_scores(
        self, X: Any, function: Callable[[formulas.Floats], NDArray[Any]]
    ) -> NDArray[Any]:
        scorer = self._scorer()
        return scorer.map(self._observe(X, self._model), function)

    def _seen_share(self, observed: Observations) -> NDArray[np.float64]:
        learnt = np.diff(self._model.corpus.mass.indptr) > 0
        return seen_share(self._model.vocabulary, observed, learnt)

    def _scorer(self) -> Scorer:
        """The weights for the hyper-parameters of now, computed once until something changes."""
        key = (self.power, self.balance, self.entropy)
        if key not in self._scorers:
            self._validate_params()
            log_W = formulas.log_weights(self._model.corpus.mass, *key)
            self._scorers.clear()
            self._scorers[key] = Scorer(self._model.vocabulary, log_W, self.power)
        return self._scorers[key]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_scorers": {}} if "_scorers" in state else state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
