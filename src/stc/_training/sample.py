"""The items that choose: a sample that depends neither on the order of the items nor on chance.

Of each class it has the distinct items with the smallest hashes of their values and label, each
with its total weight. So it is the same for rows in any order, and for a row of weight 2 or two
rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.observations import Column, Observations, sum_at
from stc._utils.hashing import mixed

_Hashes = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Sample(NamedTuple):
    """Distinct items with their labels.

    Attributes
    ----------
    items
        The first of the equal items of each, in ascending order.
    weight
        The total weight of the equal items.
    share
        The weight of each in means: classes have their share of all items.
    repeated
        Share of all items that occur more than once.
    half
        0 or 1: two halves of the items, within each class.
    """

    items: NDArray[np.int64]
    weight: Floats
    share: Floats
    repeated: float
    half: NDArray[np.int64]
    classes: NDArray[np.int64]
    rank: NDArray[np.int64]
    mass: Floats

    def first(self, most: int) -> Sample:
        """Return at most so many of the items, but one of each class."""
        kept = self.rank < _most_per_class(np.bincount(self.classes), most)
        if kept.all():
            return self
        classes, weight = self.classes[kept], self.weight[kept]
        share = _shares(classes, weight, self.mass)
        return Sample(self.items[kept], weight, share, self.repeated, self.half[kept], classes, self.rank[kept], self.mass)


def sample_of(
    observed: Observations, target: Column, truth: Floats, sample_weight: Floats, most: int
) -> Sample:
    """Return at most so many distinct items, but one of each class; all have weight."""
    present = np.flatnonzero(sample_weight > 0)
    hashes = mixed(_item_hashes(observed.columns) + _GOLDEN * _item_hashes([target]))[present]
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    weight = sum_at(place, sample_weight[present], len(first))
    times = np.bincount(place)
    repeated = float(weight[(times > 1) | (weight >= 2)].sum() / weight.sum())
    classes = np.argmax(truth[present[first]], axis=1)
    rank = _ranks(classes)
    # np.unique sorts by hash, so the first of a class have the smallest hashes.
    chosen = np.flatnonzero(rank < _most_per_class(np.bincount(classes), most))
    chosen = chosen[np.argsort(first[chosen])]
    mass, drawn = sum_at(classes, weight, classes.max() + 1), classes[chosen]
    share = _shares(drawn, weight[chosen], mass)
    return Sample(present[first[chosen]], weight[chosen], share, repeated, rank[chosen] % 2, drawn, rank[chosen], mass)


def _shares(classes, weight, mass):
    sampled = sum_at(classes, weight, len(mass))
    share = weight * mass[classes] / sampled[classes]
    share /= share.sum()
    return share


def smallest(observed: Observations, target: Column, most: int) -> NDArray[np.bool_]:
    """Return which items have the smallest hashes; equal items all or none, if they can."""
    hashes = mixed(_item_hashes(observed.columns) + _GOLDEN * _item_hashes([target]))
    return np.asarray(hashes <= np.partition(hashes, most - 1)[most - 1])


def _ranks(classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each item among those of its class."""
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], classes[order])
    ranks = np.empty(len(classes), dtype=np.int64)
    ranks[order] = np.arange(len(classes)) - starts
    return ranks


def _most_per_class(sizes: NDArray[np.int64], most: int) -> int:
    """Return the largest number such that classes of at most so many items sum up to `most`."""
    limits = np.arange(1, max(int(sizes.max()), 1) + 1)
    ordered = np.sort(sizes)
    below = np.searchsorted(ordered, limits, side="right")
    totals = np.concatenate([[0], np.cumsum(ordered)])[below] + limits * (len(sizes) - below)
    return max(int(np.searchsorted(totals, most, side="right")), 1)


def _item_hashes(columns: Iterable[Column]) -> _Hashes:
    """Return a hash of the values of each item; conjunctions follow from the other values."""
    total: _Hashes | None = None
    with np.errstate(over="ignore"):
        for column in columns:
            if column.conjunction:
                continue
            part = _column_hashes(column)
            total = part if total is None else total + part
    if total is None:
        raise ValueError("items without columns")
    return total


def _column_hashes(column: Column) -> _Hashes:
    """Return the sum of the hashes of each item's values, with their weights."""
    values: Any = range(column.n_values) if column.values is None else column.values
    texts = [repr((column.attribute, _plain(value))) for value in values]
    hashes = np.array([_text_hash(text) for text in texts], dtype=np.uint64)
    if column.offsets is None:
        return np.asarray(np.append(hashes, np.uint64(0))[column.codes])
    items, codes, weights = column.entries()
    entries = hashes[codes]
    if weights is not None:
        entries = mixed(entries + _GOLDEN * np.ascontiguousarray(weights).view(np.uint64))
    total = np.zeros(column.n_items, dtype=np.uint64)
    np.add.at(total, items, entries)
    return total


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _text_hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
