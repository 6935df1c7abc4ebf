"""The stores and sources that need a server, against memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc
import dask
import dask.dataframe as dd
import polars as pl
import pytest

import stc
from support.conformance import (
    Place,
    SourceBehaviour,
    SourceConformance,
    StoreBehaviour,
    StoreConformance,
    two_files,
)
from support.postgresql import Server
from support.stores import close_stores

# PySpark 4.3 says so whenever it finds pandas 3, whether or not it is used.
PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
pytestmark = pytest.mark.filterwarnings(PANDAS)


@pytest.fixture
def url(postgresql_server: Server) -> Iterator[str]:
    """A schema of its own for each test."""
    address = postgresql_server.new_schema()
    yield address
    close_stores(address)


class TestStores(StoreConformance):
    """Every kind of model, in PostgreSQL."""


class TestStoreBehaviour(StoreBehaviour):
    """What does not depend on the kind."""


def _postgresql(url: str) -> Place:
    def put(frame: pl.DataFrame) -> Any:
        name = f"Items {uuid.uuid4()}"
        with adbc.connect(url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, frame.to_arrow(), mode="create")
            connection.commit()
        return stc.source(url, name)

    return Place(put, lambda frame: frame)


def _dask(folder: Path) -> Place:

    def put(frame: pl.DataFrame) -> Any:
        own = two_files(frame, folder)
        with dask.config.set({"dataframe.convert-string": False}):
            return dd.read_parquet(own, dtype_backend="pyarrow")

    return Place(put, lambda answers: pl.from_pandas(answers.compute()))


def _spark(spark: Any, folder: Path) -> Place:
    numbers = count()

    def put(frame: pl.DataFrame) -> Any:
        path = folder / f"{next(numbers)}.parquet"
        frame.write_parquet(path)
        return spark.read.parquet(str(path))  # of one file the rows keep their order

    return Place(put, lambda answers: pl.from_arrow(answers.toArrow()))


def _clustered(on: Any, folder: Path) -> Place:
    """Files that the workers read themselves; answers are files, too."""

    def put(frame: pl.DataFrame) -> Any:
        own = two_files(frame, folder)
        return stc.source(f"{own}/*.parquet", on=on)

    return Place(put, lambda path: pl.read_parquet(f"{path}/*.parquet"), to=folder / "answers")


PLACES: dict[str, Callable[[pytest.FixtureRequest, Path], Place]] = {
    "postgresql": lambda request, folder: _postgresql(request.getfixturevalue("postgresql_url")),
    "dask": lambda request, folder: request.getfixturevalue("dask_client") and _dask(folder),
    "spark": lambda request, folder: _spark(request.getfixturevalue("spark"), folder),
    "files on dask": lambda request, folder: _clustered(
        request.getfixturevalue("dask_client"), folder
    ),
    "files on spark": lambda request, folder: _clustered(request.getfixturevalue("spark"), folder),
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where the data is."""
    return PLACES[request.param](request, tmp_path)


class TestSources(SourceConformance):
    """Every kind of model."""


class TestSourceBehaviour(SourceBehaviour):
    """What does not depend on the kind."""
