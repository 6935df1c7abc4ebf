"""Models in a DuckDB file: one process at a time, and the fastest of the databases."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import duckdb
import polars as pl

from stc._utils.database_url import MEMORY, DatabaseURL, file_identity, raise_alone
from stc.exceptions import StoreError
from stc.stores.database import PATIENCE, Database
from stc.stores.session import COLUMNS, Session, complete_tables, damaged_store

# Without keys and indexes: writers take turns, and merging is faster without.
_TABLES = {
    "stc_models": "id INTEGER, name_key BLOB, name VARCHAR, version BIGINT, header_key BLOB,"
    " header VARCHAR, checksum BIGINT, batches BIGINT",
    "stc_features": "model INTEGER, key BLOB, feature VARCHAR",
    "stc_classes": "model INTEGER, number INTEGER, class VARCHAR",
    "stc_entries": "model INTEGER, feature BLOB, set INTEGER, class INTEGER, mass DOUBLE,"
    " support BIGINT, gain DOUBLE, phase DOUBLE",
    "stc_batches": "model INTEGER, key BLOB, batch VARCHAR, written_at VARCHAR",
}
_TYPES = {
    table: dict(column.split() for column in columns.split(", "))
    for table, columns in _TABLES.items()
}
_ADD = """
    MERGE INTO stc_entries AS old USING new_rows AS new
    ON old.model = :model AND old.feature = new.feature
        AND old.set = new.set AND old.class = new.class
    WHEN MATCHED AND old.support + new.support <= 0 THEN DELETE
    WHEN MATCHED THEN
        UPDATE SET mass = old.mass + new.mass, support = old.support + new.support
    WHEN NOT MATCHED AND new.support > 0 THEN
        INSERT (model, feature, set, class, mass, support, gain, phase)
        VALUES (:model, new.feature, new.set, new.class, new.mass, new.support, new.gain, new.phase)
"""
_ADD_FEATURES = """
    INSERT INTO stc_features SELECT :model, key, feature FROM new_rows
    WHERE key NOT IN (SELECT key FROM stc_features WHERE model = :model) ORDER BY key
"""
_DROP_FEATURES = """
    DELETE FROM stc_features WHERE model = :model AND key IN (SELECT feature FROM new_rows)
    AND key NOT IN (SELECT feature FROM stc_entries WHERE model = :model)
"""
_DROP_CLASSES = """
    DELETE FROM stc_classes WHERE model = :model AND number IN (SELECT class FROM new_rows)
    AND number NOT IN (SELECT class FROM stc_entries WHERE model = :model)
"""
# Not views, which cannot be written, and not what other schemas have.
_FIND_TABLES = """
    SELECT table_name, list(column_name), list(data_type) FROM duckdb_columns()
    JOIN duckdb_tables() USING (database_name, schema_name, table_name)
    WHERE table_name LIKE 'stc\\_%' ESCAPE '\\' AND schema_name = current_schema()
    GROUP BY table_name
