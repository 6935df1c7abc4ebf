"""SparseTensorClassifier, the scikit-learn estimator: it validates parameters and delegates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, Literal, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from stc import learning
from stc._core.cascade import check_policy
from stc._training.choice import SCORINGS
from stc._training.phases import PhaseLearner
from stc._training.policy_search import PolicyAgent
from stc._utils.forking import new_lock
from stc._utils.validation import Interval, StrOptions
from stc.base import Learn, LearnerMixin, Unlearn
from stc.fitted import AUTO, FittedModel, frozen
from stc.io import from_plain, to_plain
from stc.settings import STC_Q

# The value of settings that are chosen in `fit`.
_AUTO = StrOptions({AUTO})
# Parameters that may be estimators.
_LEARNERS: dict[str, type[Any]] = {"policy": PolicyAgent, "phases": PhaseLearner}


class SparseTensorClassifier(LearnerMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Explainable probabilistic classifier for categorical data.

    An item is a bag of values. The model is one sparse table of counts, the corpus. A prediction is
    a sum of named contributions.

    Parameters
    ----------
    power : float or "auto", default="auto"
        Exponent p of the weights. 1 adds probabilities, 1/2 adds amplitudes; smaller values give
        more confident predictions.
    balance : float or "auto", default="auto"
        Correction b of class imbalance. 0 keeps the advantage of frequent classes, 1 gives all
        classes the same total weight.
    entropy : float or "auto", default="auto"
        Exponent h of the entropy weights, which discount values that are equally frequent in all
        classes. 0 means no discount.
    prior : float or "auto", default="auto"
        Mass alpha that is added to every value seen, spread over the classes by their frequencies:
        as if so many items more, with no other value, had shown it. It keeps rare values from
        deciding alone.
    sharpness : float or "auto", default="auto"
        Factor s of the exponent 1/p of the probabilities, the inverse of a temperature. Larger
        values give more confident predictions; the order of the classes stays.
    floor : float or "auto", default="auto"
        Share m of the class frequencies in every answer, from 0 to 1. Above 0 no class has
        probability 0.
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
    gains : dict or array, default=None
        Factors from 0 on by which contributions are multiplied, in the form of `phases`: prior
        knowledge of which values to trust. Others have gain 1.
    interactions : int, "auto" or list of tuples of str, default="auto"
        Largest number of attributes in a conjunction. With 2, `milk=1 and legs=4` is a feature
        in addition to the single values. A list names the attributes of each. "auto" chooses
        them in `fit` by exact leave-one-out.
    min_support : int, default=1
        Fewest items of the first batch in which a conjunction or an n-gram must occur.
    max_features : int, default=None
        Largest number of conjunctions or n-grams; those with the highest entropy weight are kept.
    ngrams : int or "auto", default="auto"
        Largest length of the n-grams of a document that are features. "auto" chooses 1 or 2 in
        `fit` by exact leave-one-out.
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
    max_entries : int, default=10_000_000
        Largest number of entries that a batch may need: tuples of a set of dimensions,
        conjunctions, n-grams, of which one of k parts counts as k - 1, and columns of a sparse
        matrix. Conjunctions of named or chosen attributes are counted in parts: only an item is
        limited.
    scoring : {"neg_log_loss", "accuracy", "balanced_accuracy"}, default=None
        The score by leave-one-out by which settings, conjunctions and n-grams are chosen. None:
        the negative log-loss plus 0.3 times the accuracy. "balanced_accuracy" is the mean of the
        accuracies in each class.

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
    power_, balance_, entropy_, prior_, floor_ : float
        The settings in use: given, chosen, or those of the paper.
    interactions_ : int or list of tuples of str
        Largest number of attributes in a conjunction, or the attributes of each.
    ngrams_ : int
        Largest number of words in an n-gram.
    chosen_params_ : dict
        The parameters, with what is in use instead of "auto".
    choices_ : polars.DataFrame
        What was tried to choose settings: their values, and the loss by leave-one-out.
    loo_accuracy_, loo_log_loss_ : float
        Accuracy and log-loss of exact leave-one-out, if settings were chosen.
    loo_items_ : int
        Number of distinct items (with groups, distinct within each) that these are means over.
    loo_baseline_ : float
        Share of the most frequent class: the accuracy of always guessing it.
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
    `power`, `balance`, `entropy`, `prior`, `sharpness` and `floor` act at prediction time: change
    them with `set_params` and predict again, without fitting again. "auto" chooses them in `fit`,
    by exact leave-one-out: the values with the best score of learnt items, each predicted by the
    model without it. `partial_fit` never changes a choice; see `choose`.

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
        "power": [_AUTO, Interval(Real, 0, None, closed="neither")],
        "balance": [_AUTO, Interval(Real, 0, None, closed="left")],
        "entropy": [_AUTO, Interval(Real, 0, None, closed="left")],
        "prior": [_AUTO, Interval(Real, 0, None, closed="left")],
        "sharpness": [_AUTO, Interval(Real, 0, None, closed="neither")],
        "floor": [_AUTO, Interval(Real, 0, 1, closed="left")],
        "dimensions": [StrOptions({"each"}), list, tuple, Mapping, None],
        "policy": [StrOptions({"learn"}), list, tuple, PolicyAgent, None],
        "phases": [StrOptions({"learn"}), Mapping, "array-like", PhaseLearner, None],
        "gains": [Mapping, "array-like", None],
        "interactions": [_AUTO, Interval(Integral, 1, None, closed="left"), list, tuple],
        "min_support": [Interval(Integral, 1, None, closed="left")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
        "ngrams": [_AUTO, Interval(Integral, 1, None, closed="left")],
        "continuous": [StrOptions({"auto"}), list, tuple, Mapping, None],
        "ordinal": [Mapping, None],
        "targets": [str, list, tuple, None],
        "label_threshold": [Interval(Real, 0, 1, closed="right"), None],
        "missing": [StrOptions({"ignore", "category"})],
        "tokenizer": [callable, None],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "scoring": [StrOptions({name for name in SCORINGS if name}), None],
    }

    def __init__(
        self,
        power: float | Literal["auto"] = "auto",
        balance: float | Literal["auto"] = "auto",
        entropy: float | Literal["auto"] = "auto",
        *,
        prior: float | Literal["auto"] = "auto",
        sharpness: float | Literal["auto"] = "auto",
        floor: float | Literal["auto"] = "auto",
        dimensions: Any = None,
        policy: Any = None,
        phases: Any = None,
        gains: Any = None,
        interactions: int | Literal["auto"] | Sequence[Sequence[str]] = "auto",
        min_support: int = 1,
        max_features: int | None = None,
        ngrams: int | Literal["auto"] = "auto",
        continuous: Any = None,
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        targets: str | Sequence[str] | None = None,
        label_threshold: float | None = None,
        missing: Literal["ignore", "category"] = "ignore",
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        max_entries: int = 10_000_000,
        scoring: Literal["neg_log_loss", "accuracy", "balanced_accuracy"] | None = None,
    ) -> None:
        self.power = power
        self.balance = balance
        self.entropy = entropy
        self.prior = prior
        self.sharpness = sharpness
        self.floor = floor
        self.dimensions = dimensions
        self.policy = policy
        self.phases = phases
        self.gains = gains
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
        self.max_entries = max_entries
        self.scoring = scoring

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
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
        groups : array-like of shape (n_items,), default=None
            The group of each item, such as a person, a thread or a day, if new items will belong
            to other groups: leave-one-out then leaves whole groups out. They change what is
            chosen, and the figures of leave-one-out, but no count. Not for sources.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
        >>> model.predict([["green"]]).tolist()
        ['go']
        """
        self._validate_params()
        with self._learning_lock():
            parameters = frozen(self._parameters())
            self._fitted = learning.fit(parameters, X, y, sample_weight, groups)
        return self

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
        fitted = FittedModel.load(path, tokenizer=tokenizer, validate=validated_parameters)
        model = cls(**fitted.parameters)
        model._fitted = fitted
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        named = self.dimensions, self.ordinal, self.continuous
        plain = named[:2] == (None, None) and (named[2] is None or isinstance(named[2], str))
        single = self.interactions in (1, AUTO) and self.ngrams in (1, AUTO)
        tags.input_tags.sparse = plain and single
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.required = self.targets is None
        return tags

    # --- the fitted model -----------------------------------------------------------------------

    _fitted: FittedModel

    def _parameters(self) -> dict[str, Any]:
        values = vars(self)
        return {name: values[name] for name in self._parameter_constraints}

    def _learning_lock(self) -> RLock:
        """Return the lock that serialises learning; scikit-learn allows none in `__init__`."""
        lock: RLock = self.__dict__.setdefault("_lock", new_lock())
        return lock

    def _checked(self) -> FittedModel:
        fitted: FittedModel | None = self.__dict__.get("_fitted")
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )
        return fitted.with_parameters(self._parameters(), self._validate_params)

    def _learn_batch(self, learn: Learn, batch_id: str | None) -> None:
        self._validate_params()
        with self._learning_lock():
            before: FittedModel | None = self.__dict__.get("_fitted")
            if before is None or batch_id not in before.state.batches:
                after = learn(before, frozen(self._parameters()))
                self._fitted = after.with_batch(batch_id)

    def _unlearn_batch(self, unlearn: Unlearn, batch_id: str | None) -> None:
        with self._learning_lock():
            before = self._checked()
            if not learning.is_to_unlearn(batch_id, before.state.batches.__contains__):
                return
            after, _ = unlearn(before, False)
            if after is None:  # nothing is left, not even the attributes
                del self._fitted
            else:
                self._fitted = after.with_batch(learning.unlearnt_id(batch_id))

    def _change(self, changed: Callable[[FittedModel], FittedModel]) -> None:
        with self._learning_lock():
            self._fitted = changed(self._checked())

    def _in_memory(self, fitted: FittedModel) -> Self:
        copied = type(self)(**fitted.parameters)
        copied._fitted = fitted
        return copied

    # --- protocols of Python and scikit-learn -------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Return plain data: containers, arrays and the parameters."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_lock", None)
        learners = {k: state.pop(k) for k, kind in _LEARNERS.items() if type(state[k]) is kind}
        if learners:  # apart, as a parameter may be any dictionary
            plain = {k: to_plain(v.get_params(deep=False)) for k, v in learners.items()}
            state["_learners"] = plain
        if "_fitted" in state:
            state["_fitted"] = to_plain(state["_fitted"].state)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        learners = state.pop("_learners", {})
        state |= {k: _LEARNERS[k](**from_plain(plain)) for k, plain in learners.items()}
        super().__setstate__(state)
        if "_fitted" in state:
            # Without parameters: those of the estimator are validated when they are first used.
            self._fitted = FittedModel(from_plain(state["_fitted"]), {})

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__


def validated_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a model, given those in its header, or raise an error.

    Examples
    --------
    >>> from stc.classifier import validated_parameters
    >>> validated_parameters({"power": 1.0})["balance"]
    1.0
    """
    # Headers of format 1 lack what was always as in the paper.
    estimator = SparseTensorClassifier(**{**STC_Q, **parameters})
    estimator._validate_params()
    if isinstance(estimator.policy, list | tuple):  # a model without items reads it in `fit` only
        check_policy(estimator.policy, "policy")
    return estimator._parameters()


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
    ...     print(stc.load(f"{folder}/zoo.stc.parquet").explain_local([{"milk": 1, "legs": 4}]))
    Mammal, 1.00: because milk=1 (51 %), legs=4 (49 %)
    """
    return SparseTensorClassifier.load(path, tokenizer=tokenizer)
