"""Which items are learnt from and which are judged, when settings are compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from itertools import product
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from stc.crossfit import folds_of
from stc.encode.scalars import code_objects

Pair = tuple[NDArray[Any], NDArray[Any]]

# So many items judged suffice.
ENOUGH_JUDGED = 2000
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
    if isinstance(groups, str):
        raise ValueError(
            f"groups={groups!r}: give the group of each item, not the name of a column, "
            "which would be learnt from like every other"
        )
    given = column_or_1d(groups)
    coded = code_objects(given.tolist())
    if len(coded.codes) != n_items:
        raise ValueError(
            f"groups: {len(coded.codes):,} of them for {n_items:,} items; give each one"
        )
    if not coded.complete:
        item = int(np.argmax(coded.codes == len(coded.values)))
        raise ValueError(f"groups, item {item}: missing; give the item a group, its own if need be")
    return Groups(given, coded.codes)


def splits_of(items: Items, cv: Any, seed: int) -> list[Split]:
    """Return the splits that `cv` asks for, in places of the items that weigh something."""
    classes, present, groups = items
    if not (cv is None or isinstance(cv, Integral)):
        splitter = check_cv(cv, classes, classifier=True)
        return _given(splitter.split(_rows(classes), classes, groups and groups.given), present)
    if groups is None:
        return _dealt(classes[present], cv, seed)
    return _given(_grouped(classes, groups.codes, cv, seed), present)


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
        deals = int(np.clip(np.ceil(ENOUGH_JUDGED / len(classes)), 1, _MOST_DEALS))
    generator = check_random_state(seed)
    folds = [folds_of(classes, count, generator) for _ in range(deals)]
    return [
        Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k))
        for fold, k in product(folds, range(count))
    ]


def _grouped(
    classes: NDArray[Any], groups: NDArray[Any], cv: Integral | None, seed: int
) -> list[Pair]:
    """Folds that keep each group together, of every class as much the same share as that allows."""
    count, distinct = _FOLDS if cv is None else int(cv), len(np.unique(groups))
    if count > distinct:
        raise ValueError(f"cv={count} folds need as many groups, and there are {distinct:,}")
    splitter = StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a class has few members is no news
        return list(splitter.split(_rows(classes), classes, groups))


def enough(splits: list[Split]) -> list[Split]:
    """As many of the splits as are needed to judge enough items."""
    judged = len(splits[0].judged)
    return splits[: int(np.clip(np.ceil(ENOUGH_JUDGED / judged), 1, len(splits)))]


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
