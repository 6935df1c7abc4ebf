"""What goes wrong, in one line on the standard error, with an exit code of its own."""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from stc.cli.desk import Desk

# The exit codes, as `stc --help` and docs/cli.md tell them.
UNEXPECTED, USAGE, FILE, DATA, MODEL, NOT_INSTALLED, INTERRUPTED = 1, 2, 3, 4, 5, 6, 130
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
# What ends a command as Ctrl-C does; its exit code is the number of the signal and this, as in
# every shell.
_SIGNALS = ("SIGTERM", "SIGHUP")
_OF_SIGNAL = 128
# Signs of a message, which may quote a cell of any size.
_LONGEST = 2000


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


class Ended(KeyboardInterrupt):
    """A signal to end came: the same as Ctrl-C, but for the exit code."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def outcome(work: Callable[[], int], desk: Desk) -> int:
    """Run a command; its exit code, whatever happens."""
    with streams_that_take_all(), ended_by_signals():
        return _outcome(work, desk)


def _outcome(work: Callable[[], int], desk: Desk) -> int:
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
            more = "..." if len(message) > _LONGEST else ""
            print(f"stc: {message[:_LONGEST]}{more}", file=sys.stderr)
        return code


@contextmanager
def streams_that_take_all() -> Iterator[None]:
    """Within it, one can print: to nowhere if a stream is closed, with ? for signs it lacks."""
    with ExitStack() as stack:
        for name, redirect in (("stdout", redirect_stdout), ("stderr", redirect_stderr)):
            stream = getattr(sys, name)
            if stream is None:
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirect(nowhere))
            elif hasattr(stream, "reconfigure") and stream.errors in ("strict", "surrogateescape"):
                stack.callback(_restore, stream, stream.errors)
                stream.reconfigure(errors="replace")
        yield


def _restore(stream: Any, errors: str) -> None:
    """Let a stream be as it was; what it cannot write must not fail again at the very end."""
    if not _written(stream):
        _write_no_more(stream)
    stream.reconfigure(errors=errors)


def _written(stream: Any) -> bool:
    """Whether a stream takes what was printed to it."""
    try:
        stream.flush()
    except OSError:
        return False
    return True


def _write_no_more(stream: Any) -> None:
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within it, SIGTERM and SIGHUP end a command as Ctrl-C does: it tidies up first."""

    def end(number: int, _: Any) -> None:
        raise Ended(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    with ExitStack() as stack:
        stack.enter_context(_rung())
        for number in numbers:
            # Who ignores one, as nohup does, has a reason.
            if signal.getsignal(number) is not signal.SIG_IGN:
                stack.callback(signal.signal, number, signal.signal(number, end))
        yield


# What a signal writes to, at once; there is none, or one.
_bells: list[socket.socket] = []


@contextmanager
def _rung() -> Iterator[None]:
    """Within it, threads learn of a signal: Python tells the main one, when that has time."""
    bell, rope = socket.socketpair()
    with bell, rope:
        rope.setblocking(False)
        before = signal.set_wakeup_fd(rope.fileno(), warn_on_full_buffer=False)
        _bells.append(bell)
        try:
            yield
        finally:
            _bells.remove(bell)
            signal.set_wakeup_fd(before)


def stop_if_signalled() -> None:
    """Stop work in a thread for which the main thread waits, if a signal came."""
    if _bells and select.select(_bells, [], [], 0)[0]:
        raise RuntimeError("ended by a signal")


@contextmanager
def quietly_ended() -> Iterator[None]:
    """Turn what ends a command from outside into a failure, before typer has its own way."""
    try:
        with _flushed():
            yield
    except Ended as error:
        raise CommandError("ended; every file is as it was", _OF_SIGNAL + error.number) from error
    except KeyboardInterrupt as error:
        raise CommandError("interrupted; every file is as it was", INTERRUPTED) from error
    except BrokenPipeError as error:  # as of `| head`: nobody reads any more, and all is well
        _write_no_more(sys.stdout)
        raise CommandError("", 0) from error
    except OSError as error:
        if error.filename is not None or _written(sys.stdout):
            raise
        raise CommandError(f"standard output: {of_file(error)}", FILE) from error
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # the same, as rich has it
            raise CommandError("", 0) from error
        raise


@contextmanager
def _flushed() -> Iterator[None]:
    """What was printed within it is written at its end, also if that is the end of a help."""
    from typer import Exit

    try:
        yield
    except Exit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()


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
