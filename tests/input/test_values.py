"""Every kind of input means what the table of the README says, whatever container it comes in."""

import pickle
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from stc import HardlyCategoricalWarning, SparseTensorClassifier
from stc.encode import encode

NAN = float("nan")
Entries = dict[tuple[str | None, str | None, Any], float]


def learn(X: Any, y: Sequence[Any], **params: Any) -> SparseTensorClassifier:
    """A model of the data."""
    return SparseTensorClassifier(**params).fit(X, y)


def entries(model: SparseTensorClassifier) -> Entries:
    """The corpus as {(attribute, value, class): mass}."""
    return {(a, v, c): mass for a, v, c, mass, _ in model.corpus_.iter_rows()}


def repeated(X: Any, times: int) -> Any:
    """The items of ``X`` over and over, in the same container."""
    n_items = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.tile(np.arange(n_items), times)
    if isinstance(X, (list, tuple)):
        return type(X)(X[row] for row in rows)
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return X.iloc[rows]
    if isinstance(X, (pa.Table, pa.Array, pa.ChunkedArray)):
        return X.take(pa.array(rows))
    return X[rows]


def many(expected: Entries, times: int) -> Any:
    """The corpus of items learnt so many times."""
    return pytest.approx({entry: mass * times for entry, mass in expected.items()})


# Few cells, many and very many may take different ways through the code, and must not differ.
any_size = pytest.mark.parametrize("times", [1, 300], ids=["few", "many"])


def as_array(columns: Iterable[Sequence[Any]]) -> np.ndarray:
    """Columns of anything (lists too) as a 2-D object array."""
    columns = list(columns)
    array = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        for i, cell in enumerate(column):
            array[i, j] = cell
    return array


def as_pandas(columns: dict[str, Sequence[Any]]) -> pd.DataFrame:
    """Columns of anything (lists too) as pandas columns of dtype object."""
    return pd.DataFrame({k: pd.Series(list(v), dtype=object) for k, v in columns.items()})


# How one column of arbitrary Python values can come; the attribute is always "x0".
COLUMNS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "records": lambda cells: [{"x0": cell} for cell in cells],
    "list of lists": lambda cells: [[cell] for cell in cells],
    "object array": lambda cells: as_array([cells]),
    "pandas": lambda cells: as_pandas({"x0": cells}),
}
any_column = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())


