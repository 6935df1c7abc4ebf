"""The argument DATA: files, or the standard input, as a source."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from stc._utils.file_formats import FORMATS, FileFormat, find_format, open_bytes, suffixes
from stc._utils.names import first_repeated
from stc.cli.errors import DATA, FILE, USAGE, CommandError
from stc.cli.urls import is_url
from stc.exceptions import ParameterError

# The standard input and output.
DASH = "-"
_GZIP = b"\x1f\x8b"
# Columns that a message lists.
_MAX_LISTED = 20


class DataArgument(NamedTuple):
    """The argument DATA and its options: path, format, and separator of cells."""

    path: str
    kind: str | None = None
    separator: str | None = None


@dataclass(frozen=True)
class Data:
    """Files to read.

    Attributes
    ----------
    name
        What the user calls them.
    paths
        The files.
    format
        Their format.
    pattern
        What the library reads: a path, or a glob of several.
    given_separator
        The separator of cells that the user gave.
    """

    name: str
    paths: tuple[str, ...]
    format: FileFormat
    pattern: str
    given_separator: str | None = None

    @property
    def separator(self) -> str | None:
        """The separator of cells; None if the format has none."""
        return self.given_separator or self.format.separator

    def named(self, path: str) -> str:
        """Return what the user calls one of the files."""
        return path if len(self.paths) > 1 else self.name

    @cached_property
    def _scanned(self) -> Any:
        """The files as a source, decompressed once."""
        import stc

        return stc.source(self.pattern, separator=self.given_separator)

    def close(self) -> None:
        """Delete what was decompressed."""
        if "_scanned" in vars(self):
            for file in self._scanned.backend.unpacked:
                file.close()

    def source(self, **selection: Any) -> Any:
        """Return the data as a source, with a selection of columns."""
        import stc

        return stc.source(self._scanned, **selection)


@contextmanager
def opened(argument: DataArgument) -> Iterator[Data]:
    """Open the data that a user names; temporary files are deleted afterwards."""
    with _found(argument.path, argument.kind) as found:
        separator = "\t" if argument.separator == r"\t" else argument.separator
        try:
            found.format.check_separator(separator)
        except ParameterError as error:
            message = f"{error.message}; {error.hint}" if error.hint else error.message
            raise CommandError(message.replace("separator=", "--separator ", 1), USAGE) from error
        with closing(_checked(replace(found, given_separator=separator))) as data:
            yield data


@contextmanager
def _found(path: str, kind: str | None) -> Iterator[Data]:
    by_name = {known.name: known for known in FORMATS}
    if path == DASH:
        if sys.stdin is None:
            raise CommandError("standard input: is closed; name a file", FILE)
        with tempfile.TemporaryDirectory(prefix="stc-") as folder:
            spooled = _spooled(sys.stdin.buffer, folder, f".{kind or 'csv'}")
            yield Data("standard input", (spooled,), by_name[kind or "csv"], spooled)
        return
    paths = _paths(path)
    file_format = by_name[kind] if kind else find_format(paths[0])
    if file_format is None:
        raise CommandError(
            f"{path}: its name does not tell its format (it would end with "
            f"{', '.join(suffixes())}); say it with --format",
            USAGE,
        )
    if not kind and all(map(_is_regular, paths)):
        yield Data(path, paths, file_format, path)
        return
    with tempfile.TemporaryDirectory(prefix="stc-") as folder:
        suffix = file_format.suffixes[0]
        links = tuple(_linked(path, folder, n, suffix) for n, path in enumerate(paths))
        pattern = links[0] if len(links) == 1 else str(Path(folder, f"*{Path(links[0]).suffix}"))
        yield Data(path, links, file_format, pattern)


def _paths(given: str) -> tuple[str, ...]:
    if is_url(given) and not os.path.exists(given):
        raise CommandError("DATA is a file, a pattern or -, not a URL", USAGE)
    if not os.path.exists(given) and glob.has_magic(given):
        paths = tuple(sorted(glob.glob(given, recursive=True)))
        if not paths:
            raise CommandError(f"{given}: no file has such a name", FILE)
    else:
        paths = (given,)
    for path in paths:
        if os.path.isdir(path):
            raise CommandError(f"{path}: is a folder; name its files, as in '{path}/*.csv'", FILE)
        with open(path, "rb"):  # raises an error if it is absent or may not be read
            pass
    return paths


def _is_regular(path: str) -> bool:
    return stat.S_ISREG(os.stat(path).st_mode)


def _linked(path: str, folder: str, number: int, suffix: str) -> str:
    """Return a name of a file that tells its format; a pipe is read to a file."""
    with open(path, "rb") as file:
        if not _is_regular(path):
            return _spooled(file, folder, suffix)
        zipped = ".gz" if file.read(2) == _GZIP else ""
    link = str(Path(folder, f"{number:06}{suffix}{zipped}"))
    os.symlink(os.path.abspath(path), link)
    return link


def _spooled(stream: BinaryIO, folder: str, suffix: str) -> str:
    """Write a stream to a file, since data is read more than once."""
    if hasattr(signal, "siginterrupt"):
        # polars makes reads resume after a signal, so that Ctrl-C would not end waiting for data.
        signal.siginterrupt(signal.SIGINT, True)
    first = stream.read(2)
    path = str(Path(folder, f"data{suffix}{'.gz' if first == _GZIP else ''}"))
    with open(path, "wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file, 1 << 20)
    return path


def _checked(data: Data) -> Data:
    """Return the data, unless the beginning of a file shows that it is something else."""
    for path in data.paths:
        name = data.named(path)
        if find_format(path) != data.format:
            raise CommandError(f"{name}: is of another format than {data.paths[0]}", DATA)
        if not os.path.getsize(path):
            raise CommandError(f"{name}: is empty", DATA)
        try:
            with open_bytes(path) as file:
                start = file.read(8)
        except (gzip.BadGzipFile, EOFError) as error:
            raise CommandError(f"{name}: is not gzip, or not all of it: {error}", DATA) from error
        if not start.startswith(data.format.magic):
            raise CommandError(f"{name}: is not {data.format.title}", DATA)
        if data.separator is not None:
            _check_header(path, name, data.separator)
    return data


def _check_header(path: str, name: str, separator: str) -> None:
    """Refuse two columns of one name, of which polars would rename one."""
    with open_bytes(path) as file:
        text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        header = next((row for row in csv.reader(text, delimiter=separator) if row), [])
    repeated = first_repeated(header)
    if repeated is not None:
        raise CommandError(f"{name}: line 1: two columns are named {repeated!r}; rename one", DATA)


# --- columns that are named on the command line ---------------------------------------------------


def named_columns(names: Sequence[str] | None, source: Any, data: Data) -> list[str]:
    """Return the columns that an option names: one by one, or separated by commas."""
    present = dict.fromkeys(source.backend.names)
    columns: list[str] = []
    for name in names or ():
        parts = [part.strip() for part in name.split(",")]
        columns += [name] if name in present or len(parts) == 1 else parts
    for name in columns:
        if name not in present:
            raise CommandError(f"{data.name}: {missing_column_message(name, list(present))}", DATA)
    return columns


def named_column(name: str, option: str, source: Any, data: Data) -> str:
    """Return the one column that an option names."""
    columns = named_columns([name], source, data)
    if len(columns) > 1:
        raise CommandError(f"{option} {name}: give one column, not {len(columns)}", USAGE)
    return columns[0]


def refuse_two_roles(columns_by_option: Mapping[str, Sequence[str]]) -> None:
    """Refuse a column that two options name, or one option twice."""
    option_of: dict[str, str] = {}
    for option, columns in columns_by_option.items():
        repeated = first_repeated(columns)
        for name in columns:
            other = option_of.setdefault(name, option)
            if other is not option or name == repeated:
                raise CommandError(f"column {name!r} is {other} and {option}: name it once", USAGE)


def missing_column_message(name: str, present: Sequence[str], reason: str = "") -> str:
    """Return a message about a column that is missing, with those that are present."""
    lowered = {column.lower(): column for column in present}
    guess = _guessed_cause(present)
    close = [] if guess else get_close_matches(name.lower(), lowered, n=1)
    hint = f" (did you mean {lowered[close[0]]!r}?)" if close else ""
    more = ", ..." if len(present) > _MAX_LISTED else ""
    listed = ", ".join(map(repr, present[:_MAX_LISTED])) + more
    return f"there is no column {name!r}{reason}{hint}; there is {listed}{guess}"


def _guessed_cause(present: Sequence[str]) -> str:
    """Return why a table may have other columns than its owner believes."""
    signs = [sign for sign in ";\t|," if len(present) == 1 and sign in present[0]]
    if signs:
        written = r"\t" if signs[0] == "\t" else signs[0]
        return f"; if its cells are not divided as its ending says: --separator '{written}'"
    numbers = [name for name in present if name.replace(".", "", 1).lstrip("-").isdigit()]
    return "; the first line must hold the names of the columns" if numbers else ""


# --- outputs --------------------------------------------------------------------------------------


def check_output(path: str, *inputs: str | None) -> None:
    """Refuse an output that cannot be written, or is an input, before any work is done."""
    if path == DASH:
        raise CommandError("-: this output is a file; ./- is one of that name", USAGE)
    if is_url(path):
        raise CommandError("the output is a file, not a URL", USAGE)
    folder = Path(path).parent
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {str(folder)!r}", FILE)
    if Path(path).is_dir():
        raise CommandError(f"{path}: is a folder; name a file", FILE)
    if os.path.exists(path) and not os.path.isfile(path):
        raise CommandError(f"{path}: is a device or a pipe; name a file", FILE)
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{path}: the folder {str(folder)!r} cannot be written to", FILE)
    for name in filter(None, inputs):
        files = [name] if os.path.exists(name) else glob.glob(name, recursive=True)
        if os.path.exists(path) and any(os.path.samefile(path, file) for file in files):
            raise CommandError(f"{path}: is the input {name}, too; name another output", USAGE)
