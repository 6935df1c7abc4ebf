"""The decision function of scikit-learn's SVC, fast enough for the thousands that LIME asks for."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array

_CHECKED = 3  # documents


class FastSVC:
    """A fitted SVC with the RBF kernel, for documents that share their words.

    LIME's samples of a document have no word that it has not, so the kernel needs no other columns
    of the support vectors, and is a product of two small dense matrices.
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
            raise RuntimeError("FastSVC is not SVC: its decision function was computed otherwise")

    def decision_function(self, weights: Any) -> np.ndarray:
        """Return what SVC's own decision function does: votes, ties broken by confidence."""
        pairwise = self._pairwise(self._kernel(csr_array(weights)))
        classes = len(self._blocks)
        votes = np.zeros((weights.shape[0], classes))
        confidence = np.zeros_like(votes)
        for (i, j), own in zip(combinations(range(classes), 2), pairwise.T, strict=True):
            confidence[:, i] += own
            confidence[:, j] -= own
            votes[:, i] += own > 0
            votes[:, j] += own <= 0
        return votes + confidence / (3 * (np.abs(confidence) + 1))

    def _kernel(self, weights: Any) -> np.ndarray:
        used = np.unique(weights.indices)
        products = weights[:, used].toarray() @ self._support[:, used].toarray().T
        own = weights.multiply(weights).sum(axis=1)
        return np.exp(-self._gamma * (own[:, None] + self._squares[None, :] - 2 * products))

    def _pairwise(self, kernel: np.ndarray) -> np.ndarray:
        """Return the decisions between each two classes."""
        parts = [kernel[:, own] @ self._coefficients[:, own].T for own in self._blocks]
        pairs = combinations(range(len(parts)), 2)
        return np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1) + (
            self._model.intercept_
        )
