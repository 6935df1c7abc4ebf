"""Scales: numbers and ordered values as weights of neighbouring categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from stc._core.formulas import Floats
from stc._core.observations import Column, Observations
from stc.exceptions import DataError

# Numbers of digits for the bounds of intervals: the first at which they are distinct is used.
_DIGITS = range(3, 18)
# Hint for a column with values that are not numbers.
NOT_CONTINUOUS = "take the column out of continuous"
# Sums of weights that differ by less than this share differ by rounding.
_ROUNDING = 1e-9
# Weight of the neighbours of an ordinal value, relative to its own, before normalisation.
_NEIGHBOUR_WEIGHT = 0.5


@dataclass(frozen=True)
class Knots:
    """Scale of a number: hat functions (linear splines) on knots, one category per knot.

    A category is named by the interval in which its weight is the largest.

    Attributes
    ----------
    knots
        Numbers at which one category has all the weight, ascending. Beyond the first and the last
        knot their categories keep all the weight.
    """

    knots: tuple[float, ...]

    @classmethod
    def of(cls, numbers: Floats, count: int, weights: Floats | None = None) -> Knots:
        """Return knots at weighted quantiles; a value with a large share is a knot itself.

        A number of weight 2 is the same as two numbers; the unit is the least weight, at most 1.

        Parameters
        ----------
        numbers
            The numbers of items.
        count
            Number of knots.
        weights
            The weight of each number, which is positive; None: 1.
        """
        values, places = np.unique(numbers, return_inverse=True)
        counts = np.bincount(places, weights)
        if weights is not None:  # those that are shares of items are multiples of the least
            counts = counts / min(weights.min(), 1.0)
        many = counts * count >= (1 - _ROUNDING) * counts.sum()
        common, rest = values[many], values[~many]
        wanted = max(count - len(common), 0)
        if len(rest) and wanted:
            quantiles = _quantiles(rest, counts[~many], np.linspace(0, 1, wanted))
            common = np.concatenate([common, quantiles])
        return cls(tuple(np.unique(common).tolist()))

    @property
    def names(self) -> tuple[str, ...]:
        """The interval of each category."""
        if len(self.knots) == 1:
            return ("any",)
        middles = [(a + b) / 2 for a, b in pairwise(self.knots)]
        for digits in _DIGITS:
            bounds = [f"{middle:.{digits}g}" for middle in middles]
            if len(set(bounds)) == len(bounds):
                break
        else:  # some of the middles are equal
            return tuple(f"near {knot!r}" for knot in self.knots)
        inner = [f"{a} to {b}" for a, b in pairwise(bounds)]
        return (f"below {bounds[0]}", *inner, f"above {bounds[-1]}")

    def weights(self, numbers: Floats) -> Floats:
        """Return the weight of each category in each of the numbers."""
        if len(self.knots) == 1 or not len(numbers):
            return np.ones((len(numbers), len(self.knots)))
        # Imported here because only scales need it, and it is slow to import.
        from sklearn.preprocessing import SplineTransformer

        knots = np.array(self.knots)[:, None]
        hats = SplineTransformer(degree=1, knots=knots, extrapolation="constant").fit(knots)
        clipped = np.clip(numbers, knots[0], knots[-1])  # infinities, too
        return np.asarray(np.maximum(hats.transform(clipped[:, None]), 0.0))


def _quantiles(values: Floats, counts: Floats, shares: Floats) -> Floats:
    """Return quantiles as NumPy computes them, of ascending values with such weights."""
    after = np.cumsum(counts)
    # Sums of fractions reach a rank whatever their rounding.
    after = np.where(abs(after - np.rint(after)) <= _ROUNDING * after, np.rint(after), after)
    places = shares * max(after[-1] - 1, 0.0)
    below = np.floor(places)
    one, other = (
        values[np.minimum(np.searchsorted(after, rank, side="right"), len(values) - 1)]
        for rank in (below, below + 1)
    )
    return np.asarray(one + (other - one) * (places - below))


@dataclass(frozen=True)
class Ranks:
    """Scale of an ordinal value, which shares its weight with its neighbours.

    The value has weight 1/2 and each of two neighbours 1/4; at the ends it is 2/3 and 1/3.

    Attributes
    ----------
    order
        The values, lowest first.
    """

    order: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The categories, which are the values."""
        return self.order

    def weights(self, values: Sequence[str]) -> Floats:
        """Return the weight of each category in each value; zeros for an unknown value."""
        ranks = {value: rank for rank, value in enumerate(self.order)}
        weights = np.zeros((len(values), len(self.order)))
        for place, value in enumerate(values):
            rank = ranks.get(value)
            if rank is not None:
                weights[place, max(rank - 1, 0) : rank + 2] = _NEIGHBOUR_WEIGHT
                weights[place, rank] = 1.0
        totals = weights.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(weights, totals, out=weights, where=totals > 0))


Scale = Knots | Ranks


def apply_scales(observed: Observations, scales: Mapping[str, Scale]) -> Observations:
    """Return the items with the values of some attributes spread over the categories of a scale."""
    if not scales:
        return observed
    columns = tuple(
        _spread(column, scales[str(column.attribute)]) if column.attribute in scales else column
        for column in observed.columns
    )
    return replace(observed, columns=columns)


def numbers_of(column: Column) -> Floats:
    """Return each value of a column as a number; NaN for the missing category.

    Raises
    ------
    DataError
        If a value is not a number; it names the column and the first such item.
    """
    values: list[Any] = list(column.values or ())
    numbers = np.array([_number(value) for value in values], dtype=np.float64)
    present = np.array([value is not None for value in values], dtype=bool)
    wrong = np.isnan(numbers) & present
    if wrong.any():
        item, code = column.first_entry(wrong)
        message = f"{values[code]!r} is not a number"
        raise DataError(message, column=str(column.attribute), item=item, hint=NOT_CONTINUOUS)
    return numbers


def _number(value: str | None) -> float:
    try:
        return np.nan if value is None else float(value)
    except ValueError:
        return np.nan


def _spread(column: Column, scale: Scale) -> Column:
    """Return a column with each value spread over the categories of its scale.

    The missing category and values that are not on the scale remain categories.
    """
    values: list[Any] = list(column.values or ())
    present = np.array([value is not None for value in values], dtype=bool)
    names: list[Any] = list(scale.names)
    weights = np.zeros((len(values), len(names)))
    if isinstance(scale, Knots):
        weights[present] = scale.weights(numbers_of(column)[present])
    else:
        weights[present] = scale.weights([value for value in values if value is not None])
    others = np.flatnonzero(~weights.any(axis=1))
    table = np.column_stack([weights, np.zeros((len(values), len(others)))])
    table[others, len(names) + np.arange(len(others))] = 1.0
    names += [values[place] for place in others.tolist()]
    if column.angles is not None and column.offsets is not None:
        raise DataError(
            "theta needs one number per cell, and the cells have several",
            column=str(column.attribute),
        )
    spread = sparse.csr_array(column.matrix() @ sparse.csr_array(table))
    spread.eliminate_zeros()
    spread.sort_indices()
    angles = column.angles
    if angles is not None:
        angles = np.repeat(angles, np.diff(spread.indptr))
    return Column(
        column.attribute, names, len(names), spread.indices, spread.indptr, spread.data, angles
    )
