"""Fitting scales to the first batch: knots of numbers and orders of ordinal values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stc._core.formulas import Floats
from stc._core.observations import Column, Observations
from stc._core.scales import NOT_CONTINUOUS, Knots, Ranks, Scale, numbers_of
from stc._input.values import canonical
from stc.exceptions import DataError, MissingColumnError, ParameterError

# Default number of knots.
_KNOTS = 20
# With continuous="auto" a float column with more distinct values than this is continuous.
_MANY_VALUES = 20


def scales_of(
    observed: Observations, continuous: Any, ordinal: Any, weights: Floats | None = None
) -> dict[str, Scale]:
    """Return the scale of each attribute named by the parameters `continuous` and `ordinal`.

    `weights` are those of the items; None: 1. An item of weight 0 sets no knot.
    """
    if continuous is None and ordinal is None:
        return {}
    if observed.kind != "table":
        if ordinal is None and isinstance(continuous, str):
            return {}  # there are no columns of floats
        what = {"counts": "a sparse matrix of counts has", "documents": "documents have"}
        raise ParameterError(
            f"continuous and ordinal need attributes, and {what[observed.kind]} none"
        )
    columns = {str(column.attribute): column for column in observed.columns}
    scales: dict[str, Scale] = {}
    for name, knots in _continuous(continuous, columns).items():
        _check_known("continuous", name, columns)
        scales[name] = _knots(columns[name], knots, weights)
    for name, order in dict(ordinal or {}).items():
        _check_known("ordinal", name, columns)
        if name in scales:
            raise ParameterError("the column is both in continuous and in ordinal", column=name)
        scales[name] = _ranks(name, order)
    return scales


def refuse_beyond(observed: Observations, scales: Mapping[str, Scale]) -> None:
    """Raise if a value is not in the order of its attribute."""
    for column in observed.columns:
        scale = scales.get(str(column.attribute))
        if not isinstance(scale, Ranks):
            continue
        items, codes, _ = column.entries()
        values: Any = column.values
        known = np.array([value is None or value in scale.order for value in values], dtype=bool)
        if not known[codes].all():
            first = int(np.flatnonzero(~known[codes])[0])
            raise DataError(
                f"{values[codes[first]]!r} is not in the order given by ordinal",
                column=str(column.attribute),
                item=int(items[first]),
                hint="add it, or take the column out of ordinal",
            )


def _continuous(parameter: Any, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return attribute -> number of knots or the knots."""
    if parameter is None:
        return {}
    if isinstance(parameter, str):
        if parameter != "auto":
            raise ParameterError(
                f"continuous={parameter!r}: give 'auto', a list of columns, or a dict"
            )
        numbers = {n: c for n, c in columns.items() if c.floats and c.n_values > _MANY_VALUES}
        return dict.fromkeys(numbers, _KNOTS)
    return dict(parameter) if isinstance(parameter, Mapping) else dict.fromkeys(parameter, _KNOTS)


def _check_known(parameter: str, name: Any, columns: Mapping[str, Column]) -> None:
    if name not in columns:
        raise MissingColumnError(name, list(columns), f", which {parameter} names")


def sets_knots(continuous: Any) -> bool:
    """Return whether the parameter `continuous` leaves knots to be set by items."""
    if isinstance(continuous, Mapping):
        return not all(map(_are_knots, continuous.values()))
    return continuous is not None


def _are_knots(given: Any) -> bool:
    return isinstance(given, list | tuple | np.ndarray)


def _knots(column: Column, knots: Any, weights: Floats | None) -> Knots:
    name = str(column.attribute)
    if _are_knots(knots):
        try:
            numbers = np.asarray(knots, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ParameterError(
                f"continuous: knots must be numbers ({error})", column=name
            ) from error
        flat = numbers.ndim == 1 and len(numbers) > 0 and bool(np.isfinite(numbers).all())
        if not flat or (np.diff(numbers) <= 0).any():
            raise ParameterError("continuous: knots must be finite and ascending", column=name)
        return Knots(tuple(numbers.tolist()))
    if not isinstance(knots, (int, np.integer)) or knots < 2:
        raise ParameterError(
            "continuous: give a number of knots, 2 or more, or the knots", column=name
        )
    items, codes, _ = column.entries()
    values = numbers_of(column)
    numbers = values[codes] if len(codes) else values[:0]
    usable = np.isfinite(numbers)
    if weights is not None:
        weights = weights[items]
        usable &= weights > 0
        weights = weights[usable]
    numbers = numbers[usable]
    if not len(numbers):
        raise DataError(
            "the column has no number to set knots by", column=name, hint=NOT_CONTINUOUS
        )
    return Knots.of(numbers, int(knots), weights)


def _ranks(name: str, values: Any) -> Ranks:
    if not isinstance(values, (list, tuple, np.ndarray)):
        raise ParameterError(f"ordinal: give a list of values, got {values!r}", column=name)
    order = tuple(map(canonical, values))
    if None in order:
        raise ParameterError("ordinal: a missing value has no place in an order", column=name)
    if len(set(order)) < len(order) or not order:
        raise ParameterError("ordinal: give each value once, lowest first", column=name)
    return Ranks(tuple(map(str, order)))
