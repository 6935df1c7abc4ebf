"""How a command talks: results to the standard output, everything else to the standard error."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any


@dataclass
class Desk:
    """How a command talks.

    Attributes
    ----------
    quiet
        Whether only results and errors are shown.
    json
        Whether results are for machines.
    debug
        Whether an error shows its traceback.
    """

    quiet: bool = False
    json: bool = False
    debug: bool = False

    def say(self, text: str) -> None:
        """Tell how it goes."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def done(self, facts: dict[str, Any], text: str) -> None:
        """Tell what was done: a machine its facts, a person in words."""
        if self.json:
            self.result(facts)
        else:
            self.say(text)

    def result(self, facts: Any) -> None:
        """Write a result for a machine."""
        unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
        told = json.dumps(facts, ensure_ascii=not unicode, allow_nan=False, indent=1, default=str)
        print(told)

    def progress(self) -> AbstractContextManager[Any]:
        """Within it, a progress bar is shown only if it is welcome."""
        from stc._utils import progress

        return progress.quiet() if self.quiet else nullcontext()
