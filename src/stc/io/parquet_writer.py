"""Writing a model as a Parquet file: a row for each entry, the header as metadata."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import Amplitudes
from stc._core.model import Model
from stc._core.tensor import Subset
from stc._core.vocabulary import parts_of
from stc._training.state import FittedState
from stc._utils.atomic import atomic_write
from stc._utils.file_formats import MODEL_KEY, lazy_frame_of
from stc._utils.forking import refuse_without_pool
from stc._version import __version__
from stc.exceptions import DataError, ModelFileError
from stc.io.columns import MAX_BYTES, file_schema, text_size
from stc.io.entries import too_wide
from stc.io.footer import MAX_ROWS, read_footer
from stc.io.header import header_of

# Keys of the metadata.
HEADER, DIGEST, VERSION = MODEL_KEY, "stc.digest", "stc.version"
# Rows that are written at a time.
_ROWS = MAX_ROWS // 2
# Commas and brackets that a header may have: what they separate takes far more memory than text.
_MAX_LISTED = 1 << 22
# Stands for the digest while the digest is computed.
_BLANK = "0" * hashlib.sha256().digest_size * 2
# The key, and what Thrift writes between it and its value. It is unique after the statistics of
# the columns: the header is JSON, which cannot contain these control characters.
_MARK = DIGEST.encode() + bytes([0x18, len(_BLANK)])


def write_model(state: FittedState, parameters: Mapping[str, Any], path: str | Path) -> Path:
    """Write a model to a file, completely or not at all.

    Parameters
    ----------
    state
        The fitted state.
    parameters
        The parameters of its estimator.
    path
        The file; one that exists is replaced.

    Returns
    -------
    Path
        The file.
    """
    refuse_without_pool()
    model = state.model
    header = header_of(state, parameters, file=True)
    header_text = json.dumps(header, ensure_ascii=False, allow_nan=False)
    if lists_too_much(header_text) or too_wide(model.schema.width, sum(header["entries"])):
        what = "the model has too many attributes, classes or chosen conjunctions for the number of"
        raise _suspicious(f"{what} its entries", path)
    try:
        header_text.encode()
    except UnicodeEncodeError as error:
        character = header_text[error.start]
        raise DataError(
            f"a name or batch id holds {character!r}, which UTF-8 cannot encode", path=str(path)
        ) from None
    metadata = {HEADER: header_text, VERSION: __version__, DIGEST: _BLANK}
    path = Path(path)
    with atomic_write(path) as part:
        lists = len(model.dimensions.names) > 1 or model.interactions.enabled
        schema = file_schema(lists, header["class_names"])
        entries = lazy_frame_of(_frames(model, schema, header["class_names"]), schema)
        entries.sink_parquet(part, compression="zstd", row_group_size=_ROWS, metadata=metadata)
        _write_digest(part)
        _check_size(part, path)
    return path


def _suspicious(what: str, path: str | Path) -> DataError:
    """Return the error of a model whose file would be refused when it is read."""
    return DataError(
        f"{what}: its file could not be distinguished from a damaged one",
        path=str(path),
        hint="use pickle or a store",
    )


def _check_size(part: Path, path: Path) -> None:
    """Raise if a file unpacks to more than is read of a file of its size."""
    with part.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        try:
            read_footer(data)
        except ModelFileError as error:
            raise _suspicious(f"the values of the model repeat too much ({error})", path) from None


def lists_too_much(header: str) -> bool:
    """Return whether the text of a header lists more values than are read."""
    return sum(map(header.count, ",[{")) > _MAX_LISTED


def _write_digest(path: Path) -> None:
    """Replace the blank digest of a file by its digest."""
    with path.open("rb+") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.seek(-8, io.SEEK_END)
        start = size - int.from_bytes(file.read(4), "little")
        file.seek(start)
        footer = file.read()
        file.seek(start + footer.rindex(_MARK + _BLANK.encode()) + len(_MARK))
        file.write(digest.encode())


# --- rows ---------------------------------------------------------------------------------------


def _frames(
    model: Model, schema: pl.Schema, names: Mapping[str, list[str]]
) -> Iterator[pl.DataFrame]:
    """Yield the entries: by set, then by feature, then in the order of the classes."""
    classes = pl.DataFrame(names, schema=dict.fromkeys(names, pl.String))
    for number, subset in enumerate(model.policy):
        corpus = model.corpora[subset]
        mass = corpus.mass
        used = np.flatnonzero(corpus.used_rows)  # of the columns of a sparse matrix, few
        rows = np.repeat(np.arange(len(used)), np.diff(mass.indptr)[used])
        features = _features(model, subset, used, schema)
        amplitudes = corpus.amplitudes or Amplitudes.neutral(mass.nnz)
        for start, end in _slices(features["bytes"].to_numpy()[rows]):
            part = slice(start, end)
            yield pl.DataFrame(
                {
                    "set": pl.repeat(number, end - start, dtype=pl.Int32, eager=True),
                    **features.select("attribute", "value")[rows[part]].to_dict(),
                    **classes[mass.indices[part]].to_dict(),
                    "mass": mass.data[part],
                    "support": corpus.support[part],
                    "gain": amplitudes.gains[part],
                    "phase": amplitudes.angles[part],
                },
                schema=schema,
            )


def _features(model: Model, subset: Subset, rows: NDArray[Any], schema: pl.Schema) -> pl.DataFrame:
    """Return attribute and value of these rows of a set's corpus, and their size in bytes."""
    if model.schema.kind == "counts" and subset:
        features: Any = [((None, f"x{column}"),) for column in rows.tolist()]
    else:
        features = model.features(subset, rows) if subset else [()] * len(rows)
    parts = map(parts_of, features)
    if schema["value"] == pl.String:
        pairs: Any = [part[0] if part else (None, None) for part in parts]
    else:
        pairs = [([a for a, _ in part], [v for _, v in part]) for part in parts]
    texts = {"attribute": [a for a, _ in pairs], "value": [v for _, v in pairs]}
    frame = pl.DataFrame(texts, schema={name: schema[name] for name in texts})
    return frame.with_columns(bytes=text_size("attribute", schema) + text_size("value", schema))


def _slices(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield slices of the entries that have neither too many rows nor too many bytes."""
    if len(sizes) and sizes.max() > MAX_BYTES // 4:
        raise DataError(f"a value is longer than {MAX_BYTES >> 22} MB, the most that a file holds")
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start] - sizes[start]
        fits = int(np.searchsorted(ends, before + MAX_BYTES // 2, side="right"))
        end = min(max(fits, start + 1), start + _ROWS)
        yield start, end
        start = end
