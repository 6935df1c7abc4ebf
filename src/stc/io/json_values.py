"""Python and NumPy values as JSON values and back; reading them never runs code.

A value that JSON has no type for is an object with one key, which names its type.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from typing import Any

import numpy as np

from stc.exceptions import DataTypeError, ModelFileError

# An array of strings may declare this many more characters than its longest string has.
_SPARE_CHARACTERS = 256
# Estimators that may be parameters, and their modules: imported on use, as they need scikit-learn.
_ESTIMATORS = {
    "PolicyAgent": "stc._training.policy_search",
    "PhaseLearner": "stc._training.phases",
}


def json_text(value: Any) -> str:
    """Return a JSON value as compact text; equal values give equal texts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def to_json(value: Any) -> Any:
    """Return a value as `json.dumps` can write it.

    Raises
    ------
    DataTypeError
        If the value is of a type that cannot be written as plain data.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(float(value))}
    if value is None or isinstance(value, str | bool | int | float):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.datetime64 | np.timedelta64):
        return {value.dtype.str: int(value.astype(np.int64))}
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, Mapping):
        return {"mapping": [[to_json(key), to_json(item)] for key, item in value.items()]}
    if isinstance(value, list):
        return _items_to_json(value)
    for name, (kind, write, _) in _TYPES.items():
        if type(value) is kind:
            return {name: write(value)}
    if isinstance(value, np.ndarray):
        return _array_to_json(value)
    name = type(value).__name__
    if name in _ESTIMATORS and type(value) is _estimator(name):
        return {name: to_json(value.get_params(deep=False))}
    raise DataTypeError(f"a value of type {name} cannot be saved as plain data")


def from_json(value: Any) -> Any:
    """Return the value that `to_json` wrote."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ModelFileError(f"expected an object with one key, its type, got {len(value)} keys")
    ((name, content),) = value.items()
    if name == "mapping":
        return {from_json(key): from_json(item) for key, item in content}
    if name in _TYPES:
        return _TYPES[name][2](content)
    if name == "array":
        return _array_from_json(content)
    if name in _ESTIMATORS:
        settings = from_json(content)
        if "progress" in settings:  # its name in the first files of format 1
            settings["verbose"] = settings.pop("progress")
        return _estimator(name)(**settings)
    if name[1:2] in ("M", "m"):
        return np.array(content, dtype=np.int64).astype(name)[()]
    raise ModelFileError(f"{name!r:.80} is not a type that a model may hold")


def _estimator(name: str) -> Any:
    return getattr(import_module(_ESTIMATORS[name]), name)


def _array_to_json(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    name = "objects" if array.dtype.kind in "OV" else array.dtype.str
    if array.dtype.kind in "OVU":
        data = to_json(array.ravel().tolist())
    else:
        data = base64.b64encode(array.tobytes()).decode()
    return {"array": [name, list(array.shape), data]}


def _array_from_json(content: Any) -> np.ndarray[Any, Any]:
    name, shape, data = content
    # NumPy takes None, -1 and numbers for a shape, too.
    if not (isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)):
        raise ModelFileError(f"{shape!r:.80} is not the shape of an array")
    if name == "objects":
        array = np.empty(len(data), dtype=object)
        array[:] = [from_json(item) for item in data]
        return array.reshape(shape)
    if not isinstance(name, str):  # NumPy takes None for float64
        raise ModelFileError(f"{name!r:.80} is not a dtype")
    dtype = np.dtype(name)
    if dtype.hasobject:
        raise ModelFileError("an array of objects is not plain data")
    if dtype.kind == "U":
        if not all(isinstance(item, str) for item in data):
            raise ModelFileError("an array of strings holds another value")
        longest = max(map(len, data), default=0)
        # A dtype can claim any width: memory is taken for the longest string only.
        too_wide = dtype.itemsize > 4 * (longest + _SPARE_CHARACTERS)
        return np.array(data, dtype=np.str_ if too_wide else dtype).reshape(shape)
    return np.frombuffer(base64.b64decode(data, validate=True), dtype=dtype).reshape(shape).copy()


def _items_to_json(items: Any) -> list[Any]:
    return [to_json(item) for item in items]


# Name -> type, how it is written, how it is read.
_TYPES: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tuple": (tuple, _items_to_json, lambda items: tuple(map(from_json, items))),
    "set": (set, _items_to_json, lambda items: set(map(from_json, items))),
    "frozenset": (frozenset, _items_to_json, lambda items: frozenset(map(from_json, items))),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "date": (date, date.isoformat, date.fromisoformat),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (
        timedelta,
        lambda span: [span.days, span.seconds, span.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "decimal": (Decimal, str, Decimal),
    "float": (float, str, float),
}
