"""Errors about data that cannot be read: which file, which row, and what is wrong with it."""

from __future__ import annotations

import codecs
import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polars.exceptions import PanicException, PolarsError

from stc._utils.file_formats import open_bytes
from stc.exceptions import DataError, SourceFileError, StcError

# The csv module refuses longer cells; its default is too short for documents.
_MAX_CELL = 2**31 - 1
_ENCODING_HINT = "convert the file to UTF-8, for example with iconv"


def first_line(error: BaseException) -> str:
    """Return the first line of the message of a library's error."""
    return " ".join(str(error).strip().partition("\n")[0].split()) or type(error).__name__


@contextmanager
def read_errors(
    title: str, path: str | None, find: Callable[[], DataError | None] = lambda: None
) -> Iterator[None]:
    """Raise errors of polars and pyarrow as errors of stc that name the file.

    Parameters
    ----------
    title : str
        The format that is read.
    path : str or None
        The file, if there is only one.
    find : callable
        Returns a more precise error, if it finds one.
    """
    try:
        yield
    except StcError:
        raise
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        message = error.strerror or first_line(error)
        raise find() or SourceFileError(message, path=path) from error
    # Errors of pyarrow are ValueErrors or OSErrors.
    except (OSError, ValueError, PolarsError, PanicException) as error:
        message = f"the data cannot be read as {title}: {first_line(error)}"
        if path is not None and _is_empty(path):
            message = "the file is empty"
        raise find() or DataError(message, path=path) from error


def _is_empty(path: str) -> bool:
    return os.path.isfile(path) and not os.path.getsize(path)


def find_fault(paths: Sequence[str], separator: str | None) -> DataError | None:
    """Return an error about the first malformed row of text files; None if there is none.

    Parameters
    ----------
    paths : sequence of str
        The files, read as one table.
    separator : str or None
        Separator of the cells of a CSV; None for JSON lines.

    Returns
    -------
    DataError or None
        With `path`, and with `row` counted over all files; a fault in a header has no row.
    """
    before = 0
    header: list[str] = []
    for path in paths:
        row = 0 if separator is None else -1  # the header is not a row
        try:
            for _ in _json_rows(path) if separator is None else _csv_rows(path, separator, header):
                row += 1
        except DataError as error:
            error.path = path
            error.row = None if row < 0 else before + row
            return error
        before += max(row, 0)
    empty = next(filter(_is_empty, paths), None)
    return None if empty is None else DataError("the file is empty", path=empty)


def _csv_rows(path: str, separator: str, first_header: list[str]) -> Iterator[None]:
    """Yield once for the header and for each row of a CSV; raise an error for a malformed one."""
    header: list[str] = []
    for cells in _cells(path, separator):
        if not header:
            if not cells:
                continue  # blank lines before the header
            header = cells
            first_header[:] = first_header or header
            if header != first_header:
                raise DataError(f"its columns are {header}, those of the first file {first_header}")
        if len(cells) > len(header):
            raise DataError(
                f"the row has {len(cells)} cells, the header {len(header)}",
                hint="put a cell that holds the separator in quotes",
            )
        for name, cell in zip(header, cells, strict=False):
            if any("\udc80" <= character <= "\udcff" for character in cell):
                raise DataError("the text is not UTF-8", column=name, hint=_ENCODING_HINT)
        yield


def _cells(path: str, separator: str) -> Iterator[list[str]]:
    with open_bytes(path) as file, _long_cells():
        # Bytes that are not UTF-8 become surrogates, which tell the cell in which they are.
        lines = (
            (line if number else line.removeprefix(codecs.BOM_UTF8)).decode(
                "utf-8", "surrogateescape"
            )
            for number, line in enumerate(file)
        )
        try:
            yield from csv.reader(lines, delimiter=separator, strict=True)
        except csv.Error as error:
            unclosed = "end of data" in str(error)
            raise DataError(
                "a quote is never closed" if unclosed else str(error),
                hint="double a quote within a cell, and put the cell in quotes",
            ) from error


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(_MAX_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _json_rows(path: str) -> Iterator[None]:
    """Yield once for each row of a JSON lines file; raise an error for a malformed one."""
    types: dict[str, type] = {}
    with open_bytes(path) as file:
        for line in filter(None, map(bytes.strip, file)):
            try:
                record = json.loads(line)
            except UnicodeDecodeError as error:
                raise DataError("the text is not UTF-8", hint=_ENCODING_HINT) from error
            except json.JSONDecodeError as error:
                raise DataError(
                    f"the line is not JSON: {error.msg} at character {error.colno}"
                ) from error
            if not isinstance(record, dict):
                raise DataError('the line is not a JSON object such as {"legs": 4}')
            _check_types(record, types)
            yield


def _check_types(record: dict[str, Any], types: dict[str, type]) -> None:
    """Raise an error for a key that holds a list or an object in some lines only."""
    for key, value in record.items():
        kind = type(value) if isinstance(value, list | dict) else object
        if value is not None and types.setdefault(key, kind) is not kind:
            raise DataError(
                "the key holds a list or an object in some lines and a single value in others",
                column=key,
            )
