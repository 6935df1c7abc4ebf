"""Hats, intervals and leaks by plain formulas, and what must be equal."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import settings

from stc import SparseTensorClassifier
from support.oracle import Bag, Hyper, Oracle
from support.strategies import PROFILE

Weights: TypeAlias = dict[str | None, Fraction]
FEWER = settings(PROFILE, max_examples=25)
INF = math.inf


def hats(number: float, knots: Sequence[float]) -> list[Fraction]:
    """How much of a number each knot has: piecewise linear, constant beyond the ends."""
    if number <= knots[0] or number >= knots[-1]:
        end = 0 if number <= knots[0] else len(knots) - 1
        return [Fraction(place == end) for place in range(len(knots))]
    x, t = Fraction(number), [Fraction(knot) for knot in knots]
    result = [Fraction(0)] * len(t)
    for place in range(len(t) - 1):
        if t[place] <= x <= t[place + 1]:
            result[place + 1] = (x - t[place]) / (t[place + 1] - t[place])
            result[place] = 1 - result[place + 1]
    return result


def intervals(knots: Sequence[float]) -> list[str]:
    """The names: bounds half-way between knots, in the fewest digits that tell them apart."""
    if len(knots) == 1:
        return ["any"]
    middles = [(a + b) / 2 for a, b in pairwise(knots)]
    digits = 3
    while len({f"{m:.{digits}g}" for m in middles}) < len(middles):
        digits += 1
    bounds = [f"{m:.{digits}g}" for m in middles]
    inner = [f"{a} to {b}" for a, b in pairwise(bounds)]
    return [f"below {bounds[0]}", *inner, f"above {bounds[-1]}"]


def leaks(value: str, order: Sequence[str]) -> Weights:
    """Half of a value is its neighbours': a quarter each, or at an end a third instead."""
    place = order.index(value)
    near = [order[n] for n in (place - 1, place + 1) if 0 <= n < len(order)]
    if not near:
        return {value: Fraction(1)}
    itself = Fraction(1, 2) if len(near) == 2 else Fraction(2, 3)
    return {value: itself, **dict.fromkeys(near, (1 - itself) / len(near))}


def spread(single: Bag, scales: Mapping[str, Callable[[str], Weights]]) -> Bag:
    """A bag with the values of some attributes as weights of categories; missing stays missing."""
    result: dict[Any, Fraction] = {}
    for (attribute, value), weight in single.items():  # type: ignore[misc]
        scale = scales.get(attribute)
        parts = {value: Fraction(1)} if scale is None or value is None else scale(value)
        for part, share in parts.items():
            if share:
                feature = attribute, part
                result[feature] = result.get(feature, Fraction(0)) + share * Fraction(weight)
    return result


def of_knots(knots: Sequence[float]) -> Callable[[str], Weights]:
    names = intervals(knots)
    return lambda value: dict(zip(names, hats(float(value), knots), strict=True))


def of_order(order: Sequence[str]) -> Callable[[str], Weights]:
    return lambda value: leaks(value, order) if value in order else {value: Fraction(1)}


def table(corpus: pl.DataFrame, column: str) -> dict[Any, Any]:
    keys = zip(corpus["attribute"], corpus["value"], corpus["class"], strict=True)
    return {((a, v), c): number for (a, v, c), number in zip(keys, corpus[column], strict=True)}


def assert_learnt(model: SparseTensorClassifier, truth: Oracle) -> None:
    assert list(model.classes_) == truth.classes
    assert table(model.corpus_, "support") == truth.support
    mass = {entry: float(c) for entry, c in truth.corpus.items()}
    assert table(model.corpus_, "mass") == pytest.approx(mass, rel=1e-12, abs=1e-15)
    masses = [float(truth.class_mass[i]) for i in truth.classes]
    np.testing.assert_allclose(model.class_mass_, masses, rtol=1e-12)


def assert_predicts(
    model: SparseTensorClassifier, X: Any, questions: Sequence[Bag], truth: Oracle, hyper: Hyper
) -> None:
    expected = np.array([truth.probabilities(own, hyper) for own in questions])
    tolerance = truth.tolerance(hyper)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=tolerance)
    covered = [truth.coverage(own) for own in questions]
    np.testing.assert_allclose(model.coverage(X), covered, rtol=0, atol=1e-12)


def snapshot(model: SparseTensorClassifier, X: Any) -> tuple[Any, ...]:
    return (
        model.corpus_.rows(),
        model.classes_.tolist(),
        model.class_mass_.tobytes(),
        model.get_feature_names_out().tolist(),
        model.predict_proba(X).tobytes(),
    )


def readable(cell: Any) -> Any:
    """The cell with its numbers as the text of a category, for the plain reading of records."""
    if isinstance(cell, list):
        return [readable(own) for own in cell]
    if isinstance(cell, dict):
        result: dict[Any, float] = {}
        for own, weight in cell.items():
            result[readable(own)] = result.get(readable(own), 0.0) + weight
        return result
    missing = cell is None or cell != cell
    return None if missing else cell if isinstance(cell, str) else repr(float(cell))


KNOWN: dict[str, Any] = {"continuous": {"n": [0, 1, 4]}, "ordinal": {"s": ["lo", "mid", "hi"]}}
X = [
    {"n": 0.25, "s": "lo", "c": "u"},
    {"n": 3, "s": "mid", "c": "v"},
    {"n": None, "s": "hi", "c": "u"},
    {"n": -7.5, "s": None},
    {"n": 0.5, "s": "mid", "c": "v"},
    {"n": 9.5, "s": "lo"},
]
Y = ["p", "q", "q", "p", "r", "r"]
