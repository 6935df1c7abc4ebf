"""Items in a table with a row for each item and a column for each attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlglot import exp

from stc._core.model import Model
from stc._core.scales import Knots, Ranks
from stc._core.schema import KIND_NAMES
from stc._core.vocabulary import feature_name
from stc.exceptions import ParameterError
from stc.sql import expressions as sql
from stc.sql.expressions import Node, Query, Values
from stc.sql.feature_table import NO_FEATURES, KnownFeatures, add_items
from stc.sql.weights import ModelWeights, escaped, escaped_name

# For each dialect: the function that returns the type of a value, and the names of the types of
# booleans and of numbers with decimals.
_TYPES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "duckdb": ("TYPEOF", ("BOOLEAN",), ("FLOAT", "DOUBLE", "DECIMAL%")),
    "postgres": ("PG_TYPEOF", ("boolean",), ("real", "double precision", "numeric")),
    "sqlite": ("TYPEOF", (), ("real",)),
}


class _WeightedFeature(NamedTuple):
    """The feature of a cell and its weight, as expressions."""

    feature: Node
    weight: Node


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
    add_items(query, items, source.copy())
    if not weights.features:
        return NO_FEATURES
    scales = {name: model.scales.get(name) for name in weights.attributes}
    shared = any(isinstance(scale, Ranks) for scale in scales.values())
    _add_features(query, weights, model, shared)
    continuous = {name: scale for name, scale in scales.items() if isinstance(scale, Knots)}
    selects = [
        exp.select(
            items.copy().as_("item"), part.feature.as_("feature"), part.weight.as_("weight")
        ).from_(source.copy())
        for name, scale in continuous.items()
        for part in _interpolated(name, scale, missing=(name, None) in weights.features)
    ]
    others = [name for name in scales if name not in continuous]
    if others:
        selects.append(_cell_features(query, source, items, others, weighted=bool(continuous)))
    query.add("stc_values", sql.union(selects))
    return _known(query, [("weight", "f")] * bool(continuous) + [("share", "n")] * shared)


def _known(query: Query, factors: Sequence[tuple[str, str]]) -> KnownFeatures:
    """Add the features that the model knows; their weights are products of these columns."""
    select = exp.select(sql.column("item", "f"), sql.column("id", "n").as_("feature"))
    weight: Node = None
    for name, owner in factors:
        factor = sql.column(name, owner)
        weight = factor if weight is None else sql.product(weight, factor)
        select = select.where(sql.greater(factor, sql.integer(0)))
    if factors:
        select = select.select(weight.as_("weight"))
    select = select.from_(sql.table("stc_values", "f")).where(
        sql.is_not_null(sql.column("item", "f"))
    )
    same_feature = sql.equal(sql.column("feature", "n"), sql.column("feature", "f"))
    select = select.join(sql.table("stc_features", "n"), on=same_feature)
    return KnownFeatures(query.add("stc_known", select, once=True), weighted=bool(factors))


def _add_features(query: Query, weights: ModelWeights, model: Model, shared: bool) -> None:
    """Add the table of the features that each value is part of: one, or three of an order."""
    names, numbers, shares = zip(*_memberships(weights, model), strict=True)
    columns = {"feature": Values("text", names), "id": Values("bigint", numbers)}
    if shared:
        columns["share"] = Values("double", shares)
    query.add_values("stc_features", columns)


def _memberships(weights: ModelWeights, model: Model) -> Iterator[tuple[str, int, float]]:
    """Yield the name of a value, the number of a feature and the share of the value in it."""
    names = weights.named(escaped_name)
    for number, (name, (attribute, value)) in enumerate(zip(names, weights.features, strict=True)):
        scale = model.scales.get(str(attribute))
        if not isinstance(scale, Ranks) or value is None:
            yield name, number, 1.0
            continue
        shares = scale.weights(scale.order)
        rank = scale.order.index(str(value))
        for other, share in zip(scale.order, shares[:, rank].tolist(), strict=True):
            if share:
                yield escaped_name((attribute, other)), number, share


# --- values as text -----------------------------------------------------------------------------


def _cell_features(
    query: Query, source: Node, item: Node, attributes: Sequence[str], weighted: bool
) -> Node:
    """Return the select of the names of the features of all cells."""
    has_types = query.dialect in _TYPES
    cells = []
    for name in attributes:
        cell = sql.user_column(name, "d")
        columns = [item.copy().as_("item"), sql.text(escaped(name)).as_("attribute")]
        if has_types:
            kind = exp.Anonymous(this=_TYPES[query.dialect][0], expressions=[cell.copy()])
            columns.append(exp.cast(kind, "text").as_("kind"))
        columns.append(exp.cast(cell, "text").as_("value"))
        cells.append(exp.select(*columns).from_(source.copy()))
    name = query.add("stc_cells", sql.union(cells))
    value, attribute = sql.column("value", "c"), sql.column("attribute", "c")
    if has_types:
        value = _python_text(value, sql.column("kind", "c"), *_TYPES[query.dialect][1:])
    start = exp.DPipe(this=attribute.copy(), expression=sql.text(feature_name("", "")))
    missing = exp.DPipe(this=attribute, expression=sql.text(feature_name("", None)))
    feature = exp.Coalesce(this=exp.DPipe(this=start, expression=value), expressions=[missing])
    select = exp.select(sql.column("item", "c"), feature.as_("feature"))
    if weighted:
        select = select.select(sql.number(1.0).as_("weight"))
    return select.from_(sql.table(name, "c"))


def _python_text(value: Node, kind: Node, booleans: Sequence[str], decimals: Sequence[str]) -> Node:
    """Return the text of a value as the model has it: 1.0 is "1", and true is "True".

    Integers and text are the same everywhere.
    """
    branches = []
    if booleans:
        words = [
            (sql.equal(value, sql.text(word.lower())), sql.text(word)) for word in ("True", "False")
        ]
        branches.append((_like_any(kind, booleans), sql.case(*words)))
    branches.append((_like_any(kind, decimals), _shortest(value)))
    return sql.case(*branches, default=value)


def _like(value: Node, pattern: str) -> Node:
    return exp.Like(this=value.copy(), expression=sql.text(pattern))


def _like_any(value: Node, patterns: Sequence[str]) -> Node:
    return exp.or_(*(_like(value, pattern) for pattern in patterns))


def _shortest(value: Node) -> Node:
    """Return the text of a number without trailing zeros; NaN is NULL, and -0 is 0."""
    trimmed = value
    for character in "0.":
        trimmed = exp.Trim(this=trimmed.copy(), expression=sql.text(character), position="TRAILING")
    has_point = exp.and_(_like(value, "%.%"), exp.Not(this=_like(value, "%e%")))
    zero = exp.In(this=value.copy(), expressions=[sql.text("-0"), sql.text("-0.0")])
    return sql.case(
        (_is_nan(value), exp.null()), (zero, sql.text("0")), (has_point, trimmed), default=value
    )


def _is_nan(value: Node) -> Node:
    return sql.equal(exp.Lower(this=value.copy()), sql.text("nan"))


# --- numbers between knots ----------------------------------------------------------------------


def _interpolated(attribute: str, scale: Knots, missing: bool) -> list[_WeightedFeature]:
    """Return the features of a number: two between knots, one beyond the first or last."""
    cell = sql.user_column(attribute, "d")
    # Databases compare NaN in different ways, but agree on its text.
    nan = _is_nan(exp.cast(cell.copy(), "text"))
    value = sql.case((nan, exp.null()), default=exp.cast(cell, "double"))
    names = [sql.text(escaped_name((attribute, name))) for name in scale.names]
    knots = list(map(sql.number, scale.knots))
    below_first = exp.LTE(this=value.copy(), expression=knots[0])
    ends = [
        (below_first, names[0], sql.number(1.0)),
        (sql.at_least(value, knots[-1]), names[-1], sql.number(1.0)),
    ]
    lower, upper = list(ends), [(end, exp.null(), exp.null()) for end, _, _ in ends]
    for k, (low, high) in enumerate(pairwise(scale.knots)):
        below = exp.LT(this=value.copy(), expression=sql.number(high))
        width = sql.number(high - low)
        lower.append((below, names[k], _share(sql.number(high), value, width)))
        upper.append((below, names[k + 1], _share(value, sql.number(low), width)))
    parts = [_first_true(lower), _first_true(upper)] if len(knots) > 1 else [_first_true(ends)]
    if missing:
        feature = sql.text(escaped_name((attribute, None)))
        parts.append(_first_true([(sql.is_null(value), feature, sql.number(1.0))]))
    return parts


def _share(high: Node, low: Node, width: Node) -> Node:
    difference = exp.Sub(this=high.copy(), expression=low.copy())
    return sql.ratio(exp.Paren(this=difference), width)


def _first_true(branches: Sequence[tuple[Node, Node, Node]]) -> _WeightedFeature:
    """Return feature and weight of the first branch whose condition is true."""
    features = sql.case(*((condition.copy(), feature.copy()) for condition, feature, _ in branches))
    weights = sql.case(*((condition.copy(), weight.copy()) for condition, _, weight in branches))
    return _WeightedFeature(features, weights)
