"""Counting: the counts of a batch for each set of dimensions, and running sums over batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.corpus import Corpus, Entries, count, count_classes
from stc._core.labels import label_array
from stc._core.observations import Column, Observations, fits_table, run_starts
from stc._core.product import object_array
from stc._core.tensor import Dimensions, Subset, features_of

# Entries that are collected before entries of the same pair are summed.
_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True)
class BatchCounts:
    """The counts of a batch for each set of dimensions.

    Attributes
    ----------
    dimensions
        The groups of attributes.
    observed, target
        The items and their classes.
    views
        The columns that each set reads; the empty set reads none.
    counted
        Entries of each column of each view; the empty set has those of the classes.
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
    ) -> BatchCounts:
        """Return the counts of a batch for each of the subsets."""
        views = {s: dimensions.view(observed, s) for s in subsets if s}
        counted = {s: count(view, target, sample_weight) for s, view in views.items()}
        counted[()] = [count_classes(target, sample_weight)]
        return cls(dimensions, observed, target, views, counted)

    def places(self, subset: Subset) -> list[int]:
        """Return the columns that a set of one dimension reads."""
        return [k for d in subset for k in self.dimensions.places(self.observed, d)]

    def used(self) -> list[NDArray[np.int64]]:
        """Return for each column the codes that have entries in any set."""
        used: list[list[NDArray[np.int64]]] = [[] for _ in self.observed.columns]
        for subset in self.views:
            if len(subset) > 1:
                by_column = self.dimensions.codes(self.observed, subset, self.rows(subset)[1])
            else:
                columns = [_unique_sorted(entries.codes) for entries in self.counted[subset]]
                by_column = dict(zip(self.places(subset), columns, strict=True))
            for place, codes in by_column.items():
                used[place].append(codes)
        return [_union(codes) for codes in used]

    def rows(self, subset: Subset) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the codes of the tuples counted for a set, and their rows of column codes."""
        codes = _unique_sorted(self.counted[subset][0].codes)
        values: Any = self.views[subset].columns[0].values
        return codes, values[codes]

    def tuples(self, subset: Subset, features: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the tuples counted for a set as rows of features.

        `features` has the feature of each code of each column.
        """
        lookups = self.dimensions.lookups(self.observed, subset, features)
        return features_of(self.rows(subset)[1], lookups)

    def delta(
        self,
        subset: Subset,
        classes: NDArray[Any],
        features: list[NDArray[np.int64]],
        shape: tuple[int, int],
    ) -> Corpus:
        """Return the corpus of the batch for a set.

        `classes` has the column of each class, and `features` the row of each code of each
        column, or of each tuple counted.
        """
        columns = [
            entries._replace(classes=classes[entries.classes]) for entries in self.counted[subset]
        ]
        if not subset:
            return Corpus.of_entries(columns, [columns[0].codes], shape)
        if len(subset) > 1:
            lookup = np.zeros(self.views[subset].columns[0].n_values, dtype=np.int64)
            lookup[self.rows(subset)[0]] = features[0]
            return Corpus.of_entries(columns, [lookup[columns[0].codes]], shape)
        places = self.places(subset)
        rows = [features[k][entries.codes] for k, entries in zip(places, columns, strict=True)]
        return Corpus.of_entries(columns, rows, shape)


def _unique_sorted(codes: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct codes of a sorted array."""
    return np.asarray(codes[run_starts(codes)])


def _union(codes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sorted union of sorted codes."""
    if len(codes) == 1:
        return codes[0]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *codes]))


