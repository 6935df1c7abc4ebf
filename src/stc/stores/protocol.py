"""What a store can do: keep models by name, change them in transactions, give them back whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import polars as pl

from stc.io.archive import Archive

T = TypeVar("T")


class Writing(Protocol):
    """One transaction on one model. No other writer of the same model overlaps it.

    All of it is committed when the work ends, or nothing if it raises.
    """

    @property
    def version(self) -> int | None:
        """The version that the transaction found; None if the store has no such name."""

    @property
    def next_version(self) -> int:
        """The version that the model will have once this is committed."""

    @property
    def header(self) -> dict[str, Any] | None:
        """The model's header; None if there is no model, or one that has unlearnt everything."""

    def read(self) -> Archive:
        """The whole model, as this transaction sees it."""

    def has(self, batch_id: str) -> bool:
        """Whether a batch is in the ledger."""

    def note(self, batch_id: str) -> None:
        """Enter a batch into the ledger."""

    def batches(self) -> frozenset[str]:
        """All batches of the ledger."""

    def forget(self) -> None:
        """Empty the ledger."""

    def add(self, header: dict[str, Any], entries: pl.DataFrame) -> None:
        """Add mass and support to the entries there are, and enter those there are not.

        Both may be negative; an entry that no item supports any more is gone. The phase of an
        entry that is there stays; that of a new one is the one given.
        """

    def replace(self, archive: Archive) -> None:
        """Put another model in the place of this one; the ledger stays."""

    def clear(self) -> None:
        """Leave nothing but the name and the ledger: everything was unlearnt."""


class Store(Protocol):
    """Where models live."""

    def version(self, name: str) -> int | None:
        """A number that grows with every change of a model; None if there is no such name."""

    def read(self, name: str) -> tuple[int, Archive | None] | None:
        """A model and its version, in one consistent state; None if there is no such name.

        None instead of the model if it has unlearnt everything.
        """

    def header(self, name: str) -> dict[str, Any] | None:
        """Only the header of a model; None if there is none."""

    def write(self, name: str, work: Callable[[Writing], T]) -> T:
        """Do some work in a transaction, again and again while others are in the way.

        `work` may be called several times; only the last call counts. A name that the store
        does not have yet is made when the work changes something.
        """

    def names(self) -> list[str]:
        """Names of the models, sorted."""

    def remove(self, name: str) -> None:
        """Remove a model and its ledger; nothing happens if there is none."""

    def close(self) -> None:
        """Let go of files and connections."""
