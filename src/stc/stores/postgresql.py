"""Models on a PostgreSQL server: many processes on many machines."""

from __future__ import annotations

from typing import Any

import polars as pl
import polars.selectors as cs
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import DBAPIError

from stc.exceptions import StoreError
from stc.stores import tables
from stc.stores.database import PATIENCE
from stc.stores.keys import text_key
from stc.stores.sql import OnConflict, SqlDatabase, SqlSession, chunks, on_conflict_clause

_NO_TABLE, _NOT_PERMITTED = "42P01", "42501"
_MESSAGES = {
    "25006": "the store is read-only",
    "28000": "the server does not let this user in",
    "28P01": "the server does not let this user in: the password is wrong",
    "3D000": "the server has no database of this name",
    _NOT_PERMITTED: "this user may not write",
    "53100": "the disk of the server is full",
    "53200": "the server is out of memory",
}
# Serialization failure, deadlock, lock timeout, tables created by another transaction, a server
# that is starting, and too many connections.
_TRANSIENT = {"40001", "40P01", "55P03", "42P07", "23505", "57P03", "53300"}
# Errors before there is a connection have no code.
_TRANSIENT_TEXTS = ("too many clients", "connection slots", "starting up", "in recovery mode")


class PostgresqlSession(SqlSession):
    """An open transaction in PostgreSQL."""

    def lock(self, key: bytes) -> None:
        """Wait until no other transaction writes the model, which need not exist yet."""
        self.execute(
            "SELECT set_config('lock_timeout', :timeout, true)", timeout=f"{PATIENCE:.0f}s"
        )
        self._lock(key)

    def lock_tables(self) -> None:
        """Wait until no other transaction creates the tables."""
        self._lock(text_key(tables.models.name))

    def insert_rows(
        self, table: sa.Table, model: int, rows: pl.DataFrame, on_conflict: OnConflict
    ) -> None:
        """Insert rows."""
        query = sa.select(sa.literal(model), *_columns(table, rows.columns))
        statement = insert(table).from_select(["model", *rows.columns], query)
        self._run_with(rows, on_conflict_clause(statement, table, on_conflict))

    def delete_rows(
        self, table: sa.Table, model: int, keys: pl.DataFrame, condition: sa.ColumnElement[bool]
    ) -> None:
        """Delete the rows with these keys that meet the condition."""
        values = zip(keys.columns, _columns(table, keys.columns), strict=True)
        same = [table.c[name] == value for name, value in values]
        self._run_with(keys, sa.delete(table).where(table.c.model == model, *same, condition))

    def _run_with(self, rows: pl.DataFrame, statement: sa.Executable) -> None:
        # One text parameter is exact and fast: the driver's arrays take five times as long, and
        # COPY needs a new table for every batch.
        for chunk in chunks(rows.with_columns(cs.binary().bin.encode("hex"))):
            self.run(statement, {"rows": chunk.write_json()})

    def _lock(self, key: bytes) -> None:
        number = int.from_bytes(key[:8], "big", signed=True)
        self.execute("SELECT pg_advisory_xact_lock(:number)", number=number)


class PostgresqlDatabase(SqlDatabase):
    """A PostgreSQL database."""

    session_class = PostgresqlSession

    def new_engine(self) -> sa.Engine:
        """Return a new engine."""
        engine = sa.create_engine(
            self.url.for_sqlalchemy("postgresql+psycopg"),
            hide_parameters=True,
            pool_pre_ping=True,
            pool_timeout=PATIENCE,
            connect_args={"client_encoding": "utf8"},
        )
        sa.event.listen(engine, "connect", self._check_encoding)
        return engine

    def execution_options(self, writing: bool) -> dict[str, Any]:
        """Return the execution options of a transaction."""
        # Writers wait for each other before they read, and must then see what the other wrote.
        return {"isolation_level": "READ COMMITTED" if writing else "REPEATABLE READ"}

    def translated(self, error: DBAPIError) -> StoreError:
        """Return an error of the driver as ours; a conflict if a retry may succeed."""
        code = getattr(error.orig, "sqlstate", None)
        text = " ".join(self.url.without_secrets(str(error.orig)).split("\n")[0].split())
        if code == _NO_TABLE:
            self.has_tables = False
            return self.conflict("the tables are gone")
        if code in _TRANSIENT or any(part in text for part in _TRANSIENT_TEXTS):
            return self.conflict(f"the server is busy: {text}")
        if error.connection_invalidated:
            return self.conflict("the connection was lost")
        if code == _NOT_PERMITTED and (error.statement or "").lstrip().startswith("SELECT"):
            return self.error("this user may not read")
        failure = "PostgreSQL failed" if code else "the server cannot be reached"
        return self.error(_MESSAGES.get(code or "", f"{failure}: {text}"))

    def _check_encoding(self, connection: Any, _record: object) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise self.error(
                f"the encoding of the database is {encoding}",
                hint="create a database with encoding UTF8",
            )


def _columns(table: sa.Table, names: list[str]) -> list[Any]:
    """Return the columns of the rows in the parameter `rows` of a statement, which is JSON."""
    keys = {name for name in names if isinstance(table.c[name].type, sa.LargeBinary)}
    columns = [sa.column(name, sa.Text() if name in keys else table.c[name].type) for name in names]
    records = sa.func.json_to_recordset(
        sa.cast(sa.bindparam("rows", type_=sa.Text()), postgresql.JSON)
    )
    source = records.table_valued(*columns, name="rows").render_derived(with_types=True)
    return [sa.func.decode(source.c[n], "hex") if n in keys else source.c[n] for n in names]
