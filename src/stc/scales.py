"""Numbers and order: a value that is partly its neighbours, as weights of categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import SplineTransformer

from stc.observations import Column, Observations
from stc.values import canonical

Floats = NDArray[np.float64]

# Knots of a number, unless the caller says how many.
_KNOTS = 20
# A float column with more distinct values than this is one of numbers, for "auto".
_MANY_VALUES = 20
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
        numbers = np.array([_number(value, where) for value in values], dtype=np.float64)
        if len(self.knots) == 1 or not len(numbers):
            return np.ones((len(numbers), len(self.knots)))
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


def scales_of(observed: Observations, continuous: Any, ordinal: Any) -> dict[str, Scale]:
    """The scale of each attribute that the caller calls a number or an order."""
    if continuous is None and ordinal is None:
        return {}
    if observed.kind != "table":
        if ordinal is None and isinstance(continuous, str):
            return {}  # nothing here is a column of floats
        what = {"counts": "a sparse matrix of counts has", "documents": "documents have"}
        raise ValueError(f"continuous and ordinal need attributes, and {what[observed.kind]} none")
    columns = {str(column.attribute): column for column in observed.columns}
    scales: dict[str, Scale] = {}
    for name, knots in _continuous(continuous, columns).items():
        _refuse_unknown("continuous", name, columns)
        scales[name] = _knots(columns[name], knots)
    for name, order in dict(ordinal or {}).items():
        _refuse_unknown("ordinal", name, columns)
        if name in scales:
            raise ValueError(f"column {name!r} is both in continuous and in ordinal")
        scales[name] = _ranks(name, order)
    return scales


def refuse_beyond(observed: Observations, scales: Mapping[str, Scale]) -> None:
    """Refuse to learn values that are not in the order of their attribute."""
    for column in observed.columns:
        scale = scales.get(str(column.attribute))
        if not isinstance(scale, Ranks):
            continue
        items, codes, _ = column.entries()
        values: Any = column.values
        known = np.array([value is None or value in scale.order for value in values], dtype=bool)
        if not known[codes].all():
            first = int(np.flatnonzero(~known[codes])[0])
            raise ValueError(
                f"column {column.attribute!r}, item {items[first]}: {values[codes[first]]!r} is "
                "not in the order that ordinal gives it; add it, or take the column out of ordinal"
            )


def scaled(observed: Observations, scales: Mapping[str, Scale]) -> Observations:
    """The items with the values of these attributes spread over the categories of their scale."""
    if not scales:
        return observed
    columns = tuple(
        _spread(column, scales[str(column.attribute)]) if column.attribute in scales else column
        for column in observed.columns
    )
    return replace(observed, columns=columns)


def _continuous(given: Any, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Attribute -> number of knots, or the knots."""
    if given is None:
        return {}
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(f"continuous={given!r}: give 'auto', a list of columns, or a dict")
        numbers = {n: c for n, c in columns.items() if c.floats and c.n_values > _MANY_VALUES}
        return dict.fromkeys(numbers, _KNOTS)
    return dict(given) if isinstance(given, Mapping) else dict.fromkeys(given, _KNOTS)


def _refuse_unknown(parameter: str, name: Any, columns: Iterable[str]) -> None:
    if name not in columns:
        known = ", ".join(map(repr, columns))
        raise ValueError(
            f"{parameter} names the column {name!r}, which there is not; X has {known}"
        )


def _knots(column: Column, given: Any) -> Knots:
    where = f"column {column.attribute!r}"
    if isinstance(given, (list, tuple, np.ndarray)):
        try:
            numbers = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"continuous, {where}: knots must be numbers ({error})") from None
        flat = numbers.ndim == 1 and len(numbers) > 0 and bool(np.isfinite(numbers).all())
        if not flat or (np.diff(numbers) <= 0).any():
            raise ValueError(f"continuous, {where}: knots must be finite and ascending")
        return Knots(tuple(numbers.tolist()))
    if not isinstance(given, (int, np.integer)) or given < 2:
        raise ValueError(f"continuous, {where}: give a number of knots from 2, or the knots")
    _, codes, _ = column.entries()
    values = np.array([_number(value, where) for value in column.values or ()])
    numbers = values[codes] if len(codes) else values[:0]
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        raise ValueError(f"{where} has no number to set knots by: take it out of continuous")
    return Knots.of(numbers, int(given))


def _ranks(name: str, given: Any) -> Ranks:
    where = f"column {name!r}"
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise ValueError(f"ordinal, {where}: give a list of its values, got {given!r}")
    order = tuple(map(canonical, given))
    if None in order:
        raise ValueError(f"ordinal, {where}: a missing value has no place in an order")
    if len(set(order)) < len(order) or not order:
        raise ValueError(f"ordinal, {where}: give each value once, lowest first")
    return Ranks(tuple(map(str, order)))


def _number(value: str | None, where: str) -> float:
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
