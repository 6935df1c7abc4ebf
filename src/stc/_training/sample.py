"""The items that choose: a sample that depends neither on the order of the items nor on chance.

Settings are chosen by the distinct items of each class with the smallest hashes of their values and
label; conjunctions, n-grams and knots by those with the smallest of all. Each has its total weight,
so a row of weight 2 is two rows. A part of the items keeps its smallest, and parts are merged: the
result is the same for data in memory, in files, in a database or on a cluster. Where items come in
groups, whole groups with the smallest hashes choose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.model import union_of_classes
from stc._core.observations import Column, Observations, run_starts
from stc._core.target import Target
from stc._input.values import canonical
from stc._utils.hashing import GOLDEN, Hashes, mixed, sums_of_runs, text_hashes
from stc.exceptions import DataError

# Rows of a batch in memory among which the smallest are found at a time.
_BLOCK_ROWS = 1 << 18
_LARGEST = np.iinfo(np.uint64).max
# An item of this weight occurs twice, whatever rounding left of it.
_TWICE = 2 - 1e-9


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
        count = _most_groups if self.grouped else _most_per_class
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
    order = _orders(observed, target)[present]
    first, weight = _distinct(order, sample_weight[present], None)
    classes = np.argmax(truth[present[first]], axis=1)
    rank = _ranks(classes)
    # They are in the order of their hashes, so the first of a class have the smallest.
    chosen = np.flatnonzero(rank < _most_per_class(np.bincount(classes), most))
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
    order = _orders(observed, target, conjunctions=True)[present]
    first, weight, rank = _groups(order, sample_weight[present], groups[present])
    ascending = np.argsort(first)
    first, weight, rank = first[ascending], weight[ascending], rank[ascending]
    items = present[first]
    _, same, times = np.unique(order[first], return_inverse=True, return_counts=True)
    truth = truth[items]
    classes = np.argmax(truth, axis=1)
    return Sample(items, weight, truth, classes, rank, mass, times[same] > 1, grouped=True)


def _groups(
    order: Hashes, sample_weight: Floats, groups: NDArray[Any]
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """Return the distinct items of groups, their weights, and the ranks of their groups.

    The hash of a group depends on its items and their weights only.
    """
    codes = np.unique(groups, return_inverse=True)[1]
    with np.errstate(over="ignore"):
        inside = mixed(order + GOLDEN * (codes + 1).astype(np.uint64))
        first, weight = _distinct(inside, sample_weight, None)
        members = codes[first]
        bits = weight.astype(np.float32).view(np.uint32).astype(np.uint64)
        of_group = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.uint64)
        np.add.at(of_group, members, mixed(order[first] + GOLDEN * bits))
    rank = np.empty(len(of_group), dtype=np.int64)
    rank[np.argsort(of_group, kind="stable")] = np.arange(len(of_group))
    return first, weight, rank[members]


def _most_groups(sizes: NDArray[np.int64], most: int) -> int:
    """Return how many groups, the first ones, have at most so many items; at least two."""
    return max(int(np.searchsorted(np.cumsum(sizes), most, side="right")), 2)


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
        order = _orders(observed, target.column, conjunctions=True)[present]
        first, _, rank = _groups(order, sample_weight[present], members)
        ranks = np.empty(len(codes), dtype=np.int64)
        ranks[members[first]] = rank
        distinct = np.bincount(rank)
        kept = ranks[members] < _most_groups(distinct, max(sizes))
        rows = present[kept]
        column = target.column.take(rows)
        drawn = observed.take(rows).compacted(), replace(target, column=column)
        return cls(*drawn, sample_weight[rows], ranks[members[kept]], distinct, sizes)

    @property
    def candidates(self) -> Items:
        """The items by which conjunctions and n-grams are chosen."""
        return self._taken(self.sizes.candidates)

    @property
    def times(self) -> Floats:
        """How often each candidate occurs: they are not distinct."""
        return np.ones(len(self.candidates.sample_weight))

    @property
    def sample(self) -> Items:
        """The items by which settings are chosen."""
        return self._taken(self.sizes.items)

    def _taken(self, most: int) -> Items:
        rows = np.flatnonzero(self.groups < _most_groups(self.distinct, most))
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
        Their total weights, and how often they occur, items x 2.
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
        order, class_ = _orders(observed, target.column), _classes_of(target.column)
        exact = whole is not None or any(column.conjunction for column in observed.columns)
        none = np.zeros(0, dtype=np.int64)
        kept = _Smallest(none, order[:0], class_[:0], np.zeros((0, 2)), sizes, sizes.items)
        bounds = kept.bounds if before is None else before._smallest.bounds
        present = np.flatnonzero(sample_weight > 0)
        for start in range(0, len(present), _BLOCK_ROWS):
            block = present[start : start + _BLOCK_ROWS]
            block = block[bounds.include(order[block], class_[block])]
            if len(block):
                more = kept._replace(
                    rows=block, order=order[block], class_=class_[block],
                    amounts=np.column_stack([sample_weight[block], np.ones(len(block))]),
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
    def times(self) -> Floats:
        """How often each candidate occurs among the items, whatever its weight."""
        return self.amounts[: self.sizes.candidates, 1]

    @property
    def sample(self) -> Items:
        """The items by which settings are chosen."""
        return self._taken(np.flatnonzero(_ranks(self.class_) < self.per_class))

    def _taken(self, items: NDArray[np.int64]) -> Items:
        observed = self.observed.take(items).compacted()
        return Items(observed, self.target.column.take(items), self.amounts[items, 0])


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
        lasts = np.flatnonzero(_ranks(self.class_) == self.per_class - 1)
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
            return _item_hashes(take(rows[places]), conjunctions=True)

        first, amounts = _distinct(order, each, None if take is None else identities)
        class_ = np.concatenate([self.class_, other.class_])[first]
        ranks, per_class = _ranks(class_), min(self.per_class, other.per_class)
        counts = np.unique(class_, return_counts=True)[1]
        if per_class and counts.clip(max=per_class).sum() > self.sizes.items:
            per_class = min(per_class, _most_per_class(counts, self.sizes.items))
        keep = ranks < per_class
        keep[: self.sizes.candidates] = True
        first = first[keep]
        return _Smallest(
            rows[first], order[first], class_[keep], amounts[keep], self.sizes, per_class
        )


def _distinct(
    order: Hashes, amounts: Floats, identities: Callable[[NDArray[np.int64]], Hashes] | None
) -> tuple[NDArray[np.int64], Floats]:
    """Return one of the equal items of each, in the order of their hashes, and their total amounts.

    `identities` tells apart items of the same hash.
    """
    ranked = np.argsort(order)  # several times faster than a stable sort of hashes
    starts = run_starts(order[ranked])
    if len(starts) == len(order):
        return ranked, amounts[ranked]
    sizes = np.diff(starts, append=len(order))
    equal = np.repeat(sizes > 1, sizes)
    rows = ranked[equal]
    identity = np.zeros(len(order), dtype=np.uint64)
    if identities is not None:
        identity[rows] = identities(rows)
    ranked[equal] = rows[np.lexsort((rows, identity[rows], order[rows]))]
    starts = run_starts(order[ranked], identity[ranked])
    return ranked[starts], np.add.reduceat(amounts[ranked], starts, axis=0)


def _concatenated(one: Target, other: Target) -> Target:
    """Return the targets of the items of both."""
    parts = [np.asarray(target.column.values) for target in (one, other)]
    classes = reduce(union_of_classes, parts)
    column = Column.concatenated(
        [
            replace(target.column, values=np.searchsorted(classes, values).tolist())
            for target, values in zip((one, other), parts, strict=True)
        ]
    )
    return Target(replace(column, values=classes[column.values]), one.form.merged(other.form))


def _ranks(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each item among those of its class."""
    _, codes, counts = np.unique(classes, return_inverse=True, return_counts=True)
    # Small numbers are sorted faster.
    order = np.argsort(codes.astype(np.min_scalar_type(len(counts))), kind="stable")
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(classes), dtype=np.int64)
    ranks[order] = np.arange(len(classes)) - starts[codes[order]]
    return ranks


