"""SparseTensorClassifierCV: settings judged as if fitted again, and what is under it."""

import copy
import math
import pickle
from collections.abc import Callable
from io import StringIO
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import balanced_accuracy_score, log_loss, make_scorer, matthews_corrcoef
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_param_validation,
    parametrize_with_checks,
)

from stc import (
    PhaseLearner,
    SparseTensorClassifier,
    SparseTensorClassifierCV,
    load_zoo,
    search,
    tuning,
)
from stc.conjunctions import Interactions
from stc.crossfit import CrossFit, folds_of
from stc.encode import encode
from stc.layout import Layout
from stc.policy import Hyper
from stc.splits import Items, enough, groups_of, splits_of
from support.sklearn_checks import measurements, run_check

INF = math.inf
# Plain, one hyper-parameter each, no conjunctions: the quickest there is.
QUICK: dict[str, Any] = {"phases": None, "interactions": 1}
ONE: dict[str, Any] = {"power": 0.5, "balance": 1.0, "entropy": 0.0, "interactions": 1}
# No two classes get the same of these, so that no rounding decides which is the more probable.
FEW: dict[str, Any] = {"power": [1 / 3, 0.9], "balance": 0.7, "entropy": [0.0, 1.0]}
VARIED: dict[str, Any] = {"power": [1 / 3, 1.0], "balance": [0.5, 1.5], "entropy": [0, 1.0]}
COMMON = ("continuous", "ordinal", "missing", "tokenizer", "targets", "max_tuples")


# ---------------------------------------------------------------- data


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


def parity(n: int, seed: int) -> tuple[list[list[str]], np.ndarray]:
    """Whether the ones of three bits are odd, which no two of them tell."""
    X = rng_of(seed).choice(list("01"), (n, 4))
    odd = (X[:, :3] == "1").sum(axis=1) % 2 == 1
    return X.tolist(), np.where(odd, "odd", "even")


def animals(n: int, seed: int) -> tuple[list[list[str]], np.ndarray]:
    """Like Zoo: many traits, each of which fits the class but for a few exceptions."""
    rng = rng_of(seed)
    typical = {kind: rng_of(place).integers(0, 2, 12) for place, kind in enumerate("BFM")}
    y = rng.choice(list("BFM"), n, p=[0.3, 0.2, 0.5])
    flips = rng.random((n, 12)) < 0.15
    X = np.array([typical[kind] for kind in y]) ^ flips
    return X.astype(str).tolist(), y


# ---------------------------------------------------------------- as if fitted again


class Recorder:
    """A scoring that keeps the probabilities; a score is the number under which they are kept."""

    def __init__(self) -> None:
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        P = estimator.predict_proba(X)
        assert P.shape == (len(y), len(estimator.classes_))
        self.seen.append((estimator.classes_, P))
        return float(len(self.seen) - 1)


def fitted_again(
    classes: np.ndarray, setting: dict[str, Any], data: tuple[Any, Any, Any], split: Any
) -> np.ndarray:
    """Probabilities of a model that was fitted to what a split learns from."""
    X, y, weight = data
    model = SparseTensorClassifier(**setting)
    model.fit(at(X, split[0]), at(y, split[0]), at(weight, split[0]))
    P = np.zeros((len(split[1]), len(classes)))
    P[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(at(X, split[1]))
    return P


def assert_as_if_fitted(
    data: tuple[Any, Any, Any], n: int, seed: int, most: int = 99, **params: Any
) -> None:
    """Every setting has the probabilities of a model that was fitted to the split anew."""
    splits = list(KFold(3, shuffle=True, random_state=seed).split(np.zeros(n)))
    recorder = Recorder()
    model = SparseTensorClassifierCV(phases=None, cv=splits, scoring=recorder, **params)
    model.fit(*data)
    common = {name: params[name] for name in COMMON if name in params}
    common.setdefault("continuous", "auto")
    results = model.cv_results_
    assert len(recorder.seen) == 3 * len(results["params"])
    rows = rng_of(seed).permutation(len(results["params"]))[:most]  # not all, to save time
    for row in rows:
        for place, split in enumerate(splits):
            classes, P = recorder.seen[int(results[f"split{place}_test_score"][row])]
            expected = fitted_again(classes, common | results["params"][row], data, split)
            assert_allclose(P, expected, rtol=0, atol=1e-10)


KINDS: dict[str, tuple[Callable[[int, int], Any], dict[str, Any]]] = {
    "table": (lambda n, seed: table(n, seed)[0], {"interactions": [1, 2, 3]}),
    "gaps as a category": (
        lambda n, seed: table(n, seed)[0],
        {"interactions": [1, 2], "missing": "category", "min_support": 2},
    ),
    "records": (records, {"interactions": [1, 2, 3], "min_support": 1, "max_features": None}),
    "bags": (bags, {"interactions": [1, 2, 3], "min_support": 2, "max_features": None}),
    "counts": (counts, {}),
    "documents": (documents, {"ngrams": [1, 2, 3], "min_support": 2, "max_features": None}),
    "tokenizer": (documents, {"ngrams": [1, 2], "tokenizer": list, "min_support": 3}),
    "scales": (
        scales,
        {
            "interactions": [1, 2, 3],
            "continuous": {"n": [-1.0, 0.0, 1.0]},
            "ordinal": {"o": ["S", "M", "L"]},
        },
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [hard, soft])
def test_a_split_is_judged_as_if_fitted_again(kind: str, target: Callable[..., Any]) -> None:
    make, params = KINDS[kind]
    n, seed = 40, len(kind)
    weight = None if target is hard else rng_of(seed).random(n) + 0.2
    data = make(n, seed), target(n, seed), weight
    assert_as_if_fitted(data, n, seed, most=8, **VARIED, **params)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_features", [0, 3, 20])
@pytest.mark.parametrize("make", [records, bags, documents])
def test_the_strongest_of_a_split_are_those_of_a_fit(
    make: Callable[..., Any], max_features: int, seed: int
) -> None:
    """Also where many conjunctions are as strong as each other, and only some can be kept."""
    orders = {"ngrams": [2, 3]} if make is documents else {"interactions": [2, 3]}
    data = make(40, seed), hard(40, seed), None
    settings = {"power": 0.5, "balance": 0.5, "entropy": 1.0, "min_support": 1}
    assert_as_if_fitted(data, 40, seed, max_features=max_features, **settings, **orders)


def test_settings_of_extremes_are_judged_as_if_fitted_again() -> None:
    X, y = table()
    grids = {"power": [0.01, 3.0], "balance": [0.0, 3.0], "entropy": [0.0, 30.0]}
    assert_as_if_fitted((X, y, None), 60, 0, interactions=[1, 2], **grids)


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
    fitted = SparseTensorClassifier(continuous=["n"]).fit(X, ["any"] * len(X))
    return list(fitted._learnt.model.scales["n"].knots)


# ---------------------------------------------------------------- GridSearchCV

Score = Callable[[Any, Any, Any], float]


def by_answers(estimator: Any, X: Any, y: Any) -> float:
    """A scoring that asks for everything."""
    P = estimator.predict_proba(X)
    assert_array_equal(estimator.predict(X), estimator.classes_[P.argmax(axis=1)])
    return float(balanced_accuracy_score(y, estimator.predict(X)) - P.max(axis=1).mean() / 7)


SCORINGS = ["accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr", "neg_brier_score"]
CALLABLES = [by_answers, make_scorer(matthews_corrcoef)]


def common_of(model: SparseTensorClassifierCV) -> dict[str, Any]:
    """The parameters that are not chosen, unless they are."""
    return {name: getattr(model, name) for name in COMMON}


def searched(model: SparseTensorClassifierCV, X: Any, y: Any) -> GridSearchCV:
    """GridSearchCV over the settings that a model tried, in the same order."""
    grid = [{name: [own] for name, own in s.items()} for s in model.cv_results_["params"]]
    base = SparseTensorClassifier(**common_of(model) | {"missing": "ignore"})
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
    assert model.best_params_ == grid.best_params_
    assert model.best_score_ == pytest.approx(grid.best_score_, abs=1e-10)


@pytest.mark.parametrize(
    "scoring", [*SCORINGS, *CALLABLES], ids=lambda s: getattr(s, "__name__", s)
)
def test_scores_are_those_of_grid_search(scoring: Any) -> None:
    X, y = table()
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    model = SparseTensorClassifierCV(
        **FEW, phases=None, interactions=[1, 2], min_support=2, scoring=scoring, cv=cv
    ).fit(X, y)
    assert len(model.cv_results_["params"]) == 2 * 8  # values are missing, which are taken two ways
    assert len(set(model.cv_results_["mean_test_score"].round(9))) > 3
    assert_same_search(model, searched(model, X, y))


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "accuracy"])
def test_two_classes_of_numbers(scoring: str) -> None:
    X, y = table()
    numbers = (y == "red").astype(int)
    model = SparseTensorClassifierCV(**FEW, **QUICK, scoring=scoring, cv=StratifiedKFold(4))
    assert_same_search(model.fit(X, numbers), searched(model, X, numbers))