def categories(X: Any, **params: Any) -> list[str | None]:
    """The distinct categories in ``X``, sorted."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return learn(X, ["c"] * n, **params).corpus_["value"].to_list()


# ---------------------------------------------------------------- the canonical rule

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


# ---------------------------------------------------------------- the same data, any container

NAMES = ["x0", "x1"]
ROWS: list[list[Any]] = [["red", 4], ["blue", None], [None, 2], ["red", 2], ["nan", 0]]
LABELS = ["p", "q", "p", "q", "q"]
TEXTS, NUMBERS = ([row[j] for row in ROWS] for j in range(2))


def polars_rows() -> pl.DataFrame:
    """The rows in polars."""
    return pl.DataFrame({"x0": TEXTS, "x1": NUMBERS})


def pandas_rows(texts: Any, numbers: Any, **params: Any) -> pd.DataFrame:
    """The rows in pandas, in two given dtypes."""
    return pd.DataFrame(
        {
            "x0": pd.Series(TEXTS, dtype=texts, **params),
            "x1": pd.Series(NUMBERS, dtype=numbers, **params),
        }
    )


def arrow_rows(numbers: pa.DataType) -> pa.Table:
    """The rows in pyarrow."""
    return pa.table({"x0": pa.array(TEXTS), "x1": pa.array(NUMBERS, numbers)})


SAME: dict[str, Callable[[], Any]] = {
    "records": lambda: [dict(zip(NAMES, row, strict=True)) for row in ROWS],
    "records without the missing keys": lambda: [
        {name: cell for name, cell in zip(NAMES, row, strict=True) if cell is not None}
        for row in ROWS
    ],
    "list of lists": lambda: ROWS,
    "list of tuples": lambda: [tuple(row) for row in ROWS],
    "list of arrays": lambda: [np.array(row, dtype=object) for row in ROWS],
    "object array": lambda: np.array(ROWS, dtype=object),
    "object array, F order": lambda: np.asfortranarray(np.array(ROWS, dtype=object)),
    "object array with NaN and floats": lambda: as_array(
        [TEXTS, [NAN if n is None else float(n) for n in NUMBERS]]
    ),
    "polars": polars_rows,
    "polars floats": lambda: polars_rows().cast({"x1": pl.Float32}),
    "polars text": lambda: polars_rows().cast(pl.String),
    "polars categorical": lambda: polars_rows().cast(pl.String).cast(pl.Categorical),
    "polars chunks": lambda: pl.concat([polars_rows()[:2], polars_rows()[2:]], rechunk=False),
    "pandas object": lambda: pandas_rows(object, object),
    "pandas str and float": lambda: pandas_rows("str", "float64"),
    "pandas category": lambda: pandas_rows("category", "category"),
    "pandas nullable": lambda: pandas_rows("string", "Int64"),
    "pandas arrow": lambda: pandas_rows("string[pyarrow]", "int32[pyarrow]"),
    "pandas with an index": lambda: pandas_rows("str", "float64", index=[7, 1, 2, 0, 3]),
    "pyarrow": lambda: arrow_rows(pa.int64()),
    "pyarrow floats": lambda: arrow_rows(pa.float32()),
    "pyarrow dictionary": lambda: pa.table(
        {"x0": pa.array(TEXTS).dictionary_encode(), "x1": pa.array(NUMBERS, pa.int8())}
    ),
    "pyarrow chunks": lambda: pa.concat_tables(
        [arrow_rows(pa.int64())[:2], arrow_rows(pa.int64())[2:]]
    ),
}
RED, BLUE, WORD_NAN, FOUR, TWO, ZERO = (
    *(("x0", value) for value in ("red", "blue", "nan")),
    *(("x1", value) for value in ("4", "2", "0")),
)
SAME_CORPUS: dict[str, Entries] = {
    "ignore": {
        (*RED, "p"): 0.5,
        (*RED, "q"): 0.5,
        (*BLUE, "q"): 1.0,
        (*WORD_NAN, "q"): 0.5,
        (*FOUR, "p"): 0.5,
        (*TWO, "p"): 1.0,
        (*TWO, "q"): 0.5,
        (*ZERO, "q"): 0.5,
    },
    "category": {
        (*RED, "p"): 0.5,
        (*RED, "q"): 0.5,
        (*BLUE, "q"): 0.5,
        (*WORD_NAN, "q"): 0.5,
        ("x0", None, "p"): 0.5,
        ("x1", None, "q"): 0.5,
        (*FOUR, "p"): 0.5,
        (*TWO, "p"): 0.5,
        (*TWO, "q"): 0.5,
        (*ZERO, "q"): 0.5,
    },
}


@pytest.mark.parametrize("times", [1, 60, 2100], ids=["few", "many", "very many"])
@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("make", SAME.values(), ids=SAME.keys())
def test_the_same_data_gives_the_same_corpus(
    make: Callable[[], Any], missing: str, times: int
) -> None:
    labels = LABELS * times
    model = learn(repeated(make(), times), labels, missing=missing)
    assert entries(model) == many(SAME_CORPUS[missing], times)
    assert set(model.corpus_["support"]) <= {times, 2 * times}
    assert_allclose(model.class_mass_, [2 * times, 3 * times])
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_a_lazy_frame_is_collected(missing: str) -> None:
    lazy, eager = (learn(X, LABELS, missing=missing) for X in (polars_rows().lazy(), polars_rows()))
    assert_frame_equal(lazy.corpus_, eager.corpus_)
    assert_allclose(lazy.predict_proba(polars_rows().lazy()), eager.predict_proba(polars_rows()))


@pytest.mark.parametrize("make", SAME.values(), ids=SAME.keys())
def test_the_same_data_gives_the_same_prediction(make: Callable[[], Any]) -> None:
    model = learn(make(), LABELS)
    assert_allclose(model.predict_proba(make()), learn(ROWS, LABELS).predict_proba(ROWS))
    assert_allclose(model.coverage(make()), 1)


def test_the_corpus_is_a_sorted_table_with_its_columns() -> None:
    corpus = learn(SAME["polars"](), LABELS, missing="category").corpus_
    assert corpus.columns == ["attribute", "value", "class", "mass", "support"]
    assert corpus["attribute"].dtype == corpus["value"].dtype == corpus["class"].dtype == pl.String
    assert corpus["mass"].dtype == pl.Float64
    assert corpus["support"].dtype.is_integer()
    assert corpus.equals(corpus.sort("attribute", "value", "class", nulls_last=False))
    assert corpus.filter(pl.col("value") == "red")["support"].to_list() == [1, 1]


@pytest.mark.parametrize("frame", [polars_rows(), pandas_rows("str", "float64")])
def test_the_names_of_the_columns_are_kept(frame: Any) -> None:
    assert learn(frame, LABELS).feature_names_in_.tolist() == NAMES


def test_columns_without_names_are_numbered() -> None:
    model = learn(ROWS, LABELS)
    assert not hasattr(model, "feature_names_in_")
    assert set(model.corpus_["attribute"]) == {"x0", "x1"}


def test_feature_names_tell_attribute_value_and_missing() -> None:
    model = learn([["red", None], ["red", 2]], ["p", "q"], missing="category")
    names = model.get_feature_names_out()
    assert names.dtype == object
    assert sorted(names) == ["x0=red", "x1 is missing", "x1=2"]


def contents(X: Any) -> bytes:
    """All that the caller can see in a container, NaN included."""
    # Arrow columns may be pickled in more than one way: look at their cells instead.
    if isinstance(X, pd.DataFrame):
        cells = X.astype(object).to_dict("list")
        return pickle.dumps((cells, X.dtypes.astype(str).to_dict(), X.index.tolist()))
    return pickle.dumps((X.to_pydict(), str(X.schema)) if isinstance(X, pa.Table) else X)


@pytest.mark.parametrize("make", SAME.values(), ids=SAME.keys())
def test_the_data_of_the_caller_is_never_changed(make: Callable[[], Any]) -> None:
    X, y = make(), list(LABELS)
    weight = np.arange(1.0, 6.0)
    before = contents(X)
    model = SparseTensorClassifier(missing="category").fit(X, y, weight)
    model.partial_fit(X, y, sample_weight=weight).unlearn(X, y, sample_weight=weight)
    model.predict(X)
    model.coverage(X)
    assert contents(X) == before
    assert y == LABELS
    assert weight.tolist() == [1, 2, 3, 4, 5]


# ---------------------------------------------------------------- several values, weights

LISTS: list[list[str]] = [["a", "b"], ["a"], [], ["b", "b", "a"]]
LISTS_CORPUS: Entries = {
    ("x0", "a", "p"): 0.5,
    ("x0", "a", "q"): 1 + 1 / 3,
    ("x0", "b", "p"): 0.5,
    ("x0", "b", "q"): 2 / 3,
}
LIST_CELLS: dict[str, Any] = {
    **{name: column(LISTS) for name, column in COLUMNS.items()},
    "records of tuples": [{"x0": tuple(cell)} for cell in LISTS],
    "records of arrays": [{"x0": np.array(cell, dtype="U1")} for cell in LISTS],
    "records of object arrays": [{"x0": np.array(cell, dtype=object)} for cell in LISTS],
    "records of series": [{"x0": pl.Series(cell, dtype=pl.String)} for cell in LISTS],
    "pandas arrays": as_pandas({"x0": [np.array(cell, dtype="U1") for cell in LISTS]}),
    "pandas tuples": as_pandas({"x0": [tuple(cell) for cell in LISTS]}),
    "polars": pl.DataFrame({"x0": LISTS}),
    "polars categorical": pl.DataFrame({"x0": LISTS}, schema={"x0": pl.List(pl.Categorical)}),
    "pyarrow": pa.table({"x0": pa.array(LISTS)}),
    "pyarrow large": pa.table({"x0": pa.array(LISTS, pa.large_list(pa.large_string()))}),
}


@any_size
@pytest.mark.parametrize("X", LIST_CELLS.values(), ids=LIST_CELLS.keys())
def test_a_list_cell_holds_several_values(X: Any, times: int) -> None:
    model = learn(repeated(X, times), ["p", "q", "p", "q"] * times)
    assert entries(model) == many(LISTS_CORPUS, times)
    assert_allclose(model.class_mass_, [2 * times, 2 * times])


@any_column
@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_cell_holds_several_values(
    kind: type, column: Callable[[Sequence[Any]], Any]
) -> None:
    assert entries(learn(column([kind("ab"), kind("a")]), ["p", "q"])) == pytest.approx(
        {("x0", "a", "p"): 0.5, ("x0", "b", "p"): 0.5, ("x0", "a", "q"): 1}
    )


@any_size
@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"x0": [[1, 2], [1, None]]}),
        pl.DataFrame({"x0": [[1.0, 2.0], [1.0, NAN]]}),
        pl.DataFrame({"x0": [[1, 2], [1, None]]}, schema={"x0": pl.Array(pl.Int8, 2)}),
        pa.table({"x0": pa.array([[1, 2], [1, None]])}),
        [{"x0": [1.0, 2]}, {"x0": [1, NAN]}],
        [{"x0": [1.0, 2]}, {"x0": ["1", None, pd.NA, pd.NaT]}],
    ],
    ids=["polars", "polars floats", "polars arrays", "pyarrow", "records", "records of mixed"],
)
def test_a_missing_value_inside_a_list_is_ignored(X: Any, times: int) -> None:
    model = learn(repeated(X, times), ["p", "q"] * times)
    assert entries(model) == many(
        {("x0", "1", "p"): 0.5, ("x0", "2", "p"): 0.5, ("x0", "1", "q"): 1}, times
    )


def test_a_list_weighs_as_many_attributes_as_it_has_values() -> None:
    model = learn([{"tags": ["a", "b", "c"], "size": "big"}], ["p"])
    assert entries(model) == pytest.approx(
        {("tags", tag, "p"): 0.25 for tag in "abc"} | {("size", "big", "p"): 0.25}
    )


WEIGHTS: list[dict[str, float]] = [{"a": 2, "b": 1}, {"a": 1}, {}, {"b": 3, "a": 1}]
WEIGHTS_CORPUS: Entries = {
    ("x0", "a", "p"): 2 / 3,
    ("x0", "a", "q"): 1.25,
    ("x0", "b", "p"): 1 / 3,
    ("x0", "b", "q"): 0.75,
}
WEIGHT_CELLS: dict[str, Any] = {
    **{name: column(WEIGHTS) for name, column in COLUMNS.items()},
    "records of counters": [{"x0": Counter(cell)} for cell in WEIGHTS],
    "records of numpy weights": [
        {"x0": {k: np.float32(w) for k, w in cell.items()}} for cell in WEIGHTS
    ],
    "records with zeros": [{"x0": {"a": 0, "b": 0.0, "c": 0} | cell} for cell in WEIGHTS],
    "polars": pl.DataFrame({"x0": WEIGHTS}),
    "polars floats": pl.DataFrame(
        {"x0": WEIGHTS}, schema={"x0": pl.Struct({"a": pl.Float32, "b": pl.Float64})}
    ),
    "pyarrow": pa.table({"x0": pa.array(WEIGHTS)}),
}


@any_size
@pytest.mark.parametrize("X", WEIGHT_CELLS.values(), ids=WEIGHT_CELLS.keys())
def test_a_dict_or_struct_cell_holds_weights(X: Any, times: int) -> None:
    model = learn(repeated(X, times), ["p", "q", "p", "q"] * times)
    assert entries(model) == many(WEIGHTS_CORPUS, times)
    assert_allclose(model.class_mass_, [2 * times, 2 * times])
    assert sorted(model.get_feature_names_out()) == ["x0=a", "x0=b"]


def test_plain_values_lists_and_weights_may_be_mixed_in_one_attribute() -> None:
    model = learn([{"t": "a"}, {"t": ["a", "b"]}, {"t": {"b": 3}}, {"t": None}], ["p"] * 4)
    assert entries(model) == pytest.approx({("t", "a", "p"): 1.5, ("t", "b", "p"): 1.5})


# ---------------------------------------------------------------- sparse


DENSE = np.array([[1, 0, 3], [0, 2, 0], [0, 0, 0], [1, 1, 2]])
SPARSE_CORPUS: Entries = {
    (None, "x0", "p"): 0.25,
    (None, "x0", "q"): 0.25,
    (None, "x1", "q"): 1.25,
    (None, "x2", "p"): 0.75,
    (None, "x2", "q"): 0.5,
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_a_sparse_column_is_a_feature_and_its_entry_a_weight(
    layout: str, kind: str, dtype: str
) -> None:
    X = getattr(sp, f"{layout}_{kind}")(DENSE.astype(dtype))
    model = learn(X, ["p", "q", "p", "q"])
    assert entries(model) == pytest.approx(SPARSE_CORPUS)
    assert model.n_features_in_ == 3
    assert_allclose(model.class_mass_, [2, 2])
    assert model.predict(X[[0, 1]] if layout in {"csr", "csc"} else X)[:2].tolist() == ["p", "q"]


def test_a_boolean_sparse_array_has_weights_of_one() -> None:
    model = learn(sp.csr_array(DENSE > 0), ["p", "q", "p", "q"])
    assert entries(model)[None, "x2", "p"] == pytest.approx(0.5)


# Item 0: x0 = 1 + 2, x1 = 1 and an explicit zero in x2, which nobody else has; item 1: x1 = 5.
LOOSE_WEIGHTS, LOOSE_COLUMNS = [1.0, 2.0, 1.0, 0.0, 5.0], [0, 0, 1, 2, 1]
LOOSE_SPARSE: dict[str, Any] = {
    "coo": sp.coo_array((LOOSE_WEIGHTS, ([0, 0, 0, 0, 1], LOOSE_COLUMNS)), shape=(2, 4)),
    "csr": sp.csr_array((LOOSE_WEIGHTS, LOOSE_COLUMNS, [0, 4, 5]), shape=(2, 4)),
    "csc": sp.csc_array(([1.0, 2.0, 1.0, 5.0, 0.0], [0, 0, 0, 1, 0], [0, 2, 4, 5, 5]), (2, 4)),
}


@pytest.mark.parametrize("X", LOOSE_SPARSE.values(), ids=LOOSE_SPARSE.keys())
def test_sparse_duplicates_are_summed_and_zeros_ignored(X: Any) -> None:
    model = learn(X, ["p", "q"])
    assert entries(model) == pytest.approx(
        {(None, "x0", "p"): 0.75, (None, "x1", "p"): 0.25, (None, "x1", "q"): 1}
    )
    assert model.corpus_["support"].to_list() == [1, 1, 1]
    assert model.n_features_in_ == 4
    assert sorted(model.get_feature_names_out()) == ["x0", "x1"]
    tidy = sp.csr_array([[3.0, 1, 0, 0], [0, 5, 0, 0]])
    assert_allclose(model.predict_proba(X), model.predict_proba(tidy), rtol=1e-12)


def test_sparse_data_of_the_caller_is_never_changed() -> None:
    unsorted = (np.array([1.0, 2, 4, 0, 1]), np.array([2, 0, 0, 1, 1]), np.array([0, 3, 5]))
    X = sp.csr_array(tuple(part.copy() for part in unsorted), shape=(2, 3))
    coo = sp.coo_array((unsorted[0].copy(), ([0, 0, 0, 1, 1], unsorted[1].copy())), shape=(2, 3))
    for data in (X, coo):
        model = learn(data, ["p", "q"])
        model.partial_fit(data, ["p", "q"]).unlearn(data, ["p", "q"]).predict(data)
    for now, then in zip((X.data, X.indices, X.indptr), unsorted, strict=True):
        assert now.tolist() == then.tolist()
    assert coo.data.tolist() == unsorted[0].tolist()
    assert coo.col.tolist() == unsorted[1].tolist()


def test_sparse_and_dense_differ_in_meaning() -> None:
    dense = learn(DENSE, ["p", "q", "p", "q"])
    assert ("x0", "0", "q") in entries(dense)
    assert dense.corpus_["attribute"].null_count() == 0


# ---------------------------------------------------------------- documents

DOCUMENTS = ["The cat, the hat!", "a hat", "cat cat"]
DOCUMENT_CONTAINERS: dict[str, Any] = {
    "list": DOCUMENTS,
    "tuple": tuple(DOCUMENTS),
    "numpy U": np.array(DOCUMENTS),
    "numpy object": np.array(DOCUMENTS, dtype=object),
    "pandas str": pd.Series(DOCUMENTS),
    "pandas object": pd.Series(DOCUMENTS, dtype=object, index=[2, 0, 1]),
    "pandas string": pd.Series(DOCUMENTS, dtype="string"),
    "pandas category": pd.Series(DOCUMENTS, dtype="category"),
    "polars": pl.Series(DOCUMENTS),
    "polars categorical": pl.Series("text", DOCUMENTS, dtype=pl.Categorical),
    "pyarrow": pa.array(DOCUMENTS),
    "pyarrow chunked": pa.chunked_array([DOCUMENTS[:1], DOCUMENTS[1:]]),
}
DOCUMENTS_CORPUS: Entries = {
    **{(None, token, "p"): 1 / 6 for token in ("The", ",", "the", "!")},
    (None, "cat", "p"): 1 / 6 + 1,
    (None, "hat", "p"): 1 / 6,
    (None, "a", "q"): 0.5,
    (None, "hat", "q"): 0.5,
}


@any_size
@pytest.mark.parametrize("X", DOCUMENT_CONTAINERS.values(), ids=DOCUMENT_CONTAINERS.keys())
def test_strings_are_documents_of_words_and_punctuation(X: Any, times: int) -> None:
    X = repeated(X, times)
    model = learn(X, ["p", "q", "p"] * times)
    assert entries(model) == many(DOCUMENTS_CORPUS, times)
    assert sorted(model.get_feature_names_out()) == sorted(
        {"The", "cat", ",", "the", "hat", "!", "a"}
    )
    assert model.predict(X)[1] == "q"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("naïve café, 東京!", {"naïve", "café", ",", "東京", "!"}),
        ("  two\n\twords ", {"two", "words"}),
        ("Ab ab AB", {"Ab", "ab", "AB"}),
        ("(x)", {"(", "x", ")"}),
        ("nan", {"nan"}),
    ],
)
def test_default_tokens(text: str, tokens: set[str]) -> None:
    assert set(categories([text])) == tokens


def characters(text: str) -> list[str]:
    """A tokenizer of one's own."""
    return [letter for letter in text if letter.isalpha()]