def _most_per_class(sizes: NDArray[np.int64], most: int) -> int:
    """Return the largest number such that classes of at most so many items sum up to `most`."""
    limits = np.arange(1, max(int(sizes.max()), 1) + 1)
    ordered = np.sort(sizes)
    below = np.searchsorted(ordered, limits, side="right")
    totals = np.concatenate([[0], np.cumsum(ordered)])[below] + limits * (len(sizes) - below)
    return max(int(np.searchsorted(totals, most, side="right")), 1)


# --- hashes ---------------------------------------------------------------------------------------


def _orders(observed: Observations, target: Column, *, conjunctions: bool = False) -> Hashes:
    """Return a hash of the values and the label of each item, by which items are ordered."""
    hashes = _item_hashes(observed, conjunctions=conjunctions)
    with np.errstate(over="ignore"):
        hashes += GOLDEN * _column_hashes(target, _label_hashes(target))
    return mixed(hashes)


def _classes_of(target: Column) -> Hashes:
    """Return the hash of the class of each item; of several, of the one with the largest share."""
    hashes = np.append(_label_hashes(target), np.uint64(0))
    if target.offsets is None:
        return np.asarray(hashes[target.codes])
    items, codes, weights = target.entries()
    largest = np.lexsort((codes, -weights if weights is not None else codes, items))
    classes = np.zeros(target.n_items, dtype=np.uint64)
    starts = run_starts(items)
    classes[items[starts]] = hashes[codes[largest[starts]]]
    return classes


