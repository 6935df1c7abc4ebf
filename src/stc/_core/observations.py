"""Observations: a batch of encoded items, column by column, in their own local codes.

Nothing here knows a model: the codes of a column point into the column's own distinct values.
A vocabulary turns them into features later, one look-up per distinct value instead of per cell.
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
# (weights or None, codes, offsets): the runs of codes of a batch of items.
Part = tuple[NDArray[np.float64] | None, NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Column:
    """One attribute of a batch of items (or its target: a class is a value like any other).

    Attributes
    ----------
    attribute
        Name of the attribute; None where values need none (words, columns of counts); the names
        of several in a conjunction of them.
    values
        The distinct values; None stands for the missing category. None instead of a sequence:
        the codes are feature numbers themselves (columns of a sparse matrix).
    n_values
        Number of values; `codes == n_values` in a single-valued column says "no value".
    codes
        Which value. One code per item if `offsets` is None, else `codes[offsets[n]:offsets[n+1]]`
        are the distinct values of item n.
    offsets, weights
        Bounds of each item's codes, and their weights (None: every weight is 1).
    angles
        `theta_j` of each code, in radians; None: 0.
    complete
        Whether every item is known to have a value.
    floats
        Whether the values came as floating-point numbers.
    continuous
        Whether this looks like measurements rather than categories.
    """

    attribute: str | tuple[str, ...] | None
    values: Sequence[Any] | NDArray[Any] | None
    n_values: int
    codes: NDArray[Any]
    offsets: NDArray[Any] | None = None
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
        """Weight of each item's values in this column; one number if it is the same for all."""
        if self.offsets is None and self.complete:
            return 1.0
        if self.offsets is None or self.weights is None:
            return self.lengths().astype(np.float64)
        return sum_by_item(self.weights, self.offsets)

    def lengths(self) -> NDArray[Any]:
        """Number of each item's values."""
        if self.offsets is not None:
            return np.diff(self.offsets)
        present: NDArray[np.bool_] = np.not_equal(self.codes, self.n_values)
        return present

    def matrix(self) -> sparse.csr_array:
        """The weights as a matrix, items x values."""
        codes, offsets = self.codes, self.offsets
        if offsets is None:
            items, codes, _ = self.entries()
            offsets = np.searchsorted(items, np.arange(self.n_items + 1))
        weights = np.ones(len(codes)) if self.weights is None else self.weights
        # Factors with indices of one size need no conversion in a product.
        narrow = max(len(codes), *(shape := (self.n_items, self.n_values))) < 2**31
        index = np.int32 if narrow else np.int64
        indices = codes.astype(index, copy=False), offsets.astype(index, copy=False)
        return sparse.csr_array((weights, *indices), shape=shape)

    def entries(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None]:
        """(item, code, weight) of every value present; weight None if all are 1."""
        if self.offsets is not None:
            items = np.repeat(np.arange(self.n_items), np.diff(self.offsets))
            return items, self.codes, self.weights
        if self.complete:
            return np.arange(self.n_items), self.codes, None
        items = np.flatnonzero(self.codes != self.n_values)
        return items, self.codes[items], None

    @property
    def conjunction(self) -> bool:
        """Whether its values are several at once: of several attributes, or words in a row."""
        return isinstance(self.attribute, tuple)

    def only(self, keep: NDArray[np.bool_]) -> Column:
        """The same items with these of the values only; the others are as if missing."""
        if keep.all():
            return self
        values: Any = self.values
        numbers = np.append(np.cumsum(keep) - 1, -1)
        kept = [values[k] for k in np.flatnonzero(keep).tolist()]
        numbers[:-1][~keep] = -1
        codes = numbers[self.codes]
        if self.offsets is None:
            codes[codes < 0] = len(kept)
            return replace(self, values=kept, n_values=len(kept), codes=codes, complete=False)
        there = codes >= 0
        items = np.repeat(np.arange(self.n_items), np.diff(self.offsets))[there]
        return replace(
            self,
            values=kept,
            n_values=len(kept),
            codes=codes[there],
            offsets=offsets_of(np.bincount(items, minlength=self.n_items)),
            weights=_at(self.weights, there),
            angles=_at(self.angles, there),
        )

    def compacted(self) -> Column:
        """The same column without the values that no item has."""
        if self.values is None:
            return self
        _, codes, _ = self.entries()
        used = np.unique(codes)
        values: Any = self.values
        numbers = np.full(self.n_values + 1, len(used))
        numbers[used] = np.arange(len(used))
        kept = [values[k] for k in used.tolist()]
        return replace(self, values=kept, n_values=len(kept), codes=numbers[self.codes])

    def select(self, keep: NDArray[np.bool_]) -> Column:
        """The same column for the items in `keep` only."""
        if self.offsets is None:
            return replace(self, codes=self.codes[keep], angles=_at(self.angles, keep))
        lengths = np.diff(self.offsets)
        kept = np.repeat(keep, lengths)
        return replace(
            self,
            codes=self.codes[kept],
            offsets=offsets_of(lengths[keep]),
            weights=_at(self.weights, kept),
            angles=_at(self.angles, kept),
        )


