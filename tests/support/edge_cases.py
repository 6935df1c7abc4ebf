"""A frame, its file, and an empty store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stc import SparseTensorClassifier
from support.models import paper_model
from support.stores import close_stores

FRAME = pl.DataFrame(
    {
        "a": ["x", "y", "x", "z"],
        "b": [1, 2, 1, 2],
        "w": [1.0, 2.0, 0.0, 1.0],
        "class": ["p", "q", "p", "q"],
    }
)
ITEMS = FRAME.select("a", "b")


@pytest.fixture(params=["sqlite", "duckdb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store of its own for each test."""
    address = f"{request.param}:///{tmp_path}/models.{request.param}"
    yield address
    close_stores(address)


def plain() -> SparseTensorClassifier:
    return paper_model().fit(ITEMS, FRAME["class"])


IN_MEMORY: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "lazy": pl.DataFrame.lazy,
    "pandas": pl.DataFrame.to_pandas,
    "arrow": pl.DataFrame.to_arrow,
    "records": pl.DataFrame.to_dicts,
}
