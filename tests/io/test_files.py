"""A model as a file: exact, whole or not at all, and readable by others."""

from __future__ import annotations

import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import stc
from stc import SparseTensorClassifier, load
from stc.exceptions import DataError
from stc.io import columns, parquet_writer
from stc.io.header import FORMAT
from support import golden_files
from support.conformance import ANY_SETTING, SETTINGS
from support.file_cases import assert_exact
from support.models import paper_model
from support.store_cases import injections

# --- what comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY_SETTING)
def test_a_loaded_model_is_the_saved_one_and_goes_on_learning(name: str, path: Path) -> None:
    setting = SETTINGS[name]
    frame = setting.data()
    half = frame[: frame.height // 2]
    model = setting.model().fit(*setting.given(half), setting.weights(half))
    model.save(path)
    again = load(path)
    items = setting.features(frame)
    assert_exact(model, again, items)
    assert str(model.explain_local(items)) == str(again.explain_local(items))
    rest = frame[frame.height // 2 :]
    for own in (model, again):
        own.partial_fit(*setting.given(rest), sample_weight=setting.weights(rest), batch_id="rest")
    assert_exact(model, again, items)
    for own in (model, again):
        own.unlearn(*setting.given(half), setting.weights(half))
    assert_exact(model, again, items)
    again.save(path)
    assert_exact(model, SparseTensorClassifier.load(path), items)


def test_the_order_of_features_comes_back(path: Path) -> None:
    # The first set shows the values of b in another order than they were learnt in.
    X = [{"a": 1, "b": 2, "c": 0.1}, {"a": 0, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 3}] * 3
    X += [{"a": k % 4, "b": k % 3, "c": k % 7} for k in range(40)]
    y = [k % 3 for k in range(len(X))]
    weight = np.random.default_rng(0).random(len(X))
    policy = [["c", "b"], ["a"], ["b"]]
    model = paper_model(dimensions="each", policy=policy).fit(X, y, weight)
    assert columns.feature_order(model.fitted_.model) is not None
    model.save(path)
    assert_exact(model, load(path), X)


def test_counts_with_an_indicator(path: Path) -> None:
    X = sparse.random(40, 12, 0.4, format="csr", random_state=1)
    y = np.eye(3, dtype=int)[np.arange(40) % 3] | np.eye(3, dtype=int)[np.arange(40) % 2]
    model = paper_model().fit(X, y)
    model.save(path)
    assert_exact(model, load(path), X)
    named = paper_model().fit(X, pl.DataFrame(y, schema=["p", "q", "r"]))
    named.save(path)
    assert_exact(named, load(path), X)
    assert pl.read_parquet(path)["class"].unique().sort().to_list() == ["p", "q", "r"]


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2],
        [True, False],
        [0.0, 2.0],
        np.array(["x", "yy"]),
        np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]"),
        [b"x", b"y"],
        [("a", 1), ("a", 2)],
    ],
    ids=["int", "bool", "float", "text", "date", "bytes", "tuple"],
)
def test_kinds_of_classes_come_back(labels: Any, path: Path) -> None:
    if isinstance(labels[0], tuple):
        frame = pl.DataFrame({"x": ["a", "b"], "one": ["a", "a"], "two": [1, 2]})
        model = paper_model(targets=["one", "two"]).fit(frame)
        X: Any = frame.select("x")
    else:
        X = [["a"], ["b"]]
        model = paper_model().fit(X, labels)
    model.save(path)
    assert_exact(model, load(path), X)


def test_strange_texts_come_back(path: Path) -> None:
    texts = injections(120)
    strange = [own for own in texts if len(own) < 1000]
    records = [{name: value} for name in strange[:12] for value in texts]
    labels = [strange[k % len(strange)] for k in range(len(records))]
    model = paper_model().fit(records, labels)
    model.partial_fit([{"\0": "a\0b"}], ["x\0y"], batch_id="\0'")
    model.save(path)
    assert_exact(model, load(path), records)


def test_texts_that_look_like_the_digest(path: Path) -> None:
    zeros = "0" * 64
    model = paper_model().fit([{zeros: zeros}, {"stc.digest": zeros}], [zeros, "x"])
    model.save(path)
    assert_exact(model, load(path), [{zeros: zeros}])


def test_labels_that_look_alike_are_told_apart(path: Path) -> None:
    y = pl.Series([{1: 0.5, 2: 0.5}, {2: 1.0}], dtype=pl.Object)
    model = paper_model().fit([["a"], ["b"]], y.to_list())
    model.save(path)
    assert_exact(model, load(path), [["a"]])
    assert columns._label_texts([1, "1"]) == ["1", '"1"']
    assert columns._label_texts(["a", "a", "b"]) == ["a", "a", "b"]


