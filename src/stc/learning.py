"""Learning: a batch or a source becomes a new fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from stc._core.cascade import Policy
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.schema import KIND_NAMES, Schema
from stc._core.tensor import Dimensions
from stc._input.reader import NO_ROLES, Batch, BatchReader
from stc._input.targets import encode_classes
from stc._training.label_thresholds import held_out_counts
from stc._training.phases import PhaseLearner, fit_phases
from stc._training.policy_search import PolicyAgent, learn_policy
from stc._training.state import FittedState
from stc._utils.warnings import warn_caller
from stc.exceptions import (
    DataError,
    DuplicateBatchError,
    HardlyCategoricalWarning,
    ParameterError,
)
from stc.fitted import FittedModel, hyper_of, phases_are_given, policy_of
from stc.sources import BATCH_ROWS, SAMPLE_ROWS, SelectedSource, source_of
from stc.sources.columns import LearningColumns

Parameters = Mapping[str, Any]


def fit(parameters: Parameters, X: Any, y: Any, sample_weight: Any) -> FittedModel:
    """Learn from nothing, in memory or from a source.

    Parameters
    ----------
    parameters : mapping
        The parameters of SparseTensorClassifier, validated, without `store` and `name`.
    X, y, sample_weight
        As in `SparseTensorClassifier.fit`.

    Returns
    -------
    FittedModel
        The model.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> parameters = SparseTensorClassifier().fit([["a"]], ["x"]).fitted_.parameters
    >>> learning.fit(parameters, [["red"], ["green"]], ["stop", "go"], None).classes.tolist()
    ['go', 'stop']
    """
    phases = parameters["phases"]
    learns_phases = phases is not None and not phases_are_given(phases)
    learner = _learner(phases) if learns_phases else None
    return _learnt(None, parameters, (X, y, sample_weight), None, learner)


def learn_more(
    before: FittedModel | None,
    parameters: Parameters,
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Any = None,
) -> FittedModel:
    """Learn a batch or a source in addition to what was learnt before.

    Parameters
    ----------
    before : FittedModel or None
        The model so far; None: there is none.
    parameters : mapping
        The parameters of SparseTensorClassifier, as in `fit`.
    X, y, sample_weight, classes
        As in `SparseTensorClassifier.partial_fit`.

    Returns
    -------
    FittedModel
        A new model; `before` is not changed.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> fitted = SparseTensorClassifier().fit([["red"]], ["stop"]).fitted_
    >>> more = learning.learn_more(fitted, fitted.parameters, [["green"]], ["go"], None)
    >>> more.classes.tolist(), fitted.classes.tolist()
    (['go', 'stop'], ['stop'])
    """
    if before is not None:
        before.refuse_other_tensor(parameters)
    state = None if before is None else before.state
    return _learnt(state, parameters, (X, y, sample_weight), classes, None)


def unlearn(
    before: FittedModel,
    parameters: Parameters,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    delta: bool = False,
) -> tuple[FittedModel | None, Model | None]:
    """Forget items that were learnt.

    Parameters
    ----------
    before : FittedModel
        The model.
    parameters : mapping
        The parameters of SparseTensorClassifier, as in `fit`.
    X, y, sample_weight
        The items as they were learnt.
    delta : bool, default=False
        Whether the counts that were taken away are needed.

    Returns
    -------
    tuple of FittedModel or None, Model or None
        The model that is left, None if nothing is; and with `delta` the counts of the items.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> fitted = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"]).fitted_
    >>> left, _ = learning.unlearn(fitted, fitted.parameters, [["red"]], ["stop"], None)
    >>> left.classes.tolist()
    ['go']
    """
    model, blank = before.model, before.model.cleared()
    reader = BatchReader(parameters, before.state.roles)
    chosen = source_of(X)
    if chosen is not None:
        columns = LearningColumns.of(reader, chosen, y, sample_weight, before.state)
        counted = chosen.source.learn(columns.task(blank, parameters["max_tuples"])) or blank
        model = model.subtract_model(counted).compacted()
    else:
        batch = reader.batch(X, y, sample_weight, model)
        model.check_size(batch.observed, parameters["max_tuples"])
        items = batch.observed, batch.target.column, batch.sample_weight
        model = model.without_items(*items)
        counted = blank.with_items(*items) if delta else blank
    left = model.class_mass.any() or model.declared.any()
    after = FittedModel(replace(before.state, model=model), parameters) if left else None
    return after, counted if delta else None


def merge(before: FittedModel, other: FittedModel) -> FittedModel:
    """Learn all that another model has learnt.

    Parameters
    ----------
    before : FittedModel
        The model, whose parameters stay.
    other : FittedModel
        A model of the same attributes.

    Returns
    -------
    FittedModel
        A new model; neither is changed.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> north = SparseTensorClassifier().fit([["snow"]], ["winter"]).fitted_
    >>> south = SparseTensorClassifier().fit([["sun"]], ["summer"]).fitted_
    >>> learning.merge(north, south).classes.tolist()
    ['summer', 'winter']
    """
    both = sorted(before.state.batches & other.state.batches)
    if both:
        raise DuplicateBatchError(both[0])
    state = before.state.merged(other.state)
    batches = before.state.batches | other.state.batches
    return FittedModel(replace(state, batches=batches), before.parameters)


def phase_batch(
    fitted: FittedModel, parameters: Parameters, X: Any, y: Any, sample_weight: Any
) -> Batch:
    """Read items to learn phases from; of a source, its first rows.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
    >>> learning.phase_batch(fitted, fitted.parameters, [["a"]], ["x"], None).observed.n_items
    1
    """
    reader = BatchReader(parameters, fitted.state.roles)
    chosen = source_of(X)
    if chosen is not None:  # as many items as learning in memory can take
        columns = LearningColumns.of(reader, chosen, y, sample_weight, fitted.state)
        batch = columns.reader.batch(columns.first(BATCH_ROWS), None, None, fitted.model)
    else:
        batch = reader.batch(X, y, sample_weight, fitted.model)
    fitted.model.check_size(batch.observed, parameters["max_tuples"])
    return batch


def learn_phases(
    before: FittedModel, parameters: Parameters, batch: Batch, learner: PhaseLearner | None
) -> FittedModel:
    """Learn the phases of a fitted model by gradient; its counts stay as they are.

    Parameters
    ----------
    before : FittedModel
        The model.
    parameters : mapping
        The parameters of SparseTensorClassifier, as in `fit`.
    batch : Batch
        The items, read by `phase_batch`.
    learner : PhaseLearner or None
        How to learn; None: as the parameter `phases` says, or the defaults.

    Returns
    -------
    FittedModel
        A new model. It has no phases if none improved the held-out loss.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
    >>> y = [a == b for a, b in X]
    >>> fitted = SparseTensorClassifier(entropy=0).fit(X, y).fitted_
    >>> batch = learning.phase_batch(fitted, fitted.parameters, X, y, None)
    >>> bool(learning.learn_phases(fitted, fitted.parameters, batch, None).model.phases)
    True
    """
    state, hyper = before.state, hyper_of(parameters)
    learner = learner or _learner(parameters["phases"])
    model, history = fit_phases(learner, state.model, *batch.weighted(), hyper)
    counts = state.threshold_counts
    if model.form.multilabel and parameters["label_threshold"] is None:
        tried = held_out_counts(model, *batch.weighted(), hyper, parameters["max_tuples"])
        counts = tried if tried.true.any() else counts
    return FittedModel(
        replace(state, model=model, phase_history=history, threshold_counts=counts), parameters
    )


# --- learning one batch or source -----------------------------------------------------------------


def _learnt(
    before: FittedState | None,
    parameters: Parameters,
    data: tuple[Any, Any, Any],
    classes: Any,
    learner: PhaseLearner | None,
) -> FittedModel:
    chosen = source_of(data[0])
    if chosen is not None:
        state = _learnt_source(before, parameters, (chosen, *data[1:]), classes, learner)
        return FittedModel(state, parameters)
    roles = before.roles if before else NO_ROLES
    batch = BatchReader(parameters, roles).batch(*data, before.model if before else None)
    start = _declaring(before or _blank(parameters, batch), classes)
    model = replace(start.model, form=batch.target.form)
    model.check_size(batch.observed, parameters["max_tuples"])
    model = model.with_items(batch.observed, batch.target.column, batch.sample_weight)
    return FittedModel(_completed(start, model, parameters, batch, learner), parameters)


def _learnt_source(
    before: FittedState | None,
    parameters: Parameters,
    data: tuple[SelectedSource, Any, Any],
    classes: Any,
    learner: PhaseLearner | None,
) -> FittedState:
    """Learn all rows of a source: counted where they are, then added up."""
    chosen, y, sample_weight = data
    reader = BatchReader(parameters, before.roles if before else NO_ROLES)
    columns = LearningColumns.of(reader, chosen, y, sample_weight, before)
    known = before.model if before else None
    first = columns.first(
        BATCH_ROWS if before is None and _learns_beyond_counts(parameters) else SAMPLE_ROWS
    )
    batch = columns.reader.batch(first, None, None, known)
    thresholds = batch.target.form.multilabel and parameters["label_threshold"] is None
    if thresholds and len(first) == SAMPLE_ROWS:
        batch = columns.reader.batch(columns.first(BATCH_ROWS), None, None, known)
    start = _declaring(before or _blank(parameters, batch), classes)
    part = chosen.source.learn(columns.task(start.model.cleared(), parameters["max_tuples"]))
    if part is None:
        raise DataError("sample_weight is zero for every item: nothing to learn from")
    return _completed(start, start.model.merged(part), parameters, batch, learner)


def _learns_beyond_counts(parameters: Parameters) -> bool:
    """Return whether the first batch decides more than counts do."""
    policy, phases = parameters["policy"], parameters["phases"]
    given = policy is None or isinstance(policy, (list, tuple))
    counted = phases is None or phases_are_given(phases)
    selected = parameters["min_support"] > 1 or parameters["max_features"] is not None
    return not (given and counted and not selected and parameters["continuous"] is None)


def _blank(parameters: Parameters, batch: Batch) -> FittedState:
    """Return a state without counts, but with dimensions, policy, scales and interactions."""
    observed, form = batch.observed, batch.target.form
    dimensions = Dimensions.of(parameters["dimensions"], Schema.of(observed))
    policy, values = _policy(parameters, batch, dimensions)
    interactions = _interactions(parameters, batch, dimensions)
    model = Model.blank(observed, dimensions, policy, form)
    model = replace(model, scales=batch.scales, interactions=interactions)
    if form.kind == "indicator":
        model = model.with_classes(np.arange(form.width))  # also labels that no item has
    return FittedState(model, values)


def _policy(
    parameters: Parameters, batch: Batch, dimensions: Dimensions
) -> tuple[Policy, pl.DataFrame | None]:
    """Return the policy, and the values of its states if it is learnt."""
    given = parameters["policy"]
    if not isinstance(given, (str, PolicyAgent)):
        return policy_of(given, dimensions), None
    agent = given if isinstance(given, PolicyAgent) else PolicyAgent()
    hyper, max_tuples = hyper_of(parameters), parameters["max_tuples"]
    return learn_policy(agent, *batch.weighted(), dimensions, hyper, max_tuples)


def _interactions(parameters: Parameters, batch: Batch, dimensions: Dimensions) -> Interactions:
    """Return the conjunctions that are features, selected by the first batch."""
    order = parameters["interactions"]
    interactions = Interactions(order, ngrams=parameters["ngrams"])
    if order > 1 and batch.observed.kind != "table":
        raise ParameterError(
            f"interactions={order} needs attributes, and X is {KIND_NAMES[batch.observed.kind]}",
            hint="for n-grams of words, set ngrams",
        )
    if order > 1 and dimensions.attributes is not None:
        raise ParameterError(
            f"interactions={order} are features of a single dimension",
            hint="leave dimensions=None",
        )
    interactions.check_size(batch.observed, parameters["max_tuples"])
    limits = parameters["min_support"], parameters["max_features"]
    return interactions.select(*batch.weighted(), *limits)


def _completed(
    start: FittedState,
    model: Model,
    parameters: Parameters,
    batch: Batch,
    learner: PhaseLearner | None,
) -> FittedState:
    """Return the state with the counts of a model, and what else is learnt from the batch."""
    counts, history, hyper = start.threshold_counts, start.phase_history, hyper_of(parameters)
    if learner is not None:
        model, history = fit_phases(learner, model, *batch.weighted(), hyper)
    if model.form.multilabel and parameters["label_threshold"] is None:
        counts += held_out_counts(model, *batch.weighted(), hyper, parameters["max_tuples"])
    return replace(
        start,
        model=model,
        threshold_counts=counts,
        warned=start.warned or _warned_of_measurements(batch.observed),
        phase_history=history,
        roles=batch.roles,
    )


def _declaring(state: FittedState, classes: Any) -> FittedState:
    """Return the state with these classes, whether an item has them or not."""
    if classes is None:
        return state
    declared = encode_classes(classes, state.model.form)
    return replace(state, model=state.model.with_classes(declared))


def _learner(phases: Any) -> PhaseLearner:
    return phases if isinstance(phases, PhaseLearner) else PhaseLearner()


def _warned_of_measurements(observed: Observations) -> bool:
    """Warn of columns of measurements among the categories; return whether there are any."""
    columns = [str(column.attribute) for column in observed.columns if column.continuous]
    if columns:
        message = (
            f"nearly every value of column {', '.join(map(repr, columns))} is distinct: "
            "numbers like these are hardly categories; name it in continuous=[...]"
        )
        warn_caller(HardlyCategoricalWarning(message, columns))
    return bool(columns)
