"""Probabilities stay probabilities, and stay right, where doubles overflow or vanish."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from stc import SparseTensorClassifier
from support.models import paper_model
from support.oracle import Bag, Hyper, learn

POWERS = (0.01, 0.1, 1 / 3, 0.5, 1, 2, 4)
CLASSES = (1, 2, 100, 10_000)
MANY = 100_000
EPS = 2.0**-52


def assert_probabilities(model: SparseTensorClassifier, X: Any) -> np.ndarray:
    """Finite, within [0, 1], summing to one, and agreeing with their logarithms."""
    proba = model.predict_proba(X)
    assert np.isfinite(proba).all()
    assert proba.min() >= 0
    assert proba.max() <= 1
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)
    with np.errstate(divide="ignore"):
        logs = model.predict_log_proba(X)
    assert not np.isnan(logs).any()
    assert logs.max() <= 0
    np.testing.assert_allclose(np.exp(logs), proba, rtol=0, atol=1e-12)
    return proba


@cache
def many_classes(classes: int) -> tuple[SparseTensorClassifier, np.ndarray]:
    """A class per item: column 0 shared in varying share, two columns of its own each."""
    share = 1.0 + np.arange(classes) % 7
    own = 1 + np.arange(classes)
    row = np.arange(classes)
    columns = np.concatenate([np.zeros(classes, dtype=int), own, own + classes])
    entries = np.concatenate([share, np.ones(2 * classes)])
    shape = (classes, 2 * classes + 1)
    X = sparse.csr_array((entries, (np.tile(row, 3), columns)), shape=shape)
    return paper_model().fit(X, row), share / (share + 2)


def some_items(classes: int) -> sparse.csr_array:
    """The shared feature; an own one; both; several own ones; nothing at all."""
    items = sparse.lil_array((5, 2 * classes + 1))
    items[0, 0] = 1
    items[1, 1] = 1
    items[2, [0, 1]] = 1
    items[3, 1 : 1 + min(classes, 3)] = [1e-9, 1, 1e9][: min(classes, 3)]
    return items.tocsr()


@pytest.mark.parametrize("classes", CLASSES)
@pytest.mark.parametrize("power", POWERS)
def test_powers_and_numbers_of_classes(power: float, classes: int) -> None:
    model, mass = many_classes(classes)
    model.set_params(power=power, balance=1.0, entropy=1.0)
    proba = assert_probabilities(model, some_items(classes))
    # Of one feature alone neither the power nor the entropy says anything: X_i = P_i|j.
    np.testing.assert_allclose(proba[0], mass / mass.sum(), rtol=1e-12 + 16 * EPS / power)
    np.testing.assert_array_equal(proba[1], np.eye(1, classes)[0])
    np.testing.assert_allclose(proba[4], 1 / classes, rtol=1e-12)


@cache
def many_features() -> tuple[SparseTensorClassifier, np.ndarray]:
    """Three classes and columns that are all alike, so that many say what one says."""
    share = np.array([1.0, 2.0, 5.0])
    rest = np.full((3, 1), float(MANY))
    X = sparse.hstack([sparse.csr_array(np.tile(share[:, None], (1, MANY))), rest]).tocsr()
    total = np.asarray(X.sum(axis=1)).ravel()
    return paper_model().fit(X, ["a", "b", "c"]), share / total


@pytest.mark.parametrize("power", POWERS)
def test_one_feature_or_100_000(power: float) -> None:
    model, mass = many_features()
    model.set_params(power=power, balance=1.0, entropy=1.0)
    everything = sparse.csr_array(np.append(np.ones(MANY), 0)[None, :])
    one = sparse.csr_array(([1.0], ([0], [0])), shape=(1, MANY + 1))
    uneven = sparse.csr_array(np.append(np.geomspace(1e-30, 1e30, MANY), 0)[None, :])
    proba = assert_probabilities(model, sparse.vstack([everything, one, uneven]))
    # A sum of n terms, one after the other, may lose n eps, and the 1/p-th power multiplies it.
    expected = np.tile(mass / mass.sum(), (3, 1))
    np.testing.assert_allclose(proba, expected, rtol=1e-12 + MANY * EPS / power)


@cache
def crowd() -> tuple[SparseTensorClassifier, sparse.csr_array]:
    """100 classes and 100,000 features of which an item has one, some, or all."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, MANY), density=0.002, format="csr", rng=rng)
    asked = sparse.vstack([np.ones((1, MANY)), X[:3], sparse.eye_array(1, MANY)]).tocsr()
    return paper_model().fit(X, np.arange(300) % 100), asked


