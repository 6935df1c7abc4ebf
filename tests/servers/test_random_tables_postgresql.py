"""What PostgreSQL answers for any table is what predict_proba does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from hypothesis import HealthCheck, given

from stc import SparseTensorClassifier
from support.databases import PostgreSQL
from support.examples import many
from support.export_cases import check
from support.models import paper_model
from support.sql_tables import fitted_tables


@pytest.fixture(scope="module")
def database(postgresql_server: Any) -> Iterator[PostgreSQL]:
    own = PostgreSQL(postgresql_server.new_schema())
    yield own
    own.connection.close()


@many(most=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(case=fitted_tables(typed=True))
def test_any_table(database: PostgreSQL, case: tuple[SparseTensorClassifier, pl.DataFrame]) -> None:
    check(database, *case)


MOMENTS = [datetime(2024, 1, 2), datetime(2024, 1, 2, 3), datetime(2024, 1, 2, 3, 0, 0, 50)]
COLUMNS = {
    "moments at midnight": pl.Series(MOMENTS),
    "zoned moments": pl.Series(MOMENTS).dt.replace_time_zone("Europe/Rome"),
    "floats": pl.Series([1e-5, np.inf, -np.inf, 1e22, 0.1 + 0.2, 0.3, 1e15, 2.0, 1e-4, -0.0]),
    "singles": pl.Series([1e-4, 0.1, 2.0**24 + 2, 1e15], dtype=pl.Float32),
    "small decimals": pl.Series([Decimal("0.00001"), Decimal("0.00010"), Decimal("-0.00001")]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_values(database: PostgreSQL, name: str, zone: str) -> None:
    X = pl.DataFrame({"a": COLUMNS[name]})
    model = paper_model().fit(X, [f"k{k}" for k in range(X.height)])
    database.connection.execute(f"SET TIME ZONE '{zone}'".encode())
    check(database, model, X)


@pytest.mark.parametrize("form", ["long", "wide"])
def test_an_item_with_several_rows_is_an_error(database: PostgreSQL, form: Any) -> None:
    model = paper_model().fit(pl.DataFrame({"a": ["u", "v"]}), ["x", "y"])
    database.load("items", pl.DataFrame({"id": [7, 8, 7], "a": ["u", "v", "v"]}))
    with pytest.raises(psycopg.Error, match="the item 7 has several rows"):
        database.ask(model.to_sql("postgres", form=form, data="items", item="id"))
