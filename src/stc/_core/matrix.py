"""Batches item by item: the features of each item, their shares and their angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import Floats, entropy_weights
from stc._core.observations import (
    Column,
    Observations,
    Part,
    SparseOffsets,
    concatenate_by_item,
    item_offsets,
    items_of,
    sum_at,
)

# For each column the feature of each code.
Lookups = Sequence[NDArray[Any]]

# Sums of weights that differ by less than this share differ by rounding.
_ROUNDING = 1e-9
# Entropy weights are compared after rounding to this many decimals.
_DECIMALS = 12


@dataclass(frozen=True)
class FeatureMatrix:
    """A batch as one sparse matrix, whose features are numbered through column by column.

    Attributes
    ----------
    matrix
        Weights, items x features.
    starts
        The first feature of each column, then the number of features.
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
    def of(cls, observed: Observations) -> FeatureMatrix:
        """Return the matrix of all items."""
        sizes = [column.n_values for column in observed.columns]
        starts = np.cumsum([0, *sizes])
        size = int(starts[-1])
        lookups = [
            np.append(np.arange(n, dtype=np.int32) + start, np.int32(size))
            for start, n in zip(starts.tolist(), sizes, strict=False)
        ]
        # The codes of a sparse matrix are features already, and it has one column.
        weights, features, offsets = _item_rows(*packed(observed, lookups), 0, observed.n_items)
        present = features < size
        if not present.all():
            items = items_of(offsets)[present]
            features, offsets = features[present], item_offsets(items, observed.n_items)
            weights = None if weights is None else weights[present]
        data = np.ones(len(features)) if weights is None else weights
        shape = (observed.n_items, size)
        flags = np.array([column.conjunction for column in observed.columns], dtype=bool)
        conjunctions = np.repeat(flags, sizes)
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
        """Return which features to keep: all single values, and the strongest conjunctions.

        A conjunction needs `min_support` of these items, of which one of weight 2 is two, and one
        of weight 1/2 is one; the `max_features` with the highest `H_j` are kept. Ties are broken
        by name, so that the order of the items does not matter.
        """
        selected = self.matrix[items]
        times = np.repeat(np.maximum(sample_weight[items], 1.0), np.diff(selected.indptr))
        support = sum_at(selected.indices, times, self.matrix.shape[1])
        keep = ~self.conjunctions | (support >= (1 - _ROUNDING) * min_support)
        chosen = np.flatnonzero(keep & self.conjunctions)
        if max_features is not None and len(chosen) > max_features:
            H = np.round(self._entropy_weights(chosen, items, truth, sample_weight), _DECIMALS)
            lowest = -np.sort(-H)[max_features - 1] if max_features else np.inf
            tied = sorted(chosen[lowest == H].tolist(), key=self._sort_key)
            keep[chosen[lowest >= H]] = False
            keep[tied[: max_features - np.count_nonzero(lowest < H)]] = True
        return np.asarray(keep)

    def _sort_key(self, feature: int) -> tuple[Any, ...]:
        """Return the attributes of a conjunction, then its values."""
        place = int(np.searchsorted(self.starts, feature, side="right")) - 1
        values: Any = self.columns[place].values
        parts = values[feature - int(self.starts[place])]
        return self.columns[place].attribute, [(part is None, part or "") for part in parts]

    def affordable(
        self, truth: Floats, sample_weight: Floats, min_support: int, per_item: float
    ) -> int:
        """Return the largest k such that items have at most `per_item` conjunctions on average.

        Of the conjunctions with `min_support`, the k with the highest `H_j` are counted.
        """
        support = np.bincount(self.matrix.indices, minlength=self.matrix.shape[1])
        chosen = np.flatnonzero(self.conjunctions & (support >= min_support))
        items = np.arange(self.matrix.shape[0])
        H = self._entropy_weights(chosen, items, truth, sample_weight)
        entries = np.cumsum(support[chosen[np.argsort(-H, kind="stable")]])
        return int(np.searchsorted(entries, per_item * len(items), side="right"))

    def _entropy_weights(
        self, chosen: NDArray[Any], items: NDArray[Any], truth: Floats, sample_weight: Floats
    ) -> Floats:
        """Return `H_j` of the chosen features, computed from these items.

        One item, distributed as the class frequencies, is added to the counts of each feature, so
        that a feature seen twice in one class gets a lower weight than one seen a hundred times.
        """
        mass = sample_weight[items, None] * truth[items]
        per_class = mass.sum(axis=0)
        present = per_class > 0
        counts = (self.matrix[items][:, chosen].T @ mass)[:, present]
        per_class, total = per_class[present], per_class.sum()
        return entropy_weights(sparse.csr_array(counts + per_class / total), per_class)


