"""DuckDB relations: counted by DuckDB or streamed as Arrow; predictions are relations.

DuckDB counts tables with one value in a cell, and corpora of single dimensions: one group-by for
each column, so that only counts leave the database. Values and classes are returned as stored;
encoding them and all formulas are left to the kernel. The group-bys use DuckDB's relational API:
those of narwhals are as fast, but fail for a column named `a.b`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from uuid import uuid4

import duckdb
import polars as pl
from duckdb import ColumnExpression, ConstantExpression, FunctionExpression

from stc._core.domain import LEAST, MOST
from stc._utils.file_formats import find_format, write_frames
from stc.exceptions import DataError, ParameterError
from stc.sources.arrow import frame_of
from stc.sources.faults import first_line
from stc.sources.protocol import (
    BATCH_ROWS,
    COUNT,
    MASS,
    SAMPLE_ROWS,
    GroupedCounts,
    GroupPlan,
    Learner,
    Learnt,
    Predictor,
    schema_of,
    with_progress,
)

# Types that are read as text.
_FOREIGN_TYPES = ("BIT", "BIGNUM", "TIME WITH TIME ZONE", "UHUGEINT")


@dataclass(frozen=True)
class DuckDBBackend:
    """A DuckDB relation.

    Attributes
    ----------
    relation
        The rows, without an order unless the relation has one.
    """

    relation: Any
    ordered: ClassVar[bool] = False

    @classmethod
    def of(cls, relation: Any) -> DuckDBBackend:
        """Return a source of a relation; types that Arrow would return as bytes are text."""
        texts = {
            name: ColumnExpression(name).cast("VARCHAR").alias(name)
            for name, dtype in zip(relation.columns, relation.types, strict=True)
            if str(dtype) in _FOREIGN_TYPES
        }
        if not texts:
            return cls(relation)
        columns = [texts.get(name, ColumnExpression(name)) for name in relation.columns]
        return cls(relation.select(*columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.relation.columns)

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""
        with _errors():
            return frame_of(self._selected(columns).limit(rows).to_arrow_table())

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""
        return schema_of(self.head(columns, SAMPLE_ROWS))

    def frames(self, columns: Sequence[str]) -> Generator[pl.DataFrame]:
        """Yield all rows in batches."""
        with _errors(), self._selected(columns).to_arrow_reader(BATCH_ROWS) as reader:
            yield from with_progress(map(frame_of, reader))

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all rows, counted by DuckDB if possible."""
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
            except duckdb.Error as error:
                raise ParameterError(f"to={to!r}: {first_line(error)}") from error
        return to

    def _selected(self, columns: Sequence[str]) -> Any:
        return self.relation.select(*map(ColumnExpression, columns))


@contextmanager
def _errors() -> Iterator[None]:
    """Raise errors of DuckDB as errors of stc."""
    try:
        yield
    except duckdb.Error as error:
        raise DataError(f"DuckDB cannot evaluate the relation: {first_line(error)}") from error


def group_counts(relation: Any, plan: GroupPlan) -> GroupedCounts | None:
    """Count the rows of a DuckDB relation; None if some row has no class or a bad weight."""
    incomplete = _incomplete_columns(relation, plan)
    if incomplete is None:
        return None
    table, mass = relation, FunctionExpression("count")
    if plan.weight is not None:
        table = relation.filter(ColumnExpression(plan.weight) > 0)
        mass = FunctionExpression("sum", ColumnExpression(plan.weight).cast("DOUBLE"))
    classes = _grouped(table, plan.targets, mass)
    columns = {}
    for number, attributes in enumerate(plan.dimensions):
        gaps = [] if plan.category else [name for name in attributes if name in incomplete]
        mass = _mass_of_values(plan.weight, len(attributes) - len(gaps), gaps)
        for name in attributes:
            rows = table.filter(ColumnExpression(name).isnotnull()) if name in gaps else table
            columns[number, name] = _grouped(rows, (name, *plan.targets), mass)
    return GroupedCounts(classes, columns)


def _incomplete_columns(relation: Any, plan: GroupPlan) -> set[str] | None:
    """Return the attributes with missing values; None if a class or a weight cannot be used."""
    required = {*plan.targets, *([] if plan.weight is None else [plan.weight])}
    names = [*required, *{name for group in plan.dimensions for name in group}]
    asked = [
        FunctionExpression("count"),
        *(FunctionExpression("count", ColumnExpression(name)) for name in names),
    ]
    if plan.weight is not None:
        weights = FunctionExpression("nullif", ColumnExpression(plan.weight), ConstantExpression(0))
        asked += [FunctionExpression(bound, weights) for bound in ("min", "max")]
    ((rows, *results),) = relation.aggregate(asked).fetchall()
    incomplete = {name for name, count in zip(names, results, strict=False) if count < rows}
    if incomplete & required:
        return None
    if plan.weight is not None and results[-1] is not None:  # else all weights are 0
        least, most = results[-2:]
        if not LEAST <= least <= most <= MOST:  # NaN is greater than any number
            return None
    return incomplete


def _mass_of_values(weight: str | None, complete: int, gaps: Sequence[str]) -> Any:
    """Return what a group adds to the corpus: each item's weight divided by its number of values.

    An item has a value of every complete attribute, and of those with gaps where none is missing.
    """
    values = ConstantExpression(float(complete)).cast("DOUBLE")
    if weight is None and not gaps:
        return FunctionExpression("count") / values
    for name in gaps:
        values += ColumnExpression(name).isnotnull().cast("DOUBLE")
    one = (
        ConstantExpression(1.0).cast("DOUBLE")
        if weight is None
        else ColumnExpression(weight).cast("DOUBLE")
    )
    return FunctionExpression("sum", one / values)


def _grouped(table: Any, keys: Sequence[str], mass: Any) -> pl.DataFrame:
    """Return count and mass of each combination of values of the keys."""
    aggregates = [FunctionExpression("count").alias(COUNT), mass.alias(MASS)]
    # The keys are grouped by as text, in which names are quoted.
    grouped = ", ".join('"' + key.replace('"', '""') + '"' for key in keys)
    return frame_of(
        table.aggregate([*map(ColumnExpression, keys), *aggregates], grouped).to_arrow_table()
    )
