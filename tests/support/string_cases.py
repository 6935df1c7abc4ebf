"""Strings in every container."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from polars.testing import assert_frame_equal

from stc import SparseTensorClassifier
from support.models import paper_model

VALUES = [("red", "green", "blue"), ("big", "small"), ("cat", "dog", "owl", "eel")]
NAMES = ["color", "size", "animal"]
Rows = list[tuple[str, ...]]
Make = Callable[[Rows], Any]


def sample(seed: int, n: int = 60) -> tuple[Rows, list[str]]:
    """Rows of strings, and labels that depend on them, though not only."""
    rng = np.random.default_rng(seed)
    rows = [tuple(str(rng.choice(values)) for values in VALUES) for _ in range(n)]
    noise = rng.random(n) < 0.2
    y = [
        "yes" if (row[0] == "red") != flip else "no" for row, flip in zip(rows, noise, strict=True)
    ]
    return rows, [label if row[2] != "eel" else "maybe" for label, row in zip(y, rows, strict=True)]


def to_pandas(rows: Rows) -> pd.DataFrame:
    """The rows in pandas."""
    return pd.DataFrame(rows, columns=NAMES)


def to_polars(rows: Rows) -> pl.DataFrame:
    """The rows in polars."""
    return pl.DataFrame(rows, schema=NAMES, orient="row")


ARRAYS: dict[str, Make] = {
    "object": lambda rows: np.array(rows, dtype=object),
    "U": lambda rows: np.array(rows, dtype="U5"),
    "list of lists": lambda rows: [list(row) for row in rows],
}
FRAMES: dict[str, Make] = {
    "pandas": to_pandas,
    "pandas category": lambda rows: to_pandas(rows).astype("category"),
    "polars": to_polars,
    "pyarrow": lambda rows: pa.Table.from_pandas(to_pandas(rows), preserve_index=False),
}
LOOSE: dict[str, Make] = {
    "records": lambda rows: [dict(zip(NAMES, row, strict=True)) for row in rows],
    "documents": lambda rows: [" ".join(row) for row in rows],
}
CONTAINERS = ARRAYS | FRAMES | LOOSE
any_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
ROWS, LABELS = sample(0)
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(ROWS))


def fitted(make: Make, **params: Any) -> SparseTensorClassifier:
    """A model of the rows."""
    return paper_model(**params).fit(make(ROWS), LABELS)


def assert_same_model(
    one: SparseTensorClassifier, other: SparseTensorClassifier, support: bool = True
) -> None:
    """Both have learnt the same, to 1e-12 (``support`` counts items, not weights)."""
    left, right = (
        model.corpus_ if support else model.corpus_.drop("support") for model in (one, other)
    )
    assert_frame_equal(left, right, rel_tol=1e-12, abs_tol=1e-12)
    assert_array_equal(one.classes_, other.classes_)
    assert_allclose(one.class_mass_, other.class_mass_, rtol=1e-12)
