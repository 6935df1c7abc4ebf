"""Which items are learnt from and which are judged, when settings are compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state

from stc._input.scalars import code_objects
from stc._training.crossfit import folds_of

Pair = tuple[NDArray[Any], NDArray[Any]]

# So many items judged suffice.
_ENOUGH_JUDGED = 2000
# Folds, and how often few items are dealt into them.
_FOLDS, _MOST_DEALS = 5, 3
# In a first round: items to learn from and to judge by.
_FEW_ITEMS, _FEW_SPLITS = (4000, 2000), 5


class Split(NamedTuple):
    """Items to learn from, and items to judge by."""

    learning: NDArray[Any]
    judged: NDArray[Any]


class Groups(NamedTuple):
    """The group of each item, as it was given and as a number."""

    given: NDArray[Any]
    codes: NDArray[Any]


class Items(NamedTuple):
    """The items as they were given: class and group of each, and which weigh something."""

    classes: NDArray[Any]
    present: NDArray[np.bool_]
    groups: Groups | None


def groups_of(groups: Any, n_items: int) -> Groups | None:
    """Return the group of each item; None if there are no groups."""
    if groups is None:
        return None
    cells = _cells(groups)
    if len(cells) != n_items:
        raise ValueError(f"groups: {len(cells):,} of them for {n_items:,} items; give each one")
    try:
        coded = code_objects(cells)
    except (TypeError, ValueError) as error:
        raise ValueError(f"groups: {error}") from error
    if not coded.complete:
        item = int(np.argmax(coded.codes == len(coded.values)))
        raise ValueError(f"groups, item {item}: missing; give the item a group, its own if need be")
    given = np.asarray(cells)
    # A splitter gets what was given, unless NumPy would round it, or could not order it.
    orderly = given.dtype.kind in "iuUSMm"
    return Groups(given if orderly else coded.codes, coded.codes)


def _cells(groups: Any) -> list[Any]:
    """Groups as a list of Python values."""
    if isinstance(groups, str):
        raise ValueError(
            f"groups={groups!r}: give the group of each item, not the name of a column, "
            "which would be learnt from like every other"
        )
    series = nw.from_native(groups, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_list()
    if hasattr(groups, "to_pylist"):  # Arrow
        return list(groups.to_pylist())
    if isinstance(groups, np.ndarray):
        if groups.ndim == 2 and groups.shape[1] == 1:
            groups = groups[:, 0]
        if groups.ndim == 1:
            return list(groups.tolist())
    elif isinstance(groups, Sequence):
        return list(groups)
    shape = f"of shape {groups.shape}" if hasattr(groups, "shape") else ""
    raise ValueError(
        f"groups: expected a list or an array with the group of each item, got "
        f"{type(groups).__name__} {shape}".rstrip()
    )


def splits_of(items: Items, cv: Any, seed: int) -> list[Split]:
    """Return the splits that `cv` asks for, in places of the items that weigh something."""
    classes, present, groups = items
    if not (cv is None or isinstance(cv, Integral)):
        splitter = check_cv(cv, classes, classifier=True)
        return _given(splitter.split(_rows(classes), classes, groups and groups.given), present)
    if groups is None:
        return _dealt(classes[present], cv, seed)
    return _grouped(classes[present], groups.codes[present], cv, seed)


def _rows(classes: NDArray[Any]) -> NDArray[Any]:
    """An X for splitters, which look at its length only."""
    return np.zeros((len(classes), 1))


def _given(pairs: Iterable[Pair], present: NDArray[np.bool_]) -> list[Split]:
    """Splits of the items as they were given, with those that weigh nothing."""
    places, everything = np.cumsum(present) - 1, np.arange(len(present))
    splits = []
    for pair in pairs:
        parts = [everything[part] for part in pair]
        splits.append(Split(*(places[part[present[part]]] for part in parts)))
    if not splits or not all(len(part) for split in splits for part in split):
        raise ValueError("cv: there must be a split, each with items to learn from and to judge")
    return splits


def _dealt(classes: NDArray[Any], cv: Integral | None, seed: int) -> list[Split]:
    """Folds with the same share of every class."""
    count, deals = _FOLDS if cv is None else int(cv), 1
    if count > len(classes):
        raise ValueError(
            f"cv={count} folds need as many items, and there are n_samples={len(classes)}"
        )
    if cv is None:  # chance has less of a say if few items are judged several times
        deals = int(np.clip(np.ceil(_ENOUGH_JUDGED / len(classes)), 1, _MOST_DEALS))
    generator = check_random_state(seed)
    folds = [folds_of(classes, count, generator) for _ in range(deals)]
    return [
        Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for fold, k in product(folds, range(count))
    ]


def _grouped(
    classes: NDArray[Any], groups: NDArray[Any], cv: Integral | None, seed: int
) -> list[Split]:
    """Folds that keep each group together, of every class as much the same share as that allows."""
    distinct, group = np.unique(groups, return_inverse=True)
    count = int(np.clip(len(distinct), 2, _FOLDS)) if cv is None else int(cv)
    if count > len(distinct):
        raise ValueError(f"cv={count} folds need as many groups, and there are {len(distinct):,}")
    generator = check_random_state(seed)
    fold = _dealt_groups(_counts(group, classes), count, generator)[group]
    # The smallest first: if not all are needed, not a single large group has the say.
    order = np.argsort(np.bincount(fold, minlength=count), kind="stable")
    return [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in order]


def _counts(group: NDArray[Any], classes: NDArray[Any]) -> sparse.csr_array:
    """How many items of each class are in each group."""
    ones = np.ones(len(group))
    shape = (int(group.max()) + 1, int(classes.max()) + 1)
    return sparse.coo_array((ones, (group, classes)), shape=shape).tocsr()


def _dealt_groups(
    counts: sparse.csr_array, folds: int, generator: np.random.RandomState
) -> NDArray[Any]:
    """A fold for each group: the largest first, each to where its classes are the rarest so far.

    An empty fold has none of them, so that no fold stays empty, as it may with scikit-learn's
    StratifiedGroupKFold, which also refuses classes that are all smaller than the folds are many.
    """
    sizes = counts.sum(axis=1)
    order = generator.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    rarity = 1 / np.maximum(counts.sum(axis=0), 1)
    held = np.zeros((folds, counts.shape[1]))
    fold = np.empty(len(sizes), dtype=np.int64)
    for group in order:
        own = slice(*counts.indptr[group : group + 2])
        classes = counts.indices[own]
        crowded = held[:, classes] @ (counts.data[own] * rarity[classes])
        fold[group] = np.lexsort((held.sum(axis=1), crowded))[0]
        held[fold[group], classes] += counts.data[own]
    return fold


def enough(splits: list[Split], items: Items) -> list[Split]:
    """As many of the splits as are needed to judge enough items, or groups of items.

    Items of one group say much the same.
    """
    units = np.arange(items.present.sum())
    if items.groups is not None:
        units = items.groups.codes[items.present]
    judged = np.cumsum([len(np.unique(units[split.judged])) for split in splits])
    return splits[: int(np.searchsorted(judged, _ENOUGH_JUDGED)) + 1]


def first_splits(splits: Sequence[Split], seed: int) -> list[Split]:
    """Few items of one split, or of several if these are small."""
    generator = check_random_state(seed)
    learn, judge = _FEW_ITEMS
    few = splits[: int(np.clip(judge // len(splits[0].judged), 1, _FEW_SPLITS))]
    return [
        Split(
            np.sort(generator.permutation(split.learning)[:learn]),
            np.sort(generator.permutation(split.judged)[:judge]),
        )
        for split in few
    ]
