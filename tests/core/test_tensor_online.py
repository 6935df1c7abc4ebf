"""Tensors learn online: a sum, for all sets and all kinds of targets."""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from stc import NeverLearntError, SparseTensorClassifier
from stc.exceptions import ParameterError
from support.oracle import Hyper
from support.strategies import Data, Record
from support.tensor_cases import (
    ASKED_RECORDS,
    MODEST,
    TABLE_RECORDS,
    TABLE_Y,
    Answers,
    Case,
    Layout,
    assert_learnt,
    assert_predicts,
    build,
    cases,
    snapshot,
)
from support.tensor_oracle import joint

# What must be equal.


def assert_same(a: SparseTensorClassifier, b: SparseTensorClassifier, case: Case) -> None:
    """The same sets with the same entries, and the same predictions."""
    keys = [column for column in a.corpus_.columns if column != "mass"]
    assert a.policy_ == b.policy_
    assert a.corpus_.select(keys).equals(b.corpus_.select(keys))
    np.testing.assert_allclose(a.corpus_["mass"], b.corpus_["mass"], rtol=1e-12)
    np.testing.assert_allclose(a.class_mass_, b.class_mass_, rtol=1e-12)
    asked = [*case.data.records, {}]
    tolerance = case.truth.tolerance(case.chain, case.hyper)
    ours, theirs = a.predict_proba(asked), b.predict_proba(asked)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
    assert a.policy_used(asked).tolist() == b.policy_used(asked).tolist()


# Learning is a sum, for all sets.


# Every weight positive, so that every part of the data may be learnt alone.
ONLINE = cases(smallest=0.25, one_target=True)


@st.composite
def parted(draw: st.DrawFn, data: Data, parts: int | None = None) -> list[Data]:
    order = draw(st.permutations(range(len(data))))
    cut = st.sets(st.integers(1, len(data) - 1), max_size=3)
    if parts:
        cut = st.sets(st.integers(1, len(data) - 1), min_size=parts - 1, max_size=parts - 1)
    cuts = sorted(draw(cut))
    borders = zip([0, *cuts], [*cuts, len(data)], strict=True)
    return [data.take(order[start:stop]) for start, stop in borders]


def add(model: SparseTensorClassifier, data: Data) -> SparseTensorClassifier:
    return model.partial_fit(data.records, data.y, sample_weight=data.weights)


@MODEST
@given(ONLINE, st.data())
def test_any_partition_in_any_order_is_one_fit(case: Case, draws: st.DataObject) -> None:
    model = case.model()
    for part in draws.draw(parted(case.data)):
        add(model, part)
        model.predict_proba(part.records)  # what is cached now must not survive the next part
    assert_same(model, case.fitted(), case)
    assert_learnt(model, case)


@MODEST
@given(ONLINE, st.data())
def test_unlearning_leaves_no_residue(case: Case, draws: st.DataObject) -> None:
    kept, gone = draws.draw(parted(case.data, parts=2))
    model = case.fitted()
    model.unlearn(gone.records, gone.y, sample_weight=gone.weights)
    assert_same(model, add(case.model(), kept), case)
    add(model, gone)
    assert_learnt(model, case)


@MODEST
@given(ONLINE, st.data())
def test_merging_is_fitting_the_union(case: Case, draws: st.DataObject) -> None:
    first, second = (add(case.model(), part) for part in draws.draw(parted(case.data, parts=2)))
    asked = case.data.records
    before = snapshot(first, asked), snapshot(second, asked)
    both, reverse = first + second, second + first
    assert (snapshot(first, asked), snapshot(second, asked)) == before
    assert_same(both, case.fitted(), case)
    assert_same(reverse, both, case)
    assert first.merge(second) is first
    assert_same(first, both, case)
    assert snapshot(second, asked) == before[1]


