"""Phases of observations: an angle for each value of each item, in the form of X."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import Floats
from stc._core.observations import Column, Observations
from stc._input.columns import as_frame, library_errors
from stc.exceptions import DataError, DataTypeError


def with_theta(observed: Observations, theta: Any) -> Observations:
    """Return the items with the angle `theta_j` of each of their values.

    Parameters
    ----------
    observed
        The items.
    theta
        Radians. For a table a number for each cell, in the shape of X or as records; for a matrix
        of counts a matrix of the same shape; for documents a dict word -> radians for each. The
        default of an angle is 0.
    """
    if theta is None:
        return observed
    columns = {"table": _table, "counts": _counts, "documents": _documents}
    with library_errors("theta"):
        observed = observed.dense()
        return replace(observed, columns=columns[observed.kind](observed, theta))


def _table(observed: Observations, theta: Any) -> tuple[Column, ...]:
    names = observed.names
    if isinstance(theta, Sequence) and any(isinstance(item, Mapping) for item in theta):
        _check_length(observed, len(theta))
        if not all(isinstance(item, Mapping) for item in theta):
            raise DataTypeError("theta of records is a list with a dict name -> radians for each")
        columns = [_numbers([item.get(name, 0.0) for item in theta], name) for name in names]
        cells = np.column_stack([np.zeros((len(theta), 0)), *columns])
    else:
        cells = _cells(observed, theta)
    positions = {name: position for position, name in enumerate(names)}
    return tuple(
        _with_angles(column, cells[:, positions[str(column.attribute)]])
        for column in observed.columns
    )


def _cells(observed: Observations, theta: Any) -> Floats:
    """Return a number for each cell of the table, from a frame or an array."""
    frame = as_frame(theta)
    if frame is not None:
        if observed.named:
            known = set(frame.columns)
            absent = [name for name in observed.names if name not in known]
            if absent:
                raise DataError(f"theta has no column {absent[0]!r}", hint="X has this column")
            frame = frame.select(observed.names)
        theta = frame.to_numpy()
    cells = _numbers(theta, None)
    _check_shape(cells.shape, (observed.n_items, len(observed.names)))
    return cells


def _with_angles(column: Column, angles: Floats) -> Column:
    """Return a column with one angle for all the values of an item."""
    items, _, _ = column.entries()
    angles_of_entries = _finite(angles[items], items, str(column.attribute))
    if column.offsets is not None:
        return replace(column, angles=angles_of_entries)
    return replace(column, angles=np.where(column.lengths() > 0, angles, 0.0))


def _counts(observed: Observations, theta: Any) -> tuple[Column, ...]:
    (column,) = observed.columns
    items, codes, _ = column.entries()
    table = theta.tocsr() if sparse.issparse(theta) else _numbers(theta, None)
    _check_shape(table.shape, (observed.n_items, column.n_values))
    # For no entries at all SciPy returns a matrix.
    angles = np.asarray(table[items, codes]).ravel() if len(items) else np.zeros(0)
    return (replace(column, angles=_finite(angles, items)),)


def _documents(observed: Observations, theta: Any) -> tuple[Column, ...]:
    words = [] if isinstance(theta, Mapping) or not isinstance(theta, Iterable) else list(theta)
    if not words or not all(isinstance(angles, Mapping) for angles in words):
        raise DataTypeError("theta of documents is a list with a dict word -> radians for each")
    _check_length(observed, len(words))
    return tuple(_with_word_angles(column, words) for column in observed.columns)


def _with_word_angles(column: Column, words: Sequence[Mapping[Any, Any]]) -> Column:
    items, codes, _ = column.entries()
    values: Any = column.values
    entries = list(zip(items.tolist(), codes.tolist(), strict=True))
    if not column.conjunction:
        angles = _numbers([words[n].get(values[k], 0.0) for n, k in entries], None)
    else:  # the angle of an n-gram is the sum of the angles of its words
        sums = [sum(_numbers([words[n].get(w, 0.0) for w in values[k]], None)) for n, k in entries]
        angles = np.array(sums, dtype=np.float64)
    return replace(column, angles=_finite(angles, items))


def _check_length(observed: Observations, count: int) -> None:
    if count != observed.n_items:
        raise DataError(f"theta has {count} items, X has {observed.n_items}")


def _check_shape(shape: tuple[int, ...], expected: tuple[int, int]) -> None:
    if shape != expected:
        raise DataError(f"theta has shape {shape}, X has {expected}: they must be the same")


def _numbers(angles: Any, name: str | None) -> Floats:
    try:
        return numbers(angles)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataTypeError(f"an angle of theta must be a number ({error})", column=name) from error


def numbers(angles: Any) -> Floats:
    """Return angles as an array; a string is never an angle."""
    array = np.ma.filled(angles, 0) if np.ma.isMaskedArray(angles) else np.asarray(angles)
    if array.dtype.kind == "O" and any(isinstance(a, (str, bytes)) for a in array.ravel()):
        raise TypeError("there is a string among them")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"they are of dtype {array.dtype}")
    return array.astype(np.float64)


def _finite(angles: Floats, items: NDArray[Any], column: str | None = None) -> Floats:
    wrong = np.flatnonzero(~np.isfinite(angles))
    if len(wrong):
        message = f"an angle of theta must be finite, got {angles[wrong[0]]}"
        raise DataError(message, column=column, item=int(items[wrong[0]]))
    return angles
