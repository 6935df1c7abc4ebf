"""A value is the same feature and the same class in PostgreSQL as in memory."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
import sqlalchemy

import stc
from stc.exceptions import DataTypeError
from support.models import paper_model
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


def test_types_without_counterpart_are_text(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("""
            CREATE TABLE items AS SELECT '10.0.0.1'::inet AS address, '[1,3)'::int4range AS range,
                '101'::bit(3) AS bits, '01:02:03+01'::timetz AS clock, '{"a": 1}'::jsonb AS json,
                interval '1 month 2 days' AS span, 1.5::money AS price, 'a' AS y
        """)
    model = paper_model().fit(stc.source(url, "items"), "y")
    assert dict(model.corpus_.select("attribute", "value").rows()) == {
        "address": "10.0.0.1/32",
        "range": "[1,3)",
        "bits": "101",
        "clock": "01:02:03+01",
        "json": '{"a": 1}',
        "span": "32 days, 0:00:00",
        "price": "$1.50",
    }


def test_types_of_a_query_that_arrow_has_not_are_named(url: str) -> None:
    x, y = sqlalchemy.literal_column("'10.0.0.1'::inet"), sqlalchemy.literal_column("'a'")
    query = sqlalchemy.select(x.label("x"), y.label("y"))
    with pytest.raises(DataTypeError, match=r"'x': the type inet of PostgreSQL.*cast it to text"):
        paper_model().fit(stc.source(url, query), "y")


def test_numbers_that_decimals_cannot_hold(url: str) -> None:
    values = ["NaN", "Infinity", "1" + "0" * 50, "1.50", None]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE items (x numeric, y text)")
        for value in values:
            connection.execute("INSERT INTO items VALUES (%s, 'a')", [value])
    model = paper_model(missing="category").fit(stc.source(url, "items"), "y")
    counts = dict(model.corpus_.select("value", "support").rows())
    assert counts == {None: 2, "inf": 1, "1" + "0" * 50: 1, "1.5": 1}


def test_columns_that_are_copied_keep_their_types_and_values(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("""
            CREATE TABLE items AS SELECT 'u' AS x, 1152921504606846977::numeric(20) AS id,
                1.50::numeric(9, 2) AS price, 1.25::numeric AS bare, '01:02:03.5'::time AS clock,
                '2024-01-02 00:00:00+01'::timestamptz AS moment, interval '25 hours' AS span,
                '00000000-0000-0000-0000-000000000005'::uuid AS key
        """)
    model = paper_model().fit([{"x": "u"}], ["a"])
    answer = model.predict(stc.source(url, "items"), to="answers")
    assert answer == "answers"
    with psycopg.connect(url) as connection:
        copied = connection.execute("SELECT * FROM answers").fetchall()
        original = connection.execute("SELECT * FROM items").fetchall()
    _, number, price, bare, clock, moment, span, key = original[0]
    assert copied == [(number, price, str(bare), clock, moment, span, str(key), "a")]
