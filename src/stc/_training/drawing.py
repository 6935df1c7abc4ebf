"""The items that are drawn from a batch, a file, a database or a cluster, to choose by.

Settings are chosen by the distinct items of each class with the smallest hashes; conjunctions,
n-grams and knots by those with the smallest of all. A part of the items keeps its smallest, and
parts are merged: the result is the same wherever the data are, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.labels import places_of, union_of_classes
from stc._core.observations import Column, Observations
from stc._core.target import Target
from stc._training.item_hashes import class_hashes, item_hashes, orders_of
from stc._training.sample import (
    distinct_items,
    most_groups,
    most_per_class,
    ranked_groups,
    ranks_within,
)
from stc._utils.hashing import Hashes
from stc.exceptions import DataError

# Rows of a batch in memory among which the smallest are found at a time.
_BLOCK_ROWS = 1 << 18
_LARGEST = np.iinfo(np.uint64).max


class Sizes(NamedTuple):
    """How many distinct items are drawn.

    Attributes
    ----------
    candidates
        Those by which conjunctions, n-grams and knots are chosen; 0 if none are.
    items
        Those by which settings are chosen, of all classes; 0 if none are.
    """

    candidates: int
    items: int


class Items(NamedTuple):
    """Items, their classes, their weights, and their groups if they have any."""

    observed: Observations
    target: Column
    sample_weight: Floats
    groups: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class DrawnGroups:
    """All items of the groups with the smallest hashes, at least two.

    Attributes
    ----------
    observed, target, sample_weight
        The items, without scales.
    groups
        The ranks of their groups, by hash.
    distinct
        The number of distinct items of each group.
    sizes
        How many distinct items were to be drawn.
    """

    observed: Observations
    target: Target
    sample_weight: Floats
    groups: NDArray[np.int64]
    distinct: NDArray[np.int64]
    sizes: Sizes

    @classmethod
    def of(
        cls, observed: Observations, target: Target, sample_weight: Floats,
        groups: NDArray[Any], sizes: Sizes,
    ) -> DrawnGroups | None:  # fmt: skip
        """Return the smallest groups of a batch; None if no item has a weight."""
        present = np.flatnonzero(sample_weight > 0)
        codes, members = np.unique(groups[present], return_inverse=True)
        if not len(codes):
            return None
        if len(codes) == 1:
            raise DataError(
                "groups has a single group, and nothing is left without it",
                hint="give several groups, or none",
            )
        order = orders_of(observed, target.column, conjunctions=True)[present]
        first, _, rank = ranked_groups(order, sample_weight[present], members)
        ranks = np.empty(len(codes), dtype=np.int64)
        ranks[members[first]] = rank
        distinct = np.bincount(rank)
        kept = ranks[members] < most_groups(distinct, max(sizes))
        rows = present[kept]
        column = target.column.take(rows)
        drawn = observed.take(rows).compacted(), replace(target, column=column)
        return cls(*drawn, sample_weight[rows], ranks[members[kept]], distinct, sizes)

    @property
    def candidates(self) -> Items:
        """The items by which conjunctions and n-grams are chosen."""
        return self._taken(self.sizes.candidates)

    @property
    def sample(self) -> Items:
        """The items by which settings are chosen."""
        return self._taken(self.sizes.items)

    def _taken(self, most: int) -> Items:
        rows = np.flatnonzero(self.groups < most_groups(self.distinct, most))
        observed = self.observed.take(rows).compacted()
        column = self.target.column.take(rows)
        return Items(observed, column, self.sample_weight[rows], self.groups[rows])


@dataclass(frozen=True, eq=False)
class Drawn:
    """The distinct items with the smallest hashes: of all, and of each class.

    Attributes
    ----------
    observed, target
        The items in the order of their hashes, without scales.
    order
        Hashes of their values and labels; n-grams follow from the words and are left out.
    class_
        Hash of the class of each; of several, of the one with the largest share.
    amounts
        Their total weights.
    sizes
        How many were to be drawn.
    per_class
        The most items of a class; fewer than `sizes.items` if there are several classes.
    """

    observed: Observations
    target: Target
    order: Hashes
    class_: Hashes
    amounts: Floats
    sizes: Sizes
    per_class: int

    @classmethod
    def of(
        cls,
        observed: Observations,
        target: Target,
        sample_weight: Floats,
        sizes: Sizes,
        *,
        whole: Callable[[NDArray[np.int64]], Observations] | None = None,
        before: Drawn | None = None,
    ) -> Drawn | None:
        """Return the smallest items of a batch; None if there are none.

        Parameters
        ----------
        observed, target, sample_weight
            The batch, without scales.
        sizes
            How many to draw.
        whole
            Returns some items with their n-grams, if `observed` is without.
        before
            What was drawn so far: larger items are left out.
        """
        take = whole or observed.take
        order, class_ = orders_of(observed, target.column), class_hashes(target.column)
        exact = whole is not None or any(column.conjunction for column in observed.columns)
        none = np.zeros(0, dtype=np.int64)
        kept = _Smallest(none, order[:0], class_[:0], np.zeros(0), sizes, sizes.items)
        bounds = kept.bounds if before is None else before._smallest.bounds
        present = np.flatnonzero(sample_weight > 0)
        for start in range(0, len(present), _BLOCK_ROWS):
            block = present[start : start + _BLOCK_ROWS]
            block = block[bounds.include(order[block], class_[block])]
            if len(block):
                more = kept._replace(
                    rows=block, order=order[block], class_=class_[block],
                    amounts=sample_weight[block],
                )  # fmt: skip
                kept = kept.merged(more, take if exact else None)
                if before is None:
                    bounds = kept.bounds
        if not len(kept.rows):
            return None
        column = target.column.take(kept.rows)
        drawn = take(kept.rows).compacted()
        return cls(drawn, replace(target, column=column), *kept[1:])

    @property
    def _smallest(self) -> _Smallest:
        rows = np.arange(len(self.order))
        return _Smallest(rows, self.order, self.class_, self.amounts, self.sizes, self.per_class)

    def merged(self, other: Drawn) -> Drawn:
        """Return the smallest items of both."""
        observed = Observations.concatenated([self.observed, other.observed])
        target = _concatenated(self.target, other.target)
        exact = any(column.conjunction for column in observed.columns)
        theirs = other._smallest
        more = theirs._replace(rows=theirs.rows + len(self.order))
        kept = self._smallest.merged(more, observed.take if exact else None)
        column = target.column.take(kept.rows)
        drawn = observed.take(kept.rows).compacted()
        return Drawn(drawn, replace(target, column=column), *kept[1:])

    @property
    def candidates(self) -> Items:
        """The items by which conjunctions and n-grams are chosen."""
        return self._taken(np.arange(min(self.sizes.candidates, len(self.order))))

    @property
    def sample(self) -> Items:
        """The items by which settings are chosen."""
        return self._taken(np.flatnonzero(ranks_within(self.class_) < self.per_class))

    def _taken(self, items: NDArray[np.int64]) -> Items:
        observed = self.observed.take(items).compacted()
        return Items(observed, self.target.column.take(items), self.amounts[items])


class _Bounds(NamedTuple):
    """The largest hashes of items that may be among the smallest: of all, and of some classes."""

    largest: int
    classes: Hashes
    of_class: Hashes
    any_class: bool

    def include(self, order: Hashes, class_: Hashes) -> NDArray[np.bool_]:
        """Return which items are not larger."""
        below = (
            order <= np.uint64(self.largest) if self.largest >= 0 else np.zeros(len(order), bool)
        )
        if not self.any_class:
            return below
        if not len(self.classes):
            return np.ones(len(order), dtype=bool)
        places = np.minimum(np.searchsorted(self.classes, class_), len(self.classes) - 1)
        unknown = self.classes[places] != class_
        return np.asarray(below | unknown | (order <= self.of_class[places]))


class _Smallest(NamedTuple):
    """The smallest of some rows, in the order of their hashes; see `Drawn`."""

    rows: NDArray[np.int64]
    order: Hashes
    class_: Hashes
    amounts: Floats
    sizes: Sizes
    per_class: int

    @property
    def bounds(self) -> _Bounds:
        """Bounds of the items that may be smaller."""
        size = self.sizes.candidates
        last = _LARGEST if len(self.order) < size else self.order[size - 1] if size else -1
        classes, codes = np.unique(self.class_, return_inverse=True)
        of_class = np.full(len(classes), _LARGEST, dtype=np.uint64)
        lasts = np.flatnonzero(ranks_within(self.class_) == self.per_class - 1)
        of_class[codes[lasts]] = self.order[lasts]
        return _Bounds(int(last), classes, of_class, self.sizes.items > 0)

    def merged(
        self, other: _Smallest, take: Callable[[NDArray[np.int64]], Observations] | None
    ) -> _Smallest:
        """Return the smallest of both; `take` returns rows that hashes may not tell apart."""
        rows = np.concatenate([self.rows, other.rows])
        order = np.concatenate([self.order, other.order])
        each = np.concatenate([self.amounts, other.amounts])

        def identities(places: NDArray[np.int64]) -> Hashes:
            assert take is not None
            return item_hashes(take(rows[places]), conjunctions=True)

        first, amounts = distinct_items(order, each, None if take is None else identities)
        class_ = np.concatenate([self.class_, other.class_])[first]
        ranks, per_class = ranks_within(class_), min(self.per_class, other.per_class)
        counts = np.unique(class_, return_counts=True)[1]
        if per_class and counts.clip(max=per_class).sum() > self.sizes.items:
            per_class = min(per_class, most_per_class(counts, self.sizes.items))
        keep = ranks < per_class
        keep[: self.sizes.candidates] = True
        first = first[keep]
        return _Smallest(
            rows[first], order[first], class_[keep], amounts[keep], self.sizes, per_class
        )


def _concatenated(one: Target, other: Target) -> Target:
    """Return the targets of the items of both."""
    parts = [np.asarray(target.column.values) for target in (one, other)]
    classes = reduce(union_of_classes, parts, parts[0][:0])  # the values of a part are in no order
    column = Column.concatenated(
        [
            replace(target.column, values=places_of(classes, values).tolist())
            for target, values in zip((one, other), parts, strict=True)
        ]
    )
    return Target(replace(column, values=classes[column.values]), one.form.merged(other.form))
