"""Models in a database that SQLAlchemy reaches: what SQLite and PostgreSQL share."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, Literal

import polars as pl
from sqlalchemy import (
    ClauseElement,
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Engine,
    Executable,
    Table,
    delete,
    exists,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from stc.exceptions import StoreError
from stc.io.archive import ENTRIES
from stc.stores import tables
from stc.stores.delta import pieces
from stc.stores.kept import Guarded, KeptStore
from stc.stores.transaction import Row

# What becomes of rows to insert that are there already, if any can be.
Conflict = Literal["none", "skip", "add"]

# Rows that are read at a time.
_ROWS = 50_000

# Connections of the process that this one was forked from: never used here, and never closed,
# for that would be told to the server, or to the file, in the name of the other process.
_inherited: list[Engine] = []


class SqlStore(KeptStore):
    """Models in tables; what differs between databases is left to those who know them."""

    def __init__(self, url: str, closed: Callable[[], object] = lambda: None) -> None:
        super().__init__(url, closed)
        self._engine: Engine | None = None
        self._pid = os.getpid()
        self._making = Lock()
        self.has_tables = False

    @abstractmethod
    def connect(self) -> Engine:
        """Make the engine."""

    @abstractmethod
    def explain(self, error: DBAPIError) -> StoreError:
        """The error in words; a conflict if the same may go well the next time."""

    @abstractmethod
    def options(self, writing: bool) -> dict[str, Any]:
        """Execution options of a transaction."""

    @abstractmethod
    def lock(self, session: SqlSession, key: bytes) -> None:
        """Wait until no one else writes a model."""

    @abstractmethod
    def lock_tables(self, session: SqlSession) -> None:
        """Wait until no one else makes the tables."""

    @abstractmethod
    def insert(
        self, session: SqlSession, table: Table, model: int, rows: pl.DataFrame, conflict: Conflict
    ) -> None:
        """Insert rows."""

    @abstractmethod
    def delete(
        self, session: SqlSession, table: Table, model: int, keys: pl.DataFrame, *which: Any
    ) -> None:
        """Delete the rows with these keys, as far as the conditions hold."""

    @property
    def engine(self) -> Engine:
        """Connections of this very process."""
        if self._pid != os.getpid():
            if self._engine is not None:
                _inherited.append(self._engine)
            self._engine, self._pid, self._making = None, os.getpid(), Lock()
        with self._making:
            if self._engine is None:
                self._engine = self.connect()
            return self._engine

    @contextmanager
    def reading(self) -> Iterator[SqlSession]:
        """A transaction that sees one consistent state and changes nothing."""
        with self._session(writing=False) as session:
            yield session

    @contextmanager
    def writing(self, key: bytes) -> Iterator[SqlSession]:
        """A transaction that no other writer of the model overlaps."""
        with self._session(writing=True) as session:
            self.lock(session, key)
            yield session
            session.commit()

    def release(self) -> None:
        """Close the connections."""
        if self._engine is not None and self._pid == os.getpid():
            self._engine.dispose()
        self._engine = None

    @contextmanager
    def _session(self, writing: bool) -> Iterator[SqlSession]:
        with self.guarded():
            connection = self.engine.connect()
        try:
            session = SqlSession(self, connection)
            with session.guarded():
                connection.execution_options(**self.options(writing))
                connection.begin()
            yield session
        finally:
            # It rolls back what is not committed; that it fails must not hide why it came to this.
            with suppress(StoreError), self.guarded():
                connection.close()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Say in words what a driver says; never pass on its text, which may hold anything."""
        try:
            yield
        except DBAPIError as error:
            raise self.explain(error) from None
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise self.explain(DBAPIError(None, None, error)) from None
        except SQLAlchemyError as error:
            raise self.trouble(f"cannot be used: {type(error).__name__}") from None


