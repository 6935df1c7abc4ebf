"""A column that was named as target or weight once is never learnt from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import stc
from stc import StoredModel, open_store
from stc.exceptions import DataError
from support.models import paper_model

ROWS = [
    {"size": "s", "class": "p", "w": 1.0},
    {"size": "m", "class": "q", "w": 2.0},
    {"size": "s", "class": "q", "w": 1.0},
]
TARGET, WEIGHTS = [row["class"] for row in ROWS], [row["w"] for row in ROWS]
CONTAINERS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "records": lambda rows: rows,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "arrow": lambda rows: pl.DataFrame(rows).to_arrow(),
}


def attributes(model: Any) -> set[str]:
    """The attributes that have been learnt."""
    return set(model.corpus_["attribute"].to_list())


@pytest.fixture(params=["estimator", "store"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "estimator":
        return paper_model()
    return open_store(f"sqlite:///{tmp_path}/models.db").create("zoo", paper_model())


@pytest.mark.parametrize("later", CONTAINERS)
@pytest.mark.parametrize("first", CONTAINERS)
def test_labels_given_later(first: str, later: str) -> None:
    model = paper_model().fit(CONTAINERS[first](ROWS), "class", "w")
    expected = paper_model().fit(CONTAINERS[first](ROWS), "class", "w").partial_fit(
        CONTAINERS[later](ROWS), "class", sample_weight="w"
    )  # fmt: skip
    data = CONTAINERS[later](ROWS)
    model.partial_fit(data, TARGET, sample_weight=WEIGHTS)
    assert attributes(model) == {"size"}
    assert model.corpus_.equals(expected.corpus_)
    # Nor are they in what follows, whatever is named there.
    model.partial_fit(data, "class").unlearn(data, TARGET)
    assert attributes(model) == {"size"}
    assert model.score(data, TARGET) == model.score(data)
    model.unlearn(data, TARGET, sample_weight=WEIGHTS)
    assert attributes(model) == {"size"}


def test_stores_remember(model: Any) -> None:
    model.partial_fit(ROWS, "class", sample_weight="w")
    model.partial_fit(ROWS, TARGET, sample_weight=WEIGHTS)
    assert attributes(model) == {"size"}
    if isinstance(model, StoredModel):
        model = model.store["zoo"]
    model.partial_fit(ROWS, TARGET)
    assert attributes(model) == {"size"}
    model.merge(paper_model().fit([{"size": "s"}], ["p"]))
    with pytest.raises(DataError, match="'class'"):
        model.merge(paper_model().fit(ROWS, TARGET))
    model.partial_fit(ROWS, TARGET)
    assert attributes(model) == {"size"}


def test_models_from_files_remember(tmp_path: Path) -> None:
    paper_model().fit(ROWS, "class").fitted_.save(tmp_path / "model.stc")
    model = stc.load(tmp_path / "model.stc")
    assert attributes(model.partial_fit(ROWS, TARGET)) == {"size", "w"}


def sources(folder: Path) -> dict[str, Any]:
    frame = pl.DataFrame(ROWS)
    frame.write_csv(folder / "rows.csv")
    return {
        "frame": stc.source(frame.lazy()),
        "csv": folder / "rows.csv",
        "duckdb": duckdb.from_arrow(frame.to_arrow()),
    }


@pytest.mark.parametrize("kind", ["frame", "csv", "duckdb"])
def test_sources(kind: str, tmp_path: Path) -> None:
    source = sources(tmp_path)[kind]
    model = paper_model().fit(source, "class", "w")
    model.partial_fit(ROWS, TARGET).partial_fit(source, "class").unlearn(source, "class")
    assert attributes(model) == {"size"}
    # A source read after records: any of its columns may be new.
    model = paper_model().fit(ROWS, "class", "w").partial_fit(ROWS, TARGET, sample_weight=WEIGHTS)
    model.partial_fit(source, "class")
    assert attributes(model) == {"size"}


def test_the_parameter_targets_names_them_too() -> None:
    model = paper_model(targets="class").fit(ROWS)
    model.set_params(targets=None).partial_fit(ROWS, TARGET)
    assert attributes(model) == {"size", "w"}
    assert model.partial_fit(ROWS).class_mass_.tolist() == [3, 6]


def test_merging_keeps_them() -> None:
    """A model without names learns them from the one it is merged with."""
    ours = paper_model().fit([{"size": "s"}], ["p"])
    ours.merge(paper_model().fit(ROWS, "class", "w"))
    ours.partial_fit(ROWS, TARGET, sample_weight=WEIGHTS)
    assert attributes(ours) == {"size"}


@pytest.mark.parametrize("swapped", [False, True])
def test_merging_refuses_a_target_that_is_a_feature(swapped: bool) -> None:
    named = paper_model().fit(ROWS, "class")
    featured = paper_model().fit(ROWS, TARGET)
    ours, theirs = (featured, named) if swapped else (named, featured)
    before = ours.corpus_
    with pytest.raises(DataError, match=r"'class': .*target") as caught:
        ours.merge(theirs)
    assert caught.value.column == "class"
    assert ours.corpus_.equals(before)


def test_fitting_anew_forgets_them() -> None:
    model = paper_model().fit(ROWS, "class").fit(ROWS, TARGET)
    assert attributes(model) == {"size", "class", "w"}


def test_weights_that_are_named_are_read_again() -> None:
    model = paper_model().fit(ROWS, "class", "w")
    model.partial_fit(ROWS, TARGET, sample_weight=[1, 1, 1]).partial_fit(ROWS)
    assert model.class_mass_.tolist() == [1 + 1 + 1, 3 + 2 + 3]
    assert np.isclose(model.predict_proba([{}]), [[3 / 11, 8 / 11]]).all()
