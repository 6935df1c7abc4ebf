"""What a Parquet file claims to hold, checked before anything of it is decoded.

A file of a few bytes can claim a billion rows, or pages that unpack to a terabyte. So its claims
are added up first: nothing is given to a decoder whose memory is not bounded by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stc.files.errors import ModelFileError
from stc.files.thrift import Reader, ThriftError

_MAGIC = b"PAR1"
# What one group of rows may hold: it is what is decoded at a time.
MOST_ROWS = 1 << 21
_MOST_VALUES = 1 << 24  # of lists
_MOST_BYTES = 1 << 28
_MOST_COLUMNS = 1 << 12

# Codecs and encodings that take no more memory than they say: none, Snappy, Zstandard; plain
# values, dictionaries, runs.
_CODECS = {0, 1, 6}
_ENCODINGS = {0, 2, 3, 8}
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)


class Inspected(NamedTuple):
    """What a Parquet file says of itself.

    Attributes
    ----------
    metadata
        Its keys and values.
    groups
        How many rows each group has.
    footer
        Where the description of the file begins.
    """

    metadata: Mapping[str, str]
    groups: Sequence[int]
    footer: int


def inspected(raw: bytes) -> Inspected:
    """Read what a file says of itself, refusing one that cannot be what it says."""
    if raw[:4] != _MAGIC:
        raise ModelFileError("it is no Parquet file")
    if len(raw) < 12 or raw[-4:] != _MAGIC:
        raise ModelFileError("its end is missing: it was cut short")
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    if footer < 4:
        raise ModelFileError("its description is longer than the file: it is damaged")
    try:
        told = Reader(raw, footer, len(raw) - 8).struct()
        metadata = {
            own[1].decode(): own.get(2, b"").decode()
            for own in _field(told, 5, list, "metadata", [])
        }
        groups = [_group(raw, footer, own) for own in _field(told, 4, list, "groups of rows")]
    except (ThriftError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"its description cannot be read ({error}): it is damaged") from None
    if sum(groups) != _field(told, 3, int, "number of rows"):
        raise ModelFileError("its groups do not have as many rows as it says: it is damaged")
    return Inspected(metadata, groups, footer)


def _field(struct: Any, number: int, kind: type, what: str, default: Any = None) -> Any:
    """A field of a struct, of the right type."""
    value = struct.get(number, default)
    if not isinstance(value, kind):
        raise ThriftError(f"{what} is not there")
    return value


def _group(raw: bytes, footer: int, told: Any) -> int:
    """How many rows a group has, after a look at all its pages."""
    rows = _field(told, 3, int, "number of rows")
    columns = _field(told, 1, list, "columns")
    if not 0 <= rows <= MOST_ROWS or len(columns) > _MOST_COLUMNS:
        raise ModelFileError(
            f"a group of it has {rows:,} rows and {len(columns):,} columns; at most "
            f"{MOST_ROWS:,} and {_MOST_COLUMNS:,} are read at a time"
        )
    size = 0
    for column in columns:
        if 1 in column:
            raise ModelFileError("a column of it is in another file")
        size += _column(raw, footer, _field(column, 3, dict, "description of a column"), rows)
        if size > _MOST_BYTES:
            raise ModelFileError(
                f"a group of it unpacks to more than {_MOST_BYTES >> 20} MB, too much at a time"
            )
    return int(rows)


def _column(raw: bytes, footer: int, told: Any, rows: int) -> int:
    """How many bytes the pages of a column unpack to."""
    values = _field(told, 5, int, "number of values")
    nested = len(_field(told, 3, list, "name of a column")) > 1
    if not (rows <= values <= _MOST_VALUES if nested else values == rows):
        raise ModelFileError(f"a column has {values:,} values in {rows:,} rows: it is damaged")
    if _field(told, 4, int, "codec") not in _CODECS:
        raise ModelFileError("it is packed in a way that models are not: use zstd, snappy or none")
    at = _field(told, 9, int, "place of a column")
    if 0 < told.get(11, 0) < at:  # the dictionary comes first
        at = told[11]
    end = at + _field(told, 7, int, "size of a column")
    if not 4 <= at <= end <= footer:
        raise ModelFileError("a column is beyond the file: it is damaged")
    size = found = 0
    while at < end and size <= _MOST_BYTES:
        reader = Reader(raw, at, end)
        page = reader.struct()
        unpacked, held = _page(page)
        size, found = size + unpacked, found + held
        at = reader.at + _field(page, 3, int, "size of a page")
    if size <= _MOST_BYTES and (at != end or found != values):
        raise ModelFileError("the pages of a column are not those it says: it is damaged")
    return size


def _page(page: Any) -> tuple[int, int]:
    """How many bytes a page unpacks to, and how many values of the column it holds."""
    kind = _field(page, 1, int, "kind of a page")
    unpacked, packed = _field(page, 2, int, "size"), _field(page, 3, int, "size")
    fields = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
    if kind not in fields or unpacked < 0 or packed < 0:
        raise ModelFileError("a page of it is of a kind that models do not have")
    head = _field(page, fields[kind], dict, "head of a page")
    held = _field(head, 1, int, "number of values")
    encoding = _field(head, 4 if kind == _DATA_V2 else 2, int, "encoding")
    levels = [head.get(5, 0), head.get(6, 0)] if kind == _DATA_V2 else [0, 0]
    if encoding not in _ENCODINGS or held < 0 or min(levels) < 0 or sum(levels) > unpacked:
        raise ModelFileError("a page of it is encoded in a way that models are not")
    if kind == _DICTIONARY:
        if held > unpacked:
            raise ModelFileError("a dictionary has more values than bytes: it is damaged")
        return unpacked, 0
    return unpacked, held
