"""An open database transaction: the statements that all databases share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, NamedTuple

import polars as pl

from stc.exceptions import StoreError
from stc.io import ENTRIES
from stc.stores.keys import text_key

_MODEL_COLUMNS = (
    "id", "name_key", "name", "version", "header_key", "header", "checksum", "batches",
)  # fmt: skip
# The columns of the rows of a model in each table, beside the number of the model.
COLUMNS: dict[str, dict[str, pl.DataType]] = {
    "stc_features": {"key": pl.Binary(), "feature": pl.String()},
    "stc_classes": {"number": pl.Int32(), "class": pl.String()},
    "stc_entries": {**ENTRIES, "feature": pl.Binary(), "class": pl.Int32()},
    "stc_batches": {"key": pl.Binary(), "batch": pl.String()},
}
_NEEDED = {"stc_models": _MODEL_COLUMNS} | {
    table: ("model", *columns) for table, columns in COLUMNS.items()
}
# The time is there for people: it is written and not read.
_NEEDED["stc_batches"] += ("written_at",)
_ROW_TYPES = {"name": str, "header_key": bytes, "header": str}
# The header of a model until it gets one.
NO_HEADER = "{}"


class ModelRow(NamedTuple):
    """The row of a model in the table of models.

    Attributes
    ----------
    model, name
        Its number and its name.
    version
        A number that grows with every change.
    header_key, header
        Everything but the entries, as JSON, and the key of this text.
    checksum
        The checksum of its entries.
    batches
        The number of batches in its ledger.
    """

    model: int
    name: str
    version: int
    header_key: bytes
    header: str
    checksum: int
    batches: int


class Session(ABC):
    """An open database transaction.

    Parameters
    ----------
    translated_errors
        Makes a context that raises errors of the database as StoreError.
    """

    # Inserts the row of a model and returns its number.
    insert_model: ClassVar[str]

    def __init__(self, translated_errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._translated_errors = translated_errors
        self._failure: StoreError | None = None

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raise errors of the database as StoreError and remember that the session failed."""
        try:
            with self._translated_errors():
                yield
        except StoreError as error:
            self._failure = error
            raise

    @abstractmethod
    def execute(self, statement: str, **values: Any) -> list[Any]:
        """Execute a statement with parameters such as `:model` and return its rows."""

    @abstractmethod
    def has_tables(self) -> bool:
        """Return whether the tables exist; raise an error if only a part of them does."""

    @abstractmethod
    def create_tables(self) -> None:
        """Create the tables that do not exist."""

    @abstractmethod
    def rows(self, table: str, model: int) -> pl.DataFrame:
        """Return the rows of a model, in the columns of COLUMNS."""

    @abstractmethod
    def insert(self, table: str, model: int, rows: pl.DataFrame) -> None:
        """Insert rows of a model that are not in the table."""

    @abstractmethod
    def add_features(self, model: int, features: pl.DataFrame) -> None:
        """Insert the features that the model lacks; the columns are `key` and `feature`."""

    @abstractmethod
    def add_entries(self, model: int, entries: pl.DataFrame) -> None:
        """Add entries up; delete those without support, and unused features and classes."""

    @abstractmethod
    def _commit(self) -> None: ...

    def commit(self) -> None:
        """Commit, unless a statement failed, even if its error was caught."""
        if self._failure is not None:
            raise self._failure
        with self.translated_errors():
            self._commit()

    def find(self, name: str) -> ModelRow | None:
        """Return the row of a model; None if there is none."""
        query = (
            "SELECT id, name, version, header_key, header, checksum, batches FROM stc_models"
            " WHERE name_key = :key"
        )
        rows = self.execute(query, key=text_key(name)) if self.has_tables() else []
        if not rows:
            return None
        if len(rows) > 1:
            raise damaged_store("the table stc_models has several rows of one model")
        row = ModelRow(*rows[0])
        for column, value in row._asdict().items():
            if type(value) is not _ROW_TYPES.get(column, int):
                raise damaged_store(
                    f"the column {column!r} of the table stc_models holds {value!r:.80}"
                )
        if row.name != name:
            raise damaged_store(f"the table stc_models has the name {row.name!r:.80} for {name!r}")
        return row

    def names(self) -> list[str]:
        """Return the names of all models."""
        query = "SELECT name, name_key FROM stc_models"
        rows = self.execute(query) if self.has_tables() else []
        for name, key in rows:
            if not isinstance(name, str):
                raise damaged_store(f"the table stc_models holds the name {name!r:.80}")
            if key != text_key(name):
                raise damaged_store(
                    f"the table stc_models has the key of another name at {name!r:.80}"
                )
        return [name for name, _ in rows]

    def create(self, name: str, version: int) -> int:
        """Create a model, and the tables if necessary, and return its number."""
        if not self.has_tables():
            self.create_tables()
        values = {"key": text_key(name), "name": name, "version": version}
        values |= {"header": NO_HEADER, "header_key": text_key(NO_HEADER)}
        model = int(self._column(self.insert_model, **values)[0])
        self.delete(model, COLUMNS)  # what a removed row of the same number left behind
        return model

    def delete(self, model: int, tables: Iterable[str]) -> None:
        """Delete the rows of a model."""
        for table in tables:
            self.execute(f"DELETE FROM {table} WHERE model = :model", model=model)

    def _column(self, query: str, **values: Any) -> list[Any]:
        return [row[0] for row in self.execute(query, **values)]


def complete_tables(
    found: Mapping[str, Mapping[str, str]], types: Mapping[str, Mapping[str, str]] | None = None
) -> bool:
    """Return whether all tables are there.

    Parameters
    ----------
    found
        The tables that were found, and the type of each column.
    types
        What these types have to be; None: the database checks no types.

    Raises
    ------
    StoreError
        If some are there and others are not, or have other columns.
    """
    present = [table for table in _NEEDED if table in found]
    for table, columns in _NEEDED.items() if present else ():
        if table not in found:
            raise damaged_store(f"it has the table {present[0]} but not {table}")
        lacking = [column for column in columns if column not in found[table]]
        if lacking:
            raise damaged_store(f"the table {table} has no column {lacking[0]!r}")
        for column, kind in found[table].items():
            if types is not None and types[table].get(column, kind) != kind:
                raise damaged_store(f"the column {column!r} of the table {table} is of type {kind}")
    return bool(present)


def typed_rows(rows: Iterable[tuple[Any, ...]], table: str) -> pl.DataFrame:
    """Return rows of a table as a frame, or raise an error for a value of another type."""
    columns = COLUMNS[table]
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    series = []
    for (name, kind), column in zip(columns.items(), values, strict=True):
        try:
            # Given row by row, polars would convert 0.5 to the integer 0.
            series.append(pl.Series(name, column, dtype=kind, strict=True))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            raise damaged_store(
                f"the column {name!r} of the table {table} holds a value that is not {kind}"
            ) from None
    return pl.DataFrame(series)


def damaged_store(message: str) -> StoreError:
    """Return the error of a store that stc has not written so."""
    return StoreError(f"{message}: the store is damaged, or not one of stc")
