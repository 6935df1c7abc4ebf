"""The wide form: a row for each item, a column for each class."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from sqlglot import exp

from stc._core.formulas import Floats
from stc.exceptions import DataError
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


def wide_scores(
    query: Query, weights: ModelWeights, classes: Classes, known: KnownFeatures
) -> str | None:
    """Add a subquery (item, best, q0, q1, ..., total): the powers of the scores, as shares."""
    size = classes.size
    layout, scores = partial(_layout, size), partial(_scores, query, size)
    logarithms = add_scores(query, weights, known, layout, [], scores, partial(_logarithms, size))
    if logarithms is None:
        return None
    name = query.add("stc_logarithms", logarithms, once=True)
    powers = [exponential(sql.column(f"l{k}", "l")).as_(f"q{k}") for k in range(size)]
    select = exp.select(*sql.columns(("item", "best"), "l"), *powers)
    name = query.add("stc_powers", select.from_(sql.table(name, "l")), once=True)
    names = [f"q{k}" for k in range(size)]
    whole = sql.total(sql.columns(names, "q")).as_("total")
    select = exp.select(*sql.columns(("item", "best", *names), "q"), whole)
    name = query.add("stc_totals", select.from_(sql.table(name, "q")), once=True)
    return name if classes.floor is None else _add_floor(query, name, classes.floor)


def _add_floor(query: Query, totals: str, floor: Floats) -> str:
    """Add the powers with the floor: the probabilities, relative to the item's highest."""
    names, share = [f"q{k}" for k in range(len(floor))], float(floor.sum())
    with_floor = [
        mixed(sql.column(name, "q"), sql.column("total", "q"), sql.number(least), share).as_(name)
        for name, least in zip(names, floor.tolist(), strict=True)
    ]
    select = exp.select(sql.column("item", "q"), *with_floor).from_(sql.table(totals, "q"))
    name = query.add("stc_mixed", select, once=True)
    powers = sql.columns(names, "m")
    top = sql.greatest(powers, query.dialect)
    select = exp.select(sql.column("item", "m"), *powers, top.as_("top"))
    name = query.add("stc_highest", select.from_(sql.table(name, "m")), once=True)
    powers, top = sql.columns(names, "h"), sql.column("top", "h")
    best = sql.case(*((power.eq(top.copy()), k) for k, power in enumerate(powers)))
    shares = [(power / top.copy()).as_(name) for name, power in zip(names, powers, strict=True)]
    whole = (sql.number(1.0) / top).as_("total")
    select = exp.select(sql.column("item", "h"), best.as_("best"), *shares, whole)
    return query.add("stc_floored", select.from_(sql.table(name, "h")), once=True)


def _layout(size: int, term: Term, has_phases: bool) -> dict[str, Values]:
    """Return the columns of a table with a row for each feature, and all classes in columns."""
    columns = ids(term.parts)
    shape = (len(term.parts), size)
    for name, values in coordinates(term, has_phases).items():
        matrix = sparse.csc_array((values, (term.places, term.classes)), shape=shape)
        for k in range(size):
            columns[f"{name}{k}"] = Values("double", matrix[:, [k]].toarray().ravel().tolist())
    return columns


def _scores(query: Query, size: int, sums: str, place: int, step: Step) -> Node:
    """Return the select of the scores of the items that have any, and the highest of each."""
    item = sql.column("item", "s")
    if step.has_phases:
        moduli = [
            modulus(*sql.columns((f"x{k}", f"y{k}", f"r{k}"), "s")).as_(f"x{k}")
            for k in range(size)
        ]
        select = exp.select(item.copy(), *moduli).from_(sql.table(sums, "s"))
        sums = query.add(f"stc_lengths_{place}", select, once=True)
    scores = [sql.column(f"x{k}", "s") for k in range(size)]
    top = sql.greatest(scores, query.dialect)
    select = exp.select(item, *scores, top.copy().as_("top")).from_(sql.table(sums, "s"))
    return select.where(top > 0)


def _logarithms(size: int, scores: str, step: Step) -> Node:
    """Return the select of the best class of each item, and its scores relative to the highest."""
    top = sql.column("top", "u")
    every = [sql.column(f"x{k}", "u") for k in range(size)]
    best = sql.case(*((score.eq(top), k) for k, score in enumerate(every)))
    logarithms = [
        sql.case((score > 0, log_share(score, top, step))).as_(f"l{k}")
        for k, score in enumerate(every)
    ]
    select = exp.select(sql.column("item", "u"), best.as_("best"), *logarithms)
    return select.from_(sql.table(scores, "u"))