def test_of_equals_the_first_is_the_best() -> None:
    X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
    model = SparseTensorClassifierCV(
        power=[1.0, 0.5], balance=[1.0, 0.0], entropy=[2, 0], **QUICK, cv=KFold(2)
    ).fit(X, y)
    assert model.best_index_ == 0
    assert model.best_params_ == {
        "power": 1.0,
        "balance": 1.0,
        "entropy": 2,
        "phases": None,
        "missing": "ignore",
        "interactions": 1,
    }
    assert model.cv_results_["rank_test_score"].tolist() == [1] * 8


SPLITTERS: dict[str, Callable[[], Any]] = {
    "stratified": lambda: StratifiedKFold(4),
    "shuffled": lambda: ShuffleSplit(3, test_size=0.3, random_state=0),
    "predefined": lambda: PredefinedSplit([0, 1, -1] * 20),
    "many": lambda: KFold(9),
    "list": lambda: list(KFold(2).split(np.zeros(60))),
    "overlapping": lambda: [(np.arange(40), np.arange(30, 60)), (np.arange(9, 60), np.arange(5))],
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_splitters_of_scikit_learn(name: str) -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**FEW, **QUICK, scoring="accuracy", cv=SPLITTERS[name]())
    grid = searched(model.fit(X, y), X, y)
    assert_same_search(model, grid)
    assert_array_equal(model.cv_results_["rank_test_score"], grid.cv_results_["rank_test_score"])


@pytest.mark.parametrize(("items", "splits"), [(60, 15), (999, 15), (1000, 10), (2000, 5)])
def test_few_items_are_dealt_several_times(items: int, splits: int) -> None:
    X, y = [["a"], ["b"]] * (items // 2) + [["a"]] * (items % 2), hard(items, 0)
    judged: list[list[int]] = []
    model = SparseTensorClassifierCV(
        **ONE, phases=None, scoring=lambda _, X, y: judged.append(y.tolist()) or 0.0
    ).fit(X, y)
    assert model.n_splits_ == splits == len(judged)
    for deal in range(0, splits, 5):
        assert sum(map(len, judged[deal : deal + 5])) == items
    assert len({tuple(own) for own in judged}) == splits  # no deal is another's


def informative_gaps() -> tuple[list[list[Any]], list[str]]:
    """A value is missing where the class is the one, and says nothing where it is there."""
    generator = rng_of(0)
    y = hard(120, 0)
    return [[None if own == y[0] else str(generator.integers(3)), "same"] for own in y], list(y)


def meaningless_gaps() -> tuple[list[list[Any]], list[str]]:
    """Where nothing is missing all is said; what is missing is one of many attributes' noise."""
    generator = rng_of(1)
    y = hard(120, 0)
    gaps = generator.random((120, 6)) < 0.5
    rows = [[None if gap else own for gap in row] for row, own in zip(gaps, y, strict=True)]
    return rows, list(y)


@pytest.mark.parametrize("phases", [None, "auto", [None, 1.0]], ids=str)
def test_missing_values_are_a_category_if_that_is_better(phases: Any) -> None:
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3)
    plain = clone(model).set_params(phases=INF if phases == "auto" else None)
    for make, expected in ((informative_gaps, "category"), (meaningless_gaps, "ignore")):
        X, y = make()
        ways = [clone(plain).set_params(missing=own).fit(X, y) for own in ("ignore", "category")]
        assert (ways[0].best_score_ < ways[1].best_score_) == (expected == "category")
        model.fit(X, y)
        assert model.best_params_["missing"] == model.best_estimator_.missing == expected
        results = model.cv_results_
        phased = [own["missing"] for own in results["params"] if has_phases(own)]
        assert set(phased) == ({expected} if phases else set())
        assert set(results["param_missing"].tolist()) == {"ignore", "category"}
    assert_consistent(model)
    given = clone(model).set_params(missing="category").fit(X, y)
    assert "missing" not in given.best_params_
    assert given.best_estimator_.missing == "category"


def has_phases(params: dict[str, Any]) -> bool:
    return params["phases"] is not None and np.isfinite(params["phases"].penalties[0])


def test_what_is_all_right_is_not_certain() -> None:
    """Sharpness fitted to the judged items: one item more keeps it within bounds."""
    P = np.array([[0.6, 0.4]] * 10 + [[0.4, 0.6]] * 10)
    truth = np.array([[1.0, 0.0]] * 10 + [[0.0, 1.0]] * 10)
    right = search._sharpest(P, truth, np.ones(20))
    # All alike: the share of the right ones that (20 + 1/2) in 21 say.
    assert_allclose(right[truth > 0], 20.5 / 21, rtol=1e-4)
    many = search._sharpest(np.tile(P, (50, 1)), np.tile(truth, (50, 1)), np.ones(1000))
    assert_allclose(many[:20][truth > 0], 1000.5 / 1001, rtol=1e-5)


def test_an_iterator_of_splits_is_used_once() -> None:
    X, y = table()
    splits = list(KFold(3).split(np.zeros(60)))
    one = SparseTensorClassifierCV(**FEW, **QUICK, cv=iter(splits)).fit(X, y)
    other = SparseTensorClassifierCV(**FEW, **QUICK, cv=splits).fit(X, y)
    assert_array_equal(scores_of(one.cv_results_), scores_of(other.cv_results_))


def test_a_splitter_of_groups_needs_groups() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="groups"):
        SparseTensorClassifierCV(**QUICK, cv=GroupKFold(2)).fit(X, y)


def test_a_splitter_gets_the_groups_as_gridsearchcv_gives_them() -> None:
    X, y = table()
    groups = [f"person {k // 4}" for k in range(60)]
    model = SparseTensorClassifierCV(**FEW, **QUICK, scoring="accuracy", cv=GroupKFold(3))
    model.fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    assert_same_search(model, searched(model.set_params(cv=splits), X, y))


GROUPS: dict[str, Callable[[list[int]], Any]] = {
    "list": lambda own: own,
    "texts": lambda own: [f"thread {k}" for k in own],
    "mixed": lambda own: [k if k % 2 else str(k) for k in own],
    "array": np.array,
    "column": lambda own: np.array(own)[:, None],
    "polars": pl.Series,
    "pandas": pd.Series,
    "categories": lambda own: pd.Series(own, dtype="category"),
    "days": lambda own: np.datetime64("2026-01-01") + np.array(own),
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("cv", [None, 2, 4])
def test_a_group_is_learnt_from_or_judged(kind: str, cv: int | None) -> None:
    """Folds of whole groups; items that weigh nothing are in none."""
    classes, groups = rng_of(6).integers(0, 3, 60), rng_of(7).integers(0, 12, 60)
    present = np.arange(60) % 7 > 0
    items = Items(classes, present, groups_of(GROUPS[kind](groups.tolist()), 60))
    splits = splits_of(items, cv, seed=0)
    assert len(splits) == (5 if cv is None else cv)
    everything = np.arange(present.sum())
    assert_array_equal(np.sort(np.concatenate([split.judged for split in splits])), everything)
    own = groups[present]
    for learning, judged in splits:
        assert_array_equal(np.sort(np.concatenate([learning, judged])), everything)
        assert not set(own[learning]) & set(own[judged])


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(3)])
def test_items_and_groups_without_weight_are_absent(cv: Any) -> None:
    X, y = table()
    groups = rng_of(8).integers(0, 12, 60)
    weight = (groups < 7) * (rng_of(9).random(60) < 0.8) * 2.0
    present = np.flatnonzero(weight)
    model = SparseTensorClassifierCV(**FEW, phases=None, interactions=[1, 2], cv=cv)
    expected = clone(model).fit(X[present], y[present], weight[present], groups=groups[present])
    if cv is not None and not isinstance(cv, int):  # a splitter knows those that weigh nothing
        model.set_params(
            cv=[(present[a], present[b]) for a, b in cv.split(X[present], groups=groups[present])]
        )
    model.fit(X, y, weight, groups=groups)
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert model.best_params_ == expected.best_params_


