"""Which columns of a source are read, and in which role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import polars as pl

from stc._core.model import Model
from stc._input.reader import BatchReader
from stc._training.drawing import Sizes
from stc._training.state import FittedState
from stc.exceptions import (
    DataError,
    DataTypeError,
    EmptySourceError,
    MissingColumnError,
    ParameterError,
)
from stc.sources import FileBackend, Source
from stc.sources.learning_task import DrawingTask, LearningTask
from stc.sources.protocol import check_columns

# Hints, for those who replace them: the command has options in their place.
NAME_THE_TARGET = "name it, fit(source, 'class')"
NAME_THE_TEXT = "name the column that holds them, stc.source(..., text=...)"


@dataclass(frozen=True)
class LearningColumns:
    """The columns of a source that are read to learn from it.

    Attributes
    ----------
    chosen
        The source.
    reader
        Reads batches of its rows.
    columns
        The columns to read.
    """

    chosen: Source
    reader: BatchReader
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls,
        reader: BatchReader,
        chosen: Source,
        y: Any,
        sample_weight: Any,
        before: FittedState | None,
    ) -> LearningColumns:
        """Find the columns by name: those of the targets, of the weight, and the others."""
        roles = reader.roles
        if y is not None:
            roles = roles._replace(targets=_names("y", y))
            if reader.target_names is not None:
                raise ParameterError(
                    f"targets={list(reader.target_names)} are in the data: give no y"
                )
        if sample_weight is not None:
            (weight,) = _names("sample_weight", sample_weight, 1)
            roles = roles._replace(weight=weight)
        if chosen.text is not None:
            roles = roles._replace(text=chosen.text)
        targets = tuple(reader.target_names or roles.targets)
        if not targets:
            raise ParameterError("no target column is named", hint=NAME_THE_TARGET)
        taken = targets if roles.weight is None else (*targets, roles.weight)
        check_columns(taken, chosen.backend.names)
        if before is not None and before.model.schema.closed:
            items = item_columns(chosen, before)
        else:
            items = chosen.attributes(taken)
        columns = (*items, *(name for name in taken if name not in items))
        return cls(chosen, replace(reader, roles=roles, by_name=True), columns)

    def first(self, rows: int) -> pl.DataFrame:
        """Return the first rows, refusing an empty source."""
        frame = self.chosen.backend.head(self.columns, rows)
        if not frame.height:
            raise EmptySourceError("there is nothing to learn from")
        return frame

    def task(self, blank: Model, max_entries: int) -> LearningTask:
        """Return the task that counts all rows."""
        return LearningTask(self.reader, blank, self.columns, max_entries)

    def drawing(self, blank: Model, sizes: Sizes) -> DrawingTask:
        """Return the task that draws the rows by which settings and conjunctions are chosen."""
        return DrawingTask(self.reader, blank, self.columns, sizes)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that are the targets."""
        return self.reader.target_columns


def _names(parameter: str, given: Any, most: int | None = None) -> tuple[str, ...]:
    several = tuple(given) if isinstance(given, list | tuple) else ()
    names = (given,) if isinstance(given, str) else several
    named = bool(names) and all(isinstance(name, str) for name in names)
    if not named or len(names) > (most or len(names)):
        raise ParameterError(
            f"{parameter}: X is a source, so name its column; got {type(given).__name__}"
        )
    return names


def item_columns(chosen: Source, state: FittedState) -> tuple[str, ...]:
    """Return the columns of a source that a fitted model reads."""
    schema, names = state.model.schema, chosen.backend.names
    text = chosen.text or state.roles.text
    if schema.kind == "counts":
        raise DataError("the model was learnt from a sparse matrix, which no source holds")
    if schema.kind == "documents":
        if text is None and len(names) > 1:
            raise ParameterError("the model reads documents", hint=NAME_THE_TEXT)
        wanted: tuple[str, ...] = (text or names[0],)
    else:
        wanted = schema.names if schema.named else names
    known = set(names)
    absent = [name for name in wanted if name not in known]
    if absent and (schema.closed or len(absent) == len(wanted)):
        raise MissingColumnError(absent[0], names, ", which the model was learnt from")
    return tuple(name for name in wanted if name in known)


def items_in(frame: pl.DataFrame, columns: tuple[str, ...], state: FittedState) -> Any:
    """Return the items of a frame as the model takes them: a frame, or a column of documents."""
    documents = state.model.schema.kind == "documents"
    return frame[columns[0]] if documents else frame.select(columns)


def source_of_frame(X: Any) -> FileBackend:
    """Return a frame in memory as a source, so that predictions can be written to a file."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        frame = frame.to_polars().lazy()
    elif isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        frame = pl.LazyFrame(X, infer_schema_length=None)
    else:
        frame = nw.to_native(frame, pass_through=True)
    if not isinstance(frame, pl.LazyFrame):
        raise DataTypeError(f"to=...: give a frame or a source, got {type(X).__name__}")
    return FileBackend(frame)
