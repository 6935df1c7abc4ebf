"""A model as one SQL query, asked of a PostgreSQL server that never saw stc."""

from collections.abc import Iterator

import pytest

from support.databases import PostgreSQL
from support.export_cases import ANY_CASE, CASES, check, typed_columns


@pytest.fixture(scope="module")
def database(postgresql_url: str) -> Iterator[PostgreSQL]:
    own = PostgreSQL(postgresql_url)
    yield own
    own.connection.close()


@pytest.mark.parametrize("case", ANY_CASE)
def test_query_says_what_predict_proba_does(database: PostgreSQL, case: str) -> None:
    for model, X in CASES[case]():
        check(database, model, X)


def test_types_of_columns(database: PostgreSQL) -> None:
    for model, X in typed_columns():
        check(database, model, X)
