"""The file formats that stc reads and writes, in one table, and the writing of files."""

from __future__ import annotations

import glob
import gzip
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from stc._utils.atomic import atomic_write
from stc._utils.database_url import refuse_url
from stc.exceptions import OutputFileError, ParameterError

if TYPE_CHECKING:  # the command lists formats without importing polars
    import polars as pl

# Rows of a text file from which the types of its columns are inferred.
INFERRED_ROWS = 10_000
# The key in the metadata of a Parquet file that says it is a model.
MODEL_KEY = "stc"
# Characters that cannot separate cells.
_NO_SEPARATORS = '"\r\n\0'


@dataclass(frozen=True)
class FileFormat:
    """A file format.

    Attributes
    ----------
    name
        Short name, the first suffix without its dot.
    title
        Name to use in sentences.
    suffixes
        Endings of file names, in lower case.
    polars_name
        Its name in the functions of polars that scan and sink it.
    separator
        Default separator of cells; None for a format without separators.
    magic
        Bytes with which every file of a binary format starts.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    polars_name: str
    separator: str | None = None
    magic: bytes = b""

    @property
    def lines(self) -> bool:
        """Whether rows are lines of text; if not, any slice of rows can be read directly."""
        return not self.magic

    @property
    def nested(self) -> bool:
        """Whether a cell can hold several values."""
        return self.separator is None

    def scan(self, paths: list[str], **options: Any) -> pl.LazyFrame:
        """Return a lazy frame of the rows of files."""
        import polars as pl

        if self.polars_name == "ndjson":  # scan_ndjson expands patterns and has no option not to
            escaped = list(map(glob.escape, paths))
            return pl.scan_ndjson(escaped, infer_schema_length=INFERRED_ROWS)
        lazy: pl.LazyFrame = getattr(pl, f"scan_{self.polars_name}")(paths, glob=False, **options)
        return lazy

    def write(self, lazy: pl.LazyFrame, path: Path) -> None:
        """Write a lazy frame to a file."""
        options = {"separator": self.separator} if self.separator else {}
        getattr(lazy, f"sink_{self.polars_name}")(path, **options)

    def check_separator(self, separator: str | None) -> None:
        """Raise an error for a separator that the format or polars does not support."""
        if separator is None:
            return
        if self.separator is None:
            raise ParameterError(
                f"separator={separator!r} is for .csv and .tsv, not for {self.suffixes[0]}"
            )
        single = isinstance(separator, str) and len(separator) == 1 and separator.isascii()
        if not single or separator in _NO_SEPARATORS:
            raise ParameterError(
                f"separator={separator!r} is not a single character",
                hint=r"use a character such as ';', or '\t' for tabs",
            )

    def check_schema(self, schema: pl.Schema, path: str | None = None) -> None:
        """Raise an error if the format cannot hold these columns."""
        nested = [name for name, dtype in schema.items() if dtype.is_nested()]
        if nested and not self.nested:
            raise ParameterError(
                f"a {self.title} file cannot hold several values in a cell",
                column=nested[0],
                path=path,
                hint="write .parquet or .jsonl",
            )


_PARQUET = FileFormat("parquet", "Parquet", (".parquet",), "parquet", magic=b"PAR1")
FORMATS = (
    _PARQUET,
    FileFormat("csv", "CSV", (".csv",), "csv", separator=","),
    FileFormat("tsv", "TSV", (".tsv",), "csv", separator="\t"),
    FileFormat("jsonl", "JSON lines", (".jsonl", ".ndjson"), "ndjson"),
    FileFormat("arrow", "Arrow IPC", (".arrow", ".feather", ".ipc"), "ipc", magic=b"ARROW1"),
)


def suffixes() -> tuple[str, ...]:
    """Return the suffixes of all formats."""
    return tuple(suffix for known in FORMATS for suffix in known.suffixes)


def find_format(path: str | os.PathLike[str], *, compressed: bool = True) -> FileFormat | None:
    """Return the format that the suffix of a path names; None if it names none.

    Parameters
    ----------
    path : str or os.PathLike
        The path; the file need not exist.
    compressed : bool, default=True
        Whether the suffix of the format may be followed by ".gz".

    Examples
    --------
    >>> find_format("animals.csv.gz").name
    'csv'
    >>> find_format("animals.xlsx") is None
    True
    """
    name = os.fspath(path).lower()
    if compressed:
        name = name.removesuffix(".gz")
    return next((known for known in FORMATS if name.endswith(known.suffixes)), None)


def format_of(path: str | os.PathLike[str], *, compressed: bool = True) -> FileFormat:
    """Return the format that the suffix of a path names; raise an error if it names none."""
    file_format = find_format(path, compressed=compressed)
    if file_format is None:
        raise ParameterError(
            f"expected a file that ends with {', '.join(suffixes())}",
            path=os.fspath(path),
            hint=f"name its files, as in '{path}/*.csv'" if os.path.isdir(path) else None,
        )
    return file_format


def is_compressed(path: str) -> bool:
    """Return whether the name of a file says that it is compressed by gzip."""
    return path.lower().endswith(".gz")


def open_bytes(path: str) -> BinaryIO:
    """Open a file for reading, decompressed if its name ends with ".gz"."""
    return cast(BinaryIO, gzip.open(path) if is_compressed(path) else open(path, "rb"))


def write_frames(
    frames: Iterable[pl.DataFrame], schema: pl.Schema, to: Any, inputs: Iterable[str] = ()
) -> Path:
    """Write frames of one schema to a file, all of them or none, and return its path.

    A model, and the files that the frames are made of, are not replaced.
    """
    refuse_url(to, "name a file")
    path = Path(to)
    if path.is_file():
        if any(os.path.exists(name) and os.path.samefile(name, path) for name in inputs):
            raise OutputFileError("is the input, too", path=str(to), hint="name another file")
        if _is_model(path):
            raise OutputFileError("is a model", path=str(to), hint="name another file")
    written = format_of(path, compressed=False)
    written.check_schema(schema, str(path))
    with atomic_write(path) as part:
        written.write(lazy_frame_of(frames, schema), part)
    return path


def _is_model(path: Path) -> bool:
    """Return whether a file is a model, by its metadata."""
    import polars as pl

    with path.open("rb") as file:
        if file.read(len(_PARQUET.magic)) != _PARQUET.magic:
            return False
    try:
        return MODEL_KEY in pl.read_parquet_metadata(path)
    except pl.exceptions.PolarsError:  # a damaged file
        return False


def lazy_frame_of(frames: Iterable[pl.DataFrame], schema: pl.Schema) -> pl.LazyFrame:
    """Return a lazy frame that reads an iterable of frames; it can be collected once."""
    from polars.io.plugins import register_io_source

    def rows(
        columns: list[str] | None, predicate: Any, n_rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in frames:
            yield frame if columns is None else frame.select(columns)

    return register_io_source(rows, schema=schema)
