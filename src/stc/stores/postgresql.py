"""Models on a PostgreSQL server: many processes, on many machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import polars.selectors as cs
from sqlalchemy import (
    Engine,
    LargeBinary,
    Table,
    Text,
    bindparam,
    cast,
    column,
    create_engine,
    delete,
    event,
    func,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from stc.exceptions import StoreError
from stc.stores import tables
from stc.stores.kept import PATIENCE
from stc.stores.sql import Conflict, SqlSession, SqlStore, resolved
from stc.stores.texts import key_of

_CAUSES = {
    "25006": "is read-only",
    "28000": "does not let this user in",
    "28P01": "does not let this user in: the password is not right",
    "3D000": "is not there: the server has no database of this name",
    "42501": "does not let this user write",
    "53100": "is on a disk that is full",
    "53200": "is out of memory",
}
# Serialization failure, deadlock, lock timeout, statements that met another's new tables, and a
# server that is starting up or has too many guests.
_TRANSIENT = {"40001", "40P01", "55P03", "42P07", "23505", "57P03", "53300"}
# Before there is a connection only the text tells them.
_TRANSIENT_WORDS = ("too many clients", "connection slots", "starting up", "in recovery mode")
_NO_TABLE = "42P01"


class PostgresqlStore(SqlStore):
    """A PostgreSQL database."""

    def __init__(self, url: str, closed: Callable[[], object] = lambda: None) -> None:
        super().__init__(url, closed)
        try:
            self._url: URL = make_url(url).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError):
            right = "postgresql://user:password@host:port/database"
            raise ValueError(f"store={self.shown!r} cannot be read: write {right}") from None

    def connect(self) -> Engine:
        """Make the engine."""
        engine = create_engine(
            self._url,
            hide_parameters=True,
            pool_pre_ping=True,
            pool_timeout=PATIENCE,
            connect_args={"client_encoding": "utf8"},
        )
        event.listen(engine, "connect", self._connected)
        return engine

    def options(self, writing: bool) -> dict[str, Any]:
        """Execution options of a transaction."""
        # Writers wait for each other before they look, and must then see what the other wrote.
        return {"isolation_level": "READ COMMITTED" if writing else "REPEATABLE READ"}

    def lock(self, session: SqlSession, key: bytes) -> None:
        """Wait until no one else writes a model, be it there or not."""
        timeout = func.set_config("lock_timeout", f"{PATIENCE:.0f}s", True)
        session.execute(select(timeout))
        session.execute(select(func.pg_advisory_xact_lock(_number(key))))

    def lock_tables(self, session: SqlSession) -> None:
        """Wait until no one else makes the tables."""
        session.execute(select(func.pg_advisory_xact_lock(_number(key_of(tables.models.name)))))

    def insert(
        self, session: SqlSession, table: Table, model: int, rows: pl.DataFrame, conflict: Conflict
    ) -> None:
        """Insert rows."""
        chosen = select(literal(model), *_carried(table, rows.columns))
        statement = insert(table).from_select(["model", *rows.columns], chosen)
        session.execute(resolved(statement, table, conflict), {"rows": _json(rows)})

    def delete(
        self, session: SqlSession, table: Table, model: int, keys: pl.DataFrame, *which: Any
    ) -> None:
        """Delete the rows with these keys, as far as the conditions hold."""
        there = [table.c[name] for name in keys.columns]
        same = [
            one == other for one, other in zip(there, _carried(table, keys.columns), strict=True)
        ]
        statement = delete(table).where(table.c.model == model, *same, *which)
        session.execute(statement, {"rows": _json(keys)})

    def explain(self, error: DBAPIError) -> StoreError:
        """The error in words; a conflict if the same may go well the next time."""
        code = getattr(error.orig, "sqlstate", None)
        words = self._words(error)
        if code == _NO_TABLE:
            self.has_tables = False
            return self.conflict("has lost its tables")
        if code in _TRANSIENT or any(sign in words for sign in _TRANSIENT_WORDS):
            return self.conflict(f"is busy: {words}")
        if error.connection_invalidated:
            return self.conflict("lost the connection")
        if code in _CAUSES:
            return self.trouble(_CAUSES[code])
        return self.trouble(f"cannot do it: {words}" if code else f"cannot be reached: {words}")

    def _words(self, error: DBAPIError) -> str:
        words = " ".join(str(error.orig).split("\n")[0].split())
        secret = self._url.password
        return words.replace(str(secret), "***") if secret else words

    def _connected(self, connection: Any, _record: object) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise self.trouble(f"keeps texts as {encoding}: make a database with encoding UTF8")


def _number(key: bytes) -> int:
    return int.from_bytes(key[:8], "big", signed=True)


def _json(rows: pl.DataFrame) -> str:
    # One bound text is exact and quickly written: the driver's arrays take five times as long,
    # and COPY needs a new table for every batch.
    return rows.with_columns(cs.binary().bin.encode("hex")).write_json()


def _carried(table: Table, names: list[str]) -> list[Any]:
    """The columns of the rows that the statement's parameter carries."""
    keys = {name for name in names if isinstance(table.c[name].type, LargeBinary)}
    columns = [column(name, Text() if name in keys else table.c[name].type) for name in names]
    carried = func.json_to_recordset(cast(bindparam("rows", type_=Text()), postgresql.JSON))
    source = carried.table_valued(*columns, name="carried").render_derived(with_types=True)
    return [func.decode(source.c[n], "hex") if n in keys else source.c[n] for n in names]
