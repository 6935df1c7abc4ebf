"""Sources: where data comes from when it is not in memory, told by its type."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from stc.sources.protocol import BATCH, FEW, MOST, Answering, Learning, Source
from stc.sources.scan import ENDINGS, Scan, scan_files

__all__ = [
    "BATCH",
    "FEW",
    "MOST",
    "Answering",
    "Chosen",
    "Learning",
    "Scan",
    "Source",
    "source",
    "source_of",
]


@dataclass(frozen=True)
class Chosen:
    """A source, and which of its columns are the items.

    Attributes
    ----------
    source
        The data.
    columns
        The columns to learn from; None: all but those named to be something else.
    ignored
        Columns to leave out.
    text
        A column of documents, to learn from instead of all others.
    """

    source: Source
    columns: tuple[str, ...] | None = None
    ignored: tuple[str, ...] = ()
    text: str | None = None

    def attributes(self, taken: Sequence[str]) -> tuple[str, ...]:
        """The columns to learn from, given those that are targets or weights."""
        wanted = self.columns or ((self.text,) if self.text else self.source.names)
        self.require((*wanted, *self.ignored, *taken))
        left = tuple(name for name in wanted if name not in (*self.ignored, *taken))
        if not left:
            raise ValueError("the data has no column besides the targets")
        return left

    def require(self, columns: Sequence[str]) -> None:
        """Refuse to go on without these columns."""
        names = self.source.names
        absent = [name for name in columns if name not in names]
        if absent:
            raise ValueError(
                f"the data has no column {absent[0]!r}; it has {', '.join(map(repr, names))}"
            )


def source(
    data: Any,
    table: Any = None,
    *,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    text: str | None = None,
    separator: str | None = None,
    on: Any = None,
) -> Chosen:
    """Data that is not in memory, with a choice of its columns.

    Most sources need no such call: a path, a relation of DuckDB, a Dask or a Spark DataFrame can
    be given to `fit` and `predict` as it is.

    Parameters
    ----------
    data : path or glob, polars.LazyFrame, DuckDB relation, Dask or Spark DataFrame, engine or URL
        Where the items are. Files end with .parquet, .csv, .tsv, .jsonl, .ndjson or .arrow. A
        SQLAlchemy engine or the URL of a database needs a table.
    table : str, sqlalchemy.Table or sqlalchemy.Select, default=None
        What to read of a database.
    columns : list of str, default=None
        The columns to learn from. None: all but those that are ignored or something else.
    ignore : list of str, default=()
        Columns not to learn from, such as an id.
    text : str, default=None
        A column of documents: learn from it alone, word by word.
    separator : str, default=None
        What stands between the cells of a CSV. None: a comma; in a .tsv, a tab.
    on : SparkSession or dask.distributed.Client, default=None
        A cluster whose workers read the files themselves.

    Returns
    -------
    Chosen
        To be given to `fit`, `partial_fit`, `unlearn`, `predict` and so on.

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
        raise ValueError("separator is for the path of a CSV, read here")
    found = data.source if isinstance(data, Chosen) else _source(data, table, on, separator)
    if found is None:
        raise TypeError(
            f"{type(data).__name__} is no source; give a path, a LazyFrame, a relation of DuckDB, "
            "a Dask or Spark DataFrame, or an engine with a table"
        )
    if columns is not None and (text is not None or not columns):
        raise ValueError("columns: name at least one, and not together with text")
    chosen = None if columns is None else _tuple(columns)
    return Chosen(found, chosen, _tuple(ignore), text)


def _tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def source_of(X: Any) -> Chosen | None:
    """The source that X is by its type; None if X is data in memory."""
    if isinstance(X, Chosen):
        return X
    if isinstance(X, pl.LazyFrame) or (isinstance(X, str) and not _is_path(X)):
        return None  # one is read in memory unless told otherwise, one is a document
    found = _source(X)
    return None if found is None else Chosen(found)


def _is_path(text: str) -> bool:
    return "\n" not in text and text.lower().removesuffix(".gz").endswith(ENDINGS)


def _source(
    data: Any, table: Any = None, on: Any = None, separator: str | None = None
) -> Source | None:
    if on is not None:
        return _distributed(data, on)
    if table is not None:
        from stc.sources.sql import SQLSource

        return SQLSource.of(data, table)
    if isinstance(data, str | Path):
        return scan_files(data, separator)
    if isinstance(data, pl.LazyFrame):
        return Scan(data)
    return _of_engine(data)


def _of_engine(data: Any) -> Source | None:
    """A source of an engine that is imported already, or else data could not be of it."""
    package, name = type(data).__module__.partition(".")[0], type(data).__name__
    if package in ("duckdb", "_duckdb") and name == "DuckDBPyRelation":
        from stc.sources.duckdb import DuckDBSource

        return DuckDBSource(data)
    if package in ("dask", "dask_expr") and "dask.dataframe" in sys.modules:
        from stc.sources.dask import DaskSource

        return DaskSource(data)
    if package == "pyspark" and name == "DataFrame":
        from stc.sources.spark import SparkSource

        return SparkSource(data)
    return None


def _distributed(data: Any, on: Any) -> Source:
    package = type(on).__module__.partition(".")[0]
    if package == "pyspark":
        from stc.sources.spark import SparkFiles

        return SparkFiles(data, on)
    if package == "distributed":
        from stc.sources.dask import DaskFiles

        return DaskFiles(data, on)
    raise TypeError(f"on={type(on).__name__}: give a SparkSession or a dask.distributed.Client")
