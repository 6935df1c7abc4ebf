"""Tensors with too many tuples are refused before they take memory."""

import re
import time
import tracemalloc
from typing import Any

import pytest
from sklearn.exceptions import NotFittedError

from stc.exceptions import DataError
from support.strategies import Record
from support.tensor_cases import CLASSICAL, build, refusal, snapshot


def many(items: int, *sizes: int) -> list[Record]:
    """Items with so many values in each attribute."""
    return [
        {f"d{k}": [f"v{j}" for j in range(size)] for k, size in enumerate(sizes)}
        for _ in range(items)
    ]


def digits(said: str) -> str:
    """The message, its numbers without separators."""
    return re.sub(r"(?<=\d)[,_ '](?=\d{3})", "", said)


SMALL = many(3, 2, 3)


@pytest.mark.parametrize("act", ["fit", "partial_fit"])
def test_as_many_tuples_as_allowed_are_learnt(act: str) -> None:
    model = build(dimensions="each", max_entries=18)
    getattr(model, act)(SMALL, [*"ABA"])
    assert len(model.corpus_) == 12


@pytest.mark.parametrize("act", ["fit", "partial_fit", "unlearn"])
@pytest.mark.parametrize("policy", [None, [["d0"], ["d1", "d0"]]])
def test_one_tuple_too_many_is_refused_and_nothing_changes(act: str, policy: Any) -> None:
    model = build(dimensions="each", policy=policy).fit(SMALL, [*"ABA"])
    before = snapshot(model, SMALL)
    model.set_params(max_entries=17)
    with pytest.raises(
        ValueError, match=r"would have 18 tuples for 3 items, more than max_entries=17"
    ):
        getattr(model, act)(SMALL, [*"ABA"])
    assert snapshot(model, SMALL) == before


def test_each_set_of_the_policy_counts_for_itself() -> None:
    X = many(3, 2, 3, 4)
    model = build(dimensions="each", policy=[["d0", "d1"], ["d1", "d2"], ["d2"]], max_entries=36)
    assert len(model.fit(X, [*"ABA"]).corpus_) == 2 * (6 + 12 + 4)
    with pytest.raises(ValueError, match=r"'d1', 'd2' would have 36 tuples for 3 items"):
        model.set_params(max_entries=35).fit(X, [*"ABA"])


def test_one_dimension_is_no_product() -> None:
    model = build(CLASSICAL, dimensions="each", policy=[["d0"], ["d1"]], max_entries=1)
    assert len(model.fit(SMALL, [*"ABA"]).corpus_) == 10
    assert model.policy_used(SMALL).tolist() == [("d0",)] * 3


def test_in_prediction_the_limit_is_of_one_item() -> None:
    model = build(dimensions="each").fit(SMALL, [*"ABA"])
    expected = model.predict_proba(SMALL).tolist()
    assert model.set_params(max_entries=6).predict_proba(SMALL).tolist() == expected
    model.set_params(max_entries=5)
    for ask in (model.predict, model.predict_proba, model.policy_used, model.explain_local):
        with pytest.raises(DataError, match=r"6 tuples .* more than max_entries=5$") as caught:
            ask(SMALL)
        assert caught.value.item == 0
    assert model.predict_proba(many(1, 1, 3)).shape == (1, 2)


def test_a_set_that_an_item_does_not_come_to_needs_no_tuples() -> None:
    model = build(CLASSICAL, dimensions="each", policy=[["d0"], ["d0", "d1"]])
    model.fit(SMALL, [*"ABA"]).set_params(max_entries=5)
    assert model.policy_used(SMALL).tolist() == [("d0",)] * 3
    assert model.predict_proba(SMALL).shape == (3, 2)
    assert model.coverage(SMALL).tolist() == [1, 1, 1]
    asked = [SMALL[0], {"d1": "v0"}, {**SMALL[0], "d0": ["no", "never"]}]
    for ask in (model.predict, model.explain_local, model.coverage):
        with pytest.raises(DataError, match=r"^item 2: 6 tuples") as caught:
            ask(asked)
        assert caught.value.item == 2


@pytest.mark.parametrize(("sizes", "count"), [([30] * 12, 30**12), ([30] * 20, 30**20)])
def test_a_product_beyond_all_bounds_is_refused_at_once(sizes: list[int], count: int) -> None:
    X = many(1, *sizes)
    model = build(dimensions="each")
    start = time.perf_counter()
    said = digits(refusal(model.fit, X, ["A"]))
    assert time.perf_counter() - start < 5
    assert max(map(float, re.findall(r"\d+", said))) == pytest.approx(count, rel=1e-9)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_memory_is_not_spent_before_refusing() -> None:
    X = many(40, 100, 100, 100)
    model = build(dimensions="each", policy=[["d0"], ["d0", "d1", "d2"]])
    tracemalloc.start()
    try:
        said = refusal(model.fit, X, ["A", "B"] * 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "40000000" in digits(said)
    assert peak < 30e6


def test_a_prediction_of_many_tuples_a_item_is_refused_without_memory() -> None:
    X = many(1, 300, 300, 300)
    model = build(dimensions="each").fit(many(1, 2, 2, 2), ["A"])
    model.partial_fit([{f"d{k}": f"v{j}" for k in range(3)} for j in range(300)], ["B"] * 300)
    assert "27000000" in digits(refusal(model.predict, X))


def test_a_set_too_large_is_passed_by_if_the_policy_lacks_it() -> None:
    X = many(2, 50, 50, 50)
    options = {"policy": [["d1"], ["d0", "d2"]], "max_entries": 5_000}
    model = build(dimensions="each", **options).fit(X, ["A", "B"])
    assert len(model.corpus_) == 2 * (50 + 2_500)
