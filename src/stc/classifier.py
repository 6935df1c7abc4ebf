"""SparseTensorClassifier, the scikit-learn estimator: it validates parameters and delegates."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from stc import learning
from stc._input.targets import encode_sample_weight
from stc._training.phases import PhaseLearner
from stc._training.policy_search import PolicyAgent
from stc._utils.validation import Interval, StrOptions
from stc.evaluation import compare, evaluate_source
from stc.exceptions import ParameterError, ParameterTypeError, StoreError
from stc.explain import GlobalExplanation, LocalExplanation
from stc.fitted import FittedModel, frozen
from stc.sources import MAX_EXPLAINED_ROWS, SelectedSource, source_of
from stc.sources.columns import LearningColumns, item_columns, items_in, source_of_frame
from stc.sources.prediction import predict_source
from stc.stores import shown_url
from stc.stores.stored_model import StoredModel

# Precedes the id of a batch in the ledger when it was unlearnt.
UNLEARNT = "unlearnt: "


class SparseTensorClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Explainable probabilistic classifier for categorical data.

    An item is a bag of values. The model is one sparse table of counts, the corpus. A prediction is
    a sum of named contributions.

    Parameters
    ----------
    power : float, default=0.5
        Exponent p of the weights. 1 adds probabilities, 1/2 adds amplitudes; smaller values give
        more confident predictions.
    balance : float, default=1.0
        Correction b of class imbalance. 0 keeps the advantage of frequent classes, 1 gives all
        classes the same total weight.
    entropy : float, default=1.0
        Exponent h of the entropy weights, which discount values that are equally frequent in all
        classes. 0 means no discount.
    dimensions : "each", list of lists of str, dict name -> list of str, default=None
        Groups of attributes that share a dimension of the tensor. With several dimensions a
        feature is a combination: one value of each dimension. None puts all attributes in one
        dimension, "each" gives every attribute a dimension. Attributes in no group are not used.
    policy : list of lists of str, "learn" or PolicyAgent, default=None
        Sets of dimensions to back off to, in order: an item is predicted by the first set that
        has a score for it. The class frequencies, [], are always the last. None uses all
        dimensions; "learn" learns the policy in `fit`.
    phases : dict, array, "learn" or PhaseLearner, default=None
        Angles in radians at which contributions are added, so that some cancel each other:
        {class: {attribute: {value: radians}}}, {class: {word: radians}}, or an array of shape
        (n_features, n_classes). "learn" learns them in `fit`. None uses learnt phases if there
        are any, {} uses none.
    interactions : int, default=1
        Largest number of attributes in a conjunction. With 2, `milk=1 and legs=4` is a feature
        in addition to the single values.
    min_support : int, default=1
        Fewest items of the first batch in which a conjunction or an n-gram must occur.
    max_features : int, default=None
        Largest number of conjunctions or n-grams; those with the highest entropy weight are kept.
    ngrams : int, default=1
        Largest length of the n-grams of a document that are features.
    continuous : "auto", list of str, or dict name -> knots, default=None
        Columns of numbers. A number is encoded as weights of two neighbouring intervals. A dict
        gives the number of knots, or the knots; otherwise they are 20 quantiles of the first
        batch. "auto" selects columns of floats with more than 20 distinct values.
    ordinal : dict name -> list of values, default=None
        Columns of ordered values, lowest first. Half of the weight of a value goes to its
        neighbours.
    targets : str or list of str, default=None
        Columns of the data that are the targets; `fit` then takes no y.
    label_threshold : float, default=None
        For items with several labels: smallest ratio of a label's probability to that of the most
        probable label at which it is predicted. None chooses one ratio per label by
        cross-validation, for the best micro-F1.
    missing : {"ignore", "category"}, default="ignore"
        Whether a missing value contributes nothing or is a category.
    tokenizer : callable, default=None
        Function from a document (a string) to a list of tokens. None splits it into words and
        punctuation.
    max_tuples : int, default=10_000_000
        Largest number of combinations of values that a batch may need, for each set of dimensions.
    store : str, default=None
        URL of the database that holds the model: "duckdb:///file", "sqlite:///file" or
        "postgresql://...". An existing model is loaded on first use; its parameters replace those
        that are left at their defaults. None keeps the model in memory.
    name : str, default="model"
        Name of the model in the store.

    Attributes
    ----------
    fitted_ : FittedModel
        The fitted model: immutable, and usable without the estimator.
    classes_ : ndarray, or list of ndarray
        Classes, sorted, in the dtype of y; with several targets, one array for each.
    joint_classes_ : ndarray of shape (n_joint, n_targets)
        Combinations of classes that were learnt.
    policy_ : list of lists of str
        Policy in use.
    policy_values_ : polars.DataFrame
        Mean reward of each state that was tried while the policy was learnt.
    label_threshold_ : ndarray
        Threshold of each label.
    phase_history_ : polars.DataFrame
        Steps of learning the phases: penalty, held-out fold, loss, held-out loss and accuracy.
    sharpness_ : float
        Factor of the exponent 1/p of the probabilities: the inverse of a temperature.
    n_features_in_ : int
        Number of attributes (columns, or keys of records) seen in `fit`.
    feature_names_in_ : ndarray of str
        Names of the attributes, if they have names.
    class_mass_ : ndarray
        Total weight of the learnt items of each class.
    corpus_ : polars.DataFrame
        The corpus: attribute, value, class, mass, support.

    Notes
    -----
    `power`, `balance` and `entropy` act at prediction time: change them with `set_params` and
    predict again, without fitting again.

    Several threads may use one estimator. Learning is serialised by a lock; each prediction uses
    one consistent state of the model.

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
        "dimensions": [StrOptions({"each"}), list, tuple, Mapping, None],
        "policy": [StrOptions({"learn"}), list, tuple, PolicyAgent, None],
        "phases": [StrOptions({"learn"}), Mapping, "array-like", PhaseLearner, None],
        "interactions": [Interval(Integral, 1, None, closed="left")],
        "min_support": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "ngrams": [Interval(Integral, 1, None, closed="left")],
        "continuous": [StrOptions({"auto"}), list, tuple, Mapping, None],
        "ordinal": [Mapping, None],
        "targets": [str, list, tuple, None],
        "label_threshold": [Interval(Real, 0, 1, closed="right"), None],
        "missing": [StrOptions({"ignore", "category"})],
        "tokenizer": [callable, None],
        "max_tuples": [Interval(Integral, 1, None, closed="left")],
        "store": [str, None],
        "name": [str],
    }

    def __init__(
        self,
        power: float = 0.5,
        balance: float = 1.0,
        entropy: float = 1.0,
        *,
        dimensions: Any = None,
        policy: Any = None,
        phases: Any = None,
        interactions: int = 1,
        min_support: int = 1,
        max_features: int | None = None,
        ngrams: int = 1,
        continuous: Any = None,
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        targets: str | Sequence[str] | None = None,
        label_threshold: float | None = None,
        missing: Literal["ignore", "category"] = "ignore",
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        max_tuples: int = 10_000_000,
        store: str | None = None,
        name: str = "model",
    ) -> None:
        self.power = power
        self.balance = balance
        self.entropy = entropy
        self.dimensions = dimensions
        self.policy = policy
        self.phases = phases
        self.interactions = interactions
        self.min_support = min_support
        self.max_features = max_features
        self.ngrams = ngrams
        self.continuous = continuous
        self.ordinal = ordinal
        self.targets = targets
        self.label_threshold = label_threshold
        self.missing = missing
        self.tokenizer = tokenizer
        self.max_tuples = max_tuples
        self.store = store
        self.name = name

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model; anything learnt before is replaced.

        Parameters
        ----------
        X : frame, list of dicts, 2-D array, sparse matrix, strings, or a source
            Items, as described in docs/inputs.md; they are not modified. A source is data that is
            not in memory: a path, a DuckDB relation, a Dask or Spark DataFrame, `stc.source(...)`.
        y : array-like of labels, list of dicts class -> weight, list of sets, or several columns
            Class of each item, or a distribution over classes; several labels per item, as lists,
            sets or an indicator matrix; or several targets, one column each. Or the name of a
            column of X (for a source, also a list of names). None if `targets` names them.
        sample_weight : array-like or str, default=None
            Weight of each item, or the name of a column of X. Items of weight 0 are ignored.

        Returns
        -------
        SparseTensorClassifier
            The fitted estimator.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.predict([["green"]]).tolist()
        ['go']
        """
        self._validate_params()
        with self._learning_lock():
            fitted = learning.fit(frozen(self._parameters()), X, y, sample_weight)
            if self.store is not None:
                self._attached(moving=False).replace(fitted)
            self._fitted = fitted
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        batch_id: str | None = None,
    ) -> Self:
        """Learn a batch in addition to what was learnt before.

        New values and new classes are accepted at any time, and new attributes in records.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, default=None
            Classes that the model has from now on, even if no item has them.
        batch_id : str, default=None
            Id of the batch. A batch whose id was learnt before is not counted again.

        Returns
        -------
        SparseTensorClassifier
            The fitted estimator.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().partial_fit([["red"]], ["stop"])
        >>> model.partial_fit([["green"]], ["go"]).classes_.tolist()
        ['go', 'stop']
        """
        self._validate_params()
        _check_id(batch_id)

        def learn(before: FittedModel | None) -> FittedModel:
            parameters = frozen(self._parameters())
            return learning.learn_more(before, parameters, X, y, sample_weight, classes)

        with self._learning_lock():
            if self.store is not None:
                self._attached().add(learn, batch_id, self.label_threshold is None)
                return self
            before = self.__dict__.get("_fitted")
            if before is None or batch_id not in before.state.batches:
                self._fitted = _noted(learn(before), batch_id)
        return self

    def unlearn(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, batch_id: str | None = None
    ) -> Self:
        """Remove learnt items from the model, exactly as if they had never been learnt.

        Parameters
        ----------
        X, y, sample_weight
            Items, labels and weights as they were learnt.
        batch_id : str, default=None
            Id of the batch. A batch whose id was unlearnt before is not subtracted again.

        Returns
        -------
        SparseTensorClassifier
            The fitted estimator.

        Raises
        ------
        NeverLearntError
            If some of the items were never learnt; the model is then unchanged.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.unlearn([["red"]], ["stop"]).classes_.tolist()
        ['go']
        """
        _check_id(batch_id)
        batch_id = None if batch_id is None else UNLEARNT + batch_id

        def unlearn(before: FittedModel) -> tuple[FittedModel | None, Any]:
            parameters, stored = frozen(self._parameters()), self.store is not None
            return learning.unlearn(before, parameters, X, y, sample_weight, delta=stored)

        with self._learning_lock():
            before = self._checked()
            if self.store is not None:
                self._attached().unlearn(unlearn, batch_id)
            elif batch_id not in before.state.batches:
                after, _ = unlearn(before)
                if after is None:  # nothing is left, not even the attributes
                    del self._fitted
                else:
                    self._fitted = _noted(after, batch_id)
        return self

    def merge(self, other: SparseTensorClassifier) -> Self:
        """Add the counts of another model to this one.

        Parameters
        ----------
        other : SparseTensorClassifier
            A fitted model of the same attributes; it is not modified.

        Returns
        -------
        SparseTensorClassifier
            The estimator, as if it had also learnt the items of the other one.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> north = SparseTensorClassifier().fit([["snow"]], ["winter"])
        >>> south = SparseTensorClassifier().fit([["sun"]], ["summer"])
        >>> (north + south).predict([["sun"], ["snow"]]).tolist()
        ['summer', 'winter']
        """
        if not isinstance(other, SparseTensorClassifier):
            raise ParameterTypeError(
                f"can only merge a SparseTensorClassifier, got {type(other).__name__}"
            )
        theirs = other._with_batches()
        self._checked()
        self._change(lambda before: learning.merge(before, theirs))
        return self

    def __add__(self, other: Any) -> SparseTensorClassifier:
        """Return a new model with the counts of both; neither is modified."""
        if not isinstance(other, SparseTensorClassifier):
            return NotImplemented
        return self._copied(self._with_batches()).merge(other)

    def learn_phases(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, learner: Any = None
    ) -> Self:
        """Learn the phases of a fitted model by gradient descent, without changing its counts.

        Parameters
        ----------
        X, y, sample_weight
            Items as in `fit`. Learnt items are left out of the weights that predict them.
        learner : PhaseLearner, default=None
            Options. None uses those of the parameter `phases`, or the defaults.

        Returns
        -------
        SparseTensorClassifier
            The fitted estimator. It has no phases if none improved the held-out loss.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
        >>> y = [a == b for a, b in X]
        >>> model = SparseTensorClassifier(entropy=0).fit(X, y)
        >>> before = model.score(X, y)
        >>> model.learn_phases(X, y).score(X, y) > before
        True
        """
        fitted = self._checked()
        if learner is not None and not isinstance(learner, PhaseLearner):
            raise ParameterTypeError(f"learner is a PhaseLearner, got {type(learner).__name__}")
        parameters = frozen(self._parameters())
        batch = learning.phase_batch(fitted, parameters, X, y, sample_weight)
        self._change(lambda before: learning.learn_phases(before, parameters, batch, learner))
        return self

    # --- predicting -------------------------------------------------------------------------

    def predict(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Predict the most probable class of each item; the first one in case of ties.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items,)
            Classes, in the dtype of y. With several targets, the most probable combination, one
            column per target. With several labels, the predicted labels in the form of y: a list
            of sets (or lists), or an indicator matrix.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.predict(["what fun!"]).tolist()
        ['+']
        """
        chosen = _source_to(X, theta, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "predict", to)
        return self._checked().predict(X, theta)

    def predict_proba(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Predict the probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items, n_classes), or a list of them
            Rows sum to 1. An item without known values gets the class frequencies. With several
            targets, a list with the probabilities of each target. For an indicator matrix, as in
            scikit-learn, the probability of each label by itself: above 1/2 if it is predicted.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["a"], ["b"]], [0, 1, 1])
        >>> model.predict_proba([["b"], ["never seen"]]).round(2).tolist()
        [[0.0, 1.0], [0.33, 0.67]]
        """
        chosen = _source_to(X, theta, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "predict_proba", to)
        return self._checked().predict_proba(X, theta)

    def predict_log_proba(self, X: Any, theta: Any = None, *, to: Any = None) -> Any:
        """Predict logarithms of the probabilities, also of those too small for a double.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items, n_classes), or a list of them
            Natural logarithms, -inf for probability 0.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"])
        >>> model.predict_log_proba([["a"]]).tolist()
        [[0.0, -inf]]
        """
        chosen = _source_to(X, theta, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "predict_log_proba", to)
        return self._checked().predict_log_proba(X, theta)

    def predict_joint(self, X: Any, theta: Any = None) -> pl.DataFrame:
        """Predict the probability of each combination of classes.

        Parameters
        ----------
        X
            Items, as in `fit`.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.

        Returns
        -------
        polars.DataFrame
            One row per item and combination: `item`, one column per target, `probability`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier(targets=["sky", "wind"])
        >>> days = [{"month": 1, "sky": "grey", "wind": 5}, {"month": 7, "sky": "blue", "wind": 1}]
        >>> model.fit(days).predict_joint([{"month": 7}]).rows()
        [(0, 'blue', 1, 1.0), (0, 'grey', 5, 0.0)]
        """
        return self._checked().predict_joint(_in_memory(X, "predict_joint"), theta)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of items with all targets and all labels correct.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
            Accuracy, from 0 to 1.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X, y = [["a"], ["b"]], [{"x"}, {"y", "z"}]
        >>> SparseTensorClassifier(label_threshold=0.5).fit(X, y).score(X, y)
        1.0
        """
        fitted = self._checked()
        chosen = source_of(X)
        if chosen is not None:
            columns = LearningColumns.of(fitted.reader, chosen, y, sample_weight, fitted.state)
            weight = columns.reader.roles.weight
            return evaluate_source(fitted, chosen, columns.targets, weight).accuracy
        reader = replace(fitted.reader, roles=fitted.reader.roles_with(y, sample_weight))
        sample_weight = reader.weight(X, sample_weight)
        observed, target = reader.observe(X, fitted.model), reader.target(X, y, fitted.model)
        correct = compare(fitted, observed, target).correct
        weights = encode_sample_weight(sample_weight, len(correct))
        return float(np.average(correct, weights=weights))

    def policy_used(self, X: Any) -> NDArray[np.object_]:
        """Return the set of dimensions of the policy that predicts each item.

        Parameters
        ----------
        X
            Items, as in `fit`.

        Returns
        -------
        ndarray of tuples of str
            Names of the dimensions; () if the class frequencies are used.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> policy = [["coat", "legs"], ["coat"]]
        >>> model = SparseTensorClassifier(dimensions="each", policy=policy)
        >>> animals = [{"coat": "hair", "legs": 4}, {"coat": "feathers", "legs": 2}]
        >>> model = model.fit(animals, ["mammal", "bird"])
        >>> model.policy_used([animals[0], {"coat": "hair", "legs": 2}, {"legs": 4}]).tolist()
        [('coat', 'legs'), ('coat',), ()]
        """
        return self._checked().policy_used(_in_memory(X, "policy_used"))

    def coverage(self, X: Any, *, to: Any = None) -> Any:
        """Return the share of each item's values that are known to the model.

        Parameters
        ----------
        X
            Items, as in `fit`.
        to : path or str, default=None
            File, or for some sources table or folder, to write the answers to. None returns them.

        Returns
        -------
        ndarray of shape (n_items,)
            From 0 (no known values: the prediction is the class frequencies) to 1 (all values are
            known). With several dimensions, for the first set of the policy with a known value.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"]], ["x"])
        >>> model.coverage([["a", "b"], ["a", "new"]]).tolist()
        [1.0, 0.5]
        """
        chosen = _source_to(X, None, to)
        if chosen is not None:
            return predict_source(self._checked(), chosen, "coverage", to)
        return self._checked().coverage(X)

    @overload
    def explain(self, X: None = None, theta: None = None) -> GlobalExplanation: ...

    @overload
    def explain(self, X: Any, theta: Any = None) -> LocalExplanation: ...

    def explain(self, X: Any = None, theta: Any = None) -> LocalExplanation | GlobalExplanation:
        """Explain the prediction of each item; without items, explain the model.

        Parameters
        ----------
        X
            Items, as in `fit`. None explains the whole model.
        theta
            Phases of the values in radians, in the form of X: one angle per cell, or one dict
            word -> radians per document. None means 0.

        Returns
        -------
        LocalExplanation or GlobalExplanation
            A table of contributions, or of weights. Printed, one sentence per item, or per class.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> animals = [{"hair": 1, "legs": 4}, {"feathers": 1, "legs": 2}]
        >>> model = SparseTensorClassifier().fit(animals, ["mammal", "bird"])
        >>> print(model.explain([{"hair": 1, "legs": 4}]))
        mammal, 1.00: because hair=1 (50 %), legs=4 (50 %)
        >>> print(model.explain())
        bird: feathers=1 (50 %), legs=2 (50 %)
        mammal: hair=1 (50 %), legs=4 (50 %)
        """
        fitted = self._checked()
        if X is None:
            if theta is not None:
                raise ParameterError("theta needs items", hint="pass X, too")
            return fitted.explain_global()
        chosen = _source_to(X, theta, None)
        return fitted.explain_local(X if chosen is None else _first_items(chosen, fitted), theta)

    # --- files --------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Save the model as a Parquet file.

        The rows are the corpus, the metadata is everything else; the file contains no code. It is
        written atomically: an error leaves the previous file.

        Parameters
        ----------
        path : str or path
            The file, usually with the suffix .stc.parquet.

        Examples
        --------
        >>> import tempfile
        >>> from stc import SparseTensorClassifier, load
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/lights.stc.parquet")
        ...     load(f"{folder}/lights.stc.parquet").predict([["green"]]).tolist()
        ['go']
        """
        self._with_batches().save(path)

    @classmethod
    def load(
        cls, path: str | Path, *, tokenizer: Callable[[str], Sequence[str]] | None = None
    ) -> Self:
        """Load a model that was saved with `save`.

        Parameters
        ----------
        path : str or path
            The file.
        tokenizer : callable, default=None
            The tokenizer that the model was fitted with, if any: it is code, so the file does not
            contain it.

        Returns
        -------
        SparseTensorClassifier
            The fitted estimator, in memory, with the parameters it was saved with.

        Raises
        ------
        ModelFileError
            If the file is not a model, is damaged, or was written by a later version.

        Examples
        --------
        >>> import tempfile
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier(power=0.4).fit(["good fun", "bad, bad"], ["+", "-"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/film.stc.parquet")
        ...     again = SparseTensorClassifier.load(f"{folder}/film.stc.parquet")
        >>> again.power, again.partial_fit(["so so"], ["0"]).predict(["so good"]).tolist()
        (0.4, ['0'])
        """

        def validate(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
            model = cls(**parameters)
            model._validate_params()
            return model._parameters()

        fitted = FittedModel.load(path, tokenizer=tokenizer, validate=validate)
        model = cls(**fitted.parameters)
        model._fitted = fitted
        return model

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        form: Literal["long", "wide"] = "long",
        features: str = "features",
        data: str | None = None,
        item: str = "item",
    ) -> str:
        """Return the predicted probabilities as one SQL query, which runs without stc.

        Parameters
        ----------
        dialect : str, default="duckdb"
            SQL dialect: "duckdb", "sqlite", "postgres", or another one of sqlglot.
        form : {"long", "wide"}, default="long"
            One row per item and class, or one row per item and one column per class (faster).
        features : str, default="features"
            Table with the columns item, feature and weight, one row for each value of an item;
            features are named as by `get_feature_names_out`.
        data : str, default=None
            Table with one row per item and one column per attribute, used instead of `features`.
        item : str, default="item"
            Column of `data` that identifies the items.

        Returns
        -------
        str
            A SELECT statement that contains the weights for the current parameters.

        Examples
        --------
        >>> import duckdb
        >>> from stc import SparseTensorClassifier
        >>> lights = [{"light": "red"}, {"light": "green"}]
        >>> model = SparseTensorClassifier().fit(lights, ["stop", "go"])
        >>> with duckdb.connect() as database:
        ...     _ = database.execute("CREATE TABLE lights AS SELECT 7 AS id, 'red' AS light")
        ...     sql = model.to_sql("duckdb", data="lights", item="id")
        ...     database.execute(sql + " ORDER BY class").fetchall()
        [(7, 'go', 0.0), (7, 'stop', 1.0)]
        """
        return self._checked().to_sql(dialect, form=form, features=features, data=data, item=item)

    # --- what was learnt ----------------------------------------------------------------------

    @property
    def fitted_(self) -> FittedModel:
        """The fitted model with the current parameters: immutable, usable without the estimator."""
        fitted = self._latest()
        if fitted is None:  # an AttributeError is how scikit-learn asks what is fitted
            raise AttributeError(f"this {type(self).__name__} has not been fitted yet")
        return self._now(fitted)

    @property
    def classes_(self) -> Any:
        """Classes, sorted, in the dtype of y; with several targets, one array for each."""
        return self.fitted_.classes

    @property
    def joint_classes_(self) -> NDArray[Any]:
        """Combinations of classes that were learnt, one column per target."""
        model = self.fitted_.model
        return model.form.table(model.classes)

    @property
    def class_mass_(self) -> NDArray[np.float64]:
        """Total weight of the learnt items of each class (with several targets, combination)."""
        return self.fitted_.model.class_mass

    @property
    def corpus_(self) -> pl.DataFrame:
        """The corpus, one row per entry: attribute, value, class, mass, support."""
        return self.fitted_.corpus()

    @property
    def policy_(self) -> list[list[str]]:
        """Sets of dimensions of the policy in use, in order."""
        fitted = self.fitted_
        return [list(fitted.model.dimensions.named(subset)) for subset in fitted.policy]

    @property
    def policy_values_(self) -> pl.DataFrame:
        """Mean reward of each state that was tried while the policy was learnt."""
        values = self.fitted_.state.policy_values
        if values is None:
            raise AttributeError("the policy was given, not learnt: set policy='learn' and fit")
        return values

    @property
    def phase_history_(self) -> pl.DataFrame:
        """Steps of learning the phases: penalty, held-out fold, loss, held-out loss."""
        history = self.fitted_.state.phase_history
        if history is None:
            raise AttributeError("no phases were learnt: set phases='learn' and fit")
        return history

    @property
    def sharpness_(self) -> float:
        """Inverse temperature: factor of the exponent 1/p of the probabilities; 1 if not learnt."""
        return self.fitted_.sharpness

    @property
    def label_threshold_(self) -> NDArray[np.float64]:
        """Smallest ratio of each label's probability to the highest at which it is predicted."""
        return self.fitted_.label_thresholds

    @property
    def n_features_in_(self) -> int:
        """Number of attributes seen in `fit`; 1 for documents."""
        return max(self.fitted_.model.schema.width, 1)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the attributes seen in `fit`, if they have names."""
        schema = self.fitted_.model.schema
        if not schema.named:
            raise AttributeError("the columns learnt from had no names")
        return np.array(schema.names, dtype=object)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features: "attribute=value", a word, or a column of counts.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of str
            One name per feature, in the order of the model.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([{"legs": 4}, {"legs": 2}], ["dog", "hen"])
        >>> model.get_feature_names_out().tolist()
        ['legs=4', 'legs=2']
        """
        return np.array(self._checked().feature_names(), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        named = self.dimensions, self.ordinal, self.continuous
        plain = named[:2] == (None, None) and (named[2] is None or isinstance(named[2], str))
        tags.input_tags.sparse = plain and self.interactions == self.ngrams == 1
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.required = self.targets is None
        return tags

    # --- the fitted model and its store -------------------------------------------------------

    _fitted: FittedModel
    _stored: StoredModel
    _taken_over: dict[str, Any]

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters that are part of a model: all but where it is stored."""
        values = vars(self)
        return {name: values[name] for name in _MODEL_PARAMETERS}

    def _learning_lock(self) -> RLock:
        """Return the lock that serialises learning; scikit-learn allows none in `__init__`."""
        lock: RLock = self.__dict__.setdefault("_lock", RLock())
        return lock

    def _latest(self) -> FittedModel | None:
        """Return the fitted model, from the store if there is one; None if there is no model."""
        if self.store is None:
            return self.__dict__.get("_fitted")
        return self._attached().current()

    def _checked(self) -> FittedModel:
        """Return the fitted model, or raise scikit-learn's NotFittedError."""
        fitted = self._latest()
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return self._now(fitted)

    def _now(self, fitted: FittedModel) -> FittedModel:
        """Return a fitted model with the current parameters."""
        return fitted.with_parameters(self._parameters(), self._validate_params)

    def _with_batches(self) -> FittedModel:
        """Return the fitted model with the ids of its batches, which a store keeps apart."""
        fitted = self._checked()
        if self.store is None:
            return fitted
        state = replace(fitted.state, batches=self._attached().batches())
        return FittedModel(state, fitted.parameters)

    def _copied(self, fitted: FittedModel) -> Self:
        """Return an estimator in memory with the same parameters and this model."""
        copied = type(self)(**self._parameters())
        copied._fitted = fitted
        return copied

    def _change(self, changed: Callable[[FittedModel], FittedModel]) -> None:
        """Replace the fitted model by what a function makes of it."""
        with self._learning_lock():
            if self.store is None:
                self._fitted = changed(self.fitted_)
                return
            parameters = frozen(self._parameters())
            self._attached().change(lambda before: changed(FittedModel(before.state, parameters)))

    def _attached(self, *, moving: bool = True) -> StoredModel:
        """Return the model's place in the store; at first use, take over its parameters.

        A model in memory moves to a store that is given later, unless it is to be replaced.
        """
        assert self.store is not None
        stored: StoredModel | None = self.__dict__.get("_stored")
        if stored is None or (stored.url, stored.name) != (self.store, self.name):
            self._validate_params()
            stored = StoredModel.of(self.store, self.name)
            homeless = moving and "_stored" not in self.__dict__ and "_fitted" in self.__dict__
            if homeless and stored.exists():
                raise ParameterError(
                    f"the store has a model {self.name!r} already, and this one has learnt in "
                    "memory: give it another name, or merge it into the other"
                )
            if homeless:
                stored.replace(FittedModel(self._fitted.state, frozen(self._parameters())))
            if moving:  # the parameters of a model that is to be replaced do not count
                self._take_over(stored.parameters())
            self._stored = stored
        return stored

    def _take_over(self, parameters: Mapping[str, Any]) -> None:
        """Take the parameters of a stored model, where the caller has left the defaults."""
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        for name, value in self.__dict__.pop("_taken_over", {}).items():
            if getattr(self, name) is value:  # of another model of the store
                setattr(self, name, defaults[name])
        self._taken_over = {}
        for name, value in parameters.items():
            current = getattr(self, name, None)
            if name == "tokenizer" and value is not None and current is None:
                raise ParameterError(
                    f"the model {self.name!r} was learnt with the tokenizer {value!r}, which is "
                    "code and so not in the store: give it again, tokenizer=..."
                )
            if name != "tokenizer" and _is_default(current, defaults[name]):
                setattr(self, name, value)
                self._taken_over[name] = value

    # --- protocols of Python and scikit-learn -------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        # A pipeline shows the parameters of its steps by their repr.
        hidden = name == "store" and type(value) is str
        super().__setattr__(name, _StoreURL(value) if hidden else value)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_lock", None)
        if state.get("store") is not None:  # the model is there; and a pickle holds no password
            state["store"] = shown_url(state["store"])
            for name in ("_stored", "_fitted", "_taken_over"):
                state.pop(name, None)
        return state

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return a copy within the process, which may know the password."""
        copied = type(self).__new__(type(self))
        copied.__setstate__({**deepcopy(self.__getstate__(), memo), "store": self.store})
        return copied

    def __sklearn_clone__(self) -> Self:
        """Clone in memory: folds of a cross-validation must not replace what is stored."""
        copied: Self = BaseEstimator.__sklearn_clone__(self)
        copied.store = None
        return copied

    def __sklearn_is_fitted__(self) -> bool:
        # Displays ask this, too, and an absent server is no reason to fail there.
        with suppress(StoreError, ImportError):
            return self._latest() is not None
        return "_fitted" in self.__dict__

    def _get_params_html(self, *given: Any, **options: Any) -> Any:
        return BaseEstimator._get_params_html(self._without_password(), *given, **options)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return str(BaseEstimator.__repr__(self._without_password(), N_CHAR_MAX))

    def _repr_html_inner(self) -> str:
        return str(BaseEstimator._repr_html_inner(self._without_password()))

    def _without_password(self) -> Self:
        """Return an estimator to show: unfitted, so that showing it asks no server."""
        if self.store is None:
            return self
        shown: Self = clone(self, safe=False)
        shown.store = shown_url(self.store)
        return shown


_MODEL_PARAMETERS = tuple(
    name for name in SparseTensorClassifier._parameter_constraints if name not in ("store", "name")
)


class _StoreURL(str):
    """The URL of a store, shown without its password."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(shown_url(self))


def _check_id(batch_id: str | None) -> None:
    if batch_id is not None and not isinstance(batch_id, str):
        raise ParameterTypeError(f"batch_id is a string, got {type(batch_id).__name__}")
    if batch_id is not None and batch_id.startswith(UNLEARNT):
        raise ParameterError(f"batch_id={batch_id!r}: an id cannot start with {UNLEARNT!r}")


def _noted(fitted: FittedModel, batch_id: str | None) -> FittedModel:
    """Return the model with a batch among its batches."""
    if batch_id is None:
        return fitted
    state = replace(fitted.state, batches=fitted.state.batches | {batch_id})
    return FittedModel(state, fitted.parameters)


def _is_default(value: Any, default: Any) -> bool:
    """Return whether a parameter is still at its default."""
    return value is default or (isinstance(value, str | int | float) and bool(value == default))


def _source_to(X: Any, theta: Any, to: Any) -> SelectedSource | None:
    """Return the source that X is; with `to`, also a frame in memory is one."""
    chosen = source_of(X)
    if chosen is None and to is not None:
        chosen = SelectedSource(source_of_frame(X))
    if chosen is not None and theta is not None:
        raise ParameterError("theta is of items in memory: read some of the source, and give those")
    return chosen


def _in_memory(X: Any, method: str) -> Any:
    """Return the items, refusing a source."""
    if source_of(X) is not None:
        raise ParameterError(
            f"{method} needs items in memory: read some of the source, and give those"
        )
    return X


def _first_items(chosen: SelectedSource, fitted: FittedModel) -> Any:
    """Return the items of a source that is small enough to be explained in memory."""
    columns = item_columns(chosen, fitted.state)
    frame = chosen.source.head(columns, MAX_EXPLAINED_ROWS + 1)
    if frame.height > MAX_EXPLAINED_ROWS:
        raise ParameterError(
            f"the source has more than {MAX_EXPLAINED_ROWS:,} items, too many to explain at once",
            hint="give a part of it",
        )
    return items_in(frame, columns, fitted.state)


def load(
    path: str | Path, *, tokenizer: Callable[[str], Sequence[str]] | None = None
) -> SparseTensorClassifier:
    """Load a model that was saved with `save`; see `SparseTensorClassifier.load`.

    Parameters
    ----------
    path : str or path
        The file.
    tokenizer : callable, default=None
        The tokenizer that the model was fitted with, if any.

    Returns
    -------
    SparseTensorClassifier
        The fitted estimator, in memory, with the parameters it was saved with.

    Examples
    --------
    >>> import tempfile
    >>> import stc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stc.SparseTensorClassifier().fit(*stc.load_zoo()).save(f"{folder}/zoo.stc.parquet")
    ...     print(stc.load(f"{folder}/zoo.stc.parquet").explain([{"milk": 1, "legs": 4}]))
    Mammal, 0.88: because milk=1 (74 %), legs=4 (26 %)
    """
    return SparseTensorClassifier.load(path, tokenizer=tokenizer)
