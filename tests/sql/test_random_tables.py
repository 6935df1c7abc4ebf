"""What a database answers for any table is what predict_proba does."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given

from stc import SparseTensorClassifier
from support.databases import DuckDB, SQLite
from support.examples import many
from support.export_cases import Database, check
from support.models import paper_model
from support.sql_tables import fitted_tables

DUCKDB, SQLITE = DuckDB(), SQLite()


@pytest.fixture(scope="module", autouse=True)
def _closed() -> Iterator[None]:
    yield
    DUCKDB.close()
    SQLITE.close()


@many(most=300)
@given(fitted_tables(typed=True))
def test_duckdb(case: tuple[SparseTensorClassifier, pl.DataFrame]) -> None:
    check(DUCKDB, *case)


@many(most=300)
@given(fitted_tables(typed=False))
def test_sqlite(case: tuple[SparseTensorClassifier, pl.DataFrame]) -> None:
    check(SQLITE, *case)


def learnt(values: list[Any], dtype: Any = None) -> tuple[SparseTensorClassifier, pl.DataFrame]:
    X = pl.DataFrame({"a": pl.Series(values, dtype=dtype)})
    return paper_model().fit(X, [f"k{k}" for k in range(len(values))]), X


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Rome"])
def test_moments_at_midnight(zone: str | None) -> None:
    moments = [datetime(2024, 1, 2), datetime(2024, 1, 2, 3), datetime(2024, 1, 2, 3, 0, 0, 50)]
    check(DUCKDB, *learnt(moments, pl.Datetime("us", zone)))


def test_moments_in_a_session_of_another_zone() -> None:
    database = DuckDB()
    database.connection.execute("SET TimeZone = 'Asia/Kolkata'")
    check(
        database, *learnt([datetime(2024, 1, 2), datetime(2024, 1, 2, 3)], pl.Datetime("us", "UTC"))
    )


@pytest.mark.parametrize("database", [DUCKDB, SQLITE], ids=["duckdb", "sqlite"])
def test_floats_that_databases_write_in_other_ways(database: Database) -> None:
    inf = float("inf")
    check(database, *learnt([1e-5, inf, -inf, 1e22, 0.1 + 0.2, 0.3, 1e15, 2.0, 1e-4, -0.0]))


def test_small_decimals() -> None:
    decimals = [Decimal("0.00001"), Decimal("0.00010"), Decimal("-0.00001"), Decimal("0.00000")]
    check(DUCKDB, *learnt(decimals, pl.Decimal(9, 5)))


def test_a_number_is_not_a_text_and_a_text_no_number() -> None:
    model, _ = learnt(["1e-05", "2", "1e+22"])
    for texts in (["1e-05", "0.00001", "2.0", "2", "1e22"], ["10000000000000000000000", "1E-05"]):
        check(DUCKDB, model, pl.DataFrame({"a": texts}))
        check(SQLITE, model, pl.DataFrame({"a": texts}))
    check(DUCKDB, model, pl.DataFrame({"a": [1e-5, 2.0, 1e22]}))
    check(SQLITE, model, pl.DataFrame({"a": [1e-5, 2.0, 1e22]}))


@pytest.mark.parametrize("form", ["long", "wide"])
@pytest.mark.parametrize("database", [DUCKDB, SQLITE], ids=["duckdb", "sqlite"])
def test_an_item_with_several_rows_is_an_error(database: Database, form: Any) -> None:
    model, _ = learnt(["u", "v"])
    X = pl.DataFrame({"id": [7, 8, 7, None, None], "a": ["u", "v", "v", "u", "v"]})
    database.load("items", X)
    query = model.to_sql(database.dialect, form=form, data="items", item="id")
    with pytest.raises((duckdb.Error, sqlite3.Error), match="the item 7 has several rows"):
        database.ask(query)
    database.load("items", X[:2])
    assert database.ask(query).height == (2 if form == "wide" else 4)


def test_single_precision_is_the_number_that_it_prints_as() -> None:
    numbers = np.array([1e-4, 0.1, 2.0**24 + 2, 1e15], dtype=np.float32)
    single = pl.DataFrame({"a": numbers})
    model, X = learnt([0.0001, 0.1, float(numbers[2]), float(numbers[3])])
    assert (model.predict(single) == model.predict(X)).all()
    check(DUCKDB, model, single)
