"""Learning: a batch or a source becomes a new fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from stc._core.cascade import Policy
from stc._core.formulas import Hyper
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.schema import KIND_NAMES, Schema
from stc._core.tensor import Dimensions
from stc._input.groups import read_groups
from stc._input.reader import NO_ROLES, Batch, BatchReader
from stc._input.targets import encode_classes
from stc._training.conjunctions import without_ngrams
from stc._training.drawing import Drawn, DrawnGroups
from stc._training.label_thresholds import held_out_counts
from stc._training.phases import PhaseLearner, fit_phases
from stc._training.policy_search import PolicyAgent, learn_policy
from stc._training.state import FittedState
from stc._utils.warnings import warn_caller
from stc.choosing import NOTHING, Choosing, drawn_items, items_for_settings
from stc.exceptions import (
    DataError,
    DuplicateBatchError,
    HardlyCategoricalWarning,
    NeverLearntError,
    ParameterError,
)
from stc.fitted import (
    AUTO,
    FittedModel,
    hyper_of,
    phases_are_given,
    policy_of,
    settings_to_choose,
)
from stc.sources import BATCH_ROWS, SAMPLE_ROWS, Source, source_of
from stc.sources.columns import LearningColumns

Parameters = Mapping[str, Any]
# Precedes the id of a batch in the ledger when it was unlearnt.
UNLEARNT = "unlearnt: "


def fit(
    parameters: Parameters, X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> FittedModel:
    """Learn from nothing, in memory or from a source.

    Parameters
    ----------
    parameters : mapping
        The parameters of SparseTensorClassifier, validated.
    X, y, sample_weight, groups
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
    free = settings_to_choose(parameters)
    if learner is not None:
        free = tuple(name for name in free if name != "prior")
        _refuse_to_learn_phases(parameters, hyper_of(parameters, {}))
    data = X, y, sample_weight
    return _learnt(None, parameters, data, None, learner, Choosing(free), groups)


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
    before: FittedModel, X: Any, y: Any, sample_weight: Any, *, delta: bool = False
) -> tuple[FittedModel | None, Model | None]:
    """Forget items that were learnt.

    Parameters
    ----------
    before : FittedModel
        The model.
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
    >>> left, _ = learning.unlearn(fitted, [["red"]], ["stop"], None)
    >>> left.classes.tolist()
    ['go']
    """
    model, blank, parameters = before.model, before.model.cleared(), before.parameters
    reader = BatchReader(parameters, before.state.roles)
    chosen = source_of(X)
    if chosen is not None:
        columns = LearningColumns.of(reader, chosen, y, sample_weight, before.state)
        counted = chosen.backend.learn(columns.task(blank, parameters["max_entries"])) or blank
        model = model.subtract_model(counted).compacted()
    else:
        batch = reader.batch(X, y, sample_weight, model)
        model.check_size(batch.observed, parameters["max_entries"])
        items = batch.observed, batch.target.column, batch.sample_weight
        model = model.without_items(*items)
        counted = blank.with_items(*items) if delta else blank
    left = model.class_mass.any() or model.declared.any()
    after = FittedModel(replace(before.state, model=model), parameters) if left else None
    return after, counted if delta else None


def declare(before: FittedModel, classes: Any) -> FittedModel:
    """Return a model that has these classes, even if no item has them; None adds none.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> fitted = SparseTensorClassifier().fit([["red"]], ["stop"]).fitted_
    >>> learning.declare(fitted, ["go"]).classes.tolist()
    ['go', 'stop']
    """
    return FittedModel(_declaring(before.state, classes), before.parameters)


def unlearnt_id(batch_id: str | None) -> str | None:
    """Return the id under which the ledger has a batch that was unlearnt.

    Examples
    --------
    >>> from stc import learning
    >>> learning.unlearnt_id("monday")
    'unlearnt: monday'
    """
    return None if batch_id is None else UNLEARNT + batch_id


