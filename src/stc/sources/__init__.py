"""Sources of data that is not in memory: files, databases, DuckDB, Dask and Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from narwhals import dependencies

from stc._utils.file_formats import find_format
from stc._utils.forking import refuse_without_pool
from stc._utils.optional import optional
from stc.exceptions import DataError, DataTypeError, ParameterError, ParameterTypeError
from stc.sources.files import FileBackend, scan_files
from stc.sources.protocol import (
    BATCH_ROWS,
    MAX_EXPLAINED_ROWS,
    SAMPLE_ROWS,
    Backend,
    Learner,
    Predictor,
    check_columns,
)

__all__ = [
    "BATCH_ROWS",
    "MAX_EXPLAINED_ROWS",
    "SAMPLE_ROWS",
    "Backend",
    "FileBackend",
    "Learner",
    "Predictor",
    "Source",
    "source",
    "source_of",
]


@dataclass(frozen=True)
class Source:
    """Data that is not in memory, and which of its columns are the attributes of the items.

    It is created by `stc.source`.

    Attributes
    ----------
    backend : Backend
        The data: files, a table of a database, or a frame of DuckDB, Dask or Spark.
    columns : tuple of str or None
        The columns to learn from; None for all but targets, weight and ignored ones.
    ignored : tuple of str
        Columns to exclude.
    text : str or None
        A column of documents to learn from instead of all others.

    Examples
    --------
    >>> import polars as pl
    >>> import stc
    >>> data = stc.source(pl.LazyFrame({"id": [1], "legs": [4]}), ignore=["id"])
    >>> isinstance(data, stc.Source), data.ignored
    (True, ('id',))
    """

    backend: Backend
    columns: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()
    text: str | None = None

    def __post_init__(self) -> None:
        refuse_without_pool()

    def attributes(self, taken: Sequence[str]) -> tuple[str, ...]:
        """Return the columns to learn from, without those taken as targets or weight."""
        selected = self.columns or ((self.text,) if self.text else self.backend.names)
        check_columns((*selected, *self.ignored, *taken), self.backend.names)
        others = {*self.ignored, *taken}
        left = tuple(name for name in selected if name not in others)
        if not left:
            raise DataError("the data has no column besides the targets")
        return left


def source(
    data: Any,
    table: Any = None,
    *,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: str | None = None,
    separator: str | None = None,
    on: Any = None,
) -> Source:
    """Return a Source: data that is not in memory, with a selection of its columns.

    Most sources need no such call: a path, a DuckDB relation, a Dask or a Spark DataFrame can be
    passed to `fit` and `predict` directly.

    Parameters
    ----------
    data : path or glob, polars.LazyFrame, DuckDB relation, Dask or Spark DataFrame, engine or URL
        Where the items are. Files end with .parquet, .csv, .tsv, .jsonl, .ndjson, .arrow, .feather
        or .ipc, and all but directories may be compressed (.gz). A SQLAlchemy engine or the URL of
        a database needs a table.
    table : str, sqlalchemy.Table or sqlalchemy.Select, default=None
        What to read from a database.
    columns : list of str, default=None
        The columns to learn from. None: all but those that are ignored, targets or the weight.
    ignore : list of str, default=()
        Columns to exclude, such as an id.
    text : str, default=None
        A column of documents: learn from its words alone.
    separator : str, default=None
        Separator of the cells of a CSV. None: a comma; in a .tsv, a tab.
    on : SparkSession or dask.distributed.Client, default=None
        A cluster whose workers read the Parquet files themselves.

    Returns
    -------
    Source
        Data for `fit`, `partial_fit`, `unlearn`, `predict` and so on.

    Examples
    --------
    >>> import polars as pl
    >>> import stc
    >>> animals = pl.LazyFrame({"id": [1, 2], "legs": [4, 2], "class": ["dog", "hen"]})
    >>> data = stc.source(animals, ignore=["id"])
    >>> stc.SparseTensorClassifier().fit(data, "class").predict(data).tolist()
    ['dog', 'hen']
    """
    if separator is not None and (not isinstance(data, str | Path) or (table, on) != (None, None)):
        raise ParameterError("separator is for the path of a CSV file that this process reads")
    if columns is not None and (text is not None or not columns):
        raise ParameterError("columns must name at least one column and excludes text")
    chosen = isinstance(data, Source)
    backend = data.backend if chosen else _backend(data, table, on, separator)
    if backend is None:
        raise DataTypeError(
            f"{type(data).__name__} is not a source",
            hint="use a path, a LazyFrame, a DuckDB relation, a Dask or Spark DataFrame, or an "
            "engine with a table",
        )
    selected = None if columns is None else _tuple(columns)
    return Source(backend, selected, _tuple(ignore), text)


def _tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def source_of(X: Any) -> Source | None:
    """Return the source that X is by its type; None if X is data in memory.

    A LazyFrame is collected unless `stc.source` is called, and a string that does not name a file
    is a document.
    """
    if isinstance(X, Source):
        refuse_without_pool()
        return X
    if isinstance(X, pl.LazyFrame):
        return None
    if isinstance(X, str) and ("\n" in X or find_format(X) is None):
        return None
    backend = _backend(X)
    return None if backend is None else Source(backend)


def _backend(
    data: Any, table: Any = None, on: Any = None, separator: str | None = None
) -> Backend | None:
    if on is not None:
        return _backend_on_cluster(data, on)
    if table is not None:
        optional("sqlalchemy", "sqlite", "a table of a database")
        from stc.sources.sql import SQLBackend

        return SQLBackend.of(data, table)
    if isinstance(data, str | Path):
        refuse_without_pool()
        return scan_files(data, separator)
    if isinstance(data, pl.LazyFrame):
        return FileBackend(data)
    if dependencies.is_duckdb_relation(data):
        from stc.sources.duckdb import DuckDBBackend

        return DuckDBBackend.of(data)
    if dependencies.is_dask_dataframe(data):
        from stc.sources.dask import DaskBackend

        return DaskBackend(data)
    if dependencies.is_pyspark_dataframe(data) or dependencies.is_pyspark_connect_dataframe(data):
        from stc.sources.spark import SparkBackend

        return SparkBackend(data)
    return None


def _backend_on_cluster(data: Any, on: Any) -> Backend:
    spark, dask = dependencies.get_pyspark_sql(), sys.modules.get("distributed")
    if spark is not None and isinstance(on, spark.SparkSession):
        from stc.sources.spark import SparkFiles

        return SparkFiles(data, on)
    if dask is not None and isinstance(on, dask.Client):
        from stc.sources.dask import DaskFiles

        return DaskFiles(data, on)
    raise ParameterTypeError(
        f"on must be a SparkSession or a dask.distributed.Client, got {type(on).__name__}"
    )
