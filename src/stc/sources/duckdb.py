"""DuckDB relations: counted by DuckDB or streamed as Arrow; predictions are relations."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from uuid import uuid4

import polars as pl

from stc._core.model import Model
from stc._utils.file_formats import find_format, write_frames
from stc._utils.optional import optional
from stc._utils.progress import Progress
from stc.exceptions import DataError, ParameterError
from stc.sources.faults import first_line
from stc.sources.groups import group_counts
from stc.sources.protocol import BATCH_ROWS, SAMPLE_ROWS, Learner, Predictor, schema_of


@dataclass(frozen=True)
class DuckDBSource:
    """A DuckDB relation.

    Attributes
    ----------
    relation
        The rows, without an order unless the relation has one.
    """

    relation: Any
    ordered: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.relation.columns)

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""
        with _errors():
            return pl.DataFrame(self._selected(columns).limit(rows).to_arrow_table())

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""
        return schema_of(self.head(columns, SAMPLE_ROWS))

    def frames(self, columns: Sequence[str]) -> Generator[pl.DataFrame]:
        """Yield all rows in batches."""
        with (
            Progress("reading") as progress,
            _errors(),
            self._selected(columns).to_arrow_reader(BATCH_ROWS) as reader,
        ):
            done = 0
            for batch in reader:
                if batch.num_rows:
                    yield pl.DataFrame(batch)
                done += batch.num_rows
                progress.flow(done, "rows")

    def learn(self, task: Learner) -> Model | None:
        """Return a model of all rows, counted by DuckDB if possible."""
        first = self.head(task.columns, SAMPLE_ROWS)
        plan = task.plan(first.schema)
        if plan is not None:
            with _errors():
                groups = group_counts(self.relation, plan)
            if groups is not None:
                return task.of_groups(groups, first)
        # Until its rows are read or closed, DuckDB refuses other queries on the connection.
        with closing(self.frames(task.columns)) as frames:
            return task(frames)

    def predict(self, task: Predictor, to: Any) -> Any:
        """Return the predictions as a relation, or write them to a file or a new table."""
        with (
            closing(self.frames(task.columns)) as frames,
            TemporaryDirectory(prefix="stc-") as folder,
        ):
            if to is not None and find_format(str(to), compressed=False):
                return write_frames(map(task, frames), task.schema, to)
            # A new query on the connection of the relation ends the result that is being streamed,
            # so all predictions are written before DuckDB reads them.
            path = write_frames(map(task, frames), task.schema, f"{folder}/predictions.parquet")
            text = str(path).replace("'", "''")
            name = f"stc_{uuid4().hex}"  # no table of the user has it
            predictions = self.relation.query(name, f"SELECT * FROM read_parquet('{text}')")
            if to is None:
                return predictions.materialize()
            try:
                predictions.create(str(to))
            except _duckdb().Error as error:
                raise ParameterError(f"to={to!r}: {first_line(error)}") from error
        return to

    def _selected(self, columns: Sequence[str]) -> Any:
        return self.relation.select(*map(_duckdb().ColumnExpression, columns))


def _duckdb() -> Any:
    return optional("duckdb", "duckdb", "a DuckDB relation")


@contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of DuckDB as errors of stc."""
    try:
        yield
    except _duckdb().Error as error:
        raise DataError(f"DuckDB cannot evaluate the relation: {first_line(error)}") from error
