"""Files and lazy frames: read by polars a batch at a time, however large they are."""

from __future__ import annotations

import glob
import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from stc._core.model import Model
from stc._input.values import canonical
from stc._utils.file_formats import write_frames
from stc._utils.progress import Progress
from stc._utils.threads import ahead
from stc.sources.protocol import BATCH, Answering, Learning

# Rows of a CSV by which the type of a column is told.
_LOOKED_AT = 10_000
# A zero before other digits makes a code of a number, such as that of a postal area: a text.
_CODE = r"^\s*[+-]?0\d"
# Bytes by which the length of a line is told.
_SAMPLE = 1 << 20

_CSV = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson")
_ARROW = (".arrow", ".feather", ".ipc")
ENDINGS = (".parquet", *_CSV, *_JSON, *_ARROW)


@dataclass(frozen=True)
class Scan:
    """A lazy frame, read in batches.

    Attributes
    ----------
    lazy
        What to read.
    typed
        Columns of text (of a CSV) that say numbers or booleans, and which.
    files
        The same, file by file, if any part of a file can be read without what is before it.
    paths
        Where the files are, if rows are lines.
    unpacked
        Files that are there as long as this is.
    whole
        Whether lines are read as a whole: polars misses that one has too many cells if it reads
        only some of them, and would take one for another.
    """

    lazy: pl.LazyFrame
    typed: Mapping[str, pl.DataType] = field(default_factory=dict)
    files: tuple[pl.LazyFrame, ...] = ()
    paths: tuple[str, ...] = ()
    unpacked: tuple[Any, ...] = ()
    whole: bool = False
    arrays: ClassVar[bool] = True

    @cached_property
    def schema(self) -> pl.Schema:
        """All columns of the data, those of the first file."""
        return (self.files or (self.lazy,))[0].collect_schema()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns of the data."""
        return tuple(self.schema.names())

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows."""
        found: list[pl.DataFrame] = []
        for file in self.files or (self.lazy,):
            left = rows - sum(frame.height for frame in found)
            if left > 0:
                lines = (file if self.whole else file.select(columns)).head(left)
                found.append(lines.collect(engine="streaming").select(columns))
        return self._told(pl.concat(found, how="vertical_relaxed"))

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along as they are."""
        return pl.Schema({name: self.schema[name] for name in columns})

    def frames(self, columns: Sequence[str], raw: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
        """All rows, a batch at a time; of the columns in `raw` as they stand in the file."""
        with Progress("reading") as progress:
            done = 0
            for frame in ahead(self._batches(columns)):
                if frame.height:
                    yield self._told(frame, raw)
                done += frame.height
                if progress.due:
                    progress.flow(done, "rows", self._expected)

    @cached_property
    def _expected(self) -> int | None:
        """How many rows there are; where these are lines, about as many."""
        if self.files:
            return int(sum(own.select(pl.len()).collect().item() for own in self.files))
        if not self.paths:
            return None
        with open(self.paths[0], "rb") as file:
            start = file.read(_SAMPLE)
        size = sum(os.path.getsize(own) for own in self.paths)
        return size * start.count(b"\n") // max(len(start), 1)

    def _batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        if not self.files:
            lines = self.lazy if self.whole else self.lazy.select(columns)
            for frame in lines.collect_batches(chunk_size=BATCH, lazy=True):
                yield frame.select(columns)
            return
        # Left to itself, polars decodes many parts of a file in advance, and keeps them.
        waiting: list[pl.DataFrame] = []
        rows = 0
        for file in self.files:
            for part in _parts(file.select(columns), BATCH - rows):
                waiting, rows = [*waiting, part], rows + part.height
                if rows >= BATCH:
                    yield pl.concat(waiting, how="vertical_relaxed")
                    waiting, rows = [], 0
        if waiting:
            yield pl.concat(waiting, how="vertical_relaxed")

    def learn(self, task: Learning) -> Model | None:
        """The model of all the data."""
        return task(self.frames(task.columns))

    def answer(self, task: Answering, to: Any) -> Any:
        """The answers, written to a file whose ending tells its format; its path comes back."""
        return write_frames(map(task, self.frames(task.columns, task.carried)), task.schema, to)

    def _told(self, frame: pl.DataFrame, raw: Sequence[str] = ()) -> pl.DataFrame:
        """The frame with numbers and booleans in the place of their text."""
        told = [
            _read(frame[name], self.typed[name])
            for name in frame.columns
            if name in self.typed and name not in raw
        ]
        return frame.with_columns(told) if told else frame


def _parts(file: pl.LazyFrame, first: int) -> Iterator[pl.DataFrame]:
    """A file in parts of at most a batch, the first of so many rows."""
    size = file.select(pl.len()).collect().item()
    start, rows = 0, first
    while start < size:
        yield file.slice(start, rows).collect()
        start, rows = start + rows, BATCH


def scan_files(path: str | Path, separator: str | None = None) -> Scan:
    """The files that a path or a glob names; of a CSV, what stands between its cells."""
    pattern = glob.has_magic(str(path)) and not Path(path).exists()
    paths = sorted(glob.glob(str(path), recursive=True)) if pattern else [str(path)]
    if not paths:
        raise FileNotFoundError(f"no file matches {str(path)!r}")
    ending = _ending(paths[0])
    check_separator(separator, ending)
    for own in paths:
        if not Path(own).exists():
            hint = "; of another place, give stc.source(pl.scan_parquet(...))" * ("://" in own)
            raise FileNotFoundError(f"there is no file {own!r}{hint}")
        if _ending(own) != ending:
            raise ValueError(f"{str(path)!r} names files of several formats: {ending} and others")
    unpacked = {own: _unpacked(own) for own in paths if own.lower().endswith(".gz")}
    plain = [unpacked[own].name if own in unpacked else own for own in paths]
    return replace(_scan(plain, ending, separator), unpacked=tuple(unpacked.values()))


def check_separator(separator: str | None, ending: str) -> None:
    """Refuse what polars cannot have between cells, and formats that have nothing there."""
    if separator is None:
        return
    if ending not in _CSV:
        raise ValueError(f"separator={separator!r} is for .csv and .tsv, not for {ending}")
    single = isinstance(separator, str) and len(separator) == 1 and separator.isascii()
    if not single or separator in '"\r\n\0':
        raise ValueError(f"separator={separator!r}: give one sign, such as ';', or '\\t' for tabs")


def _scan(paths: list[str], ending: str, separator: str | None) -> Scan:
    """Files of one format."""
    if ending == ".parquet":
        files = tuple(pl.scan_parquet(own, glob=False) for own in paths)
        return Scan(pl.scan_parquet(paths, glob=False), files=files)
    if ending in _ARROW:
        files = tuple(pl.scan_ipc(own, glob=False) for own in paths)
        return Scan(pl.scan_ipc(paths, glob=False), files=files)
    if ending in _JSON:
        lazy = pl.scan_ndjson(paths, infer_schema_length=_LOOKED_AT)
        return Scan(lazy, paths=tuple(paths))
    return _scan_csv(paths, separator or _CSV[ending])


def _unpacked(path: str) -> Any:
    """A file out of gzip, on the disk: in memory it might not fit."""
    file = tempfile.NamedTemporaryFile(prefix="stc-", suffix=_ending(path))  # noqa: SIM115
    try:
        with gzip.open(path) as packed:
            shutil.copyfileobj(packed, file, _SAMPLE)
    except BaseException as error:
        file.close()
        if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
            raise ValueError(f"{path!r} is not gzip, or not all of it: {error}") from None
        raise
    file.flush()
    return file


def _ending(path: str | Path) -> str:
    """What tells the format of a file."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes = suffixes[:-1]
    ending = suffixes[-1] if suffixes else ""
    if ending not in ENDINGS:
        raise ValueError(f"{str(path)!r}: expected a file that ends with {', '.join(ENDINGS)}")
    return ending


