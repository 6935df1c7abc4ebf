"""FittedModel: one immutable fitted state that predicts, explains, saves and exports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.cascade import Cascade, Policy, read_policy
from stc._core.formulas import PAPER, Hyper
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.tables import corpus_table, feature_names, joint_table
from stc._core.tensor import Dimensions
from stc._input.columns import column_of
from stc._input.groups import read_groups
from stc._input.reader import BatchReader
from stc._training import leave_one_out
from stc._training.amplitude_parsing import read_amplitudes
from stc._training.label_thresholds import label_probabilities, probability_ratios
from stc._training.state import FittedState
from stc._utils.database_url import refuse_url
from stc._utils.forking import new_lock, refuse_without_pool
from stc.exceptions import ModelFileError, ParameterError
from stc.explain import Answers, GlobalExplanation, LocalExplanation
from stc.io import read_model, write_model
from stc.io.validation import check_predictions
from stc.sql import to_sql

# The value of a setting that is chosen in `fit`.
AUTO = "auto"
# Items as in `fit`, or encoded.
Items = Any
# Types of values that never change and compare at once.
_ATOMS = (type(None), bool, int, float, str)


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted state and the parameters that it answers with. It never changes.

    It is what an estimator holds, what workers, stores and files receive, and it needs no
    estimator. Items are given as in `SparseTensorClassifier.fit`, or encoded (`Observations`).
    Weights are computed when they are first needed, once, and shared by all threads.

    Parameters
    ----------
    state : FittedState
        Everything that learning produced.
    parameters : mapping
        The parameters of SparseTensorClassifier.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> model.fitted_.predict([["green"]]).tolist()
    ['go']
    """

    state: FittedState
    parameters: Mapping[str, Any]
    _lock: Any = field(default_factory=new_lock, init=False, repr=False)
    # Answers with other parameters: the last ones asked for.
    _variant: list[FittedModel] = field(default_factory=list, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state, "parameters": self.parameters}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=new_lock(), _variant=[])

    # --- parts ------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The counts, with classes, features and phases."""
        return self.state.model

    @property
    def hyper(self) -> Hyper:
        """The settings that act at prediction time."""
        return hyper_of(self.parameters, self.state.chosen)

    @property
    def policy(self) -> Policy:
        """The policy in use: the learnt one, or one of the same sets that was given later."""
        given = self.parameters["policy"]
        if not (given is None or isinstance(given, (list, tuple))):
            return self.model.policy
        policy = policy_of(given, self.model.dimensions)
        for subset in policy:
            if subset not in self.model.corpora:
                names = list(self.model.dimensions.named(subset))
                raise ParameterError(f"the set {names} of the policy was not learnt: fit again")
        return policy

    @cached_property
    def reader(self) -> BatchReader:
        """Reads items as they were read in learning."""
        return BatchReader(self.parameters, self.state.roles)

    @property
    def cascade(self) -> Cascade:
        """The weights for the parameters, computed once."""
        with self._lock:
            return self._cascade

    @cached_property
    def _cascade(self) -> Cascade:
        given = amplitudes_given(self.parameters)
        amplitudes = None if given is None else read_amplitudes(self.model, *given)
        max_entries = self.parameters["max_entries"]
        return Cascade(self.model, self.policy, self.hyper, max_entries, amplitudes)

    @property
    def label_thresholds(self) -> NDArray[np.float64]:
        """How probable each label must be, relative to the most probable one, to be predicted."""
        if not self.model.form.multilabel:
            raise AttributeError("the model was not learnt from several labels an item")
        given = self.parameters["label_threshold"]
        if given is not None:
            return np.full(len(self.model.classes), float(given))
        return self.state.threshold_counts.thresholds(self.model.classes)

    @property
    def sharpness(self) -> float:
        """Factor of the exponent 1/p of the probabilities, with that of learnt phases."""
        return self.cascade.sharpness(self.policy[0])

    @property
    def classes(self) -> Any:
        """The classes, sorted, in the dtype of y; a list of arrays for several targets."""
        classes = self.model.form.public_classes(self.model.classes)
        # What the caller writes into it must not change the model.
        return classes.copy() if classes is self.model.classes else classes

    def with_parameters(
        self, parameters: Mapping[str, Any], validate: Callable[[], None] = lambda: None
    ) -> FittedModel:
        """Return the same state with other parameters.

        Weights are kept as long as the same parameters are asked for.

        Parameters
        ----------
        parameters : mapping
            All parameters of SparseTensorClassifier.
        validate : callable, default=None
            Called before parameters are used for the first time.

        Returns
        -------
        FittedModel
            Itself, if these are its parameters.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.with_parameters(dict(fitted.parameters)) is fitted
        True
        """
        if _equal(self.parameters, parameters):
            return self
        with self._lock:
            if not (self._variant and _equal(self._variant[0].parameters, parameters)):
                validate()
                self._variant[:] = [FittedModel(self.state, frozen(parameters))]
            return self._variant[0]

    # --- predicting -------------------------------------------------------------------------------

    def observe(self, X: Items, theta: Any = None) -> Observations:
        """Encode items as the model knows their attributes, with their phases.

        Parameters
        ----------
        X
            Items as in `fit`, or encoded already.
        theta
            Phases of their values, as in `SparseTensorClassifier.predict`.

        Returns
        -------
        Observations
            The encoded items.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> batch = fitted.observe([["a"], ["a"], ["b"]])
        >>> batch.n_items, fitted.predict(batch).tolist()
        (3, ['x', 'x', 'y'])
        """
        if isinstance(X, Observations):
            return X
        return self.reader.observe(X, self.model, theta)

    def predict(self, X: Items, theta: Any = None) -> Any:
        """Predict the most probable class of each item; see `SparseTensorClassifier.predict`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.predict([["b"]]).tolist()
        ['y']
        """
        observed, form = self.observe(X, theta), self.model.form
        if form.multilabel:
            return form.labels(self.model.classes, self.chosen_classes(observed))
        return form.predicted(self.model.classes, self.cascade.most_probable(observed))

    def chosen_classes(self, items: Observations | Answers) -> NDArray[np.bool_]:
        """Return which classes are predicted for each encoded item (items x classes).

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.chosen_classes(fitted.observe([["b"]])).tolist()
        [[False, True]]
        """
        if self.model.form.multilabel:
            if isinstance(items, Answers):
                joint = items.probabilities
            else:
                joint = self.cascade.probabilities(items)
            return np.asarray(probability_ratios(joint) >= self.label_thresholds)
        best = self.most_probable(items)
        return np.equal(best[:, None], np.arange(len(self.model.classes)))

    def most_probable(self, items: Observations | Answers) -> NDArray[np.intp]:
        """Return the number of the most probable class of each encoded item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.most_probable(fitted.observe([["b"]])).tolist()
        [1]
        """
        return items.best if isinstance(items, Answers) else self.cascade.most_probable(items)

    def predict_proba(self, X: Items, theta: Any = None) -> Any:
        """Predict the probability of each class; see `SparseTensorClassifier.predict_proba`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.predict_proba([["b"]]).tolist()
        [[0.0, 1.0]]
        """
        return self._public_probabilities(self.cascade.probabilities(self.observe(X, theta)))

    def loo_predict_proba(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Any:
        """Predict learnt items by the model without them.

        See `SparseTensorClassifier.loo_predict_proba`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> X, y = [["a"], ["a"], ["b"]], ["x", "x", "y"]
        >>> SparseTensorClassifier().fit(X, y).fitted_.loo_predict_proba(X, y).tolist()
        [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
        """
        batch = self.reader.batch(X, y, sample_weight, self.model)
        self.model.check_size(batch.observed, self.parameters["max_entries"])
        given = read_groups(groups, batch.observed.n_items)
        codes = None if given is None else given.codes
        data = batch.observed, batch.target.column, batch.sample_weight
        joint = leave_one_out.probabilities(
            self.cascade, leave_one_out.LearntItems.of(self.model, *data, codes)
        )
        return self._public_probabilities(joint)

    def _public_probabilities(self, joint: NDArray[np.float64]) -> Any:
        """Return probabilities of all classes in the form of `predict_proba`."""
        if self.model.form.kind == "indicator":
            return label_probabilities(joint, self.label_thresholds)
        return self.model.form.marginals(joint, self.model.classes, logarithms=False)

    def predict_log_proba(self, X: Items, theta: Any = None) -> Any:
        """Predict logarithms; see `SparseTensorClassifier.predict_log_proba`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.predict_log_proba([["b"]]).tolist()
        [[-inf, 0.0]]
        """
        if self.model.form.kind == "indicator":
            return np.log(self.predict_proba(X, theta))
        joint = self.cascade.log_probabilities(self.observe(X, theta))
        return self.model.form.marginals(joint, self.model.classes, logarithms=True)

    def predict_joint(self, X: Items, theta: Any = None) -> pl.DataFrame:
        """Predict each combination of classes; see `SparseTensorClassifier.predict_joint`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.predict_joint([["b"]]).rows()
        [(0, 'x', 0.0), (0, 'y', 1.0)]
        """
        return joint_table(self.model, self.cascade.probabilities(self.observe(X, theta)))

    def policy_used(self, X: Items) -> NDArray[np.object_]:
        """Return the set of dimensions that answers for each item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.policy_used([["b"], ["c"]]).tolist()
        [('all',), ()]
        """
        cascade = self.cascade
        names = np.empty(len(cascade.policy), dtype=object)
        names[:] = [self.model.dimensions.named(subset) for subset in cascade.policy]
        used: NDArray[np.object_] = names[cascade.log_scores(self.observe(X))[1]]
        return used

    def coverage(self, X: Items) -> NDArray[np.float64]:
        """Return the share of each item that was seen in learning.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.coverage([["b"], ["c"]]).tolist()
        [1.0, 0.0]
        """
        return self.cascade.coverage(self.observe(X))

    # --- explaining -------------------------------------------------------------------------------

    def explain_local(self, X: Items, theta: Any = None) -> LocalExplanation:
        """Explain the prediction of each item; see `SparseTensorClassifier.explain_local`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> print(fitted.explain_local([["b"]]))
        y, 1.00: because x0=b (100 %)
        """
        return LocalExplanation(self.answers(X, theta))

    def answers(self, X: Items, theta: Any = None) -> Answers:
        """Return scores, probabilities and contributions of items, which explanations show.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.answers([["b"]]).probabilities.tolist()
        [[0.0, 1.0]]
        """
        refuse_without_pool()
        raw = X if isinstance(X, Observations) else self.reader.raw(X, self.model, theta)
        text = self.state.roles.text
        texts = None
        if raw.kind == "documents" and raw is not X:
            texts = list(X if text is None else column_of(X, text))
        answers = Answers(self.cascade, raw, texts)
        answers.score()  # items that cannot be scored are refused now
        return answers

    def explain_global(self) -> GlobalExplanation:
        """Explain each class; see `SparseTensorClassifier.explain_global`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> print(fitted.explain_global())
        x: x0=a (100 %)
        y: x0=b (100 %)
        """
        refuse_without_pool()
        return GlobalExplanation(self.cascade)

    # --- tables, files, SQL -----------------------------------------------------------------------

    def corpus(self) -> pl.DataFrame:
        """Return the counts, one row an entry: attribute, value, class, mass, support.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> SparseTensorClassifier().fit([["a"]], ["x"]).fitted_.corpus().rows()
        [('x0', 'a', 'x', 1.0, 1)]
        """
        refuse_without_pool()
        return corpus_table(self.model)

    def feature_names(self) -> list[str]:
        """Return the name of each feature.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> SparseTensorClassifier().fit([["a"]], ["x"]).fitted_.feature_names()
        ['x0=a']
        """
        return feature_names(self.model)

    def save(self, path: str | Path) -> None:
        """Write the model to a Parquet file; see `SparseTensorClassifier.save`.

        Examples
        --------
        >>> import tempfile
        >>> from stc import SparseTensorClassifier
        >>> from stc.fitted import FittedModel
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fitted.save(f"{folder}/letters.stc.parquet")
        ...     FittedModel.load(f"{folder}/letters.stc.parquet").predict([["b"]]).tolist()
        ['y']
        """
        refuse_url(path, "put the model into a store, stc.open_store(url).create(name, model)")
        _ = self.cascade  # a model that could not answer could not be loaded either
        write_model(self.state, self.parameters, path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        tokenizer: Callable[[str], Sequence[str]] | None = None,
        validate: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict,
    ) -> FittedModel:
        """Load a model that `save` has written; see `SparseTensorClassifier.load`.

        Parameters
        ----------
        path : str or path
            The file.
        tokenizer : callable, default=None
            The tokenizer that the model was learnt with, if it was not the default.
        validate : callable, default=None
            Returns all parameters, given those of the file, or raises ValueError or TypeError.

        Returns
        -------
        FittedModel
            It answers as the saved one.

        Examples
        --------
        >>> from stc.fitted import FittedModel
        >>> try:
        ...     FittedModel.load("no/such/file.stc.parquet")
        ... except FileNotFoundError:
        ...     print("no such file")
        no such file
        """
        refuse_url(path, "open a store, stc.open_store(url)")
        state, parameters = read_model(path)
        named = parameters.get("tokenizer")
        if named is not None and tokenizer is None:
            raise ParameterError(
                f"the model was learnt with the tokenizer {named!r}, which is code and not in the "
                "file",
                path=str(path),
                hint="pass it again, load(path, tokenizer=...)",
            )
        try:
            return cls.checked(state, lambda: validate({**parameters, "tokenizer": tokenizer}))
        except ModelFileError as error:
            error.path = str(path)
            raise

    @classmethod
    def checked(
        cls, state: FittedState, parameters: Callable[[], Mapping[str, Any]]
    ) -> FittedModel:
        """Return the model of a state and parameters that were stored, if they fit each other.

        Parameters
        ----------
        state : FittedState
            The state.
        parameters : callable
            Returns the parameters, or raises ValueError or TypeError.

        Returns
        -------
        FittedModel
            A model that can predict.

        Raises
        ------
        ModelFileError
            If it cannot.

        Examples
        --------
        >>> from stc import ModelFileError, SparseTensorClassifier
        >>> from stc.fitted import FittedModel
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> try:
        ...     FittedModel.checked(fitted.state, lambda: {**fitted.parameters, "ngrams": 2})
        ... except ModelFileError as error:
        ...     print(str(error)[:74])
        cannot be loaded as a model: its parameters do not fit its state (the mode
        """
        try:
            fitted = cls(state, parameters())
            fitted.refuse_other_tensor(fitted.parameters)
            check_predictions(fitted.cascade)
        except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError) as error:
            raise ModelFileError(
                f"cannot be loaded as a model: its parameters do not fit its state ({error!s:.200})"
            ) from None
        return fitted

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        form: Literal["long", "wide"] = "long",
        features: str = "features",
        data: str | None = None,
        item: str = "item",
    ) -> str:
        """Return the probabilities as one SQL query; see `SparseTensorClassifier.to_sql`.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> fitted.to_sql("duckdb").startswith("WITH")
        True
        """
        thresholds = self.label_thresholds if self.model.form.multilabel else None
        return to_sql(
            self.cascade,
            dialect,
            form=form,
            features=features,
            data=data,
            item=item,
            thresholds=thresholds,
        )

    # --- learning more ----------------------------------------------------------------------------

    def with_batch(self, batch_id: str | None) -> FittedModel:
        """Return the model with a batch in its ledger; None adds none.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> sorted(fitted.with_batch("monday").state.batches)
        ['monday']
        """
        if batch_id is None:
            return self
        state = replace(self.state, batches=self.state.batches | {batch_id})
        return FittedModel(state, self.parameters)

    def refuse_other_tensor(self, parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that contradict the dimensions, policy or interactions learnt with.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> from stc.exceptions import ParameterError
        >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
        >>> try:
        ...     fitted.refuse_other_tensor({**fitted.parameters, "ngrams": 2})
        ... except ParameterError as error:
        ...     print(error)
        the model was learnt with ngrams=1; it cannot go on with ngrams=2: set it back, or fit again
        """
        model = self.model
        dimensions = parameters["dimensions"]
        if not Dimensions.of(dimensions, model.schema).same_as(model.dimensions):
            raise ParameterError(
                f"the model was learnt with the dimensions {list(model.dimensions.names)}; it "
                f"cannot go on with dimensions={dimensions!r}: set it back, or fit again"
            )
        _ = FittedModel(self.state, parameters).policy
        learnt = model.interactions
        for name, value in {"interactions": learnt.given, "ngrams": learnt.ngrams}.items():
            given = parameters[name]
            if name == "interactions" and given != AUTO:
                given = Interactions.of(given).given
            if given not in (AUTO, value):
                raise ParameterError(
                    f"the model was learnt with {name}={value}; it cannot go on with "
                    f"{name}={parameters[name]}: set it back, or fit again"
                )


def hyper_of(parameters: Mapping[str, Any], chosen: Mapping[str, float]) -> Hyper:
    """Return the settings that act at prediction time: given, chosen, or those of the paper."""
    given = {name: parameters[name] for name in Hyper._fields if parameters[name] != AUTO}
    return PAPER._replace(**{**chosen, **given})


def settings_to_choose(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings that are chosen by leave-one-out."""
    return tuple(name for name in Hyper._fields if parameters[name] == AUTO)


def policy_of(given: Any, dimensions: Dimensions) -> Policy:
    """Return the policy that a list of lists of names means; None: all dimensions."""
    if given is None:
        return (dimensions.whole, ())
    return read_policy(given, dimensions, "policy")


def amplitudes_given(parameters: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Return the parameters `gains` and `phases` if one is given; then nothing learnt is used."""
    gains, phases = parameters["gains"], parameters["phases"]
    if not phases_are_given(phases):
        return None if gains is None else (gains, None)
    return gains, phases


def phases_are_given(phases: Any) -> bool:
    """Return whether the parameter `phases` holds angles, and not how to learn them."""
    # A PhaseLearner is an estimator, told by its parameters: importing it takes scikit-learn.
    return not (phases is None or isinstance(phases, str) or hasattr(phases, "get_params"))


def frozen(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of parameters that the caller cannot change in place."""
    return {name: _copied(value) for name, value in parameters.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(held) for key, held in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def _equal(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether parameters are the same, as far as that is quick to tell."""
    if ours is theirs:
        return True
    if ours.keys() != theirs.keys():
        return False
    for name, value in ours.items():
        other = theirs[name]
        if value is other and type(value) in _ATOMS:
            continue
        if type(value) in (list, tuple, dict, *_ATOMS):
            # What holds arrays has no single truth, and may have been changed in place.
            if type(value) is not type(other) or not _is_plain(value) or value != other:
                return False
        elif value is not other:
            return False
    return True


def _is_plain(value: Any) -> bool:
    """Return whether comparing a value gives true or false, and no array."""
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return isinstance(value, _ATOMS)
