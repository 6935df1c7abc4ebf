"""Missing values are ignored, or a category."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from support.encode_cases import (
    NAN,
    any_size,
    as_array,
    as_pandas,
    categories,
    entries,
    learn,
    repeated,
)

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
