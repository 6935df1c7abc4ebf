"""What went wrong once with sources."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import sparse

import stc
from support.conformance import corpus
from support.edge_cases import FRAME, ITEMS
from support.models import paper_model


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_a_bad_weight_is_refused_wherever_it_is(bad: float) -> None:
    weights = [1.0] * 2000
    weights[1500] = bad
    frame = pl.DataFrame({"a": ["x", "y"] * 1000, "class": ["p", "q"] * 1000, "w": weights})
    words = "column 'w', row 1500: a weight must be 0 or between 1e-100 and 1e100"
    with pytest.raises(ValueError, match=words):
        paper_model().fit(duckdb.from_arrow(frame.to_arrow()), "class", "w")


def test_a_column_without_any_value() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": [None, None], "class": ["p", "q"]}).to_arrow()
    relation = duckdb.from_arrow(frame)
    found = paper_model().fit(relation, "class").corpus_
    assert found["attribute"].unique().to_list() == ["a"]


def test_columns_with_percent_signs_and_our_own_names() -> None:
    frame = pl.DataFrame({"100%": ["x", "y"], "%(a)s": ["u", "v"], "class": ["p", "q"]})
    for own in (frame, frame.rename({"100%": "stc_count", "%(a)s": "stc_mass"})):
        model = paper_model().fit(duckdb.from_arrow(own.to_arrow()), "class")
        assert model.predict(own.drop("class")).tolist() == ["p", "q"]


def test_documents_of_a_source_are_explained(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "body": ["good fun", "bad dull"], "class": ["+", "-"]})
    frame.write_parquet(tmp_path / "x.parquet")
    model = paper_model().fit(stc.source(tmp_path / "x.parquet", text="body"), "class")
    for items in (tmp_path / "x.parquet", frame, frame.to_dicts(), frame["body"]):
        explained = model.explain_local(items)
        assert explained.documents == ["good fun", "bad dull"]
        assert "good" in str(explained.highlight(0))
    other = frame.rename({"body": "txt"})
    other.write_parquet(tmp_path / "y.parquet")
    found = model.predict(stc.source(tmp_path / "y.parquet", text="txt"))
    assert found.tolist() == ["+", "-"]


def test_scores_by_names_of_columns(tmp_path: Path) -> None:
    frame = FRAME.select("a", "b", "class").with_columns(w=pl.Series([1.0, 2.0, 0.0, 4.0]))
    path = tmp_path / "x.parquet"
    frame.write_parquet(path)
    model = paper_model().fit(ITEMS[:2], FRAME["class"][:2])
    expected = model.score(frame.select(ITEMS.columns), frame["class"], frame["w"].to_numpy())
    assert model.score(frame, "class", "w") == expected
    assert model.score(path, "class", "w") == expected
    assert model.score(frame.drop("w"), "class") == model.score(path, "class")


def test_what_is_carried_along_stays_as_it_is(tmp_path: Path) -> None:
    rows = ["id,flag,a,class", "007,true,x,p", "008,maybe,y,q"]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    data = stc.source(tmp_path / "x.csv", columns=["a"])
    model = paper_model().fit(data, "class")
    model.predict(data, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "007,true,p,p"


def test_times_as_classes_are_written(tmp_path: Path) -> None:
    for unit, kind in {"D": pl.Date(), "s": pl.Datetime("us"), "ns": pl.Datetime("ns")}.items():
        days = np.array(["2026-01-01", "2026-01-02"], dtype=f"M8[{unit}]")
        model = paper_model().fit(pl.DataFrame({"a": ["x", "y"]}), days)
        model.predict(pl.DataFrame({"a": ["y"]}), to=tmp_path / "out.parquet")
        found = pl.read_parquet(tmp_path / "out.parquet")["prediction"]
        assert found.dtype == kind
        assert str(found[0]).startswith("2026-01-02")


def test_learning_from_files_of_other_widths(tmp_path: Path) -> None:
    for k, dtype in enumerate([pl.Int32, pl.Int64]):
        part = pl.DataFrame({"a": [1, 2], "class": ["p", "q"]}, schema_overrides={"a": dtype})
        part.write_parquet(tmp_path / f"[{k}].parquet")
    model = paper_model().fit(f"{tmp_path}/*.parquet", "class")
    assert model.class_mass_.tolist() == [2.0, 2.0]
    alone = paper_model().fit(f"{tmp_path}/[0].parquet", "class")
    assert alone.class_mass_.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("at", [10_001, 20_000, 60_000])
def test_a_late_exception_in_a_csv_stays_a_text(tmp_path: Path, at: int) -> None:
    cells = [str(k % 3) for k in range(70_000)]
    cells[at] = "many"
    cells[at + 1] = "2.0"
    rows = [f"{cell},{k % 2}" for k, cell in enumerate(cells)]
    (tmp_path / "x.csv").write_text("\n".join(["a,class", *rows]))
    model = paper_model().fit(tmp_path / "x.csv", "class")
    assert set(model.corpus_["value"]) == {"0", "1", "2", "many"}
    assert model.classes_.tolist() == [0, 1]


def test_thresholds_of_labels_are_learnt_from_more_than_a_few(tmp_path: Path) -> None:
    labels = [["l", "m"] if k < 1000 else ["l"] for k in range(3000)]
    frame = pl.DataFrame({"a": ["x", "y", "z"] * 1000, "labels": labels})
    frame.write_parquet(tmp_path / "x.parquet")
    memory = paper_model().fit(frame.select("a"), frame["labels"])
    model = paper_model().fit(tmp_path / "x.parquet", "labels")
    np.testing.assert_allclose(model.label_threshold_, memory.label_threshold_, atol=1e-9)


def test_only_items_in_memory_will_do(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    FRAME.select(*ITEMS.columns, "class").write_parquet(path)
    model = paper_model().fit(path, "class")
    for method in (model.predict_joint, model.policy_used):
        with pytest.raises(ValueError, match="items in memory"):
            method(path)
    with pytest.raises(ValueError, match="items in memory"):
        stc.SparseTensorClassifierCV().fit(path, "class")


def test_a_column_of_class_probabilities(tmp_path: Path) -> None:
    soft = [{"p": 0.5, "q": 0.5}, {"p": 1.0, "q": 0.0}]
    frame = pl.DataFrame({"a": ["x", "y"], "soft": soft})
    frame.write_parquet(tmp_path / "x.parquet")
    model = paper_model().fit(tmp_path / "x.parquet", "soft")
    assert corpus(model) == corpus(paper_model().fit(frame.select("a"), soft))


def test_gaps_of_sources_that_are_not_in_the_settings(tmp_path: Path) -> None:
    """Each of these fails when its gap closes; docs/scale.md lists them."""
    path = tmp_path / "x.parquet"
    pl.DataFrame({"a": ["x", "y"], "l": [0, 1], "m": [1, 1]}).write_parquet(path)
    model = paper_model().fit(stc.source(path, columns=["a"]), ["l", "m"])
    assert len(model.classes_) == 2  # two targets, and not one indicator of two labels
    counts = paper_model().fit(sparse.csr_array([[1, 0], [0, 1]]), ["p", "q"])
    with pytest.raises(ValueError, match="sparse matrix"):
        counts.predict(path)
