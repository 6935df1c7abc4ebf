"""The agent with prior knowledge, limits, few items, and chance."""

import math

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

from stc import PolicyAgent
from support.agent_cases import (
    AB,
    CLASSICAL,
    LOG,
    STEPS,
    XOR,
    XOR_Y,
    State,
    Y,
    better,
    children,
    learnt,
    noisy,
    sets,
    values,
    walk,
)
from support.models import paper_model

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
    model = learnt(X, y, PolicyAgent(start=start), max_entries=most)
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
    model = paper_model(dimensions="each", policy="learn")
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
