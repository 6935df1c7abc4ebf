"""Progress bars of the command, drawn by rich."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


class RichProgress:
    """Renderer of the progress of one piece of work: title, bar and text.

    Parameters
    ----------
    title
        What is being done.
    """

    def __init__(self, title: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[text]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._progress.start()
        self._task = self._progress.add_task(title, total=None, text="")

    def draw(self, done: int, total: int | None, text: str) -> None:
        """Show that `done` of `total` (None: unknown) steps are done."""
        self._progress.update(self._task, completed=done, total=total, text=text, refresh=True)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.stop()
