"""Phases learnt: what they find, what they leave alone, and what is told of it."""

import logging
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize, sparse
from sklearn.base import clone

from stc import PhaseLearner, SparseTensorClassifier
from stc._training.descent import Descent, Point
from stc._training.objective import Metrics, Objective
from support.models import paper_model
from support.oracle import Hyper, learn
from support.phase_cases import (
    PLAIN,
    QUICK,
    assert_interferes,
    copied,
    cross_fit,
    equal_or_not,
    model,
    name_of,
    phases_of,
    sharpness_of,
)
from support.phase_oracle import Interference, penalty
from support.strategies import soft


def either_or(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Exclusive or of two of four coins."""
    X = np.random.default_rng(seed).integers(0, 2, (size, 4)).astype(str)
    return X, np.where(X[:, 1] != X[:, 3], "odd", "even")


def test_phases_learn_what_counting_cannot(twins: SparseTensorClassifier) -> None:
    X, y = equal_or_not(300, 3, seed=1)
    assert twins.score(X, y) >= 0.99
    assert copied(twins).set_params(phases={}).score(X, y) <= 0.75
    odd = model(PLAIN, phases="learn").fit(*either_or(200, 0))
    X, y = either_or(300, 1)
    assert odd.score(X, y) >= 0.95
    assert odd.set_params(phases={}).score(X, y) <= 0.75


def test_mini_batches_learn_it_too() -> None:
    X, y = equal_or_not(400, 3)
    learner = PhaseLearner(penalties=(0.25,), max_amplitudes=600)
    fitted = model(PLAIN, phases=learner).fit(X, y)
    assert len(cross_fit(fitted, X, y, None, np.arange(400) % 10).parts(600)) > 2
    assert fitted.score(*equal_or_not(300, 3, seed=1)) >= 0.95
    again = model(PLAIN, phases=learner).fit(X, y)
    assert phases_of(again) == phases_of(fitted)


def noise(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values that tell nothing of the class, of which one is rare: a mistake costs much."""
    dice = np.random.default_rng(seed)
    X = dice.integers(0, 5, (size, 6)).astype(str)
    return X, (dice.random(size) < 0.25).astype(int)


def doubted(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values each of which tells a little of the class, and is right seven times in ten."""
    dice = np.random.default_rng(seed)
    y = dice.integers(0, 2, size)
    X = np.where(dice.random((size, 6)) < 0.7, y[:, None], dice.integers(0, 6, (size, 6)))
    return X.astype(str), y


@pytest.mark.parametrize("make", [noise, doubted])
@pytest.mark.parametrize("seed", [0, 1])
def test_learning_is_never_worse_than_noise(make: Any, seed: int) -> None:
    fitted = model(Hyper(0.5, 0, 0), phases="learn").fit(*make(150, seed))
    X, y = make(4000, 99)
    proba, right = fitted.predict_proba(X), fitted.predict(X) == y
    fitted.set_params(phases={})
    plain, right_plain = fitted.predict_proba(X), fitted.predict(X) == y
    # Of 4000 items; the differences are paired.
    gained = right.astype(float) - right_plain
    assert gained.mean() >= -0.02 - 2 * gained.std() / len(y) ** 0.5
    loss, loss_plain = (-np.log(own[np.arange(len(y)), y]).mean() for own in (proba, plain))
    assert loss <= loss_plain + 0.02


def test_phases_that_cost_accuracy_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Objective.metrics

    def harsh(objective: Objective, log_P: np.ndarray) -> Metrics:
        """Nothing but the plain model is ever right, whatever its sharpness."""
        plain = objective.log_scores(np.zeros(objective.amplitudes.shape[1]))
        turned_to = [np.argsort(own, axis=0, kind="stable").tolist() for own in (log_P, plain)]
        found = judged(objective, log_P)
        return found if turned_to[0] == turned_to[1] else found._replace(accuracy=0.0)

    X, y = equal_or_not(60, 3)
    learner = PhaseLearner((1.0, 0.25))
    assert any(phases_of(model(PLAIN, phases=learner).fit(X, y)).values())
    monkeypatch.setattr(Objective, "metrics", harsh)
    fitted = model(PLAIN, phases=learner).fit(X, y)
    assert not any(phases_of(fitted).values())
    assert fitted.phase_history_["fold"].null_count() == 0


def test_held_out_items_are_not_learnt_from() -> None:
    """Another label of one item is another loss in every descent but the one it is held out of."""
    fitted = model(PLAIN).fit(
        [[a, b] for a in "012" for b in "012"], [True, *[False] * 3] * 2 + [True]
    )
    X, y = equal_or_not(90, 3)
    labels = [{True: 0.9, False: 0.1} if own else {True: 0.1, False: 0.9} for own in y]
    learner = PhaseLearner(penalties=(1.0,), max_iter=3, folds=3, validation=3)

    def first_steps(given_labels: Any) -> pl.DataFrame:
        history = fitted.learn_phases(X, given_labels, learner=learner).phase_history_
        first = (pl.col("iteration") == 1) & pl.col("fold").is_not_null()
        return history.filter(first).sort("fold")

    before = first_steps(labels)
    assert before["fold"].to_list() == [0, 1, 2]
    for n in range(4):
        other = {i: 0.6 if share > 0.5 else 0.4 for i, share in labels[n].items()}
        after = first_steps([*labels[:n], other, *labels[n + 1 :]])
        same = (after["loss"] == before["loss"]).to_list()
        assert sum(same) == 1
        held_out = same.index(True)
        assert after["held_out_loss"][held_out] != before["held_out_loss"][held_out]


ONLY_SHARPER = [{"penalties": ()}, {"time_limit": 1e-9}]


@pytest.mark.parametrize("options", ONLY_SHARPER)
def test_without_phases_worth_having_only_the_sharpness_is_learnt(options: Any) -> None:
    X, y = doubted(150, 3)
    fitted = model(phases=PhaseLearner(**options)).fit(X, y)
    assert not any(phases_of(fitted).values())
    (sharpness,) = sharpness_of(fitted)
    assert sharpness != 1.0
    asked, truth = doubted(500, 4)
    logs, labels = fitted.predict_log_proba(asked), fitted.predict(asked)
    table = fitted.explain_local(asked[:20]).table
    fitted.set_params(phases={})
    plain = fitted.predict_log_proba(asked)
    np.testing.assert_array_equal(labels, fitted.predict(asked))
    assert table.equals(fitted.explain_local(asked[:20]).table)
    odds, plain_odds = logs[:, 1] - logs[:, 0], plain[:, 1] - plain[:, 0]
    np.testing.assert_allclose(odds, sharpness * plain_odds, rtol=1e-9, atol=1e-9)
    every = np.arange(len(truth))
    assert -logs[every, truth].mean() < -plain[every, truth].mean()


def test_learning_is_reproducible_and_starts_at_random(twins: SparseTensorClassifier) -> None:
    X, y = equal_or_not(200, 3)
    again = model(PLAIN, phases=PhaseLearner()).fit(X, y)
    assert phases_of(again) == phases_of(twins)
    assert sharpness_of(again) == sharpness_of(twins)
    assert again.phase_history_.equals(twins.phase_history_)
    other = model(PLAIN, phases=PhaseLearner((0.25,), random_state=1)).fit(X, y)
    same = model(PLAIN, phases=PhaseLearner((0.25,))).fit(X, y)
    assert phases_of(other) != phases_of(same)
    assert other.score(X, y) >= 0.99


def test_of_all_descents_with_all_items_the_deepest_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, found = Descent.run, []

    def watched(descent: Descent, *arguments: Any, **options: Any) -> Point:
        point = run(descent, *arguments, **options)
        slope = descent.objective.gradient(point.angles, point.sharpness)
        bent = penalty(point.angles.tolist(), point.sharpness, descent.penalty)
        depth = slope.loss + bent.value
        found.append(
            (-descent.objective.weight.sum(), depth, point.angles.tolist(), point.sharpness)
        )
        return point

    monkeypatch.setattr(Descent, "run", watched)
    fitted = model(PLAIN, phases="learn").fit(*equal_or_not(60, 3))
    *_, angles, sharpness = min(found)
    assert list(phases_of(fitted).values()) == angles
    assert sharpness_of(fitted) == [sharpness]


def test_the_optimizer_is_told_the_slope_of_what_it_minimizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In whatever units it counts, which differ where some values are rare."""
    dice, minimize, checked = np.random.default_rng(6), optimize.minimize, []

    def checking(function: Any, x: np.ndarray, *arguments: Any, **options: Any) -> Any:
        x = x + dice.normal(0, 0.3, len(x))
        gradient = function(x)[1]
        for _ in range(5):
            aside = 2e-3 * dice.normal(0, 1, len(x))
            rise = (function(x + aside)[0] - function(x - aside)[0]) / 2
            checked.append((float(gradient @ aside), rise))
        return minimize(function, x, *arguments, **options)

    monkeypatch.setattr(optimize, "minimize", checking)
    X, y = equal_or_not(120, 3)
    X[:90] = "0"
    y = X[:, 0] == X[:, 1]
    y[::7] ^= True
    model(PLAIN, phases=QUICK).fit(X, y)
    told, true = np.array(checked).T
    assert len(told) >= 5
    assert abs(true).max() > 1e-4
    np.testing.assert_allclose(told, true, rtol=0, atol=2e-6)


def test_the_global_generator_is_left_alone() -> None:
    X, y = equal_or_not(40, 3)
    before = np.random.get_state()[1].tolist()
    model(PLAIN, phases=QUICK).fit(X, y)
    assert np.random.get_state()[1].tolist() == before


TARGETS = [
    lambda y: y,
    lambda y: [{"same": 0.8, "other": 0.2} if own else {"other": 1.0} for own in y],
    lambda y: [[own, n % 2] for n, own in enumerate(y.tolist())],
]


@pytest.mark.parametrize("make", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_learning_in_fit_is_learning_after_it(make: Any, weighted: bool) -> None:
    X, y = equal_or_not(60, 3)
    weights = np.arange(60) % 3 if weighted else None
    fitted = model(PLAIN, phases=QUICK).fit(X, make(y), sample_weight=weights)
    later = model(PLAIN).fit(X, make(y), sample_weight=weights)
    plain = copied(later).predict_joint(X)
    assert later.learn_phases(X, make(y), weights, learner=QUICK) is later
    assert phases_of(fitted) == phases_of(later) != {}
    assert sharpness_of(fitted) == sharpness_of(later)
    assert fitted.phase_history_.equals(later.phase_history_)
    assert fitted.predict_joint(X).equals(later.predict_joint(X))
    assert not later.predict_joint(X).equals(plain)
    assert fitted.corpus_.equals(later.corpus_)


def test_phases_come_from_what_the_parameter_says() -> None:
    X, y = equal_or_not(60, 3)
    fitted = model(PLAIN, phases=QUICK).fit(X, y)
    later = model(PLAIN).fit(X, y).set_params(phases=QUICK).learn_phases(X, y)
    assert phases_of(later) == phases_of(fitted)
    # Learning again starts anew, and does not depend on what was learnt before.
    assert phases_of(later.learn_phases(X, y)) == phases_of(fitted)


PHASE_HISTORY = {
    "penalty": pl.Float64,
    "fold": pl.Int64,
    "iteration": pl.Int64,
    "loss": pl.Float64,
    "held_out_loss": pl.Float64,
    "held_out_accuracy": pl.Float64,
}


def test_the_history_says_what_was_tried(twins: SparseTensorClassifier) -> None:
    history = twins.phase_history_
    assert dict(history.schema).items() >= PHASE_HISTORY.items()
    held, final = (
        history.filter(pl.col("fold").is_not_null()),
        history.filter(pl.col("fold").is_null()),
    )
    assert held.height > 0
    assert final.height > 0
    assert set(history["penalty"]) <= set(PhaseLearner().penalties)
    assert final["penalty"].n_unique() == 1
    assert final["penalty"][0] in held["penalty"]
    assert held["fold"].n_unique() == PhaseLearner().validation
    assert not any(held.null_count().row(0))
    assert final["held_out_loss"].null_count() == final.height
    assert held["held_out_accuracy"].is_between(0, 1).all()
    assert history["loss"].is_finite().all()
    run = (pl.col("iteration") == 1).cum_sum()  # each descent counts from 1
    for _, own in history.group_by("penalty", "fold", run.alias("run"), maintain_order=True):
        assert own["iteration"].to_list() == list(range(1, own.height + 1))
        assert own["loss"][-1] <= own["loss"][0]
    best = held.filter(pl.col("penalty") == final["penalty"][0])
    assert best["held_out_accuracy"].max() > 0.9


def test_there_is_no_history_of_what_was_not_learnt() -> None:
    X, y = equal_or_not(30, 3)
    for fitted in (model().fit(X, y), model(phases={}).fit(X, y), model(phases="learn")):
        assert not hasattr(fitted, "phase_history_")
    # Only fit learns phases, not partial_fit.
    assert not hasattr(model(phases="learn").partial_fit(X, y), "phase_history_")
    fitted = model(PLAIN, phases=QUICK).fit(X, y)
    history = fitted.phase_history_
    assert fitted.partial_fit(X, y).phase_history_.equals(history)
    assert not hasattr(fitted.set_params(phases=None).fit(X, y), "phase_history_")
    assert phases_of(fitted) == {}


def test_a_line_in_the_log_and_no_bar_in_a_pipe(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = equal_or_not(60, 3)
    with caplog.at_level(logging.INFO, logger="stc"):
        model(PLAIN, phases=QUICK).fit(X, y)
    said = [record for record in caplog.records if record.name == "stc"]
    assert len(said) == 1
    assert said[0].levelno == logging.INFO
    assert said[0].getMessage().startswith("Learnt phases: penalty ")
    assert capsys.readouterr() == ("", "")
    model(PLAIN, phases=clone(QUICK).set_params(verbose=False)).fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("learner", "start"),
    [
        (PhaseLearner((math.inf,)), "No phases improved the held-out loss; sharpness "),
        (PhaseLearner((math.inf,), validation=0), "Learnt no phases; sharpness "),
    ],
    ids=["validated", "not validated"],
)
def test_the_log_says_why_there_are_no_phases(
    learner: PhaseLearner, start: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="stc"):
        model(PLAIN, phases=learner).fit(*equal_or_not(60, 3))
    assert [record.getMessage()[: len(start)] for record in caplog.records] == [start]


def test_a_bar_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = equal_or_not(60, 3)
    model(PLAIN, phases=clone(QUICK).set_params(verbose=True)).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "phases" in err
    assert "[" in err
    assert err.endswith("\r")  # wiped away


def test_power_and_sharpness_act_together(twins: SparseTensorClassifier) -> None:
    """What was learnt is angles and a sharpness: with them the oracle predicts the same."""
    X, y = equal_or_not(200, 3)
    bags = [{("x0", a): 1, ("x1", b): 1} for a, b in X.tolist()]
    truth = learn(bags, soft(y.tolist()))
    angles = phases_of(twins)
    phi = {(j, i): angles[("all",), name_of(j), i] for j, i in truth.corpus}
    fitted = copied(twins)
    for power in (0.5, 1.0, 0.2):
        fitted.set_params(power=power)
        exact = Interference(truth, Hyper(power, 1, 0), phi, sharpness_of(twins)[0])
        assert_interferes(fitted, X[:10], None, [(own, {}) for own in bags[:10]], exact)


ITEMS = [
    {"a": "u", "b": "v"},
    {"a": "u"},
    {"b": "w"},
    {"a": "t", "b": "v"},
    {},
    {"a": "u", "b": "w"},
]
ODD = {
    "one item": (ITEMS[:1], ["A"], {}),
    "one class": (ITEMS, ["A"] * 6, {}),
    "two items": (ITEMS[:2], ["A", "B"], {}),
    "a class an item": (ITEMS, list("ABCDEF"), {}),
    "nothing but missing": ([{"a": None}, {"a": None}, {}], ["A", "B", "B"], {}),
    "some missing": (ITEMS * 4, list("ABABAB") * 4, {}),
    "missing as a category": (ITEMS * 4, list("ABABAB") * 4, {"missing": "category"}),
    "several targets": (ITEMS * 4, [["A", "1"], ["B", "2"], ["A", "2"]] * 8, {}),
    "soft labels": (ITEMS * 4, [{"A": 0.3, "B": 0.7}, {"A": 1.0}, {"C": 2.0}] * 8, {}),
    "sets of labels": (ITEMS * 4, [{"A", "B"}, {"A"}, {"C", "B"}] * 8, {}),
    "an indicator": (ITEMS * 4, np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]] * 8), {}),
    "counts": (sparse.csr_array(np.eye(6)[[0, 1, 2, 3] * 5] * 3.0), list("ABBA") * 5, {}),
    "documents": (["to be", "or not", "", "to be or"] * 5, list("ABBA") * 5, {}),
    "pairs of words": (["to be", "or not", "", "to be or"] * 5, list("ABBA") * 5, {"ngrams": 2}),
    "conjunctions": (ITEMS * 4, list("ABABAB") * 4, {"interactions": 2}),
    "each a dimension": (ITEMS * 4, list("ABABAB") * 4, {"dimensions": "each"}),
    "a policy": (
        ITEMS * 4,
        list("ABABAB") * 4,
        {"dimensions": "each", "policy": [["a", "b"], ["a"], ["b"]]},
    ),
    "the class frequencies": (
        ITEMS * 4,
        list("ABABAB") * 4,
        {"dimensions": "each", "policy": [[]]},
    ),
    "a learnt policy": (ITEMS * 4, list("ABABAB") * 4, {"dimensions": "each", "policy": "learn"}),
    "numbers": ([{"n": k / 7} for k in range(24)], list("AABB") * 6, {"continuous": {"n": 3}}),
    "order": (
        [{"n": "SML"[k % 3]} for k in range(24)],
        list("AABB") * 6,
        {"ordinal": {"n": list("SML")}},
    ),
    "large powers": (ITEMS * 4, list("ABABAB") * 4, {"power": 50.0}),
    "small powers": (ITEMS * 4, list("ABABAB") * 4, {"power": 0.001}),
    "much entropy": (ITEMS * 4, list("ABABAB") * 4, {"entropy": 300.0}),
    "much balance": (ITEMS * 4, list("AAABAA") * 4, {"balance": 300.0}),
}


