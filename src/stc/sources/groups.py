"""Counting in a database: one group-by for each column, so that only counts leave it.

It is for tables with one value in a cell and corpora of single dimensions. Values and classes
are returned as stored; encoding them and all formulas are left to the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import polars as pl

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
    table = nw.from_native(relation)
    incomplete = _incomplete_columns(table, plan)
    if incomplete is None:
        return None
    mass = nw.len()
    if plan.weight is not None:
        weight = nw.col(plan.weight)
        table = table.filter(weight > 0)
        mass = weight.cast(nw.Float64()).sum()
    classes = _grouped(table, plan.targets, mass)
    columns = {}
    for number, attributes in enumerate(plan.dimensions):
        gaps = [] if plan.category else [name for name in attributes if name in incomplete]
        mass = _mass_of_a_value(plan.weight, attributes, gaps)
        for name in attributes:
            rows = table.filter(~nw.col(name).is_null()) if name in gaps else table
            columns[number, name] = _grouped(rows, (name, *plan.targets), mass)
    return GroupedCounts(classes, columns)


def _incomplete_columns(table: Any, plan: GroupPlan) -> set[str] | None:
    """Return the attributes with missing values; None if a class or a weight cannot be used."""
    required = {*plan.targets, *([] if plan.weight is None else [plan.weight])}
    names = [*required, *{name for group in plan.dimensions for name in group}]
    asked = [nw.col(name).count().alias(f"n{k}") for k, name in enumerate(names)]
    if plan.weight is not None:
        weight = nw.col(plan.weight)
        asked += [weight.min().alias("least"), weight.max().alias("most")]
    rows, *found = _collected(table.select(nw.len().alias("rows"), *asked)).row(0)
    incomplete = {name for name, count in zip(names, found, strict=False) if count < rows}
    if incomplete & required:
        return None
    # NaN is greater than any number.
    if plan.weight is not None and rows and not 0 <= found[-2] <= found[-1] < math.inf:
        return None
    return incomplete


def _mass_of_a_value(weight: str | None, attributes: Iterable[str], gaps: list[str]) -> Any:
    """Return what a group adds to the corpus: each item's weight divided by its number of values.

    An item has one value of each attribute, but those with gaps only where they are not missing.
    """
    complete = float(len([name for name in attributes if name not in gaps]))
    if not gaps and weight is None:
        return nw.len() / complete
    one = nw.lit(1.0) if weight is None else nw.col(weight).cast(nw.Float64())
    present = ((~nw.col(name).is_null()).cast(nw.Float64()) for name in gaps)
    return (one / sum(present, nw.lit(complete))).sum()


def _grouped(table: Any, keys: Iterable[str], mass: Any) -> pl.DataFrame:
    groups = table.group_by(*keys).agg(nw.len().alias(COUNT), mass.alias(MASS))
    return _collected(groups)


def _collected(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table.to_native().to_arrow_table())
    assert isinstance(frame, pl.DataFrame)
    return frame


# Former names, until all packages use the new ones.
Plan = GroupPlan
Groups = GroupedCounts
