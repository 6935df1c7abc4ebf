"""The target -> a Column whose values are the classes, in the dtype they came in, and its form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d

from stc._core.observations import Column, offsets_of, sum_by_item
from stc._core.product import crossed
from stc._core.target import Form, Target
from stc._input.cells import as_weights, check_weights
from stc._input.pandas import strings_of
from stc._input.scalars import EXACT_FLOAT, code_series
from stc._input.values import is_missing

# What the labels of an item may come in.
_BAGS = (list, tuple, set, frozenset, np.ndarray)


def encode_target(y: Any, known: Form | None = None) -> Target:
    """Encode labels, distributions, label sets, indicators, or several columns of labels.

    The values of the column are the distinct classes, sorted; the weights of an item sum to 1.
    Where zeros and ones could be an indicator or labels, the form `known` so far decides.
    """
    labels = known is not None and known.kind != "indicator"
    if sparse.issparse(y):
        return _encode_indicator(y.tocsr())
    y = _plain(y)
    if isinstance(y, _Columns):
        return _encode_joint(y.columns, y.names) if labels else _encode_table(y)
    kinds = _kinds(y)
    if any(issubclass(kind, Mapping) for kind in kinds):
        return Target(_encode_distributions(list(y)), Form())
    if any(issubclass(kind, _BAGS) for kind in kinds):
        rows = None if labels else _zero_one_rows(y)
        return _encode_sets(list(y)) if rows is None else _encode_indicator(rows)
    return Target(_encode_labels(y), Form())


def encode_targets(columns: Mapping[str, Any]) -> Target:
    """Encode named targets: one on its own, or several jointly."""
    if len(columns) == 1:
        ((name, y),) = columns.items()
        target = encode_target(y, Form())
        return replace(target, form=replace(target.form, names=(name,)))
    return _encode_joint(list(columns.values()), tuple(columns))


def encode_classes(classes: Any, known: Form) -> NDArray[Any]:
    """Classes to be declared, as the column of a target of this form would have them."""
    if known.kind == "joint" and isinstance(classes, (list, tuple)):
        by_target = all(isinstance(own, np.ndarray) for own in classes)
        if by_target and len(classes) == known.width:  # scikit-learn's way: a list per target
            classes = list(product(*(own.tolist() for own in classes)))
        rows = np.empty((len(classes), known.width), dtype=object)
        for place, own in enumerate(classes):
            if len(own) != known.width:
                raise ValueError(
                    f"classes: {own!r} is not a class of each of {known.width} targets"
                )
            rows[place] = own
        classes = rows
    column = encode_target(classes, known if known.kind == "joint" else Form()).column
    declared = np.asarray(column.values)
    if known.kind == "indicator" and not np.isin(declared, np.arange(known.width)).all():
        raise ValueError(
            f"classes: the labels of an indicator are its columns, 0 to {known.width - 1}"
        )
    return declared


class _Columns(NamedTuple):
    """y with several columns."""

    names: tuple[str, ...]
    columns: list[Any]


def _plain(y: Any) -> Any:
    """A frame or a 2-D array of several columns as columns; a Series of objects as a list."""
    if hasattr(y, "__arrow_c_array__") and not hasattr(y, "column_names"):
        y = pl.Series(y)  # one chunk of Arrow, which narwhals does not take for a series
    frame = nw.from_native(y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and frame.shape[1] > 1:
        names = tuple(map(str, frame.columns))
        return _Columns(names, [frame[:, k].to_native() for k in range(frame.shape[1])])
    series = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(series, nw.Series) and series.dtype in (nw.Object, nw.List, nw.Array):
        labels = series.to_list()
        return labels if any(isinstance(own, (*_BAGS, Mapping)) for own in labels) else y
    array = hasattr(y, "__array__") and getattr(y, "ndim", 1) == 2
    if array and y.shape[1] > 1:
        y = np.asarray(y)
        return _Columns((), [y[:, k] for k in range(y.shape[1])])
    return y


def _kinds(y: Any) -> set[type]:
    """Types of the labels, where they may be more than labels."""
    objects = getattr(y, "dtype", None) == np.dtype(object)  # not so for a column of strings
    return set(map(type, y)) if isinstance(y, (list, tuple)) or objects else set()


def _encode_labels(y: Any) -> Column:
    classes, codes = factorize_labels(_as_labels(y))
    return Column(None, classes, len(classes), codes, complete=True)


# --- several targets ------------------------------------------------------------------------


def _encode_table(y: _Columns) -> Target:
    """An indicator if there are only zeros and ones, as scikit-learn has it; else joint targets."""
    arrays = [np.asarray(column) for column in y.columns]
    if all(array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all() for array in arrays):
        return _encode_indicator(sparse.csr_array(np.column_stack(arrays)), y.names)
    return _encode_joint(y.columns, y.names)


def _encode_joint(columns: Sequence[Any], names: tuple[str, ...]) -> Target:
    """The product of each item's distributions over the targets; classes are tuples."""
    encoded = [encode_target(column, Form()).column for column in columns]
    joint = crossed(encoded)
    rows: Any = joint.values
    labels = [_scalars(np.asarray(column.values)) for column in encoded]
    classes = np.empty(len(rows), dtype=object)
    classes[:] = [tuple(own[k] for own, k in zip(labels, row, strict=True)) for row in rows]
    if joint.offsets is not None and joint.weights is None:
        lengths = np.diff(joint.offsets)
        joint = replace(joint, weights=np.repeat(1 / np.maximum(lengths, 1), lengths))
    dtypes = tuple(np.asarray(column.values).dtype for column in encoded)
    form = Form("joint", names, dtypes, len(columns))
    return Target(replace(joint, values=classes), form)


