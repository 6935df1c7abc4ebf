"""Models in a DuckDB file: one process at a time, and the quickest of the stores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import duckdb
import polars as pl

from stc.exceptions import StoreError
from stc.stores.address import MEMORY, file_of, identity_of, options_of
from stc.stores.kept import PATIENCE, Guarded, KeptStore
from stc.stores.transaction import Row

# Without keys and indexes: writers wait for each other here, and merging is quicker without.
_TABLES = (
    "CREATE TABLE IF NOT EXISTS stc_models"
    " (id INTEGER, name_key BLOB, name VARCHAR, version BIGINT, header VARCHAR)",
    "CREATE TABLE IF NOT EXISTS stc_features (model INTEGER, key BLOB, feature VARCHAR)",
    "CREATE TABLE IF NOT EXISTS stc_classes (model INTEGER, number INTEGER, class VARCHAR)",
    "CREATE TABLE IF NOT EXISTS stc_entries (model INTEGER, feature BLOB, set INTEGER,"
    " class INTEGER, mass DOUBLE, support BIGINT, phase DOUBLE)",
    "CREATE TABLE IF NOT EXISTS stc_batches"
    " (model INTEGER, key BLOB, batch VARCHAR, written_at VARCHAR)",
)
_ADD = """
    MERGE INTO stc_entries AS old USING given AS new
    ON old.model = $model AND old.feature = new.feature
        AND old.set = new.set AND old.class = new.class
    WHEN MATCHED AND old.support + new.support <= 0 THEN DELETE
    WHEN MATCHED THEN
        UPDATE SET mass = old.mass + new.mass, support = old.support + new.support
    WHEN NOT MATCHED AND new.support > 0 THEN
        INSERT (model, feature, set, class, mass, support, phase)
        VALUES ($model, new.feature, new.set, new.class, new.mass, new.support, new.phase)
"""
_ADD_FEATURES = """
    INSERT INTO stc_features SELECT $model, key, feature FROM given
    WHERE key NOT IN (SELECT key FROM stc_features WHERE model = $model) ORDER BY key
"""
_DROP_FEATURES = """
    DELETE FROM stc_features WHERE model = $model AND key IN (SELECT feature FROM given)
    AND key NOT IN (SELECT feature FROM stc_entries WHERE model = $model)
"""
_DROP_CLASSES = """
    DELETE FROM stc_classes WHERE model = $model AND number IN (SELECT class FROM given)
    AND number NOT IN (SELECT class FROM stc_entries WHERE model = $model)
"""
_ENTRIES = """
    SELECT e.set, f.feature, c.class, e.mass, e.support, e.phase FROM stc_entries AS e
    JOIN stc_features AS f ON f.model = e.model AND f.key = e.feature
    JOIN stc_classes AS c ON c.model = e.model AND c.number = e.class
    WHERE e.model = $model
