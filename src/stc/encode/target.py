"""The target -> a Column whose values are the classes, in the dtype they came in."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from stc.encode.cells import as_weights, check_weights
from stc.encode.pandas import strings_of
from stc.encode.scalars import code_series
from stc.observations import Column, offsets_of, sum_by_item
from stc.values import is_missing


def encode_target(y: Any) -> Column:
    """Encode labels, or a distribution over classes per item (a list of dicts).

    The values of the column are the distinct classes, sorted; the weights of an item sum to 1.
    """
    objects = getattr(y, "dtype", None) == np.dtype(object)  # not so for a column of strings
    if isinstance(y, (list, tuple)) or objects:
        kinds = set(map(type, y))
        if any(issubclass(kind, Mapping) for kind in kinds):
            return _encode_distributions(list(y))
    labels = _as_labels(y)
    classes, codes = factorize_labels(labels)
    return Column(None, classes, len(classes), codes, complete=True)  # type: ignore[arg-type]


def encode_sample_weight(sample_weight: Any, n_items: int) -> NDArray[np.float64]:
    """Weight of each item: 1 by default, one number for all, or one each."""
    if sample_weight is None:
        return np.broadcast_to(1.0, n_items)  # takes no memory
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_items, weights)
    if weights.shape != (n_items,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_items,)}: one weight an item"
        )
    check_weights(weights, np.arange(n_items), "sample_weight")
    return weights


def _as_labels(y: Any) -> Any:
    """A 1-D NumPy array, or a polars Series where strings would be slow in NumPy."""
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        if series.dtype == nw.String:
            return strings_of(series)
        y = series.to_numpy()
    if isinstance(y, (list, tuple)):
        y = _array_of(y)
    return column_or_1d(y, warn=True)


def _array_of(labels: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """np.asarray, but labels of different types stay what they are."""
    array = np.asarray(labels)
    mixed = array.dtype.kind in "US" and not all(isinstance(x, (str, bytes)) for x in labels)
    return np.asarray(labels, dtype=object) if mixed else array


def factorize_labels(labels: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sorted distinct labels in their own dtype, and each label's place among them."""
    if isinstance(labels, pl.Series):
        return _factorize_strings(labels, np.dtype(object))
    if labels.dtype.kind == "f":
        _refuse_missing(np.isnan(labels))
        if np.isinf(labels).any():
            item = int(np.flatnonzero(np.isinf(labels))[0])
            raise ValueError(
                "Input y contains infinity or a value too large for dtype('float64'): "
                f"item {item} has label {labels[item]}"
            )
        if (labels % 1).any():
            raise ValueError(
                "Unknown label type: continuous. y holds fractions, which are no classes; "
                "for soft labels give a list of dicts {class: weight}"
            )
    if labels.dtype.kind == "U":
        return _factorize_strings(pl.Series(labels.tolist(), dtype=pl.String), labels.dtype)
    if labels.dtype.kind == "O":
        return _factorize_objects(labels)
    if labels.dtype.kind in "mM":
        _refuse_missing(np.isnat(labels))
    classes = np.unique(labels)
    return classes, np.searchsorted(classes, labels)


def _factorize_objects(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    missing = np.array([is_missing(label) for label in labels], dtype=bool)
    _refuse_missing(missing)
    kinds = set(map(type, labels))
    if kinds == {str}:
        return _factorize_strings(pl.Series(labels.tolist(), dtype=pl.String), labels.dtype)
    if all(issubclass(kind, (int, float, np.number)) for kind in kinds) and bool not in kinds:
        numbers = np.array(labels.tolist())
        classes, codes = factorize_labels(numbers)
        return classes.astype(object), codes
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"y mixes labels of types that cannot be ordered: {names}") from error
    return classes, codes


def _factorize_strings(
    labels: pl.Series, dtype: np.dtype[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    _refuse_missing(labels.is_null().to_numpy())
    coded = code_series(labels)
    order = sorted(range(len(coded.values)), key=coded.values.__getitem__)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.array([coded.values[k] for k in order], dtype=dtype), place[coded.codes]


def _encode_distributions(y: list[Any]) -> Column:
    for item, weights in enumerate(y):
        if not isinstance(weights, Mapping):
            raise TypeError(
                f"y, item {item}: expected a dict class -> weight like the others, "
                f"got {type(weights).__name__}"
            )
    lengths = np.array([len(weights) for weights in y], dtype=np.int64)
    labels = list(chain.from_iterable(y))
    items = np.repeat(np.arange(len(y)), lengths)
    flat = as_weights(list(chain.from_iterable(w.values() for w in y)), items, "y")
    offsets = offsets_of(lengths)
    totals = sum_by_item(flat, offsets)
    if not totals.all():
        item = int(np.flatnonzero(totals == 0)[0])
        raise ValueError(f"y, item {item}: the weights of its classes are all zero")
    kept = flat > 0
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    classes, codes = factorize_labels(_narrowed(array))
    offsets = offsets_of(np.bincount(items[kept], minlength=len(y)))
    weights = (flat / totals[items])[kept]
    return Column(None, classes, len(classes), codes[kept], offsets, weights)  # type: ignore[arg-type]


def _narrowed(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels out of dicts have no dtype of their own: take the one NumPy gives their list."""
    kinds = set(map(type, labels))
    return np.array(labels.tolist()) if len(kinds) == 1 else labels


def _refuse_missing(missing: NDArray[np.bool_]) -> None:
    if missing.any():
        item = int(np.flatnonzero(missing)[0])
        raise ValueError(f"Input y contains NaN: item {item} has no label")
