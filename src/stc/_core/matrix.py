"""A batch laid out item by item: the features of each, their shares and their angles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import entropy_weights
from stc._core.observations import Column, Observations, Part, offsets_of, side_by_side

Floats = NDArray[np.float64]
Lookups = list[NDArray[np.int32]]

# Strengths that differ less than this are the same but for rounding.
_DIGITS = 12


@dataclass(frozen=True)
class Layout:
    """A batch as one matrix, in features of its own.

    Attributes
    ----------
    matrix
        Weights, items x features; the features of each column after those of the one before.
    starts
        The first feature of each column, and the number of all.
    conjunctions
        Which features are conjunctions.
    columns
        The columns of the batch, which name the features.
    """

    matrix: sparse.csr_array
    starts: NDArray[np.int64]
    conjunctions: NDArray[np.bool_]
    columns: tuple[Column, ...]

    @classmethod
    def of(cls, observed: Observations) -> Layout:
        """Lay out all items."""
        sizes = [column.n_values for column in observed.columns]
        starts = np.cumsum([0, *sizes])
        size = int(starts[-1])
        lookups = [
            np.append(np.arange(n, dtype=np.int32) + start, np.int32(size))
            for start, n in zip(starts.tolist(), sizes, strict=False)
        ]
        # The codes of a sparse matrix are features already, and it has one column.
        weights, features, offsets = laid_out(observed, lookups, 0, observed.n_items)
        there = features < size
        if not there.all():
            items = np.repeat(np.arange(observed.n_items), np.diff(offsets))[there]
            features, offsets = features[there], _bounds(items, observed.n_items)
            weights = None if weights is None else weights[there]
        data = np.ones(len(features)) if weights is None else weights
        shape = (observed.n_items, size)
        made = np.array([column.conjunction for column in observed.columns], dtype=bool)
        conjunctions = np.repeat(made, sizes)
        matrix = sparse.csr_array((data, features, offsets), shape=shape)
        return cls(matrix, starts, conjunctions, observed.columns)

    def strongest(
        self,
        items: NDArray[Any],
        truth: Floats,
        sample_weight: Floats,
        min_support: int,
        max_features: int | None,
    ) -> NDArray[np.bool_]:
        """The features to keep, by these items: of the conjunctions those that tell most.

        These are shown by `min_support` items, and have the highest `H_j`; of equals those first by
        name, so that the order of items and values does not matter.
        """
        support = np.bincount(self.matrix[items].indices, minlength=self.matrix.shape[1])
        keep = ~self.conjunctions | (support >= min_support)
        chosen = np.flatnonzero(keep & self.conjunctions)
        if max_features is not None and len(chosen) > max_features:
            H = np.round(self._strengths(chosen, items, truth, sample_weight), _DIGITS)
            last = -np.sort(-H)[max_features - 1] if max_features else np.inf
            equals = sorted(chosen[last == H].tolist(), key=self._name)
            keep[chosen[last >= H]] = False
            keep[equals[: max_features - np.count_nonzero(last < H)]] = True
        return np.asarray(keep)

    def _name(self, feature: int) -> tuple[Any, ...]:
        """What conjunctions are sorted by: the names of their attributes, then their values."""
        place = int(np.searchsorted(self.starts, feature, side="right")) - 1
        values: Any = self.columns[place].values
        parts = values[feature - int(self.starts[place])]
        return self.columns[place].attribute, [(part is None, part or "") for part in parts]

    def affordable(
        self, truth: Floats, sample_weight: Floats, min_support: int, per_item: float
    ) -> int:
        """How many of the strongest conjunctions an item can have only so many of, on average."""
        support = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])
        chosen = np.flatnonzero(self.conjunctions & (support >= min_support))
        items = np.arange(self.matrix.shape[0])
        H = self._strengths(chosen, items, truth, sample_weight)
        shown = np.cumsum(support[chosen[np.argsort(-H, kind="stable")]])
        return int(np.searchsorted(shown, per_item * len(items), side="right"))

    def _strengths(
        self, chosen: NDArray[Any], items: NDArray[Any], truth: Floats, sample_weight: Floats
    ) -> Floats:
        """`H_j` of these features, by these items.

        One item more, shared by the classes as they are frequent, is added to the count of each, so
        that what was seen twice in one class tells less than what was seen a hundred times.
        """
        mass = sample_weight[items, None] * truth[items]
        classes = mass.sum(axis=0)
        present = classes > 0
        found = (self.matrix[items][:, chosen].T @ mass)[:, present]
        return entropy_weights(
            sparse.csr_array(found + classes[present] / classes.sum()), classes[present]
        )


def shares(observed: Observations, lookups: Lookups, start: int, stop: int) -> Part:
    """The items from start to stop as (`x_j`, features, offsets).

    Where all values of an item weigh the same, which no score can tell, `x_j` is None.
    """
    weights, features, offsets = laid_out(observed, lookups, start, stop)
    if weights is None:
        return None, features, offsets
    totals = np.repeat(nonzero(observed.totals[start:stop]), np.diff(offsets))
    return weights / totals, features, offsets


def normalised(observed: Observations) -> bool:
    """Whether `shares` gives the `x_j` of these items, not None."""
    nothing = [np.zeros(1, dtype=np.int32)] * len(observed.columns)
    return laid_out(observed, nothing, 0, 0)[0] is not None


def thetas(observed: Observations, start: int, stop: int) -> Floats | None:
    """`theta_j` of the items from start to stop, in the order of their features."""
    if all(column.angles is None for column in observed.columns):
        return None
    parts: list[Part] = []
    for column in observed.columns:
        offsets = np.arange(observed.n_items + 1) if column.offsets is None else column.offsets
        bounds = offsets[start : stop + 1]
        angles = np.zeros(len(column.codes)) if column.angles is None else column.angles
        own = slice(bounds[0], bounds[-1])
        parts.append((angles[own], column.codes[own], bounds - bounds[0]))
    return side_by_side(parts)[0]


def nonzero(totals: Floats) -> Floats:
    """Totals to divide by; an item without values has nothing to divide."""
    return np.where(totals > 0, totals, 1.0)


def laid_out(observed: Observations, lookups: Lookups, start: int, stop: int) -> Part:
    """The items from start to stop as (weights or None, features, offsets)."""
    columns = observed.columns
    if len(columns) == 1 and columns[0].offsets is not None:
        return _ragged_block(columns[0], lookups[0], start, stop)
    if all(column.offsets is None for column in columns):
        features = np.empty((stop - start, len(columns)), dtype=np.int32)
        for place, (column, lookup) in enumerate(zip(columns, lookups, strict=True)):
            features[:, place] = lookup[column.codes[start:stop]]
        offsets = np.arange(stop - start + 1) * len(columns)
        return None, features.ravel(), offsets
    return _mixed_block(columns, lookups, start, stop)


def _ragged_block(column: Column, lookup: NDArray[np.int32], start: int, stop: int) -> Part:
    assert column.offsets is not None
    first, last = int(column.offsets[start]), int(column.offsets[stop])
    weights = None if column.weights is None else column.weights[first:last]
    codes = column.codes[first:last]
    features = codes if column.values is None else lookup[codes]
    return weights, features, column.offsets[start : stop + 1] - first


def _mixed_block(columns: tuple[Column, ...], lookups: Lookups, start: int, stop: int) -> Part:
    """Columns of one and of several values side by side in each item's row."""
    parts: list[Part] = []
    for column, lookup in zip(columns, lookups, strict=True):
        if column.offsets is None:
            offsets = np.arange(stop - start + 1)
            parts.append((None, lookup[column.codes[start:stop]], offsets))
        else:
            parts.append(_ragged_block(column, lookup, start, stop))
    return side_by_side(parts)


def _bounds(items: NDArray[Any], n_items: int) -> NDArray[np.int64]:
    return offsets_of(np.bincount(items, minlength=n_items))
