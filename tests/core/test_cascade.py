"""Policies: which set of dimensions answers for an item."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from support.tensor_cases import (
    ASKED_RECORDS,
    MODEST,
    TABLE_RECORDS,
    TABLE_Y,
    Case,
    assert_predicts,
    build,
    cases,
    snapshot,
)


def test_policy_defaults_to_everything_then_nothing() -> None:
    model = build(dimensions="each").fit(TABLE_RECORDS, TABLE_Y)
    assert model.policy_ == [["a", "b", "c"], []]
    assert model.policy_used(ASKED_RECORDS).tolist() == [("a", "b", "c"), (), ()]


@pytest.mark.parametrize("closed", [False, True])
def test_the_closing_set_is_added_if_absent(closed: bool) -> None:
    policy = [["a", "c"], ["c"], *([[]] if closed else [])]
    model = build(dimensions="each", policy=policy).fit(TABLE_RECORDS, TABLE_Y)
    assert model.policy_ == [["a", "c"], ["c"], []]
    assert model.get_params()["policy"] is policy
    assert len(policy) == 2 + closed


@pytest.mark.parametrize("policy", [[], [[]]])
def test_a_policy_of_nothing_gives_the_class_frequencies(policy: list[Any]) -> None:
    model = build(dimensions="each", policy=policy).fit(TABLE_RECORDS, [*"AABBCA"])
    assert model.policy_ == [[]]
    expected = [[1 / 2, 1 / 3, 1 / 6]] * 3
    np.testing.assert_allclose(model.predict_proba(ASKED_RECORDS), expected, atol=1e-12)
    assert model.policy_used(ASKED_RECORDS).tolist() == [(), (), ()]
    assert model.coverage(ASKED_RECORDS).tolist() == [0, 0, 0]
    assert model.corpus_.is_empty()


def test_only_items_without_any_score_go_on() -> None:
    X = [{"a": "u", "b": "u"}, {"a": "u", "b": "u"}, {"a": "v", "b": "w"}, {"a": "v", "b": "w"}]
    model = build(dimensions="each", policy=[["a", "b"], ["b"], ["a"]]).fit(X, [*"ABBB"])
    asked = [{"a": "v", "b": "w"}, {"a": "v", "b": "u"}, {"a": "v", "b": "new"}, {"a": "v"}, {}]
    used = [("a", "b"), ("b",), ("a",), ("a",), ()]
    assert model.policy_used(asked).tolist() == used


def test_a_set_that_knows_but_says_nothing_does_not_answer() -> None:
    X = [{"a": "u", "b": "u"}] * 2
    model = build(dimensions="each", policy=[["a", "b"], ["a"]]).fit(X, ["A", "B"])
    assert model.policy_used(X).tolist() == [(), ()]
    assert model.coverage(X).tolist() == [1, 1]


def test_rounding_is_no_information() -> None:
    # Every class has half of its mass in each tuple, but seven times 0.3 by adding is not 2.1.
    tuples = [{"a": "u", "b": "x"}] * 7 + [{"a": "v", "b": "y"}]
    weights = [0.3 * k * share for k in range(1, 8) for share in (*[1] * 7, 7)]
    y = [label for label in "ABCDEFG" for _ in tuples]
    model = build(dimensions="each").fit(tuples * 7, y, sample_weight=weights)
    assert model.policy_used(tuples).tolist() == [()] * 8
    assert model.set_params(entropy=0).policy_used(tuples[:1]).tolist() == [("a", "b")]


def test_coverage_is_of_the_first_set_that_knows_any() -> None:
    X = [{"a": ["u", "v"], "b": "x"}, {"a": "w", "b": "y"}]
    model = build(dimensions="each", policy=[["a", "b"], ["b"]]).fit(X, [*"AB"])
    asked = [
        {"a": ["u", "v", "w", "no"], "b": ["x", "y", "no", "no"]},  # ux, vx, wy of 16
        {"a": "no", "b": ["x", "no"]},
        {"a": "no", "b": "no"},
        {"b": "y"},
        {"a": "u"},
    ]
    assert model.coverage(asked) == pytest.approx([3 / 16, 0.5, 0, 1, 0], abs=1e-15)


def test_names_in_a_set_follow_the_dimensions() -> None:
    model = build(dimensions=["c", "a", "b"], policy=[["b", "a", "c"], ["a", "c"]])
    model.fit(TABLE_RECORDS, TABLE_Y)
    used = model.policy_used([TABLE_RECORDS[0], {"a": "u", "c": "1"}]).tolist()
    assert used == [("c", "a", "b"), ("c", "a")]


def test_policy_used_needs_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        build(dimensions="each").policy_used(TABLE_RECORDS)


@MODEST
@given(cases(smallest=0.25, one_target=True), st.data())
def test_a_policy_set_after_fitting_acts_at_once_and_is_kept_up_to_date(
    case: Case, draws: st.DataObject
) -> None:
    sets = [list(case.layout.named(S)) for S in case.chain]
    chosen = draws.draw(st.permutations(sets))[: draws.draw(st.integers(0, len(sets)))]
    data, half = case.data, len(case.data) // 2
    first, second = data.take(range(half)), data.take(range(half, len(data)))
    model = case.model().fit(first.records, first.y, sample_weight=first.weights)
    model.set_params(policy=chosen)
    model.partial_fit(second.records, second.y, sample_weight=second.weights)
    assert_predicts(model, case.asked, case.asked, replace(case, policy=chosen))
    assert_predicts(model.set_params(policy=case.policy), case.asked, case.asked, case)


@pytest.mark.parametrize(
    ("policy", "named"),
    [([["b"]], "b"), (None, "c"), ([["a"], ["a", "c"], ["b", "c"]], "c")],
    ids=str,
)
def test_a_set_never_learnt_is_told(policy: Any, named: str) -> None:
    known = [["a", "b"], ["a"], []]
    model = build(dimensions="each", policy=known).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    asks = (
        model.predict,
        model.predict_proba,
        model.policy_used,
        model.coverage,
        model.explain_local,
    )
    for ask in asks:
        with pytest.raises(ValueError, match=rf"(?s){named}.*learn|learn.*{named}"):
            model.set_params(policy=policy) and ask(ASKED_RECORDS)
    assert snapshot(model.set_params(policy=known), ASKED_RECORDS) == before
