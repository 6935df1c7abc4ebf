"""Exact leave-one-out against models that were fitted without the item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc import NeverLearntError, load_zoo
from stc._training import leave_one_out
from stc.fitted import FittedModel
from support.conformance import SETTINGS
from support.models import paper_model
from support.oracle import Hyper, Oracle, learn
from support.strategies import PROFILE, Data, all_settings, soft, tables


def without(data: Data, items: Sequence[int], removed: Sequence[float]) -> Oracle:
    """The oracle that has learnt so much less of these items; it knows all classes."""
    weights = [Fraction(w) for w in data.weights or [1.0] * len(data)]
    for item, weight in zip(items, removed, strict=True):
        weights[item] -= Fraction(weight)
    truth = learn(data.bags(data.records), soft(data.y), weights)
    known = {i for n, label in enumerate(soft(data.y)) for i in label if weight_of(data, n)}
    for i in known:
        truth.class_mass.setdefault(i, Fraction(0))
    return truth


def weight_of(data: Data, item: int) -> float:
    return 1.0 if data.weights is None else data.weights[item]


def check(found: Any, truth: Oracle, item: Any, hyper: Hyper) -> None:
    """Compare probabilities with those of the oracle."""
    expected, tolerance = [1 / len(truth.classes)] * len(truth.classes), 1e-9
    if any(truth.class_mass.values()):  # something is left
        expected = truth.probabilities(item, hyper)
        tolerance = max(tolerance, truth.tolerance(hyper))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)


@PROFILE
@given(tables(), all_settings())
def test_the_answers_of_the_oracle_without_the_item(data: Data, hyper: Hyper) -> None:
    model = paper_model(**vars(hyper))
    model.fit(data.records, data.y, sample_weight=data.weights)
    found = model.loo_predict_proba(data.records, data.y, data.weights)
    for item in range(len(data)):
        truth = without(data, [item], [min(1.0, weight_of(data, item))])
        check(found[item], truth, data.bags([data.records[item]])[0], hyper)


@PROFILE
@given(st.data(), tables(), all_settings())
def test_groups_are_left_out_together(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    groups = draws.draw(st.lists(st.sampled_from("ab"), min_size=len(data), max_size=len(data)))
    model = paper_model(**vars(hyper))
    model.fit(data.records, data.y, sample_weight=data.weights)
    found = model.loo_predict_proba(data.records, data.y, data.weights, groups)
    for item, group in enumerate(groups):
        items = [n for n, other in enumerate(groups) if other == group]
        truth = without(data, items, [weight_of(data, n) for n in items])
        check(found[item], truth, data.bags([data.records[item]])[0], hyper)


# --- all kinds of models --------------------------------------------------------------------------


def refitted(fitted: FittedModel, batch: Any, weights: np.ndarray) -> FittedModel:
    """The model of these weights, with the classes, scales, conjunctions and phases of another."""
    model = fitted.model
    blank = model.cleared().with_classes(model.classes)
    again = blank.with_items(batch.observed, batch.target.column, weights)
    for subset, amplitudes in model.amplitudes.items():
        corpus = again.corpora[subset]
        rows = [model.index(subset).index[a][v] for a, v in again.vocabulary.features]
        table = model.corpora[subset].mass.copy()
        table.data = np.arange(table.nnz)
        places = table[
            np.array(rows)[np.repeat(np.arange(len(rows)), np.diff(corpus.mass.indptr))],
            corpus.mass.indices,
        ]
        places = np.asarray(places).ravel().astype(np.int64)
        kept = replace(corpus, amplitudes=amplitudes.take(places))
        again = replace(again, corpora={**again.corpora, subset: kept})
    return FittedModel(replace(fitted.state, model=again), fitted.parameters)


@pytest.mark.parametrize("kind", SETTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_model_against_a_refit(kind: str, weighted: bool) -> None:
    setting = SETTINGS[kind]
    frame = setting.data()
    weights = np.random.default_rng(5).choice([0.0, 0.3, 1.0, 2.5], frame.height)
    given_weights = weights if weighted else None
    model = setting.model().fit(*setting.given(frame), given_weights)
    fitted = model.fitted_
    found = model.loo_predict_proba(*setting.given(frame), given_weights)
    found = found if isinstance(found, list) else [found]
    batch = fitted.reader.batch(*setting.given(frame), given_weights, fitted.model)
    for item in range(0, frame.height, 3):
        less = np.array(batch.sample_weight)
        less[item] -= min(1.0, less[item])
        expected = refitted(fitted, batch, less).predict_proba(
            setting.features(frame)[item : item + 1]
        )
        expected = expected if isinstance(expected, list) else [expected]
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours[item], theirs[0], rtol=0, atol=1e-9)


def test_weight_two_is_two_items() -> None:
    X, y = load_zoo()
    heavy = paper_model().fit(X, y, np.full(len(y), 2.0))
    twice = paper_model().fit(pl.concat([X, X]), pl.concat([y, y]))
    once = heavy.loo_predict_proba(X, y, np.full(len(y), 2.0))
    both = twice.loo_predict_proba(X, y)
    np.testing.assert_allclose(once, both, rtol=0, atol=1e-12)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_zoo()
    model, groups = paper_model().fit(X, y), [n % 7 for n in range(len(y))]
    whole = [model.loo_predict_proba(X, y), model.loo_predict_proba(X, y, groups=groups)]
    monkeypatch.setattr(leave_one_out, "_BLOCK_CELLS", 500)
    monkeypatch.setattr(leave_one_out, "_DENSE_CELLS", 0)
    parts = [model.loo_predict_proba(X, y), model.loo_predict_proba(X, y, groups=groups)]
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-14)


# --- refusals -------------------------------------------------------------------------------------


def test_items_that_were_never_learnt_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leave_one_out, "_BLOCK_CELLS", 2)
    X, y = [["a"], ["b"], ["b"]], ["x", "y", "y"]
    model = paper_model().fit(X, y)
    for wrong, label in ((["a"], "y"), (["c"], "x")):
        with pytest.raises(NeverLearntError, match="never learnt") as caught:
            model.loo_predict_proba([*X, wrong], [*y, label])
        assert caught.value.item == 3
    with pytest.raises(NeverLearntError, match="its class was never learnt") as caught:
        model.loo_predict_proba([["a"], ["a"]], ["x", "z"])
    assert caught.value.item == 1
    with pytest.raises(ValueError, match="groups has 2 values for 3 items"):
        model.loo_predict_proba(X, y, groups=[1, 2])
