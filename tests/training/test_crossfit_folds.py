"""Items are judged by those learnt from but their fold, in pieces of any size."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from stc._training.crossfit import CrossFit
from support.phase_cases import probabilities
from support.tuning_cases import HYPERS, counted, counts, rng_of


def crossfit(seed: int, same: bool) -> tuple[CrossFit, sp.csr_array, np.ndarray, np.ndarray]:
    """Items of which some are learnt from, in folds; their counts, classes and weights."""
    matrix = counts(50, seed)
    if same:
        matrix.data[:] = 1.0
    y = rng_of(seed).integers(0, 3, 50)
    weight = rng_of(seed).random(50) + 0.1
    learning = rng_of(seed).random(50) < 0.7
    fold = np.where(learning, rng_of(seed).integers(0, 4, 50), 0)
    return CrossFit.from_matrix(matrix, np.eye(3)[y], weight, learning, fold), matrix, y, weight


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_items_are_judged_by_those_learnt_from_but_their_fold(seed: int, same: bool) -> None:
    cross, matrix, y, weight = crossfit(seed, same)
    learning = cross.in_corpus
    assert learning is not None
    expected = counted(matrix, y, weight, learning, ~learning)
    everything = [probabilities(cross, hyper) for hyper in HYPERS]
    for fold in range(4):
        own = learning & (cross.fold == fold)
        others = counted(matrix, y, weight, learning & (cross.fold != fold), own)
        for P, Q in zip(everything, others, strict=True):
            assert_allclose(P[own], Q, rtol=0, atol=1e-9)
    for P, Q in zip(everything, expected, strict=True):
        assert_allclose(P[~learning], Q, rtol=0, atol=1e-10)


def test_work_in_small_pieces_is_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = crossfit(0, False)[0].corpora
    monkeypatch.setattr("stc._training.crossfit._AMPLITUDES_AT_A_TIME", 40)
    assert_allclose(crossfit(0, False)[0].corpora, whole, rtol=0, atol=1e-12)
