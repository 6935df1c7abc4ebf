"""Arrow batches of databases as polars frames, in the types that the same values have in memory."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import polars as pl

from stc._input.values import canonical
from stc.exceptions import DataTypeError

# Digits of a polars decimal.
DIGITS = 38
# Days that fit in 64 bits as microseconds.
_MAX_DAYS = 100_000_000
# Databases compare intervals as if a month had 30 days.
_MONTH_DAYS = 30


def frame_of(batch: Any) -> pl.DataFrame:
    """Return an Arrow table or batch as a frame.

    polars takes UUIDs for bytes and numerics for text, and has no intervals of months and days.
    """
    converted = {k: _converter(field.type) for k, field in enumerate(batch.schema)}
    if not any(converted.values()):
        return pl.DataFrame(batch)
    columns = []
    for k, field in enumerate(batch.schema):
        column, convert = batch.column(k), converted[k]
        try:
            series = pl.Series(column) if convert is None else convert(column)
        except DataTypeError as error:
            error.column = field.name
            raise
        columns.append(series.alias(field.name))
    return pl.DataFrame(columns)


def _converter(kind: Any) -> Any:
    """Return the function that reads a column of an Arrow type; None: polars does."""
    name = getattr(kind, "extension_name", None)
    if name == "arrow.uuid":
        return _uuids
    if name == "arrow.opaque":
        return _numerics if kind.type_name == "numeric" else _opaque
    return _durations if str(kind) == "month_day_nano_interval" else None


def _opaque(column: Any) -> pl.Series:
    kind = column.type
    raise DataTypeError(
        f"the type {kind.type_name} of {kind.vendor_name} cannot be read",
        hint="cast it to text in the query",
    )


def _storage(column: Any) -> pl.Series:
    return pl.Series(column.cast(column.type.storage_type))


def _uuids(column: Any) -> pl.Series:
    """Return UUIDs as Python writes them."""
    digits = _storage(column).bin.encode("hex")
    parts = [digits.str.slice(*bounds) for bounds in ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))]
    return pl.select(pl.concat_str(parts, separator="-")).to_series()


def _numerics(column: Any) -> pl.Series:
    return decimals(_storage(column))


def decimals(numbers: pl.Series) -> pl.Series:
    """Return the text of numbers as decimals; as categories, where they are too long for decimals.

    NaN is missing.
    """
    numbers = numbers.set(numbers.str.to_lowercase() == "nan", None)
    point = numbers.str.find(".", literal=True)
    decimal_places: Any = (numbers.str.len_bytes().cast(pl.Int64) - point - 1).max()
    scale = decimal_places or 0
    if scale <= DIGITS:
        try:
            return numbers.cast(pl.Decimal(DIGITS, scale))
        except pl.exceptions.InvalidOperationError:
            pass
    distinct = numbers.drop_nulls().unique().to_list()
    categories = [canonical(decimal.Decimal(number)) for number in distinct]
    return numbers.replace_strict(distinct, categories, return_dtype=pl.String)


def _durations(column: Any) -> pl.Series:
    """Return intervals of months, days and nanoseconds as durations; databases have no finer."""
    parts = [pl.Series(dtype=pl.Duration("us"))]
    layout = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
    for chunk in getattr(column, "chunks", [column]):
        if not len(chunk):
            continue
        _, values = chunk.buffers()
        cells = np.frombuffer(values, dtype=layout)[chunk.offset : chunk.offset + len(chunk)]
        days = cells["months"].astype(np.int64) * _MONTH_DAYS + cells["days"]
        if len(days) and np.abs(days).max() > _MAX_DAYS:
            raise DataTypeError(f"an interval of more than {_MAX_DAYS:,} days cannot be read")
        time = days * np.timedelta64(1, "D") + (cells["nanoseconds"] // 1000).astype("m8[us]")
        missing = np.array(chunk.is_null())
        parts.append(pl.Series(np.where(missing, np.timedelta64("NaT"), time)))
    return pl.concat(parts)
