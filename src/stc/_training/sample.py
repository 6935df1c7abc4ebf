"""The items that choose settings: a sample that depends neither on their order nor on chance.

They are the distinct items of each class with the smallest hashes of their values and label. Each
has its total weight, so a row of weight 2 is two rows. Where items come in groups, those of the
groups with the smallest hashes choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.observations import Column, Observations, run_starts
from stc._training.item_hashes import orders_of
from stc._utils.hashing import GOLDEN, Hashes, mixed

# An item of this weight occurs twice, whatever rounding left of it.
_TWICE = 2 - 1e-9
_FEW = 1000


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct items with their labels.

    Attributes
    ----------
    items
        The first of the equal items of each, in ascending order.
    weight
        The total weight of the equal items.
    truth
        The target of each as shares of the classes.
    classes
        The class of each; of several, the one with the largest share.
    rank
        The place of each among the items of its class, by their hashes; or that of its group.
    mass
        The mass of each class among all items.
    grouped
        Whether `rank` is the group of each item, which has all items of these groups.
    repeats
        Which occur more than once; an item of weight 2 does. Of groups: in several of them.
    """

    items: NDArray[np.int64]
    weight: Floats
    truth: Floats
    classes: NDArray[np.int64]
    rank: NDArray[np.int64]
    mass: Floats
    repeats: NDArray[np.bool_]
    grouped: bool = False

    @cached_property
    def share(self) -> Floats:
        """The weight of each in means: classes have their share of all items."""
        drawn = np.maximum(self.weight @ self.truth, np.finfo(np.float64).tiny)
        share = self.weight * (self.mass / drawn)[self.classes]
        return np.asarray(share / share.sum())

    @property
    def repeated(self) -> float:
        """Share of all items that occur more than once."""
        return float(self.share @ self.repeats)

    @property
    def half(self) -> NDArray[np.int64]:
        """0 or 1: two halves of the items, within each class, or of the groups."""
        return np.asarray(self.rank % 2)

    @property
    def group(self) -> NDArray[np.int64] | None:
        """The group of each item, from 0; None if each is left out alone."""
        return self.rank if self.grouped else None

    def first(self, most: int) -> Sample:
        """Return at most so many of the items, but one of each class, or two groups."""
        count = most_groups if self.grouped else most_per_class
        kept = self.rank < count(np.bincount(self.rank if self.grouped else self.classes), most)
        if kept.all():
            return self
        names = ("items", "weight", "truth", "classes", "rank", "repeats")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})


def sample_of(
    observed: Observations,
    target: Column,
    truth: Floats,
    sample_weight: Floats,
    most: int,
    mass: Floats,
    groups: NDArray[Any] | None = None,
) -> Sample:
    """Return at most so many distinct items, but one of each class; all have weight.

    `mass` is the mass of each class among all items, of which these may be a sample. With groups,
    the items are all of some groups, at least two, and distinct within each.
    """
    if groups is not None:
        return _sample_of_groups(observed, target, truth, sample_weight, mass, groups).first(most)
    present = np.flatnonzero(sample_weight > 0)
    order = orders_of(observed, target)[present]
    first, weight = distinct_items(order, sample_weight[present], None)
    classes = np.argmax(truth[present[first]], axis=1)
    rank = ranks_within(classes)
    # They are in the order of their hashes, so the first of a class have the smallest.
    chosen = np.flatnonzero(rank < most_per_class(np.bincount(classes), most))
    chosen = chosen[np.argsort(first[chosen])]
    items = present[first[chosen]]
    weight = weight[chosen]
    classes, rank = classes[chosen], rank[chosen]
    return Sample(items, weight, truth[items], classes, rank, mass, weight >= _TWICE)


def _sample_of_groups(
    observed: Observations,
    target: Column,
    truth: Floats,
    sample_weight: Floats,
    mass: Floats,
    groups: NDArray[Any],
) -> Sample:
    """Return the distinct items of each group."""
    present = np.flatnonzero(sample_weight > 0)
    order = orders_of(observed, target, conjunctions=True)[present]
    first, weight, rank = ranked_groups(order, sample_weight[present], groups[present])
    ascending = np.argsort(first)
    first, weight, rank = first[ascending], weight[ascending], rank[ascending]
    items = present[first]
    _, same, times = np.unique(order[first], return_inverse=True, return_counts=True)
    truth = truth[items]
    classes = np.argmax(truth, axis=1)
    return Sample(items, weight, truth, classes, rank, mass, times[same] > 1, grouped=True)


def ranked_groups(
    order: Hashes, sample_weight: Floats, groups: NDArray[Any]
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Return the distinct items of groups, their weights, and the ranks of their groups.

    The hash of a group depends on its items and their weights only.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    with np.errstate(over="ignore"):
        inside = mixed(order + GOLDEN * (codes + 1).astype(np.uint64))
        first, weight = distinct_items(inside, sample_weight, None)
        members = codes[first]
        bits = weight.astype(np.float32).view(np.uint32).astype(np.uint64)
        of_group = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.uint64)
        np.add.at(of_group, members, mixed(order[first] + GOLDEN * bits))
    rank = np.empty(len(of_group), dtype=np.int64)
    rank[np.argsort(of_group, kind="stable")] = np.arange(len(of_group))
    return first, weight, rank[members]


def most_groups(sizes: NDArray[np.int64], most: int) -> int:
    """Return how many groups, the first ones, have at most so many items; at least two."""
    return max(int(np.searchsorted(np.cumsum(sizes), most, side="right")), 2)


def distinct_items(
    order: Hashes, amounts: Floats, identities: Callable[[NDArray[np.int64]], Hashes] | None
) -> tuple[NDArray[np.int64], Floats]:
    """Return one of the equal items of each, in the order of their hashes, and their total amounts.

    `identities` tells apart items of the same hash.
    """
    ranked = np.argsort(order)  # several times faster than a stable sort of hashes
    starts = run_starts(order.take(ranked))
    if len(starts) == len(order):
        return ranked, amounts.take(ranked)
    sizes = np.diff(starts, append=len(order))
    equal = np.repeat(sizes > 1, sizes)
    rows = ranked[equal]
    identity = np.zeros(len(order), dtype=np.uint64)
    if identities is not None:
        identity[rows] = identities(rows)
    ranked[equal] = rows[np.lexsort((rows, identity[rows], order[rows]))]
    starts = run_starts(order.take(ranked), identity.take(ranked))
    return ranked[starts], np.add.reduceat(amounts.take(ranked), starts)


def ranks_within(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each item among those of its class."""
    # Most batches have few classes, which the first items show: sorting all of them takes longer.
    known = np.unique(classes[:_FEW])
    codes = np.searchsorted(known, classes)
    codes[codes == len(known)] = 0
    if (known[codes] != classes).any():
        known, codes = np.unique(classes, return_inverse=True)
    counts = np.bincount(codes, minlength=len(known))
    # Small numbers are sorted faster.
    order = np.argsort(codes.astype(np.min_scalar_type(len(counts))), kind="stable")
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(classes), dtype=np.int64)
    ranks[order] = np.arange(len(classes)) - starts[codes[order]]
    return ranks


def most_per_class(sizes: NDArray[np.int64], most: int) -> int:
    """Return the largest number such that classes of at most so many items sum up to `most`."""
    limits = np.arange(1, max(int(sizes.max()), 1) + 1)
    ordered = np.sort(sizes)
    below = np.searchsorted(ordered, limits, side="right")
    totals = np.concatenate([[0], np.cumsum(ordered)])[below] + limits * (len(sizes) - below)
    return max(int(np.searchsorted(totals, most, side="right")), 1)
