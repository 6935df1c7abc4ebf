"""Scores of items, computed in blocks that fit into the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core import formulas
from stc._core.formulas import Floats
from stc._core.matrix import nonzero, shares, thetas
from stc._core.observations import Observations, Part, items_of, sum_by_item
from stc._core.tensor import Tuples
from stc._core.vocabulary import Vocabulary
from stc._utils.threads import thread_map

# Maps the values of a column to rows of the weights.
Index = Vocabulary | Tuples

# Weights are stored densely, which is fastest, up to this many cells (half a gigabyte).
_DENSE_CELLS = 1 << 26
# Largest numbers of entries and of scores in a block.
_BLOCK_ENTRIES = 1 << 19
_BLOCK_SCORES = 1 << 21
# An item whose highest score is below the first share of its contributions is examined; a score
# below the second share is the rounding error of contributions that cancel.
_SUSPICIOUS, _CANCELLED = 1e-9, 1e-14
# Scores below this are near the smallest double and have lost precision.
_UNDERFLOW = 1e-290


class Contributions(NamedTuple):
    """Contributions: item, feature, modulus and angle (in radians) of each."""

    items: NDArray[Any]
    features: NDArray[Any]
    parts: Floats
    angles: Floats


class Scorer:
    """Computes the scores of items from one table of weights.

    Parameters
    ----------
    index
        Maps the values of items to rows of the weights.
    log_weights
        `ln W_ij`, a row per feature, a column per class.
    angles
        `phi_ij` of each entry of the weights; None: all are 0.
    power
        The p of `x_j^p`.
    """

    def __init__(
        self,
        index: Index,
        log_weights: sparse.csr_array,
        angles: Floats | None,
        power: float,
    ) -> None:
        self.index = index
        self.power = power
        weights, self._within_range = formulas.weights(log_weights)
        self._logarithms = _padded(log_weights)
        self._angles = None
        if angles is not None:
            weights = formulas.with_data(weights, formulas.turned(weights.data, -angles))
            self._angles = formulas.with_data(self._logarithms, angles)
        table = _padded(weights)
        self._table = table.toarray() if np.prod(table.shape) <= _DENSE_CELLS else table

    def map(
        self, observed: Observations, function: Callable[[Floats], NDArray[Any]]
    ) -> NDArray[Any]:
        """Apply `function` to the scores `U_i` (items x classes) of each block; concatenate."""
        lookups = self._lookups(observed)

        def map_block(bounds: tuple[int, int]) -> NDArray[Any]:
            x, features, offsets = shares(observed, lookups, *bounds)
            # The operator, not np.power, which is slow for a square root.
            xp: NDArray[Any] = np.ones(len(features)) if x is None else x**self.power
            theta = thetas(observed, *bounds)
            if theta is not None:
                xp = formulas.turned(xp, theta)
            shape = (bounds[1] - bounds[0], self._table.shape[0])
            U = formulas.scores(sparse.csr_array((xp, features, offsets), shape=shape), self._table)
            if x is not None or not self._within_range:
                self._correct_underflow(U, (x, features, offsets), theta)
            if U.size and (theta is not None or self._angles is not None):
                self._correct_cancellation(U, xp, features, offsets)
            return function(U)

        parts = thread_map(map_block, _bounds(observed, self._table.shape[1]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _correct_underflow(self, U: Floats, part: Part, theta: Floats | None) -> None:
        """Compute scores by logarithms for the items whose scores have underflowed.

        Their weights are tiny compared to the largest of the model, or their shares compared to
        that of an unknown value.
        """
        x, features, offsets = part
        unknown = self._table.shape[0] - 1
        for item in np.flatnonzero(U.max(axis=1, initial=0.0) < _UNDERFLOW):
            entries = slice(offsets[item], offsets[item + 1])
            rows = features[entries]
            if (rows == unknown).all():
                continue  # the scores are 0
            log_W = self._logarithms[rows]
            log_xp = np.zeros(log_W.shape[0]) if x is None else self.power * np.log(x[entries])
            angles = self._turns(rows, None if theta is None else theta[entries])
            U[item] = formulas.scores_by_logarithms(log_W, log_xp, angles)

    def _correct_cancellation(
        self, U: Floats, xp: NDArray[Any], features: NDArray[Any], offsets: NDArray[Any]
    ) -> None:
        """Set the scores to 0 that are rounding errors of contributions that cancel."""
        bounds = sum_by_item(np.abs(xp) * self._largest[features], offsets)
        for item in np.flatnonzero(U.max(axis=1) < _SUSPICIOUS * bounds):
            entries = slice(offsets[item], offsets[item + 1])
            moduli = np.abs(self._table[features[entries]])
            sums = np.asarray(np.abs(xp[entries]) @ moduli).ravel()
            U[item, U[item] <= _CANCELLED * sums] = 0.0

    @cached_property
    def _largest(self) -> Floats:
        """Largest weight of each feature."""
        highest = np.abs(self._table).max(axis=1)
        return np.asarray(highest.toarray()).ravel() if sparse.issparse(highest) else highest

    def _turns(self, features: NDArray[Any], theta: Floats | None) -> Floats | None:
        """Return `theta_j - phi_ij` of the entries of these features."""
        if self._angles is None and theta is None:
            return None
        entries = self._logarithms[features]
        turns = np.zeros(entries.nnz) if self._angles is None else -self._angles[features].data
        if theta is not None:
            turns += np.repeat(theta, np.diff(entries.indptr))
        return np.asarray(turns)

    def contributions(self, observed: Observations, classes: NDArray[Any]) -> Contributions:
        """Return the contributions of each item to the score of one class per item."""
        lookups = self._lookups(observed)
        x, features, offsets = shares(observed, lookups, 0, observed.n_items)
        items = items_of(offsets)
        V_ij = np.asarray(self._table[features, classes[items]]).ravel()
        x_j = 1.0 / nonzero(observed.totals)[items] if x is None else x
        w: NDArray[Any] = formulas.contributions(V_ij, x_j, self.power)
        theta = thetas(observed, 0, observed.n_items)
        w = w if theta is None else formulas.turned(w, theta)
        kept = np.flatnonzero(w)
        w = w[kept]
        parts = np.asarray(np.abs(w) if w.dtype.kind == "c" else w, dtype=np.float64)
        return Contributions(items[kept], features[kept], parts, np.angle(w))

    def _lookups(self, observed: Observations) -> list[NDArray[np.int32]]:
        return [self.index.locate(c).astype(np.int32) for c in observed.columns]


def _padded(table: sparse.csr_array) -> sparse.csr_array:
    """Return the table with a row of zeros for unknown and missing values appended."""
    indptr = np.append(table.indptr, table.indptr[-1])
    shape = (table.shape[0] + 1, table.shape[1])
    return sparse.csr_array((table.data, table.indices, indptr), shape=shape)


def seen_share(index: Index, observed: Observations, learnt: NDArray[np.bool_]) -> Floats:
    """Return the share of the weight of each item that is in known features."""
    learnt = np.append(learnt, False)
    seen = np.zeros(observed.n_items)
    for column in observed.columns:
        known = learnt[index.locate(column)]
        if column.offsets is None:
            seen += known[column.codes]
            continue
        weights = known[column.codes].astype(np.float64)
        if column.weights is not None:
            weights *= column.weights
        seen += sum_by_item(weights, column.offsets)
    totals = observed.totals
    return np.divide(seen, totals, out=np.zeros(len(seen)), where=totals > 0)


def _bounds(observed: Observations, n_classes: int) -> list[tuple[int, int]]:
    """Return the bounds of blocks of items with limited numbers of entries and scores."""
    n_items = observed.n_items
    entries = sum(len(column.codes) for column in observed.columns)
    size = min(_BLOCK_ENTRIES * n_items // max(entries, 1), _BLOCK_SCORES // max(n_classes, 1))
    size = max(size, 1)
    return [(start, min(start + size, n_items)) for start in range(0, n_items, size)]