@given(data=st.data())
def test_every_fold_of_groups_has_some(data: Any) -> None:
    n = data.draw(st.integers(2, 40))
    groups = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    classes = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    count = len(np.unique(groups))
    cv = data.draw(st.one_of(st.none(), st.integers(2, max(count, 2))))
    if count < 2 or (cv or 2) > count:
        return
    present = np.ones(n, dtype=bool)
    splits = splits_of(
        Items(classes, present, groups_of(groups, n)), cv, data.draw(st.integers(0, 9))
    )
    assert len(splits) == (cv or min(count, 5))
    assert all(len(split.judged) and len(split.learning) for split in splits)
    assert all(not set(groups[a]) & set(groups[b]) for a, b in splits)
    assert_array_equal(np.sort(np.concatenate([split.judged for split in splits])), np.arange(n))
    sizes = [len(split.judged) for split in splits]
    assert sizes == sorted(sizes)


def test_one_large_group_does_not_decide_alone() -> None:
    groups = np.r_[np.zeros(4000, int), 1 + np.arange(2000) // 50]
    items = Items(np.arange(6000) % 2, np.ones(6000, dtype=bool), groups_of(groups, 6000))
    splits = splits_of(items, None, seed=0)
    assert [len(split.judged) for split in splits] == [500, 500, 500, 500, 4000]
    assert enough(splits, items) == splits  # of 40 groups, which are not enough
    alone = Items(items.classes, items.present, groups_of(np.arange(6000), 6000))
    assert len(enough(splits_of(alone, None, seed=0), alone)) == 2
    none = items._replace(groups=None)
    assert len(enough(splits_of(none, None, seed=0), none)) == 2


def test_large_numbers_of_pandas_and_python_are_not_rounded() -> None:
    numbers = [2**60 + k % 12 for k in range(60)]
    for own in (pd.Series(numbers, dtype="Int64"), numbers, [-1, *(2**63 + k for k in range(59))]):
        assert len(np.unique(groups_of(own, 60).codes)) == len(set(own))


def test_groups_of_few_items_of_a_class_are_no_reason_to_warn() -> None:
    X, y = load_zoo()  # 4 amphibians for 5 folds; warnings are errors here
    model = SparseTensorClassifierCV(**FEW, **QUICK).fit(X, y, groups=np.arange(len(y)) // 2)
    assert model.n_splits_ == 5


def test_folds_of_groups_have_the_classes_in_proportion() -> None:
    y = np.array(["a"] * 90 + ["b"] * 10)
    seen: list[list[str]] = []
    SparseTensorClassifierCV(
        **ONE, phases=None, cv=5, scoring=lambda _, X, y: seen.append(y.tolist()) or 0.0
    ).fit([["v"]] * 100, y, groups=range(100))
    assert [fold.count("b") for fold in seen] == [2] * 5


@pytest.mark.parametrize(
    ("groups", "cv", "message"),
    [
        ([1, 2, 3], None, "groups: 3 of them for 60 items"),
        ("person", None, "groups='person': give the group of each item, not the name"),
        ([1] * 60, None, "cv=2 folds need as many groups, and there are 1$"),
        ([1, 2, 3] * 20, 4, "cv=4 folds need as many groups, and there are 3$"),
        ([*"abcde", None] * 10, None, "groups, item 5: missing; give the item a group"),
        ([1.0, 2.0, float("nan")] * 20, None, "groups, item 2: missing"),
        ([float("nan"), *"abcde"] * 10, None, "groups, item 0: missing"),
        (np.ma.masked_equal(np.arange(60), 7), None, "groups, item 7: missing"),
        (np.zeros((60, 2)), None, "groups: expected a list or an array .*shape \\(60, 2\\)"),
        (iter(range(60)), None, "groups: expected a list or an array .*, got range_iterator$"),
        (dict.fromkeys(range(60)), None, "groups: expected a list or an array .*, got dict$"),
        ([(1, 2)] * 60, None, "groups: a value must be single, got tuple"),
    ],
)
def test_groups_that_cannot_be(groups: Any, cv: int | None, message: str) -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**FEW, **QUICK, cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, groups=groups)
    assert not hasattr(model, "best_estimator_")


def test_what_tells_groups_apart_is_not_mistaken_for_what_tells_classes() -> None:
    """A word of one thread only: by lot it looks better than it is in a new thread."""
    rng = rng_of(5)
    threads = np.repeat(np.arange(40), 10)
    y = np.where(threads % 2, "yes", "no")
    hint = np.where(rng.random(400) < 0.75, y, np.where(y == "yes", "no", "yes"))
    X = [[own, f"t{thread}"] for own, thread in zip(hint, threads, strict=True)]
    model = SparseTensorClassifierCV(
        phases=None, interactions=1, power=0.5, balance=1.0, entropy=[0.0, 2.0], scoring="accuracy"
    )
    by_lot = model.fit(X, y).best_score_
    apart = clone(model).fit(X, y, groups=threads).best_score_
    assert by_lot > 0.95
    assert 0.7 < apart < 0.8


def test_folds_by_number_have_of_every_class_the_same_share() -> None:
    _, y = table()
    seen: list[list[str]] = []
    model = SparseTensorClassifierCV(
        **ONE, phases=None, cv=4, scoring=lambda _, X, y: seen.append(y.tolist()) or 0.0
    ).fit([["a"]] * 60, y)
    assert model.n_splits_ == 4
    assert sorted(chain.from_iterable(seen)) == sorted(y.tolist())
    for label in set(y):
        shares = [own.count(label) for own in seen]
        assert max(shares) - min(shares) <= 1
    assert max(map(len, seen)) - min(map(len, seen)) <= 1


# ---------------------------------------------------------------- the default score


def test_the_default_score_is_accuracy_less_some_log_loss() -> None:
    X, y = table()
    weight = rng_of(3).random(60) + 0.1
    cv = KFold(3)
    model = SparseTensorClassifierCV(**FEW, phases=None, interactions=[1, 2], cv=cv)
    model.fit(X, y, weight)
    for row, setting in enumerate(model.cv_results_["params"]):
        for place, (learning, judged) in enumerate(cv.split(np.zeros(60))):
            classes = np.unique(y)
            data = X, y, weight
            P = fitted_again(classes, setting, data, (learning, judged))
            truth = y[judged, None] == classes
            right = P.argmax(axis=1) == truth.argmax(axis=1)
            loss = -np.log(np.maximum(P, search._LEAST))[truth]
            expected = np.average(right - search._LOSS_SHARE * loss, weights=weight[judged])
            found = model.cv_results_[f"split{place}_test_score"][row]
            assert found == pytest.approx(expected, abs=1e-9)


def test_a_weight_is_a_repetition() -> None:
    X, y = table()
    weight = rng_of(5).integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    place = np.arange(60) % 3
    phases = [None, INF]
    weighted = SparseTensorClassifierCV(**FEW, interactions=1, phases=phases)
    weighted.set_params(cv=PredefinedSplit(place)).fit(X, y, weight)
    repeated = clone(weighted).set_params(cv=PredefinedSplit(place[copies]))
    repeated.fit(X[copies], y[copies])
    results = [scores_of(own.cv_results_) for own in (weighted, repeated)]
    assert_allclose(*results, rtol=0, atol=1e-6)
    unweighted = clone(weighted).fit(X, y)
    assert not np.allclose(scores_of(unweighted.cv_results_), results[0], atol=1e-4)


@pytest.mark.parametrize("cv", [4, PredefinedSplit([0, 1, 2] * 20), "list"], ids=str)
def test_weight_zero_is_absence(cv: Any) -> None:
    """Splits that are given count the items as they were given."""
    X, y = table()
    weight = (rng_of(4).random(60) < 0.6) * 2.0
    present = np.flatnonzero(weight)
    own: Any = cv
    if isinstance(cv, PredefinedSplit):
        own = PredefinedSplit(cv.test_fold[present])
    if cv == "list":
        pairs = list(ShuffleSplit(3, random_state=0).split(np.zeros(60)))
        cv = pairs
        own = [tuple(np.flatnonzero(np.isin(present, part)) for part in pair) for pair in pairs]
    model = SparseTensorClassifierCV(**FEW, phases=None, interactions=[1, 2], cv=cv)
    model.fit(X, y, weight)
    expected = clone(model).set_params(cv=own).fit(X[present], y[present], weight[present])
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert model.best_params_ == expected.best_params_
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12)


def test_documents_of_weight_zero_are_absent() -> None:
    X, y = documents(40, 0), hard(40, 0)
    weight = np.arange(40) % 3
    present = np.flatnonzero(weight)
    model = SparseTensorClassifierCV(**FEW, phases=None, ngrams=[2, 1], cv=3).fit(X, y, weight)
    expected = clone(model).fit(at(X, present), at(y, present), weight[present])
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert model.best_params_ == expected.best_params_


def test_a_class_without_weight_is_no_class() -> None:
    X, y = table()
    weight = (y != "red").astype(float)
    model = SparseTensorClassifierCV(**FEW, **QUICK, scoring="neg_log_loss", cv=3)
    model.fit(X, y, weight)
    assert model.classes_.tolist() == ["blue", "green"]
    assert np.isfinite(model.best_score_)


