"""Weights of values, of classes and of items as checked arrays of floats."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.formulas import Floats
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
    """Raise if a weight is negative, infinite or NaN, with its position as item."""
    # One pass that finds nothing is the common case; the item is looked up only on failure.
    if not len(weights) or (weights.min() >= 0 and np.isfinite(weights.max())):
        return
    item = int(np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))[0])
    raise DataError(
        f"{what} must be finite and not negative, got {weights[item]}", column=column, item=item
    )
