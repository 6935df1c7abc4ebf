"""The grids of SparseTensorClassifierCV: what is tried, and what makes no sense."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from stc import PhaseLearner, SparseTensorClassifierCV
from stc._core.interactions import Interactions
from stc._core.matrix import FeatureMatrix
from stc._input.containers import encode
from stc._training import problem
from support.tuning_cases import (
    FEW,
    INF,
    ONE,
    QUICK,
    assert_consistent,
    counts,
    documents,
    equal,
    hard,
    rng_of,
    table,
)

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
    most = problem._MOST_PER_ITEM
    width = math.ceil(math.sqrt(2 * most)) + 2
    X = pl.DataFrame(rng.choice(list("01"), (24, width)))
    y = rng.choice(["a", "b"], 24)
    shared = {"power": 0.5, "balance": 1.0, "entropy": 0.0, "phases": None, "cv": 2}
    model = SparseTensorClassifierCV(**shared, interactions=2).fit(X, y)
    assert 0 < model.best_params_["max_features"] <= problem._MOST_CONJUNCTIONS
    layout = FeatureMatrix.of(Interactions(2).apply(encode(X)))
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
    ("verbose", "yes"),
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
    with pytest.raises(ValueError, match=rf"^(The '{name}' parameter|{name}[:=])"):
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
