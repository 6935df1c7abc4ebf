"""Data that cannot be read: never an error of another library, always the column and the item."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from stc._core.observations import Observations
from stc._input.columns import split_targets
from stc._input.containers import encode
from stc._input.targets import encode_sample_weight, encode_target, encode_targets
from stc._input.theta import with_theta
from stc.exceptions import DataError, DataTypeError, MissingColumnError, MissingLabelError, StcError
from support.models import paper_model

HALF = "\ud800"  # half of a surrogate pair, which UTF-8 cannot encode
FAR = 2**62  # beyond the year 9999, whatever the unit is
NAN = float("nan")


class Opaque:
    """An object without a text."""


def refused(error: StcError, column: str | None, item: int | None) -> None:
    """The error is one of bad data and has these fields."""
    assert isinstance(error, (DataError, DataTypeError))
    assert (error.column, error.item) == (column, item)
    assert "\ud800" not in str(error)  # it can be printed


def object_array(*cells: Any) -> pd.DataFrame:
    """A pandas frame with a column of object_array."""
    return pd.DataFrame({"a": pd.Series(cells, dtype=object)})


def categories(*values: Any) -> pd.Series:
    """A pandas column with each of these categories once."""
    index = pd.Index(values, dtype=object)
    return pd.Series(pd.Categorical.from_codes(range(len(values)), index))


# ---------------------------------------------------------------- items

VALUES: dict[str, tuple[Any, str | None, int | None, str]] = {
    "half a character, records": ([{"a": "x"}, {"a": HALF}], "a", 1, "surrogate"),
    "half a character, lists": ([{"a": ["x", "y"]}, {"a": ["x", HALF]}], "a", 1, "surrogate"),
    "half a character, weights": ([{"a": ["x", "y"]}, {"a": {HALF: 1.0}}], "a", 1, "surrogate"),
    "half a character, rows": ([["x"], [HALF]], "x0", 1, "surrogate"),
    "half a character, array": (np.array([["x"], [HALF]]), "x0", 1, "surrogate"),
    "half a character, pandas": (object_array("x", HALF), "a", 1, "surrogate"),
    "half a character, category": (
        pd.DataFrame({"a": categories("x", HALF)}),
        "a",
        1,
        "surrogate",
    ),
    "half a character, polars": (
        pl.DataFrame({"a": pl.Series([1, HALF], dtype=pl.Object)}),
        "a",
        1,
        "surrogate",
    ),
    "half a character, 300 records": ([{"a": "x"}] * 299 + [{"a": HALF}], "a", 299, "surrogate"),
    "half a character, 300 mixed": (
        [{"a": 1}] + [{"a": "x"}] * 298 + [{"a": HALF}],
        "a",
        299,
        "surrogate",
    ),
    "half a character, 3000 lists": (
        [{"a": ["x", "y"]}] * 2999 + [{"a": ["x", HALF]}],
        "a",
        2999,
        "surrogate",
    ),
    "half a character, name": ([{"a": "x"}, {HALF: "x"}], HALF, None, "surrogate"),
    "half a character, document": (["x", HALF], None, 1, "surrogate"),
    "half a character, documents of pandas": (
        pd.Series(["x", HALF], dtype=object),
        None,
        1,
        "surrogate",
    ),
    "half a character, tokens": (pd.Series([["x"], [HALF]]), None, 1, "surrogate"),
    "bytes, records": ([{"a": b"x"}, {"a": b"\xff"}], "a", 1, "not UTF-8"),
    "bytes, polars": (pl.DataFrame({"a": [b"x", b"\xff"]}), "a", 1, "not UTF-8"),
    "bytes, list": (pl.DataFrame({"a": [[b"x"], [b"x", b"\xff"]]}), "a", 1, "not UTF-8"),
    "bytes, documents": ([b"x", b"\xff"], None, 1, "document cannot be read"),
    "a number of 5000 digits": ([["x"], [10**5000]], "x0", 1, "digits"),
    "a decimal of a million digits": ([["x"], [Decimal("1e999999")]], "x0", 1, "digits"),
    "an opaque object": (object_array("x", Opaque()), "a", 1, "Opaque has no text"),
    "a list in a list": ([{"a": ["x"]}, {"a": ["y", ["z"]]}], "a", 1, "must be single, got list"),
    "a list in a list, polars": (pl.DataFrame({"a": [[["x"]]]}), "a", None, "must be single"),
    "a struct in a list": (pl.DataFrame({"a": [[{"k": 1}]]}), "a", None, "must be single"),
    "a struct of texts": (pl.DataFrame({"a": [{"k": "x"}]}), "a", None, "must be numbers"),
    "a list as a key": (
        pa.table({"a": pa.array([[(["k"], 1.0)]], pa.map_(pa.list_(pa.string()), pa.float64()))}),
        "a",
        0,
        "must be single, got list",
    ),
    "a tuple as a category": (
        pd.DataFrame({"a": pd.Categorical.from_codes([-1, 0], [("x", "y")])}),
        "a",
        1,
        "must be single, got tuple",
    ),
    "a complex number": (object_array("x", 1j), "a", 1, "Complex data not supported"),
    "a list as a weight": ([{"a": {"x": [1]}}, {"a": {"x": [1]}}], "a", 0, "must be a number"),
    "a large integer as a weight": (
        [{"a": {"x": 1}}, {"a": {"x": 10**400}}],
        "a",
        1,
        "must be a number",
    ),
    "a date as a weight": (
        [{"a": {"x": 1}}, {"a": {"x": datetime.date(2024, 1, 2)}}],
        "a",
        1,
        "must be a number",
    ),
}
CONTAINERS: dict[str, tuple[Any, str | None, int | None, str]] = {
    "an unknown time zone": (
        pa.table({"b": [1], "a": pa.array([1], pa.timestamp("us", "No/Where"))}),
        "a",
        None,
        "time zone",
    ),
    "a union": (
        pa.table(
            {"a": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "b": [1]}
        ),
        "a",
        None,
        "cannot be read",
    ),
    "a decimal of 256 bits": (
        pa.table({"a": pa.array([Decimal("1.5")], pa.decimal256(50, 2))}),
        "a",
        None,
        "cannot be read",
    ),
    "two columns of one name, pandas": (
        pd.DataFrame([[1, 2, 3]], columns=["b", "a", "a"]),
        "a",
        None,
        "more than once",
    ),
    "two columns of one number": (
        pd.DataFrame([[1, 2]], columns=[0, 0]),
        "0",
        None,
        "more than once",
    ),
    "two columns of one name, Arrow": (
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        "a",
        None,
        "more than once",
    ),
    "two levels of one name": (
        pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x")] * 2)),
        "('a', 'x')",
        None,
        "more than once",
    ),
    "names and numbers as columns": (
        pd.DataFrame([[1, 2]], columns=[0, "a"]),
        None,
        None,
        "string names",
    ),
    "a lazy frame that fails": (
        pl.LazyFrame({"a": ["x"]}).select(pl.col("a").cast(pl.Int64)),
        None,
        None,
        "lazy frame cannot be read",
    ),
    "an empty frame": (pl.DataFrame(), None, None, r"0 sample\(s\)"),
    "a frame without columns": (pd.DataFrame(index=range(3)), None, None, r"0 feature\(s\)"),
    "numbers as keys": ([{1: "x"}], None, None, "must be strings, got 1"),
    "no record": ([{"a": "x"}, None], None, 1, "expected a record"),
    "no row": ([None, ["x"]], None, 0, "expected a row of 1 entries like the first one, got None"),
    "a shorter row": ([["x", "y"], ["x"]], None, 1, r"2 entries .* got \['x'\]"),
    "a category that is no document": (
        pd.Series([1, 2], dtype="category"),
        None,
        0,
        "must be a string, got int",
    ),
    "groups of pandas": (pd.DataFrame({"a": [1, 2]}).groupby("a"), None, None, "X cannot be read"),
    "a number": (5, None, None, "Expected 2D array, got scalar array instead.*int"),
    "nothing": (None, None, None, "Expected 2D array, got scalar array instead.*NoneType"),
    "bytes": (b"x", None, None, "Expected 2D array, got scalar array instead.*bytes"),
    "a set": ({"x"}, None, None, "Expected 2D array, got scalar array instead.*set"),
    "no dimension": (np.array("x"), None, None, "Expected 2D array, got scalar array instead"),
    "three dimensions": (np.ones((2, 2, 2)), None, None, "dim 3"),
    "a masked array of three dimensions": (np.ma.ones((2, 2, 2)), None, None, "dim 3"),
    "a generator": ((row for row in [["x"]]), None, None, "only once; give list"),
    "one record": ({"a": "x"}, None, None, "one record"),
    "one document": ("x", None, None, "one document"),
    "sets": ([{"x"}], None, None, "X holds sets"),
    "a sparse vector": (sp.coo_array(np.array([1.0])), None, None, "2-D sparse matrix"),
    "a negative count": (sp.csr_array([[1.0, 0], [1, -1]]), "x1", 1, "must be 0 or between"),
}
ITEMS = VALUES | CONTAINERS


@pytest.mark.parametrize(("X", "column", "item", "words"), ITEMS.values(), ids=ITEMS.keys())
def test_bad_items_are_named(X: Any, column: str | None, item: int | None, words: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=words) as caught:
        encode(X)
    refused(caught.value, column, item)


def test_the_estimator_passes_the_fields_on() -> None:
    with pytest.raises(DataError) as caught:
        paper_model().fit([{"a": "x"}, {"a": HALF}], ["p", "q"])
    refused(caught.value, "a", 1)


LEGAL: dict[str, tuple[Any, list[str]]] = {
    "integers beyond 64 bits": ([[2**64], [-(2**70)]], [str(2**64), str(-(2**70))]),
    "integers of 128 bits": (
        pl.DataFrame({"a": pl.Series([2**70, 1], dtype=pl.Int128)}),
        [str(2**70), "1"],
    ),
    "decimals that are no number": (
        [[Decimal("NaN")], [Decimal("sNaN")], [Decimal("1.50")]],
        ["1.5"],
    ),
    "pandas in seconds": (
        pd.DataFrame({"a": np.array(["2024-01-02", "NaT"], dtype="M8[s]")}),
        ["2024-01-02"],
    ),
    "pandas durations in seconds": (
        pd.DataFrame({"a": np.array([60, 61], dtype="m8[s]")}),
        ["0:01:00", "0:01:01"],
    ),
    "a time zone": (
        pa.table({"a": pa.array([0, None], pa.timestamp("us", "Europe/Rome"))}),
        ["1970-01-01 00:00:00+00:00"],
    ),
    "a far date": (
        pl.DataFrame({"a": pl.Series([1, 2**31 - 1], dtype=pl.Int32).cast(pl.Date)}),
        ["1970-01-02", "5881580-07-11"],
    ),
    "a far time": (
        pa.table({"a": pa.array([1, FAR], pa.timestamp("us"))}),
        ["1970-01-01 00:00:00.000001", "148108-07-06 14:00:27.387904"],
    ),
    "a long duration": (
        pl.DataFrame({"a": pl.Series([1, FAR]).cast(pl.Duration("ms"))}),
        ["0:00:00.001000", "53375995583 days, 15:36:27.904000"],
    ),
    "a far time, pandas in seconds": (
        pd.DataFrame({"a": np.array(["2024-01-02", "30000-01-01"], dtype="M8[s]")}),
        ["2024-01-02", "30000-01-01"],
    ),
    "a time beyond milliseconds, pandas in seconds": (
        pd.DataFrame({"a": np.array([1, FAR], dtype="m8[s]")}),
        ["0:00:01", "53375995583650 days, 7:45:04"],
    ),
    "masked numbers": (np.ma.array([[1], [2]], mask=[[False], [True]]), ["1"]),
    "objects of several types": (
        object_array(1, "x", None, ["y", 2.5]),
        ["1", "x", "y", "2.5"],
    ),
    "columns of two levels": (
        pd.DataFrame([["x"], ["y"]], columns=pd.MultiIndex.from_tuples([("a", "b")])),
        ["x", "y"],
    ),
    "columns without names": (pd.DataFrame([["x"], ["y"]]), ["x", "y"]),
    "pandas nullable": (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), ["1"]),
    "pandas periods": (
        pd.DataFrame({"a": pd.period_range("2024", periods=1, freq="M")}),
        ["2024-01"],
    ),
    "documents in NumPy strings": (np.array(["x", "y"], dtype=np.dtypes.StringDType()), ["x", "y"]),
    "tokens in fixed lists": (pl.Series([["x"], ["y"]], dtype=pl.Array(pl.String, 1)), ["x", "y"]),
}


@pytest.mark.parametrize(("X", "values"), LEGAL.values(), ids=LEGAL.keys())
def test_odd_items_are_read(X: Any, values: list[str]) -> None:
    (column,) = encode(X).columns
    assert list(column.values or ()) == values


# ---------------------------------------------------------------- targets and weights

TARGETS: dict[str, tuple[Any, str | None, int | None, str]] = {
    "half a character": (["p", HALF], None, 1, "label of y .* surrogate"),
    "half a character, array": (np.array(["p", HALF]), None, 1, "surrogate"),
    "half a character, 300": (["p"] * 299 + [HALF], None, 299, "surrogate"),
    "half a character, category": (categories("p", HALF), None, 1, "surrogate"),
    "half a character, sets": ([["p", "q"], ["p", HALF]], None, 1, "surrogate"),
    "half a character, distributions": ([{"p": 1, "q": 1}, {HALF: 1}], None, 1, "surrogate"),
    "half a character, frame": (
        pd.DataFrame({"a": ["p", "q"], "b": pd.Series(["p", HALF], dtype=object)}),
        "b",
        1,
        "surrogate",
    ),
    "no label, frame": (pl.DataFrame({"a": ["p", "q"], "b": [None, "q"]}), "b", 0, "contains NaN"),
    "a masked label": (np.ma.array([0, 1], mask=[False, True]), None, 1, "contains NaN"),
    "a masked text": (np.ma.array(["p", "q"], mask=[False, True]), None, 1, "contains NaN"),
    "no text in NumPy": (
        np.array(["p", None], dtype=np.dtypes.StringDType(na_object=None)),
        None,
        1,
        "contains NaN",
    ),
    "a decimal that is no number": ([Decimal(1), Decimal("sNaN")], None, 1, "contains NaN"),
    "a list in a set": ([["p"], ["q", ["r"]]], None, 1, "must be single"),
    "a tuple in a set": ([["p"], ["q", ("r", "s")]], None, 1, "must be single, got tuple"),
    "tuples in sets": ([[("p", "q")], [("r", "s")]], None, 0, "must be single, got tuple"),
    "arrays without a dimension": ([np.array(1), np.array(2)], None, 0, "set of labels"),
    "matrices": ([np.ones((2, 2))] * 2, None, 0, "set of labels"),
    "sparse matrices in a list": ([sp.csr_array([[1, 0]])] * 2, None, 0, "y must be single"),
    "a sparse vector": (sp.coo_array(np.array([1, 0])), None, None, "2 dimensions, got 1"),
    "no column": (pd.DataFrame(index=range(2)), None, None, "y has no column"),
    "two columns of one name": (
        pd.DataFrame([["p", "q"]], columns=["a", "a"]),
        "a",
        None,
        "more than once",
    ),
    "a number": (5, None, None, "y should be a 1d array"),
    "a generator": ((label for label in "pq"), None, None, r"only once; give list\(y\)"),
    "a set": ({"p", "q"}, None, None, "y is a set, which has no label for each item"),
    "a dict": ({"p": 1, "q": 2}, None, None, "y is a dict, which has no label for each item"),
    "a masked label in a list": (list(np.ma.array([1, 2], mask=[0, 1])), None, 1, "has no label"),
    "zoned nanoseconds in polars": (
        pl.Series([1, 2]).cast(pl.Datetime("ns", "UTC")),
        None,
        None,
        "cast them to microseconds",
    ),
    "complex numbers": (np.array([1j, 2]), None, None, "Complex data not supported"),
    "a list as a weight": ([{"p": [1]}, {"p": [1]}], None, 0, "in y must be a number"),
    "a large integer as a weight": ([{"p": 1}, {"p": 10**400}], None, 1, "in y must be a number"),
    "a struct of texts": (pl.Series([{"p": "x"}]), None, 0, "in y must be a number"),
    "weights of an infinite sum": (
        [{"p": 1}, {"p": 1e100, "q": 1e100}],
        None,
        1,
        "the sum .* between 1e-100 and 1e100",
    ),
}


@pytest.mark.parametrize(("y", "column", "item", "words"), TARGETS.values(), ids=TARGETS.keys())
def test_bad_targets_are_named(y: Any, column: str | None, item: int | None, words: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=words) as caught:
        encode_target(y)
    refused(caught.value, column, item)


def test_a_named_target_is_the_column_of_its_errors() -> None:
    with pytest.raises(MissingLabelError, match="contains NaN") as caught:
        encode_targets({"kind": ["p", None]})
    refused(caught.value, "kind", 1)
    with pytest.raises(DataError, match="contains NaN") as caught:
        encode_targets({"kind": ["p", "q"], "count": [1, None]})
    refused(caught.value, "count", 1)


def test_structs_are_distributions() -> None:
    y = pl.Series([{"p": 1.0, "q": None}, {"p": 1.0, "q": 3.0}])
    column = encode_target(y).column
    assert column.matrix().toarray().tolist() == [[1, 0], [0.25, 0.75]]


def test_integers_of_128_bits_and_lazy_frames_are_labels() -> None:
    wide = encode_target(pl.Series([2**70, 1], dtype=pl.Int128)).column
    assert np.asarray(wide.values).tolist() == [1, 2**70]
    lazy = encode_target(pl.LazyFrame({"a": ["p", "q"], "b": [1, 2]}))
    assert (lazy.form.names, lazy.column.n_items) == (("a", "b"), 2)


WEIGHTS: dict[str, tuple[Any, int | None, str]] = {
    "a text": (["1", "x"], 1, "must be a number, got 'x'"),
    "an object": ([1, Opaque()], 1, "must be a number"),
    "a complex number": ([1, 1j], 1, "must be a number, got 1j"),
    "dates": (np.array(["2024-01-02"] * 2, dtype="M8[D]"), 0, "must be a number"),
    "lists of two lengths": ([[1], [1, 2]], 0, "must be a number"),
    "a large integer": ([1, 10**400], 1, "must be a number"),
    "a masked weight": (np.ma.array([1, 2], mask=[False, True]), 1, "must be 0 or between"),
    "no number": ([1, NAN], 1, "must be 0 or between"),
    "a null": (pl.Series([1, None]), 1, "must be 0 or between"),
    "a generator": ((k for k in (1, 2)), None, "must be a number"),
    "a sparse matrix": (sp.csr_array(np.ones((2, 1))), None, "must be a number"),
    "a column": (np.ones((2, 1)), None, r"sample_weight.shape == \(2, 1\)"),
}


@pytest.mark.parametrize(("weights", "item", "words"), WEIGHTS.values(), ids=WEIGHTS.keys())
def test_bad_sample_weights_are_named(weights: Any, item: int | None, words: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=words) as caught:
        encode_sample_weight(weights, 2)
    refused(caught.value, None, item)


# ---------------------------------------------------------------- named columns, theta


def test_a_missing_target_is_named_with_the_columns_there_are() -> None:
    with pytest.raises(MissingColumnError, match=r"no column 'kind'.* it has 'a', 'b'") as caught:
        split_targets(pd.DataFrame({"a": [1], "b": [2]}), ["kind"], needed=True)
    assert (caught.value.missing, caught.value.present) == ("kind", ("a", "b"))


def observed() -> Observations:
    """Two items in two columns."""
    return encode(pl.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}))


THETA: dict[str, tuple[Any, str | None, int | None, str]] = {
    "an infinite angle": ([{"b": 1.0}, {"b": NAN}], "b", 1, "must be finite, got nan"),
    "a text": ([{"b": 1.0}, {"b": "x"}], "b", None, "must be a number"),
    "a large integer": ([{"b": 1.0}, {"b": 10**400}], "b", None, "must be a number"),
    "too few": (np.zeros((1, 2)), None, None, r"theta has shape \(1, 2\), X has \(2, 2\)"),
    "no record": ([{"a": 1.0}, None], None, None, "a dict name -> radians for each"),
    "two columns of one name": (
        pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]),
        "a",
        None,
        "more than once",
    ),
    "a missing column": (pl.DataFrame({"a": [0.0, 0.0]}), None, None, "theta has no column 'b'"),
}


@pytest.mark.parametrize(("theta", "column", "item", "words"), THETA.values(), ids=THETA.keys())
def test_bad_angles_are_named(theta: Any, column: str | None, item: int | None, words: str) -> None:
    with pytest.raises((DataError, DataTypeError), match=words) as caught:
        with_theta(observed(), theta)
    refused(caught.value, column, item)
