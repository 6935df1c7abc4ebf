"""Phases are tuned with the rest, and judged by what they were not learnt from."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from stc import SparseTensorClassifierCV
from support.tuning_cases import INF, ONE, answers, equal, rng_of, scores_of, table

# ---------------------------------------------------------------- data


def parity(n: int, seed: int) -> tuple[list[list[str]], np.ndarray]:
    """Whether the ones of three bits are odd, which no two of them tell."""
    X = rng_of(seed).choice(list("01"), (n, 4))
    odd = (X[:, :3] == "1").sum(axis=1) % 2 == 1
    return X.tolist(), np.where(odd, "odd", "even")


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
    model = SparseTensorClassifierCV(phases=None).fit(X, y)
    assert max(map(len, model.best_params_["interactions"])) == 3
    assert model.score(*parity(300, 3)) == 1.0


def test_nothing_is_lost_on_noise() -> None:
    """As good as the plain model but for one standard error, on items that were never seen."""
    rng = rng_of(0)
    X = rng.choice(list("01"), (900, 4)).tolist()
    y = rng.choice(["a", "b"], 900, p=[0.7, 0.3])
    fits = [
        SparseTensorClassifierCV(interactions=2, phases=phases, cv=3).fit(X[:150], y[:150])
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
    model = SparseTensorClassifierCV(**ONE, phases=[1e9], scoring="accuracy", cv=splits)
    scores = scores_of(model.fit(frame, y).cv_results_)
    assert len(scores) > 1
    assert_allclose(scores, np.broadcast_to(scores[0], scores.shape), atol=1e-12)


def test_where_nothing_can_be_learnt_phases_are_no_better() -> None:
    """Every value is in one item only, so no item left out is known at all."""
    X, y = [[f"v{k}"] for k in range(12)], ["a", "b", "c"] * 4
    model = SparseTensorClassifierCV(**ONE, phases=[1.0], cv=3).fit(X, y)
    means = model.cv_results_["mean_test_score"]
    assert means[1:] == pytest.approx(means[0], abs=1e-9)
    assert model.best_params_["phases"] is None


def test_all_values_missing() -> None:
    X, y = [[None, None]] * 12, ["a", "b", "b"] * 4
    model = SparseTensorClassifierCV(**ONE, phases=[1.0], missing="ignore", cv=3)
    assert_allclose(answers(model.fit(X, y), X), [[1 / 3, 2 / 3]] * 12)
    assert model.cv_results_["mean_test_score"] == pytest.approx(model.best_score_, abs=1e-6)


def test_given_settings_are_used_with_phases() -> None:
    """A floor is part of what is judged; a sharpness is a factor of the one that is learnt."""
    X, y = equal(90, 0)
    shared = {**ONE, "phases": [0.5], "cv": 3}
    plain = SparseTensorClassifierCV(**shared).fit(X, y)
    floored = SparseTensorClassifierCV(**shared | {"floor": 0.2}).fit(X, y)
    sharp = SparseTensorClassifierCV(**shared | {"sharpness": 2.0}).fit(X, y)
    for model, name, value in ((floored, "floor", 0.2), (sharp, "sharpness", 2.0)):
        assert model.best_index_ > 0
        assert model.best_params_[name] == getattr(model.best_estimator_, name) == value
    assert floored.predict_proba(X).min() >= 0.2 * (y == "same").mean() * 0.99
    assert floored.best_score_ < plain.best_score_
    assert sharp.sharpness_ == pytest.approx(2 * sharp.fitted_.model.amplitudes[0,].sharpness)


def test_the_floor_is_judged() -> None:
    X, y = equal(120, 5)
    splits = [(np.arange(80), np.arange(80, 120))]
    seen: list[np.ndarray] = []

    def keep(estimator: Any, X: Any, y: Any) -> float:
        seen.append(estimator.predict_proba(X))
        return 0.0

    SparseTensorClassifierCV(**ONE | {"floor": 0.3}, phases=[0.5], scoring=keep, cv=splits).fit(
        X, y
    )
    shares = np.unique(y[:80], return_counts=True)[1]
    least = 0.3 * (shares + 1 / 2) / (80 + 1)
    for P in seen:
        assert (least - 1e-12 <= P).all()
        assert_allclose(P.sum(axis=1), 1.0)
    assert len(seen) > 1


def test_a_prior_goes_with_no_phases() -> None:
    X, y = equal(60, 0)
    model = SparseTensorClassifierCV(interactions=1, prior=1.0, cv=3).fit(X, y)
    assert len(model.cv_results_["params"]) == 1
    assert model.best_params_["prior"] == 1.0
    with pytest.raises(
        ValueError, match=r"none can be learnt with prior=1; set prior=0 or phases=None"
    ):
        model.set_params(phases=[1.0]).fit(X, y)
