"""Tables and queries of a database, through SQLAlchemy; of PostgreSQL as Arrow, through ADBC."""

from __future__ import annotations

import datetime
import decimal
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import polars as pl
import sqlalchemy
from sqlalchemy.dialects import postgresql

from stc._input.scalars import EXACT_FLOAT
from stc._input.values import canonical
from stc._utils.database_url import DatabaseURL, raise_alone, sqlite_file
from stc._utils.file_formats import find_format, write_frames
from stc._utils.optional import optional
from stc.exceptions import ParameterError, ParameterTypeError, SourceFileError
from stc.sources.arrow import DIGITS, decimals
from stc.sources.common_types import stacked
from stc.sources.protocol import (
    SAMPLE_ROWS,
    Learner,
    Learnt,
    Predictor,
    joined_batches,
    schema_of,
    with_progress,
)

# Rows of Python objects that are fetched at a time, from databases without Arrow.
_FETCHED_ROWS = 50_000

_POLARS_TYPES: dict[type, pl.DataType] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
    datetime.date: pl.Date(),
    datetime.datetime: pl.Datetime("us"),
}

_SQL_TYPES: dict[Any, Any] = {
    pl.Boolean: sqlalchemy.Boolean,
    pl.Date: sqlalchemy.Date,
    pl.Time: sqlalchemy.Time,
    pl.Duration: sqlalchemy.Interval,
}


