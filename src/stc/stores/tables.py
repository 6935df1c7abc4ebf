"""Tables of a store in SQLite or PostgreSQL."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.dialects import postgresql

metadata = MetaData()

# Texts are compared byte by byte: `a` and `A` differ.
_TEXT = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
# Free space on each page lets PostgreSQL update a row without a new index entry.
_FREE_SPACE = {"fillfactor": 70}


def _model() -> Column[int]:
    return Column("model", Integer, primary_key=True, autoincrement=False)


models = Table(
    "stc_models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name_key", LargeBinary, nullable=False, unique=True),
    Column("name", _TEXT, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("header", _TEXT),
)
features = Table(
    "stc_features",
    metadata,
    _model(),
    Column("key", LargeBinary, primary_key=True),
    Column("feature", _TEXT, nullable=False),
)
classes = Table(
    "stc_classes",
    metadata,
    _model(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("class", _TEXT, nullable=False),
)
entries = Table(
    "stc_entries",
    metadata,
    _model(),
    Column("feature", LargeBinary, primary_key=True),
    Column("set", Integer, primary_key=True, autoincrement=False),
    Column("class", Integer, primary_key=True, autoincrement=False),
    Column("mass", Double, nullable=False),
    Column("support", BigInteger, nullable=False),
    Column("phase", Double, nullable=False),
    postgresql_with=_FREE_SPACE,
    sqlite_with_rowid=False,
)
batches = Table(
    "stc_batches",
    metadata,
    _model(),
    Column("key", LargeBinary, primary_key=True),
    Column("batch", _TEXT, nullable=False),
    Column("written_at", _TEXT, nullable=False),
)
