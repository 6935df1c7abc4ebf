"""The corpus: the sparse table of counts, which can be added and subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import Floats, with_data
from stc._core.observations import (
    Column,
    Observations,
    SparseOffsets,
    fits_table,
    item_offsets,
    items_of,
    sum_at,
)
from stc._utils.threads import thread_map
from stc.exceptions import NeverLearntError

# After a subtraction, a mass below this share of the previous one is a rounding error.
_ROUNDING = 1e-9
# Sums of integers up to this are exact.
_LARGEST_WHOLE = 2.0**53
# A mass that is left below this share of the previous one has lost most of its digits.
_LEAST_LEFT = 1e-11
_TOO_LITTLE = (
    "would be left with less than 1e-11 of their mass: they were learnt with other weights, or "
    "with weights that differ so much that rounding has lost what is left"
)
# A mass must not underflow to 0, or its entry would be absent while its items are present.
MIN_MASS = float(np.finfo(np.float64).tiny)
# The sum of masses that were raised to MIN_MASS is less; their items may have less mass.
_UNDERFLOW = 1e-290
# How much of the mass of a class rounding may lose in unlearning, and how much a reader accepts.
_MAX_LOST, _MAX_CROWDED = 0.5, 1.0
# Smaller batches are counted in one thread.
_MANY_ITEMS = 10_000


class Entries(NamedTuple):
    """Entries of the corpus of one column, in its own codes, sorted by code and class."""

    codes: NDArray[Any]
    classes: NDArray[Any]
    mass: Floats
    support: NDArray[np.int64]


@dataclass(frozen=True)
class Amplitudes:
    """What multiplies the weights of a corpus, and the sharpness that goes with it.

    Attributes
    ----------
    gains
        `g_ij` of each entry of the corpus, from 0 on.
    angles
        `phi_ij` of each entry, in radians.
    sharpness
        Factor of the exponent 1/p of the probabilities.
    """

    gains: Floats
    angles: Floats
    sharpness: float = 1.0

    @classmethod
    def neutral(cls, size: int) -> Amplitudes:
        """Return gains of 1 and phases of 0 for so many entries."""
        return cls(np.ones(size), np.zeros(size))

    def take(self, entries: NDArray[Any]) -> Amplitudes:
        """Return those of some entries."""
        return Amplitudes(self.gains[entries], self.angles[entries], self.sharpness)


@dataclass(frozen=True)
class Corpus:
    """`C_ij` with a row per feature and a column per class, and the support of each entry.

    Attributes
    ----------
    mass
        CSR array, features x classes: `C_ij = sum_n X_ij`. Entries are positive.
    support
        Number of items of each entry of `mass`. It makes unlearning exact: an entry is removed
        when no item is left, whatever rounding has left of its mass.
    amplitudes
        Gain and phase of each entry, if they were learnt. Entries that are added later have gain 1
        and phase 0.
    """

    mass: sparse.csr_array
    support: NDArray[np.int64]
    amplitudes: Amplitudes | None = None

    @classmethod
    def empty(cls, shape: tuple[int, int] = (0, 0)) -> Corpus:
        """Return a corpus without entries."""
        return cls(sparse.csr_array(shape), np.zeros(0, np.int64))

    @property
    def used_rows(self) -> NDArray[np.bool_]:
        """Which features have entries."""
        return np.asarray(np.diff(self.mass.indptr) > 0)

    @property
    def used_classes(self) -> NDArray[np.bool_]:
        """Which classes have entries."""
        return np.asarray(np.bincount(self.mass.indices, minlength=self.mass.shape[1]) > 0)

    def class_mass(self) -> Floats:
        """Return the sum of the mass of each class."""
        return sum_at(self.mass.indices, self.mass.data, self.mass.shape[1])

    @classmethod
    def of_entries(
        cls,
        columns: Sequence[Entries],
        features: Sequence[NDArray[Any]],
        shape: tuple[int, int],
        amplitudes: Amplitudes | None = None,
    ) -> Corpus:
        """Return the corpus of the entries of columns, given the feature and amplitude of each."""
        rows = _concatenated(features, np.int64)
        cols = _concatenated([entries.classes for entries in columns], np.int32)
        mass = _concatenated([entries.mass for entries in columns], np.float64)
        support = _concatenated([entries.support for entries in columns], np.int64)
        indptr = item_offsets(rows, shape[0])
        rows *= shape[1]
        rows += cols  # the index of each entry in the flattened table
        if not (rows[1:] > rows[:-1]).all():
            order = np.argsort(rows)
            cols, mass, support = cols[order], mass[order], support[order]
            amplitudes = amplitudes and amplitudes.take(order)
        return cls(sparse.csr_array((mass, cols, indptr), shape=shape), support, amplitudes)

    def reindexed(
        self, features: NDArray[Any], classes: NDArray[Any], shape: tuple[int, int]
    ) -> Corpus:
        """Return the corpus with new numbers for its features and classes, in a new shape."""
        if _is_range(features) and _is_range(classes):
            return self._resized(shape)
        rows = np.repeat(features, np.diff(self.mass.indptr))
        entries = Entries(rows, classes[self.mass.indices], self.mass.data, self.support)
        return Corpus.of_entries([entries], [rows], shape, self.amplitudes)

    def restricted(self, features: NDArray[np.bool_], classes: NDArray[np.bool_]) -> Corpus:
        """Return the corpus of these features and classes; the others have no entries."""
        shape = (int(np.count_nonzero(features)), int(np.count_nonzero(classes)))
        return self.reindexed(np.cumsum(features) - 1, np.cumsum(classes) - 1, shape)

    def _resized(self, shape: tuple[int, int]) -> Corpus:
        """Return the corpus with more features and classes, appended without entries."""
        if self.mass.shape == shape:
            return self
        more = np.full(shape[0] - self.mass.shape[0], self.mass.indptr[-1])
        indptr = np.append(self.mass.indptr, more)
        table = sparse.csr_array((self.mass.data, self.mass.indices, indptr), shape=shape)
        return Corpus(table, self.support, self.amplitudes)

    def added(self, other: Corpus) -> Corpus:
        """Return the sum of two corpora over the same features and classes.

        Where both have a gain and a phase, those of the corpus with more mass are kept.
        """
        mass = self.mass + other.mass
        support = with_data(self.mass, self.support) + with_data(other.mass, other.support)
        return Corpus(mass, support.data)._with_amplitudes_of(other, self)

    def _with_amplitudes_of(self, *parts: Corpus) -> Corpus:
        """Return the corpus with the amplitudes of its parts; the heaviest part prevails."""
        known = [part for part in parts if part.amplitudes is not None]
        if not known:
            return self
        merged = Amplitudes.neutral(self.mass.nnz)
        for part in sorted(known, key=lambda part: float(part.mass.data.sum())):
            places, theirs = self._places(part), part.amplitudes
            assert theirs is not None
            merged.gains[places], merged.angles[places] = theirs.gains, theirs.angles
            merged = replace(merged, sharpness=theirs.sharpness)
        return replace(self, amplitudes=merged)

    def subtracted(self, other: Corpus) -> Corpus:
        """Return the difference of two corpora; an entry without items left is removed.

        Raises
        ------
        NeverLearntError
            If `other` has entries that this corpus does not have, or more of them.
        """
        places = self._places(other)
        mass, support = self.mass.data.copy(), self.support.copy()
        mass[places] -= other.mass.data
        support[places] -= other.support
        kept = support > 0
        # A mass must be left where an item is left, and none where none is.
        whole = self._is_whole(places, other)
        error = np.where(whole, 0.0, np.where(kept, _LEAST_LEFT, _ROUNDING) * self.mass.data)
        wrong = np.where(kept, mass < -error, np.abs(mass) > error)
        _raise_if_any(support < 0, self.mass, "were not learnt that often")
        _raise_if_any(wrong, self.mass, "were learnt with other weights")
        _raise_if_any(kept & (mass <= error), self.mass, _TOO_LITTLE)
        rows = items_of(self.mass.indptr)[kept]
        entries = Entries(rows, self.mass.indices[kept], mass[kept], support[kept])
        amplitudes = self.amplitudes and self.amplitudes.take(kept)
        return Corpus.of_entries([entries], [rows], self.mass.shape, amplitudes)

    def _is_whole(self, places: NDArray[Any], other: Corpus) -> NDArray[np.bool_]:
        """Return which masses are integers from which integers are subtracted, without rounding."""
        whole = (self.mass.data <= _LARGEST_WHOLE) & (self.mass.data % 1 == 0)
        whole[places] &= other.mass.data % 1 == 0
        return np.asarray(whole)

    def crowded(self, items: Floats, before: Floats | None = None) -> int | None:
        """Return a class whose entries have more mass than its items, or None.

        `items` is the mass of the items of each class, and `before` that mass before a
        subtraction, to which rounding errors are relative. Without `before` the history of the
        corpus is unknown, and every corpus that a subtraction may have left is accepted.
        """
        allowed = _MAX_CROWDED * items
        if before is not None:
            allowed = np.minimum(_ROUNDING * before, _MAX_LOST * items)
        wrong = np.flatnonzero(self.class_mass() - items > allowed + _UNDERFLOW)
        return int(wrong[0]) if len(wrong) else None

    def _places(self, other: Corpus) -> NDArray[Any]:
        """Return the index of each entry of `other` among the entries of this corpus."""
        mine, theirs = _keys(self.mass), _keys(other.mass)
        places = np.searchsorted(mine, theirs)
        found = places < len(mine)
        found[found] = mine[places[found]] == theirs[found]
        _raise_if_any(~found, other.mass, "were never learnt together")
        return places


def _raise_if_any(wrong: NDArray[np.bool_], table: sparse.csr_array, reason: str) -> None:
    """Raise an error about the first of the wrong entries of a table."""
    if wrong.any():
        feature, class_ = divmod(int(_keys(table)[np.argmax(wrong)]), table.shape[1])
        raise NeverLearntError(reason, feature, class_)


def count_classes(target: Column, sample_weight: Floats) -> Entries:
    """Return mass and support of each class, of items without values too."""
    classes = target.codes
    mass = sample_weight  # of items with one class; those with several give each a share of it
    if target.offsets is not None:
        items, classes, weights = target.entries()
        mass = sample_weight[items] * weights
    support = np.bincount(classes, minlength=target.n_values)
    used = np.flatnonzero(support)
    totals = sum_at(classes, mass, target.n_values)
    mass = np.maximum(totals[used], MIN_MASS)
    return Entries(np.zeros_like(used), used, mass, support[used])


def _count_cells(column: Column, target: Column, scale: Floats | float) -> Entries:
    """Return the entries of items with one value and one class each."""
    # The code for "no value" comes after the last value, so its keys come after the last cell.
    keys: NDArray[np.int64] = np.multiply(column.codes, target.n_values, dtype=np.int64)
    keys += target.codes
    cells = column.n_values * target.n_values
    masses = None if isinstance(scale, float) else scale
    if fits_table(cells, len(keys)):
        support = np.bincount(keys, minlength=cells)[:cells]
        used = np.flatnonzero(support != 0)  # several times faster on booleans
        support = support[used]
        mass = support * scale if masses is None else sum_at(keys, masses, cells)[used]
    else:
        used, place, support = np.unique(keys, return_inverse=True, return_counts=True)
        mass = support * scale if masses is None else sum_at(place, masses, len(used))
        present = used < cells
        used, support, mass = used[present], support[present], mass[present]
    integer = np.int32 if cells < 2**31 else np.int64
    codes, classes = np.divmod(used.astype(integer), integer(target.n_values))
    return Entries(codes, classes, np.asarray(mass, dtype=np.float64), support)


def _count_product(column: Column, target: Column, scale: Floats | float) -> Entries:
    """Return the entries as the product of classes x items and items x values."""
    values = column.matrix()
    classes = target.matrix().T.tocsr()
    scales = np.broadcast_to(scale, column.n_items)[classes.indices]
    scaled = with_data(classes, classes.data * scales)
    factors = [(scaled, values), (_ones(classes), _ones(values))]
    many = values.nnz >= _MANY_ITEMS
    mass, support = thread_map(lambda pair: pair[0] @ pair[1], factors, worthwhile=many)
    # Both products have the same entries in the same order, so one sorting serves both.
    order = with_data(mass, np.arange(mass.nnz)).tocsc()
    counts = support.data[order.data].astype(np.int64)
    return Entries(items_of(order.indptr), order.indices, mass.data[order.data], counts)


def _ones(table: sparse.csr_array) -> sparse.csr_array:
    """Return the table with 1 in each entry."""
    return with_data(table, np.ones(table.nnz))


def count(observed: Observations, target: Column, sample_weight: Floats) -> list[Entries]:
    """Return the entries `sum_n x_j y_i` of each column, in the codes of the batch."""
    scale = _scale(sample_weight, observed.totals)

    def count_one(column: Column) -> Entries:
        parts = column, target, scale
        if isinstance(column.offsets, SparseOffsets):
            items = column.offsets.items
            scales = scale if isinstance(scale, float) else scale[items]
            parts = column.stored, target.take(items), scales
        single = parts[0].offsets is None and target.offsets is None
        entries = (_count_cells if single else _count_product)(*parts)
        return entries._replace(mass=np.maximum(entries.mass, MIN_MASS))

    return thread_map(count_one, observed.columns, worthwhile=observed.n_items >= _MANY_ITEMS)


def _scale(sample_weight: Floats, totals: Floats) -> Floats | float:
    """Return sample weight / total of each item, or one number if it is equal for all."""
    if sample_weight.strides == totals.strides == (0,) and totals[0] > 0:
        return float(sample_weight[0] / totals[0])  # both are one number, broadcast to all items
    scale = np.divide(sample_weight, totals, out=np.zeros(len(totals)), where=totals > 0)
    return float(scale[0]) if scale.min() == scale.max() else scale


def _concatenated(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """Return a new array of all arrays, of which there may be none."""
    return np.concatenate([np.zeros(0, dtype), *arrays], dtype=dtype, casting="same_kind")


def _keys(table: sparse.csr_array) -> NDArray[np.int64]:
    """Return the index of each entry in the flattened table."""
    return np.asarray(items_of(table.indptr) * max(table.shape[1], 1) + table.indices)


def _is_range(numbers: NDArray[Any]) -> bool:
    return bool((numbers == np.arange(len(numbers))).all())
