"""A transaction that changes one model, the same for all databases."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from itertools import count
from typing import Any

import polars as pl

from stc.exceptions import StoreError
from stc.io import Archive
from stc.stores.delta import Delta
from stc.stores.keys import check_text, header_json, text_key
from stc.stores.session import Session


class Transaction:
    """A transaction that changes one model; implements `stc.stores.protocol.Writing`."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._key = text_key(name)
        row = session.find(self._key)
        self._model = row.model if row else None
        self.version = row.version if row else None
        self._header = row.header if row else None
        self._changed = False
        # With the time, a model that is removed and created again never repeats a version.
        self.next_version = max(time.time_ns(), (self.version or 0) + 1)

    @property
    def header(self) -> dict[str, Any] | None:
        """Header of the model; None if there is no model or everything was unlearnt."""
        return None if self._header is None else json.loads(self._header)

    def read(self) -> Archive:
        """Return the whole model as this transaction sees it."""
        header = self.header
        if self._model is None or header is None:
            raise StoreError(f"the store has no model {self._name!r}")
        return Archive(header, self._session.entries(self._model))

    def has(self, batch_id: str) -> bool:
        """Return whether a batch is in the ledger."""
        check_text(batch_id, "the batch id")
        return self._model is not None and self._session.has_batch(self._model, text_key(batch_id))

    def note(self, batch_id: str) -> None:
        """Enter a batch into the ledger."""
        if not self.has(batch_id):
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._session.add_batch(self._changed_model(), text_key(batch_id), batch_id, now)

    def batches(self) -> frozenset[str]:
        """Return the ids of all batches in the ledger."""
        return frozenset() if self._model is None else frozenset(self._session.batches(self._model))

    def forget(self) -> None:
        """Empty the ledger."""
        if self._model is not None:
            self._session.delete_batches(self._changed_model())

    def add(self, header: dict[str, Any], entries: pl.DataFrame) -> None:
        """Add mass and support to existing entries, and insert new entries."""
        self._add(header_json(header), Delta.from_entries(entries))

    def replace(self, archive: Archive) -> None:
        """Replace the model and keep its ledger."""
        header, delta = header_json(archive.header), Delta.from_entries(archive.entries)
        self.clear()
        self._add(header, delta)

    def clear(self) -> None:
        """Delete the model except for its name and its ledger."""
        if self._model is not None:
            self._session.delete_entries(self._changed_model())
            self._header = None

    def remove(self) -> None:
        """Remove the model and its ledger."""
        if self._model is not None:
            self._session.delete_entries(self._model)
            self._session.delete_batches(self._model)
            self._session.delete(self._model)
            self._model, self._changed = None, False

    def finish(self) -> None:
        """Write the new version and header."""
        if self._changed and self._model is not None:
            self._session.update(self._model, self.next_version, self._header)

    def _add(self, header: str, delta: Delta) -> None:
        model, empty = self._changed_model(), self._header is None
        self._header = header
        entries = delta.numbered(self._class_numbers(model, delta.classes))
        self._session.add_features(model, delta.features)
        if empty and (entries["support"] > 0).all():
            self._session.insert("stc_entries", model, entries)
        else:
            self._session.add_entries(model, entries)

    def _changed_model(self) -> int:
        """Return the number of the model, which is created if necessary, and mark it changed."""
        self._changed = True
        if self._model is None:
            self._model = self._session.create(self._key, self._name, self.next_version)
        return self._model

    def _class_numbers(self, model: int, classes: list[str]) -> dict[str, int]:
        numbers = self._session.classes(model)
        new = [name for name in classes if name not in numbers]
        added = dict(zip(new, count(max(numbers.values(), default=-1) + 1), strict=False))
        if added:
            self._session.add_classes(model, added)
        return numbers | added
