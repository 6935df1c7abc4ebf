"""A model as SQL: `python benchmarks/sql.py [--only NAME ...] [--repeats N] [--json OUT]`.

The query of `to_sql`, in its wide form against its long one, into a new table of the database:
100,000 items x 16 columns (10 values each, 10 classes) out of a table of items, and the test
documents of Reuters R8 and 20 Newsgroups out of a table of features. Both forms are compared with
predict_proba, to 1e-9, first. PostgreSQL is a server on this machine with default settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import polars as pl
from data import load_task
from harness import Figure, Result

from stc import STC_Q, SparseTensorClassifier

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

PACKAGES = ["sparse-tensor-classifier", "numpy", "polars", "sqlglot", "duckdb", "psycopg"]
ITEMS, COLUMNS, VALUES, CLASSES = 100_000, 16, 10, 10
DATABASES = ("duckdb", "sqlite", "postgresql")
MB = 1e6


@dataclass(frozen=True)
class Work:
    """A model, items to predict, and the table that holds them."""

    title: str
    model: SparseTensorClassifier
    items: Any
    table: str
    rows: pl.DataFrame
    source: dict[str, str]


def a_table() -> Work:
    """Return the work of a plain table."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, VALUES, (ITEMS, COLUMNS))
    frame = pl.DataFrame(values, schema=[f"c{k}" for k in range(COLUMNS)], orient="row")
    y = (values[:, :3].sum(axis=1) + rng.integers(0, 3, ITEMS)) % CLASSES
    model = SparseTensorClassifier(**STC_Q).fit(frame[:50_000], y[:50_000])
    rows, source = frame.with_row_index("id"), {"data": "items", "item": "id"}
    return Work(f"{ITEMS:,} x {COLUMNS}", model, frame, "items", rows, source)


def texts(name: str) -> Work:
    """Return the work of documents, with the published split."""
    from support.export_cases import features_of

    task = load_task(name)
    ((train, test),) = task.folds
    model = SparseTensorClassifier(**STC_Q).fit(task.X[train], task.y[train])
    items = task.X[test]
    return Work(name, model, items, "features", features_of(model, items), {})


WORKS = {"table": a_table, "r8": partial(texts, "r8"), "news": partial(texts, "news")}


@contextmanager
def database_of(name: str) -> Iterator[Any]:
    """Yield an empty database."""
    from support.databases import DuckDB, PostgreSQL, SQLite

    if name != "postgresql":
        database = DuckDB() if name == "duckdb" else SQLite()
        yield database
        database.close()
        return
    from support.postgresql import running_server

    with running_server() as server:
        yield PostgreSQL(server.url())


def answered(database: Any, query: str) -> None:
    """Store the answers in a table of the database."""
    database.connection.execute("DROP TABLE IF EXISTS answers")
    statement = f"CREATE TABLE answers AS {query}"
    asked = statement.encode() if database.dialect == "postgres" else statement
    database.connection.execute(asked)


def measured(name: str, repeats: int) -> list[Any]:
    """Measure one work on every database."""
    from support.export_cases import check_long, check_wide, expected

    work = WORKS[name]()
    truth = expected(work.model, work.items)
    found: list[Any] = []
    for engine in DATABASES:
        with database_of(engine) as database:
            database.load(work.table, work.rows)
            queries = {}
            for form, check in (("long", check_long), ("wide", check_wide)):
                written = harness.Runs(keep=True)
                written.run(partial(work.model.to_sql, database.dialect, form=form, **work.source))
                queries[form] = query = written.value
                check(database.ask(query), truth)
                title = f"{work.title}, {engine}, {form}"
                found.append(
                    Figure("sql", title, "written", written.seconds[0], written.seconds, unit="s")
                )
                size = len(query.encode()) / MB
                found.append(Figure("sql", title, "size", size, [size], unit="MB"))
            long, wide = (partial(answered, database, queries[form]) for form in ("long", "wide"))
            title = f"{work.title}, {engine}"
            ((peer, ours),) = harness.alternate(title, long, wide, repeats=repeats)
            found.append(Result("sql", f"{title}, wide", "long", ours.seconds, peer.seconds))
    return found


def main() -> int:
    """Measure the chosen works, print the tables, write the JSON."""
    return harness.measure(__doc__, {name: partial(measured, name) for name in WORKS}, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