def is_to_unlearn(batch_id: str | None, has: Callable[[str], bool]) -> bool:
    """Return whether a batch is still to be unlearnt; raise an error if it was never learnt.

    Parameters
    ----------
    batch_id : str or None
        The batch.
    has : callable
        Whether the ledger has an id.

    Returns
    -------
    bool
        False if it was unlearnt before.

    Examples
    --------
    >>> from stc import learning
    >>> learning.is_to_unlearn("monday", {"monday"}.__contains__)
    True
    >>> learning.is_to_unlearn("monday", {"monday", "unlearnt: monday"}.__contains__)
    False
    """
    if batch_id is None:
        return True
    if has(UNLEARNT + batch_id):
        return False
    if not has(batch_id):
        raise NeverLearntError(f"cannot unlearn: the batch {batch_id!r} was never learnt")
    return True


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
    fitted: FittedModel, X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> Batch:
    """Read items to learn phases from; of a source, its first rows.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
    >>> learning.phase_batch(fitted, [["a"]], ["x"], None).observed.n_items
    1
    """
    reader = BatchReader(fitted.parameters, fitted.state.roles)
    chosen = source_of(X)
    _refuse_groups(chosen, groups)
    if chosen is not None:  # as many items as learning in memory can take
        columns = LearningColumns.of(reader, chosen, y, sample_weight, fitted.state)
        batch = columns.reader.batch(columns.first(BATCH_ROWS), None, None, fitted.model)
    else:
        batch = _with_groups(reader.batch(X, y, sample_weight, fitted.model), groups)
    fitted.model.check_size(batch.observed, fitted.parameters["max_entries"])
    return batch


def learn_phases(before: FittedModel, batch: Batch, learner: PhaseLearner | None) -> FittedModel:
    """Learn the phases of a fitted model by gradient; its counts stay as they are.

    Parameters
    ----------
    before : FittedModel
        The model.
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
    >>> from stc import QUANTUM, SparseTensorClassifier, learning
    >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
    >>> y = [a == b for a, b in X]
    >>> fitted = SparseTensorClassifier(**QUANTUM).fit(X, y).fitted_
    >>> batch = learning.phase_batch(fitted, X, y, None)
    >>> bool(learning.learn_phases(fitted, batch, None).model.amplitudes)
    True
    """
    state, parameters = before.state, before.parameters
    if parameters["prior"] == AUTO:  # a prior that was chosen gives way to phases
        state = replace(state, chosen={**state.chosen, "prior": 0.0})
    hyper = hyper_of(parameters, state.chosen)
    _refuse_to_learn_phases(parameters, hyper)
    learner = learner or _learner(parameters["phases"])
    model, history = fit_phases(learner, state.model, *batch.weighted(), hyper)
    counts = state.threshold_counts
    if model.form.multilabel and parameters["label_threshold"] is None:
        tried = held_out_counts(model, *batch.weighted(), hyper, parameters["max_entries"])
        counts = tried if tried.true.any() else counts
    return FittedModel(
        replace(state, model=model, phase_history=history, threshold_counts=counts), parameters
    )


def choose(before: FittedModel, batch: Batch) -> FittedModel:
    """Choose the settings that are "auto" by exact leave-one-out; the counts stay as they are.

    Parameters
    ----------
    before : FittedModel
        The model.
    batch : Batch
        Items that it has learnt, read by `phase_batch`.

    Returns
    -------
    FittedModel
        A new model.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, learning
    >>> X, y = [["a"], ["a"], ["b"], ["b"]] * 5, ["x", "x", "y", "x"] * 5
    >>> fitted = SparseTensorClassifier(sharpness="auto").partial_fit(X, y).fitted_
    >>> chosen = learning.choose(fitted, learning.phase_batch(fitted, X, y, None))
    >>> fitted.hyper.sharpness, chosen.hyper.sharpness < 1
    (1.0, True)
    """
    free = settings_to_choose(before.parameters)
    if not free:
        raise ParameterError("no setting is 'auto'", hint="set_params(power='auto'), for example")
    if before.model.amplitudes:
        free = tuple(name for name in free if name != "prior")
    drawn = items_for_settings(batch)
    state = Choosing(free).settings(before.state, before.parameters, drawn)
    return FittedModel(state, before.parameters)


# --- learning one batch or source -----------------------------------------------------------------


def _refuse_to_learn_phases(parameters: Parameters, hyper: Hyper) -> None:
    if parameters["gains"] is not None:
        raise ParameterError("phases cannot be learnt with given gains", hint="set gains=None")
    if hyper.prior:
        raise ParameterError(
            f"phases cannot be learnt with prior={hyper.prior:g}", hint="set prior=0"
        )


