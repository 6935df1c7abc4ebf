"""One transaction on one model, the same for all databases."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import polars as pl

from stc.io.archive import Archive
from stc.stores.delta import Delta
from stc.stores.texts import check_text, header_text, key_of


class Row(NamedTuple):
    """A model's row."""

    model: int
    version: int
    header: str | None


class Session(Protocol):
    """What a database does inside a transaction."""

    def find(self, key: bytes) -> Row | None:
        """The row of a model; None if there is none, or no tables at all."""

    def names(self) -> list[str]:
        """Names of all models."""

    def create(self, key: bytes, name: str, version: int) -> int:
        """Make a model, and the tables if need be, and give its number."""

    def update(self, model: int, version: int, header: str | None) -> None:
        """Change the row of a model."""

    def remove(self, model: int) -> None:
        """Remove the row of a model."""

    def has(self, model: int, key: bytes) -> bool:
        """Whether a batch is in the ledger."""

    def note(self, model: int, key: bytes, batch: str, at: str) -> None:
        """Enter a batch into the ledger."""

    def batches(self, model: int) -> list[str]:
        """The ledger."""

    def forget(self, model: int) -> None:
        """Empty the ledger."""

    def classes(self, model: int) -> dict[str, int]:
        """The classes and their numbers."""

    def add_classes(self, model: int, numbers: dict[str, int]) -> None:
        """Enter new classes."""

    def add_features(self, model: int, features: pl.DataFrame) -> None:
        """Enter the features that are not there; columns `key` and `feature`."""

    def insert(self, model: int, entries: pl.DataFrame) -> None:
        """Enter entries of a model that has none."""

    def add(self, model: int, entries: pl.DataFrame) -> None:
        """Add entries up; those without support go, with features and classes left without any."""

    def entries(self, model: int) -> pl.DataFrame:
        """All entries, in the columns of ENTRIES."""

    def wipe(self, model: int) -> None:
        """Remove entries, features and classes."""


class Transaction:
    """What the work of `Store.write` is given: see `stc.stores.protocol.Writing`."""

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        self._key = key_of(name)
        found = session.find(self._key)
        self._model = found.model if found else None
        self.version = found.version if found else None
        self._header = found.header if found else None
        self._changed = False
        # The time keeps a model that was removed and made again from repeating a version.
        self.next_version = max(time.time_ns(), (self.version or 0) + 1)

    @property
    def header(self) -> dict[str, Any] | None:
        """The model's header; None if there is no model."""
        return None if self._header is None else json.loads(self._header)

    def read(self) -> Archive:
        """The whole model, as this transaction sees it."""
        header = self.header
        if self._model is None or header is None:
            raise ValueError(f"there is nothing to read of the model {self._name!r}")
        return Archive(header, self._session.entries(self._model))

    def has(self, batch_id: str) -> bool:
        """Whether a batch is in the ledger."""
        check_text(batch_id, "the batch id")
        return self._model is not None and self._session.has(self._model, key_of(batch_id))

    def note(self, batch_id: str) -> None:
        """Enter a batch into the ledger."""
        if not self.has(batch_id):
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            self._session.note(self._changing(), key_of(batch_id), batch_id, at)

    def batches(self) -> frozenset[str]:
        """All batches of the ledger."""
        return frozenset() if self._model is None else frozenset(self._session.batches(self._model))

    def forget(self) -> None:
        """Empty the ledger."""
        if self._model is not None:
            self._session.forget(self._changing())

    def add(self, header: dict[str, Any], entries: pl.DataFrame) -> None:
        """Add entries to those there are."""
        self._add(header_text(header), Delta.of(entries))

    def replace(self, archive: Archive) -> None:
        """Put another model in the place of this one; the ledger stays."""
        header, delta = header_text(archive.header), Delta.of(archive.entries)
        self.clear()
        self._add(header, delta)

    def clear(self) -> None:
        """Leave nothing but the name and the ledger."""
        if self._model is not None:
            self._session.wipe(self._changing())
            self._header = None

    def remove(self) -> None:
        """Remove the model and its ledger."""
        if self._model is not None:
            self._session.wipe(self._model)
            self._session.forget(self._model)
            self._session.remove(self._model)
            self._model, self._changed = None, False

    def finish(self) -> None:
        """Write what is known only at the end."""
        if self._changed and self._model is not None:
            self._session.update(self._model, self.next_version, self._header)

    def _add(self, header: str, delta: Delta) -> None:
        model, empty = self._changing(), self._header is None
        self._header = header
        entries = delta.numbered(self._numbers(model, delta.classes))
        self._session.add_features(model, delta.features)
        if empty and (entries["support"] > 0).all():
            self._session.insert(model, entries)
        else:
            self._session.add(model, entries)

    def _changing(self) -> int:
        self._changed = True
        if self._model is None:
            self._model = self._session.create(self._key, self._name, self.next_version)
        return self._model

    def _numbers(self, model: int, classes: list[str]) -> dict[str, int]:
        numbers = self._session.classes(model)
        free = max(numbers.values(), default=-1) + 1
        new = [name for name in classes if name not in numbers]
        added = {name: free + position for position, name in enumerate(new)}
        if added:
            self._session.add_classes(model, added)
        return numbers | added
