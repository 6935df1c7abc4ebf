"""Items in a table of features: a row (item, feature, weight) for each value of an item."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from stc.exceptions import ParameterError
from stc.sql import expressions as sql
from stc.sql.expressions import Node, Query, Values
from stc.sql.weights import ModelWeights, spelled


class KnownFeatures(NamedTuple):
    """The subquery (item, feature, weight) of the features that the model knows.

    Attributes
    ----------
    name
        The name of the subquery.
    weighted
        Whether it has weights; otherwise all are 1.
    """

    name: str
    weighted: bool


NO_FEATURES = KnownFeatures("", weighted=False)


def parse_table(name: str, dialect: str) -> Node:
    """Return the table of a name: `items`, `schema.items`, `"my items"`."""
    try:
        parsed = exp.maybe_parse(name, into=exp.Table, dialect=dialect)
    except SqlglotError:
        parsed = None
    # Nothing but identifiers: no function, alias or second table.
    parts = [part for part in parsed.args.values() if part] if parsed else [None]
    if not all(isinstance(part, exp.Identifier) for part in parts):
        raise ParameterError(
            f"{name!r} is not the name of a table", hint=f"quote special names as {dialect} does"
        )
    return parsed


def add_items(query: Query, item: Node, source: Node) -> None:
    """Add the subquery of all items."""
    select = exp.select(item.as_("item")).distinct().from_(source).where(sql.is_not_null(item))
    query.add("stc_items", select)


def read_features(query: Query, weights: ModelWeights, source: Node) -> KnownFeatures:
    """Add the items and the known features of a table (item, feature, weight)."""
    item, weight = sql.column("item", "f"), sql.column("weight", "f")
    source = exp.alias_(source, "f", table=True)
    add_items(query, item, source.copy())
    if not weights.features:
        return NO_FEATURES
    names = weights.named(spelled)
    columns = {"feature": Values("text", names), "id": Values("bigint", range(len(names)))}
    query.add_values("stc_features", columns)
    summed = exp.Sum(this=exp.cast(weight.copy(), "double")).as_("weight")
    select = exp.select(item.copy(), sql.column("id", "n").as_("feature"), summed).from_(source)
    same_feature = sql.equal(sql.column("feature", "n"), sql.column("feature", "f"))
    select = select.join(sql.table("stc_features", "n"), on=same_feature)
    select = select.where(sql.is_not_null(item)).where(sql.greater(weight, sql.integer(0)))
    select = select.group_by(item.copy(), sql.column("id", "n"))
    return KnownFeatures(query.add("stc_known", select, once=True), weighted=True)
