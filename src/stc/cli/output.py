"""Where a command writes: results to the standard output, notes to the standard error."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any


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
            print(text, file=sys.stderr)

    def done(self, facts: dict[str, Any], text: str) -> None:
        """Report what was done: as JSON, or as a note."""
        if self.json:
            self.result(facts)
        else:
            self.note(text)

    def result(self, facts: Any) -> None:
        """Write a result as JSON."""
        unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        print(json.dumps(facts, ensure_ascii=not unicode, allow_nan=False, indent=1, default=str))

    def progress(self) -> AbstractContextManager[Any]:
        """Show progress bars within the context, unless notes are not wanted."""
        from stc._utils import progress

        if self.quiet:
            return progress.quiet()
        from stc.cli.progress import RichProgress

        return progress.rendered_by(RichProgress)
