"""Tables of a store in SQLite or PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

metadata = sa.MetaData()

# Texts are compared byte by byte: `a` and `A` differ.
_TEXT = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
# Free space on each page lets PostgreSQL update a row without a new index entry.
_FREE_SPACE = {"fillfactor": 70}


def _model() -> sa.Column[int]:
    return sa.Column("model", sa.Integer, primary_key=True, autoincrement=False)


models = sa.Table(
    "stc_models",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name_key", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("name", _TEXT, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("header_key", sa.LargeBinary, nullable=False),
    sa.Column("header", _TEXT, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
    sa.Column("batches", sa.BigInteger, nullable=False),
)
features = sa.Table(
    "stc_features",
    metadata,
    _model(),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("feature", _TEXT, nullable=False),
)
classes = sa.Table(
    "stc_classes",
    metadata,
    _model(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("class", _TEXT, nullable=False),
)
entries = sa.Table(
    "stc_entries",
    metadata,
    _model(),
    sa.Column("feature", sa.LargeBinary, primary_key=True),
    sa.Column("set", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("class", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("mass", sa.Double, nullable=False),
    sa.Column("support", sa.BigInteger, nullable=False),
    sa.Column("gain", sa.Double, nullable=False),
    sa.Column("phase", sa.Double, nullable=False),
    postgresql_with=_FREE_SPACE,
    sqlite_with_rowid=False,
)
batches = sa.Table(
    "stc_batches",
    metadata,
    _model(),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("batch", _TEXT, nullable=False),
    sa.Column("written_at", _TEXT, nullable=False),
)
