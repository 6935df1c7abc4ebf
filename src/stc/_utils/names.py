"""Names of columns, of which there may be many thousands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Name = TypeVar("Name")


def first_repeated(names: Iterable[Name]) -> Name | None:
    """Return the first name that comes a second time, or None."""
    seen: set[Name] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
