"""Counting in DuckDB: the same corpus as in memory, whatever the columns are called."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

from stc.sources.duckdb import group_counts
from stc.sources.protocol import COUNT, MASS, GroupPlan
from support.conformance import corpus
from support.models import paper_model

FRAME = pl.DataFrame(
    {
        "a.b": ["x", None, "y", "x"],
        'say "c"': [1, 2, 2, None],
        "%(d)s": ["u", "u", "v", "v"],
        "class": ["p", "q", "p", "q"],
        "weight": [1.0, 0.5, 0.0, 2.0],
    }
)
PLAN = GroupPlan((("a.b", 'say "c"'), ("%(d)s",)), ("class",), None, category=False)


def counted(plan: GroupPlan, frame: pl.DataFrame = FRAME) -> Any:
    return group_counts(duckdb.from_arrow(frame.to_arrow()), plan)


def test_items_are_divided_by_their_number_of_values() -> None:
    found = counted(PLAN)
    assert sorted(found.classes.rows()) == [("p", 2, 2), ("q", 2, 2)]
    assert found.columns[0, "a.b"].columns == ["a.b", "class", COUNT, MASS]
    assert sorted(found.columns[0, "a.b"].rows()) == [
        ("x", "p", 1, 0.5),
        ("x", "q", 1, 1.0),
        ("y", "p", 1, 0.5),
    ]
    assert {mass for *_, mass in found.columns[1, "%(d)s"].rows()} == {1.0}


def test_weights_and_missing_values_as_a_category() -> None:
    found = counted(PLAN._replace(weight="weight", category=True))
    assert sorted(found.classes.rows()) == [("p", 1, 1.0), ("q", 2, 2.5)]
    assert found.columns[0, "a.b"].sort(MASS).rows() == [
        (None, "q", 1, 0.25),
        ("x", "p", 1, 0.5),
        ("x", "q", 1, 1.0),
    ]


@pytest.mark.parametrize("bad", [None, -1.0, float("nan"), float("inf")])
def test_bad_rows_are_left_to_the_kernel(bad: float | None) -> None:
    weights = FRAME.with_columns(weight=pl.Series([1.0, bad, 1.0, 1.0]))
    assert counted(PLAN._replace(weight="weight"), weights) is None
    labels = FRAME.with_columns(pl.Series("class", ["p", None, "p", "q"]))
    assert counted(PLAN, labels) is None


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_the_same_corpus_as_in_memory(weight: str | None, missing: str) -> None:
    frame = FRAME if weight else FRAME.drop("weight")
    models = [
        paper_model(missing=missing).fit(data, "class", weight)
        for data in (frame, duckdb.from_arrow(frame.to_arrow()))
    ]
    assert corpus(models[0]) == corpus(models[1])
