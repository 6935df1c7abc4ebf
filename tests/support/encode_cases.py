"""What was learnt of some data, as a table of its corpus."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stc import SparseTensorClassifier
from support.models import paper_model

NAN = float("nan")
Entries = dict[tuple[str | None, str | None, Any], float]


def learn(X: Any, y: Sequence[Any], **params: Any) -> SparseTensorClassifier:
    """A model of the data."""
    return paper_model(**params).fit(X, y)


def entries(model: SparseTensorClassifier) -> Entries:
    """The corpus as {(attribute, value, class): mass}."""
    return {(a, v, c): mass for a, v, c, mass, _ in model.corpus_.iter_rows()}


def repeated(X: Any, times: int) -> Any:
    """The items of ``X`` over and over, in the same container."""
    n_items = X.shape[0] if hasattr(X, "shape") else len(X)
    rows = np.tile(np.arange(n_items), times)
    if isinstance(X, (list, tuple)):
        return type(X)(X[row] for row in rows)
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return X.iloc[rows]
    if isinstance(X, (pa.Table, pa.Array, pa.ChunkedArray)):
        return X.take(pa.array(rows))
    return X[rows]


def many(expected: Entries, times: int) -> Any:
    """The corpus of items learnt so many times."""
    return pytest.approx({entry: mass * times for entry, mass in expected.items()})


# Few cells, many and very many may take different ways through the code, and must not differ.
any_size = pytest.mark.parametrize("times", [1, 300], ids=["few", "many"])


def as_array(columns: Iterable[Sequence[Any]]) -> np.ndarray:
    """Columns of anything (lists too) as a 2-D object array."""
    columns = list(columns)
    array = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        for i, cell in enumerate(column):
            array[i, j] = cell
    return array


def as_pandas(columns: dict[str, Sequence[Any]]) -> pd.DataFrame:
    """Columns of anything (lists too) as pandas columns of dtype object."""
    return pd.DataFrame({k: pd.Series(list(v), dtype=object) for k, v in columns.items()})


# How one column of arbitrary Python values can come; the attribute is always "x0".
COLUMNS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "records": lambda cells: [{"x0": cell} for cell in cells],
    "list of lists": lambda cells: [[cell] for cell in cells],
    "object array": lambda cells: as_array([cells]),
    "pandas": lambda cells: as_pandas({"x0": cells}),
}
any_column = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())


def categories(X: Any, **params: Any) -> list[str | None]:
    """The distinct categories in ``X``, sorted."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    return learn(X, ["c"] * n, **params).corpus_["value"].to_list()


ROWS: list[list[Any]] = [["red", 4], ["blue", None], [None, 2], ["red", 2], ["nan", 0]]
LABELS = ["p", "q", "p", "q", "q"]
TEXTS, NUMBERS = ([row[j] for row in ROWS] for j in range(2))


def polars_rows() -> pl.DataFrame:
    """The rows in polars."""
    return pl.DataFrame({"x0": TEXTS, "x1": NUMBERS})