def _with_groups(batch: Batch, groups: Any) -> Batch:
    read = read_groups(groups, batch.observed.n_items)
    return batch if read is None else replace(batch, groups=read.codes)


def _refuse_groups(source: Source | None, groups: Any) -> None:
    if source is not None and groups is not None:
        raise DataError(
            "groups need items in memory, and X is a source",
            hint="read the source, or a part of it, and pass that",
        )


def _blank_of(
    parameters: Parameters, batch: Batch, drawn: Drawn | DrawnGroups | None, choosing: Choosing
) -> tuple[FittedState, Batch, Choosing]:
    """Return a state without counts, its batch, and what is chosen after counting."""
    batch = choosing.scaled(parameters, batch, drawn)
    resolved, choosing = choosing.resolved(parameters, batch, drawn)
    if resolved["ngrams"] == 1:
        batch = replace(batch, observed=without_ngrams(batch.observed))
    return _blank(resolved, batch, choosing.free), batch, choosing


def _learnt(
    before: FittedState | None,
    parameters: Parameters,
    data: tuple[Any, Any, Any],
    classes: Any,
    learner: PhaseLearner | None,
    choosing: Choosing = NOTHING,
    groups: Any = None,
) -> FittedModel:
    chosen = source_of(data[0])
    _refuse_groups(chosen, groups)
    if chosen is not None:
        state = _learnt_source(before, parameters, (chosen, *data[1:]), classes, learner, choosing)
        return FittedModel(state, parameters)
    roles, known = (NO_ROLES, None) if before is None else (before.roles, before.model)
    batch = BatchReader(choosing.readable(parameters), roles).batch(*data, known)
    batch = _with_groups(batch, groups)
    start, drawn = before, None
    if start is None:
        drawn = drawn_items(batch, choosing.sizes(parameters, batch))
        start, batch, choosing = _blank_of(parameters, batch, drawn, choosing)
    start = _declaring(start, classes)
    state = _learnt_batch(start, parameters, batch, learner, choosing, drawn)
    return FittedModel(state, parameters)


def _learnt_batch(
    start: FittedState,
    parameters: Parameters,
    batch: Batch,
    learner: PhaseLearner | None,
    choosing: Choosing,
    drawn: Drawn | DrawnGroups | None,
) -> FittedState:
    """Return the state after learning a batch."""
    model = replace(start.model, form=batch.target.form)
    model.check_size(batch.observed, parameters["max_entries"])
    model = model.with_items(batch.observed, batch.target.column, batch.sample_weight)
    return _completed(start, model, parameters, batch, learner, choosing, drawn)


def _learnt_source(
    before: FittedState | None,
    parameters: Parameters,
    data: tuple[Source, Any, Any],
    classes: Any,
    learner: PhaseLearner | None,
    choosing: Choosing,
) -> FittedState:
    """Learn all rows of a source: counted where they are, then added up."""
    chosen, y, sample_weight = data
    reader = BatchReader(choosing.readable(parameters), before.roles if before else NO_ROLES)
    columns = LearningColumns.of(reader, chosen, y, sample_weight, before)
    known = before.model if before else None
    beyond_counts = before is None and _learns_beyond_counts(parameters)
    first = columns.first(BATCH_ROWS if beyond_counts else SAMPLE_ROWS)
    batch = columns.reader.batch(first, None, None, known)
    thresholds = batch.target.form.multilabel and parameters["label_threshold"] is None
    if thresholds and len(first) == SAMPLE_ROWS:
        batch = columns.reader.batch(columns.first(BATCH_ROWS), None, None, known)
    start, drawn = before, None
    if start is None:
        sizes = choosing.sizes(parameters, batch)
        if any(sizes):
            blank = replace(
                Model.blank(batch.observed, form=batch.target.form), scales=batch.scales
            )
            drawn = chosen.backend.learn(columns.drawing(blank, sizes))
        start, batch, choosing = _blank_of(parameters, batch, drawn, choosing)
    start = _declaring(start, classes)
    part = chosen.backend.learn(columns.task(start.model.cleared(), parameters["max_entries"]))
    if part is None:
        raise DataError("sample_weight is zero for every item: nothing to learn from")
    model = start.model.merged(part)
    return _completed(start, model, parameters, batch, learner, choosing, drawn)


