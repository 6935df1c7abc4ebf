"""Cases of which some are slow: quick ones stand for them where time is short."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_but(names: Iterable[str], quick: Collection[str]) -> list[Any]:
    """The names to parametrize by, of which all but the quick ones are marked slow."""
    every = list(names)
    assert set(quick) <= set(every), "a quick case that there is not"
    return [own if own in quick else pytest.param(own, marks=pytest.mark.slow) for own in every]


def slow_values(cases: dict[str, Any], quick: Collection[str]) -> list[Any]:
    """The values to parametrize by, with their names, of which all but the quick ones are slow."""
    assert set(quick) <= set(cases), "a quick case that there is not"
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if name in quick else pytest.mark.slow,
            id=name,
        )
        for name, case in cases.items()
    ]
