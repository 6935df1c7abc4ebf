"""Pieces of SQL as sqlglot expressions, and the query that is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, isinf
from typing import Any, NamedTuple

from sqlglot import exp

from stc.exceptions import DataError

# Versions of sqlglot have different names for the type of its nodes.
Node = Any

# SQLite accepts 127 arguments, and expressions that are 1000 deep.
_MAX_ARGUMENTS = 100
# Dialects in which a subquery can be marked to be computed once.
_MATERIALIZED = ("duckdb", "postgres", "sqlite")
# Dialects that cast text to an array of numbers: its brackets, and the function that splits text.
_BRACKETS = {"duckdb": ("[", "]"), "postgres": ("{", "}")}
_SPLIT = {"duckdb": "STRING_SPLIT", "postgres": "STRING_TO_ARRAY"}
# With at most so many rows of VALUES, SQLite's planner knows that they are many.
_SQLITE_ROWS = 20_000
# Up to so many rows VALUES is fast enough, and easier to read than arrays.
_FEW_ROWS = 500
# Infinity, as SQLite reads it; the others read infinity within arrays and as text.
_BEYOND = "9e999"
# One node for all zeros, of which a model has many; it is never changed.
_ZERO: Node = exp.Literal(this="0", is_string=False)


# --- literals -----------------------------------------------------------------------------------


def text(value: str) -> Node:
    """Return a string literal."""
    if "\0" in value:
        raise DataError(f"{value!r} holds the character NUL, which SQL text cannot hold")
    return exp.Literal(this=value, is_string=True)


def number(value: float) -> Node:
    """Return a literal that databases read as a double, not as a decimal."""
    digits = repr(float(value)).replace("inf", _BEYOND)
    if "e" not in digits:
        digits += "e0"
    if digits.startswith("-"):
        return exp.Neg(this=exp.Literal(this=digits[1:], is_string=False))
    return exp.Literal(this=digits, is_string=False)


def literal(value: Any, kind: str) -> Node:
    """Return a literal for a column of this type; an expression stays what it is."""
    if isinstance(value, exp.Expression):
        return value
    if kind == "boolean":
        return exp.true() if value else exp.false()
    if kind == "text":
        return text(str(value))
    if kind == "double":
        return number(value) if value else _ZERO
    return exp.convert(value)


def kind_of(labels: Iterable[Any]) -> str:
    """Return the type of a column that holds all these labels."""
    kinds = {type(label) for label in labels}
    names = {bool: "boolean", int: "bigint", float: "double"}
    return names.get(kinds.pop(), "text") if len(kinds) == 1 else "text"


# --- names --------------------------------------------------------------------------------------


def column(name: str, table: str) -> Node:
    """Return a column of a subquery."""
    return exp.column(name, table=table)


def columns(names: Iterable[str], table: str) -> list[Node]:
    """Return columns of a subquery."""
    return [column(name, table) for name in names]


def table(name: str, alias: str) -> Node:
    """Return a subquery under an alias."""
    return exp.alias_(exp.to_table(name), alias, table=True)


def user_column(name: str, table: str) -> Node:
    """Return a column of the user's table, whatever its name is.

    With its table, because SQLite takes an unknown quoted name for a string.
    """
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(table))


# --- expressions; the operators of sqlglot copy their operands ------------------------------------


def total(parts: Sequence[Node]) -> Node:
    """Return the sum of the parts, in parentheses where it would be too deep."""
    if len(parts) > _MAX_ARGUMENTS:
        parts = [exp.Paren(this=total(chunk)) for chunk in _chunks(parts)]
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.Add(this=whole, expression=part)
    return whole


def _chunks(parts: Sequence[Node]) -> list[Sequence[Node]]:
    step = max(_MAX_ARGUMENTS, -(-len(parts) // _MAX_ARGUMENTS))
    return [parts[k : k + step] for k in range(0, len(parts), step)]


def greatest(parts: Sequence[Node], dialect: str) -> Node:
    """Return the largest of the parts, of which none may be NULL."""
    if len(parts) == 1:
        return parts[0].copy()
    if len(parts) > _MAX_ARGUMENTS:
        return greatest([greatest(chunk, dialect) for chunk in _chunks(parts)], dialect)
    # sqlglot's own function would guard every argument against NULL with all the others.
    name = "MAX" if dialect == "sqlite" else "GREATEST"
    return exp.Anonymous(this=name, expressions=[part.copy() for part in parts])


def case(*branches: tuple[Node, Node], default: Node = None) -> Node:
    """Return the value of the first branch whose condition is true; numbers become literals."""
    ifs = [exp.If(this=condition, true=exp.convert(result)) for condition, result in branches]
    return exp.Case(ifs=ifs, default=None if default is None else exp.convert(default))


def union(selects: Sequence[Node]) -> Node:
    """Return all rows of all selects."""
    return selects[0] if len(selects) == 1 else exp.union(*selects, distinct=False, copy=False)


# --- the query ----------------------------------------------------------------------------------


class Values(NamedTuple):
    """A column of literals: its type and its values."""

    kind: str
    values: Sequence[Any]


class Query:
    """Named subqueries (common table expressions), for a SELECT that uses them."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.subqueries: dict[str, tuple[Node, bool | None]] = {}

    def add(self, name: str, select: Node, *, once: bool = False) -> str:
        """Add a subquery and return its name; `once`: it is used often, and computed once."""
        materialized = True if once and self.dialect in _MATERIALIZED else None
        self.subqueries[name] = select, materialized
        return name

    def add_values(self, name: str, columns: Mapping[str, Values]) -> str:
        """Add a table of literals and return its name."""
        size = len(next(iter(columns.values())).values)
        if size > _FEW_ROWS and self.dialect in _BRACKETS:
            return self.add(name, self._unnested(columns))
        columns = {name: self._readable(values) for name, values in columns.items()}
        kinds = [values.kind for values in columns.values()]
        rows = zip(*(values.values for values in columns.values()), strict=True)
        tuples = [exp.Tuple(expressions=list(map(literal, row, kinds))) for row in rows]
        # The types of the first row are those of all.
        first = map(exp.cast, tuples[0].expressions, kinds)
        tuples[0] = exp.Tuple(expressions=list(first))
        if self.dialect == "sqlite":
            return self._add_values_in_sqlite(name, list(columns), tuples)
        names = list(map(exp.to_identifier, columns))
        alias = exp.TableAlias(this=exp.to_identifier("v"), columns=names)
        values = exp.Values(expressions=tuples, alias=alias)
        select = exp.Select(expressions=[column(key, "v") for key in columns])
        return self.add(name, select.from_(values, copy=False))

    def _readable(self, column: Values) -> Values:
        """Return a column of numbers with infinity as the database reads it in VALUES."""
        if self.dialect == "sqlite" or column.kind != "double":
            return column
        if not any(map(isinf, column.values)):
            return column
        names = {inf: "Infinity", -inf: "-Infinity"}
        values = [exp.cast(text(names[x]), "double") if x in names else x for x in column.values]
        return Values("double", values)

    def _add_values_in_sqlite(self, name: str, names: list[str], tuples: list[Node]) -> str:
        """Add a table of literals whose columns SQLite names column1, column2, ...

        Beyond 2^15 rows of VALUES, SQLite estimates that there are none and scans them where it
        should use an index: they are written in chunks.
        """
        selects = []
        for start in range(0, len(tuples), _SQLITE_ROWS):
            alias = exp.TableAlias(this=exp.to_identifier("v"))
            values = exp.Values(expressions=tuples[start : start + _SQLITE_ROWS], alias=alias)
            columns = [column(f"column{k}", "v").as_(key) for k, key in enumerate(names, 1)]
            selects.append(exp.Select(expressions=columns).from_(values, copy=False))
        return self.add(name, union(selects))

    def _unnested(self, columns: Mapping[str, Values]) -> Node:
        """Return a select of arrays, each one literal, which databases read many times faster."""
        select = exp.Select()
        for name, values in columns.items():
            array = self._text_array(values) if values.kind == "text" else self._array(values)
            select.append("expressions", exp.Explode(this=array).as_(name, copy=False))
        return select

    def _array(self, column: Values) -> Node:
        """Return an array of numbers."""
        start, end = _BRACKETS[self.dialect]
        numbers = ",".join(repr(value) if value else "0" for value in column.values)
        kind = exp.DataType.build(f"{column.kind}[]", dialect="duckdb")
        return exp.cast(text(f"{start}{numbers}{end}"), kind)

    def _text_array(self, column: Values) -> Node:
        """Return an array of strings: one string, split at a character that is in none of them."""
        characters = "".join(column.values)
        separator = next(char for char in map(chr, range(9, 0xD800)) if char not in characters)
        joined = text(separator.join(column.values))
        return exp.Anonymous(this=_SPLIT[self.dialect], expressions=[joined, text(separator)])

    def completed(self, select: exp.Select) -> exp.Select:
        """Return a select with the subqueries before it."""
        for name, (subquery, materialized) in self.subqueries.items():
            select = select.with_(name, as_=subquery, materialized=materialized, copy=False)
        return select
