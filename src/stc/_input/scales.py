"""Fitting scales: knots of numbers and orders of ranked values, from the first batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stc._core.observations import Column, Observations
from stc._core.scales import Knots, Ranks, Scale, number_of
from stc._input.values import canonical

# Knots of a number, unless the caller says how many.
_KNOTS = 20
# A float column with more distinct values than this is one of numbers, for "auto".
_MANY_VALUES = 20


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
    values = np.array([number_of(value, where) for value in column.values or ()])
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
