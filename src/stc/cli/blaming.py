"""Errors of the library about data: which file, which line, which column.

The library reads in batches and counts items. In the case of an error, and only then, the file is
read a second time, line by line, to tell a person where to look.
"""

from __future__ import annotations

import ast
import codecs
import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from stc.cli.data import Data, message_of_absent, unzipped
from stc.cli.failing import DATA, USAGE, CommandError, one_line

_ROWS = re.compile(r"^rows (\d+) to \d+ of the data: ")
_ITEM = re.compile(r"\bitem (\d+)\b")
_COLUMN_ITEM = re.compile(r"^column (.+), item \d+: (.*)$", re.DOTALL)
_NO_LABEL = re.compile(r"^Input y contains NaN: item \d+ has no label$")
_ABSENT = re.compile(
    r"^the data has no column '(.+?)'(, which the model has learnt from|); it has "
)
_NO_NUMBER = re.compile(r"^column '(.+?)': '(.+)' is not a number; ", re.DOTALL)
_NO_WEIGHT = re.compile(r"^could not convert string to float: (['\"].*)$", re.DOTALL)
# Hints for Python, and for the shell.
_HINTS = {
    "stc.source(..., text=...)": "--text COLUMN",
    "fit(source, 'class')": "--target COLUMN",
    "take the column out of continuous": "correct it, or learn without --continuous",
}
# A document in a cell may be longer than the csv module expects.
_LONGEST_CELL = 2**31 - 1


@contextmanager
def blaming(
    data: Data, targets: Sequence[str] = (), weight: str | None = None, group: str | None = None
) -> Iterator[None]:
    """Within it, what is wrong with the data is told by file, line and column."""
    import polars as pl
    from sklearn.utils._param_validation import InvalidParameterError

    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise CommandError(_unreadable(data, error), DATA) from error
    except InvalidParameterError as error:
        raise CommandError(one_line(str(error)), USAGE) from error
    except (ValueError, TypeError) as error:
        if isinstance(error, TypeError) and not _ours(error):
            raise  # not a word for the user, but a mistake of ours
        message = _of_group(_of_weight(str(error), weight), group)
        raise CommandError(_worded(data, message, targets), DATA) from error


