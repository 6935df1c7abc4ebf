"""Relations of DuckDB: streamed to the kernel as Arrow, and answered by a relation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from stc._optional import optional
from stc._progress import Progress
from stc.model import Model
from stc.sources.groups import grouped
from stc.sources.protocol import BATCH, FEW, Answering, Learning
from stc.sources.scan import ENDINGS
from stc.sources.writing import write_frames

# What a query calls the relation.
_ITEMS = "stc_items"


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
                progress.count(done, "rows")

    def learn(self, task: Learning) -> Model | None:
        """The model of all the data, counted by DuckDB where it can."""
        first = self.head(task.columns, FEW)
        plan = task.plan(first.schema)
        if plan is not None:
            alchemy = optional("sqlalchemy", "duckdb", "counting in DuckDB")
            table = alchemy.table(_ITEMS, *map(alchemy.column, self.names))
            groups = grouped(table, plan, self._run)
            if groups is not None:
                return task.of_groups(groups, first)
        return task(self.frames(task.columns))

    def _run(self, query: Any) -> pl.DataFrame:
        """The answer to a query on the relation, whose SQL is that of PostgreSQL."""
        dialect = optional("sqlalchemy.dialects.postgresql", "duckdb", "counting in DuckDB")
        text = str(query.compile(dialect=dialect.dialect()))
        found = pl.from_arrow(self.relation.query(_ITEMS, text).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found

    def answer(self, task: Answering, to: Any) -> Any:
        """The answers as a relation; or in a file, or in a new table of the same database."""
        frames = map(task, self.frames(task.columns))
        if to is not None and Path(str(to)).suffix.lower() in ENDINGS:
            return write_frames(frames, task.schema, to)
        # A relation has one connection, and a result that is still streaming ends with the next
        # query on it: the answers, which are small beside the items, are gathered first.
        answers = pl.concat([task.schema.to_frame(), *frames]).to_arrow()  # noqa: F841
        related = self.relation.query(_ITEMS, "SELECT * FROM answers")
        if to is None:
            return related
        related.create(str(to))
        return to

    def _picked(self, columns: Sequence[str]) -> Any:
        duckdb = optional("duckdb", "duckdb", "a relation of DuckDB")
        return self.relation.select(*map(duckdb.ColumnExpression, columns))
