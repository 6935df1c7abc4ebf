"""Reading pandas: column by column, through Arrow where that is there, without it where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from stc._core.observations import Column, Missing
from stc._input.cells import column_of_categories, column_of_cells, column_of_series
from stc._input.values import is_missing

Reader = Callable[[int, str, Missing], Column]


def is_pandas(native: Any) -> bool:
    """Whether this is a frame or a series of pandas."""
    return nw.dependencies.is_pandas_dataframe(native) or nw.dependencies.is_pandas_series(native)


def strings_of(series: nw.Series[Any]) -> pl.Series:
    """A series of strings, or of categories that are strings, as polars."""
    native = series.to_native()
    if not is_pandas(native):
        return series.to_polars().cast(pl.String)
    arrow = arrow_of(native)
    if arrow is not None:
        return pl.Series(arrow)
    return pl.Series([None if is_missing(c) else c for c in native.tolist()], dtype=pl.String)


def pandas_reader(native: Any) -> Reader:
    """Read pandas column by column: most need no Arrow, and mixed objects would stop it."""

    def read(place: int, name: str, missing: Missing) -> Column:
        column = native.iloc[:, place]
        kind = getattr(column.dtype, "kind", "O")
        if hasattr(column, "cat") and hasattr(column.cat, "categories"):
            codes = column.cat.codes.to_numpy()
            return column_of_categories(name, codes, column.cat.categories.tolist(), missing)
        if isinstance(column.dtype, np.dtype) and kind in "biufMm":
            return column_of_series(name, pl.Series(column.to_numpy()), missing)
        arrow = arrow_of(column)
        if arrow is not None:
            return column_of_series(name, pl.Series(arrow), missing)
        return column_of_cells(name, column.tolist(), missing)

    return read


def arrow_of(column: Any) -> Any:
    """The Arrow data of a pandas column of strings, numbers or Arrow's own types, if any.

    Other extension types (periods, intervals) would show their storage, not their values.
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
