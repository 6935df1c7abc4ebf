"""Memory and every source choose by the same items, whatever the order and the partition."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import stc
from stc import SparseTensorClassifier
from stc._training.choice import MOST_ITEMS
from stc.sources import BATCH_ROWS, FileBackend
from support.choices import assert_same_choice, reviews, uneven


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so low that most items are left out, in memory and between batches."""
    monkeypatch.setattr("stc.choosing.MOST_ROWS", 300)
    monkeypatch.setattr("stc._training.choice.MOST_ITEMS", 90)
    monkeypatch.setattr("stc._training.choice.MOST_DOCUMENTS", 90)
    monkeypatch.setattr("stc._training.drawing._BLOCK_ROWS", 61)
    for module in ("files", "duckdb"):
        monkeypatch.setattr(f"stc.sources.{module}.BATCH_ROWS", 97)
    monkeypatch.setattr("stc.sources.sql._FETCHED_ROWS", 53)


def orders(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows as they are, shuffled, and sorted by class."""
    yield frame
    yield frame.sample(fraction=1, shuffle=True, seed=1)
    yield frame.sort("label", *frame.columns[:2])


def places(frame: pl.DataFrame, folder: Path) -> Iterator[Any]:
    """Sources that hold the rows."""
    folder.mkdir()
    for files in (1, 3, 20):
        (folder / str(files)).mkdir()
        size = -(-frame.height // files)
        for k in range(files):
            frame[k * size : (k + 1) * size].write_parquet(folder / f"{files}/{k:02}.parquet")
        yield f"{folder}/{files}/*.parquet"
    frame.write_parquet(folder / "groups.parquet", row_group_size=30)
    yield folder / "groups.parquet"
    frame.write_csv(folder / "d.csv")
    yield folder / "d.csv"
    frame.write_ndjson(folder / "d.jsonl")
    yield folder / "d.jsonl"
    yield duckdb.connect().from_arrow(frame.to_arrow())
    with sqlite3.connect(folder / "d.db") as connection:
        names = ", ".join(f'"{name}"' for name in frame.columns)
        connection.execute(f"CREATE TABLE items ({names})")
        marks = ", ".join("?" * frame.width)
        connection.executemany(f"INSERT INTO items VALUES ({marks})", frame.rows())
    connection.close()
    yield stc.source(f"sqlite:///{folder}/d.db", "items")


@pytest.mark.usefixtures("small")
def test_memory_and_sources_choose_the_same(tmp_path: Path) -> None:
    frame = uneven()
    model = SparseTensorClassifier().fit(
        frame.drop("label", "weight"), frame["label"], frame["weight"]
    )
    assert ("a", "c") in model.interactions_
    assert 3 <= model.loo_items_ <= 90
    for number, same in enumerate(orders(frame)):
        memory = SparseTensorClassifier()
        assert_same_choice(model, memory.fit(same.drop("weight"), "label", same["weight"]))
        for data in places(same, tmp_path / str(number)):
            fitted = SparseTensorClassifier().fit(data, "label", "weight")
            assert_same_choice(model, fitted)


@pytest.mark.usefixtures("small")
def test_documents_with_the_same_words_in_another_order(tmp_path: Path) -> None:
    frame = reviews()
    model = SparseTensorClassifier().fit(frame["text"], frame["label"])
    assert model.ngrams_ == 2
    for number, same in enumerate(orders(frame)):
        assert_same_choice(model, SparseTensorClassifier().fit(same["text"], same["label"]))
        for data in places(same, tmp_path / str(number)):
            fitted = SparseTensorClassifier().fit(stc.source(data, text="text"), "label")
            assert_same_choice(model, fitted)


@pytest.mark.usefixtures("small")
def test_given_ngrams_of_a_source(tmp_path: Path) -> None:
    frame = reviews()
    frame.write_parquet(tmp_path / "d.parquet")
    model = SparseTensorClassifier(ngrams=3).fit(frame["text"], frame["label"])
    source = stc.source(tmp_path / "d.parquet", text="text")
    assert_same_choice(model, SparseTensorClassifier(ngrams=3).fit(source, "label"))


@pytest.mark.usefixtures("small")
def test_a_column_that_is_text_in_one_part_and_numbers_in_another(tmp_path: Path) -> None:
    frame = uneven()
    half = frame.height // 2
    frame[:half].write_parquet(tmp_path / "0.parquet")
    as_floats = frame[half:].with_columns(pl.col("size").cast(pl.Float64))
    as_text = frame.with_columns(pl.col("size").cast(pl.String))
    as_floats.write_parquet(tmp_path / "1.parquet")
    model = SparseTensorClassifier().fit(
        stc.source(tmp_path / "*.parquet", ignore=["weight"]), "label"
    )
    assert_same_choice(model, SparseTensorClassifier().fit(as_text.drop("weight"), "label"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "params",
    [
        {"continuous": {"half": [0, 1, 4]}, "ordinal": {"gaps": ["s", "m"]}},
        {"missing": "category", "dimensions": "each", "policy": [["a", "c"], ["size"]]},
        {"interactions": 2, "power": 0.4},
    ],
)
@pytest.mark.parametrize("target", ["label", ["label", "b"]])
def test_other_models(params: dict[str, Any], target: Any, tmp_path: Path) -> None:
    frame = uneven().drop("weight")
    items = frame.drop(target)
    model = SparseTensorClassifier(**params).fit(items, frame[target])
    for data in places(frame.sort("label", "a"), tmp_path / "sorted"):
        assert_same_choice(model, SparseTensorClassifier(**params).fit(data, target))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("params", [{}, stc.STC_Q, {"interactions": 1}])
@pytest.mark.parametrize("continuous", [["measure", "half"], {"measure": 5, "half": [0, 4]}])
def test_knots(params: dict[str, Any], continuous: Any, tmp_path: Path) -> None:
    frame = uneven()
    measure = frame["half"] + pl.Series(np.random.default_rng(1).normal(size=frame.height))
    frame = frame.with_columns(measure=measure)
    given = {**params, "continuous": continuous}
    model = SparseTensorClassifier(**given).fit(frame.drop("weight"), "label", frame["weight"])
    scales = model.fitted_.model.scales
    everything = np.quantile(frame.filter(pl.col("weight") > 0)["measure"], [0, 0.25, 0.5, 0.75, 1])
    if isinstance(continuous, dict):  # those of a sample are near those of all
        np.testing.assert_allclose(scales["measure"].knots[1:-1], everything[1:-1], atol=0.5)
    for data in places(frame.sort("label", "measure"), tmp_path / "sorted"):
        fitted = SparseTensorClassifier(**given).fit(data, "label", "weight")
        assert fitted.fitted_.model.scales == scales
        if params != stc.STC_Q:
            assert_same_choice(model, fitted)
            again = SparseTensorClassifier(**{**given, **model.chosen_params_})
            assert again.fit(data, "label", "weight").fitted_.model.scales == scales


@pytest.mark.usefixtures("small")
def test_a_weight_of_two_is_two_rows(tmp_path: Path) -> None:
    frame = uneven()
    frame.write_parquet(tmp_path / "weights.parquet")
    rows = frame[np.repeat(np.arange(frame.height), frame["weight"].cast(int).to_numpy())]
    rows.drop("weight").write_parquet(tmp_path / "rows.parquet")
    heavy = SparseTensorClassifier().fit(tmp_path / "weights.parquet", "label", "weight")
    assert_same_choice(heavy, SparseTensorClassifier().fit(tmp_path / "rows.parquet", "label"))


def test_a_file_sorted_by_class_whose_first_batch_has_one_class(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat(["p", "q"], [BATCH_ROWS + 20_000, 40_000])
    hints = np.where(rng.random(len(labels)) < 0.6, labels, rng.choice(["p", "q"], len(labels)))
    frame = pl.DataFrame(
        {"hint": hints, "id": rng.integers(0, 50_000, len(labels)), "label": labels}
    )
    frame.write_parquet(tmp_path / "sorted.parquet")
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    shuffled.write_parquet(tmp_path / "shuffled.parquet")
    model = SparseTensorClassifier().fit(tmp_path / "sorted.parquet", "label")
    assert model.classes_.tolist() == ["p", "q"]
    assert model.loo_items_ == MOST_ITEMS
    assert model.loo_baseline_ == pytest.approx(270_000 / 310_000)
    assert_same_choice(model, SparseTensorClassifier().fit(tmp_path / "shuffled.parquet", "label"))
    assert_same_choice(model, SparseTensorClassifier().fit(frame, "label"))
    truth = SparseTensorClassifier(**model.chosen_params_).fit(frame, "label")
    P = truth.loo_predict_proba(frame.drop("label"), frame["label"])
    accuracy = np.mean(truth.classes_[P.argmax(axis=1)] == labels)
    assert model.loo_accuracy_ == pytest.approx(accuracy, abs=0.03)


def test_rows_are_read_twice_only_if_there_is_something_to_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = uneven(100).drop("weight")
    frame.write_parquet(tmp_path / "d.parquet")
    passes, frames = [], FileBackend.frames

    def counted(self: Any, *arguments: Any) -> Any:
        passes.append(arguments)
        return frames(self, *arguments)

    monkeypatch.setattr(FileBackend, "frames", counted)
    model = SparseTensorClassifier().fit(tmp_path / "d.parquet", "label")
    assert len(passes) == 2
    SparseTensorClassifier(**model.chosen_params_).fit(tmp_path / "d.parquet", "label")
    assert len(passes) == 3
    SparseTensorClassifier().partial_fit(tmp_path / "d.parquet", "label")
    assert len(passes) == 4


def test_what_is_wrong_is_named_by_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sources.files", "learning"):
        monkeypatch.setattr(f"stc.{module}.BATCH_ROWS", 30)
    frame = uneven(100).drop("weight").with_columns(pl.col("half").cast(pl.String))
    wrong = frame.with_columns(
        half=pl.when(pl.int_range(pl.len()) == 77).then(pl.lit("x")).otherwise("half")
    )
    wrong.write_parquet(tmp_path / "d.parquet")
    model = SparseTensorClassifier(continuous={"half": [0, 4]})
    with pytest.raises(ValueError, match=r"row 77.*'x' is not a number"):
        model.fit(tmp_path / "d.parquet", "label")
    for bad, match in (
        (frame.with_columns(label=pl.lit(None, dtype=pl.String)), "NaN"),
        (frame.with_columns(weight=pl.lit(0.0)), "sample_weight is zero for every item"),
    ):
        bad.write_parquet(tmp_path / "d.parquet")
        weight = "weight" if "weight" in bad.columns else None
        with pytest.raises(ValueError, match=match):
            SparseTensorClassifier().fit(tmp_path / "d.parquet", "label", weight)
