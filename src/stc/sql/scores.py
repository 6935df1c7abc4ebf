"""Scores, the weights of the policy joined with the features of the items, and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from stc._core.formulas import Floats
from stc._training.label_thresholds import label_probabilities
from stc.sql import expressions as sql
from stc.sql.expressions import Node, Query, Values
from stc.sql.items import KnownFeatures
from stc.sql.weights import Classes, ModelWeights, Step, Term

# Where contributions cancel, rounding leaves scores below this share of the weights.
_CANCELLED = 1e-14
# PostgreSQL raises an error for exp() of less, which underflows.
_MIN_EXPONENT = -700.0

# From a term, and whether the set has phases, to the columns of its table of weights.
FeatureMatrix = Callable[[Term, bool], dict[str, Values]]


def coordinates(term: Term, has_phases: bool) -> dict[str, Floats]:
    """Return what a feature adds to the sums: x, its weight; with phases x, y and the weight r."""
    if not has_phases:
        return {"x": term.weights}
    angles = np.zeros(len(term.weights)) if term.angles is None else term.angles
    return {
        "x": term.weights * np.cos(angles),
        "y": term.weights * np.sin(angles),
        "r": term.weights,
    }


def ids(parts: NDArray[np.int64]) -> dict[str, Values]:
    """Return the columns id0, id1, ... of the single features of each feature."""
    return {f"id{k}": Values("bigint", numbers.tolist()) for k, numbers in enumerate(parts.T)}


def modulus(x: Node, y: Node, weight: Node) -> Node:
    """Return `|x + iy|`, or 0 if only rounding is left of the weight."""
    root = exp.Sqrt(this=exp.Add(this=x * x, expression=y * y))
    above = exp.GT(this=root, expression=sql.number(_CANCELLED) * weight)
    return sql.case((above, root.copy()), default=sql.number(0.0))


def log_share(score: Node, top: Node, step: Step) -> Node:
    """Return `ln U_i^(1/p)` minus that of the item's highest score."""
    return (exp.Ln(this=score) - exp.Ln(this=top)) * sql.number(step.exponent)


def add_scores(
    query: Query,
    weights: ModelWeights,
    known: KnownFeatures,
    layout: FeatureMatrix,
    keys: Sequence[str],
    select_scores: Callable[[str, int, Step], Node],
    select_logarithms: Callable[[str, Step], Node],
) -> Node | None:
    """Add the scores of each set of the policy, for the items that the sets before left at 0.

    Parameters
    ----------
    query
        The query.
    weights
        The weights of the model.
    known
        The features of the items.
    layout, keys
        The columns of a table of weights, and those that the sums are grouped by besides the item.
    select_scores
        From a subquery of sums, the index of its set and its step to the scores above 0.
    select_logarithms
        From a subquery of scores and its step to their logarithms.

    Returns
    -------
    Node
        The logarithms of all items; None if no feature has a weight.
    """
    parts = []
    for place, step in enumerate(weights.steps):
        sums = _add_sums(query, weights, place, known, layout, keys)
        select = select_scores(sums, place, step)
        scores = query.add(f"stc_scores_{place}", select, once=True)
        if place + 1 < len(weights.steps):
            known = _without_scored(query, known, scores, place + 1)
        parts.append(select_logarithms(scores, step))
    return sql.union(parts) if parts else None


def _add_sums(
    query: Query,
    weights: ModelWeights,
    place: int,
    known: KnownFeatures,
    layout: FeatureMatrix,
    keys: Sequence[str],
) -> str:
    """Add the sums over the features of each item, a subquery (item, *keys, *coordinates)."""
    step = weights.steps[place]
    selects = []
    for term in step.terms:
        width = term.parts.shape[1]
        columns = layout(term, step.has_phases)
        name = f"stc_weights_{place}" + (f"_{width}" if len(step.terms) > 1 else "")
        query.add_values(name, columns)
        summed = list(columns)[width + len(keys) :]
        selects.append(_sums_of_term(name, width, keys, summed, known, weights.power))
    grouped = selects[0]
    if len(selects) > 1:
        groups = sql.columns(("item", *keys), "s")
        sums = [exp.Sum(this=sql.column(name, "s")).as_(name) for name in summed]
        grouped = exp.select(*groups, *sums).from_(
            sql.union(selects).subquery("s", copy=False), copy=False
        )
        grouped = grouped.group_by(*(group.copy() for group in groups))
    return query.add(f"stc_sums_{place}", grouped)