def packed(observed: Observations, lookups: Lookups) -> tuple[Observations, Lookups]:
    """Return the items with all columns that few items have values in as one column of features."""
    if not observed.has_sparse:
        return observed, lookups
    kept: list[tuple[Column, NDArray[Any]]] = []
    rare: list[tuple[Column, NDArray[Any]]] = []
    for column, lookup in zip(observed.columns, lookups, strict=True):
        (rare if isinstance(column.offsets, SparseOffsets) else kept).append((column, lookup))
    parts: list[Part] = [(c.weights, lookup[c.codes], c.offsets) for c, lookup in rare]
    weights, features, offsets = concatenate_by_item(parts)
    unweighted = all(column.weights is None for column, _ in rare)
    angles = None
    if any(column.angles is not None for column, _ in rare):
        zeros = [np.zeros(len(c.codes)) if c.angles is None else c.angles for c, _ in rare]
        turned = [(theta, *part[1:]) for theta, part in zip(zeros, parts, strict=True)]
        angles = concatenate_by_item(turned)[0]
    size = int(lookups[0][-1])
    one = Column(None, None, size, features, offsets, None if unweighted else weights, angles)
    columns = (*(column for column, _ in kept), one)
    return replace(observed, columns=columns), [*(lookup for _, lookup in kept), features[:0]]


def shares(observed: Observations, lookups: Lookups, start: int, stop: int) -> Part:
    """Return the items from start to stop as (`x_j`, features, offsets).

    `x_j` is None if all values of an item have equal weights, which do not change the answer.
    """
    weights, features, offsets = _item_rows(observed, lookups, start, stop)
    if weights is None:
        return None, features, offsets
    totals = np.repeat(nonzero(observed.totals[start:stop]), np.diff(offsets))
    # A missing value has a weight that no total counts; a power of it must not overflow.
    return np.minimum(weights / totals, 1.0), features, offsets


def normalised(observed: Observations) -> bool:
    """Whether `shares` returns the `x_j` of these items, not None."""
    lookups = [np.zeros(1, dtype=np.int32)] * len(observed.columns)
    return _item_rows(observed, lookups, 0, 0)[0] is not None


def thetas(observed: Observations, start: int, stop: int) -> Floats | None:
    """Return `theta_j` of the items from start to stop, in the order of `shares`."""
    if all(column.angles is None for column in observed.columns):
        return None
    parts: list[Part] = []
    for column in observed.columns:
        offsets = np.arange(observed.n_items + 1) if column.offsets is None else column.offsets
        bounds = offsets[start : stop + 1]
        angles = np.zeros(len(column.codes)) if column.angles is None else column.angles
        entries = slice(bounds[0], bounds[-1])
        parts.append((angles[entries], column.codes[entries], bounds - bounds[0]))
    return concatenate_by_item(parts)[0]


def nonzero(totals: Floats) -> Floats:
    """Return the totals with 1 in the place of 0, to divide by."""
    return np.where(totals > 0, totals, 1.0)


def _item_rows(observed: Observations, lookups: Lookups, start: int, stop: int) -> Part:
    """Return the items from start to stop as (weights or None, features, offsets)."""
    columns = observed.columns
    if all(column.offsets is None for column in columns):
        features = np.empty((stop - start, len(columns)), dtype=np.int32)
        for place, (column, lookup) in enumerate(zip(columns, lookups, strict=True)):
            features[:, place] = lookup[column.codes[start:stop]]
        offsets = np.arange(stop - start + 1) * len(columns)
        return None, features.ravel(), offsets
    parts = [_column_rows(*pair, start, stop) for pair in zip(columns, lookups, strict=True)]
    return parts[0] if len(parts) == 1 else concatenate_by_item(parts)


def _column_rows(column: Column, lookup: NDArray[np.int32], start: int, stop: int) -> Part:
    if column.offsets is None:
        return None, lookup[column.codes[start:stop]], np.arange(stop - start + 1)
    first, last = int(column.offsets[start]), int(column.offsets[stop])
    weights = None if column.weights is None else column.weights[first:last]
    codes = column.codes[first:last]
    features = codes if column.values is None else lookup[codes]
    return weights, features, column.offsets[start : stop + 1] - first
