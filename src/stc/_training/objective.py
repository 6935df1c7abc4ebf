"""Interference as arrays: scores of many items as a function of the phases, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import Floats
from stc._core.observations import sum_at

# Scores below this share of the item's highest are taken for it, so that their logarithm is finite.
_FAINT = 1e-12
# Entries met less than this share of the average are taken for that often met.
_RARE = 1e-2
# The least probability of the true class that a loss will believe in.
_LEAST = 1e-15


class Slope(NamedTuple):
    """A loss, its derivatives, and the `ln P_in` it comes from."""

    loss: float
    angles: Floats
    sharpness: float
    log_probabilities: Floats


class Judgement(NamedTuple):
    """How well items were predicted: mean log-loss and accuracy, by weight."""

    loss: float
    accuracy: float


@dataclass(frozen=True)
class Waves:
    """Items as sums of amplitudes, `Z_in = sum_e A_(in)e e^{-i phi_e}`, e an entry of the corpus.

    Tables are classes x items here: sums over few classes are fastest across rows.

    Attributes
    ----------
    amplitudes
        A: a row per class and item, a column per entry; `W_ij x_j^p`, where the weights of an item
        come from a corpus that does not hold it.
    truth
        The target of each item, as shares of the classes.
    weight
        How much each item counts; 0 for one whose class had no score whatever the phases.
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
        places: NDArray[Any],
        entries: NDArray[Any],
        shape: tuple[int, int],
        truth: Floats,
        sample_weight: Floats,
        exponent: float,
    ) -> Waves:
        """Lay out amplitudes, given the row (class x item) and the entry of each."""
        kept = np.flatnonzero(data)
        # No probability can tell a factor of all an item's scores: with the largest amplitude 1,
        # single precision can hold them.
        items = places[kept] % truth.shape[1]
        highest = np.zeros(truth.shape[1])
        np.maximum.at(highest, items, data[kept])
        amplitudes = (data[kept] / highest[items]).astype(np.float32)
        table = sparse.csr_array((amplitudes, (places[kept], entries[kept])), shape=shape)
        sums = np.asarray(table.sum(axis=1)).reshape(truth.shape)
        known = ((sums > 0) & (truth > 0)).any(axis=0)
        return cls(table, truth, np.where(known, sample_weight, 0.0), exponent)

    @cached_property
    def scales(self) -> Floats:
        """How far each phase should move in a step: entries that are rarely met move as readily.

        It is one over the square root of the norm of the entry's shares of the scores.
        """
        sums = np.asarray(self.amplitudes.sum(axis=1)).ravel()
        lengths = np.diff(self.amplitudes.indptr)
        shares = self.amplitudes.data / np.repeat(np.where(sums > 0, sums, 1.0), lengths)
        norms = np.sqrt(sum_at(self.amplitudes.indices, shares**2, self.amplitudes.shape[1]))
        met = norms > 0
        scales = np.ones(len(norms))
        if met.any():
            norms = np.maximum(norms[met], _RARE * norms[met].mean()) ** -0.5
            scales[met] = norms / np.exp(np.log(norms).mean())
        return scales

    def without(self, left_out: NDArray[np.bool_]) -> Waves:
        """The same items, of which some count for nothing."""
        return replace(self, weight=np.where(left_out, 0.0, self.weight))

    def _sums(self, angles: Floats) -> tuple[Floats, Floats]:
        """Real and imaginary part of `Z_in`."""
        turns = np.column_stack([np.cos(angles), -np.sin(angles)]).astype(np.float32)
        Z = np.asarray(self.amplitudes @ turns, dtype=np.float64)
        return Z[:, 0].reshape(self.truth.shape), Z[:, 1].reshape(self.truth.shape)

    def _logarithms(self, squares: Floats) -> Floats:
        """`ln |Z_in|` from its square, of the faintest as if a little stronger."""
        highest = squares.max(axis=0)
        floor = np.where(highest > 0, highest, 1.0) * _FAINT**2
        return 0.5 * np.log(np.maximum(squares, floor))

    def logarithms(self, angles: Floats) -> Floats:
        """`ln |Z_in|`."""
        real, imaginary = self._sums(angles)
        return self._logarithms(real**2 + imaginary**2)

    def softmax(self, logarithms: Floats, sharpness: float) -> Floats:
        """`ln P_in`, `P_in = |Z_in|^tau / sum_k |Z_kn|^tau` with `tau = sharpness / p`."""
        S = sharpness * self.exponent * logarithms
        S -= S.max(axis=0)
        S -= np.log(np.exp(S).sum(axis=0))
        return S

    def judgement(self, log_P: Floats) -> Judgement:
        """Log-loss and accuracy of the items."""
        total = max(float(self.weight.sum()), np.finfo(np.float64).tiny)
        clipped = np.maximum(log_P, np.log(_LEAST))
        loss = -float((self.truth * clipped).sum(axis=0) @ self.weight) / total
        right = self.truth[np.argmax(log_P, axis=0), np.arange(log_P.shape[1])]
        return Judgement(loss, float(right @ self.weight) / total)

    def slope(self, angles: Floats, sharpness: float) -> Slope:
        """Mean cross-entropy, its derivative by each angle and by the sharpness.

        With `L = ln |Z|`, `R = P - Y`: the derivative by tau is `sum R L`, that by an angle `tau
        sum_in R_in A_(in)e imag(conj(Z_in) e^{-i phi_e}) / |Z_in|^2`.
        """
        real, imaginary = self._sums(angles)
        squares = real**2 + imaginary**2
        L = self._logarithms(squares)
        tau = sharpness * self.exponent
        log_P = self.softmax(L, sharpness)
        share = self.weight / max(float(self.weight.sum()), np.finfo(np.float64).tiny)
        R = (np.exp(log_P) - self.truth) * share
        loss = -float((self.truth * log_P).sum(axis=0) @ share)
        bent = tau * R / np.where(squares > 0, squares, 1.0)
        both = np.column_stack([(bent * real).ravel(), (bent * imaginary).ravel()])
        Q = np.asarray(self.amplitudes.T @ both.astype(np.float32), dtype=np.float64)
        by_angle = -np.sin(angles) * Q[:, 0] - np.cos(angles) * Q[:, 1]
        return Slope(loss, by_angle, float((R * L).sum()) * self.exponent, log_P)
