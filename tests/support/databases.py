"""Databases that never saw stc: each is given a table and asked a query."""

import sqlite3
from typing import Any

import duckdb
import polars as pl

KINDS: dict[Any, str] = {
    pl.Int64: "bigint",
    pl.UInt32: "bigint",
    pl.Float64: "double precision",
    pl.Float32: "real",
    pl.Boolean: "boolean",
    pl.Date: "date",
    pl.String: "text",
    pl.Decimal: "numeric",
    pl.Time: "time",
    pl.Datetime: "timestamp",
    pl.Null: "text",
}


class DuckDB:
    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()

    def load(self, name: str, frame: pl.DataFrame) -> None:
        self.connection.register("frame", frame.to_arrow())
        self.connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM frame")

    def ask(self, sql: str) -> pl.DataFrame:
        return pl.DataFrame(self.connection.sql(sql).to_arrow_table())

    def close(self) -> None:
        self.connection.close()


class SQLite:
    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def load(self, name: str, frame: pl.DataFrame) -> None:
        frame = frame.with_columns(pl.col(pl.Date).cast(pl.String))
        quoted = [own.replace('"', '""') for own in frame.columns]
        columns = ", ".join(f'"{own}"' for own in quoted)
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(f"CREATE TABLE {name} ({columns})")
        marks = ", ".join("?" * frame.width)
        self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", frame.rows())

    def ask(self, sql: str) -> pl.DataFrame:
        found = self.connection.execute(sql)
        names = [own[0] for own in found.description]
        return pl.DataFrame(found.fetchall(), schema=names, orient="row", infer_schema_length=None)

    def close(self) -> None:
        self.connection.close()


def _postgresql_type(kind: pl.DataType) -> str:
    if isinstance(kind, pl.Decimal):
        return f"numeric({kind.precision}, {kind.scale})"
    return KINDS[kind.base_type()] + ("tz" if getattr(kind, "time_zone", None) else "")


class PostgreSQL:
    dialect = "postgres"

    def __init__(self, url: str) -> None:
        import psycopg

        self.connection = psycopg.connect(url, autocommit=True)

    def load(self, name: str, frame: pl.DataFrame) -> None:
        from psycopg import sql

        table = sql.Identifier(name)
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(own), sql.SQL(_postgresql_type(kind)))
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