@pytest.mark.parametrize("power", POWERS)
def test_many_features_of_many_classes(power: float) -> None:
    model, asked = crowd()
    model.set_params(power=power, balance=1.0, entropy=1.0)
    assert_probabilities(model, asked)


SMALL: list[Bag] = [
    {(None, "x0"): 3, (None, "x1"): 1},
    {(None, "x0"): 1, (None, "x1"): 2},
    {(None, "x1"): 1, (None, "x2"): 2, (None, "x3"): 2},
    {(None, "x2"): 1, (None, "x3"): 1},
]
SMALL_Y = ["a", "b", "c", "b"]


def dense(bags: list[Bag]) -> np.ndarray:
    return np.array([[float(bag.get((None, f"x{j}"), 0)) for j in range(5)] for bag in bags])


def extreme(hyper: Hyper, weights: list[float] | None) -> tuple[np.ndarray, np.ndarray, float]:
    """Probabilities, the oracle's, and how far they may be apart."""
    model = paper_model(hyper.power, hyper.balance, hyper.entropy)
    model.fit(sparse.csr_array(dense(SMALL)), SMALL_Y, sample_weight=weights)
    asked: list[Bag] = [*SMALL, {(None, "x0"): 1}, {(None, "x1"): 1, (None, "x4"): 1}, {}]
    proba = assert_probabilities(model, sparse.csr_array(dense(asked)))
    truth = learn(SMALL, [{label: 1} for label in SMALL_Y], weights)
    expected = np.array([truth.probabilities(bag, hyper) for bag in asked])
    # The logarithm of a score is (h ln H + p ln B) / p; its size bounds what doubles keep of it.
    size = 30 * (1 + hyper.balance) + 10 * hyper.entropy / hyper.power
    return proba, expected, 1e-12 + 8 * EPS * size


SCATTERED = [1e-12, 1e12, 1.0, 1e12]
WEIGHTS = [None, [1e-12] * 4, [1e12] * 4, SCATTERED]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("balance", [0, 1, 5, 50])
@pytest.mark.parametrize("entropy", [0, 1, 50, 1000])
@pytest.mark.parametrize("power", [0.01, 0.5, 4])
def test_extremes(
    power: float, entropy: float, balance: float, weights: list[float] | None
) -> None:
    proba, expected, tolerance = extreme(Hyper(power, balance, entropy), weights)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("hyper", "weights"),
    [
        (Hyper(0.5, 1, 1000), None),
        (Hyper(4, 0, 1000), None),
        (Hyper(0.01, 50, 1000), SCATTERED),
        (Hyper(4, 50, 0), SCATTERED),
    ],
)
def test_weights_that_differ_by_more_than_the_range_of_a_double(
    hyper: Hyper, weights: list[float] | None
) -> None:
    proba, expected, tolerance = extreme(hyper, weights)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("scale", [1e-99, 1e-12, 1e12, 1e99])
def test_only_the_shares_of_an_item_count(power: float, scale: float) -> None:
    X = dense(SMALL)
    plain = paper_model(power).fit(sparse.csr_array(X), SMALL_Y)
    scaled = paper_model(power).fit(sparse.csr_array(scale * X), SMALL_Y)
    expected = plain.predict_proba(sparse.csr_array(X))
    for model in (plain, scaled):
        proba = assert_probabilities(model, sparse.csr_array(scale * X))
        np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-12 + 64 * EPS / power)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("weight", [1e-12, 1.0, 1e12])
def test_one_class_only(power: float, weight: float) -> None:
    model = paper_model(power)
    model.fit([["u", None], ["v", "w"]], ["only", "only"], sample_weight=[weight, weight])
    asked = [["u", "w"], ["unseen", None], [None, None]]
    assert assert_probabilities(model, asked).tolist() == [[1.0]] * 3


def test_log_probabilities_of_impossible_classes_warn_nobody() -> None:
    model = paper_model().fit([["u"], ["v"]], ["a", "b"])
    np.testing.assert_array_equal(model.predict_log_proba([["u"]]), [[0, -np.inf]])
