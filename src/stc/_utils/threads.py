"""Threads for work that releases the interpreter lock (polars, SciPy, NumPy)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every platform
        return os.cpu_count() or 1


def thread_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, worthwhile: bool = True
) -> list[Result]:
    """Return the results of `function` for `tasks`, in their order.

    Threads are used if that is `worthwhile`. Tasks of an iterator are made in this thread, while
    the others work on earlier tasks.
    """
    if isinstance(tasks, Sequence) and len(tasks) < 2:
        worthwhile = False
    if not worthwhile or cores() < 2:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(function, tasks))


def prefetch(items: Iterable[Result]) -> Iterator[Result]:
    """Yield the same items; a thread makes the next item while the caller uses the current one."""
    iterator = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, iterator, end)
        while (item := future.result()) is not end:
            future = pool.submit(next, iterator, end)
            yield cast(Result, item)
