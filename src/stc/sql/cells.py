"""The cells of a table as features: their text as the model has it, whatever their type is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlglot import exp

from stc._core.vocabulary import Feature, feature_name
from stc._input.values import canonical
from stc.sql import expressions as sql
from stc.sql.expressions import Node, Query, Values
from stc.sql.weights import escaped, escaped_name

# Decimals are written without exponent from here on, floats not always.
_SMALL = 1e-4
# From here on the shortest text of a float of single precision does not have all its digits.
_SINGLE_INTEGERS = 2.0**24


class _Types(NamedTuple):
    """The function that returns the type of a value, and the names of the types that it returns."""

    function: str
    boolean: str | None = None
    single: str | None = None
    double: str | None = None
    decimal: str | None = None
    moment: str | None = None
    zoned: str | None = None
    time: str | None = None


_TYPES = {
    "duckdb": _Types(
        "TYPEOF", "BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL%", "TIMESTAMP%",
        "TIMESTAMP WITH TIME ZONE", "TIME%",
    ),
    "postgres": _Types(
        "PG_TYPEOF", "boolean", "real", "double precision", "numeric",
        "timestamp without time zone", "timestamp with time zone", "time without time zone",
    ),
    "sqlite": _Types("TYPEOF", double="real"),
}  # fmt: skip


def cell_features(
    query: Query,
    source: Node,
    item: Node,
    attributes: Sequence[str],
    features: Sequence[Feature],
    weighted: bool,
) -> Node:
    """Return the select of the names of the features of all cells.

    Numbers with decimals are compared as numbers: databases write them in different ways.

    Parameters
    ----------
    query
        The query.
    source, item
        The table, and its column of items.
    attributes
        The columns of cells.
    features
        The attributes and values that the model knows.
    weighted
        Whether to add a column of weights, all 1.
    """
    types = _TYPES.get(query.dialect)
    numbers = _numbers(features, attributes) if types else {}
    cells = [
        _cells(source, item, name, types, numbers=bool(numbers) and query.dialect == "sqlite")
        for name in attributes
    ]
    name = query.add("stc_cells", sql.union(cells))
    if types is not None:
        values = [str(value) for _, value in features if value is not None]
        name = _add_python_values(query, name, types, values, numbers=bool(numbers))
    select = _text_features(name, weighted)
    if not numbers:
        return select
    attribute, number = sql.columns(("attribute", "number"), "c")
    columns = {
        "attribute": Values("text", [escaped(str(feature[0])) for feature in numbers]),
        "number": Values("double", list(numbers.values())),
        "feature": Values("text", list(map(escaped_name, numbers))),
    }
    query.add_values("stc_numbers", columns)
    same = exp.and_(
        sql.column("attribute", "n").eq(attribute), sql.column("number", "n").eq(number)
    )
    found = exp.select(sql.column("item", "c"), sql.column("feature", "n"))
    if weighted:
        found = found.select(sql.number(1.0).as_("weight"))
    found = found.from_(sql.table(name, "c")).join(sql.table("stc_numbers", "n"), on=same)
    return sql.union([select.where(number.copy().is_(exp.null())), found])


def _numbers(features: Iterable[Feature], attributes: Sequence[str]) -> dict[Feature, float]:
    """Return the features whose value is the text of a float, and that float."""
    numbers: dict[Feature, float] = {}
    for attribute, value in features:
        if not isinstance(value, str) or attribute not in attributes:
            continue
        try:
            number = float(value)
        except ValueError:
            continue
        if canonical(number) == value:
            numbers[attribute, value] = number
    return numbers


def _cells(source: Node, item: Node, name: str, types: _Types | None, numbers: bool) -> exp.Select:
    """Return the select of the cells of a column: as text, and in SQLite its floats as they are."""
    cell = sql.user_column(name, "d")
    columns = [item.copy().as_("item"), sql.text(escaped(name)).as_("attribute")]
    if types is not None:
        kind = exp.Anonymous(this=types.function, expressions=[cell.copy()])
        columns.append(exp.cast(kind.copy(), "text").as_("kind"))
        if numbers:
            is_float = kind.eq(sql.text(str(types.double)))
            columns.append(sql.case((is_float, cell.copy())).as_("number"))
    columns.append(exp.cast(cell, "text").as_("value"))
    return exp.select(*columns).from_(source.copy())


def _text_features(cells: str, weighted: bool) -> exp.Select:
    """Return the select of the names of the features of cells, from their text."""
    value, attribute = sql.column("value", "c"), sql.column("attribute", "c")
    start = exp.DPipe(this=attribute.copy(), expression=sql.text(feature_name("", "")))
    missing = exp.DPipe(this=attribute, expression=sql.text(feature_name("", None)))
    feature = exp.Coalesce(this=exp.DPipe(this=start, expression=value), expressions=[missing])
    select = exp.select(sql.column("item", "c"), feature.as_("feature"))
    if weighted:
        select = select.select(sql.number(1.0).as_("weight"))
    return select.from_(sql.table(cells, "c"))


def _add_python_values(
    query: Query, cells: str, types: _Types, values: Sequence[str], numbers: bool
) -> str:
    """Add the cells with the text of their values as the model has it, and their numbers."""
    value, kind = sql.column("value", "c"), sql.column("kind", "c")
    columns = [sql.column("item", "c"), sql.column("attribute", "c")]
    columns.append(_python_text(value, kind, types, values).as_("value"))
    if numbers:
        in_cell = query.dialect == "sqlite"
        number = sql.column("number", "c") if in_cell else _number(value, kind, types)
        columns.append(number.as_("number"))
    return query.add("stc_texts", exp.select(*columns).from_(sql.table(cells, "c")))


def _number(value: Node, kind: Node, types: _Types) -> Node:
    """Return the number of a cell from its text; NULL if its text is compared.

    Single precision is the decimal number that its text is, as in Python.
    """
    double = exp.cast(value.copy(), "double")
    single = exp.cast(exp.cast(value.copy(), "real"), "double")
    whole = exp.Abs(this=single.copy()) >= sql.number(_SINGLE_INTEGERS)
    size = exp.Abs(this=double.copy())
    small = exp.and_(size > sql.number(0.0), size.copy() < sql.number(_SMALL))
    return sql.case(
        (is_nan(value), exp.null()),
        (kind.eq(sql.text(str(types.double))), double),
        (kind.eq(sql.text(str(types.single))), sql.case((whole, single), default=double.copy())),
        (kind.like(str(types.decimal)), sql.case((small, double.copy()))),
    )


# --- values as text -----------------------------------------------------------------------------


def _python_text(value: Node, kind: Node, types: _Types, values: Sequence[str]) -> Node:
    """Return the text of a value as the model has it: 1.0 is "1", and true is "True".

    Integers and text are the same everywhere. Dates and times matter where the model has any.
    """
    branches = []
    if types.boolean:
        words = [(value.eq(sql.text(word.lower())), sql.text(word)) for word in ("True", "False")]
        branches.append((kind.eq(sql.text(types.boolean)), sql.case(*words)))
    numbers = [name for name in (types.single, types.double, types.decimal) if name]
    branches.append((exp.or_(*map(kind.like, numbers)), _shortest(value)))
    if types.zoned and any(text.endswith("+00:00") for text in values):
        utc = exp.AtTimeZone(this=exp.cast(value.copy(), "timestamptz"), zone=sql.text("UTC"))
        clock = _with_fraction(exp.cast(utc, "text"))
        with_zone = exp.DPipe(this=clock, expression=sql.text("+00:00"))
        branches.append((kind.eq(sql.text(types.zoned)), with_zone))
    if types.moment and any(re.match(r"\d{4,}-\d\d-\d\d", text) for text in values):
        midnight = sql.text(" 00:00:00")
        day = exp.Anonymous(this="REPLACE", expressions=[value.copy(), midnight, sql.text("")])
        moment = sql.case((value.like("% 00:00:00"), day), default=_with_fraction(value))
        branches.append((kind.like(types.moment), moment))
    if types.time and any(re.match(r"\d\d:\d\d:\d\d", text) for text in values):
        branches.append((kind.like(types.time), _with_fraction(value)))
    return sql.case(*branches, default=value)


def _with_fraction(value: Node) -> Node:
    """Return the text of a time with 6 or 9 decimals, if it has any: databases drop zeros."""
    point = exp.Anonymous(this="STRPOS", expressions=[value.copy(), sql.text(".")])
    length = exp.Length(this=value.copy())

    def padded(digits: int) -> Node:
        arguments = [value.copy(), exp.cast(point.copy() + digits, "int"), sql.text("0")]
        return exp.Anonymous(this="RPAD", expressions=arguments)

    whole = point.copy().eq(0)
    return sql.case(
        (whole, value.copy()), (length > point.copy() + 6, padded(9)), default=padded(6)
    )


def _shortest(value: Node) -> Node:
    """Return the text of a number without trailing zeros; NaN is NULL, and -0 is 0."""
    trimmed = value
    for character in "0.":
        trimmed = exp.Trim(this=trimmed.copy(), expression=sql.text(character), position="TRAILING")
    has_point = exp.and_(value.like("%.%"), ~value.like("%e%"))
    is_zero = value.isin("-0", "-0.0")
    return sql.case(
        (is_nan(value), exp.null()), (is_zero, sql.text("0")), (has_point, trimmed), default=value
    )


def is_nan(value: Node) -> Node:
    """Return whether the text of a number is that of NaN."""
    return exp.Lower(this=value.copy()).eq(sql.text("nan"))