"""
_HAS_TABLES = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'stc_models'"
# Files that this process has open, or had when it was forked from the one that is noted.
_holders: dict[str, int] = {}
_SIGNS = {
    "Conflicting lock": "is open in another process, and DuckDB gives a file to one process only:"
    " close it there, or use SQLite or PostgreSQL",
    "Could not set lock": "is open in another process, and DuckDB gives a file to one process"
    " only: close it there, or use SQLite or PostgreSQL",
    "read-only": "is read-only",
    "Read-only": "is read-only",
    "Permission denied": "may not be opened by you",
    "Operation not permitted": "may not be opened by you",
    "No space left": "is on a disk that is full",
    "not a valid DuckDB": "is not a DuckDB database",
    "No such file or directory": "cannot be opened: is its folder there?",
    "File too large": "is larger than files may be",
}


class DuckdbStore(KeptStore):
    """A DuckDB file."""

    def __init__(self, url: str, closed: Callable[[], object] = lambda: None) -> None:
        super().__init__(url, closed)
        self._file = file_of(url)
        self._options = options_of(url)
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._identity: tuple[int, int] | None = None
        self._opening, self._writing = Lock(), Lock()

    def there(self) -> bool:
        """Whether there is anything to read; a file that is not there is not made by reading."""
        return self._file == MEMORY or os.path.exists(self._file)

    @contextmanager
    def reading(self) -> Iterator[DuckdbSession]:
        """A transaction that sees one consistent state and changes nothing."""
        session = self._begin()
        try:
            yield session
        finally:
            session.close()

    @contextmanager
    def writing(self, key: bytes) -> Iterator[DuckdbSession]:
        """A transaction that no other writer overlaps."""
        if not self._writing.acquire(timeout=PATIENCE):
            raise self.trouble(f"was being written to by another thread for {PATIENCE:.0f} s")
        try:
            with self.reading() as session:
                yield session
                session.commit()
        finally:
            self._writing.release()

    def release(self) -> None:
        """Close the file."""
        with self._opening:
            self._close()

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Say in words what DuckDB says."""
        try:
            yield
        except duckdb.Error as error:
            raise self._explain(error) from None

    def _begin(self) -> DuckdbSession:
        with self._opening, self.guarded():
            self._check_process()
            if self._connection is not None and self._identity != identity_of(self._file):
                # What is written to a file that was removed meanwhile would be lost.
                self._close()
            if self._connection is None:
                self._connection = self._open()
            return DuckdbSession(self, self._connection.cursor())

    def _open(self) -> duckdb.DuckDBPyConnection:
        fixed = os.path.exists(self._file) and not os.access(self._file, os.W_OK)
        options: dict[str, Any] = dict(self._options)
        if fixed:
            options["access_mode"] = "read_only"
        connection = duckdb.connect(self._file, config=options)
        self._identity = identity_of(self._file)
        _holders[self._file] = os.getpid()
        return connection

    def _close(self) -> None:
        if self._connection is not None and _holders.get(self._file) == os.getpid():
            self._connection.close()
            del _holders[self._file]
        self._connection = None

    def _check_process(self) -> None:
        # DuckDB would go on in the child as if the file were its own.
        if _holders.get(self._file, os.getpid()) != os.getpid():
            raise self.trouble(
                "was open when this process was forked, and DuckDB gives a file to one process"
                " only: close it before, or start processes with spawn"
            )

    def _explain(self, error: duckdb.Error) -> StoreError:
        words = str(error)
        if isinstance(error, duckdb.FatalException) or "been invalidated" in words:
            # DuckDB answers nothing more until the file is opened anew.
            self._connection = None
        if isinstance(error, duckdb.TransactionException):
            return self.conflict("was changed at the same time")
        for sign, cause in _SIGNS.items():
            if sign in words:
                return self.trouble(cause)
        return self.trouble(f"cannot do it: {words.splitlines()[0]}")