@pytest.mark.parametrize("name", ODD)
def test_phases_of_anything_are_valid(name: str) -> None:
    X, y, options = ODD[name]
    fitted = paper_model(**{"entropy": 0.0, **options}, phases=QUICK).fit(X, y)
    plain = paper_model(**{"entropy": 0.0, **options}).fit(X, y)
    assert fitted.corpus_.equals(plain.corpus_)
    assert dict(fitted.phase_history_.schema).items() >= PHASE_HISTORY.items()
    assert all(-math.pi <= angle <= math.pi for angle in phases_of(fitted).values())
    assert all(0 < own < math.inf for own in sharpness_of(fitted))
    joint = fitted.predict_joint(X)
    assert joint["probability"].is_between(0, 1).all()
    sums = joint.group_by("item").agg(pl.col("probability").sum())["probability"]
    np.testing.assert_allclose(sums, 1, rtol=0, atol=1e-12)
    predicted, expected = fitted.predict(X), plain.predict(X)
    assert len(predicted) == len(expected)
    assert type(predicted) is type(expected)
    shares = fitted.explain_local(X).table.group_by("item").agg(pl.col("share").sum())["share"]
    np.testing.assert_allclose(shares, 1, atol=1e-6)
    plain_joint = fitted.set_params(phases={}).predict_joint(X)
    assert plain_joint.equals(plain.predict_joint(X))


