"""Spark: the kernel where the partitions are, or where the executors read files themselves."""

from __future__ import annotations

import io
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil, log2
from typing import Any

import polars as pl

from stc._core.model import Model
from stc._utils.optional import optional
from stc.sources.pieces import (
    Files,
    Paths,
    Piece,
    answered_piece,
    frames_of,
    merged,
    new_folder,
    places_of,
    shared_out,
)
from stc.sources.protocol import BATCH, Answering, Learning, kinds_of

# What a worker learnt: a model, nothing, or why it could not. An error that is a value is not
# tried again three times, and reaches the caller as it is.
Outcome = Model | ValueError | TypeError | None

# Spark has no types for these.
_PLAIN: dict[Any, Any] = {
    pl.UInt8: pl.Int16(),
    pl.UInt16: pl.Int32(),
    pl.UInt32: pl.Int64(),
    pl.UInt64: pl.Int64(),
    pl.Categorical: pl.String(),
    pl.Enum: pl.String(),
    pl.Null: pl.String(),
}


def outcome_of(work: Callable[[], Model | None]) -> Outcome:
    """What comes of some work."""
    try:
        return work()
    except ValueError as error:
        return ValueError(str(error))
    except TypeError as error:
        return TypeError(str(error))


def added(one: Outcome, other: Outcome) -> Outcome:
    """What comes of two, together."""
    for outcome in (one, other):
        if isinstance(outcome, Exception):
            return outcome
    return outcome_of(lambda: merged([one, other]))  # type: ignore[list-item]


def sum_of(outcomes: Any) -> Model | None:
    """The sum of an RDD of outcomes, made in levels, of about four each, by the workers."""
    parts = max(outcomes.getNumPartitions(), 1)
    total: Outcome = outcomes.treeReduce(added, depth=max(2, ceil(log2(parts) / 2)))
    if isinstance(total, Exception):
        raise total
    return total


@contextmanager
def broadcast(context: Any, task: Any) -> Iterator[Any]:
    """The task on all workers, until it is done."""
    sent = context.broadcast(task)
    try:
        yield sent
    finally:
        sent.unpersist()


@contextmanager
def plain_errors() -> Iterator[None]:
    """Raise the ValueError or TypeError of a worker, not the stack of the Java process."""
    errors = optional("pyspark.errors", "spark", "a Spark DataFrame")
    protocol = optional("py4j.protocol", "spark", "a Spark DataFrame")
    try:
        yield
    except (errors.PySparkException, protocol.Py4JJavaError) as error:
        found = re.findall(r"^(?:\w+\.)*(ValueError|TypeError): (.+)$", str(error), re.MULTILINE)
        if not found:
            raise
        kind, message = found[-1]
    else:
        return
    raise {"ValueError": ValueError, "TypeError": TypeError}[kind](message)


# --- a Spark DataFrame ------------------------------------------------------------------------


class SparkSource:
    """A Spark DataFrame. Its partitions are learnt from and answered for where they are.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data, of a classic session.
    """

    arrays = False

    def __init__(self, frame: Any) -> None:
        if type(frame).__module__.startswith("pyspark.sql.connect"):
            raise TypeError(
                "a DataFrame of Spark Connect cannot be used: models are added up as RDDs, which "
                "only a classic session has (SparkSession.builder.master(...))"
            )
        self.names: tuple[str, ...] = tuple(frame.columns)
        self._frame = frame
        self._context = frame.sparkSession.sparkContext

    def _read(self, columns: Sequence[str]) -> Any:
        """These columns, under names of our own: Spark takes `a` for `A`, and `a.b` apart."""
        places = places_of(columns, self.names, "the Spark DataFrame")
        numbered = self._frame.toDF(*(f"c{place}" for place in range(len(self.names))))
        return numbered.select(*(f"c{place}" for place in places))

    def _few(self, read: Any) -> Any:
        """The same in fewer partitions, read one after the other: fewer models to add up."""
        grows = self._context.getConf().get("spark.dynamicAllocation.enabled", "false")
        return read if grows == "true" else read.coalesce(2 * self._context.defaultParallelism)

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows."""
        table = self._read(columns).limit(rows).toArrow()
        return _polars_of(table, columns)

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along as they are."""
        return kinds_of(self.head(columns, 1))

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows: one partition after the other comes to this process."""
        blobs = self._read(columns).mapInArrow(_Packing(tuple(columns)), "frame binary")
        for row in blobs.toLocalIterator(prefetchPartitions=True):
            yield pl.read_ipc_stream(bytes(row[0]))

    def learn(self, task: Learning) -> Model | None:
        """The model of all partitions; the sums are made by the workers, too."""
        read = self._few(self._read(task.columns))
        with broadcast(self._context, task) as sent, plain_errors():
            return sum_of(read.mapInArrow(_LearningRows(sent), "model binary").rdd.map(_unpickled))

    def answer(self, task: Answering, to: str | os.PathLike[str] | None = None) -> Any:
        """The answers as a lazy Spark DataFrame; or written by Spark, as Parquet files."""
        read, (schema, arrow_schema) = self._read(task.columns), _schemas(task.schema)
        if to is None:
            rows = _AnsweringRows(self._context.broadcast(task), arrow_schema)
            return read.mapInArrow(rows, schema)
        with broadcast(self._context, task) as sent, plain_errors():
            answers = read.mapInArrow(_AnsweringRows(sent, arrow_schema), schema)
            answers.write.mode("errorifexists").parquet(os.fspath(to))
        return to


class _Packing:
    """Rows as bytes of Arrow, which Spark hands over as they are."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for frame in _batches(batches, self.columns):
            packed = io.BytesIO()
            frame.write_ipc_stream(packed)
            yield _one_cell("frame", packed.getvalue())