@dataclass(frozen=True)
class Observations:
    """A batch of items: its columns and what kind of data they came from.

    Attributes
    ----------
    kind
        "table" (attributes with values), "counts" (a sparse matrix) or "documents".
    n_items
        Number of items.
    columns
        The encoded columns.
    names
        Names of the attributes in the order given.
    named
        Whether the caller named them (a frame with string columns, records).
    closed
        Whether the attributes are fixed (frames and arrays) or may grow (records).
    missing
        Whether missing values were left out or made a category.
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
        """Weight of each item over all its columns, seen or unseen: what its X_j are parts of."""
        each = [column.totals for column in self.columns]
        same = sum(total for total in each if isinstance(total, float))
        varying = [total for total in each if not isinstance(total, float)]
        if not varying:
            return np.broadcast_to(np.float64(same), self.n_items)  # takes no memory
        totals: NDArray[np.float64] = np.sum(varying, axis=0) if len(varying) > 1 else varying[0]
        return totals + same

    def renamed(self, names: tuple[str, ...]) -> Observations:
        """The same columns under other names, by place."""
        columns = tuple(
            replace(column, attribute=name)
            for column, name in zip(self.columns, names, strict=True)
        )
        return replace(self, columns=columns, names=names)

    def select(self, keep: NDArray[np.bool_]) -> Observations:
        """The items in `keep` only."""
        columns = tuple(column.select(keep) for column in self.columns)
        return replace(self, n_items=int(np.count_nonzero(keep)), columns=columns)

    def compacted(self) -> Observations:
        """The same items, without the values that none of them has."""
        return replace(self, columns=tuple(column.compacted() for column in self.columns))


def _at(
    numbers: NDArray[np.float64] | None, places: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    return None if numbers is None else numbers[places]


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Bounds of consecutive runs with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def finite(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """The totals, refusing those that are beyond the range of a number."""
    if not np.isfinite(totals).all():
        item = int(np.flatnonzero(~np.isfinite(totals))[0])
        raise ValueError(f"item {item}: its weights add up to more than a number can hold")
    return totals


def side_by_side(parts: Sequence[Part]) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """The runs of several parts (weights or None, codes, offsets), one after the other per item."""
    offsets = offsets_of(np.sum([np.diff(own) for _, _, own in parts], axis=0))
    codes = np.empty(offsets[-1], dtype=np.result_type(*(own.dtype for _, own, _ in parts)))
    weights = np.ones(offsets[-1])
    free = offsets[:-1].copy()  # where each item's next entry goes
    for own_weights, own_codes, own in parts:
        lengths = np.diff(own)
        places = np.arange(len(own_codes)) + np.repeat(free - own[:-1], lengths)
        codes[places] = own_codes
        if own_weights is not None:
            weights[places] = own_weights
        free += lengths
    return weights, codes, offsets


def run_starts(keys: NDArray[Any]) -> NDArray[Any]:
    """Where each run of equal keys starts."""
    fresh = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
    return np.flatnonzero(fresh)


def sum_at(places: NDArray[Any], weights: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Sum of the weights at each of `size` places."""
    return np.asarray(np.bincount(places, weights, minlength=size), dtype=np.float64)


def sum_by_item(weights: NDArray[np.float64], offsets: NDArray[Any]) -> NDArray[np.float64]:
    """Sum of each run; a run without entries sums to 0."""
    sums = np.zeros(len(offsets) - 1)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        sums[filled] = np.add.reduceat(weights, offsets[filled])
    return sums
