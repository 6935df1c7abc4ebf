"""A value is the same feature and the same class in PostgreSQL as in memory."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

import stc
from support.source_values import TABLE, Values, check_source, numbers


@pytest.fixture
def url(postgresql_server: Any) -> str:
    address: str = postgresql_server.new_schema()
    return address


def put(case: Values, url: str) -> Any:
    """The values in column x of a new table, and the number of each in column k."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS items")
        connection.execute(f"CREATE TABLE items (x {case.postgresql}, k text)".encode())
        for row in zip(case.values, numbers(case.values), strict=True):
            connection.execute("INSERT INTO items VALUES (%s, %s)", row)
    return stc.source(url, "items")


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.postgresql])
def test_postgresql(name: str, url: str) -> None:
    check_source(TABLE[name], lambda: put(TABLE[name], url))
