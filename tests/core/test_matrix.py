"""The matrix of features, and the strongest conjunctions in it."""

import math
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from stc import SparseTensorClassifierCV
from stc._core.interactions import Interactions
from stc._core.matrix import FeatureMatrix
from stc._input.containers import encode
from support.models import paper_model
from support.tuning_cases import at, bags, hard, records, rng_of, soft, table


def layout_of(order: int, n: int, seed: int) -> tuple[FeatureMatrix, np.ndarray, np.ndarray]:
    """Records with their conjunctions laid out, the truth, and weights."""
    layout = FeatureMatrix.of(Interactions(order).apply(encode(records(n, seed))))
    truth = np.array([[own.get(c, 0.0) for c in "xyz"] for own in soft(n, seed)])
    return layout, truth / truth.sum(axis=1, keepdims=True), rng_of(seed).random(n) + 0.1


def told(counted: np.ndarray, classes: np.ndarray) -> float:
    """How much a feature tells, from its mass in each class and that of all items, by hand."""
    more = [own + c / sum(classes) for own, c in zip(counted, classes, strict=True)]
    P = [own / c for own, c in zip(more, classes, strict=True)]
    P = [own / sum(P) for own in P]
    return 1 + sum(own * math.log(own) for own in P) / math.log(len(P))


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("min_support", [1, 3])
@pytest.mark.parametrize("most", [0, 1, 7, 10_000, None])
def test_the_strongest_conjunctions_are_kept(
    order: int, min_support: int, most: int | None
) -> None:
    layout, truth, weight = layout_of(order, 40, 0)
    items = rng_of(1).permutation(40)[:30]
    keep = layout.strongest(items, truth, weight, min_support, most)
    dense = layout.matrix.toarray()[items] > 0
    single = ~layout.conjunctions
    assert keep[single].all()
    assert single.sum() == 9
    enough = layout.conjunctions & (dense.sum(axis=0) >= min_support)
    assert not (keep & layout.conjunctions & ~enough).any()
    kept = keep & layout.conjunctions
    assert kept.sum() == (enough.sum() if most is None else min(most, enough.sum()))
    mass = truth[items] * weight[items, None]
    H = np.array([told(mass[own].sum(axis=0), mass.sum(axis=0)) for own in dense.T])
    if kept.any() and (enough & ~kept).any():
        assert H[kept].min() >= H[enough & ~kept].max() - 1e-9
    names = {len(own.attribute) for own in Interactions(order).apply(encode(records(9, 0))).columns}
    assert names == set(range(1, order + 1))


def test_a_class_that_no_item_has_does_not_count() -> None:
    layout, truth, weight = layout_of(2, 40, 0)
    wider = np.insert(truth, 1, 0.0, axis=1)
    items = np.arange(40)
    for most in (3, 8):
        assert_array_equal(
            layout.strongest(items, wider, weight, 1, most),
            layout.strongest(items, truth, weight, 1, most),
        )


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_does_not_depend_on_the_order_of_the_items(seed: int) -> None:
    X, y = records(30, seed), hard(30, seed)
    order = rng_of(seed).permutation(30)
    params = {"interactions": 3, "max_features": 6, "min_support": 2}
    one = paper_model(**params).fit(X, y)
    other = paper_model(**params).fit(at(X, order), at(y, order))
    names = [set(own.get_feature_names_out()) for own in (one, other)]
    assert names[0] == names[1]
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("per_item", [0, 0.5, 2, 3.9, 100])
@pytest.mark.parametrize("min_support", [1, 3])
def test_how_many_conjunctions_items_can_have(per_item: float, min_support: int) -> None:
    layout, truth, weight = layout_of(3, 40, 1)
    count = layout.affordable(truth, weight, min_support, per_item)

    def shown(most: int) -> float:
        keep = layout.strongest(np.arange(40), truth, weight, min_support, most)
        return layout.matrix[:, np.flatnonzero(keep & layout.conjunctions)].nnz / 40

    support = np.bincount(layout.matrix.indices, minlength=layout.matrix.shape[1])
    everything = int((layout.conjunctions & (support >= min_support)).sum())
    assert shown(count) <= per_item
    assert count == everything or shown(count + 1) > per_item
    assert per_item != 100 or count == everything
    assert per_item or count == 0


def test_a_layout_has_all_values_of_all_items() -> None:
    data = bags(12, 0)
    layout = FeatureMatrix.of(encode(data))
    assert layout.matrix.shape == (12, layout.starts[-1])
    columns = encode(data).columns
    for place, column in enumerate(columns):
        own = layout.matrix[:, layout.starts[place] : layout.starts[place + 1]]
        assert_allclose(own.toarray(), column.matrix().toarray())
    assert not layout.conjunctions.any()
    gaps = FeatureMatrix.of(encode(records(12, 0)))
    assert gaps.matrix.nnz == sum(map(len, records(12, 0)))
    assert_array_equal(gaps.matrix.data, 1.0)


def test_pairs_of_attributes_are_all_there() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(
        0.5, 1.0, 0.0, phases=None, interactions=2, min_support=1, max_features=None, cv=2
    ).fit(X, y)
    rows = [{k: v for k, v in row.items() if v is not None} for row in X.to_dicts()]
    single = {f"{k}={v}" for row in rows for k, v in row.items()}
    pairs = {
        " and ".join(f"{k}={row[k]}" for k in pair)
        for row in rows
        for pair in combinations(sorted(row), 2)
    }
    assert set(model.get_feature_names_out()) == single | pairs
