"""Learning is a sum: any order, any partition, subtraction and merging give the same model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from stc import NeverLearntError, SparseTensorClassifier
from support.models import paper_model
from support.oracle import Hyper
from support.strategies import PROFILE, TEXTS, Data, hypers, tables, to_polars

X = [{"colour": "red", "tags": ["a", "b"]}, {"colour": "blue"}, {"colour": "red", "size": 3}]
Y = ["apple", "berry", "apple"]

# Every weight positive, so that every part of the data may be learnt alone.
DATA = tables(smallest=0.25, min_size=2)
WHOLE = tables(smallest=0.25, min_size=2, complete=True)


def fit(data: Data, hyper: Hyper = Hyper(), missing: str = "ignore") -> SparseTensorClassifier:  # noqa: B008
    return learn_more(empty(hyper, missing), data)


def empty(hyper: Hyper = Hyper(), missing: str = "ignore") -> SparseTensorClassifier:  # noqa: B008
    return paper_model(hyper.power, hyper.balance, hyper.entropy, missing=missing)


def learn_more(model: SparseTensorClassifier, data: Data) -> SparseTensorClassifier:
    return model.partial_fit(data.records, data.y, sample_weight=data.weights)


def forget(model: SparseTensorClassifier, data: Data) -> SparseTensorClassifier:
    return model.unlearn(data.records, data.y, sample_weight=data.weights)


@st.composite
def partitions(draw: st.DrawFn, data: Data, parts: int | None = None) -> list[Data]:
    """The items shuffled and cut into parts, none of them empty."""
    order = draw(st.permutations(range(len(data))))
    most = len(data) - 1
    sizes = st.sets(st.integers(1, most), min_size=(parts or 1) - 1, max_size=(parts or 5) - 1)
    cuts = sorted(draw(sizes))
    borders = zip([0, *cuts], [*cuts, len(data)], strict=True)
    return [data.take(order[start:stop]) for start, stop in borders]


def assert_same(a: SparseTensorClassifier, b: SparseTensorClassifier) -> None:
    """The same rows, classes and names; the same values to 1e-12."""
    keys = ["attribute", "value", "class", "support"]
    assert a.corpus_.select(keys).equals(b.corpus_.select(keys))
    np.testing.assert_allclose(a.corpus_["mass"], b.corpus_["mass"], rtol=1e-12)
    assert a.classes_.dtype.kind == b.classes_.dtype.kind
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.class_mass_, b.class_mass_, rtol=1e-12)
    assert sorted(a.get_feature_names_out()) == sorted(b.get_feature_names_out())


def assert_equal(a: SparseTensorClassifier, b: SparseTensorClassifier, whole: Data) -> None:
    """The same model, and the same predictions of everything learnt and of nothing."""
    assert_same(a, b)
    hyper = Hyper(a.power, a.balance, a.entropy)
    asked = [*whole.records, {}]
    tolerance = whole.truth(a.missing).tolerance(hyper)
    ours, theirs = a.predict_proba(asked), b.predict_proba(asked)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
    np.testing.assert_allclose(a.coverage(asked), b.coverage(asked), rtol=0, atol=1e-12)


def snapshot(model: SparseTensorClassifier, asked: Sequence[Any]) -> tuple[Any, ...]:
    """All that can be seen of a model, bit for bit."""
    return (
        model.corpus_.rows(),
        model.corpus_.schema,
        model.classes_.tolist(),
        model.class_mass_.tobytes(),
        model.get_feature_names_out().tolist(),
        model.n_features_in_,
        model.predict_proba(asked).tobytes(),
        model.coverage(asked).tobytes(),
    )


@PROFILE
@given(st.data(), DATA, hypers())
def test_any_partition_in_any_order_is_one_fit(
    draws: st.DataObject, data: Data, hyper: Hyper
) -> None:
    parts = empty(hyper)
    for part in draws.draw(partitions(data)):
        learn_more(parts, part)
        parts.predict_proba(part.records)  # what is cached now must not survive the next part
    assert_equal(parts, empty(hyper).fit(data.records, data.y, data.weights), data)


@PROFILE
@given(st.data(), WHOLE, hypers())
def test_any_partition_with_missing_as_a_category(
    draws: st.DataObject, data: Data, hyper: Hyper
) -> None:
    parts = empty(hyper, "category")
    for part in draws.draw(partitions(data)):
        learn_more(parts, part)
    assert_equal(parts, fit(data, hyper, "category"), data)


@PROFILE
@given(st.data(), tables(kinds=("one", "list"), values=TEXTS, smallest=0.25, min_size=2))
def test_any_partition_of_a_frame(draws: st.DataObject, data: Data) -> None:
    parts = empty()
    for part in draws.draw(partitions(data)):
        parts.partial_fit(to_polars(part.records, data, TEXTS), part.y, sample_weight=part.weights)
    assert_equal(parts, fit(data), data)


@PROFILE
@given(st.data(), DATA, hypers())
def test_unlearning_leaves_no_residue(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    a, b = draws.draw(partitions(data, parts=2))
    both = learn_more(fit(a, hyper), b)
    assert_equal(forget(both, b), fit(a, hyper), a)


@PROFILE
@given(st.data(), WHOLE)
def test_unlearning_item_by_item_with_missing_as_a_category(
    draws: st.DataObject, data: Data
) -> None:
    a, b = draws.draw(partitions(data, parts=2))
    both = fit(data, missing="category")
    for n in draws.draw(st.permutations(range(len(b)))):
        forget(both, b.take([n]))
    assert_equal(both, fit(a, missing="category"), a)


@PROFILE
@given(DATA)
def test_unlearning_everything_leaves_an_empty_model(data: Data) -> None:
    model = forget(fit(data), data)
    assert len(getattr(model, "classes_", ())) == 0
    with pytest.raises(NotFittedError):
        model.predict_proba(data.records)
    assert_equal(learn_more(model, data), fit(data), data)


def test_tiny_item_unlearnt_beside_a_huge_one_is_gone() -> None:
    model = paper_model().fit(X[:2], Y[:2], sample_weight=[1e12, 1.0])
    other = [{"colour": "red"}]
    before = model.corpus_
    model.partial_fit(other, ["cherry"], sample_weight=[1e-12])
    model.unlearn(other, ["cherry"], sample_weight=[1e-12])
    assert model.corpus_.equals(before)
    assert list(model.classes_) == ["apple", "berry"]


def test_heavy_item_can_be_unlearnt_beside_a_light_one() -> None:
    # Doubles keep 16 digits of 1e9, so 7 of what is left; that is rounding, not a wrong item.
    item = [{"a": 1, "b": 1, "c": 1}]
    model = paper_model().fit(item, ["x"], sample_weight=[1e9])
    model.partial_fit(item, ["x"], sample_weight=[0.1])
    model.unlearn(item, ["x"], sample_weight=[1e9])
    assert model.corpus_["support"].to_list() == [1, 1, 1]
    np.testing.assert_allclose(model.corpus_["mass"], 0.1 / 3, rtol=1e-5)


def test_declared_classes_stay() -> None:
    model = paper_model().partial_fit([X[0]], [Y[0]], classes=["apple", "berry", "fig"])
    model.partial_fit([X[1]] * 2, ["berry"] * 2, sample_weight=[0.1, 0.2])
    for weight in (0.1, 0.2):  # 0.1 + 0.2 - 0.1 - 0.2 is not 0
        model.unlearn([X[1]], ["berry"], sample_weight=[weight])
    assert list(model.classes_) == ["apple", "berry", "fig"]
    assert model.class_mass_.tolist() == [1, 0, 0]
    assert model.predict_proba([{}]).tolist() == [[1, 0, 0]]


@PROFILE
@given(st.data(), DATA, hypers())
def test_merging_is_fitting_the_union(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    first, second = draws.draw(partitions(data, parts=2))
    a, b = fit(first, hyper), fit(second, hyper)
    before = snapshot(a, data.records), snapshot(b, data.records)
    added, reverse = a + b, b + a
    assert (snapshot(a, data.records), snapshot(b, data.records)) == before
    assert_equal(added, fit(data, hyper), data)
    assert_equal(reverse, added, data)
    assert a.merge(b) is a
    assert_equal(a, added, data)
    assert snapshot(b, data.records) == before[1]
    assert_equal(forget(a, second), fit(first, hyper), first)


@PROFILE
@given(st.data(), WHOLE)
def test_merging_with_missing_as_a_category(draws: st.DataObject, data: Data) -> None:
    first, second = draws.draw(partitions(data, parts=2))
    a, b = fit(first, missing="category"), fit(second, missing="category")
    assert_equal(a + b, fit(data, missing="category"), data)
    assert_equal(b + a, fit(data, missing="category"), data)


def test_a_sum_shares_nothing_with_its_parts() -> None:
    a, b = (paper_model().fit([x], [y]) for x, y in zip(X[:2], Y[:2], strict=True))
    before = snapshot(a, X), snapshot(b, X)
    (a + b).partial_fit(X, Y).unlearn(X[:1], Y[:1])
    assert (snapshot(a, X), snapshot(b, X)) == before


def test_merging_vocabularies_in_another_order() -> None:
    a = paper_model().fit([{"c": "u"}, {"c": "v"}, {"c": "w"}], ["A", "B", "C"])
    b = paper_model().fit([{"c": "w"}, {"c": "u"}, {"c": "z"}], ["D", "A", "B"])
    rows = [("u", "A", 2), ("v", "B", 1), ("w", "C", 1), ("w", "D", 1), ("z", "B", 1)]
    for merged in (a + b, b + a):
        found = merged.corpus_.select("value", "class", "mass", "support").rows()
        assert found == [(value, label, float(n), n) for value, label, n in rows]


def test_merging_records_with_different_attributes() -> None:
    a = paper_model().fit([{"colour": "red"}], ["apple"])
    b = paper_model().fit([{"size": 3}], ["berry"])
    union = paper_model().fit([{"colour": "red"}, {"size": 3}], ["apple", "berry"])
    assert_same(a + b, union)
    assert_same(b + a, union)


def test_merging_models_whose_attributes_disagree_changes_neither() -> None:
    a = paper_model().fit(pl.DataFrame({"colour": ["red"]}), ["apple"])
    b = paper_model().fit(pl.DataFrame({"size": ["3"]}), ["berry"])
    asked = [{"colour": "red"}]
    before = snapshot(a, asked), snapshot(b, asked)
    for attempt in (lambda: a.merge(b), lambda: a + b):
        with pytest.raises(ValueError, match=r"size|colour"):
            attempt()
    assert (snapshot(a, asked), snapshot(b, asked)) == before


WRONG: dict[str, tuple[list[Any], list[Any], list[float] | None]] = {
    "a value never learnt": ([{"colour": "green"}], ["apple"], None),
    "an attribute never learnt": ([{"shape": "round"}], ["apple"], None),
    "a pair never learnt": ([{"colour": "blue"}], ["apple"], None),
    "a class never learnt": ([{"colour": "red"}], ["cherry"], None),
    "the wrong class": ([X[1]], ["apple"], None),
    "too much weight": ([X[1]], ["berry"], [2.0]),
    "too little weight": ([X[1]], ["berry"], [0.5]),
    "more often than learnt": ([X[1], X[1]], ["berry", "berry"], None),
    "the second of two": ([X[0], {"colour": "green"}], ["apple", "apple"], None),
    "values of another share": ([{"colour": "red", "tags": "a"}], ["apple"], [3.0]),
    "a class without items": ([{}], ["cherry"], None),
    "more items without values than the class has": ([{}] * 3, ["berry"] * 3, None),
    "the only item of a class, without its values": ([{}], ["berry"], None),
    "one of two items of a class, without its values": ([{}], ["apple"], None),
}


MESSAGES = {
    "a value never learnt": "item 0: cannot unlearn colour=green, which was never learnt",
    "an attribute never learnt": "item 0: cannot unlearn shape=round, which was never learnt",
    "a pair never learnt": (
        "cannot unlearn: colour=blue and class 'apple' were never learnt together"
    ),
    "a class never learnt": "item 0: cannot unlearn class 'cherry', which was never learnt",
    "the wrong class": "cannot unlearn: colour=blue and class 'apple' were never learnt together",
    "too much weight": (
        "cannot unlearn: colour=blue and class 'berry' were learnt with other weights"
    ),
    "too little weight": (
        "cannot unlearn: colour=blue and class 'berry' were learnt with other weights"
    ),
    "more often than learnt": (
        "cannot unlearn: colour=blue and class 'berry' were not learnt that often"
    ),
    "the second of two": "item 1: cannot unlearn colour=green, which was never learnt",
    "values of another share": (
        "cannot unlearn: colour=red and class 'apple' were learnt with other weights"
    ),
    "a class without items": "item 0: cannot unlearn class 'cherry', which was never learnt",
    "more items without values than the class has": (
        "cannot unlearn: items of class 'berry' were not learnt that often"
    ),
    "the only item of a class, without its values": (
        "cannot unlearn: items of class 'berry' were learnt with other values"
    ),
    "one of two items of a class, without its values": (
        "cannot unlearn: items of class 'apple' were learnt with other values"
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_unlearning_what_was_never_learnt(wrong: str) -> None:
    model = paper_model().fit(X, Y)
    before = snapshot(model, [*X, {}])
    items, labels, weights = WRONG[wrong]
    with pytest.raises(NeverLearntError, match=f"^{MESSAGES[wrong]}$"):
        model.unlearn(items, labels, sample_weight=weights)
    assert snapshot(model, [*X, {}]) == before


@PROFILE
@given(DATA)
def test_unlearning_a_stranger_is_refused(data: Data) -> None:
    model = fit(data)
    before = snapshot(model, data.records)
    last = len(data) - 1
    strangers = [*data.records[:-1], {**data.records[-1], "colour": "never learnt"}]
    message = r"cannot unlearn colour=never learnt, which was never learnt$"
    with pytest.raises(NeverLearntError, match=message) as caught:
        model.unlearn(strangers, data.y, sample_weight=data.weights)
    assert caught.value.item == last
    assert snapshot(model, data.records) == before
