"""Fitted state: everything that learning produces, and the columns of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from stc._core.formulas import Hyper
from stc._core.model import Model
from stc._input.reader import NO_ROLES, Roles
from stc._training.label_thresholds import ThresholdCounts
from stc.exceptions import DataError

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


# The settings that were tried, with their loss by leave-one-out.
CHOICES = pl.Schema({**dict.fromkeys(Hyper._fields, pl.Float64()), "loss": pl.Float64()})


# From this share of repeated rows on, leave-one-out is too optimistic.
_MANY_REPEATED = 0.05


@dataclass(frozen=True)
class LooScore:
    """Figures of exact leave-one-out over the items that chose the settings.

    Attributes
    ----------
    accuracy, log_loss
        Means over the items.
    items
        Number of distinct items.
    baseline
        Share of the most frequent class, the accuracy of always guessing it.
    repeated
        Share of all items that occur more than once; an item of weight 2 does. With groups, of
        those that occur in several.
    """

    accuracy: float
    log_loss: float
    items: int
    baseline: float
    repeated: float


def note_on_repeats(repeated: float) -> str | None:
    """Return what to say of a score if many rows occur more than once; None if few do."""
    if repeated < _MANY_REPEATED:
        return None
    return f"{repeated:.0%} of the rows occur more than once: new rows may be harder"


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
    chosen
        Values of the settings that were chosen by leave-one-out.
    choices
        What was tried to choose them; None if none were chosen.
    loo
        The figures of leave-one-out for the chosen settings.
    """

    model: Model
    policy_values: pl.DataFrame | None = None
    threshold_counts: ThresholdCounts = field(default_factory=ThresholdCounts.none)
    warned: bool = False
    phase_history: pl.DataFrame | None = None
    roles: Roles = NO_ROLES
    batches: frozenset[str] = frozenset()
    chosen: Mapping[str, float] = field(default_factory=dict)
    choices: pl.DataFrame | None = None
    loo: LooScore | None = None

    def merged(self, other: FittedState) -> FittedState:
        """Return the state that has learnt the items of both; the ids of batches stay ours."""
        for one, two in ((self, other), (other, self)):
            both = [name for name in one.roles.taken if name in two.model.schema.names]
            if both:
                raise DataError(
                    "one model has this column as target or weight, the other as an attribute",
                    column=both[0],
                    hint="fit the other one again, with the target named",
                )
        return replace(
            self,
            model=self.model.merged(other.model),
            threshold_counts=self.threshold_counts + other.threshold_counts,
            roles=self.roles.merged(other.roles),
        )
