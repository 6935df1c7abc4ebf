"""A model as one Parquet file: its rows are the entries, its metadata is everything else."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from stc._training.state import FittedState
from stc._utils.atomic import beside
from stc._utils.file_formats import streamed
from stc._version import __version__
from stc.exceptions import ModelFileError
from stc.io.archiving import header_of, learnt_of, model_of, parameters_of
from stc.io.columns import class_names, columns_of, frames_of, order_of
from stc.io.inspection import MOST_ROWS, Inspected, check_ends, inspected
from stc.io.numbering import numbered, too_wide
from stc.io.validation import check_dtypes, check_header, check_learnt

__all__ = ["ModelFileError", "exclusively", "read_model", "write_model"]

_HEADER, _DIGEST, _VERSION = "stc", "stc.digest", "stc.version"
_ARROW = b"ARROW:schema"
# Things that a header may list: each takes far more memory than letters.
_MOST_LISTED = 1 << 22
# Where the digest will be, while the file is digested.
_BLANK = "0" * hashlib.sha256().digest_size * 2
# How Thrift writes the key and what is before its value. The header, being JSON, cannot hold it;
# the extremes of a column could, but they come before.
_MARK = _DIGEST.encode() + bytes([0x18, len(_BLANK)])


# --- writing ------------------------------------------------------------------------------------


def write_model(learnt: FittedState, parameters: Mapping[str, Any], path: str | Path) -> Path:
    """Write a model to a file: whole, or not at all."""
    model = learnt.model
    order = order_of(model)
    header = {
        **header_of(learnt, parameters),
        "class_names": class_names(model),
        "entries": [model.corpora[subset].mass.nnz for subset in model.policy],
        "order": None if order is None else order.tolist(),
        "batches": sorted(learnt.batches),
    }
    told = json.dumps(header, ensure_ascii=False, allow_nan=False)
    if _lists_too_much(told) or too_wide(model.schema.width, sum(header["entries"])):
        raise ValueError(
            "the model has too many attributes, classes or chosen conjunctions for what it has "
            "learnt: no file could be told from a damaged one; use pickle, or a store"
        )
    metadata = {_HEADER: told, _VERSION: __version__, _DIGEST: _BLANK}
    path = Path(path)
    with beside(path) as part:
        entries = streamed(frames_of(model), columns_of(model))
        entries.sink_parquet(
            part, compression="zstd", row_group_size=MOST_ROWS // 2, metadata=metadata
        )
        _seal(part)
    return path


def _seal(path: Path) -> None:
    """Put the digest of a file into it."""
    with path.open("rb+") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        tail = _tail(path)
        place = tail.rindex(_MARK + _BLANK.encode()) + len(_MARK)
        file.seek(path.stat().st_size - len(tail) + place)
        file.write(digest.encode())


def _tail(path: Path) -> bytes:
    """The description at the end of a Parquet file."""
    with path.open("rb") as file:
        file.seek(-8, io.SEEK_END)
        size = int.from_bytes(file.read(4), "little") + 8
        file.seek(-size, io.SEEK_END)
        return file.read()


# --- reading ------------------------------------------------------------------------------------


def read_model(path: str | Path) -> tuple[FittedState, dict[str, Any]]:
    """The model in a file, and the parameters it was learnt with.

    Nothing in the file is run, and nothing is decoded before its size is known.
    """
    with _blaming(path):
        raw = _bytes(Path(path))
        found = inspected(raw)
        _check_digest(raw, found)
        header = _header(found.metadata)
        check_header(header)
        check_dtypes(header["form"]["dtypes"], len(header["declared"]))
        if sum(header["entries"]) != sum(found.groups):
            raise ModelFileError("it does not have as many entries as it says: it is damaged")
        # Types are those of Parquet: what else a file says of them is for others.
        told = raw[found.footer :].replace(_ARROW, b"-" * len(_ARROW))
        lazy = pl.scan_parquet(io.BytesIO(raw[: found.footer] + told))
        groups = _groups(lazy, found)
        entries = numbered(header, groups, lazy.collect_schema(), len(found.groups))
        model = model_of(header, entries)
        learnt = learnt_of(header, model, frozenset(header["batches"]))
        check_learnt(learnt)
        return learnt, parameters_of(header)


def _bytes(path: Path) -> bytes:
    """The whole file, if its ends are those of a Parquet file."""
    if path.exists() and not path.is_file():
        raise ModelFileError("it is no file")
    with path.open("rb") as file:
        check_ends(file)
        file.seek(0)
        return file.read()


def _check_digest(raw: bytes, found: Inspected) -> None:
    """Refuse a file that is not as it was written; one that was never sealed is taken as it is."""
    digest = found.metadata.get(_DIGEST)
    if digest is None:
        return
    told = digest.encode()
    place = raw.rindex(told, found.footer)
    blank = b"0" * len(told)
    now = hashlib.sha256(raw[:place])
    now.update(blank)
    now.update(memoryview(raw)[place + len(told) :])
    if now.hexdigest() != digest:
        raise ModelFileError("it has changed since it was written: it is damaged, or was edited")


def _header(metadata: Mapping[str, str]) -> Any:
    if _HEADER not in metadata:
        raise ModelFileError("it is a table of data, and no model of stc")
    if _lists_too_much(metadata[_HEADER]):
        raise ModelFileError("its header lists too much")
    try:
        return json.loads(metadata[_HEADER])
    except json.JSONDecodeError as error:
        raise ModelFileError(f"its header is not JSON ({error})") from None


def _lists_too_much(header: str) -> bool:
    return sum(map(header.count, ",[{")) > _MOST_LISTED


def _groups(lazy: pl.LazyFrame, found: Inspected) -> Iterator[pl.DataFrame]:
    start = 0
    for rows in found.groups:
        yield lazy.slice(start, rows).collect()
        start += rows


@contextmanager
def _blaming(path: str | Path) -> Iterator[None]:
    """Say of any error in reading which file it is about.

    A file may be wrong in ways that nobody thought of: those are errors of the file, too.
    """
    try:
        yield
    except (MemoryError, OSError):
        raise
    except ModelFileError as error:
        told = str(error).replace("\n", " ")
        raise ModelFileError(f"{path} is no model that can be opened: {told:.300}") from None
    except Exception as error:
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ModelFileError(
            f"{path} is no model that can be opened: it is damaged ({told:.200})"
        ) from error
    except BaseException as error:
        # polars is written in Rust, whose panics are no Exception.
        if type(error).__name__ != "PanicException":
            raise
        raise ModelFileError(
            f"{path} is no model that can be opened: its rows cannot be decoded"
        ) from None


# --- one at a time ------------------------------------------------------------------------------


@contextmanager
def exclusively(path: str | Path) -> Iterator[None]:
    """Hold a model file for oneself: others who ask for the same wait until it is given back.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import stc
    >>> from stc.io import exclusively
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "lights.stc.parquet"
    ...     stc.SparseTensorClassifier().fit([["red"]], ["stop"]).save(path)
    ...     with exclusively(path):  # nobody else adds to it meanwhile
    ...         stc.load(path).partial_fit([["green"]], ["go"]).save(path)
    ...     stc.load(path).classes_.tolist()
    ['go', 'stop']
    """
    try:
        import fcntl
    except ImportError:  # Windows keeps others from a file that is open
        yield
        return
    while True:
        with Path(path).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it may have put a new file in its place.
            if Path(path).exists() and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                yield
                return
