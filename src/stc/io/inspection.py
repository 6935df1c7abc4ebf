"""What a Parquet file claims to hold, checked before anything of it is decoded.

A file of a few bytes can claim a billion rows, or pages that unpack to a terabyte. So its claims
are added up first: nothing is given to a decoder whose memory is not bounded by then.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

from stc.exceptions import ModelFileError
from stc.io.thrift import Reader, ThriftError

_MAGIC = b"PAR1"
# What one group of rows may hold: it is what is decoded at a time.
MOST_ROWS = 1 << 21
MOST_VALUES = 1 << 21  # of lists
_MOST_BYTES = 1 << 28
_MOST_COLUMNS = 1 << 12
# How columns may be nested: a list of texts is a group in a group.
_DEEPEST = 4
# Rows that a group has at least, but for a few groups; and rows that a byte can tell of.
_LEAST_ROWS, _FEW_GROUPS = 1 << 10, 1 << 6
_ROWS_PER_BYTE = 1000

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


def check_ends(file: BinaryIO) -> None:
    """Refuse a file that is no Parquet file, by a look at its ends."""
    if file.read(4) != _MAGIC:
        raise ModelFileError("it is no Parquet file")
    size = file.seek(0, io.SEEK_END)
    file.seek(-4, io.SEEK_END)
    if size < 12 or file.read() != _MAGIC:
        raise ModelFileError("its end is missing: it was cut short")


def inspected(raw: bytes) -> Inspected:
    """Read what a file says of itself, refusing one that cannot be what it says."""
    check_ends(io.BytesIO(raw))
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    if footer < 4:
        raise ModelFileError("its description is longer than the file: it is damaged")
    try:
        told = Reader(raw, footer, len(raw) - 8).struct()
        _check_schema(_field(told, 2, list, "columns"))
        metadata = {
            own[1].decode(): own.get(2, b"").decode()
            for own in _field(told, 5, list, "metadata", [])
        }
        listed = _field(told, 4, list, "groups of rows")
        _check_size(_field(told, 3, int, "number of rows"), len(listed), len(raw))
        _check_apart(listed)
        groups = [_group(raw, footer, own) for own in listed]
    except (ThriftError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"its description cannot be read ({error}): it is damaged") from None
    if sum(groups) != _field(told, 3, int, "number of rows"):
        raise ModelFileError("its groups do not have as many rows as it says: it is damaged")
    return Inspected(metadata, groups, footer)


def _check_schema(elements: Sequence[Any]) -> None:
    """Refuse columns within columns, deeper than a decoder can follow."""
    left: list[int] = []  # children that are still to come, for each level
    for number, element in enumerate(elements):
        children = element.get(5, 0)
        if number and not left:
            raise ModelFileError("it has a column that is in no group: it is damaged")
        if left:
            left[-1] -= 1
        if children > 0:
            left.append(children)
        while left and not left[-1]:
            left.pop()
        if len(left) > _DEEPEST or len(elements) > _MOST_COLUMNS:
            raise ModelFileError("its columns are not those of a model")


def _check_size(rows: int, groups: int, size: int) -> None:
    """Refuse rows that nobody has written out."""
    if rows > _ROWS_PER_BYTE * size or groups > _FEW_GROUPS + rows // _LEAST_ROWS:
        raise ModelFileError(f"it claims {rows:,} rows in {groups:,} groups and {size:,} bytes")


def _place(told: Any) -> tuple[int, int]:
    """Where a column of a group begins and ends."""
    at = _field(told, 9, int, "place of a column")
    if 0 < told.get(11, 0) < at:  # the dictionary comes first
        at = told[11]
    return at, at + _field(told, 7, int, "size of a column")


def _check_apart(groups: Sequence[Any]) -> None:
    """Refuse columns that share bytes: what is read twice would be there twice."""
    places = sorted(
        _place(_field(column, 3, dict, "description of a column"))
        for group in groups
        for column in _field(group, 1, list, "columns")
    )
    if any(after[0] < before[1] for before, after in pairwise(places)):
        raise ModelFileError("its columns share bytes: it is damaged")


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
    if not (rows <= values <= MOST_VALUES if nested else values == rows):
        raise ModelFileError(f"a column has {values:,} values in {rows:,} rows: it is damaged")
    if _field(told, 4, int, "codec") not in _CODECS:
        raise ModelFileError("it is packed in a way that models are not: use zstd, snappy or none")
    at, end = _place(told)
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
