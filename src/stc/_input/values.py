"""The one canonical rule by which a value becomes the text of a category.

A CSV, a database, a pandas column that turned float because of a missing cell and a Python
record must agree, so the rule looks at what a value says, not at how it is stored.
"""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import numpy as np

# The missing values of pandas, known by name so that pandas need not be imported.
_MISSING_TYPES = frozenset({"NAType", "NaTType"})


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in _MISSING_TYPES:
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, (float, np.floating, decimal.Decimal)) and math.isnan(value)


def canonical(value: Any) -> str | None:
    """Text of the category that a single value stands for; None if the value is missing.

    Examples
    --------
    >>> [canonical(v) for v in (1, 1.0, "1", True, 0.5, float("nan"), None)]
    ['1', '1', '1', 'True', '0.5', None, None]
    """
    if isinstance(value, str):
        return str(value)
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
    if math.isinf(value):
        return str(float(value))
    if float(value).is_integer():
        return str(int(value))
    # str() of a NumPy float is the shortest text in its own precision: float32 0.1 is "0.1".
    return str(value)


def _rarer_text(value: Any) -> str | None:
    if isinstance(value, np.datetime64 | np.timedelta64):
        # Microseconds are the finest unit that turns into Python's own type.
        return canonical(value.astype(f"{value.dtype.kind}8[us]").item())
    if (
        isinstance(value, datetime.datetime)
        and value.tzinfo is None
        and value.time() == datetime.time()
    ):
        return str(value.date())
    if isinstance(value, datetime.timedelta):
        return datetime.timedelta.__str__(value)  # pandas' own writes it otherwise
    if isinstance(value, decimal.Decimal):
        return _decimal_text(value)
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, complex | np.complexfloating):
        raise ValueError(f"Complex data not supported: {value!r}")
    kind = type(value)
    if hasattr(kind, "__iter__"):
        raise TypeError(f"a value must be single, got {kind.__name__}: {value!r:.80}")
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:  # type: ignore[comparison-overlap]
        raise TypeError(
            f"a value of type {kind.__name__} has no text of its own and cannot be a category; "
            "give a string or a number instead"
        )
    return str(value)


def _decimal_text(value: decimal.Decimal) -> str:
    if value.is_finite() and value == value.to_integral_value():
        return str(int(value))
    as_float = str(float(value))
    # A decimal says what the float of the same text says, if there is one.
    return as_float if decimal.Decimal(as_float) == value else str(value)
