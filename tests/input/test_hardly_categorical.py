"""Columns that are hardly categories are warned of."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stc import HardlyCategoricalWarning
from support.encode_cases import NAN, as_array, learn
from support.models import paper_model

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
    model, y = paper_model(), ["p", "q"] * (len(cells) // 2)
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
            paper_model().partial_fit(pl.DataFrame({"height": CONTINUOUS}), LABELS_40)


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
