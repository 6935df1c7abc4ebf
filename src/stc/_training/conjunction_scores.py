"""What conjunctions of attributes would add to the scores of the items that choose.

Counts are over all items that are drawn; the scores are those of leave-one-out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core.formulas import Floats, Hyper
from stc._core.labels import places_of
from stc._core.product import first_places, unique_keys
from stc._training.choice import Judge
from stc._training.drawing import Items

Names = tuple[str, ...]
# The counts left without an item for each value and kind of item, the kinds, and their places.
_Counts = tuple[Floats, NDArray[np.int64], NDArray[np.int64]]

# Candidates whose weights are computed at a time.
_AT_A_TIME = 64
# Largest number of counts that are kept.
_MOST_COUNTS = 1 << 23


@dataclass(eq=False)
class Candidates:
    """What each tuple of attributes would add to the scores of the items that choose.

    Attributes
    ----------
    items
        The items that are counted.
    judge
        The items that choose.
    classes
        The class of each item that is counted.
    """

    items: Items
    judge: Judge
    classes: NDArray[np.int64]
    _counts: dict[Names, _Counts] = field(default_factory=dict)  # no setting changes them
    _room: int = _MOST_COUNTS

    @classmethod
    def of(cls, items: Items, judge: Judge) -> Candidates:
        """Return the candidates of items with one class each."""
        classes = judge.left_out.cascade.model.classes
        places = places_of(classes, np.asarray(items.target.values))
        return cls(items, judge, np.asarray(places[items.target.codes]))

    @property
    def singles(self) -> list[Names]:
        """The attributes with one value per item."""
        return [(name,) for name in self._columns]

    def scores(self, tuples: Sequence[Names], hyper: Hyper) -> Floats:
        """Return the sum of the contributions of some tuples, classes x items."""
        total = np.zeros(self.judge.truth.shape)
        for start in range(0, len(tuples), _AT_A_TIME):
            part = self.contributions(tuples[start : start + _AT_A_TIME], hyper)
            total += part.sum(axis=0, dtype=np.float64)
        return total

    def contributions(self, tuples: Sequence[Names], hyper: Hyper) -> NDArray[np.float32]:
        """Return the contributions of each tuple, tuples x classes x items."""
        shape = (len(tuples), *self.judge.truth.shape)
        contributions = np.zeros(shape, dtype=np.float32)
        for start in range(0, len(tuples), _AT_A_TIME):
            self._add(contributions, tuples, slice(start, start + _AT_A_TIME), hyper)
        return contributions

    def _add(
        self, result: NDArray[np.float32], tuples: Sequence[Names], part: slice, hyper: Hyper
    ) -> None:
        n_classes = result.shape[1]
        rows, kinds, places = [np.zeros((0, n_classes))], [np.zeros(0, np.int64)], []
        for names in tuples[part]:
            C, kind, place = self._counted(names)
            places.append(np.where(place < 0, -1, place + sum(map(len, rows))))
            rows.append(C)
            kinds.append(kind)
        remaining = replace(
            self.judge.left_out.remaining[0],
            C=np.ascontiguousarray(np.concatenate(rows).T),
            kinds=np.concatenate(kinds),
            x=np.ones(sum(map(len, rows))),
            _logarithms={},
        )
        # A further row is for items that lack a value.
        absent = np.zeros((n_classes, 1))
        weights = np.append(np.exp(remaining.log_contributions(hyper)), absent, axis=1)
        for number, of_class in enumerate(weights.astype(np.float32)):
            for tuple_, place in zip(result[part], places, strict=True):
                of_class.take(place, mode="wrap", out=tuple_[number])

    def _counted(self, names: Names) -> _Counts:
        """Return the counts of a tuple, kept from an earlier call if they fit into memory."""
        counts = self._counts.get(names)
        if counts is None:
            counts = self._left_out(names)
            size = sum(array.size for array in counts)
            if size <= self._room:
                self._counts[names] = counts
                self._room -= size
        return counts

    def _left_out(self, names: Names) -> _Counts:
        """Return the counts without an item for each value and kind of item, and their places."""
        cells, n_values = self._cells(names)
        n_classes = len(self.judge.truth)
        # The last row is for items that lack a value.
        counts = np.bincount(cells, self.items.sample_weight, (n_values + 1) * n_classes)
        counts = counts.reshape(n_values + 1, n_classes)
        judged = cells.take(self.judge.sample.items) // n_classes
        kind = self.judge.left_out.remaining[0].item_kinds
        present = np.flatnonzero(judged < n_values)
        n_kinds = int(kind.max()) + 1
        keys = judged[present] * n_kinds + kind[present]
        inverse = unique_keys(keys, n_values * n_kinds)[1]
        place = np.full(len(judged), -1)
        place[present] = inverse
        firsts = first_places(inverse)
        first = present[firsts]
        C = counts[judged[first]]
        learnt = self.judge.left_out.learnt
        if learnt.single:
            C[np.arange(len(first)), self.judge.classes[first]] -= learnt.removed[first]
        else:
            pairs = judged[present] * (int(learnt.group.max()) + 1) + learnt.group[present]
            _, same = np.unique(pairs, return_inverse=True)
            cells = same * n_classes + self.judge.classes[present]
            taken = np.bincount(
                cells, learnt.removed[present], (same.max(initial=-1) + 1) * n_classes
            )
            C -= taken.reshape(-1, n_classes)[same[firsts]]
        C[C < 1e-9] = 0.0
        return np.asarray(C, dtype=np.float64), kind[first], place

    @cached_property
    def _columns(self) -> dict[str, _Codes]:
        """The values of each attribute with one value per item."""
        columns = {}
        for column in self.items.observed.columns:
            if column.offsets is not None:
                continue
            codes = column.codes.astype(np.int64)
            cells = codes * len(self.judge.truth) + self.classes
            missing = codes == column.n_values
            size = column.n_values + 1
            of_column = _Codes(codes, cells, size, missing if missing.any() else None)
            columns[str(column.attribute)] = of_column
        return columns

    def _cells(self, names: Names) -> tuple[NDArray[np.int64], int]:
        """Return the value of a conjunction and the class of each item as a number.

        And how many values there are; this number is that of a missing value.
        """
        *columns, last = (self._columns[name] for name in names)
        n_classes, size, cells = len(self.judge.truth), last.size, last.cells
        if columns:
            codes = columns[0].codes
            for column in columns[1:]:
                codes = codes * column.size
                codes += column.codes
            cells = codes * (last.size * n_classes)
            cells += last.cells
            size = math.prod([last.size, *(column.size for column in columns)])
        if size > 4 * len(cells):
            values, codes = np.unique(cells // n_classes, return_inverse=True)
            size, cells = len(values), codes * n_classes + self.classes
        missing = [c.missing for c in (*columns, last) if c.missing is not None]
        if missing:
            absent = np.logical_or.reduce(missing)
            cells = np.where(absent, size * n_classes + self.classes, cells)
        return cells, size


class _Codes(NamedTuple):
    """The values of an attribute as numbers.

    Attributes
    ----------
    codes, cells
        The value of each item; and with its class.
    size
        How many values there are, with the missing one.
    missing
        The items without a value; None if all have one.
    """

    codes: NDArray[np.int64]
    cells: NDArray[np.int64]
    size: int
    missing: NDArray[np.bool_] | None
