"""Forked processes: polars' threads, which a forked child does not have."""

from __future__ import annotations

import os
import sys
from threading import RLock
from typing import Any
from weakref import WeakSet

from stc.exceptions import ForkedProcessError

# The threads of a process by name, where the system tells (Linux).
_THREADS = "/proc/self/task"
_HINT = (
    "start the processes by multiprocessing.get_context('spawn') or 'forkserver', or fork before "
    "polars is used"
)
# Whether polars' threads ran before the last fork, and whether this process lacks them.
_running = False
_lost = False
# Locks that threads of the parent may hold, which a child does not have either.
_locks: WeakSet[Any] = WeakSet()


def pool_is_lost() -> bool:
    """Return whether polars' threads ran when this process was forked.

    They are not copied, and polars waits for them forever.
    """
    return _lost


def refuse_without_pool() -> None:
    """Raise an error where polars would wait forever for its threads."""
    if _lost:
        raise ForkedProcessError(
            "polars' threads were not copied when this process was forked, and it would wait for "
            "them forever",
            hint=_HINT,
        )


def new_lock() -> RLock:
    """Return a lock that is free in a forked child, whatever thread of the parent holds it."""
    lock = RLock()
    _locks.add(lock)
    return lock


def _pool_runs() -> bool:
    """Return whether polars' threads run; where the system does not tell, whether they may."""
    if "polars" not in sys.modules:
        return False
    try:
        threads = os.listdir(_THREADS)
    except OSError:
        return True
    return any(map(_is_of_pool, threads))


def _is_of_pool(thread: str) -> bool:
    try:
        with open(f"{_THREADS}/{thread}/comm", encoding="ascii", errors="replace") as file:
            name = file.read().strip()
    except OSError:  # it has ended
        return False
    return name.startswith("polars-") and name.removeprefix("polars-").isdigit()


def _before() -> None:
    global _running
    _running = _pool_runs()


def _after() -> None:
    global _lost
    _lost = _lost or _running
    for lock in _locks:
        lock._at_fork_reinit()  # as the standard library does with its own


def _is_forked() -> bool:
    """Return whether this process was forked by multiprocessing."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and type(process.current_process()).__name__ == "ForkProcess"


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(before=_before, after_in_child=_after)
    # Where the parent had not imported stc, whether it had used polars is not known.
    _lost = _is_forked() and "polars" in sys.modules and not _pool_runs()
