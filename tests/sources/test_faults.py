"""Data that cannot be read: the error names the file, the row and the column."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlalchemy

import stc
from stc.exceptions import DataError, MissingColumnError, ParameterError, SourceFileError
from stc.sources.faults import find_fault
from support.edge_cases import FRAME, plain
from support.models import paper_model

RECORD = '{"a": 1, "class": "x"}\n'
ENCODING = "the text is not UTF-8; convert the file to UTF-8"
# Name of the file, its content, and the row, the column and the message of the error.
MALFORMED: list[tuple[str, str | bytes, int | None, str | None, str]] = [
    ("d.csv", "", None, None, "the file is empty"),
    ("d.csv", "a,class\n1,x\n\n1,2,x\n", 2, None, "the row has 3 cells, the header 2; put"),
    ("d.csv", 'a,class\n1,x\n"2,y\n3,z\n', 1, None, "a quote is never closed; double"),
    ("d.csv", 'a,class\n"1,x\n2,y\n', 0, None, "a quote is never closed; double"),
    ("d.csv", b"a,class\n1,x\n\xe9,x\n", 1, "a", ENCODING),
    ("d.tsv", "a\tclass\n1\tx\n1\t2\tx\n", 1, None, "the row has 3 cells"),
    ("d.csv.gz", gzip.compress(b"a,class\n1,x\n1,2,x\n"), 1, None, "the row has 3 cells"),
    ("d.csv.gz", b"neither", None, None, "not complete gzip data"),
    ("d.csv.gz", gzip.compress(bytes(range(256)))[:99], None, None, "not complete gzip data"),
    ("d.jsonl", "", None, None, "the file is empty"),
    ("d.jsonl", "\n\n", None, None, "cannot be read as JSON lines"),
    ("d.jsonl", "[1, 2]\n", 0, None, "the line is not a JSON object"),
    ("d.jsonl", RECORD * 20_000 + "\n3\n", 20_000, None, "the line is not a JSON object"),
    ("d.jsonl", RECORD + '{"a":\n', 1, None, "the line is not JSON: Expecting value"),
    ("d.jsonl", RECORD.encode() + b'{"a": "\xff"}\n', 1, None, ENCODING),
    ("d.jsonl", RECORD + RECORD.replace("1", "[1]"), 1, "a", "a list or an object in some lines"),
    ("d.jsonl", RECORD * 20_000 + RECORD.replace("1", '"u"'), None, None, "cannot parse 'u'"),
    ("d.parquet", "", None, None, "the file is empty"),
    ("d.parquet", "neither this nor that", None, None, "cannot be read as Parquet"),
    ("d.parquet", b"PAR1" + bytes(99) + b"PAR1", None, None, "cannot be read as Parquet"),
    ("d.arrow", "neither this nor that", None, None, "cannot be read as Arrow IPC"),
]


@pytest.mark.parametrize(
    ("name", "content", "row", "column", "message"),
    MALFORMED,
    ids=[f"{name}: {message}" for name, _, _, _, message in MALFORMED],
)
def test_a_malformed_file(
    tmp_path: Path, name: str, content: Any, row: int | None, column: str | None, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError) as refused:
        paper_model().fit(path, "class")
    error = refused.value
    assert (error.path, error.row, error.column) == (str(path), row, column)
    assert message in str(error)
    assert pickle.loads(pickle.dumps(error)).path == str(path)


@pytest.mark.parametrize("place", [4, -99])
def test_a_damaged_parquet_file(tmp_path: Path, place: int) -> None:
    path = tmp_path / "d.parquet"
    pl.DataFrame({"a": [f"v{k}" for k in range(9999)], "class": ["x"] * 9999}).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[place : place + 50] = bytes([255]) * 50  # of the first page, or of the footer
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as Parquet") as refused:
        paper_model().fit(path, "class")
    assert refused.value.path == str(path)


def test_rows_are_counted_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,class\n1,x\n2,y\n")
    (tmp_path / "2.csv").write_text("a,class\n1,x\n2,3,y\n")
    with pytest.raises(DataError) as refused:
        paper_model().fit(f"{tmp_path}/*.csv", "class")
    assert (refused.value.path, refused.value.row) == (str(tmp_path / "2.csv"), 3)
    (tmp_path / "2.csv").write_text("b,class\n1,x\n")
    with pytest.raises(DataError, match=r"its columns are \['b', 'class'\]") as refused:
        paper_model().fit(f"{tmp_path}/*.csv", "class")
    assert (refused.value.path, refused.value.row) == (str(tmp_path / "2.csv"), None)


def test_a_header_is_not_a_row(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"a,cl\xe9ss\n1,x\n")
    error = find_fault([str(tmp_path / "d.csv")], ",")
    assert error is not None
    assert (error.row, error.column) == (None, "cl\udce9ss")


def test_files_that_are_well_formed_have_no_fault(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text('\ufeff\n\na,class\n"x\ny",1\n\n2,3\n')
    (tmp_path / "d.jsonl").write_text(f"{RECORD}\n{RECORD}")
    assert find_fault([str(tmp_path / "d.csv")], ",") is None
    assert find_fault([str(tmp_path / "d.jsonl")], None) is None


def test_files_with_other_columns_or_types(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "1.parquet")
    FRAME.drop("a").write_parquet(tmp_path / "2.parquet")
    with pytest.raises(MissingColumnError, match="no column 'a'") as refused:
        paper_model().fit(f"{tmp_path}/*.parquet", "class")
    assert refused.value.path == str(tmp_path / "2.parquet")
    FRAME.with_columns(a=pl.lit([1, 2])).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"its parts are of the types List.* and ") as refused:
        paper_model().fit(f"{tmp_path}/*.parquet", "class")
    assert refused.value.column == "a"
    (tmp_path / "3.csv").write_text("a,class\n1,x\n")
    with pytest.raises(ParameterError, match="the format differs") as mixed:
        stc.source(f"{tmp_path}/[23].*")
    assert mixed.value.path == str(tmp_path / "3.csv")


def test_files_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "d.parquet"
    FRAME.write_parquet(path)
    data = stc.source(path)
    with monkeypatch.context() as patched:  # root may read everything
        patched.setattr(os, "access", lambda *_: False)
        with pytest.raises(SourceFileError, match="no permission to read the file") as refused:
            stc.source(path)
    assert refused.value.path == str(path)
    path.unlink()
    with pytest.raises(SourceFileError, match=r"(?i)no such file") as refused:
        paper_model().fit(data, "class")
    assert refused.value.path == str(path)
    with pytest.raises(SourceFileError, match=r"read remote files with stc\.source\(polars"):
        stc.source("s3://bucket/d.parquet")


def test_what_is_decompressed_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(b"a,class\n1,x\n2,y\n"))
    data = stc.source(path)
    assert paper_model().fit(data, "class").predict(data).tolist() == ["x", "y"]
    assert len(list(tmp_path.iterdir())) == 2
    del data
    assert list(tmp_path.iterdir()) == [path]
    path.write_bytes(gzip.compress(os.urandom(9999))[:5000])
    with pytest.raises(DataError, match="not complete gzip data"):
        stc.source(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "d.parquet"
    folder.mkdir()
    FRAME.drop("w").write_parquet(folder / "part.parquet")
    assert paper_model().fit(folder, "class").predict(folder).tolist() == [*FRAME["class"]]


def test_the_name_of_a_file_is_not_a_pattern(tmp_path: Path) -> None:
    for suffix in (".csv", ".jsonl", ".parquet", ".arrow"):
        path = plain().predict(FRAME.drop("w"), to=tmp_path / f"a[0]{suffix}")
        assert stc.source(path).backend.head(["class"], 9)["class"].to_list() == [*FRAME["class"]]


def test_a_lazy_frame_that_cannot_be_evaluated() -> None:
    lazy = pl.LazyFrame({"a": ["1", "x"], "class": ["p", "q"]}).cast({"a": pl.Int64})
    with pytest.raises(DataError, match="cannot be read as a lazy frame: conversion"):
        paper_model().fit(stc.source(lazy), "class")


def test_a_relation_that_cannot_be_evaluated() -> None:
    connection = duckdb.connect()
    relation = connection.sql(
        "SELECT CAST(CASE WHEN k = 5000 THEN 'x' ELSE '1' END AS INTEGER) AS a, 'p' AS class "
        "FROM range(9000) AS numbers(k)"
    )
    with pytest.raises(DataError, match="DuckDB cannot evaluate the relation: Conversion"):
        paper_model().fit(relation, "class")
    connection.execute("CREATE TABLE taken AS SELECT 1 AS a")
    answered = connection.from_arrow(FRAME.drop("w").to_arrow())
    with pytest.raises(ParameterError, match=r"to='taken': .*already exists"):
        plain().predict(answered, to="taken")


def test_a_connection_can_be_used_after_an_error() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT k / 7 AS a, 'p' AS class, -1 AS w FROM range(900000) AS t(k)")
    with pytest.raises(DataError, match="must be 0 or between 1e-100 and 1e100") as refused:
        paper_model().fit(relation, "class", "w")
    assert connection.sql("SELECT 1").fetchall() == [(1,)]
    assert refused.value.__traceback__ is not None  # with all that its frames refer to


def test_a_database_that_cannot_be_read(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/d.db"
    engine = sqlalchemy.create_engine(url)
    for given in (url, engine):
        with pytest.raises(SourceFileError, match="there is no such file") as refused:
            stc.source(given, "items")
        assert refused.value.path == f"{tmp_path}/d.db"
    assert list(tmp_path.iterdir()) == []  # SQLite would have created it
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE other (a)"))
    with pytest.raises(ParameterError, match="the database has no table 'items'"):
        stc.source(url, "items")
    with pytest.raises(ParameterError, match=r"^this is not the URL of a database; write it as in"):
        stc.source("a password: secret", "items")
    with pytest.raises(ParameterError, match="'oracle9://ada@h/d' is not a URL of SQLAlchemy"):
        stc.source("oracle9://ada:secret@h/d", "items")
    with pytest.raises(TypeError, match=r"a table is read from an engine or a URL, got \w*Path"):
        stc.source(tmp_path / "d.db", "items")
    FRAME.write_database("items", engine)
    data = stc.source(url, "items")
    with pytest.raises(ParameterError, match="to='items': the database already has this table"):
        plain().predict(data, to="items")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE items"))
    with pytest.raises(SourceFileError, match="the database cannot be read: no such") as refused:
        paper_model().fit(data, "class")
    assert refused.value.path == url
    engine.dispose()


def test_objects_that_are_not_sources() -> None:
    with pytest.raises(TypeError, match="dict is not a source; use a path"):
        stc.source({})
    with pytest.raises(TypeError, match=r"on must be a SparkSession or .*, got str"):
        stc.source("d.parquet", on="cluster")
    for wrong in ({"columns": []}, {"columns": ["a"], "text": "b"}):
        with pytest.raises(ParameterError, match="columns must name at least one"):
            stc.source(FRAME.lazy(), **wrong)
