"""Files that predictions may not replace."""

import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import stc
from stc.exceptions import OutputFileError

FORMATS = ("csv", "parquet", "jsonl")


@pytest.fixture
def model() -> stc.SparseTensorClassifier:
    return stc.SparseTensorClassifier(**stc.STC_Q).fit(pl.DataFrame({"a": ["u", "v"]}), ["x", "y"])


def data_file(folder: Path, kind: str) -> Path:
    path = folder / f"data.{kind}"
    frame = pl.DataFrame({"a": ["u", "v"]})
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](
        path
    )
    return path


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "coverage"])
def test_the_input(
    model: stc.SparseTensorClassifier, kind: str, method: str, tmp_path: Path
) -> None:
    path = data_file(tmp_path, kind)
    before = path.read_bytes()
    with pytest.raises(OutputFileError, match="is the input, too; name another file") as caught:
        getattr(model, method)(path, to=path)
    assert caught.value.path == str(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a pattern", "a link", "a hard link"])
def test_the_input_by_another_name(
    model: stc.SparseTensorClassifier, name: str, tmp_path: Path
) -> None:
    path, other = data_file(tmp_path, "csv"), tmp_path / "other.csv"
    source = stc.source(str(tmp_path / "data*.csv") if name == "a pattern" else path)
    if name == "a pattern":
        other = path
    elif name == "a link":
        other.symlink_to(path)
    else:
        os.link(path, other)
    before = path.read_bytes()
    with pytest.raises(OutputFileError, match="is the input, too"):
        model.predict(source, to=other)
    assert path.read_bytes() == before


def test_a_model(model: stc.SparseTensorClassifier, tmp_path: Path) -> None:
    path, place = data_file(tmp_path, "csv"), tmp_path / "model.parquet"
    model.save(place)
    with pytest.raises(OutputFileError, match="is a model; name another file"):
        model.predict(path, to=place)
    with pytest.raises(OutputFileError, match="is a model; name another file"):
        model.predict(pl.read_csv(path), to=place)
    assert stc.load(place).predict(path).tolist() == ["x", "y"]


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 damaged PAR1", b"", b"other"])
def test_other_files_are_replaced(
    model: stc.SparseTensorClassifier, content: bytes, tmp_path: Path
) -> None:
    path, place = data_file(tmp_path, "csv"), tmp_path / "out.parquet"
    place.write_bytes(content)
    model.predict(path, to=place)
    model.predict(path, to=place)
    assert pl.read_parquet(place)["prediction"].to_list() == ["x", "y"]


MOMENTS = np.array(["2024-05-01T00:00:00.000000001", "2024-05-01T00:00:00.000000002"], "M8[ns]")
UUIDS = [uuid.UUID(int=1), uuid.UUID(int=2)]


@pytest.mark.parametrize("labels", [MOMENTS, UUIDS, [2**60, 2**60 + 1]])
def test_labels_stay_different(labels: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["u", "v"]})
    model = stc.SparseTensorClassifier(**stc.STC_Q).fit(frame, labels)
    path = tmp_path / "predicted.parquet"
    model.predict(data_file(tmp_path, "parquet"), to=path)
    found = pl.read_parquet(path)["prediction"]
    assert found.n_unique() == 2
    if labels is MOMENTS:
        np.testing.assert_array_equal(found.to_numpy(), MOMENTS)
    else:
        assert found.to_list() == (list(map(str, labels)) if labels is UUIDS else labels)
