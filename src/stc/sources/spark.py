"""Spark DataFrames and Parquet files, read by the executors of Spark."""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import ceil, log2
from typing import Any

import polars as pl
from narwhals.dependencies import is_pyspark_connect_dataframe
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from stc import exceptions
from stc._utils.optional import optional
from stc.exceptions import DataTypeError, StcError
from stc.sources.arrow import frame_of
from stc.sources.partitions import ParquetFiles, Partition, Paths, merged, new_folder, shared_out
from stc.sources.protocol import (
    Learner,
    Learnt,
    Mergeable,
    Predictor,
    check_columns,
    joined_batches,
    schema_of,
)

# What was learnt, nothing, or the error of a worker. An error that is returned and not raised is
# not retried three times by Spark, and reaches the caller with all of its fields.
Outcome = Mergeable | ValueError | TypeError | StcError | None

# The last line of the traceback of a worker that Spark shows: the class of an error, its message.
_WORKER_ERROR = re.compile(r"^(?:\w+\.)*(\w+Error): (.+)$", re.MULTILINE)
_BUILTIN_ERRORS: dict[str, type[Exception]] = {"ValueError": ValueError, "TypeError": TypeError}

# polars types that Spark lacks, and what is used instead.
_SPARK_TYPES: dict[Any, Any] = {
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
    pl.Categorical: pl.String(),
    pl.Enum: pl.String(),
    pl.Null: pl.String(),
}


def outcome_of(work: Callable[[], Mergeable | None]) -> Outcome:
    """Return the result of some work, or its error if it is about data."""
    try:
        return work()
    except (StcError, ValueError, TypeError) as error:
        return error.with_traceback(None)


def added(one: Outcome, other: Outcome) -> Outcome:
    """Return the sum of two outcomes, or the first error among them."""
    for outcome in (one, other):
        if isinstance(outcome, Exception):
            return outcome
    return outcome_of(lambda: merged([one, other]))  # type: ignore[list-item]


def sum_of(outcomes: Any) -> Any:
    """Return the sum of an RDD of outcomes, added up by the workers in levels of about four."""
    parts = max(outcomes.getNumPartitions(), 1)
    total: Outcome = outcomes.treeReduce(added, depth=max(2, ceil(log2(parts) / 2)))
    if isinstance(total, Exception):
        raise total
    return total


@contextmanager
def broadcast(context: Any, task: Any) -> Iterator[Any]:
    """Send a task to all workers, and remove it from them at the end."""
    sent = context.broadcast(task)
    try:
        yield sent
    finally:
        sent.unpersist()


@contextmanager
def worker_errors() -> Iterator[None]:
    """Raise the error of a worker about data, instead of the stack trace of the Java process."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        found = _worker_error(str(error))
        if found is None:
            raise
        raise found from None


def _worker_error(trace: str) -> Exception | None:
    """Return the error about data at the end of the traceback of a worker, if there is one.

    Its message contains the fields, which are lost on the way through Java.
    """
    for name, message in reversed(_WORKER_ERROR.findall(trace)):
        kind = getattr(exceptions, name, None)
        if kind is not None:
            error: StcError = kind.__new__(kind, message)
            StcError.__init__(error, message)
            return error
        if name in _BUILTIN_ERRORS:
            return _BUILTIN_ERRORS[name](message)
    return None


class SparkBackend:
    """A Spark DataFrame, whose partitions are learnt and predicted by the workers that hold them.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data, of a classic session.
    """

    ordered = False

    def __init__(self, frame: Any) -> None:
        if is_pyspark_connect_dataframe(frame):
            raise DataTypeError(
                "a DataFrame of Spark Connect cannot be used: models are added up as RDDs",
                hint="use a classic session, SparkSession.builder.master(...)",
            )
        self.names: tuple[str, ...] = tuple(frame.columns)
        self._frame = frame
        self._context = frame.sparkSession.sparkContext

    def _selected(self, columns: Sequence[str]) -> Any:
        """Return columns under numbered names: Spark confuses `a` with `A`, and splits `a.b`."""
        check_columns(columns, self.names)
        number = {name: f"c{place}" for place, name in enumerate(self.names)}
        return self._frame.toDF(*number.values()).select(*map(number.__getitem__, columns))

    def _coalesced(self, selected: Any) -> Any:
        """Return the same rows in fewer partitions, so that fewer models are added up."""
        dynamic = self._context.getConf().get("spark.dynamicAllocation.enabled", "false")
        if dynamic == "true":
            return selected
        return selected.coalesce(2 * self._context.defaultParallelism)

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""
        with worker_errors():
            head = frame_of(self._selected(columns).limit(rows).toArrow())
        head.columns = list(columns)
        return head

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the types of columns that are copied to the output unchanged."""
        return schema_of(self.head(columns, 1))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches, one partition after the other."""
        packed = self._selected(columns).mapInArrow(partial(_pack_rows, columns), "frame binary")
        with worker_errors():
            for row in packed.toLocalIterator(prefetchPartitions=True):
                yield pl.read_ipc_stream(bytes(row[0]))

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all partitions, added up by the workers."""
        rows = self._coalesced(self._selected(task.columns))
        with broadcast(self._context, task) as sent, worker_errors():
            models = rows.mapInArrow(partial(_learn_rows, sent), "model binary").rdd
            total: Learnt | None = sum_of(models.map(lambda row: pickle.loads(row[0])))
        return total

    def predict(self, task: Predictor, to: str | os.PathLike[str] | None = None) -> Any:
        """Return the predictions as a lazy Spark DataFrame, or let Spark write Parquet files."""
        rows, (schema, arrow_schema) = self._selected(task.columns), _schemas(task.schema)
        if to is None:
            predict = partial(_predict_rows, self._context.broadcast(task), arrow_schema)
            return rows.mapInArrow(predict, schema)
        with broadcast(self._context, task) as sent, worker_errors():
            predictions = rows.mapInArrow(partial(_predict_rows, sent, arrow_schema), schema)
            predictions.write.mode("errorifexists").parquet(os.fspath(to))
        return to


