"""Which columns of a source are read, and as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.schema import Schema
from stc._input.reader import Intake
from stc._training.state import FittedState
from stc.sources import Chosen, Scan
from stc.sources.learning import LearningTask


def unchecked(observed: Observations, known: Schema) -> None:
    """Accept the columns: they were picked by name."""


@dataclass(frozen=True)
class Reading:
    """How the rows of a source are read, to be learnt.

    Attributes
    ----------
    chosen
        The source.
    intake
        How they are read.
    columns
        The columns to read.
    """

    chosen: Chosen
    intake: Intake
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls, intake: Intake, chosen: Chosen, y: Any, sample_weight: Any, before: FittedState | None
    ) -> Reading:
        """Columns are told by their names: those of the targets, of the weight, and the others."""
        roles = intake.roles
        if y is not None:
            roles = roles._replace(targets=_names("y", y))
            if intake.targets is not None:
                raise ValueError(f"targets={list(intake.targets)} are in the data: give no y")
        if sample_weight is not None:
            (weight,) = _names("sample_weight", sample_weight, 1)
            roles = roles._replace(weight=weight)
        if chosen.text is not None:
            roles = roles._replace(text=chosen.text)
        targets = tuple(intake.targets or roles.targets)
        if not targets:
            raise ValueError("name the column that is the target: fit(source, 'class')")
        taken = targets if roles.weight is None else (*targets, roles.weight)
        chosen.require(taken)
        known = before is not None and before.model.schema.closed
        items = items_of(chosen, before) if known and before else chosen.attributes(taken)
        columns = (*items, *(name for name in taken if name not in items))
        return cls(chosen, replace(intake, roles=roles, check_columns=unchecked), columns)

    def first(self, rows: int) -> pl.DataFrame:
        """The first rows, refusing to learn from none."""
        found = self.chosen.source.head(self.columns, rows)
        if not found.height:
            raise ValueError("the source has no rows: there is nothing to learn from")
        return found

    def task(self, blank: Model, max_tuples: int) -> LearningTask:
        """What is to be done with all rows."""
        return LearningTask(self.intake, blank, self.columns, max_tuples)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that are the targets."""
        return tuple(self.intake.targets or self.intake.roles.targets)

    def weights(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        """The weight of each row."""
        name = self.intake.roles.weight
        return np.ones(frame.height) if name is None else frame[name].cast(pl.Float64).to_numpy()


def _names(parameter: str, given: Any, most: int | None = None) -> tuple[str, ...]:
    several = tuple(given) if isinstance(given, list | tuple) else ()
    names = (given,) if isinstance(given, str) else several
    named = bool(names) and all(isinstance(name, str) for name in names)
    if not named or len(names) > (most or len(names)):
        raise ValueError(
            f"{parameter}: X is a source, so name its column; got {type(given).__name__}"
        )
    return names


def items_of(chosen: Chosen, learnt: FittedState) -> tuple[str, ...]:
    """The columns of a source that a model reads."""
    schema, names = learnt.model.schema, chosen.source.names
    text = chosen.text or learnt.roles.text
    if schema.kind == "counts":
        raise ValueError("the model was learnt from a sparse matrix, which no source holds")
    if schema.kind == "documents":
        if text is None and len(names) > 1:
            raise ValueError(
                "the model reads documents: say which column holds them, stc.source(..., text=...)"
            )
        wanted: tuple[str, ...] = (text or names[0],)
    else:
        wanted = schema.names if schema.named else names
    absent = [name for name in wanted if name not in names]
    if absent and (schema.closed or len(absent) == len(wanted)):
        raise ValueError(
            f"the data has no column {absent[0]!r}, which the model has learnt from; it has "
            f"{', '.join(map(repr, names))}"
        )
    return tuple(name for name in wanted if name in names)


def told(frame: pl.DataFrame, items: tuple[str, ...], learnt: FittedState) -> Any:
    """The items of a frame, as the model takes them: columns, or one of documents."""
    return frame[items[0]] if learnt.model.schema.kind == "documents" else frame.select(items)


def scan_of(X: Any) -> Scan:
    """A frame in memory as a source, so that its answers can be written."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        frame = frame.to_polars().lazy()
    elif isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        frame = pl.LazyFrame(X, infer_schema_length=None)
    else:
        frame = nw.to_native(frame, pass_through=True)
    if not isinstance(frame, pl.LazyFrame):
        raise TypeError(f"to=...: give a frame or a source, got {type(X).__name__}")
    return Scan(frame)
