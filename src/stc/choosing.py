"""What is chosen by exact leave-one-out: conjunctions and n-grams before counting, settings after.

The functions of `_training` choose; this module decides what is to be chosen, and by which items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stc._core.observations import Column, Observations
from stc._core.scales import apply_scales
from stc._input.reader import Batch, BatchReader
from stc._input.scales import sets_knots
from stc._training.choice import Choice, Goal, choose_settings, most_items
from stc._training.conjunctions import (
    MOST_ROWS,
    choose_conjunctions,
    choose_ngrams,
    without_ngrams,
)
from stc._training.drawing import Drawn, DrawnGroups, Sizes
from stc._training.state import FittedState
from stc.fitted import AUTO, FittedModel, hyper_of

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Choosing:
    """What is chosen by leave-one-out.

    Attributes
    ----------
    free
        The settings that act at prediction time.
    features
        Whether conjunctions and n-grams are chosen, if they are "auto", and knots, if they are not
        given; otherwise there are none of the former, and the latter are set by the first batch.
    near
        The settings that were chosen together with the conjunctions.
    """

    free: tuple[str, ...] = ()
    features: bool = True
    near: Choice | None = None

    def readable(self, parameters: Parameters) -> Parameters:
        """Return the parameters to read a first batch with."""
        return parameters if self.features else {**parameters, **_without_auto(parameters)}

    def sizes(self, parameters: Parameters, batch: Batch) -> Sizes:
        """Return how many items are drawn to choose, given a batch of the data."""
        # The knots that fewer items set are those of the batch.
        knots = self._sets_knots(parameters) and batch.observed.n_items > MOST_ROWS
        features = self._chosen_feature(parameters, batch.observed, batch.target.column)
        items = most_items(batch.observed) if self.free else 0
        return Sizes(MOST_ROWS if knots or features else 0, items)

    def scaled(
        self, parameters: Parameters, batch: Batch, drawn: Drawn | DrawnGroups | None
    ) -> Batch:
        """Return the batch with knots that the drawn items set."""
        if drawn is None or not (drawn.sizes.candidates and self._sets_knots(parameters)):
            return batch
        observed, _, weight, _ = drawn.candidates
        scales = BatchReader(parameters).scales(observed, weight)
        return replace(batch, observed=apply_scales(batch.raw, scales), scales=scales)

    def resolved(
        self, parameters: Parameters, batch: Batch, drawn: Drawn | DrawnGroups | None
    ) -> tuple[Parameters, Choosing]:
        """Return the parameters with chosen conjunctions or n-grams, and what is still chosen."""
        changed = _without_auto(parameters)
        if drawn is None or not drawn.sizes.candidates:
            return {**parameters, **changed}, self
        items = drawn.candidates
        items = items._replace(observed=apply_scales(items.observed, batch.scales))
        choose = {"ngrams": choose_ngrams, "interactions": choose_conjunctions}.get(
            self._chosen_feature(parameters, items.observed, items.target) or ""
        )
        goal = Goal(self.free, parameters["scoring"])
        tried = choose and choose(items, drawn.target.form, hyper_of(parameters, {}), goal)
        if tried is None:
            return {**parameters, **changed}, self
        chosen = {"interactions": tried.interactions.given, "ngrams": tried.interactions.ngrams}
        changed = {name: chosen[name] for name in changed}
        return {**parameters, **changed}, replace(self, near=tried.choice)

    def settings(
        self, state: FittedState, parameters: Parameters, drawn: Drawn | DrawnGroups | None
    ) -> FittedState:
        """Return the state with settings chosen by leave-one-out over items that it has learnt."""
        if not self.free or drawn is None:
            return state
        choice = self.near
        if choice is None or not choice.is_of(state.model):
            cascade = FittedModel(replace(state, chosen={}), parameters).cascade
            observed, target, weight, groups = drawn.sample
            if state.model.interactions.ngrams == 1:
                observed = without_ngrams(observed)
            observed = apply_scales(observed, state.model.scales)
            goal = Goal(self.free, parameters["scoring"])
            items = observed, target, weight
            choice = choose_settings(cascade, *items, goal, near=choice, groups=groups)
        if choice is None:
            return state
        chosen = {name: getattr(choice.hyper, name) for name in self.free}
        return replace(state, chosen=chosen, choices=choice.table, loo=choice.score)

    def _chosen_feature(
        self, parameters: Parameters, observed: Observations, target: Column
    ) -> str | None:
        """Return which of the parameters of conjunctions and n-grams is chosen."""
        name = {"documents": "ngrams", "table": "interactions"}.get(observed.kind)
        if not self.features or name not in _without_auto(parameters):
            return None
        single = parameters["dimensions"] is None and target.offsets is None
        return name if single or name == "ngrams" else None

    def _sets_knots(self, parameters: Parameters) -> bool:
        return self.features and sets_knots(parameters["continuous"])


# What batches choose: nothing.
NOTHING = Choosing(features=False)


def _without_auto(parameters: Parameters) -> dict[str, Any]:
    """Return the values of conjunctions and n-grams that are "auto" if none are chosen."""
    return {name: 1 for name in ("interactions", "ngrams") if parameters[name] == AUTO}


def drawn_items(batch: Batch, sizes: Sizes) -> Drawn | DrawnGroups | None:
    """Return the items of a batch that choose; None if nothing is to be chosen."""
    if not any(sizes):
        return None
    items = batch.raw, batch.target, batch.sample_weight
    return (
        Drawn.of(*items, sizes)
        if batch.groups is None
        else DrawnGroups.of(*items, batch.groups, sizes)
    )


def items_for_settings(batch: Batch) -> Drawn | DrawnGroups | None:
    """Return the items of a batch that choose settings alone."""
    return drawn_items(batch, Sizes(0, most_items(batch.observed)))
