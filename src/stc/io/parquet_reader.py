"""Reading a model from a Parquet file that may be damaged or malicious."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl

from stc._training.state import FittedState
from stc._utils.forking import refuse_without_pool
from stc.exceptions import ModelFileError
from stc.io.entries import read_entries
from stc.io.footer import Footer, check_ends, read_footer
from stc.io.header import values_of
from stc.io.parquet_writer import DIGEST, HEADER, lists_too_much
from stc.io.serializer import state_of
from stc.io.validation import check_header, check_state, damage_as_error, require

# Arrow's own description of the columns.
_ARROW_SCHEMA = b"ARROW:schema"


def read_model(path: str | Path) -> tuple[FittedState, dict[str, Any]]:
    """Return the fitted state in a file, and the parameters of its estimator.

    No code in the file is run, and nothing is decoded before its size is known.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged or was written by a later version of stc.
    """
    refuse_without_pool()
    try:
        with damage_as_error():
            return _read(Path(path))
    except ModelFileError as error:
        error.path = str(path)
        raise


def _read(path: Path) -> tuple[FittedState, dict[str, Any]]:
    data = _read_bytes(path)
    footer = read_footer(data)
    _check_digest(data, footer)
    header = _header(footer.metadata)
    check_header(header, file=True)
    counted = sum(header["entries"]) == sum(footer.group_rows)
    require(counted, "the number of rows is not that in the header")
    values = values_of(header)
    # The types of the columns are those of Parquet; Arrow's description could change them.
    end = data[footer.start :].replace(_ARROW_SCHEMA, b"-" * len(_ARROW_SCHEMA))
    rows = pl.scan_parquet(io.BytesIO(data[: footer.start] + end))
    sizes = footer.group_rows
    groups = zip(sizes, accumulate(sizes), strict=True)
    frames = (rows.slice(end - size, size).collect() for size, end in groups)
    entries = read_entries(values, frames, rows.collect_schema(), len(sizes))
    state = state_of(values, entries)
    check_state(state)
    return state, values["parameters"]


def _read_bytes(path: Path) -> bytes:
    """Return the content of a file, if it starts and ends as a Parquet file does."""
    if path.exists() and not path.is_file():
        raise ModelFileError("not a regular file")
    with path.open("rb") as file:
        check_ends(file)
        file.seek(0)
        return file.read()


def _check_digest(data: bytes, footer: Footer) -> None:
    """Raise an error if a file has changed since it was written; one without a digest may."""
    digest = footer.metadata.get(DIGEST)
    if digest is None:
        return
    start = data.rindex(digest.encode(), footer.start)
    computed = hashlib.sha256(data[:start])
    computed.update(b"0" * len(digest))
    computed.update(memoryview(data)[start + len(digest) :])
    if computed.hexdigest() != digest:
        raise ModelFileError("it has changed since it was written: it is damaged or was edited")


def _header(metadata: Mapping[str, str]) -> Any:
    if HEADER not in metadata:
        raise ModelFileError("it is a table of data, not a model of stc")
    if lists_too_much(metadata[HEADER]):
        raise ModelFileError("the header lists too many values")
    try:
        return json.loads(metadata[HEADER])
    except json.JSONDecodeError as error:
        raise ModelFileError(f"the header is not JSON ({error})") from None
