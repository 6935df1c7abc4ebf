"""Several targets in every form, and the plain reading of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stc import SparseTensorClassifier
from support.models import paper_model

Rows: TypeAlias = list[tuple[Any, ...]]
N = 48


def sample(seed: int = 0, n: int = N) -> tuple[pl.DataFrame, Rows]:
    """Items with gaps, and three targets of different types that depend on them."""
    rng = np.random.default_rng(seed)
    colors = rng.choice(["red", "green", "blue"], n).tolist()
    sizes = rng.choice(["big", "small"], n).tolist()
    extra = rng.choice(["u", "v", "w"], n).tolist()
    gaps = rng.random(n) < 0.15
    y = [
        (
            "hot" if c == "red" or rng.random() < 0.2 else "cold",
            (3 if s == "big" else 1) if rng.random() < 0.8 else 2,
            bool(e == "u") if rng.random() < 0.7 else True,
        )
        for c, s, e in zip(colors, sizes, extra, strict=True)
    ]
    found = [None if gap else c for c, gap in zip(colors, gaps, strict=True)]
    return pl.DataFrame({"color": found, "size": sizes, "extra": extra}), y


X, ROWS = sample()
# What is asked: all that was learnt, combinations never seen, and nothing known at all.
ASKED = pl.concat(
    [
        X,
        pl.DataFrame(
            {"color": ["blue", "new", None], "size": ["new"] * 3, "extra": ["u", "x", "y"]}
        ),
    ]
)
ESTIMATORS: dict[str, dict[str, Any]] = {
    "default": {},
    "classical": {"power": 1.0, "balance": 0.0, "entropy": 0.0},
    "tensor": {"dimensions": "each"},
    "policy": {
        "dimensions": [["color", "extra"], ["size"]],
        "policy": [["color+extra", "size"], ["size"], []],
        "entropy": 0.0,
    },
}
any_estimator = pytest.mark.parametrize("params", ESTIMATORS.values(), ids=ESTIMATORS.keys())


def column(rows: Rows, t: int) -> list[Any]:
    return [row[t] for row in rows]


def pairs(rows: Rows = ROWS) -> Rows:
    """The first two targets, a text and a number."""
    return [row[:2] for row in rows]


def texts(rows: Rows = ROWS) -> Rows:
    """Two targets of texts."""
    return [(row[0], f"n{row[1]}") for row in rows]


def numbers(rows: Rows = ROWS) -> Rows:
    """Two targets of numbers."""
    return [(len(row[0]), row[1]) for row in rows]


def object_array(rows: Rows) -> np.ndarray:
    """A 2-D array whose cells stay what they are."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    array[:] = rows
    return array


def polars(rows: Rows, names: Sequence[str] = ("kind", "count", "flag")) -> pl.DataFrame:
    return pl.DataFrame({name: column(rows, t) for t, name in enumerate(names[: len(rows[0])])})


def pandas(rows: Rows) -> pd.DataFrame:
    return pd.DataFrame(polars(rows).to_dict(as_series=False))


@dataclass(frozen=True)
class Form:
    """A container of targets, and what it holds."""

    make: Callable[[Rows], Any]
    rows: Rows
    names: tuple[str, ...] = ("target0", "target1")

    @property
    def y(self) -> Any:
        return self.make(self.rows)


FORMS: dict[str, Form] = {
    "array of texts": Form(np.array, texts()),
    "object array of texts": Form(object_array, texts()),
    "array of numbers": Form(np.array, numbers()),
    "array of negative numbers": Form(np.array, [(-a, -b) for a, b in numbers()]),
    "array of whole floats": Form(lambda rows: np.array(rows, dtype=float), numbers()),
    "array of texts and numbers": Form(object_array, pairs()),
    "polars": Form(polars, texts(), ("kind", "count")),
    "polars of texts and numbers": Form(polars, pairs(), ("kind", "count")),
    "polars of three": Form(polars, ROWS, ("kind", "count", "flag")),
    "pandas": Form(pandas, texts(), ("kind", "count")),
    "pandas of texts and numbers": Form(pandas, pairs(), ("kind", "count")),
    "pandas of three": Form(pandas, ROWS, ("kind", "count", "flag")),
    "pyarrow": Form(lambda rows: polars(rows).to_arrow(), pairs(), ("kind", "count")),
    "one target alike": Form(np.array, [(a, 7) for a, _ in numbers()]),
}


def fitted(form: Form, params: dict[str, Any]) -> SparseTensorClassifier:
    return paper_model(**params).fit(X, form.y)


# Sorted by target, so that later parts bring new combinations and new classes of each target.
ORDER = sorted(range(N), key=lambda n: (ROWS[n][1], ROWS[n][0]))
CUTS = [0, 5, 20, 33, N]
PARTS = [ORDER[a:b] for a, b in pairwise(CUTS)]
DATA = pl.concat([polars(pairs()), X], how="horizontal").select(
    "color", "kind", "size", "count", "extra"
)


def shown(answer: Any) -> Any:
    """An answer of any kind, comparable by ==."""
    if isinstance(answer, list):
        return [shown(each) for each in answer]
    if isinstance(answer, np.ndarray):
        return answer.tolist()
    return answer.rows() if isinstance(answer, pl.DataFrame) else str(answer)
