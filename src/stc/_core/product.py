"""The product of columns: one column whose values are tuples, encoded as numbers, never as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.observations import Column, finite, offsets_of, side_by_side

# A table of all possible keys is worth its memory up to this size, or a few cells for each key.
_SMALL_TABLE = 1 << 20
_CELLS_PER_KEY = 4
# Keys are numbers below this, so that no product of two sizes leaves the range of an int64.
LARGEST_KEY = 1 << 62


class Keys:
    """Tuples as numbers: each code added is one more digit, in a base of its own.

    When the next digit would not fit any more, the keys there are get renumbered without gaps.
    """

    def __init__(self, count: int) -> None:
        self.numbers: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
        self._size = 1
        self._bases: list[int] = []
        # What was renumbered: the bases of its digits, and the old number of each new one.
        self._renumbered: list[tuple[list[int], NDArray[np.int64]]] = []

    def append(self, codes: NDArray[Any], base: int) -> None:
        """One more digit below `base` for each tuple."""
        base = max(base, 1)
        if self._size > LARGEST_KEY // base:
            used, self.numbers = distinct(self.numbers, self._size)
            self._renumbered.append((self._bases, used))
            self._size, self._bases = max(len(used), 1), []
        self.numbers = self.numbers * base + codes
        self._size *= base
        self._bases = [*self._bases, base]

    def repeat(self, places: NDArray[Any]) -> None:
        """The tuples at these places, each as often as it is named."""
        self.numbers = self.numbers[places]

    def distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct tuples as rows of digits, and which of them each tuple is."""
        used, codes = distinct(self.numbers, self._size)
        digits: list[NDArray[np.int64]] = []
        rest = used
        for bases, before in [*self._renumbered, (self._bases, None)][::-1]:
            if before is not None:
                rest = before[rest]
            for base in reversed(bases):
                rest, digit = np.divmod(rest, base)
                digits.append(digit)
        return np.column_stack(digits[::-1]), codes


def distinct(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys, sorted, all below `size`; and the place of each key among them."""
    if size > max(_SMALL_TABLE, _CELLS_PER_KEY * len(keys)):
        return np.unique(keys, return_inverse=True)
    there = np.zeros(size, dtype=bool)
    there[keys] = True
    place = np.cumsum(there) - 1
    return np.flatnonzero(there), place[keys]


def joined(columns: Sequence[Column], n_items: int) -> Column:
    """Several columns as one bag of values; the codes of the later ones come after the first's."""
    if len(columns) == 1:
        return columns[0]
    if not columns:
        return Column(None, (), 0, np.zeros(n_items, dtype=np.int64))
    parts = []
    size = 0
    for column in columns:
        items, codes, weights = column.entries()
        parts.append((weights, codes.astype(np.int64) + size, _bounds(items, n_items)))
        size += column.n_values
    weights, codes, offsets = side_by_side(parts)
    same = all(column.weights is None for column in columns)
    angles = None
    if any(column.angles is not None for column in columns):
        each = [
            np.zeros(len(p[1])) if c.angles is None else _present(c)
            for c, p in zip(columns, parts, strict=True)
        ]
        angles = side_by_side([(own, *part[1:]) for own, part in zip(each, parts, strict=True)])[0]
    return Column(None, range(size), size, codes, offsets, None if same else weights, angles)


def sizes(columns: Sequence[Column], n_items: int) -> NDArray[np.float64]:
    """How many tuples each item has in the product of these columns."""
    total = np.ones(n_items)
    for column in columns:
        total *= column.lengths()
    return total


def crossed(columns: Sequence[Column]) -> Column:
    """The product of each item's distributions: its values are rows of codes, one per column.

    An item without a value in one of the columns has none in their product.
    """
    if all(column.offsets is None for column in columns):
        return _crossed_cells(columns)
    return _crossed_bags(columns)


def _crossed_cells(columns: Sequence[Column]) -> Column:
    """One value an item in every column."""
    n_items = columns[0].n_items
    present = np.ones(n_items, dtype=bool)
    for column in columns:
        if not column.complete:
            present &= column.codes != column.n_values
    complete = bool(present.all())
    keys = Keys(int(np.count_nonzero(present)))
    for column in columns:
        keys.append(column.codes if complete else column.codes[present], column.n_values)
    values, codes = keys.distinct()
    if not complete:
        every = np.full(n_items, len(values))
        every[present] = codes
        codes = every
    turned = [column.angles for column in columns if column.angles is not None]
    angles: NDArray[np.float64] | None = np.sum(turned, axis=0) if turned else None
    return Column(None, values, len(values), codes, angles=angles, complete=complete)


def _crossed_bags(columns: Sequence[Column]) -> Column:
    """Several values an item somewhere: the cartesian product within each item."""
    n_items = columns[0].n_items
    items = np.flatnonzero(sizes(columns, n_items))  # one entry each, to be multiplied
    keys = Keys(len(items))
    x = np.ones(len(items))
    theta = np.zeros(len(items))
    for column in columns:
        own_items, codes, weights = column.entries()
        offsets = _bounds(own_items, n_items)
        repeats = np.diff(offsets)[items]
        entries = np.repeat(np.arange(len(items)), repeats)
        within = np.arange(len(entries)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        items = items[entries]
        chosen = offsets[items] + within
        theta = theta[entries] + (0.0 if column.angles is None else _present(column)[chosen])
        keys.repeat(entries)
        keys.append(codes[chosen], column.n_values)
        if weights is None:
            x = x[entries] / repeats[entries]
        else:
            totals = finite(np.broadcast_to(column.totals, n_items))
            x = x[entries] * (weights[chosen] / totals[items])
    values, codes = keys.distinct()
    # Where every value of an item weighs the same, so does every tuple.
    same = all(column.weights is None for column in columns)
    weights = None if same else np.maximum(x, np.finfo(np.float64).tiny)  # tiny, but not absent
    turned = any(column.angles is not None for column in columns)
    angles = theta if turned else None
    return Column(None, values, len(values), codes, _bounds(items, n_items), weights, angles)


def _present(column: Column) -> NDArray[np.float64]:
    """The angles of a column's entries."""
    assert column.angles is not None
    if column.offsets is not None or column.complete:
        return column.angles
    return np.asarray(column.angles[column.codes != column.n_values])


def _bounds(items: NDArray[Any], n_items: int) -> NDArray[np.int64]:
    return offsets_of(np.bincount(items, minlength=n_items))


def objects(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.object_]:
    """Values as an array that can be indexed, whatever they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array
