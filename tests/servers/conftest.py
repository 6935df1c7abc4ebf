"""Real servers for the tests: each is started once, when the first test asks for it."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from support.dask_cluster import dask_cluster
from support.postgresql import postgresql_server, postgresql_url
from support.spark_cluster import spark_cluster

__all__ = ["dask_client", "postgresql_server", "postgresql_url", "spark"]


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    with warnings.catch_warnings():
        # PySpark 4.3 says so whenever it finds pandas 3, whether or not it is used.
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        # Without it Spark itself cannot read a table that has a column `a` and a column `A`.
        with spark_cluster(**{"spark.sql.caseSensitive": "true"}) as session:
            yield session
