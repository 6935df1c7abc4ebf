"""Tables and queries of a database, through SQLAlchemy; from PostgreSQL as Arrow, by ADBC."""

from __future__ import annotations

import datetime
import decimal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from stc._core.model import Model
from stc._input.values import canonical
from stc._utils.file_formats import write_frames
from stc._utils.optional import optional
from stc._utils.progress import Progress
from stc.sources.protocol import BATCH, FEW, Answering, Learning, kinds_of
from stc.sources.scan import ENDINGS

# Rows of Python objects that are fetched at a time, where there is no Arrow.
_ROWS = 50_000


def _alchemy() -> Any:
    return optional("sqlalchemy", "sqlite", "a table of a database")


@dataclass(frozen=True)
class SQLSource:
    """A table or a query of a database.

    Attributes
    ----------
    engine
        SQLAlchemy's engine.
    selected
        What to read: a table, or a select.
    """

    engine: Any
    selected: Any
    arrays: ClassVar[bool] = False

    @classmethod
    def of(cls, database: Any, table: Any) -> SQLSource:
        """A source out of an engine or a URL, and the name of a table, a Table or a Select."""
        alchemy = _alchemy()
        engine = database
        if isinstance(database, str):  # an engine of our own keeps no connection open
            engine = alchemy.create_engine(_url(database), poolclass=alchemy.pool.NullPool)
        if isinstance(table, str):
            with plainly(engine):
                table = _table(alchemy, engine, table)
        elif isinstance(table, alchemy.Select):
            table = table.subquery("stc_items")
        return cls(engine, table)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns of the data."""
        return tuple(self.selected.c.keys())

    def _select(self, columns: Sequence[str]) -> Any:
        return _alchemy().select(*(self._column(name) for name in columns))

    def _column(self, name: str) -> Any:
        """A column; a decimal as the number it is, which ADBC would give as its text."""
        alchemy, column = _alchemy(), self.selected.c[name]
        decimal = isinstance(column.type, alchemy.Numeric) and column.type.asdecimal
        return alchemy.cast(column, alchemy.Double()).label(name) if decimal else column

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows."""
        parts = list(self._fetched(self._select(columns).limit(rows)))
        return pl.concat(parts, how="vertical_relaxed") if parts else _no_rows(columns)

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along: as declared, or as some rows tell."""
        declared = {name: _kind(self.selected.c[name].type) for name in columns}
        untold = [name for name, kind in declared.items() if kind is None]
        found = kinds_of(self.head(untold, FEW)) if untold else pl.Schema()
        return pl.Schema({name: kind or found[name] for name, kind in declared.items()})

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows, a batch at a time."""
        with Progress("reading") as progress:
            done = 0
            for frame in self._fetched(self._select(columns)):
                yield frame
                done += frame.height
                progress.flow(done, "rows")

    def _fetched(self, query: Any) -> Iterator[pl.DataFrame]:
        if self.engine.dialect.name == "postgresql" and not self._bound:
            with plainly(self.engine):
                yield from _by_adbc(self.engine, str(query.compile(self.engine, **_INLINE)))
            return
        with (
            plainly(self.engine),
            self.engine.connect().execution_options(yield_per=_ROWS) as connection,
        ):
            result = connection.execute(query)
            names = list(result.keys())
            for rows in result.partitions(_ROWS):
                yield _frame(names, rows)

    @cached_property
    def _bound(self) -> bool:
        """Whether the query has parameters of its own."""
        return bool(_alchemy().select(self.selected).compile(self.engine).params)

    def learn(self, task: Learning) -> Model | None:
        """The model of all the data; PostgreSQL sends rows as Arrow faster than it groups them."""
        return task(self.frames(task.columns))

    def answer(self, task: Answering, to: Any) -> Any:
        """The answers as a polars frame; or in a file, or in a new table of the database."""
        frames = map(task, self.frames(task.columns))
        if to is None:
            return pl.concat([task.schema.to_frame(), *frames])
        if Path(str(to)).suffix.lower() in ENDINGS:
            return write_frames(frames, task.schema, to)
        return self._written(frames, task.schema, str(to))

    def _written(self, frames: Iterable[pl.DataFrame], schema: pl.Schema, to: str) -> str:
        """A new table, there with all its rows or not at all."""
        alchemy = _alchemy()
        if alchemy.inspect(self.engine).has_table(to):
            raise ValueError(f"to={to!r}: the database has such a table already")
        columns = [alchemy.Column(name, _type_of(alchemy, own)) for name, own in schema.items()]
        table = alchemy.Table(to, alchemy.MetaData(), *columns)
        with self.engine.begin() as connection:
            table.create(connection)
            for frame in frames:
                connection.execute(alchemy.insert(table), frame.to_dicts())
        return to