def test_many_entries_are_cut_into_groups(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_writer, "_ROWS", 7)
    X, y = stc.load_zoo()
    model = paper_model().fit(X, y)
    model.save(path)
    groups = duckdb.sql(f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{path}')")
    assert groups.fetchall()[0][0] >= 167 // 7
    assert_exact(model, load(path), X)


def test_a_model_of_a_store_is_saved_with_its_batches(path: Path, tmp_path: Path) -> None:
    with stc.open_store(f"sqlite:///{tmp_path}/models.db") as store:
        model = store.create("zoo", paper_model(power=0.3))
        model.partial_fit([["a"]], ["x"], batch_id="1").save(path)
        again = load(path)
        assert_exact(model.to_estimator(), again, [["a"]])
    assert again.power == 0.3
    assert again.partial_fit([["a"]], ["x"], batch_id="1").class_mass_.tolist() == [1.0]


def test_a_tokenizer_is_given_again(path: Path) -> None:
    model = paper_model(tokenizer=str.split).fit(["a-b c", "d"], ["x", "y"])
    model.save(path)
    with pytest.raises(ValueError, match=r"tokenizer 'str.split'.*load\(path, tokenizer="):
        load(path)
    assert_exact(model, load(path, tokenizer=str.split), ["a-b d"])


def test_what_is_not_fitted_or_cannot_answer_is_not_saved(path: Path) -> None:
    with pytest.raises(Exception, match="not fitted"):
        paper_model().save(path)
    model = paper_model().fit([["a"]], ["x"]).set_params(policy=[["b"]])
    with pytest.raises(ValueError, match="names the dimension 'b'"):
        model.save(path)
    assert not path.exists()


@pytest.mark.slow
def test_what_could_not_be_loaded_is_not_saved(path: Path) -> None:
    wide = paper_model(max_entries=1 << 26).fit(sparse.csr_array((1, 1 << 26)), ["x"])
    with pytest.raises(DataError, match="too many attributes") as caught:
        wide.save(path)
    assert (caught.value.path, caught.value.hint) == (str(path), "use pickle or a store")
    strange = paper_model().partial_fit([["a"]], ["x"], batch_id="\ud800")
    with pytest.raises(DataError, match=r"holds '\\ud800', which UTF-8 cannot encode"):
        strange.save(path)
    assert not path.exists()
    hashed = paper_model().fit(sparse.csr_array(([1.0], ([0], [7])), (1, 1 << 22)), [1])
    hashed.save(path)
    assert load(path).n_features_in_ == 1 << 22


def test_pickle_and_joblib_still_work(path: Path, tmp_path: Path) -> None:
    X, y = stc.load_zoo()
    model = paper_model().fit(X, y)
    model.save(path)
    opened = load(path)
    assert_exact(model, pickle.loads(pickle.dumps(opened)), X)
    joblib.dump(opened, tmp_path / "model.joblib")
    assert_exact(model, joblib.load(tmp_path / "model.joblib"), X)


# --- golden files ---------------------------------------------------------------------------------


GOLDEN = sorted(golden_files.FOLDER.glob("*.stc.parquet"))


def test_there_is_a_golden_file_of_each_kind() -> None:
    names = {own.name for own in GOLDEN}
    assert {f"format-{FORMAT}-{kind}.stc.parquet" for kind in golden_files.KINDS} <= names


@pytest.mark.parametrize("file", GOLDEN, ids=lambda own: own.name.partition(".")[0])
def test_every_version_reads_a_golden_file(file: Path) -> None:
    model = load(file)
    fresh, items = golden_files.learnt(file.name.removesuffix(".stc.parquet").split("-", 2)[2])
    told = json.loads(file.with_suffix(".json").read_text())
    for found, wanted in zip(golden_files.answers(model, items), told, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0)
    assert model.classes_ is not None
    assert model.fitted_.state.batches == fresh.fitted_.state.batches


# --- for others to read ---------------------------------------------------------------------------


def test_others_can_read_it(path: Path) -> None:
    X, y = stc.load_zoo()
    model = paper_model().fit(X, y)
    model.save(path)
    wanted = model.corpus_.filter(pl.col("attribute") == "milk")
    query = f"""SELECT attribute, value, class, mass, support FROM '{path}'
                WHERE attribute = 'milk' ORDER BY ALL"""
    assert duckdb.sql(query).fetchall() == wanted.rows()
    frame = pd.read_parquet(path)
    assert frame[frame.attribute == "milk"]["mass"].sum() == pytest.approx(wanted["mass"].sum())
    assert json.loads(pl.read_parquet_metadata(path)["stc"])["format"] == FORMAT


def test_a_file_without_a_digest_is_read_as_it_is(path: Path) -> None:
    X, y = stc.load_zoo()
    model = paper_model().fit(X, y)
    model.save(path)
    metadata = {"stc": pl.read_parquet_metadata(path)["stc"]}
    pl.read_parquet(path).write_parquet(path, metadata=metadata, compression="snappy")
    assert_exact(model, load(path), X)


# --- whole or not at all --------------------------------------------------------------------------


def test_what_goes_wrong_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = paper_model().fit([["a"]], ["x"])
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("stc.io.parquet_writer._write_digest", lambda part: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit([["b"]], ["y"]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    model = paper_model().fit([["a"]], ["x"])
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        model.save(tmp_path / "nowhere" / "model.parquet")
    with pytest.raises(FileNotFoundError, match=r"model\.parquet"):
        load(tmp_path / "model.parquet")


def test_what_a_killed_process_left_is_taken_away(path: Path) -> None:
    old = path.with_name(f".{path.name}.1.part")
    fresh = path.with_name(f".{path.name}.2.part")
    for own in (old, fresh):
        own.write_text("half")
    os.utime(old, (0, 0))
    paper_model().fit([["a"]], ["x"]).save(path)
    assert not old.exists()
    assert fresh.exists()


def test_threads_may_save_to_one_place(path: Path) -> None:
    model = paper_model().fit(*stc.load_zoo())
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(model.save, path) for _ in range(40)]:
            done.result()
    assert_exact(model, load(path), stc.load_zoo()[0])
    assert os.listdir(path.parent) == [path.name]


def test_a_link_stays_a_link_and_a_private_file_private(path: Path) -> None:
    model = paper_model().fit([["a"]], ["x"])
    model.save(path)
    path.chmod(0o600)
    link = path.with_name("current")
    link.symlink_to(path.name)
    model.partial_fit([["b"]], ["y"]).save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert load(path).classes_.tolist() == ["x", "y"]


def test_a_name_as_long_as_a_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("m" * 247 + ".parquet")
    paper_model().fit([["a"]], ["x"]).save(path)
    assert load(path).classes_.tolist() == ["x"]
