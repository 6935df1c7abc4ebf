"""The objective that phases descend: its gradient, its penalty, and its parts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from stc._training.crossfit import CrossFit
from stc._training.descent import Descent, Point
from stc._training.objective import Objective
from support.oracle import Hyper, learn
from support.phase_cases import by_class, cross_fit, model, ours
from support.phase_oracle import Loss, cross_entropy, penalty, with_conjunctions
from support.strategies import bag


@dataclass(frozen=True)
class Hill:
    """Items whose loss is known, and the loss as the oracle has it."""

    cross: CrossFit
    hyper: Hyper
    amplitudes: list[list[dict[int, float]]]
    truth: list[list[float]]
    weight: list[float]

    @property
    def objective(self) -> Objective:
        return self.cross.objective(ours(self.hyper))

    def loss(self, angles: Sequence[float], sharpness: float) -> Loss:
        parts = self.amplitudes, self.truth, self.weight
        return cross_entropy(*parts, angles, sharpness, self.hyper.power)


def hill(hyper: Hyper, weighted: bool, folds: int = 3, options: Any = None) -> Hill:
    """Random items, each with the weights of an oracle that has not learnt its fold."""
    dice = np.random.default_rng(11)
    X: list[Any] = [{a: str(dice.integers(0, 2)) for a in "abc"} for _ in range(30)]
    y: list[Any] = [{"A": 1.0} if dice.random() < 0.5 else {"B": 1.0} for _ in X]
    s: list[float] = [1.0] * len(X)
    if weighted:
        X = [{a: {v: 3.0, "x": 1.0 + n % 2} for a, v in own.items()} for n, own in enumerate(X)]
        y = [{**own, "C": 0.25 + n % 3, "A": 0.5} for n, own in enumerate(y)]
        s = [float(own) for own in dice.choice([0.5, 1.0, 2.0], len(X))]
    fold = [n % folds for n in range(len(X))]
    fitted = model(hyper, **(options or {})).fit(X, y, sample_weight=s)
    bags = [with_conjunctions(bag(own, "abc", "ignore"), fitted.interactions) for own in X]
    oracles = []
    for number in range(folds):
        rest = [k for k in range(len(X)) if fold[k] != number]
        oracles.append(learn([bags[k] for k in rest], [y[k] for k in rest], [s[k] for k in rest]))
    known = [oracles[fold[n]].contributions(item, hyper) for n, item in enumerate(bags)]
    shares = [[own.get(i, 0.0) / sum(own.values()) for i in fitted.classes_] for own in y]
    amplitudes = [by_class(fitted, own) for own in known]
    return Hill(cross_fit(fitted, X, y, s, fold), hyper, amplitudes, shares, s)


HILLS = [
    (Hyper(0.5, 1, 0), False, {}),
    (Hyper(1, 0, 1), True, {}),
    (Hyper(0.3, 0.5, 0.5), True, {"interactions": 2}),
    (Hyper(2, 1, 0), False, {"interactions": 2}),
]


@pytest.mark.parametrize(("hyper", "weighted", "options"), HILLS)
def test_the_gradient_is_the_oracles(hyper: Hyper, weighted: bool, options: Any) -> None:
    known = hill(hyper, weighted, options=options)
    dice = np.random.default_rng(1)
    for spread, sharpness in ((0.1, 1.0), (2.0, 0.6), (2.0, 2.5)):
        angles = dice.normal(0, spread, known.cross.mass.nnz)
        exact = known.loss(angles.tolist(), sharpness)
        slope = known.objective.gradient(angles, sharpness)
        assert slope.loss == pytest.approx(exact.value, rel=1e-5)
        # Amplitudes are single precision: seven digits, less what cancels.
        np.testing.assert_allclose(slope.angles, exact.angles, rtol=1e-3, atol=2e-6)
        assert slope.sharpness == pytest.approx(exact.sharpness, rel=1e-4, abs=1e-5)
        assert np.exp(slope.log_probabilities).sum() == pytest.approx(len(known.weight), rel=1e-12)


def test_the_oracles_gradient_is_that_of_small_differences() -> None:
    known = hill(Hyper(0.5, 1, 0.5), weighted=True)
    angles = np.random.default_rng(2).normal(0, 1, known.cross.mass.nnz)
    exact, step = known.loss(angles.tolist(), 1.3), 1e-5
    for e in range(0, len(angles), 3):
        aside = np.where(np.arange(len(angles)) == e, step, 0.0)
        ends = [known.loss((angles + sign * aside).tolist(), 1.3).value for sign in (1, -1)]
        assert exact.angles[e] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-9)
    ends = [known.loss(angles.tolist(), 1.3 + sign * step).value for sign in (1, -1)]
    assert exact.sharpness == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("penalty_of", [0.0, 0.02])
def test_the_gradient_is_that_of_small_differences(penalty_of: float) -> None:
    """Of the penalised loss, along many directions; single precision allows no small step."""
    known = hill(Hyper(0.5, 1, 0), weighted=False)
    objective, dice = known.objective, np.random.default_rng(3)
    descent = Descent(objective, penalty_of)
    angles, sharpness = dice.normal(0, 1, known.cross.mass.nnz), 1.2
    gradient = descent.penalised(objective, Point(angles, sharpness))[1]
    for _ in range(10):
        aside = dice.normal(0, 1, len(angles) + 1)
        step = 2e-3
        ends = [
            descent.penalised(
                objective,
                Point(angles + sign * step * aside[:-1], sharpness + sign * step * aside[-1]),
            )[0]
            for sign in (1, -1)
        ]
        assert gradient @ aside == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=5e-4)


@pytest.mark.parametrize("strength", [0.0, 0.003, 0.5])
def test_the_penalty_is_on_what_is_turned(strength: float) -> None:
    known = hill(Hyper(0.5, 1, 0), weighted=True)
    angles = np.random.default_rng(4).normal(0, 1, known.cross.mass.nnz)
    objective = known.objective
    loss, gradient, log_P = Descent(objective, strength).penalised(objective, Point(angles, 0.7))
    plain, bent = known.loss(angles.tolist(), 0.7), penalty(angles.tolist(), 0.7, strength)
    assert loss == pytest.approx(plain.value + bent.value, rel=1e-5)
    expected = np.append(np.add(plain.angles, bent.angles), plain.sharpness + bent.sharpness)
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(log_P, objective.gradient(angles, 0.7).log_probabilities)


def test_parts_add_up_to_the_whole() -> None:
    known = hill(Hyper(0.5, 1, 0), weighted=True)
    angles = np.random.default_rng(5).normal(0, 1, known.cross.mass.nnz)
    whole = known.objective.gradient(angles, 1.1)
    parts = [known.cross.objective(ours(known.hyper), part) for part in known.cross.parts(50)]
    assert len(parts) > 1
    shares = np.array([part.weight.sum() for part in parts]) / sum(known.weight)
    slopes = [part.gradient(angles, 1.1) for part in parts]
    losses = [own.loss for own in slopes]
    assert shares @ losses == pytest.approx(whole.loss, rel=1e-5)
    gradients = np.array([own.angles for own in slopes])
    np.testing.assert_allclose(shares @ gradients, whole.angles, atol=2e-6)


def test_items_left_out_count_for_nothing() -> None:
    known = hill(Hyper(0.5, 1, 0), weighted=True)
    angles = np.random.default_rng(6).normal(0, 1, known.cross.mass.nnz)
    left_out = np.arange(len(known.weight)) % 4 == 0
    weight = np.where(left_out, 0.0, known.weight).tolist()
    exact = replace(known, weight=weight).loss(angles.tolist(), 0.9)
    slope = known.objective.without(left_out).gradient(angles, 0.9)
    assert slope.loss == pytest.approx(exact.value, rel=1e-5)
    np.testing.assert_allclose(slope.angles, exact.angles, rtol=1e-3, atol=2e-6)


def test_an_item_whose_class_has_no_score_whatever_the_phases_does_not_count() -> None:
    X, y = [["u"], ["u"], ["v"], ["u"]], ["A", "A", "B", "B"]
    cross = cross_fit(model(Hyper(0.5, 1, 0)).fit(X, y), X, y, None, [0, 1, 2, 3])
    objective = cross.objective(ours(Hyper(0.5, 1, 0)))
    # Without itself nobody else of class B has v, and nobody else of class B has u.
    assert objective.weight.tolist() == [1.0, 1.0, 0.0, 0.0]
    slope = objective.gradient(np.zeros(cross.mass.nnz), 1.0)
    judged = objective.metrics(slope.log_probabilities)
    assert slope.loss == pytest.approx(-math.log(judged_share(X, y)), rel=1e-5)
    assert judged.loss == pytest.approx(slope.loss, rel=1e-6)
    assert judged.accuracy == 1.0


def judged_share(X: Any, y: Any) -> float:
    """The probability of A for u where one u of A is left out: B_uA = 1, B_uB = 1/2."""
    fitted = model(Hyper(0.5, 1, 0)).fit(X[1:], y[1:])
    return float(fitted.predict_proba([["u"]])[0, 0])
