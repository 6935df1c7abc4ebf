"""The parameters of SparseTensorClassifierCV: what is tried, and what makes no sense."""

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
from stc._training.candidates import automatic_conjunctions
from support.tuning_cases import (
    GIVEN,
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


@pytest.mark.parametrize(
    "phases", [None, 4.0, 4, [4.0], (4.0, 1.0), np.array([4.0, 1.0]), [4.0, 1.0, 2.0], 0.0], ids=str
)
def test_penalties_are_a_number_or_several(phases: Any) -> None:
    X, y = equal(45, 0)
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3).fit(X, y)
    given = [] if phases is None else np.atleast_1d(np.asarray(phases, dtype=float)).tolist()
    plain, *tried = [own["phases"] for own in model.cv_results_["params"]]
    assert plain is None  # it is always there
    assert {own.penalties for own in tried} == {(own,) for own in given}
    assert_consistent(model)


def test_auto_tries_several_of_each_with_phases() -> None:
    X, y = table(300)
    results = SparseTensorClassifierCV(cv=2).fit(X, y).cv_results_
    phased = [own for own in results["params"] if own["phases"] is not None]
    for name in ("balance", "entropy"):
        assert len({own[name] for own in phased}) > 1
    assert [own for own in (1, 2, 3) if own in results["param_interactions"].tolist()] == [1, 2, 3]
    assert {(own["prior"], own["sharpness"], own["floor"]) for own in phased} == {(0.0, 1.0, 0.0)}
    texts = SparseTensorClassifierCV(cv=2).fit(documents(40, 0), hard(40, 0)).cv_results_
    assert set(texts["param_ngrams"].tolist()) == {1, 2}
    amounts = SparseTensorClassifierCV(cv=2).fit(counts(40, 0), hard(40, 0)).cv_results_
    assert set(amounts["param_interactions"].tolist()) == {1}


def test_phases_are_tried_with_the_conjunctions_that_were_chosen() -> None:
    X, y = equal(300, 0, "uvwxyz")
    noise = rng_of(7).choice(list("abcdef"), (300, 2))
    model = SparseTensorClassifierCV(cv=2, scoring="neg_log_loss")
    model.fit(np.column_stack([np.array(X), noise]), y)
    plain, *phased = model.cv_results_["params"]
    assert isinstance(plain["interactions"], list)
    tried = [own["interactions"] for own in phased]
    assert plain["interactions"] in tried
    assert 1 in tried
    assert 2 in tried


def test_what_is_given_is_kept_when_the_rest_is_auto() -> None:
    X, y = equal(60, 0)
    model = SparseTensorClassifierCV(balance=0.25, interactions=1, cv=3).fit(X, y)
    assert set(model.cv_results_["param_balance"].tolist()) == {0.25}
    assert set(model.cv_results_["round"]) == {1, 2}


def test_auto_leaves_out_what_is_too_large_and_an_order_is_refused() -> None:
    X, y = equal(45, 0)
    tried = automatic_conjunctions(encode(X), 2, max_entries=45 * 6)
    assert [own.order for own in tried] == [1, 2]
    model = SparseTensorClassifierCV(interactions=3, max_entries=45 * 6, cv=3)
    with pytest.raises(ValueError, match=r"interactions=3 .* 360 entries .* max_entries=270"):
        model.fit(X, y)


def test_auto_takes_no_order_beyond_the_attributes() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(cv=3).fit(X[["d", "c"]], y)
    phased = model.cv_results_["params"][1:]
    assert {own["interactions"] for own in phased} == {1, 2}


def test_auto_keeps_as_many_conjunctions_as_items_can_have() -> None:
    rng = rng_of(0)
    most = problem._MOST_PER_ITEM
    width = math.ceil(math.sqrt(2 * most)) + 2
    X = pl.DataFrame(rng.choice(list("01"), (24, width)))
    y = rng.choice(["a", "b"], 24)
    model = SparseTensorClassifierCV(**ONE | {"interactions": 2}, phases=1.0, cv=2).fit(X, y)
    plain, phased, *_ = model.cv_results_["params"]
    assert (plain["min_support"], plain["max_features"]) == (1, None)
    assert 0 < phased["max_features"] <= problem._MOST_CONJUNCTIONS
    layout = FeatureMatrix.of(Interactions(2).apply(encode(X)))
    support = phased["min_support"]
    truth = (y[:, None] == np.array(["a", "b"])).astype(float)
    kept = layout.strongest(np.arange(24), truth, np.ones(24), support, phased["max_features"])
    shown = layout.matrix[:, np.flatnonzero(kept & layout.conjunctions)].nnz / 24
    assert 0.9 * most < shown <= most
    everything = clone(model).set_params(max_features=None, min_support=1).fit(X, y)
    for own in everything.cv_results_["params"]:
        assert (own["min_support"], own["max_features"]) == (1, None)


SETTINGS = ("power", "balance", "entropy", "prior", "sharpness", "floor")
BAD: list[tuple[str, Any]] = [
    *((name, own) for name in SETTINGS for own in ([], [0.5], np.array([0.5]), "best", None)),
    *((name, own) for name in ("ngrams", "interactions") for own in ("best", None, 0, -1, 2.5)),
    ("ngrams", [1, 2]),
    *((name, own) for name in SETTINGS for own in (-0.1, math.nan, INF)),
    *((name, 0) for name in ("power", "sharpness")),
    ("floor", 1.0),
    *(("phases", own) for own in ("learn", -1.0, math.nan, INF, -INF, [], np.array([]), [None])),
    *(("phases", own) for own in ([4.0, math.nan], [0.5, "x"], [[4.0]], [INF])),
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
    ("max_entries", 0),
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=str)
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
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, scoring=lambda *_: next(scores), cv=3)
    with pytest.raises(ValueError, match=r"(?i)scoring.*nan"):
        model.fit(X, y)