# ---------------------------------------------------------------- cv_results_


def test_results_are_laid_out_as_grid_search_lays_them_out() -> None:
    X, y = table()
    given = {"interactions": [1, 2], "min_support": 3, "max_features": 9}
    model = SparseTensorClassifierCV(**FEW, phases=None, **given, scoring="accuracy", cv=KFold(3))
    model.fit(X, y)
    grid = searched(model, X, y)
    ours, theirs = model.cv_results_, grid.cv_results_
    assert set(ours) == {name for name in theirs if not name.endswith("_time")} | {"round"}
    assert ours["params"] == theirs["params"]
    for name in ours:
        assert len(ours[name]) == len(theirs["params"])
        if name.startswith("param_"):
            assert isinstance(ours[name], np.ma.MaskedArray)
            assert_array_equal(np.ma.getmaskarray(ours[name]), np.ma.getmaskarray(theirs[name]))
            assert ours[name].tolist() == theirs[name].tolist()
    assert ours["param_max_features"].tolist() == ([None] * 4 + [9] * 4) * 2
    assert ours["param_min_support"].tolist() == ([None] * 4 + [3] * 4) * 2
    assert ours["param_missing"].tolist() == ["ignore"] * 8 + ["category"] * 8
    assert ours["rank_test_score"].dtype == theirs["rank_test_score"].dtype
    assert_array_equal(ours["rank_test_score"], theirs["rank_test_score"])
    assert ours["round"].tolist() == [2] * 16
    pl.DataFrame({name: own for name, own in ours.items() if "score" in name})


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


def test_results_of_two_rounds() -> None:
    X, y = equal(90, 0)
    model = SparseTensorClassifierCV(interactions=1).fit(X, y)
    assert_consistent(model)
    assert set(model.cv_results_["round"]) == {1, 2}
    few = scores_of(model.cv_results_)[model.cv_results_["round"] == 1]
    assert np.isfinite(few[:, 0]).all()
    assert np.isnan(few).any()


def test_results_of_a_grid_with_phases() -> None:
    X, y = equal(60, 1)
    model = SparseTensorClassifierCV(**ONE, phases=[None, 4.0, INF], cv=3).fit(X, y)
    assert_consistent(model)
    tried = [own["phases"] for own in model.cv_results_["params"]]
    assert tried.count(None) == 1
    penalties = [own.penalties for own in tried if own is not None]
    assert penalties.count((INF,)) == 1
    assert set(penalties) == {(INF,), (4.0,)}
    looks = [own.max_iter for own in tried if own is not None and own.penalties == (4.0,)]
    assert looks == sorted(set(looks))
    assert set(model.cv_results_["round"]) == {2}
    assert model.n_splits_ == 3


# ---------------------------------------------------------------- what comes of it


def answers(model: Any, X: Any) -> np.ndarray:
    return np.asarray(model.predict_proba(X))


