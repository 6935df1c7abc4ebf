"""The long form: a row for each item and class."""

from __future__ import annotations

from sqlglot import exp

from stc.sql import expressions as sql
from stc.sql.expressions import Node, Query, Values
from stc.sql.items import KnownFeatures
from stc.sql.scores import (
    add_scores,
    coordinates,
    exponential,
    fallback,
    ids,
    label_probability,
    log_share,
    mixed,
    modulus,
)
from stc.sql.weights import Classes, ModelWeights, Step, Term


def long_scores(
    query: Query, weights: ModelWeights, classes: Classes, known: KnownFeatures
) -> str | None:
    """Add a subquery (item, class, power): `U_i^(1/p)` relative to the item's highest."""
    logarithms = add_scores(query, weights, known, _layout, ["class"], _scores, _logarithms)
    if logarithms is None:
        return None
    name = query.add("stc_logarithms", logarithms)
    power = exponential(sql.column("logarithm", "l")).as_("power")
    select = exp.select(*sql.columns(("item", "class"), "l"), power)
    return query.add("stc_powers", select.from_(sql.table(name, "l")))


def _layout(term: Term, has_phases: bool) -> dict[str, Values]:
    """Return the columns of a table with a row for each weight."""
    return {
        **ids(term.parts[term.places]),
        "class": Values("bigint", term.classes.tolist()),
        **{
            name: Values("double", values.tolist())
            for name, values in coordinates(term, has_phases).items()
        },
    }


def _scores(sums: str, place: int, step: Step) -> Node:
    score = sql.column("x", "s")
    if step.has_phases:
        score = modulus(*sql.columns("xyr", "s"))
    select = exp.select(*sql.columns(("item", "class"), "s"), score.copy().as_("score"))
    return select.from_(sql.table(sums, "s")).where(score > 0)


def _logarithms(scores: str, step: Step) -> Node:
    score, item = sql.column("score", "u"), sql.column("item", "u")
    top = exp.Window(this=exp.Max(this=score.copy()), partition_by=[item.copy()])
    logarithm = log_share(score, top, step).as_("logarithm")
    return exp.select(item, sql.column("class", "u"), logarithm).from_(sql.table(scores, "u"))


def long_answers(query: Query, powers: str | None, classes: Classes) -> exp.Select:
    """Return the select of the probability of each class for each item."""
    _add_classes(query, classes)
    totals = _add_totals(query, powers)
    if classes.floor is not None:
        totals = _add_floor(query, totals, float(classes.floor.sum()))
    power, whole = sql.columns(("power", "total"), "g")
    share = power / whole
    if classes.kind == "indicator":
        share = label_probability(power, sql.column("threshold", "c"), query.dialect)
    probability = sql.case((whole > 0, share), default=sql.column("otherwise", "c"))
    label = sql.column("id" if classes.joint else "class", "c").as_("class")
    select = exp.select(sql.column("item", "g"), label, probability.as_("probability"))
    same_class = sql.column("id", "c").eq(sql.column("class", "g"))
    select = select.from_(sql.table(totals, "g")).join(sql.table("stc_classes", "c"), on=same_class)
    return _marginals(query, select, classes) if classes.joint else select


def _add_totals(query: Query, powers: str | None) -> str:
    """Add all classes of all items: (item, class, power, total); the power is 0 without a score.

    By a sum: SQLite would do an outer join row by row.
    """
    rows: Node = exp.select(
        sql.column("item", "i"), sql.column("id", "c").as_("class"), sql.number(0.0).as_("power")
    )
    rows = rows.from_(sql.table("stc_items", "i"))
    rows = rows.join(sql.table("stc_classes", "c"), join_type="cross")
    names = ("item", "class", "power")
    if powers is not None:
        scored = exp.select(*sql.columns(names, "p")).from_(sql.table(powers, "p"))
        rows = sql.union([rows, scored])
    keys = sql.columns(names[:2], "e")
    select = exp.select(*keys, exp.Sum(this=sql.column("power", "e")).as_("power"))
    select = select.from_(rows.subquery("e")).group_by(*(key.copy() for key in keys))
    grid = query.add("stc_grid", select)
    item, _, power = columns = sql.columns(names, "g")
    total = exp.Window(this=exp.Sum(this=power.copy()), partition_by=[item.copy()])
    select = exp.select(*columns, total.as_("total"))
    return query.add("stc_totals", select.from_(sql.table(grid, "g")))


def _add_floor(query: Query, totals: str, share: float) -> str:
    """Add the powers with the floor: the probabilities, relative to the item's highest."""
    names = ("item", "class", "power", "total")
    item, class_, power, total = sql.columns(names, "g")
    with_floor = mixed(power, total.copy(), sql.column("floor", "c"), share)
    probability = sql.case((total > 0, with_floor), default=sql.number(0.0)).as_("power")
    same_class = sql.column("id", "c").eq(class_.copy())
    select = exp.select(item, class_, probability).from_(sql.table(totals, "g"))
    select = select.join(sql.table("stc_classes", "c"), on=same_class)
    name = query.add("stc_mixed", select)
    item, class_, power = sql.columns(names[:3], "m")
    top = exp.Window(this=exp.Max(this=power.copy()), partition_by=[item.copy()])
    select = exp.select(item, class_, power, top.as_("top")).from_(sql.table(name, "m"))
    name = query.add("stc_highest", select)
    item, class_, power, top = sql.columns(("item", "class", "power", "top"), "h")
    zero = sql.number(0.0)
    relative = sql.case((top > 0, power / top.copy()), default=zero).as_("power")
    whole = sql.case((top.copy() > 0, sql.number(1.0) / top.copy()), default=zero.copy())
    select = exp.select(item, class_, relative, whole.as_("total"))
    return query.add("stc_floored", select.from_(sql.table(name, "h")))


def _add_classes(query: Query, classes: Classes) -> None:
    columns = {
        "id": Values("bigint", range(classes.size)),
        "otherwise": Values("double", fallback(classes).tolist()),
    }
    if classes.floor is not None:
        columns["floor"] = Values("double", classes.floor.tolist())
    if not classes.joint:
        columns["class"] = Values(sql.kind_of(classes.labels[0]), classes.labels[0])
    if classes.kind == "indicator" and classes.thresholds is not None:
        columns["threshold"] = Values("double", classes.thresholds.tolist())
    query.add_values("stc_classes", columns)


def _marginals(query: Query, joint: exp.Select, classes: Classes) -> exp.Select:
    """Return the select of the probabilities of each target: sums over the joint classes."""
    name = query.add("stc_joint", joint)
    labels = [label for of_target in classes.labels for label in of_target]
    columns = {
        "id": Values("bigint", [*range(classes.size)] * len(classes.targets)),
        "target": Values("text", [name for name in classes.targets for _ in range(classes.size)]),
        "class": Values(sql.kind_of(labels), labels),
    }
    query.add_values("stc_labels", columns)
    keys = [sql.column("item", "j"), sql.column("target", "c"), sql.column("class", "c")]
    select = exp.select(*keys, exp.Sum(this=sql.column("probability", "j")).as_("probability"))
    same_class = sql.column("id", "c").eq(sql.column("class", "j"))
    select = select.from_(sql.table(name, "j")).join(sql.table("stc_labels", "c"), on=same_class)
    return select.group_by(*(key.copy() for key in keys))
