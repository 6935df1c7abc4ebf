"""A value is the same feature and the same class in memory, in files and in databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.source_values import TABLE, check_source, in_duckdb, in_file, in_sqlite


@pytest.mark.parametrize(
    ("name", "ending"), [(name, ending) for name, case in TABLE.items() for ending in case.files]
)
def test_files(name: str, ending: str, tmp_path: Path) -> None:
    case = TABLE[name]
    check_source(case, lambda: in_file(case.values, tmp_path, ending))


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.duckdb])
def test_duckdb(name: str) -> None:
    case = TABLE[name]
    check_source(case, lambda: in_duckdb(case.values, str(case.duckdb)))


@pytest.mark.parametrize("name", [name for name, case in TABLE.items() if case.sqlite])
def test_sqlite(name: str, tmp_path: Path) -> None:
    case = TABLE[name]

    def put() -> object:
        (tmp_path / "values.db").unlink(missing_ok=True)
        return in_sqlite(case.values, str(case.sqlite), tmp_path)

    check_source(case, put)
