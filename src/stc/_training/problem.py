"""The data of a search: items and their classes, and matrices of them with conjunctions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc._core.labels import distinct_labels, places_of
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
    """Items and their classes.

    Attributes
    ----------
    observed, target, sample_weight
        The items, their classes and their weights.
    classes
        The classes, sorted.
    truth
        The target of each item as shares of the classes.
    """

    observed: Observations
    target: Column
    sample_weight: Floats
    classes: NDArray[Any]
    truth: Floats

    @classmethod
    def of(cls, observed: Observations, target: Column, sample_weight: Floats) -> Problem:
        """Build it from items of positive weight."""
        values = np.asarray(target.values)
        order = np.argsort(distinct_labels(values)[1])
        truth = target.matrix().toarray()[:, order]
        truth /= np.maximum(truth.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        used = truth.any(axis=0)
        weight = np.array(sample_weight)
        return cls(observed, target, weight, values[order][used], truth[:, used])

    @property
    def documents(self) -> bool:
        """Whether the items are documents."""
        return self.observed.kind == "documents"

    def test_probabilities(
        self, cascade: Cascade, split: Split, min_support: int, max_features: int | None
    ) -> Floats:
        """Return the probabilities of the test items by the training items alone.

        The settings are those of a fitted model, and so are the attributes of conjunctions; which
        of these are kept is selected again.
        """
        train = np.zeros(len(self.truth), dtype=bool)
        train[split.train] = True
        items = self.observed.select(train), self.target.select(train), self.sample_weight[train]
        whole = replace(cascade.model.interactions, chosen=None)
        interactions = whole.select(*items, min_support, max_features)
        model = replace(cascade.model.cleared(), interactions=interactions).with_items(*items)
        test = np.zeros(len(train), dtype=bool)
        test[split.test] = True
        fitted = Cascade(model, cascade.policy, cascade.hyper, cascade.max_entries)
        P = np.zeros((len(train), len(self.classes)))
        columns = places_of(self.classes, model.classes)
        P[np.ix_(test, columns)] = fitted.probabilities(self.observed.select(test))
        return np.asarray(P[split.test])


@dataclass(frozen=True)
class Layout:
    """Items as a matrix, with conjunctions or n-grams, and how these are selected."""

    matrix: FeatureMatrix
    min_support: int
    max_features: int | None

    @classmethod
    def of(
        cls, observed: Observations, problem: Problem, min_support: Any, max_features: Any
    ) -> Layout:
        """Build it from items with conjunctions; "auto" chooses min_support and max_features."""
        matrix = FeatureMatrix.of(observed)
        if not matrix.conjunctions.any():
            return cls(matrix, 1, None)
        truth, weight = problem.truth, problem.sample_weight
        if min_support == "auto":
            min_support = _SUPPORT + (len(truth) >= _MANY_ITEMS)
        if max_features == "auto":
            max_features = matrix.affordable(truth, weight, min_support, _MOST_PER_ITEM)
            if observed.kind != "documents":
                max_features = min(_MOST_CONJUNCTIONS, max_features)
        return cls(matrix, min_support, max_features)

    def cross_fit(self, problem: Problem, split: Split, n_folds: int, seed: int) -> CrossFit:
        """Return both parts of a split, with the features that the training items select."""
        items = np.concatenate([split.train, split.test])
        train = np.arange(len(items)) < len(split.train)
        truth, weight = problem.truth[items], problem.sample_weight[items]
        matrix = self.matrix.matrix[items]
        if self.matrix.conjunctions.any():
            selecting = split.train, problem.truth, problem.sample_weight
            keep = self.matrix.strongest(*selecting, self.min_support, self.max_features)
            matrix = sparse.csr_array(matrix[:, np.flatnonzero(keep)])
        classes = np.argmax(truth[train], axis=1)
        fold = np.zeros(len(items), dtype=np.int64)
        n_folds = min(n_folds, len(classes))
        fold[train] = stratified_folds(classes, n_folds, check_random_state(seed))
        return CrossFit.from_matrix(matrix, truth, weight, train, fold)
