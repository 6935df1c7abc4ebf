"""The formulas of the classifier as pure functions, in the symbols of the paper.

`C` is the corpus: a CSR array with a row per feature j and a column per class i. All functions
return new arrays. Absent entries stay absent, so no zero is ever raised to a power.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core.observations import items_of, offsets_of, run_starts, sum_at

Floats = NDArray[np.float64]

# An entropy weight below this is a rounding error: the feature is equally frequent in all classes.
NO_INFORMATION = 1e-12
# Numbers that differ by less than this share differ by rounding.
_TIED = 1e-12
# A sum below this share of its terms is the rounding error of contributions that cancel.
CANCELLED = 1e-14
# exp() of a larger number may overflow a double.
_LARGEST_EXPONENT = 600.0


class Hyper(NamedTuple):
    """The settings that act at prediction time.

    Attributes
    ----------
    power, balance, entropy
        The p, b and h of the paper.
    prior
        The alpha of `C_ij + alpha f_i`: mass added to each feature, spread by class frequencies.
    sharpness
        The s of `U_i^(s/p)`.
    floor
        The share m of the class frequencies in every answer.
    """

    power: float
    balance: float
    entropy: float
    prior: float = 0.0
    sharpness: float = 1.0
    floor: float = 0.0


# The standard configuration of the paper.
PAPER = Hyper(0.5, 1.0, 1.0)


def entropy_weights(C: sparse.csr_array, per_class: Floats | None = None) -> Floats:
    """Return `H_j = 1 + sum_i P_i|j ln P_i|j / ln I`, from `P_ij = C_ij / sum_j' C_ij'`.

    It is computed as `sum_i P_i|j ln(I P_i|j) / ln I`, which is equal, and exact where it is 0.
    `per_class` is the mass of each class; by default the column sums of `C`.
    """
    j, i = items_of(C.indptr), C.indices
    if per_class is None:
        per_class = sum_at(i, C.data, C.shape[1])
    n_classes = np.count_nonzero(per_class)
    if n_classes < 2:
        return np.ones(C.shape[0])
    # A share must not underflow to 0, whose logarithm is not finite.
    P = np.maximum(C.data / per_class[i], np.finfo(np.float64).tiny)
    P /= sum_at(j, P, C.shape[0])[j]
    H: Floats = sum_at(j, P * np.log(P * n_classes), C.shape[0]) / np.log(n_classes)
    H[H < NO_INFORMATION] = 0.0
    np.minimum(H, 1.0, out=H)
    return H


def with_prior(C: sparse.csr_array, prior: float, frequencies: Floats) -> sparse.csr_array:
    """Return `C_ij + alpha f_i` for each feature with mass and each class with entries."""
    if prior == 0:
        return C
    rows = np.flatnonzero(np.diff(C.indptr))
    classes = np.flatnonzero(sum_at(C.indices, C.data, C.shape[1]))
    dense = C[rows][:, classes].toarray() + prior * frequencies[classes]
    lengths = np.zeros(C.shape[0], dtype=np.int64)
    lengths[rows] = len(classes)
    columns = np.tile(classes, len(rows))
    return sparse.csr_array((dense.ravel(), columns, offsets_of(lengths)), shape=C.shape)


def log_balanced(C: sparse.csr_array, balance: float, per_class: Floats | None = None) -> Floats:
    """Return `ln B_ij` of each entry, `B_ij = C_ij / ((sum_i' C_i'j)^(1-b) (sum_j' C_ij')^b)`.

    `per_class` is the mass of each class; by default the column sums of `C`.
    """
    log_B: Floats = np.log(C.data)
    if balance != 1:
        j = items_of(C.indptr)
        per_feature = sum_at(j, C.data, C.shape[0])
        log_B -= (1 - balance) * np.log(per_feature[j])
    if balance != 0:
        if per_class is None:
            per_class = sum_at(C.indices, C.data, C.shape[1])
        with np.errstate(divide="ignore"):  # classes without entries are not used
            log_B -= balance * np.log(per_class)[C.indices]
    return log_B


def log_weights(C: sparse.csr_array, hyper: Hyper, frequencies: Floats) -> sparse.csr_array:
    """Return `ln W_ij`, `W_ij = H_j^h B_ij^p`, with `H_j^0 = 1`; -inf where `H_j` is 0.

    With a prior, `C_ij` is `C_ij + alpha f_i`, but the mass of a class is that of the corpus.
    """
    per_class = sum_at(C.indices, C.data, C.shape[1])
    C = with_prior(C, hyper.prior, frequencies)
    log_W = hyper.power * log_balanced(C, hyper.balance, per_class)
    if hyper.entropy != 0:
        with np.errstate(divide="ignore"):
            log_W += hyper.entropy * np.log(entropy_weights(C, per_class))[items_of(C.indptr)]
    return with_data(C, log_W)


def weights(log_W: sparse.csr_array) -> tuple[sparse.csr_array, float]:
    """Return `W_ij e^-shift`, and the shift, which is 0 if all weights are within a double.

    If they are not, all weights share one factor, which leaves the probabilities as they are.
    Weights that become 0 beside the largest need `log_scores`.
    """
    finite = log_W.data[np.isfinite(log_W.data)]
    shift = 0.0
    if len(finite) and np.abs(finite).max() > _LARGEST_EXPONENT:
        shift = float(finite.max()) - _LARGEST_EXPONENT
    return with_data(log_W, np.exp(log_W.data - shift)), shift


def turned(amounts: NDArray[Any], angles: Floats) -> NDArray[np.complex128]:
    """Return the complex numbers `amount e^{i angle}`."""
    return np.asarray(amounts * np.exp(1j * angles))


def contributions(V_ij: NDArray[Any], x_j: NDArray[Any], power: float) -> NDArray[Any]:
    """Return the contributions `w_ij(x) = e^{i(theta_j - phi_ij)} W_ij x_j^p`.

    `V_ij` is `W_ij`, or `W_ij e^{-i phi_ij}` if there are phases. `theta_j` is left to the caller.
    """
    return np.asarray(V_ij * x_j**power)


def scores(Xp: sparse.csr_array, V: Any) -> Floats:
    """Return `U_i = |sum_j w_ij(x)|`, a row per item, from `Xp = x^p e^{i theta}` and the weights.

    Without phases the terms are real and not negative, so the sum is equal to its modulus.
    """
    Z = Xp @ V
    dense: NDArray[Any] = Z.toarray() if sparse.issparse(Z) else Z
    U: Floats = np.abs(dense) if dense.dtype.kind == "c" else dense
    return U


def log_scores(
    log_W: sparse.csr_array,
    log_xp: Floats,
    items: NDArray[Any],
    n_items: int,
    angles: Floats | None = None,
) -> Floats:
    """Return `ln U_i` of items (items x classes), where `W_ij x_j^p` would under- or overflow.

    `log_W` has a row for each value of the items, `log_xp = p ln x_j` and `items` have an element.
    `angles` are `theta_j - phi_ij` of the entries.
    """
    values = items_of(log_W.indptr)
    terms = log_W.data + log_xp[values]
    entries = np.flatnonzero(np.isfinite(terms))
    keys = items[values[entries]] * log_W.shape[1] + log_W.indices[entries]
    order = np.argsort(keys, kind="stable")
    keys, entries = keys[order], entries[order]
    terms = terms[entries]
    starts = run_starts(keys)
    log_U = np.full((n_items, log_W.shape[1]), -np.inf)
    if not len(starts):
        return log_U
    highest = np.maximum.reduceat(terms, starts)
    w = np.exp(terms - np.repeat(highest, np.diff(starts, append=len(keys))))
    sums = np.add.reduceat(w, starts)
    if angles is not None:
        moduli = np.abs(np.add.reduceat(turned(w, angles[entries]), starts))
        sums = np.where(moduli <= CANCELLED * sums, 0.0, moduli)
    with np.errstate(divide="ignore"):
        log_U.flat[keys[starts]] = highest + np.log(sums)
    return log_U


def log_probabilities(
    log_U: Floats, power: Floats | float, frequencies: Floats, floor: Floats | None = None
) -> Floats:
    """Return `ln X_i`; see `probabilities`."""
    log_X, degenerate = _relative_logarithms(log_U, power)
    with np.errstate(divide="ignore"):
        log_X[degenerate] = np.log(tied(frequencies))
        log_X -= np.log(np.exp(log_X).sum(axis=1, keepdims=True))
        if floor is None:
            return log_X
        log_X = np.logaddexp(log_X + np.log1p(-floor.sum()), np.log(floor))
    highest = log_X.max(axis=1, keepdims=True)
    return np.asarray(np.where(log_X >= highest - _TIED, highest, log_X))


def probabilities(
    log_U: Floats, power: Floats | float, frequencies: Floats, floor: Floats | None = None
) -> Floats:
    """Return `X_i = (1 - m) Q_i + m g_i` with `Q_i = U_i^(s/p) / sum_k U_k^(s/p)`.

    `log_U` has `ln U_i` up to a number for each item. `power` is p / s: one number, or one per
    item. `frequencies` are the `Q_i` of items whose `U_i` are all 0, and `floor` is `m g_i`, the
    least probability of each class (None: m is 0); both are the same for all items, or have a row
    for each. Classes whose probabilities differ from the highest by rounding have the highest.
    """
    X, degenerate = _relative_logarithms(log_U, power)
    np.exp(X, out=X)
    X[degenerate] = np.broadcast_to(tied(frequencies), X.shape)[degenerate]
    X /= X.sum(axis=1, keepdims=True)
    if floor is None:
        return X
    X *= 1 - floor.sum(axis=-1, keepdims=True)
    X += floor
    return tied(X)


def floor_of(class_mass: Floats, share: float) -> Floats:
    """Return the floor `m g_i`, `g_i = (m_i + 1/I) / (M + 1)`; classes are the last axis."""
    n_classes = max(class_mass.shape[-1], 1)
    total = class_mass.sum(axis=-1, keepdims=True)
    return np.asarray(share * (class_mass + 1 / n_classes) / (total + 1))


def tied(X: Floats) -> Floats:
    """Return numbers, of which those that differ from the highest by rounding are the highest.

    So the first class of a tie is the answer, in whatever order the counts were added up.
    """
    highest = X.max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.where(highest * (1 - _TIED) <= X, highest, X))


def _relative_logarithms(log_U: Floats, power: Floats | float) -> tuple[Floats, NDArray[np.bool_]]:
    """Return `ln U_i^(1/p)` minus the maximum of the item, and which items have only zeros."""
    X = log_U / power
    highest = X.max(axis=1, keepdims=True)
    degenerate: NDArray[np.bool_] = np.isneginf(highest[:, 0])
    highest[degenerate] = 0.0
    X -= highest
    X[-_TIED * np.maximum(1.0, 1 / np.asarray(power)) < X] = 0.0
    return X, degenerate


def most_probable(U: Floats, power: float, frequencies: Floats) -> NDArray[np.intp]:
    """Return `argmax_i X_i` without a floor, from scores up to a factor for each item."""
    best: NDArray[np.intp] = np.argmax(U, axis=1)
    highest = U[np.arange(len(U)), best]
    close = (highest * np.exp(-_TIED * max(1.0, power)))[:, None] <= U
    if np.count_nonzero(close) > len(U):  # few items have ties
        several = np.flatnonzero(np.count_nonzero(close, axis=1) > 1)
        best[several] = np.argmax(close[several], axis=1)
    best[highest == 0] = np.argmax(tied(frequencies))
    return best


def entries_at(table: sparse.csr_array, other: sparse.csr_array) -> Floats:
    """Return the numbers of a table in the cells of the entries of another; 0 where it has none."""
    if table.nnz == other.nnz:  # one has all entries of the other
        return np.asarray(table.data)
    return np.asarray(table[items_of(other.indptr), other.indices]).ravel()


def with_data(C: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    """Return an array with the entries of `C` and other numbers in them."""
    return sparse.csr_array((data, C.indices, C.indptr), shape=C.shape)
