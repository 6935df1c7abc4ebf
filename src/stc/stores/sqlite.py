"""Models in a SQLite file: many processes read it at once, and write it one after the other."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from typing import Any

import polars as pl
from sqlalchemy import (
    Connection,
    Engine,
    QueuePool,
    Table,
    bindparam,
    create_engine,
    delete,
    event,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

from stc.exceptions import StoreError
from stc.stores.address import MEMORY, file_of, identity_of
from stc.stores.kept import PATIENCE
from stc.stores.sql import Conflict, SqlSession, SqlStore, resolved

_CAUSES = {
    sqlite3.SQLITE_READONLY: "is read-only",
    sqlite3.SQLITE_FULL: "is on a disk that is full",
    sqlite3.SQLITE_IOERR: "is on a disk that cannot be read or written, or is full",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened: is its folder there, and may you write to it?",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database",
    sqlite3.SQLITE_CORRUPT: "is damaged",
    sqlite3.SQLITE_PERM: "may not be opened by you",
    sqlite3.SQLITE_AUTH: "may not be opened by you",
}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_SCHEMA}

_NEW = object()


class SqliteStore(SqlStore):
    """A SQLite file."""

    def __init__(self, url: str, closed: Callable[[], object] = lambda: None) -> None:
        super().__init__(url, closed)
        self._file = file_of(url)
        self._url: URL = make_url(url).set(drivername="sqlite+pysqlite", database=self._file)

    def there(self) -> bool:
        """Whether there is a file; one that is not there is not made by reading."""
        return not os.path.isabs(self._file) or os.path.exists(self._file)

    def connect(self) -> Engine:
        """Make the engine; each transaction begins as we say, not as the driver guesses."""
        timeout = {"timeout": PATIENCE, "check_same_thread": False}
        # The one connection to a database in memory goes from hand to hand.
        size = {"pool_size": 1, "max_overflow": 0} if self._file == MEMORY else {}
        engine = create_engine(
            self._url,
            hide_parameters=True,
            connect_args=timeout,
            poolclass=QueuePool,
            pool_timeout=PATIENCE,
            **size,
        )
        event.listen(engine, "connect", _connected)
        event.listen(engine, "begin", _begin)
        if os.path.isabs(self._file):
            event.listen(engine, "checkin", self._put_back)
            event.listen(engine, "checkout", self._take_out)
        return engine

    def _put_back(self, _connection: object, record: ConnectionPoolEntry) -> None:
        record.info["stc_file"] = identity_of(self._file)

    def _take_out(self, _connection: object, record: ConnectionPoolEntry, _proxy: object) -> None:
        # What is written to a file that was removed or replaced meanwhile would be lost.
        known = record.info.get("stc_file", _NEW)
        if known is not _NEW and (known is None or known != identity_of(self._file)):
            raise DisconnectionError

    def options(self, writing: bool) -> dict[str, Any]:
        """Execution options of a transaction."""
        return {"stc_writing": writing}

    def lock(self, session: SqlSession, key: bytes) -> None:
        """The transaction began with the lock of all writers."""

    def lock_tables(self, session: SqlSession) -> None:
        """The transaction began with the lock of all writers."""

    def insert(
        self, session: SqlSession, table: Table, model: int, rows: pl.DataFrame, conflict: Conflict
    ) -> None:
        """Insert rows."""
        values = rows.with_columns(model=pl.lit(model))
        session.execute_many(resolved(insert(table), table, conflict), values)

    def delete(
        self, session: SqlSession, table: Table, model: int, keys: pl.DataFrame, *which: Any
    ) -> None:
        """Delete the rows with these keys, as far as the conditions hold."""
        values = keys.with_columns(model=pl.lit(model))
        same = [table.c[name] == bindparam(name) for name in values.columns]
        session.execute_many(delete(table).where(*same, *which), values)

    def explain(self, error: DBAPIError) -> StoreError:
        """The error in words; a conflict if the same may go well the next time."""
        code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _BUSY:
            return self.conflict("is locked by another process")
        if code == sqlite3.SQLITE_ERROR and "no such table" in str(error.orig):
            self.has_tables = False
            return self.conflict("has lost its tables")
        return self.trouble(_CAUSES.get(code, f"failed: {error.orig}"))


def _connected(connection: sqlite3.Connection, _record: object) -> None:
    # With None the driver begins and ends no transaction of its own.
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = FULL")


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get("stc_writing"):
        connection.exec_driver_sql("BEGIN")
        return
    if not connection.info.get("stc_journal"):
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        connection.info["stc_journal"] = True
    connection.exec_driver_sql("BEGIN IMMEDIATE")
