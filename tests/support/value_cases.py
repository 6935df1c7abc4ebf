"""Values of every type: in each case, groups of equal values that differ from the other groups."""

import enum
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa


class Colour(str, enum.Enum):  # noqa: UP042 (its str() differs from that of StrEnum)
    """An enumeration of strings."""

    BLUE = "blue"
    RED = "red"


class Size(enum.IntEnum):
    """An enumeration of integers."""

    SMALL = 1
    LARGE = 2


class Mood(enum.Enum):
    """An enumeration of no other type."""

    GOOD = 1
    BAD = 2


NANO = np.datetime64("2024-01-02T03:04:05.000000001")
ROME = ZoneInfo("Europe/Rome")
NOON = datetime(2024, 1, 2, 12, tzinfo=ROME)

GROUPS: dict[str, list[list[Any]]] = {
    "nanoseconds": [
        [NANO, pd.Timestamp(NANO)],
        [NANO + np.timedelta64(1, "ns"), pd.Timestamp(NANO) + pd.Timedelta(1, "ns")],
        [NANO.astype("M8[s]"), datetime(2024, 1, 2, 3, 4, 5)],
    ],
    "nanoseconds at midnight": [
        [np.datetime64("2024-01-02", "ns"), date(2024, 1, 2)],
        [np.datetime64("2024-01-02T00:00:00.000000001")],
    ],
    "units of moments": [
        [np.datetime64("2024-01-02T03:04:06", unit) for unit in ("s", "ms", "us", "ns")],
        [np.datetime64("2024-01-02T03:04:05", "s"), datetime(2024, 1, 2, 3, 4, 5)],
        [np.datetime64("2024-01-02T03:04:05.5", "ms"), datetime(2024, 1, 2, 3, 4, 5, 500_000)],
    ],
    "days": [
        [np.datetime64("2024-01-02", unit) for unit in ("D", "h", "s", "ns")],
        [date(2024, 1, 3), datetime(2024, 1, 3), pd.Timestamp("2024-01-03")],
    ],
    "beyond Python's dates": [[np.datetime64("12000-01-02")], [np.datetime64("12000-01-03", "s")]],
    "durations": [
        [timedelta(seconds=61), np.timedelta64(61, "s"), pd.Timedelta(61, "s")],
        [np.timedelta64(61_000_000_001, "ns"), pd.Timedelta(61_000_000_001, "ns")],
        [timedelta(microseconds=-1), np.timedelta64(-1, "us"), np.timedelta64(-1000, "ns")],
        [timedelta(days=7), np.timedelta64(1, "W")],
    ],
    "months": [[np.timedelta64(12, "M"), np.timedelta64(1, "Y")], [np.timedelta64(365, "D")]],
    "zones": [
        [NOON, NOON.astimezone(UTC), NOON.astimezone(timezone(timedelta(hours=5)))],
        [NOON + timedelta(hours=1)],
        [NOON.replace(tzinfo=None)],
    ],
    "times of day": [[time(3, 4, 5)], [time(3, 4, 5, 1)]],
    "large integers": [[2**60, np.int64(2**60), float(2**60)], [2**60 + 1, np.int64(2**60 + 1)]],
    "unsigned integers": [[2**63, np.uint64(2**63)], [2**63 + 1, np.uint64(2**63 + 1)]],
    "integers that only Python holds": [[2**64], [2**64 + 1], [10**400]],
    "decimals": [
        [Decimal("1.50"), 1.5, Fraction(3, 2)],
        [Decimal("0.1"), 0.1, np.float32(0.1)],
        [
            Decimal("1.10000000000000000000000000000010"),
            Decimal("1.1000000000000000000000000000001"),
        ],
        [Decimal("1.1"), 1.1, Fraction(11, 10)],
        [Fraction(1, 3)],
        [Decimal("0E+1000000"), 0],
    ],
    "extended precision": [
        [np.longdouble("1e4000")],
        [np.longdouble("inf"), float("inf"), Decimal("Infinity")],
        [np.longdouble(2) ** 63 + 1, 2**63 + 1],
    ],
    "zero bytes": [["u"], ["u\0"], ["u\0\0"]],
    "bytes": [[b"u", "u"], [b"u\0", "u\0"], [b"longer", "longer"]],
    "enumeration of strings": [[Colour.BLUE, "blue"], [Colour.RED, "red"]],
    "enumeration of integers": [[Size.SMALL, 1], [Size.LARGE, 2.0]],
    "enumeration": [[Mood.GOOD], [Mood.BAD]],
    "UUIDs": [[uuid.UUID(int=1), str(uuid.UUID(int=1))], [uuid.UUID(int=2)]],
    "periods": [[pd.Period("2024-01"), "2024-01"], [pd.Period("2024-02")]],
    "intervals": [[pd.Interval(0, 1)], [pd.Interval(0, 1, closed="left")]],
    "booleans and numbers": [[True, np.True_, "True"], [1, 1.0, "1"]],
}


def pandas_of(cells: Sequence[Any], dtype: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"x0": pd.Series(cells, dtype=dtype)})


def arrow_dtype(cells: Sequence[Any]) -> pd.DataFrame:
    return pandas_of(cells, pd.ArrowDtype(pa.array(cells).type))


