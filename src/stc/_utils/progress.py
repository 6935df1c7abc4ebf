"""Progress of long work, reported to a renderer: by default one line on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Protocol, Self

# Seconds before progress is first shown, and between two updates.
_DELAY = 0.5
_PAUSE = 0.1
_BAR_WIDTH = 20


class Renderer(Protocol):
    """Shows the progress of one piece of work."""

    def draw(self, done: int, total: int | None, text: str) -> None:
        """Show that `done` of `total` (None: unknown) steps are done; `text` says it in words."""

    def close(self) -> None:
        """Remove what is shown. It is called once, at the end, if anything was drawn."""


class Line:
    """Renderer of one line on standard error, redrawn in place and erased at the end."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._width = 0

    def draw(self, done: int, total: int | None, text: str) -> None:
        """Draw the title, a bar if the total is known, and the text."""
        bar = ""
        if total is not None:
            filled = min(_BAR_WIDTH * done // max(total, 1), _BAR_WIDTH)
            bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] "
        line = f"{self._title} {bar}{text}"
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)

    def close(self) -> None:
        """Erase the line."""
        sys.stderr.write("\r" + " " * self._width + "\r")
        sys.stderr.flush()


# Makes the renderer of a piece of work from its title; None: nothing is shown.
_factory: Callable[[str], Renderer] | None = Line


@contextmanager
def rendered_by(factory: Callable[[str], Renderer] | None) -> Iterator[None]:
    """Show progress with another renderer inside of the context; None: show nothing."""
    global _factory
    before, _factory = _factory, factory
    try:
        yield
    finally:
        _factory = before


def quiet() -> AbstractContextManager[None]:
    """Return a context in which no progress is shown."""
    return rendered_by(None)


class Progress:
    """Progress of one piece of work, passed on to the current renderer at most every 0.1 s.

    Parameters
    ----------
    title
        What is being done.
    shown
        Whether to show the progress; None: if standard error is a terminal, after 0.5 s.
    """

    def __init__(self, title: str, shown: bool | None = None) -> None:
        self._title = title
        self._factory = _factory if (sys.stderr.isatty() if shown is None else shown) else None
        self._renderer: Renderer | None = None
        self._start = time.monotonic()
        self._next = self._start + (0.0 if shown else _DELAY)

    def __enter__(self) -> Self:
        return self

    @property
    def due(self) -> bool:
        """Whether an update would be shown now."""
        return self._factory is not None and time.monotonic() >= self._next

    def update(self, done: int, total: int, text: str) -> None:
        """Report that `done` of `total` steps are done."""
        if self.due:
            self._draw(done, total, f"{done}/{total} {text}")

    def flow(self, done: int, what: str, total: int | None = None) -> None:
        """Report the number of things done; the rate and the time left are added."""
        if not self.due:
            return
        rate = done / max(time.monotonic() - self._start, 1e-9)
        text = f"{done:,} {what}, {rate:,.0f}/s"
        if not total or done > total:
            self._draw(done, None, text)
            return
        left = timedelta(seconds=round((total - done) / max(rate, 1e-9)))
        self._draw(done, total, f"{text}, {left} left")

    def _draw(self, done: int, total: int | None, text: str) -> None:
        self._next = time.monotonic() + _PAUSE
        if self._renderer is None and self._factory is not None:
            self._renderer = self._factory(self._title)
        if self._renderer is not None:
            self._renderer.draw(done, total, text)

    def __exit__(self, *error: object) -> None:
        if self._renderer is not None:
            self._renderer.close()
