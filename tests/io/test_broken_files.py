"""A model file is safe to open, whatever is in it."""

from __future__ import annotations

import ast
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import stc
from stc import ModelFileError, load
from stc.io import footer
from stc.io.header import FORMAT
from stc.io.json_values import from_json
from support import broken_files
from support.file_cases import assert_exact
from support.models import paper_model


@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_broken_files(tmp_path: Path, times: int) -> None:
    """In a process of its own, which tells how much memory it took at most."""
    done = subprocess.run(
        [sys.executable, Path(broken_files.__file__), "--times", str(times)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["an error"] > 0.8 * times
    assert told["a model"] > 0.02 * times
    assert told["peak"] < 10**9


def saved(path: Path, **header: Any) -> None:
    """A model whose header says something else."""
    X, y = stc.load_zoo()
    paper_model().fit(X, y).save(path)
    metadata = pl.read_parquet_metadata(path)
    told = {**json.loads(metadata["stc"]), **header}
    pl.read_parquet(path).write_parquet(path, metadata={"stc": json.dumps(told)})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": FORMAT + 1}, "upgrade stc"),
        ({"format": 0}, "upgrade stc"),
        ({"sets": [[0]]}, "last set"),
        ({"sets": [[1], []]}, "sets are not sets of its dimensions"),
        ({"entries": [159, 7]}, "number of rows is not that in the header"),
        ({"entries": [159, 8]}, "set 0 has 160 entries, not 159"),
        ({"declared": []}, "header.declared has another length"),
        ({"class_names": {"class": ["Bug"] * 7}}, "class"),
        ({"form": {"kind": "labels", "names": [], "dtypes": ["<U99999999"], "width": 1,
                   "container": "list"}}, "too much memory"),
        ({"classes": {"array": ["<U400000000", [1], ["x"]]}}, "class"),
        ({"classes": {"os.system": "true"}}, "not a type that a model may hold"),
        ({"parameters": {"power": -1.0}}, "power"),
        ({"parameters": {"powder": 1.0}}, "powder"),
        ({"parameters": {"dimensions": "each"}}, "dimensions"),
        ({"batches": [1]}, "batches"),
        ({"scales": {"legs": {"knots": [2.0, 1.0]}}}, "ascending"),
        ({"scales": {"wings": {"order": ["a"]}}}, "unknown attribute"),
    ],
    ids=lambda own: next(iter(own)) if isinstance(own, dict) else "",
)  # fmt: skip
def test_a_header_that_cannot_be(change: Any, told: str, path: Path) -> None:
    saved(path, **change)
    with pytest.raises(ModelFileError, match=told) as caught:
        load(path)
    assert caught.value.path == str(path)
    assert str(caught.value).startswith(f"{path}: cannot be loaded as a model: ")


def test_a_file_that_was_edited_is_refused(path: Path) -> None:
    paper_model().fit([["a"]], ["x"]).save(path)
    metadata = pl.read_parquet_metadata(path)
    metadata.pop("ARROW:schema")
    frame = pl.read_parquet(path).with_columns(mass=pl.col("mass") * 2)
    frame.write_parquet(path, metadata=metadata)
    with pytest.raises(ModelFileError, match="changed since it was written"):
        load(path)


def test_other_files_are_refused_in_words(path: Path) -> None:
    for raw, told in (
        (b"", "not a Parquet file"),
        (pickle.dumps(print), "not a Parquet file"),
        (b"PAR1", "cut short"),
        (b"PAR1" + b"\xff" * 8 + b"PAR1", "longer than the file"),
    ):
        path.write_bytes(raw)
        with pytest.raises(ModelFileError, match=told):
            load(path)
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(ModelFileError, match="a table of data, not a model"):
        load(path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for strange in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(ModelFileError, match="not a regular file"):
            load(strange)
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(1 << 36)  # takes no room on the disk
    with pytest.raises(ModelFileError, match="not a Parquet file"):
        load(huge)


def test_columns_within_columns_are_refused() -> None:
    leaf, group = {4: b"x"}, {4: b"x", 5: 1}
    footer._check_schema([{4: b"root", 5: 2}, leaf, group, group, leaf])
    with pytest.raises(ModelFileError, match="not those of a model"):
        footer._check_schema([group] * 5000 + [leaf])
    with pytest.raises(ModelFileError, match="in no group"):
        footer._check_schema([group, leaf, leaf])


def test_what_is_said_of_types_for_others_is_not_followed(path: Path) -> None:
    X, y = stc.load_zoo()
    model = paper_model().fit(X, y)
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
    with pytest.raises(ModelFileError, match="overlap"):
        footer._check_overlap([{1: [column]}, {1: [column]}])
    with pytest.raises(ModelFileError, match="claims"):
        footer._check_size(10**9, 1, 5000)
    with pytest.raises(ModelFileError, match="claims"):
        footer._check_size(100_000, 20_000, 10**7)


def test_texts_with_room_without_end_are_as_long_as_they_are() -> None:
    assert from_json({"array": ["<U400000000", [2], ["x", "yy"]]}).dtype == np.dtype("<U2")
    assert from_json({"array": ["<U9", [1], ["x"]]}).dtype == np.dtype("<U9")


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