def _pack_rows(columns: Sequence[str], batches: Iterable[Any]) -> Iterator[Any]:
    """Map the rows of a partition to batches in bytes of Arrow."""
    for frame in _batches(batches, columns):
        packed = io.BytesIO()
        frame.write_ipc_stream(packed)
        yield _one_cell("frame", packed.getvalue())


def _learn_rows(sent: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Map the rows of a partition to its model, as one row of bytes."""
    task: Learner[Any] = sent.value
    outcome = outcome_of(lambda: task(_batches(batches, task.columns)))
    yield _one_cell("model", pickle.dumps(outcome, protocol=5))


def _predict_rows(sent: Any, schema: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Map the rows of a partition to predictions."""
    task: Predictor = sent.value
    for frame in _batches(batches, task.columns):
        arrow = _arrow_of(task(frame), _spark_schema(task.schema))
        yield from arrow.cast(schema).to_batches()


def _one_cell(name: str, cell: bytes) -> Any:
    arrow = optional("pyarrow", "spark", "a Spark DataFrame")
    return arrow.record_batch([arrow.array([cell], arrow.binary())], names=[name])


def _batches(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yield the batches of Spark, of some thousand rows, as larger ones."""
    for frame in joined_batches(batches, "spark"):
        frame.columns = list(columns)
        yield frame


def _spark_schema(schema: pl.Schema) -> pl.Schema:
    """Return the schema in types that Spark has."""
    return pl.Schema({name: _spark_type(dtype) for name, dtype in schema.items()})


def _spark_type(dtype: Any) -> Any:
    if isinstance(dtype, pl.List):
        return pl.List(_spark_type(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _spark_type(field.dtype) for field in dtype.fields})
    return _SPARK_TYPES.get(dtype.base_type(), dtype)


def _schemas(schema: pl.Schema) -> tuple[Any, Any]:
    """Return the schema in Spark's types, and in the types of Arrow that Spark reads for them."""
    types = optional("pyspark.sql.pandas.types", "spark", "a Spark DataFrame")
    known = _spark_schema(schema)
    spark = types.from_arrow_schema(_arrow_of(pl.DataFrame(schema=known), known).schema)
    return spark, types.to_arrow_schema(spark)


def _arrow_of(frame: pl.DataFrame, schema: pl.Schema) -> Any:
    return frame.cast(schema).to_arrow(compat_level=pl.CompatLevel.oldest())


class SparkFiles(ParquetFiles):
    """Parquet files that the executors of a Spark cluster read: no row passes through Java.

    Parameters
    ----------
    paths : path, glob, or sequence of paths
        The files, on a disk that this process and all executors share.
    session : pyspark.sql.SparkSession
        The cluster.
    """

    def __init__(self, paths: Paths, session: Any) -> None:
        super().__init__(paths, "spark")
        self._context = session.sparkContext

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all files, added up by the workers."""
        shares = shared_out(self._partitions, 2 * self._context.defaultParallelism)
        with broadcast(self._context, task) as sent, worker_errors():
            distributed = self._context.parallelize(shares, len(shares))
            total: Learnt | None = sum_of(distributed.map(partial(_learn_partitions, sent)))
        return total

    def predict(self, task: Predictor, to: str | os.PathLike[str] | None = None) -> Any:
        """Write the predictions to a new folder, one Parquet file for each partition."""
        numbered = list(enumerate(self._partitions))
        sending = broadcast(self._context, task)
        with new_folder(to) as folder, sending as sent, worker_errors():
            distributed = self._context.parallelize(numbered, len(numbered))
            for outcome in distributed.map(partial(_predict_partition, sent, folder)).collect():
                if isinstance(outcome, Exception):
                    raise outcome
        return to


def _learn_partitions(sent: Any, partitions: list[Partition]) -> Outcome:
    return outcome_of(lambda: ParquetFiles.learn_partitions(partitions, sent.value))


def _predict_partition(sent: Any, folder: str, numbered: tuple[int, Partition]) -> Outcome:
    return outcome_of(lambda: ParquetFiles.predict_partition(*numbered, sent.value, folder))