def _scalars(labels: NDArray[Any]) -> list[Any]:
    """Labels as Python has them; but times as NumPy does, which loses nothing."""
    return list(labels) if labels.dtype.kind in "mM" else labels.tolist()


# --- several labels -------------------------------------------------------------------------


def _zero_one_rows(y: Any) -> sparse.csr_array | None:
    """Nested rows of only 0 and 1, two columns or more, which scikit-learn takes as indicator."""
    width = len(y[0]) if isinstance(y[0], (list, tuple, np.ndarray)) else 0
    if width < 2 or not all(isinstance(row, (list, tuple, np.ndarray)) for row in y):
        return None
    if any(len(row) != width for row in y):
        return None
    flat = list(chain.from_iterable(y))
    if not all(isinstance(x, (Real, np.bool_)) and x in (0, 1) for x in flat):
        return None
    return sparse.csr_array(np.asarray(flat, dtype=np.int64).reshape(-1, width))


def _encode_indicator(y: Any, names: tuple[str, ...] = ()) -> Target:
    y = sparse.csr_array(y)  # a new one: the caller's stays as it is
    y.eliminate_zeros()
    if not np.isin(y.data, (0, 1)).all():
        item = int(np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))[~np.isin(y.data, (0, 1))][0])
        raise ValueError(f"y, item {item}: a sparse y is an indicator of labels, only 0 and 1")
    if not y.nnz:
        raise ValueError("y: no item has a label, every entry of the indicator is 0")
    y.sort_indices()
    lengths = np.diff(y.indptr)
    weights = np.repeat(1 / np.maximum(lengths, 1), lengths)
    width = y.shape[1]
    column = Column(None, np.arange(width), width, y.indices, y.indptr, weights)
    return Target(column, Form("indicator", names, (np.dtype(np.int64),), width))


def _encode_sets(y: list[Any]) -> Target:
    sets = []
    for item, labels in enumerate(y):
        if not isinstance(labels, _BAGS):
            what = "nothing" if is_missing(labels) else type(labels).__name__
            raise ValueError(
                f"y, item {item}: expected a set of labels like the others, got {what}"
            )
        if any(map(is_missing, labels)):
            raise ValueError(f"Input y contains NaN: item {item} has a label that is missing")
        distinct = list(dict.fromkeys(labels))
        if not distinct:
            raise ValueError(
                f"y, item {item}: the set of labels is empty; leave the item out, or give it a "
                "label of its own, such as 'none'"
            )
        sets.append(distinct)
    lengths = np.array([len(labels) for labels in sets], dtype=np.int64)
    classes, codes = factorize_labels(_narrowed(_objects(list(chain.from_iterable(sets)))))
    weights = np.repeat(1 / lengths, lengths)
    column = Column(None, classes, len(classes), codes, offsets_of(lengths), weights)
    container = next((kind for kind in _BAGS[:-1] if isinstance(y[0], kind)), list)
    return Target(column, Form("sets", (), (classes.dtype,), 1, container))


def _objects(labels: list[Any]) -> NDArray[Any]:
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


# --- one label ------------------------------------------------------------------------------


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
    """np.asarray, but labels of different types, and large integers, stay what they are."""
    array = np.asarray(labels)
    mixed = array.dtype.kind in "US" and not all(isinstance(x, (str, bytes)) for x in labels)
    rounded = array.dtype.kind == "f" and _some_inexact(array) and _all_integers(labels)
    return np.asarray(labels, dtype=object) if mixed or rounded else array


def _some_inexact(numbers: NDArray[Any]) -> bool:
    """Whether some float is so large that two integers may have become the same."""
    return bool((abs(numbers) >= EXACT_FLOAT).any())


def _all_integers(labels: Iterable[Any]) -> bool:
    return all(isinstance(label, (int, np.integer)) for label in labels)


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
        numbers = _array_of(labels.tolist())
        if numbers.dtype.kind != "O":  # else integers that only Python can hold
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
    classes, codes = factorize_labels(_narrowed(_objects(labels)))
    offsets = offsets_of(np.bincount(items[kept], minlength=len(y)))
    weights = (flat / totals[items])[kept]
    return Column(None, classes, len(classes), codes[kept], offsets, weights)


def _narrowed(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels out of dicts have no dtype of their own: take the one NumPy gives their list."""
    kinds = set(map(type, labels))
    return np.array(labels.tolist()) if len(kinds) == 1 else labels


def _refuse_missing(missing: NDArray[np.bool_]) -> None:
    if missing.any():
        item = int(np.flatnonzero(missing)[0])
        raise ValueError(f"Input y contains NaN: item {item} has no label")
