"""The wide form: a row per item, a column per class."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from sqlglot import exp

from stc.sql.answers import alone, given, otherwise, vanishing
from stc.sql.reading import Found
from stc.sql.scoring import amounts, ids, left_over, length, logarithm, sums
from stc.sql.terms import Answers, Step, Term, Terms
from stc.sql.tree import (
    Node,
    Query,
    Values,
    case,
    column,
    greatest,
    integer,
    is_there,
    kind_of,
    literal,
    number,
    table,
    total,
    union,
)


def wide_scores(query: Query, terms: Terms, answers: Answers, found: Found) -> str | None:
    """A subquery (item, best, q0, q1, ..., total): the powers of the scores, as shares."""
    classes = range(answers.size)
    parts = []
    for place, step in enumerate(terms.steps):
        name = sums(query, terms, place, found, partial(_features, answers.size), [])
        if step.turned:
            name = _lengths(query, name, place, answers.size)
        scores = _topped(query, name, place, answers.size)
        if place + 1 < len(terms.steps):
            found = left_over(query, found, scores, place + 1)
        parts.append(_logarithms(scores, step, answers.size))
    if not parts:
        return None
    name = query.add("stc_logarithms", union(parts), once=True)
    powers = [vanishing(column(f"l{k}", "l")).as_(f"q{k}") for k in classes]
    select = exp.select(column("item", "l"), column("best", "l"), *powers)
    name = query.add("stc_powers", select.from_(table(name, "l")), once=True)
    kept = [column(own, "q") for own in ("item", "best", *(f"q{k}" for k in classes))]
    whole = total([column(f"q{k}", "q") for k in classes])
    select = exp.select(*kept, whole.as_("total")).from_(table(name, "q"))
    return query.add("stc_totals", select, once=True)


def _features(size: int, term: Term, turned: bool) -> dict[str, Values]:
    """A row for each feature, with the weights of all classes."""
    columns = ids(term.parts)
    for name, own in zip("xyr", amounts(term, turned), strict=False):
        table_ = sparse.csc_array((own, (term.places, term.classes)), shape=(len(term.parts), size))
        for k in range(size):
            dense = table_[:, [k]].toarray().ravel()
            columns[f"{name}{k}"] = Values("double", dense.tolist())
    return columns


def _lengths(query: Query, sums: str, place: int, size: int) -> str:
    """The scores, where they are lengths of sums of two coordinates."""
    lengths = [
        length(*(column(f"{name}{k}", "s") for name in "xyr")).as_(f"x{k}") for k in range(size)
    ]
    select = exp.select(column("item", "s"), *lengths).from_(table(sums, "s"))
    return query.add(f"stc_lengths_{place}", select, once=True)


def _topped(query: Query, scores: str, place: int, size: int) -> str:
    """The scores of the items that have any, and the highest of each item."""
    own = [column(f"x{k}", "s") for k in range(size)]
    top = greatest([each.copy() for each in own], query.dialect)
    select = exp.select(column("item", "s"), *own, top.as_("top"))
    select = select.from_(table(scores, "s")).where(exp.GT(this=top.copy(), expression=integer(0)))
    return query.add(f"stc_scores_{place}", select, once=True)


def _logarithms(scores: str, step: Step, size: int) -> Node:
    """The best class of each item, and its scores beside the highest."""
    top = column("top", "u")
    own = [column(f"x{k}", "u") for k in range(size)]
    best = [(exp.EQ(this=x.copy(), expression=top.copy()), integer(k)) for k, x in enumerate(own)]
    columns = [column("item", "u"), case(*best).as_("best")]
    for k, score in enumerate(own):
        above = exp.GT(this=score, expression=integer(0))
        share = logarithm(score.copy(), top.copy(), step)
        columns.append(case((above, share)).as_(f"l{k}"))
    return exp.select(*columns).from_(table(scores, "u"))


def wide_answers(query: Query, totals: str | None, answers: Answers) -> exp.Select:
    """The predicted label and the probability of each, a column each."""
    columns = _predictions(answers, totals) | _probabilities(answers, totals, query.dialect)
    expected = len(answers.targets) + sum(len(set(own)) for own in answers.labels)
    if answers.thresholds is not None:
        expected = 2 * answers.size
    if len(columns) < expected:
        raise ValueError("two classes would have columns of the same name: give form='long'")
    named = [own.as_(name, quoted=True) for name, own in columns.items()]
    source = "stc_items" if totals is None else _add_unknown(query, totals, answers.size)
    return exp.select(column("item", "t"), *named).from_(table(source, "t"))


def _add_unknown(query: Query, totals: str, size: int) -> str:
    """The items with scores, and those without, whose other columns are NULL.

    By grouping, not by an outer join, which SQLite would do row by row.
    """
    names = ["best", *(f"q{k}" for k in range(size)), "total"]
    kinds = ["bigint", *["double"] * (size + 1)]
    nothing = [
        exp.cast(exp.null(), kind).as_(name) for name, kind in zip(names, kinds, strict=True)
    ]
    every = exp.select(column("item", "i"), *nothing).from_(table("stc_items", "i"))
    known = exp.select(*(column(name, "q") for name in ("item", *names))).from_(table(totals, "q"))
    both = union([known, every]).subquery("b", copy=False)
    select = exp.select(column("item", "b"))
    select = select.select(*(exp.Max(this=column(name, "b")).as_(name) for name in names))
    select = select.from_(both, copy=False).group_by(column("item", "b"))
    return query.add("stc_answers", select, once=True)


def _predictions(answers: Answers, totals: str | None) -> dict[str, Node]:
    if answers.thresholds is not None:
        return _labels_given(answers, totals)
    best = int(np.argmax(answers.frequencies))
    columns: dict[str, Node] = {}
    for target, labels in zip(answers.targets, answers.labels, strict=True):
        kind = kind_of(labels)
        unknown = literal(labels[best], kind)
        branches = [
            (exp.EQ(this=column("best", "t"), expression=integer(k)), literal(own, kind))
            for k, own in enumerate(labels)
        ]
        name = f"predicted_{target}" if answers.joint else "prediction"
        columns[name] = unknown if totals is None else case(*branches, default=unknown)
    return columns


def _labels_given(answers: Answers, totals: str | None) -> dict[str, Node]:
    """Whether each label is given, 0 or 1."""
    assert answers.thresholds is not None
    usual = answers.frequencies / answers.frequencies.max() >= answers.thresholds
    columns: dict[str, Node] = {}
    for k, own in enumerate(answers.labels[0]):
        unknown = integer(int(usual[k]))
        if totals is not None:
            enough = given(column(f"q{k}", "t"), number(answers.thresholds[k]))
            unknown = case((_is_known(), enough), default=unknown)
        columns[f"predicted_{own}"] = unknown
    return columns


def _probabilities(answers: Answers, totals: str | None, dialect: str) -> dict[str, Node]:
    columns: dict[str, Node] = {}
    usual = otherwise(answers)
    for target, labels in zip(answers.targets, answers.labels, strict=True):
        start = f"probability_{target}_" if answers.joint else "probability_"
        # Of several targets, in the order of the labels; else in that of the classes, the same.
        for label in sorted(set(labels)) if answers.joint else labels:
            classes = [k for k, own in enumerate(labels) if own == label]
            unknown: Node = number(float(usual[classes].sum()))
            if totals is not None:
                known = _known(classes, answers, dialect)
                unknown = exp.Coalesce(this=known, expressions=[unknown])
            columns[f"{start}{label}"] = unknown
    return columns


def _known(classes: list[int], answers: Answers, dialect: str) -> Node:
    """The probability of a label for an item of which something is known; else NULL."""
    powers = [column(f"q{k}", "t") for k in classes]
    if answers.kind == "indicator" and answers.thresholds is not None:
        own = alone(powers[0], number(answers.thresholds[classes[0]]), dialect)
        return case((_is_known(), own))
    part = total(powers)
    part = part if len(powers) == 1 else exp.Paren(this=part)
    return exp.Div(this=part, expression=column("total", "t"))


def _is_known() -> Node:
    return is_there(column("total", "t"))
