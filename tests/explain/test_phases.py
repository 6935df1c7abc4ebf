"""Explanations of models with phases: contributions rebuild what interferes."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.oracle import Bag, Hyper, learn
from support.phase_cases import (
    FEW,
    MODEST,
    as_mapping,
    model,
    name_of,
    some_cells,
    some_phases,
    turned,
)
from support.phase_oracle import Angles, Interference, with_conjunctions
from support.strategies import Data, hypers, soft, tables


@MODEST
@given(st.data(), tables(values=FEW), hypers(), st.integers(1, 2))
def test_contributions_rebuild_score_and_probability(
    draws: st.DataObject, data: Data, hyper: Hyper, order: int
) -> None:
    bags = [with_conjunctions(own, order) for own in data.bags(data.records)]
    truth = learn(bags, soft(data.y), data.weights)
    phi = some_phases(draws.draw, truth)
    fitted = model(hyper, phases=as_mapping(phi), interactions=order)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    theta = some_cells(draws.draw, data.records, list(data.kinds))
    explained = fitted.explain_local(data.records, theta=theta)
    np.testing.assert_array_equal(explained.labels, fitted.predict(data.records, theta=theta))
    proba = fitted.predict_proba(data.records, theta=theta)
    np.testing.assert_array_equal(explained.probabilities, proba.max(axis=1))
    exact = Interference(truth, hyper, phi)
    for n, item in enumerate(bags):
        rows = explained.table.filter(pl.col("item") == n)
        if exact.decided(item, turned(item, theta[n])):
            assert_rebuilt(rows, explained.labels[n], exact, item, turned(item, theta[n]))


def assert_rebuilt(
    rows: pl.DataFrame, label: Any, exact: Interference, item: Bag, theta: Angles
) -> None:
    """Moduli, angles and shares are the oracle's; their sum is the score, to 1e-12 of its parts."""
    own = {name_of(j): w for (j, i), w in exact.addends(item, theta).items() if i == label}
    own = {name: complex(*map(float, w)) for name, w in own.items() if any(w)}
    score, size = abs(sum(own.values())), sum(map(abs, own.values()))
    if score < 1e-6 * size:  # so near to nothing that the direction of the sum is rounding
        return
    tolerance = float(exact.error()) + 1e-12
    direction = sum(own.values()) / score
    assert set(rows["feature"]) == set(own)
    waves = rows["contribution"].to_numpy() * np.exp(1j * rows["phase"].to_numpy())
    for name, wave in zip(rows["feature"], waves, strict=True):
        expected = own[name] / direction
        assert abs(wave - expected) <= tolerance * (size + abs(expected) * size / score)
    assert abs(waves.sum() - score) <= tolerance * size * size / score
    assert ((rows["phase"] > -math.pi) & (rows["phase"] <= math.pi)).all()
    share = rows["share"].to_numpy()
    np.testing.assert_allclose(share, waves.real / score, atol=tolerance * (size / score) ** 2)
    assert share.sum() == pytest.approx(1, abs=tolerance * size / score)
    strengths = rows["contribution"].to_list()
    assert strengths == sorted(strengths, reverse=True)


def test_a_probability_is_rebuilt_from_the_contributions() -> None:
    phases = {"A": {"x0": {"u": 2.0}, "x1": {"v": -0.5}}, "B": {"x2": {"w": 1.0}}}
    X = [["u", "v", "w"], ["u", "v", "z"], ["t", "v", "w"]]
    fitted = model(Hyper(0.5, 1, 0), phases=phases).fit(X, ["A", "B", "B"])
    theta = [[0.3, -1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    explained = fitted.explain_local(X, theta=theta)
    logs = fitted.predict_log_proba(X, theta=theta)
    for n in range(3):
        rows = explained.table.filter(pl.col("item") == n)
        score = (rows["contribution"] * rows["phase"].cos()).sum()
        assert (rows["contribution"] * rows["phase"].sin()).sum() == pytest.approx(0, abs=1e-12)
        assert rows["share"].sum() == pytest.approx(1, abs=1e-12)
        # The odds of the other class tell its score.
        best = int(np.argmax(logs[n]))
        other = score * math.exp(0.5 * (logs[n, 1 - best] - logs[n, best]))
        rebuilt = score**2 / (score**2 + other**2)
        assert explained.probabilities[n] == pytest.approx(rebuilt, abs=1e-12)


def test_what_works_against_the_class_is_named_and_below_zero() -> None:
    X = [dict.fromkeys("abcdef", 1)]
    phases = {"x": {"a": {"1": math.pi}, "d": {"1": 2.5}}}
    fitted = model(Hyper(0.5, 1, 0), phases=phases).fit(X, ["x"])
    explained = fitted.explain_local(X)
    by_name = dict(explained.table.select("feature", "share").iter_rows())
    assert by_name["a=1"] < by_name["d=1"] < 0
    assert sum(by_name.values()) == pytest.approx(1, abs=1e-12)
    (sentence,) = explained.sentences()
    because, despite = sentence.split("; despite ")
    assert "a=1" not in because
    assert "d=1" not in because
    assert despite.startswith("a=1 (-")
    assert "despite" not in str(fitted.set_params(phases={}).explain_local(X))


def test_opposite_is_pi_and_not_minus_pi() -> None:
    X = [{"a": 1, "b": 1, "c": 1}]
    fitted = model(Hyper(0.5, 1, 0), phases={"x": {"a": {"1": math.pi}}}).fit(X, ["x"])
    phase = dict(fitted.explain_local(X).table.select("feature", "phase").iter_rows())
    assert phase == pytest.approx({"a=1": math.pi, "b=1": 0.0, "c=1": 0.0}, abs=1e-12)