CHOICES: dict[str, tuple[Callable[[], tuple[Any, Any]], dict[str, Any]]] = {
    "plain": (lambda: table(), {**FEW, "phases": None, "interactions": [1, 2]}),
    "phases": (lambda: equal(60, 2), {**ONE, "phases": [0.5]}),
    "only the sharpness": (lambda: table(), {**FEW, "phases": INF}),
    "documents": (lambda: (documents(40, 0), hard(40, 0)), {"ngrams": [2], "phases": None}),
    "auto": (lambda: equal(45, 3), {"power": 0.5, "balance": 1.0, "interactions": 1}),
    "numbers": (lambda: (scales(60, 0), hard(60, 0)), {**QUICK, "ordinal": {"o": list("SML")}}),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_the_best_estimator_is_a_model_with_the_best_parameters(choice: str) -> None:
    make, params = CHOICES[choice]
    X, y = make()
    model = SparseTensorClassifierCV(**params, cv=3).fit(X, y)
    assert type(model.best_estimator_) is SparseTensorClassifier
    anew = SparseTensorClassifier(**common_of(model) | clone_of(model.best_params_)).fit(X, y)
    assert_array_equal(answers(anew, X), answers(model, X))
    twin = clone(model).set_params(n_jobs=2).fit(X, y)  # the same in threads
    assert repr(twin.best_params_) == repr(model.best_params_)
    assert_array_equal(scores_of(twin.cv_results_), scores_of(model.cv_results_))
    assert_array_equal(answers(twin, X), answers(model, X))


def clone_of(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, with a learner that nobody has used."""
    return {n: clone(v) if isinstance(v, PhaseLearner) else v for n, v in params.items()}


def test_random_state_decides_the_folds_and_nothing_else_does() -> None:
    X, y = table()
    state = np.random.get_state()[1].copy()
    fits = [
        SparseTensorClassifierCV(**FEW, **QUICK, random_state=own).fit(X, y)
        for own in (7, np.random.RandomState(7), 8)
    ]
    scores = [scores_of(own.cv_results_) for own in fits]
    assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()
    assert_array_equal(state, np.random.get_state()[1])


def test_everything_is_asked_of_the_best_estimator() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**FEW, **QUICK).fit(X, y)
    best = model.best_estimator_
    for method in ("predict", "predict_proba", "predict_log_proba", "coverage"):
        assert_array_equal(getattr(model, method)(X), getattr(best, method)(X))
    theta = np.full(X.shape, 0.0)
    theta[:, 0] = 2.0
    for method in ("predict", "predict_proba", "predict_log_proba"):
        assert_array_equal(getattr(model, method)(X, theta), getattr(best, method)(X, theta))
    assert (model.predict_proba(X, theta) != model.predict_proba(X)).any()
    assert str(model.explain(X[:3])) == str(best.explain(X[:3]))
    assert str(model.explain(X[:3], theta[:3])) == str(best.explain(X[:3], theta[:3]))
    weight = np.arange(60)
    assert model.score(X, y) == best.score(X, y)
    assert model.score(X, y, weight) == best.score(X, y, weight) != best.score(X, y)
    assert_array_equal(model.get_feature_names_out(), best.get_feature_names_out())
    assert_array_equal(model.classes_, best.classes_)
    assert_array_equal(model.feature_names_in_, best.feature_names_in_)
    assert model.n_features_in_ == best.n_features_in_ == 4


def test_the_best_estimator_can_go_on_learning() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**FEW, **QUICK).fit(X, y)
    before = answers(model, X)
    model.best_estimator_.partial_fit(X[:9], y[:9])
    assert (answers(model, X) != before).any()
    model.best_estimator_.unlearn(X[:9], y[:9])
    assert_allclose(answers(model, X), before, atol=1e-12)


# ---------------------------------------------------------------- phases


@pytest.mark.parametrize(
    ("make", "values", "order"),
    [(equal, ("uvw",), 1), (equal, ("01",), 1), (parity, (), 2)],
    ids=["equal", "xor", "parity"],
)
def test_phases_solve_what_the_plain_model_cannot(
    make: Callable[..., Any], values: tuple[str, ...], order: int
) -> None:
    X, y = make(140, 0, *values)
    held_out = make(300, 1, *values)
    model = SparseTensorClassifierCV(interactions=order, cv=3).fit(X, y)
    assert model.score(*held_out) == 1.0
    assert model.best_params_["phases"].penalties[0] < INF
    plain = SparseTensorClassifierCV(interactions=order, cv=3, phases=None).fit(X, y)
    assert plain.score(*held_out) < 0.8
    assert model.best_score_ > plain.best_score_ + 0.1
    without = copy.deepcopy(model.best_estimator_).set_params(phases={})
    assert without.score(*held_out) < 0.8


def test_conjunctions_solve_it_without_phases() -> None:
    X, y = parity(160, 2)
    model = SparseTensorClassifierCV().fit(X, y)
    assert model.best_params_["interactions"] == 3
    assert model.score(*parity(300, 3)) == 1.0


def test_nothing_is_lost_on_noise() -> None:
    """As good as the plain model but for one standard error, on items that were never seen."""
    rng = rng_of(0)
    X = rng.choice(list("01"), (900, 4)).tolist()
    y = rng.choice(["a", "b"], 900, p=[0.7, 0.3])
    fits = [
        SparseTensorClassifierCV(interactions=[1, 2], phases=phases, cv=3).fit(X[:150], y[:150])
        for phases in ("auto", None)
    ]
    accuracies = [own.score(X[150:], y[150:]) for own in fits]
    assert accuracies[0] >= accuracies[1] - math.sqrt(0.21 / 750)
    assert fits[0].best_score_ >= fits[1].best_score_


def test_phases_are_not_learnt_from_what_they_are_judged_by() -> None:
    rng = rng_of(1)
    X, y = rng.choice(list("abcde"), (120, 5)).tolist(), rng.choice(["x", "y"], 120)
    model = SparseTensorClassifierCV(**ONE, phases=0.0, scoring="accuracy", cv=3).fit(X, y)
    assert model.best_score_ < 0.7
    assert model.score(X, y) > 0.8


def test_an_immense_penalty_leaves_the_plain_model() -> None:
    """Also of items that nothing is known of: they have the frequencies of the classes."""
    X, y = table(90)
    y[:50] = np.where(y[:50] == "blue", "red", y[:50])
    assert np.unique(y[:60], return_counts=True)[1].argmax() > 0  # the first is not the largest
    splits = [(np.arange(60), np.arange(60, 90)), (np.arange(20, 80), np.r_[:20, 80:90])]
    strange = X.with_columns(pl.lit("new").alias(name) for name in X.columns)
    frame = pl.concat([X[:60], strange[60:75], X[75:]])
    model = SparseTensorClassifierCV(**ONE, phases=[None, 1e9], scoring="accuracy", cv=splits)
    scores = scores_of(model.fit(frame, y).cv_results_)
    assert len(scores) > 1
    assert_allclose(scores, np.broadcast_to(scores[0], scores.shape), atol=1e-12)


def test_where_nothing_can_be_learnt_phases_are_no_better() -> None:
    """Every value is in one item only, so no item left out is known at all."""
    X, y = [[f"v{k}"] for k in range(12)], ["a", "b", "c"] * 4
    model = SparseTensorClassifierCV(**ONE, phases=[None, 1.0], cv=3).fit(X, y)
    means = model.cv_results_["mean_test_score"]
    assert means[1:] == pytest.approx(means[0], abs=1e-9)
    assert model.best_params_["phases"] is None


def test_all_values_missing() -> None:
    X, y = [[None, None]] * 12, ["a", "b", "b"] * 4
    model = SparseTensorClassifierCV(**ONE, phases=[None, 1.0, INF], missing="ignore", cv=3)
    assert_allclose(answers(model.fit(X, y), X), [[1 / 3, 2 / 3]] * 12)
    assert model.cv_results_["mean_test_score"] == pytest.approx(model.best_score_, abs=1e-6)


def test_infinite_penalty_is_only_the_sharpness() -> None:
    X, y = animals(120, 0)
    shared = {**FEW, "interactions": [1, 2], "cv": 3}
    accuracy = SparseTensorClassifierCV(**shared, phases=[None, INF], scoring="accuracy").fit(X, y)
    loss = clone(accuracy).set_params(scoring="neg_log_loss").fit(X, y)
    plain = np.array([own["phases"] is None for own in accuracy.cv_results_["params"]])
    assert plain.sum() == (~plain).sum() == 8
    assert_array_equal(
        scores_of(accuracy.cv_results_)[plain], scores_of(accuracy.cv_results_)[~plain]
    )
    means = loss.cv_results_["mean_test_score"]
    assert (means[~plain] > means[plain] + 0.01).all()
    assert loss.best_params_["phases"].penalties == (INF,)
    best = loss.best_estimator_
    calm = copy.deepcopy(best).set_params(phases={})
    fresh = animals(200, 1)[0]
    assert_array_equal(best.predict(fresh), calm.predict(fresh))
    assert (best.predict_proba(fresh) != calm.predict_proba(fresh)).any()


# ---------------------------------------------------------------- grids

GRIDS: list[dict[str, Any]] = [
    {"power": 0.5, "balance": 1.0, "entropy": 0.0},
    {"power": [0.5], "balance": (1.0,), "entropy": np.array([0.0, 1.0])},
    {"power": np.array([0.25, 0.5]), "balance": np.float64(0.5), "entropy": [0, 2]},
    {"interactions": np.array([1, 2]), **{k: ONE[k] for k in ("power", "balance", "entropy")}},
    {"interactions": (2,), "power": 0.5, "balance": 1.0, "entropy": 0.0},
    {"interactions": np.int64(2), "power": 0.5, "balance": 1.0, "entropy": 0.0},
]


@pytest.mark.parametrize("grids", GRIDS, ids=str)
def test_grids_are_values_lists_tuples_or_arrays(grids: dict[str, Any]) -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**QUICK | grids, missing="ignore", cv=3)
    results = model.fit(X, y).cv_results_
    count = 1
    for name, own in grids.items():
        values = np.atleast_1d(np.asarray(own)).tolist()
        assert set(results[f"param_{name}"].tolist()) == set(values)
        count *= len(values)
    assert len(results["params"]) == count


@pytest.mark.parametrize(
    "phases",
    [None, 4.0, 4, INF, [4.0], (None, 4.0), np.array([4.0, 1.0]), [INF, None], 0.0],
    ids=str,
)
def test_grids_of_phases(phases: Any) -> None:
    X, y = equal(45, 0)
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3).fit(X, y)
    given = phases if isinstance(phases, (list, tuple, np.ndarray)) else [phases]
    expected = {None if own is None else (float(own),) for own in given}
    tried = [own["phases"] for own in model.cv_results_["params"]]
    assert {None if own is None else own.penalties for own in tried} == expected
    assert_consistent(model)


@pytest.mark.parametrize("phases", [None, [None, 4.0]], ids=str)
def test_the_same_value_twice_is_judged_on_the_same_splits(phases: Any) -> None:
    X, y = equal(45, 0)
    twice = phases if phases is None else phases * 2
    grids = {**ONE, "power": [0.5, 0.5], "entropy": [0.0, 0.0]}
    model = SparseTensorClassifierCV(**grids, phases=twice, cv=3).fit(X, y)
    assert model.n_splits_ == 3
    assert_consistent(model)
    once = SparseTensorClassifierCV(**ONE, phases=phases, cv=3).fit(X, y)
    assert model.best_score_ == once.best_score_
    assert repr(model.best_params_) == repr(once.best_params_)


def test_auto_tries_several_of_each() -> None:
    X, y = table()
    results = SparseTensorClassifierCV(phases=None, cv=3).fit(X, y).cv_results_
    for name in ("power", "balance", "entropy", "interactions"):
        assert len(set(results[f"param_{name}"].tolist())) > 1
    assert set(results["param_interactions"].tolist()) == {1, 2, 3}
    texts = SparseTensorClassifierCV(phases=None, cv=3).fit(documents(40, 0), hard(40, 0))
    assert set(texts.cv_results_["param_ngrams"].tolist()) == {1, 2}
    assert "param_interactions" not in texts.cv_results_
    amounts = SparseTensorClassifierCV(phases=None, cv=3).fit(counts(40, 0), hard(40, 0))
    assert set(amounts.cv_results_["param_interactions"].tolist()) == {1}


def test_what_is_given_is_kept_when_the_rest_is_auto() -> None:
    X, y = equal(60, 0)
    model = SparseTensorClassifierCV(balance=0.25, interactions=1, cv=3).fit(X, y)
    assert set(model.cv_results_["param_balance"].tolist()) == {0.25}
    assert set(model.cv_results_["round"]) == {1, 2}


def test_auto_leaves_out_what_is_too_large_and_an_order_is_refused() -> None:
    X, y = equal(45, 0)
    model = SparseTensorClassifierCV(phases=None, max_tuples=45 * 6, cv=3).fit(X, y)
    assert set(model.cv_results_["param_interactions"].tolist()) == {1, 2}
    with pytest.raises(ValueError, match=r"interactions=3 .* 315 entries .* max_tuples=270"):
        model.set_params(interactions=[1, 3]).fit(X, y)


def test_auto_takes_no_order_beyond_the_attributes() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(phases=None, cv=3).fit(X[["d", "c"]], y)
    assert set(model.cv_results_["param_interactions"].tolist()) == {1, 2}


def test_auto_keeps_as_many_conjunctions_as_items_can_have() -> None:
    rng = rng_of(0)
    most = tuning._MOST_PER_ITEM
    width = math.ceil(math.sqrt(2 * most)) + 2
    X = pl.DataFrame(rng.choice(list("01"), (24, width)))
    y = rng.choice(["a", "b"], 24)
    shared = {"power": 0.5, "balance": 1.0, "entropy": 0.0, "phases": None, "cv": 2}
    model = SparseTensorClassifierCV(**shared, interactions=2).fit(X, y)
    assert 0 < model.best_params_["max_features"] <= tuning._MOST_CONJUNCTIONS
    layout = Layout.of(Interactions(2).applied(encode(X)))
    support = model.best_params_["min_support"]
    truth = (y[:, None] == np.array(["a", "b"])).astype(float)
    kept = layout.strongest(
        np.arange(24), truth, np.ones(24), support, model.best_params_["max_features"]
    )
    shown = layout.matrix[:, np.flatnonzero(kept & layout.conjunctions)].nnz / 24
    assert 0.9 * most < shown <= most
    everything = clone(model).set_params(max_features=None, min_support=1).fit(X, y)
    assert everything.best_params_["max_features"] is None
    assert everything.best_params_["min_support"] == 1
    names = everything.get_feature_names_out()
    assert len(names) == layout.matrix.shape[1] > len(model.get_feature_names_out())


BAD_GRIDS: list[tuple[str, Any]] = [
    *((name, []) for name in ("power", "balance", "entropy", "interactions", "ngrams", "phases")),
    *((name, np.array([])) for name in ("power", "phases")),
    *((name, "best") for name in ("power", "balance", "entropy", "interactions", "ngrams")),
    *((name, [0.5, "x"]) for name in ("power", "balance", "entropy", "phases")),
    *((name, None) for name in ("power", "balance", "entropy", "interactions", "ngrams")),
    *(("power", own) for own in (0, -1.0, math.nan, INF, [0.5, -0.5], [[0.5]], {0.5: 1})),
    *(("balance", own) for own in (-0.1, math.nan, [1.0, INF])),
    *(("entropy", own) for own in (-1, math.nan, [0.0, -2.0])),
    *(("interactions", own) for own in (0, -1, 2.5, [1, 0], math.nan)),
    *(("ngrams", own) for own in (0, -1, 1.5, [1, 0])),
    *(("phases", own) for own in ("learn", -1.0, math.nan, -INF, [None, -4.0], [4.0, math.nan])),
    ("phases", {}),
    ("phases", PhaseLearner()),
    ("phases", [PhaseLearner()]),
    *(("min_support", own) for own in (0, "best", 1.5, [1, 2])),
    *(("max_features", own) for own in (-1, "best", 1.5)),
    *(("cv", own) for own in (1, 0, -2, 46, 2.5, "best", [])),
    ("scoring", 3),
    ("n_jobs", "all"),
    ("random_state", "now"),
    ("progress", "yes"),
    ("continuous", "never"),
    ("ordinal", ["a"]),
    ("missing", "drop"),
    ("tokenizer", "words"),
    ("targets", 3),
    ("max_tuples", 0),
]


@pytest.mark.parametrize(("name", "value"), BAD_GRIDS, ids=str)
def test_what_makes_no_sense_is_refused_by_name(name: str, value: Any) -> None:
    X, y = equal(45, 0)
    seen: list[Any] = []
    params = {"phases": None, "scoring": lambda *_: seen.append(1) or 0.0, name: value}
    model = SparseTensorClassifierCV(**params)
    items = [" ".join(row) for row in X] if name == "ngrams" else X
    with pytest.raises(ValueError, match=name):
        model.fit(items, y)
    assert not seen  # before anything is tried
    assert not hasattr(model, "best_estimator_")


def test_an_unknown_scoring_is_refused() -> None:
    X, y = equal(45, 0)
    with pytest.raises(ValueError, match="scoring"):
        SparseTensorClassifierCV(scoring="most").fit(X, y)


def test_a_score_that_is_no_number_is_refused() -> None:
    X, y = equal(45, 0)
    scores = iter([math.nan] * 3 + [0.5] * 99)
    model = SparseTensorClassifierCV(**FEW, **QUICK, scoring=lambda *_: next(scores), cv=3)
    with pytest.raises(ValueError, match=r"(?i)scoring.*nan"):
        model.fit(X, y)


# ---------------------------------------------------------------- targets


@pytest.mark.parametrize(
    "y", [[{"a"}, {"a", "b"}] * 10, [[1, 0], [1, 1]] * 10, np.eye(2, dtype=int)[[0, 1] * 10]]
)
def test_several_labels_are_refused_with_a_hint(y: Any) -> None:
    with pytest.raises(ValueError, match=r"one class an item.*GridSearchCV"):
        SparseTensorClassifierCV().fit([["u"], ["v"]] * 10, y)


def test_joint_targets() -> None:
    X, y = equal(80, 0)
    both = pl.DataFrame({"same": y, "first": [row[0] for row in X]})
    model = SparseTensorClassifierCV(**FEW, phases=None, interactions=[1, 2], cv=KFold(3))
    model.fit(X, both)
    assert [own.tolist() for own in model.classes_] == [["other", "same"], ["u", "v", "w"]]
    assert_array_equal(model.predict(X), both.to_numpy())
    labels = np.array([f"{a} {b}" for a, b in both.rows()])
    joined = clone(model).fit(X, labels)
    assert_allclose(scores_of(model.cv_results_), scores_of(joined.cv_results_), atol=1e-12)
    assert model.best_params_ == joined.best_params_
    model.set_params(scoring="accuracy").fit(X, both)  # of both targets together
    joined = clone(model).fit(X, labels)
    assert_allclose(scores_of(model.cv_results_), scores_of(joined.cv_results_), atol=1e-12)
    with pytest.raises(ValueError, match=r"several targets, scoring is None or 'accuracy'"):
        model.set_params(scoring="f1_macro").fit(X, both)


@pytest.mark.parametrize("name", ["interactions", "ngrams"])
@pytest.mark.parametrize("value", [2, [1, 2]])
def test_what_the_data_cannot_have_is_refused(name: str, value: Any) -> None:
    counts = sp.csr_array(np.eye(10))
    others = {"interactions": [["a b"] * 10, counts], "ngrams": [[["a", "b"]] * 10, counts]}
    for X in others[name]:
        with pytest.raises(ValueError, match=rf"{name}=.* is for (table|documents); X holds"):
            SparseTensorClassifierCV(**{name: value}, phases=None).fit(X, [0, 1] * 5)


def test_joint_targets_with_phases() -> None:
    X, y = equal(80, 0)
    both = np.column_stack([y, [row[2] for row in X]]).astype(object)
    model = SparseTensorClassifierCV(**ONE, phases=[0.25], cv=3).fit(X, both)
    assert model.score(X, both) > 0.9


def test_targets_by_name() -> None:
    X, y = table()
    frame = X.with_columns(color=pl.Series(y))
    model = SparseTensorClassifierCV(**FEW, **QUICK, targets="color").fit(frame)
    expected = SparseTensorClassifierCV(**FEW, **QUICK).fit(X, y)
    assert_array_equal(scores_of(model.cv_results_), scores_of(expected.cv_results_))
    assert_array_equal(model.predict_proba(frame), expected.predict_proba(X))
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.score(frame) == expected.score(X, y)
    assert model.best_estimator_.targets == "color"
    joint = SparseTensorClassifierCV(**FEW, **QUICK, targets=["color", "a"])
    assert joint.fit(frame.drop_nulls("a")).predict(frame).shape == (60, 2)
    with pytest.raises(ValueError, match="give no y"):
        model.fit(frame, y)
    with pytest.raises(ValueError, match="requires y"):
        SparseTensorClassifierCV().fit(X)


@pytest.mark.parametrize("phases", [None, [4.0, INF], "auto"], ids=str)
def test_a_single_class(phases: Any) -> None:
    X, _ = equal(30, 0)
    model = SparseTensorClassifierCV(0.5, 1.0, 0.0, phases=phases, cv=3).fit(X, ["only"] * 30)
    assert model.classes_.tolist() == ["only"]
    assert_array_equal(model.predict_proba(X), np.ones((30, 1)))
    assert model.best_score_ == pytest.approx(1.0)


@pytest.mark.parametrize("phases", [None, [4.0, INF], "auto"], ids=str)
def test_classes_of_one_item(phases: Any) -> None:
    X, y = equal(45, 0)
    labels = np.array(["once", *y[1:-1], "another"])
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3).fit(X, labels)
    assert model.classes_.tolist() == ["another", "once", "other", "same"]
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert_consistent(model)
    accuracy = clone(model).set_params(scoring="accuracy", phases=None).fit(X, labels)
    assert 0 < accuracy.best_score_ < 1


@pytest.mark.parametrize("phases", [None, [1.0, INF], "auto"], ids=str)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_very_few_items(n: int, phases: Any) -> None:
    X, y = [["u", "v"], ["v", "v"], ["u", "u"], ["w", "v"], ["v", "w"]][:n], [True, False] * 3
    model = SparseTensorClassifierCV(0.5, 1.0, [0, 1], phases=phases, cv=2).fit(X, y[:n])
    assert_consistent(model)
    assert model.predict_proba(X).shape == (n, 2)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("n", [1, 4])
def test_fewer_items_than_folds(n: int) -> None:
    with pytest.raises(ValueError, match=f"cv=5 .*{n}"):
        SparseTensorClassifierCV().fit([["u"]] * n, ["x"] * n)
    with pytest.raises(ValueError, match=r"cv=5 .*4"):  # those without weight are not there
        SparseTensorClassifierCV().fit([["u"]] * 6, ["x"] * 6, [1, 1, 0, 1, 1, 0])


def test_a_fold_for_each_item() -> None:
    X, y = equal(12, 0)
    model = SparseTensorClassifierCV(**FEW, **QUICK, cv=12).fit(X, y)
    assert model.n_splits_ == 12
    others = clone(model).set_params(cv=KFold(12)).fit(X, y)  # the same folds in another order
    means = [own.cv_results_["mean_test_score"] for own in (model, others)]
    assert_allclose(*means, atol=1e-12)


# ---------------------------------------------------------------- an estimator


def state_of(model: SparseTensorClassifierCV, X: Any) -> Any:
    names = ("best_params_", "best_score_", "best_index_", "n_splits_")
    return [answers(model, X).tolist(), *(getattr(model, name) for name in names)]


class Interrupts:
    """A scoring that gives up after a while."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error
        self.left = 9

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        self.left -= 1
        if not self.left:
            raise self.error
        return 0.0


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("phases", [None, [None, 4.0]], ids=str)
def test_a_fit_that_fails_leaves_everything_as_it_was(
    error: type[BaseException], phases: Any
) -> None:
    X, y = equal(45, 0)
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3)
    model.set_params(scoring=Interrupts(error), power=[0.5, 1.0, 2.0])
    with pytest.raises(error):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "classes_")
    model.set_params(scoring=None).fit(X, y)
    before = state_of(model, X)
    results = model.cv_results_
    with pytest.raises(error):
        model.set_params(scoring=Interrupts(error)).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match="inconsistent"):
        model.set_params(scoring=None).fit(X, y[:-1])
    assert state_of(model, X) == before
    assert model.cv_results_ is results


