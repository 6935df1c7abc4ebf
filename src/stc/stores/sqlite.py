"""Models in a SQLite file: many processes read at once and write one after the other."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from stc._utils.database_url import MEMORY, DatabaseURL, file_identity, sqlite_file
from stc.exceptions import StoreError
from stc.stores.database import PATIENCE
from stc.stores.sql import OnConflict, SqlDatabase, SqlSession, chunks, on_conflict_clause

_MESSAGES: dict[int, tuple[str, str | None]] = {
    sqlite3.SQLITE_READONLY: ("the store is read-only", None),
    sqlite3.SQLITE_FULL: ("the disk is full", None),
    sqlite3.SQLITE_IOERR: ("the disk is full or cannot be read or written", None),
    sqlite3.SQLITE_CANTOPEN: (
        "the file cannot be opened",
        "check that its folder exists and that you may write to it",
    ),
    sqlite3.SQLITE_NOTADB: ("the file is not a SQLite database", None),
    sqlite3.SQLITE_CORRUPT: ("the database is damaged", None),
    sqlite3.SQLITE_PERM: ("permission to open the file is denied", None),
    sqlite3.SQLITE_AUTH: ("permission to open the file is denied", None),
}
_NOT_UTF8 = "Could not decode to UTF-8 column"
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_SCHEMA}


class SqliteSession(SqlSession):
    """An open transaction in SQLite. A writing one began with the lock of all writers."""

    typed = False

    def insert_rows(
        self, table: sa.Table, model: int, rows: pl.DataFrame, on_conflict: OnConflict
    ) -> None:
        """Insert rows."""
        statement = on_conflict_clause(insert(table), table, on_conflict)
        self._execute_many(statement, rows.with_columns(model=pl.lit(model)))

    def delete_rows(
        self, table: sa.Table, model: int, keys: pl.DataFrame, condition: sa.ColumnElement[bool]
    ) -> None:
        """Delete the rows with these keys that meet the condition."""
        values = keys.with_columns(model=pl.lit(model))
        same = [table.c[name] == sa.bindparam(name) for name in values.columns]
        self._execute_many(sa.delete(table).where(*same, condition), values)

    def _execute_many(self, statement: sa.ClauseElement, values: pl.DataFrame) -> None:
        """Execute a statement once per row, with one call of the driver per chunk of rows."""
        dialect = self.connection.dialect
        compiled: Any = statement.compile(dialect=dialect, column_keys=values.columns)
        constants = {k: pl.lit(v) for k, v in compiled.params.items() if k not in values.columns}
        for chunk in chunks(values.with_columns(**constants).select(compiled.positiontup)):
            with self.translated_errors():
                self.connection.exec_driver_sql(str(compiled), chunk.rows())


class SqliteDatabase(SqlDatabase):
    """A SQLite file."""

    session_class = SqliteSession

    def __init__(self, url: DatabaseURL) -> None:
        super().__init__(url)
        self._file = url.file_path()

    def exists(self) -> bool:
        """Return whether there is a file; reading does not create one."""
        file = sqlite_file(self._file, dict(self.url.options))
        return file is None or os.path.exists(file)

    def new_engine(self) -> sa.Engine:
        """Return a new engine whose transactions begin by `_begin`, not by the driver."""
        # A database in memory has one connection, which threads take in turn.
        size = {"pool_size": 1, "max_overflow": 0} if self._file == MEMORY else {}
        engine = sa.create_engine(
            self.url.for_sqlalchemy("sqlite+pysqlite", self._file),
            hide_parameters=True,
            connect_args={"timeout": PATIENCE, "check_same_thread": False},
            poolclass=sa.QueuePool,
            pool_timeout=PATIENCE,
            **size,
        )
        sa.event.listen(engine, "connect", _configure)
        sa.event.listen(engine, "begin", _begin)
        if os.path.isabs(self._file):
            sa.event.listen(engine, "do_connect", self._connect_fixed)
            sa.event.listen(engine, "checkin", self._remember_file)
            sa.event.listen(engine, "checkout", self._check_file)
        return engine

    def _connect_fixed(
        self, dialect: sa.Dialect, _record: object, _path: object, options: dict[str, Any]
    ) -> Any:
        """Connect to a file on a read-only disk as to one that never changes.

        SQLite could not create the file that readers of its write-ahead log share. Returns None
        for any other file, which is connected to as usual.
        """
        if not self._is_fixed():
            return None
        address = f"{Path(self._file).as_uri()}?mode=ro&immutable=1"
        return dialect.connect(address, **{**options, "uri": True})

    def _is_fixed(self) -> bool:
        """Return whether the file is on a disk that is read-only, without a log beside it."""
        if not os.path.isabs(self._file) or not os.path.exists(self._file):
            return False
        log = Path(f"{self._file}-wal")
        logged = log.exists() and log.stat().st_size > 0
        return not logged and not os.access(os.path.dirname(self._file), os.W_OK)

    def execution_options(self, writing: bool) -> dict[str, Any]:
        """Return the execution options of a transaction."""
        return {"stc_writing": writing}

    def translated(self, error: DBAPIError) -> StoreError:
        """Return an error of the driver as ours; a conflict if a retry may succeed."""
        code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _BUSY:
            return self.conflict("the store is locked by another process")
        if code == sqlite3.SQLITE_ERROR and "no such table" in str(error.orig):
            self.has_tables = False
            return self.conflict("the tables are gone")
        if _NOT_UTF8 in str(error.orig):
            column = str(error.orig).partition(_NOT_UTF8)[2].partition(" with text")[0]
            return self.error(f"a text of the column{column} is not UTF-8: the store is damaged")
        return self.error(*_MESSAGES.get(code, (f"SQLite failed: {error.orig}", None)))

    def _remember_file(self, _connection: object, record: ConnectionPoolEntry) -> None:
        record.info["stc_file"] = self._identity()

    def _identity(self) -> tuple[int, ...] | None:
        known = file_identity(self._file)
        if known is None or not self._is_fixed():
            return known
        # A disk may be read-only here and written to elsewhere.
        status = os.stat(self._file)
        return *known, status.st_mtime_ns, status.st_size

    def _check_file(self, _connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
        # What is written to a file that was removed or replaced meanwhile would be lost.
        if "stc_file" in record.info:
            known = record.info["stc_file"]
            if known is None or known != self._identity():
                raise DisconnectionError


def _configure(connection: sqlite3.Connection, _record: object) -> None:
    # With None the driver neither begins nor ends transactions.
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: sa.Connection) -> None:
    if not connection.get_execution_options().get("stc_writing"):
        connection.exec_driver_sql("BEGIN")
        return
    if not connection.info.get("stc_journal"):
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.info["stc_journal"] = True
    connection.exec_driver_sql("BEGIN IMMEDIATE")