class DuckdbSession(Guarded):
    """One transaction: see `stc.stores.transaction.Session`."""

    def __init__(self, store: DuckdbStore, cursor: duckdb.DuckDBPyConnection) -> None:
        super().__init__(store)
        self._cursor = cursor
        self._cursor.begin()

    def execute(
        self, statement: str, given: pl.DataFrame | None = None, **values: Any
    ) -> list[Any]:
        """Execute a statement; a frame is the table `given`."""
        with self.guarded():
            if given is not None:
                self._cursor.register("given", given)
            return self._cursor.execute(statement, values).fetchall()

    def commit(self) -> None:
        """Commit, unless something failed that the work then kept to itself."""
        self.refuse_failed()
        with self.guarded():
            self._cursor.commit()

    def close(self) -> None:
        """Close; what is not committed is rolled back."""
        # That it fails must not hide why it came to this.
        with suppress(duckdb.Error):
            self._cursor.close()

    def find(self, key: bytes) -> Row | None:
        """The row of a model; None if there is none, or no tables at all."""
        if not self._has_tables():
            return None
        query = "SELECT id, version, header FROM stc_models WHERE name_key = $key"
        found = self.execute(query, key=key)
        return Row(*found[0]) if found else None

    def names(self) -> list[str]:
        """Names of all models."""
        return self._column("SELECT name FROM stc_models") if self._has_tables() else []

    def create(self, key: bytes, name: str, version: int) -> int:
        """Make a model, and the tables if need be, and give its number."""
        for table in _TABLES:
            self.execute(table)
        (model,) = self._column("SELECT coalesce(max(id), 0) + 1 FROM stc_models")
        self.execute(
            "INSERT INTO stc_models VALUES ($model, $key, $name, $version, NULL)",
            model=model, key=key, name=name, version=version,
        )  # fmt: skip
        return int(model)

    def update(self, model: int, version: int, header: str | None) -> None:
        """Change the row of a model."""
        self.execute(
            "UPDATE stc_models SET version = $version, header = $header WHERE id = $model",
            model=model, version=version, header=header,
        )  # fmt: skip

    def remove(self, model: int) -> None:
        """Remove the row of a model."""
        self.execute("DELETE FROM stc_models WHERE id = $model", model=model)

    def has(self, model: int, key: bytes) -> bool:
        """Whether a batch is in the ledger."""
        query = "SELECT 1 FROM stc_batches WHERE model = $model AND key = $key"
        return bool(self.execute(query, model=model, key=key))

    def note(self, model: int, key: bytes, batch: str, at: str) -> None:
        """Enter a batch into the ledger."""
        self.execute(
            "INSERT INTO stc_batches VALUES ($model, $key, $batch, $at)",
            model=model, key=key, batch=batch, at=at,
        )  # fmt: skip

    def batches(self, model: int) -> list[str]:
        """The ledger."""
        return self._column("SELECT batch FROM stc_batches WHERE model = $model", model=model)

    def forget(self, model: int) -> None:
        """Empty the ledger."""
        self.execute("DELETE FROM stc_batches WHERE model = $model", model=model)

    def classes(self, model: int) -> dict[str, int]:
        """The classes and their numbers."""
        query = "SELECT class, number FROM stc_classes WHERE model = $model"
        return dict(self.execute(query, model=model))

    def add_classes(self, model: int, numbers: dict[str, int]) -> None:
        """Enter new classes."""
        columns = {"number": list(numbers.values()), "class": list(numbers)}
        given = pl.DataFrame(columns, schema={"number": pl.Int32, "class": pl.String})
        insert = "INSERT INTO stc_classes SELECT $model, number, class FROM given"
        self.execute(insert, given, model=model)

    def add_features(self, model: int, features: pl.DataFrame) -> None:
        """Enter the features that are not there."""
        self.execute(_ADD_FEATURES, features, model=model)

    def insert(self, model: int, entries: pl.DataFrame) -> None:
        """Enter entries of a model that has none."""
        insert = "INSERT INTO stc_entries BY NAME SELECT $model AS model, * FROM given"
        self.execute(insert, entries, model=model)

    def add(self, model: int, entries: pl.DataFrame) -> None:
        """Add entries up; those without support go, with features and classes left without any."""
        self.execute(_ADD, entries, model=model)
        less = entries.filter(pl.col("support") <= 0)
        if less.height:
            self.execute(_DROP_FEATURES, less, model=model)
            self.execute(_DROP_CLASSES, less, model=model)

    def entries(self, model: int) -> pl.DataFrame:
        """All entries, in the columns of ENTRIES."""
        with self.guarded():
            rows: pl.DataFrame = self._cursor.sql(_ENTRIES, params={"model": model}).pl()
        return rows

    def wipe(self, model: int) -> None:
        """Remove entries, features and classes."""
        for table in ("stc_entries", "stc_features", "stc_classes"):
            self.execute(f"DELETE FROM {table} WHERE model = $model", model=model)

    def _has_tables(self) -> bool:
        return bool(self._column(_HAS_TABLES)[0])

    def _column(self, query: str, **values: Any) -> list[Any]:
        return [row[0] for row in self.execute(query, **values)]
