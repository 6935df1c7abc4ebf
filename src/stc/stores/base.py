"""The base class of all stores: reads, transactions and retries."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from random import SystemRandom
from typing import Any, TypeVar

from stc.exceptions import StoreConflictError, StoreError
from stc.io import Archive
from stc.stores.keys import check_text, text_key
from stc.stores.session import Session
from stc.stores.transaction import Writing
from stc.stores.url import shown_url

T = TypeVar("T")

# Seconds to wait for other writers.
PATIENCE = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5
# Neither the caller's generator nor one whose state forked processes share.
_random = SystemRandom()


class Store(ABC):
    """A database that holds models by name.

    Parameters
    ----------
    url
        URL of the database.
    on_close
        Called when the store is closed.
    """

    def __init__(self, url: str, on_close: Callable[[], object] = lambda: None) -> None:
        self.shown_url = shown_url(url)
        self._on_close = on_close

    def __repr__(self) -> str:
        return f"<store {self.shown_url}>"

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """Open a transaction that sees one consistent state and changes nothing."""

    @abstractmethod
    def writing(self, key: bytes) -> AbstractContextManager[Session]:
        """Open a transaction that no other writer of the model overlaps."""

    @abstractmethod
    def translated_errors(self) -> AbstractContextManager[None]:
        """Raise errors of the database as StoreError, without text that may hold secrets."""

    @abstractmethod
    def release(self) -> None:
        """Close files and connections."""

    def exists(self) -> bool:
        """Return whether there is a database to read."""
        return True

    def version(self, name: str) -> int | None:
        """Return a number that grows with every change of a model; None without the name."""
        row = self._read(name, lambda session: session.find(text_key(name)), None)
        return row.version if row else None

    def header(self, name: str) -> dict[str, Any] | None:
        """Return the header of a model; None if there is no model."""
        row = self._read(name, lambda session: session.find(text_key(name)), None)
        return json.loads(row.header) if row and row.header is not None else None

    def read(self, name: str) -> tuple[int, Archive | None] | None:
        """Return the version and the model, in one consistent state; None without the name.

        The model is None if everything was unlearnt.
        """

        def version_and_model(session: Session) -> tuple[int, Archive | None] | None:
            row = session.find(text_key(name))
            if row is None:
                return None
            if row.header is None:
                return row.version, None
            return row.version, Archive(json.loads(row.header), session.entries(row.model))

        return self._read(name, version_and_model, None)

    def names(self) -> list[str]:
        """Return the names of the models, sorted."""
        return sorted(self._read("", lambda session: session.names(), list[str]()))

    def write(self, name: str, work: Callable[[Writing], T]) -> T:
        """Run `work` in a transaction; retry while other writers conflict with it.

        `work` may be called several times; only the last call takes effect. A new name is
        created when the work changes something.
        """
        check_text(name, "the name")

        def attempt() -> T:
            with self.writing(text_key(name)) as session:
                transaction = Writing(session, name)
                result = work(transaction)
                transaction.finish()
                return result

        return _retried(attempt)

    def remove(self, name: str) -> None:
        """Remove a model and its ledger, if it exists."""
        if self.version(name) is not None:
            self.write(name, Writing.remove)

    def close(self) -> None:
        """Close files and connections; they are opened again when needed."""
        self._on_close()
        self.release()

    def error(self, message: str, hint: str | None = None) -> StoreError:
        """Return an error of this store."""
        return StoreError(message, path=self.shown_url, hint=hint)

    def conflict(self, message: str) -> StoreConflictError:
        """Return an error of this store that a retry may resolve."""
        return StoreConflictError(message, path=self.shown_url)

    def _read(self, name: str, query: Callable[[Session], T], default: T) -> T:
        check_text(name, "the name")

        def attempt() -> T:
            if not self.exists():
                return default
            with self.reading() as session:
                return query(session)

        return _retried(attempt)


def _retried(attempt: Callable[[], T]) -> T:
    end, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except StoreConflictError as conflict:
            if time.monotonic() > end:
                message = f"{conflict.message}; gave up after {PATIENCE:.0f} s"
                raise StoreError(message, path=conflict.path) from None
        time.sleep(_random.uniform(0, pause))
        pause = min(2 * pause, _LONGEST_PAUSE)
