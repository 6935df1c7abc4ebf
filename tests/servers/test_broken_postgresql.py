"""Damaged stores in PostgreSQL: each is refused in words that name the damage, at once."""

from __future__ import annotations

from support.broken_stores import run
from support.damaged_stores import Schemas
from support.postgresql import Server


def test_damaged_schemas_are_refused(postgresql_server: Server) -> None:
    report = run([Schemas(postgresql_server.new_database())], times=60, seed=60, seconds=15)
    assert report.failures == []
    assert sum(outcome.refused for outcome in report.outcomes.values()) == 60