@pytest.mark.parametrize("X", DOCUMENT_CONTAINERS.values(), ids=DOCUMENT_CONTAINERS.keys())
def test_any_callable_tokenizes(X: Any) -> None:
    by_space = learn(X, ["p", "q", "p"], tokenizer=str.split)
    assert set(by_space.corpus_["value"]) == {"The", "cat,", "the", "hat!", "a", "hat", "cat"}
    by_letter = learn(X, ["p", "q", "p"], tokenizer=characters)
    assert entries(by_letter)[None, "c", "p"] == pytest.approx(1 / 12 + 1 / 3)
    assert_allclose(by_letter.coverage(["tack", "zzzz", "t!"]), [0.75, 0, 1])


@pytest.mark.parametrize("empty", ["", "   ", None, NAN, pd.NA])
def test_a_document_without_words_counts_only_for_its_class(empty: Any) -> None:
    model = learn(["cat", empty, empty], ["p", "q", "q"])
    assert entries(model) == pytest.approx({(None, "cat", "p"): 1})
    assert_allclose(model.class_mass_, [1, 2])
    assert_allclose(model.predict_proba(["cat", empty]), [[1, 0], [1 / 3, 2 / 3]])


# ---------------------------------------------------------------- missing

MISSING: dict[str, Any] = {
    "None": None,
    "nan": NAN,
    "float32 nan": np.float32("nan"),
    "numpy NaT": np.datetime64("NaT", "ns"),
    "pandas NaT": pd.NaT,
    "pandas NA": pd.NA,
    "Decimal NaN": Decimal("NaN"),
    "list": [],
    "tuple": (),
    "set": set(),
    "array": np.array([]),
    "dict": {},
    "list of None": [None],
    "list of nan": [NAN],
}
any_missing = pytest.mark.parametrize("missing", MISSING.values(), ids=MISSING.keys())
PAIRS: dict[str, Callable[[Any], Any]] = {
    "records": lambda cell: [{"x0": "u", "x1": "v"}, {"x0": "u", "x1": cell}],
    "list of lists": lambda cell: [["u", "v"], ["u", cell]],
    "object array": lambda cell: as_array([["u", "u"], ["v", cell]]),
    "pandas": lambda cell: as_pandas({"x0": ["u", "u"], "x1": ["v", cell]}),
}
any_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())


