"""Values of each type, and where they can be: one feature and one class wherever they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import duckdb
import polars as pl
import sqlalchemy

import stc
from stc import SparseTensorClassifier
from stc._input.values import canonical
from support.models import paper_model

ROME = ZoneInfo("Europe/Rome")
FILES = ("parquet", "arrow", "csv", "jsonl")
TYPED = ("parquet", "arrow")


@dataclass(frozen=True)
class Values:
    """Different values of one type.

    Attributes
    ----------
    values
        The values in Python.
    duckdb, postgresql, sqlite
        The type that holds them there; None if there is none.
    files
        The formats that hold them.
    labels
        Whether they can be labels: numbers with fractions cannot.
    """

    values: Sequence[Any]
    duckdb: str | None
    postgresql: str | None = None
    sqlite: str | None = None
    files: tuple[str, ...] = TYPED
    labels: bool = True


BIG = [2**60, 2**60 + 1, -(2**60), 3]
TABLE: dict[str, Values] = {
    "booleans": Values([True, False], "boolean", "boolean", "boolean", FILES),
    "integers": Values(BIG, "bigint", "bigint", "bigint", FILES),
    "small integers": Values([1, -2, 0], "tinyint", "smallint", "smallint", FILES),
    "unsigned integers": Values([2**63 + 1, 2**63 + 2, 7], "ubigint", "numeric(20)", None, FILES),
    "128 bits": Values([2**100, 2**100 + 1, 7], "hugeint", "numeric", None, ("csv",)),
    "beyond 128 bits": Values([10**60, 10**60 + 1, 7], "bignum", "numeric", None, ("csv",)),
    "ids as numerics": Values(BIG, "decimal(20)", "numeric(20)", "numeric(20)", FILES),
    "ids as bare numerics": Values(BIG, "hugeint", "numeric", "numeric", ()),
    "large ids as numerics": Values(
        [Decimal(2**63 + 1), Decimal(2**63 + 2)], "decimal(20)", "numeric(20)"
    ),
    "decimals": Values(
        [Decimal("1.50"), Decimal("2.00"), Decimal("0.01"), Decimal("-7.10")],
        "decimal(9,2)", "numeric(9,2)", "numeric(9,2)", ("parquet", "arrow", "csv"), labels=False,
    ),
    "long decimals": Values(
        [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")],
        "decimal(30,20)", "numeric(30,20)",
    ),
    "floats": Values(
        [0.1, 1e-5, 1e22, 2.0, 1 / 3, -1.5e-300], "double", "double precision", "double", FILES,
        labels=False,
    ),
    "single precision": Values([0.1, 0.5, 3.0], "float", "real", "real", FILES, labels=False),
    "texts": Values(["1.0", "u", "Straße", "a,b\"c'", " u"], "varchar", "text", "text", FILES),
    "dates": Values([date(2024, 1, 2), date(1850, 12, 31)], "date", "date", "date", FILES),
    "moments": Values(
        [datetime(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2, 3, 4, 5, 600)],
        "timestamp", "timestamp", "timestamp",
    ),
    "moments with a zone": Values(
        [
            datetime(2024, 1, 2, tzinfo=UTC),
            datetime(2024, 1, 2, tzinfo=ROME),
            datetime(2024, 7, 2, 3, 4, 5, 600, tzinfo=ROME),
        ],
        "timestamptz", "timestamptz",
    ),
    "times": Values([time(1, 2, 3), time(1, 2, 3, 4)], "time", "time", "time"),
    "intervals": Values(
        [timedelta(days=1, seconds=3), timedelta(hours=2), timedelta(microseconds=-1)],
        "interval", "interval",
    ),
    "UUIDs": Values([UUID(int=5), UUID(int=2**127 + 1)], "uuid", "uuid", "uuid", ()),
    "bytes": Values([b"ab", b"c"], "blob", "bytea", "blob"),
    "categories": Values(["u", "v"], "enum('v', 'u')", "varchar(1)", "varchar(1)", FILES),
}  # fmt: skip


# --- places ---------------------------------------------------------------------------------------


def in_file(values: Sequence[Any], folder: Path, ending: str) -> Path:
    """The values in column x of a file, and the number of each in column k."""
    path = folder / f"values.{ending}"
    if any(isinstance(value, int) and abs(value) >= 2**64 for value in values):  # not in polars
        lines = [f"{value},{k}" for value, k in zip(values, numbers(values), strict=True)]
        path.write_text("\n".join(["x,k", *lines]))
        return path
    cells = [v.astimezone(UTC) if isinstance(v, datetime) and v.tzinfo else v for v in values]
    frame = pl.DataFrame({"x": pl.Series(cells, strict=False), "k": numbers(values)})
    write = {
        "parquet": frame.write_parquet,
        "arrow": frame.write_ipc,
        "csv": frame.write_csv,
        "jsonl": frame.write_ndjson,
    }
    write[ending](path)
    return path


def in_duckdb(values: Sequence[Any], kind: str) -> Any:
    """The same in a table of DuckDB."""
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE items (x {kind}, k varchar)")
    rows = list(zip(values, numbers(values), strict=True))
    as_text = kind in ("bignum", "hugeint")
    for value, k in rows:
        connection.execute("INSERT INTO items VALUES (?, ?)", [str(value) if as_text else value, k])
    return connection.table("items")


def in_sqlite(values: Sequence[Any], kind: str, folder: Path) -> Any:
    """The same in a table of SQLite."""
    path = folder / "values.db"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE items (x {kind}, k text)")
        for value, k in zip(values, numbers(values), strict=True):
            plain = value if isinstance(value, int | float | bytes) else str(value)
            connection.execute("INSERT INTO items VALUES (?, ?)", (plain, k))
    connection.close()
    return stc.source(sqlalchemy.create_engine(f"sqlite:///{path}"), "items")


def numbers(values: Sequence[Any]) -> list[str]:
    """A class of its own for each value."""
    return [f"k{k}" for k in range(len(values))]


# --- the comparison -------------------------------------------------------------------------------


def check_source(case: Values, put: Callable[[], Any]) -> None:
    """A source has the features, the classes and the answers of the values in memory."""
    values, ks = list(case.values), numbers(case.values)
    assert len(set(map(canonical, values))) == len(values)
    memory = paper_model().fit([{"x": value} for value in values], ks)
    fitted = paper_model().fit(put(), "k")
    assert pairs(fitted) == pairs(memory)
    assert answers(memory, put()) == ks
    assert fitted.predict([{"x": value} for value in values]).tolist() == ks
    if not case.labels:
        return
    reverse = paper_model().fit(put(), "x")
    labels = reverse.predict([{"k": k} for k in ks])
    assert list(map(canonical, labels)) == list(map(canonical, values))


def pairs(model: SparseTensorClassifier) -> list[tuple[Any, ...]]:
    """The values that each class has been learnt with, as text."""
    rows = model.corpus_.drop("attribute").rows()
    return sorted((str(value), str(canonical(label)), *counts) for value, label, *counts in rows)


def answers(model: SparseTensorClassifier, source: Any) -> list[str]:
    """The predictions for a source, in the order of k."""
    found = model.predict(source)
    if hasattr(found, "pl"):
        found = found.pl()
    if isinstance(found, pl.DataFrame):
        found = found.sort("k")["prediction"]
    return list(found)
