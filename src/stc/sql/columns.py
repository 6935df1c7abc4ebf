"""Where the query finds the items: in a table with a column per attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from sqlglot import exp

from stc._core.model import Model
from stc._core.scales import Knots, Ranks
from stc._core.schema import KINDS
from stc._core.vocabulary import feature_name
from stc.sql.reading import NOTHING, Found, add_items
from stc.sql.terms import Terms, escaped, told_apart
from stc.sql.tree import (
    Node,
    Query,
    Values,
    case,
    column,
    equal,
    integer,
    is_there,
    named,
    number,
    text,
    union,
)
from stc.sql.tree import table as subquery

# What a database calls the type of a value: the function, truth values, numbers with a point.
_TYPES: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "duckdb": ("TYPEOF", ("BOOLEAN",), ("FLOAT", "DOUBLE", "DECIMAL%")),
    "postgres": ("PG_TYPEOF", ("boolean",), ("real", "double precision", "numeric")),
    "sqlite": ("TYPEOF", (), ("real",)),
}


class _Part(NamedTuple):
    """A feature that a row of the data has, and its weight."""

    feature: Node
    weight: Node


def from_data(query: Query, terms: Terms, model: Model, table: Node, item: str) -> Found:
    """Items and known features out of a table with a row per item, a column per attribute."""
    if model.schema.kind != "table":
        raise ValueError(
            f"data={table.sql(query.dialect)!r} needs attributes, and the model was learnt from "
            f"{KINDS[model.schema.kind]}: give a table of features"
        )
    source = exp.alias_(table, "d", table=True)
    add_items(query, named(item, "d"), source.copy())
    if not terms.features:
        return NOTHING
    scales = {name: model.scales.get(name) for name in terms.attributes}
    shared = any(isinstance(scale, Ranks) for scale in scales.values())
    _add_features(query, terms, model, shared)
    numbers = {name: scale for name, scale in scales.items() if isinstance(scale, Knots)}
    selects = [
        exp.select(
            named(item, "d").as_("item"), part.feature.as_("feature"), part.weight.as_("weight")
        ).from_(source.copy())
        for name, scale in numbers.items()
        for part in _hats(name, scale, missing=(name, None) in terms.features)
    ]
    others = [name for name in scales if name not in numbers]
    if others:
        selects.append(_features_of_cells(query, source, item, others, weighted=bool(numbers)))
    query.add("stc_values", union(selects))
    return _known(query, [("weight", "f")] * bool(numbers) + [("share", "n")] * shared)


def _known(query: Query, factors: Sequence[tuple[str, str]]) -> Found:
    """The values that the model knows; their weights are products of these columns."""
    select = exp.select(column("item", "f"), column("id", "n").as_("feature"))
    if factors:
        weight: Node = None
        for k, (name, owner) in enumerate(factors):
            own = column(name, owner)
            weight = exp.Mul(this=weight, expression=own) if k else own
            select = select.where(exp.GT(this=own.copy(), expression=integer(0)))
        select = select.select(weight.as_("weight"))
    select = select.from_(subquery("stc_values", "f")).where(is_there(column("item", "f")))
    select = select.join(subquery("stc_features", "n"), on=equal("feature", "n", "f"))
    return Found(query.add("stc_known", select, once=True), weighted=bool(factors))


def _add_features(query: Query, terms: Terms, model: Model, shared: bool) -> None:
    """The numbers of the features that a value is part of: its own; in an order, three."""
    kinds = {"feature": "text", "id": "bigint", "share": "double"}
    every = zip(*_memberships(terms, model), strict=True)
    columns = {name: Values(kinds[name], own) for name, own in zip(kinds, every, strict=True)}
    if not shared:
        del columns["share"]
    query.add_values("stc_features", columns)


def _memberships(terms: Terms, model: Model) -> Iterator[tuple[str, int, float]]:
    names = terms.named(told_apart)
    for place, (name, (attribute, value)) in enumerate(zip(names, terms.features, strict=True)):
        scale = model.scales.get(str(attribute))
        if not isinstance(scale, Ranks) or value is None:
            yield name, place, 1.0
            continue
        weights = scale.weights(scale.order, f"column {attribute!r}")
        rank = scale.order.index(str(value))
        for other, weight in zip(scale.order, weights[:, rank].tolist(), strict=True):
            if weight:
                yield told_apart((attribute, other)), place, weight


# --- how values become text ---------------------------------------------------------------------


def _features_of_cells(
    query: Query, source: Node, item: str, attributes: Sequence[str], weighted: bool
) -> Node:
    """The names of the features of all cells."""
    cells = []
    for name in attributes:
        cell = named(name, "d")
        columns = [named(item, "d").as_("item"), text(escaped(name)).as_("attribute")]
        if query.dialect in _TYPES:
            kind = exp.Anonymous(this=_TYPES[query.dialect][0], expressions=[cell.copy()])
            columns.append(exp.cast(kind, "text").as_("kind"))
        value = exp.cast(cell, "text").as_("value")
        cells.append(exp.select(*columns, value).from_(source.copy()))
    given = query.add("stc_cells", union(cells))
    value = column("value", "c")
    if query.dialect in _TYPES:
        value = _as_python_writes(value, column("kind", "c"), *_TYPES[query.dialect][1:])
    start = exp.DPipe(this=column("attribute", "c"), expression=text(feature_name("", "")))
    absent = exp.DPipe(this=column("attribute", "c"), expression=text(feature_name("", None)))
    feature = exp.Coalesce(this=exp.DPipe(this=start, expression=value), expressions=[absent])
    select = exp.select(column("item", "c"), feature.as_("feature"))
    if weighted:
        select = select.select(number(1.0).as_("weight"))
    return select.from_(subquery(given, "c"))


def _as_python_writes(
    value: Node, kind: Node, truths: Sequence[str], points: Sequence[str]
) -> Node:
    """The text of a value, as the model has it: 1.0 is "1", and true is "True".

    Whole numbers and text are the same everywhere.
    """
    branches = []
    if truths:
        said = [
            (exp.EQ(this=value.copy(), expression=text(own.lower())), text(own))
            for own in ("True", "False")
        ]
        branches.append((_like_any(kind, truths), case(*said)))
    branches.append((_like_any(kind, points), _shortest(value)))
    return case(*branches, default=value)


def _like_any(kind: Node, patterns: Sequence[str]) -> Node:
    return exp.or_(*(exp.Like(this=kind.copy(), expression=text(own)) for own in patterns))


def _shortest(value: Node) -> Node:
    """The text of a number without zeros at its end; NaN is missing, and -0 is 0."""
    trimmed = value
    for character in "0.":
        trimmed = exp.Trim(this=trimmed.copy(), expression=text(character), position="TRAILING")
    pointed = exp.and_(
        exp.Like(this=value.copy(), expression=text("%.%")),
        exp.Not(this=exp.Like(this=value.copy(), expression=text("%e%"))),
    )
    zero = exp.In(this=value.copy(), expressions=[text("-0"), text("-0.0")])
    return case((_is_nan(value), exp.null()), (zero, text("0")), (pointed, trimmed), default=value)


def _is_nan(value: Node) -> Node:
    return exp.EQ(this=exp.Lower(this=value.copy()), expression=text("nan"))


# --- numbers, which are part of two categories --------------------------------------------------


def _hats(attribute: str, scale: Knots, missing: bool) -> list[_Part]:
    """A number between two knots is part of both; beyond the last one, of that one only."""
    cell = named(attribute, "d")
    # Databases do not agree on how NaN compares, but on its text.
    nan = _is_nan(exp.cast(cell.copy(), "text"))
    value = case((nan, exp.null()), default=exp.cast(cell, "double"))
    names = [text(told_apart((attribute, name))) for name in scale.names]
    knots = scale.knots
    ends = [
        (exp.LTE(this=value.copy(), expression=number(knots[0])), names[0], number(1.0)),
        (exp.GTE(this=value.copy(), expression=number(knots[-1])), names[-1], number(1.0)),
    ]
    lower, upper = list(ends), [(end, exp.null(), exp.null()) for end, _, _ in ends]
    for k, (low, high) in enumerate(pairwise(knots)):
        below = exp.LT(this=value.copy(), expression=number(high))
        width = number(high - low)
        lower.append((below, names[k], _share(number(high), value, width)))
        upper.append((below, names[k + 1], _share(value, number(low), width)))
    parts = [_chosen(lower), _chosen(upper)] if len(knots) > 1 else [_chosen(ends)]
    if missing:
        nothing = exp.Is(this=value.copy(), expression=exp.null())
        parts.append(_chosen([(nothing, text(told_apart((attribute, None))), number(1.0))]))
    return parts


def _share(high: Node, low: Node, width: Node) -> Node:
    part = exp.Paren(this=exp.Sub(this=high.copy(), expression=low.copy()))
    return exp.Div(this=part, expression=width.copy())


def _chosen(branches: Sequence[tuple[Node, Node, Node]]) -> _Part:
    """Feature and weight of the first branch that is true."""
    features = case(*((own.copy(), feature.copy()) for own, feature, _ in branches))
    return _Part(features, case(*((own.copy(), weight.copy()) for own, _, weight in branches)))
