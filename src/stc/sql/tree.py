"""Pieces of SQL as trees of sqlglot: literals, tables of literals, sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp

# sqlglot has called the type of its nodes by other names before.
Node = Any

# SQLite takes 127 arguments, and expressions 1000 deep.
_MOST_ARGUMENTS = 100
# Databases in which a subquery that is used many times over is said to be computed once.
_MATERIALIZED = ("duckdb", "postgres", "sqlite")
# Databases that read an array of numbers out of a text, and how it is written there.
# And what cuts a text into an array.
_BRACKETS = {"duckdb": ("[", "]"), "postgres": ("{", "}")}
_CUT = {"duckdb": "STRING_SPLIT", "postgres": "STRING_TO_ARRAY"}
# Rows of literals that SQLite estimates as many.
_PIECE = 20_000
# Rows of literals that are read fast enough, and are easier on the eye.
_FEW_ROWS = 500
# One node for all: most of a model are zeros, and nobody changes them.
_ZERO: Node = exp.Literal(this="0", is_string=False)


def text(value: str) -> Node:
    """A string."""
    if "\0" in value:
        raise ValueError(f"{value!r} holds the character NUL, which SQL has no text for")
    return exp.Literal(this=value, is_string=True)


def number(value: float) -> Node:
    """A double, written so that it is read as one, and not as a decimal."""
    written = repr(float(value))
    if "e" not in written:
        written += "e0"
    if written.startswith("-"):
        return exp.Neg(this=exp.Literal(this=written[1:], is_string=False))
    return exp.Literal(this=written, is_string=False)


def integer(value: int) -> Node:
    """A whole number."""
    plain = exp.Literal(this=str(abs(int(value))), is_string=False)
    return exp.Neg(this=plain) if value < 0 else plain


def literal(value: Any, kind: str) -> Node:
    """A value of a column of this type."""
    if kind == "boolean":
        return exp.true() if value else exp.false()
    if kind == "text":
        return text(str(value))
    if kind == "double":
        return number(value) if value else _ZERO
    return integer(value)


def kind_of(labels: Iterable[Any]) -> str:
    """The type of a column that holds all these labels."""
    kinds = {type(own) for own in labels}
    names = {bool: "boolean", int: "bigint", float: "double"}
    return names.get(kinds.pop(), "text") if len(kinds) == 1 else "text"


def column(name: str, table: str) -> Node:
    """A column of ours."""
    return exp.column(name, table=table)


def table(name: str, alias: str) -> Node:
    """A subquery of ours, under another name."""
    return exp.alias_(exp.to_table(name), alias, table=True)


def named(name: str, table: str) -> Node:
    """A column of the caller's, whatever its name is.

    With its table: SQLite takes an unknown name in quotes for a string.
    """
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(table))


def equal(name: str, one: str, other: str) -> Node:
    """Whether the columns of this name are equal in both."""
    return exp.EQ(this=column(name, one), expression=column(name, other))


def is_there(value: Node) -> Node:
    """Whether it is not NULL."""
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))


def total(parts: Sequence[Node]) -> Node:
    """The sum, in parentheses that keep it from being deep."""
    if len(parts) > _MOST_ARGUMENTS:
        parts = [exp.Paren(this=total(own)) for own in _chunks(parts)]
    whole = parts[0]
    for part in parts[1:]:
        whole = exp.Add(this=whole, expression=part)
    return whole


def _chunks(parts: Sequence[Node]) -> list[Sequence[Node]]:
    step = max(_MOST_ARGUMENTS, -(-len(parts) // _MOST_ARGUMENTS))
    return [parts[k : k + step] for k in range(0, len(parts), step)]


def greatest(parts: Sequence[Node], dialect: str) -> Node:
    """The largest of numbers, of which none is NULL."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) > _MOST_ARGUMENTS:
        return greatest([greatest(own, dialect) for own in _chunks(parts)], dialect)
    # Not sqlglot's own: it guards every argument against NULL by all the others.
    name = "MAX" if dialect == "sqlite" else "GREATEST"
    return exp.Anonymous(this=name, expressions=list(parts))


