"""Reading arrays of NumPy and of Arrow: as series where polars has their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._input.cells import Values


def values_of_arrow(array: Any) -> Values:
    """Return the values of an Arrow array."""
    uuids = uuids_of(array)
    return pl.Series(array) if uuids is None else uuids


def uuids_of(array: Any) -> list[Any] | None:
    """Return the values of an Arrow array of UUIDs, bytes to polars; None for another array."""
    if getattr(getattr(array, "type", None), "extension_name", None) != "arrow.uuid":
        return None
    return list(array.to_pylist())


def values_of_numpy(cells: NDArray[Any]) -> Values:
    """Return the cells of an array; as a series where polars has the type, bit by bit."""
    dtype = cells.dtype
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        if count == 1 and unit == "s" and _fits(cells, 1000):  # polars has no seconds
            cells, unit = cells.astype(f"{dtype.kind}8[ms]"), "ms"
        if count == 1 and unit in ("ms", "us", "ns"):
            return pl.Series(cells)
    elif dtype.kind in "biu" or dtype in (np.float32, np.float64):
        return pl.Series(np.ascontiguousarray(cells))
    return cells.tolist() if dtype.kind in "OUS" else list(cells)


def _fits(cells: NDArray[Any], factor: int) -> bool:
    """Return whether moments or durations can be multiplied, which NumPy does not check."""
    counts = cells[~np.isnat(cells)].view(np.int64)
    return not len(counts) or int(np.abs(counts).max()) <= np.iinfo(np.int64).max // factor