@any_pair
@any_missing
def test_a_missing_value_is_ignored_and_the_rest_renormalised(
    missing: Any, pair: Callable[[Any], Any]
) -> None:
    model = learn(pair(missing), ["p", "q"])
    assert entries(model) == pytest.approx(
        {("x0", "u", "p"): 0.5, ("x1", "v", "p"): 0.5, ("x0", "u", "q"): 1}
    )


@any_pair
@any_missing
def test_a_missing_value_may_be_a_category(missing: Any, pair: Callable[[Any], Any]) -> None:
    model = learn(pair(missing), ["p", "q"], missing="category")
    assert entries(model) == pytest.approx(
        {
            ("x0", "u", "p"): 0.5,
            ("x0", "u", "q"): 0.5,
            ("x1", "v", "p"): 0.5,
            ("x1", None, "q"): 0.5,
        }
    )
    assert model.predict(pair(missing)).tolist() == ["p", "q"]


LAST = {"x0": ["u", "u"]}
TYPED_MISSING: dict[str, Any] = {
    "numpy floats": np.array([[7.0, 1.0], [7.0, NAN]]),
    "numpy dates": np.array([["2024-01-02", "2024-01-03"], ["2024-01-02", "NaT"]], dtype="M8[D]"),
    **{
        f"pandas {t}": pd.DataFrame(LAST | {"x1": pd.Series([1, None], dtype=t)})
        for t in ("float64", "Int64", "Float64", "category", "datetime64[ns]", "int8[pyarrow]")
    },
    **{
        f"pandas {t}": pd.DataFrame(LAST | {"x1": pd.Series(["v", None], dtype=t)})
        for t in ("str", "string", "category", "object", "string[pyarrow]")
    },
    **{
        f"polars {type(cell).__name__}": pl.DataFrame(LAST | {"x1": [cell, None]})
        for cell in (1, 1.0, "v", True, date(2024, 1, 2), Decimal("1.5"), ["v"], {"v": 1}, b"v")
    },
    "polars nan": pl.DataFrame(LAST | {"x1": [1.0, NAN]}),
    "polars empty list": pl.DataFrame(LAST | {"x1": [["v"], []]}),
    "polars list of null": pl.DataFrame(LAST | {"x1": [["v"], [None]]}),
    "polars struct of nulls": pl.DataFrame(LAST | {"x1": [{"v": 1}, {"v": None}]}),
    **{
        f"pyarrow {type(cell).__name__}": pa.table(LAST | {"x1": pa.array([cell, None])})
        for cell in (1, 1.0, "v", True, date(2024, 1, 2), Decimal("1.5"), ["v"], {"v": 1}, b"v")
    },
}