def wide_answers(query: Query, totals: str | None, classes: Classes) -> exp.Select:
    """Return the select of the predicted label and the probability of each label."""
    columns = _predictions(classes, totals) | _probabilities(classes, totals, query.dialect)
    expected = len(classes.targets) + sum(len(set(labels)) for labels in classes.labels)
    if classes.thresholds is not None:
        expected = 2 * classes.size
    if len(columns) < expected:
        raise DataError("two classes would have columns of the same name", hint="use form='long'")
    named = [value.as_(name, quoted=True) for name, value in columns.items()]
    source = "stc_items" if totals is None else _add_unknown(query, totals, classes.size)
    return exp.select(sql.column("item", "t"), *named).from_(sql.table(source, "t"))


def _add_unknown(query: Query, totals: str, size: int) -> str:
    """Add the items with scores, and those without, whose other columns are NULL.

    By grouping: SQLite would do an outer join row by row.
    """
    kinds = {"best": "bigint", **{f"q{k}": "double" for k in range(size)}, "total": "double"}
    nulls = [exp.cast(exp.null(), kind).as_(name) for name, kind in kinds.items()]
    unknown = exp.select(sql.column("item", "i"), *nulls).from_(sql.table("stc_items", "i"))
    known = exp.select(*sql.columns(("item", *kinds), "q")).from_(sql.table(totals, "q"))
    both = sql.union([known, unknown]).subquery("b", copy=False)
    select = exp.select(sql.column("item", "b"))
    select = select.select(*(exp.Max(this=sql.column(name, "b")).as_(name) for name in kinds))
    select = select.from_(both, copy=False).group_by(sql.column("item", "b"))
    return query.add("stc_answers", select, once=True)


def _predictions(classes: Classes, totals: str | None) -> dict[str, Node]:
    if classes.thresholds is not None:
        return _predicted_labels(classes, totals)
    most_frequent = int(np.argmax(classes.frequencies))
    columns: dict[str, Node] = {}
    for target, labels in zip(classes.targets, classes.labels, strict=True):
        kind = sql.kind_of(labels)
        prediction = sql.literal(labels[most_frequent], kind)
        if totals is not None:
            branches = [
                (sql.column("best", "t").eq(k), sql.literal(label, kind))
                for k, label in enumerate(labels)
            ]
            prediction = sql.case(*branches, default=prediction)
        columns[f"predicted_{target}" if classes.joint else "prediction"] = prediction
    return columns


def _predicted_labels(classes: Classes, totals: str | None) -> dict[str, Node]:
    """Return for each label whether it is predicted, 1 or 0."""
    assert classes.thresholds is not None
    frequent = classes.frequencies / classes.frequencies.max() >= classes.thresholds
    columns: dict[str, Node] = {}
    for k, label in enumerate(classes.labels[0]):
        prediction = exp.convert(int(frequent[k]))
        if totals is not None:
            enough = sql.column(f"q{k}", "t") >= sql.number(classes.thresholds[k])
            predicted = sql.case((enough, 1), default=0)
            prediction = sql.case((_is_known(), predicted), default=prediction)
        columns[f"predicted_{label}"] = prediction
    return columns


def _probabilities(classes: Classes, totals: str | None, dialect: str) -> dict[str, Node]:
    columns: dict[str, Node] = {}
    unknown = fallback(classes)
    for target, labels in zip(classes.targets, classes.labels, strict=True):
        prefix = f"probability_{target}_" if classes.joint else "probability_"
        # The labels of each of several targets are sorted; otherwise they are the classes.
        for label in sorted(set(labels)) if classes.joint else labels:
            members = [k for k, other in enumerate(labels) if other == label]
            probability: Node = sql.number(float(unknown[members].sum()))
            if totals is not None:
                known = _known_probability(members, classes, dialect)
                probability = exp.Coalesce(this=known, expressions=[probability])
            columns[f"{prefix}{label}"] = probability
    return columns


def _known_probability(members: list[int], classes: Classes, dialect: str) -> Node:
    """Return the probability of a label, the sum over its classes; NULL for an unknown item."""
    powers = [sql.column(f"q{k}", "t") for k in members]
    if classes.kind == "indicator" and classes.thresholds is not None:
        threshold = sql.number(classes.thresholds[members[0]])
        return sql.case((_is_known(), label_probability(powers[0], threshold, dialect)))
    return sql.total(powers) / sql.column("total", "t")


def _is_known() -> Node:
    return ~sql.column("total", "t").is_(None)
