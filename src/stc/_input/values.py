"""The text of a value: the rule by which a value of any type becomes a category.

A CSV file, a database, a pandas column that became float because of a missing cell and a Python
record must give the same category, so the rule depends on the value, not on how it is stored.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._input.moments import date_text, duration_text
from stc.exceptions import DataError, DataTypeError, StcError

# The missing values of pandas, known by name so that pandas need not be imported, and NumPy's.
_MISSING_TYPES = frozenset({"NAType", "NaTType", "MaskedConstant"})
# Types of cells that polars takes as a column of strings as they are.
STRINGS = frozenset({str, type(None)})
_SHORT_REASONS = {
    UnicodeEncodeError: "it holds half of a surrogate pair",
    UnicodeDecodeError: "the bytes are not UTF-8",
}


def is_missing(value: Any) -> bool:
    """Return whether a single value is None, NaN, NaT, pandas' NA or masked."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    if isinstance(value, decimal.Decimal):
        return value.is_nan()  # math.isnan refuses a signaling NaN
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def canonical(value: Any) -> str | None:
    """Return the text of the category of a single value; None if the value is missing.

    Examples
    --------
    >>> [canonical(v) for v in (1, 1.0, "1", True, 0.5, float("nan"), None)]
    ['1', '1', '1', 'True', '0.5', None, None]
    """
    if isinstance(value, str):
        return str.__str__(value)  # a member of an enumeration of strings is its string
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return _float_text(value)
    return _rarer_text(value)


def _float_text(value: float | np.floating[Any]) -> str:
    if np.isinf(value):
        return str(float(value))
    if value.is_integer():
        return str(int(value))
    # str() of a NumPy float is the shortest text in its precision: float32 0.1 is "0.1".
    if isinstance(value, np.float16 | np.float32):  # NumPy writes exponents in another way
        return float.__repr__(float(str(value)))
    return str(value) if isinstance(value, np.floating) else float.__repr__(value)


def _rarer_text(value: Any) -> str | None:
    if isinstance(value, datetime.datetime | np.datetime64):
        return date_text(value)
    if isinstance(value, datetime.timedelta | np.timedelta64):
        return duration_text(value)
    if isinstance(value, decimal.Decimal):
        return _decimal_text(value)
    if isinstance(value, fractions.Fraction):
        return _exact_text(value, fractions.Fraction)
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, complex | np.complexfloating):
        raise DataError(f"Complex data not supported: {value!r}")
    kind = type(value)
    if hasattr(kind, "__iter__") and not isinstance(value, enum.Enum):  # the class has it, too
        raise DataTypeError(f"a value must be single, got {kind.__name__}: {value!r:.80}")
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:  # type: ignore[comparison-overlap]
        raise DataTypeError(
            f"a value of type {kind.__name__} has no text and cannot be a category",
            hint="give a string or a number instead",
        )
    return str(value)


def _decimal_text(value: decimal.Decimal) -> str:
    if not value.is_finite():
        return str(float(value))
    if not value:
        return "0"
    if value.adjusted() >= (sys.get_int_max_str_digits() or sys.maxsize):
        # Python would refuse it, too, but only after making the integer, which takes long.
        raise DataError(f"a number of {value.adjusted() + 1:,} digits is too long")
    if value == value.to_integral_value():
        return str(int(value))
    sign, digits, exponent = value.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    exponent = int(exponent) + len(digits) - len(significant)
    # Without zeros at the end, equal numbers have equal texts; Decimal.normalize would round.
    plain = decimal.Decimal((sign, tuple(map(int, significant)), exponent))
    return _exact_text(plain, decimal.Decimal)


def _exact_text(value: Any, kind: Callable[[str], Any]) -> str:
    """Return the text of the float that has the same digits if there is one, else its own."""
    as_float = str(float(value))
    return as_float if kind(as_float) == value else str(value)


# --- errors ---------------------------------------------------------------------------------


def raise_value_error(
    cells: Iterable[Any],
    error: BaseException,
    what: str = "the value",
    convert: Callable[[Any], str | None] = canonical,
) -> NoReturn:
    """Raise the error of the first cell that has no text in UTF-8, with its position as item.

    Looking for the cell only after a failure costs nothing where all cells are good.

    Parameters
    ----------
    cells
        Single values.
    error
        The failure; raised again if no cell fails alone.
    what
        What a cell is, for the message.
    convert
        Returns the text of a cell.
    """
    for position, cell in enumerate(cells):
        try:
            (convert(cell) or "").encode()
        except StcError as cell_error:
            cell_error.item = position
            raise
        except (ValueError, OverflowError, pl.exceptions.PanicException) as cell_error:
            reason = _SHORT_REASONS.get(type(cell_error), str(cell_error))
            raise DataError(f"{what} cannot be encoded: {reason}", item=position) from error
    raise error


def string_series(texts: Sequence[Any], what: str) -> pl.Series:
    """Return strings and None as a polars Series; raise for anything else, naming its item.

    Parameters
    ----------
    texts
        The strings.
    what
        What a string is, for error messages: "a document" or "a label of y".
    """
    try:
        return pl.Series(texts, dtype=pl.String)
    except (TypeError, UnicodeError) as error:
        for item, text in enumerate(texts):
            if not isinstance(text, (str, type(None))):
                kind = type(text).__name__
                raise DataTypeError(f"{what} must be a string, got {kind}", item=item) from error
        raise_value_error(texts, error, what)


def unmasked(array: Any) -> NDArray[Any]:
    """Return a masked array as objects, with None in the masked cells."""
    # Not `astype`, which turns nanoseconds into integers and single precision into double.
    cells: NDArray[Any] = np.fromiter(array.data.flat, dtype=object, count=array.size)
    cells = cells.reshape(array.shape)
    cells[np.ma.getmaskarray(array)] = None
    return cells


@contextmanager
def naming_items(offsets: NDArray[Any]) -> Iterator[None]:
    """Replace the position of a value in errors by the item that holds the value.

    Parameters
    ----------
    offsets
        Bounds of the values of each item.
    """
    try:
        yield
    except StcError as error:
        if error.item is not None:
            error.item = int(np.searchsorted(offsets, error.item, side="right")) - 1
        raise
