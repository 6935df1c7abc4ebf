"""A file that claims far more than its size is refused by its footer, before it is unpacked."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stc
from stc.exceptions import DataError, ModelFileError
from support.broken_files import sealed
from support.models import paper_model


def bomb(path: Path, rows: int, length: int, groups: int = 1) -> int:
    """Write a small file of rows with the same long value, in row groups; return its size."""
    model = path.with_suffix(".model")
    paper_model().fit([["u"], ["w"]], ["x", "y"]).save(model)
    table, metadata = pq.read_table(model), pq.read_metadata(model).metadata
    header = json.loads(metadata[b"stc"])
    header["entries"] = [rows * groups, 0]
    first = table.slice(0, 1).to_pydict() | {"value": ["a" * length]}
    columns = []
    for field in table.schema:
        kind = pa.string() if "string" in str(field.type) else field.type
        columns.append(pa.array(first[field.name] * rows, kind))
    same = pa.table(columns, names=table.column_names)
    raw = io.BytesIO()
    plain = {"use_dictionary": False, "store_schema": False, "write_statistics": False}
    with pq.ParquetWriter(raw, same.schema, compression="zstd", **plain) as writer:
        for _ in range(groups):
            writer.write_table(same)
        texts = {b"stc": json.dumps(header).encode(), b"stc.digest": b"0" * 64}
        writer.add_key_value_metadata({**texts, b"stc.version": metadata[b"stc.version"]})
    path.write_bytes(sealed(raw.getvalue()))
    return path.stat().st_size


@pytest.mark.parametrize(
    ("rows", "length", "groups"), [(100, 2_000_000, 1), (100, 1_000_000, 4), (2000, 100_000, 1)]
)
def test_what_unpacks_to_far_more_than_the_file_is_refused(
    tmp_path: Path, rows: int, length: int, groups: int
) -> None:
    path = tmp_path / "bomb.stc.parquet"
    size = bomb(path, rows, length, groups)
    assert size < 60_000
    with pytest.raises(ModelFileError, match=rf"claims \d+ MB or more in {size:,} bytes"):
        stc.load(path)


def test_it_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.stc.parquet"
    bomb(path, 100, 2_500_000)
    code = f"""
import resource, stc
stc.load({str(path.with_suffix(".model"))!r})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    stc.load({str(path)!r})
except stc.ModelFileError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 50_000  # KB; unpacking it would take 700,000


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    path = tmp_path / "m.stc.parquet"
    model = paper_model().fit([["a" * 40_000_000]], ["x"])
    model.save(path)
    assert stc.load(path).predict([["a" * 40_000_000]]).tolist() == ["x"]
    saved = path.read_bytes()
    model.partial_fit([["b" * 40_000_000]], ["y"])
    with pytest.raises(DataError, match=r"repeat too much \(it claims 80 MB") as caught:
        model.save(path)
    assert caught.value.hint == "use pickle or a store"
    assert path.read_bytes() == saved