def test_before_the_fit() -> None:
    model = SparseTensorClassifierCV()
    for method in ("predict", "predict_proba", "predict_log_proba", "explain", "coverage"):
        with pytest.raises(NotFittedError):
            getattr(model, method)([["a"]])
    with pytest.raises(NotFittedError):
        model.score([["a"]], ["x"])
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    for name in ("classes_", "n_features_in_", "feature_names_in_", "best_estimator_"):
        assert not hasattr(model, name)
    unnamed = SparseTensorClassifierCV(**ONE, phases=None, cv=2).fit([["a"], ["b"]] * 3, [0, 1] * 3)
    assert not hasattr(unnamed, "feature_names_in_")


def test_parameters_clones_and_pickles() -> None:
    X, y = equal(45, 0)
    given = {**ONE, "phases": [0.5], "cv": KFold(3), "scoring": "accuracy", "tokenizer": str.split}
    model = SparseTensorClassifierCV(**given)
    assert {name: model.get_params()[name] for name in given} == given
    model.fit(X, y)
    twin = clone(model)
    assert repr(twin.get_params()) == repr(model.get_params())
    assert not hasattr(twin, "best_estimator_")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(answers(other, X), answers(model, X))
        assert repr(other.best_params_) == repr(model.best_params_)
        assert set(other.cv_results_) == set(model.cv_results_)
        assert repr(other) == repr(model)
    assert {name: model.get_params()[name] for name in given} == given  # a fit changes none


