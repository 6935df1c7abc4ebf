"""The sources that need no server, against memory."""

from __future__ import annotations

import sqlite3
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from sqlalchemy import create_engine

import stc
from support.conformance import Place, SourceBehaviour, SourceConformance, two_files

CELLS = "a cell of this format holds one value"
LISTS = dict.fromkeys(
    [
        "several values", "several labels", "learnt thresholds", "defaults, several values",
        "defaults, several labels",
    ],
    CELLS,
)  # fmt: skip


def _file(folder: Path, ending: str) -> Place:
    numbers = count()

    def put(frame: pl.DataFrame) -> Path:
        path = folder / f"data{next(numbers)}{ending}"
        write = {
            ".parquet": frame.write_parquet,
            ".csv": frame.write_csv,
            ".jsonl": frame.write_ndjson,
            ".arrow": frame.write_ipc,
        }
        write[ending](path)
        return path

    return Place(put, pl.read_parquet, LISTS if ending == ".csv" else {})


def _files(folder: Path) -> Place:
    """Two files by a glob."""

    def put(frame: pl.DataFrame) -> str:
        return f"{two_files(frame, folder)}/*.parquet"

    return Place(put, pl.read_parquet)


def _relation() -> Place:
    connection = duckdb.connect()

    def put(frame: pl.DataFrame) -> Any:
        connection.execute("SET python_enable_replacements = true")
        return connection.from_arrow(frame.to_arrow())

    return Place(put, lambda relation: relation.pl())


def _sqlite(folder: Path) -> Place:
    numbers = count()

    def put(frame: pl.DataFrame) -> Any:
        if any(dtype.is_nested() for dtype in frame.dtypes):
            raise TypeError(CELLS)
        path, names = folder / f"data{next(numbers)}.db", [f'"{name}"' for name in frame.columns]
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE items ({', '.join(names)})")
            marks = ", ".join("?" * len(names))
            rows = frame.with_columns(pl.col(pl.Boolean).cast(pl.String)).rows()
            told = [[{"true": "True", "false": "False"}.get(v, v) for v in row] for row in rows]
            connection.executemany(f"INSERT INTO items VALUES ({marks})", told)
        connection.close()
        return stc.source(create_engine(f"sqlite:///{path}"), "items")

    return Place(put, lambda frame: frame, LISTS)


PLACES = [".parquet", ".csv", ".jsonl", ".arrow", "glob", "lazy", "duckdb", "sqlite"]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where the data is."""
    kind = request.param
    if kind == "lazy":
        return Place(lambda frame: stc.source(frame.lazy()), pl.read_parquet)
    made = {
        "glob": lambda: _files(tmp_path),
        "duckdb": _relation,
        "sqlite": lambda: _sqlite(tmp_path),
    }
    return made[kind]() if kind in made else _file(tmp_path, kind)


class TestSources(SourceConformance):
    """Every kind of model."""


class TestSourceBehaviour(SourceBehaviour):
    """What does not depend on the kind."""
