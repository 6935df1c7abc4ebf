"""Files and polars lazy frames, read in batches."""

from __future__ import annotations

import glob
import gzip
import os
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import polars as pl

from stc._input.values import canonical
from stc._utils.database_url import refuse_url
from stc._utils.file_formats import (
    INFERRED_ROWS,
    FileFormat,
    format_of,
    is_compressed,
    write_frames,
)
from stc._utils.threads import prefetch
from stc.exceptions import DataError, ParameterError, SourceFileError
from stc.sources.common_types import common_type, texts_of
from stc.sources.faults import find_fault, read_errors
from stc.sources.protocol import (
    BATCH_ROWS,
    Learner,
    Learnt,
    Predictor,
    check_columns,
    first_rows,
    with_progress,
)

# A number with a leading zero, such as a postal code, is text.
_CODE = r"^\s*[+-]?0\d"
# An integer of so many digits may not be exact as a float.
_LONG_DIGITS = 16
_LONG_INTEGER = rf"^\s*[+-]?\d{{{_LONG_DIGITS},}}\s*$"
# Bytes from which the number of lines of a file is estimated, and that are copied at a time.
_SAMPLE_BYTES = 1 << 20


@dataclass(frozen=True)
class FileBackend:
    """Files or a lazy frame, read in batches.

    Attributes
    ----------
    lazy
        All rows.
    typed
        Types of the text columns of a CSV that hold numbers or booleans.
    parts
        A lazy frame for each file, if slices of rows can be read directly.
    paths
        The files, as the user names them; none for a lazy frame.
    unpacked
        Temporary files with the content of compressed ones, deleted with the source.
    format
        The format of the files; None for a lazy frame.
    separator
        Separator of the cells of a CSV.
    """

    lazy: pl.LazyFrame
    typed: Mapping[str, pl.DataType] = field(default_factory=dict)
    parts: tuple[pl.LazyFrame, ...] = ()
    paths: tuple[str, ...] = ()
    unpacked: tuple[Any, ...] = ()
    format: FileFormat | None = None
    separator: str | None = None
    ordered: ClassVar[bool] = True

    @cached_property
    def schema(self) -> pl.Schema:
        """All columns of the first file."""
        path, lazy = self._files[0]
        with self._errors(path):
            return lazy.collect_schema()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.schema.names())

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""

        def read(path: str | None, lazy: pl.LazyFrame, rows: int) -> pl.DataFrame:
            with self._errors(path):
                lines = self._read(lazy, columns, path).head(rows)
                return lines.collect(engine="streaming").select(columns)

        with self._errors():
            head = self._parsed(first_rows((partial(read, *file) for file in self._files), rows))
        # A quote that is never closed makes polars read no rows.
        fault = None if head.height else self._text_fault()
        if fault is not None:
            raise fault
        return head

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""
        return pl.Schema({name: self._types[name][0] or pl.String() for name in columns})

    def frames(self, columns: Sequence[str], raw: Sequence[str] = ()) -> Generator[pl.DataFrame]:
        """Yield all rows in batches; the columns in `raw` keep the text of the file."""
        with self._errors():
            parsed = (self._parsed(frame, raw) for frame in prefetch(self._batches(columns)))
            yield from with_progress(parsed, lambda: self._expected_rows)

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all rows."""
        # Closed also where an error keeps the frame: a reader that waits holds a thread of polars.
        with closing(self.frames(task.columns)) as frames:
            return task(frames)

    def predict(self, task: Predictor, to: Any) -> Any:
        """Write the predictions to a file, in the format of its suffix, and return its path."""
        with closing(self.frames(task.columns, task.copied)) as batches:
            return write_frames(task.over(batches), task.schema, to, self.paths)

    @cached_property
    def _types(self) -> dict[str, tuple[pl.DataType | None, bool]]:
        """By column: the type of all files, None if they have none, and whether it is text then."""
        schemas = [part.collect_schema() for part in self.parts[1:]]
        types: dict[str, tuple[pl.DataType | None, bool]] = {}
        for name, dtype in self.schema.items():
            dtypes = [dtype, *(schema[name] for schema in schemas if name in schema)]
            common = common_type(dtypes, name)
            # Numbers of different types are equal if their values are.
            types[name] = common, common is None and not all(d.is_numeric() for d in dtypes)
        return types

    @property
    def _files(self) -> list[tuple[str | None, pl.LazyFrame]]:
        """The lazy frames with all rows, each with its path if there is one for each file."""
        if self.parts:
            return list(zip(self.paths, self.parts, strict=True))
        return [(None, self.lazy)]

    @cached_property
    def _expected_rows(self) -> int | None:
        """Number of rows; an estimate if they are lines; None if unknown."""
        if self.parts:
            return int(sum(part.select(pl.len()).collect().item() for part in self.parts))
        if not self.paths:
            return None
        paths = _readable(self.paths, self.unpacked)
        with open(paths[0], "rb") as file:
            start = file.read(_SAMPLE_BYTES)
        return sum(map(os.path.getsize, paths)) * start.count(b"\n") // max(len(start), 1)

    def _read(self, lazy: pl.LazyFrame, columns: Sequence[str], path: str | None) -> pl.LazyFrame:
        """Return a lazy frame of these columns; of a CSV, of all columns.

        polars does not notice that a line has too many cells if it reads only some columns, and
        would confuse the cells.
        """
        if self.separator is not None:
            return lazy
        if self.parts:
            check_columns(columns, lazy.collect_schema().names(), path)
        return lazy.select(columns)

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        if not self.parts:
            lines = self._read(self.lazy, columns, None)
            for frame in lines.collect_batches(chunk_size=BATCH_ROWS, lazy=True):
                yield frame.select(columns)
            return
        # polars alone would decode many row groups in advance and keep them in memory.
        waiting: list[pl.DataFrame] = []
        rows = 0
        for path, part in self._files:
            with self._errors(path):
                for frame in _slices(self._read(part, columns, path), BATCH_ROWS - rows):
                    # A common type of two files might not tell their values apart.
                    if waiting and frame.schema != waiting[-1].schema:
                        yield pl.concat(waiting)
                        waiting, rows = [], 0
                    waiting, rows = [*waiting, frame], rows + frame.height
                    if rows >= BATCH_ROWS:
                        yield pl.concat(waiting)
                        waiting, rows = [], 0
        if waiting:
            yield pl.concat(waiting)

    def _parsed(self, frame: pl.DataFrame, raw: Sequence[str] = ()) -> pl.DataFrame:
        """Return the frame with numbers and booleans instead of their text.

        A column has the type that holds the values of all files. If there is none it is text, since
        True and 1 would be the same number; numbers stay what they are, but where they are copied.
        """
        parsed = [
            _parse(frame[name], self.typed[name])
            for name in frame.columns
            if name in self.typed and name not in raw
        ]
        for series in frame if self.parts else ():
            common, as_text = self._types[series.name]
            if as_text or (common is None and series.name in raw):
                parsed.append(texts_of(series))
            elif common is not None and common != series.dtype:
                parsed.append(series.cast(common))
        return frame.with_columns(parsed) if parsed else frame

    def _inferred_types(self, path: str) -> dict[str, pl.DataType]:
        """Return the types of the columns of a CSV whose first rows hold numbers or booleans.

        The columns are read as text, so that a later row with something else is text, not an error.
        """
        assert self.format is not None
        sample = self.format.scan(
            [path], separator=self.separator, infer_schema_length=INFERRED_ROWS
        )
        typed = {
            name: dtype
            for name, dtype in sample.collect_schema().items()
            if dtype.is_numeric() or dtype == pl.Boolean
        }
        texts = self.lazy.select(list(typed)).head(INFERRED_ROWS).collect()
        codes = [column.name for column in texts if column.str.contains(_CODE).any()]
        return {name: dtype for name, dtype in typed.items() if name not in codes}

    def _errors(self, path: str | None = None) -> AbstractContextManager[None]:
        """Raise errors of polars as errors of stc that name the file and, if known, the row."""
        if path is None and len(self.paths) == 1:
            path = self.paths[0]
        title = "a lazy frame" if self.format is None else self.format.title
        return read_errors(title, path, self._text_fault)

    def _text_fault(self) -> DataError | None:
        """Return an error about the first malformed row, if rows are lines."""
        if self.format is None or not self.format.lines or any(map(os.path.isdir, self.paths)):
            return None
        return find_fault(self.paths, self.separator)


def _slices(lazy: pl.LazyFrame, first: int) -> Iterator[pl.DataFrame]:
    """Yield slices of at most a batch; the first has `first` rows."""
    size = lazy.select(pl.len()).collect().item()
    start, rows = 0, first
    while start < size:
        yield lazy.slice(start, rows).collect()
        start, rows = start + rows, BATCH_ROWS


def matching_files(path: str | os.PathLike[str]) -> list[str]:
    """Return the files that a path or a glob names."""
    name = os.fspath(path)
    refuse_url(name, "name the table of the database, too: stc.source(url, table)")
    if os.path.exists(name) or not glob.has_magic(name):
        return [name]
    paths = sorted(glob.glob(name, recursive=True))
    if not paths:
        raise SourceFileError("no file matches the pattern", path=name)
    return paths


def scan_files(path: str | os.PathLike[str], separator: str | None = None) -> FileBackend:
    """Return a source of the files that a path or a glob names.

    Parameters
    ----------
    path : str or os.PathLike
        A path or a glob; all files have one format.
    separator : str, default=None
        Separator of the cells of a CSV; None for that of the format.
    """
    paths = matching_files(path)
    file_format = format_of(paths[0])
    file_format.check_separator(separator)
    for name in paths:
        _check_readable(name)
        if format_of(name) != file_format:
            raise ParameterError(
                f"the format differs from that of {paths[0]}", path=name, hint="use one format"
            )
    unpacked = tuple(_Decompressed(name) for name in paths if is_compressed(name))
    readable, separator = _readable(paths, unpacked), separator or file_format.separator
    if separator is None:
        parts = () if file_format.lines else tuple(file_format.scan([name]) for name in readable)
        lazy = file_format.scan(readable)
        return FileBackend(lazy, {}, parts, tuple(paths), unpacked, file_format)
    lazy = file_format.scan(readable, separator=separator, infer_schema=False)
    source = FileBackend(lazy, {}, (), tuple(paths), unpacked, file_format, separator)
    with source._errors():
        return replace(source, typed=source._inferred_types(readable[0]))


def _check_readable(path: str) -> None:
    if not os.path.exists(path):
        hint = "read remote files with stc.source(polars.scan_parquet(...))"
        raise SourceFileError(
            "there is no such file", path=path, hint=hint if "://" in path else None
        )
    if not os.access(path, os.R_OK):
        raise SourceFileError("there is no permission to read the file", path=path)


def _readable(paths: Sequence[str], unpacked: Iterable[Any]) -> list[str]:
    """Return the paths with the decompressed files in the place of compressed ones."""
    decompressed = iter(unpacked)
    return [next(decompressed).name if is_compressed(path) else path for path in paths]


class _Decompressed:
    """A temporary file with the content of a gzip file, which might not fit in memory.

    It is deleted by `close`, and else with this object.
    """

    def __init__(self, path: str) -> None:
        handle, self.name = tempfile.mkstemp(prefix="stc-", suffix=format_of(path).suffixes[0])
        self.close = weakref.finalize(self, os.unlink, self.name)
        try:
            with os.fdopen(handle, "wb") as file, gzip.open(path) as packed:
                shutil.copyfileobj(packed, file, _SAMPLE_BYTES)
        except BaseException as error:
            self.close()
            if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
                message = f"the file is not complete gzip data: {error}"
                raise DataError(message, path=path) from error
            raise


def _parse(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return the numbers or booleans in a column of text; text, if one type cannot hold them."""
    candidates: list[pl.DataType] = [pl.Boolean()]
    if dtype != pl.Boolean:
        candidates = [*([dtype, pl.Int128()] if dtype.is_integer() else []), pl.Float64()]
    for candidate in candidates:
        parsed = _cast(texts, candidate)
        if parsed.null_count() == texts.null_count() and not _rounded(texts, candidate):
            return parsed
    categories = {text: _category(text, candidates[-1]) for text in texts.unique().drop_nulls()}
    return texts.replace_strict(categories, return_dtype=pl.String, default=None)


def _rounded(texts: pl.Series, dtype: pl.DataType) -> bool:
    """Return whether a type would round integers."""
    if not dtype.is_float() or (texts.str.len_bytes().max() or 0) < _LONG_DIGITS:  # type: ignore[operator]
        return False
    long = texts.filter(texts.str.len_bytes() >= _LONG_DIGITS)
    return long.str.contains(_LONG_INTEGER).any()


def _cast(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        words = {"true": True, "false": False}
        return texts.replace_strict(words, default=None, return_dtype=pl.Boolean)
    return texts.cast(dtype, strict=False)


def _category(text: str, dtype: pl.DataType) -> str | None:
    """Return the category of a text among numbers or booleans."""
    if dtype.is_float() and re.match(_LONG_INTEGER, text):
        sign = "-" if "-" in text else ""
        return sign + text.strip().lstrip("+-0")
    parsed = _cast(pl.Series([text]), dtype)[0]
    return text if parsed is None else canonical(parsed)
