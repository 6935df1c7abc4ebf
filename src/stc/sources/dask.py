"""Dask: the kernel where the partitions are, or where the workers read files themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from stc._core.model import Model
from stc._input.pandas import arrow_of
from stc._utils.optional import optional
from stc.sources.pieces import (
    Files,
    Paths,
    answered_piece,
    learnt_from,
    merged,
    new_folder,
    places_of,
    shared_out,
    write_part,
)
from stc.sources.protocol import BATCH, Answering, Learning, kinds_of

# Cells of pandas objects that are texts, or several values.
_TYPED = {str, list, tuple, np.ndarray, type(None)}

# Partial models that one task adds up.
_FAN = 4


class DaskSource:
    """A Dask DataFrame. Its partitions are learnt from and answered for where they are.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The data. It is never computed as a whole.
    """

    arrays = False

    def __init__(self, frame: Any) -> None:
        for name in frame.columns:
            if not isinstance(name, str):
                raise TypeError(
                    f"columns have strings as names, got {name!r}: frame.rename(columns=str)"
                )
        self.names: tuple[str, ...] = tuple(frame.columns)
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"column {twice!r} occurs more than once; names must be unique")
        self._frame = frame

    def _read(self, columns: Sequence[str]) -> Any:
        places_of(columns, self.names, "the Dask DataFrame")
        return self._frame[list(columns)]

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows: of as few partitions as have them."""
        read = self._read(columns)
        found = [polars_of(read._meta)]
        for number in range(read.npartitions):
            missing = rows - sum(frame.height for frame in found)
            if missing <= 0:
                break
            first = read.get_partition(number).map_partitions(_head, missing, meta=read._meta)
            found.append(polars_of(first.compute()))
        filled = [frame for frame in found if frame.height]
        return pl.concat(filled, how="vertical_relaxed") if filled else found[0]

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along as they are."""
        return kinds_of(self.head(columns, 1))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows: one partition after the other comes to this process."""
        read = self._read(columns)
        for number in range(read.npartitions):
            yield from _batches(read.get_partition(number).compute())

    def learn(self, task: Learning) -> Model | None:
        """The model of all partitions; the sums are made by the workers, too."""
        delayed = optional("dask", "dask", "a Dask DataFrame").delayed
        sent = _sent(task)
        learn, add = delayed(_learnt_partition, pure=False), delayed(merged, pure=False)
        models = [learn(part, sent) for part in self._read(task.columns).to_delayed()]
        model: Model | None = _tree(models, add).compute()
        return model

    def answer(self, task: Answering, to: str | os.PathLike[str] | None = None) -> Any:
        """The answers as a lazy Dask DataFrame; or as Parquet files in a new folder.

        A lazy answer keeps the model on the workers of the client of now, and needs them.
        """
        read = self._read(task.columns)
        sent = _sent(task)
        if to is None:
            meta = _pandas_of(pl.DataFrame(schema=task.schema), read._meta.index[:0])
            return read.map_partitions(_answered_partition, sent, meta=meta)
        dask = optional("dask", "dask", "a Dask DataFrame")
        write = dask.delayed(_written_partition, pure=False)
        with new_folder(to) as folder:
            parts = read.to_delayed()
            dask.compute(*[write(part, sent, folder, k) for k, part in enumerate(parts)])
        return to


def _sent(task: Any) -> Any:
    """The task, once on each worker, if there are any; else itself."""
    scheduler = optional("dask.base", "dask", "a Dask DataFrame").get_scheduler()
    scatter = getattr(getattr(scheduler, "__self__", None), "scatter", None)
    return task if scatter is None else scatter(task, broadcast=True, hash=False)


def _tree(models: list[Any], add: Callable[[list[Any]], Any]) -> Any:
    """A task that adds up all models, in levels of a few each."""
    while len(models) > 1:
        models = [add(models[k : k + _FAN]) for k in range(0, len(models), _FAN)]
    return models[0]


def _head(partition: Any, rows: int) -> Any:
    return partition.head(rows)


def _learnt_partition(partition: Any, task: Learning) -> Model | None:
    return task(_batches(partition))


def _answers(partition: Any, task: Answering) -> Iterator[pl.DataFrame]:
    return map(task, _batches(partition))


def _answered_partition(partition: Any, task: Answering) -> Any:
    answers = [pl.DataFrame(schema=task.schema), *_answers(partition, task)]
    return _pandas_of(pl.concat(answers), partition.index)


def _written_partition(partition: Any, task: Answering, folder: str, number: int) -> None:
    write_part(_answers(partition, task), task.schema, folder, number)


def _batches(partition: Any) -> Iterator[pl.DataFrame]:
    if len(partition):
        yield from polars_of(partition).iter_slices(BATCH)


def polars_of(partition: Any) -> pl.DataFrame:
    """A pandas frame as polars, without its index; cells that are lists or dicts stay so."""
    return pl.DataFrame([_series(name, partition[name]) for name in partition.columns])


def _series(name: str, column: Any) -> pl.Series:
    arrow = arrow_of(column)
    if arrow is not None:
        return pl.Series(name, arrow)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biufMm":
        return pl.Series(name, column.to_numpy())
    if hasattr(column, "cat") and hasattr(column.cat, "categories"):
        categories = _series(name, column.cat.categories.to_series())
        if categories.dtype != pl.Object:
            codes = pl.Series(column.cat.codes.to_numpy(), dtype=pl.Int64)
            return categories.gather(codes.replace(-1, None))
    return _series_of_cells(name, column.tolist())


def _series_of_cells(name: str, cells: list[Any]) -> pl.Series:
    """Texts and lists as polars has them; whatever else is in the cells stays what it is."""
    if {type(cell) for cell in cells} <= _TYPED:
        try:
            return pl.Series(name, cells)
        except (TypeError, pl.exceptions.PolarsError):  # not all of one type
            pass
    return pl.Series(name, cells, dtype=pl.Object)


def _pandas_of(answer: pl.DataFrame, index: Any) -> Any:
    """An answer as pandas, with the index of the items."""
    frame = answer.to_pandas()
    frame.index = index
    return frame


# --- files that the workers of Dask read ------------------------------------------------------


class DaskFiles(Files):
    """Parquet files, read by the workers of a Dask cluster: no row travels.

    Parameters
    ----------
    paths : path, glob, or sequence of paths
        The files, on a disk that this process and all workers share.
    client : distributed.Client
        The cluster.
    """

    def __init__(self, paths: Paths, client: Any) -> None:
        super().__init__(paths, "dask")
        self._client = client

    def learn(self, task: Learning) -> Model | None:
        """The model of all files; the sums are made by the workers, too."""
        workers = max(sum(self._client.nthreads().values()), 1)
        shares = shared_out(self._pieces, 2 * workers)
        sent = self._client.scatter(task, broadcast=True, hash=False)
        models = self._client.map(learnt_from, shares, task=sent, pure=False)

        def add(some: list[Any]) -> Any:
            return self._client.submit(merged, some, pure=False)

        model: Model | None = _tree(models, add).result()
        return model

    def answer(self, task: Answering, to: str | os.PathLike[str] | None = None) -> Any:
        """The answers as Parquet files in a new folder, one a piece, written by the workers."""
        if to is None:
            raise ValueError("say where the answers go: to='a new folder'")
        sent = self._client.scatter(task, broadcast=True, hash=False)
        numbers = range(len(self._pieces))
        with new_folder(to) as folder:
            written = self._client.map(
                answered_piece, numbers, self._pieces, task=sent, folder=folder, pure=False
            )
            self._client.gather(written)
        return to
