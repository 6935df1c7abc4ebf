"""The command line `stc`: arguments in, text out."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from stc._utils.optional import optional

# Exit code if a package is not installed.
_NOT_INSTALLED = 6
# Exit code of Ctrl-C.
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        What stands after `stc`. None: what the shell gave.

    Returns
    -------
    int
        The exit code: 0 if all is well; see `stc --help` for the others.

    Examples
    --------
    >>> from stc.cli import main
    >>> main(["demo"])  # doctest: +ELLIPSIS
    Zoo: 101 animals, 16 attributes, 7 classes...
    0
    """
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while modules are imported; later, the command handles it
        print("stc: interrupted; every file is as it was", file=sys.stderr)
        return _INTERRUPTED


def _run(arguments: Sequence[str] | None) -> int:
    try:
        for package in ("typer", "rich"):
            optional(package, "cli", "the command stc")
    except ImportError as error:
        print(f"stc: {error}", file=sys.stderr)
        return _NOT_INSTALLED
    from stc.cli.app import run

    return run(arguments)
