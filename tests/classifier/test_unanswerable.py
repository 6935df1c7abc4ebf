"""What a model cannot answer is an error, not an answer from the class frequencies."""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from stc._core.product import object_array
from stc.exceptions import DataError, DataTypeError
from support.models import paper_model

ROWS = [["a", "b"], ["c", "d"]]
METHODS = ["predict", "predict_proba", "coverage", "explain_local"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "X", [ROWS, np.array(ROWS), pd.DataFrame(ROWS)], ids=["rows", "array", "frame"]
)
def test_records_to_a_model_of_an_array_are_refused(X: Any, method: str) -> None:
    model = paper_model().fit(X, ["p", "q"])
    with pytest.raises(DataError, match="x0 to x1, and X has records with this key") as caught:
        getattr(model, method)([{"x0": "a", "colour": "red"}])
    assert caught.value.column == "colour"
    assert caught.value.hint == "give rows of values in the order of the array"


def test_records_that_name_columns_of_an_array_are_read() -> None:
    model = paper_model().fit(ROWS, ["p", "q"])
    assert model.predict([{"x1": "d"}, {"x0": "a"}]).tolist() == ["q", "p"]


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_a_dict_of_columns_is_one_record(method: str) -> None:
    model = paper_model().fit([{"x": 1}, {"x": 2}], ["p", "q"])
    arguments = [["p", "q"]] if method != "predict" else []
    with pytest.raises(DataTypeError, match="X is one record") as caught:
        getattr(model, method)({"x": [1], "y": [2]}, *arguments)
    assert "pl.DataFrame" in str(caught.value.hint)
    assert model.predict([{"x": 2}]).tolist() == ["q"]


FORMS: dict[str, tuple[list[Any], float]] = {
    "dates": ([date(2024, 1, 2), date(2024, 1, 3)], 1),
    "NumPy dates": ([np.datetime64("2024-01-02"), np.datetime64("2024-01-03")], 1),
    "decimals": ([Decimal("1.5"), Decimal("2.5")], 1),
    "bytes": ([b"p", b"longer"], 1),
    "soft labels": ([{"p": 0.75, "q": 0.25}, {"q": 1.0}], 1),
    "wrong soft labels": ([{"q": 0.75, "p": 0.25}, {"p": 1.0}], 0),
}


@pytest.mark.parametrize(("y", "expected"), FORMS.values(), ids=FORMS.keys())
def test_score_takes_the_labels_that_fit_takes(y: list[Any], expected: float) -> None:
    learnt = y if expected else [{"p": 1.0}, {"q": 1.0}]
    for times in (1, 300):
        model = paper_model().fit(ROWS * times, learnt * times)
        assert model.score(ROWS * times, y * times) == expected
        assert model.score(ROWS * times, object_array(y * times)) == expected


def test_score_takes_integers_as_objects() -> None:
    y = object_array([1, 2])
    model = paper_model().fit(ROWS, y)
    assert model.score(ROWS, y) == model.score(ROWS, [1, 2]) == model.score(ROWS, [1.0, 2.0]) == 1


def test_score_counts_labels_that_were_never_learnt_as_wrong() -> None:
    model = paper_model().fit(ROWS, [date(2024, 1, 2), date(2024, 1, 3)])
    assert model.score(ROWS, [date(2024, 1, 2), date(2024, 1, 4)]) == 0.5


@pytest.mark.parametrize("many", [1, 300])
def test_an_integer_of_400_digits_is_a_value(many: int) -> None:
    items = [{"x": 10**400}, {"x": 1}] * many
    y = ["p", "q"] * many
    assert paper_model().fit(items, y).predict(items[:2]).tolist() == ["p", "q"]
    # Beyond the last knot a number belongs to that knot.
    near = paper_model(continuous={"x": [0, 1]}).fit(items, y)
    assert near.predict_proba([{"x": 10**400}]).tolist() == near.predict_proba([{"x": 2}]).tolist()
    with pytest.raises(DataError, match="4300 digits") as caught:
        paper_model().fit([*items, {"x": 10**5000}], [*y, "p"])
    assert (caught.value.column, caught.value.item) == ("x", 2 * many)


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_a_column_that_occurs_twice_is_refused(method: str) -> None:
    frame = pd.DataFrame(ROWS, columns=["k", "k"])
    model = paper_model().fit(ROWS, ["p", "q"])
    arguments = [["p", "q"]] if method != "predict" else []
    with pytest.raises(DataError, match="occurs more than once") as caught:
        getattr(model, method)(frame, *arguments)
    assert caught.value.column == "k"


def test_masked_counts_are_absent() -> None:
    counts = np.array([[1.0, 0], [0, 1]])
    model = paper_model().fit(sparse.csr_array(counts), ["p", "q"])
    asked = np.ma.array([[5.0, 1.0]], mask=[[1, 0]])
    assert model.predict_proba(asked).tolist() == model.predict_proba([[0.0, 1.0]]).tolist()
    learnt = model.partial_fit(asked, ["q"]).corpus_.rows()
    assert learnt == [(None, "x0", "p", 1.0, 1), (None, "x1", "q", 2.0, 2)]


def test_masked_angles_are_zero() -> None:
    model = paper_model().fit(ROWS, ["p", "q"])
    theta = np.ma.array([[3.0, 1.0]], mask=[[1, 0]])
    rows = [["a", "d"]]
    assert model.predict_proba(rows, theta=theta).tolist() == (
        model.predict_proba(rows, theta=[[0.0, 1.0]]).tolist()
    )


def test_a_masked_sample_weight_is_refused() -> None:
    weights = np.ma.array([1.0, 2.0], mask=[0, 1])
    with pytest.raises(DataError, match="sample_weight") as caught:
        paper_model().fit(ROWS, ["p", "q"], sample_weight=weights)
    assert caught.value.item == 1


@pytest.mark.parametrize(
    "cells",
    [
        [[np.ma.masked], ["a"]],
        [{"x0": np.ma.masked}, {"x0": "a"}],
        [{"x0": [np.ma.masked]}, {"x0": "a"}],
        [{"x0": np.ma.array([1], mask=[1])}, {"x0": "a"}],
        np.ma.array([["b"], ["a"]], mask=[[1], [0]]),
    ],
    ids=["rows", "records", "lists", "arrays", "array"],
)
@pytest.mark.parametrize("times", [1, 300])
def test_masked_cells_are_missing(cells: Any, times: int) -> None:
    items = np.ma.concatenate([cells] * times) if isinstance(cells, np.ndarray) else cells * times
    model = paper_model().fit(items, ["p", "q"] * times)
    assert model.corpus_.rows() == [("x0", "a", "q", float(times), times)]


def test_a_lazy_frame_is_a_target() -> None:
    y = pl.LazyFrame({"y": ["p", "q"]})
    assert paper_model().fit(ROWS, y).predict(ROWS).tolist() == ["p", "q"]