@any_size
@pytest.mark.parametrize("X", TYPED_MISSING.values(), ids=TYPED_MISSING.keys())
def test_missing_in_a_typed_column(X: Any, times: int) -> None:
    X, y = repeated(X, times), ["p", "q"] * times
    ignored, category = (
        learn(X, y, missing=missing).corpus_.filter(pl.col("class") == "q")
        for missing in ("ignore", "category")
    )
    assert ignored["attribute"].to_list() == ["x0"]
    assert_allclose(ignored["mass"], times)
    assert category["attribute"].to_list() == ["x0", "x1"]
    assert_allclose(category["mass"], times / 2)
    assert category["value"][1] is None


@pytest.mark.parametrize(
    "X",
    [
        pl.DataFrame({"a": [None, None], "b": ["u", "v"]}),
        as_pandas({"a": [None, None], "b": ["u", "v"]}),
        pa.table({"a": pa.nulls(2), "b": ["u", "v"]}),
        [{"a": None, "b": "u"}, {"a": None, "b": "v"}],
    ],
    ids=["polars", "pandas", "pyarrow", "records"],
)
def test_a_column_may_be_missing_altogether(X: Any) -> None:
    assert set(learn(X, ["p", "q"]).corpus_["attribute"]) == {"b"}
    category = learn(X, ["p", "q"], missing="category")
    assert entries(category)["a", None, "p"] == pytest.approx(0.5)


