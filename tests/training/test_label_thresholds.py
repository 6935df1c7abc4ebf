"""The threshold of labels that is chosen."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stc import SparseTensorClassifier
from support.label_cases import Labels, Make, X, Y, any_estimator, either, fitted
from support.models import paper_model


def topics(sizes: Sequence[int], n: int, seed: int) -> tuple[list[dict[str, Any]], Labels]:
    """Items of 12 words about their topics, with noise; each has one of these many labels."""
    rng = np.random.default_rng(seed)
    names = np.array([f"t{k}" for k in range(8)])
    y = [rng.choice(names, rng.choice(sizes), replace=False).tolist() for _ in range(n)]
    items = [
        {
            "words": [
                f"{rng.choice(labels)} {rng.integers(6)}"
                if rng.random() < 0.6
                else f"noise {rng.integers(20)}"
                for _ in range(12)
            ]
        }
        for labels in y
    ]
    return items, y


def micro_f1(model: SparseTensorClassifier, items: Any, y: Labels) -> float:
    """Micro-F1 by its definition."""
    predicted = [set(labels) for labels in model.predict(items)]
    truth = [set(labels) for labels in y]
    hits = sum(len(p & t) for p, t in zip(predicted, truth, strict=True))
    return 2 * hits / (sum(map(len, predicted)) + sum(map(len, truth)))


SIZES = {"one": [1], "two": [2], "three": [3], "one or two": [1, 2], "one to four": [1, 2, 3, 4]}
any_size = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())


@any_size
@pytest.mark.parametrize("seed", range(2))
def test_the_chosen_threshold_is_nearly_the_best(sizes: list[int], seed: int) -> None:
    items, y = topics(sizes, 300, seed)
    fresh, truth = topics(sizes, 300, seed + 100)
    model = paper_model().fit(items, y)
    ours = micro_f1(model, fresh, truth)
    best = max(
        micro_f1(model.set_params(label_threshold=threshold), fresh, truth)
        for threshold in np.geomspace(0.001, 1, 40)
    )
    assert ours > best - 0.03
    if min(sizes) > 1:
        assert ours > micro_f1(model.set_params(label_threshold=1.0), fresh, truth) + 0.05


def test_the_threshold_is_chosen_by_items_held_out() -> None:
    # A word of its own gives an item away where it was learnt, and says nothing where it was not.
    items, y = topics([1, 2], 200, 0)
    marked = [{**item, "own": [f"own {n}"] * 12} for n, item in enumerate(items)]
    found, told = (paper_model().fit(each, y) for each in (items, marked))
    assert len(set(found.label_threshold_)) > 1
    assert_allclose(told.label_threshold_, found.label_threshold_, rtol=1e-9)


@either
def test_few_items_have_a_threshold_too(make: Make) -> None:
    for n in (1, 2, 3, 5):
        model = paper_model().fit(X[:n], make(Y[:n]))
        assert ((model.label_threshold_ > 0) & (model.label_threshold_ <= 1)).all()


@either
@any_estimator
def test_the_same_data_gives_the_same_threshold(make: Make, params: dict[str, Any]) -> None:
    first, second = (fitted(make, **params).label_threshold_ for _ in range(2))
    assert_array_equal(first, second)


Learner: TypeAlias = Callable[[list[tuple[Any, Labels]]], SparseTensorClassifier]


def in_parts(parts: list[tuple[Any, Labels]]) -> SparseTensorClassifier:
    model = paper_model()
    for part in parts:
        model.partial_fit(*part)
    return model


def merged(parts: list[tuple[Any, Labels]]) -> SparseTensorClassifier:
    first, *others = (paper_model().fit(*part) for part in parts)
    for other in others:
        first.merge(other)
    return first


def added(parts: list[tuple[Any, Labels]]) -> SparseTensorClassifier:
    one, other = (paper_model().fit(*part) for part in parts)
    return one + other


def typical(model: SparseTensorClassifier) -> float:
    """The logarithm of one threshold for all labels."""
    return float(np.log(model.label_threshold_).mean())


@pytest.mark.parametrize("learn", [in_parts, merged, added])
@pytest.mark.parametrize("first", ["many", "few"])
def test_evidence_for_the_threshold_adds_up(learn: Learner, first: str) -> None:
    many, few = topics([3], 300, 1), topics([1], 3, 0)
    of_many, of_few = (typical(paper_model().fit(*part)) for part in (many, few))
    assert abs(of_many - of_few) > 0.2  # else this says nothing
    both = typical(learn([many, few] if first == "many" else [few, many]))
    assert abs(both - of_many) < 0.02


def test_unlearning_keeps_a_threshold() -> None:
    model = fitted(list).unlearn(X[:30], Y[:30])
    assert ((model.label_threshold_ > 0) & (model.label_threshold_ <= 1)).all()
    given = fitted(list, label_threshold=0.3).unlearn(X[:30], Y[:30])
    assert given.label_threshold_.tolist() == [0.3] * 4


@pytest.mark.parametrize("threshold", [0, 0.0, -0.1, 1.5, "half", float("nan")])
def test_thresholds_that_are_none(threshold: Any) -> None:
    model = paper_model(label_threshold=threshold)
    with pytest.raises(ValueError, match="'label_threshold' parameter of SparseTensorClassifier"):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
    model = fitted(list).set_params(label_threshold=threshold)
    with pytest.raises(ValueError, match="'label_threshold' parameter of SparseTensorClassifier"):
        model.predict(X)
