"""An open database transaction: the statements that all databases share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, NamedTuple

import polars as pl

from stc.exceptions import StoreError
from stc.stores.keys import text_key


class ModelRow(NamedTuple):
    """The row of a model in the table of models; `header` is JSON."""

    model: int
    version: int
    header: str | None


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
        """Return whether the tables exist."""

    @abstractmethod
    def create_tables(self) -> None:
        """Create the tables that do not exist."""

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
    def entries(self, model: int) -> pl.DataFrame:
        """Return all entries, in the columns of ENTRIES."""

    @abstractmethod
    def _commit(self) -> None: ...

    def commit(self) -> None:
        """Commit, unless a statement failed, even if its error was caught."""
        if self._failure is not None:
            raise self._failure
        with self.translated_errors():
            self._commit()

    def find(self, key: bytes) -> ModelRow | None:
        """Return the row of the model whose name has this key; None if there is none."""
        query = "SELECT id, version, header FROM stc_models WHERE name_key = :key"
        rows = self.execute(query, key=key) if self.has_tables() else []
        return ModelRow(*rows[0]) if rows else None

    def names(self) -> list[str]:
        """Return the names of all models."""
        return self._column("SELECT name FROM stc_models") if self.has_tables() else []

    def create(self, name: str, version: int) -> int:
        """Create a model, and the tables if necessary, and return its number."""
        if not self.has_tables():
            self.create_tables()
        values = {"key": text_key(name), "name": name, "version": version}
        return int(self._column(self.insert_model, **values)[0])

    def _column(self, query: str, **values: Any) -> list[Any]:
        return [row[0] for row in self.execute(query, **values)]
