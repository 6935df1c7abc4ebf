"""Targets from y: a column of classes, which keep their dtype, and the form of y."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain, product
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.ma.core import MaskedConstant
from numpy.typing import NDArray
from scipy import sparse

from stc._core.labels import distinct_labels, label_array, plain_label
from stc._core.observations import Column, item_offsets, items_of, offsets_of, sum_by_item
from stc._core.product import cartesian_product, object_array
from stc._core.target import Target, TargetForm
from stc._input.arrays import uuids_of
from stc._input.columns import as_frame, as_series, library_errors
from stc._input.pandas import labels_of, strings_of
from stc._input.scalars import EXACT_FLOAT, code_series
from stc._input.values import is_missing, naming_items, string_series, unmasked
from stc._input.weights import as_floats, as_weights, check_weights
from stc.exceptions import DataError, DataTypeError, MissingLabelError, ParameterError

# Types that hold the labels of an item.
_BAGS = (list, tuple, set, frozenset, np.ndarray)
# Types of which NumPy makes arrays that hold every label, but for large integers beside floats.
_NUMBERS_AND_MOMENTS = (int, float, np.number, np.bool_, np.datetime64)


def encode_target(y: Any, known: TargetForm | None = None) -> Target:
    """Encode labels, distributions, label sets, indicators, or several columns of labels.

    The values of the column are the distinct classes, sorted; the weights of an item sum to 1.

    Parameters
    ----------
    y
        The target.
    known
        Form of the target of a fitted model. It decides whether zeros and ones are an indicator
        or labels.
    """
    labels = known is not None and known.kind != "indicator"
    with library_errors("y"):
        if sparse.issparse(y):
            return _encode_indicator(y)
        _check_ordered(y)
        y = _plain(y)
        if isinstance(y, _Columns):
            return _encode_joint(y.columns, y.names) if labels else _encode_table(y)
        kinds = _kinds(y)
        if any(issubclass(kind, Mapping) for kind in kinds):
            return Target(_encode_distributions(list(y)), TargetForm())
        if any(issubclass(kind, _BAGS) for kind in kinds):
            rows = None if labels else _zero_one_rows(y)
            return _encode_sets(list(y)) if rows is None else _encode_indicator(rows)
        classes, codes = _factorize(_as_labels(y))
        column = Column(None, classes, len(classes), codes, complete=True)
        return Target(column, TargetForm())


def encode_targets(columns: Mapping[str, Any]) -> Target:
    """Encode named targets: a single one, or several jointly."""
    if len(columns) == 1:
        ((name, y),) = columns.items()
        with library_errors("the target", name):
            target = encode_target(y, TargetForm())
        return replace(target, form=replace(target.form, names=(name,)))
    return _encode_joint(list(columns.values()), tuple(columns))


def encode_classes(classes: Any, known: TargetForm) -> NDArray[Any]:
    """Encode the parameter `classes` as the values of a target of this form."""
    if known.kind == "joint" and isinstance(classes, (list, tuple)):
        by_target = all(isinstance(labels, np.ndarray) for labels in classes)
        if by_target and len(classes) == known.width:  # as scikit-learn has it: a list per target
            classes = list(product(*(labels.tolist() for labels in classes)))
        rows = np.empty((len(classes), known.width), dtype=object)
        for row, class_ in enumerate(classes):
            if not isinstance(class_, _BAGS) or len(class_) != known.width:
                raise ParameterError(
                    f"classes: {class_!r} is not a class of each of {known.width} targets"
                )
            rows[row] = class_
        classes = rows
    column = encode_target(classes, known if known.kind == "joint" else TargetForm()).column
    declared = np.asarray(column.values)
    if known.kind == "indicator" and not np.isin(declared, np.arange(known.width)).all():
        raise ParameterError(
            f"classes: the labels of an indicator are its columns, 0 to {known.width - 1}"
        )
    return declared


def _check_ordered(y: Any) -> None:
    """Raise if y does not give one label for each item in order, again each time it is read."""
    if isinstance(y, Iterator):
        hint = "give list(y)"
        raise DataTypeError(f"y is a {type(y).__name__}, which can be read only once", hint=hint)
    if isinstance(y, AbstractSet | Mapping):
        raise DataTypeError(
            f"y is a {type(y).__name__}, which has no label for each item",
            hint="give a list with the label of each item, in their order",
        )


class _Columns(NamedTuple):
    """y with several columns."""

    names: tuple[str, ...]
    columns: list[Any]


def _plain(y: Any) -> Any:
    """Return a frame or array of several columns as columns, a series of objects as a list."""
    if np.ma.isMaskedArray(y) and np.ma.is_masked(y):
        y = unmasked(y)
    frame = as_frame(y)
    if frame is not None:
        if frame.shape[1] == 0:
            raise DataError("y has no column")
        if frame.shape[1] == 1:
            return _plain(frame[:, 0].to_native())
        names = tuple(map(str, frame.columns))
        return _Columns(names, [frame[:, k].to_native() for k in range(frame.shape[1])])
    uuids = uuids_of(y)
    if uuids is not None:
        return uuids
    series = as_series(y)
    if series is not None:
        if series.dtype in (nw.Object, nw.List, nw.Array, nw.Struct):
            labels = series.to_list()
            if series.dtype == nw.Struct:  # it has the fields of all items: null is absent
                return [
                    weights and {k: v for k, v in weights.items() if v is not None}
                    for weights in labels
                ]
            if any(isinstance(label, (*_BAGS, Mapping)) for label in labels):
                return labels
        return series.to_native()
    if hasattr(y, "__array__") and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1:
        y = np.asarray(y)
        return _Columns((), [y[:, k] for k in range(y.shape[1])])
    if getattr(y, "dtype", None) == np.dtype(object) and np.ndim(y) == 2:
        return _one_column(y)  # before its rows are taken for sets of labels
    return y


def _kinds(y: Any) -> set[type]:
    """Return the types of the labels where they may be more than single labels."""
    objects = getattr(y, "dtype", None) == np.dtype(object)  # not so for a column of strings
    return (
        set(map(type, y)) - {MaskedConstant} if isinstance(y, (list, tuple)) or objects else set()
    )


# --- several targets ------------------------------------------------------------------------


def _encode_table(y: _Columns) -> Target:
    """Encode columns of zeros and ones as an indicator, as scikit-learn does, others jointly."""
    arrays = [np.asarray(column) for column in y.columns]
    if all(array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all() for array in arrays):
        return _encode_indicator(sparse.csr_array(np.column_stack(arrays)), y.names)
    return _encode_joint(y.columns, y.names)


def _encode_joint(columns: Sequence[Any], names: tuple[str, ...]) -> Target:
    """Encode the product of each item's distributions over the targets; classes are tuples."""
    encoded = []
    for position, column in enumerate(columns):
        with library_errors("the target", names[position] if names else None):
            encoded.append(encode_target(column, TargetForm()).column)
    joint = cartesian_product(encoded)
    rows: Any = joint.values
    labels = [_scalars(np.asarray(column.values)) for column in encoded]
    classes = np.empty(len(rows), dtype=object)
    classes[:] = [tuple(target[k] for target, k in zip(labels, row, strict=True)) for row in rows]
    if joint.offsets is not None and joint.weights is None:
        lengths = np.diff(joint.offsets)
        joint = replace(joint, weights=np.repeat(1 / np.maximum(lengths, 1), lengths))
    dtypes = tuple(np.asarray(column.values).dtype for column in encoded)
    form = TargetForm("joint", names, dtypes, len(columns))
    return Target(replace(joint, values=classes), form)