# Cells of one type, the column of a typed container that holds them, and their categories.
MOMENT = datetime(2024, 1, 2, 3, 4, 5)
NS_TEXTS = ["2024-01-02 03:04:05", "2024-01-02 03:04:05.000000001"]
NS_ARRAY = np.array(["2024-01-02T03:04:05", NANO], dtype="M8[ns]")
SPANS = np.array([10**9, 10**9 + 1], dtype="m8[ns]")
SPAN_TEXTS = ["0:00:01", "0:00:01.000000001"]
ZONED_TEXTS = ["2024-01-02 11:00:00+00:00", "2024-01-02 11:00:00.000000001+00:00"]
ZONED = pd.Series(pd.to_datetime([NOON, NOON])) + pd.to_timedelta([0, 1], unit="ns")
UUIDS = [uuid.UUID(int=1), uuid.UUID(int=2)]
WIDE = [2**60, 2**60 + 1]
UNSIGNED = [2**63, 2**63 + 1]
LATE = pl.Series([1, 10**9], dtype=pl.Int64).cast(pl.Time)
TYPED: dict[str, tuple[Any, list[str]]] = {
    "NumPy M8[ns]": (NS_ARRAY.reshape(-1, 1), NS_TEXTS),
    "NumPy M8[10ns]": (
        np.array([[0], [1]], dtype="M8[10ns]"),
        ["1970-01-01", "1970-01-01 00:00:00.000000010"],
    ),
    "NumPy masked M8[ns]": (np.ma.array(NS_ARRAY.reshape(-1, 1), mask=[[0], [0]]), NS_TEXTS),
    "NumPy partly masked M8[ns]": (
        np.ma.array(NS_ARRAY.reshape(-1, 1), mask=[[0], [1]]),
        NS_TEXTS[:1],
    ),
    "NumPy partly masked float32": (
        np.ma.array(np.array([[0.1], [0.2]], dtype="f4"), mask=[[0], [1]]),
        ["0.1"],
    ),
    "NumPy uint64": (np.array(UNSIGNED, dtype="u8").reshape(-1, 1), list(map(str, UNSIGNED))),
    "NumPy longdouble": (
        np.array([[2**63], [2**63 + 1]], dtype=np.longdouble),
        [*map(str, UNSIGNED)],
    ),
    "pandas M8[ns]": (pandas_of(NS_ARRAY), NS_TEXTS),
    "pandas M8[s]": (pandas_of(NS_ARRAY[:1].astype("M8[s]")), NS_TEXTS[:1]),
    "pandas m8[ns]": (pandas_of(SPANS), SPAN_TEXTS),
    "pandas zoned": (pandas_of(ZONED), ZONED_TEXTS),
    "pandas categories of moments": (pandas_of(NS_ARRAY).astype("category"), NS_TEXTS),
    "pandas categories of zoned moments": (pandas_of(ZONED).astype("category"), ZONED_TEXTS),
    "pandas categories of durations": (pandas_of(SPANS).astype("category"), SPAN_TEXTS),
    "pandas categories of float32": (
        pandas_of(np.array([0.1, 0.2], dtype="f4")).astype("category"),
        ["0.1", "0.2"],
    ),
    "pandas UInt64": (pandas_of(UNSIGNED, "UInt64"), list(map(str, UNSIGNED))),
    "pandas Int64 with NA": (pandas_of([*WIDE, pd.NA], "Int64"), list(map(str, WIDE))),
    "pandas Arrow timestamp": (
        pandas_of(NS_ARRAY, pd.ArrowDtype(pa.timestamp("ns"))),
        NS_TEXTS,
    ),
    "pandas Arrow UUID": (arrow_dtype(UUIDS), list(map(str, UUIDS))),
    "polars Datetime ns": (pl.DataFrame({"x0": NS_ARRAY}), NS_TEXTS),
    "polars Duration ns": (pl.DataFrame({"x0": SPANS}), SPAN_TEXTS),
    "polars zoned": (
        pl.DataFrame({"x0": pl.Series([NOON, NOON + timedelta(hours=1)]).dt.cast_time_unit("ms")}),
        ["2024-01-02 11:00:00+00:00", "2024-01-02 12:00:00+00:00"],
    ),
    "polars Time": (
        pl.DataFrame({"x0": LATE}),
        ["00:00:00.000000001", "00:00:01"],
    ),
    "polars list of Datetime ns": (
        pl.DataFrame({"x0": NS_ARRAY}).select(pl.concat_list("x0")),
        NS_TEXTS,
    ),
    "PyArrow timestamp s": (
        pa.table({"x0": pa.array([MOMENT], pa.timestamp("s"))}),
        NS_TEXTS[:1],
    ),
    "PyArrow timestamp ns": (pa.table({"x0": pa.array(NS_ARRAY)}), NS_TEXTS),
    "PyArrow zoned": (
        pa.table({"x0": pa.array(ZONED)}),
        ZONED_TEXTS,
    ),
    "PyArrow uint64": (pa.table({"x0": pa.array(UNSIGNED, pa.uint64())}), [*map(str, UNSIGNED)]),
    "PyArrow UUID": (pa.table({"x0": pa.array(UUIDS, pa.uuid())}), list(map(str, UUIDS))),
    "PyArrow json": (pa.table({"x0": pa.array(["1", "2"], pa.json_())}), ["1", "2"]),
}