@dataclass(frozen=True)
class SQLBackend:
    """A table or a query of a database.

    Attributes
    ----------
    engine
        SQLAlchemy's engine.
    selected
        A table or a subquery.
    """

    engine: Any = field(repr=False)
    selected: Any
    ordered: ClassVar[bool] = False

    @classmethod
    def of(cls, database: Any, table: Any) -> SQLBackend:
        """Return a source of an engine or a URL, and a table's name, a Table or a Select."""
        engine = _engine(database) if isinstance(database, str) else database
        if not isinstance(engine, sqlalchemy.Engine):
            given = type(engine).__name__
            raise ParameterTypeError(f"a table is read from an engine or a URL, got {given}")
        _refuse_missing_file(engine)
        if isinstance(table, str):
            with _errors(engine):
                table = _table(engine, table)
        elif isinstance(table, sqlalchemy.Select):
            table = table.subquery("stc_items")
        return cls(engine, table)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.selected.c.keys())

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """Return the first rows."""
        frames = list(self._fetched(self._select(columns).limit(rows)))
        if not frames:
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
        return stacked(frames)

    def column_types(self, columns: Sequence[str]) -> pl.Schema:
        """Return the declared types of columns, or those of a sample where none is declared."""
        dialect = self.engine.dialect.name
        declared = {name: _declared_type(self.selected.c[name].type, dialect) for name in columns}
        undeclared = [name for name, dtype in declared.items() if dtype is None]
        sampled = schema_of(self.head(undeclared, SAMPLE_ROWS)) if undeclared else pl.Schema()
        return pl.Schema({name: dtype or sampled[name] for name, dtype in declared.items()})

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yield all rows in batches."""
        return with_progress(self._fetched(self._select(columns)))

    def learn(self, task: Learner[Learnt]) -> Learnt | None:
        """Return what a task learns from all rows.

        PostgreSQL sends rows as Arrow faster than it groups them.
        """
        return task(self.frames(task.columns))

    def predict(self, task: Predictor, to: Any) -> Any:
        """Return the predictions as a polars frame, or write them to a file or a new table."""
        frames = task.over(self.frames(task.columns))
        if to is None:
            return pl.concat([task.schema.to_frame(), *frames])
        if find_format(str(to), compressed=False):
            return write_frames(frames, task.schema, to)
        return self._write_table(frames, task.schema, str(to))

    def _select(self, columns: Sequence[str]) -> Any:
        return sqlalchemy.select(*map(self._column, columns))

    def _column(self, name: str) -> Any:
        """Return a column as the database has it.

        SQLAlchemy would round the numbers of SQLite, and take a type that it does not know for a
        number. Of PostgreSQL, ADBC would return types that Python has not as bytes.
        """
        column, dialect = self.selected.c[name], self.engine.dialect.name
        if dialect == "sqlite" and _is_decimal(column.type):
            return sqlalchemy.type_coerce(column, sqlalchemy.types.NullType()).label(name)
        if dialect == "postgresql" and _is_foreign(column.type):
            return sqlalchemy.cast(column, sqlalchemy.Text()).label(name)
        return column

    def _fetched(self, query: Any) -> Iterator[pl.DataFrame]:
        with _errors(self.engine):
            if self.engine.dialect.name == "postgresql" and not self._has_parameters:
                # ADBC takes no parameters, so the limit is written into the query.
                inline = {"literal_binds": True}
                yield from _by_adbc(
                    self.engine, str(query.compile(self.engine, compile_kwargs=inline))
                )
                return
            options = {"yield_per": _FETCHED_ROWS}
            with self.engine.connect().execution_options(**options) as connection:
                result = connection.execute(query)
                names = list(result.keys())
                for rows in result.partitions(_FETCHED_ROWS):
                    yield pl.DataFrame(list(map(_series, names, zip(*rows, strict=True))))

    @cached_property
    def _has_parameters(self) -> bool:
        return bool(sqlalchemy.select(self.selected).compile(self.engine).params)

    def _write_table(self, frames: Iterable[pl.DataFrame], schema: pl.Schema, to: str) -> str:
        """Create a table with all rows, or none if an error occurs."""
        with _errors(self.engine, "cannot be written to"):
            if sqlalchemy.inspect(self.engine).has_table(to):
                raise ParameterError(f"to={to!r}: the database already has this table")
            columns = [sqlalchemy.Column(name, _sql_type(dtype)) for name, dtype in schema.items()]
            table = sqlalchemy.Table(to, sqlalchemy.MetaData(), *columns)
            with self.engine.begin() as connection:
                table.create(connection)
                for frame in frames:
                    connection.execute(sqlalchemy.insert(table), frame.to_dicts())
        return to


def _engine(url: str) -> Any:
    """Return an engine that keeps no connection open, with psycopg for PostgreSQL."""
    parsed = DatabaseURL.parse(url)
    driver = "postgresql+psycopg" if parsed.scheme in ("postgresql", "postgres") else None
    try:
        return sqlalchemy.create_engine(
            parsed.for_sqlalchemy(driver), poolclass=sqlalchemy.pool.NullPool, hide_parameters=True
        )
    except sqlalchemy.exc.ArgumentError:
        hint = "write it as in sqlite:///zoo.db"
        raise_alone(ParameterError(f"{str(parsed)!r} is not a URL of SQLAlchemy", hint=hint))


def _refuse_missing_file(engine: Any) -> None:
    """Raise an error for a file that is not there: SQLite would create it."""
    url = engine.url
    if url.get_backend_name() != "sqlite" or not url.database:
        return
    path = sqlite_file(url.database, url.query)
    if path is not None and not os.path.exists(path):
        raise SourceFileError("there is no such file", path=path)


@contextmanager
def _errors(engine: Any, failure: str = "cannot be read") -> Iterator[None]:
    """Raise errors of database drivers as errors of stc, without the password."""
    try:
        yield
    except _driver_errors() as error:
        url = DatabaseURL.of_sqlalchemy(engine.url)
        text = url.without_secrets(str(getattr(error, "orig", None) or error))
        message = " ".join(text.strip().partition("\n")[0].split()) or type(error).__name__
        raise_alone(SourceFileError(f"the database {failure}: {message}", path=str(url)))


def _driver_errors() -> tuple[type[Exception], ...]:
    adbc = sys.modules.get("adbc_driver_manager.dbapi")
    # Of an encoding: psycopg cannot write a surrogate in a password, and would show all of it.
    errors = (sqlalchemy.exc.SQLAlchemyError, UnicodeEncodeError)
    return errors if adbc is None else (*errors, adbc.Error)


def _table(engine: Any, name: str) -> Any:
    """Return a table by its name, which may be preceded by that of a schema and a dot."""
    inspector = sqlalchemy.inspect(engine)
    schema, _, table = name.rpartition(".")
    if not schema or inspector.has_table(name):
        schema, table = "", name
    if not inspector.has_table(table, schema=schema or None):
        raise ParameterError(f"the database has no table {name!r}")
    return sqlalchemy.Table(
        table, sqlalchemy.MetaData(), schema=schema or None, autoload_with=engine
    )


def _by_adbc(engine: Any, query: str) -> Iterator[pl.DataFrame]:
    driver = optional("adbc_driver_postgresql.dbapi", "postgresql", "a table of PostgreSQL")
    with (
        driver.connect(DatabaseURL.of_sqlalchemy(engine.url).for_libpq()) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(query)
        yield from joined_batches(cursor.fetch_record_batch(), "postgresql")


def _series(name: str, cells: Sequence[Any]) -> pl.Series:
    """Return a column; a column of mixed types, which SQLite allows, as text."""
    kinds = {*map(type, cells)} - {type(None)}
    if kinds == {int, float} and all(abs(n) <= EXACT_FLOAT for n in cells if type(n) is int):
        return pl.Series(name, cells, dtype=pl.Float64)
    if kinds == {decimal.Decimal}:
        texts = [None if cell is None else f"{cell:f}" for cell in cells]
        return decimals(pl.Series(name, texts, dtype=pl.String))
    if len(kinds) < 2:
        try:
            return pl.Series(name, cells, strict=True)
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            pass
    return pl.Series(name, list(map(canonical, cells)), dtype=pl.String)


def _is_decimal(declared: Any) -> bool:
    return isinstance(declared, sqlalchemy.Numeric) and declared.asdecimal


def _is_foreign(declared: Any) -> bool:
    """Return whether a type of PostgreSQL, such as an address or a range, is read as its text."""
    known = sqlalchemy.JSON | postgresql.DOMAIN | postgresql.OID | sqlalchemy.types.NullType
    if isinstance(declared, known):
        return False
    if isinstance(declared, sqlalchemy.Time):
        return declared.timezone
    try:
        return declared.python_type in (object, postgresql.BitString)
    except NotImplementedError:
        return False


def _declared_type(declared: Any, dialect: str) -> pl.DataType | None:
    """Return the polars type of a type of SQLAlchemy; None if it has none.

    SQLite holds numerics as integers and floats.
    """
    if _is_decimal(declared):
        if dialect == "sqlite":
            return pl.Float64() if declared.scale else None
        fits = declared.scale is not None and (declared.precision or 0) <= DIGITS
        return pl.Decimal(DIGITS, declared.scale) if fits else pl.String()
    if isinstance(declared, sqlalchemy.DateTime) and declared.timezone and dialect != "sqlite":
        return pl.Datetime("us", "UTC")
    try:
        return _POLARS_TYPES.get(declared.python_type)
    except NotImplementedError:
        return None


def _sql_type(dtype: pl.DataType) -> Any:
    if dtype.is_float():
        return sqlalchemy.Double()
    if dtype.is_integer():
        return sqlalchemy.BigInteger()
    if isinstance(dtype, pl.Decimal):
        return sqlalchemy.Numeric(dtype.precision, dtype.scale)
    if isinstance(dtype, pl.Datetime):
        return sqlalchemy.DateTime(timezone=dtype.time_zone is not None)
    return _SQL_TYPES.get(dtype.base_type(), sqlalchemy.Text)()