def test_phases_of_a_policy_are_of_each_set() -> None:
    X, y = equal_or_not(60, 3)
    records = [{"a": [a, "k"], "b": [b, "k"]} for a, b in X.tolist()]
    options = {"dimensions": "each", "policy": [["a", "b"], ["b"]]}
    fitted = model(PLAIN, phases=QUICK, **options).fit(records, y)
    assert {where for where, _, _ in phases_of(fitted)} == {("a", "b"), ("b",)}
    alone = model(PLAIN, phases=QUICK, dimensions="each", policy=[["b"]]).fit(records, y)
    history = fitted.phase_history_
    assert history.tail(alone.phase_history_.height).equals(alone.phase_history_)
    assert history.height > alone.phase_history_.height
    found = phases_of(fitted)
    assert {entry: found[entry] for entry in phases_of(alone)} == phases_of(alone)


def test_the_threshold_of_labels_is_that_of_the_phases_learnt() -> None:
    """With phases learnt after fitting as with those learnt in it."""
    dice = np.random.default_rng(5)
    X = dice.integers(0, 3, (80, 2)).astype(str)
    y = [{"same"} if a == b else {"other", a} for a, b in X.tolist()]
    learner = PhaseLearner(penalties=(0.25,), folds=5, validation=1)
    fitted = model(PLAIN, phases=learner).fit(X, y)
    later = model(PLAIN).fit(X, y).learn_phases(X, y, learner=learner)
    assert phases_of(fitted) == phases_of(later) != {}
    np.testing.assert_array_equal(later.label_threshold_, fitted.label_threshold_)
    assert later.predict(X) == fitted.predict(X)
