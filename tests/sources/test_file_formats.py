"""The table of file formats: what is written in one is read back the same."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest

import stc
from stc._utils.file_formats import (
    FORMATS,
    FileFormat,
    find_format,
    format_of,
    suffixes,
    write_frames,
)
from stc.exceptions import ParameterError

FRAME = pl.DataFrame({"name": ["a,b", 'c "d"', "e\tf"], "size": [1, 2, None]})
NESTED = pl.DataFrame({"tags": [["a"], ["b", "c"]]})


@pytest.mark.parametrize("suffix", suffixes())
def test_a_written_file_is_read_back(tmp_path: Path, suffix: str) -> None:
    path = write_frames(FRAME.iter_slices(2), FRAME.schema, tmp_path / f"d{suffix.upper()}")
    found = stc.source(path).backend.head(FRAME.columns, 9)
    assert found.rows() == FRAME.rows()
    with gzip.open(tmp_path / f"z{suffix}.gz", "wb") as file:
        file.write(path.read_bytes())
    assert stc.source(file.name).backend.head(FRAME.columns, 9).rows() == FRAME.rows()


@pytest.mark.parametrize("file_format", FORMATS, ids=lambda known: known.name)
def test_what_the_table_says_is_so(tmp_path: Path, file_format: FileFormat) -> None:
    assert f".{file_format.name}" == file_format.suffixes[0]
    path = tmp_path / f"d.{file_format.name}"
    write_frames([FRAME], FRAME.schema, path)
    content = path.read_bytes()
    assert content.startswith(file_format.magic)
    assert (content.count(b"\n") >= FRAME.height) == file_format.lines
    if file_format.nested:
        write_frames([NESTED], NESTED.schema, path)
        assert stc.source(path).backend.head(["tags"], 2).equals(NESTED)
        return
    with pytest.raises(ParameterError, match="cannot hold several values in a cell") as refused:
        write_frames([NESTED], NESTED.schema, path)
    assert (refused.value.column, refused.value.path) == ("tags", str(path))
    assert path.read_bytes() == content


def test_the_suffix_names_the_format() -> None:
    assert format_of("A.CSV.GZ").name == "csv"
    assert format_of(Path("a.ndjson")).name == "jsonl"
    assert find_format("a.csv.gz", compressed=False) is None
    for path in ("a.xlsx", "csv", "a.csv.zip"):
        with pytest.raises(
            ParameterError, match=r"expected a file that ends with \.parquet, \.csv"
        ):
            format_of(path)
