"""Stores: databases that hold models by name (SQLite, DuckDB, PostgreSQL)."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock

from stc._utils.optional import optional
from stc.exceptions import ParameterError, StoreError
from stc.stores.base import Store
from stc.stores.transaction import Writing
from stc.stores.url import file_path, shown_url, url_scheme

__all__ = ["Store", "StoreError", "Writing", "open_store", "shown_url"]

# One store per URL and process: DuckDB allows only one connection to a file.
_open_stores: dict[tuple[str, str, int], Store] = {}
_open_lock = Lock()
# A forked child must not wait for a lock held by a thread of its parent.
os.register_at_fork(after_in_child=lambda: globals().update(_open_lock=Lock()))


def open_store(url: str) -> Store:
    """Open a store of models.

    The same URL gives the same store until it is closed. A missing database file is created by
    the first write.

    Parameters
    ----------
    url
        `duckdb:///zoo.duckdb` or `sqlite:///zoo.db` for a file (four slashes for an absolute path,
        `:memory:` for a database in memory), `postgresql://user:password@host:port/database` for
        a server.

    Returns
    -------
    Store
        The store.

    Raises
    ------
    ParameterError
        If the URL is not that of a supported database.
    ImportError
        If a package that the database needs is not installed.

    Examples
    --------
    >>> from stc.stores import open_store
    >>> store = open_store("sqlite:///:memory:")
    >>> store.names()
    []
    >>> store.close()
    """
    # A relative path is another file once the working directory changes.
    file = file_path(url) if url_scheme(url) in ("duckdb", "sqlite") else ""
    key = (url, file, os.getpid())
    with _open_lock:
        if key not in _open_stores:
            _open_stores[key] = _new_store(url, lambda: _open_stores.pop(key, None))
        return _open_stores[key]


def _new_store(url: str, on_close: Callable[[], object]) -> Store:
    match url_scheme(url):
        case "duckdb":
            optional("duckdb", "duckdb", "A DuckDB store")
            from stc.stores.duckdb import DuckdbStore

            return DuckdbStore(url, on_close)
        case "sqlite":
            optional("sqlalchemy", "sqlite", "A SQLite store")
            from stc.stores.sqlite import SqliteStore

            return SqliteStore(url, on_close)
        case "postgresql":
            optional("sqlalchemy", "postgresql", "A PostgreSQL store")
            optional("psycopg", "postgresql", "A PostgreSQL store")
            from stc.stores.postgresql import PostgresqlStore

            return PostgresqlStore(url, on_close)
    raise ParameterError(
        f"store={shown_url(url)!r} is not the URL of a supported database",
        hint="it starts with duckdb://, sqlite:// or postgresql://",
    )
