"""A model as a file: exact, whole or not at all, readable by others, and safe to open."""

from __future__ import annotations

import ast
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import duckdb
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal
from scipy import sparse

import stc
from stc import ModelFileError, SparseTensorClassifier, load
from stc.archiving import FORMAT
from stc.files import columns, exclusively, inspection
from stc.plain import from_plain
from support import broken_files, golden_files
from support.conformance import SETTINGS, assert_same
from support.store_cases import injections


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.stc.parquet"


def exactly(one: Any, other: Any) -> None:
    """Bit for bit the same."""
    if isinstance(one, list) and one and isinstance(one[0], np.ndarray):
        for own, theirs in zip(one, other, strict=True):
            exactly(own, theirs)
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        np.testing.assert_array_equal(one, other)
    else:
        assert_same(one, other)


def assert_exact(one: SparseTensorClassifier, other: SparseTensorClassifier, X: Any) -> None:
    """Two models are the same, and answer bit for bit the same."""
    assert_frame_equal(one.corpus_, other.corpus_, check_exact=True)
    for method in ("predict_proba", "predict_log_proba", "predict", "coverage"):
        exactly(getattr(one, method)(X), getattr(other, method)(X))
    assert one.policy_ == other.policy_
    assert one.get_params().keys() == other.get_params().keys()
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    mine, theirs = one._learnt, other._learnt
    assert mine.batches == theirs.batches
    assert mine.roles == theirs.roles
    assert mine.model.form == theirs.model.form
    assert mine.model.classes.dtype == theirs.model.classes.dtype
    for name in ("values", "history"):
        a, b = getattr(mine, name), getattr(theirs, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert_frame_equal(a, b, check_exact=True)
    if mine.model.form.multilabel:
        exactly(one.label_threshold_, other.label_threshold_)


# --- what comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_a_loaded_model_is_the_saved_one_and_goes_on_learning(name: str, path: Path) -> None:
    setting = SETTINGS[name]
    frame = setting.data()
    half = frame[: frame.height // 2]
    model = setting.model().fit(*setting.given(half), setting.weights(half))
    model.save(path)
    again = load(path)
    items = setting.features(frame)
    assert_exact(model, again, items)
    assert str(model.explain(items)) == str(again.explain(items))
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
    model = SparseTensorClassifier(dimensions="each", policy=policy).fit(X, y, weight)
    assert columns.order_of(model._learnt.model) is not None
    model.save(path)
    assert_exact(model, load(path), X)


def test_counts_with_an_indicator(path: Path) -> None:
    X = sparse.random(40, 12, 0.4, format="csr", random_state=1)
    y = np.eye(3, dtype=int)[np.arange(40) % 3] | np.eye(3, dtype=int)[np.arange(40) % 2]
    model = SparseTensorClassifier().fit(X, y)
    model.save(path)
    assert_exact(model, load(path), X)
    named = SparseTensorClassifier().fit(X, pl.DataFrame(y, schema=["p", "q", "r"]))
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
        model = SparseTensorClassifier(targets=["one", "two"]).fit(frame)
        X: Any = frame.select("x")
    else:
        X = [["a"], ["b"]]
        model = SparseTensorClassifier().fit(X, labels)
    model.save(path)
    assert_exact(model, load(path), X)


def test_strange_texts_come_back(path: Path) -> None:
    texts = injections(120)
    strange = [own for own in texts if len(own) < 1000]
    records = [{name: value} for name in strange[:12] for value in texts]
    labels = [strange[k % len(strange)] for k in range(len(records))]
    model = SparseTensorClassifier().fit(records, labels)
    model.partial_fit([{"\0": "a\0b"}], ["x\0y"], batch_id="\0'")
    model.save(path)
    assert_exact(model, load(path), records)


def test_texts_that_look_like_the_digest(path: Path) -> None:
    zeros = "0" * 64
    model = SparseTensorClassifier().fit([{zeros: zeros}, {"stc.digest": zeros}], [zeros, "x"])
    model.save(path)
    assert_exact(model, load(path), [{zeros: zeros}])


def test_labels_that_look_alike_are_told_apart(path: Path) -> None:
    y = pl.Series([{1: 0.5, 2: 0.5}, {2: 1.0}], dtype=pl.Object)
    model = SparseTensorClassifier().fit([["a"], ["b"]], y.to_list())
    model.save(path)
    assert_exact(model, load(path), [["a"]])
    assert columns._names([1, "1"]) == ["1", '"1"']
    assert columns._names(["a", "a", "b"]) == ["a", "a", "b"]


def test_many_entries_are_cut_into_groups(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "_ROWS", 7)
    monkeypatch.setattr("stc.files.MOST_ROWS", 14)
    X, y = stc.load_zoo()
    model = SparseTensorClassifier().fit(X, y)
    model.save(path)
    groups = duckdb.sql(f"SELECT count(DISTINCT row_group_id) FROM parquet_metadata('{path}')")
    assert groups.fetchall()[0][0] >= 167 // 7
    assert_exact(model, load(path), X)


def test_a_model_of_a_store_is_saved_with_its_batches(path: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/models.db"
    model = SparseTensorClassifier(power=0.3, store=store).partial_fit([["a"]], ["x"], batch_id="1")
    model.save(path)
    again = load(path)
    assert again.store is None
    assert again.power == 0.3
    assert again.partial_fit([["a"]], ["x"], batch_id="1").class_mass_.tolist() == [1.0]


def test_a_tokenizer_is_given_again(path: Path) -> None:
    model = SparseTensorClassifier(tokenizer=str.split).fit(["a-b c", "d"], ["x", "y"])
    model.save(path)
    with pytest.raises(ValueError, match=r"tokenizer 'str.split'.*load\(path, tokenizer="):
        load(path)
    assert_exact(model, load(path, tokenizer=str.split), ["a-b d"])


def test_what_is_not_fitted_or_cannot_answer_is_not_saved(path: Path) -> None:
    with pytest.raises(Exception, match="not fitted"):
        SparseTensorClassifier().save(path)
    model = SparseTensorClassifier().fit([["a"]], ["x"]).set_params(policy=[["b"]])
    with pytest.raises(ValueError, match="names the dimension 'b'"):
        model.save(path)
    assert not path.exists()


def test_what_could_not_be_loaded_is_not_saved(path: Path) -> None:
    wide = SparseTensorClassifier().fit(sparse.csr_array((1, 1 << 26)), ["x"])
    with pytest.raises(ValueError, match="too many attributes"):
        wide.save(path)
    assert not path.exists()
    hashed = SparseTensorClassifier().fit(sparse.csr_array(([1.0], ([0], [7])), (1, 1 << 22)), [1])
    hashed.save(path)
    assert load(path).n_features_in_ == 1 << 22


def test_pickle_and_joblib_still_work(path: Path, tmp_path: Path) -> None:
    X, y = stc.load_zoo()
    model = SparseTensorClassifier().fit(X, y)
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
    assert model._learnt.batches == fresh._learnt.batches


# --- for others to read ---------------------------------------------------------------------------


def test_others_can_read_it(path: Path) -> None:
    X, y = stc.load_zoo()
    model = SparseTensorClassifier().fit(X, y)
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
    model = SparseTensorClassifier().fit(X, y)
    model.save(path)
    metadata = {"stc": pl.read_parquet_metadata(path)["stc"]}
    pl.read_parquet(path).write_parquet(path, metadata=metadata, compression="snappy")
    assert_exact(model, load(path), X)


# --- whole or not at all --------------------------------------------------------------------------


def test_what_goes_wrong_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SparseTensorClassifier().fit([["a"]], ["x"])
    model.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("stc.files._seal", lambda part: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.partial_fit([["b"]], ["y"]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    model = SparseTensorClassifier().fit([["a"]], ["x"])
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        model.save(tmp_path / "nowhere" / "model.parquet")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "model.parquet")


def test_what_a_killed_process_left_is_taken_away(path: Path) -> None:
    old = path.with_name(f".{path.name}.1.part")
    fresh = path.with_name(f".{path.name}.2.part")
    for own in (old, fresh):
        own.write_text("half")
    os.utime(old, (0, 0))
    SparseTensorClassifier().fit([["a"]], ["x"]).save(path)
    assert not old.exists()
    assert fresh.exists()


def test_threads_may_save_to_one_place(path: Path) -> None:
    model = SparseTensorClassifier().fit(*stc.load_zoo())
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(model.save, path) for _ in range(40)]:
            done.result()
    assert_exact(model, load(path), stc.load_zoo()[0])
    assert os.listdir(path.parent) == [path.name]


def test_a_link_stays_a_link_and_a_private_file_private(path: Path) -> None:
    model = SparseTensorClassifier().fit([["a"]], ["x"])
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
    SparseTensorClassifier().fit([["a"]], ["x"]).save(path)
    assert load(path).classes_.tolist() == ["x"]


def test_one_at_a_time(path: Path) -> None:
    SparseTensorClassifier().fit([["a"]], ["x"]).save(path)

    def add() -> None:
        for _ in range(10):
            with exclusively(path):
                load(path).partial_fit([["a"]], ["x"]).save(path)

    threads = [Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load(path).class_mass_.tolist() == [41.0]


# --- safe to open ---------------------------------------------------------------------------------


def test_a_thousand_broken_files(tmp_path: Path) -> None:
    """In a process of its own, which tells how much memory it took at most."""
    done = subprocess.run(
        [sys.executable, Path(broken_files.__file__), "--times", "1000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["an error"] > 800
    assert told["a model"] > 20
    assert told["peak"] < 10**9


def saved(path: Path, **header: Any) -> None:
    """A model whose header says something else."""
    X, y = stc.load_zoo()
    SparseTensorClassifier().fit(X, y).save(path)
    metadata = pl.read_parquet_metadata(path)
    told = {**json.loads(metadata["stc"]), **header}
    pl.read_parquet(path).write_parquet(path, metadata={"stc": json.dumps(told)})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": FORMAT + 1}, "upgrade stc"),
        ({"format": 0}, "upgrade stc"),
        ({"sets": [[0]]}, "last set"),
        ({"sets": [[1], []]}, "sets are not of dimensions"),
        ({"entries": [159, 7]}, "not have as many entries"),
        ({"entries": [159, 8]}, "set 0 has 160 entries, not 159"),
        ({"declared": []}, "declares"),
        ({"class_names": {"class": ["Bug"] * 7}}, "class"),
        ({"form": {"kind": "labels", "names": [], "dtypes": ["<U99999999"], "width": 1,
                   "container": "list"}}, "too much room"),
        ({"classes": {"array": ["<U400000000", [1], ["x"]]}}, "class"),
        ({"classes": {"os.system": "true"}}, "no type that a model may hold"),
        ({"parameters": {"power": -1.0}}, "power"),
        ({"parameters": {"powder": 1.0}}, "powder"),
        ({"parameters": {"dimensions": "each"}}, "dimensions"),
        ({"batches": [1]}, "batches"),
        ({"scales": {"legs": {"knots": [2.0, 1.0]}}}, "ascending"),
        ({"scales": {"wings": {"order": ["a"]}}}, "no attribute"),
    ],
    ids=lambda own: next(iter(own)) if isinstance(own, dict) else "",
)  # fmt: skip
def test_a_header_that_cannot_be(change: Any, told: str, path: Path) -> None:
    saved(path, **change)
    with pytest.raises(ModelFileError, match=told) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_was_edited_is_refused(path: Path) -> None:
    SparseTensorClassifier().fit([["a"]], ["x"]).save(path)
    metadata = pl.read_parquet_metadata(path)
    metadata.pop("ARROW:schema")
    frame = pl.read_parquet(path).with_columns(mass=pl.col("mass") * 2)
    frame.write_parquet(path, metadata=metadata)
    with pytest.raises(ModelFileError, match="changed since it was written"):
        load(path)


def test_other_files_are_refused_in_words(path: Path) -> None:
    for raw, told in (
        (b"", "no Parquet file"),
        (pickle.dumps(print), "no Parquet file"),
        (b"PAR1", "cut short"),
        (b"PAR1" + b"\xff" * 8 + b"PAR1", "longer than the file"),
    ):
        path.write_bytes(raw)
        with pytest.raises(ModelFileError, match=told):
            load(path)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(ModelFileError, match="a table of data, and no model"):
        load(path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for strange in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(ModelFileError, match="no file"):
            load(strange)
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 36)  # takes no room on the disk
    with pytest.raises(ModelFileError, match="no Parquet file"):
        load(huge)


def test_columns_within_columns_are_refused() -> None:
    leaf, group = {4: b"x"}, {4: b"x", 5: 1}
    inspection._check_schema([{4: b"root", 5: 2}, leaf, group, group, leaf])
    with pytest.raises(ModelFileError, match="not those of a model"):
        inspection._check_schema([group] * 5000 + [leaf])
    with pytest.raises(ModelFileError, match="in no group"):
        inspection._check_schema([group, leaf, leaf])


def test_what_is_said_of_types_for_others_is_not_followed(path: Path) -> None:
    X, y = stc.load_zoo()
    model = SparseTensorClassifier().fit(X, y)
    model.save(path)
    metadata = {"stc": pl.read_parquet_metadata(path)["stc"]}
    table = pl.read_parquet(path).to_arrow()
    table = table.set_column(2, "value", table["value"].dictionary_encode())
    with pq.ParquetWriter(path, table.schema) as writer:  # Arrow's schema says: categories
        writer.write_table(table)
        writer.add_key_value_metadata(metadata)
    assert_exact(model, load(path), X)


def test_columns_that_share_bytes_are_refused() -> None:
    column = {3: {9: 4, 7: 100}}
    with pytest.raises(ModelFileError, match="share bytes"):
        inspection._check_apart([{1: [column]}, {1: [column]}])
    with pytest.raises(ModelFileError, match="claims"):
        inspection._check_size(10**9, 1, 5000)
    with pytest.raises(ModelFileError, match="claims"):
        inspection._check_size(100_000, 20_000, 10**7)


def test_texts_with_room_without_end_are_as_long_as_they_are() -> None:
    assert from_plain({"array": ["<U400000000", [2], ["x", "yy"]]}).dtype == np.dtype("<U2")
    assert from_plain({"array": ["<U9", [1], ["x"]]}).dtype == np.dtype("<U9")


def test_loading_runs_nothing(path: Path) -> None:
    """No module is imported by a name in a file, and nothing is unpickled."""
    saved(path)
    script = (
        "import pickle, sys, stc; stc.SparseTensorClassifier;"
        "pickle.loads = pickle.load = pickle.Unpickler = None;"
        f"before = set(sys.modules); stc.load({str(path)!r});"
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('stc')))"
    )
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(done.stdout)
    assert not [name for name in loaded if name.partition(".")[0] not in ("polars", "encodings")]
