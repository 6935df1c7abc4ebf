"""Stores for the tests: a second one at the same URL shares nothing with the first in memory."""

from __future__ import annotations

from stc import ModelStore, StoredModel, open_store
from stc._utils.database_url import DatabaseURL
from stc.stores.database import Database
from stc.stores.model_store import _database

_others: list[ModelStore] = []


def database_of(url: str) -> Database:
    """Return the database below a store."""
    return open_store(url)._database


def another_store(url: str) -> ModelStore:
    """Return a store with connections and models of its own, as another process opens it."""
    store = ModelStore(_database(DatabaseURL.parse(url)))
    _others.append(store)
    return store


def opened(url: str, name: str = "zoo") -> StoredModel:
    """Return a model as another process sees it: read from the database, not from memory."""
    return another_store(url)[name]


def close_stores(url: str) -> None:
    """Close all stores of a test."""
    for store in (*_others, open_store(url)):
        store.close()
    _others.clear()
