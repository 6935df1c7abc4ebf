"""The objective that phases minimise: the cross-entropy of items, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import Floats
from stc._core.observations import sum_at

# Scores are floored at this share of the item's maximum, so that their logarithm is finite.
_SCORE_FLOOR = 1e-12
# The norm of an entry is floored at this share of the mean norm.
_NORM_FLOOR = 1e-2
# Probabilities are floored at this in the log-loss.
_PROBABILITY_FLOOR = 1e-15


class LossGradient(NamedTuple):
    """A loss, its derivatives by angles and sharpness, and the `ln P_in` it is computed from."""

    loss: float
    angles: Floats
    sharpness: float
    log_probabilities: Floats


class Metrics(NamedTuple):
    """Weighted mean log-loss and accuracy of items."""

    loss: float
    accuracy: float


@dataclass(frozen=True)
class Objective:
    """Scores of items as complex sums over entries of the corpus, and their loss.

    The score of class i for item n is the modulus of `Z_in = sum_e A_(in)e e^{-i phi_e}`. Tables
    are classes x items: sums over few classes are fastest across rows.

    Attributes
    ----------
    amplitudes
        A: a row for each class and item, a column for each entry; `W_ij x_j^p`, with the weights
        of a corpus without the item.
    truth
        The target of each item, as shares of the classes.
    weight
        Weight of each item; 0 if its class has no score whatever the phases are.
    exponent
        1/p.
    """

    amplitudes: sparse.csr_array
    truth: Floats
    weight: Floats
    exponent: float

    @classmethod
    def of(
        cls,
        data: Floats,
        rows: NDArray[Any],
        entries: NDArray[Any],
        shape: tuple[int, int],
        truth: Floats,
        sample_weight: Floats,
        exponent: float,
    ) -> Objective:
        """Build the table from amplitudes, the row (class x item) and the entry of each."""
        nonzero = np.flatnonzero(data)
        # A factor common to all scores of an item cancels in its probabilities: with the largest
        # amplitude 1, single precision is enough.
        items = rows[nonzero] % truth.shape[1]
        highest = np.zeros(truth.shape[1])
        np.maximum.at(highest, items, data[nonzero])
        amplitudes = (data[nonzero] / highest[items]).astype(np.float32)
        table = sparse.csr_array((amplitudes, (rows[nonzero], entries[nonzero])), shape=shape)
        sums = np.asarray(table.sum(axis=1)).reshape(truth.shape)
        scored = ((sums > 0) & (truth > 0)).any(axis=0)
        return cls(table, truth, np.where(scored, sample_weight, 0.0), exponent)

    @cached_property
    def preconditioner(self) -> Floats:
        """Factor of each phase in a step of the optimizer, larger for rare entries.

        It is one over the square root of the norm of the entry's shares of the scores.
        """
        sums = np.asarray(self.amplitudes.sum(axis=1)).ravel()
        lengths = np.diff(self.amplitudes.indptr)
        shares = self.amplitudes.data / np.repeat(np.where(sums > 0, sums, 1.0), lengths)
        norms = np.sqrt(sum_at(self.amplitudes.indices, shares**2, self.amplitudes.shape[1]))
        used = norms > 0
        factors = np.ones(len(norms))
        if used.any():
            norms = np.maximum(norms[used], _NORM_FLOOR * norms[used].mean()) ** -0.5
            factors[used] = norms / np.exp(np.log(norms).mean())
        return factors

    def without(self, left_out: NDArray[np.bool_]) -> Objective:
        """Return the objective with weight 0 for the items that are left out."""
        return replace(self, weight=np.where(left_out, 0.0, self.weight))

    def _complex_scores(self, angles: Floats) -> tuple[Floats, Floats]:
        """Return the real and the imaginary part of `Z_in`."""
        factors = np.column_stack([np.cos(angles), -np.sin(angles)]).astype(np.float32)
        Z = np.asarray(self.amplitudes @ factors, dtype=np.float64)
        return Z[:, 0].reshape(self.truth.shape), Z[:, 1].reshape(self.truth.shape)

    @staticmethod
    def _log_moduli(squares: Floats) -> Floats:
        """Return `ln |Z_in|` from `|Z_in|^2`, floored at 1e-12 of the item's maximum."""
        highest = squares.max(axis=0)
        floor = np.where(highest > 0, highest, 1.0) * _SCORE_FLOOR**2
        return np.asarray(0.5 * np.log(np.maximum(squares, floor)))

    def log_scores(self, angles: Floats) -> Floats:
        """Return `ln |Z_in|`."""
        real, imaginary = self._complex_scores(angles)
        return self._log_moduli(real**2 + imaginary**2)

    def log_probabilities(self, log_scores: Floats, sharpness: float) -> Floats:
        """Return `ln P_in`, `P_in = |Z_in|^tau / sum_k |Z_kn|^tau` with `tau = sharpness / p`."""
        S = sharpness * self.exponent * log_scores
        S -= S.max(axis=0)
        S -= np.log(np.exp(S).sum(axis=0))
        return S

    def metrics(self, log_P: Floats) -> Metrics:
        """Return log-loss and accuracy of the items."""
        total = max(float(self.weight.sum()), np.finfo(np.float64).tiny)
        floored = np.maximum(log_P, np.log(_PROBABILITY_FLOOR))
        loss = -float((self.truth * floored).sum(axis=0) @ self.weight) / total
        correct = self.truth[np.argmax(log_P, axis=0), np.arange(log_P.shape[1])]
        return Metrics(loss, float(correct @ self.weight) / total)

    def gradient(self, angles: Floats, sharpness: float) -> LossGradient:
        """Return the mean cross-entropy and its derivatives by each angle and by the sharpness.

        With `L = ln |Z|`, `R = P - Y`: the derivative by tau is `sum R L`, that by an angle `tau
        sum_in R_in A_(in)e imag(conj(Z_in) e^{-i phi_e}) / |Z_in|^2`.
        """
        real, imaginary = self._complex_scores(angles)
        squares = real**2 + imaginary**2
        L = self._log_moduli(squares)
        tau = sharpness * self.exponent
        log_P = self.log_probabilities(L, sharpness)
        share = self.weight / max(float(self.weight.sum()), np.finfo(np.float64).tiny)
        R = (np.exp(log_P) - self.truth) * share
        loss = -float((self.truth * log_P).sum(axis=0) @ share)
        factors = tau * R / np.where(squares > 0, squares, 1.0)
        parts = np.column_stack([(factors * real).ravel(), (factors * imaginary).ravel()])
        Q = np.asarray(self.amplitudes.T @ parts.astype(np.float32), dtype=np.float64)
        by_angle = -np.sin(angles) * Q[:, 0] - np.cos(angles) * Q[:, 1]
        return LossGradient(loss, by_angle, float((R * L).sum()) * self.exponent, log_P)
