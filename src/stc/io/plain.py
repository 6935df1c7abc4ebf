"""Values of Python and NumPy <-> what JSON can write, and nothing that could run.

What JSON has no word for is written as an object with one key that names what it is.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stc._training.phases import PhaseLearner
from stc._training.policy_search import PolicyAgent

# Letters that an array of texts may have room for, beyond its longest one.
_SPARE_LETTERS = 256
# The estimators that may be parameters, by name.
_ESTIMATORS: dict[str, type[Any]] = {"PolicyAgent": PolicyAgent, "PhaseLearner": PhaseLearner}


def to_plain(value: Any) -> Any:
    """A value as JSON can write it.

    Raises
    ------
    TypeError
        If it is of a type that cannot be told in plain data.
    """
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no word for it
        return {"float": str(float(value))}
    if value is None or isinstance(value, str | bool | int | float):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return {value.dtype.str: int(value.astype(np.int64))}
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, Mapping):
        return {"mapping": [[to_plain(key), to_plain(own)] for key, own in value.items()]}
    if isinstance(value, list):
        return [to_plain(own) for own in value]
    for name, kind in _SEQUENCES.items():
        if type(value) is kind:
            return {name: [to_plain(own) for own in value]}
    for name, (kind, write, _) in _TEXTS.items():
        if type(value) is kind:
            return {name: write(value)}
    if isinstance(value, np.ndarray):
        return _array_to_plain(value)
    name = type(value).__name__
    if _ESTIMATORS.get(name) is type(value):
        return {name: to_plain(value.get_params(deep=False))}
    raise TypeError(f"a value of type {name} cannot be stored as plain data")


def from_plain(value: Any) -> Any:
    """The value that `to_plain` has written so."""
    if isinstance(value, list):
        return [from_plain(own) for own in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"expected one key that names a type, got {len(value)}")
    ((name, own),) = value.items()
    if name == "mapping":
        return {from_plain(key): from_plain(held) for key, held in own}
    if name in _SEQUENCES:
        return _SEQUENCES[name](from_plain(held) for held in own)
    if name in _TEXTS:
        return _TEXTS[name][2](own)
    if name == "array":
        return _array_from_plain(own)
    if name in _ESTIMATORS:
        return _ESTIMATORS[name](**from_plain(own))
    if name[1:2] in ("M", "m"):
        return np.array(own, dtype=np.int64).astype(name)[()]
    raise ValueError(f"{name!r:.80} is no type that a model may hold")


def _array_to_plain(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype.kind in "OV":
        return {"array": ["objects", list(array.shape), to_plain(array.ravel().tolist())]}
    if array.dtype.kind == "U":
        return {"array": [array.dtype.str, list(array.shape), array.ravel().tolist()]}
    exact = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": [array.dtype.str, list(array.shape), exact]}


def _array_from_plain(own: Any) -> np.ndarray[Any, Any]:
    dtype, shape, data = own
    if dtype == "objects":
        array = np.empty(len(data), dtype=object)
        array[:] = [from_plain(held) for held in data]
        return array.reshape(shape)
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ValueError("an array of objects is not plain data")
    if kind.kind == "U":
        longest = max(map(len, data), default=0)
        # A type can ask for any room, and needs no more than its longest text.
        wide = kind.itemsize > 4 * (longest + _SPARE_LETTERS)
        return np.array(data, dtype=np.str_ if wide else kind).reshape(shape)
    return np.frombuffer(base64.b64decode(data), dtype=kind).reshape(shape).copy()


_SEQUENCES: dict[str, type[Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_TEXTS: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "datetime": (
        datetime.datetime,
        datetime.datetime.isoformat,
        datetime.datetime.fromisoformat,
    ),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "timedelta": (
        datetime.timedelta,
        lambda span: [span.days, span.seconds, span.microseconds],
        lambda parts: datetime.timedelta(*parts),
    ),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "float": (float, str, float),
}
