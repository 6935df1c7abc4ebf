"""The protocol of sources and of the tasks that they run on their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import polars as pl

from stc._utils.optional import optional
from stc._utils.progress import Progress
from stc.exceptions import MissingColumnError
from stc.sources.arrow import frame_of
from stc.sources.common_types import stacked

# Rows that are read, encoded and counted at a time.
BATCH_ROWS = 250_000
# Rows from which the types of columns are inferred.
SAMPLE_ROWS = 1_000
# Largest number of items that are explained at once.
MAX_EXPLAINED_ROWS = 100_000
# Columns of a group-by. Data with columns of these names is not counted in the database.
COUNT, MASS = "stc_count", "stc_mass"


class GroupPlan(NamedTuple):
    """What to count.

    Attributes
    ----------
    dimensions
        The attributes of each dimension that is counted.
    targets, weight
        The columns of the targets, and of the sample weight.
    category
        Whether a missing value is a category.
    """

    dimensions: tuple[tuple[str, ...], ...]
    targets: tuple[str, ...]
    weight: str | None
    category: bool


class GroupedCounts(NamedTuple):
    """Results of the group-bys.

    Attributes
    ----------
    classes
        Count and mass of each class.
    columns
        By dimension and attribute: count and mass of each pair of a value and a class.
    """

    classes: pl.DataFrame
    columns: Mapping[tuple[int, str], pl.DataFrame]


class Mergeable(Protocol):
    """What is learnt from some rows, and can be merged with what is learnt from others."""

    def merged(self, other: Self) -> Self:
        """Return what is learnt from the rows of both."""


# A model, or a sample of the rows.
Learnt = TypeVar("Learnt", bound=Mergeable)
LearntT_co = TypeVar("LearntT_co", bound=Mergeable, covariant=True)


class Learner(Protocol[LearntT_co]):
    """A task that learns from batches. It can be pickled and sent to workers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""

    def __call__(self, frames: Iterable[pl.DataFrame]) -> LearntT_co | None:
        """Return what is learnt from these rows alone; None if there are none."""

    def plan(self, schema: pl.Schema) -> GroupPlan | None:
        """Return the group-bys that count columns of these types; None if they cannot."""

    def of_groups(self, groups: GroupedCounts, first: pl.DataFrame) -> LearntT_co | None:
        """Return what is learnt from counts that a database computed.

        Parameters
        ----------
        groups : GroupedCounts
            Results of the group-bys of `plan`.
        first : polars.DataFrame
            The first rows, which determine the types of the columns.
        """


class Predictor(Protocol):
    """A task that predicts batches. It can be pickled and sent to workers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""

    @property
    def copied(self) -> tuple[str, ...]:
        """The columns that are copied from the input to the output unchanged."""

    @property
    def schema(self) -> pl.Schema:
        """The columns of the output."""

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the predictions for a batch, one row for each item."""

    def over(self, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the predictions for all batches; errors name rows counted from the first."""


class Backend(Protocol):
    """What a kind of source can do: read rows, learn them where they are, write predictions."""

    @property
    def ordered(self) -> bool:
        """Whether predictions without `to` are returned as arrays: the rows have an order."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches, none of them empty."""

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all rows; None if there are none."""

    def predict(self, task: Predictor, to: Any) -> Any:
        """Return the predictions for all rows in the source's type, or write them to `to`."""


def schema_of(sample: pl.DataFrame) -> pl.Schema:
    """Return the types of the columns of a sample; a column without values may hold text later."""
    return pl.Schema(
        {name: pl.String() if dtype == pl.Null else dtype for name, dtype in sample.schema.items()}
    )


def joined_batches(batches: Iterable[Any], extra: str) -> Iterator[pl.DataFrame]:
    """Yield Arrow record batches as frames of at least a batch; the last may have fewer rows."""
    arrow = optional("pyarrow", extra, "reading Arrow batches")
    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= BATCH_ROWS:
            yield frame_of(arrow.Table.from_batches(waiting))
            waiting = []
    if any(part.num_rows for part in waiting):
        yield frame_of(arrow.Table.from_batches(waiting))


def first_rows(readers: Iterable[Callable[[int], pl.DataFrame]], rows: int) -> pl.DataFrame:
    """Return the first rows of several parts; a reader returns at most so many rows of a part."""
    frames: list[pl.DataFrame] = []
    for read in readers:
        frames.append(read(rows))
        rows -= frames[-1].height
        if rows <= 0:
            break
    filled = [frame for frame in frames if frame.height]
    return stacked(filled or frames[:1])


def with_progress(
    frames: Iterable[pl.DataFrame], expected_rows: Callable[[], int | None] = lambda: None
) -> Iterator[pl.DataFrame]:
    """Yield the frames that have rows, and report how many rows were read."""
    with Progress("reading") as progress:
        done = 0
        for frame in frames:
            if frame.height:
                yield frame
            done += frame.height
            if progress.due:
                progress.flow(done, "rows", expected_rows())


def check_columns(columns: Iterable[str], names: Sequence[str], path: str | None = None) -> None:
    """Raise an error for the first column that is not among the names."""
    known = set(names)
    for column in columns:
        if column not in known:
            error = MissingColumnError(column, names)
            error.path = path
            raise error
