"""Stores to damage: of every kind of model, in every database, restored anew for each trial."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import duckdb
import numpy as np
import polars as pl
import psycopg
from scipy import sparse

import stc
from stc.stores.integrity import checksum
from stc.stores.keys import text_key
from support import conformance
from support.models import paper_model

NAME, OTHER_NAME = "zoo", "other"
KEYS = {
    "stc_features": ("key",),
    "stc_classes": ("number",),
    "stc_entries": ("feature", "set", "class"),
    "stc_batches": ("key",),
}
COLUMNS = {
    "stc_models": (
        "id",
        "name_key",
        "name",
        "version",
        "header_key",
        "header",
        "checksum",
        "batches",
    ),
    "stc_features": ("model", "key", "feature"),
    "stc_classes": ("model", "number", "class"),
    "stc_entries": ("model", "feature", "set", "class", "mass", "support", "gain", "phase"),
    "stc_batches": ("model", "key", "batch", "written_at"),
}


# --- kinds of models ------------------------------------------------------------------------------


def _counts() -> stc.SparseTensorClassifier:
    counts = sparse.random(30, 12, 0.4, format="csr", random_state=1)
    return paper_model().fit(counts, np.arange(30) % 3)


def _indicator() -> stc.SparseTensorClassifier:
    labels = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]] * 4)
    return paper_model().fit([["a"], ["b"], ["c"]] * 4, labels)


def _declared() -> stc.SparseTensorClassifier:
    model = paper_model(missing="category")
    return model.partial_fit([["a", None], [None, "b"]], [1, 2], classes=[1, 2, 3])


def _with_batches() -> stc.SparseTensorClassifier:
    model, X, y = paper_model(), [["a", "u"], ["b", "v"], ["a", "v"]], [*"xyx"]
    for number in range(6):
        model.partial_fit(X, y, batch_id=f"batch {number}")
    return model.unlearn(X, y, batch_id="batch 0")


OWN_KINDS: dict[str, Callable[[], stc.SparseTensorClassifier]] = {
    "counts": _counts,
    "an indicator": _indicator,
    "declared classes": _declared,
    "batches": _with_batches,
    "unfitted": lambda: paper_model(power=0.4, ngrams=2),
}
# Of the settings of tests/support/conformance.py, those that are stored in different ways.
SETTINGS = (
    "plain", "weights", "chosen settings", "missing is a category", "several dimensions",
    "groups of attributes", "a learnt policy", "learnt phases", "given phases", "interactions",
    "an order", "numbers", "several targets", "text", "several values", "several labels",
    "learnt thresholds",
)  # fmt: skip
KINDS = (*SETTINGS, *OWN_KINDS, "unlearnt")


@cache
def model_of(kind: str) -> stc.SparseTensorClassifier:
    """A model in memory."""
    if kind in OWN_KINDS:
        return OWN_KINDS[kind]()
    setting = conformance.SETTINGS[kind]
    frame = setting.data()
    return setting.model().fit(*setting.given(frame), setting.weights(frame))


def write_store(url: str, kind: str) -> None:
    """Write a store with a model of a kind, and another one beside it."""
    with stc.open_store(url) as store:
        store.create(OTHER_NAME, paper_model().fit([["a"], ["b"]], ["x", "y"]))
        if kind == "unlearnt":
            model = store.create(NAME, paper_model())
            model.partial_fit([["a"]], ["x"], batch_id="1").unlearn([["a"]], ["x"], batch_id="1")
        else:
            store.create(NAME, model_of(kind))
    with stc.open_store(url) as store:
        assert store[NAME].name == NAME  # an undamaged store opens


# --- stores to damage -----------------------------------------------------------------------------


class InapplicableError(Exception):
    """A damage that a store cannot have."""


REFUSED = (InapplicableError, sqlite3.Error, duckdb.Error, psycopg.Error)


@dataclass
class Trial:
    """A store to damage, through a connection of its driver."""

    url: str
    dialect: str
    kind: str
    rng: random.Random
    connection: Any
    path: Path | None = None

    def run(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement with parameters `?` and return its rows."""
        if self.dialect == "postgresql":
            statement = statement.replace("%", "%%").replace("?", "%s")
            cursor = self.connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []
        return list(self.connection.execute(statement, values).fetchall())

    @property
    def model(self) -> int:
        """The number of the model."""
        return int(self.run("SELECT id FROM stc_models WHERE name = ?", NAME)[0][0])

    def header(self) -> dict[str, Any]:
        return dict(json.loads(self.get("stc_models", "header")))

    def set_header(self, header: Any, *, sealed: bool = True) -> None:
        """Change the header and, sealed, its key as well."""
        text = header if isinstance(header, str) else json.dumps(header, ensure_ascii=False)
        self.update("stc_models", "header", text)
        if sealed:
            self.update("stc_models", "header_key", text_key(text))

    def keys(self, table: str) -> list[tuple[Any, ...]]:
        """The keys of the rows of the model in a table, in order."""
        names = ", ".join(f'"{name}"' for name in KEYS[table])
        query = f"SELECT {names} FROM {table} WHERE model = ? ORDER BY {names}"
        return [tuple(row) for row in self.run(query, self.model)]

    def some(self, table: str) -> list[tuple[Any, ...]]:
        """The keys of one, some or all rows of the model in a table."""
        if table == "stc_models":
            return [()]
        keys = self.keys(table)
        self.need(keys)
        size = self.rng.choice([1, self.rng.randint(1, len(keys)), len(keys)])
        return self.rng.sample(keys, size)

    def one(self, table: str) -> tuple[Any, ...]:
        """The key of a row of the model in a table."""
        keys = self.keys(table)
        self.need(keys)
        return self.rng.choice(keys)

    def where(self, table: str) -> str:
        """The condition that a row of a table is the one with a key."""
        if table == "stc_models":
            return " WHERE name = ?"
        return " WHERE model = ? AND " + " AND ".join(f'"{name}" = ?' for name in KEYS[table])

    def values(self, table: str, key: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """The parameters of `where`."""
        return (NAME,) if table == "stc_models" else (self.model, *key)

    def update(self, table: str, column: str, value: Any, key: tuple[Any, ...] = ()) -> None:
        """Change a value of a row."""
        change = f'UPDATE {table} SET "{column}" = ?' + self.where(table)
        self.run(change, value, *self.values(table, key))

    def get(self, table: str, column: str, key: tuple[Any, ...] = ()) -> Any:
        """A value of a row."""
        query = f'SELECT "{column}" FROM {table}' + self.where(table)
        return self.run(query, *self.values(table, key))[0][0]

    def loosen(self, table: str) -> None:
        """Replace a table by one with the same rows but without keys and constraints.

        In SQLite its columns have no types either: they hold values of any type as they are.
        """
        columns = ", ".join(f'"{name}"' for name in COLUMNS[table])
        if self.dialect == "sqlite":
            self.run(f"CREATE TABLE loose ({columns})")
            self.run(f"INSERT INTO loose SELECT {columns} FROM {table}")
        else:
            self.run(f"CREATE TABLE loose AS SELECT {columns} FROM {table}")
        self.run(f"DROP TABLE {table}")
        self.run(f"ALTER TABLE loose RENAME TO {table}")

    def seal(self) -> None:
        """Make the checksum that of the entries there are."""
        query = 'SELECT "number", "class" FROM stc_classes WHERE model = ?'
        classes = dict(self.run(query, self.model))
        query = 'SELECT "feature", "set", "class", "support" FROM stc_entries WHERE model = ?'
        rows = [(f, s, classes[c], n) for f, s, c, n in self.run(query, self.model)]
        schema = {"feature": pl.Binary, "set": pl.Int32, "class": pl.String, "support": pl.Int64}
        found = checksum(pl.DataFrame(rows, schema=schema, orient="row"))
        self.update("stc_models", "checksum", found)

    def choose(self, *values: Any) -> Any:
        """One of several values."""
        return self.rng.choice(values)

    def need(self, condition: object) -> None:
        """Leave this store alone unless a condition holds."""
        if not condition:
            raise InapplicableError


class Place(Protocol):
    """Where stores are restored to be damaged."""

    dialect: str

    def trial(self, kind: str, rng: random.Random) -> Any:
        """A context that restores a store and closes the connection to it at the end."""

    def clear(self) -> None:
        """Remove the store that was restored last."""


class Files:
    """SQLite or DuckDB files, copied from one file for each kind of model."""

    def __init__(self, folder: Path, dialect: str) -> None:
        self.folder, self.dialect = folder, dialect
        self.path = folder / "none"

    def _template(self, kind: str) -> Path:
        path = self.folder / f"{kind}.{self.dialect}"
        if not path.exists():
            write_store(f"{self.dialect}:///{path}", kind)
        return path

    @contextmanager
    def trial(self, kind: str, rng: random.Random) -> Iterator[Trial]:
        template = self._template(kind)
        self.path = self.folder / f"damaged-{uuid4().hex}.{self.dialect}"
        shutil.copyfile(template, self.path)
        connection: Any
        if self.dialect == "sqlite":
            connection = sqlite3.connect(self.path, isolation_level=None)
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
        else:
            connection = duckdb.connect(self.path)
        url = f"{self.dialect}:///{self.path}"
        with closing(connection):
            trial = Trial(url, self.dialect, kind, rng, connection, self.path)
            yield trial
            if self.dialect == "sqlite" and trial.path is not None:
                connection.execute("COMMIT")

    def clear(self) -> None:
        for path in self.folder.glob(f"{self.path.name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


class Schemas:
    """Schemas of a PostgreSQL database, copied from one schema for each kind of model."""

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        self.url = url
        self.templates: dict[str, str] = {}
        self.schema = ""

    def _address(self, schema: str) -> str:
        return f"{self.url}?options=-csearch_path%3D{schema}"

    def _template(self, kind: str) -> str:
        if kind not in self.templates:
            schema = f"template_{uuid4().hex}"
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA {schema}")
            write_store(self._address(schema), kind)
            self.templates[kind] = schema
        return self.templates[kind]

    @contextmanager
    def trial(self, kind: str, rng: random.Random) -> Iterator[Trial]:
        template = self._template(kind)
        self.schema = f"damaged_{uuid4().hex}"
        url = self._address(self.schema)
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE SCHEMA {self.schema}")
            for table in COLUMNS:
                source = f"{template}.{table}"
                connection.execute(f"CREATE TABLE {table} (LIKE {source} INCLUDING ALL)")
                connection.execute(f"INSERT INTO {table} SELECT * FROM {source}")
            yield Trial(url, "postgresql", kind, rng, connection)

    def clear(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")


# --- damages --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Damage:
    """A way to damage a store.

    Attributes
    ----------
    apply
        Damages a store, and tells how.
    words
        What the refusal has to name.
    gone
        Whether there may be no model of the name any more.
    dialects
        The databases that can have it.
    """

    apply: Callable[[Trial], Any]
    words: str
    gone: bool
    dialects: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.apply.__name__.replace("_", " ")


DAMAGES: list[Damage] = []
EVERYWHERE = ("sqlite", "duckdb", "postgresql")


def damage(
    words: str, *dialects: str, gone: bool = False
) -> Callable[[Callable[[Trial], Any]], Callable[[Trial], Any]]:
    """Enter a function among the damages."""

    def enter(apply: Callable[[Trial], Any]) -> Callable[[Trial], Any]:
        DAMAGES.append(Damage(apply, words, gone, dialects or EVERYWHERE))
        return apply

    return enter
