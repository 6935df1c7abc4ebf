"""The items: in a table of features, or in a table with a column for each attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from stc._core.model import Model
from stc._core.scales import Knots, Ranks
from stc._core.schema import KIND_NAMES
from stc._core.vocabulary import Feature, feature_name
from stc.exceptions import ParameterError
from stc.sql import expressions as sql
from stc.sql.cells import cell_features, is_nan
from stc.sql.expressions import Node, Query, Values
from stc.sql.weights import ModelWeights, escaped_name


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


def add_items(query: Query, item: Node, source: Node, *, once: bool = False) -> None:
    """Add the subquery of all items; `once`: an item that has several rows is an error."""
    select = exp.select(item.as_("item")).from_(source).where(~item.is_(None))
    select = select.group_by(item.copy())
    if once:
        several = exp.Count(this=exp.Star()) > 1
        refused = sql.case((several, _failure(query, item)), default=exp.true())
        select = select.having(refused)
    query.add("stc_items", select)


def _failure(query: Query, item: Node) -> Node:
    """Return a condition that fails, with the item in the message of the database."""
    words = exp.DPipe(this=sql.text("the item "), expression=exp.cast(item.copy(), "text"))
    message = exp.DPipe(this=words, expression=sql.text(" has several rows"))
    if query.dialect == "sqlite":  # it casts anything; this is "JSON path error near 'the item'"
        return exp.Anonymous(this="JSON_EXTRACT", expressions=[sql.text("{}"), message])
    return exp.cast(message, "boolean")


def _known_features(source: Node) -> exp.Select:
    """Return the select of the item and the number of each feature that the model knows."""
    item, same = sql.column("item", "f"), sql.column("feature", "n").eq(sql.column("feature", "f"))
    select = exp.select(item, sql.column("id", "n").as_("feature")).from_(source)
    return select.join(sql.table("stc_features", "n"), on=same).where(~item.is_(None))


# --- a table of features ------------------------------------------------------------------------


def read_features(query: Query, weights: ModelWeights, source: Node) -> KnownFeatures:
    """Add the items and the known features of a table (item, feature, weight)."""
    item, weight = sql.columns(("item", "weight"), "f")
    source = exp.alias_(source, "f", table=True)
    add_items(query, item, source.copy())
    if not weights.features:
        return NO_FEATURES
    names = weights.named(lambda feature: feature_name(*feature))
    columns = {"feature": Values("text", names), "id": Values("bigint", range(len(names)))}
    query.add_values("stc_features", columns)
    summed = exp.Sum(this=exp.cast(weight.copy(), "double")).as_("weight")
    select = _known_features(source).select(summed).where(weight > 0)
    select = select.group_by(item, sql.column("id", "n"))
    return KnownFeatures(query.add("stc_known", select, once=True), weighted=True)


# --- a table with a column for each attribute ---------------------------------------------------


def read_items(
    query: Query, weights: ModelWeights, model: Model, source: Node, item: str
) -> KnownFeatures:
    """Add the items and the known features of a table with a column for each attribute."""
    if model.schema.kind != "table":
        raise ParameterError(
            f"data={source.sql(query.dialect)!r} needs attributes, and the model learnt from "
            f"{KIND_NAMES[model.schema.kind]}",
            hint="give a table of features",
        )
    source = exp.alias_(source, "d", table=True)
    items = sql.user_column(item, "d")
    add_items(query, items, source.copy(), once=True)
    if not weights.features:
        return NO_FEATURES
    scales = {name: model.scales.get(name) for name in weights.attributes}
    shared = any(isinstance(scale, Ranks) for scale in scales.values())
    _add_features(query, weights, model, shared)
    continuous = {name: scale for name, scale in scales.items() if isinstance(scale, Knots)}
    selects = [
        exp.select(items.copy().as_("item"), *feature).from_(source.copy())
        for name, scale in continuous.items()
        for feature in _interpolated(name, scale, missing=(name, None) in weights.features)
    ]
    others = [name for name in scales if name not in continuous]
    if others:
        values = [feature for feature, _, _ in _memberships(weights, model)]
        weighted = bool(continuous)
        selects.append(cell_features(query, source, items, others, values, weighted=weighted))
    query.add("stc_values", sql.union(selects))
    factors = [sql.column("weight", "f")] * bool(continuous) + [sql.column("share", "n")] * shared
    return _known(query, factors)


def _known(query: Query, factors: Sequence[Node]) -> KnownFeatures:
    """Add the features that the model knows; their weights are products of these columns."""
    select = _known_features(sql.table("stc_values", "f"))
    if factors:
        weight: Node = prod(factors[1:], start=factors[0])
        select = select.select(weight.as_("weight")).where(*(factor > 0 for factor in factors))
    return KnownFeatures(query.add("stc_known", select, once=True), weighted=bool(factors))


def _add_features(query: Query, weights: ModelWeights, model: Model, shared: bool) -> None:
    """Add the table of the features that each value is part of: one, or three of an order."""
    features, numbers, shares = zip(*_memberships(weights, model), strict=True)
    names = list(map(escaped_name, features))
    columns = {"feature": Values("text", names), "id": Values("bigint", numbers)}
    if shared:
        columns["share"] = Values("double", shares)
    query.add_values("stc_features", columns)


def _memberships(weights: ModelWeights, model: Model) -> Iterator[tuple[Feature, int, float]]:
    """Yield a value, the number of a feature and the share of the value in it."""
    for number, feature in enumerate(weights.features):
        attribute, value = feature
        scale = model.scales.get(str(attribute))
        if not isinstance(scale, Ranks) or value is None:
            yield feature, number, 1.0
            continue
        shares = scale.weights(scale.order)
        rank = scale.order.index(str(value))
        for other, share in zip(scale.order, shares[:, rank].tolist(), strict=True):
            if share:
                yield (attribute, other), number, share


# --- numbers between knots ----------------------------------------------------------------------


def _interpolated(attribute: str, scale: Knots, missing: bool) -> list[list[Node]]:
    """Return the features of a number: two between knots, one beyond the first or last."""
    cell = sql.user_column(attribute, "d")
    # Databases compare NaN in different ways, but agree on its text.
    nan = is_nan(exp.cast(cell.copy(), "text"))
    value = sql.case((nan, exp.null()), default=exp.cast(cell, "double"))
    names = [sql.text(escaped_name((attribute, name))) for name in scale.names]
    knots = list(map(sql.number, scale.knots))
    one = sql.number(1.0)
    ends = [(value <= knots[0], names[0], one), (value >= knots[-1], names[-1], one)]
    lower, upper = list(ends), [(end, exp.null(), exp.null()) for end, _, _ in ends]
    for k, (low, high) in enumerate(pairwise(scale.knots)):
        below, width = value < knots[k + 1], sql.number(high - low)
        lower.append((below, names[k], (knots[k + 1] - value) / width))
        upper.append((below, names[k + 1], (value - knots[k]) / width))
    parts = [_first_true(lower), _first_true(upper)] if len(knots) > 1 else [_first_true(ends)]
    if missing:
        feature = sql.text(escaped_name((attribute, None)))
        parts.append(_first_true([(value.is_(None), feature, one)]))
    return parts


def _first_true(branches: Sequence[tuple[Node, Node, Node]]) -> list[Node]:
    """Return the columns feature and weight of the first branch whose condition is true."""
    return [
        sql.case(*((branch[0].copy(), branch[k].copy()) for branch in branches)).as_(name)
        for k, name in ((1, "feature"), (2, "weight"))
    ]
