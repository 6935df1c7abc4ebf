"""The corpus: what was learnt, as one sparse table of numbers that can be added and taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import with_data
from stc._core.observations import Column, Observations, finite, offsets_of, sum_at
from stc._utils.threads import threaded
from stc.exceptions import NeverLearntError

# A table of all (value, class) pairs is worth its memory up to this size, or up to a few cells
# for each entry counted into it.
_SMALL_TABLE = 1 << 20
_CELLS_PER_ENTRY = 4
# What is left of a mass of 1 when rounding is all that is left.
_ROUNDING = 1e-9
# A mass may be tiny but not vanish, or its entry would be gone while its items are there.
LEAST_MASS = float(np.finfo(np.float64).tiny)
# Fewer items than this are not worth a thread.
_MANY_ITEMS = 10_000


class Entries(NamedTuple):
    """Entries of one column's corpus, in its own codes, sorted by code and class."""

    codes: NDArray[Any]
    classes: NDArray[Any]
    mass: NDArray[np.float64]
    support: NDArray[np.int64]


@dataclass(frozen=True)
class Phases:
    """What was learnt beyond counting.

    Attributes
    ----------
    angles
        `phi_ij` of each entry of a corpus, in radians.
    sharpness
        What the exponent 1/p of the probabilities is multiplied by.
    """

    angles: NDArray[np.float64]
    sharpness: float = 1.0