class SqlSession(Guarded):
    """One transaction: see `stc.stores.transaction.Session`."""

    def __init__(self, store: SqlStore, connection: Connection) -> None:
        super().__init__(store)
        self._store = store
        self._connection = connection

    def execute(
        self, statement: Executable, values: Mapping[str, Any] | Sequence[Any] | None = None
    ) -> CursorResult[Any]:
        """Execute a statement."""
        with self.guarded():
            return self._connection.execute(statement, values)

    def execute_many(self, statement: ClauseElement, values: pl.DataFrame) -> None:
        """Execute a statement once a row, with the driver's own speed."""
        dialect = self._connection.dialect
        compiled: Any = statement.compile(dialect=dialect, column_keys=values.columns)
        fixed = {k: v for k, v in compiled.params.items() if k not in values.columns}
        rows = values.with_columns(**{k: pl.lit(v) for k, v in fixed.items()})
        with self.guarded():
            rows_in_order = rows.select(compiled.positiontup).rows()
            self._connection.exec_driver_sql(str(compiled), rows_in_order)

    def commit(self) -> None:
        """Commit, unless something failed that the work then kept to itself."""
        self.refuse_failed()
        with self.guarded():
            try:
                self._connection.commit()
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                # To do it again could count it twice.
                raise self._store.trouble(
                    "lost the connection at the very end: look whether it was written, or write"
                    " again with the same batch id"
                ) from None

    def find(self, key: bytes) -> Row | None:
        """The row of a model; None if there is none, or no tables at all."""
        if not self._has_tables():
            return None
        one = tables.models.c
        query = select(one.id, one.version, one.header).where(one.name_key == key)
        found = self.execute(query).one_or_none()
        return None if found is None else Row(found.id, found.version, found.header)

    def names(self) -> list[str]:
        """Names of all models."""
        if not self._has_tables():
            return []
        return list(self.execute(select(tables.models.c.name)).scalars())

    def create(self, key: bytes, name: str, version: int) -> int:
        """Make a model, and the tables if need be, and give its number."""
        if not self._has_tables():
            self._store.lock_tables(self)
            with self.guarded():
                tables.metadata.create_all(self._connection, checkfirst=True)
        values = {"name_key": key, "name": name, "version": version}
        new = insert(tables.models).values(**values).returning(tables.models.c.id)
        return int(self.execute(new).scalar_one())

    def update(self, model: int, version: int, header: str | None) -> None:
        """Change the row of a model."""
        change = update(tables.models).where(tables.models.c.id == model)
        self.execute(change.values(version=version, header=header))

    def remove(self, model: int) -> None:
        """Remove the row of a model."""
        self.execute(delete(tables.models).where(tables.models.c.id == model))

    def has(self, model: int, key: bytes) -> bool:
        """Whether a batch is in the ledger."""
        one = tables.batches.c
        found = self.execute(select(one.key).where(one.model == model, one.key == key))
        return found.one_or_none() is not None

    def note(self, model: int, key: bytes, batch: str, at: str) -> None:
        """Enter a batch into the ledger."""
        values = {"model": model, "key": key, "batch": batch, "written_at": at}
        self.execute(insert(tables.batches).values(**values))

    def batches(self, model: int) -> list[str]:
        """The ledger."""
        one = tables.batches.c
        return list(self.execute(select(one.batch).where(one.model == model)).scalars())

    def forget(self, model: int) -> None:
        """Empty the ledger."""
        self._delete_all(tables.batches, model)

    def classes(self, model: int) -> dict[str, int]:
        """The classes and their numbers."""
        one = tables.classes.c
        query = select(one["class"].label("name"), one.number).where(one.model == model)
        return {row.name: row.number for row in self.execute(query)}

    def add_classes(self, model: int, numbers: dict[str, int]) -> None:
        """Enter new classes."""
        columns = {"number": list(numbers.values()), "class": list(numbers)}
        rows = pl.DataFrame(columns, schema={"number": pl.Int32, "class": pl.String})
        self._insert(tables.classes, model, rows, "none")

    def add_features(self, model: int, features: pl.DataFrame) -> None:
        """Enter the features that are not there."""
        self._insert(tables.features, model, features, "skip")

    def insert(self, model: int, entries: pl.DataFrame) -> None:
        """Enter entries of a model that has none."""
        self._insert(tables.entries, model, entries, "none")

    def add(self, model: int, entries: pl.DataFrame) -> None:
        """Add entries up; those without support go, with features and classes left without any."""
        self._insert(tables.entries, model, entries, "add")
        less = entries.filter(pl.col("support") <= 0)
        if less.height:
            keys = less.select("feature", "set", "class")
            self._delete(tables.entries, model, keys, tables.entries.c.support <= 0)
            features = less.select(key=pl.col("feature").unique().sort())
            self._delete(
                tables.features, model, features, _unused("feature", tables.features.c.key)
            )
            classes = less.select(number=pl.col("class").unique().sort())
            self._delete(tables.classes, model, classes, _unused("class", tables.classes.c.number))

    def entries(self, model: int) -> pl.DataFrame:
        """All entries, in the columns of ENTRIES."""
        one = tables.entries.c
        rows = self._frame(
            select(*(one[name] for name in ENTRIES.names())).where(one.model == model),
            dict(ENTRIES) | {"feature": pl.Binary(), "class": pl.Int32()},
        )
        one = tables.features.c
        texts = self._frame(
            select(one.key, one.feature).where(one.model == model),
            {"key": pl.Binary(), "text": pl.String()},
        )
        one = tables.classes.c
        names = self._frame(
            select(one.number, one["class"]).where(one.model == model),
            {"number": pl.Int32(), "name": pl.String()},
        )
        joined = rows.join(texts, left_on="feature", right_on="key")
        joined = joined.join(names, left_on="class", right_on="number")
        told = joined.drop("feature", "class").rename({"text": "feature", "name": "class"})
        return told.select(*ENTRIES.names())

    def wipe(self, model: int) -> None:
        """Remove entries, features and classes."""
        for table in (tables.entries, tables.features, tables.classes):
            self._delete_all(table, model)

    def _has_tables(self) -> bool:
        if not self._store.has_tables:
            with self.guarded():
                self._store.has_tables = inspect(self._connection).has_table(tables.models.name)
        return self._store.has_tables

    def _insert(self, table: Table, model: int, rows: pl.DataFrame, conflict: Conflict) -> None:
        for piece in pieces(rows):
            self._store.insert(self, table, model, piece, conflict)

    def _delete(self, table: Table, model: int, keys: pl.DataFrame, *which: Any) -> None:
        for piece in pieces(keys):
            self._store.delete(self, table, model, piece, *which)

    def _delete_all(self, table: Table, model: int) -> None:
        self.execute(delete(table).where(table.c.model == model))

    def _frame(self, query: Executable, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
        result = self.execute(query)
        # The driver's own rows: what SQLAlchemy makes of a row takes longer than to read it.
        cursor: Any = result.cursor
        frames = [pl.DataFrame(schema=schema)]
        with self.guarded():
            while rows := cursor.fetchmany(_ROWS):
                frames.append(pl.DataFrame(rows, schema=schema, orient="row"))
        result.close()
        return pl.concat(frames)


def resolved(statement: Any, table: Table, conflict: Conflict) -> Any:
    """An insert of SQLite's or PostgreSQL's that says what becomes of rows that are there."""
    if conflict == "skip":
        return statement.on_conflict_do_nothing()
    if conflict == "add":
        sums = {name: table.c[name] + statement.excluded[name] for name in ("mass", "support")}
        return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums)
    return statement


def _unused(column: str, key: Column[Any]) -> ColumnElement[bool]:
    one = tables.entries.c
    used = exists().where(one.model == key.table.c.model, one[column] == key)
    return ~used.correlate(key.table)
