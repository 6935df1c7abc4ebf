"""Settings, conjunctions and n-grams chosen by leaving out whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold

import stc
from stc import SparseTensorClassifier, SparseTensorClassifierCV
from stc._training.choice import Goal, choose_settings
from stc._training.conjunctions import _Candidates
from stc._training.drawing import Items
from stc.exceptions import DataError
from support.models import paper_model

LEVELS = ["often", "sometimes", "rare"]
LEVELS_IN_ORDER = sorted(LEVELS)


def distinct_rows(n: int, seed: int = 3) -> tuple[pl.DataFrame, pl.Series]:
    """Three columns that tell of the class, and two that nearly tell the row."""
    rng = np.random.default_rng(seed)
    y = rng.choice(LEVELS, n, p=[0.6, 0.3, 0.1])
    telling = {f"c{k}": np.where(rng.random(n) < 0.4, y, rng.choice(LEVELS, n)) for k in range(3)}
    places = {name: rng.integers(0, 25, n).astype(str) for name in ("town", "street")}
    return pl.DataFrame({**telling, **places}), pl.Series("y", y)


def copies(n: int, times: int) -> tuple[pl.DataFrame, pl.Series, NDArray[Any]]:
    X, y = distinct_rows(n)
    rows = np.repeat(np.arange(n), times)
    return X[rows], y[rows], rows


def same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.interactions_ == other.interactions_
    assert one.ngrams_ == other.ngrams_
    np.testing.assert_allclose(one.fitted_.hyper, other.fitted_.hyper, rtol=1e-9)
    assert one.loo_log_loss_ == pytest.approx(other.loo_log_loss_, rel=1e-9)
    assert one.loo_accuracy_ == pytest.approx(other.loo_accuracy_, abs=1e-12)


@pytest.mark.parametrize("kind", ["table", "rule", "documents", "soft", "labels", "tensor"])
def test_groups_of_one_item_are_single_items(kind: str) -> None:
    X, y = distinct_rows(240)
    X = X.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
    items, target, parameters = X, y, {}
    if kind == "rule":
        target = ((X["c0"] == X["c1"]) & (X["c2"] != "rare")).cast(pl.String)
    elif kind == "documents":
        items = [" ".join(row) for row in X.rows()]
    elif kind == "soft":
        target = [{label: 0.8, "rare": 0.2} for label in y]
    elif kind == "labels":
        target = [{label, "all"} for label in y]
    elif kind == "tensor":
        parameters = {"dimensions": "each", "policy": [["c0", "c1"], ["c2"]]}
    singles = SparseTensorClassifier(**parameters).fit(items, target)
    groups = np.random.default_rng(0).permutation(240)
    of_groups = SparseTensorClassifier(**parameters).fit(items, target, groups=groups)
    same(singles, of_groups)
    assert singles.loo_items_ == of_groups.loo_items_ == 240
    assert (kind == "rule") == (singles.interactions_ != 1)


@pytest.mark.parametrize(("conjunctions", "without"), [(1, 0.6), (2, 0.1), ("auto", 0.1)])
def test_the_promise_holds_for_new_groups(conjunctions: Any, without: float) -> None:
    X, y, groups = copies(150, 5)
    parameters = {"interactions": conjunctions}
    model = SparseTensorClassifier(**parameters).fit(X, y, groups=groups)
    P = np.zeros((len(y), 3))
    for train, test in GroupKFold(10).split(X, y, groups):
        part = SparseTensorClassifier(**parameters).fit(X[train], y[train], groups=groups[train])
        P[test] = part.predict_proba(X[test])
    found = log_loss(y, P)
    assert model.loo_log_loss_ == pytest.approx(found, rel=0.1)
    assert SparseTensorClassifier(**parameters).fit(X, y).loo_log_loss_ < without * found
    assert model.loo_items_ == 150
    assert model.fitted_.state.loo.repeated == 0


def test_the_figures_are_those_of_leaving_out_groups() -> None:
    X, y = distinct_rows(300)
    X = X.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
    groups = np.random.default_rng(1).integers(0, 40, 300)
    for parameters in ({}, {"interactions": 2}):
        model = SparseTensorClassifier(**parameters).fit(X, y, groups=groups)
        P = model.loo_predict_proba(X, y, groups=groups)
        assert model.loo_log_loss_ == pytest.approx(log_loss(y, P), rel=1e-9)
        right = model.classes_[P.argmax(axis=1)] == y.to_numpy()
        assert model.loo_accuracy_ == pytest.approx(right.mean(), abs=1e-12)


@pytest.mark.parametrize("most", [40, 4000])
def test_order_names_and_weights_do_not_matter(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc._training.choice.MOST_ITEMS", most)
    X, y, groups = copies(100, 3)
    model = SparseTensorClassifier().fit(X, y, groups=groups // 2)
    order = np.random.default_rng(0).permutation(len(y))
    names = [f"g{997 * g % 1009}" for g in groups // 2]
    shuffled = [names[place] for place in order]
    same(model, SparseTensorClassifier().fit(X[order], y[order], groups=shuffled))
    once = np.arange(0, len(y), 3)
    weight, own = np.full(len(once), 3.0), groups[once] // 2
    same(model, SparseTensorClassifier().fit(X[once], y[once], weight, groups=own))
    none = np.r_[np.ones(len(y)), np.zeros(9)]
    more = pl.concat([X, X[:9].with_columns(town=pl.lit("?"))]), pl.concat([y, y[:9]])
    same(model, SparseTensorClassifier().fit(*more, none, groups=[*names, *["new"] * 9]))
    assert model.loo_items_ == (40 if most == 40 else 100)


def test_few_large_groups_are_judged_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc._training.choice.MOST_ITEMS", 10)
    X, y = distinct_rows(300)
    X = X.with_columns(id=pl.int_range(pl.len()).cast(pl.String))
    model = SparseTensorClassifier(interactions=1).fit(X, y, groups=np.arange(300) // 100)
    assert model.loo_items_ == 200


def test_candidates_are_counted_without_the_group() -> None:
    X, y = distinct_rows(200)
    X, y = pl.concat([X, X[:50]]), pl.concat([y, y[:50]])
    groups = np.random.default_rng(2).integers(0, 30, 250)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], 250)
    fitted = paper_model().fit(X, y, weight).fitted_
    batch = fitted.reader.batch(X, y, weight, fitted.model)
    items = Items(batch.observed, batch.target.column, batch.sample_weight, groups)
    choice = choose_settings(fitted.cascade, *items[:3], Goal(), groups=groups)
    assert choice is not None
    codes = np.searchsorted(LEVELS_IN_ORDER, y.to_numpy())
    C, _, places = _Candidates(items, choice.judge, codes)._left_out(("c0", "town"))
    values = (X["c0"] + X["town"]).to_numpy()
    for row, place in zip(choice.judge.sample.items, places, strict=True):
        others = (values == values[row]) & (groups != groups[row])
        expected = np.bincount(codes[others], weight[others], 3)
        np.testing.assert_allclose(C[place], expected, rtol=0, atol=1e-12)


def test_a_conjunction_that_tells_the_group_is_not_chosen() -> None:
    """Two columns together name the group, whose rows have one class."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(100), 8)
    kind = rng.choice(["a", "b"], 100)[group]
    hint = np.where(rng.random(800) < 0.7, kind, np.where(kind == "a", "b", "a"))
    X = pl.DataFrame(
        {"ten": (group // 10).astype(str), "one": (group % 10).astype(str), "hint": hint}
    )
    alone = SparseTensorClassifier().fit(X, kind)
    assert ("one", "ten") in alone.interactions_
    assert alone.loo_accuracy_ > 0.95
    model = SparseTensorClassifier().fit(X, kind, groups=group)
    assert model.interactions_ == 1
    assert model.loo_accuracy_ < 0.8


def test_ngrams_documents_with_the_same_words() -> None:
    texts = ["not good but bad", "not bad but good"] * 60
    y = ["no", "yes"] * 60
    groups = np.arange(120) // 6
    model = SparseTensorClassifier().fit(texts, y, groups=groups)
    assert model.ngrams_ == 2
    assert model.loo_accuracy_ == pytest.approx(1.0, abs=1e-12)


def test_a_model_of_batches_chooses_by_groups() -> None:
    X, y, groups = copies(100, 3)
    whole = SparseTensorClassifier(interactions=1).fit(X, y, groups=groups)
    model = SparseTensorClassifier(interactions=1).partial_fit(X, y)
    same(model.choose(X, y, groups=groups), whole)
    with stc.open_store("sqlite:///:memory:") as store:
        stored = store.create("m", SparseTensorClassifier(interactions=1))
        same(stored.fit(X, y, groups=groups), whole)
    search = SparseTensorClassifierCV(phases=None, interactions=1).fit(X, y, groups=groups)
    same(search.best_estimator_, whole)


def test_refusals(tmp_path: Any) -> None:
    X, y = distinct_rows(60)
    with pytest.raises(DataError, match="groups has 2 values for 60 items; give one for each item"):
        SparseTensorClassifier().fit(X, y, groups=[1, 2])
    with pytest.raises(DataError, match="groups has a single group, and nothing is left without"):
        SparseTensorClassifier().fit(X, y, groups=["all"] * 60)
    X.with_columns(y).write_parquet(tmp_path / "d.parquet")
    for learn in (
        SparseTensorClassifier().fit,
        paper_model(power="auto").fit(X, y).choose,
    ):
        with pytest.raises(DataError, match="X is a source; read the source, or a part of it"):
            learn(tmp_path / "d.parquet", "y", groups=[1] * 60)
