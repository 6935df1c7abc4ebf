"""Data to tune with, and parameters that are quick."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

from stc import SparseTensorClassifierCV
from stc._core.formulas import Hyper
from support.models import paper_model

INF = math.inf
# No phases, no conjunctions: the quickest there is.
QUICK: dict[str, Any] = {"phases": None, "interactions": 1}
NEUTRAL: dict[str, Any] = {"prior": 0.0, "sharpness": 1.0, "floor": 0.0}
ONE: dict[str, Any] = {"power": 0.5, "balance": 1.0, "entropy": 0.0, "interactions": 1, **NEUTRAL}
# No two classes get the same of these, so that no rounding decides which is the more probable.
GIVEN: dict[str, Any] = {"power": 1 / 3, "balance": 0.7, "entropy": 1.0, **NEUTRAL}
COMMON = ("continuous", "ordinal", "missing", "tokenizer", "targets", "max_entries")


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(n: int = 60, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Columns of strings with gaps; classes that depend on them, though not only."""
    rng = rng_of(seed)
    columns = {
        name: rng.choice(list(values), n)
        for name, values in zip("dbca", ("pqr", "st", "uvwx", "yz"), strict=True)
    }
    y = np.where(columns["d"] == "p", "red", np.where(columns["c"] == "u", "green", "blue"))
    y = np.where(rng.random(n) < 0.25, rng.choice(["red", "green", "blue"], n), y)
    gaps = {name: [None if rng.random() < 0.1 else v for v in own] for name, own in columns.items()}
    return pl.DataFrame(gaps), y


def records(n: int, seed: int) -> list[dict[str, Any]]:
    """Records of which none has to have any attribute."""
    rng = rng_of(seed)
    return [
        {name: str(rng.choice(list("uvw"))) for name in "cab" if rng.random() < 0.8}
        for _ in range(n)
    ]


def bags(n: int, seed: int) -> list[dict[str, Any]]:
    """Cells of one value, of several, and of values with weights."""
    rng = rng_of(seed)
    return [
        {
            "z": str(rng.integers(3)),
            "many": list(rng.choice(list("mno"), 2, replace=False)),
            "amounts": {str(v): float(rng.random()) + 0.1 for v in rng.choice(list("uvw"), 2)},
        }
        for _ in range(n)
    ]


def counts(n: int, seed: int) -> sp.csr_array:
    """Counts, some of items that have none."""
    return sp.csr_array(rng_of(seed).poisson(0.4, (n, 8)).astype(float))


def documents(n: int, seed: int) -> list[str]:
    """Words, of which some documents have none."""
    rng = rng_of(seed)
    return [" ".join(rng.choice(list("abcde"), rng.integers(0, 8))) for _ in range(n)]


def scales(n: int, seed: int) -> pl.DataFrame:
    """A number, an order, a category."""
    rng = rng_of(seed)
    columns = {"n": rng.normal(size=n), "o": rng.choice(["S", "M", "L"], n)}
    return pl.DataFrame(columns | {"c": rng.choice(list("pq"), n)})


def hard(n: int, seed: int) -> list[str]:
    """Labels; one class has a single item, so that some splits never learn it."""
    return ["rare", *rng_of(seed).choice(list("xyz"), n - 1, p=[0.6, 0.3, 0.1]).tolist()]


def soft(n: int, seed: int) -> list[dict[str, float]]:
    """Distributions over classes."""
    rng = rng_of(seed)
    return [
        {str(c): float(rng.random()) + 0.1 for c in rng.choice(list("xyz"), 2, replace=False)}
        for _ in range(n)
    ]


def at(data: Any, items: Any) -> Any:
    """These items of a container."""
    if data is None:
        return None
    return [data[i] for i in items] if isinstance(data, list) else data[items]


def equal(n: int, seed: int, values: str = "uvw") -> tuple[list[list[str]], np.ndarray]:
    """Whether two attributes are the same, which neither tells alone; a third says nothing."""
    X = rng_of(seed).choice(list(values), (n, 3))
    return X.tolist(), np.where(X[:, 0] == X[:, 1], "same", "other")


