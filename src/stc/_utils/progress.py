"""A progress line on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

# Work that is over sooner shows nothing, and a line is not drawn more often than this (seconds).
_PATIENCE = 0.5
_PAUSE = 0.1
_BAR = 20

_silenced = False


@contextmanager
def quiet() -> Iterator[None]:
    """Show no progress meanwhile, not even on a terminal."""
    global _silenced
    before, _silenced = _silenced, True
    try:
        yield
    finally:
        _silenced = before


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
        self._shown = not _silenced and (sys.stderr.isatty() if shown is None else shown)
        self._start = time.monotonic()
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
        self._draw(f"{self._title} {_bar(done, total)} {done}/{total} {text}")

    @property
    def due(self) -> bool:
        """Whether the line would be drawn now."""
        return self._shown and time.monotonic() >= self._next

    def flow(self, done: int, what: str, total: int | None = None) -> None:
        """Draw how much is done, how fast it goes and, if anybody knows, for how long still."""
        if not self.due:
            return
        self._next = time.monotonic() + _PAUSE
        rate = done / max(time.monotonic() - self._start, 1e-9)
        told = f"{done:,} {what}, {rate:,.0f}/s"
        if not total or done > total:
            self._draw(f"{self._title} {told}")
            return
        left = (total - done) / max(rate, 1e-9)
        self._draw(f"{self._title} {_bar(done, total)} {told}, {_span(left)} left")

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


def _bar(done: int, total: int) -> str:
    full = min(_BAR * done // max(total, 1), _BAR)
    return f"[{'#' * full}{'.' * (_BAR - full)}]"


def _span(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
