"""Threads for work that releases the interpreter lock (polars, SciPy, NumPy)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Task = TypeVar("Task")
Result = TypeVar("Result")


def cores() -> int:
    """Number of cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every platform can tell
        return os.cpu_count() or 1


def threaded(
    function: Callable[[Task], Result], tasks: Iterable[Task], *, worthwhile: bool = True
) -> list[Result]:
    """Map `function` over `tasks`, in threads where that is `worthwhile`; order is kept.

    Tasks that are made one by one are made here, while threads work on those before.
    """
    if isinstance(tasks, Sequence) and len(tasks) < 2:
        worthwhile = False
    if not worthwhile or cores() < 2:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(cores()) as pool:
        return list(pool.map(function, tasks))


def ahead(items: Iterable[Result]) -> Iterator[Result]:
    """The same items, each made in a thread while the one before is worked on."""
    making = iter(items)
    over = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, making, over)
        while (item := coming.result()) is not over:
            coming = pool.submit(next, making, over)
            yield cast(Result, item)
