"""Phases at the limits: zero, what cancels, and numbers beyond the range of a double."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from stc import SparseTensorClassifier
from support.oracle import Hyper, learn
from support.phase_cases import (
    ANGLES,
    FEW,
    MODEST,
    PLAIN,
    as_mapping,
    assert_interferes,
    model,
    some_phases,
    turned,
)
from support.phase_oracle import Interference
from support.strategies import Data, bag, hypers, matrices, questions, soft, tables

# --- zero, and what no probability can tell -------------------------------------------------------


def zeros_like(fitted: SparseTensorClassifier) -> np.ndarray:
    return np.zeros((len(fitted.get_feature_names_out()), len(fitted.classes_)))


def assert_same_bits(fitted: SparseTensorClassifier, X: Any, phases: Any, theta: Any) -> None:
    """Predictions with these phases and this theta are those with none."""
    fitted.set_params(phases={})
    with np.errstate(divide="ignore"):
        logs = fitted.predict_log_proba(X)
        proba, table, labels = fitted.predict_proba(X), fitted.explain_local(X), fitted.predict(X)
        fitted.set_params(phases=phases)
        for angles in (None, theta):
            np.testing.assert_array_equal(fitted.predict_proba(X, theta=angles), proba)
            np.testing.assert_array_equal(fitted.predict_log_proba(X, theta=angles), logs)
            np.testing.assert_array_equal(fitted.predict(X, theta=angles), labels)
            found = fitted.explain_local(X, theta=angles)
            assert found.table.equals(table.table)
            assert found.sentences() == table.sentences()


@MODEST
@given(st.data(), tables(), hypers(), st.integers(1, 2))
def test_zero_is_the_plain_model_bit_by_bit(
    draws: st.DataObject, data: Data, hyper: Hyper, order: int
) -> None:
    fitted = model(hyper, interactions=order)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = draws.draw(questions(data))
    theta = [dict.fromkeys(data.kinds, 0.0) for _ in asked]
    assert_same_bits(fitted, asked, zeros_like(fitted), theta)
    assert_same_bits(fitted, asked, {i: {} for i in fitted.classes_.tolist()}, theta)


@MODEST
@given(st.data(), tables(complete=True), hypers())
def test_zero_theta_of_tuples_is_none(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    fitted = model(hyper, dimensions="each")
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = draws.draw(questions(data))
    assert_same_bits(fitted, asked, None, [dict.fromkeys(data.kinds, 0.0) for _ in asked])


@MODEST
@given(st.data(), matrices(), hypers())
def test_zero_of_counts_and_words_is_none(draws: st.DataObject, drawn: Any, hyper: Hyper) -> None:
    learnt, asked, y, weights = drawn
    fitted = model(hyper).fit(sparse.csr_array(learnt), y, sample_weight=weights)
    for theta in (np.zeros_like(asked), sparse.csr_array(asked.shape)):
        assert_same_bits(fitted, sparse.csr_array(asked), zeros_like(fitted), theta)
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in learnt]
    fitted = model(hyper, ngrams=2).fit(texts, y, sample_weight=weights)
    theta = [{"w0": 0.0, "never learnt": 3.0} for _ in texts]
    assert_same_bits(fitted, texts, zeros_like(fitted), theta)


@MODEST
@given(st.data(), tables(values=FEW), hypers())
def test_turning_a_whole_class_or_item_changes_nothing(
    draws: st.DataObject, data: Data, hyper: Hyper
) -> None:
    truth = data.truth()
    phi = some_phases(draws.draw, truth)
    by_class = {i: draws.draw(ANGLES) for i in truth.classes}
    rotated = {(j, i): angle + by_class[i] for (j, i), angle in phi.items()}
    fitted = model(hyper, phases=as_mapping(rotated))
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = data.records
    theta = [dict.fromkeys(data.kinds, draws.draw(ANGLES)) for _ in asked]
    items = [(own, {}) for own in data.bags(asked)]
    assert_interferes(fitted, asked, theta, items, Interference(truth, hyper, phi))


def test_what_cancels_altogether_is_left_to_the_frequencies() -> None:
    """Rounding is no score: neither a probability nor an answer of a policy comes of it."""
    against = {i: {"x0": {"u": math.pi}} for i in "AB"}
    fitted = model(PLAIN, phases=against).fit([["u", "v"]] * 3, ["A", "A", "B"])
    expected = [[2 / 3, 1 / 3], [1 / 2, 1 / 2]]
    asked = [["u", "v"], ["u", "new"]]
    np.testing.assert_allclose(fitted.predict_proba(asked), expected, rtol=0, atol=1e-12)
    assert fitted.predict(asked[:1]).tolist() == ["A"]
    explained = fitted.explain_local(asked)
    assert explained.table["item"].to_list() == [1]
    assert "the class frequencies decide" in explained.sentences()[0]
    # Half a turn less of one of them, and it has a score again.
    expected = [[0, 1], [1 / 2, 1 / 2]]
    del against["B"]
    np.testing.assert_allclose(fitted.predict_proba(asked), expected, rtol=0, atol=1e-12)
    # So little is left of both that six digits are, but it is left.
    against.update({i: {"x0": {"u": math.pi - left}} for i, left in (("A", 1e-10), ("B", 3e-10))})
    np.testing.assert_allclose(fitted.predict_proba(asked[:1]), [[0.1, 0.9]], rtol=0, atol=1e-5)


# --- far from 1 -----------------------------------------------------------------------------------


FAR = [Hyper(0.5, 1, 3000), Hyper(0.5, 5000, 0), Hyper(30, 60, 30), Hyper(0.01, 1, 4)]


def far_away(weighted: bool) -> tuple[list[Any], list[str]]:
    """Items beside one whose values nobody else has, so that they weigh most."""
    dice = np.random.default_rng(7)
    records: list[Any] = [{a: f"{a}{dice.integers(0, 2)}" for a in "abc"} for _ in range(11)]
    records.append({"a": "rare", "b": "rare", "c": "c0"})
    if weighted:
        records = [{a: {v: 2.0, "x": 1.0} for a, v in own.items()} for own in records]
    return records, list("ABBCCCCCCCCA")


@pytest.mark.parametrize("hyper", FAR)
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_beyond_the_range_of_a_double(hyper: Hyper, weighted: bool) -> None:
    records, y = far_away(weighted)
    bags = [bag(own, "abc", "ignore") for own in records]
    truth = learn(bags, soft(y))
    dice = np.random.default_rng(8)
    phi = {entry: dice.uniform(-3, 3) for entry in truth.corpus}
    fitted = model(hyper, phases=as_mapping(phi)).fit(records, y)
    cells = [dict(zip("abc", own, strict=True)) for own in dice.uniform(-3, 3, (12, 3)).tolist()]
    items = [(b, turned(b, own)) for b, own in zip(bags, cells, strict=True)]
    exact = Interference(truth, hyper, phi)
    assert_interferes(fitted, records, cells, items, exact)
    assert_interferes(fitted, records[:5], None, [(own, {}) for own in bags[:5]], exact)
    shares = (
        fitted.explain_local(records, theta=cells).table.group_by("item").agg(pl.col("share").sum())
    )
    np.testing.assert_allclose(shares["share"], 1, rtol=0, atol=1e-9)
    fitted.set_params(phases={})
    plain = Interference(truth, hyper, {})
    assert_interferes(fitted, records[5:10], cells[5:10], items[5:10], plain)


def test_far_enough_to_need_logarithms() -> None:
    """The settings above do leave items whose every weight vanishes beside the largest."""
    records, y = far_away(weighted=False)
    bags = [bag(own, "abc", "ignore") for own in records]
    truth = learn(bags, soft(y))
    far = 0
    for hyper in FAR:
        largest = max(truth.weights(hyper).values())
        scores = [max(truth.scores(own, hyper).values()) for own in bags]
        far += sum(0 < own / largest < Decimal("1e-600") for own in scores)
    assert far >= 8


def test_shares_beyond_the_range_of_a_double() -> None:
    X = [{"a": "u", "b": "v"}, {"a": "u", "b": "w"}, {"a": "t", "b": "v"}]
    phases = {"A": {"a": {"u": 1.0}}, "B": {"b": {"v": 2.0}}}
    fitted = model(Hyper(2, 1, 0), phases=phases).fit(X, ["A", "B", "B"])
    theta = [{"a": 0.7, "b": -0.4, "c": 3.0}]
    tiny = {"a": {"u": 1e-90}, "b": {"v": 1e-90}, "c": {"never learnt": 1e90}}
    expected = fitted.predict_proba([{"a": "u", "b": "v"}], theta=theta)
    np.testing.assert_allclose(fitted.predict_proba([tiny], theta=theta), expected, atol=1e-12)