def test_an_item_with_nothing_in_it_counts_only_for_its_class() -> None:
    model = learn([["u", "v"], [None, None], [NAN, []]], ["p", "q", "q"])
    assert model.classes_.tolist() == ["p", "q"]
    assert set(model.corpus_["class"]) == {"p"}
    assert_allclose(model.class_mass_, [1, 2])
    assert_allclose(model.predict_proba([[None, None]]), [[1 / 3, 2 / 3]])


def test_the_words_nan_and_empty_are_ordinary_categories() -> None:
    assert categories([["nan"], [""], ["NA"], ["null"]]) == ["", "NA", "nan", "null"]


# ---------------------------------------------------------------- attribute and value stay apart


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "x: y"}, {"a: x": "y"}),
        ({"a=b": "c"}, {"a": "b=c"}),
        ({"a": "b\x00c"}, {"a\x00b": "c"}),
        ({"a": "b\tc"}, {"a\tb": "c"}),
        ({"a": "b"}, {"b": "a"}),
        ({"a": "1"}, {"b": "1"}),
        ({"a": ""}, {"": "a"}),
    ],
    ids=repr,
)
def test_attribute_and_value_are_never_glued(one: dict[str, str], other: dict[str, str]) -> None:
    model = learn([one, other], ["p", "q"])
    assert_allclose(model.predict_proba([one, other]), np.eye(2), atol=1e-12)
    assert len(model.get_feature_names_out()) == 2
    pairs = set(model.corpus_.select("attribute", "value").rows())
    assert pairs == {*one.items(), *other.items()}
    frame = pl.DataFrame([one | other])
    assert learn(frame, ["p"]).corpus_.height == 2


