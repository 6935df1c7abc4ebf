"""Files that the workers of a cluster read and write themselves, in pieces."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import polars as pl

from stc._core.model import Model
from stc._utils.optional import optional
from stc._utils.threads import threaded
from stc.sources.protocol import BATCH, Answering, Learning

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Piece(NamedTuple):
    """Rows of a Parquet file that are read together: whole row groups, at least one."""

    path: str
    offset: int
    rows: int

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These rows, a batch at a time."""
        # The file's name is a name, not a pattern, whatever brackets it holds.
        scan = pl.scan_parquet(self.path, glob=False)
        wanted = places_of(columns, scan.collect_schema().names(), f"the file {self.path!r}")
        scan = scan.select(pl.nth(wanted))
        end = self.offset + self.rows
        for start in range(self.offset, end, BATCH):
            yield scan.slice(start, min(BATCH, end - start)).collect()


def places_of(columns: Sequence[str], names: Sequence[str], where: str) -> list[int]:
    """Where these columns are among the names."""
    places = {name: place for place, name in enumerate(names)}
    for column in columns:
        if column not in places:
            raise ValueError(f"{where} has no column {column!r}; it has {', '.join(places)}")
    return [places[column] for column in columns]


def paths_of(paths: Paths) -> list[str]:
    """The files that a path, a glob, or a list of paths names."""
    if not isinstance(paths, (str, os.PathLike)):
        found = [os.fspath(path) for path in paths]
    elif glob.has_magic(os.fspath(paths)):
        found = sorted(glob.glob(os.fspath(paths), recursive=True))
    else:
        found = [os.fspath(paths)]
    if not found:
        raise FileNotFoundError(f"no file matches {paths!r}")
    for path in found:
        if not path.lower().endswith(".parquet"):
            raise ValueError(f"{path!r}: a cluster reads files that end with .parquet")
    return [absolute(path) for path in found]


def pieces_of(paths: Paths, extra: str) -> list[Piece]:
    """The pieces of Parquet files: runs of row groups of about a batch."""
    parquet = optional("pyarrow.parquet", extra, "reading the row groups of a Parquet file")

    def pieces(path: str) -> list[Piece]:
        known = parquet.read_metadata(path)
        groups = [known.row_group(k).num_rows for k in range(known.num_row_groups)]
        runs: list[Piece] = []
        for rows in groups or [0]:  # a file without rows has an answer without rows
            if runs and runs[-1].rows + rows <= BATCH:
                runs[-1] = runs[-1]._replace(rows=runs[-1].rows + rows)
            else:
                offset = runs[-1].offset + runs[-1].rows if runs else 0
                runs.append(Piece(path, offset, rows))
        return runs

    return [piece for own in threaded(pieces, paths_of(paths)) for piece in own]


def absolute(path: str | os.PathLike[str]) -> str:
    """A path that means the same in a process that was started elsewhere."""
    path = os.fspath(path)
    return path if "://" in path else os.path.abspath(path)


def shared_out(pieces: Sequence[Piece], shares: int) -> list[list[Piece]]:
    """The pieces in so many lists of neighbours with about as many rows each; none is empty."""
    after = np.cumsum([piece.rows for piece in pieces])
    middle = after - np.array([piece.rows for piece in pieces]) / 2
    share = (middle * shares / max(int(after[-1]), 1)).astype(int)
    lists: dict[int, list[Piece]] = {}
    for piece, number in zip(pieces, share.tolist(), strict=True):
        lists.setdefault(number, []).append(piece)
    return list(lists.values())


def frames_of(pieces: Sequence[Piece], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """All rows of some pieces, a batch at a time."""
    for piece in pieces:
        yield from piece.frames(columns)


def learnt_from(pieces: Sequence[Piece], task: Learning) -> Model | None:
    """The model of some pieces."""
    return task(frames_of(pieces, task.columns))


def answered_piece(number: int, piece: Piece, task: Answering, folder: str) -> None:
    """Write the answers for a piece."""
    write_part(map(task, piece.frames(task.columns)), task.schema, folder, number)


def write_part(
    answers: Iterator[pl.DataFrame], schema: pl.Schema, folder: str, number: int
) -> None:
    """Write a part of the answers: at once, even if two workers are asked for the same."""
    name = f"part-{number:05}.parquet"
    beside = os.path.join(folder, f".{name}.{uuid4().hex}")
    try:
        pl.concat([pl.DataFrame(schema=schema), *answers]).write_parquet(beside)
        os.replace(beside, os.path.join(folder, name))
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(to: str | os.PathLike[str]) -> Iterator[str]:
    """A folder to write in. It has its name only when everything is in it; else it is gone."""
    target = Path(absolute(to))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{os.fspath(to)!r} is there already: name a new folder")
    beside = target.with_name(f".{target.name}.{uuid4().hex}")
    beside.mkdir(parents=True)
    try:
        yield str(beside)
        if target.exists():
            target.rmdir()
        beside.rename(target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def merged(models: Sequence[Model | None]) -> Model | None:
    """The sum of some models; those that learnt nothing are None."""
    known = [model for model in models if model is not None]
    return reduce(Model.merged, known) if known else None


class Files:
    """Parquet files that the workers of a cluster can read, under the names that we know."""

    arrays = False

    def __init__(self, paths: Paths, extra: str) -> None:
        self._pieces = pieces_of(paths, extra)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the first file."""
        first = pl.scan_parquet(self._pieces[0].path, glob=False)
        return tuple(first.collect_schema().names())

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows."""
        found: list[pl.DataFrame] = []
        for piece in self._pieces:
            few = piece._replace(rows=min(piece.rows, rows - sum(f.height for f in found)))
            found += few.frames(columns)
            if sum(frame.height for frame in found) >= rows:
                break
        return pl.concat(found, how="vertical_relaxed") if found else self._none(columns)

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along as they are."""
        return self._none(columns).schema

    def _none(self, columns: Sequence[str]) -> pl.DataFrame:
        return pl.scan_parquet(self._pieces[0].path, glob=False).select(columns).head(0).collect()

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows, read by this process."""
        return frames_of(self._pieces, columns)
