"""The argument DATA: files, or the standard input, as a source of the library."""

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
from typing import Any, BinaryIO, NamedTuple, cast

from stc.cli.failing import DATA, FILE, USAGE, CommandError

# The standard input and output.
DASH = "-"
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson")
_ARROW = (".arrow", ".feather", ".ipc")
ENDINGS = (*_SEPARATORS, *_JSON, ".parquet", *_ARROW)
_GZIP = b"\x1f\x8b"
# How files start that are read by their structure.
_MAGIC = {".parquet": (b"PAR1", "Parquet"), **dict.fromkeys(_ARROW, (b"ARROW1", "Arrow IPC"))}
# Columns that a message lists.
_LISTED = 20


class Given(NamedTuple):
    """What the user says of the data: where it is, its format, what is between its cells."""

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
    ending
        What tells their format.
    pattern
        What the library reads: a path, or a glob of several.
    said
        What the user says is between the cells.
    """

    name: str
    paths: tuple[str, ...]
    ending: str
    pattern: str
    said: str | None = None

    @property
    def separator(self) -> str | None:
        """What stands between two cells of a line; None if the format has no such lines."""
        return self.said or _SEPARATORS.get(self.ending)

    @property
    def lines(self) -> bool:
        """Whether a person can count the lines of the files."""
        return self.separator is not None or self.ending in _JSON

    def named(self, path: str) -> str:
        """What the user calls one of the files."""
        return path if len(self.paths) > 1 else self.name

    @cached_property
    def _scanned(self) -> Any:
        """The files as the library reads them, out of gzip once."""
        import stc

        return stc.source(self.pattern, separator=self.said)

    def close(self) -> None:
        """Take away what was unpacked from gzip, now and not when nobody knows it any more."""
        if "_scanned" in vars(self):
            for file in self._scanned.source.unpacked:
                file.close()

    def source(self, **choice: Any) -> Any:
        """The data as the library reads it, with a choice of columns."""
        import stc

        return stc.source(self._scanned, **choice)


@contextmanager
def opened(given: Given) -> Iterator[Data]:
    """The data that a user names; what is spooled or unpacked for it is gone afterwards."""
    with _found(given.path, given.kind) as found:
        said = "\t" if given.separator == r"\t" else given.separator
        _check_separator(said, found.ending)
        with closing(_checked(replace(found, said=said))) as data:
            yield data


def _check_separator(said: str | None, ending: str) -> None:
    from stc._utils.file_formats import format_of

    try:
        format_of(ending).check_separator(said)
    except ValueError as error:
        raise CommandError(str(error).replace("separator=", "--separator ", 1), USAGE) from error


@contextmanager
def _found(given: str, kind: str | None) -> Iterator[Data]:
    if given == DASH:
        if sys.stdin is None:
            raise CommandError("standard input: is closed; name a file", FILE)
        with tempfile.TemporaryDirectory(prefix="stc-") as folder:
            path = _spooled(sys.stdin.buffer, folder, f".{kind or 'csv'}")
            yield Data("standard input", (path,), _ending(path), path)
        return
    paths = _paths(given)
    ending = f".{kind}" if kind else _ending(paths[0])
    if ending not in ENDINGS:
        raise CommandError(
            f"{given}: its name does not tell its format (it would end with "
            f"{', '.join(ENDINGS)}); say it with --format",
            USAGE,
        )
    if not kind and _regular(paths):
        yield Data(given, paths, ending, given)
        return
    with tempfile.TemporaryDirectory(prefix="stc-") as folder:
        links = tuple(_under(path, folder, n, ending) for n, path in enumerate(paths))
        pattern = links[0] if len(links) == 1 else str(Path(folder, f"*{Path(links[0]).suffix}"))
        yield Data(given, links, ending, pattern)


def _paths(given: str) -> tuple[str, ...]:
    if not os.path.exists(given) and glob.has_magic(given):
        paths = tuple(sorted(glob.glob(given, recursive=True)))
        if not paths:
            raise CommandError(f"{given}: no file has such a name", FILE)
    else:
        paths = (given,)
    for path in paths:
        if os.path.isdir(path):
            raise CommandError(f"{path}: is a folder; name its files, as in '{path}/*.csv'", FILE)
        with open(path, "rb"):  # whether it is there, and may be read
            pass
    return paths


def _regular(paths: Sequence[str]) -> bool:
    return all(stat.S_ISREG(os.stat(path).st_mode) for path in paths)


def _ending(path: str) -> str:
    """What tells the format of a file: its ending, before that of gzip."""
    return Path(path.lower().removesuffix(".gz")).suffix


def _under(path: str, folder: str, number: int, ending: str) -> str:
    """A file under a name that tells its format; of a pipe, what came out of it."""
    with open(path, "rb") as file:
        if not _regular([path]):
            return _spooled(file, folder, ending)
        zipped = ".gz" if file.read(2) == _GZIP else ""
    link = str(Path(folder, f"{number:06}{ending}{zipped}"))
    os.symlink(os.path.abspath(path), link)
    return link


def _spooled(stream: BinaryIO, folder: str, ending: str) -> str:
    """What comes out of a pipe, in a file: it is read more than once."""
    if hasattr(signal, "siginterrupt"):
        # polars makes reading go on after Ctrl-C, so that one who waits for data would wait on.
        signal.siginterrupt(signal.SIGINT, True)
    first = stream.read(2)
    path = str(Path(folder, f"data{ending}{'.gz' if first == _GZIP else ''}"))
    with open(path, "wb") as file:
        file.write(first)
        shutil.copyfileobj(stream, file, 1 << 20)
    return path


def _checked(data: Data) -> Data:
    """The data, unless a look at the beginning of a file says that it is something else."""
    for path in data.paths:
        name = data.named(path)
        if _ending(path) != data.ending:
            raise CommandError(f"{name}: is of another format than {data.paths[0]}", DATA)
        if not os.path.getsize(path):
            raise CommandError(f"{name}: is empty", DATA)
        try:
            with unzipped(path) as file:
                start = file.read(8)
        except (gzip.BadGzipFile, EOFError) as error:
            raise CommandError(f"{name}: is not gzip, or not all of it: {error}", DATA) from error
        magic, told = _MAGIC.get(data.ending, (b"", ""))
        if not start.startswith(magic):
            raise CommandError(f"{name}: is no {told} file", DATA)
        if data.separator is not None:
            _check_header(path, name, data.separator)
    return data


def unzipped(path: str) -> BinaryIO:
    """A file to read, out of gzip if it is in it."""
    return cast(BinaryIO, gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb"))


def _check_header(path: str, name: str, separator: str) -> None:
    """Refuse a table with two columns of one name, of which one would be renamed unasked."""
    with unzipped(path) as file:
        first = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
        header = next((row for row in csv.reader(first, delimiter=separator) if row), [])
    twice = [own for own in header if header.count(own) > 1]
    if twice:
        raise CommandError(f"{name}: line 1: two columns are named {twice[0]!r}; rename one", DATA)


# --- columns that are named on the command line ---------------------------------------------------


def columns_of(given: Sequence[str] | None, source: Any, data: Data) -> list[str]:
    """The columns that an option names: each by itself, or several with commas between them."""
    there = list(source.source.names)
    named: list[str] = []
    for name in given or ():
        parts = [part.strip() for part in name.split(",")]
        named += [name] if name in there or len(parts) == 1 else parts
    for name in named:
        if name not in there:
            raise CommandError(f"{data.name}: {message_of_absent(name, there)}", DATA)
    return named


def column_of(given: str, option: str, source: Any, data: Data) -> str:
    """The one column that an option names."""
    found = columns_of([given], source, data)
    if len(found) > 1:
        raise CommandError(f"{option} {given}: give one column, not {len(found)}", USAGE)
    return found[0]


def refuse_two_roles(named: Mapping[str, Sequence[str]]) -> None:
    """Refuse a column that is named by two options, or twice by one."""
    by: dict[str, str] = {}
    for option, columns in named.items():
        for name in columns:
            other = by.setdefault(name, option)
            if other is not option or list(columns).count(name) > 1:
                raise CommandError(f"column {name!r} is {other} and {option}: name it once", USAGE)


def message_of_absent(name: str, there: Sequence[str], more: str = "") -> str:
    """Say that a column is not there, and what is."""
    lowered = {own.lower(): own for own in there}
    guess = _guess(there)
    close = [] if guess else get_close_matches(name.lower(), lowered, n=1)
    hint = f" (did you mean {lowered[close[0]]!r}?)" if close else ""
    listed = ", ".join(map(repr, there[:_LISTED])) + (", ..." if len(there) > _LISTED else "")
    return f"there is no column {name!r}{more}{hint}; there is {listed}{guess}"


def _guess(there: Sequence[str]) -> str:
    """Why a table may have other columns than its owner believes."""
    signs = [sign for sign in ";\t|," if len(there) == 1 and sign in there[0]]
    if signs:
        written = r"\t" if signs[0] == "\t" else signs[0]
        return f"; if its cells are not divided as its ending says: --separator '{written}'"
    numbers = [name for name in there if name.replace(".", "", 1).lstrip("-").isdigit()]
    return "; the first line must hold the names of the columns" if numbers else ""


# --- where results go -----------------------------------------------------------------------------


def check_output(path: str, *others: str) -> None:
    """Refuse an output that cannot be written, or is an input, before any work is done."""
    if path == DASH:
        return
    folder = Path(path).parent
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {str(folder)!r}", FILE)
    if Path(path).is_dir():
        raise CommandError(f"{path}: is a folder; name a file", FILE)
    if os.path.exists(path) and not os.path.isfile(path):
        raise CommandError(f"{path}: is a device or a pipe; name a file", FILE)
    if not os.access(folder, os.W_OK):
        raise CommandError(f"{path}: the folder {str(folder)!r} cannot be written to", FILE)
    for other in others:
        inputs = [other] if os.path.exists(other) else glob.glob(other, recursive=True)
        if os.path.exists(path) and any(os.path.samefile(path, own) for own in inputs):
            raise CommandError(f"{path}: is the input {other}, too; name another output", USAGE)
