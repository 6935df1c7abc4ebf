"""Random small data for the property tests, and the plain reading of it as bags."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from scipy import sparse

from support.oracle import Bag, Hyper, Oracle, learn

Cell: TypeAlias = Any
Record: TypeAlias = dict[str, Cell]
Feature: TypeAlias = tuple[str | None, str | None]

# Derandomised, so that a red run is red for everybody; the time a machine takes is no property.
PROFILE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# "a" + "x: y" and "a: x" + "y" are the pair that glued names confuse.
ATTRIBUTES = ("a", "a: x", "colour", "legs", "x0")
TEXTS = ("u", "v", "y", "x: y", "", "nan", "1", "1.5")
VALUES = (*TEXTS, 1, 1.0, 2, 1.5, True, np.int64(2), np.float64(3.0))
UNSEEN = "never learnt"
MISSING = (None, math.nan)
LABELS = (("bird", "ant", "fish", "Zebra", "cat"), (3, 1, 2, -7, 10), (True, False))


@dataclass(frozen=True)
class Data:
    """Items with their classes and weights; ``kinds`` says how a column is typed in a frame."""

    records: list[Record]
    y: list[Any]
    weights: list[float] | None
    kinds: dict[str, str]

    def __len__(self) -> int:
        return len(self.records)

    def take(self, items: Iterable[int]) -> "Data":
        chosen = list(items)
        weights = None if self.weights is None else [self.weights[n] for n in chosen]
        records, y = [self.records[n] for n in chosen], [self.y[n] for n in chosen]
        return Data(records, y, weights, self.kinds)

    def truth(self, missing: str = "ignore") -> Oracle:
        """The oracle, fitted."""
        return learn(self.bags(self.records, missing), soft(self.y), self.weights)

    def bags(self, records: Sequence[Record], missing: str = "ignore") -> list[Bag]:
        """The items as bags, by the attributes of this data."""
        return [bag(record, list(self.kinds), missing) for record in records]


def canonical(value: Any) -> str:
    """The text of a category: 1, 1.0, numpy's 1 and "1" are one."""
    if isinstance(value, str | bool):
        return str(value)
    return str(int(value)) if value == int(value) else repr(float(value))


def is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def bag(record: Record, attributes: Sequence[str], missing: str) -> dict[Feature, Fraction]:
    """Every value weighs one, or what a dict cell says; duplicates are summed."""
    result: dict[Feature, Fraction] = {}
    for attribute in {*attributes, *record}:
        cell = record.get(attribute)
        weights = cell.items() if isinstance(cell, dict) else [(v, 1) for v in listed(cell)]
        present = [(None if is_missing(v) else canonical(v), w) for v, w in weights if w > 0]
        for value, weight in present or [(None, 1)]:
            if value is not None or missing == "category":
                feature = (attribute, value)
                result[feature] = result.get(feature, Fraction(0)) + Fraction(weight)
    return result


def listed(cell: Cell) -> list[Any]:
    return cell if isinstance(cell, list) else [cell]


def soft(y: Sequence[Any]) -> list[dict[Any, float]]:
    """Labels as distributions."""
    return [label if isinstance(label, dict) else {label: 1} for label in y]


def weights(smallest: float) -> st.SearchStrategy[float]:
    return st.sampled_from((smallest, 0.5, 1.0, 1.0, 2.0, 3.0)) | st.floats(0.1, 10.0)


def hypers() -> st.SearchStrategy[Hyper]:
    """Power, balance and entropy, the named corners often."""
    corners = st.sampled_from((Hyper(), Hyper(1, 0, 0), Hyper(1, 0, 1), Hyper(0.5, 1, 0)))
    anything = st.builds(Hyper, st.floats(0.01, 4), st.floats(0, 2), st.floats(0, 4))
    return corners | anything


def all_settings() -> st.SearchStrategy[Hyper]:
    """All settings that act at prediction time."""
    prior = st.just(0.0) | st.floats(1e-3, 10)
    sharpness, floor = st.just(1.0) | st.floats(0.1, 20), st.just(0.0) | st.floats(1e-4, 0.9)
    beside = st.fixed_dictionaries({"prior": prior, "sharpness": sharpness, "floor": floor})
    return st.builds(lambda hyper, more: replace(hyper, **more), hypers(), beside)


