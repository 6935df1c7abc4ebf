"""Fitted state: everything that learning produces, and the columns of its tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import polars as pl

from stc._core.model import Model
from stc._input.reader import NO_ROLES, Roles
from stc._training.label_thresholds import ThresholdCounts

# The states that the search of a policy visited.
POLICY_STATES = pl.Schema(
    {
        "state": pl.List(pl.String()),
        "value": pl.Float64(),
        "iterations": pl.Int64(),
        "items": pl.Int64(),
    }
)

# The steps of the descents that learnt the phases.
PHASE_HISTORY = pl.Schema(
    {
        "penalty": pl.Float64(),
        "fold": pl.Int64(),
        "start": pl.Int64(),
        "iteration": pl.Int64(),
        "loss": pl.Float64(),
        "held_out_loss": pl.Float64(),
        "held_out_accuracy": pl.Float64(),
    }
)


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
