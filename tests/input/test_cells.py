"""Cells with several values or weights, and the keys of records."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from support.encode_cases import (
    COLUMNS,
    LABELS,
    NAN,
    ROWS,
    Entries,
    any_column,
    any_size,
    as_pandas,
    entries,
    learn,
    many,
    polars_rows,
    repeated,
)

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
