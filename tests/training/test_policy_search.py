"""The agent that learns a policy: the values of its states, and the way it walks."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from stc import PolicyAgent, SparseTensorClassifier
from support.agent_cases import (
    AB,
    CLASSICAL,
    HYPERS,
    LOG,
    PLAIN,
    State,
    Values,
    Y,
    children,
    learnt,
    noisy,
    sets,
    values,
    walk,
)
from support.models import paper_model


def assert_values(model: SparseTensorClassifier, expected: Values) -> None:
    """Exactly these states were visited, with these values."""
    found = values(model)
    assert found.keys() == expected.keys()
    assert_allclose([found[state] for state in expected], list(expected.values()), atol=1e-12)


SHARES = {"p": 1 / 6, "q": 1 / 6, "r": 2 / 3}
CERTAIN = {"p": (1, 0, 0), "q": (0, 1, 0), "r": (0, 0, 1)}
FREQUENCIES = tuple(SHARES.values())
GUESSES: dict[State, dict[str, Sequence[float]]] = {
    (): dict.fromkeys("pqr", FREQUENCIES),
    ("a",): {"p": (0.5, 0.5, 0), "q": (0.5, 0.5, 0), "r": (0, 0, 1)},
    ("b",): CERTAIN | {"r": FREQUENCIES},
    ("a", "b"): CERTAIN,
}


def norm_loss(x: Sequence[float], guess: Sequence[float], order: float) -> float:
    return sum(abs(a - b) ** order for a, b in zip(x, guess, strict=True)) ** (1 / order) / 2


def log_loss(x: Sequence[float], guess: Sequence[float], floor: float) -> float:
    return -sum(a * math.log(max(b, floor)) for a, b in zip(x, guess, strict=True) if a)


LOSSES: dict[str, tuple[dict[str, Any], Any]] = {
    "norm": ({}, lambda x, guess: norm_loss(x, guess, 1)),
    "norm 2": ({"order": 2}, lambda x, guess: norm_loss(x, guess, 2)),
    "norm 3.5": ({"order": 3.5}, lambda x, guess: norm_loss(x, guess, 3.5)),
    "log": ({"loss": "log"}, lambda x, guess: log_loss(x, guess, 1e-9)),
}
any_loss = pytest.mark.parametrize(("options", "loss"), LOSSES.values(), ids=LOSSES.keys())


@any_loss
@pytest.mark.parametrize("validation", [0.1, 0.3, 0.5])
def test_values_are_mean_rewards_of_all_validation_items(
    options: dict[str, Any], loss: Any, validation: float
) -> None:
    model = learnt(AB, Y, PolicyAgent(**options, validation=validation))
    expected = {
        state: -sum(share * loss(CERTAIN[k], guess[k]) for k, share in SHARES.items())
        for state, guess in GUESSES.items()
    }
    assert_values(model, expected)
    assert model.policy_ == [["a", "b"], ["a"], []]


@pytest.mark.parametrize("iterations", [1, 4])
@pytest.mark.parametrize("validation", [0.2, 0.3])
def test_the_table_of_values(iterations: int, validation: float) -> None:
    agent = PolicyAgent(iterations=iterations, validation=validation)
    table = learnt(AB, Y, agent).policy_values_
    assert isinstance(table, pl.DataFrame)
    assert table.columns == ["state", "value", "iterations", "items"]
    assert table.schema["state"] == pl.List(pl.String)
    assert table.schema["value"] == pl.Float64
    assert table["state"].to_list()[0] == []
    assert table["iterations"].to_list() == [iterations] * 4
    assert table["items"].to_list() == [iterations * round(60 * validation)] * 4


def test_states_are_in_the_order_of_the_walk_and_sets_in_that_of_the_dimensions() -> None:
    model = learnt(AB.select("b", "a"), Y)
    assert set(values(model)) == {(), ("a",), ("b",), ("a", "b")}
    assert model.policy_ == [["b", "a"], ["a"], []]


def test_who_is_not_scored_falls_back_on_the_chain() -> None:
    model = learnt(AB, Y)
    asked = pl.DataFrame({"a": ["x", "y", "new"], "b": ["q", "q", "q"]})
    assert model.policy_used(asked).tolist() == [("a", "b"), ("a",), ()]
    assert model.predict(asked).tolist() == ["q", "r", "r"]
    assert_allclose(model.predict_proba(asked)[2], FREQUENCIES)


# Every item of "few" has a value of its own, "many" has all those values: in validation the former
# is always taken for the latter. Each such item must count.
WRONG = [{"a": [f"v{k}" for k in range(10)]}] * 40 + [{"a": f"v{k}"} for k in range(10)]
WRONG_Y = ["many"] * 40 + ["few"] * 10


@pytest.mark.parametrize(
    ("options", "right", "wrong"),
    [
        ({}, -0.7 / 3.8, -1.0),
        ({"order": 2}, -0.7 / 3.8 / math.sqrt(2), -1 / math.sqrt(2)),
        ({"loss": "log"}, math.log1p(-0.7 / 3.8), math.log(1e-9)),
        ({"loss": "log", "floor": 1e-3}, math.log1p(-0.7 / 3.8), math.log(1e-3)),
    ],
)
def test_items_whose_class_got_probability_zero_count(
    options: dict[str, Any], right: float, wrong: float
) -> None:
    model = learnt(WRONG, WRONG_Y, PolicyAgent(**options), **CLASSICAL)
    assert values(model)["a",] == pytest.approx((12 * right + 3 * wrong) / 15, abs=1e-12)
    assert model.policy_values_["items"].to_list() == [150, 150]


def test_an_item_that_no_set_can_score_counts_with_the_frequencies() -> None:
    X = pl.DataFrame({"a": ["x"] * 10 + [f"own {k}" for k in range(10)]})
    model = learnt(X, ["p"] * 10 + ["q"] * 10)
    assert_values(model, {(): -0.5, ("a",): -0.25})


def test_sample_weights_weigh_rewards_and_frequencies() -> None:
    X = pl.DataFrame({"a": ["x"] * 10 + [f"own {k}" for k in range(10)]})
    model = learnt(X, ["p"] * 10 + ["q"] * 10, sample_weight=[2.0] * 10 + [1.0] * 10)
    assert_values(model, {(): -4 / 9, ("a",): -2 / 9})


def test_items_without_weight_count_for_nothing() -> None:
    X = pl.DataFrame({"a": ["x"] * 10 + ["y"] * 30})
    model = learnt(X, ["p"] * 10 + ["q"] * 10 + ["s"] * 20, sample_weight=[1.0] * 20 + [0.0] * 20)
    assert_values(model, {(): -0.5, ("a",): 0.0})
    assert model.classes_.tolist() == ["p", "q"]


# ---------------------------------------------------------------- other kinds of targets


TOLD = pl.DataFrame({"a": ["x"] * 10 + ["y"] * 10})
MARKS = [["s", "t"]] * 10 + [["u"]] * 10
TWO: dict[str, tuple[Any, Values]] = {
    "soft labels": (
        [{"p": 3, "q": 1}] * 10 + [{"p": 1, "q": 3}] * 10,
        {(): -0.25, ("a",): 0.0},
    ),
    "soft labels alike": ([{"p": 3, "q": 1}] * 20, {(): 0.0, ("a",): 0.0}),
    "joint targets": (
        np.array([["p", "s"]] * 10 + [["q", "t"]] * 10),
        {(): -0.5, ("a",): 0.0},
    ),
    "joint targets, one alike": (
        pl.DataFrame({"k": [1] * 20, "l": ["s"] * 10 + ["t"] * 10}),
        {(): -0.5, ("a",): 0.0},
    ),
    "label sets": (MARKS, {(): -0.5, ("a",): 0.0}),
    "indicator": ([[1, 1, 0]] * 10 + [[0, 0, 1]] * 10, {(): -0.5, ("a",): 0.0}),
    "sparse indicator": (
        sp.csr_array([[1, 1, 0]] * 10 + [[0, 0, 1]] * 10),
        {(): -0.5, ("a",): 0.0},
    ),
}


@pytest.mark.parametrize(("y", "expected"), TWO.values(), ids=TWO.keys())
def test_rewards_compare_distributions(y: Any, expected: Values) -> None:
    model = learnt(TOLD, y, **CLASSICAL)
    assert_values(model, expected)
    assert model.policy_ == ([["a"], []] if expected[()] else [[]])


def test_items_without_labels_count_for_nothing() -> None:
    table = [[1, 1, 0]] * 10 + [[0, 0, 1]] * 10
    X = pl.DataFrame({"a": ["x"] * 10 + ["y"] * 10 + ["x"] * 15 + ["z"] * 15})
    model = learnt(X, table + [[0, 0, 0]] * 30, **CLASSICAL)
    assert_values(model, {(): -0.5, ("a",): 0.0})


def test_a_dimension_a_target() -> None:
    pairs = [(k, m) for k in "pq" for m in "st" for _ in range(10)]
    X = pl.DataFrame(pairs, schema=["k", "m"], orient="row")
    model = learnt(X, np.array(pairs))
    assert_allclose(values(model)[()], -0.75)
    assert {state: value for state, value in values(model).items() if len(state) == 2} in (
        {("k", "m"): 0.0},
        {("m", "k"): 0.0},
    )
    assert model.policy_[0] == ["k", "m"]
    assert model.predict(X).tolist() == [list(pair) for pair in pairs]


def test_named_targets_are_no_dimension() -> None:
    data = AB.with_columns(kind=pl.Series(Y))
    model = paper_model(dimensions="each", policy="learn", targets="kind", **PLAIN)
    assert_frame_equal(model.fit(data).policy_values_, learnt(AB, Y).policy_values_)


# ---------------------------------------------------------------- the walk, on any data


AGENTS = {
    "norm": {},
    "norm 2": {"order": 2.0},
    "log": {"loss": "log"},
    "log, high floor": {"loss": "log", "floor": 0.01},
}
any_agent = pytest.mark.parametrize("options", AGENTS.values(), ids=AGENTS.keys())


@any_agent
@pytest.mark.parametrize("hyper", HYPERS)
@pytest.mark.parametrize("seed", range(3))
def test_each_step_takes_the_best_and_stops_when_none_is_better(
    options: dict[str, Any], hyper: dict[str, float], seed: int
) -> None:
    model = learnt(*noisy(seed), PolicyAgent(**options, iterations=3), **hyper)
    chain = walk(model)
    assert sets(model.policy_) == sets(reversed(chain))
    visited = [()]
    for state in chain:  # all that could be added was tried, of the last state too
        tried = children(values(model), state)
        assert {child[-1] for child in tried} == {*"abcde"} - {*state}
        visited += tried
    assert sorted(visited) == sorted(values(model))
    assert model.policy_values_.height == len(visited)


@any_agent
@pytest.mark.parametrize("seed", range(3))
def test_values_are_within_bounds(options: dict[str, Any], seed: int) -> None:
    model = learnt(*noisy(seed), PolicyAgent(**options, iterations=3))
    lowest = math.log(options.get("floor", 1e-9)) if options.get("loss") else -1.0
    found = np.array(list(values(model).values()))
    assert ((found >= lowest) & (found <= 0)).all()
    assert len(set(found)) > 4  # else the bounds say little


@pytest.mark.parametrize("seed", range(3))
def test_values_rise_along_the_policy(seed: int) -> None:
    model = learnt(*noisy(seed), PolicyAgent(**LOG))
    by_set = {frozenset(state): value for state, value in values(model).items()}
    chain = [by_set[frozenset(names)] for names in reversed(model.policy_)]
    assert len(chain) > 1
    assert all(later > earlier for earlier, later in pairwise(chain))


# ---------------------------------------------------------------- noise


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 120)
    told = np.where(rng.random(120) < 0.8, y, rng.integers(0, 3, 120))
    noise = rng.integers(0, 4, (120, 3))
    X = np.column_stack([noise[:, 0], told, noise[:, 1:]])
    model = learnt(X, y, PolicyAgent(loss="log", floor=0.01))
    assert model.policy_ == [["x1"], []]


@pytest.mark.parametrize("seed", range(5))
def test_what_tells_all_is_enough(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    X = np.column_stack([rng.integers(0, 4, (60, 2)), y])
    model = learnt(X, y, PolicyAgent(random_state=seed))
    assert model.policy_ == [["x2"], []]
    assert values(model)["x2",] == 0
