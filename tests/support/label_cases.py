"""Several labels in every form."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from stc import SparseTensorClassifier
from support.marking import slow_values
from support.models import paper_model

Labels: TypeAlias = list[list[Any]]
Make: TypeAlias = Callable[[Labels], Any]
NAMES = ["art", "law", "sea", "war"]
N = 60


def sample(seed: int = 0, n: int = N) -> tuple[list[dict[str, Any]], Labels]:
    """Items with one to three labels, of which their words tell."""
    rng = np.random.default_rng(seed)
    y = [sorted(rng.choice(NAMES, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    items: list[dict[str, Any]] = []
    for labels in y:
        words = [f"{rng.choice(labels)}{rng.integers(3)}" for _ in range(4)]
        items.append({"words": [*words, str(rng.choice(["of", "the"]))], "place": labels[0][0]})
    return items, y


X, Y = sample()
ASKED = [*X, *sample(1, 20)[0], {"words": ["never seen"]}, {}]
ESTIMATORS: dict[str, dict[str, Any]] = {
    "default": {},
    "classical": {"power": 1.0, "balance": 0.0, "entropy": 0.0},
    "tensor": {"dimensions": "each"},
    "policy": {"dimensions": "each", "policy": [["words", "place"], ["place"], []]},
    "one threshold": {"label_threshold": 0.3},
}
QUICK = "default", "tensor"
any_estimator = pytest.mark.parametrize("params", slow_values(ESTIMATORS, QUICK))


def object_array(y: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(y), dtype=object)
    for n, labels in enumerate(y):
        array[n] = labels
    return array


def codes(y: Labels) -> np.ndarray:
    """The indicator of the labels."""
    return np.array([[int(name in labels) for name in NAMES] for labels in y])


SETS: dict[str, tuple[Make, type]] = {
    "lists": (lambda y: y, list),
    "tuple of lists": (tuple, list),
    "tuples": (lambda y: [tuple(labels) for labels in y], tuple),
    "sets": (lambda y: [set(labels) for labels in y], set),
    "frozensets": (lambda y: [frozenset(labels) for labels in y], frozenset),
    "array of lists": (object_array, list),
    "array of tuples": (lambda y: object_array([tuple(labels) for labels in y]), tuple),
    "array of sets": (lambda y: object_array([set(labels) for labels in y]), set),
    "polars": (pl.Series, list),
    "pandas of lists": (lambda y: pd.Series(y, index=range(len(y), 0, -1)), list),
    "pandas of sets": (lambda y: pd.Series([set(labels) for labels in y]), set),
    "in another order": (lambda y: [labels[::-1] for labels in y], list),
    "with duplicates": (lambda y: [[*labels, labels[0]] for labels in y], list),
}
INDICATORS: dict[str, Make] = {
    "int": codes,
    "int8": lambda y: codes(y).astype("i1"),
    "float": lambda y: codes(y).astype(float),
    "bool": lambda y: codes(y).astype(bool),
    "Fortran": lambda y: np.asfortranarray(codes(y)),
    "nested lists": lambda y: codes(y).tolist(),
    "csr": lambda y: sp.csr_array(codes(y)),
    "csc": lambda y: sp.csc_array(codes(y)),
    "coo": lambda y: sp.coo_array(codes(y)),
    "lil": lambda y: sp.lil_array(codes(y)),
    "csr matrix of floats": lambda y: sp.csr_matrix(codes(y).astype(float)),
    "csr of bools": lambda y: sp.csr_array(codes(y).astype(bool)),
}
FRAMES: dict[str, Make] = {
    "polars": lambda y: pl.DataFrame(codes(y), schema=NAMES),
    "polars of bools": lambda y: pl.DataFrame(codes(y).astype(bool), schema=NAMES),
    "pandas": lambda y: pd.DataFrame(codes(y), columns=NAMES),
    "pandas of bools": lambda y: pd.DataFrame(codes(y).astype(bool), columns=NAMES),
    "pyarrow": lambda y: pl.DataFrame(codes(y), schema=NAMES).to_arrow(),
}
TABLES = INDICATORS | {f"frame in {name}": make for name, make in FRAMES.items()}
FORMS = {name: make for name, (make, _) in SETS.items()} | {
    f"indicator {name}": make for name, make in TABLES.items()
}
any_table = pytest.mark.parametrize("make", TABLES.values(), ids=TABLES.keys())
any_form = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS.keys())
# One of each form for the tests that are about something else.
TWO = {"lists": SETS["lists"][0], "indicator": INDICATORS["int"]}
either = pytest.mark.parametrize("make", TWO.values(), ids=TWO.keys())
# Every form with one estimator, and every estimator with two forms.
PAIRS = {f"{form}-default": (make, {}) for form, make in FORMS.items()} | {
    f"{form}-{name}": (make, params)
    for form, make in TWO.items()
    for name, params in ESTIMATORS.items()
}
QUICK_PAIRS = [own for own in PAIRS if own.endswith(("-default", "-tensor"))]
any_pair = pytest.mark.parametrize(("make", "params"), slow_values(PAIRS, QUICK_PAIRS))


def fitted(make: Make, **params: Any) -> SparseTensorClassifier:
    return paper_model(**params).fit(X, make(Y))


def uniform(y: Labels = Y) -> list[dict[Any, float]]:
    """The distributions that label sets stand for."""
    return [dict.fromkeys(labels, 1.0) for labels in y]


def shares(model: SparseTensorClassifier, asked: Any = ASKED) -> np.ndarray:
    """The distribution over the labels, which an indicator shows in predict_joint only."""
    table = model.predict_joint(asked)
    assert table.columns[0] == "item"
    assert table.columns[-1] == "probability"
    assert table["item"].to_list() == np.repeat(np.arange(len(asked)), len(NAMES)).tolist()
    return table["probability"].to_numpy().reshape(len(asked), -1)


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.classes_.tolist() == other.classes_.tolist()
    assert_allclose(one.class_mass_, other.class_mass_, rtol=1e-12)
    order = [name for name in one.corpus_.columns if name not in {"mass", "support"}]
    assert_frame_equal(
        one.corpus_.sort(order), other.corpus_.sort(order), rel_tol=1e-12, abs_tol=1e-12
    )
    joint = [model.predict_joint(ASKED) for model in (one, other)]
    assert_frame_equal(*joint, rel_tol=1e-9, abs_tol=1e-9)


def part(make: Make, items: Sequence[int]) -> tuple[Any, Any]:
    return [X[n] for n in items], make([Y[n] for n in items])
