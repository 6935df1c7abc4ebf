"""Errors of a command: one line on the standard error, and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from stc.cli.output import Output, printable
from stc.cli.urls import without_secrets
from stc.exceptions import HardlyCategoricalWarning, ModelNotFoundError, StcError, StoreError

# The exit codes, as listed by `stc --help` and docs/cli.md.
UNEXPECTED, USAGE, FILE, DATA, MODEL, NOT_INSTALLED, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
# What is said of Ctrl-C.
INTERRUPTED_MESSAGE = "interrupted; every file is as it was"
# Longest message, which may quote a cell of any size.
_MAX_LENGTH = 2000


class CommandError(Exception):
    """An error that ends a command.

    Parameters
    ----------
    message
        One line; empty: nothing is shown.
    code
        The exit code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def exit_code(work: Callable[[], int], output: Output, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; errors are shown in one line, without secrets."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_, **__: output.note(_note(message))
            return work()
    except SystemExit:
        raise
    except BaseException as error:
        if output.debug:
            trace = without_secrets(traceback.format_exc(), arguments)
            print(printable(trace, "\n"), end="", file=sys.stderr)
        message, code = _described(error)
        message = without_secrets(message, arguments)
        if message:
            more = "..." if len(message) > _MAX_LENGTH else ""
            print(f"stc: {printable(message[:_MAX_LENGTH])}{more}", file=sys.stderr)
        return code


def _described(error: BaseException) -> tuple[str, int]:
    """Return the line to show for an error, and the exit code."""
    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED_MESSAGE, INTERRUPTED
    if hasattr(error, "format_message"):  # typer's, about the command line
        message = one_line(error.format_message()).replace("Value error, ", "").rstrip(".")
        return f"{message}{_help_for(error)}" if message else "", USAGE
    if isinstance(error, ImportError):
        return one_line(str(error)), NOT_INSTALLED
    if isinstance(error, OSError):
        return file_message(error), FILE
    if isinstance(error, StoreError):
        return one_line(str(error)), MODEL if isinstance(error, ModelNotFoundError) else FILE
    if isinstance(error, StcError):
        return one_line(str(error)), DATA
    kind = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{one_line(kind)}; this should not happen: --debug shows where it did", UNEXPECTED


def file_message(error: OSError) -> str:
    """Return what the operating system says of a file."""
    if isinstance(error, StcError):
        return one_line(str(error))
    if error.filename is None:
        return one_line(error.strerror or str(error))
    return one_line(f"{os.fsdecode(error.filename)}: {error.strerror or 'cannot be used'}")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Name the output file in errors of a disk that is full or gone."""
    import polars as pl

    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, pl.exceptions.PolarsError) as error:  # polars gives no error number
        number = getattr(error, "errno", None)
        message = os.strerror(number) if number else one_line(str(error))
        raise CommandError(f"{path}: {message}", FILE) from error


def one_line(text: str) -> str:
    """Return the text in one line."""
    return " ".join(text.split())


def _help_for(error: Any) -> str:
    """Return where the help of the command is."""
    context = getattr(error, "ctx", None)
    return f"; see {context.command_path} --help" if context else "; see stc --help"


def _note(message: Warning | str) -> str:
    """Return a warning as a note; hints name options instead of parameters."""
    text = str(message)
    if isinstance(message, HardlyCategoricalWarning):
        columns = ", ".join(map(repr, message.columns))
        text = (
            f"nearly every value of column {columns} is distinct: numbers like these are hardly "
            "categories; name it with --continuous"
        )
    return f"stc: note: {one_line(text)}"
