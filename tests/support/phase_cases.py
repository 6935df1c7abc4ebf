"""Data with phases, and what must be equal."""

import math
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st

from stc import PhaseLearner, SparseTensorClassifier
from stc._core import formulas
from stc._core.formulas import Hyper as Settings
from stc._training.crossfit import CrossFit
from support.models import paper_model
from support.oracle import Bag, Hyper, Oracle
from support.phase_oracle import Angles, Bounds, Interference, parts_of
from support.strategies import PROFILE

MODEST = settings(PROFILE, max_examples=12)
# Quarter turns cancel or leave nothing; any other angle is as good as another.
ANGLES = st.sampled_from((0.0, math.pi / 2, math.pi, -math.pi, 2 * math.pi)) | st.floats(-7, 7)
FEW = ("u", "v", "x: y", 1, 1.0)
PLAIN = Hyper(0.5, 1, 0)


def model(hyper: Hyper = Hyper(), **options: Any) -> SparseTensorClassifier:  # noqa: B008
    return paper_model(hyper.power, hyper.balance, hyper.entropy, **options)


def equal_or_not(size: int, values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two attributes, and whether they are equal, which neither of them tells."""
    X = np.random.default_rng(seed).integers(0, values, (size, 2)).astype(str)
    return X, X[:, 0] == X[:, 1]


def some_phases(draw: st.DrawFn, truth: Oracle) -> dict[Any, float]:
    """A phase for every entry of the corpus."""
    return {entry: draw(ANGLES) for entry in sorted(truth.corpus, key=repr)}


def as_mapping(phi: Angles, attributes: bool = True) -> dict[Any, Any]:
    """{class: {attribute: {value: radians}}}, or {class: {word: radians}}."""
    found: dict[Any, Any] = {}
    for ((attribute, value), i), angle in phi.items():
        own = found.setdefault(i, {})
        (own.setdefault(attribute, {}) if attributes else own)[value] = angle
    return found


def name_of(feature: Any) -> str:
    """The name that an explanation gives a feature."""
    names = [v if a is None else f"{a}={v}" for a, v in parts_of(feature)]
    return " and ".join(names)


def some_cells(draw: st.DrawFn, records: Sequence[Any], names: Sequence[str]) -> list[Angles]:
    """An angle for each cell, sometimes none."""
    return [{name: draw(ANGLES) for name in names if draw(st.booleans())} for _ in records]


def turned(item: Bag, angles: Angles) -> dict[Any, float]:
    """The angle of each feature, of a conjunction the sum of its parts'."""
    return {j: sum(angles.get(a, 0.0) for a, _ in parts_of(j)) for j in item}


def assert_within(found: np.ndarray, bounds: Sequence[Bounds]) -> None:
    low, high = np.array([own.low for own in bounds]), np.array([own.high for own in bounds])
    assert found.shape == low.shape
    assert (found >= low - 1e-12).all(), (found, low)
    assert (found <= high + 1e-12).all(), (found, high)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


def assert_interferes(
    fitted: SparseTensorClassifier,
    X: Any,
    theta: Any,
    items: Sequence[tuple[Bag, Angles]],
    truth: Interference,
) -> None:
    """Probabilities, logarithms and the class are the oracle's."""
    bounds = [truth.bounds(item, angles) for item, angles in items]
    found = fitted.predict_proba(X, theta=theta)
    assert_within(found, bounds)
    with np.errstate(divide="ignore"):
        logs = fitted.predict_log_proba(X, theta=theta)
    np.testing.assert_allclose(np.exp(logs), found, rtol=0, atol=1e-12)
    chosen = np.searchsorted(truth.truth.classes, fitted.predict(X, theta=theta))
    for own, best in zip(bounds, chosen.tolist(), strict=True):
        assert own.high[best] >= max(own.low) - 1e-12


def ours(hyper: Hyper) -> Settings:
    return Settings(hyper.power, hyper.balance, hyper.entropy)


def cross_fit(
    fitted: SparseTensorClassifier, X: Any, y: Any, weights: Any, fold: Sequence[int]
) -> CrossFit:
    """Items laid out for the first set of the model's policy."""
    learnt = fitted.fitted_.model
    batch = fitted.fitted_.reader.batch(X, y, weights, learnt)
    parts = batch.observed, batch.target.column, batch.sample_weight
    return CrossFit.from_model(learnt, learnt.policy[0], *parts, np.asarray(fold))


def probabilities(cross: CrossFit, hyper: Settings) -> np.ndarray:
    """Probabilities of the items by the corpus without their fold, without phases."""
    n_features = cross.mass.shape[0]
    xp = np.ones(len(cross.features)) if cross.x is None else cross.x**hyper.power
    # The last column is for unknown features.
    X = sp.csr_array((xp, cross.features, cross.offsets), shape=(cross.n_items, n_features + 1))
    P = np.empty(cross.truth.shape)
    for fold, (data, frequencies) in enumerate(
        zip(cross.weights(hyper), cross.frequencies, strict=True)
    ):
        W = sp.csr_array((data, cross.mass.indices, cross.mass.indptr), shape=cross.mass.shape)
        U = X[:, :n_features] @ W.toarray()
        power = hyper.power / hyper.sharpness
        with np.errstate(divide="ignore"):
            log_U = np.log(U)
        P[cross.fold == fold] = formulas.probabilities(log_U, power, frequencies)[
            cross.fold == fold
        ]
    return P


def entries_of(fitted: SparseTensorClassifier) -> list[tuple[Any, Any]]:
    """The feature and the class of each entry, as the oracle names them."""
    learnt = fitted.fitted_.model
    subset = learnt.policy[0]
    mass = learnt.corpora[subset].mass
    rows = np.repeat(np.arange(mass.shape[0]), np.diff(mass.indptr))
    features = learnt.features(subset, rows)
    labels = learnt.classes[mass.indices].tolist()
    single = len(subset) == 1
    return [(j[0] if single else j, i) for j, i in zip(features, labels, strict=True)]


def places(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each entry."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)), table.indices


def by_class(fitted: SparseTensorClassifier, known: Any) -> list[dict[int, float]]:
    """Contributions as {number of the entry: amplitude} for each class."""
    numbers = {entry: e for e, entry in enumerate(entries_of(fitted))}
    found: dict[Any, dict[int, float]] = {i: {} for i in fitted.classes_.tolist()}
    for (j, i), w in known.items():
        found[i][numbers[j, i]] = float(w)
    return list(found.values())


QUICK = PhaseLearner(penalties=(1.0,), max_iter=5, folds=3, validation=1)


def phases_of(fitted: SparseTensorClassifier) -> dict[Any, float]:
    """The angle of each entry of each set: {(dimensions, feature, class): radians}."""
    learnt = fitted.fitted_.model
    found = {}
    for subset, phases in learnt.amplitudes.items():
        mass = learnt.corpora[subset].mass
        assert phases.angles.shape == (mass.nnz,)
        rows, columns = places(mass)
        names = [learnt.feature_name(subset, row) for row in rows.tolist()]
        names = [" & ".join(sorted(name.split(" & "))) for name in names]
        labels = learnt.classes[columns].tolist()
        where = tuple(sorted(learnt.dimensions.named(subset)))
        keys = [(where, name, i) for name, i in zip(names, labels, strict=True)]
        found.update(zip(keys, phases.angles.tolist(), strict=True))
    return found


def replace_corpora(fitted: SparseTensorClassifier, corpora: Any) -> None:
    """Give a fitted estimator other corpora, as if they had been learnt."""

    def changed(before: Any) -> Any:
        model = replace(before.model, corpora=corpora)
        return replace(before, state=replace(before.state, model=model))

    fitted._change(changed)


def sharpness_of(fitted: SparseTensorClassifier) -> list[float]:
    return [phases.sharpness for phases in fitted.fitted_.model.amplitudes.values()]


def copied(fitted: SparseTensorClassifier) -> SparseTensorClassifier:
    return pickle.loads(pickle.dumps(fitted))


ROWS, LABELS_OF = [["u", "v"], ["u", "w"]], ["A", "B"]
