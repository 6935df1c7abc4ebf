"""The phases of observations: an angle for each value of each item, in the form of X."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.observations import Column, Observations

Floats = NDArray[np.float64]


def with_theta(observed: Observations, theta: Any) -> Observations:
    """The items with the angle `theta_j` of each of their values.

    Parameters
    ----------
    observed
        The items.
    theta
        Radians. For a table a number for each cell, in the shape of X or as records; for a matrix
        of counts a matrix of the same shape; for documents a dict word -> radians for each. What is
        not named has angle 0.
    """
    if theta is None:
        return observed
    columns = {"table": _of_table, "counts": _of_counts, "documents": _of_documents}
    return replace(observed, columns=columns[observed.kind](observed, theta))


def _of_table(observed: Observations, theta: Any) -> tuple[Column, ...]:
    names = observed.names
    if isinstance(theta, Sequence) and any(isinstance(item, Mapping) for item in theta):
        _same_length(observed, len(theta))
        if not all(isinstance(item, Mapping) for item in theta):
            raise TypeError("theta of records is a list with a dict name -> radians for each")
        by_name = {name: [item.get(name, 0.0) for item in theta] for name in names}
        each = [np.zeros((len(theta), 0)), *(_numbers(by_name[name], name) for name in names)]
        cells = np.column_stack(each)
    else:
        cells = _cells(observed, theta)
    places = {name: place for place, name in enumerate(names)}
    return tuple(_turned(own, cells[:, places[str(own.attribute)]]) for own in observed.columns)


def _cells(observed: Observations, theta: Any) -> Floats:
    """A number for each cell of the table, out of a frame or an array."""
    frame = nw.from_native(theta, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        if observed.named:
            absent = [name for name in observed.names if name not in frame.columns]
            if absent:
                raise ValueError(f"theta has no column {absent[0]!r}; it needs one for each of X's")
            frame = frame.select(observed.names)
        theta = frame.to_numpy()
    cells = _numbers(theta, None)
    shape = observed.n_items, len(observed.names)
    if cells.shape != shape:
        raise ValueError(f"theta has shape {cells.shape}, X has {shape}: it needs an angle a cell")
    return cells


def _turned(column: Column, angles: Floats) -> Column:
    """A column with one angle for all the values of an item."""
    lengths = column.lengths()
    wrong = ~np.isfinite(angles) & (lengths > 0)
    if wrong.any():
        item = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"theta, column {column.attribute!r}, item {item}: an angle must be finite, "
            f"got {angles[item]}"
        )
    if column.offsets is not None:
        return replace(column, angles=np.repeat(angles, lengths))
    return replace(column, angles=np.where(lengths > 0, angles, 0.0))


def _of_counts(observed: Observations, theta: Any) -> tuple[Column, ...]:
    (column,) = observed.columns
    items, codes, _ = column.entries()
    table = theta.tocsr() if sparse.issparse(theta) else _numbers(theta, None)
    if table.shape != (observed.n_items, column.n_values):
        shape = (observed.n_items, column.n_values)
        raise ValueError(f"theta has shape {table.shape}, X has {shape}: they must be the same")
    # SciPy gives something else than numbers for no places at all.
    angles = np.asarray(table[items, codes]).ravel() if len(items) else np.zeros(0)
    return (replace(column, angles=_finite(angles, items)),)


def _of_documents(observed: Observations, theta: Any) -> tuple[Column, ...]:
    words = [] if isinstance(theta, Mapping) or not isinstance(theta, Iterable) else list(theta)
    if not words or not all(isinstance(own, Mapping) for own in words):
        raise TypeError("theta of documents is a list with a dict word -> radians for each")
    _same_length(observed, len(words))
    return tuple(_turned_words(column, words) for column in observed.columns)


def _turned_words(column: Column, words: Sequence[Mapping[Any, Any]]) -> Column:
    items, codes, _ = column.entries()
    values: Any = column.values
    places = list(zip(items.tolist(), codes.tolist(), strict=True))
    if not column.conjunction:
        angles = _numbers([words[n].get(values[k], 0.0) for n, k in places], None)
    else:  # words in a row turn by the sum of their angles
        rows = [sum(_numbers([words[n].get(w, 0.0) for w in values[k]], None)) for n, k in places]
        angles = np.array(rows, dtype=np.float64)
    return replace(column, angles=_finite(angles, items))


def _same_length(observed: Observations, count: int) -> None:
    if count != observed.n_items:
        raise ValueError(f"theta has {count} items, X has {observed.n_items}")


def _numbers(angles: Any, name: str | None) -> Floats:
    where = "theta" if name is None else f"theta, column {name!r}"
    try:
        return numbers(angles)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where}: an angle must be a number ({error})") from error


def numbers(angles: Any) -> Floats:
    """Angles as an array; a string is none, whatever it says."""
    array = np.asarray(angles)
    if array.dtype.kind == "O" and any(isinstance(own, (str, bytes)) for own in array.ravel()):
        raise TypeError("there is a string among them")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"they are of dtype {array.dtype}")
    return array.astype(np.float64)


def _finite(angles: Floats, items: NDArray[Any]) -> Floats:
    if not np.isfinite(angles).all():
        item = items[np.flatnonzero(~np.isfinite(angles))[0]]
        raise ValueError(f"theta, item {item}: an angle must be finite")
    return angles
