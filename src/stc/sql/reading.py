"""Where the query finds the items: in a table of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from stc.sql.terms import Terms, spelt
from stc.sql.tree import Node, Query, Values, column, equal, integer, is_there
from stc.sql.tree import table as subquery


class Found(NamedTuple):
    """The subquery (item, feature, weight) of what is known; without weights all are 1."""

    known: str
    weighted: bool


NOTHING = Found("", weighted=False)


def table_of(name: str, dialect: str) -> Node:
    """A table by its name: `items`, `schema.items`, `"my items"`."""
    try:
        table = exp.maybe_parse(name, into=exp.Table, dialect=dialect)
    except SqlglotError:
        table = None
    # Anything but a name (a function, an alias, a second table) is not a table that there is.
    parts = [part for part in table.args.values() if part] if table else [None]
    if not all(isinstance(part, exp.Identifier) for part in parts):
        raise ValueError(
            f"{name!r} is not the name of a table; quote a name that is no word, as {dialect} does"
        )
    return table


def add_items(query: Query, item: Node, source: Node) -> None:
    """The subquery of all items."""
    select = exp.select(item.as_("item")).distinct().from_(source).where(is_there(item))
    query.add("stc_items", select)


def add_features(query: Query, names: Sequence[str]) -> None:
    """The table that gives the features of the model their numbers."""
    columns = {"feature": Values("text", names), "id": Values("bigint", range(len(names)))}
    query.add_values("stc_features", columns)


def from_features(query: Query, terms: Terms, table: Node) -> Found:
    """Items and known features out of a table (item, feature, weight)."""
    source = exp.alias_(table, "f", table=True)
    add_items(query, column("item", "f"), source.copy())
    if not terms.features:
        return NOTHING
    add_features(query, terms.named(spelt))
    weight = exp.Sum(this=exp.cast(column("weight", "f"), "double")).as_("weight")
    select = exp.select(column("item", "f"), column("id", "n").as_("feature"), weight)
    select = select.from_(source)
    select = select.join(subquery("stc_features", "n"), on=equal("feature", "n", "f"))
    select = select.where(is_there(column("item", "f")))
    select = select.where(exp.GT(this=column("weight", "f"), expression=integer(0)))
    select = select.group_by(column("item", "f"), column("id", "n"))
    return Found(query.add("stc_known", select, once=True), weighted=True)