# A limit is a number of our own: it may stand in the text, which ADBC takes without parameters.
_INLINE: dict[str, Any] = {"compile_kwargs": {"literal_binds": True}}


@contextmanager
def plainly(engine: Any) -> Iterator[None]:
    """Say in one line what a driver says of a database that cannot be read."""
    try:
        yield
    except _failures() as error:
        words = " ".join(str(getattr(error, "orig", error)).split("\n")[0].split())
        secret = engine.url.password
        words = words.replace(str(secret), "***") if secret else words
        shown = engine.url.set(password=None).render_as_string()
        raise OSError(f"cannot read the database {shown}: {words}") from None


def _failures() -> tuple[type[Exception], ...]:
    """What the drivers raise, those that are there."""
    adbc = sys.modules.get("adbc_driver_manager.dbapi")
    return (_alchemy().exc.SQLAlchemyError, *([] if adbc is None else [adbc.Error]))


def _table(alchemy: Any, engine: Any, name: str) -> Any:
    """A table by its name, which may stand after that of a schema."""
    known = alchemy.inspect(engine)
    schema, _, own = name.rpartition(".")
    if not schema or known.has_table(name):
        schema, own = "", name
    if not known.has_table(own, schema=schema or None):
        raise ValueError(f"the database has no table {name!r}")
    return alchemy.Table(own, alchemy.MetaData(), schema=schema or None, autoload_with=engine)


def _url(database: str) -> str:
    """The URL with the driver we have for PostgreSQL."""
    scheme, separator, rest = database.partition("://")
    plain = scheme in ("postgresql", "postgres")
    return f"postgresql+psycopg://{rest}" if plain and separator else database


def _by_adbc(engine: Any, query: str) -> Iterator[pl.DataFrame]:
    driver = optional("adbc_driver_postgresql.dbapi", "postgresql", "a table of PostgreSQL")
    uri = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with driver.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        waiting: list[Any] = []
        for batch in cursor.fetch_record_batch():
            waiting.append(batch)
            if sum(own.num_rows for own in waiting) >= BATCH:
                yield _joined(waiting)
                waiting = []
        if sum(own.num_rows for own in waiting):
            yield _joined(waiting)


def _joined(batches: Sequence[Any]) -> pl.DataFrame:
    frame = pl.from_arrow(batches)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _frame(names: Sequence[str], rows: Sequence[Any]) -> pl.DataFrame:
    columns = zip(*rows, strict=True)
    return pl.DataFrame([_series(name, own) for name, own in zip(names, columns, strict=True)])


def _series(name: str, cells: Sequence[Any]) -> pl.Series:
    """A column; where a database mixes types in it (SQLite may), of their texts."""
    try:
        return pl.Series(name, cells, strict=True)
    except TypeError:
        return pl.Series(name, [canonical(cell) for cell in cells], dtype=pl.String)


def _kind(declared: Any) -> pl.DataType | None:
    """What a type of SQLAlchemy is to polars; None if it does not say."""
    known: dict[type, pl.DataType] = {
        str: pl.String(),
        int: pl.Int64(),
        float: pl.Float64(),
        decimal.Decimal: pl.Float64(),
        bool: pl.Boolean(),
        datetime.date: pl.Date(),
        datetime.datetime: pl.Datetime("us"),
    }
    try:
        return known.get(declared.python_type)
    except NotImplementedError:
        return None


def _no_rows(columns: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))


def _type_of(alchemy: Any, dtype: pl.DataType) -> Any:
    if dtype.is_float():
        return alchemy.Double()
    if dtype.is_integer():
        return alchemy.BigInteger()
    known = {
        pl.Boolean: alchemy.Boolean,
        pl.Date: alchemy.Date,
        pl.Datetime: alchemy.DateTime,
    }
    return next((own() for kind, own in known.items() if dtype == kind), alchemy.Text())
