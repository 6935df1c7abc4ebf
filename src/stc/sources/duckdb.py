"""Relations of DuckDB: streamed to the kernel as Arrow, and answered by a relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from uuid import uuid4

import polars as pl

from stc._core.model import Model
from stc._utils.file_formats import write_frames
from stc._utils.optional import optional
from stc._utils.progress import Progress
from stc.sources.groups import grouped
from stc.sources.protocol import BATCH, FEW, Answering, Learning, kinds_of
from stc.sources.scan import ENDINGS


def _fresh() -> str:
    """A name for a relation in a query, which no table of the user has."""
    return f"stc_{uuid4().hex}"


@dataclass(frozen=True)
class DuckDBSource:
    """A relation of DuckDB.

    Attributes
    ----------
    relation
        The rows, in an order that only the relation itself may fix.
    """

    relation: Any
    arrays: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns of the data."""
        return tuple(self.relation.columns)

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows."""
        found = pl.from_arrow(self._picked(columns).limit(rows).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along as they are."""
        return kinds_of(self.head(columns, FEW))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows, a batch at a time."""
        with Progress("reading") as progress:
            done = 0
            for batch in self._picked(columns).to_arrow_reader(BATCH):
                if batch.num_rows:
                    frame = pl.from_arrow(batch)
                    assert isinstance(frame, pl.DataFrame)
                    yield frame
                done += batch.num_rows
                progress.flow(done, "rows")

    def learn(self, task: Learning) -> Model | None:
        """The model of all the data, counted by DuckDB where it can."""
        first = self.head(task.columns, FEW)
        plan = task.plan(first.schema)
        if plan is not None:
            alchemy = optional("sqlalchemy", "duckdb", "counting in DuckDB")
            table = alchemy.table(_fresh(), *map(alchemy.column, self.names))
            groups = grouped(table, plan, partial(self._run, table.name))
            if groups is not None:
                return task.of_groups(groups, first)
        return task(self.frames(task.columns))

    def _run(self, name: str, query: Any) -> pl.DataFrame:
        """The answer to a query on the relation under a name; its SQL is that of PostgreSQL."""
        dialect = optional("sqlalchemy.dialects.postgresql", "duckdb", "counting in DuckDB")
        # Named parameters, of which there are none: other styles write a percent sign twice.
        text = str(query.compile(dialect=dialect.dialect(paramstyle="named")))
        found = pl.from_arrow(self.relation.query(name, text).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found

    def answer(self, task: Answering, to: Any) -> Any:
        """The answers as a relation; or in a file, or in a new table of the same database."""
        frames = map(task, self.frames(task.columns))
        if to is not None and Path(str(to)).suffix.lower() in ENDINGS:
            return write_frames(frames, task.schema, to)
        # A relation has one connection, and a result that is still streaming ends with the next
        # query on it: the answers wait in a file until all are there.
        with TemporaryDirectory(prefix="stc-") as folder:
            path = write_frames(frames, task.schema, f"{folder}/answers.parquet")
            text = str(path).replace("'", "''")
            related = self.relation.query(_fresh(), f"SELECT * FROM read_parquet('{text}')")
            if to is None:
                return related.materialize()
            related.create(str(to))
        return to

    def _picked(self, columns: Sequence[str]) -> Any:
        duckdb = optional("duckdb", "duckdb", "a relation of DuckDB")
        return self.relation.select(*map(duckdb.ColumnExpression, columns))