@dataclass(frozen=True)
class Corpus:
    """`C_ij` with a row per feature and a column per class, and the support of each entry.

    Attributes
    ----------
    mass
        CSR array, features x classes: `C_ij = sum_n X_ij`. Entries are positive.
    support
        Number of items behind each entry of `mass`. It is what makes unlearning exact: an entry
        is gone when no item is left, whatever rounding has left of its mass.
    phases
        The phase of each entry, if phases were learnt. Entries that come later have phase 0.
    """

    mass: sparse.csr_array
    support: NDArray[np.int64]
    phases: Phases | None = None

    @classmethod
    def empty(cls, shape: tuple[int, int] = (0, 0)) -> Corpus:
        """The corpus of nothing."""
        return cls(sparse.csr_array(shape), np.zeros(0, np.int64))

    @property
    def used_rows(self) -> NDArray[np.bool_]:
        """Which features have entries."""
        used: NDArray[np.bool_] = np.diff(self.mass.indptr) > 0
        return used

    @property
    def used_classes(self) -> NDArray[np.bool_]:
        """Which classes have entries."""
        used: NDArray[np.bool_] = np.bincount(self.mass.indices, minlength=self.mass.shape[1]) > 0
        return used

    def class_mass(self) -> NDArray[np.float64]:
        """Sum of each class."""
        return sum_at(self.mass.indices, self.mass.data, self.mass.shape[1])

    @classmethod
    def of_entries(
        cls,
        columns: Sequence[Entries],
        features: Sequence[NDArray[Any]],
        shape: tuple[int, int],
        phases: Phases | None = None,
    ) -> Corpus:
        """Join the columns' entries, given the feature number (and the phase) of each entry."""
        rows = _joined(features, np.int64)
        cols = _joined([entries.classes for entries in columns], np.int32)
        mass = _joined([entries.mass for entries in columns], np.float64)
        support = _joined([entries.support for entries in columns], np.int64)
        indptr = offsets_of(np.bincount(rows, minlength=shape[0]))
        rows *= shape[1]
        rows += cols  # now the place of each entry in the whole table
        if not (rows[1:] > rows[:-1]).all():
            order = np.argsort(rows)
            cols, mass, support = cols[order], mass[order], support[order]
            phases = phases and replace(phases, angles=phases.angles[order])
        return cls(sparse.csr_array((mass, cols, indptr), shape=shape), support, phases)

    def reindexed(
        self, features: NDArray[Any], classes: NDArray[Any], shape: tuple[int, int]
    ) -> Corpus:
        """The same corpus with its features and classes at these numbers, in a larger shape."""
        if _is_range(features) and _is_range(classes):
            return self._widened(shape)
        rows = np.repeat(features, np.diff(self.mass.indptr))
        entries = Entries(rows, classes[self.mass.indices], self.mass.data, self.support)
        return Corpus.of_entries([entries], [rows], shape, self.phases)

    def restricted(self, features: NDArray[np.bool_], classes: NDArray[np.bool_]) -> Corpus:
        """The corpus of these features and classes only; the others have no entries left."""
        rows = np.repeat(np.cumsum(features) - 1, np.diff(self.mass.indptr))
        cols = (np.cumsum(classes) - 1)[self.mass.indices]
        shape = (int(np.count_nonzero(features)), int(np.count_nonzero(classes)))
        entries = Entries(rows, cols, self.mass.data, self.support)
        return Corpus.of_entries([entries], [rows], shape, self.phases)

    def _widened(self, shape: tuple[int, int]) -> Corpus:
        """The same entries with room for more features and classes after ours."""
        if self.mass.shape == shape:
            return self
        more = np.full(shape[0] - self.mass.shape[0], self.mass.indptr[-1])
        indptr = np.append(self.mass.indptr, more)
        table = sparse.csr_array((self.mass.data, self.mass.indices, indptr), shape=shape)
        return Corpus(table, self.support, self.phases)

    def added(self, other: Corpus) -> Corpus:
        """The sum of two corpora over the same features and classes.

        Where both have a phase, that of the corpus with more mass counts.
        """
        mass = self.mass + other.mass
        support = with_data(self.mass, self.support) + with_data(other.mass, other.support)
        return Corpus(mass, support.data)._with_phases_of(other, self)

    def _with_phases_of(self, *parts: Corpus) -> Corpus:
        """The corpus with the phases of its parts: the heaviest comes last, and stays."""
        learnt = [part for part in parts if part.phases is not None]
        if not learnt:
            return self
        angles = np.zeros(self.mass.nnz)
        for part in sorted(learnt, key=lambda part: float(part.mass.data.sum())):
            assert part.phases is not None
            angles[self._places(part)] = part.phases.angles
            sharpness = part.phases.sharpness
        return replace(self, phases=Phases(angles, sharpness))

    def subtracted(self, other: Corpus) -> Corpus:
        """What is left without `other`, exactly: an entry whose items are all gone is gone.

        Raises
        ------
        NeverLearntError
            If `other` holds what this corpus does not.
        """
        places = self._places(other)
        mass, support = self.mass.data.copy(), self.support.copy()
        mass[places] -= other.mass.data
        support[places] -= other.support
        wrong = _first_wrong(mass, support, self.mass.data)
        if wrong is not None:
            feature, class_ = divmod(int(_keys(self.mass)[wrong[0]]), self.mass.shape[1])
            raise NeverLearntError(wrong[1], feature, class_)
        kept = support > 0
        rows = np.repeat(np.arange(self.mass.shape[0]), np.diff(self.mass.indptr))[kept]
        entries = Entries(rows, self.mass.indices[kept], mass[kept], support[kept])
        phases = self.phases and replace(self.phases, angles=self.phases.angles[kept])
        return Corpus.of_entries([entries], [rows], self.mass.shape, phases)

    def crowded(self, items: NDArray[np.float64], before: NDArray[np.float64]) -> int | None:
        """A class with more mass in its entries than in its items, which cannot be; None if none.

        `items` is the mass of each class's items, `before` what it was, which tells rounding.
        """
        wrong = np.flatnonzero(self.class_mass() - items > _ROUNDING * before)
        return int(wrong[0]) if len(wrong) else None

    def _places(self, other: Corpus) -> NDArray[Any]:
        """Where the entries of `other` stand among ours."""
        mine, theirs = _keys(self.mass), _keys(other.mass)
        places = np.searchsorted(mine, theirs)
        found = places < len(mine)
        found[found] = mine[places[found]] == theirs[found]
        if not found.all():
            feature, class_ = divmod(int(theirs[np.flatnonzero(~found)[0]]), other.mass.shape[1])
            raise NeverLearntError("were never learnt together", feature, class_)
        return places


def _first_wrong(
    mass: NDArray[np.float64], support: NDArray[np.int64], before: NDArray[np.float64]
) -> tuple[int, str] | None:
    """Where a subtraction took more than there was, and how it shows."""
    gone = support == 0
    lighter = ~gone & (mass <= 0)
    heavier = gone & (np.abs(mass) > _ROUNDING * before)
    for wrong, reason in (
        (support < 0, "were not learnt that often"),
        (lighter | heavier, "were learnt with other weights"),
    ):
        if wrong.any():
            return int(np.flatnonzero(wrong)[0]), reason
    return None


def count_classes(target: Column, sample_weight: NDArray[np.float64]) -> Entries:
    """Corpus of no attribute at all: mass and support of each class, items without values too."""
    classes = target.codes
    mass = sample_weight  # with one class an item; with several, a share of it for each
    if target.offsets is not None:
        items, classes, weights = target.entries()
        mass = sample_weight[items] * weights
    support = np.bincount(classes, minlength=target.n_values)
    used = np.flatnonzero(support)
    totals = sum_at(classes, mass, target.n_values)
    return Entries(np.zeros_like(used), used, totals[used], support[used])


