"""A decimal with a million digits is an error at once, and one with a small exponent a value."""

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stc.exceptions import DataError
from support.models import paper_model

HUGE = Decimal("1E+1000000")
CONTAINERS: dict[str, Any] = {
    "rows": lambda cell: [[1], [cell]],
    "records": lambda cell: [{"x0": 1}, {"x0": cell}],
    "lists": lambda cell: [{"x0": [1]}, {"x0": [2, cell]}],
    "sets": lambda cell: [{"x0": {1}}, {"x0": {cell}}],
    "keys of weights": lambda cell: [{"x0": {"a": 1.0}}, {"x0": {cell: 1.0}}],
    "an array": lambda cell: np.array([[1], [cell]], dtype=object),
    "pandas": lambda cell: pd.DataFrame({"x0": [1, cell]}, dtype=object),
    "categories of pandas": lambda cell: pd.DataFrame({"x0": pd.Categorical([1, cell])}),
    "polars": lambda cell: pl.DataFrame({"x0": pl.Series([1, cell], dtype=pl.Object)}),
}


@pytest.mark.parametrize("times", [1, 300])
@pytest.mark.parametrize("number", ["1E+1000000", "-1E+1000000", "1.5E+1000000"])
@pytest.mark.parametrize("container", CONTAINERS)
def test_a_number_of_a_million_digits_is_an_error(container: str, number: str, times: int) -> None:
    X = CONTAINERS[container](Decimal(number))
    if times > 1 and isinstance(X, list):
        X = X * times
    with pytest.raises(DataError, match="a number of 1,000,001 digits is too long") as caught:
        paper_model().fit(X, ["x", "y"] * (len(X) // 2))
    assert (caught.value.column, caught.value.item) == ("x0", 1)


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_number_near_zero_is_a_value(container: str) -> None:
    X = CONTAINERS[container](Decimal("1E-1000000"))
    model = paper_model().fit(X, ["x", "y"])
    assert "x0=1E-1000000" in model.get_feature_names_out()
    assert model.predict(X).tolist() == ["x", "y"]


def test_it_is_a_label_as_any_decimal() -> None:
    model = paper_model().fit([["a"], ["b"]], [HUGE, Decimal(1)])
    assert model.predict([["a"]])[0] == HUGE
    assert model.score([["a"], ["b"]], [HUGE, Decimal(1)]) == 1


def test_it_is_no_weight() -> None:
    with pytest.raises(DataError, match="must be 0 or between") as caught:
        paper_model().fit([["a"], ["b"]], ["x", "y"], sample_weight=[Decimal(1), HUGE])
    assert caught.value.item == 1
    with pytest.raises(DataError, match="must be 0 or between") as caught:
        paper_model().fit([{"a": {"x": 1}}, {"a": {"x": HUGE}}], ["x", "y"])
    assert (caught.value.column, caught.value.item) == ("a", 1)
