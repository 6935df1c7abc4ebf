"""Combinations of columns: their union as one column, and their product, a column of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.observations import (
    Column,
    SparseOffsets,
    concatenate_by_item,
    fits_table,
    item_offsets,
)

# TupleKeys are below this, so that they fit into an int64.
LARGEST_KEY = 1 << 62


class TupleKeys:
    """Tuples of codes encoded as integers: each code is one digit, in a base of its own.

    When the next digit would overflow, the existing keys are renumbered without gaps.
    """

    def __init__(self, count: int) -> None:
        self.numbers: NDArray[np.int64] = np.zeros(count, dtype=np.int64)
        self._size = 1
        self._bases: list[int] = []
        # For each renumbering: the bases of the digits until then, and the old key of each new one.
        self._renumbered: list[tuple[list[int], NDArray[np.int64]]] = []

    def append(self, codes: NDArray[Any], base: int) -> None:
        """Append a digit below `base` to each tuple."""
        base = max(base, 1)
        if self._size > LARGEST_KEY // base:
            used, self.numbers = unique_keys(self.numbers, self._size)
            self._renumbered.append((self._bases, used))
            self._size, self._bases = max(len(used), 1), []
        self.numbers = self.numbers * base + codes
        self._size *= base
        self._bases = [*self._bases, base]

    def repeat(self, places: NDArray[Any]) -> None:
        """Replace the tuples by those at these places, which may repeat."""
        self.numbers = self.numbers[places]

    def distinct(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct tuples as rows of digits, and the row of each tuple."""
        used, codes = unique_keys(self.numbers, self._size)
        digits: list[NDArray[np.int64]] = []
        rest = used
        for bases, before in [*self._renumbered, (self._bases, None)][::-1]:
            if before is not None:
                rest = before[rest]
            for base in reversed(bases):
                rest, digit = np.divmod(rest, base)
                digits.append(digit)
        return np.column_stack(digits[::-1]), codes


def unique_keys(keys: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the sorted distinct keys, all below `size`, and the index of each key among them."""
    if not fits_table(size, len(keys)):
        return np.unique(keys, return_inverse=True)
    present = np.zeros(size, dtype=bool)
    present[keys] = True
    place = np.cumsum(present) - 1
    return np.flatnonzero(present), place[keys]


def first_places(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first place of each number from 0 to the largest; all of them occur."""
    first = np.empty(int(numbers.max(initial=-1)) + 1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last value assigned stays
    return first


def union(columns: Sequence[Column], n_items: int) -> Column:
    """Return several columns as one bag of values; codes are numbered through column by column."""
    if len(columns) == 1:
        return columns[0]
    if not columns:
        return Column(None, (), 0, np.zeros(n_items, dtype=np.int64))
    parts = []
    size = 0
    for column in columns:
        items, codes, weights = column.entries()
        sparse = isinstance(column.offsets, SparseOffsets)
        offsets = column.offsets if sparse else item_offsets(items, n_items)
        parts.append((weights, codes.astype(np.int64) + size, offsets))
        size += column.n_values
    weights, codes, offsets = concatenate_by_item(parts)
    unweighted = all(column.weights is None for column in columns)
    angles = None
    if any(column.angles is not None for column in columns):
        each = map(_entry_angles, columns)
        turned = [(theta, *part[1:]) for theta, part in zip(each, parts, strict=True)]
        angles = concatenate_by_item(turned)[0]
    return Column(None, range(size), size, codes, offsets, None if unweighted else weights, angles)


def cartesian_product(columns: Sequence[Column]) -> Column:
    """Return the product of the distributions of each item: values are rows of codes.

    An item without a value in one of the columns has none in the product.
    """
    rare = [c.offsets.items for c in columns if isinstance(c.offsets, SparseOffsets)]
    if rare:  # only items that have a value in all of these
        items = reduce(partial(np.intersect1d, assume_unique=True), rare)
        crossed = cartesian_product([column.take(items).dense() for column in columns])
        return crossed.spread(items, columns[0].n_items)
    if all(column.offsets is None for column in columns):
        return _crossed_cells(columns)
    return _crossed_bags(columns)


def _crossed_cells(columns: Sequence[Column]) -> Column:
    """Return the product of columns with at most one value per item."""
    n_items = columns[0].n_items
    present = np.ones(n_items, dtype=bool)
    for column in columns:
        if not column.complete:
            present &= column.codes != column.n_values
    complete = bool(present.all())
    keys = TupleKeys(int(np.count_nonzero(present)))
    for column in columns:
        keys.append(column.codes if complete else column.codes[present], column.n_values)
    values, codes = keys.distinct()
    if not complete:
        present_codes, codes = codes, np.full(n_items, len(values))
        codes[present] = present_codes
    turned = [column.angles for column in columns if column.angles is not None]
    angles: NDArray[np.float64] | None = np.sum(turned, axis=0) if turned else None
    return Column(None, values, len(values), codes, angles=angles, complete=complete)


def _crossed_bags(columns: Sequence[Column]) -> Column:
    """Return the product of columns with several values per item."""
    n_items = columns[0].n_items
    # One entry for each item that has a tuple at all; each column multiplies the entries.
    items = np.flatnonzero(np.all([column.lengths() for column in columns], axis=0))
    keys = TupleKeys(len(items))
    x = np.ones(len(items))
    theta = np.zeros(len(items))
    for column in columns:
        column_items, codes, weights = column.entries()
        offsets = item_offsets(column_items, n_items)
        repeats = np.diff(offsets)[items]
        entries = np.repeat(np.arange(len(items)), repeats)
        within = np.arange(len(entries)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        items = items[entries]
        chosen = offsets[items] + within
        theta = theta[entries] + _entry_angles(column)[chosen]
        keys.repeat(entries)
        keys.append(codes[chosen], column.n_values)
        if weights is None:
            x = x[entries] / repeats[entries]
        else:
            totals = np.broadcast_to(column.totals, n_items)
            x = x[entries] * (weights[chosen] / totals[items])
    values, codes = keys.distinct()
    # Where all values of an item have equal weights, so have all tuples.
    unweighted = all(column.weights is None for column in columns)
    weights = None if unweighted else np.maximum(x, np.finfo(np.float64).tiny)  # never absent
    angles = theta if any(column.angles is not None for column in columns) else None
    return Column(None, values, len(values), codes, item_offsets(items, n_items), weights, angles)


def _entry_angles(column: Column) -> NDArray[np.float64]:
    """Return the angle of each entry of a column."""
    if column.angles is None:
        return np.zeros(len(column.entries()[1]))
    if column.offsets is not None or column.complete:
        return column.angles
    return np.asarray(column.angles[column.codes != column.n_values])


def object_array(values: Sequence[Any] | NDArray[Any]) -> NDArray[np.object_]:
    """Return values of any kind as a one-dimensional array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array
