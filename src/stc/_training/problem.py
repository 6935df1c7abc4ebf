"""The data of a search: items as matrices, one for each order of interactions, and classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from stc._core.formulas import Floats
from stc._core.matrix import FeatureMatrix
from stc._core.observations import Column, Observations
from stc._training.crossfit import CrossFit
from stc._training.folds import Split, stratified_folds

# Defaults: maximum number of conjunctions, and of an item's conjunctions on average.
_MOST_CONJUNCTIONS, _MOST_PER_ITEM = 4000, 200
# Default support of a conjunction; one more from this many items on.
_SUPPORT, _MANY_ITEMS = 2, 5000


@dataclass(frozen=True)
class Problem:
    """Items as matrices and their classes.

    Attributes
    ----------
    layouts
        The items for each order of interactions or n-grams.
    classes
        The classes, sorted.
    truth, sample_weight
        The target of each item as shares of the classes, and its weight.
    min_support, max_features
        How conjunctions are selected; max_features for each order.
    documents
        Whether the items are documents.
    missing
        How missing values are treated.
    """

    layouts: Mapping[int, FeatureMatrix]
    classes: NDArray[Any]
    truth: Floats
    sample_weight: Floats
    min_support: int
    max_features: Mapping[int, int | None]
    documents: bool
    missing: str

    @classmethod
    def of(
        cls,
        observed: Mapping[int, Observations],
        target: Column,
        sample_weight: Floats,
        min_support: Any,
        max_features: Any,
        missing: str,
    ) -> Problem:
        """Build it from the items for each order; "auto" chooses min_support and max_features."""
        values = np.asarray(target.values)
        order = np.argsort(values)
        truth = target.matrix().toarray()[:, order]
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        used = truth.any(axis=0)
        truth, weight = truth[:, used], np.array(sample_weight)
        support = min_support
        if min_support == "auto":
            support = _SUPPORT + (len(truth) >= _MANY_ITEMS)
        layouts = {n: FeatureMatrix.of(items) for n, items in observed.items()}
        documents = next(iter(observed.values())).kind == "documents"
        most = dict.fromkeys(layouts, max_features)
        if max_features == "auto":
            for n, layout in layouts.items():
                most[n] = layout.affordable(truth, weight, support, _MOST_PER_ITEM)
                most[n] = most[n] if documents else min(_MOST_CONJUNCTIONS, most[n])
        classes = values[order][used]
        return cls(layouts, classes, truth, weight, support, most, documents, missing)

    def cross_fit(self, order: int, split: Split, n_folds: int, seed: int) -> CrossFit:
        """Return both parts of a split, with the features that the training items select."""
        layout = self.layouts[order]
        items = np.concatenate([split.train, split.test])
        train = np.arange(len(items)) < len(split.train)
        truth, weight = self.truth[items], self.sample_weight[items]
        matrix = layout.matrix[items]
        if order > 1:
            selecting = split.train, self.truth, self.sample_weight
            keep = layout.strongest(*selecting, self.min_support, self.max_features[order])
            matrix = sparse.csr_array(matrix[:, np.flatnonzero(keep)])
        classes = np.argmax(truth[train], axis=1)
        fold = np.zeros(len(items), dtype=np.int64)
        n_folds = min(n_folds, len(classes))
        fold[train] = stratified_folds(classes, n_folds, check_random_state(seed))
        return CrossFit.from_matrix(matrix, truth, weight, train, fold)
