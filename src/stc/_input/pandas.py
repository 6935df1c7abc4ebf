"""Reading pandas column by column, through Arrow where it is installed and without it where not."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from stc._input.arrays import uuids_of, values_of_arrow, values_of_numpy
from stc._input.cells import Categories, Values
from stc._input.values import is_missing, string_series
from stc.exceptions import DataError


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


def labels_of(series: nw.Series[Any]) -> Any:
    """Return labels that are not strings as an array or a list; moments keep zone and precision."""
    native = series.to_native()
    pandas = is_pandas(native)
    arrow = arrow_of(native) if pandas else native
    uuids = uuids_of(arrow)
    if uuids is not None:
        return uuids
    if series.dtype == nw.Datetime and series.dtype.time_zone is not None:  # type: ignore[attr-defined]
        if pandas and arrow is None:
            return native.tolist()
        moments = series.to_polars()
        nanoseconds = getattr(moments.dtype, "time_unit", None) == "ns"
        if nanoseconds and (moments.to_physical() % 1000 != 0).any():
            raise DataError(
                "labels with a time zone and nanoseconds have no type in Python",
                hint="cast them to microseconds, or give strings",
            )
        return moments.to_list()
    # NumPy has no integers of 128 bits.
    wide = series.dtype in (nw.Int128, nw.UInt128)
    return series.to_list() if wide else series.to_numpy()


def values_of(column: Any) -> Values:
    """Return the values of a column; most need no Arrow, which refuses mixed objects."""
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):
        categories = values_of(column.cat.categories)
        return Categories(column.cat.codes.to_numpy(), categories)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufMm":
        return values_of_numpy(column.to_numpy())
    if getattr(column.dtype, "tz", None) is not None:
        moments = values_of_numpy(column.to_numpy(dtype=f"M8[{column.dtype.unit}]"))  # in UTC
        if isinstance(moments, pl.Series):
            return moments.dt.replace_time_zone("UTC")
    arrow = arrow_of(column)
    if arrow is not None:
        return values_of_arrow(arrow)
    cells: list[Any] = column.tolist()
    return cells


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
    except (ImportError, UnicodeError):  # the cells say which one has half of a surrogate pair
        return None
