"""How items are dealt into folds, parts and samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from stc._training.folds import (
    random_folds,
    random_parts,
    stratified_folds,
    stratified_sample,
)
from support.strategies import PROFILE
from support.tuning_cases import rng_of


def test_folds_share_every_class() -> None:
    classes = rng_of(0).choice(5, 103, p=[0.5, 0.2, 0.2, 0.08, 0.02])
    fold = stratified_folds(classes, 7, np.random.RandomState(0))
    assert set(fold) == set(range(7))
    for own in [*(fold[classes == c] for c in range(5)), fold]:
        sizes = np.bincount(own, minlength=7)
        assert sizes.max() - sizes.min() <= 1
    again = stratified_folds(classes, 7, np.random.RandomState(0))
    assert_array_equal(fold, again)
    assert (fold != stratified_folds(classes, 7, np.random.RandomState(1))).any()


@PROFILE
@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=60),
    st.floats(0.01, 0.99),
    st.integers(0, 99),
)
def test_a_sample_has_the_same_share_of_every_class(
    labels: list[int], share: float, seed: int
) -> None:
    classes = np.array(labels)
    drawn = stratified_sample(classes, share, np.random.RandomState(seed))
    assert 0 < drawn.sum() < len(classes)
    # A sample of nothing or of everything is changed by one item.
    spare = 1 if drawn.sum() in (1, len(classes) - 1) else 0
    for members in [*(classes == label for label in set(labels)), np.ones(len(classes), bool)]:
        assert abs(drawn[members].sum() - share * members.sum()) <= 1 + spare
    again = stratified_sample(classes, share, np.random.RandomState(seed))
    assert_array_equal(drawn, again)


@pytest.mark.parametrize(("n_items", "n_folds"), [(1, 1), (7, 3), (100, 40), (12, 12)])
def test_random_folds_and_parts_are_of_equal_size_and_always_the_same(
    n_items: int, n_folds: int
) -> None:
    fold = random_folds(n_items, n_folds)
    parts = random_parts(n_items, n_folds)
    for sizes in (np.bincount(fold, minlength=n_folds), np.array([len(part) for part in parts])):
        assert sizes.sum() == n_items
        assert sizes.max() - sizes.min() <= 1
    assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n_items))
    assert_array_equal(fold, random_folds(n_items, n_folds))
    if n_folds > 1:
        assert (fold != np.arange(n_items) % n_folds).any()
