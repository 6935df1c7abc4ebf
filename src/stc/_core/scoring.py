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
from stc._core.matrix import nonzero, packed, shares, thetas
from stc._core.observations import (
    Observations,
    Part,
    item_offsets,
    items_of,
    offsets_of,
    sum_by_item,
)
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
# Weights of items that are scored by logarithms at a time.
_MOST_WEIGHTS = 1 << 21
# An item whose highest score is below this share of its contributions is examined.
_SUSPICIOUS = 1e-9
# Scores below this are near the smallest double and have lost precision.
_UNDERFLOW = 1e-290
_LOG_UNDERFLOW = float(np.log(_UNDERFLOW))


class Contributions(NamedTuple):
    """Contributions: item, feature, modulus and angle (in radians) of each.

    Those of an item that are too small for a double are divided by `exp(scales)`.
    """

    items: NDArray[Any]
    features: NDArray[Any]
    parts: Floats
    angles: Floats
    scales: Floats


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
        weights, self._shift = formulas.weights(log_weights)
        finite = log_weights.data[np.isfinite(log_weights.data)]
        # The logarithm of the least weight in the table.
        self._least = float(finite.min(initial=np.inf)) - self._shift
        self._logarithms = _padded(log_weights)
        self._angles = None
        if angles is not None:
            weights = formulas.with_data(weights, formulas.turned(weights.data, -angles))
            self._angles = formulas.with_data(self._logarithms, angles)
        table = _padded(weights)
        self._table = table.toarray() if np.prod(table.shape) <= _DENSE_CELLS else table

    def map(
        self,
        observed: Observations,
        function: Callable[[Floats], NDArray[Any]],
        *,
        logarithms: bool = True,
    ) -> NDArray[Any]:
        """Apply `function` to `ln U_i` (items x classes) of each block; concatenate.

        Without `logarithms` to `U_i` up to a factor for each item, in which scores vanish beside
        the highest of the item: enough to tell the highest, and faster.
        """
        observed, lookups = packed(observed, self._lookups(observed))

        def map_block(bounds: tuple[int, int]) -> NDArray[Any]:
            x, features, offsets = part = shares(observed, lookups, *bounds)
            # The operator, not np.power, which is slow for a square root.
            xp: NDArray[Any] = np.ones(len(features)) if x is None else x**self.power
            theta = thetas(observed, *bounds)
            if theta is not None:
                xp = formulas.turned(xp, theta)
            shape = (bounds[1] - bounds[0], self._table.shape[0])
            U = formulas.scores(sparse.csr_array((xp, features, offsets), shape=shape), self._table)
            lost = self._lost(U, part, by_class=logarithms)
            if U.size and (theta is not None or self._angles is not None):
                self._correct_cancellation(U, xp, features, offsets)
            if logarithms:
                with np.errstate(divide="ignore"):
                    U = np.log(U) + self._shift
            for items in _chunks(lost, self._sizes(part)[lost]) if len(lost) else ():
                exact = self._log_scores(items, part, theta)
                U[items] = exact if logarithms else _relative(exact)
            return function(U)

        parts = thread_map(map_block, _bounds(observed, self._table.shape[1]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _lost(self, U: Floats, part: Part, *, by_class: bool) -> NDArray[np.int64]:
        """Return the items of which all scores, or with `by_class` some, have underflowed.

        Their weights are tiny compared to the largest of the model, or their shares compared to
        that of another value.
        """
        x, features, offsets = part
        log_xp = 0.0 if x is None else self.power * float(_log(x.min(initial=1.0)))
        if min(log_xp, self._least + log_xp) >= _LOG_UNDERFLOW or not U.size:
            return np.zeros(0, dtype=np.int64)
        low = U < _UNDERFLOW
        if by_class:
            shape = (len(U), self._known.shape[0])
            members = sparse.csr_array((np.ones(len(features)), features, offsets), shape=shape)
            lost = np.asarray(low.any(axis=1))
            lost[lost] = (low[lost] & ((members[lost] @ self._known).toarray() > 0)).any(axis=1)
        else:
            lost = np.asarray(low.all(axis=1))
        if x is not None and log_xp < _LOG_UNDERFLOW:  # which large weights would raise again
            lost[items_of(offsets)[self.power * _log(x) < _LOG_UNDERFLOW]] = True
        return np.flatnonzero(lost)

    @cached_property
    def _known(self) -> sparse.csr_array:
        """1 in each entry of the weights that is not 0."""
        table = self._logarithms
        known = np.isfinite(table.data)
        indptr = item_offsets(items_of(table.indptr)[known], table.shape[0])
        ones = np.ones(indptr[-1])
        return sparse.csr_array((ones, table.indices[known], indptr), shape=table.shape)

    def _sizes(self, part: Part) -> NDArray[np.int64]:
        """Return the number of weights of each item."""
        sizes = np.diff(self._logarithms.indptr)[part[1]]
        return np.diff(np.append(0, np.cumsum(sizes))[part[2]])

    def _log_scores(self, items: NDArray[np.int64], part: Part, theta: Floats | None) -> Floats:
        """Return `ln U_i` of some items of a block."""
        x, features, offsets = part
        lengths = np.diff(offsets)[items]
        owners = np.repeat(np.arange(len(items)), lengths)
        entries = np.arange(len(owners)) + np.repeat(
            offsets[items] - offsets_of(lengths)[:-1], lengths
        )
        rows = features[entries]
        log_xp = np.zeros(len(rows)) if x is None else self.power * _log(x[entries])
        angles = self._turns(rows, None if theta is None else theta[entries])
        return formulas.log_scores(self._logarithms[rows], log_xp, owners, len(items), angles)

    def _correct_cancellation(
        self, U: Floats, xp: NDArray[Any], features: NDArray[Any], offsets: NDArray[Any]
    ) -> None:
        """Set the scores to 0 that are rounding errors of contributions that cancel."""
        bounds = sum_by_item(np.abs(xp) * self._largest[features], offsets)
        for item in np.flatnonzero(U.max(axis=1) < _SUSPICIOUS * bounds):
            entries = slice(offsets[item], offsets[item + 1])
            moduli = np.abs(self._table[features[entries]])
            sums = np.asarray(np.abs(xp[entries]) @ moduli).ravel()
            U[item, U[item] <= formulas.CANCELLED * sums] = 0.0

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
        observed, lookups = packed(observed, self._lookups(observed))
        x, features, offsets = shares(observed, lookups, 0, observed.n_items)
        items = items_of(offsets)
        V_ij = np.asarray(self._table[features, classes[items]]).ravel()
        x_j = 1.0 / nonzero(observed.totals)[items] if x is None else x
        w: NDArray[Any] = formulas.contributions(V_ij, x_j, self.power)
        theta = thetas(observed, 0, observed.n_items)
        w = w if theta is None else formulas.turned(w, theta)
        found = Contributions(items, features, np.abs(w), np.angle(w), np.zeros(len(items)))
        log_xp = self.power * float(_log(x_j.min(initial=1.0)))
        if min(log_xp, self._least + log_xp) < _LOG_UNDERFLOW:
            self._correct_contributions(found, classes, self.power * _log(x_j), theta)
        kept = np.flatnonzero(found.parts)
        return Contributions(*(field[kept] for field in found))

    def _correct_contributions(
        self, found: Contributions, classes: NDArray[Any], log_xp: Floats, theta: Floats | None
    ) -> None:
        """Compute contributions by logarithms for the items where some may have underflowed."""
        few = np.bincount(found.items, found.parts, minlength=len(classes)) < _UNDERFLOW
        few[found.items[log_xp < _LOG_UNDERFLOW]] = True
        lost = np.flatnonzero(few[found.items])
        rows = self._logarithms[found.features[lost]]
        owners = items_of(rows.indptr)
        wanted = (rows.indices == classes[found.items[lost]][owners]) & np.isfinite(rows.data)
        entries = lost[owners[wanted]]
        logarithms = rows.data[wanted] + log_xp[entries]
        highest = np.full(len(classes), -np.inf)
        np.maximum.at(highest, found.items[entries], logarithms)
        scales = highest[found.items[entries]]
        found.parts[entries] = np.exp(logarithms - scales)
        found.scales[entries] = scales - self._shift
        angles = np.zeros(len(entries)) if theta is None else theta[entries]
        if self._angles is not None:
            angles = angles - self._angles[found.features[lost]].data[wanted]
        found.angles[entries] = np.angle(np.exp(1j * angles))

    def _lookups(self, observed: Observations) -> list[NDArray[np.int32]]:
        return [self.index.locate(c).astype(np.int32) for c in observed.columns]


def _log(x: NDArray[Any]) -> Floats:
    """Return logarithms of shares, which may have become 0."""
    return np.asarray(np.log(np.maximum(x, np.finfo(np.float64).tiny)))


def _relative(log_U: Floats) -> Floats:
    """Return scores divided by the highest of each item."""
    highest = log_U.max(axis=1, keepdims=True)
    return np.asarray(np.exp(log_U - np.where(np.isfinite(highest), highest, 0.0)))


def _chunks(items: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return items in parts with a limited number of weights."""
    return np.split(items, np.flatnonzero(np.diff(np.cumsum(sizes) // _MOST_WEIGHTS)) + 1)


def _padded(table: sparse.csr_array) -> sparse.csr_array:
    """Return the table with a row of zeros for unknown and missing values appended."""
    indptr = np.append(table.indptr, table.indptr[-1])
    shape = (table.shape[0] + 1, table.shape[1])
    return sparse.csr_array((table.data, table.indices, indptr), shape=shape)


def seen_share(index: Index, observed: Observations, learnt: NDArray[np.bool_]) -> Floats:
    """Return the share of the weight of each item that is in known features."""
    learnt = np.append(learnt, False)
    seen = np.zeros(observed.n_items)
    observed, lookups = packed(observed, [index.locate(column) for column in observed.columns])
    for column, lookup in zip(observed.columns, lookups, strict=True):
        features = column.codes if column.values is None else lookup[column.codes]
        if column.offsets is None:
            seen += learnt[features]
            continue
        weights = learnt[features].astype(np.float64)
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