def _learns_beyond_counts(parameters: Parameters) -> bool:
    """Return whether the first batch decides more than counts do."""
    policy, phases = parameters["policy"], parameters["phases"]
    given = policy is None or isinstance(policy, (list, tuple))
    counted = phases is None or phases_are_given(phases)
    selected = parameters["min_support"] > 1 or parameters["max_features"] is not None
    return not (given and counted and not selected and parameters["continuous"] is None)


def _blank(parameters: Parameters, batch: Batch, free: tuple[str, ...]) -> FittedState:
    """Return a state without counts, but with dimensions, policy, scales and interactions."""
    observed, form = batch.observed, batch.target.form
    dimensions = Dimensions.of(parameters["dimensions"], Schema.of(observed))
    policy, values = _policy(parameters, batch, dimensions, free)
    interactions = _interactions(parameters, batch, dimensions)
    model = Model.blank(observed, dimensions, policy, form)
    model = replace(model, scales=batch.scales, interactions=interactions)
    if form.kind == "indicator":
        model = model.with_classes(np.arange(form.width))  # also labels that no item has
    return FittedState(model, values)


def _policy(
    parameters: Parameters, batch: Batch, dimensions: Dimensions, free: tuple[str, ...]
) -> tuple[Policy, pl.DataFrame | None]:
    """Return the policy, and the values of its states if it is learnt."""
    given = parameters["policy"]
    if not isinstance(given, (str, PolicyAgent)):
        return policy_of(given, dimensions), None
    agent = given if isinstance(given, PolicyAgent) else PolicyAgent()
    chosen: Mapping[str, float] = {}
    if free:  # with all dimensions; they are chosen again for the policy
        whole = {**parameters, "policy": None}
        drawn = items_for_settings(batch)
        blank = _blank(whole, batch, ())
        chosen = _learnt_batch(blank, whole, batch, None, Choosing(free), drawn).chosen
    hyper, max_entries = hyper_of(parameters, chosen), parameters["max_entries"]
    return learn_policy(agent, *batch.weighted(), dimensions, hyper, max_entries)


def _interactions(parameters: Parameters, batch: Batch, dimensions: Dimensions) -> Interactions:
    """Return the conjunctions that are features, selected by the first batch."""
    _check_tuples(parameters["interactions"], Schema.of(batch.observed))
    interactions = Interactions.of(parameters["interactions"], parameters["ngrams"])
    order, given = interactions.order, parameters["interactions"]
    if order > 1 and batch.observed.kind != "table":
        raise ParameterError(
            f"interactions={given} needs attributes, and X is {KIND_NAMES[batch.observed.kind]}",
            hint="for n-grams of words, set ngrams",
        )
    if order > 1 and dimensions.attributes is not None:
        raise ParameterError(
            f"interactions={given} are features of a single dimension",
            hint="leave dimensions=None",
        )
    interactions.check_size(batch.observed, parameters["max_entries"])
    limits = parameters["min_support"], parameters["max_features"]
    return interactions.select(*batch.weighted(), *limits)


def _check_tuples(interactions: Any, schema: Schema) -> None:
    """Raise an error if interactions are a list, and not of tuples of attributes."""
    for names in interactions if isinstance(interactions, list | tuple) else ():
        tuple_ = isinstance(names, list | tuple) and len(set(names)) == len(names) > 1
        if not (tuple_ and all(isinstance(name, str) for name in names)):
            raise ParameterError(
                f"interactions has {names!r}, which is not a tuple of several attributes",
                hint="give a number, or a list such as [('legs', 'milk')]",
            )
        for name in names:
            if schema.closed and name not in schema.names:
                raise ParameterError(
                    f"interactions has the attribute {name!r}, which X does not have", column=name
                )


def _completed(
    start: FittedState,
    model: Model,
    parameters: Parameters,
    batch: Batch,
    learner: PhaseLearner | None,
    choosing: Choosing,
    drawn: Drawn | DrawnGroups | None,
) -> FittedState:
    """Return the state with the counts of a model, and what else is learnt from the batch."""
    start = choosing.settings(replace(start, model=model), parameters, drawn)
    counts, history = start.threshold_counts, start.phase_history
    hyper = hyper_of(parameters, start.chosen)
    if learner is not None:
        model, history = fit_phases(learner, model, *batch.weighted(), hyper)
    if model.form.multilabel and parameters["label_threshold"] is None:
        counts += held_out_counts(model, *batch.weighted(), hyper, parameters["max_entries"])
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
