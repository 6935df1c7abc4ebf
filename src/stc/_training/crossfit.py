"""Items judged by models that never saw them: the corpus without each fold, for any setting.

The items are laid out once and each fold is counted once; what a setting of power, balance and
entropy makes of them is then a formula on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core import formulas
from stc._core.cascade import Hyper
from stc._core.formulas import Floats
from stc._core.matrix import shares
from stc._core.model import Model
from stc._core.observations import Column, Observations, offsets_of, sum_at, sum_by_item
from stc._core.tensor import Subset
from stc._training.objective import Waves

# What is left of a mass of 1 when rounding is all that is left.
_ROUNDING = 1e-9
# Amplitudes that are laid out at a time.
_AT_A_TIME = 1 << 23
# Weights of several settings are laid out side by side up to this many cells.
_CELLS = 1 << 23


def folds_of(classes: NDArray[Any], count: int, generator: np.random.RandomState) -> NDArray[Any]:
    """A fold for each item, of every class the same share within one item."""
    order = generator.permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    fold = np.empty(len(classes), dtype=np.int64)
    fold[order] = np.arange(len(classes)) % count
    return fold


@dataclass(frozen=True)
class CrossFit:
    """Items, the corpus that may hold them, and the fold of each item.

    Attributes
    ----------
    x, features, offsets
        The values of the items: their shares `x_j` (None: all of an item's are the same), their
        rows in the corpus, and the bounds of each item's values.
    mass
        The corpus.
    truth, sample_weight
        The target of each item as shares of the classes, and its weight.
    fold, n_folds
        Which items are left out together.
    counted
        Which items the corpus holds; None: all of them, if it holds so much.
    totals
        What the values of each item weigh together; None: as much as there are of them.
    """

    x: Floats | None
    features: NDArray[Any]
    offsets: NDArray[Any]
    mass: sparse.csr_array
    truth: Floats
    sample_weight: Floats
    fold: NDArray[Any]
    n_folds: int
    counted: NDArray[np.bool_] | None = None
    totals: Floats | None = None

    @classmethod
    def among(
        cls,
        matrix: sparse.csr_array,
        truth: Floats,
        sample_weight: Floats,
        learning: NDArray[np.bool_],
        fold: NDArray[Any],
    ) -> CrossFit:
        """Lay out items (weights, items x features) of which only some are learnt from.

        The others are in a fold of their own, from which nothing is left out.
        """
        sums = np.asarray(matrix.sum(axis=1)).ravel()
        x = matrix.data / np.repeat(np.where(sums > 0, sums, 1.0), np.diff(matrix.indptr))
        same = bool((matrix.data == 1.0).all())
        X = formulas.with_data(matrix, x)[learning]
        y = sparse.csr_array(truth[learning] * sample_weight[learning, None])
        mass = sparse.csr_array(X.T @ y)
        mass.sort_indices()
        fold = np.where(learning, fold, fold[learning].max(initial=0) + 1)
        n_folds = int(fold.max(initial=0)) + 1
        where = matrix.indices, matrix.indptr
        return cls(None if same else x, *where, mass, truth, sample_weight, fold, n_folds, learning)

    @classmethod
    def of(
        cls,
        model: Model,
        subset: Subset,
        observed: Observations,
        target: Column,
        sample_weight: Floats,
        fold: NDArray[Any],
    ) -> CrossFit:
        """Lay out items for a set of a model; the values of the target are its classes."""
        located = model.located(observed, subset)
        lookups = [model.index(subset).locate(c).astype(np.int32) for c in located.columns]
        x, features, offsets = shares(located, lookups, 0, located.n_items)
        places = np.searchsorted(model.classes, np.asarray(target.values))
        own = target.matrix().tocoo()
        shape = (observed.n_items, len(model.classes))
        truth = sparse.coo_array((own.data, (own.row, places[own.col])), shape=shape).toarray()
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        mass = model.corpora[subset].mass
        n_folds = int(fold.max(initial=0)) + 1
        # A missing value has a place among the features, but no weight.
        totals = np.asarray(located.totals)
        parts = x, features, offsets, mass, truth, sample_weight, fold, n_folds
        return cls(*parts, totals=totals)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.fold)

    @cached_property
    def _amounts(self) -> Floats:
        """`x_j` of each value, known or not."""
        if self.x is not None:
            return self.x
        lengths = np.diff(self.offsets)
        totals = lengths if self.totals is None else self.totals
        return np.repeat(1.0 / np.where(totals > 0, totals, 1.0), lengths)

    @property
    def _learnt_weight(self) -> Floats:
        """Weight of each item in the corpus."""
        return self.sample_weight if self.counted is None else self.sample_weight * self.counted

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many amplitudes each item has: one for each of its values and each class with it."""
        each = np.append(np.diff(self.mass.indptr), 0)[self.features].astype(np.float64)
        return sum_by_item(each, self.offsets).astype(np.int64)

    @cached_property
    def values_per_item(self) -> float:
        """How many known values an item has on average."""
        return float(np.count_nonzero(self.features < self.mass.shape[0])) / max(self.n_items, 1)

    def _triples(self, chosen: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], Floats]:
        """(place of the item, entry, `x_j`) of each value of these items with each class it has."""
        places, values = _ranges(self.offsets[chosen], np.diff(self.offsets)[chosen])
        features = self.features[values]
        starts = np.append(self.mass.indptr[:-1], 0)[features]
        lengths = np.append(np.diff(self.mass.indptr), 0)[features]
        owners, entries = _ranges(starts, lengths)
        return places[owners], entries, self._amounts[values][owners]

    def parts(self, most: int) -> list[NDArray[Any]]:
        """The items in random parts of about so many amplitudes each."""
        count = min(-(-int(self.sizes.sum()) // most), self.n_items)
        if count <= 1:
            return [np.arange(self.n_items)]
        return np.array_split(np.random.default_rng(0).permutation(self.n_items), count)

    @cached_property
    def corpora(self) -> Floats:
        """`C_ij` of each entry without each fold, a row per fold; 0 where nobody else has it.

        Items that the corpus does not hold leave it as it is.
        """
        size = self.mass.nnz
        folds = np.zeros(self.n_folds * size)
        for part in self.parts(_AT_A_TIME):
            places, entries, amounts = self._triples(part)
            items = part[places]
            y = self.truth[items, self.mass.indices[entries]]
            own = np.flatnonzero(y)
            items, entries = items[own], entries[own]
            mass = amounts[own] * y[own] * self._learnt_weight[items]
            folds += sum_at(self.fold[items] * size + entries, mass, len(folds))
        left = self.mass.data - folds.reshape(self.n_folds, size)
        if (left < -_ROUNDING * self.mass.data).any():
            return np.broadcast_to(self.mass.data, left.shape)
        left[left <= _ROUNDING * self.mass.data] = 0.0
        return np.asarray(left)

    def weights(self, hyper: Hyper) -> Floats:
        """`W_ij` of each entry without each fold, up to a factor a fold."""
        return np.concatenate([self._weights(data, [hyper]) for data in self.corpora])

    def _weights(self, data: Floats, hypers: Sequence[Hyper]) -> Floats:
        """`W_ij` of the entries with these masses, a row per setting."""
        kept = data > 0
        rows = np.repeat(np.arange(self.mass.shape[0]), np.diff(self.mass.indptr))[kept]
        indptr = offsets_of(np.bincount(rows, minlength=self.mass.shape[0]))
        C = sparse.csr_array((data[kept], self.mass.indices[kept], indptr), shape=self.mass.shape)
        W = np.zeros((len(hypers), len(data)))
        for place, log_W in enumerate(formulas.log_weights_of_many(C, hypers)):
            W[place, kept] = formulas.weights(log_W)[0].data
        return W

    def _corpus_without(self, fold: int) -> Floats:
        """`C_ij` of each entry without a fold; those not learnt from are no part of any."""
        apart = self.counted is not None and fold == self.n_folds - 1
        return np.asarray(self.mass.data if apart else self.corpora[fold])

    @cached_property
    def frequencies(self) -> Floats:
        """Class frequencies without each fold, a row per fold."""
        mass = self.truth * self._learnt_weight[:, None]
        each = np.zeros((self.n_folds, mass.shape[1]))
        np.add.at(each, self.fold, mass)
        left = np.maximum(mass.sum(axis=0) - each, 0.0)
        totals = left.sum(axis=1, keepdims=True)
        even = np.full(left.shape, 1 / left.shape[1])
        return np.asarray(np.divide(left, totals, out=even, where=totals > 0))

    def judged(self, hypers: Sequence[Hyper]) -> list[Floats]:
        """Probabilities of the items that are not learnt from, for each setting."""
        last = self.n_folds - 1
        return [P[self.fold == last] for P in self.probabilities(hypers, [last])]

    def probabilities(
        self, hypers: Sequence[Hyper], folds: Iterable[int] | None = None
    ) -> list[Floats]:
        """Probabilities of the items by the corpus without their fold, for each setting.

        Only those of some folds are computed, if these are named.
        """
        folds = list(range(self.n_folds) if folds is None else folds)
        found = [np.empty(self.truth.shape) for _ in hypers]
        by_power: dict[float, list[int]] = {}
        for number, hyper in enumerate(hypers):
            by_power.setdefault(hyper.power if self.x is not None else 1.0, []).append(number)
        for power, numbers in by_power.items():
            Xp = self._matrix(power)
            for fold in folds:
                own = np.flatnonzero(self.fold == fold)
                rows = Xp[own]
                for some in _batches(numbers, self.mass.shape):
                    U = rows @ self._stacked([hypers[k] for k in some], fold)
                    for number, scores in zip(some, np.split(U, len(some), axis=1), strict=True):
                        p = hypers[number].power
                        found[number][own] = formulas.probabilities(
                            np.ascontiguousarray(scores), p, self.frequencies[fold]
                        )
        return found

    def _stacked(self, hypers: Sequence[Hyper], fold: int) -> Floats:
        """The weights of several settings side by side, features x (settings x classes)."""
        n_features, n_classes = self.mass.shape
        table = np.zeros((n_features + 1, len(hypers) * n_classes))  # the last row: unknown
        rows = np.repeat(np.arange(n_features), np.diff(self.mass.indptr))
        for place, W in enumerate(self._weights(self._corpus_without(fold), hypers)):
            table[rows, self.mass.indices + place * n_classes] = W
        return table

    def _matrix(self, power: float) -> sparse.csr_array:
        """`x_j^p`, items x features (the last column: unknown)."""
        xp = np.ones(len(self.features)) if self.x is None else self.x**power
        shape = (self.n_items, self.mass.shape[0] + 1)
        return sparse.csr_array((xp, self.features, self.offsets), shape=shape)

    def waves(self, hyper: Hyper, part: NDArray[Any] | None = None) -> Waves:
        """Items (None: all) as sums of amplitudes, for the phases."""
        part = np.arange(self.n_items) if part is None else part
        places, entries, amounts = self._triples(part)
        data = self.weights(hyper)[self.fold[part[places]], entries]
        if self.x is not None:
            data *= amounts**hyper.power
        truth = np.ascontiguousarray(self.truth[part].T)
        rows = self.mass.indices[entries].astype(np.int64) * len(part) + places
        shape = (truth.size, self.mass.nnz)
        weight = self.sample_weight[part]
        return Waves.of(data, rows, entries, shape, truth, weight, 1 / hyper.power)


def _ranges(
    starts: NDArray[Any], lengths: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(number of the range, number in it) for all the numbers of all these ranges."""
    bounds = offsets_of(lengths)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    return owners, np.arange(bounds[-1]) + (starts - bounds[:-1])[owners]


def _batches(numbers: list[int], shape: tuple[int, int]) -> list[list[int]]:
    """Settings whose weights fit side by side."""
    size = max(_CELLS // max(shape[0] * shape[1], 1), 1)
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]
