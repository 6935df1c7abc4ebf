"""What the stores in SQLite and PostgreSQL share: they use SQLAlchemy."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import Any, ClassVar, Literal

import polars as pl
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from stc.exceptions import StoreError
from stc.io import ENTRIES
from stc.stores import tables
from stc.stores.base import Store
from stc.stores.session import Session

# What to do with rows whose key exists already.
OnConflict = Literal["error", "skip", "add"]

_ROWS_PER_FETCH = 50_000
# Approximate size of one statement in bytes, and of a row without its texts.
_CHUNK_BYTES = 1 << 24
_ROW_BYTES = 64

# Engines of the parent of this process. They are neither used nor closed here: closing would end
# the parent's connections to the server or release its locks on the file.
_inherited: list[sa.Engine] = []


class SqlSession(Session):
    """An open transaction of a SQLAlchemy connection."""

    insert_model = (
        "INSERT INTO stc_models (name_key, name, version) VALUES (:key, :name, :version)"
        " RETURNING id"
    )

    def __init__(self, store: SqlStore, connection: sa.Connection) -> None:
        super().__init__(store.translated_errors)
        self._store = store
        self.connection = connection

    @abstractmethod
    def insert_rows(
        self, table: sa.Table, model: int, rows: pl.DataFrame, on_conflict: OnConflict
    ) -> None:
        """Insert rows."""

    @abstractmethod
    def delete_rows(
        self, table: sa.Table, model: int, keys: pl.DataFrame, condition: sa.ColumnElement[bool]
    ) -> None:
        """Delete the rows with these keys that meet the condition."""

    def lock(self, key: bytes) -> None:
        """Wait until no other transaction writes the model."""

    def lock_tables(self) -> None:
        """Wait until no other transaction creates the tables."""

    def execute(self, statement: str, **values: Any) -> list[Any]:
        """Execute a statement with parameters such as `:model` and return its rows."""
        result = self.run(sa.text(statement), values)
        with self.translated_errors():
            return list(result.all()) if result.returns_rows else []

    def run(
        self, statement: sa.Executable, values: Mapping[str, Any] | None = None
    ) -> sa.CursorResult[Any]:
        """Execute a statement of SQLAlchemy."""
        with self.translated_errors():
            return self.connection.execute(statement, values)

    def has_tables(self) -> bool:
        """Return whether the tables exist."""
        if not self._store.has_tables:
            with self.translated_errors():
                self._store.has_tables = sa.inspect(self.connection).has_table(tables.models.name)
        return self._store.has_tables

    def create_tables(self) -> None:
        """Create the tables that do not exist."""
        self.lock_tables()
        with self.translated_errors():
            tables.metadata.create_all(self.connection, checkfirst=True)

    def insert(self, table: str, model: int, rows: pl.DataFrame) -> None:
        """Insert rows of a model that are not in the table."""
        self.insert_rows(tables.metadata.tables[table], model, rows, "error")

    def add_features(self, model: int, features: pl.DataFrame) -> None:
        """Insert the features that the model lacks; the columns are `key` and `feature`."""
        self.insert_rows(tables.features, model, features, "skip")

    def add_entries(self, model: int, entries: pl.DataFrame) -> None:
        """Add entries up; delete those without support, and unused features and classes."""
        self.insert_rows(tables.entries, model, entries, "add")
        less = entries.filter(pl.col("support") <= 0)
        if less.is_empty():
            return
        keys = less.select("feature", "set", "class")
        self.delete_rows(tables.entries, model, keys, tables.entries.c.support <= 0)
        features = less.select(key=pl.col("feature").unique().sort())
        self.delete_rows(
            tables.features, model, features, _unused("feature", tables.features.c.key)
        )
        classes = less.select(number=pl.col("class").unique().sort())
        self.delete_rows(tables.classes, model, classes, _unused("class", tables.classes.c.number))

    def entries(self, model: int) -> pl.DataFrame:
        """Return all entries, in the columns of ENTRIES."""
        keyed = dict(ENTRIES) | {"feature": pl.Binary(), "class": pl.Int32()}
        entries = self._frame(tables.entries, model, keyed)
        features = self._frame(tables.features, model, {"key": pl.Binary(), "feature": pl.String()})
        classes = self._frame(tables.classes, model, {"number": pl.Int32(), "class": pl.String()})
        joined = entries.rename({"feature": "key", "class": "number"}).join(features, on="key")
        return joined.join(classes, on="number").select(*ENTRIES.names())

    def _commit(self) -> None:
        try:
            self.connection.commit()
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            # A retry could count the batch twice.
            raise self._store.error(
                "the connection was lost during the commit",
                hint="check whether the change was written, or repeat it with the same batch id",
            ) from None

    def _frame(
        self, table: sa.Table, model: int, schema: Mapping[str, pl.DataType]
    ) -> pl.DataFrame:
        result = self.run(
            sa.select(*(table.c[name] for name in schema)).where(table.c.model == model)
        )
        # SQLAlchemy's rows take longer to create than the driver's to read.
        cursor: Any = result.cursor
        frames = [pl.DataFrame(schema=schema)]
        with self.translated_errors():
            while rows := cursor.fetchmany(_ROWS_PER_FETCH):
                frames.append(pl.DataFrame(rows, schema=schema, orient="row"))
        result.close()
        return pl.concat(frames)


class SqlStore(Store):
    """A store in a database that SQLAlchemy connects to."""

    session_class: ClassVar[type[SqlSession]]

    def __init__(self, url: str, on_close: Callable[[], object] = lambda: None) -> None:
        super().__init__(url, on_close)
        self._engine: sa.Engine | None = None
        self._pid = os.getpid()
        self._engine_lock = Lock()
        self.has_tables = False

    @abstractmethod
    def new_engine(self) -> sa.Engine:
        """Return a new engine."""

    @abstractmethod
    def execution_options(self, writing: bool) -> dict[str, Any]:
        """Return the execution options of a transaction."""

    @abstractmethod
    def translated(self, error: DBAPIError) -> StoreError:
        """Return an error of the driver as ours; a conflict if a retry may succeed."""

    @property
    def engine(self) -> sa.Engine:
        """Engine of this process."""
        if self._pid != os.getpid():
            if self._engine is not None:
                _inherited.append(self._engine)
            self._engine, self._pid, self._engine_lock = None, os.getpid(), Lock()
        with self._engine_lock:
            if self._engine is None:
                self._engine = self.new_engine()
            return self._engine

    def reading(self) -> AbstractContextManager[SqlSession]:
        """Open a transaction that sees one consistent state and changes nothing."""
        return self._session(writing=False)

    @contextmanager
    def writing(self, key: bytes) -> Iterator[SqlSession]:
        """Open a transaction that no other writer of the model overlaps."""
        with self._session(writing=True) as session:
            session.lock(key)
            yield session
            session.commit()

    def release(self) -> None:
        """Close the connections."""
        if self._engine is not None and self._pid == os.getpid():
            self._engine.dispose()
        self._engine = None

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raise errors of the driver as StoreError, without text that may hold secrets."""
        try:
            yield
        except DBAPIError as error:
            raise self.translated(error) from None
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise self.translated(DBAPIError(None, None, error)) from None
        except SQLAlchemyError as error:
            raise self.error(f"the store cannot be used: {type(error).__name__}") from None

    @contextmanager
    def _session(self, writing: bool) -> Iterator[SqlSession]:
        with self.translated_errors():
            connection = self.engine.connect()
        try:
            session = self.session_class(self, connection)
            with session.translated_errors():
                connection.execution_options(**self.execution_options(writing))
                connection.begin()
            yield session
        finally:
            # Closing rolls back. If it fails, it must not hide an earlier error.
            with suppress(StoreError), self.translated_errors():
                connection.close()


def on_conflict_clause(statement: Any, table: sa.Table, on_conflict: OnConflict) -> Any:
    """Return an insert statement of SQLite or PostgreSQL with its ON CONFLICT clause."""
    if on_conflict == "skip":
        return statement.on_conflict_do_nothing()
    if on_conflict == "add":
        sums = {name: table.c[name] + statement.excluded[name] for name in ("mass", "support")}
        return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums)
    return statement


def _unused(column: str, key: sa.Column[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that no entry uses a feature or class."""
    entries = tables.entries.c
    used = sa.exists().where(entries.model == key.table.c.model, entries[column] == key)
    return ~used.correlate(key.table)


def chunks(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Split a frame into chunks that fit into one statement."""
    if not frame.height:
        return []
    texts = [pl.col(n).str.len_bytes() for n, kind in frame.schema.items() if kind == pl.String]
    size = pl.sum_horizontal(pl.lit(_ROW_BYTES), *texts).cast(pl.Int64)
    numbered = frame.with_columns(chunk=size.cum_sum() // _CHUNK_BYTES)
    return numbered.partition_by("chunk", maintain_order=True, include_key=False)