def test_a_sum_shares_nothing_with_its_parts() -> None:
    a, b = (
        build(dimensions="each", policy=[["a", "b"], ["c"]]).fit(TABLE_RECORDS[part], TABLE_Y[part])
        for part in (slice(3), slice(3, 6))
    )
    before = snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)
    (a + b).partial_fit(TABLE_RECORDS, TABLE_Y).unlearn(TABLE_RECORDS[:2], TABLE_Y[:2])
    assert (snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)) == before


UNMERGEABLE = [
    ("each", [["a", "b"], ["a"]], "each", [["a", "b"]]),
    ("each", [["b"]], "each", [["a"]]),
    ("each", None, [["a", "b"], "c"], None),
    ([["a", "b"], "c"], None, None, None),
    ({"p": "a", "q": "b"}, None, {"p": "b", "q": "a"}, None),
]


@pytest.mark.parametrize(("ours", "policy", "theirs", "other"), UNMERGEABLE)
def test_models_that_do_not_fit_are_not_merged(
    ours: Any, policy: Any, theirs: Any, other: Any
) -> None:
    a = build(dimensions=ours, policy=policy).fit(TABLE_RECORDS[:3], TABLE_Y[:3])
    b = build(dimensions=theirs, policy=other).fit(TABLE_RECORDS[3:], TABLE_Y[3:])
    before = snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)
    for attempt in (lambda: a.merge(b), lambda: a + b):
        with pytest.raises(ParameterError, match=r"^the (policy of the other|models cannot)"):
            attempt()
    assert (snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)) == before


def test_the_other_model_may_have_more_sets() -> None:
    sets = [["a", "b"], ["b"], ["c"]]
    a = build(dimensions="each", policy=sets[:1]).fit(TABLE_RECORDS[:3], TABLE_Y[:3])
    b = build(dimensions="each", policy=sets).fit(TABLE_RECORDS[3:], TABLE_Y[3:])
    whole = build(dimensions="each", policy=sets[:1]).fit(TABLE_RECORDS, TABLE_Y)
    merged = a.merge(b)
    assert merged.policy_ == whole.policy_
    assert merged.corpus_.equals(whole.corpus_)
    with pytest.raises(ValueError, match=r"^the set \[\'b\'\] of the policy was not learnt"):
        merged.set_params(policy=[["b"]]).predict(ASKED_RECORDS)


STRANGERS = [
    # Every value was learnt, the tuple never.
    ({"a": "u", "b": "x", "c": "3"}, "A", "a combination of values", 1),
    ({"a": "u", "b": "no", "c": "1"}, "A", "a value of 'b'", 1),
    # The tuple was learnt of B.
    ({"a": "v", "b": "x", "c": "2"}, "A", "and class 'A' were never learnt together", None),
    ({"a": "u", "b": "x"}, "A", "a=u & b=x and class 'A' were not learnt that often", None),
    ({"a": "u", "b": "x", "c": "1"}, "Z", "class 'Z'", 1),
]
STRANGE = [f"stranger{n}-{label}" for n, (_, label, *_) in enumerate(STRANGERS)]


@pytest.mark.parametrize(("stranger", "label", "what", "item"), STRANGERS, ids=STRANGE)
def test_unlearning_what_was_never_learnt(
    stranger: Record, label: str, what: str, item: int | None
) -> None:
    policy = [["a", "b", "c"], ["a", "b"], ["c"]]
    model = build(dimensions="each", policy=policy).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    pattern = f"^cannot unlearn: .*{what}$" if item is None else f"{what}, which was never learnt$"
    with pytest.raises(NeverLearntError, match=pattern) as caught:
        model.unlearn([TABLE_RECORDS[0], stranger], ["A", label])
    assert caught.value.item == item
    assert snapshot(model, ASKED_RECORDS) == before


def test_unlearning_everything_leaves_an_empty_model() -> None:
    model = build(dimensions="each", policy=[["a", "b"], ["c"]]).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    model.unlearn(TABLE_RECORDS, TABLE_Y)
    with pytest.raises(NotFittedError):
        model.predict(ASKED_RECORDS)
    assert snapshot(model.partial_fit(TABLE_RECORDS, TABLE_Y), ASKED_RECORDS) == before


