"""Single values -> codes: each distinct value is turned into text once, never each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._input.values import canonical

# Below this many values a Python dict is faster than the fixed costs of polars.
_FEW = 256
# A float column is hardly a category when more than this share of its values is distinct ...
_DISTINCT_SHARE = 0.9
# ... and there are enough of them to say so.
_ENOUGH = 20
# Floats beyond this are not all integers, and Int64 could not hold them.
EXACT_FLOAT = 2.0**53


class Coded(NamedTuple):
    """Codes into distinct `values`; the code `len(values)` says that the value is missing.

    `complete` says that none is; `floats` that they are floating-point numbers.
    """

    codes: NDArray[Any]
    values: list[str]
    complete: bool
    floats: bool = False
    continuous: bool = False


def code_objects(cells: Sequence[Any]) -> Coded:
    """Code any Python values: strings, numbers, dates, missing values, mixed."""
    if len(cells) < _FEW:
        return _code_few(cells)
    if type(cells[0]) is str:
        try:
            return code_series(pl.Series(cells, dtype=pl.String))
        except TypeError:  # not all of them are strings
            pass
    kinds = set(map(type, cells))
    if kinds <= {float, type(None)}:
        return code_series(pl.Series(cells, dtype=pl.Float64))
    texts = [cell if type(cell) is str else canonical(cell) for cell in cells]
    coded = code_series(pl.Series(texts, dtype=pl.String))
    floats, continuous = _measured(cells, texts)
    return coded._replace(floats=floats, continuous=continuous)


def _code_few(cells: Sequence[Any]) -> Coded:
    index: dict[str, int] = {}
    texts = [cell if type(cell) is str else canonical(cell) for cell in cells]
    codes = [-1 if text is None else index.setdefault(text, len(index)) for text in texts]
    "".join(index).encode()  # refuses lone surrogates, as polars does for larger columns
    coded = np.array(codes, dtype=np.int64)
    absent = coded < 0
    coded[absent] = len(index)
    return Coded(coded, list(index), not absent.any(), *_measured(cells, texts))


def _measured(cells: Sequence[Any], texts: Sequence[str | None]) -> tuple[bool, bool]:
    """Whether the cells are floats, and whether these look like measurements."""
    numbers = [float(c) for c in cells if isinstance(c, (float, np.floating)) and c == c]
    continuous = _looks_continuous(numbers, len(set(numbers)))
    floats = bool(numbers) and len(numbers) == len(texts) - texts.count(None)
    return floats, continuous


def code_series(series: pl.Series) -> Coded:
    """Code a polars column of single values."""
    dtype = series.dtype
    if dtype == pl.String:
        return _code_strings(series)
    if dtype == pl.Boolean:
        codes = series.cast(pl.UInt8).fill_null(2).to_numpy()
        return Coded(codes, ["False", "True"], not series.null_count())
    if dtype.is_integer() or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return _code_strings(series.cast(pl.String))
    if dtype.is_float():
        return _code_floats(series)
    if dtype == pl.Null:
        return Coded(np.zeros(len(series), dtype=np.uint32), [], complete=False)
    if dtype.is_temporal():
        return _code_distinct(series.to_physical(), lambda distinct: distinct.cast(dtype).to_list())
    return code_objects(series.to_list())


def _code_strings(series: pl.Series) -> Coded:
    if len(series) < _FEW:
        return _code_few(series.to_list())
    # A namespace of its own: codes are compact, and the memory goes with the column.
    own = pl.Categorical(pl.Categories.random())
    categories = series.cast(own)
    physical = categories.to_physical()
    count = 0 if series.null_count() == len(series) else cast(int, physical.max()) + 1
    values = pl.Series(np.arange(count, dtype=np.uint32)).cat.to(own).cast(pl.String)
    small = pl.UInt16 if count < 2**16 else pl.UInt32  # half the memory where that will do
    codes = physical.fill_null(count).cast(small).to_numpy()
    return Coded(codes, values.to_list(), not series.null_count())


def _code_floats(series: pl.Series) -> Coded:
    series = series.fill_nan(None)
    present = series.drop_nulls().to_numpy()
    if not len(present) or (np.abs(present).max() < EXACT_FLOAT and not (present % 1).any()):
        return _code_strings(series.cast(pl.Int64).cast(pl.String))._replace(floats=True)
    # Distinct in their own precision, so that float32 0.1 is "0.1".
    coded = _code_distinct(series, lambda distinct: list(distinct.to_numpy()))
    continuous = _looks_continuous(present, len(coded.values))
    return coded._replace(floats=True, continuous=continuous)


def _code_distinct(numbers: pl.Series, restore: Any) -> Coded:
    """Code a column of numbers by its distinct ones, `restore`d to the values they stand for."""
    known = numbers.is_not_null().to_numpy()
    distinct, inverse = np.unique(numbers.drop_nulls().to_numpy(), return_inverse=True)
    texts = [canonical(value) or "" for value in restore(pl.Series(distinct))]
    values, merge = distinct_values(texts)
    codes = np.full(len(numbers), len(values), dtype=np.int64)
    codes[known] = merge[inverse]
    return Coded(codes, values, not numbers.null_count())


def distinct_values(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts, and for each text its place among them."""
    index: dict[str, int] = {}
    places = [index.setdefault(text, len(index)) for text in texts]
    return list(index), np.array(places, dtype=np.int64)


def _looks_continuous(present: Any, n_distinct: int) -> bool:
    if len(present) < _ENOUGH or n_distinct <= _DISTINCT_SHARE * len(present):
        return False
    numbers = np.asarray(present)
    return bool((numbers[np.isfinite(numbers)] % 1).any())