def test_the_data_is_not_changed() -> None:
    X, y = table()
    weight = np.arange(60.0)
    before = pickle.dumps((X, y, weight))
    SparseTensorClassifierCV(**FEW, phases=None, interactions=[1, 2]).fit(X, y, weight)
    assert pickle.dumps((X, y, weight)) == before


def test_pipelines_and_searches_around_it() -> None:
    texts, y = documents(60, 1), hard(60, 1)
    pipeline = make_pipeline(
        CountVectorizer(token_pattern=r"\w"), SparseTensorClassifierCV(**FEW, **QUICK, cv=3)
    ).fit(texts, y)
    tuned = pipeline[-1]
    direct = SparseTensorClassifierCV(**FEW, phases=None, ngrams=1, cv=3).fit(texts, y)
    assert_allclose(scores_of(tuned.cv_results_), scores_of(direct.cv_results_), atol=1e-9)
    assert_allclose(pipeline.predict_proba(texts), direct.predict_proba(texts), atol=1e-9)
    X, labels = table()
    scores = cross_val_score(SparseTensorClassifierCV(**FEW, **QUICK, cv=3), X, labels, cv=3)
    assert scores.mean() > 0.4


@pytest.mark.parametrize("kind", ["records", "polars", "pandas", "arrow", "array"])
def test_containers_are_alike(kind: str) -> None:
    X, y = table()
    made = {
        "records": lambda: X.to_dicts(),
        "polars": lambda: X,
        "pandas": lambda: X.to_pandas(),
        "arrow": lambda: X.to_arrow(),
        "array": lambda: X.to_numpy(),
    }[kind]()
    model = SparseTensorClassifierCV(**FEW, phases=None, interactions=[1], cv=3).fit(made, y)
    expected = SparseTensorClassifierCV(**FEW, phases=None, interactions=[1], cv=3).fit(X, y)
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert_allclose(answers(model, made), answers(expected, X), atol=1e-12)


# ---------------------------------------------------------------- what is shown