# ---------------------------------------------------------------- records


def test_the_keys_of_records_may_differ() -> None:
    model = learn([{"a": "x"}, {"b": "y", "c": None}, {}], ["p", "q", "q"])
    assert entries(model) == pytest.approx({("a", "x", "p"): 1, ("b", "y", "q"): 1})
    assert_allclose(model.class_mass_, [1, 2])
    assert sorted(model.feature_names_in_) == ["a", "b", "c"]


def test_an_absent_key_is_a_missing_value() -> None:
    model = learn([{"a": "x"}, {"b": "y"}], ["p", "q"], missing="category")
    assert entries(model) == pytest.approx(
        {
            ("a", "x", "p"): 0.5,
            ("b", None, "p"): 0.5,
            ("a", None, "q"): 0.5,
            ("b", "y", "q"): 0.5,
        }
    )


def test_records_bring_new_attributes_at_any_time() -> None:
    model = learn([{"a": "x"}], ["p"]).partial_fit([{"b": "y"}], ["q"])
    assert entries(model) == pytest.approx({("a", "x", "p"): 1, ("b", "y", "q"): 1})
    assert_allclose(model.coverage([{"a": "x", "never": "seen"}]), [0.5])


def test_records_speak_to_a_model_of_a_frame() -> None:
    model = learn(polars_rows(), LABELS)
    items = [{"x1": 4, "x0": "red"}, {"x0": "blue"}]
    assert_allclose(model.predict_proba(items), model.predict_proba(polars_rows()[:2]), atol=1e-12)
    model.partial_fit(items, ["p", "q"])
    expected = learn(ROWS + ROWS[:2], [*LABELS, "p", "q"])
    assert entries(model) == pytest.approx(entries(expected))


# ---------------------------------------------------------------- coverage


@pytest.mark.parametrize(
    ("item", "share"),
    [
        ({"a": "x", "b": "y"}, 1),
        ({"a": "x", "b": "new"}, 0.5),
        ({"a": "y", "b": "x"}, 0),
        ({"a": "x"}, 1),
        ({"a": "x", "new": "x"}, 0.5),
        ({"a": ["x", "x", "new"]}, 2 / 3),
        ({"a": {"x": 3, "new": 1}}, 0.75),
        ({"a": None, "b": "new"}, 0),
    ],
    ids=repr,
)
def test_coverage_is_the_share_ever_seen(item: dict[str, Any], share: float) -> None:
    coverage = learn([{"a": "x", "b": "y"}], ["p"]).coverage([item])
    assert coverage.shape == (1,)
    assert coverage.dtype == np.float64
    assert_allclose(coverage, [share])


