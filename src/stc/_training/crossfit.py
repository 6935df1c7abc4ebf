"""Cross-fitting: items predicted by the corpus without their fold, for any hyper-parameters.

The items are encoded once and each fold is counted once. Power, balance and entropy are then
applied as formulas on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core import formulas
from stc._core.formulas import Floats, Hyper
from stc._core.labels import places_of
from stc._core.matrix import packed, shares
from stc._core.model import Model
from stc._core.observations import Column, Observations, items_of, offsets_of, sum_at, sum_by_item
from stc._core.tensor import Subset
from stc._training.folds import random_parts
from stc._training.objective import Objective

# Masses below this share of the whole are rounding errors of a subtraction.
_ROUNDING = 1e-9
# Number of amplitudes that are counted at a time.
_AMPLITUDES_AT_A_TIME = 1 << 23


@dataclass(frozen=True)
class CrossFit:
    """Items, a corpus, and the fold of each item.

    Attributes
    ----------
    x, features, offsets
        The values of the items: their shares `x_j` (None: equal shares within an item), their
        rows in the corpus, and the bounds of each item's values.
    mass
        The corpus.
    truth, sample_weight
        The target of each item as shares of the classes, and its weight.
    fold
        The fold of each item; the items of a fold are left out together.
    in_corpus
        Which items the corpus contains; None: all of them.
    totals
        Total weight of the values of each item; None: the number of values.
    """

    x: Floats | None
    features: NDArray[Any]
    offsets: NDArray[Any]
    mass: sparse.csr_array
    truth: Floats
    sample_weight: Floats
    fold: NDArray[Any]
    in_corpus: NDArray[np.bool_] | None = None
    totals: Floats | None = None

    @classmethod
    def from_matrix(
        cls,
        matrix: sparse.csr_array,
        truth: Floats,
        sample_weight: Floats,
        train: NDArray[np.bool_],
        fold: NDArray[Any],
    ) -> CrossFit:
        """Build it from weights, items x features; the corpus is counted from the training items.

        The other items are put in an additional fold, the last one.
        """
        sums = np.asarray(matrix.sum(axis=1)).ravel()
        x = matrix.data / np.repeat(np.where(sums > 0, sums, 1.0), np.diff(matrix.indptr))
        equal_shares = bool((matrix.data == 1.0).all())
        X = formulas.with_data(matrix, x)[train]
        y = sparse.csr_array(truth[train] * sample_weight[train, None])
        mass = sparse.csr_array(X.T @ y)
        mass.sort_indices()
        fold = np.where(train, fold, fold[train].max(initial=0) + 1)
        values = None if equal_shares else x, matrix.indices, matrix.indptr
        return cls(*values, mass, truth, sample_weight, fold, in_corpus=train)

    @classmethod
    def from_model(
        cls,
        model: Model,
        subset: Subset,
        observed: Observations,
        target: Column,
        sample_weight: Floats,
        fold: NDArray[Any],
    ) -> CrossFit:
        """Build it from items that a model has learnt, for one set of dimensions of the model."""
        located = model.columns_for(observed, subset)
        lookups = [model.index(subset).locate(c).astype(np.int32) for c in located.columns]
        x, features, offsets = shares(*packed(located, lookups), 0, located.n_items)
        places = places_of(model.classes, np.asarray(target.values))
        labels = target.matrix().tocoo()
        shape = (observed.n_items, len(model.classes))
        cells = labels.row, places[labels.col]
        truth = sparse.coo_array((labels.data, cells), shape=shape).toarray()
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        mass = model.corpora[subset].mass
        totals = np.asarray(located.totals)  # a missing value is a feature without weight
        return cls(x, features, offsets, mass, truth, sample_weight, fold, totals=totals)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.fold)

    @cached_property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max(initial=0)) + 1

    @cached_property
    def _shares(self) -> Floats:
        """`x_j` of each value, whether its feature is in the corpus or not."""
        if self.x is not None:
            return self.x
        lengths = np.diff(self.offsets)
        totals = lengths if self.totals is None else self.totals
        return np.repeat(1.0 / np.where(totals > 0, totals, 1.0), lengths)

    @property
    def _corpus_weight(self) -> Floats:
        """Weight of each item in the corpus."""
        return self.sample_weight if self.in_corpus is None else self.sample_weight * self.in_corpus

    @cached_property
    def n_amplitudes(self) -> NDArray[np.int64]:
        """Number of amplitudes of each item: the pairs of a value and a class in the corpus."""
        n_classes = np.append(np.diff(self.mass.indptr), 0)[self.features].astype(np.float64)
        return sum_by_item(n_classes, self.offsets).astype(np.int64)

    @cached_property
    def values_per_item(self) -> float:
        """Mean number of an item's values that are in the corpus."""
        return float(np.count_nonzero(self.features < self.mass.shape[0])) / max(self.n_items, 1)

    def _triples(self, items: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], Floats]:
        """Return (position among `items`, entry, `x_j`) of each amplitude of these items."""
        positions, values = _ranges(self.offsets[items], np.diff(self.offsets)[items])
        features = self.features[values]
        starts = np.append(self.mass.indptr[:-1], 0)[features]
        lengths = np.append(np.diff(self.mass.indptr), 0)[features]
        numbers, entries = _ranges(starts, lengths)
        return positions[numbers], entries, self._shares[values][numbers]

    def parts(self, max_amplitudes: int) -> list[NDArray[Any]]:
        """Return random parts of the items, each of about that many amplitudes."""
        n_parts = min(-(-int(self.n_amplitudes.sum()) // max_amplitudes), self.n_items)
        return random_parts(self.n_items, n_parts)

    @cached_property
    def corpora(self) -> Floats:
        """`C_ij` of each entry without each fold, a row per fold; 0 for entries of one fold only.

        Items that are not in the corpus are not subtracted from it.
        """
        size = self.mass.nnz
        folds = np.zeros(self.n_folds * size)
        for part in self.parts(_AMPLITUDES_AT_A_TIME):
            positions, entries, x = self._triples(part)
            items = part[positions]
            y = self.truth[items, self.mass.indices[entries]]
            labelled = np.flatnonzero(y)
            items, entries = items[labelled], entries[labelled]
            mass = x[labelled] * y[labelled] * self._corpus_weight[items]
            folds += sum_at(self.fold[items] * size + entries, mass, len(folds))
        remaining = self.mass.data - folds.reshape(self.n_folds, size)
        if (remaining < -_ROUNDING * self.mass.data).any():  # the corpus lacks some of the items
            return np.broadcast_to(self.mass.data, remaining.shape)
        remaining[remaining <= _ROUNDING * self.mass.data] = 0.0
        return np.asarray(remaining)

    def weights(self, hyper: Hyper) -> Floats:
        """Return `W_ij` of each entry without each fold, a row per fold, each up to a factor."""
        by_fold = zip(self.corpora, self.frequencies, strict=True)
        return np.stack([self._weights(*own, hyper) for own in by_fold])

    def _weights(self, data: Floats, frequencies: Floats, hyper: Hyper) -> Floats:
        """Return `W_ij` of entries with these masses."""
        nonzero = data > 0
        rows = items_of(self.mass.indptr)[nonzero]
        indptr = offsets_of(np.bincount(rows, minlength=self.mass.shape[0]))
        parts = data[nonzero], self.mass.indices[nonzero], indptr
        C = sparse.csr_array(parts, shape=self.mass.shape)
        W = np.zeros(len(data))
        W[nonzero] = formulas.weights(formulas.log_weights(C, hyper, frequencies))[0].data
        return W

    @cached_property
    def class_mass(self) -> Floats:
        """Total weight of each class without each fold, a row per fold."""
        mass = self.truth * self._corpus_weight[:, None]
        by_fold = np.zeros((self.n_folds, mass.shape[1]))
        np.add.at(by_fold, self.fold, mass)
        return np.asarray(np.maximum(mass.sum(axis=0) - by_fold, 0.0))

    @cached_property
    def frequencies(self) -> Floats:
        """Class frequencies without each fold, a row per fold."""
        totals = self.class_mass.sum(axis=1, keepdims=True)
        uniform = np.full(self.class_mass.shape, 1 / self.class_mass.shape[1])
        return np.asarray(np.divide(self.class_mass, totals, out=uniform, where=totals > 0))

    def objective(self, hyper: Hyper, items: NDArray[Any] | None = None) -> Objective:
        """Return the objective of phases on these items (None: all)."""
        items = np.arange(self.n_items) if items is None else items
        positions, entries, x = self._triples(items)
        data = self.weights(hyper)[self.fold[items[positions]], entries]
        if self.x is not None:
            data *= x**hyper.power
        truth = np.ascontiguousarray(self.truth[items].T)
        rows = self.mass.indices[entries].astype(np.int64) * len(items) + positions
        shape = (truth.size, self.mass.nnz)
        weight = self.sample_weight[items]
        exponent = hyper.sharpness / hyper.power
        return Objective.of(data, rows, entries, shape, truth, weight, exponent)


def _ranges(
    starts: NDArray[Any], lengths: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (number of the range, integer in it) for all integers of several ranges."""
    bounds = offsets_of(lengths)
    numbers = np.repeat(np.arange(len(lengths)), lengths)
    return numbers, np.arange(bounds[-1]) + (starts - bounds[:-1])[numbers]
