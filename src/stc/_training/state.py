"""All that learning leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from stc._core.model import Model
from stc._input.reader import NO_ROLES, Roles
from stc._training.label_thresholds import Evidence


@dataclass(frozen=True)
class FittedState:
    """All that learning leaves behind, taken over in one assignment.

    Attributes
    ----------
    model
        What was learnt.
    values
        The value of each state that the agent visited; None if it learnt no policy.
    evidence
        What the threshold of labels is chosen by.
    warned
        Whether columns of measurements have been warned of.
    history
        What was tried in learning the phases; None if none were learnt.
    roles
        Which columns of the data are the targets, the weight or the text.
    batches
        Ids of the batches that were learnt.
    """

    model: Model
    values: pl.DataFrame | None = None
    evidence: Evidence = field(default_factory=Evidence.none)
    warned: bool = False
    history: pl.DataFrame | None = None
    roles: Roles = NO_ROLES
    batches: frozenset[str] = frozenset()
