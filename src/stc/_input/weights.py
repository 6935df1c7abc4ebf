"""Weights of values, of classes and of items as checked arrays of floats."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.domain import IN_DOMAIN, first_outside
from stc._core.formulas import Floats
from stc._core.observations import Column, Observations
from stc._input.values import naming_items, unmasked
from stc.exceptions import DataError, DataTypeError


def as_weights(
    weights: list[Any], offsets: NDArray[Any], *, column: str | None = None, what: str = "a weight"
) -> Floats:
    """Return weights as a checked array; raise for the first bad one, naming its item.

    Parameters
    ----------
    weights
        One weight for each value.
    offsets
        Bounds of the values of each item.
    column, what
        Column of the values and noun of a weight, for error messages.
    """
    cells = np.fromiter(weights, dtype=object, count=len(weights))  # a list in it is one cell
    with naming_items(offsets):
        numbers = as_floats(cells, column=column, what=what)
        check_weights(numbers, column=column, what=what)
    return numbers


def as_floats(numbers: Any, *, column: str | None = None, what: str = "a weight") -> Floats:
    """Return numbers as an array of floats; raise for what is not a number.

    Parameters
    ----------
    numbers
        One number, a list or an array of them; a masked number is NaN.
    column, what
        Column and noun of a number, for error messages. Their item is the position.
    """
    if np.ma.isMaskedArray(numbers):
        numbers = unmasked(numbers)
    try:
        array = np.asarray(numbers)
        if array.dtype.kind in "cmM":
            raise TypeError(f"an array of dtype {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        cells = np.asarray(numbers, dtype=object)
        wrong = (k for k, cell in enumerate(cells if cells.ndim else ()) if not _is_float(cell))
        item = next(wrong, None)
        shown = reprlib.repr(numbers if item is None else cells[item])
        raise DataTypeError(
            f"{what} must be a number, got {shown}", column=column, item=item
        ) from error


def _is_float(number: Any) -> bool:
    try:
        float(number)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def check_weights(
    weights: NDArray[Any], *, column: str | None = None, what: str = "a weight"
) -> None:
    """Raise if a weight is not in the domain, with its position as item."""
    item = first_outside(weights)
    if item is not None:
        raise DataError(f"{what} {IN_DOMAIN}, got {weights[item]}", column=column, item=item)


def check_totals(observed: Observations) -> Observations:
    """Return items, or raise if the sum of the weights of an item is not in the domain.

    The column in the error is the one with the largest weight in the item.
    """
    if all(column.weights is None for column in observed.columns):
        return observed
    item = first_outside(observed.totals)
    if item is None:
        return observed
    each = [np.broadcast_to(c.totals, observed.n_items)[item] for c in observed.columns]
    heaviest = observed.columns[int(np.argmax(each))].attribute
    raise DataError(
        f"the sum of the weights of the item {IN_DOMAIN}, got {observed.totals[item]}",
        column=heaviest if isinstance(heaviest, str) else None,
        item=item,
    )


def check_shares(target: Column, sample_weight: Floats) -> None:
    """Raise if the weight of an item in one of its classes is not in the domain."""
    items, _, shares = target.entries()
    if shares is None:
        return
    weights = sample_weight[items] * shares
    place = first_outside(weights)
    if place is not None:
        raise DataError(
            f"the weight of the item in a class {IN_DOMAIN}, got {weights[place]}",
            item=int(items[place]),
            hint="it is the weight of the item times the share of the class in y",
        )
