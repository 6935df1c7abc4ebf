"""A database server and clusters choose by the same items as memory."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import polars as pl
import pytest

import stc
from stc import SparseTensorClassifier
from support.choices import assert_same_choice, reviews, uneven

# PySpark 4.3 says so whenever it finds pandas 3, whether or not it is used.
PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
pytestmark = pytest.mark.filterwarnings(PANDAS)

KINDS = ["postgresql", "dask", "files on dask", "spark", "files on spark"]


def held(kind: str, frame: pl.DataFrame, request: pytest.FixtureRequest, folder: Path) -> Any:
    """The rows in several parts, where a server reads them."""
    folder.mkdir()
    for k, part in enumerate(frame.iter_slices(140)):
        part.write_parquet(folder / f"{k}.parquet")
    if kind == "postgresql":
        url, name = request.getfixturevalue("postgresql_url"), f"rows {uuid.uuid4()}"
        with adbc.connect(url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, frame.to_arrow(), mode="create")
            connection.commit()
        return stc.source(url, name)
    server = request.getfixturevalue("dask_client" if "dask" in kind else "spark")
    if kind.startswith("files"):
        return stc.source(f"{folder}/*.parquet", on=server)
    if kind == "spark":
        return server.read.parquet(str(folder)).repartition(5)
    import dask.dataframe as dd

    return dd.read_parquet(folder, split_row_groups=True)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so low that most items are left out."""
    monkeypatch.setattr("stc.choosing.MOST_ROWS", 300)
    monkeypatch.setattr("stc._training.choice.MOST_ITEMS", 90)
    monkeypatch.setattr("stc._training.choice.MOST_DOCUMENTS", 90)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_choice_as_in_memory(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    frame, texts = uneven(), reviews()
    model = SparseTensorClassifier().fit(frame.drop("weight"), "label", frame["weight"])
    assert ("a", "c") in model.interactions_
    for same in (frame, frame.sort("label", "a")):
        data = held(kind, same, request, tmp_path / uuid.uuid4().hex)
        assert_same_choice(model, SparseTensorClassifier().fit(data, "label", "weight"))
    model = SparseTensorClassifier().fit(texts["text"], texts["label"])
    data = stc.source(held(kind, texts, request, tmp_path / "texts"), text="text")
    assert_same_choice(model, SparseTensorClassifier().fit(data, "label"))