def _scalars(labels: NDArray[Any]) -> list[Any]:
    """Return labels as Python objects; dates and times as NumPy's, which lose no precision."""
    return list(labels) if labels.dtype.kind in "mM" else labels.tolist()


# --- several labels -------------------------------------------------------------------------


def _zero_one_rows(y: Any) -> sparse.csr_array | None:
    """Return rows of 0 and 1, two columns or more, as an indicator; None if y is not that.

    scikit-learn takes nested lists in this way, too.
    """
    if not all(isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) == 1 for row in y):
        return None
    width = len(y[0])
    if width < 2 or any(len(row) != width for row in y):
        return None
    flat = list(chain.from_iterable(y))
    if not all(isinstance(x, (Real, np.bool_)) and x in (0, 1) for x in flat):
        return None
    return sparse.csr_array(np.asarray(flat, dtype=np.int64).reshape(-1, width))


def _encode_indicator(y: Any, names: tuple[str, ...] = ()) -> Target:
    if y.ndim != 2:
        raise DataError(f"a sparse y must have 2 dimensions, got {y.ndim}")
    y = sparse.csr_array(y)  # a new one: the matrix of the caller is not changed
    y.eliminate_zeros()
    with naming_items(y.indptr):
        wrong = ~np.isin(y.data, (0, 1))
        _refuse(wrong, DataError("a sparse y is an indicator of labels, with only 0 and 1"))
    if not y.nnz:
        raise DataError("no item has a label: every entry of the indicator y is 0")
    y.sort_indices()
    lengths = np.diff(y.indptr)
    weights = np.repeat(1 / np.maximum(lengths, 1), lengths)
    width = y.shape[1]
    column = Column(None, np.arange(width), width, y.indices, y.indptr, weights)
    return Target(column, TargetForm("indicator", names, (np.dtype(np.int64),), width))


