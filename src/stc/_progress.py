"""A progress line on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

# Work that is over sooner shows nothing, and a line is not drawn more often than this (seconds).
_PATIENCE = 0.5
_PAUSE = 0.1


class Progress:
    """One line on the standard error, redrawn in place and wiped away at the end.

    Parameters
    ----------
    title
        What is going on.
    shown
        Whether to show it at all; None: only if the standard error is a terminal.
    """

    def __init__(self, title: str, shown: bool | None = None) -> None:
        self._title = title
        self._shown = sys.stderr.isatty() if shown is None else shown
        # Asked for, it is there at once.
        self._next = time.monotonic() + (0.0 if shown else _PATIENCE)
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def update(self, done: int, total: int, text: str) -> None:
        """Draw how far it is: `done` of `total`, and what there is to say."""
        if not self._shown or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _PAUSE
        full = 20 * done // max(total, 1)
        bar = "#" * full + "." * (20 - full)
        self._draw(f"{self._title} [{bar}] {done}/{total} {text}")

    def count(self, done: int, what: str) -> None:
        """Draw how much is done, where nobody knows how much there is."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + _PAUSE
            self._draw(f"{self._title} {done:,} {what}")

    def _draw(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._width:
            self._draw("")
            sys.stderr.write("\r")
            sys.stderr.flush()