# Copies.


def test_pickles_and_clones() -> None:
    model = build(dimensions={"p": ["a", "b"], "q": "c"}, policy=[["p", "q"], ["q"]])
    model.fit(TABLE_RECORDS, TABLE_Y)
    copy = pickle.loads(pickle.dumps(model))
    assert snapshot(copy, ASKED_RECORDS) == snapshot(model, ASKED_RECORDS)
    copy.partial_fit(TABLE_RECORDS, TABLE_Y)
    assert copy.class_mass_.sum() == 2 * model.class_mass_.sum()
    other = clone(model)
    assert other.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        other.predict(ASKED_RECORDS)
    assert snapshot(other.fit(TABLE_RECORDS, TABLE_Y), ASKED_RECORDS) == snapshot(
        model, ASKED_RECORDS
    )


# Several targets.


PETS = [
    {"a": "u", "b": ["x", "y"], "kind": "cat", "size": 2},
    {"a": "v", "b": ["x"], "kind": "dog", "size": 3},
    {"a": "u", "b": ["y"], "kind": "cat", "size": 3},
    {"a": "v", "kind": "dog", "size": 3},
]
PET_LAYOUT = Layout("each", {"a": ("a",), "b": ("b",)})


def pets(records: Sequence[Record]) -> Case:
    soft_y = [joint([as_soft(r["kind"]), as_soft(r["size"])]) for r in records]
    data = Data(list(records), [], None, {})
    policy = [["a", "b"], ["b"], ["a"]]
    return Case(data, PET_LAYOUT, policy, Answers(None, soft_y, ("kind", "size")), Hyper())


def as_soft(cell: Any) -> Mapping[Any, float]:
    if isinstance(cell, dict):
        return cell
    return dict.fromkeys(cell, 1) if isinstance(cell, list) else {cell: 1}


@pytest.mark.parametrize("form", [list, pl.DataFrame, pd.DataFrame])
def test_named_targets_are_taken_out_of_the_data(form: Any) -> None:
    case = pets(PETS)
    model = case.model(targets=["kind", "size"]).fit(form(PETS))
    assert_learnt(model, case)
    asked = [{"a": r["a"], "b": r.get("b")} for r in PETS]
    assert_predicts(model, form(asked), asked, case)
    assert_predicts(model, form(PETS), asked, case)
    assert model.predict(form(PETS)).dtype == object
    assert model.explain_local(form(PETS)).table.equals(model.explain_local(form(asked)).table)
    assert model.joint_classes_.tolist() == [["cat", 2], ["cat", 3], ["dog", 3]]


def test_cells_of_targets_may_be_distributions() -> None:
    shared = [{**r, "kind": {r["kind"]: 3, "ape": 1}, "size": [r["size"], 4]} for r in PETS]
    case = pets(shared)
    assert case.answers.soft[0][("cat", 4)] == 3 / 8
    model = case.model(targets=["kind", "size"]).fit(shared)
    assert_learnt(model, case)
    asked = [*({"a": r["a"], "b": r.get("b")} for r in shared), {}]
    assert_predicts(model, asked, asked, case)


@MODEST
@given(cases(smallest=0.25))
def test_online_learning_of_all_kinds_of_targets(case: Case) -> None:
    data, y, cut = case.data, case.answers.y, len(case.data) // 2
    model = case.model()
    for part in (range(cut), range(cut, len(data))):
        weights = data.weights and [data.weights[n] for n in part]
        some = y[list(part)] if isinstance(y, np.ndarray | pl.DataFrame) else rows_of(y, part)
        model.partial_fit([data.records[n] for n in part], some, sample_weight=weights)
    assert_learnt(model, case)
    assert_predicts(model, case.asked, case.asked, case)


def rows_of(y: Any, part: range) -> Any:
    return y.iloc[list(part)] if isinstance(y, pd.DataFrame) else [y[n] for n in part]