def test_coverage_of_documents_and_sparse() -> None:
    assert_allclose(learn(["cat hat"], ["p"]).coverage(["cat dog dog dog", "hat"]), [0.25, 1])
    seen = learn(sp.csr_array([[1, 0, 0]]), ["p"])
    assert_allclose(seen.coverage(sp.csr_array([[1, 3, 0], [2, 0, 0]])), [0.25, 1])


def test_coverage_of_a_missing_value() -> None:
    model = learn([["u", "v"], ["u", None]], ["p", "q"], missing="category")
    assert_allclose(model.coverage([["u", None], [None, "v"]]), [1, 0.5])


# ---------------------------------------------------------------- hardly categories

CONTINUOUS = np.linspace(0.05, 9.95, 40)
LABELS_40 = ["p", "q"] * 20
LONG = np.linspace(0.05, 9.95, 400)
FLOAT_FRAMES: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda cells: np.array([cells, cells]).T[:, :1],
    "pandas": lambda cells: pd.DataFrame({"x0": cells}),
    "pandas nullable": lambda cells: pd.DataFrame({"x0": pd.Series(cells, dtype="Float64")}),
    "polars": lambda cells: pl.DataFrame({"x0": cells}),
    "polars Float32": lambda cells: pl.DataFrame({"x0": cells}).cast(pl.Float32),
    "pyarrow": lambda cells: pa.table({"x0": cells}),
    "records": lambda cells: [{"x0": cell} for cell in cells.tolist()],
    "object array": lambda cells: as_array([cells.tolist()]),
}


@pytest.mark.parametrize("cells", [CONTINUOUS, LONG], ids=["few", "many"])
@pytest.mark.parametrize("frame", FLOAT_FRAMES.values(), ids=FLOAT_FRAMES.keys())
def test_a_continuous_column_warns_once(frame: Callable[[Any], Any], cells: np.ndarray) -> None:
    model, y = SparseTensorClassifier(), ["p", "q"] * (len(cells) // 2)
    with pytest.warns(HardlyCategoricalWarning, match="x0") as caught:
        model.fit(frame(cells), y)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(frame(cells + 0.01), y)
        model.predict(frame(cells + 0.02))


def test_the_warning_names_the_continuous_columns_only() -> None:
    X = pd.DataFrame({"height": CONTINUOUS, "legs": np.arange(40) % 3, "width": CONTINUOUS})
    with pytest.warns(HardlyCategoricalWarning) as caught:
        learn(X, LABELS_40)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "height" in message
    assert "width" in message
    assert "legs" not in message
    assert issubclass(HardlyCategoricalWarning, UserWarning)


def test_every_model_warns_for_itself_and_partial_fit_too() -> None:
    for _ in range(2):
        with pytest.warns(HardlyCategoricalWarning, match="height"):
            SparseTensorClassifier().partial_fit(pl.DataFrame({"height": CONTINUOUS}), LABELS_40)


NOT_CONTINUOUS: dict[str, Sequence[float]] = {
    "whole numbers": np.arange(40.0),
    "few distinct": np.repeat(CONTINUOUS[::4], 4),
    "few distinct of many": np.repeat(CONTINUOUS, 10),
    "many whole numbers": np.arange(400.0),
    "few items": CONTINUOUS[:19],
    "few present": [*CONTINUOUS[:19], *[NAN] * 21],
    "nine tenths distinct": [*CONTINUOUS[:18], *CONTINUOUS[:2]],
}


@pytest.mark.parametrize("frame", FLOAT_FRAMES.values(), ids=FLOAT_FRAMES.keys())
@pytest.mark.parametrize("cells", NOT_CONTINUOUS.values(), ids=NOT_CONTINUOUS.keys())
def test_no_warning_for_categories(cells: Sequence[float], frame: Callable[[Any], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(frame(np.array(cells)), (LABELS_40 * 10)[: len(cells)])


def test_no_warning_for_texts_and_integers() -> None:
    X = pl.DataFrame({"id": [f"{cell:.2f}" for cell in CONTINUOUS], "n": range(40)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learn(X, LABELS_40)


# ---------------------------------------------------------------- few documents


@settings(deadline=None)
@given(st.lists(st.none() | st.text(st.characters(max_codepoint=0x17F)), min_size=1, max_size=8))
def test_few_documents_are_read_as_many(texts: list[str | None]) -> None:
    """A text or two are split by Python, many by polars: into the same words."""
    few, many = encode(texts), encode([*texts, *["more"] * 20])
    column, same = few.columns[0], many.columns[0].select(np.arange(many.n_items) < len(texts))
    for item in range(len(texts)):
        own, other = (
            {
                c.values[code]: 1.0 if c.weights is None else c.weights[place]
                for place in range(c.offsets[item], c.offsets[item + 1])
                for code in [c.codes[place]]
            }
            for c in (column, same)
        )
        assert own == other
