"""Codes of single values: each distinct value is converted to text once, not each cell."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.labels import label_list
from stc._input.moments import date_text, time_text
from stc._input.values import STRINGS, canonical, raise_value_error
from stc.exceptions import DataTypeError

# Below this many values a Python dict is faster than the fixed costs of polars.
_FEW = 256
# A float column looks continuous if more than this share of its values is distinct ...
_DISTINCT_SHARE = 0.9
# ... among at least this many values.
_ENOUGH = 20
# From here on floats do not represent every integer.
EXACT_FLOAT = 2.0**53


class Coded(NamedTuple):
    """Single values, coded.

    Attributes
    ----------
    codes
        Index of each value in `values`; `len(values)` for a missing value.
    values
        The distinct values.
    complete
        Whether no value is missing.
    floats
        Whether the values are floating-point numbers.
    continuous
        Whether they look like measurements rather than categories.
    """

    codes: NDArray[Any]
    values: list[str]
    complete: bool
    floats: bool = False
    continuous: bool = False


def code_objects(cells: Sequence[Any], kinds: AbstractSet[type] | None = None) -> Coded:
    """Code any Python values: strings, numbers, dates, missing values, mixed.

    Parameters
    ----------
    cells
        The values.
    kinds
        Their types, if they are known.

    Raises
    ------
    DataError, DataTypeError
        If a cell is not a value; `item` is the position of the cell.
    """
    try:
        return _code_few(cells) if len(cells) < _FEW else _code_many(cells, kinds)
    except (DataTypeError, ValueError) as error:
        raise_value_error(cells, error)


def _code_many(cells: Sequence[Any], kinds: AbstractSet[type] | None) -> Coded:
    # polars must not see other types: it converts some of them, and panics for others.
    kinds = set(map(type, cells)) if kinds is None else kinds
    if kinds <= STRINGS:
        return code_series(pl.Series(cells, dtype=pl.String))
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
    "".join(index).encode()  # fails for lone surrogates, as polars does for larger columns
    coded = np.array(codes, dtype=np.int64)
    absent = coded < 0
    coded[absent] = len(index)
    return Coded(coded, list(index), not absent.any(), *_measured(cells, texts))


def _measured(cells: Sequence[Any], texts: Sequence[str | None]) -> tuple[bool, bool]:
    """Return whether the cells are floats, and whether these look like measurements."""
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
        codes = filled(series.cast(pl.UInt8), 2).to_numpy()
        return Coded(codes, ["False", "True"], not series.null_count())
    if dtype.is_integer() or isinstance(dtype, (pl.Categorical, pl.Enum)):
        return _code_strings(series.cast(pl.String))
    if dtype.is_float():
        return _code_floats(series)
    if dtype == pl.Null:
        return Coded(np.zeros(len(series), dtype=np.uint32), [], complete=False)
    if dtype.is_temporal():
        return _code_temporal(series)
    if isinstance(dtype, pl.Decimal):
        return _code_decimals(series)
    return code_objects(series.to_list())


def filled(series: pl.Series, value: int) -> pl.Series:
    """Fill nulls as `fill_null` does, without polars' threads, which forked processes lack."""
    if not series.null_count():
        return series
    return series.zip_with(series.is_not_null(), pl.Series([value], dtype=series.dtype))


def _code_temporal(series: pl.Series) -> Coded:
    dtype = series.dtype
    if dtype == pl.Time:
        return _code_distinct(series.to_physical(), lambda times: list(map(time_text, times)))
    unit = "D" if dtype == pl.Date else dtype.time_unit  # type: ignore[attr-defined]
    numpy_dtype = f"{'m' if dtype == pl.Duration else 'M'}8[{unit}]"
    in_utc = getattr(dtype, "time_zone", None) is not None

    def restore(numbers: pl.Series) -> list[Any]:
        moments = label_list(numbers.to_numpy().astype(np.int64).view(numpy_dtype))
        return [date_text(moment, in_utc=True) for moment in moments] if in_utc else moments

    return _code_distinct(series.to_physical(), restore)


def _code_strings(series: pl.Series) -> Coded:
    if len(series) < _FEW:
        return _code_few(series.to_list())
    # With a new namespace codes are compact, and the memory is freed with the column.
    categorical = pl.Categorical(pl.Categories.random())
    categories = series.cast(categorical)  # the namespace lasts as long as this series
    physical = categories.to_physical()
    count = 0 if series.null_count() == len(series) else cast(int, physical.max()) + 1
    values = pl.Series(np.arange(count, dtype=np.uint32)).cat.to(categorical).cast(pl.String)
    dtype = pl.UInt16 if count < 2**16 else pl.UInt32  # half the memory where 16 bits suffice
    codes = filled(physical, count).cast(dtype).to_numpy()
    return Coded(codes, values.to_list(), not series.null_count())


def _code_floats(series: pl.Series) -> Coded:
    series = series.zip_with(series.is_not_nan(), pl.Series([None], dtype=series.dtype))
    present = series.drop_nulls().to_numpy()
    if not len(present) or (np.abs(present).max() < EXACT_FLOAT and not (present % 1).any()):
        return _code_strings(series.cast(pl.Int64).cast(pl.String))._replace(floats=True)
    # Distinct in the precision of the column, so that float32 0.1 is "0.1".
    coded = _code_distinct(series, lambda distinct: list(distinct.to_numpy()))
    continuous = _looks_continuous(present, len(coded.values))
    return coded._replace(floats=True, continuous=continuous)


def _code_decimals(series: pl.Series) -> Coded:
    """Code decimals by their texts; those with fractions are measurements as floats are."""
    coded = _code_strings(series.cast(pl.String))
    values = [str(canonical(decimal.Decimal(text))) for text in coded.values]
    present = series.drop_nulls().cast(pl.Float64).to_numpy()
    continuous = _looks_continuous(present, len(values))
    floats = any(not value.removeprefix("-").isdigit() for value in values)
    return coded._replace(values=values, floats=floats, continuous=continuous)


def _code_distinct(numbers: pl.Series, restore: Any) -> Coded:
    """Code a column by its distinct numbers, which `restore` turns into values."""
    present = numbers.is_not_null().to_numpy()
    distinct, inverse = np.unique(numbers.drop_nulls().to_numpy(), return_inverse=True)
    # Different numbers may have the same text.
    coded = _code_few([canonical(value) for value in restore(pl.Series(distinct))])
    codes = np.full(len(numbers), len(coded.values), dtype=np.int64)
    codes[present] = coded.codes[inverse]
    return Coded(codes, coded.values, not numbers.null_count())


def _looks_continuous(present: Any, n_distinct: int) -> bool:
    if len(present) < _ENOUGH or n_distinct <= _DISTINCT_SHARE * len(present):
        return False
    numbers = np.asarray(present)
    return bool((numbers[np.isfinite(numbers)] % 1).any())
