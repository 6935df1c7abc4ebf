"""The footer and the page headers of a Parquet file, checked before anything is decoded.

It is written by hand because no library checks page headers before decoding: a file of a few bytes
can claim a billion rows, or pages that unpack to a terabyte. Here all sizes are added up first, so
that the memory which a decoder takes is bounded.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from mmap import mmap
from typing import Any, BinaryIO, NamedTuple

from stc.exceptions import ModelFileError
from stc.io.thrift import ThriftError, ThriftReader
from stc.io.validation import damaged, require

_MAGIC = b"PAR1"
# What a row group, which is decoded at once, may hold.
MAX_ROWS = 1 << 21
_MAX_VALUES = 1 << 21  # of lists
_MAX_BYTES = 1 << 28
_MAX_COLUMNS = 1 << 12
# How deeply columns may be nested: a list of strings is a group in a group.
_MAX_DEPTH = 4
# Row groups that a file may have, however few rows it has, and rows for each one beyond them.
_GROUPS, _ROWS_PER_GROUP = 1 << 6, 1 << 10
_MAX_ROWS_PER_BYTE = 1000
# Bytes that all row groups may unpack to: so many, and so many more for each byte of the file.
_UNPACKED, _UNPACKED_PER_BYTE = 1 << 26, 1000

# Codecs and encodings that take no more memory than they declare: none, Snappy, Zstandard; plain
# values, dictionaries, runs.
_CODECS = {0, 1, 6}
_ENCODINGS = {0, 2, 3, 8}
# Kinds of pages, and the field that holds the header of each.
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_PAGE_FIELDS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}


class Footer(NamedTuple):
    """What the footer of a Parquet file says.

    Attributes
    ----------
    metadata
        The key-value metadata.
    group_rows
        The number of rows of each row group.
    start
        The position of the footer in the file.
    """

    metadata: Mapping[str, str]
    group_rows: Sequence[int]
    start: int


def check_ends(file: BinaryIO) -> None:
    """Raise an error unless a file starts and ends as Parquet files do."""
    if file.read(4) != _MAGIC:
        raise ModelFileError("not a Parquet file")
    size = file.seek(0, io.SEEK_END)
    file.seek(-4, io.SEEK_END)
    if size < 12 or file.read() != _MAGIC:
        raise ModelFileError("its end is missing: it was cut short")


def read_footer(data: bytes | mmap) -> Footer:
    """Read the footer of a file, and check all sizes that it and the page headers declare."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    require(start >= 4, "its footer is longer than the file")
    try:
        footer = ThriftReader(data, start, len(data) - 8).struct()
        _check_schema(_field(footer, 2, list, "schema"))
        metadata = {
            pair[1].decode(): pair.get(2, b"").decode()
            for pair in _field(footer, 5, list, "metadata", [])
        }
        groups = _field(footer, 4, list, "row groups")
        rows = _field(footer, 3, int, "number of rows")
        _check_size(rows, len(groups), len(data))
        _check_overlap(groups)
        group_rows = _check_groups(data, start, groups)
    except (ThriftError, UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise damaged(f"its footer cannot be read ({error})") from None
    require(sum(group_rows) == rows, "its row groups have another number of rows")
    return Footer(metadata, group_rows, start)


def _check_size(rows: int, groups: int, size: int) -> None:
    """Raise an error for more rows or row groups than a writer would put into so many bytes."""
    if rows > _MAX_ROWS_PER_BYTE * size or groups > _GROUPS + rows // _ROWS_PER_GROUP:
        raise ModelFileError(f"it claims {rows:,} rows in {groups:,} groups and {size:,} bytes")


def _check_schema(elements: Sequence[Any]) -> None:
    """Raise an error for columns nested more deeply than those of a model."""
    remaining: list[int] = []  # children still to come, at each level
    for number, element in enumerate(elements):
        children = element.get(5, 0)
        require(not number or bool(remaining), "a column is in no group")
        if remaining:
            remaining[-1] -= 1
        if children > 0:
            remaining.append(children)
        while remaining and not remaining[-1]:
            remaining.pop()
        if len(remaining) > _MAX_DEPTH or len(elements) > _MAX_COLUMNS:
            raise ModelFileError("its columns are not those of a model")


def _field(struct: Any, number: int, kind: type, name: str, default: Any = None) -> Any:
    """Return a field of a struct, of the right type."""
    value = struct.get(number, default)
    if not isinstance(value, kind):
        raise ThriftError(f"no {name}")
    return value


def _columns(group: Any) -> list[Any]:
    """Return the metadata of the columns of a row group."""
    columns = _field(group, 1, list, "columns")
    return [_field(column, 3, dict, "metadata of a column") for column in columns]


def _extent(metadata: Any) -> tuple[int, int]:
    """Return the start and the end of a column of a row group."""
    start = _field(metadata, 9, int, "position of a column")
    if 0 < metadata.get(11, 0) < start:  # the dictionary comes first
        start = metadata[11]
    return start, start + _field(metadata, 7, int, "size of a column")


def _check_overlap(groups: Sequence[Any]) -> None:
    """Raise an error for columns that share bytes, which would be read several times."""
    extents = sorted(_extent(column) for group in groups for column in _columns(group))
    apart = all(before[1] <= after[0] for before, after in pairwise(extents))
    require(apart, "its columns overlap")


def _check_groups(data: bytes | mmap, footer: int, groups: Sequence[Any]) -> list[int]:
    """Check the pages of all row groups, and return the number of rows of each."""
    group_rows, unpacked = [], 0
    for group in groups:
        rows, size = _check_group(data, footer, group)
        group_rows.append(rows)
        unpacked += size
        if unpacked > _UNPACKED + _UNPACKED_PER_BYTE * len(data):
            claim = f"it claims {unpacked / 1e6:,.0f} MB or more in {len(data):,} bytes"
            raise ModelFileError(claim)
    return group_rows


def _check_group(data: bytes | mmap, footer: int, group: Any) -> tuple[int, int]:
    """Check all pages of a row group; return its rows and the bytes that it unpacks to."""
    rows = _field(group, 3, int, "number of rows")
    columns = _columns(group)
    if not 0 <= rows <= MAX_ROWS or len(columns) > _MAX_COLUMNS:
        raise ModelFileError(
            f"a row group has {rows:,} rows and {len(columns):,} columns; at most {MAX_ROWS:,} and "
            f"{_MAX_COLUMNS:,} are read"
        )
    size = 0
    require(not any(1 in column for column in group[1]), "a column is in another file")
    for column in columns:
        size += _check_column(data, footer, column, rows)
        if size > _MAX_BYTES:
            raise ModelFileError(f"a row group unpacks to more than {_MAX_BYTES >> 20} MB")
    return int(rows), size


def _check_column(data: bytes | mmap, footer: int, metadata: Any, rows: int) -> int:
    """Check the pages of a column, and return the number of bytes that they unpack to."""
    values = _field(metadata, 5, int, "number of values")
    nested = len(_field(metadata, 3, list, "name of a column")) > 1
    fits = rows <= values <= _MAX_VALUES if nested else values == rows
    require(fits, f"a column has {values:,} values in {rows:,} rows")
    if _field(metadata, 4, int, "codec") not in _CODECS:
        raise ModelFileError("it is compressed with a codec other than zstd, snappy or none")
    position, end = _extent(metadata)
    require(4 <= position <= end <= footer, "a column is outside the file")
    size = count = 0
    while position < end and size <= _MAX_BYTES:
        reader = ThriftReader(data, position, end)
        page = reader.struct()
        page_size, page_values = _check_page(page)
        size, count = size + page_size, count + page_values
        position = reader.position + _field(page, 3, int, "size of a page")
    complete = size > _MAX_BYTES or (position == end and count == values)
    require(complete, "the pages of a column do not add up to it")
    return size


def _check_page(page: Any) -> tuple[int, int]:
    """Check a page header; return the bytes it unpacks to and the values of the column in it."""
    kind = _field(page, 1, int, "kind of a page")
    unpacked, packed = _field(page, 2, int, "size"), _field(page, 3, int, "size")
    if kind not in _PAGE_FIELDS or unpacked < 0 or packed < 0:
        raise ModelFileError("a page is of a kind that models do not have")
    head = _field(page, _PAGE_FIELDS[kind], dict, "header of a page")
    values = _field(head, 1, int, "number of values")
    encoding = _field(head, 4 if kind == _DATA_V2 else 2, int, "encoding")
    levels = [head.get(5, 0), head.get(6, 0)] if kind == _DATA_V2 else [0, 0]
    if encoding not in _ENCODINGS or values < 0 or min(levels) < 0 or sum(levels) > unpacked:
        raise ModelFileError("a page has an encoding that models do not have")
    if kind == _DICTIONARY:
        require(values <= unpacked, "a dictionary has more values than bytes")
        return unpacked, 0
    return unpacked, values
