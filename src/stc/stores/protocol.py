"""The protocol of stores and of the transactions that change their models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import polars as pl

from stc.io import Archive

T = TypeVar("T")


class Writing(Protocol):
    """A transaction that changes one model.

    Transactions of the same model do not overlap. All changes are committed when the work ends;
    none are if it raises an error.
    """

    @property
    def version(self) -> int | None:
        """Version of the model when the transaction began; None if there is no such name."""

    @property
    def next_version(self) -> int:
        """Version of the model once the transaction is committed."""

    @property
    def header(self) -> dict[str, Any] | None:
        """Header of the model; None if there is no model or everything was unlearnt."""

    def read(self) -> Archive:
        """Return the whole model as this transaction sees it."""

    def has(self, batch_id: str) -> bool:
        """Return whether a batch is in the ledger."""

    def note(self, batch_id: str) -> None:
        """Enter a batch into the ledger."""

    def batches(self) -> frozenset[str]:
        """Return the ids of all batches in the ledger."""

    def forget(self) -> None:
        """Empty the ledger."""

    def add(self, header: dict[str, Any], entries: pl.DataFrame) -> None:
        """Add mass and support to existing entries, and insert new entries.

        Mass and support may be negative; an entry is deleted when its support reaches zero.
        Existing entries keep their phase; new ones take the given phase.
        """

    def replace(self, archive: Archive) -> None:
        """Replace the model and keep its ledger."""

    def clear(self) -> None:
        """Delete the model except for its name and its ledger: everything was unlearnt."""


class Store(Protocol):
    """A database that holds models by name."""

    def version(self, name: str) -> int | None:
        """Return a number that grows with every change of a model; None without the name."""

    def read(self, name: str) -> tuple[int, Archive | None] | None:
        """Return the version and the model, in one consistent state; None without the name.

        The model is None if everything was unlearnt.
        """

    def header(self, name: str) -> dict[str, Any] | None:
        """Return the header of a model; None if there is no model."""

    def write(self, name: str, work: Callable[[Writing], T]) -> T:
        """Run `work` in a transaction; retry while other writers conflict with it.

        `work` may be called several times; only the last call takes effect. A new name is
        created when the work changes something.
        """

    def names(self) -> list[str]:
        """Return the names of the models, sorted."""

    def remove(self, name: str) -> None:
        """Remove a model and its ledger, if it exists."""

    def close(self) -> None:
        """Close files and connections; they are opened again when needed."""