def case(*branches: tuple[Node, Node], default: Node | None = None) -> Node:
    """The first branch that is true."""
    ifs = [exp.If(this=condition, true=result) for condition, result in branches]
    return exp.Case(ifs=ifs, default=default)


def union(selects: Sequence[Node]) -> Node:
    """All rows of all of them."""
    return selects[0] if len(selects) == 1 else exp.union(*selects, distinct=False, copy=False)


class Values(NamedTuple):
    """A column of literals, and its type."""

    kind: str
    values: Sequence[Any]


class Query:
    """Named subqueries, one after the other, for a SELECT that uses them."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._named: list[exp.CTE] = []

    @property
    def names(self) -> list[str]:
        """The subqueries there are."""
        return [own.alias for own in self._named]

    def add(self, name: str, select: Node, *, once: bool = False) -> str:
        """One more subquery; `once`: its columns are used many times and computed once."""
        alias = exp.TableAlias(this=exp.to_identifier(name))
        own = exp.CTE(this=select, alias=alias)
        if once and self.dialect in _MATERIALIZED:
            own.set("materialized", True)
        self._named.append(own)
        return name

    def add_values(self, name: str, columns: Mapping[str, Values]) -> str:
        """A table of literals."""
        size = len(next(iter(columns.values())).values)
        if size > _FEW_ROWS and self.dialect in _BRACKETS:
            return self.add(name, self._unnested(columns))
        kinds = [own.kind for own in columns.values()]
        rows = zip(*(own.values for own in columns.values()), strict=True)
        tuples = [exp.Tuple(expressions=list(map(literal, row, kinds))) for row in rows]
        # The types of the first row are those of all.
        first = map(exp.cast, tuples[0].expressions, kinds)
        tuples[0] = exp.Tuple(expressions=list(first))
        if self.dialect == "sqlite":
            return self._add_values_of_sqlite(name, list(columns), tuples)
        names = [exp.to_identifier(own) for own in columns]
        alias = exp.TableAlias(this=exp.to_identifier("v"), columns=names)
        values = exp.Values(expressions=tuples, alias=alias)
        select = exp.Select(expressions=[column(own, "v") for own in columns])
        return self.add(name, select.from_(values, copy=False))

    def _add_values_of_sqlite(self, name: str, names: list[str], tuples: list[Node]) -> str:
        """SQLite gives the columns of VALUES names of its own.

        And beyond 2^15 rows of VALUES it takes them for none at all, and scans where it should
        look up: it gets them in pieces.
        """
        selects = []
        for start in range(0, len(tuples), _PIECE):
            alias = exp.TableAlias(this=exp.to_identifier("v"))
            values = exp.Values(expressions=tuples[start : start + _PIECE], alias=alias)
            columns = [column(f"column{k + 1}", "v").as_(own) for k, own in enumerate(names)]
            selects.append(exp.Select(expressions=columns).from_(values, copy=False))
        return self.add(name, union(selects))

    def _unnested(self, columns: Mapping[str, Values]) -> Node:
        """Columns as arrays, each of which is one literal: it is read many times faster."""
        select = exp.Select()
        for name, own in columns.items():
            array = self._cut(own) if own.kind == "text" else self._array(own)
            select.append("expressions", exp.Explode(this=array).as_(name, copy=False))
        return select

    def _array(self, column: Values) -> Node:
        """Numbers."""
        start, end = _BRACKETS[self.dialect]
        written = ",".join(repr(value) if value else "0" for value in column.values)
        kind = exp.DataType.build(f"{column.kind}[]", dialect="duckdb")
        return exp.cast(text(f"{start}{written}{end}"), kind)

    def _cut(self, column: Values) -> Node:
        """Texts, with a character between them that is in none."""
        every = "".join(column.values)
        between = next(own for own in map(chr, range(9, 0xD800)) if own not in every)
        whole = text(between.join(column.values))
        return exp.Anonymous(this=_CUT[self.dialect], expressions=[whole, text(between)])

    def written(self, select: exp.Select) -> exp.Select:
        """The whole query."""
        for own in self._named:
            select = select.with_(
                own.args["alias"],
                as_=own.this,
                materialized=own.args.get("materialized"),
                copy=False,
            )
        return select
