"""The decision function of scikit-learn's SVC, fast enough for the many samples of LIME."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

_CHECKED = 3  # documents


class FastSVC:
    """A fitted SVC with the RBF kernel, for documents that share their words.

    LIME's samples of a document contain only its words, so the kernel needs only their columns of
    the support vectors, and is a product of two small dense matrices.
    """

    def __init__(self, model: Any, learnt: Any) -> None:
        learnt = csr_array(learnt)
        variance = learnt.multiply(learnt).mean() - learnt.mean() ** 2
        self._gamma = 1 / (learnt.shape[1] * variance)  # gamma="scale"
        self._support = csc_array(model.support_vectors_)
        self._squares = self._support.multiply(self._support).sum(axis=1)
        self._model = model
        ends = np.cumsum(model.n_support_)
        self._blocks = [slice(e - n, e) for e, n in zip(ends, model.n_support_, strict=True)]
        self._coefficients = np.asarray(model.dual_coef_.todense())
        few = learnt[:_CHECKED]
        if not np.allclose(self.decision_function(few), model.decision_function(few), atol=1e-8):
            raise RuntimeError("FastSVC and SVC have different decision functions")

    def decision_function(self, weights: Any) -> np.ndarray:
        """Return the decision function of SVC: votes, ties broken by confidence."""
        pairwise = self._pairwise(self._kernel(csr_array(weights)))
        classes = len(self._blocks)
        votes = np.zeros((weights.shape[0], classes))
        confidence = np.zeros_like(votes)
        for (i, j), decision in zip(combinations(range(classes), 2), pairwise.T, strict=True):
            confidence[:, i] += decision
            confidence[:, j] -= decision
            votes[:, i] += decision > 0
            votes[:, j] += decision <= 0
        return votes + confidence / (3 * (np.abs(confidence) + 1))

    def _kernel(self, weights: Any) -> np.ndarray:
        used = np.unique(weights.indices)
        products = weights[:, used].toarray() @ self._support[:, used].toarray().T
        squares = weights.multiply(weights).sum(axis=1)
        return np.exp(-self._gamma * (squares[:, None] + self._squares[None, :] - 2 * products))

    def _pairwise(self, kernel: np.ndarray) -> np.ndarray:
        """Return the decisions for each pair of classes."""
        parts = [kernel[:, block] @ self._coefficients[:, block].T for block in self._blocks]
        pairs = combinations(range(len(parts)), 2)
        return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1) + (
            self._model.intercept_
        )