def _encode_sets(y: list[Any]) -> Target:
    sets = [_label_set(labels, item) for item, labels in enumerate(y)]
    lengths = np.array([len(labels) for labels in sets], dtype=np.int64)
    offsets = offsets_of(lengths)
    classes, codes = _factorize_flat(list(chain.from_iterable(sets)), offsets)
    weights = np.repeat(1 / lengths, lengths)
    column = Column(None, classes, len(classes), codes, offsets, weights)
    container = next((kind for kind in _BAGS[:-1] if isinstance(y[0], kind)), list)
    return Target(column, TargetForm("sets", (), (classes.dtype,), 1, container))


def _label_set(labels: Any, item: int) -> list[Any]:
    """Return the distinct labels of an item in the order given."""
    if not isinstance(labels, _BAGS) or getattr(labels, "ndim", 1) != 1:
        what = "nothing" if is_missing(labels) else type(labels).__name__
        raise DataError(f"expected a set of labels in y like the others, got {what}", item=item)
    if any(map(is_missing, labels)):
        raise MissingLabelError("Input y contains NaN: a label of the set is missing", item=item)
    try:
        distinct = list(dict.fromkeys(labels))
    except TypeError as error:
        raise DataTypeError(f"a label of y must be single: {error}", item=item) from error
    if not distinct:
        raise DataError(
            "the set of labels in y is empty",
            item=item,
            hint="leave the item out, or give it a label such as 'none'",
        )
    return distinct


def encode_sample_weight(
    sample_weight: Any, n_items: int, *, column: str | None = None
) -> NDArray[np.float64]:
    """Return the weight of each item: 1 by default, one number for all, or one each.

    `column` is the column of the data that holds the weights, for error messages.
    """
    if sample_weight is None:
        return np.broadcast_to(1.0, n_items)  # takes no memory
    what = "sample_weight" if column is None else "a weight"
    weights = as_floats(sample_weight, column=column, what=what)
    if weights.ndim == 0:
        weights = np.full(n_items, weights)
    if weights.shape != (n_items,):
        raise DataError(
            f"sample_weight.shape == {weights.shape}, expected {(n_items,)}",
            hint="give one weight for each item",
        )
    check_weights(weights, column=column, what=what)
    return weights


# --- one label ------------------------------------------------------------------------------


def _as_labels(y: Any) -> Any:
    """Return a list, a 1-D NumPy array, or a polars Series for strings, which are slow in NumPy."""
    series = as_series(y)
    if series is not None:
        if series.dtype == nw.String:
            return strings_of(series, "a label of y")
        return labels_of(series)
    if isinstance(y, (list, tuple)):
        return list(y)
    return _one_column(y)


def _one_column(y: Any) -> NDArray[Any]:
    # Predicting needs no y, and scikit-learn is slow to import.
    from sklearn.utils import column_or_1d

    try:
        return np.asarray(column_or_1d(y, warn=True))
    except ValueError as error:
        message = str(error).rstrip(".\n")
        raise DataError(message, hint="give one label for each item") from error