def cells(kind: str, values: Sequence[Any]) -> st.SearchStrategy[Cell]:
    """Cells of one kind: "one" value, a "list" with repeats, a "dict" of weights, or "any"."""
    value = st.sampled_from(values)
    if kind == "one":
        return value | st.none()
    if kind == "list":
        return st.lists(value | st.none(), max_size=4) | st.none()
    if kind == "dict":
        return st.dictionaries(value, weights(0.0), min_size=1, max_size=3) | st.none()
    kinds = [cells(each, values) for each in ("one", "list", "dict")]
    return st.one_of(*kinds, st.sampled_from(MISSING), st.just([]))


@st.composite
def targets(draw: st.DrawFn, size: int) -> list[Any]:
    """Hard or soft labels of 1 to 5 classes."""
    pool = draw(st.sampled_from(LABELS))
    classes = st.sampled_from(pool[: draw(st.integers(1, len(pool)))])
    if draw(st.booleans()):
        classes = st.dictionaries(classes, weights(0.25), min_size=1)
    return draw(st.lists(classes, min_size=size, max_size=size))


@st.composite
def sample_weights(draw: st.DrawFn, size: int, smallest: float) -> list[float] | None:
    """None, or weights of which some are zero but never all."""
    if draw(st.booleans()):
        return None
    drawn = draw(st.lists(weights(smallest), min_size=size, max_size=size))
    return drawn if any(drawn) else [1.0, *drawn[1:]]


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    kinds: Sequence[str] = ("any",),
    values: Sequence[Any] = VALUES,
    complete: bool = False,
    smallest: float = 0.0,
    min_size: int = 1,
) -> Data:
    """Items of 1 to 5 attributes. ``complete`` items have every key, be it with None."""
    attributes = draw(st.permutations(ATTRIBUTES))[: draw(st.integers(1, len(ATTRIBUTES)))]
    columns = {attribute: draw(st.sampled_from(kinds)) for attribute in attributes}
    every = {a: cells(kind, values) for a, kind in columns.items()}
    record = st.fixed_dictionaries(every if complete else {}, optional=None if complete else every)
    records = draw(st.lists(record, min_size=min_size, max_size=8))
    y = draw(targets(len(records)))
    return Data(records, y, draw(sample_weights(len(records), smallest)), columns)


@st.composite
def questions(draw: st.DrawFn, data: Data, values: Sequence[Any] = VALUES) -> list[Record]:
    """Items to classify, by the columns of the data, some of their values never learnt."""
    asked = {a: cells(kind, (*values, UNSEEN)) for a, kind in data.kinds.items()}
    return draw(st.lists(st.fixed_dictionaries(asked), min_size=1, max_size=4))


@st.composite
def matrices(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[Any], list[float] | None]:
    """Non-negative weights to learn from and to predict, with the same columns."""
    columns = draw(st.integers(1, 6))
    row = st.lists(st.just(0.0) | weights(0.0), min_size=columns, max_size=columns)
    learnt = draw(st.lists(row, min_size=1, max_size=8))
    asked = draw(st.lists(row, min_size=1, max_size=4))
    y = draw(targets(len(learnt)))
    return np.array(learnt), np.array(asked), y, draw(sample_weights(len(learnt), 0.0))


def any_sparse(draw: st.DrawFn, dense: np.ndarray) -> Any:
    """The matrix in one of SciPy's formats, as a matrix or as an array."""
    layout = draw(st.sampled_from(("csr", "csc", "coo", "lil", "dok", "bsr", "dia")))
    make = draw(st.sampled_from((sparse.csr_matrix, sparse.csr_array)))
    return make(dense).asformat(layout)


def to_pandas(records: Sequence[Record], data: Data, absent: Any = None) -> pd.DataFrame:
    """Object columns, which hold any cell; None is written as ``absent``."""
    cells = {a: [r.get(a) for r in records] for a in data.kinds}
    columns = {a: [absent if c is None else c for c in column] for a, column in cells.items()}
    return pd.DataFrame({a: pd.Series(column, dtype=object) for a, column in columns.items()})


def to_polars(records: Sequence[Record], data: Data, values: Sequence[Any]) -> pl.DataFrame:
    """Typed columns: text, lists of text, structs of weights."""
    struct = pl.Struct(dict.fromkeys((*values, UNSEEN), pl.Float64))
    dtypes = {"one": pl.String, "list": pl.List(pl.String), "dict": struct}
    columns = [
        pl.Series(a, [r.get(a) for r in records], dtype=dtypes[kind])
        for a, kind in data.kinds.items()
    ]
    return pl.DataFrame(columns)