def _item_hashes(observed: Observations, *, conjunctions: bool) -> Hashes:
    """Return a hash of the values of each item, with or without conjunctions and n-grams."""
    total = np.zeros(observed.n_items, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in observed.columns:
            if conjunctions or not column.conjunction:
                total += _column_hashes(column, _value_hashes(column))
    return total


def _column_hashes(column: Column, hashes: Hashes) -> Hashes:
    """Return the sum of the hashes of each item's values, with their weights."""
    if column.offsets is None:
        return np.append(hashes, np.uint64(0)).take(column.codes)
    entries, weights = hashes[column.codes], column.weights
    if weights is not None:
        several = np.flatnonzero(weights != 1)
        bits = np.ascontiguousarray(weights[several]).view(np.uint64)
        with np.errstate(over="ignore"):
            entries[several] = mixed(entries[several] + GOLDEN * bits)
    total = np.zeros(column.n_items, dtype=np.uint64)
    filled = np.flatnonzero(np.diff(column.offsets))
    if len(filled):
        total[filled] = np.add.reduceat(entries, column.offsets[filled])
    return total


def _value_hashes(column: Column) -> Hashes:
    """Return a hash of each value, with its attribute."""
    if column.values is None:
        return mixed(np.arange(1, column.n_values + 1, dtype=np.uint64))
    values: Any = column.values
    if column.conjunction:
        return _tuple_hashes(values)
    (salt,) = text_hashes([f"attribute {column.attribute}"])
    missing = [values.index(None)] if None in values else []
    hashes = text_hashes([value or "" for value in values] if missing else values)
    hashes[missing] = GOLDEN
    with np.errstate(over="ignore"):
        return mixed(hashes + salt)


def _tuple_hashes(tuples: Sequence[tuple[str, ...]]) -> Hashes:
    """Return a hash of each tuple of texts."""
    if not len(tuples):
        return np.zeros(0, dtype=np.uint64)
    number: dict[str, int] = {}
    places = [number.setdefault(text, len(number)) for texts in tuples for text in texts]
    sizes = np.fromiter(map(len, tuples), dtype=np.int64, count=len(tuples))
    return mixed(sums_of_runs(text_hashes(list(number))[places], sizes))


def _label_hashes(target: Column) -> Hashes:
    """Return a hash of each class."""
    values: Any = target.values
    return text_hashes([_label_text(value) for value in np.asarray(values).tolist()])


def _label_text(label: Any) -> str:
    """Return the same text for 1 and 1.0."""
    if isinstance(label, tuple):
        return repr(tuple(map(_label_text, label)))
    plain = isinstance(label, str | int | float)
    return canonical(label) or "" if plain else repr(label)
