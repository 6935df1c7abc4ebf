"""Counting: a batch counted for each set of dimensions, and a running sum over batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.corpus import Corpus, Entries, count, count_classes
from stc._core.observations import Column, Observations, run_starts
from stc._core.tensor import Dimensions, Subset, features_of

# A table of all (value, class) pairs is worth its memory up to this size, or up to a few cells
# for each pair that was counted; beyond it pairs are kept in a list, and added up when it is long.
_SMALL_TABLE = 1 << 20
_CELLS_PER_ENTRY = 4
_LONG_LIST = 1 << 22


@dataclass(frozen=True)
class Counted:
    """A batch of items as each set of dimensions sees and counts it.

    Attributes
    ----------
    dimensions
        How the attributes are grouped.
    observed, target
        The items and their classes.
    views
        The items as each set but the empty one sees them.
    counted
        Corpus of each column of each view, and of the classes alone.
    """

    dimensions: Dimensions
    observed: Observations
    target: Column
    views: dict[Subset, Observations]
    counted: dict[Subset, list[Entries]]

    @classmethod
    def of(
        cls,
        dimensions: Dimensions,
        subsets: Iterable[Subset],
        observed: Observations,
        target: Column,
        sample_weight: NDArray[np.float64],
    ) -> Counted:
        """Count the items for each of the subsets."""
        views = {s: dimensions.view(observed, s) for s in subsets if s}
        counted = {s: count(view, target, sample_weight) for s, view in views.items()}
        counted[()] = [count_classes(target, sample_weight)]
        return cls(dimensions, observed, target, views, counted)

    def places(self, subset: Subset) -> list[int]:
        """The columns that a set of one dimension reads."""
        return [k for d in subset for k in self.dimensions.places(self.observed, d)]

    def used(self) -> list[NDArray[np.int64]]:
        """For each column the codes that some set has counted."""
        used: list[list[NDArray[np.int64]]] = [[] for _ in self.observed.columns]
        for subset in self.views:
            if len(subset) > 1:
                found = self.dimensions.codes(self.observed, subset, self.rows(subset)[1])
            else:
                each = [entries.codes for entries in self.counted[subset]]
                codes = [own[run_starts(own)] for own in each]
                found = dict(zip(self.places(subset), codes, strict=True))
            for place, own in found.items():
                used[place].append(own)
        return [_union(codes) for codes in used]

    def rows(self, subset: Subset) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The tuples that a set of several dimensions has counted: their codes, and what of."""
        counted = self.counted[subset][0].codes
        codes = counted[run_starts(counted)]
        values: Any = self.views[subset].columns[0].values
        return codes, values[codes]

    def tuples(self, subset: Subset, features: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The tuples that a set has counted as rows of features, given those of each column."""
        lookups = self.dimensions.lookups(self.observed, subset, features)
        return features_of(self.rows(subset)[1], lookups)

    def delta(
        self,
        subset: Subset,
        classes: NDArray[Any],
        features: list[NDArray[np.int64]],
        shape: tuple[int, int],
    ) -> Corpus:
        """Corpus of the batch for a set, given where classes and features belong.

        `features` has the row for each code of each column, or for each tuple counted.
        """
        per_column = self.counted[subset]
        columns = [entries._replace(classes=classes[entries.classes]) for entries in per_column]
        if not subset:
            return Corpus.of_entries(columns, [columns[0].codes], shape)
        if len(subset) > 1:
            lookup = np.zeros(self.views[subset].columns[0].n_values, dtype=np.int64)
            lookup[self.rows(subset)[0]] = features[0]
            return Corpus.of_entries(columns, [lookup[columns[0].codes]], shape)
        own = [features[k] for k in self.places(subset)]
        rows = [lookup[entries.codes] for lookup, entries in zip(own, columns, strict=True)]
        return Corpus.of_entries(columns, rows, shape)


def _union(codes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Sorted codes of all; each of them is sorted already."""
    if len(codes) == 1:
        return codes[0]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *codes]))


