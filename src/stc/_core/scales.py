"""Scales: how a number or a ranked value becomes weights of neighbouring categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.observations import Column, Observations

Floats = NDArray[np.float64]

# How many digits to write: as few as tell the bounds of intervals apart.
_DIGITS = range(3, 18)
# An ordinal value weighs 1, each neighbour this much; then all are made to sum to 1.
_LEAK = 0.5


@dataclass(frozen=True)
class Knots:
    """A number as a superposition of neighbouring categories: hat functions on knots.

    A category is named by the interval in which it is the heaviest: half-way to its neighbours.

    Attributes
    ----------
    knots
        Where one category has all the weight, ascending; beyond the last it keeps it.
    """

    knots: tuple[float, ...]

    @classmethod
    def of(cls, numbers: Floats, count: int) -> Knots:
        """Knots at quantiles; a value that many items share has a knot of its own."""
        values, counts = np.unique(numbers, return_counts=True)
        common = values[counts * count >= len(numbers)]
        rest = numbers[~np.isin(numbers, common)]
        wanted = max(count - len(common), 0)
        if len(rest) and wanted:
            common = np.concatenate([common, np.quantile(rest, np.linspace(0, 1, wanted))])
        return cls(tuple(np.unique(common).tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """The interval of each category."""
        if len(self.knots) == 1:
            return ("any",)
        middles = [(a + b) / 2 for a, b in pairwise(self.knots)]
        written = map(partial(_written, middles), _DIGITS)
        bounds = next((own for own in written if len(set(own)) == len(own)), None)
        if bounds is None:  # there is no number between some of them
            return tuple(f"near {knot!r}" for knot in self.knots)
        inner = [f"{a} to {b}" for a, b in pairwise(bounds)]
        return (f"below {bounds[0]}", *inner, f"above {bounds[-1]}")

    def weights(self, values: Sequence[str], where: str) -> Floats:
        """Weight of each category in each of these values."""
        numbers = np.array([number_of(value, where) for value in values], dtype=np.float64)
        if len(self.knots) == 1 or not len(numbers):
            return np.ones((len(numbers), len(self.knots)))
        # Only scales need scikit-learn here, and it is slow to import.
        from sklearn.preprocessing import SplineTransformer

        knots = np.array(self.knots)[:, None]
        hats = SplineTransformer(degree=1, knots=knots, extrapolation="constant").fit(knots)
        clipped = np.clip(numbers, knots[0], knots[-1])  # infinities, too
        return np.asarray(np.maximum(hats.transform(clipped[:, None]), 0.0))


@dataclass(frozen=True)
class Ranks:
    """A value of an order, which leaks to its neighbours: 1/2 for it, 1/4 for each of two.

    Attributes
    ----------
    order
        The values, lowest first.
    """

    order: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The categories are the values themselves."""
        return self.order

    def weights(self, values: Sequence[str], where: str) -> Floats:
        """Weight of each category in each of these values; a value beyond the order has none."""
        ranks = {value: rank for rank, value in enumerate(self.order)}
        weights = np.zeros((len(values), len(self.order)))
        for place, value in enumerate(values):
            rank = ranks.get(value)
            if rank is not None:
                weights[place, max(rank - 1, 0) : rank + 2] = _LEAK
                weights[place, rank] = 1.0
        totals = weights.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(weights, totals, out=weights, where=totals > 0))


Scale = Knots | Ranks


def _written(numbers: Sequence[float], digits: int) -> list[str]:
    return [f"{number:.{digits}g}" for number in numbers]


def scaled(observed: Observations, scales: Mapping[str, Scale]) -> Observations:
    """The items with the values of these attributes spread over the categories of their scale."""
    if not scales:
        return observed
    columns = tuple(
        _spread(column, scales[str(column.attribute)]) if column.attribute in scales else column
        for column in observed.columns
    )
    return replace(observed, columns=columns)


def number_of(value: str | None, where: str) -> float:
    """Parse a value as a number; NaN for the missing category."""
    if value is None:  # the missing category
        return np.nan
    try:
        number = float(value)
    except ValueError:
        number = np.nan
    if np.isnan(number):
        raise ValueError(f"{where}: {value!r} is not a number; take the column out of continuous")
    return number


def _spread(column: Column, scale: Scale) -> Column:
    """Each value as weights of the scale's categories; the missing category stays one."""
    values: list[Any] = list(column.values or ())
    where = f"column {column.attribute!r}"
    missing = [value is None for value in values]
    present = [value for value in values if value is not None]
    names: list[Any] = list(scale.names)
    weights = np.zeros((len(values), len(names)))
    weights[~np.array(missing, dtype=bool)] = scale.weights(present, where)
    # What has no place on the scale is a category of its own: missing, or never seen.
    apart = np.flatnonzero(~weights.any(axis=1))
    table = np.column_stack([weights, np.zeros((len(values), len(apart)))])
    table[apart, len(names) + np.arange(len(apart))] = 1.0
    names += [values[place] for place in apart.tolist()]
    if column.angles is not None and column.offsets is not None:
        raise ValueError(f"{where}: theta needs one number a cell, not several")
    spread = sparse.csr_array(column.matrix() @ sparse.csr_array(table))
    spread.eliminate_zeros()
    spread.sort_indices()
    angles = column.angles
    if angles is not None:
        angles = np.repeat(angles, np.diff(spread.indptr))
    return Column(
        column.attribute, names, len(names), spread.indices, spread.indptr, spread.data, angles
    )
