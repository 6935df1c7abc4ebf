"""A model as one SQL query, asked of a PostgreSQL server that never saw stc."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import psycopg
import pytest
from psycopg import sql

from export_cases import CASES, check, typed_columns

KINDS: dict[Any, str] = {
    pl.Int64: "bigint",
    pl.UInt32: "bigint",
    pl.Float64: "double precision",
    pl.Float32: "real",
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.String: "text",
    pl.Decimal: "numeric(9, 2)",
    pl.Null: "text",
}


class PostgreSQL:
    dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)

    def load(self, name: str, frame: pl.DataFrame) -> None:
        table = sql.Identifier(name)
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(own), sql.SQL(KINDS[kind.base_type()]))
            for own, kind in frame.schema.items()
        ]
        self.connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        every = sql.SQL(", ").join(columns)
        self.connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, every))
        with self.connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(table)) as copy:
            for row in frame.iter_rows():
                copy.write_row(row)

    def ask(self, query: str) -> pl.DataFrame:
        found = self.connection.execute(query.encode())
        names = [own.name for own in found.description or ()]
        return pl.DataFrame(found.fetchall(), schema=names, orient="row", infer_schema_length=None)


@pytest.fixture(scope="module")
def database(postgresql_url: str) -> Iterator[PostgreSQL]:
    own = PostgreSQL(postgresql_url)
    yield own
    own.connection.close()


@pytest.mark.parametrize("case", CASES)
def test_query_says_what_predict_proba_does(database: PostgreSQL, case: str) -> None:
    for model, X in CASES[case]():
        check(database, model, X)


def test_types_of_columns(database: PostgreSQL) -> None:
    for model, X in typed_columns():
        check(database, model, X)
