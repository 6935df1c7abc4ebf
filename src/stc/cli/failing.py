"""What goes wrong, in one line on the standard error, with an exit code of its own."""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stc.cli.desk import Desk

# The exit codes, as `stc --help` and docs/cli.md tell them.
UNEXPECTED, USAGE, FILE, DATA, MODEL, NOT_INSTALLED, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


class CommandError(Exception):
    """What a user is told, and the exit code.

    Parameters
    ----------
    message
        One line; empty: nothing is said.
    code
        The exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def outcome(work: Callable[[], int], desk: Desk) -> int:
    """Run a command; its exit code, whatever happens."""
    try:
        with warnings.catch_warnings():
            # Ours are meant to be read; others show up as everywhere.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: desk.say(_note(message))
            return work()
    except SystemExit:
        raise
    except BaseException as error:
        if desk.debug:
            traceback.print_exc()
        message, code = told(error)
        if message:
            print(f"stc: {message}", file=sys.stderr)
        return code


@contextmanager
def quietly_ended() -> Iterator[None]:
    """Turn what ends a command from outside into a failure, before typer has its own way."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        raise CommandError("interrupted; every file is as it was", INTERRUPTED) from error
    except BrokenPipeError as error:  # as of `| head`: nobody reads any more, and all is well
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise CommandError("", 0) from error


def told(error: BaseException) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if isinstance(error, CommandError):
        return str(error), error.code
    if hasattr(error, "format_message"):  # typer's, about the command line
        words = one_line(error.format_message()).replace("Value error, ", "").rstrip(".")
        return f"{words}{_help_for(error)}" if words else "", USAGE
    if isinstance(error, ImportError):
        return one_line(str(error)), NOT_INSTALLED
    if isinstance(error, OSError):
        return of_file(error), FILE
    kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{one_line(kind)}; this should not happen: --debug shows where it did", UNEXPECTED


def of_file(error: OSError) -> str:
    """What the system says of a file."""
    if error.filename is None:
        return one_line(error.strerror or str(error))
    return one_line(f"{os.fsdecode(error.filename)}: {error.strerror or 'cannot be used'}")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Within it, a disk that is full or gone is told by the file that was to be written."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        found = _OS_ERROR.search(str(error))  # as polars tells it
        number = int(found[1]) if found else getattr(error, "errno", None)
        if number is None or isinstance(error, BrokenPipeError):
            raise
        raise CommandError(f"{path}: {os.strerror(number)}", FILE) from error


def one_line(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


def _help_for(error: Any) -> str:
    """Where the help is, for the command at hand."""
    context = getattr(error, "ctx", None)
    return f"; see {context.command_path} --help" if context else "; see stc --help"


def _note(message: Warning | str) -> str:
    """A warning of the library as a note; its hints are for Python, ours for the shell."""
    text = str(message).replace("name it in continuous=[...]", "name it with --continuous")
    return f"stc: note: {one_line(text)}"
