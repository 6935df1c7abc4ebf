"""Signals and closed pipes: a command that is ended from outside leaves every file as it was."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from stc.cli.errors import FILE, INTERRUPTED, INTERRUPTED_MESSAGE, CommandError, file_message

# Signals that end a command as Ctrl-C does. The exit code is their number and this, as in a shell.
_SIGNALS = ("SIGTERM", "SIGHUP")
_SIGNAL_CODE = 128


class SignalReceived(KeyboardInterrupt):
    """A signal to end came: the same as Ctrl-C, but for the exit code."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def robust_streams() -> Iterator[None]:
    """Let anything be printed: to nowhere if a stream is closed, with ? for missing characters."""
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
    """Restore a stream; what it cannot write must not fail again when Python exits."""
    if not _flushed(stream):
        _discard(stream)
    stream.reconfigure(errors=errors)


def _flushed(stream: Any) -> bool:
    """Flush a stream; return whether that worked."""
    try:
        stream.flush()
    except OSError:
        return False
    return True


def _discard(stream: Any) -> None:
    """Send whatever is still written to a stream to nowhere."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def signals_raise() -> Iterator[None]:
    """Raise SignalReceived for SIGTERM and SIGHUP, so that a command tidies up first."""

    def end(number: int, _: Any) -> None:
        raise SignalReceived(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    with ExitStack() as stack:
        stack.enter_context(_wakeup_socket())
        for number in numbers:
            # Who ignores one, as nohup does, has a reason.
            if signal.getsignal(number) is not signal.SIG_IGN:
                stack.callback(signal.signal, number, signal.signal(number, end))
        yield


# Readable as soon as a signal came; there is none, or one.
_wakeup: list[socket.socket] = []


@contextmanager
def _wakeup_socket() -> Iterator[None]:
    """Let threads see a signal, which Python handles in the main thread when that has time."""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        _wakeup.append(reader)
        try:
            yield
        finally:
            _wakeup.remove(reader)
            signal.set_wakeup_fd(before)


def stop_if_signalled() -> None:
    """Stop work in a thread that the main thread waits for, if a signal came."""
    if _wakeup and select.select(_wakeup, [], [], 0)[0]:
        raise RuntimeError("ended by a signal")


@contextmanager
def endings_as_errors() -> Iterator[None]:
    """Turn what ends a command from outside into a CommandError, before typer handles it."""
    try:
        with _flush_at_exit():
            yield
    except SignalReceived as error:
        code = _SIGNAL_CODE + error.number
        raise CommandError("ended; every file is as it was", code) from error
    except KeyboardInterrupt as error:
        raise CommandError(INTERRUPTED_MESSAGE, INTERRUPTED) from error
    except BrokenPipeError as error:  # `| head` reads no more, and that is no error
        _discard(sys.stdout)
        raise CommandError("", 0) from error
    except OSError as error:
        if error.filename is not None or _flushed(sys.stdout):
            raise
        raise CommandError(f"standard output: {file_message(error)}", FILE) from error
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # the same, raised by rich
            raise CommandError("", 0) from error
        raise


@contextmanager
def _flush_at_exit() -> Iterator[None]:
    """Flush the standard output at the end, also if that is the end of a help page."""
    from typer import Exit

    try:
        yield
    except Exit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
