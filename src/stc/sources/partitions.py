"""Parquet files that the workers of a cluster read and write themselves, in partitions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import polars as pl

from stc._utils.optional import optional
from stc._utils.threads import thread_map
from stc.exceptions import ParameterError
from stc.sources.faults import read_errors
from stc.sources.files import matching_files
from stc.sources.protocol import BATCH_ROWS, Learner, Learnt, Predictor, check_columns, first_rows

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class Partition(NamedTuple):
    """Consecutive rows of a Parquet file: whole row groups, at least one."""

    path: str
    offset: int
    rows: int

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield these rows in batches."""
        with read_errors("Parquet", self.path):
            rows = self._lazy(columns)
            for start in range(0, self.rows, BATCH_ROWS):
                yield rows.slice(start, BATCH_ROWS).collect()

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first of these rows."""
        with read_errors("Parquet", self.path):
            return self._lazy(columns).head(rows).collect()

    def _lazy(self, columns: Sequence[str]) -> pl.LazyFrame:
        # The name of the file is not a pattern, whatever brackets it contains.
        lazy = pl.scan_parquet(self.path, glob=False)
        check_columns(columns, lazy.collect_schema().names(), self.path)
        return lazy.select(columns).slice(self.offset, self.rows)


def parquet_paths(paths: Paths) -> list[str]:
    """Return the absolute paths of the files that a path, a glob or a list of paths names."""
    if isinstance(paths, str | os.PathLike):
        files = matching_files(paths)
    else:
        files = [os.fspath(path) for path in paths]
    for path in files:
        if not path.lower().endswith(".parquet"):
            raise ParameterError("a cluster reads only files that end with .parquet", path=path)
    return [absolute(path) for path in files]


def partitions_of(paths: Paths, extra: str) -> list[Partition]:
    """Return the partitions of Parquet files: consecutive row groups of about a batch."""
    parquet = optional("pyarrow.parquet", extra, "reading the row groups of a Parquet file")

    def partitions(path: str) -> list[Partition]:
        with read_errors("Parquet", path):
            metadata = parquet.read_metadata(path)
        sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
        runs: list[Partition] = []
        for rows in sizes or [0]:  # a file without rows has predictions without rows
            if runs and runs[-1].rows + rows <= BATCH_ROWS:
                runs[-1] = runs[-1]._replace(rows=runs[-1].rows + rows)
            else:
                offset = runs[-1].offset + runs[-1].rows if runs else 0
                runs.append(Partition(path, offset, rows))
        return runs

    return list(chain.from_iterable(thread_map(partitions, parquet_paths(paths))))


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path that is valid in processes with another working directory."""
    path = os.fspath(path)
    return path if "://" in path else os.path.abspath(path)


def shared_out(partitions: Sequence[Partition], shares: int) -> list[list[Partition]]:
    """Split the partitions, in order, into non-empty lists with about as many rows each."""
    after = np.cumsum([partition.rows for partition in partitions])
    middle = after - np.array([partition.rows for partition in partitions]) / 2
    share = (middle * shares / max(int(after[-1]), 1)).astype(int)
    lists: dict[int, list[Partition]] = {}
    for partition, number in zip(partitions, share.tolist(), strict=True):
        lists.setdefault(number, []).append(partition)
    return list(lists.values())


def write_part(frames: Iterable[pl.DataFrame], schema: pl.Schema, folder: str, number: int) -> None:
    """Write a part of the predictions atomically: two workers may be given the same partition."""
    name = f"part-{number:05}.parquet"
    temporary = Path(folder, f".{name}.{uuid4().hex}")
    try:
        pl.concat([pl.DataFrame(schema=schema), *frames]).write_parquet(temporary)
        temporary.replace(Path(folder, name))
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(to: str | os.PathLike[str] | None) -> Iterator[str]:
    """Return a temporary folder that gets its name on success and is deleted on failure."""
    if to is None:
        raise ParameterError("to=None: workers write predictions", hint="use to='a new folder'")
    target = Path(absolute(to))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise FileExistsError(f"{os.fspath(to)!r} already exists; name a new folder")
    temporary = target.with_name(f".{target.name}.{uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        yield str(temporary)
        if target.exists():
            target.rmdir()
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def merged(parts: Iterable[Learnt | None]) -> Learnt | None:
    """Return what was learnt from all parts; None stands for no rows."""
    known = [part for part in parts if part is not None]
    return reduce(lambda one, other: one.merged(other), known) if known else None


class ParquetFiles:
    """Parquet files on a disk that this process shares with the workers of a cluster.

    Parameters
    ----------
    paths : path, glob, or sequence of paths
        The files.
    extra : str
        The optional dependencies that the cluster needs.
    """

    ordered = False

    def __init__(self, paths: Paths, extra: str) -> None:
        self._partitions = partitions_of(paths, extra)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the first file."""
        return tuple(pl.scan_parquet(self._partitions[0].path, glob=False).collect_schema())

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""
        readers = (partial(partition.head, columns) for partition in self._partitions)
        return first_rows(readers, rows)

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""
        return self.head(columns, 0).schema

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches, read by this process."""
        return chain.from_iterable(partition.frames(columns) for partition in self._partitions)

    @staticmethod
    def learn_partitions(partitions: Iterable[Partition], task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from some partitions."""
        frames = (partition.frames(task.columns) for partition in partitions)
        return task(chain.from_iterable(frames))

    @staticmethod
    def predict_partition(number: int, partition: Partition, task: Predictor, folder: str) -> None:
        """Write the predictions for a partition."""
        write_part(map(task, partition.frames(task.columns)), task.schema, folder, number)