"""
# The process that opened each file; a forked child inherits its parent's entries.
_file_owners: dict[str, int] = {}
_IN_USE = (
    "the file is open in another process, and DuckDB allows one process only",
    "close it there, or use SQLite or PostgreSQL",
)
_OTHER_FORMAT = ("the file is not a DuckDB database", None)
_NO_PERMISSION = (
    "permission to open the file is denied",
    "check that you may write to it and to its folder",
)
# Parts of DuckDB's error texts, with our message and hint.
_MESSAGES: dict[str, tuple[str, str | None]] = {
    "Conflicting lock": _IN_USE,
    "Could not set lock": _IN_USE,
    "read-only": ("the store is read-only", None),
    "Read-only": ("the store is read-only", None),
    "Permission denied": _NO_PERMISSION,
    "Operation not permitted": _NO_PERMISSION,
    "No space left": ("the disk is full", None),
    "not a valid DuckDB": _OTHER_FORMAT,
    "sqlite_scanner": _OTHER_FORMAT,
    "Loading external extensions": _OTHER_FORMAT,
    "No such file or directory": ("the file cannot be opened", "check that its folder exists"),
    "Is a directory": _OTHER_FORMAT,
    "Could not read enough bytes": ("the file is damaged: it is cut short", None),
    "File too large": ("the file would exceed the largest size allowed", None),
}


class DuckdbSession(Session):
    """An open transaction in DuckDB."""

    insert_model = """
        INSERT INTO stc_models
        SELECT coalesce(max(id), 0) + 1, :key, :name, :version, :header_key, :header, 0, 0
        FROM stc_models
        RETURNING id
    """

    def __init__(self, database: DuckdbDatabase, cursor: duckdb.DuckDBPyConnection) -> None:
        super().__init__(database.translated_errors)
        self._database = database
        self._cursor = cursor
        self._cursor.begin()

    def execute(
        self, statement: str, new_rows: pl.DataFrame | None = None, **values: Any
    ) -> list[Any]:
        """Execute a statement; it sees a frame as the table `new_rows`."""
        with self.translated_errors():
            if new_rows is not None:
                self._cursor.register("new_rows", new_rows)
            return self._cursor.execute(_with_dollars(statement), values).fetchall()

    def close(self) -> None:
        """Close the transaction; what is not committed is rolled back."""
        # If closing fails, it must not hide an earlier error.
        with suppress(duckdb.Error):
            self._cursor.close()

    def has_tables(self) -> bool:
        """Return whether the tables exist; raise an error if only a part of them does."""
        if not self._database.has_tables:
            rows = self.execute(_FIND_TABLES)
            found = {table: dict(zip(names, types, strict=True)) for table, names, types in rows}
            self._database.has_tables = complete_tables(found, _TYPES)
        return self._database.has_tables

    def create_tables(self) -> None:
        """Create the tables that do not exist."""
        for table, columns in _TABLES.items():
            self.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")

    def insert(self, table: str, model: int, rows: pl.DataFrame) -> None:
        """Insert rows of a model that are not in the table."""
        statement = f"INSERT INTO {table} BY NAME SELECT :model AS model, * FROM new_rows"
        self.execute(statement, rows, model=model)

    def add_features(self, model: int, features: pl.DataFrame) -> None:
        """Insert the features that the model lacks; the columns are `key` and `feature`."""
        self.execute(_ADD_FEATURES, features, model=model)

    def add_entries(self, model: int, entries: pl.DataFrame) -> None:
        """Add entries up; delete those without support, and unused features and classes."""
        self.execute(_ADD, entries, model=model)
        less = entries.filter(pl.col("support") <= 0)
        if less.height:
            self.execute(_DROP_FEATURES, less, model=model)
            self.execute(_DROP_CLASSES, less, model=model)

    def rows(self, table: str, model: int) -> pl.DataFrame:
        """Return the rows of a model, in the columns of COLUMNS."""
        columns = COLUMNS[table]
        query = f"SELECT {', '.join(map(_quoted, columns))} FROM {table} WHERE model = $model"
        with self.translated_errors():
            rows: pl.DataFrame = self._cursor.sql(query, params={"model": model}).pl()
        for name, kind in columns.items():
            if rows.schema[name] != kind:
                raise damaged_store(f"the column {name!r} of {table} is of another type")
        return rows

    def _commit(self) -> None:
        self._cursor.commit()


class DuckdbDatabase(Database):
    """A DuckDB file."""

    def __init__(self, url: DatabaseURL) -> None:
        super().__init__(url)
        self._file = url.file_path()
        self._options = dict(url.options)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._identity: tuple[int, ...] | None = None
        self._open_lock, self._write_lock = Lock(), Lock()
        self.has_tables = False

    def exists(self) -> bool:
        """Return whether there is a file; reading does not create one."""
        return self._file == MEMORY or os.path.exists(self._file)

    @contextmanager
    def reading(self) -> Iterator[DuckdbSession]:
        """Open a transaction that sees one consistent state and changes nothing."""
        session = self._new_session()
        try:
            yield session
        finally:
            session.close()

    @contextmanager
    def writing(self, key: bytes) -> Iterator[DuckdbSession]:
        """Open a transaction that no other writer overlaps."""
        if not self._write_lock.acquire(timeout=PATIENCE):
            raise self.error(f"another thread has been writing for {PATIENCE:.0f} s")
        try:
            with self.reading() as session:
                yield session
                session.commit()
        finally:
            self._write_lock.release()

    def release(self) -> None:
        """Close the file."""
        with self._open_lock:
            self._close()

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raise errors of DuckDB as StoreError, without text that may hold secrets."""
        try:
            yield
        except duckdb.Error as error:
            raise_alone(self._translated(error))

    def _new_session(self) -> DuckdbSession:
        with self._open_lock, self.translated_errors():
            self._check_process()
            if self._connection is not None and self._identity != file_identity(self._file):
                # What is written to a file that was removed meanwhile would be lost.
                self._close()
            if self._connection is None:
                self._connection = self._open()
            return DuckdbSession(self, self._connection.cursor())

    def _open(self) -> duckdb.DuckDBPyConnection:
        # DuckDB would download an extension to open a file of another database, and a view in a
        # stranger's file could read other files.
        options: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "enable_external_access": "false",
            **self._options,
        }
        if os.path.exists(self._file) and not os.access(self._file, os.W_OK):
            options["access_mode"] = "read_only"
        connection = duckdb.connect(self._file, config=options)
        self._identity = file_identity(self._file)
        _file_owners[self._file] = os.getpid()
        return connection

    def _close(self) -> None:
        if self._connection is not None and _file_owners.get(self._file) == os.getpid():
            self._connection.close()
            del _file_owners[self._file]
        self._connection, self.has_tables = None, False

    def _check_process(self) -> None:
        # DuckDB itself would let the child write to the file that its parent has open.
        if _file_owners.get(self._file, os.getpid()) != os.getpid():
            raise self.error(
                "the file was open when this process was forked, and DuckDB allows one process"
                " only",
                hint="close it before, or start processes with spawn",
            )

    def _translated(self, error: duckdb.Error) -> StoreError:
        text = str(error)
        if isinstance(error, duckdb.FatalException) or "been invalidated" in text:
            # The connection is unusable until the file is opened again.
            self._connection = None
        for part, message in _MESSAGES.items():
            if part in text:
                return self.error(*message)
        if isinstance(error, duckdb.CatalogException):
            self.has_tables = False
        if isinstance(error, duckdb.TransactionException) and "onflict" in text:
            return self.conflict("the store was changed at the same time")
        return self.error(f"DuckDB failed: {self.url.without_secrets(text).splitlines()[0]}")


def _quoted(name: str) -> str:
    return f'"{name}"'


def _with_dollars(statement: str) -> str:
    """Return a statement with its parameters as DuckDB writes them: `$model` for `:model`."""
    return re.sub(r":(\w+)", r"$\1", statement)