def count_column(column: Column, target: Column, scale: NDArray[np.float64] | float) -> Entries:
    """Corpus of one column: `sum_n x_j y_i`, where `scale` is sample weight / total of item n."""
    if column.offsets is None and target.offsets is None:
        return _count_cells(column, target, scale)
    return _count_product(column, target, scale)


def _count_cells(column: Column, target: Column, scale: NDArray[np.float64] | float) -> Entries:
    """One value and one class an item: count the pairs."""
    # "No value" is a code beyond the last value, so its pairs end up beyond the table.
    keys: NDArray[np.int64] = np.multiply(column.codes, target.n_values, dtype=np.int64)
    keys += target.codes
    cells = column.n_values * target.n_values
    masses = None if isinstance(scale, float) else scale
    if cells <= max(_SMALL_TABLE, _CELLS_PER_ENTRY * len(keys)):
        support = np.bincount(keys, minlength=cells)[:cells]
        used = np.flatnonzero(support != 0)  # several times faster on booleans
        support = support[used]
        mass = support * scale if masses is None else sum_at(keys, masses, cells)[used]
    else:
        used, place, support = np.unique(keys, return_inverse=True, return_counts=True)
        mass = support * scale if masses is None else sum_at(place, masses, len(used))
        there = used < cells
        used, support, mass = used[there], support[there], mass[there]
    codes, classes = np.divmod(used.astype(_index(cells)), _index(cells)(target.n_values))
    return Entries(codes, classes, np.asarray(mass, dtype=np.float64), support)


def _index(size: int) -> type[np.int32] | type[np.int64]:
    """Integers that number `size` things."""
    return np.int32 if size < 2**31 else np.int64


def _count_product(column: Column, target: Column, scale: NDArray[np.float64] | float) -> Entries:
    """Several values or classes an item: the product of classes x items and items x values."""
    values = column.matrix()
    classes = target.matrix().T.tocsr()
    scales = np.broadcast_to(scale, column.n_items)[classes.indices]
    scaled = with_data(classes, classes.data * scales)
    factors = [(scaled, values), (_ones(classes), _ones(values))]
    many = values.nnz >= _MANY_ITEMS
    mass, support = threaded(lambda pair: pair[0] @ pair[1], factors, worthwhile=many)
    # The two have the same entries in the same order: grouping the one by value groups the other.
    order = with_data(mass, np.arange(mass.nnz)).tocsc()
    codes = np.repeat(np.arange(column.n_values), np.diff(order.indptr))
    return Entries(
        codes, order.indices, mass.data[order.data], support.data[order.data].astype(np.int64)
    )


def _ones(table: sparse.csr_array) -> sparse.csr_array:
    """The same entries, each counting 1."""
    return with_data(table, np.ones(table.nnz))


def count(
    observed: Observations, target: Column, sample_weight: NDArray[np.float64]
) -> list[Entries]:
    """Corpus of each column, in the batch's own codes."""
    scale = _scale(sample_weight, observed.totals)

    def counted(column: Column) -> Entries:
        entries = count_column(column, target, scale)
        return entries._replace(mass=np.maximum(entries.mass, LEAST_MASS))

    worthwhile = observed.n_items >= _MANY_ITEMS
    return threaded(counted, observed.columns, worthwhile=worthwhile)


def _scale(
    sample_weight: NDArray[np.float64], totals: NDArray[np.float64]
) -> NDArray[np.float64] | float:
    """What makes mass of a weight: sample weight / total of each item, or one number for all."""
    if sample_weight.strides == totals.strides == (0,) and totals[0] > 0:
        return float(sample_weight[0] / totals[0])  # one number stands for all already
    finite(totals)
    scale = np.divide(sample_weight, totals, out=np.zeros(len(totals)), where=totals > 0)
    return float(scale[0]) if scale.min() == scale.max() else scale


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """One new array of all, of none too."""
    return np.concatenate([np.zeros(0, dtype), *arrays], dtype=dtype, casting="same_kind")


def _keys(table: sparse.csr_array) -> NDArray[np.int64]:
    rows = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr))
    keys: NDArray[np.int64] = rows * max(table.shape[1], 1) + table.indices
    return keys


def _is_range(numbers: NDArray[Any]) -> bool:
    return bool((numbers == np.arange(len(numbers))).all())