class Terminal(StringIO):
    """Something that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def fit_with_phases(progress: bool | None) -> None:
    X, y = equal(30, 0)
    SparseTensorClassifierCV(**ONE, phases=0.25, cv=2, progress=progress).fit(X, y)


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_in_a_pipe(progress: bool | None, capfd: pytest.CaptureFixture) -> None:
    fit_with_phases(progress)
    assert capfd.readouterr() == ("", "")


def test_a_bar_where_one_is_asked_for(capfd: pytest.CaptureFixture) -> None:
    fit_with_phases(True)
    shown = capfd.readouterr()
    assert "tuning" in shown.err
    assert "0/2" in shown.err
    assert shown.err.endswith("\r")
    assert shown.out == ""


@pytest.mark.parametrize("progress", [None, False, True])
def test_a_bar_on_a_terminal(progress: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the search nor the last fit shows one where it was declined."""
    monkeypatch.setattr("stc._progress._PATIENCE", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    fit_with_phases(progress)
    assert bool(terminal.getvalue()) == (progress is not False)


# ---------------------------------------------------------------- scikit-learn's checks

CHECKED = SparseTensorClassifierCV(0.5, 1.0, [0.0, 1.0], **QUICK, cv=3)


@measurements
@parametrize_with_checks([CHECKED])
def test_the_checks_of_scikit_learn(
    estimator: SparseTensorClassifierCV, check: Callable[[Any], None]
) -> None:
    run_check(estimator, check)


@measurements
@pytest.mark.parametrize(
    "check", [check_dataframe_column_names_consistency, check_param_validation]
)
def test_the_checks_scikit_learn_keeps_for_itself(check: Callable[[str, Any], None]) -> None:
    check("SparseTensorClassifierCV", CHECKED)


def test_tags() -> None:
    tags = get_tags(SparseTensorClassifierCV())
    assert is_classifier(SparseTensorClassifierCV())
    assert tags.input_tags.string
    assert tags.input_tags.categorical
    assert tags.input_tags.allow_nan
    assert tags.target_tags.required
    assert not tags.classifier_tags.multi_label
    assert not get_tags(SparseTensorClassifierCV(targets="y")).target_tags.required


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibration_lowers_the_log_loss(method: str) -> None:
    (X, y), (fresh, truth) = animals(300, 0), animals(600, 1)
    plain = SparseTensorClassifier().fit(X, y)
    calibrated = CalibratedClassifierCV(SparseTensorClassifier(), method=method, cv=3).fit(X, y)
    assert calibrated.classes_.tolist() == ["B", "F", "M"]
    losses = [log_loss(truth, own.predict_proba(fresh)) for own in (plain, calibrated)]
    assert losses[1] < 0.7 * losses[0]
    assert calibrated.score(fresh, truth) > plain.score(fresh, truth) - 0.02


def test_the_sharpness_calibrates_and_changes_no_prediction() -> None:
    X, y = load_zoo()
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    learner = PhaseLearner(penalties=(INF,))
    models = [SparseTensorClassifier(), SparseTensorClassifier(phases=learner)]
    P, Q = (cross_val_predict(own, X, y, cv=cv, method="predict_proba") for own in models)
    assert_array_equal(P.argmax(axis=1), Q.argmax(axis=1))
    assert log_loss(y, Q) < 0.5 * log_loss(y, P)
    plain, sharp = (own.fit(X, y) for own in models)
    assert_array_equal(plain.predict(X), sharp.predict(X))
    before, after = np.log(plain.predict_proba(X[:40])), np.log(sharp.predict_proba(X[:40]))
    finite = np.isfinite(before)
    order = [own[row][finite[row]].argsort().tolist() for row in range(40) for own in (before,)]
    assert order == [after[row][finite[row]].argsort().tolist() for row in range(40)]
    ratios = [
        (np.ptp(after[row][finite[row]]) / np.ptp(before[row][finite[row]]))
        for row in range(40)
        if finite[row].sum() > 1
    ]
    assert_allclose(ratios, ratios[0], rtol=1e-9)  # one power for all
    assert ratios[0] > 1


# ---------------------------------------------------------------- what is under it


def layout_of(order: int, n: int, seed: int) -> tuple[Layout, np.ndarray, np.ndarray]:
    """Records with their conjunctions laid out, the truth, and weights."""
    layout = Layout.of(Interactions(order).applied(encode(records(n, seed))))
    truth = np.array([[own.get(c, 0.0) for c in "xyz"] for own in soft(n, seed)])
    return layout, truth / truth.sum(axis=1, keepdims=True), rng_of(seed).random(n) + 0.1


def told(counted: np.ndarray, classes: np.ndarray) -> float:
    """How much a feature tells, from its mass in each class and that of all items, by hand."""
    more = [own + c / sum(classes) for own, c in zip(counted, classes, strict=True)]
    P = [own / c for own, c in zip(more, classes, strict=True)]
    P = [own / sum(P) for own in P]
    return 1 + sum(own * math.log(own) for own in P) / math.log(len(P))


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("min_support", [1, 3])
@pytest.mark.parametrize("most", [0, 1, 7, 10_000, None])
def test_the_strongest_conjunctions_are_kept(
    order: int, min_support: int, most: int | None
) -> None:
    layout, truth, weight = layout_of(order, 40, 0)
    items = rng_of(1).permutation(40)[:30]
    keep = layout.strongest(items, truth, weight, min_support, most)
    dense = layout.matrix.toarray()[items] > 0
    single = ~layout.conjunctions
    assert keep[single].all()
    assert single.sum() == 9
    enough = layout.conjunctions & (dense.sum(axis=0) >= min_support)
    assert not (keep & layout.conjunctions & ~enough).any()
    kept = keep & layout.conjunctions
    assert kept.sum() == (enough.sum() if most is None else min(most, enough.sum()))
    mass = truth[items] * weight[items, None]
    H = np.array([told(mass[own].sum(axis=0), mass.sum(axis=0)) for own in dense.T])
    if kept.any() and (enough & ~kept).any():
        assert H[kept].min() >= H[enough & ~kept].max() - 1e-9
    names = {
        len(own.attribute) for own in Interactions(order).applied(encode(records(9, 0))).columns
    }
    assert names == set(range(1, order + 1))


def test_a_class_that_no_item_has_does_not_count() -> None:
    layout, truth, weight = layout_of(2, 40, 0)
    wider = np.insert(truth, 1, 0.0, axis=1)
    items = np.arange(40)
    for most in (3, 8):
        assert_array_equal(
            layout.strongest(items, wider, weight, 1, most),
            layout.strongest(items, truth, weight, 1, most),
        )


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_does_not_depend_on_the_order_of_the_items(seed: int) -> None:
    X, y = records(30, seed), hard(30, seed)
    order = rng_of(seed).permutation(30)
    params = {"interactions": 3, "max_features": 6, "min_support": 2}
    one = SparseTensorClassifier(**params).fit(X, y)
    other = SparseTensorClassifier(**params).fit(at(X, order), at(y, order))
    names = [set(own.get_feature_names_out()) for own in (one, other)]
    assert names[0] == names[1]
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("per_item", [0, 0.5, 2, 3.9, 100])
@pytest.mark.parametrize("min_support", [1, 3])
def test_how_many_conjunctions_items_can_have(per_item: float, min_support: int) -> None:
    layout, truth, weight = layout_of(3, 40, 1)
    count = layout.affordable(truth, weight, min_support, per_item)

    def shown(most: int) -> float:
        keep = layout.strongest(np.arange(40), truth, weight, min_support, most)
        return layout.matrix[:, np.flatnonzero(keep & layout.conjunctions)].nnz / 40

    support = np.bincount(layout.matrix.indices, minlength=layout.matrix.shape[1])
    everything = int((layout.conjunctions & (support >= min_support)).sum())
    assert shown(count) <= per_item
    assert count == everything or shown(count + 1) > per_item
    assert per_item != 100 or count == everything
    assert per_item or count == 0


def test_a_layout_has_all_values_of_all_items() -> None:
    data = bags(12, 0)
    layout = Layout.of(encode(data))
    assert layout.matrix.shape == (12, layout.starts[-1])
    columns = encode(data).columns
    for place, column in enumerate(columns):
        own = layout.matrix[:, layout.starts[place] : layout.starts[place + 1]]
        assert_allclose(own.toarray(), column.matrix().toarray())
    assert not layout.conjunctions.any()
    gaps = Layout.of(encode(records(12, 0)))
    assert gaps.matrix.nnz == sum(map(len, records(12, 0)))
    assert_array_equal(gaps.matrix.data, 1.0)


HYPERS = [Hyper(0.5, 1.0, 0.0), Hyper(1.0, 0.5, 2.0), Hyper(0.5, 0.0, 1.0), Hyper(0.25, 1.5, 1.0)]


def crossfit(seed: int, same: bool) -> tuple[CrossFit, sp.csr_array, np.ndarray, np.ndarray]:
    """Items of which some are learnt from, in folds; their counts, classes and weights."""
    matrix = counts(50, seed)
    if same:
        matrix.data[:] = 1.0
    y = rng_of(seed).integers(0, 3, 50)
    weight = rng_of(seed).random(50) + 0.1
    learning = rng_of(seed).random(50) < 0.7
    fold = np.where(learning, rng_of(seed).integers(0, 4, 50), 0)
    return CrossFit.among(matrix, np.eye(3)[y], weight, learning, fold), matrix, y, weight


def counted(
    matrix: sp.csr_array, y: np.ndarray, weight: np.ndarray, learnt: np.ndarray, judged: np.ndarray
) -> list[np.ndarray]:
    """Probabilities by a model of what is learnt, for each setting."""
    model = SparseTensorClassifier().fit(matrix[learnt], y[learnt], weight[learnt])
    assert model.classes_.tolist() == [0, 1, 2]
    found = []
    for hyper in HYPERS:
        model.set_params(**hyper._asdict())
        found.append(model.predict_proba(matrix[judged]))
    return found


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_items_are_judged_by_those_learnt_from_but_their_fold(seed: int, same: bool) -> None:
    cross, matrix, y, weight = crossfit(seed, same)
    learning = cross.counted
    assert learning is not None
    expected = counted(matrix, y, weight, learning, ~learning)
    for P, Q in zip(cross.judged(HYPERS), expected, strict=True):
        assert_allclose(P, Q, rtol=0, atol=1e-10)
    everything = cross.probabilities(HYPERS)
    for fold in range(4):
        own = learning & (cross.fold == fold)
        others = counted(matrix, y, weight, learning & (cross.fold != fold), own)
        for P, Q in zip(everything, others, strict=True):
            assert_allclose(P[own], Q, rtol=0, atol=1e-9)
    for P, Q in zip(everything, expected, strict=True):
        assert_allclose(P[~learning], Q, rtol=0, atol=1e-10)


@pytest.mark.parametrize("constant", ["_CELLS", "_AT_A_TIME"])
def test_work_in_small_pieces_is_the_same_work(
    constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = crossfit(0, False)[0].probabilities(HYPERS)
    monkeypatch.setattr(f"stc.crossfit.{constant}", 40)
    pieces = crossfit(0, False)[0].probabilities(HYPERS)
    for P, Q in zip(whole, pieces, strict=True):
        assert_allclose(P, Q, rtol=0, atol=1e-12)


def test_folds_share_every_class() -> None:
    classes = rng_of(0).choice(5, 103, p=[0.5, 0.2, 0.2, 0.08, 0.02])
    fold = folds_of(classes, 7, np.random.RandomState(0))
    assert set(fold) == set(range(7))
    for own in [*(fold[classes == c] for c in range(5)), fold]:
        sizes = np.bincount(own, minlength=7)
        assert sizes.max() - sizes.min() <= 1
    again = folds_of(classes, 7, np.random.RandomState(0))
    assert_array_equal(fold, again)
    assert (fold != folds_of(classes, 7, np.random.RandomState(1))).any()


def test_pairs_of_attributes_are_all_there() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(
        0.5, 1.0, 0.0, phases=None, interactions=2, min_support=1, max_features=None, cv=2
    ).fit(X, y)
    rows = [{k: v for k, v in row.items() if v is not None} for row in X.to_dicts()]
    single = {f"{k}={v}" for row in rows for k, v in row.items()}
    pairs = {
        " and ".join(f"{k}={row[k]}" for k in pair)
        for row in rows
        for pair in combinations(sorted(row), 2)
    }
    assert set(model.get_feature_names_out()) == single | pairs