class _LearningRows:
    """A partition -> its model, as one row of bytes."""

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        task: Learning = self.sent.value
        outcome = outcome_of(lambda: task(_batches(batches, task.columns)))
        yield _one_cell("model", pickle.dumps(outcome, protocol=5))


class _AnsweringRows:
    """A partition -> its answers."""

    def __init__(self, sent: Any, schema: Any) -> None:
        self.sent = sent
        self.schema = schema

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        task: Answering = self.sent.value
        for frame in _batches(batches, task.columns):
            yield from _arrow_of(task(frame), _plain(task.schema)).cast(self.schema).to_batches()


def _unpickled(row: Any) -> Outcome:
    outcome: Outcome = pickle.loads(row[0])
    return outcome


def _one_cell(name: str, cell: bytes) -> Any:
    arrow = optional("pyarrow", "spark", "a Spark DataFrame")
    return arrow.record_batch([arrow.array([cell], arrow.binary())], names=[name])


def _batches(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Spark's batches, of some thousand rows, in larger ones."""
    arrow = optional("pyarrow", "spark", "a Spark DataFrame")
    gathered: list[Any] = []
    for batch in batches:
        gathered.append(batch)
        if sum(own.num_rows for own in gathered) >= BATCH:
            yield _polars_of(arrow.Table.from_batches(gathered), columns)
            gathered = []
    if any(own.num_rows for own in gathered):
        yield _polars_of(arrow.Table.from_batches(gathered), columns)


def _polars_of(table: Any, columns: Sequence[str]) -> pl.DataFrame:
    frame = pl.DataFrame(table)
    frame.columns = list(columns)
    return frame


def _plain(schema: pl.Schema) -> pl.Schema:
    """The schema in types that Spark has."""
    return pl.Schema({name: _plain_type(dtype) for name, dtype in schema.items()})


def _plain_type(dtype: Any) -> Any:
    if isinstance(dtype, pl.List):
        return pl.List(_plain_type(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _plain_type(field.dtype) for field in dtype.fields})
    return _PLAIN.get(dtype.base_type(), dtype)


def _schemas(schema: pl.Schema) -> tuple[Any, Any]:
    """The schema in Spark's types, and in those of Arrow that Spark reads for them."""
    types = optional("pyspark.sql.pandas.types", "spark", "a Spark DataFrame")
    plain = _plain(schema)
    spark = types.from_arrow_schema(_arrow_of(pl.DataFrame(schema=plain), plain).schema)
    return spark, types.to_arrow_schema(spark)


def _arrow_of(frame: pl.DataFrame, schema: pl.Schema) -> Any:
    return frame.cast(schema).to_arrow(compat_level=pl.CompatLevel.oldest())


# --- files that the executors of Spark read ---------------------------------------------------


class SparkFiles(Files):
    """Parquet files, read by the executors of a Spark cluster: no row goes through Java.

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

    def learn(self, task: Learning) -> Model | None:
        """The model of all files; the sums are made by the workers, too."""
        shares = shared_out(self._pieces, 2 * self._context.defaultParallelism)
        with broadcast(self._context, task) as sent, plain_errors():
            spread = self._context.parallelize(shares, len(shares))
            return sum_of(spread.map(_LearningPieces(sent)))

    def answer(self, task: Answering, to: str | os.PathLike[str] | None = None) -> Any:
        """The answers as Parquet files in a new folder, one a piece, written by the executors."""
        if to is None:
            raise ValueError("say where the answers go: to='a new folder'")
        numbered = list(enumerate(self._pieces))
        with new_folder(to) as folder, broadcast(self._context, task) as sent, plain_errors():
            spread = self._context.parallelize(numbered, len(numbered))
            for outcome in spread.map(_AnsweringPieces(sent, folder)).collect():
                if isinstance(outcome, Exception):
                    raise outcome
        return to


class _LearningPieces:
    """Some pieces -> their model."""

    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self, pieces: list[Piece]) -> Outcome:
        task: Learning = self.sent.value
        return outcome_of(lambda: task(frames_of(pieces, task.columns)))


class _AnsweringPieces:
    """A numbered piece -> a file of its answers."""

    def __init__(self, sent: Any, folder: str) -> None:
        self.sent = sent
        self.folder = folder

    def __call__(self, numbered: tuple[int, Piece]) -> Outcome:
        return outcome_of(lambda: answered_piece(*numbered, self.sent.value, self.folder))
