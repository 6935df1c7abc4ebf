"""Columns named in memory, and odd files."""

from __future__ import annotations

import copy
import gzip
import pickle
import sqlite3
import uuid
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stc
from stc.exceptions import DataError, ParameterError, SourceFileError
from support.conformance import corpus
from support.edge_cases import FRAME, IN_MEMORY, ITEMS, plain
from support.models import paper_model

CSV = "a,b,class\nx,1,p\ny,2,q\nx,1,p\nz,2,q\n"


# --- columns named in memory ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", IN_MEMORY)
class TestNamedColumns:
    def test_a_target_and_a_weight_by_name(self, kind: str) -> None:
        data = IN_MEMORY[kind](FRAME)
        model = paper_model().fit(data, "class", "w")
        weighed = paper_model().fit(ITEMS, FRAME["class"], FRAME["w"].to_numpy())
        assert corpus(model) == corpus(weighed)
        assert model.feature_names_in_.tolist() == ["a", "b"]

    def test_they_may_be_there_or_not_in_predicting(self, kind: str) -> None:
        model = paper_model().fit(IN_MEMORY[kind](FRAME), "class", "w")
        whole, items = IN_MEMORY[kind](FRAME), IN_MEMORY[kind](ITEMS)
        assert model.predict(whole).tolist() == model.predict(items).tolist()
        assert model.score(whole) == model.score(whole, "class") == 1.0

    def test_they_are_remembered(self, kind: str) -> None:
        data = IN_MEMORY[kind](FRAME)
        model = paper_model().fit(data, "class", "w").partial_fit(data)
        assert model.class_mass_.tolist() == [2.0, 6.0]
        assert copy.deepcopy(model).unlearn(data).class_mass_.tolist() == [1.0, 3.0]
        assert pickle.loads(pickle.dumps(model)).partial_fit(data).class_mass_.sum() == 12

    def test_a_wrong_name_is_refused(self, kind: str) -> None:
        with pytest.raises(ValueError, match="'clas'"):
            paper_model().fit(IN_MEMORY[kind](FRAME), "clas")
        with pytest.raises(ValueError, match="'ww'"):
            paper_model().fit(IN_MEMORY[kind](FRAME), "class", "ww")


def test_codes_with_leading_zeros_stay_texts(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("zip,size,class\n01234,0.5,001\n02345,1.5,1\n1234,-0.5,1\n")
    model = paper_model().fit(path, "class")
    assert model.classes_.tolist() == ["001", "1"]
    assert {"zip=01234", "zip=1234", "size=0.5"} < set(model.get_feature_names_out())
    assert model.predict(path).tolist() == ["001", "1", "1"]


@pytest.mark.parametrize("ignored", [[], ["id"], ["a"]], ids=len)
def test_a_line_with_too_many_cells_is_never_learnt(ignored, tmp_path):
    path = tmp_path / "ragged.csv"
    lines = ["id,a,b,class", *(f"{k},1,2,x" for k in range(2000)), "2000,1,2,3,y", "2001,1,2,y"]
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match="row 2000: the row has 5 cells, the header 4") as refused:
        paper_model().fit(stc.source(path, ignore=ignored), "class")
    assert (refused.value.path, refused.value.row) == (str(path), 2000)


