"""The base class of the databases that hold models: reads, transactions and retries."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import SystemRandom
from typing import Any, NamedTuple, NoReturn, TypeVar

from stc._utils.database_url import DatabaseURL
from stc.exceptions import StoreConflictError, StoreError
from stc.io import Archive
from stc.stores.integrity import read_batches, read_entries
from stc.stores.keys import check_text, text_key
from stc.stores.session import Session
from stc.stores.transaction import Writing, parsed_header

T = TypeVar("T")

# Seconds to wait for other writers.
PATIENCE = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5
# Neither the caller's generator nor one whose state forked processes share.
_random = SystemRandom()


class StoredRows(NamedTuple):
    """A model as it is in a database: its version, its rows, and the ids of its batches."""

    version: int
    archive: Archive
    batches: frozenset[str]


class Database(ABC):
    """A database that holds models by name, as rows.

    Parameters
    ----------
    url
        URL of the database.
    """

    def __init__(self, url: DatabaseURL) -> None:
        self.url = url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.url)!r})"

    def __getstate__(self) -> NoReturn:
        """Raise an error: engines and options of drivers hold secrets, which skops would write."""
        raise TypeError("a store has no state to copy; to_estimator() returns a model in memory")

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
        row = self._read(name, lambda session: session.find(name), None)
        return row.version if row else None

    def header(self, name: str) -> dict[str, Any] | None:
        """Return the header of a model; None without the name."""

        def header(session: Session) -> dict[str, Any] | None:
            row = session.find(name)
            return None if row is None else parsed_header(row.header, row.header_key)

        return self._read(name, header, None)

    def read(self, name: str) -> StoredRows | None:
        """Return all rows of a model, in one consistent state; None without the name."""

        def rows(session: Session) -> StoredRows | None:
            row = session.find(name)
            if row is None:
                return None
            header = parsed_header(row.header, row.header_key)
            archive = Archive(header, read_entries(session, row))
            return StoredRows(row.version, archive, read_batches(session, row))

        return self._read(name, rows, None)

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
            with self.writing(text_key(name)) as session, self._named_errors():
                transaction = Writing(session, name)
                result = work(transaction)
                transaction.finish()
                return result

        return _retried(attempt)

    def remove(self, name: str) -> None:
        """Remove a model and its ledger, if it exists."""
        if self.version(name) is not None:
            self.write(name, Writing.remove)

    def error(self, message: str, hint: str | None = None) -> StoreError:
        """Return an error of this store."""
        return StoreError(message, path=str(self.url), hint=hint)

    def conflict(self, message: str) -> StoreConflictError:
        """Return an error of this store that a retry may resolve."""
        return StoreConflictError(message, path=str(self.url))

    def _read(self, name: str, query: Callable[[Session], T], default: T) -> T:
        check_text(name, "the name")

        def attempt() -> T:
            if not self.exists():
                return default
            with self.reading() as session, self._named_errors():
                return query(session)

        return _retried(attempt)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the database in errors of its content."""
        try:
            yield
        except StoreError as error:
            error.path = error.path or str(self.url)
            raise


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
