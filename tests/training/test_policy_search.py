"""The agent that learns a policy: the values of its states, the way it walks, what it leaves."""

import io
import math
import pickle
import sys
import time
from collections.abc import Iterable, Sequence
from itertools import count, pairwise
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from stc import PolicyAgent, SparseTensorClassifier

State: TypeAlias = tuple[str, ...]
Values: TypeAlias = dict[State, float | None]

# One tuple an item is then scored by the plain frequencies within each class.
PLAIN = {"power": 1.0, "balance": 1.0, "entropy": 0.0}
CLASSICAL = {"power": 1.0, "balance": 0.0, "entropy": 0.0}


def learnt(
    X: Any, y: Any, agent: Any = "learn", sample_weight: Any = None, **params: Any
) -> SparseTensorClassifier:
    """A model of one dimension an attribute whose policy was learnt."""
    model = SparseTensorClassifier(**{"dimensions": "each", "policy": agent, **PLAIN, **params})
    return model.fit(X, y, sample_weight=sample_weight)


def values(model: SparseTensorClassifier) -> Values:
    """The value of each state."""
    table = model.policy_values_
    return dict(zip(map(tuple, table["state"].to_list()), table["value"].to_list(), strict=True))


def assert_values(model: SparseTensorClassifier, expected: Values) -> None:
    """Exactly these states were visited, with these values."""
    found = values(model)
    assert found.keys() == expected.keys()
    assert_allclose([found[state] for state in expected], list(expected.values()), atol=1e-12)


# Splits are random, so the values are known beforehand only where every split is the same:
# here all items of a class look alike, and its share in validation is a whole number.
# "a" tells r from the others, "b" tells p from q but nothing of r, "c" tells nothing at all.
Y = ["p"] * 10 + ["q"] * 10 + ["r"] * 40
STEPS = pl.DataFrame(
    {"a": ["x"] * 20 + ["y"] * 40, "b": ["p"] * 10 + ["q"] * 10 + [None] * 40, "c": ["z"] * 60}
)
AB = STEPS.select("a", "b")
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
    model = SparseTensorClassifier(dimensions="each", policy="learn", targets="kind", **PLAIN)
    assert_frame_equal(model.fit(data).policy_values_, learnt(AB, Y).policy_values_)


# ---------------------------------------------------------------- the walk, on any data


