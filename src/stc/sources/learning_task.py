"""Tasks that learn from the rows of a source: they become a model, or a sample that chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import Entries
from stc._core.counting import RunningCounts, sum_entries
from stc._core.model import Model
from stc._core.observations import Column, Observations
from stc._input.containers import encode
from stc._input.reader import Batch, BatchReader
from stc._input.targets import encode_targets
from stc._training.drawing import Drawn, Sizes
from stc.exceptions import StcError
from stc.sources.protocol import COUNT, MASS, GroupedCounts, GroupPlan

T = TypeVar("T")


@dataclass(frozen=True)
class LearningTask:
    """Counts rows of a source into a model that starts blank; it is sent to where the data is.

    Attributes
    ----------
    reader
        Reads batches of rows.
    blank
        A model without entries: attributes, dimensions, policy and scales.
    columns
        The columns to read.
    max_entries
        The most combinations of values to make at a time.
    """

    reader: BatchReader
    blank: Model
    columns: tuple[str, ...]
    max_entries: int

    def __call__(self, frames: Iterable[pl.DataFrame]) -> Model | None:
        """Return the model of these rows alone; None if there are none."""
        model, start = self.blank, 0
        # Adding up in place is faster than a new model for each batch.
        tally = RunningCounts(model.dimensions, tuple(model.corpora))
        for frame in frames:
            with rows_from(start, frame.height):
                for batch in self.batches(frame, model, start):
                    model = replace(
                        model.with_attributes_of(batch.observed), form=batch.target.form
                    )
                    items = batch.observed, batch.target.column, batch.sample_weight
                    for counted in model.counted_parts(*items):
                        if RunningCounts.can(model.corpora):
                            tally.add(counted)
                        else:
                            model = model.with_counts(counted)
            start += frame.height
        counted_all = tally.counted()
        if counted_all is not None:
            return model.with_counts(counted_all)
        return model if len(model.corpora[()].support) else None

    def plan(self, schema: pl.Schema) -> GroupPlan | None:
        """Return what a database has to group by to count these columns; None if it cannot."""
        model, roles = self.blank, self.reader.roles
        targets = self.reader.target_columns
        items = [name for name in self.columns if name not in (*targets, roles.weight)]
        plain = model.schema.kind == "table" and not model.interactions.enabled and not model.scales
        # NaN is missing to the encoder, but a value to a database.
        cells = [dtype for name, dtype in schema.items() if name != roles.weight]
        scalar = not any(dtype.is_nested() or dtype.is_float() for dtype in cells)
        sets = [subset for subset in model.corpora if subset]
        weighed = roles.weight is None or schema[roles.weight].is_numeric()
        ours = COUNT in schema or MASS in schema
        if ours or not (plain and scalar and weighed and sets and RunningCounts.can(sets)):
            return None
        groups = model.dimensions.attributes or (tuple(items),)
        dimensions = tuple(groups[subset[0]] for subset in sets)
        return GroupPlan(dimensions, targets, roles.weight, model.schema.missing == "category")

    def of_groups(self, groups: GroupedCounts, first: pl.DataFrame) -> Model | None:
        """Return the model of groups that a database has counted; `first` shows the types."""
        if not groups.classes.height:
            return None
        batch = self.reader.batch(first, None, None, self.blank)
        model = replace(self.blank.with_attributes_of(batch.observed), form=batch.target.form)
        sets = [subset for subset in model.corpora if subset]
        tally = RunningCounts(model.dimensions, tuple(model.corpora))
        tally.like(batch.observed, batch.target.column)
        for (number, name), unsorted in groups.columns.items():
            found = unsorted.sort(name)
            if not found.height:
                continue
            observed = encode(found.select(name), missing=model.schema.missing)
            column, target = observed.columns[0], self._target(found)
            # A database may tell apart what is one category, such as 1 and 1.0.
            entries = sum_entries([Entries(column.codes, target.codes, *_counts(found))])
            tally.like(replace(batch.observed, columns=observed.columns), target)
            tally.add_entries(sets[number], column, target, entries)
        target = self._target(groups.classes)
        every = np.zeros(target.n_items, dtype=np.int64)
        entries = sum_entries([Entries(every, target.codes, *_counts(groups.classes))])
        tally.add_entries((), None, target, entries)
        counted = tally.counted()
        assert counted is not None
        return model.with_counts(counted)

    def _target(self, found: pl.DataFrame) -> Column:
        names = self.reader.target_columns
        return encode_targets({name: found[name] for name in names}).column

    def batches(self, frame: pl.DataFrame, model: Model, start: int = 0) -> Iterator[Batch]:
        """Yield the items of a frame in parts that are small enough; it starts at this row."""
        with rows_from(start, frame.height):
            batch = self.reader.batch(frame, None, None, model)
        try:
            self.blank.check_size(batch.observed, self.max_entries)
        except ValueError:
            if frame.height < 2:
                raise
            half = frame.height // 2
            yield from self.batches(frame[:half], model, start)
            yield from self.batches(frame[half:], model, start + half)
        else:
            if batch.sample_weight.any():
                yield batch


@dataclass(frozen=True)
class DrawingTask:
    """Draws the rows by which settings, conjunctions and n-grams are chosen, where the data is.

    Attributes
    ----------
    reader
        Reads batches of rows.
    blank
        A model without entries: attributes and scales.
    columns
        The columns to read.
    sizes
        How many rows are drawn.
    """

    reader: BatchReader
    blank: Model
    columns: tuple[str, ...]
    sizes: Sizes

    def __call__(self, frames: Iterable[pl.DataFrame]) -> Drawn | None:
        """Return what is drawn of these rows; None if none has weight."""
        drawn, start = None, 0
        for frame in frames:
            with rows_from(start, frame.height):
                more = self._drawn(frame, drawn)
                if more is not None:
                    drawn = more if drawn is None else drawn.merged(more)
            start += frame.height
        return drawn

    def plan(self, schema: pl.Schema) -> None:
        """Return None: a database groups, but does not hash as this process does."""

    def of_groups(self, groups: GroupedCounts, first: pl.DataFrame) -> None:
        """Return None: nothing is drawn of groups."""

    def _drawn(self, frame: pl.DataFrame, before: Drawn | None) -> Drawn | None:
        batch = self.reader.batch(frame, None, None, self.blank)
        whole = None
        # N-grams are read of the rows that may be drawn only.
        if batch.observed.kind == "documents" and self.reader.parameters["ngrams"] != 1:

            def whole(rows: NDArray[np.int64]) -> Observations:
                return self.reader.batch(frame[rows], None, None, None).raw

        items = batch.raw, batch.target, batch.sample_weight
        return Drawn.of(*items, self.sizes, whole=whole, before=before)


def _counts(found: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    mass = found[MASS].cast(pl.Float64).to_numpy()
    return mass, found[COUNT].cast(pl.Int64).to_numpy()


def map_rows(function: Callable[[pl.DataFrame], T], frames: Iterable[pl.DataFrame]) -> Iterator[T]:
    """Yield what a function returns for each frame; its errors tell the rows of the source."""
    start = 0
    for frame in frames:
        with rows_from(start, frame.height):
            result = function(frame)
        yield result
        start += frame.height


@contextmanager
def rows_from(start: int, rows: int) -> Iterator[None]:
    """Within it, errors about items of a batch tell the rows of the source."""
    try:
        yield
    except StcError as error:
        error.in_batch(start, rows)
        raise
