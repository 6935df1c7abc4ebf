"""Fitted state: everything that learning produces."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import polars as pl

from stc._core.model import Model
from stc._input.reader import NO_ROLES, Roles
from stc._training.label_thresholds import ThresholdCounts


@dataclass(frozen=True, eq=False)
class FittedState:
    """Everything that learning produces, as one value that never changes.

    Attributes
    ----------
    model
        The counts, with classes, features and phases.
    policy_values
        Mean reward of each state of the policy search; None if no policy was learnt.
    threshold_counts
        How candidate label thresholds did on held-out items.
    warned
        Whether a HardlyCategoricalWarning was issued.
    phase_history
        Each step of learning the phases; None if none were learnt.
    roles
        Which columns of the data are the targets, the weight or the text.
    batches
        Ids of the batches that were learnt.
    """

    model: Model
    policy_values: pl.DataFrame | None = None
    threshold_counts: ThresholdCounts = field(default_factory=ThresholdCounts.none)
    warned: bool = False
    phase_history: pl.DataFrame | None = None
    roles: Roles = NO_ROLES
    batches: frozenset[str] = frozenset()

    def merged(self, other: FittedState) -> FittedState:
        """Return the state that has learnt the items of both; the ids of batches stay ours."""
        return replace(
            self,
            model=self.model.merged(other.model),
            threshold_counts=self.threshold_counts + other.threshold_counts,
        )