def noisy(seed: int, n: int = 60) -> tuple[list[dict[str, Any]], list[str]]:
    """Records of five attributes that tell more or less of the class; some values are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q", "r"], n, p=[0.5, 0.3, 0.2])
    records = []
    for label in y:
        record: dict[str, Any] = {
            name: label if rng.random() < told else str(rng.choice(["p", "q", "r"]))
            for name, told in (("a", 0.7), ("b", 0.6), ("c", 0.4), ("d", 0.0))
        }
        record["e"] = [str(v) for v in rng.choice([label, "q", "v", "w"], rng.integers(0, 3))]
        if rng.random() < 0.2:
            record[str(rng.choice(list("abcd")))] = None
        records.append(record)
    return records, y.tolist()


def better(value: float | None, than: float | None) -> bool:
    return value is not None and (than is None or value > than)


def children(found: Iterable[State], state: State) -> list[State]:
    return [child for child in found if len(child) == len(state) + 1 and child[:-1] == state]


def walk(model: SparseTensorClassifier, start: State = ()) -> list[State]:
    """The states from the start on, each the best of those tried, until none is better."""
    found = values(model)
    chain = [start]
    while tried := children(found, chain[-1]):
        best = max(tried, key=lambda child: -math.inf if found[child] is None else found[child])
        if not better(found[best], found[chain[-1]]):
            break
        chain.append(best)
    return chain


def sets(chain: Iterable[Iterable[str]]) -> list[set[str]]:
    return [set(state) for state in chain]


HYPERS = [PLAIN, CLASSICAL, {"power": 0.5, "balance": 1.0, "entropy": 1.0}]
AGENTS = {
    "norm": {},
    "norm 2": {"order": 2.0},
    "log": {"loss": "log"},
    "log, high floor": {"loss": "log", "floor": 0.01},
}
LOG = {"loss": "log", "floor": 0.05}
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


# ---------------------------------------------------------------- prior knowledge


def test_priorities_are_tried_first() -> None:
    model = learnt(AB, Y, PolicyAgent(priorities=["b"]))
    assert set(values(model)) == {(), ("b",), ("b", "a")}
    assert model.policy_ == [["b"], []]


@pytest.mark.parametrize("seed", range(3))
def test_all_priorities_come_before_the_others(seed: int) -> None:
    model = learnt(*noisy(seed), PolicyAgent(priorities=["b", "a"], **LOG))
    found = values(model)
    assert {child[-1] for child in children(found, ())} == {"a", "b"}
    first = walk(model)[1]
    other = "b" if first == ("a",) else "a"
    left = {other} if better(found[*first, other], found[first]) else {*"abcde"} - {*first}
    assert {child[-1] for child in children(found, first)} == left


def test_where_no_priority_is_better_the_others_are_tried() -> None:
    model = learnt(STEPS, Y, PolicyAgent(priorities=["c"]))
    found = values(model)
    assert list(found)[:2] == [(), ("c",)]
    assert found["c",] == pytest.approx(-2 / 3)
    assert {child[0] for child in children(found, ())} == {*"abc"}
    assert model.policy_ == [["a", "b"], ["a"], []]


XOR = pl.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10})
XOR_Y = ["even", "odd", "odd", "even"] * 10


@pytest.mark.parametrize("start", [[["a"], []], [["a"]]])
def test_a_start_is_where_the_walk_begins(start: list[list[str]]) -> None:
    model = learnt(XOR, XOR_Y, PolicyAgent(start=start), **CLASSICAL)
    found = values(model)
    assert found["a", "b"] == 0
    assert found["a",] < 0
    assert ("b",) not in found
    assert model.policy_ == [["a", "b"], ["a"], []]


def test_a_start_that_has_all_is_kept() -> None:
    start = [["b", "a"], ["b"], []]
    model = learnt(XOR, XOR_Y, PolicyAgent(start=start), **CLASSICAL)
    assert model.policy_ == [["a", "b"], ["b"], []]
    assert {frozenset(state) for state in values(model)} >= {frozenset("ab")}


def test_the_start_answers_for_what_the_new_set_cannot_score() -> None:
    model = learnt(AB, Y, PolicyAgent(start=[["b"], ["a"], []]))
    assert model.policy_[-3:] == [["b"], ["a"], []]
    by_set = {frozenset(state): value for state, value in values(model).items()}
    assert by_set[frozenset("b")] == pytest.approx(0.0, abs=1e-12)  # r by "a", the others by "b"


def test_an_empty_start_is_the_default() -> None:
    X, y = noisy(1)
    model = learnt(X, y, PolicyAgent(start=[[]]))
    assert_frame_equal(model.policy_values_, learnt(X, y).policy_values_)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("most", [1, 2, 3])
def test_max_dimensions(most: int) -> None:
    X, y = noisy(0)
    free = learnt(X, y, PolicyAgent(**LOG), entropy=1.0)
    model = learnt(X, y, PolicyAgent(**LOG, max_dimensions=most), entropy=1.0)
    assert model.policy_ == free.policy_[-most - 1 :]
    assert max(map(len, values(model))) == min(most, max(map(len, values(free))))


def test_max_dimensions_binds() -> None:
    model = learnt(AB, Y, PolicyAgent(max_dimensions=1))
    assert model.policy_ == [["a"], []]
    assert set(values(model)) == {(), ("a",), ("b",)}


@pytest.mark.parametrize("most", [1, 2, 4, 50])
@pytest.mark.parametrize("seed", range(3))
def test_max_candidates(most: int, seed: int) -> None:
    agent = PolicyAgent(**LOG, max_candidates=most, random_state=seed, iterations=2)
    model = learnt(*noisy(0), agent)
    for state in walk(model):
        assert len(children(values(model), state)) == min(most, 5 - len(state))
    assert sets(model.policy_) == sets(reversed(walk(model)))


def test_candidates_are_drawn_at_random() -> None:
    X, y = noisy(0)
    agents = [PolicyAgent(max_candidates=1, random_state=k, iterations=1) for k in range(20)]
    first = {tuple(children(values(learnt(X, y, agent)), ())) for agent in agents}
    assert len(first) > 2


@pytest.mark.parametrize("seed", range(6))
def test_priorities_are_not_crowded_out(seed: int) -> None:
    agent = PolicyAgent(priorities=["b"], max_candidates=1, random_state=seed)
    model = learnt(STEPS, Y, agent)
    assert children(values(model), ()) == [("b",)]
    assert ["b"] in model.policy_


def test_hardly_any_time() -> None:
    X, y = noisy(0)
    free = learnt(X, y, PolicyAgent(**LOG))
    model = learnt(X, y, PolicyAgent(**LOG, time_limit=1e-9))
    assert model.policy_[-1] == []
    assert model.policy_values_.height < free.policy_values_.height
    assert {frozenset(names) for names in model.policy_} <= {*map(frozenset, values(model))}
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_time_enough() -> None:
    X, y = noisy(0)
    model = learnt(X, y, PolicyAgent(time_limit=1000))
    assert_frame_equal(model.policy_values_, learnt(X, y).policy_values_)


# 40 items with 10 values in each of two dimensions: 400 entries for one, 4000 for both; of those
# 2800 in the part that the agent learns from.
@pytest.mark.parametrize(
    ("most", "too_large"),
    [
        (4000, set()),
        (3999, {("a", "b")}),
        (2000, {("a", "b")}),
        (400, {("a", "b")}),
    ],
)
def test_sets_that_are_too_large_are_passed_by(most: int, too_large: set[State]) -> None:
    y = ["p"] * 10 + ["q"] * 10 + ["r"] * 20
    several = [[f"{label}{v}" for v in range(10)] for label in y]
    coarse = [[v.replace("q", "p") for v in cell] for cell in several]
    start = [["a"], []]
    X = pl.DataFrame({"a": coarse, "b": several})
    model = learnt(X, y, PolicyAgent(start=start), max_tuples=most)
    assert {state for state, value in values(model).items() if value is None} == too_large
    assert model.policy_ == (start if too_large else [["a", "b"], *start])


def test_only_visited_sets_are_built() -> None:
    y = ["p", "q"] * 30
    cells = [[label, *"stuvwxz"] for label in y]  # of all nine dimensions: 8**9 tuples an item
    X = pl.DataFrame({f"f{d}": cells for d in range(9)})
    model = learnt(X, y, PolicyAgent(iterations=2), entropy=1.0)
    assert len(model.policy_) == 2
    assert max(map(len, values(model))) <= 2
    assert model.corpus_["dimensions"].unique().to_list() == model.policy_[:1]


# ---------------------------------------------------------------- few items

FEW: dict[str, list[str]] = {
    "two of two classes": list("pq"),
    "two of one class": list("pp"),
    "three": list("ppq"),
    "one of a class": [*"pq" * 10, "s"],
    "two of a class": [*"pq" * 10, "s", "s"],
    "many classes of one": list("abcdefghij"),
    "many classes of two": list("abcdefghij") * 2,
    "one class only": ["p"] * 12,
}


@pytest.mark.parametrize("y", FEW.values(), ids=FEW.keys())
@pytest.mark.parametrize("validation", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("loss", ["norm", "log"])
def test_classes_with_few_items(y: list[str], validation: float, loss: str) -> None:
    X = pl.DataFrame({"a": y, "b": [str(n % 3) for n in range(len(y))]})
    model = learnt(X, y, PolicyAgent(validation=validation, loss=loss, iterations=3))
    assert model.policy_[-1] == []
    assert sets(model.policy_) == sets(reversed(walk(model)))
    found = np.array(list(values(model).values()))
    assert (found <= 0).all()
    assert (found >= (-1 if loss == "norm" else math.log(1e-9))).all()
    assert model.policy_values_["items"].min() >= 3
    assert model.classes_.tolist() == sorted(set(y))


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_one_item_is_too_few(method: str) -> None:
    model = SparseTensorClassifier(dimensions="each", policy="learn")
    with pytest.raises(ValueError, match=r"\b(1|one)\b"):
        getattr(model, method)([{"a": "x"}], ["p"])
    assert not hasattr(model, "classes_")


# ---------------------------------------------------------------- chance


def test_the_same_seed_gives_the_same_table() -> None:
    X, y = noisy(0)
    first, second = (learnt(X, y, PolicyAgent(random_state=7)) for _ in range(2))
    assert first.policy_values_.equals(second.policy_values_)
    again = first.policy_values_
    assert again.equals(first.fit(X, y).policy_values_)


def test_another_seed_gives_another_table() -> None:
    X, y = noisy(0)
    tables = [learnt(X, y, PolicyAgent(random_state=k)).policy_values_ for k in (0, 1)]
    assert not tables[0]["value"].equals(tables[1]["value"])


def test_iterations_are_fresh_splits() -> None:
    X, y = noisy(0)
    once, twice = (learnt(X, y, PolicyAgent(iterations=k)).policy_values_ for k in (1, 2))
    assert once["value"][0] != twice["value"][0] or once["value"][1] != twice["value"][1]


def test_the_generator_of_numpy_is_left_alone() -> None:
    before = np.random.get_state()
    learnt(*noisy(0), PolicyAgent(max_candidates=2))
    after = np.random.get_state()
    assert before[2:] == after[2:]
    assert (before[1] == after[1]).all()


# ---------------------------------------------------------------- in the company of scikit-learn

DEFAULTS = {
    "loss": "norm",
    "order": 1.0,
    "floor": 1e-9,
    "iterations": 10,
    "validation": 0.3,
    "priorities": None,
    "start": None,
    "max_dimensions": None,
    "max_candidates": None,
    "time_limit": None,
    "random_state": 0,
    "progress": None,
}


def test_the_options() -> None:
    assert PolicyAgent().get_params() == DEFAULTS
    assert repr(PolicyAgent(iterations=3)) == "PolicyAgent(iterations=3)"


def test_learn_is_the_default_agent() -> None:
    X, y = noisy(2)
    assert_frame_equal(
        learnt(X, y, "learn").policy_values_, learnt(X, y, PolicyAgent()).policy_values_
    )


def test_options_are_set_through_the_model() -> None:
    model = SparseTensorClassifier(dimensions="each", policy=PolicyAgent())
    assert model.get_params()["policy__iterations"] == 10
    model.set_params(policy__iterations=3, policy__max_dimensions=1)
    model.fit(*noisy(0))
    assert set(model.policy_values_["iterations"]) == {3}
    assert max(map(len, values(model))) == 1


def test_clone_takes_the_options_and_not_the_agent() -> None:
    agent = PolicyAgent(iterations=2, priorities=["a"])
    model = learnt(*noisy(0), agent)
    twin = clone(model)
    assert twin.policy is not agent
    assert twin.policy.get_params() == agent.get_params()
    assert not hasattr(twin, "policy_values_")
    assert_frame_equal(twin.fit(*noisy(0)).policy_values_, model.policy_values_)
    assert vars(agent).keys() == DEFAULTS.keys()


def test_grid_search_over_the_agent() -> None:
    X, y = noisy(0)
    model = SparseTensorClassifier(dimensions="each", policy=PolicyAgent(iterations=2), **PLAIN)
    grid = {"policy__max_dimensions": [1, 3], "policy__loss": ["norm", "log"]}
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(pl.DataFrame(X), y)
    assert len(search.cv_results_["params"]) == 4
    best = clone(model).set_params(**search.best_params_).fit(pl.DataFrame(X), y)
    assert search.best_estimator_.policy_ == best.policy_


def test_pickles() -> None:
    X, y = noisy(0)
    model = learnt(X, y, PolicyAgent(iterations=2))
    twin = pickle.loads(pickle.dumps(model))
    assert twin.policy_values_.equals(model.policy_values_)
    assert twin.policy_ == model.policy_
    assert (twin.predict_proba(X) == model.predict_proba(X)).all()


BAD_OPTIONS = [
    *(("loss", value) for value in ("square", None, 1)),
    *(("order", value) for value in (0, -1.0, "one", None)),
    *(("floor", value) for value in (-1e-9, "low")),
    *(("iterations", value) for value in (0, -1, 1.5, "many", None)),
    *(("validation", value) for value in (0.0, 1.0, -0.1, 1.5, "half", None)),
    *(("max_dimensions", value) for value in (-1, 1.5, "all")),
    *(("max_candidates", value) for value in (0, -1, 1.5, "all")),
    *(("time_limit", value) for value in (-1.0, "short")),
    *(("random_state", value) for value in ("luck", -1)),
    *(("priorities", value) for value in (3, 1.5)),
    *(("start", value) for value in (3, 1.5)),
    *(("progress", value) for value in ("often", 3.5)),
]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("name", "value"), BAD_OPTIONS)
def test_bad_options(name: str, value: Any, method: str) -> None:
    model = SparseTensorClassifier(dimensions="each", policy=PolicyAgent(**{name: value}))
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of PolicyAgent"):
        getattr(model, method)(*noisy(0))
    assert not hasattr(model, "classes_")


BAD_NAMES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown priority": ({"priorities": ["a", "tail"]}, "tail"),
    "unknown start": ({"start": [["a", "tail"], []]}, "tail"),
    "twice in a set": ({"start": [["a", "a"], []]}, "a"),
    "a set twice": ({"start": [["a"], ["a"], []]}, "a"),
    "the empty set first": ({"start": [[], ["a"]]}, r"\[\]"),
}


@pytest.mark.parametrize(("options", "word"), BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_names_that_are_no_dimensions(options: dict[str, Any], word: str) -> None:
    X, y = noisy(0)
    model = learnt(X, y)
    before = model.policy_values_, model.corpus_
    model.set_params(policy=PolicyAgent(**options))
    with pytest.raises(ValueError, match=word):
        model.fit(X, y)
    model.set_params(policy="learn")
    assert before[0].equals(model.policy_values_)
    assert before[1].equals(model.corpus_)


def test_an_unknown_name_brings_the_known_ones() -> None:
    with pytest.raises(ValueError, match="tail") as caught:
        learnt(AB.rename({"a": "legs", "b": "hair"}), Y, PolicyAgent(priorities=["tail"]))
    assert "legs" in str(caught.value)
    assert "hair" in str(caught.value)


# ---------------------------------------------------------------- what stays


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier, X: Any) -> None:
    """Both know and say the same, to 1e-12."""
    assert one.policy_ == other.policy_
    keys = ["dimensions", "attribute", "value", "class"]
    assert_frame_equal(
        one.corpus_.sort(keys), other.corpus_.sort(keys), rel_tol=1e-12, abs_tol=1e-12
    )
    assert_allclose(one.class_mass_, other.class_mass_, rtol=1e-12)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


def by_hand(model: SparseTensorClassifier) -> SparseTensorClassifier:
    """An empty model with the learnt policy, given."""
    return clone(model).set_params(policy=model.policy_)


@pytest.mark.parametrize("hyper", HYPERS)
def test_a_learnt_policy_is_as_good_as_one_given(hyper: dict[str, float]) -> None:
    X, y = noisy(0)
    model = learnt(X, y, PolicyAgent(**LOG), **hyper)
    assert len(model.policy_) > 2
    assert_same(model, by_hand(model).fit(X, y), X)


def test_the_first_batch_decides() -> None:
    X, y = noisy(0, 120)
    model = SparseTensorClassifier(dimensions="each", policy=PolicyAgent(**LOG), **PLAIN)
    model.partial_fit(X[:60], y[:60])
    table = model.policy_values_
    assert_frame_equal(table, learnt(X[:60], y[:60], PolicyAgent(**LOG)).policy_values_)
    model.partial_fit(X[60:], y[60:])
    assert table.equals(model.policy_values_)
    assert_same(model, by_hand(model).fit(X, y), X)
    model.unlearn(X[:60], y[:60])
    assert table.equals(model.policy_values_)
    assert_same(model, by_hand(model).fit(X[60:], y[60:]), X)


def test_fitting_again_learns_another_policy() -> None:
    model = learnt(AB, Y)
    model.fit(XOR, XOR_Y)
    assert_frame_equal(model.policy_values_, learnt(XOR, XOR_Y).policy_values_)


def test_classes_declared_and_never_shown() -> None:
    model = SparseTensorClassifier(dimensions="each", policy="learn", **PLAIN)
    model.partial_fit(AB, Y, classes=["p", "q", "r", "never"])
    assert model.policy_ == [["a", "b"], ["a"], []]
    assert values(model)[()] == pytest.approx(-0.5)
    assert model.classes_.tolist() == ["never", "p", "q", "r"]


def test_a_learnt_policy_may_be_replaced_by_a_part_of_it() -> None:
    model = learnt(AB, Y)
    model.set_params(policy=[["a"], []])
    assert model.policy_ == [["a"], []]
    assert set(model.policy_used(AB)) == {("a",)}
    with pytest.raises(ValueError, match="b"):
        model.set_params(policy=[["b"], []]).predict(AB)


def test_merging_learnt_policies() -> None:
    X, y = noisy(0, 120)
    model = learnt(X[:60], y[:60], PolicyAgent(**LOG))
    assert len(model.policy_) > 1
    other = by_hand(model).fit(X[60:], y[60:])
    whole = by_hand(model).fit(X, y)
    table = model.policy_values_
    assert_same(model + other, whole, X)
    assert_same(model.merge(other), whole, X)
    assert table.equals(model.policy_values_)


def test_a_model_that_lacks_our_sets_is_not_merged() -> None:
    model = learnt(AB, Y)
    before = model.corpus_
    other = learnt(AB, Y, [["a"], []])
    with pytest.raises(ValueError, match="b"):
        model.merge(other)
    assert model.corpus_.equals(before)
    assert other.merge(model) is other  # the other way round there is all that is needed
    assert other.class_mass_.tolist() == [20, 20, 80]


@pytest.mark.parametrize("policy", [None, [["a"], []]])
def test_no_values_without_an_agent(policy: Any) -> None:
    model = SparseTensorClassifier(dimensions="each", policy=policy)
    assert not hasattr(model, "policy_values_")
    model.fit(AB, Y)
    with pytest.raises(AttributeError):
        model.policy_values_  # noqa: B018


ONE: dict[str, Any] = {
    "documents": ["red big", "blue big"] * 10,
    "counts": sp.csr_array([[1, 0, 2], [0, 1, 2]] * 10),
    "array": [["red", "big"], ["blue", "big"]] * 10,
    "records": [{"color": "red"}, {"color": "blue"}] * 10,
}


@pytest.mark.parametrize("X", ONE.values(), ids=ONE.keys())
def test_a_single_dimension(X: Any) -> None:
    model = learnt(X, ["p", "q"] * 10, dimensions=None, entropy=1.0)
    assert set(values(model)) == {(), ("all",)}
    assert model.policy_ == [["all"], []]
    assert set(model.policy_used(X)) == {("all",)}


def test_groups_are_dimensions() -> None:
    data = STEPS.select("c", "a", "b")
    model = learnt(data, Y, dimensions={"first": ["a", "c"], "second": "b"}, entropy=1.0)
    assert {name for state in values(model) for name in state} == {"first", "second"}
    assert model.policy_ == [["first", "second"], ["first"], []]


# ---------------------------------------------------------------- what is printed


class Terminal(io.StringIO):
    """What a terminal would show."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_printed_in_a_pipe(progress: Any, capfd: pytest.CaptureFixture[str]) -> None:
    learnt(*noisy(0), PolicyAgent(progress=progress))
    assert capfd.readouterr() == ("", "")


def test_progress_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    learnt(*noisy(0), PolicyAgent(progress=True))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.strip()


@pytest.mark.parametrize(("progress", "shown"), [(None, True), (True, True), (False, False)])
def test_progress_in_a_terminal(
    progress: Any, shown: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    terminal, clock = Terminal(), count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))  # it all takes long
    monkeypatch.setattr(sys, "stderr", terminal)
    learnt(*noisy(0), PolicyAgent(progress=progress))
    assert bool(terminal.getvalue()) == shown
    assert capfd.readouterr().out == ""
