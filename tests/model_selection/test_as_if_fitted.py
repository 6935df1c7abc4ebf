"""A split is judged as if each setting were fitted again."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import KFold

from stc import SparseTensorClassifierCV
from support.models import paper_model
from support.tuning_cases import (
    NEUTRAL,
    ONE,
    bags,
    counts,
    documents,
    fitted_again,
    hard,
    records,
    rng_of,
    scales,
    soft,
    table,
)

VARIED: dict[str, dict[str, Any]] = {
    "paper": {"power": 1 / 3, "balance": 0.5, "entropy": 1.0, **NEUTRAL},
    "all six": {
        "power": 1.0, "balance": 1.5, "entropy": 0, "prior": 0.3, "sharpness": 2.0, "floor": 0.1,
    },
    "chosen": {},
    "extreme": {"power": 0.05, "balance": 3.0, "entropy": 30.0, **NEUTRAL},
}  # fmt: skip


# ---------------------------------------------------------------- as if fitted again


class Recorder:
    """A scoring that keeps the probabilities."""

    def __init__(self) -> None:
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        P = estimator.predict_proba(X)
        assert P.shape == (len(y), len(estimator.classes_))
        self.seen.append((estimator.classes_, P))
        return 0.0


def assert_as_if_fitted(data: tuple[Any, Any, Any], n: int, seed: int, **params: Any) -> None:
    """The plain model has the probabilities of a model that was fitted to the split anew."""
    splits = list(KFold(3, shuffle=True, random_state=seed).split(np.zeros(n)))
    recorder = Recorder()
    model = SparseTensorClassifierCV(phases=None, cv=splits, scoring=recorder, **params)
    model.fit(*data)
    assert len(recorder.seen) == 3
    assert len(model.cv_results_["params"]) == 1
    for (classes, P), split in zip(recorder.seen, splits, strict=True):
        expected = fitted_again(classes, model.best_params_, data, split)
        assert_allclose(P, expected, rtol=0, atol=1e-10)


KINDS: dict[str, tuple[Callable[[int, int], Any], dict[str, Any]]] = {
    "table": (lambda n, seed: table(n, seed)[0], {"interactions": 3}),
    "pairs of a table": (
        lambda n, seed: table(n, seed)[0], {"interactions": [("a", "b"), ("c", "a")]}
    ),
    "chosen conjunctions": (lambda n, seed: table(n, seed)[0], {}),
    "gaps as a category": (
        lambda n, seed: table(n, seed)[0],
        {"interactions": 2, "missing": "category", "min_support": 2},
    ),
    "records": (records, {"interactions": 3}),
    "bags": (bags, {"interactions": 2, "min_support": 2}),
    "counts": (counts, {}),
    "documents": (documents, {"ngrams": 3, "min_support": 2}),
    "chosen n-grams": (documents, {}),
    "tokenizer": (documents, {"ngrams": 2, "tokenizer": list, "min_support": 3}),
    "scales": (
        scales,
        {
            "interactions": 2,
            "continuous": {"n": [-1.0, 0.0, 1.0]},
            "ordinal": {"o": ["S", "M", "L"]},
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("settings", VARIED)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [hard, soft])
def test_a_split_is_judged_as_if_fitted_again(
    kind: str, target: Callable[..., Any], settings: str
) -> None:
    make, params = KINDS[kind]
    n, seed = 40, len(kind)
    weight = None if target is hard else rng_of(seed).random(n) + 0.2
    data = make(n, seed), target(n, seed), weight
    assert_as_if_fitted(data, n, seed, **VARIED[settings], **params)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_features", [0, 3, 20])
@pytest.mark.parametrize("make", [records, bags, documents])
def test_the_strongest_of_a_split_are_those_of_a_fit(
    make: Callable[..., Any], max_features: int, seed: int
) -> None:
    """Also where many conjunctions are as strong as each other, and only some can be kept."""
    orders = {"ngrams": 3} if make is documents else {"interactions": 3}
    data = make(40, seed), hard(40, seed), None
    settings = {"power": 0.5, "balance": 0.5, "entropy": 1.0, **NEUTRAL}
    assert_as_if_fitted(data, 40, seed, max_features=max_features, **settings, **orders)


def test_an_order_beyond_the_attributes_has_what_there_is() -> None:
    X, y = table()
    assert_as_if_fitted((X, y, None), 60, 1, **ONE | {"interactions": 9})


def test_knots_come_from_all_items() -> None:
    """The one exception: quantiles are taken once, of what is judged, too, but not of its class."""
    X, y = scales(80, 0), np.array(hard(80, 0))
    split = np.arange(50), np.arange(50, 80)
    recorder = Recorder()
    model = SparseTensorClassifierCV(
        **ONE, phases=None, cv=[split], scoring=recorder, continuous=["n"]
    ).fit(X, y)
    knots = whole_knots(X)
    classes, P = recorder.seen[-1]
    setting = model.best_params_ | {"continuous": {"n": knots}}
    assert_allclose(P, fitted_again(classes, setting, (X, y, None), split), rtol=0, atol=1e-10)


def whole_knots(X: pl.DataFrame) -> list[float]:
    """The knots that a model of all these items has."""
    fitted = paper_model(continuous=["n"]).fit(X, ["any"] * len(X))
    return list(fitted.fitted_.model.scales["n"].knots)
