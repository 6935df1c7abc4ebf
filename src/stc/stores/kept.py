"""What all stores that keep models in a database share: names, versions, patience."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import SystemRandom
from typing import Any, TypeVar

from stc.exceptions import StoreConflictError, StoreError
from stc.io.archive import Archive
from stc.stores.address import shown_url
from stc.stores.protocol import Writing
from stc.stores.texts import check_text, key_of
from stc.stores.transaction import Session, Transaction

T = TypeVar("T")

# How long to wait for others who are in the way, in seconds.
PATIENCE = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.5
# Neither the caller's generator, nor one that forked processes share.
_random = SystemRandom()


class KeptStore(ABC):
    """A store in a database; see `stc.stores.protocol.Store`."""

    def __init__(self, url: str, closed: Callable[[], object] = lambda: None) -> None:
        self.shown = shown_url(url)
        self._when_closed = closed

    def __repr__(self) -> str:
        return f"<store {self.shown}>"

    @abstractmethod
    def reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one consistent state and changes nothing."""

    @abstractmethod
    def writing(self, key: bytes) -> AbstractContextManager[Session]:
        """A transaction that no other writer of the model overlaps."""

    @abstractmethod
    def guarded(self) -> AbstractContextManager[None]:
        """Say in words what a database says; never pass on its text, which may hold anything."""

    def there(self) -> bool:
        """Whether there is anything to read at all."""
        return True

    @abstractmethod
    def release(self) -> None:
        """Let go of files and connections."""

    def version(self, name: str) -> int | None:
        """A number that grows with every change of a model; None if there is no such name."""
        row = self._ask(name, lambda session: session.find(key_of(name)), None)
        return row.version if row else None

    def header(self, name: str) -> dict[str, Any] | None:
        """Only the header of a model; None if there is none."""
        row = self._ask(name, lambda session: session.find(key_of(name)), None)
        return json.loads(row.header) if row and row.header is not None else None

    def read(self, name: str) -> tuple[int, Archive | None] | None:
        """A model and its version, in one consistent state; None if there is no such name."""

        def whole(session: Session) -> tuple[int, Archive | None] | None:
            row = session.find(key_of(name))
            if row is None:
                return None
            if row.header is None:
                return row.version, None
            return row.version, Archive(json.loads(row.header), session.entries(row.model))

        return self._ask(name, whole, None)

    def names(self) -> list[str]:
        """Names of the models, sorted."""
        nothing: list[str] = []
        return sorted(self._ask("", lambda session: session.names(), nothing))

    def write(self, name: str, work: Callable[[Writing], T]) -> T:
        """Do some work in a transaction, again and again while others are in the way."""
        return self._change(name, work)

    def remove(self, name: str) -> None:
        """Remove a model and its ledger; nothing happens if there is none."""
        if self.version(name) is not None:
            self._change(name, Transaction.remove)

    def close(self) -> None:
        """Let go of files and connections; they are taken up again when they are needed."""
        self._when_closed()
        self.release()

    def trouble(self, cause: str) -> StoreError:
        """An error that says which store it is and what is wrong."""
        return StoreError(f"The store {self.shown} {cause}")

    def conflict(self, cause: str) -> StoreConflictError:
        """The same for what may go well the next time."""
        return StoreConflictError(f"The store {self.shown} {cause}")

    def _ask(self, name: str, question: Callable[[Session], T], nothing: T) -> T:
        check_text(name, "the name")

        def attempt() -> T:
            if not self.there():
                return nothing
            with self.reading() as session:
                return question(session)

        return patiently(attempt)

    def _change(self, name: str, work: Callable[[Transaction], T]) -> T:
        check_text(name, "the name")

        def attempt() -> T:
            with self.writing(key_of(name)) as session:
                transaction = Transaction(session, name)
                answer = work(transaction)
                transaction.finish()
                return answer

        return patiently(attempt)


class Guarded:
    """A transaction that says failures in words, and commits nothing after one."""

    def __init__(self, store: KeptStore) -> None:
        self._guard = store
        self._failure: StoreError | None = None

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Say failures in words, and remember them, should the work keep one to itself."""
        try:
            with self._guard.guarded():
                yield
        except StoreError as error:
            self._failure = error
            raise

    def refuse_failed(self) -> None:
        """Refuse to commit after a failure."""
        if self._failure is not None:
            raise self._failure


def patiently(attempt: Callable[[], T]) -> T:
    """Try until no one is in the way, or patience ends."""
    end, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
    while True:
        try:
            return attempt()
        except StoreConflictError as conflict:
            if time.monotonic() > end:
                raise StoreError(f"{conflict}; it stayed so for {PATIENCE:.0f} s") from None
        time.sleep(_random.uniform(0, pause))
        pause = min(2 * pause, _LONGEST_PAUSE)