def _factorize(labels: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct labels in their dtype, and the position of each label."""
    if isinstance(labels, pl.Series):
        return _factorize_strings(labels)
    if isinstance(labels, list):
        return _factorize_list(labels)
    if labels.dtype.kind == "f":
        _check_numbers(labels)
    if labels.dtype.kind == "U":
        classes, codes = _factorize_strings(string_series(labels.tolist(), "a label of y"))
        return classes.astype(labels.dtype), codes
    if labels.dtype.kind == "O":
        return _factorize_objects(labels.tolist())
    if labels.dtype.kind in "mM":
        _check_present(np.isnat(labels))
    if labels.dtype.kind == "T":
        _check_present(_missing(labels))
    return distinct_labels(labels)


def _factorize_list(labels: list[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Factorize a list; the classes have the dtype that NumPy gives the labels, if it is exact."""
    kinds = set(map(type, labels))
    if kinds and all(issubclass(kind, _NUMBERS_AND_MOMENTS) for kind in kinds):
        array = np.asarray(labels)
        # Integers so large that two of them may have become the same float.
        if array.dtype.kind != "f" or not (abs(array) >= EXACT_FLOAT).any():
            return _factorize(array) if array.dtype.kind != "O" else _factorize_objects(labels)
    classes, codes = _factorize_objects(labels)
    return label_array(classes.tolist()), codes


def _factorize_objects(labels: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Factorize labels of any type; the classes are objects."""
    kinds = set(map(type, labels))
    if kinds <= {str, np.str_}:
        return _factorize_strings(string_series(labels, "a label of y"))
    number: dict[Any, int] = {}
    try:
        numbers = [number.setdefault(label, len(number)) for label in labels]
    except TypeError as error:
        _check_present(_missing(labels))  # a signaling NaN has no hash
        item = next(k for k, label in enumerate(labels) if not isinstance(label, Hashable))
        raise DataTypeError(f"a label of y must be single: {error}", item=item) from error
    codes = np.array(numbers, dtype=np.int64)
    distinct = list(number)
    _check_present(_missing(distinct)[codes])
    floats = [x if isinstance(x, (float, np.floating)) else 0.0 for x in distinct]
    _check_numbers(np.array(floats, dtype=np.float64)[codes])
    classes, rank = distinct_labels(object_array(list(map(plain_label, distinct))))
    return classes, rank[codes]


def _check_numbers(labels: NDArray[np.floating[Any]]) -> None:
    _check_present(np.isnan(labels))
    infinity = "Input y contains infinity or a value too large for dtype('float64')"
    _refuse(np.isinf(labels), DataError(infinity))
    fractions = np.flatnonzero(labels % 1)
    if len(fractions):
        item = int(fractions[0])
        raise DataError(
            f"Unknown label type: continuous. y holds the fraction {labels[item]}, not a class",
            item=item,
            hint="for soft labels give a list of dicts {class: weight}",
        )


def _factorize_strings(labels: pl.Series) -> tuple[NDArray[Any], NDArray[np.int64]]:
    _check_present(labels.is_null().to_numpy())
    coded = code_series(labels)
    classes, rank = np.unique(object_array(coded.values), return_inverse=True)
    return classes, rank[coded.codes]


def _encode_distributions(y: list[Any]) -> Column:
    for item, weights in enumerate(y):
        if not isinstance(weights, Mapping):
            kind = type(weights).__name__
            raise DataTypeError(
                f"expected a dict class -> weight in y like the others, got {kind}", item=item
            )
    lengths = np.array([len(weights) for weights in y], dtype=np.int64)
    offsets = offsets_of(lengths)
    flat = list(chain.from_iterable(weights.values() for weights in y))
    weights = as_weights(flat, offsets, what="the weight of a class in y")
    totals = sum_by_item(weights, offsets)
    check_weights(totals, what="the sum of the weights of the classes in y")
    _refuse(totals == 0, DataError("the weights of the classes in y are all zero"))
    classes, codes = _factorize_flat(list(chain.from_iterable(y)), offsets)
    positive, items = weights > 0, items_of(offsets)
    offsets = item_offsets(items[positive], len(y))
    shares = (weights / totals[items])[positive]
    return Column(None, classes, len(classes), codes[positive], offsets, shares)


def _factorize_flat(
    labels: list[Any], offsets: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Factorize the labels of all items; the array has the dtype that NumPy gives one type."""
    kinds = set(map(type, labels))
    with naming_items(offsets):
        if any(issubclass(kind, _BAGS) for kind in kinds):
            position = next(k for k, label in enumerate(labels) if isinstance(label, _BAGS))
            kind = type(labels[position]).__name__
            raise DataTypeError(f"a label of y must be single, got {kind}", item=position)
        return _factorize_list(labels)


def _missing(labels: Iterable[Any]) -> NDArray[np.bool_]:
    return np.array(list(map(is_missing, labels)), dtype=bool)


def _check_present(missing: NDArray[np.bool_]) -> None:
    _refuse(missing, MissingLabelError("Input y contains NaN: the item has no label"))


def _refuse(wrong: NDArray[np.bool_], error: DataError) -> None:
    """Raise an error for the first item that is wrong, if any."""
    if wrong.any():
        error.item = int(np.flatnonzero(wrong)[0])
        raise error