@dataclass
class Tally:
    """The count of batches so far, for sets of at most one dimension.

    Attributes
    ----------
    dimensions, subsets
        What is counted.
    """

    dimensions: Dimensions
    subsets: tuple[Subset, ...]
    _observed: Observations | None = None
    _target: Column | None = None
    _lookups: dict[Any, NDArray[np.int64]] = field(default_factory=dict)
    _values: dict[Any, dict[Any, int]] = field(default_factory=dict)
    _classes: dict[Any, int] = field(default_factory=dict)
    _sums: dict[tuple[Subset, Any], Sums] = field(default_factory=dict)

    @staticmethod
    def can(subsets: Iterable[Subset]) -> bool:
        """Whether all that is to be counted has at most one dimension."""
        return all(len(subset) <= 1 for subset in subsets)

    def add(self, batch: Counted) -> None:
        """Count one more batch."""
        self.like(batch.observed, batch.target)
        for subset, counted in batch.counted.items():
            columns = batch.views[subset].columns if subset else (None,)
            for column, entries in zip(columns, counted, strict=True):
                self.add_entries(subset, column, batch.target, entries)

    def like(self, observed: Observations, target: Column) -> None:
        """Take over of what kind items and classes are, and number what is new in them."""
        self._observed, self._target = observed, target
        # Lookups are made once a batch, however many sets read a column.
        self._lookups = {
            column.attribute: _numbered(self._values.setdefault(column.attribute, {}), column)
            for column in observed.columns
        }

    def add_entries(
        self, subset: Subset, column: Column | None, target: Column, entries: Entries
    ) -> None:
        """Count entries of one column, or of the classes alone."""
        known = self._classes
        labels = [known.setdefault(own, len(known)) for own in _labels(target)]
        classes = np.array(labels, dtype=np.int64)[entries.classes]
        attribute = () if column is None else column.attribute
        rows = entries.codes if column is None else self._lookups[attribute][entries.codes]
        self._sums.setdefault((subset, attribute), Sums()).add(rows, classes, entries)

    def counted(self) -> Counted | None:
        """All batches as if they had been one; None if there were none."""
        if self._observed is None or self._target is None:
            return None
        nothing = np.zeros(0, dtype=np.int64)
        columns = tuple(
            Column(attribute, list(known), len(known), nothing)
            for attribute, known in self._values.items()
        )
        observed = replace(self._observed, n_items=0, columns=columns)
        classes = _array(list(self._classes), np.asarray(self._target.values).dtype)
        target = Column(None, classes, len(classes), nothing)
        views = {s: self.dimensions.view(observed, s) for s in self.subsets if s}
        counted = {
            subset: [self._entries(subset, column.attribute) for column in view.columns]
            for subset, view in views.items()
        }
        counted[()] = [self._entries((), ())]
        return Counted(self.dimensions, observed, target, views, counted)

    def _entries(self, subset: Subset, attribute: Any) -> Entries:
        return self._sums.get((subset, attribute), Sums()).entries()


def _labels(target: Column) -> list[Any]:
    values: Any = target.values
    return list(values) if values.dtype.kind in "mMO" else list(values.tolist())


def _array(labels: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Labels in the dtype they came in; of strings, as wide as they need."""
    if dtype.kind == "U":
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array if dtype.kind == "O" else array.astype(dtype)


def _numbered(index: dict[Any, int], column: Column) -> NDArray[np.int64]:
    """The number of each of a column's values, new ones coming after those there are."""
    values: Any = column.values
    if not index:
        index.update(zip(values, range(len(values)), strict=True))
        return np.arange(len(values))
    try:
        return np.fromiter(map(index.__getitem__, values), np.int64, len(values))
    except KeyError:
        numbers = (index.setdefault(value, len(index)) for value in values)
        return np.fromiter(numbers, np.int64, len(values))


@dataclass
class Sums:
    """Mass and support of each pair of a value and a class: a table, or a list while it is long."""

    table: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0)))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    parts: list[Entries] = field(default_factory=list)

    def add(self, rows: NDArray[Any], classes: NDArray[Any], entries: Entries) -> None:
        """Add entries at these values and classes, no two of them at the same."""
        if not len(rows):
            return
        needed = int(rows.max()) + 1, int(classes.max()) + 1
        shape = max(self.table.shape[0], needed[0]), max(self.table.shape[1], needed[1])
        if self.parts or shape[0] * shape[1] > max(_SMALL_TABLE, _CELLS_PER_ENTRY * len(rows)):
            self.parts.append(entries._replace(codes=rows, classes=classes))
            if sum(len(part.codes) for part in self.parts) > _LONG_LIST:
                self.parts = [added_up(self.parts)]
            return
        if shape != self.table.shape:
            self._grow(shape)
        self.table[rows, classes] += entries.mass
        self.counts[rows, classes] += entries.support

    def _grow(self, shape: tuple[int, int]) -> None:
        # Half as much again, so that growing a little each time does not copy all each time.
        room = tuple(
            size if size == old else max(size, old + old // 2)
            for size, old in zip(shape, self.table.shape, strict=True)
        )
        for name in ("table", "counts"):
            old = getattr(self, name)
            new = np.zeros(room, dtype=old.dtype)
            new[: old.shape[0], : old.shape[1]] = old
            setattr(self, name, new)

    def entries(self) -> Entries:
        """All entries, sorted by value and class."""
        codes, classes = np.nonzero(self.counts)
        table = Entries(codes, classes, self.table[codes, classes], self.counts[codes, classes])
        return added_up([table, *self.parts]) if self.parts else table


def added_up(parts: Sequence[Entries]) -> Entries:
    """Entries that may name the same pair several times, each pair once."""
    codes, classes, mass, support = (np.concatenate(own) for own in zip(*parts, strict=True))
    order = np.lexsort((classes, codes))
    codes, classes = codes[order], classes[order]
    fresh = np.ones(len(codes), dtype=bool)
    fresh[1:] = (codes[1:] != codes[:-1]) | (classes[1:] != classes[:-1])
    starts = np.flatnonzero(fresh)
    sums = [np.add.reduceat(own[order], starts) for own in (mass, support)]
    return Entries(codes[starts], classes[starts], *sums)
