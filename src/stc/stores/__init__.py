"""Stores: databases that hold models by name (SQLite, DuckDB, PostgreSQL)."""

from __future__ import annotations

from stc.stores.model_store import ModelStore, open_store
from stc.stores.stored_model import StoredModel

__all__ = ["ModelStore", "StoredModel", "open_store"]
