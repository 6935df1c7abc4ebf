"""Items judged by weights that do not hold them: as if they were never learnt."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.oracle import Hyper, learn
from support.phase_cases import (
    FEW,
    MODEST,
    cross_fit,
    entries_of,
    equal_or_not,
    model,
    ours,
    probabilities,
)
from support.phase_oracle import tuples, with_conjunctions
from support.strategies import Data, hypers, soft, tables

# Single values, of which some are missing, are laid out in another way than several.
FOLDED = st.one_of(
    tables(kinds=("one",), values=FEW, complete=True, smallest=0.5, min_size=4),
    tables(values=FEW, complete=True, smallest=0.5, min_size=2),
)
LAYOUTS = st.sampled_from(({}, {"interactions": 2}, {"dimensions": "each"}))


@MODEST
@given(
    st.data(),
    FOLDED,
    st.lists(hypers(), min_size=1, max_size=4),
    LAYOUTS,
)
def test_cross_fitted_probabilities_are_those_of_models_without_the_fold(
    draws: st.DataObject, data: Data, several: list[Hyper], options: Any
) -> None:
    fold = draws.draw(st.lists(st.integers(0, 2), min_size=len(data), max_size=len(data)))
    fitted = model(**options).fit(data.records, data.y, sample_weight=data.weights)
    cross = cross_fit(fitted, data.records, data.y, data.weights, fold)
    found = [probabilities(cross, ours(hyper)) for hyper in several]
    for number in set(fold):
        rest = data.take(n for n in range(len(data)) if fold[n] != number)
        left_out = [n for n in range(len(data)) if fold[n] == number]
        if not len(rest):
            continue
        for hyper, proba in zip(several, found, strict=True):
            other = model(hyper, **options).fit(rest.records, rest.y, sample_weight=rest.weights)
            asked = [data.records[n] for n in left_out]
            expected = np.zeros((len(asked), len(fitted.classes_)))
            columns = np.searchsorted(fitted.classes_, other.classes_)
            expected[:, columns] = other.predict_proba(asked)
            tolerance = 100 * rest.truth().tolerance(hyper)
            np.testing.assert_allclose(proba[left_out], expected, rtol=0, atol=tolerance)


@MODEST
@given(
    st.data(),
    FOLDED,
    hypers(),
    LAYOUTS,
)
def test_cross_fitted_corpora_and_weights_are_those_without_the_fold(
    draws: st.DataObject, data: Data, hyper: Hyper, options: Any
) -> None:
    fold = np.array(draws.draw(st.lists(st.integers(0, 2), min_size=len(data), max_size=len(data))))
    fitted = model(**options).fit(data.records, data.y, sample_weight=data.weights)
    cross = cross_fit(fitted, data.records, data.y, data.weights, fold.tolist())
    bags = laid_out(data, options)
    entries = entries_of(fitted)
    weights = cross.weights(ours(hyper))
    for number in range(fold.max() + 1):
        rest = [n for n in range(len(data)) if fold[n] != number]
        kept = data.take(rest)
        truth = learn([bags[n] for n in rest], soft(kept.y), kept.weights)
        expected = np.array([float(truth.corpus.get(entry, 0)) for entry in entries])
        np.testing.assert_allclose(cross.corpora[number], expected, rtol=1e-9, atol=1e-12)
        assert ((cross.corpora[number] > 0) == (expected > 0)).all()
        exact = truth.weights(hyper) if truth.corpus else {}
        W = np.array([float(exact.get(entry, 0)) for entry in entries])
        np.testing.assert_allclose(proportional(weights[number], W), W, rtol=1e-6)


def laid_out(data: Data, options: Any) -> list[Any]:
    """The items as the first set of the policy has them, by plain loops."""
    bags = data.bags(data.records)
    if options.get("dimensions") == "each":
        names = list(data.kinds)
        parts = [[{j: w for j, w in own.items() if j[0] == name} for name in names] for own in bags]
        return [tuples(own) if len(names) > 1 else own[0] for own in parts]
    return [with_conjunctions(own, options.get("interactions", 1)) for own in bags]


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_items_with_missing_values_are_left_out_in_full(missing: str) -> None:
    dice = np.random.default_rng(9)
    X = np.where(dice.random((30, 4)) < 0.4, None, dice.integers(0, 2, (30, 4)).astype(str))
    y, fold = dice.integers(0, 3, 30), np.arange(30) % 3
    several = [Hyper(), Hyper(1, 0, 0), Hyper(0.3, 0.5, 2)]
    fitted = model(missing=missing).fit(X, y)
    cross = cross_fit(fitted, X, y, None, fold)
    found = [probabilities(cross, ours(own)) for own in several]
    for hyper, proba in zip(several, found, strict=True):
        for number in range(3):
            other = model(hyper, missing=missing).fit(X[fold != number], y[fold != number])
            expected = other.predict_proba(X[fold == number])
            np.testing.assert_allclose(proba[fold == number], expected, rtol=0, atol=1e-10)


def proportional(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """What was found, times the one factor that it may be off by."""
    best = int(np.argmax(expected)) if len(expected) else 0
    return found * (expected[best] / found[best]) if found.any() else found


def test_items_that_were_not_learnt_leave_the_corpus_as_it_is() -> None:
    X, y = [["u", "v"], ["u", "w"], ["t", "v"]], ["A", "B", "B"]
    fitted = model().fit(X, y)
    mass = fitted.fitted_.model.corpora[0,].mass.data
    others = [["u", "v"]] * 4 + [["t", "new"]] * 2
    cross = cross_fit(fitted, others, ["A", "A", "A", "A", "B", "B"], None, [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(cross.corpora, [mass, mass])
    expected = fitted.predict_proba(others)
    np.testing.assert_allclose(probabilities(cross, ours(Hyper())), expected, atol=1e-12)


@pytest.mark.parametrize("most", [1, 2, 5, 17, 60, 10**6])
def test_parts_hold_every_item_once(most: int) -> None:
    X, y = equal_or_not(40, 3)
    cross = cross_fit(model().fit(X, y), X, y, None, np.arange(40) % 4)
    parts = cross.parts(most)
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    assert all(len(part) for part in parts)
    assert len(parts) == 1 if most == 10**6 else len(parts) > 1
    sizes = [cross.n_amplitudes[part].sum() for part in parts]
    assert max(sizes) <= 2 * max(most, cross.n_amplitudes.max())
