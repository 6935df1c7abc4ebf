"""Columns whose type differs from one part of a source to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from stc._input.scalars import EXACT_FLOAT, code_series
from stc.exceptions import DataError


def common_type(dtypes: Iterable[pl.DataType], column: str) -> pl.DataType | None:
    """Return the type that holds all values of the types of a column; None if there is none."""
    kinds = {dtype for dtype in dtypes if dtype != pl.Null}
    if len(kinds) < 2:
        return next(iter(kinds), pl.Null())
    nested = {kind for kind in kinds if kind.is_nested()}
    if nested:
        common = _supertype(kinds) if nested == kinds else None
        if common is None:
            types = " and ".join(sorted(map(str, kinds)))
            raise DataError(f"its parts are of the types {types}", column=column)
        return common
    texts = all(isinstance(kind, pl.String | pl.Categorical | pl.Enum) for kind in kinds)
    decimals = all(isinstance(kind, pl.Decimal) for kind in kinds)
    if texts or decimals or all(kind.is_integer() for kind in kinds):
        return _supertype(kinds)
    return None


def _supertype(kinds: Iterable[pl.DataType]) -> pl.DataType | None:
    empty = [pl.DataFrame({"": pl.Series([], dtype=kind)}) for kind in kinds]
    try:
        return pl.concat(empty, how="vertical_relaxed").dtypes[0]
    except pl.exceptions.PolarsError:
        return None


def texts_of(series: pl.Series) -> pl.Series:
    """Return the text of values, which is the same for equal values of different types."""
    coded = code_series(series)
    values = pl.Series(series.name, [*coded.values, None], dtype=pl.String)
    return values.gather(pl.Series(coded.codes.astype(np.int64)))


def stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of frames of the same columns, one below the other."""
    if all(frame.schema == frames[0].schema for frame in frames):
        return pl.concat(frames)
    names = frames[0].columns
    return pl.DataFrame([pl.concat(_alike([frame[n] for frame in frames])) for n in names])


def _alike(parts: list[pl.Series]) -> list[pl.Series]:
    """Return columns in one type: as numbers if floats hold all of them, else as text."""
    common = common_type((part.dtype for part in parts), parts[0].name)
    if common is None and all(map(_is_double, parts)):
        common = pl.Float64()
    return [texts_of(part) if common is None else part.cast(common) for part in parts]


def _is_double(numbers: pl.Series) -> bool:
    """Return whether numbers remain what they are as floats of double precision."""
    if numbers.dtype.is_integer():
        largest = numbers.cast(pl.Float64).abs().max()
        return largest is None or float(str(largest)) < EXACT_FLOAT
    return numbers.dtype in (pl.Float64, pl.Null)
