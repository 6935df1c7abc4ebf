"""Dask DataFrames and Parquet files, read by the workers of Dask."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from dask import compute, delayed
from dask.base import get_scheduler
from dask.utils import M

from stc._input.cells import Categories
from stc._input.pandas import values_of
from stc._utils.names import first_repeated
from stc.exceptions import DataError, DataTypeError
from stc.sources.partitions import ParquetFiles, Paths, merged, new_folder, shared_out, write_part
from stc.sources.protocol import (
    BATCH_ROWS,
    Learner,
    Learnt,
    Predictor,
    check_columns,
    first_rows,
    schema_of,
)

# Types of pandas objects that polars stores as strings or lists.
_TYPED = {str, list, tuple, np.ndarray, type(None)}

# Number of parts, such as partial models, that one task adds up.
_FAN_IN = 4


class DaskBackend:
    """A Dask DataFrame, whose partitions are learnt and predicted by the workers that hold them.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The data. It is never computed as a whole.
    """

    ordered = False

    def __init__(self, frame: Any) -> None:
        for name in frame.columns:
            if not isinstance(name, str):
                raise DataTypeError(
                    f"names of columns must be strings, got {name!r}",
                    hint="use frame.rename(columns=str)",
                )
        self.names: tuple[str, ...] = tuple(frame.columns)
        repeated = first_repeated(self.names)
        if repeated is not None:
            raise DataError("the name of the column occurs more than once", column=repeated)
        self._frame = frame

    def _selected(self, columns: Sequence[str]) -> Any:
        check_columns(columns, self.names)
        return self._frame[list(columns)]

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows, computing as few partitions as possible."""
        selected = self._selected(columns)
        empty = polars_of(selected._meta)

        def read(number: int, rows: int) -> pl.DataFrame:
            partition = selected.get_partition(number)
            return polars_of(partition.map_partitions(M.head, rows, meta=selected._meta).compute())

        readers = (partial(read, number) for number in range(selected.npartitions))
        return first_rows(chain([lambda rows: empty], readers), rows)

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""
        return schema_of(self.head(columns, 1))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches, one partition after the other."""
        selected = self._selected(columns)
        for number in range(selected.npartitions):
            yield from _batches(selected.get_partition(number).compute())

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all partitions, added up by the workers."""
        sent = _scattered(task)
        learn, add = delayed(_learn_partition, pure=False), delayed(merged, pure=False)
        models = [learn(part, sent) for part in self._selected(task.columns).to_delayed()]
        total: Learnt | None = _tree_sum(models, add).compute()
        return total

    def predict(self, task: Predictor, to: str | os.PathLike[str] | None = None) -> Any:
        """Return the predictions as a lazy Dask DataFrame, or write Parquet files to a new folder.

        A lazy DataFrame needs the workers of the current client, which keep the model.
        """
        selected = self._selected(task.columns)
        sent = _scattered(task)
        if to is None:
            meta = _pandas_of(pl.DataFrame(schema=task.schema), selected._meta.index[:0])
            return selected.map_partitions(_predict_partition, sent, meta=meta)
        write = delayed(_write_partition, pure=False)
        with new_folder(to) as folder:
            parts = selected.to_delayed()
            compute(*[write(part, sent, folder, k) for k, part in enumerate(parts)])
        return to


def _scattered(task: Any) -> Any:
    """Return the task as sent to each worker once; without workers, the task itself."""
    scatter = getattr(getattr(get_scheduler(), "__self__", None), "scatter", None)
    return task if scatter is None else scatter(task, broadcast=True, hash=False)


def _tree_sum(models: list[Any], add: Callable[[list[Any]], Any]) -> Any:
    """Return a task that adds up all models, a few in each task."""
    while len(models) > 1:
        models = [add(models[k : k + _FAN_IN]) for k in range(0, len(models), _FAN_IN)]
    return models[0]


def _learn_partition(partition: Any, task: Learner[Learnt]) -> Learnt | None:
    return task(_batches(partition))


def _predict_partition(partition: Any, task: Predictor) -> Any:
    frames = [pl.DataFrame(schema=task.schema), *map(task, _batches(partition))]
    return _pandas_of(pl.concat(frames), partition.index)


def _write_partition(partition: Any, task: Predictor, folder: str, number: int) -> None:
    write_part(map(task, _batches(partition)), task.schema, folder, number)


def _batches(partition: Any) -> Iterator[pl.DataFrame]:
    if len(partition):
        yield from polars_of(partition).iter_slices(BATCH_ROWS)


def polars_of(partition: Any) -> pl.DataFrame:
    """Return a pandas frame as polars, without its index; lists and dicts stay what they are."""
    return pl.DataFrame([_series(name, partition[name]) for name in partition.columns])


def _series(name: str, column: Any) -> pl.Series:
    values = values_of(column)
    if isinstance(values, Categories):
        categories = _series(name, column.cat.categories.to_series())
        if categories.dtype != pl.Object:
            return categories.gather(pl.Series(values.codes, dtype=pl.Int64).replace(-1, None))
        return _of_cells(name, column.tolist())
    return pl.Series(name, values) if isinstance(values, pl.Series) else _of_cells(name, values)


def _of_cells(name: str, cells: Sequence[Any]) -> pl.Series:
    """Return a column of strings or lists; of Python objects if there is anything else."""
    if {type(cell) for cell in cells} <= _TYPED:
        try:
            return pl.Series(name, cells)
        except (TypeError, pl.exceptions.PolarsError):  # mixed types
            pass
    return pl.Series(name, cells, dtype=pl.Object)


def _pandas_of(predictions: pl.DataFrame, index: Any) -> Any:
    """Return predictions as pandas, with the index of the items."""
    frame = predictions.to_pandas()
    frame.index = index
    return frame


class DaskFiles(ParquetFiles):
    """Parquet files that the workers of a Dask cluster read: no row is sent to them.

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

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all files, added up by the workers."""
        workers = max(sum(self._client.nthreads().values()), 1)
        shares = shared_out(self._partitions, 2 * workers)
        sent = self._client.scatter(task, broadcast=True, hash=False)
        models = self._client.map(self.learn_partitions, shares, task=sent, pure=False)

        def add(some: list[Any]) -> Any:
            return self._client.submit(merged, some, pure=False)

        total: Learnt | None = _tree_sum(models, add).result()
        return total

    def predict(self, task: Predictor, to: str | os.PathLike[str] | None = None) -> Any:
        """Write the predictions to a new folder, one Parquet file for each partition."""
        with new_folder(to) as folder:
            sent = self._client.scatter(task, broadcast=True, hash=False)
            numbers = range(len(self._partitions))
            written = self._client.map(
                self.predict_partition,
                numbers,
                self._partitions,
                task=sent,
                folder=folder,
                pure=False,
            )
            self._client.gather(written)
        return to
