"""Scores: the weights of each set of the policy, joined with what the items hold, and summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from stc._core.formulas import Floats
from stc.sql.reading import Found
from stc.sql.terms import Step, Term, Terms
from stc.sql.tree import Node, Query, Values, case, column, equal, number, table, union

# The lengths that rounding leaves where contributions cancel each other are below this share.
_CANCELLED = 1e-14

# The weights of a term as columns of a table, beside those that tell the features.
Layout = Callable[[Term, bool], dict[str, Values]]


def amounts(term: Term, turned: bool) -> list[Floats]:
    """What a feature adds to a sum: its weight; with phases, two coordinates and the weight."""
    if not turned:
        return [term.weights]
    angles = np.zeros(len(term.weights)) if term.angles is None else term.angles
    return [term.weights * np.cos(angles), term.weights * np.sin(angles), term.weights]


def ids(parts: NDArray[np.int64]) -> dict[str, Values]:
    """The columns that tell the single features of each."""
    return {f"id{k}": Values("bigint", own.tolist()) for k, own in enumerate(parts.T)}


def length(x: Node, y: Node, weight: Node) -> Node:
    """`|x + iy|`, or 0 where nothing but rounding is left of the weights."""
    squares = [exp.Mul(this=own.copy(), expression=own.copy()) for own in (x, y)]
    found = exp.Sqrt(this=exp.Add(this=squares[0], expression=squares[1]))
    faint = exp.Mul(this=number(_CANCELLED), expression=weight)
    there = exp.GT(this=found.copy(), expression=faint)
    return case((there, found), default=number(0.0))


def sums(
    query: Query, terms: Terms, place: int, found: Found, layout: Layout, keys: Sequence[str]
) -> str:
    """Sums over the features of each item (and class): a subquery (item, *keys, *amounts)."""
    step = terms.steps[place]
    selects = []
    for term in step.terms:
        width = term.parts.shape[1]
        columns = layout(term, step.turned)
        name = f"stc_weights_{place}" + (f"_{width}" if len(step.terms) > 1 else "")
        query.add_values(name, columns)
        added = list(columns)[width + len(keys) :]
        selects.append(_joined(name, width, keys, added, found, terms.power))
    grouped = selects[0]
    if len(selects) > 1:
        every = union(selects).subquery("s", copy=False)
        whole = [exp.Sum(this=column(own, "s")).as_(own) for own in added]
        own_keys = [column(own, "s") for own in ("item", *keys)]
        grouped = exp.select(*own_keys, *whole).from_(every, copy=False)
        grouped = grouped.group_by(*(own.copy() for own in own_keys))
    return query.add(f"stc_sums_{place}", grouped)


def _joined(
    weights: str, width: int, keys: Sequence[str], added: Sequence[str], found: Found, power: float
) -> exp.Select:
    """Sums over one table of weights: an item has a feature if it has all parts of it."""
    share: Node | None = None
    for k in range(width if found.weighted else 0):
        own = column("weight", f"k{k}")
        share = own if share is None else exp.Mul(this=share, expression=own)
    factor = None if share is None else _power(share, power)
    select = exp.select(column("item", "k0"), *(column(own, "w") for own in keys))
    for own in added:
        amount: Node = column(own, "w")
        if factor is not None:
            amount = exp.Mul(this=amount, expression=factor.copy())
        select = select.select(exp.Sum(this=amount).as_(own), copy=False)
    select = select.from_(table(weights, "w"), copy=False)
    for k in range(width):
        same: Node = exp.EQ(this=column("feature", f"k{k}"), expression=column(f"id{k}", "w"))
        if k:
            item = exp.EQ(this=column("item", f"k{k}"), expression=column("item", "k0"))
            same = exp.and_(item, same)
        select = select.join(table(found.known, f"k{k}"), on=same, copy=False)
    return select.group_by(column("item", "k0"), *(column(own, "w") for own in keys), copy=False)


def _power(share: Node, power: float) -> Node:
    """`x^p`."""
    if power == 0.5:
        return exp.Sqrt(this=share)
    alone = exp.Paren(this=share) if isinstance(share, exp.Mul) else share
    return alone if power == 1 else exp.Pow(this=alone, expression=number(power))


def left_over(query: Query, found: Found, scores: str, place: int) -> Found:
    """The values of the items that a set had no score for."""
    scored = exp.select(column("item", "s")).from_(table(scores, "s"))
    if query.dialect == "sqlite":  # it would do the other row by row; PostgreSQL this
        there: Node = exp.In(this=column("item", "k"), query=scored.subquery())
    else:
        there = exp.Exists(this=scored.where(equal("item", "s", "k")))
    names = ["item", "feature", *(["weight"] if found.weighted else [])]
    select = exp.select(*(column(own, "k") for own in names))
    select = select.from_(table(found.known, "k"))
    select = select.where(exp.Not(this=there))
    return found._replace(known=query.add(f"stc_left_{place}", select, once=True))


def logarithm(score: Node, top: Node, step: Step) -> Node:
    """`ln U_i^(1/p)` less that of the item's highest score."""
    less = exp.Sub(this=exp.Ln(this=score), expression=exp.Ln(this=top))
    return exp.Mul(this=exp.Paren(this=less), expression=number(step.exponent))