def animals(n: int, seed: int) -> tuple[list[list[str]], np.ndarray]:
    """Like Zoo: many traits, each of which fits the class but for a few exceptions."""
    rng = rng_of(seed)
    typical = {kind: rng_of(place).integers(0, 2, 12) for place, kind in enumerate("BFM")}
    y = rng.choice(list("BFM"), n, p=[0.3, 0.2, 0.5])
    flips = rng.random((n, 12)) < 0.15
    X = np.array([typical[kind] for kind in y]) ^ flips
    return X.astype(str).tolist(), y


def fitted_again(
    classes: np.ndarray, setting: dict[str, Any], data: tuple[Any, Any, Any], split: Any
) -> np.ndarray:
    """Probabilities of a model that was fitted to what a split learns from."""
    X, y, weight = data
    model = paper_model(**setting)
    model.fit(at(X, split[0]), at(y, split[0]), at(weight, split[0]))
    P = np.zeros((len(split[1]), len(classes)))
    P[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(at(X, split[1]))
    return P


def common_of(model: SparseTensorClassifierCV) -> dict[str, Any]:
    """The parameters that are not chosen, unless they are."""
    return {name: getattr(model, name) for name in COMMON}


def searched(model: SparseTensorClassifierCV, X: Any, y: Any) -> GridSearchCV:
    """GridSearchCV over the settings that a model tried, in the same order."""
    grid = [{name: [own] for name, own in s.items()} for s in model.cv_results_["params"]]
    base = paper_model(**common_of(model) | {"missing": "ignore"})
    return GridSearchCV(base, grid, scoring=model.scoring, cv=model.cv).fit(X, y)


def scores_of(results: dict[str, Any]) -> np.ndarray:
    """The scores of each setting on each split."""
    names = [f"split{k}_test_score" for k in range(len(results))]
    return np.column_stack([results[name] for name in names if name in results])


def assert_same_search(model: SparseTensorClassifierCV, grid: GridSearchCV) -> None:
    ours, theirs = model.cv_results_, grid.cv_results_
    for name in ("mean_test_score", "std_test_score"):
        assert_allclose(ours[name], theirs[name], rtol=0, atol=1e-10)
    assert_allclose(scores_of(ours), scores_of(theirs), rtol=0, atol=1e-10)
    assert model.n_splits_ == grid.n_splits_
    assert model.best_params_.items() >= grid.best_params_.items()
    assert model.best_score_ == pytest.approx(grid.best_score_, abs=1e-10)


def assert_consistent(model: SparseTensorClassifierCV) -> None:
    """What the results say is what was chosen, and ranks are right."""
    results, best = model.cv_results_, model.best_index_
    rounds, ranks, means = (results[n] for n in ("round", "rank_test_score", "mean_test_score"))
    scores = scores_of(results)
    assert scores.shape == (len(results["params"]), model.n_splits_)
    assert not np.isnan(scores[rounds == 2]).any()
    assert_allclose(means, np.nanmean(scores, axis=1), rtol=1e-12)
    assert_allclose(results["std_test_score"], np.nanstd(scores, axis=1), atol=1e-12)
    assert model.best_params_ == results["params"][best]
    assert model.best_score_ == means[best]
    assert rounds[best] == 2
    assert ranks[best] == 1
    last = means[rounds == 2]
    assert ranks[rounds == 2].tolist() == [1 + int((last > own).sum()) for own in last]
    first = means[rounds == 1]
    expected = [1 + len(last) + int((first > own).sum()) for own in first]
    assert ranks[rounds == 1].tolist() == expected
    assert best == np.flatnonzero(ranks == 1)[0]
    for name, value in model.best_params_.items():
        assert getattr(model.best_estimator_, name) is value
        assert results[f"param_{name}"][best] is value


def answers(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(X))


HYPERS = [Hyper(0.5, 1.0, 0.0), Hyper(1.0, 0.5, 2.0), Hyper(0.5, 0.0, 1.0), Hyper(0.25, 1.5, 1.0)]


def counted(
    matrix: sp.csr_array, y: np.ndarray, weight: np.ndarray, learnt: np.ndarray, judged: np.ndarray
) -> list[np.ndarray]:
    """Probabilities by a model of what is learnt, for each setting."""
    model = paper_model().fit(matrix[learnt], y[learnt], weight[learnt])
    assert model.classes_.tolist() == [0, 1, 2]
    found = []
    for hyper in HYPERS:
        model.set_params(**hyper._asdict())
        found.append(model.predict_proba(matrix[judged]))
    return found
