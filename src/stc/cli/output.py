"""Where a command writes: results to the standard output, notes to the standard error."""

from __future__ import annotations

import json
import re
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

# Characters that JSON may hold as they are, and terminals do not show.
_HIDDEN = re.compile(r"[^\x20-\x7e\n]")


def printable(text: str, kept: str = "") -> str:
    """Return a text with spaces for control characters and others that show nothing."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in kept else " " for sign in text)


def write_text(text: str) -> None:
    """Write data to the standard output: as it is to a file or pipe, printable to a terminal."""
    if sys.stdout.isatty():
        text = printable(text, "\t\n")
    # As bytes: a stream that lacks a character must not change a name in the data.
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _escaped(sign: re.Match[str]) -> str:
    return sign[0] if sign[0].isprintable() else json.dumps(sign[0])[1:-1]


@dataclass
class Output:
    """Writes results and notes.

    Attributes
    ----------
    quiet
        Whether only results and errors are shown.
    json
        Whether results are written as JSON.
    debug
        Whether an error shows its traceback.
    """

    quiet: bool = False
    json: bool = False
    debug: bool = False

    def note(self, text: str) -> None:
        """Write a note to the standard error."""
        if not self.quiet:
            print(printable(text, "\n"), file=sys.stderr)

    def done(self, facts: dict[str, Any], text: str) -> None:
        """Report what was done: as JSON, or as a note."""
        if self.json:
            self.result(facts)
        else:
            self.note(text)

    def result(self, facts: Any) -> None:
        """Write a result as JSON."""
        unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        text = json.dumps(facts, ensure_ascii=not unicode, allow_nan=False, indent=1, default=str)
        print(_HIDDEN.sub(_escaped, text))

    def progress(self) -> AbstractContextManager[Any]:
        """Show progress bars within the context, unless notes are not wanted."""
        from stc._utils import progress

        if self.quiet:
            return progress.quiet()
        from stc.cli.progress import RichProgress

        return progress.rendered_by(RichProgress)
