"""Counting where the data is: one group-by for each column, and nothing else leaves the database.

It is done for plain tables: one value a cell, and sets of one dimension. Values and classes come
as they are; what they are called, and everything that is computed, is the kernel's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import polars as pl

from stc._utils.optional import optional

# The columns of a group; data with columns of these names is not counted so.
COUNT, MASS = "stc_count", "stc_mass"

Run = Callable[[Any], pl.DataFrame]


class Plan(NamedTuple):
    """What to count.

    Attributes
    ----------
    dimensions
        The attributes of each dimension that is counted.
    targets, weight
        The columns of the targets, and of the weight of each item.
    category
        Whether a missing value is a category.
    """

    dimensions: tuple[tuple[str, ...], ...]
    targets: tuple[str, ...]
    weight: str | None
    category: bool


class Groups(NamedTuple):
    """What was counted.

    Attributes
    ----------
    classes
        Count and mass of each class.
    columns
        By dimension and attribute: count and mass of each pair of a value and a class.
    """

    classes: pl.DataFrame
    columns: Mapping[tuple[int, str], pl.DataFrame]


def grouped(table: Any, plan: Plan, run: Run) -> Groups | None:
    """Count a table; None if some row is not fit for it, and the kernel should say why."""
    alchemy = optional("sqlalchemy", "duckdb", "counting in a database")
    attributes = tuple(dict.fromkeys(name for group in plan.dimensions for name in group))
    totals = _totals(alchemy, table, plan, attributes, run)
    if totals is None:
        return None
    targets = [table.c[name] for name in plan.targets]
    weight = None if plan.weight is None else table.c[plan.weight]
    counted = alchemy.func.count()
    all_mass = counted if weight is None else alchemy.func.sum(_double(alchemy, weight))
    here = [] if weight is None else [weight > alchemy.literal_column("0")]
    labelled = [counted.label(COUNT), all_mass.label(MASS)]
    classes = run(alchemy.select(*targets, *labelled).where(*here).group_by(*targets))
    columns = {}
    for number, group in enumerate(plan.dimensions):
        total = _total(alchemy, table, group, totals, plan.category)
        share = _share(alchemy, weight, total)
        for name in group:
            value = table.c[name]
            kept = here if plan.category else [*here, value.is_not(None)]
            mass = counted / _double(alchemy, total) if share is None else alchemy.func.sum(share)
            query = alchemy.select(value, *targets, counted.label(COUNT), mass.label(MASS))
            columns[number, name] = run(query.where(*kept).group_by(value, *targets))
    return Groups(classes, columns)


def _totals(
    alchemy: Any, table: Any, plan: Plan, attributes: tuple[str, ...], run: Run
) -> dict[str, bool] | None:
    """For each attribute whether some row lacks it; None if a row has no class or no weight."""
    names = [*attributes, *plan.targets, *([] if plan.weight is None else [plan.weight])]
    asked = [alchemy.func.count(table.c[name]).label(f"n{k}") for k, name in enumerate(names)]
    if plan.weight is not None:
        weight = table.c[plan.weight]
        asked += [alchemy.func.min(weight).label("least"), alchemy.func.max(weight).label("most")]
    found = run(alchemy.select(alchemy.func.count().label("rows"), *asked))
    rows, *counts = found.row(0)
    needed = counts[len(attributes) : len(names)]
    if any(count < rows for count in needed):
        return None
    # Not a number is greater than any.
    if plan.weight is not None and rows and not 0 <= counts[-2] <= counts[-1] < math.inf:
        return None
    return {name: counts[k] < rows for k, name in enumerate(attributes)}


def _total(
    alchemy: Any, table: Any, group: tuple[str, ...], lacking: Mapping[str, bool], category: bool
) -> Any:
    """How many values an item has in a dimension: a number, or what tells it for each row."""
    uncertain = [name for name in group if lacking[name] and not category]
    certain = alchemy.literal_column(str(len(group) - len(uncertain)))
    if not uncertain:
        return certain
    there = [
        alchemy.case(
            (table.c[name].is_(None), alchemy.literal_column("0")),
            else_=alchemy.literal_column("1"),
        )
        for name in uncertain
    ]
    return sum(there, certain)


def _share(alchemy: Any, weight: Any, total: Any) -> Any:
    """What an item adds to each of its values; None if it is the same for all items."""
    plain = isinstance(total, alchemy.sql.elements.ColumnClause)
    if weight is None and plain:
        return None
    one = alchemy.literal_column("1.0") if weight is None else weight
    return _double(alchemy, one) / _double(alchemy, total)


def _double(alchemy: Any, number: Any) -> Any:
    return alchemy.cast(number, alchemy.Double())