def test_targets_and_a_weight_by_name_go_together(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "d.parquet")
    named = paper_model().fit(FRAME, "class", "w")
    for data in (FRAME, tmp_path / "d.parquet"):
        model = paper_model(targets="class").fit(data, sample_weight="w")
        assert corpus(model) == corpus(named)
    with pytest.raises(ValueError, match="give no y"):
        paper_model(targets="class").fit(FRAME, "class")


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".csv", b"\xef\xbb\xbf" + CSV.encode()),
        (".csv", CSV.replace("\n", "\r\n").encode()),
        (".csv", CSV.replace("x", '"x"').encode()),
        (".csv", CSV[:-1].encode()),
        (".CSV", CSV.encode()),
        (".csv.gz", gzip.compress(CSV.encode())),
        (".tsv", CSV.replace(",", "\t").encode()),
        (".jsonl.gz", gzip.compress(FRAME.drop("w").write_ndjson().encode())),
    ],
    ids=["BOM", "CRLF", "quotes", "no newline at the end", "capitals", "gz", "tabs", "jsonl.gz"],
)
def test_dialects_of_files_say_the_same(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"a name with spaces{ending}"
    path.write_bytes(content)
    assert corpus(paper_model().fit(path, "class")) == corpus(plain())


def test_another_separator(tmp_path: Path) -> None:
    content = 'a;b;class\n"1;5";x;u\n2,5;y;v\n'
    (tmp_path / "t.csv").write_text(content)
    data = stc.source(tmp_path / "t.csv", separator=";")
    model = paper_model().fit(data, "class")
    assert sorted(model.get_feature_names_out()) == ["a=1;5", "a=2,5", "b=x", "b=y"]
    assert model.predict(data).tolist() == ["u", "v"]
    (tmp_path / "t.tsv").write_text(content)
    again = paper_model().fit(stc.source(tmp_path / "t.tsv", separator=";"), "class")
    assert again.corpus_.equals(model.corpus_)
    with pytest.raises(
        ValueError, match=r"separator=';' is for \.csv and \.tsv, not for \.parquet"
    ):
        stc.source(tmp_path / "t.parquet", separator=";")
    with pytest.raises(ValueError, match="separator=';;' is not a single character; use"):
        stc.source(tmp_path / "t.csv", separator=";;")
    for other in (data, pl.LazyFrame({"a": [1]})):
        with pytest.raises(ValueError, match="separator is for the path of a CSV"):
            stc.source(other, separator=";")


def test_a_quoted_cell_holds_anything(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('a,class\n"x, ""y""\nz",p\n')
    model = paper_model().fit(path, "class")
    assert model.corpus_["value"].to_list() == ['x, "y"\nz']


def test_files_of_a_glob_may_order_their_columns_differently(tmp_path: Path) -> None:
    FRAME.drop("w")[:2].write_parquet(tmp_path / "1.parquet")
    FRAME.select("class", "b", "a")[2:].write_parquet(tmp_path / "2.parquet")
    model = paper_model().fit(f"{tmp_path}/*.parquet", "class")
    assert corpus(model) == corpus(plain())


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "not there.parquet", f"{tmp_path}/no*.csv", "nothing.jsonl"):
        with pytest.raises(SourceFileError, match=r"no such file|no file matches") as refused:
            paper_model().fit(path, "class")
        assert refused.value.path == str(path)
    with pytest.raises(ParameterError, match=r"ends with .*; name its files, as in") as refused:
        paper_model().fit(tmp_path, "class")
    assert refused.value.path == str(tmp_path)
    (tmp_path / "header.csv").write_text("a,b,class\n")
    with pytest.raises(ValueError, match="no rows"):
        paper_model().fit(tmp_path / "header.csv", "class")
    with pytest.raises(ValueError, match="no rows"):
        plain().predict(tmp_path / "header.csv")


def test_an_error_names_the_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc.sources.files.BATCH_ROWS", 1500)
    labels = ["p"] * 3012 + [None] + ["p"] * 987
    pl.DataFrame({"a": ["x"] * 4000, "class": labels}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(DataError, match=r"row 3012: Input y contains NaN") as refused:
        paper_model().fit(tmp_path / "d.parquet", "class")
    assert refused.value.row == 3012


def test_uuids_of_parquet_are_bytes_and_refused_by_name(tmp_path: Path) -> None:
    values = [uuid.UUID(int=1).bytes, uuid.UUID(int=2**100 + 255).bytes]
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(values, pa.binary(16)))
    pq.write_table(pa.table({"id": ids, "y": ["a", "b"]}), tmp_path / "ids.parquet")
    with pytest.raises(DataError, match="not UTF-8") as caught:
        paper_model().fit(tmp_path / "ids.parquet", "y")
    assert caught.value.column == "id"


def test_moments_with_a_zone_are_text_in_sqlite(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE t (at TIMESTAMPTZ, y TEXT)")
        rows = [("2024-05-01 12:00:00+02:00", "a"), ("2024-05-01 10:00:00+00:00", "b")]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    model = paper_model().fit(stc.source(url, "t"), "y")
    assert sorted(model.get_feature_names_out()) == sorted(f"at={at}" for at, _ in rows)