def _scan_csv(paths: list[str], separator: str) -> Scan:
    """CSV is text: the first rows tell what it says, and a later exception stays a text."""
    lazy = pl.scan_csv(paths, separator=separator, infer_schema=False, glob=False)
    looked_at = pl.scan_csv(
        paths[0], separator=separator, infer_schema_length=_LOOKED_AT, glob=False
    )
    typed = {
        name: dtype
        for name, dtype in looked_at.collect_schema().items()
        if dtype.is_numeric() or dtype == pl.Boolean
    }
    first = lazy.select(list(typed)).head(_LOOKED_AT).collect()
    coded = [own.name for own in first if own.str.contains(_CODE).any()]
    typed = {name: dtype for name, dtype in typed.items() if name not in coded}
    return Scan(lazy, typed, paths=tuple(paths), whole=True)


def _read(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    """What a column of text says: numbers or booleans, as far as it does."""
    candidates = [pl.Boolean()] if dtype == pl.Boolean else [dtype, pl.Float64()]
    for candidate in candidates:
        said = _cast(texts, candidate)
        if said.null_count() == texts.null_count():
            return said
    told = {text: _canonical(text, candidates) for text in texts.unique().drop_nulls()}
    return texts.replace_strict(told, return_dtype=pl.String, default=None)


def _cast(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    if dtype == pl.Boolean:
        words = {"true": True, "false": False}
        return texts.replace_strict(words, default=None, return_dtype=pl.Boolean)
    return texts.cast(dtype, strict=False)


def _canonical(text: str, candidates: Iterable[pl.DataType]) -> str | None:
    """The category of one text among numbers or booleans."""
    for candidate in candidates:
        said = _cast(pl.Series([text]), candidate)[0]
        if said is not None:
            return canonical(said)
    return text
