"""Reading pandas column by column, through Arrow where it is installed and without it where not."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from stc._input.cells import Categories, Values
from stc._input.values import is_missing, string_series


def is_pandas(native: Any) -> bool:
    """Return whether this is a frame or a series of pandas."""
    return nw.dependencies.is_pandas_dataframe(native) or nw.dependencies.is_pandas_series(native)


def strings_of(series: nw.Series[Any], what: str) -> pl.Series:
    """Return a series of strings, or of categories that are strings, as polars.

    Parameters
    ----------
    series
        The strings.
    what
        What a string is, for error messages.
    """
    native = series.to_native()
    if not is_pandas(native):
        return series.to_polars().cast(pl.String)
    arrow = arrow_of(native)
    if arrow is not None:
        return pl.Series(arrow)
    return string_series([None if is_missing(cell) else cell for cell in native.tolist()], what)


def values_of(column: Any) -> Values:
    """Return the values of a column; most need no Arrow, which refuses mixed objects."""
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):
        return Categories(column.cat.codes.to_numpy(), column.cat.categories.tolist())
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufMm":
        return _series_of_numpy(column.to_numpy())
    arrow = arrow_of(column)
    if arrow is not None:
        return pl.Series(arrow)
    cells: list[Any] = column.tolist()
    return cells


def _series_of_numpy(numbers: Any) -> pl.Series:
    if numbers.dtype.kind in "mM" and np.datetime_data(numbers.dtype)[0] == "s":
        numbers = numbers.astype(f"{numbers.dtype.kind}8[ms]")  # polars has no seconds
    return pl.Series(numbers)


def arrow_of(column: Any) -> Any:
    """Return the Arrow data of a pandas column of strings, numbers or Arrow types; None if none.

    Other extension types (periods, intervals) would give their storage, not their values.
    """
    dtype = column.dtype
    plain = (
        dtype.kind in "biuf" or dtype.name in ("str", "string") or hasattr(dtype, "pyarrow_dtype")
    )
    if isinstance(dtype, np.dtype) or not plain or not hasattr(column.array, "__arrow_array__"):
        return None
    try:
        return column.array.__arrow_array__()
    except ImportError:
        return None
