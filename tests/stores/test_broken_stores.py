"""Damaged stores in files: each is refused in words that name the damage, at once."""

from __future__ import annotations

import pytest

from support.broken_stores import file_places, run
from support.damaged_stores import DAMAGES


@pytest.mark.parametrize("times", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused(times: int) -> None:
    with file_places() as places:
        # The command measures the second in which a store is refused; here others may be busy.
        report = run(places, times, seed=times, seconds=15)
    assert report.failures == []
    assert sum(outcome.refused for outcome in report.outcomes.values()) == times


def test_each_damage_has_a_name_of_its_own() -> None:
    assert len({way.name for way in DAMAGES}) == len(DAMAGES) > 40
