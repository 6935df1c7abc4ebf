"""Where models live when not in memory: DuckDB, SQLite, PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock

from stc._utils.optional import optional
from stc.exceptions import StoreError
from stc.stores.address import file_of, scheme_of, shown_url
from stc.stores.kept import KeptStore
from stc.stores.protocol import Store, Writing

__all__ = ["Store", "StoreError", "Writing", "open_store", "shown_url"]

# One store an address and process: DuckDB gives a file to one connection only.
_opened: dict[tuple[str, str, int], KeptStore] = {}
_opening = Lock()
# A child must not wait for a thread that only its parent has.
os.register_at_fork(after_in_child=lambda: globals().update(_opening=Lock()))


def open_store(url: str) -> Store:
    """Open a store of models, or the same once more; what is not there is made when written to.

    Parameters
    ----------
    url
        `duckdb:///zoo.duckdb` or `sqlite:///zoo.db` for a file (four slashes for a full path, and
        `:memory:` for none), `postgresql://user:password@host:port/database` for a server.

    Returns
    -------
    Store
        The store.

    Raises
    ------
    ValueError
        If the address is of another kind.
    ImportError
        If the package that it needs is not installed.

    Examples
    --------
    >>> from stc.stores import open_store
    >>> store = open_store("sqlite:///:memory:")
    >>> store.names()
    []
    >>> store.close()
    """
    make = _KINDS.get(scheme_of(url))
    if make is None:
        known = ", ".join(f"{kind}://" for kind in _KINDS)
        raise ValueError(f"store={shown_url(url)!r} is of no known kind: write one of {known}")
    # A relative path means another file once the working folder is another.
    file = "" if scheme_of(url) == "postgresql" else file_of(url)
    place = (url, file, os.getpid())
    with _opening:
        if place not in _opened:
            _opened[place] = make(url, lambda: _opened.pop(place, None))
        return _opened[place]


def _duckdb(url: str, closed: Callable[[], object]) -> KeptStore:
    optional("duckdb", "duckdb", "A DuckDB store")
    from stc.stores.duckdb import DuckdbStore

    return DuckdbStore(url, closed)


def _sqlite(url: str, closed: Callable[[], object]) -> KeptStore:
    optional("sqlalchemy", "sqlite", "A SQLite store")
    from stc.stores.sqlite import SqliteStore

    return SqliteStore(url, closed)


def _postgresql(url: str, closed: Callable[[], object]) -> KeptStore:
    optional("sqlalchemy", "postgresql", "A PostgreSQL store")
    optional("psycopg", "postgresql", "A PostgreSQL store")
    from stc.stores.postgresql import PostgresqlStore

    return PostgresqlStore(url, closed)


_KINDS = {"duckdb": _duckdb, "sqlite": _sqlite, "postgresql": _postgresql}
