"""Many small batches are one fit."""

from __future__ import annotations

import random
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import stc
from support.conformance import assert_same, corpus
from support.models import paper_model

DAY = date(2026, 1, 1)
CELLS: dict[str, tuple[Any, list[Any]]] = {
    "text": (pl.String, ["x", "y", "é", "'\"", "1", "🙂", "a,b", " x"]),
    "whole": (pl.Int64, [0, 1, -5, 10**12]),
    "truth": (pl.Boolean, [True, False]),
    "day": (pl.Date, [DAY + timedelta(days=k) for k in range(4)]),
    "moment": (pl.Datetime("us"), [datetime(2026, 1, 1, k) for k in range(4)]),
    "price": (pl.Decimal(10, 2), [Decimal("1.10"), Decimal("2.00"), Decimal("0")]),
    "number": (pl.Float64, [0.0, 1.0, 2.5, float("nan"), -0.0]),
    "hour": (pl.Time, [time(1), time(2, 3)]),
}


def _column(rng: random.Random, rows: int, kind: str) -> pl.Series:
    """Values of which some appear only in later batches, and the first is always there."""
    dtype, values = CELLS[kind]
    early = values[: max(len(values) // 2, 1)]
    cells = [rng.choice(early if k < rows / 2 else values) for k in range(rows)]
    gaps = [None if k and rng.random() < 0.2 else v for k, v in enumerate(cells)]
    return pl.Series(gaps, dtype=dtype)


def _target(rng: random.Random, rows: int, kind: str) -> pl.Series:
    kinds: dict[str, tuple[list[Any], list[Any]]] = {
        "text": (["p"], ["p", "a much longer class"]),
        "whole": ([3, 1], [2, 10**10]),
        "day": ([DAY], [DAY, DAY + timedelta(days=9)]),
    }
    early, late = kinds[kind]
    return pl.Series([rng.choice(early if k < rows / 2 else late) for k in range(rows)])


def _many(seed: int) -> tuple[pl.DataFrame, list[str]]:
    rng = random.Random(seed)
    rows = rng.randint(15, 40)
    kinds = rng.sample(sorted(CELLS), 3)
    frame = pl.DataFrame({kind: _column(rng, rows, kind) for kind in kinds})
    return frame.with_columns(
        t=_target(rng, rows, rng.choice(["text", "whole", "day"])),
        u=_target(rng, rows, rng.choice(["text", "whole"])),
        w=pl.Series([rng.choice([0.0, 0.5, 1.0, 3.0]) if k else 1.0 for k in range(rows)]),
    ), kinds


def _settings(items: list[str]) -> list[dict[str, Any]]:
    groups = {"one": items[:1], "other": items[1:]}
    return [
        {},
        {"missing": "category"},
        {"dimensions": groups, "policy": [["one"], ["other"]]},
        {"dimensions": "each", "policy": [items[:2], items[:1]]},
        {"interactions": 2},
    ]


@pytest.mark.parametrize("seed", range(10))
def test_small_batches_are_one_fit(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("files", "duckdb"):
        monkeypatch.setattr(f"stc.sources.{module}.BATCH_ROWS", 7)
    monkeypatch.setattr("stc.sources.duckdb.SAMPLE_ROWS", 5)
    frame, items = _many(seed)
    frame.write_parquet(tmp_path / "d.parquet")
    frame.write_ipc(tmp_path / "d.arrow")
    relation = duckdb.connect().from_arrow(frame.to_arrow())
    sources = [tmp_path / "d.parquet", tmp_path / "d.arrow", frame.lazy(), relation]
    params = _settings(items)[seed % 5]
    target: Any = ["t", "u"] if seed % 3 == 0 else "t"
    y = frame.select(target) if seed % 3 == 0 else frame["t"]
    weight = "w" if seed % 2 else None
    weights = frame["w"].to_numpy() if weight else None
    memory = paper_model(**params).fit(frame.select(items), y, weights)
    for own in sources:
        source = stc.source(own, columns=items)
        fitted = paper_model(**params).fit(source, target, weight)
        assert corpus(fitted) == corpus(memory)
        assert str(fitted.classes_) == str(memory.classes_)
        X = frame.select(items)
        assert_same(memory.predict_proba(X), fitted.predict_proba(X))
        fitted.unlearn(source)
        with pytest.raises(NotFittedError):
            fitted.predict(X)


def test_types_of_duckdb_are_those_of_their_arrow() -> None:
    connection = duckdb.connect()
    values = {
        "UUID": ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
        "TIMESTAMPTZ": ["2026-01-01", "2026-01-02"],
        "TIMESTAMP_S": ["2026-01-01", "2026-01-02"],
        "TIME": ["01:00", "02:00"],
    }
    others = ["HUGEINT", "UBIGINT", "TINYINT", "ENUM('1', '2')", "DECIMAL(18, 3)", "VARCHAR"]
    for kind in [*values, *others]:
        first, second = values.get(kind, ["1", "2"])
        relation = connection.sql(
            f"SELECT CAST('{first}' AS {kind}) AS a, 'p' AS class UNION ALL "
            f"SELECT CAST('{second}' AS {kind}), 'q' UNION ALL SELECT NULL, 'q'"
        )
        memory = paper_model().fit(relation.pl(), "class")
        assert corpus(paper_model().fit(relation, "class")) == corpus(memory)
