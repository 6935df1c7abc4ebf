"""Parts of a source whose columns have other types: no two values are merged."""

from __future__ import annotations

import csv
import sqlite3
import tempfile
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlalchemy
from hypothesis import given
from hypothesis import strategies as st

import stc
from stc._input.values import canonical
from stc.exceptions import DataTypeError
from support.examples import many
from support.models import paper_model
from support.source_values import pairs

# Columns of one type, as parts of a column.
NANO = pl.Series([1704067200000000000, 1704067200000000001])
PARTS: dict[str, pl.Series] = {
    "bool": pl.Series([True, False]),
    "int": pl.Series([0, 1, 2**60, 2**60 + 1]),
    "small": pl.Series([0, 1, 2], dtype=pl.Int8),
    "unsigned": pl.Series([1, 2**63 + 1, 2**63 + 2], dtype=pl.UInt64),
    "float": pl.Series([1.0, 0.5, 0.1, 2.0**60]),
    "single": pl.Series([1.0, 0.5, 0.1], dtype=pl.Float32),
    "decimal": pl.Series([Decimal("1.00"), Decimal("0.10"), Decimal("0.25")]),
    "longer decimal": pl.Series([Decimal("1.0000"), Decimal("0.1001")]),
    "text": pl.Series(["1", "1.0", "True", "true", "2024-01-01"]),
    "category": pl.Series(["1", "True"], dtype=pl.Categorical),
    "date": pl.Series([date(2024, 1, 1)]),
    "us": pl.Series([datetime(2024, 1, 1), datetime(2024, 1, 1, 1)]),
    "ns": NANO.cast(pl.Datetime("ns")),
    "zoned": (NANO // 1000).cast(pl.Datetime("us", "Europe/Rome")),
    "duration": pl.Series([timedelta(days=1)]),
    "null": pl.Series([None, None]),
}
LABELS = {
    "bool",
    "int",
    "small",
    "unsigned",
    "us",
    "ns",
    "zoned",
    "duration",
    "text",
    "category",
    "date",
}
NAMES = st.sampled_from(sorted(PARTS))


def write_parts(names: Sequence[str], folder: str) -> tuple[str, list[Any]]:
    """Files with the values in x and y and their number in k, and the text of each value."""
    texts: list[Any] = []
    for number, name in enumerate(names):
        values = PARTS[name]
        ks = [f"k{len(texts) + k}" for k in range(len(values))]
        frame = pl.DataFrame({"x": values, "k": ks, "one": ["1"] * len(ks)})
        frame.write_parquet(Path(folder, f"{number}.parquet"))
        texts += [row["value"] for row in each(values)]
    return f"{folder}/*.parquet", texts


def each(values: pl.Series) -> list[dict[str, Any]]:
    """The text of each value alone, as a frame in memory gives it."""
    found = []
    for k in range(len(values)):
        model = paper_model(missing="category").fit(pl.DataFrame({"x": values[k : k + 1]}), ["y"])
        found.append(model.corpus_.rows(named=True)[0])
    return found


@many(most=300)
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_features_are_those_of_each_part(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths, texts = write_parts(names, folder)
        source = stc.source(paths, ignore=["one"])
        fitted = paper_model(missing="category").fit(source, "k")
        memory = paper_model(missing="category").fit(
            [{"x": text} for text in texts], [f"k{k}" for k in range(len(texts))]
        )
        assert pairs(fitted) == pairs(memory)


@many(most=300)
@given(st.lists(st.sampled_from(sorted(LABELS)), min_size=1, max_size=4))
def test_classes_are_those_of_each_part(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths, texts = write_parts(names, folder)
        fitted = paper_model().fit(stc.source(paths, ignore=["k"]), "x")
        assert sorted(map(canonical, fitted.classes_)) == sorted(set(texts))
        ks = [{"k": f"k{k}"} for k in range(len(texts))]
        told = paper_model().fit(stc.source(paths, ignore=["one"]), "x")
        assert list(map(canonical, told.predict(ks))) == texts


@many(most=300)
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_columns_that_are_copied_keep_their_values(names: list[str]) -> None:
    model = paper_model().fit(pl.DataFrame({"one": ["1"], "y": ["a"]}), "y")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        paths, texts = write_parts(names, folder)
        model.predict(paths, to=f"{out}/out.parquet")
        copied = pl.read_parquet(f"{out}/out.parquet")["x"]
        assert len(copied) == len(texts)
        for text, row in zip(texts, each(copied), strict=True):
            assert row["value"] == text


# --- integers in text -----------------------------------------------------------------------------

IDS = st.one_of(st.integers(), st.integers(2**53 - 4, 2**53 + 4), st.integers(2**63, 2**64 + 3))


@many(most=300)
@given(st.lists(IDS, min_size=1), st.booleans(), st.booleans())
def test_integers_in_a_csv_are_exact(ids: list[int], fraction: bool, word: bool) -> None:
    cells = [*map(str, ids), *["0.5"] * fraction, *["word"] * word]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ids.csv")
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([["x", "y"], *([cell, "a"] for cell in cells)])
        found = set(paper_model().fit(path, "y").corpus_["value"])
    assert found == set(cells)


def test_integers_after_the_types_were_inferred(tmp_path: Path) -> None:
    """The types of a CSV are those of its first 10,000 rows."""
    later = [2**63 + 1, 2**63 + 2, 10**40, 10**40 + 1, "0.5"]
    for last in range(1, len(later) + 1):
        ids = [2**60, 2**60 + 1] * 5001 + later[:last]
        path = tmp_path / "ids.csv"
        path.write_text("x,y\n" + "".join(f"{cell},a\n" for cell in ids))
        found = set(paper_model().fit(path, "y").corpus_["value"])
        assert found == set(map(str, ids))


# --- databases ------------------------------------------------------------------------------------


def test_sqlite_tells_ids_apart_that_it_declares_as_numeric(tmp_path: Path) -> None:
    path = tmp_path / "ids.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE items (x NUMERIC(20), w NUMERIC(9, 2), k TEXT, y TEXT)")
        rows = [(2**60 + k, w, f"k{k}", "ab"[k % 2]) for k, w in enumerate([1, 0.5, 2, 1.25])]
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
    connection.close()
    source = stc.source(sqlalchemy.create_engine(f"sqlite:///{path}"), "items", ignore=["k"])
    model = paper_model().fit(source, "y", "w")
    assert set(model.corpus_["value"]) == {str(2**60 + k) for k in range(4)}
    assert model.class_mass_.tolist() == [3, 1.75]
    plain = paper_model().fit([{"k": "k0"}], ["a"])
    answer = plain.predict(stc.source(source.backend.engine, "items"))
    assert answer["x"].to_list() == [2**60 + k for k in range(4)]
    assert answer["w"].to_list() == [1, 0.5, 2, 1.25]


def test_types_of_duckdb_that_are_bytes_in_arrow() -> None:
    relation = duckdb.connect().sql("""
        SELECT '101'::bit AS bits, 12345678901234567890123456789012345678901::bignum AS large,
            340282366920938463463374607431768211455::uhugeint AS huge,
            '01:02:03+01'::timetz AS clock, INTERVAL '1 month 2 days' AS span, 'a' AS y
    """)
    model = paper_model().fit(relation, "y")
    found = dict(model.corpus_.select("attribute", "value").rows())
    assert found == {
        "bits": "101",
        "large": "12345678901234567890123456789012345678901",
        "huge": "340282366920938463463374607431768211455",
        "clock": "01:02:03+01",
        "span": "32 days, 0:00:00",
    }
    assert model.predict(relation).fetchall()[0][-1] == "a"


def test_intervals_beyond_durations_are_refused() -> None:
    relation = duckdb.connect().sql("SELECT INTERVAL '400000 years' AS x, 'a' AS y")
    with pytest.raises(DataTypeError, match=r"'x': an interval of more than 100,000,000 days"):
        paper_model().fit(relation, "y")


def test_decimals_with_fractions_are_measurements() -> None:
    connection = duckdb.connect()
    prices = connection.sql("SELECT (k / 7)::decimal(9, 2) AS x, 'a' AS y FROM range(50) AS t(k)")
    ids = connection.sql("SELECT k::decimal(20) AS x, 'a' AS y FROM range(50) AS t(k)")
    assert paper_model(continuous="auto").fit(prices, "y").fitted_.model.scales
    assert not paper_model(continuous="auto").fit(ids, "y").fitted_.model.scales


# --- what a format does not tell ------------------------------------------------------------------


def test_fractions_in_text_are_doubles(tmp_path: Path) -> None:
    same = ["0.12345678901234567890", "0.12345678901234567891", "1.500"]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{number},a\n" for number in same))
    assert set(paper_model().fit(tmp_path / "a.csv", "y").corpus_["value"]) == {
        "0.12345678901234568",
        "1.5",
    }
    rows = [f'{{"x": {number}, "y": "a"}}\n' for number in (2**60, 2**60 + 1, 0.5)]
    (tmp_path / "a.jsonl").write_text("".join(rows))
    found = set(paper_model().fit(tmp_path / "a.jsonl", "y").corpus_["value"])
    assert found == {str(2**60), "0.5"}
    (tmp_path / "b.jsonl").write_text("".join(rows[:2]))
    found = set(paper_model().fit(tmp_path / "b.jsonl", "y").corpus_["value"])
    assert found == {str(2**60), str(2**60 + 1)}


def test_moments_are_text_where_a_format_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n2024-01-02 00:00:00,a\n")
    assert set(paper_model().fit(tmp_path / "a.csv", "y").corpus_["value"]) == {
        "2024-01-02 00:00:00"
    }
