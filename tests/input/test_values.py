"""Every value has one canonical text, whatever its type and its container."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from support.encode_cases import (
    any_column,
    any_size,
    as_array,
    categories,
    entries,
    learn,
    many,
    repeated,
)

CANONICAL: list[tuple[Any, str]] = [
    (1, "1"),
    (1.0, "1"),
    (np.int8(1), "1"),
    (np.uint64(1), "1"),
    (np.float32(1), "1"),
    (np.float64(1), "1"),
    ("1", "1"),
    (np.str_("1"), "1"),
    (b"1", "1"),
    (Decimal(1), "1"),
    (Decimal("1.00"), "1"),
    (-1.0, "-1"),
    (-0.0, "0"),
    (10**15, "1000000000000000"),
    (1e15, "1000000000000000"),
    (1.5, "1.5"),
    (np.float32(1.5), "1.5"),
    (Decimal("1.50"), "1.5"),
    (0.1, "0.1"),
    (np.float32(0.1), "0.1"),
    (np.float16(0.1), "0.1"),
    (1e-07, "1e-07"),
    (Decimal("1E-7"), "1e-07"),
    (2**64 - 1, "18446744073709551615"),
    ("1.0", "1.0"),
    (True, "True"),
    (np.True_, "True"),
    (False, "False"),
    ("True", "True"),
    (b"caf\xc3\xa9", "café"),
    (date(2024, 1, 2), "2024-01-02"),
    (datetime(2024, 1, 2), "2024-01-02"),
    (np.datetime64("2024-01-02"), "2024-01-02"),
    (pd.Timestamp("2024-01-02"), "2024-01-02"),
    (time(3, 4), "03:04:00"),
    (pd.Period("2024-01", freq="M"), "2024-01"),
    (float("inf"), "inf"),
    (float("-inf"), "-inf"),
    ("", ""),
    ("nan", "nan"),
    ("None", "None"),
    (" x ", " x "),
]


@any_size
@any_column
@pytest.mark.parametrize(("value", "text"), CANONICAL, ids=[repr(v) for v, _ in CANONICAL])
def test_a_value_has_one_canonical_text(
    value: Any, text: str, column: Callable[[Sequence[Any]], Any], times: int
) -> None:
    assert categories(column([value] * times)) == [text]


@any_size
@any_column
def test_the_spellings_of_one_are_one_category(
    column: Callable[[Sequence[Any]], Any], times: int
) -> None:
    ones = [1, 1.0, np.int8(1), np.float32(1), "1", Decimal("1.0"), b"1"]
    model = learn(column([*ones, True, "one"] * times), ["c"] * 9 * times)
    assert entries(model) == many(
        {("x0", "1", "c"): 7, ("x0", "True", "c"): 1, ("x0", "one", "c"): 1}, times
    )


@any_size
@any_column
def test_the_canonical_rule_holds_inside_lists_and_weights(
    column: Callable[[Sequence[Any]], Any], times: int
) -> None:
    cells = [[1, 1.0, "1", "x"], {1: 2.0, "1": 1.0, "x": 1}]
    expected = {("x0", "1", label): 0.75 for label in "pq"}
    expected |= {("x0", "x", label): 0.25 for label in "pq"}
    model = learn(column(cells * times), ["p", "q"] * times)
    assert entries(model) == many(expected, times)


MIDNIGHT = datetime(2024, 1, 2)
TYPED: dict[str, tuple[Any, str]] = {
    **{
        f"numpy {t}": (np.array([[1]], dtype=t), "1")
        for t in ("i1", "i8", "u1", "f2", "f4", "f8", "U1", "S1", object)
    },
    "numpy bool": (np.array([[True]]), "True"),
    "numpy f4 fraction": (np.array([[0.1]], dtype="f4"), "0.1"),
    "numpy f2 fraction": (np.array([[0.1]], dtype="f2"), "0.1"),
    "numpy f8 tiny": (np.array([[1e-07]]), "1e-07"),
    "numpy f8 large fraction": (np.array([[123456789.125]]), "123456789.125"),
    "numpy infinite": (np.array([[np.inf]]), "inf"),
    "numpy dates": (np.array([["2024-01-02"]], dtype="M8[D]"), "2024-01-02"),
    "numpy nanoseconds": (np.array([["2024-01-02"]], dtype="M8[ns]"), "2024-01-02"),
    **{
        f"pandas {t}": (pd.DataFrame({"x0": pd.Series([1], dtype=t)}), "1")
        for t in ("int8", "Int64", "uint8", "float32", "Float64", "category", "object")
    },
    "pandas bool": (pd.DataFrame({"x0": [True]}), "True"),
    "pandas boolean": (pd.DataFrame({"x0": pd.Series([True], dtype="boolean")}), "True"),
    "pandas f4 fraction": (pd.DataFrame({"x0": np.array([0.1], dtype="f4")}), "0.1"),
    "pandas Float32": (pd.DataFrame({"x0": pd.Series([0.1], dtype="Float32")}), "0.1"),
    "pandas period": (pd.DataFrame({"x0": pd.period_range("2024-01", periods=1)}), "2024-01-01"),
    "pandas datetime": (pd.DataFrame({"x0": [pd.Timestamp(MIDNIGHT)]}), "2024-01-02"),
    **{
        f"polars {t}": (pl.DataFrame({"x0": [1]}).cast(t), "1")
        for t in (pl.Int8, pl.UInt64, pl.Int128, pl.Float32, pl.Float64, pl.String)
    },
    "polars Boolean": (pl.DataFrame({"x0": [True]}), "True"),
    "polars Float32 fraction": (pl.DataFrame({"x0": [0.1]}, schema={"x0": pl.Float32}), "0.1"),
    "polars tiny": (pl.DataFrame({"x0": [1e-07]}), "1e-07"),
    "polars Float32 tiny": (pl.DataFrame({"x0": [1e-07]}, schema={"x0": pl.Float32}), "1e-07"),
    "polars infinite": (pl.DataFrame({"x0": [float("inf")]}), "inf"),
    "polars Decimal": (pl.DataFrame({"x0": [Decimal("1.50")]}), "1.5"),
    "polars whole Decimal": (pl.DataFrame({"x0": [Decimal("1.00")]}), "1"),
    "polars Date": (pl.DataFrame({"x0": [MIDNIGHT.date()]}), "2024-01-02"),
    "polars Datetime": (pl.DataFrame({"x0": [MIDNIGHT]}), "2024-01-02"),
    "polars Time": (pl.DataFrame({"x0": [time(3, 4)]}), "03:04:00"),
    "polars Binary": (pl.DataFrame({"x0": ["é".encode()]}), "é"),
    "polars Categorical": (pl.DataFrame({"x0": ["é"]}).cast(pl.Categorical), "é"),
    "polars Enum": (pl.DataFrame({"x0": ["é"]}).cast(pl.Enum(["a", "é"])), "é"),
    **{
        f"pyarrow {t}": (pa.table({"x0": pa.array([1]).cast(t)}), "1")
        for t in (pa.int8(), pa.float32(), pa.string(), pa.large_string(), pa.decimal128(21, 2))
    },
    "pyarrow bool": (pa.table({"x0": [True]}), "True"),
    "pyarrow f4 fraction": (pa.table({"x0": pa.array([0.1], pa.float32())}), "0.1"),
    "pyarrow date32": (pa.table({"x0": pa.array([MIDNIGHT.date()])}), "2024-01-02"),
    "pyarrow timestamp": (pa.table({"x0": pa.array([MIDNIGHT])}), "2024-01-02"),
    "pyarrow binary": (pa.table({"x0": pa.array(["é".encode()])}), "é"),
    "pyarrow dictionary": (pa.table({"x0": pa.array(["é"]).dictionary_encode()}), "é"),
}


@any_size
@pytest.mark.parametrize(("frame", "text"), TYPED.values(), ids=TYPED.keys())
def test_a_typed_column_follows_the_same_rule(frame: Any, text: str, times: int) -> None:
    assert categories(repeated(frame, times)) == [text]


@any_size
def test_a_moment_of_the_day_is_the_same_iso_text_everywhere(times: int) -> None:
    moments = [datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2)]
    frames = [
        [{"x0": moment} for moment in moments],
        as_array([moments]),
        np.array(moments, dtype="M8[us]").reshape(-1, 1),
        pd.DataFrame({"x0": moments}),
        pl.DataFrame({"x0": moments}),
        pa.table({"x0": moments}),
    ]
    texts = {tuple(categories(repeated(frame, times))) for frame in frames}
    assert len(texts) == 1
    day, moment = texts.pop()
    assert day == "2024-01-02"
    assert datetime.fromisoformat(moment) == moments[0]


@any_size
def test_a_duration_is_the_same_text_everywhere(times: int) -> None:
    durations = [timedelta(days=1), timedelta(hours=3, seconds=5)]
    frames = [
        [{"x0": duration} for duration in durations],
        [{"x0": np.timedelta64(duration)} for duration in durations],
        [{"x0": pd.Timedelta(duration)} for duration in durations],
        np.array(durations, dtype="m8[us]").reshape(-1, 1),
        pd.DataFrame({"x0": durations}),
        pl.DataFrame({"x0": durations}),
        pa.table({"x0": durations}),
    ]
    texts = {tuple(categories(repeated(frame, times))) for frame in frames}
    assert len(texts) == 1
    assert len(set(texts.pop())) == 2


@any_size
@pytest.mark.parametrize("number", [2**53 - 1, 10**15 + 1, -3, 0])
def test_integers_survive_becoming_floats(number: int, times: int) -> None:
    whole = repeated(pd.DataFrame({"x0": [number, number]}), times)
    with_gap = repeated(pd.DataFrame({"x0": [number, None]}), times)
    assert with_gap["x0"].dtype == "float64"
    assert categories(whole) == categories(with_gap) == [str(number)]


def test_what_was_learnt_from_a_database_is_known_from_a_csv() -> None:
    model = learn(pl.DataFrame({"n": [1, 2], "ok": [True, False]}), ["p", "q"])
    csv = pl.DataFrame({"n": ["1", "2"], "ok": ["True", "False"]})
    assert_allclose(model.coverage(csv), 1)
    assert model.predict(csv).tolist() == ["p", "q"]
    assert_allclose(model.coverage(csv.with_columns(n=pl.lit("1.0"))), 0.5)
