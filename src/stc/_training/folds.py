"""Folds and splits of items, for every part of stc that holds items out.

Folds are dealt by hand because scikit-learn's StratifiedGroupKFold may leave folds empty, and its
stratified splitters refuse or warn about classes with fewer items than there are folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from stc._input.groups import ItemGroups
from stc.exceptions import ParameterError

# Number of test items beyond which more splits are not worth their time.
_ENOUGH_TEST_ITEMS = 2000
# Default number of folds, and the most repetitions for few items.
_FOLDS, _MOST_REPEATS = 5, 3
# Sizes of the small splits: training items, test items, splits.
_SMALL_TRAIN, _SMALL_TEST, _SMALL_SPLITS = 4000, 2000, 5


class Split(NamedTuple):
    """Positions of the items to train on and of the items to test on."""

    train: NDArray[Any]
    test: NDArray[Any]


class Strata(NamedTuple):
    """What splits depend on: class of each item, whether its weight is positive, and groups."""

    classes: NDArray[Any]
    present: NDArray[np.bool_]
    groups: ItemGroups | None


# --- folds ------------------------------------------------------------------------------------


def random_folds(n_items: int, n_folds: int) -> NDArray[Any]:
    """Return the fold of each item, drawn with a fixed seed and not stratified."""
    return np.random.default_rng(0).permutation(n_items) % n_folds


def random_parts(n_items: int, n_parts: int) -> list[NDArray[Any]]:
    """Return the positions of the items in each of several random parts of about equal size."""
    if n_parts <= 1:
        return [np.arange(n_items)]
    return np.array_split(np.random.default_rng(0).permutation(n_items), n_parts)


def _shuffled_by_class(classes: NDArray[Any], generator: np.random.RandomState) -> NDArray[Any]:
    """Return the positions of the items sorted by class, in random order within a class."""
    order = generator.permutation(len(classes))
    return order[np.argsort(classes[order], kind="stable")]


def stratified_folds(
    classes: NDArray[Any], n_folds: int, generator: np.random.RandomState
) -> NDArray[Any]:
    """Return the fold of each item; folds differ by at most one item in each class."""
    fold = np.empty(len(classes), dtype=np.int64)
    fold[_shuffled_by_class(classes, generator)] = np.arange(len(classes)) % n_folds
    return fold


def stratified_sample(
    classes: NDArray[Any], share: float, generator: np.random.RandomState
) -> NDArray[np.bool_]:
    """Return a mask of a share of the items, of every class the same share within one item.

    Classes may have a single item: the items are shuffled, sorted by class, and taken at equal
    steps from a random start.
    """
    n_items = len(classes)
    order = _shuffled_by_class(classes, generator)
    steps = np.floor(np.arange(n_items + 1) * share + generator.random_sample())
    drawn = np.zeros(n_items, dtype=bool)
    drawn[order] = np.diff(steps) > 0
    if drawn.all() or not drawn.any():  # neither part may be empty
        drawn[generator.randint(n_items)] ^= True
    return drawn


def _grouped_folds(
    counts: sparse.csr_array, n_folds: int, generator: np.random.RandomState
) -> NDArray[Any]:
    """Return the fold of each group, given its items per class (groups x classes).

    The largest groups come first, each goes to the fold where its classes are rarest so far. An
    empty fold has none of them, so that no fold stays empty.
    """
    sizes = counts.sum(axis=1)
    order = generator.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    rarity = 1 / np.maximum(counts.sum(axis=0), 1)
    dealt = np.zeros((n_folds, counts.shape[1]))
    fold = np.empty(len(sizes), dtype=np.int64)
    for group in order:
        entries = slice(*counts.indptr[group : group + 2])
        classes = counts.indices[entries]
        crowding = dealt[:, classes] @ (counts.data[entries] * rarity[classes])
        fold[group] = np.lexsort((dealt.sum(axis=1), crowding))[0]
        dealt[fold[group], classes] += counts.data[entries]
    return fold


# --- splits -----------------------------------------------------------------------------------


def make_splits(strata: Strata, cv: Any, seed: int) -> list[Split]:
    """Return the splits that `cv` asks for, as positions among the items of positive weight."""
    classes, present, groups = strata
    if not (cv is None or isinstance(cv, Integral)):
        splitter = check_cv(cv, classes, classifier=True)
        X = np.zeros((len(classes), 1))  # splitters look at its length only
        return _present_splits(splitter.split(X, classes, groups and groups.values), present)
    if groups is None:
        return _stratified_splits(classes[present], cv, seed)
    return _grouped_splits(classes[present], groups.codes[present], cv, seed)


def _present_splits(
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]], present: NDArray[np.bool_]
) -> list[Split]:
    """Return splits of all items as splits of those that are present."""
    positions, everything = np.cumsum(present) - 1, np.arange(len(present))
    splits = []
    for pair in pairs:
        parts = [everything[part] for part in pair]
        splits.append(Split(*(positions[part[present[part]]] for part in parts)))
    if not splits or not all(len(part) for split in splits for part in split):
        raise ParameterError("cv: there must be a split, each with items to train and to test on")
    return splits


def _split(fold: NDArray[Any], number: int) -> Split:
    """Return the split that tests on one fold."""
    return Split(np.flatnonzero(fold != number), np.flatnonzero(fold == number))


def _stratified_splits(classes: NDArray[Any], cv: Integral | None, seed: int) -> list[Split]:
    """Return a split for each of the stratified folds."""
    n_folds, repeats = _FOLDS if cv is None else int(cv), 1
    if n_folds > len(classes):
        raise ParameterError(
            f"cv={n_folds} folds need as many items, and there are n_samples={len(classes)}"
        )
    if cv is None:  # scores on few items vary less when the folds are dealt several times
        repeats = int(np.clip(np.ceil(_ENOUGH_TEST_ITEMS / len(classes)), 1, _MOST_REPEATS))
    generator = check_random_state(seed)
    folds = [stratified_folds(classes, n_folds, generator) for _ in range(repeats)]
    return [_split(fold, number) for fold, number in product(folds, range(n_folds))]


def _grouped_splits(
    classes: NDArray[Any], groups: NDArray[Any], cv: Integral | None, seed: int
) -> list[Split]:
    """Return a split for each fold of whole groups, stratified as far as the groups allow."""
    distinct, group = np.unique(groups, return_inverse=True)
    n_folds = int(np.clip(len(distinct), 2, _FOLDS)) if cv is None else int(cv)
    if n_folds > len(distinct):
        raise ParameterError(
            f"cv={n_folds} folds need as many groups, and there are {len(distinct):,}"
        )
    shape = (len(distinct), int(classes.max()) + 1)
    counts = sparse.coo_array((np.ones(len(group)), (group, classes)), shape=shape).tocsr()
    fold = _grouped_folds(counts, n_folds, check_random_state(seed))[group]
    # The smallest come first: where not all are used, no single large group decides.
    order = np.argsort(np.bincount(fold, minlength=n_folds), kind="stable")
    return [_split(fold, number) for number in order]


def enough_splits(splits: list[Split], strata: Strata) -> list[Split]:
    """Return as many of the splits as are needed for enough test items, or groups of items.

    Items of one group are alike, so a group counts as one item.
    """
    units = np.arange(strata.present.sum())
    if strata.groups is not None:
        units = strata.groups.codes[strata.present]
    tested = np.cumsum([len(np.unique(units[split.test])) for split in splits])
    return splits[: int(np.searchsorted(tested, _ENOUGH_TEST_ITEMS)) + 1]


def small_splits(splits: Sequence[Split], seed: int) -> list[Split]:
    """Return a few items of the first split, or of several if their test parts are small."""
    generator = check_random_state(seed)
    n_splits = int(np.clip(_SMALL_TEST // len(splits[0].test), 1, _SMALL_SPLITS))
    return [
        Split(
            np.sort(generator.permutation(split.train)[:_SMALL_TRAIN]),
            np.sort(generator.permutation(split.test)[:_SMALL_TEST]),
        )
        for split in splits[:n_splits]
    ]


# --- groups -----------------------------------------------------------------------------------
