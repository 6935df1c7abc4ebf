"""Observations: a batch of encoded items, stored column by column.

The codes of a column are indices into the distinct values of that column and do not depend on a
model. A vocabulary maps them to features later, with one lookup per distinct value instead of one
per cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Kind = Literal["table", "counts", "documents"]
Missing = Literal["ignore", "category"]
# (weights or None, codes, offsets); the codes of item n are `codes[offsets[n]:offsets[n + 1]]`.
Part = tuple[NDArray[np.float64] | None, NDArray[Any], Any]
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")

# A dense table is worth its memory up to this many cells, or a few cells for each entry.
_SMALL_TABLE = 1 << 20
_CELLS_PER_ENTRY = 4


@dataclass(frozen=True, eq=False)
class SparseOffsets:
    """Bounds of the codes of each item, in a column that few items have a value in.

    It takes memory for these items only, and is an array of all bounds where one is needed.

    Attributes
    ----------
    items
        The items that have values, ascending.
    bounds
        Bounds of the codes of each of these items.
    n_items
        Number of all items.
    single
        Whether the attribute has single values, not lists of them.
    """

    items: NDArray[np.int64]
    bounds: NDArray[np.int64]
    n_items: int
    single: bool

    def __len__(self) -> int:
        return self.n_items + 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        lengths = np.zeros(self.n_items, dtype=np.int64)
        lengths[self.items] = np.diff(self.bounds)
        return offsets_of(lengths).astype(dtype or np.int64, copy=False)

    def __getitem__(self, places: Any) -> Any:
        return np.asarray(self)[places]


@dataclass(frozen=True)
class Column:
    """One attribute, or the target, of a batch of items.

    Attributes
    ----------
    attribute
        Name of the attribute; None for words and columns of counts; a tuple of names for a
        conjunction of several attributes, the empty tuple for n-grams.
    values
        The distinct values, of which None is the missing category. If None instead of a sequence,
        the codes are feature numbers (the columns of a sparse matrix).
    n_values
        Number of values. In a single-valued column, the code `n_values` means "no value".
    codes
        Index of the value. One code per item if `offsets` is None; otherwise
        `codes[offsets[n]:offsets[n + 1]]` are the distinct values of item n.
    offsets, weights
        Bounds of the codes of each item, and the weight of each code (None: all weights are 1).
        SparseOffsets where few items have values.
    angles
        `theta_j` of each code, in radians (None: all angles are 0).
    complete
        Whether every item is known to have a value.
    floats
        Whether the values were floating-point numbers.
    continuous
        Whether the values look like measurements rather than categories.
    """

    attribute: str | tuple[str, ...] | None
    values: Sequence[Any] | NDArray[Any] | None
    n_values: int
    codes: NDArray[Any]
    offsets: NDArray[Any] | SparseOffsets | None = None
    weights: NDArray[np.float64] | None = None
    angles: NDArray[np.float64] | None = None
    complete: bool = False
    floats: bool = False
    continuous: bool = False

    @property
    def n_items(self) -> int:
        """Number of items in the batch."""
        return len(self.codes) if self.offsets is None else len(self.offsets) - 1

    @cached_property
    def totals(self) -> NDArray[np.float64] | float:
        """Total weight of each item in this column, or one number if it is equal for all items."""
        if self.offsets is None and self.complete:
            return 1.0
        if self.offsets is None or self.weights is None:
            return self.lengths().astype(np.float64)
        return sum_by_item(self.weights, self.offsets)

    def lengths(self) -> NDArray[Any]:
        """Return the number of values of each item."""
        if self.offsets is not None:
            return np.diff(self.offsets)
        return np.asarray(np.not_equal(self.codes, self.n_values))

    def matrix(self) -> sparse.csr_array:
        """Return the weights as a matrix, items x values."""
        codes, offsets = self.codes, self.offsets
        if offsets is None:
            items, codes, _ = self.entries()
            offsets = np.searchsorted(items, np.arange(self.n_items + 1))
        offsets = np.asarray(offsets)
        weights = np.ones(len(codes)) if self.weights is None else self.weights
        # Factors with indices of one size need no conversion in a product.
        narrow = max(len(codes), *(shape := (self.n_items, self.n_values))) < 2**31
        index = np.int32 if narrow else np.int64
        indices = codes.astype(index, copy=False), offsets.astype(index, copy=False)
        return sparse.csr_array((weights, *indices), shape=shape)

    def entries(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """Return (items, codes, weights) of all values present; weights is None if all are 1."""
        if self.offsets is not None:
            return items_of(self.offsets), self.codes, self.weights
        if self.complete:
            return np.arange(self.n_items), self.codes, None
        items = np.flatnonzero(self.codes != self.n_values)
        return items, self.codes[items], None

    def first_entry(self, wrong: NDArray[np.bool_]) -> tuple[int | None, int]:
        """Return (item, code) of the first wrong value; (None, the first wrong code) without."""
        items, codes, _ = self.entries()
        for entry in np.flatnonzero(wrong[codes])[:1]:
            return int(items[entry]), int(codes[entry])
        return None, int(np.argmax(wrong))

    @property
    def stored(self) -> Column:
        """The column of the items in its SparseOffsets only."""
        assert isinstance(self.offsets, SparseOffsets)
        single = self.offsets.single
        return replace(self, offsets=None if single else self.offsets.bounds, complete=single)

    def spread(self, items: NDArray[Any], n_items: int) -> Column:
        """Return the column of many items, of which these, ascending, have the values."""
        present = self.lengths() > 0
        if not present.all():
            return self.select(present).spread(items[present], n_items)
        single = self.offsets is None
        bounds = np.arange(len(items) + 1) if single else np.asarray(self.offsets)
        offsets = SparseOffsets(np.asarray(items, dtype=np.int64), bounds, n_items, single)
        return replace(self, offsets=offsets, complete=False)

    def dense(self) -> Column:
        """Return the column with a place for each item, whether it has values or not."""
        if not isinstance(self.offsets, SparseOffsets):
            return self
        if not self.offsets.single:
            return replace(self, offsets=np.asarray(self.offsets))
        codes = np.full(self.n_items, self.n_values, dtype=np.int64)
        codes[self.offsets.items] = self.codes
        angles = None
        if self.angles is not None:
            angles = np.zeros(self.n_items)
            angles[self.offsets.items] = self.angles
        return replace(self, codes=codes, offsets=None, angles=angles, complete=False)

    @property
    def conjunction(self) -> bool:
        """Whether each value is a tuple: a conjunction of attributes, or an n-gram."""
        return isinstance(self.attribute, tuple)

    def keep_values(self, keep: NDArray[np.bool_]) -> Column:
        """Return the column with some of its values; the other values become missing."""
        if keep.all():
            return self
        if isinstance(self.offsets, SparseOffsets):
            return self.stored.keep_values(keep).spread(self.offsets.items, self.n_items)
        values: Any = self.values
        kept = [values[k] for k in np.flatnonzero(keep).tolist()]
        numbers = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
        codes = numbers[self.codes]
        if self.offsets is None:
            codes[codes < 0] = len(kept)
            return replace(self, values=kept, n_values=len(kept), codes=codes, complete=False)
        present = codes >= 0
        return replace(
            self,
            values=kept,
            n_values=len(kept),
            codes=codes[present],
            offsets=item_offsets(items_of(self.offsets)[present], self.n_items),
            weights=_at(self.weights, present),
            angles=_at(self.angles, present),
        )

    def compacted(self) -> Column:
        """Return the column without the values that no item has."""
        if self.values is None:
            return self
        used = np.zeros(self.n_values + 1, dtype=bool)  # the last is that of missing values
        used[self.codes] = True
        if used[:-1].all():
            return self
        return replace(self.keep_values(used[:-1]), complete=self.complete)

    def select(self, keep: NDArray[np.bool_]) -> Column:
        """Return the column of the items in `keep`."""
        if self.offsets is None:
            return replace(self, codes=self.codes[keep], angles=_at(self.angles, keep))
        if isinstance(self.offsets, SparseOffsets):
            return self.take(np.flatnonzero(keep))
        lengths = np.diff(self.offsets)
        entries = np.repeat(keep, lengths)
        return replace(
            self,
            codes=self.codes[entries],
            offsets=offsets_of(lengths[keep]),
            weights=_at(self.weights, entries),
            angles=_at(self.angles, entries),
        )

    def take(self, items: NDArray[Any], order: NDArray[Any] | None = None) -> Column:
        """Return the column of the items with these numbers, in their order.

        `order` sorts the numbers: computed once for many columns with SparseOffsets.
        """
        if self.offsets is None:
            return replace(self, codes=self.codes.take(items), angles=_at(self.angles, items))
        if isinstance(self.offsets, SparseOffsets):
            order = np.argsort(items, kind="stable") if order is None else order
            return self._taken(items[order], order)
        lengths = np.diff(self.offsets)[items]
        offsets = offsets_of(lengths)
        entries = np.arange(offsets[-1]) + np.repeat(self.offsets[items] - offsets[:-1], lengths)
        return replace(
            self,
            codes=self.codes[entries],
            offsets=offsets,
            weights=_at(self.weights, entries),
            angles=_at(self.angles, entries),
        )

    def _taken(self, ordered: NDArray[Any], order: NDArray[Any]) -> Column:
        """Return the column of items, given their sorted numbers and the place of each."""
        assert isinstance(self.offsets, SparseOffsets)
        first, last = (np.searchsorted(ordered, self.offsets.items, side) for side in _SIDES)
        times = last - first
        bounds = offsets_of(times)
        places = order[np.arange(bounds[-1]) + np.repeat(first - bounds[:-1], times)]
        ascending = np.argsort(places)
        rows = np.repeat(np.arange(len(times)), times)[ascending]
        return self.stored.take(rows).spread(places[ascending], len(order))

    @classmethod
    def concatenated(cls, columns: Sequence[Column]) -> Column:
        """Return the items of several columns of one attribute, one after the other."""
        if len(columns) == 1:
            return columns[0]
        if any(isinstance(column.offsets, SparseOffsets) for column in columns):
            return cls._concatenated_sparse(columns)
        numbers: dict[Any, int] = {}
        codes, weights, lengths = [], [], []
        for column in columns:
            values: Any = column.values
            _, own, own_weights = column.entries()
            places = [numbers.setdefault(value, len(numbers)) for value in values]
            codes.append(np.array(places, dtype=np.int64)[own])
            weights.append(np.ones(len(own)) if own_weights is None else own_weights)
            lengths.append(column.lengths())
        joined, present = np.concatenate(codes), np.concatenate(lengths)
        result = replace(
            columns[0],
            values=list(numbers),
            n_values=len(numbers),
            complete=all(column.complete for column in columns),
            floats=all(column.floats for column in columns),
            continuous=all(column.continuous for column in columns),
        )
        if all(column.offsets is None for column in columns):
            single = np.full(len(present), len(numbers))
            single[present.astype(bool)] = joined
            return replace(result, codes=single)
        weighted = any(column.weights is not None for column in columns)
        return replace(
            result,
            codes=joined,
            offsets=offsets_of(present),
            weights=np.concatenate(weights) if weighted else None,
        )

    @classmethod
    def _concatenated_sparse(cls, columns: Sequence[Column]) -> Column:
        starts = offsets_of(np.array([column.n_items for column in columns]))
        items, stored = [], []
        for column, start in zip(columns, starts.tolist(), strict=False):
            if isinstance(column.offsets, SparseOffsets):
                items.append(column.offsets.items + start)
                stored.append(column.stored)
            else:
                items.append(np.arange(start, start + column.n_items))
                stored.append(column)
        return cls.concatenated(stored).spread(np.concatenate(items), int(starts[-1]))


@dataclass(frozen=True)
class Observations:
    """A batch of items: its columns, and the kind of data that they were read from.

    Attributes
    ----------
    kind
        "table" (attributes with values), "counts" (a sparse matrix) or "documents".
    n_items
        Number of items.
    columns
        The encoded columns.
    names
        Names of the attributes, in the order of the data.
    named
        Whether the data had names for them (a frame with string columns, records).
    closed
        Whether the attributes are fixed (frames and arrays) or may grow (records).
    missing
        Whether missing values are left out or are a category.
    """

    kind: Kind
    n_items: int
    columns: tuple[Column, ...]
    names: tuple[str, ...] = field(default=())
    named: bool = False
    closed: bool = True
    missing: Missing = "ignore"

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """Total weight of each item over all columns, unknown values included."""
        rare = [c for c in self.columns if isinstance(c.offsets, SparseOffsets)]
        each = [c.totals for c in self.columns if not isinstance(c.offsets, SparseOffsets)]
        if rare:  # added up by entry, not by item
            entries = [column.entries() for column in rare]
            items = np.concatenate([part[0] for part in entries])
            weights = [np.ones(len(part[1])) if part[2] is None else part[2] for part in entries]
            each.append(sum_at(items, np.concatenate(weights), self.n_items))
        constant = sum(total for total in each if isinstance(total, float))
        varying = [total for total in each if not isinstance(total, float)]
        if not varying:
            return np.broadcast_to(np.float64(constant), self.n_items)  # takes no memory
        totals: NDArray[np.float64] = np.sum(varying, axis=0) if len(varying) > 1 else varying[0]
        return totals + constant

    def renamed(self, names: tuple[str, ...]) -> Observations:
        """Return the items with other names for the columns, matched by position."""
        columns = tuple(
            replace(column, attribute=name)
            for column, name in zip(self.columns, names, strict=True)
        )
        return replace(self, columns=columns, names=names)

    def like(self, some: Observations) -> Observations:
        """Return the items with the attributes that some of them have, and their measurements."""
        column_of = {column.attribute: column for column in self.columns}
        columns = tuple(
            replace(column_of[column.attribute], continuous=column.continuous)
            for column in some.columns
        )
        return replace(self, columns=columns, names=some.names)

    def select(self, keep: NDArray[np.bool_]) -> Observations:
        """Return the items in `keep`."""
        if self.has_sparse:
            return self.take(np.flatnonzero(keep))
        columns = tuple(column.select(keep) for column in self.columns)
        return replace(self, n_items=int(np.count_nonzero(keep)), columns=columns)

    def take(self, items: NDArray[Any]) -> Observations:
        """Return the items with these numbers, in their order."""
        order = None
        if self.has_sparse:
            if np.array_equal(items, np.arange(self.n_items)):
                return self
            order = np.argsort(items, kind="stable")
        columns = tuple(column.take(items, order) for column in self.columns)
        return replace(self, n_items=len(items), columns=columns)

    @cached_property
    def has_sparse(self) -> bool:
        """Whether a column has SparseOffsets."""
        return any(isinstance(column.offsets, SparseOffsets) for column in self.columns)

    def dense(self) -> Observations:
        """Return the items with a place for each item in all columns."""
        if not self.has_sparse:
            return self
        return replace(self, columns=tuple(column.dense() for column in self.columns))

    @classmethod
    def concatenated(cls, parts: Sequence[Observations]) -> Observations:
        """Return the items of several batches of the same columns, one after the other."""
        columns = zip(*(part.columns for part in parts), strict=True)
        return replace(
            parts[0],
            n_items=sum(part.n_items for part in parts),
            columns=tuple(map(Column.concatenated, columns)),
        )

    def compacted(self) -> Observations:
        """Return the items without the values that none of them has."""
        return replace(self, columns=tuple(column.compacted() for column in self.columns))


def _at(numbers: NDArray[np.float64] | None, places: NDArray[Any]) -> NDArray[np.float64] | None:
    return None if numbers is None else numbers[places]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the bounds of consecutive runs with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def item_offsets(items: NDArray[Any], n_items: int) -> NDArray[np.int64]:
    """Return the bounds of the entries of each item, given the item of each entry."""
    return offsets_of(np.bincount(items, minlength=n_items))


def items_of(offsets: NDArray[Any] | SparseOffsets) -> NDArray[Any]:
    """Return the item (the row) of each entry, given the bounds of the entries of each."""
    if isinstance(offsets, SparseOffsets):
        return np.repeat(offsets.items, np.diff(offsets.bounds))
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def fits_table(cells: int, entries: int) -> bool:
    """Whether a dense table of so many cells is worth its memory for so many entries."""
    return cells <= max(_SMALL_TABLE, _CELLS_PER_ENTRY * entries)


def concatenate_by_item(
    parts: Sequence[Part],
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """Return one (weights, codes, offsets) in which each item has the entries of all parts."""
    rare = [part for part in parts if isinstance(part[2], SparseOffsets)]
    if rare:
        parts = [*(part for part in parts if not isinstance(part[2], SparseOffsets)), _merged(rare)]
    offsets = offsets_of(np.sum([np.diff(part[2]) for part in parts], axis=0))
    codes = np.empty(offsets[-1], dtype=np.result_type(*(part[1].dtype for part in parts)))
    weights = np.ones(offsets[-1])
    free = offsets[:-1].copy()  # where each item's next entry goes
    for part_weights, part_codes, part_offsets in parts:
        lengths = np.diff(part_offsets)
        places = np.arange(len(part_codes)) + np.repeat(free - part_offsets[:-1], lengths)
        codes[places] = part_codes
        if part_weights is not None:
            weights[places] = part_weights
        free += lengths
    return weights, codes, offsets


def _merged(parts: Sequence[Part]) -> Part:
    """Return parts with SparseOffsets as one part; it takes no more than their entries do."""
    items = np.concatenate([items_of(part[2]) for part in parts])
    order = np.argsort(items, kind="stable")
    codes = np.concatenate([part[1] for part in parts])[order]
    weights = None
    if any(part[0] is not None for part in parts):
        each = [np.ones(len(part[1])) if part[0] is None else part[0] for part in parts]
        weights = np.concatenate(each)[order]
    return weights, codes, item_offsets(items, len(parts[0][2]) - 1)


def run_starts(*keys: NDArray[Any]) -> NDArray[Any]:
    """Return the index at which each run of equal keys, or tuples of several keys, starts."""
    is_new = np.ones(len(keys[0]), dtype=bool)
    is_new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return np.flatnonzero(is_new)


def sum_at(places: NDArray[Any], weights: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Return the sum of the weights at each of `size` places."""
    return np.asarray(np.bincount(places, weights, minlength=size), dtype=np.float64)


def sum_by_item(
    weights: NDArray[np.float64], offsets: NDArray[Any] | SparseOffsets
) -> NDArray[np.float64]:
    """Return the sum of the weights of each item; 0 for an item without entries."""
    sums = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(weights, offsets[filled])
    return sums
