"""The same data gives the same corpus, whatever container it comes in."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from support.encode_cases import (
    LABELS,
    NAN,
    NUMBERS,
    ROWS,
    TEXTS,
    Entries,
    as_array,
    entries,
    learn,
    many,
    polars_rows,
    repeated,
)
from support.models import paper_model

NAMES = ["x0", "x1"]


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
    model = paper_model(missing="category").fit(X, y, weight)
    model.partial_fit(X, y, sample_weight=weight).unlearn(X, y, sample_weight=weight)
    model.predict(X)
    model.coverage(X)
    assert contents(X) == before
    assert y == LABELS
    assert weight.tolist() == [1, 2, 3, 4, 5]
