"""Errors about data, with file, line and column.

The library reads in batches and counts rows. Only when an error occurs, the file is read again,
line by line, to find the line.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stc._core.scales import NOT_CONTINUOUS
from stc._utils.file_formats import open_bytes
from stc._utils.validation import InvalidParameterError
from stc.cli.data import Data, missing_column_message
from stc.cli.errors import DATA, USAGE, CommandError, one_line
from stc.exceptions import (
    EmptySourceError,
    MissingColumnError,
    MissingLabelError,
    StcError,
    StoreError,
)
from stc.sources.columns import NAME_THE_TARGET, NAME_THE_TEXT

# Hints for Python, and those for the shell in their place.
_SHELL_HINTS = {
    NAME_THE_TARGET: "name it, --target COLUMN",
    NAME_THE_TEXT: "name the column that holds them, --text COLUMN",
    NOT_CONTINUOUS: "correct it, or learn without --continuous",
}
# Longest cell of a CSV: a document may be longer than the csv module expects.
_MAX_CELL = 2**31 - 1


@contextmanager
def located_errors(data: Data, targets: Sequence[str] = ()) -> Iterator[None]:
    """Turn errors about the data into one line with file, line and column."""
    try:
        yield
    except InvalidParameterError as error:
        raise CommandError(one_line(str(error)), USAGE) from error
    except StcError as error:
        if isinstance(error, OSError | StoreError):  # about a file or a store
            raise
        raise CommandError(_described(data, error, targets), DATA) from error


def _described(data: Data, error: StcError, targets: Sequence[str]) -> str:
    """Return the error as a person sees it who looks at the file."""
    if isinstance(error, EmptySourceError):
        return f"{data.name}: has no rows"
    if isinstance(error, MissingColumnError):
        present = data.source().backend.names
        return f"{data.name}: {missing_column_message(error.missing, present, error.reason)}"
    column, message = error.column, error.message
    hint = error.hint and _SHELL_HINTS.get(error.hint, error.hint)
    name = data.name if error.path is None else data.named(error.path)
    place = []
    row = error.item if error.row is None else error.row
    if row is not None:
        name, line = _line_of_row(data, row)
        place.append(line)
    elif error.rows is not None:
        place.append(f"rows {error.rows.start} to {error.rows.stop - 1}")
    if isinstance(error, MissingLabelError):
        message = "no label"
        column = targets[0] if len(targets) == 1 else column
        hint = f"fill it in, or leave the {'line' if data.format.lines else 'row'} out"
    if column is not None:
        place.append(f"column {column!r}")
    where = f"{', '.join(place)}: " if place else ""
    return f"{name}: {where}{one_line(message)}" + (f"; {one_line(hint)}" if hint else "")


# --- where a row is -------------------------------------------------------------------------------


def _line_of_row(data: Data, row: int) -> tuple[str, str]:
    """Return the file of a row and its line; of files without lines, the number of the row."""
    if data.format.lines:
        for path in data.paths:
            for number in _line_numbers(data, path):
                if not row:
                    return data.named(path), f"line {number}"
                row -= 1
    return data.name, f"row {row}"


def _line_numbers(data: Data, path: str) -> Iterator[int]:
    """Yield the line on which each row of a file starts."""
    if data.separator is None:
        with open_bytes(path) as file:
            yield from (number for number, line in enumerate(file, 1) if line.strip())
        return
    ends = list(_csv_rows(path, data.separator))
    yield from (end + 1 for end in ends[:-1])  # the first row holds the names of the columns


def _csv_rows(path: str, separator: str) -> Iterator[int]:
    """Yield the line on which each row of a CSV ends, that of the header first."""
    csv.field_size_limit(_MAX_CELL)
    with open_bytes(path) as file:
        texts = (line.decode("utf-8", "replace") for line in file)
        reader = csv.reader(texts, delimiter=separator)
        yield from (reader.line_num for _ in reader)