@dataclass
class RunningCounts:
    """Running sums of the counts of batches, for sets of at most one dimension.

    Attributes
    ----------
    dimensions
        The groups of attributes.
    subsets
        The sets of dimensions to count for.
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
        """Whether all sets have at most one dimension."""
        return all(len(subset) <= 1 for subset in subsets)

    def add(self, batch: BatchCounts) -> None:
        """Add the counts of a batch."""
        self.like(batch.observed, batch.target)
        for subset, counted in batch.counted.items():
            columns = batch.views[subset].columns if subset else (None,)
            for column, entries in zip(columns, counted, strict=True):
                self.add_entries(subset, column, batch.target, entries)

    def like(self, observed: Observations, target: Column) -> None:
        """Take over the kind of the items and classes, and number the new values."""
        self._observed, self._target = observed, target
        # Computed once per batch, because several sets may read a column.
        self._lookups = {
            column.attribute: _numbered(self._values.setdefault(column.attribute, {}), column)
            for column in observed.columns
        }

    def add_entries(
        self, subset: Subset, column: Column | None, target: Column, entries: Entries
    ) -> None:
        """Add entries of a column, or of the classes if column is None."""
        known = self._classes
        numbers = [known.setdefault(label, len(known)) for label in _labels(target)]
        classes = np.array(numbers, dtype=np.int64)[entries.classes]
        attribute = () if column is None else column.attribute
        rows = entries.codes if column is None else self._lookups[attribute][entries.codes]
        self._sums.setdefault((subset, attribute), Sums()).add(rows, classes, entries)

    def counted(self) -> BatchCounts | None:
        """Return the counts of all batches as those of one batch, or None without a batch."""
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
        return BatchCounts(self.dimensions, observed, target, views, counted)

    def _entries(self, subset: Subset, attribute: Any) -> Entries:
        return self._sums.get((subset, attribute), Sums()).entries()


def _labels(target: Column) -> list[Any]:
    values: Any = target.values
    return list(values) if values.dtype.kind in "mMO" else list(values.tolist())


def _array(labels: list[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return labels in the dtype of the last batch, if it holds all of them."""
    array = object_array(labels) if dtype.kind == "O" else label_array(labels)
    if array.dtype.kind in "OUS":  # strings as wide as needed
        return array.astype(dtype) if dtype.kind == "T" else array
    converted = array.astype(dtype)
    return converted if (converted == array).all() else array


def _numbered(index: dict[Any, int], column: Column) -> NDArray[np.int64]:
    """Return the number of each value of a column, and add the new values to the index."""
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
    """Mass and support of pairs of a value and a class: a dense table, or a list of entries."""

    table: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0)))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    parts: list[Entries] = field(default_factory=list)

    def add(self, rows: NDArray[Any], classes: NDArray[Any], entries: Entries) -> None:
        """Add entries of these values and classes, in which each pair occurs once."""
        if not len(rows):
            return
        needed = int(rows.max()) + 1, int(classes.max()) + 1
        shape = max(self.table.shape[0], needed[0]), max(self.table.shape[1], needed[1])
        if self.parts or not fits_table(shape[0] * shape[1], len(rows)):
            self.parts.append(entries._replace(codes=rows, classes=classes))
            if sum(len(part.codes) for part in self.parts) > _MOST_ENTRIES:
                self.parts = [sum_entries(self.parts)]
            return
        if shape != self.table.shape:
            self._grow(shape)
        self.table[rows, classes] += entries.mass
        self.counts[rows, classes] += entries.support

    def _grow(self, shape: tuple[int, int]) -> None:
        # Grow by half, so that many small additions do not copy the table each time.
        room = [
            (0, 0 if size == old else max(size - old, old // 2))
            for size, old in zip(shape, self.table.shape, strict=True)
        ]
        self.table, self.counts = np.pad(self.table, room), np.pad(self.counts, room)

    def entries(self) -> Entries:
        """Return all entries, sorted by value and class."""
        codes, classes = np.nonzero(self.counts)
        table = Entries(codes, classes, self.table[codes, classes], self.counts[codes, classes])
        return sum_entries([table, *self.parts]) if self.parts else table


def sum_entries(parts: Sequence[Entries]) -> Entries:
    """Return the sum of entries in which a pair may occur several times."""
    codes, classes, mass, support = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((classes, codes))
    codes, classes = codes[order], classes[order]
    starts = run_starts(codes, classes)
    sums = [np.add.reduceat(numbers[order], starts) for numbers in (mass, support)]
    return Entries(codes[starts], classes[starts], *sums)
