"""Answers that are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stc
from stc.sources import prediction
from support.conformance import assert_same
from support.edge_cases import FRAME, IN_MEMORY, ITEMS, plain
from support.models import paper_model


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_answers_for_a_frame_in_memory_are_written(tmp_path: Path, kind: str) -> None:
    data = IN_MEMORY[kind](FRAME.drop("w"))
    to = plain().predict_proba(data, to=tmp_path / "answers.csv")
    found = pl.read_csv(to)
    assert found.columns == ["class", "probability_p", "probability_q"]
    assert_same(plain().predict_proba(ITEMS), found.select("^prob.*$").to_numpy())


def test_a_file_is_replaced_by_its_answers_only_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stc.sources.files.BATCH_ROWS", 2)
    path, out = tmp_path / "d.parquet", tmp_path / "out.parquet"
    FRAME.drop("w").write_parquet(path)
    FRAME.drop("w").write_parquet(out)
    model = plain()
    calls: list[int] = []

    def failing(predictor: Any, items: pl.DataFrame) -> pl.DataFrame:
        calls.append(items.height)
        if len(calls) == 3:
            raise ValueError("in the middle")
        return pl.DataFrame({"prediction": predictor.predict(items)})

    with monkeypatch.context() as patched:
        patched.setitem(prediction.ANSWERS, "predict", failing)
        with pytest.raises(ValueError, match="in the middle"):
            model.predict(path, to=out)
    assert pl.read_parquet(out).columns == ["a", "b", "class"]
    assert sorted(tmp_path.iterdir()) == [path, out]
    model.predict(path, to=out)
    assert pl.read_parquet(out)["prediction"].to_list() == ["p", "q", "p", "q"]


def test_answers_never_hide_a_column(tmp_path: Path) -> None:
    to = tmp_path / "answers.csv"
    with pytest.raises(ValueError, match=r"'prediction'.*rename"):
        plain().predict(FRAME.drop("w").with_columns(prediction=1), to=to)
    with pytest.raises(ValueError, match=r"'probability_p'.*rename"):
        plain().predict_proba(FRAME.drop("w").with_columns(probability_p=1), to=to)
    for wrong in ("answers.xlsx", tmp_path, ""):
        with pytest.raises(ValueError, match="ends with"):
            plain().predict(FRAME.drop("w"), to=wrong)
    with pytest.raises(TypeError, match="frame or a source"):
        plain().predict([["x", 1]], to=to)
    assert not to.exists()


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("b,more,a\n1,u,x\n2,u,y\n")
    assert plain().predict(path).tolist() == ["p", "q"]
    path.write_text("id\n1\n")
    with pytest.raises(ValueError, match="no column 'a'"):
        plain().predict(path)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".arrow"])
def test_several_labels_are_written_as_lists(tmp_path: Path, ending: str) -> None:
    items = pl.DataFrame({"a": ["x", "y"]})
    model = paper_model(label_threshold=0.01).fit(items, [["p"], ["p", "q"]])
    to = model.predict(items, to=tmp_path / f"answers{ending}")
    read: Any = {".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet, ".arrow": pl.read_ipc}[
        ending
    ]
    assert read(to)["prediction"].to_list() == [["p"], ["p", "q"]]


def test_a_model_of_documents_takes_the_column_or_the_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "body": ["good fun", "dull"], "class": ["+", "-"]})
    frame.write_parquet(tmp_path / "d.parquet")
    model = paper_model().fit(stc.source(tmp_path / "d.parquet", text="body"), "class")
    for data in (tmp_path / "d.parquet", frame, frame.to_dicts(), frame["body"], [*frame["body"]]):
        assert model.predict(data).tolist() == ["+", "-"]
    with pytest.raises(ValueError, match="'body'"):
        model.predict(frame.drop("body"))