def _ours(error: BaseException) -> bool:
    """Whether the library raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith("stc.")


def _of_weight(message: str, weight: str | None) -> str:
    """A message about weights as one about their column."""
    if weight is None:
        return message
    rows = _ROWS.match(message)
    found = _NO_WEIGHT.match(_ROWS.sub("", message))
    if found:
        start = rows[0] if rows else ""
        value = ast.literal_eval(found[1])
        return f"{start}column {weight!r}: '{value}' is not a number; each item has a weight"
    return message.replace("sample_weight, item", f"column {weight!r}, item", 1)


def _of_group(message: str, group: str | None) -> str:
    """A message about groups as one about their column."""
    return message if group is None else re.sub(r"^groups\b", f"column {group!r}", message)


def _worded(data: Data, message: str, targets: Sequence[str]) -> str:
    """A message of the library about items, as one about lines of a file."""
    if "has no rows" in message:
        found = _fault(data)
        return found or f"{data.name}: has no rows"
    for ours, theirs in _HINTS.items():
        message = message.replace(ours, theirs)
    for path in data.paths:
        message = message.removeprefix(f"{path!r} ")
    absent = _ABSENT.match(message)
    if absent:
        there = data.source().source.names
        return f"{data.name}: {message_of_absent(absent[1], there, absent[2])}"
    rows = _ROWS.match(message)
    message = _ROWS.sub("", message)
    item = _ITEM.search(message)
    cell = _NO_NUMBER.match(message)
    if cell:
        name, line = _line_with(data, cell[1], cell[2])
        return f"{name}: {line}{one_line(message)}"
    if item is None:
        where = f"rows {rows[0][5:-14]}, " if rows else ""
        return f"{data.name}: {where}{one_line(message)}"
    name, place = _place(data, int(item[1]) + (int(rows[1]) if rows else 0))
    if _NO_LABEL.match(message):
        column = f", column {targets[0]!r}" if len(targets) == 1 else ""
        return f"{name}: {place}{column}: no label; fill it in, or leave the {place.split()[0]} out"
    cell = _COLUMN_ITEM.match(message)
    if cell:
        return f"{name}: {place}, column {cell[1]}: {one_line(cell[2])}"
    return f"{name}: {one_line(_ITEM.sub(place, message, count=1))}"


# --- where a row is -------------------------------------------------------------------------------


def _place(data: Data, row: int) -> tuple[str, str]:
    """The file of a row, and its line; of files without lines, its number from 0 on."""
    if data.lines:
        for path in data.paths:
            for number in _line_numbers(data, path):
                if not row:
                    return data.named(path), f"line {number}"
                row -= 1
    return data.name, f"row {row}"


def _line_with(data: Data, column: str, value: str) -> tuple[str, str]:
    """The file and the first line that has this value in a column, if lines can be counted."""
    for path in data.paths if data.separator else ():
        before, place = 0, -1
        for cells, number in _rows(path, data.separator or ""):
            if place < 0:
                place = cells.index(column)
            elif place < len(cells) and cells[place] == value:
                return data.named(path), f"line {before + 1}, "
            before = number
    return data.name, ""


def _line_numbers(data: Data, path: str) -> Iterator[int]:
    """The line on which each row of a file starts."""
    if data.separator is None:
        with unzipped(path) as file:
            yield from (number for number, line in enumerate(file, 1) if line.strip())
        return
    before = 0
    rows = _rows(path, data.separator)
    for place, (_, number) in enumerate(rows):
        if place:  # the first holds the names of the columns
            yield before + 1
        before = number


def _rows(path: str, separator: str, strict: bool = False) -> Iterator[tuple[list[str], int]]:
    """The cells of each row, and the line on which it ends."""
    csv.field_size_limit(_LONGEST_CELL)
    with unzipped(path) as file:
        # What is no UTF-8 stays to be found in its cell.
        texts = (
            (line if number else line.removeprefix(codecs.BOM_UTF8)).decode(
                "utf-8", "surrogateescape"
            )
            for number, line in enumerate(file)
        )
        reader = csv.reader(texts, delimiter=separator, strict=strict)
        for cells in reader:
            yield cells, reader.line_num


# --- what is wrong with a file that cannot be read ------------------------------------------------


def _unreadable(data: Data, error: Exception) -> str:
    """What is wrong with a file that polars cannot read."""
    return _fault(data) or f"{data.name}: cannot be read: {one_line(str(error).split(chr(10))[0])}"


def _fault(data: Data) -> str | None:
    """The first line that is wrong, in words; None if there is none."""
    look: Callable[[Data, str], str | None] = _csv_fault if data.separator else _json_fault
    if not data.lines:
        return None
    for path in data.paths:
        found = look(data, path)
        if found:
            return f"{data.named(path)}: {found}"
    return None


def _csv_fault(data: Data, path: str) -> str | None:
    assert data.separator is not None
    header: list[str] = []
    before = 0
    try:
        for cells, number in _rows(path, data.separator, strict=True):
            header = header or cells
            wrong = _cells_fault(cells, header)
            if wrong:
                return f"line {before + 1}{wrong}"
            before = number
    except csv.Error as error:
        what = "a quote that is never closed" if "end of data" in str(error) else str(error)
        return f"line {before + 1}: {what}; a quote within a cell is doubled, the cell quoted"
    return None


def _cells_fault(cells: list[str], header: list[str]) -> str | None:
    if len(cells) > len(header):
        return (
            f": {len(cells)} cells, where line 1 names {len(header)} columns; put a cell that "
            "holds the separator in quotes"
        )
    for place, cell in enumerate(cells):
        if any("\udc80" <= sign <= "\udcff" for sign in cell):
            return f", column {header[place]!r}: is not UTF-8; convert it, as with iconv"
    return None


def _json_fault(data: Data, path: str) -> str | None:
    keys: dict[str, type] = {}
    with unzipped(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line.strip())
            except UnicodeDecodeError:
                return f"line {number}: is not UTF-8; convert it, as with iconv"
            except json.JSONDecodeError as error:
                return f"line {number}, column {error.colno}: is not JSON: {error.msg}"
            if not isinstance(record, dict):
                return f'line {number}: is not an object, as in {{"legs": 4}}'
            wrong = _shape_fault(record, keys)
            if wrong:
                return f"line {number}, {wrong}"
    return None


def _shape_fault(record: dict[str, Any], keys: dict[str, type]) -> str | None:
    """Refuse a key that holds a list in one line and something else in another."""
    for key, value in record.items():
        if value is None:
            continue
        kind = type(value) if isinstance(value, list | dict) else object
        if keys.setdefault(key, kind) is not kind:
            return f"key {key!r}: a list or an object in some lines, a single value in others"
    return None
