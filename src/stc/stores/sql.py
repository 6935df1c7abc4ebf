"""What SQLite and PostgreSQL share: they are used through SQLAlchemy."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import Any, ClassVar, Literal

import polars as pl
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from stc._utils.database_url import DatabaseURL, raise_alone
from stc.exceptions import StoreError
from stc.stores import tables
from stc.stores.database import Database
from stc.stores.session import COLUMNS, Session, complete_tables, typed_rows

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
        "INSERT INTO stc_models (name_key, name, version, header_key, header, checksum, batches)"
        " VALUES (:key, :name, :version, :header_key, :header, 0, 0) RETURNING id"
    )

    # Whether a column holds values of its type only.
    typed: ClassVar[bool] = True

    def __init__(self, database: SqlDatabase, connection: sa.Connection) -> None:
        super().__init__(database.translated_errors)
        self._database = database
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
        """Return whether the tables exist; raise an error if only a part of them does."""
        if not self._database.has_tables:
            with self.translated_errors():
                inspector = sa.inspect(self.connection)
                # Not views, which cannot be written.
                existing = tables.metadata.tables.keys() & set(inspector.get_table_names())
                found = {
                    table: {
                        column["name"]: self._type_name(column["type"])
                        for column in inspector.get_columns(table)
                    }
                    for table in existing
                }
            self._database.has_tables = complete_tables(found, self._column_types())
        return self._database.has_tables

    def _column_types(self) -> dict[str, dict[str, str]] | None:
        """Return the types of all columns; None if the database does not check types."""
        if not self.typed:
            return None
        return {
            table.name: {column.name: self._type_name(column.type) for column in table.columns}
            for table in tables.metadata.tables.values()
        }

    def _type_name(self, kind: sa.types.TypeEngine[Any]) -> str:
        if not self.typed:
            return ""
        # The inspector does not tell the collation of a text.
        return kind.compile(self.connection.dialect).partition(" COLLATE")[0]

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

    def rows(self, table: str, model: int) -> pl.DataFrame:
        """Return the rows of a model, in the columns of COLUMNS."""
        columns = tables.metadata.tables[table].c
        selected = sa.select(*(columns[name] for name in COLUMNS[table]))
        result = self.run(selected.where(columns.model == model))
        # SQLAlchemy's rows take longer to create than the driver's to read.
        cursor: Any = result.cursor
        frames = [typed_rows([], table)]
        with self.translated_errors():
            while fetched := cursor.fetchmany(_ROWS_PER_FETCH):
                frames.append(typed_rows(fetched, table))
        result.close()
        return pl.concat(frames)

    def _commit(self) -> None:
        try:
            self.connection.commit()
        except DBAPIError as error:
            if not error.connection_invalidated:
                raise
            # A retry could count the batch twice.
            raise self._database.error(
                "the connection was lost during the commit",
                hint="check whether the change was written, or repeat it with the same batch id",
            ) from None


class SqlDatabase(Database):
    """A database that SQLAlchemy connects to."""

    session_class: ClassVar[type[SqlSession]]

    def __init__(self, url: DatabaseURL) -> None:
        super().__init__(url)
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
            raise_alone(self.translated(error))
        except SQLAlchemyError as error:  # also of options that no engine can be created with
            raise_alone(self.error(f"the store cannot be used: {type(error).__name__}"))
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise_alone(self.translated(DBAPIError(None, None, error)))

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
