"""Counting in DuckDB: one group-by for each column, so that only counts leave the database.

It is for tables with one value in a cell and corpora of single dimensions. Values and classes
are returned as stored; encoding them and all formulas are left to the kernel. The group-bys use
DuckDB's relational API: those of narwhals are as fast, but fail for a column named `a.b`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from stc._utils.optional import optional

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


def group_counts(relation: Any, plan: GroupPlan) -> GroupedCounts | None:
    """Count the rows of a DuckDB relation; None if some row has no class or a bad weight."""
    incomplete = _incomplete_columns(relation, plan)
    if incomplete is None:
        return None
    table, mass = relation, _function("count")
    if plan.weight is not None:
        table = relation.filter(_column(plan.weight) > 0)
        mass = _function("sum", _column(plan.weight).cast("DOUBLE"))
    classes = _grouped(table, plan.targets, mass)
    columns = {}
    for number, attributes in enumerate(plan.dimensions):
        gaps = [] if plan.category else [name for name in attributes if name in incomplete]
        mass = _mass_of_values(plan.weight, len(attributes) - len(gaps), gaps)
        for name in attributes:
            rows = table.filter(_column(name).isnotnull()) if name in gaps else table
            columns[number, name] = _grouped(rows, (name, *plan.targets), mass)
    return GroupedCounts(classes, columns)


def _incomplete_columns(relation: Any, plan: GroupPlan) -> set[str] | None:
    """Return the attributes with missing values; None if a class or a weight cannot be used."""
    required = {*plan.targets, *([] if plan.weight is None else [plan.weight])}
    names = [*required, *{name for group in plan.dimensions for name in group}]
    asked = [_function("count"), *(_function("count", _column(name)) for name in names)]
    if plan.weight is not None:
        asked += [_function(bound, _column(plan.weight)) for bound in ("min", "max")]
    ((rows, *results),) = relation.aggregate(asked).fetchall()
    incomplete = {name for name, count in zip(names, results, strict=False) if count < rows}
    if incomplete & required:
        return None
    # NaN is greater than any number.
    if plan.weight is not None and rows and not 0 <= results[-2] <= results[-1] < math.inf:
        return None
    return incomplete


def _mass_of_values(weight: str | None, complete: int, gaps: Sequence[str]) -> Any:
    """Return what a group adds to the corpus: each item's weight divided by its number of values.

    An item has a value of every complete attribute, and of those with gaps where none is missing.
    """
    values = _constant(float(complete))
    if weight is None and not gaps:
        return _function("count") / values
    for name in gaps:
        values += _column(name).isnotnull().cast("DOUBLE")
    one = _constant(1.0) if weight is None else _column(weight).cast("DOUBLE")
    return _function("sum", one / values)


def _grouped(table: Any, keys: Sequence[str], mass: Any) -> pl.DataFrame:
    """Return count and mass of each combination of values of the keys."""
    aggregates = [_function("count").alias(COUNT), mass.alias(MASS)]
    # The keys are grouped by as text, in which names are quoted.
    grouped = ", ".join('"' + key.replace('"', '""') + '"' for key in keys)
    return pl.DataFrame(
        table.aggregate([*map(_column, keys), *aggregates], grouped).to_arrow_table()
    )


def _duckdb() -> Any:
    return optional("duckdb", "duckdb", "a DuckDB relation")


def _column(name: str) -> Any:
    return _duckdb().ColumnExpression(name)


def _constant(value: float) -> Any:
    return _duckdb().ConstantExpression(value).cast("DOUBLE")


def _function(name: str, *arguments: Any) -> Any:
    return _duckdb().FunctionExpression(name, *arguments)