def _sums_of_term(
    weights: str,
    width: int,
    keys: Sequence[str],
    summed: Sequence[str],
    known: KnownFeatures,
    power: float,
) -> exp.Select:
    """Return the sums over one table of weights; an item has a feature if it has all its parts."""
    groups = [sql.column("item", "k0"), *sql.columns(keys, "w")]
    select = exp.select(*groups)
    factor = _power([sql.column("weight", f"k{k}") for k in range(width)], power)
    for name in summed:
        amount = sql.column(name, "w")
        if known.weighted:
            amount = exp.Mul(this=amount, expression=factor.copy())
        select = select.select(exp.Sum(this=amount).as_(name), copy=False)
    select = select.from_(sql.table(weights, "w"), copy=False)
    for k in range(width):
        same = sql.column("feature", f"k{k}").eq(sql.column(f"id{k}", "w"))
        if k:
            same = exp.and_(sql.column("item", f"k{k}").eq(sql.column("item", "k0")), same)
        select = select.join(sql.table(known.name, f"k{k}"), on=same, copy=False)
    return select.group_by(*(group.copy() for group in groups), copy=False)


def _power(factors: Sequence[Node], power: float) -> Node:
    """Return `x^p` of a product x."""
    whole = prod(factors[1:], start=factors[0])
    if power == 0.5:
        return exp.Sqrt(this=whole)
    base = exp.Paren(this=whole) if len(factors) > 1 else whole
    return base if power == 1 else exp.Pow(this=base, expression=sql.number(power))


def _without_scored(query: Query, known: KnownFeatures, scores: str, place: int) -> KnownFeatures:
    """Add the features of the items that a set has no score for."""
    scored = exp.select(sql.column("item", "s")).from_(sql.table(scores, "s"))
    if query.dialect == "sqlite":  # SQLite is slow with EXISTS, PostgreSQL with IN
        is_scored: Node = exp.In(this=sql.column("item", "k"), query=scored.subquery())
    else:
        same_item = sql.column("item", "s").eq(sql.column("item", "k"))
        is_scored = exp.Exists(this=scored.where(same_item))
    names = ["item", "feature", *(["weight"] if known.weighted else [])]
    select = exp.select(*sql.columns(names, "k"))
    select = select.from_(sql.table(known.name, "k")).where(exp.Not(this=is_scored))
    return known._replace(name=query.add(f"stc_left_{place}", select, once=True))


# --- probabilities --------------------------------------------------------------------------------


def exponential(logarithm: Node) -> Node:
    """Return `exp()` of a logarithm; 0 if it is NULL or the result underflows."""
    fits = logarithm > sql.number(_MIN_EXPONENT)
    return sql.case((fits, exp.Exp(this=logarithm)), default=sql.number(0.0))


def label_probability(share: Node, threshold: Node, dialect: str) -> Node:
    """Return the probability of a label; see `label_thresholds.label_probabilities`."""
    above_half, tiny = np.nextafter(0.5, 1.0), np.finfo(np.float64).tiny
    at_least = [
        sql.greatest([share / (share + threshold), sql.number(least)], dialect)
        for least in (above_half, tiny)
    ]
    return sql.case((share >= threshold, at_least[0]), default=at_least[1])


def mixed(power: Node, total: Node, floor: Node, share: float) -> Node:
    """Return `X_i = (1 - m) Q_i + m g_i`; the floor is `m g_i`, the share m."""
    return exp.Add(this=sql.number(1 - share) * (power / total), expression=floor)


def fallback(classes: Classes) -> Floats:
    """Return the probability of each class for an item without known features."""
    if classes.kind == "indicator" and classes.thresholds is not None:
        return np.ravel(label_probabilities(classes.frequencies[None], classes.thresholds))
    return classes.frequencies
