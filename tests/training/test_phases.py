"""Phases given and learnt: interference against a dense oracle, its gradient, and the rules."""

import copy
import logging
import math
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from stc import PhaseLearner, SparseTensorClassifier
from stc.corpus import Phases
from stc.crossfit import CrossFit
from stc.formulas import log_weights, with_data
from stc.phases import Descent, Point
from stc.policy import Hyper as Settings
from stc.waves import Judgement, Waves
from support.oracle import Bag, Hyper, Oracle, learn
from support.phase_oracle import (
    Angles,
    Bounds,
    Interference,
    Loss,
    by_policy,
    cross_entropy,
    parts_of,
    penalty,
    tuples,
    with_conjunctions,
)
from support.strategies import (
    PROFILE,
    TEXTS,
    VALUES,
    Data,
    any_sparse,
    bag,
    hypers,
    matrices,
    questions,
    soft,
    tables,
    targets,
    to_pandas,
    to_polars,
)

MODEST = settings(PROFILE, max_examples=12)
# Quarter turns cancel or leave nothing; any other angle is as good as another.
ANGLES = st.sampled_from((0.0, math.pi / 2, math.pi, -math.pi, 2 * math.pi)) | st.floats(-7, 7)
FEW = ("u", "v", "x: y", 1, 1.0)
PLAIN = Hyper(0.5, 1, 0)


def model(hyper: Hyper = Hyper(), **options: Any) -> SparseTensorClassifier:  # noqa: B008
    return SparseTensorClassifier(hyper.power, hyper.balance, hyper.entropy, **options)


def equal_or_not(size: int, values: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two attributes, and whether they are equal, which neither of them tells."""
    X = np.random.default_rng(seed).integers(0, values, (size, 2)).astype(str)
    return X, X[:, 0] == X[:, 1]


# --- what is drawn, and what it means ------------------------------------------------------------


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


def as_array(fitted: SparseTensorClassifier, truth: Oracle, phi: Angles) -> np.ndarray:
    """A row for each of the names, a column for each class; what is no entry is left to chance."""
    names = {name_of(feature): feature for feature in truth.features}
    rows = [names[name] for name in fitted.get_feature_names_out()]
    absent = np.random.default_rng(0).normal(size=(len(rows), len(truth.classes)))
    cells = [
        [phi.get((j, i), absent[row, k]) for k, i in enumerate(truth.classes)]
        for row, j in enumerate(rows)
    ]
    return np.array(cells).reshape(absent.shape)


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


# --- given phases --------------------------------------------------------------------------------

# Two values, both in both classes alike: every W_ij is 1/2, so U_i is cosines and nothing else.
EVEN_X = [["u", "v"], ["u", "v"]]
EVEN_Y = ["A", "B"]
BY_HAND = [
    ({}, None, [1 / 2, 1 / 2]),
    # |1 + e^{i a}|^2 = 2 + 2 cos a, beside 4.
    ({"A": {"x0": {"u": math.pi / 2}}}, None, [1 / 3, 2 / 3]),
    ({"A": {"x1": {"v": math.pi / 3}}}, None, [3 / 7, 4 / 7]),
    ({"A": {"x0": {"u": math.pi / 2}, "x1": {"v": math.pi / 2}}}, None, [1 / 2, 1 / 2]),
    # The observation turns one of them against the phase, or back.
    ({"A": {"x0": {"u": math.pi / 2}}}, [[math.pi / 2, 0.0]], [2 / 3, 1 / 3]),
    ({"A": {"x0": {"u": math.pi / 2}}}, [[-math.pi / 6, 0.0]], [1 / (3 + 3**0.5), None]),
    ({"B": {"x0": {"u": 0.0}}}, [[1.0, 0.0]], [1 / 2, 1 / 2]),
    ({"A": {"x0": {"u": math.pi}}}, None, [0, 1]),
]


@pytest.mark.parametrize(("phases", "theta", "expected"), BY_HAND)
def test_interference_by_hand(phases: Any, theta: Any, expected: list[float | None]) -> None:
    fitted = model(Hyper(0.5, 1, 0), phases=phases).fit(EVEN_X, EVEN_Y)
    proba = fitted.predict_proba([["u", "v"]], theta=theta)
    expected = [1 - expected[0] if own is None else own for own in expected]
    np.testing.assert_allclose(proba, [expected], rtol=0, atol=1e-12)
    truth = learn([{("x0", "u"): 1, ("x1", "v"): 1}] * 2, soft(EVEN_Y))
    phi = {
        ((a, v), i): angle
        for i, by_attribute in phases.items()
        for a, by_value in by_attribute.items()
        for v, angle in by_value.items()
    }
    angles = dict(zip((("x0", "u"), ("x1", "v")), (theta or [[0, 0]])[0], strict=True))
    exact = Interference(truth, Hyper(0.5, 1, 0), phi).exact_probabilities(
        {("x0", "u"): 1, ("x1", "v"): 1}, angles
    )
    assert [float(x) for x in exact.values()] == pytest.approx(expected, abs=1e-15)


@MODEST
@given(st.data(), tables(min_size=3), hypers(), st.sampled_from(("ignore", "category")))
def test_phases_and_theta_of_records(
    draws: st.DataObject, data: Data, hyper: Hyper, missing: str
) -> None:
    if missing == "category":  # which fixes the attributes
        data = Data([{**dict.fromkeys(data.kinds), **r} for r in data.records], *fields(data))
    truth = data.truth(missing)
    phi = some_phases(draws.draw, truth)
    fitted = model(hyper, phases=as_mapping(phi), missing=missing)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = [*draws.draw(questions(data)), *data.records[:3]]
    theta = some_cells(draws.draw, asked, list(data.kinds))
    bags = data.bags(asked, missing)
    items = [(own, turned(own, angles)) for own, angles in zip(bags, theta, strict=True)]
    assert_interferes(fitted, asked, theta, items, Interference(truth, hyper, phi))
    assert_interferes(fitted, asked, None, [(b, {}) for b in bags], Interference(truth, hyper, phi))


def fields(data: Data) -> tuple[Any, ...]:
    return data.y, data.weights, data.kinds


@MODEST
@given(
    st.data(),
    tables(kinds=("one", "list"), values=TEXTS, complete=True, min_size=3),
    hypers(),
    st.sampled_from(("pandas", "polars", "arrow")),
)
def test_phases_and_theta_of_frames(
    draws: st.DataObject, data: Data, hyper: Hyper, container: str
) -> None:
    truth = data.truth()
    phi = some_phases(draws.draw, truth)

    def framed(records: Any) -> Any:
        if container == "pandas":
            return to_pandas(records, data)
        frame = to_polars(records, data, TEXTS)
        return frame.to_arrow() if container == "arrow" else frame

    fitted = model(hyper).fit(framed(data.records), data.y, sample_weight=data.weights)
    fitted.set_params(phases=as_array(fitted, truth, phi))
    asked = draws.draw(questions(data, TEXTS))
    names = list(data.kinds)
    cells = [{name: draws.draw(ANGLES) for name in names} for _ in asked]
    frame = pl.DataFrame(cells).select(names[::-1])  # told apart by name, in whatever order
    theta = {"pandas": pd.DataFrame(cells)[names[::-1]], "arrow": frame.to_arrow()}
    items = [(b, turned(b, own)) for b, own in zip(data.bags(asked), cells, strict=True)]
    exact = Interference(truth, hyper, phi)
    for given_theta in (theta.get(container, frame), cells, [list(own.values()) for own in cells]):
        assert_interferes(fitted, framed(asked), given_theta, items, exact)


@MODEST
@given(st.data(), hypers(), st.integers(1, 4))
def test_phases_and_theta_of_arrays(draws: st.DataObject, hyper: Hyper, columns: int) -> None:
    row = st.lists(st.sampled_from((*VALUES, None)), min_size=columns, max_size=columns)
    rows = draws.draw(st.lists(row, min_size=1, max_size=8))
    y = draws.draw(targets(len(rows)))
    names = [f"x{column}" for column in range(columns)]
    bags = [bag(dict(zip(names, own, strict=True)), names, "ignore") for own in rows]
    truth = learn(bags, soft(y))
    phi = some_phases(draws.draw, truth)
    X = np.empty((len(rows), columns), dtype=object)
    X[:] = rows
    fitted = model(hyper).fit(X, y)
    theta = np.array([[draws.draw(ANGLES) for _ in names] for _ in rows])
    cells = [dict(zip(names, own, strict=True)) for own in theta.tolist()]
    items = [(b, turned(b, own)) for b, own in zip(bags, cells, strict=True)]
    for phases in (as_mapping(phi), as_array(fitted, truth, phi)):
        fitted.set_params(phases=phases)
        assert_interferes(fitted, X, theta, items, Interference(truth, hyper, phi))


@MODEST
@given(st.data(), matrices(), hypers())
def test_phases_and_theta_of_counts(draws: st.DataObject, drawn: Any, hyper: Hyper) -> None:
    learnt, asked, y, weights = drawn
    bags = [
        [{(None, f"x{j}"): float(w) for j, w in enumerate(row)} for row in rows]
        for rows in (learnt, asked)
    ]
    truth = learn(bags[0], soft(y), weights)
    phi = some_phases(draws.draw, truth)
    fitted = model(hyper, phases=as_mapping(phi, attributes=False))
    fitted.fit(any_sparse(draws.draw, learnt), y, sample_weight=weights)
    theta = np.array([[draws.draw(ANGLES) for _ in row] for row in asked])
    items = [
        (own, {(None, f"x{j}"): angle for j, angle in enumerate(row)})
        for own, row in zip(bags[1], theta.tolist(), strict=True)
    ]
    X = any_sparse(draws.draw, asked)
    for given_theta in (theta, any_sparse(draws.draw, theta)):
        assert_interferes(fitted, X, given_theta, items, Interference(truth, hyper, phi))
    fitted.set_params(phases=as_array(fitted, truth, phi))
    assert_interferes(fitted, X, theta, items, Interference(truth, hyper, phi))


@MODEST
@given(st.data(), hypers())
def test_phases_and_theta_of_documents(draws: st.DataObject, hyper: Hyper) -> None:
    words = ("to", "be", "or", "not", "Be", ",")
    texts = st.lists(st.lists(st.sampled_from(words), max_size=6), min_size=1, max_size=6)
    learnt, asked = draws.draw(texts), [*draws.draw(texts), ["unseen", "be"]]
    y = draws.draw(targets(len(learnt)))
    bags = [[{(None, w): text.count(w) for w in text} for text in own] for own in (learnt, asked)]
    truth = learn(bags[0], soft(y))
    phi = some_phases(draws.draw, truth)
    fitted = model(hyper, tokenizer=str.split, phases=as_mapping(phi, attributes=False))
    fitted.fit([" ".join(text) for text in learnt], y)
    X = [" ".join(text) for text in asked]
    theta = [{w: draws.draw(ANGLES) for w in words if draws.draw(st.booleans())} for _ in asked]
    items = [
        (own, {(None, w): angle for w, angle in angles.items()})
        for own, angles in zip(bags[1], theta, strict=True)
    ]
    assert_interferes(fitted, X, theta, items, Interference(truth, hyper, phi))
    fitted.set_params(phases=as_array(fitted, truth, phi))
    assert_interferes(fitted, X, theta, items, Interference(truth, hyper, phi))


@MODEST
@given(st.data(), tables(values=FEW, min_size=3), hypers(), st.integers(2, 3))
def test_phases_and_theta_of_conjunctions(
    draws: st.DataObject, data: Data, hyper: Hyper, order: int
) -> None:
    bags = [with_conjunctions(own, order) for own in data.bags(data.records)]
    truth = learn(bags, soft(data.y), data.weights)
    phi = some_phases(draws.draw, truth)
    fitted = model(hyper, phases=as_mapping(phi), interactions=order)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    assert set(fitted.get_feature_names_out()) == set(map(name_of, truth.features))
    asked = [*draws.draw(questions(data, FEW)), data.records[0]]
    theta = some_cells(draws.draw, asked, list(data.kinds))
    found = [with_conjunctions(own, order) for own in data.bags(asked)]
    items = [(own, turned(own, angles)) for own, angles in zip(found, theta, strict=True)]
    assert_interferes(fitted, asked, theta, items, Interference(truth, hyper, phi))
    fitted.set_params(phases=as_array(fitted, truth, phi))
    assert_interferes(fitted, asked, theta, items, Interference(truth, hyper, phi))


@MODEST
@given(st.data(), tables(values=FEW, complete=True, min_size=3), hypers(), st.booleans())
def test_phases_and_theta_of_tuples(
    draws: st.DataObject, data: Data, hyper: Hyper, turning: bool
) -> None:
    """Theta of a tuple is the sum of its values'; every set of the policy has phases of its own."""
    names = list(data.kinds)
    policy = draws.draw(st.lists(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    policy = [names, *(own for own in policy if sorted(own) != sorted(names))]
    policy = [own for k, own in enumerate(policy) if set(own) not in map(set, policy[:k])]
    fitted = model(hyper, dimensions="each", policy=policy)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = [*draws.draw(questions(data, FEW)), data.records[0]]
    theta = some_cells(draws.draw, asked, names)
    sets = []
    for own in policy:
        parts = sorted(own, key=names.index)
        truth = learn(tupled(data, data.records, parts), soft(data.y), data.weights)
        phi = some_phases(draws.draw, truth) if turning else {}
        turn_entries(fitted, parts, truth, phi)
        sets.append((Interference(truth, hyper, phi), tupled(data, asked, parts)))
    bounds = [
        by_policy([(truth, bags[n], of_tuples(bags[n], theta[n])) for truth, bags in sets])
        for n in range(len(asked))
    ]
    assert_within(fitted.predict_proba(asked, theta=theta), bounds)


def crowd(size: int) -> tuple[list[Any], list[str], list[dict[str, float]]]:
    """Records that share their values, so that nothing is alone; their classes and angles."""
    dice = np.random.default_rng(12)
    X = [{a: f"{a}{dice.integers(0, 2)}" for a in "abcd"} for _ in range(size)]
    y = dice.choice(["A", "B"], size).tolist()
    return (
        X,
        y,
        [dict(zip("abcd", own, strict=True)) for own in dice.uniform(-3, 3, (size, 4)).tolist()],
    )


@pytest.mark.parametrize("container", ["records", "pandas", "polars", "arrow", "array"])
@pytest.mark.parametrize("several", [False, True])
def test_theta_is_told_by_name_or_by_place(container: str, several: bool) -> None:
    X, y, theta = crowd(16)
    if several and container in ("records", "pandas"):
        X = [{a: {v: 2.0, "x": 1.0} for a, v in own.items()} for own in X]
    made: dict[str, Any] = {
        "records": lambda rows: rows,
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "arrow": lambda rows: pl.DataFrame(rows).to_arrow(),
        "array": lambda rows: np.array([list(own.values()) for own in rows]),
    }
    names = "abcd" if container != "array" else [f"x{k}" for k in range(4)]
    bags = [bag(dict(zip(names, own.values(), strict=True)), names, "ignore") for own in X]
    truth = learn(bags, soft(y))
    phi = {entry: 0.7 * n % 6 for n, entry in enumerate(truth.corpus)}
    fitted = model(PLAIN, phases=as_mapping(phi)).fit(made[container](X), y)
    angles = [dict(zip(names, own.values(), strict=True)) for own in theta]
    items = [(b, turned(b, own)) for b, own in zip(bags, angles, strict=True)][:6]
    forms = [angles[:6], [list(own.values()) for own in theta[:6]], made[container](theta[:6])]
    if container in ("pandas", "polars", "arrow"):
        forms.append(made[container]([dict(reversed(own.items())) for own in theta[:6]]))
    for form in forms:
        asked = made[container](X[:6])
        assert_interferes(fitted, asked, form, items, Interference(truth, PLAIN, phi))


@pytest.mark.parametrize("several", [False, True])
def test_theta_follows_the_items_that_a_policy_passes_on(several: bool) -> None:
    X, y, theta = crowd(16)
    if several:
        X = [{a: {v: 2.0, "x": 1.0} for a, v in own.items()} for own in X]
    options = {"dimensions": {"one": ["a"], "two": ["b", "c", "d"]}}
    fitted = model(PLAIN, policy=[["one", "two"], ["two"]], **options).fit(X, y)
    unseen = [{**own, "a": "never learnt"} if n % 3 else own for n, own in enumerate(X)]
    used = [("one", "two"), ("two",), ("two",)]
    assert fitted.policy_used(unseen[:3]).tolist() == used
    bags = [
        [bag({a: own[a] for a in "bcd"}, "bcd", "ignore") for own in rows] for rows in (X, unseen)
    ]
    truth = Interference(learn(bags[0], soft(y)), PLAIN, {})
    passed = [n for n in range(16) if n % 3]
    bounds = [truth.bounds(bags[1][n], turned(bags[1][n], theta[n])) for n in passed]
    assert_within(fitted.predict_proba(unseen, theta=theta)[passed], bounds)
    assert abs(fitted.predict_proba(unseen)[passed] - [own.low for own in bounds]).max() > 0.01


SUMS = [
    {"interactions": 2},
    {"interactions": 3},
    {"dimensions": {"one": ["a", "b"], "two": ["c"]}},
    {"dimensions": {"one": ["a", "c"], "two": ["b", "d"]}},
]


@pytest.mark.parametrize("options", SUMS)
@pytest.mark.parametrize("several", [False, True])
def test_theta_of_a_combination_is_the_sum_of_its_parts(options: Any, several: bool) -> None:
    X, y, theta = crowd(16)
    if several:
        X = [{a: {v: 2.0, "x": 1.0} for a, v in own.items()} for own in X]
    groups = list(options.get("dimensions", {"all": "abcd"}).values())

    def combined(record: Any) -> Bag:
        parts = [bag({a: record[a] for a in own}, own, "ignore") for own in groups]
        return tuples(parts) if len(parts) > 1 else with_conjunctions(parts[0], fitted.interactions)

    fitted = model(PLAIN, **options).fit(X, y)
    bags = [combined(own) for own in X]
    truth = learn(bags, soft(y))
    phi = {entry: 0.7 * n % 6 for n, entry in enumerate(truth.corpus)}
    turn_entries(fitted, list(options.get("dimensions", ["all"])), truth, phi)
    summed = of_tuples if len(groups) > 1 else turned
    items = [(own, summed(own, angles)) for own, angles in zip(bags, theta, strict=True)]
    assert_interferes(fitted, X[:6], theta[:6], items[:6], Interference(truth, PLAIN, phi))


def tupled(data: Data, records: Sequence[Any], parts: Sequence[str]) -> list[Bag]:
    """The items as tuples of these attributes' values."""
    return [tuples([bag({a: r.get(a)}, [a], "ignore") for a in parts]) for r in records]


def of_tuples(item: Bag, angles: Angles) -> dict[Any, float]:
    return {js: sum(angles.get(a, 0.0) for a, _ in js) for js in item}


def turn_entries(
    fitted: SparseTensorClassifier, parts: Sequence[str], truth: Oracle, phi: Angles
) -> None:
    """Give the entries of one set of dimensions their phases, as if they had been learnt."""
    learnt = fitted._learnt
    dimensions = learnt.model.dimensions
    subset = tuple(sorted(dimensions.numbers(parts, "the test")))
    corpus = learnt.model.corpora[subset]
    rows = np.repeat(np.arange(corpus.mass.shape[0]), np.diff(corpus.mass.indptr))
    features = learnt.model.features(subset, rows)
    if len(subset) == 1 and len(parts) == len(dimensions.names) == 1:
        features = [own for (own,) in features]  # no tuples at all
    entries = zip(features, corpus.mass.indices.tolist(), strict=True)
    angles = np.array([phi.get((j, truth.classes[k]), 0.0) for j, k in entries])
    corpora = {**learnt.model.corpora, subset: replace(corpus, phases=Phases(angles))}
    fitted._become(replace(learnt, model=replace(learnt.model, corpora=corpora)))


def test_values_and_classes_are_told_as_they_were_learnt() -> None:
    X, y = [{"n": 1, "m": None}, {"n": 2.0, "m": "b"}], [10, 20]
    fitted = model(Hyper(1, 1, 0), missing="category").fit(X, y)
    asked = [{"n": [1, 2], "m": [None, "b"]}, {"n": 1, "m": "b"}]
    text = {10: {"n": {"1": 0.5}, "m": {None: 1.0}}, 20: {"n": {"2": -1.0}}}
    numbers = {
        np.int64(10): {"n": {1.0: 0.5}, "m": {math.nan: 1.0}},
        20.0: {"n": {np.int64(2): -1}},
    }
    expected = fitted.set_params(phases=text).predict_proba(asked)
    plain = fitted.set_params(phases={}).predict_proba(asked)
    assert abs(expected - plain).max() > 0.01
    np.testing.assert_array_equal(fitted.set_params(phases=numbers).predict_proba(asked), expected)
    # A value that was never learnt has no entry to turn; it may come later.
    numbers[10]["n"]["never learnt"] = 3.0
    np.testing.assert_array_equal(fitted.predict_proba(asked), expected)


def test_an_array_of_phases_has_rows_for_what_was_learnt_only() -> None:
    X = sparse.csr_array([[0.0, 1.0, 0.0, 2.0], [0.0, 3.0, 0.0, 1.0]])
    fitted = model(Hyper(0.5, 1, 0)).fit(X, ["A", "B"])
    assert fitted.get_feature_names_out().tolist() == ["x1", "x3"]
    by_name = {"A": {"x1": 0.5, "x3": -1.0}, "B": {"x1": 2.0, "x3": 0.1}}
    expected = fitted.set_params(phases=by_name).predict_proba(X)
    assert abs(expected - fitted.set_params(phases={}).predict_proba(X)).max() > 0.01
    fitted.set_params(phases=[[0.5, 2.0], [-1.0, 0.1]])
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)


def test_phases_act_at_prediction_time_also_when_changed_in_place() -> None:
    phases: dict[str, Any] = {"A": {"x0": {"u": 0.0}}}
    fitted = model(Hyper(0.5, 1, 0), phases=phases).fit(EVEN_X, EVEN_Y)
    np.testing.assert_array_equal(fitted.predict_proba([["u", "v"]]), [[0.5, 0.5]])
    phases["A"]["x0"]["u"] = math.pi / 2
    np.testing.assert_allclose(fitted.predict_proba([["u", "v"]]), [[1 / 3, 2 / 3]], atol=1e-12)
    fitted.set_params(power=1.0)
    expected = [[2**0.5 / (2 + 2**0.5), 2 / (2 + 2**0.5)]]
    np.testing.assert_allclose(fitted.predict_proba([["u", "v"]]), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "number", "bag_of"),
    [
        ({"continuous": {"n": [0.0, 10.0]}}, 2.5, {"below 5": 0.75, "above 5": 0.25}),
        ({"ordinal": {"n": ["S", "M", "L"]}}, "M", {"S": 0.25, "M": 0.5, "L": 0.25}),
    ],
)
def test_an_angle_of_a_number_turns_all_its_categories(
    options: Any, number: Any, bag_of: dict[str, float]
) -> None:
    phases = {"A": {"n": dict(zip(bag_of, (0.3, 1.2, -2.0), strict=False)), "c": {"u": 0.7}}}
    X = [{"n": number, "c": "u"}, {"n": number, "c": "v"}]
    fitted = model(Hyper(0.5, 1, 0), phases=phases, **options).fit(X, ["A", "B"])
    spread = model(Hyper(0.5, 1, 0), phases=phases).fit([{**r, "n": bag_of} for r in X], ["A", "B"])
    theta = [{"n": 1.5, "c": -0.4}, {"n": 0.2, "c": 2.0}]
    expected = spread.predict_proba([{**r, "n": bag_of} for r in X], theta=theta)
    np.testing.assert_allclose(fitted.predict_proba(X, theta=theta), expected, atol=1e-12)
    assert abs(expected - fitted.set_params(phases={}).predict_proba(X)).max() > 0.01


def test_phases_of_neighbouring_words() -> None:
    texts, y = ["new york new", "york new", "new new"], ["A", "B", "B"]
    bags = [paired(text.split()) for text in texts]
    truth = learn(bags, soft(y))
    hyper = Hyper(0.5, 1, 0)
    dice = np.random.default_rng(3)
    phi = {entry: dice.uniform(-3, 3) for entry in truth.corpus}
    fitted = model(hyper, ngrams=2).fit(texts, y)
    fitted.set_params(phases=as_array(fitted, truth, phi))
    words = {"new": 0.7, "york": -1.9}
    theta = {(None, name): sum(words[w] for w in name.split()) for _, name in truth.features}
    exact = Interference(truth, hyper, phi)
    assert_interferes(fitted, texts, None, [(own, {}) for own in bags], exact)
    assert_interferes(fitted, texts, [words] * 3, [(own, theta) for own in bags], exact)
    expected = fitted.predict_proba(texts)
    by_words: dict[Any, Any] = {}
    for ((_, name), i), angle in phi.items():
        by_words.setdefault(i, {})[tuple(name.split()) if " " in name else name] = angle
    np.testing.assert_array_equal(fitted.set_params(phases=by_words).predict_proba(texts), expected)


def paired(words: Sequence[str]) -> Bag:
    """Words, and pairs of neighbours under their name."""
    names = [*words, *(f"{a} {b}" for a, b in pairwise(words))]
    return {(None, name): names.count(name) for name in names}


# --- zero, and what no probability can tell -------------------------------------------------------


def zeros_like(fitted: SparseTensorClassifier) -> np.ndarray:
    return np.zeros((len(fitted.get_feature_names_out()), len(fitted.classes_)))


def assert_same_bits(fitted: SparseTensorClassifier, X: Any, phases: Any, theta: Any) -> None:
    """Predictions with these phases and this theta are those with none."""
    fitted.set_params(phases={})
    with np.errstate(divide="ignore"):
        logs = fitted.predict_log_proba(X)
        proba, table, labels = fitted.predict_proba(X), fitted.explain(X), fitted.predict(X)
        fitted.set_params(phases=phases)
        for angles in (None, theta):
            np.testing.assert_array_equal(fitted.predict_proba(X, theta=angles), proba)
            np.testing.assert_array_equal(fitted.predict_log_proba(X, theta=angles), logs)
            np.testing.assert_array_equal(fitted.predict(X, theta=angles), labels)
            found = fitted.explain(X, theta=angles)
            assert found.table.equals(table.table)
            assert found.sentences() == table.sentences()


@MODEST
@given(st.data(), tables(), hypers(), st.integers(1, 2))
def test_zero_is_the_plain_model_bit_by_bit(
    draws: st.DataObject, data: Data, hyper: Hyper, order: int
) -> None:
    fitted = model(hyper, interactions=order)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = draws.draw(questions(data))
    theta = [dict.fromkeys(data.kinds, 0.0) for _ in asked]
    assert_same_bits(fitted, asked, zeros_like(fitted), theta)
    assert_same_bits(fitted, asked, {i: {} for i in fitted.classes_.tolist()}, theta)


@MODEST
@given(st.data(), tables(complete=True), hypers())
def test_zero_theta_of_tuples_is_none(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    fitted = model(hyper, dimensions="each")
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = draws.draw(questions(data))
    assert_same_bits(fitted, asked, None, [dict.fromkeys(data.kinds, 0.0) for _ in asked])


@MODEST
@given(st.data(), matrices(), hypers())
def test_zero_of_counts_and_words_is_none(draws: st.DataObject, drawn: Any, hyper: Hyper) -> None:
    learnt, asked, y, weights = drawn
    fitted = model(hyper).fit(sparse.csr_array(learnt), y, sample_weight=weights)
    for theta in (np.zeros_like(asked), sparse.csr_array(asked.shape)):
        assert_same_bits(fitted, sparse.csr_array(asked), zeros_like(fitted), theta)
    texts = [" ".join(f"w{j}" for j in np.flatnonzero(row)) for row in learnt]
    fitted = model(hyper, ngrams=2).fit(texts, y, sample_weight=weights)
    theta = [{"w0": 0.0, "never learnt": 3.0} for _ in texts]
    assert_same_bits(fitted, texts, zeros_like(fitted), theta)


@MODEST
@given(st.data(), tables(values=FEW), hypers())
def test_turning_a_whole_class_or_item_changes_nothing(
    draws: st.DataObject, data: Data, hyper: Hyper
) -> None:
    truth = data.truth()
    phi = some_phases(draws.draw, truth)
    by_class = {i: draws.draw(ANGLES) for i in truth.classes}
    rotated = {(j, i): angle + by_class[i] for (j, i), angle in phi.items()}
    fitted = model(hyper, phases=as_mapping(rotated))
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    asked = data.records
    theta = [dict.fromkeys(data.kinds, draws.draw(ANGLES)) for _ in asked]
    items = [(own, {}) for own in data.bags(asked)]
    assert_interferes(fitted, asked, theta, items, Interference(truth, hyper, phi))


def test_what_cancels_altogether_is_left_to_the_frequencies() -> None:
    """Rounding is no score: neither a probability nor an answer of a policy comes of it."""
    against = {i: {"x0": {"u": math.pi}} for i in "AB"}
    fitted = model(PLAIN, phases=against).fit([["u", "v"]] * 3, ["A", "A", "B"])
    expected = [[2 / 3, 1 / 3], [1 / 2, 1 / 2]]
    asked = [["u", "v"], ["u", "new"]]
    np.testing.assert_allclose(fitted.predict_proba(asked), expected, rtol=0, atol=1e-12)
    assert fitted.predict(asked[:1]).tolist() == ["A"]
    explained = fitted.explain(asked)
    assert explained.table["item"].to_list() == [1]
    assert "the class frequencies decide" in explained.sentences()[0]
    # Half a turn less of one of them, and it has a score again.
    expected = [[0, 1], [1 / 2, 1 / 2]]
    del against["B"]
    np.testing.assert_allclose(fitted.predict_proba(asked), expected, rtol=0, atol=1e-12)
    # So little is left of both that six digits are, but it is left.
    against.update({i: {"x0": {"u": math.pi - left}} for i, left in (("A", 1e-10), ("B", 3e-10))})
    np.testing.assert_allclose(fitted.predict_proba(asked[:1]), [[0.1, 0.9]], rtol=0, atol=1e-5)


# --- explanations ---------------------------------------------------------------------------------


@MODEST
@given(st.data(), tables(values=FEW), hypers(), st.integers(1, 2))
def test_contributions_rebuild_score_and_probability(
    draws: st.DataObject, data: Data, hyper: Hyper, order: int
) -> None:
    bags = [with_conjunctions(own, order) for own in data.bags(data.records)]
    truth = learn(bags, soft(data.y), data.weights)
    phi = some_phases(draws.draw, truth)
    fitted = model(hyper, phases=as_mapping(phi), interactions=order)
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    theta = some_cells(draws.draw, data.records, list(data.kinds))
    explained = fitted.explain(data.records, theta=theta)
    np.testing.assert_array_equal(explained.labels, fitted.predict(data.records, theta=theta))
    proba = fitted.predict_proba(data.records, theta=theta)
    np.testing.assert_array_equal(explained.probabilities, proba.max(axis=1))
    exact = Interference(truth, hyper, phi)
    for n, item in enumerate(bags):
        rows = explained.table.filter(pl.col("item") == n)
        if exact.decided(item, turned(item, theta[n])):
            assert_rebuilt(rows, explained.labels[n], exact, item, turned(item, theta[n]))


def assert_rebuilt(
    rows: pl.DataFrame, label: Any, exact: Interference, item: Bag, theta: Angles
) -> None:
    """Moduli, angles and shares are the oracle's; their sum is the score, to 1e-12 of its parts."""
    own = {name_of(j): w for (j, i), w in exact.addends(item, theta).items() if i == label}
    own = {name: complex(*map(float, w)) for name, w in own.items() if any(w)}
    score, size = abs(sum(own.values())), sum(map(abs, own.values()))
    if score < 1e-6 * size:  # so near to nothing that the direction of the sum is rounding
        return
    tolerance = float(exact.error()) + 1e-12
    direction = sum(own.values()) / score
    assert set(rows["feature"]) == set(own)
    waves = rows["contribution"].to_numpy() * np.exp(1j * rows["phase"].to_numpy())
    for name, wave in zip(rows["feature"], waves, strict=True):
        expected = own[name] / direction
        assert abs(wave - expected) <= tolerance * (size + abs(expected) * size / score)
    assert abs(waves.sum() - score) <= tolerance * size * size / score
    assert ((rows["phase"] > -math.pi) & (rows["phase"] <= math.pi)).all()
    share = rows["share"].to_numpy()
    np.testing.assert_allclose(share, waves.real / score, atol=tolerance * (size / score) ** 2)
    assert share.sum() == pytest.approx(1, abs=tolerance * size / score)
    strengths = rows["contribution"].to_list()
    assert strengths == sorted(strengths, reverse=True)


def test_a_probability_is_rebuilt_from_the_contributions() -> None:
    phases = {"A": {"x0": {"u": 2.0}, "x1": {"v": -0.5}}, "B": {"x2": {"w": 1.0}}}
    X = [["u", "v", "w"], ["u", "v", "z"], ["t", "v", "w"]]
    fitted = model(Hyper(0.5, 1, 0), phases=phases).fit(X, ["A", "B", "B"])
    theta = [[0.3, -1.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    explained = fitted.explain(X, theta=theta)
    logs = fitted.predict_log_proba(X, theta=theta)
    for n in range(3):
        rows = explained.table.filter(pl.col("item") == n)
        score = (rows["contribution"] * rows["phase"].cos()).sum()
        assert (rows["contribution"] * rows["phase"].sin()).sum() == pytest.approx(0, abs=1e-12)
        assert rows["share"].sum() == pytest.approx(1, abs=1e-12)
        # The odds of the other class tell its score.
        best = int(np.argmax(logs[n]))
        other = score * math.exp(0.5 * (logs[n, 1 - best] - logs[n, best]))
        rebuilt = score**2 / (score**2 + other**2)
        assert explained.probabilities[n] == pytest.approx(rebuilt, abs=1e-12)


def test_what_works_against_the_class_is_named_and_below_zero() -> None:
    X = [dict.fromkeys("abcdef", 1)]
    phases = {"x": {"a": {"1": math.pi}, "d": {"1": 2.5}}}
    fitted = model(Hyper(0.5, 1, 0), phases=phases).fit(X, ["x"])
    explained = fitted.explain(X)
    by_name = dict(explained.table.select("feature", "share").iter_rows())
    assert by_name["a=1"] < by_name["d=1"] < 0
    assert sum(by_name.values()) == pytest.approx(1, abs=1e-12)
    (sentence,) = explained.sentences()
    because, despite = sentence.split("; despite ")
    assert "a=1" not in because
    assert "d=1" not in because
    assert despite.startswith("a=1 (-")
    assert "despite" not in str(fitted.set_params(phases={}).explain(X))


def test_opposite_is_pi_and_not_minus_pi() -> None:
    X = [{"a": 1, "b": 1, "c": 1}]
    fitted = model(Hyper(0.5, 1, 0), phases={"x": {"a": {"1": math.pi}}}).fit(X, ["x"])
    phase = dict(fitted.explain(X).table.select("feature", "phase").iter_rows())
    assert phase == pytest.approx({"a=1": math.pi, "b=1": 0.0, "c=1": 0.0}, abs=1e-12)


# --- far from 1 -----------------------------------------------------------------------------------

FAR = [Hyper(0.5, 1, 3000), Hyper(0.5, 5000, 0), Hyper(30, 60, 30), Hyper(0.01, 1, 4)]


def far_away(weighted: bool) -> tuple[list[Any], list[str]]:
    """Items beside one whose values nobody else has, so that they weigh most."""
    dice = np.random.default_rng(7)
    records: list[Any] = [{a: f"{a}{dice.integers(0, 2)}" for a in "abc"} for _ in range(11)]
    records.append({"a": "rare", "b": "rare", "c": "c0"})
    if weighted:
        records = [{a: {v: 2.0, "x": 1.0} for a, v in own.items()} for own in records]
    return records, list("ABBCCCCCCCCA")


@pytest.mark.parametrize("hyper", FAR)
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_beyond_the_range_of_a_double(hyper: Hyper, weighted: bool) -> None:
    records, y = far_away(weighted)
    bags = [bag(own, "abc", "ignore") for own in records]
    truth = learn(bags, soft(y))
    dice = np.random.default_rng(8)
    phi = {entry: dice.uniform(-3, 3) for entry in truth.corpus}
    fitted = model(hyper, phases=as_mapping(phi)).fit(records, y)
    cells = [dict(zip("abc", own, strict=True)) for own in dice.uniform(-3, 3, (12, 3)).tolist()]
    items = [(b, turned(b, own)) for b, own in zip(bags, cells, strict=True)]
    exact = Interference(truth, hyper, phi)
    assert_interferes(fitted, records, cells, items, exact)
    assert_interferes(fitted, records[:5], None, [(own, {}) for own in bags[:5]], exact)
    shares = fitted.explain(records, theta=cells).table.group_by("item").agg(pl.col("share").sum())
    np.testing.assert_allclose(shares["share"], 1, rtol=0, atol=1e-9)
    fitted.set_params(phases={})
    plain = Interference(truth, hyper, {})
    assert_interferes(fitted, records[5:10], cells[5:10], items[5:10], plain)


def test_far_enough_to_need_logarithms() -> None:
    """The settings above do leave items whose every weight vanishes beside the largest."""
    records, y = far_away(weighted=False)
    bags = [bag(own, "abc", "ignore") for own in records]
    truth = learn(bags, soft(y))
    far = 0
    for hyper in FAR:
        largest = max(truth.weights(hyper).values())
        scores = [max(truth.scores(own, hyper).values()) for own in bags]
        far += sum(0 < own / largest < Decimal("1e-600") for own in scores)
    assert far >= 8


def test_shares_beyond_the_range_of_a_double() -> None:
    X = [{"a": "u", "b": "v"}, {"a": "u", "b": "w"}, {"a": "t", "b": "v"}]
    phases = {"A": {"a": {"u": 1.0}}, "B": {"b": {"v": 2.0}}}
    fitted = model(Hyper(2, 1, 0), phases=phases).fit(X, ["A", "B", "B"])
    theta = [{"a": 0.7, "b": -0.4, "c": 3.0}]
    tiny = {"a": {"u": 1e-170}, "b": {"v": 1e-170}, "c": {"never learnt": 1.0}}
    expected = fitted.predict_proba([{"a": "u", "b": "v"}], theta=theta)
    np.testing.assert_allclose(fitted.predict_proba([tiny], theta=theta), expected, atol=1e-12)


# --- items judged by weights that do not hold them ------------------------------------------------


def ours(hyper: Hyper) -> Settings:
    return Settings(hyper.power, hyper.balance, hyper.entropy)


def cross_fit(
    fitted: SparseTensorClassifier, X: Any, y: Any, weights: Any, fold: Sequence[int]
) -> CrossFit:
    """Items laid out for the first set of the model's policy."""
    learnt = fitted._learnt.model
    batch = fitted._intake().batch(X, y, weights, learnt)
    parts = batch.observed, batch.target.column, batch.sample_weight
    return CrossFit.of(learnt, learnt.policy[0], *parts, np.asarray(fold))


def entries_of(fitted: SparseTensorClassifier) -> list[tuple[Any, Any]]:
    """The feature and the class of each entry, as the oracle names them."""
    learnt = fitted._learnt.model
    subset = learnt.policy[0]
    mass = learnt.corpora[subset].mass
    rows = np.repeat(np.arange(mass.shape[0]), np.diff(mass.indptr))
    features = learnt.features(subset, rows)
    labels = learnt.classes[mass.indices].tolist()
    single = len(subset) == 1
    return [(j[0] if single else j, i) for j, i in zip(features, labels, strict=True)]


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
    found = cross.probabilities([ours(hyper) for hyper in several])
    assert len(found) == len(several)
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
    learnt = fitted._learnt.model
    batch = fitted._intake().batch(data.records, data.y, data.weights, learnt)
    weights = cross.weights(ours(hyper))
    for number in range(fold.max() + 1):
        own = fold == number
        parts = batch.observed.select(own), batch.target.column.select(own)
        left = learnt.without(*parts, batch.sample_weight[own]) if own.any() else learnt
        mass = left.corpora[learnt.policy[0]].mass
        expected = mass.toarray()[places(cross.mass)]
        np.testing.assert_allclose(cross.corpora[number], expected, rtol=1e-9, atol=1e-12)
        assert ((cross.corpora[number] > 0) == (expected > 0)).all()
        log_W = log_weights(mass, hyper.power, hyper.balance, hyper.entropy)
        W = with_data(log_W, np.exp(log_W.data)).toarray()[places(cross.mass)]
        np.testing.assert_allclose(proportional(weights[number], W), W, rtol=1e-6)


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_items_with_missing_values_are_left_out_in_full(missing: str) -> None:
    dice = np.random.default_rng(9)
    X = np.where(dice.random((30, 4)) < 0.4, None, dice.integers(0, 2, (30, 4)).astype(str))
    y, fold = dice.integers(0, 3, 30), np.arange(30) % 3
    several = [Hyper(), Hyper(1, 0, 0), Hyper(0.3, 0.5, 2)]
    fitted = model(missing=missing).fit(X, y)
    found = cross_fit(fitted, X, y, None, fold).probabilities([ours(own) for own in several])
    for hyper, proba in zip(several, found, strict=True):
        for number in range(3):
            other = model(hyper, missing=missing).fit(X[fold != number], y[fold != number])
            expected = other.predict_proba(X[fold == number])
            np.testing.assert_allclose(proba[fold == number], expected, rtol=0, atol=1e-10)


def places(table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each entry."""
    return np.repeat(np.arange(table.shape[0]), np.diff(table.indptr)), table.indices


def proportional(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """What was found, times the one factor that it may be off by."""
    best = int(np.argmax(expected)) if len(expected) else 0
    return found * (expected[best] / found[best]) if found.any() else found


def test_items_that_were_not_learnt_leave_the_corpus_as_it_is() -> None:
    X, y = [["u", "v"], ["u", "w"], ["t", "v"]], ["A", "B", "B"]
    fitted = model().fit(X, y)
    mass = fitted._learnt.model.corpora[0,].mass.data
    others = [["u", "v"]] * 4 + [["t", "new"]] * 2
    cross = cross_fit(fitted, others, ["A", "A", "A", "A", "B", "B"], None, [0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(cross.corpora, [mass, mass])
    expected = fitted.predict_proba(others)
    np.testing.assert_allclose(cross.probabilities([ours(Hyper())])[0], expected, atol=1e-12)


@pytest.mark.parametrize("most", [1, 2, 5, 17, 60, 10**6])
def test_parts_hold_every_item_once(most: int) -> None:
    X, y = equal_or_not(40, 3)
    cross = cross_fit(model().fit(X, y), X, y, None, np.arange(40) % 4)
    parts = cross.parts(most)
    assert sorted(np.concatenate(parts).tolist()) == list(range(40))
    assert all(len(part) for part in parts)
    assert len(parts) == 1 if most == 10**6 else len(parts) > 1
    sizes = [cross.sizes[part].sum() for part in parts]
    assert max(sizes) <= 2 * max(most, cross.sizes.max())


# --- the gradient ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hill:
    """Items whose loss is known, and the loss as the oracle has it."""

    cross: CrossFit
    hyper: Hyper
    amplitudes: list[list[dict[int, float]]]
    truth: list[list[float]]
    weight: list[float]

    @property
    def waves(self) -> Waves:
        return self.cross.waves(ours(self.hyper))

    def loss(self, angles: Sequence[float], sharpness: float) -> Loss:
        parts = self.amplitudes, self.truth, self.weight
        return cross_entropy(*parts, angles, sharpness, self.hyper.power)


def hill(hyper: Hyper, weighted: bool, folds: int = 3, options: Any = None) -> Hill:
    """Random items, each with the weights of an oracle that has not learnt its fold."""
    dice = np.random.default_rng(11)
    X: list[Any] = [{a: str(dice.integers(0, 2)) for a in "abc"} for _ in range(30)]
    y: list[Any] = [{"A": 1.0} if dice.random() < 0.5 else {"B": 1.0} for _ in X]
    s: list[float] = [1.0] * len(X)
    if weighted:
        X = [{a: {v: 3.0, "x": 1.0 + n % 2} for a, v in own.items()} for n, own in enumerate(X)]
        y = [{**own, "C": 0.25 + n % 3, "A": 0.5} for n, own in enumerate(y)]
        s = [float(own) for own in dice.choice([0.5, 1.0, 2.0], len(X))]
    fold = [n % folds for n in range(len(X))]
    fitted = model(hyper, **(options or {})).fit(X, y, sample_weight=s)
    bags = [with_conjunctions(bag(own, "abc", "ignore"), fitted.interactions) for own in X]
    oracles = []
    for number in range(folds):
        rest = [k for k in range(len(X)) if fold[k] != number]
        oracles.append(learn([bags[k] for k in rest], [y[k] for k in rest], [s[k] for k in rest]))
    known = [oracles[fold[n]].contributions(item, hyper) for n, item in enumerate(bags)]
    shares = [[own.get(i, 0.0) / sum(own.values()) for i in fitted.classes_] for own in y]
    amplitudes = [by_class(fitted, own) for own in known]
    return Hill(cross_fit(fitted, X, y, s, fold), hyper, amplitudes, shares, s)


def by_class(fitted: SparseTensorClassifier, known: Any) -> list[dict[int, float]]:
    """Contributions as {number of the entry: amplitude} for each class."""
    numbers = {entry: e for e, entry in enumerate(entries_of(fitted))}
    found: dict[Any, dict[int, float]] = {i: {} for i in fitted.classes_.tolist()}
    for (j, i), w in known.items():
        found[i][numbers[j, i]] = float(w)
    return list(found.values())


HILLS = [
    (Hyper(0.5, 1, 0), False, {}),
    (Hyper(1, 0, 1), True, {}),
    (Hyper(0.3, 0.5, 0.5), True, {"interactions": 2}),
    (Hyper(2, 1, 0), False, {"interactions": 2}),
]


@pytest.mark.parametrize(("hyper", "weighted", "options"), HILLS)
def test_the_gradient_is_the_oracles(hyper: Hyper, weighted: bool, options: Any) -> None:
    known = hill(hyper, weighted, options=options)
    dice = np.random.default_rng(1)
    for spread, sharpness in ((0.1, 1.0), (2.0, 0.6), (2.0, 2.5)):
        angles = dice.normal(0, spread, known.cross.mass.nnz)
        exact = known.loss(angles.tolist(), sharpness)
        slope = known.waves.slope(angles, sharpness)
        assert slope.loss == pytest.approx(exact.value, rel=1e-5)
        # Amplitudes are single precision: seven digits, less what cancels.
        np.testing.assert_allclose(slope.angles, exact.angles, rtol=1e-3, atol=2e-6)
        assert slope.sharpness == pytest.approx(exact.sharpness, rel=1e-4, abs=1e-5)
        assert np.exp(slope.log_probabilities).sum() == pytest.approx(len(known.weight), rel=1e-12)


def test_the_oracles_gradient_is_that_of_small_differences() -> None:
    known = hill(Hyper(0.5, 1, 0.5), weighted=True)
    angles = np.random.default_rng(2).normal(0, 1, known.cross.mass.nnz)
    exact, step = known.loss(angles.tolist(), 1.3), 1e-5
    for e in range(0, len(angles), 3):
        aside = np.where(np.arange(len(angles)) == e, step, 0.0)
        ends = [known.loss((angles + sign * aside).tolist(), 1.3).value for sign in (1, -1)]
        assert exact.angles[e] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-9)
    ends = [known.loss(angles.tolist(), 1.3 + sign * step).value for sign in (1, -1)]
    assert exact.sharpness == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("penalty_of", [0.0, 0.02])
def test_the_gradient_is_that_of_small_differences(penalty_of: float) -> None:
    """Of the penalised loss, along many directions; single precision allows no small step."""
    known = hill(Hyper(0.5, 1, 0), weighted=False)
    waves, dice = known.waves, np.random.default_rng(3)
    descent = Descent(waves, penalty_of)
    angles, sharpness = dice.normal(0, 1, known.cross.mass.nnz), 1.2
    gradient = descent.penalised(waves, Point(angles, sharpness))[1]
    for _ in range(10):
        aside = dice.normal(0, 1, len(angles) + 1)
        step = 2e-3
        ends = [
            descent.penalised(
                waves,
                Point(angles + sign * step * aside[:-1], sharpness + sign * step * aside[-1]),
            )[0]
            for sign in (1, -1)
        ]
        assert gradient @ aside == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=5e-4)


@pytest.mark.parametrize("strength", [0.0, 0.003, 0.5])
def test_the_penalty_is_on_what_is_turned(strength: float) -> None:
    known = hill(Hyper(0.5, 1, 0), weighted=True)
    angles = np.random.default_rng(4).normal(0, 1, known.cross.mass.nnz)
    waves = known.waves
    loss, gradient, log_P = Descent(waves, strength).penalised(waves, Point(angles, 0.7))
    plain, bent = known.loss(angles.tolist(), 0.7), penalty(angles.tolist(), 0.7, strength)
    assert loss == pytest.approx(plain.value + bent.value, rel=1e-5)
    expected = np.append(np.add(plain.angles, bent.angles), plain.sharpness + bent.sharpness)
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(log_P, waves.slope(angles, 0.7).log_probabilities)


def test_parts_add_up_to_the_whole() -> None:
    known = hill(Hyper(0.5, 1, 0), weighted=True)
    angles = np.random.default_rng(5).normal(0, 1, known.cross.mass.nnz)
    whole = known.waves.slope(angles, 1.1)
    parts = [known.cross.waves(ours(known.hyper), part) for part in known.cross.parts(50)]
    assert len(parts) > 1
    shares = np.array([part.weight.sum() for part in parts]) / sum(known.weight)
    slopes = [part.slope(angles, 1.1) for part in parts]
    losses = [own.loss for own in slopes]
    assert shares @ losses == pytest.approx(whole.loss, rel=1e-5)
    gradients = np.array([own.angles for own in slopes])
    np.testing.assert_allclose(shares @ gradients, whole.angles, atol=2e-6)


def test_items_left_out_count_for_nothing() -> None:
    known = hill(Hyper(0.5, 1, 0), weighted=True)
    angles = np.random.default_rng(6).normal(0, 1, known.cross.mass.nnz)
    left_out = np.arange(len(known.weight)) % 4 == 0
    weight = np.where(left_out, 0.0, known.weight).tolist()
    exact = replace(known, weight=weight).loss(angles.tolist(), 0.9)
    slope = known.waves.without(left_out).slope(angles, 0.9)
    assert slope.loss == pytest.approx(exact.value, rel=1e-5)
    np.testing.assert_allclose(slope.angles, exact.angles, rtol=1e-3, atol=2e-6)


def test_an_item_whose_class_has_no_score_whatever_the_phases_does_not_count() -> None:
    X, y = [["u"], ["u"], ["v"], ["u"]], ["A", "A", "B", "B"]
    cross = cross_fit(model(Hyper(0.5, 1, 0)).fit(X, y), X, y, None, [0, 1, 2, 3])
    waves = cross.waves(ours(Hyper(0.5, 1, 0)))
    # Without itself nobody else of class B has v, and nobody else of class B has u.
    assert waves.weight.tolist() == [1.0, 1.0, 0.0, 0.0]
    slope = waves.slope(np.zeros(cross.mass.nnz), 1.0)
    judged = waves.judgement(slope.log_probabilities)
    assert slope.loss == pytest.approx(-math.log(judged_share(X, y)), rel=1e-5)
    assert judged.loss == pytest.approx(slope.loss, rel=1e-6)
    assert judged.accuracy == 1.0


def judged_share(X: Any, y: Any) -> float:
    """The probability of A for u where one u of A is left out: B_uA = 1, B_uB = 1/2."""
    fitted = model(Hyper(0.5, 1, 0)).fit(X[1:], y[1:])
    return float(fitted.predict_proba([["u"]])[0, 0])


# --- learning -------------------------------------------------------------------------------------

QUICK = PhaseLearner(penalties=(1.0,), max_iter=5, folds=3, validation=1)


def phases_of(fitted: SparseTensorClassifier) -> dict[Any, float]:
    """The angle of each entry of each set: {(dimensions, feature, class): radians}."""
    learnt = fitted._learnt.model
    found = {}
    for subset, phases in learnt.phases.items():
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


def sharpness_of(fitted: SparseTensorClassifier) -> list[float]:
    return [phases.sharpness for phases in fitted._learnt.model.phases.values()]


def either_or(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Exclusive or of two of four coins."""
    X = np.random.default_rng(seed).integers(0, 2, (size, 4)).astype(str)
    return X, np.where(X[:, 1] != X[:, 3], "odd", "even")


@pytest.fixture(scope="module")
def twins() -> SparseTensorClassifier:
    """A model that has learnt by phases what is equal."""
    return model(PLAIN, phases="learn").fit(*equal_or_not(200, 3))


def copied(fitted: SparseTensorClassifier) -> SparseTensorClassifier:
    return pickle.loads(pickle.dumps(fitted))


def test_phases_learn_what_counting_cannot(twins: SparseTensorClassifier) -> None:
    X, y = equal_or_not(300, 3, seed=1)
    assert twins.score(X, y) >= 0.99
    assert copied(twins).set_params(phases={}).score(X, y) <= 0.75
    odd = model(PLAIN, phases="learn").fit(*either_or(200, 0))
    X, y = either_or(300, 1)
    assert odd.score(X, y) >= 0.95
    assert odd.set_params(phases={}).score(X, y) <= 0.75


def test_mini_batches_learn_it_too() -> None:
    X, y = equal_or_not(400, 3)
    learner = PhaseLearner(penalties=(0.25,), max_amplitudes=600)
    fitted = model(PLAIN, phases=learner).fit(X, y)
    assert len(cross_fit(fitted, X, y, None, np.arange(400) % 10).parts(600)) > 2
    assert fitted.score(*equal_or_not(300, 3, seed=1)) >= 0.95
    again = model(PLAIN, phases=learner).fit(X, y)
    assert phases_of(again) == phases_of(fitted)


def noise(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values that tell nothing of the class, of which one is rare: a mistake costs much."""
    dice = np.random.default_rng(seed)
    X = dice.integers(0, 5, (size, 6)).astype(str)
    return X, (dice.random(size) < 0.25).astype(int)


def doubted(size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Values each of which tells a little of the class, and is right seven times in ten."""
    dice = np.random.default_rng(seed)
    y = dice.integers(0, 2, size)
    X = np.where(dice.random((size, 6)) < 0.7, y[:, None], dice.integers(0, 6, (size, 6)))
    return X.astype(str), y


@pytest.mark.parametrize("make", [noise, doubted])
@pytest.mark.parametrize("seed", [0, 1])
def test_learning_is_never_worse_than_noise(make: Any, seed: int) -> None:
    fitted = model(Hyper(0.5, 0, 0), phases="learn").fit(*make(150, seed))
    X, y = make(4000, 99)
    proba, right = fitted.predict_proba(X), fitted.predict(X) == y
    fitted.set_params(phases={})
    plain, right_plain = fitted.predict_proba(X), fitted.predict(X) == y
    # Of 4000 items; the differences are paired.
    gained = right.astype(float) - right_plain
    assert gained.mean() >= -0.02 - 2 * gained.std() / len(y) ** 0.5
    loss, loss_plain = (-np.log(own[np.arange(len(y)), y]).mean() for own in (proba, plain))
    assert loss <= loss_plain + 0.02


def test_phases_that_cost_accuracy_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Waves.judgement

    def harsh(waves: Waves, log_P: np.ndarray) -> Judgement:
        """Nothing but the plain model is ever right, whatever its sharpness."""
        plain = waves.logarithms(np.zeros(waves.amplitudes.shape[1]))
        turned_to = [np.argsort(own, axis=0, kind="stable").tolist() for own in (log_P, plain)]
        found = judged(waves, log_P)
        return found if turned_to[0] == turned_to[1] else found._replace(accuracy=0.0)

    X, y = equal_or_not(60, 3)
    learner = PhaseLearner((1.0, 0.25))
    assert any(phases_of(model(PLAIN, phases=learner).fit(X, y)).values())
    monkeypatch.setattr(Waves, "judgement", harsh)
    fitted = model(PLAIN, phases=learner).fit(X, y)
    assert not any(phases_of(fitted).values())
    assert fitted.phase_history_["fold"].null_count() == 0


def test_held_out_items_are_not_learnt_from() -> None:
    """Another label of one item is another loss in every descent but the one it is held out of."""
    fitted = model(PLAIN).fit(
        [[a, b] for a in "012" for b in "012"], [True, *[False] * 3] * 2 + [True]
    )
    X, y = equal_or_not(90, 3)
    labels = [{True: 0.9, False: 0.1} if own else {True: 0.1, False: 0.9} for own in y]
    learner = PhaseLearner(penalties=(1.0,), max_iter=3, folds=3, validation=3)

    def first_steps(given_labels: Any) -> pl.DataFrame:
        history = fitted.learn_phases(X, given_labels, learner=learner).phase_history_
        first = (pl.col("iteration") == 1) & pl.col("fold").is_not_null()
        return history.filter(first).sort("fold")

    before = first_steps(labels)
    assert before["fold"].to_list() == [0, 1, 2]
    for n in range(4):
        other = {i: 0.6 if share > 0.5 else 0.4 for i, share in labels[n].items()}
        after = first_steps([*labels[:n], other, *labels[n + 1 :]])
        same = (after["loss"] == before["loss"]).to_list()
        assert sum(same) == 1
        held_out = same.index(True)
        assert after["held_out_loss"][held_out] != before["held_out_loss"][held_out]


ONLY_SHARPER = [{"penalties": ()}, {"time_limit": 1e-9}]


@pytest.mark.parametrize("options", ONLY_SHARPER)
def test_without_phases_worth_having_only_the_sharpness_is_learnt(options: Any) -> None:
    X, y = doubted(150, 3)
    fitted = model(phases=PhaseLearner(**options)).fit(X, y)
    assert not any(phases_of(fitted).values())
    (sharpness,) = sharpness_of(fitted)
    assert sharpness != 1.0
    asked, truth = doubted(500, 4)
    logs, labels = fitted.predict_log_proba(asked), fitted.predict(asked)
    table = fitted.explain(asked[:20]).table
    fitted.set_params(phases={})
    plain = fitted.predict_log_proba(asked)
    np.testing.assert_array_equal(labels, fitted.predict(asked))
    assert table.equals(fitted.explain(asked[:20]).table)
    odds, plain_odds = logs[:, 1] - logs[:, 0], plain[:, 1] - plain[:, 0]
    np.testing.assert_allclose(odds, sharpness * plain_odds, rtol=1e-9, atol=1e-9)
    every = np.arange(len(truth))
    assert -logs[every, truth].mean() < -plain[every, truth].mean()


def test_learning_is_reproducible_and_starts_at_random(twins: SparseTensorClassifier) -> None:
    X, y = equal_or_not(200, 3)
    again = model(PLAIN, phases=PhaseLearner()).fit(X, y)
    assert phases_of(again) == phases_of(twins)
    assert sharpness_of(again) == sharpness_of(twins)
    assert again.phase_history_.equals(twins.phase_history_)
    other = model(PLAIN, phases=PhaseLearner((0.25,), random_state=1)).fit(X, y)
    same = model(PLAIN, phases=PhaseLearner((0.25,))).fit(X, y)
    assert phases_of(other) != phases_of(same)
    assert other.score(X, y) >= 0.99


def test_of_all_descents_with_all_items_the_deepest_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, found = Descent.run, []

    def watched(descent: Descent, *arguments: Any, **options: Any) -> Point:
        point = run(descent, *arguments, **options)
        depth = descent.penalised(descent.waves, point)[0]
        found.append((-descent.waves.weight.sum(), depth, point.angles.tolist(), point.sharpness))
        return point

    monkeypatch.setattr(Descent, "run", watched)
    fitted = model(PLAIN, phases="learn").fit(*equal_or_not(60, 3))
    *_, angles, sharpness = min(found)
    assert list(phases_of(fitted).values()) == angles
    assert sharpness_of(fitted) == [sharpness]


def test_the_optimizer_is_told_the_slope_of_what_it_minimizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In whatever units it counts, which differ where some values are rare."""
    dice, minimize, checked = np.random.default_rng(6), optimize.minimize, []

    def checking(function: Any, x: np.ndarray, *arguments: Any, **options: Any) -> Any:
        x = x + dice.normal(0, 0.3, len(x))
        gradient = function(x)[1]
        for _ in range(5):
            aside = 2e-3 * dice.normal(0, 1, len(x))
            rise = (function(x + aside)[0] - function(x - aside)[0]) / 2
            checked.append((float(gradient @ aside), rise))
        return minimize(function, x, *arguments, **options)

    monkeypatch.setattr(optimize, "minimize", checking)
    X, y = equal_or_not(120, 3)
    X[:90] = "0"
    y = X[:, 0] == X[:, 1]
    y[::7] ^= True
    model(PLAIN, phases=QUICK).fit(X, y)
    told, true = np.array(checked).T
    assert len(told) >= 5
    assert abs(true).max() > 1e-4
    np.testing.assert_allclose(told, true, rtol=0, atol=2e-6)


def test_the_global_generator_is_left_alone() -> None:
    X, y = equal_or_not(40, 3)
    before = np.random.get_state()[1].tolist()
    model(PLAIN, phases=QUICK).fit(X, y)
    assert np.random.get_state()[1].tolist() == before


TARGETS = [
    lambda y: y,
    lambda y: [{"same": 0.8, "other": 0.2} if own else {"other": 1.0} for own in y],
    lambda y: [[own, n % 2] for n, own in enumerate(y.tolist())],
]


@pytest.mark.parametrize("make", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_learning_in_fit_is_learning_after_it(make: Any, weighted: bool) -> None:
    X, y = equal_or_not(60, 3)
    weights = np.arange(60) % 3 if weighted else None
    fitted = model(PLAIN, phases=QUICK).fit(X, make(y), sample_weight=weights)
    later = model(PLAIN).fit(X, make(y), sample_weight=weights)
    plain = copied(later).predict_joint(X)
    assert later.learn_phases(X, make(y), weights, learner=QUICK) is later
    assert phases_of(fitted) == phases_of(later) != {}
    assert sharpness_of(fitted) == sharpness_of(later)
    assert fitted.phase_history_.equals(later.phase_history_)
    assert fitted.predict_joint(X).equals(later.predict_joint(X))
    assert not later.predict_joint(X).equals(plain)
    assert fitted.corpus_.equals(later.corpus_)


def test_phases_come_from_what_the_parameter_says() -> None:
    X, y = equal_or_not(60, 3)
    fitted = model(PLAIN, phases=QUICK).fit(X, y)
    later = model(PLAIN).fit(X, y).set_params(phases=QUICK).learn_phases(X, y)
    assert phases_of(later) == phases_of(fitted)
    # Learning again starts anew, and does not depend on what was learnt before.
    assert phases_of(later.learn_phases(X, y)) == phases_of(fitted)


HISTORY = {
    "penalty": pl.Float64,
    "fold": pl.Int64,
    "iteration": pl.Int64,
    "loss": pl.Float64,
    "held_out_loss": pl.Float64,
    "held_out_accuracy": pl.Float64,
}


def test_the_history_says_what_was_tried(twins: SparseTensorClassifier) -> None:
    history = twins.phase_history_
    assert dict(history.schema).items() >= HISTORY.items()
    held, final = (
        history.filter(pl.col("fold").is_not_null()),
        history.filter(pl.col("fold").is_null()),
    )
    assert held.height > 0
    assert final.height > 0
    assert set(history["penalty"]) <= set(PhaseLearner().penalties)
    assert final["penalty"].n_unique() == 1
    assert final["penalty"][0] in held["penalty"]
    assert held["fold"].n_unique() == PhaseLearner().validation
    assert not any(held.null_count().row(0))
    assert final["held_out_loss"].null_count() == final.height
    assert held["held_out_accuracy"].is_between(0, 1).all()
    assert history["loss"].is_finite().all()
    run = (pl.col("iteration") == 1).cum_sum()  # each descent counts from 1
    for _, own in history.group_by("penalty", "fold", run.alias("run"), maintain_order=True):
        assert own["iteration"].to_list() == list(range(1, own.height + 1))
        assert own["loss"][-1] <= own["loss"][0]
    best = held.filter(pl.col("penalty") == final["penalty"][0])
    assert best["held_out_accuracy"].max() > 0.9


def test_there_is_no_history_of_what_was_not_learnt() -> None:
    X, y = equal_or_not(30, 3)
    for fitted in (model().fit(X, y), model(phases={}).fit(X, y), model(phases="learn")):
        assert not hasattr(fitted, "phase_history_")
    # Only fit learns phases, not partial_fit.
    assert not hasattr(model(phases="learn").partial_fit(X, y), "phase_history_")
    fitted = model(PLAIN, phases=QUICK).fit(X, y)
    history = fitted.phase_history_
    assert fitted.partial_fit(X, y).phase_history_.equals(history)
    assert not hasattr(fitted.set_params(phases=None).fit(X, y), "phase_history_")
    assert phases_of(fitted) == {}


def test_a_line_in_the_log_and_no_bar_in_a_pipe(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = equal_or_not(60, 3)
    with caplog.at_level(logging.INFO, logger="stc"):
        model(PLAIN, phases=QUICK).fit(X, y)
    said = [record for record in caplog.records if record.name == "stc"]
    assert len(said) == 1
    assert said[0].levelno == logging.INFO
    assert "phases" in said[0].getMessage()
    assert capsys.readouterr() == ("", "")
    model(PLAIN, phases=clone(QUICK).set_params(progress=False)).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_a_bar_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = equal_or_not(60, 3)
    model(PLAIN, phases=clone(QUICK).set_params(progress=True)).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "phases" in err
    assert "[" in err
    assert err.endswith("\r")  # wiped away


def test_power_and_sharpness_act_together(twins: SparseTensorClassifier) -> None:
    """What was learnt is angles and a sharpness: with them the oracle predicts the same."""
    X, y = equal_or_not(200, 3)
    bags = [{("x0", a): 1, ("x1", b): 1} for a, b in X.tolist()]
    truth = learn(bags, soft(y.tolist()))
    angles = phases_of(twins)
    phi = {(j, i): angles[("all",), name_of(j), i] for j, i in truth.corpus}
    fitted = copied(twins)
    for power in (0.5, 1.0, 0.2):
        fitted.set_params(power=power)
        exact = Interference(truth, Hyper(power, 1, 0), phi, sharpness_of(twins)[0])
        assert_interferes(fitted, X[:10], None, [(own, {}) for own in bags[:10]], exact)


ITEMS = [
    {"a": "u", "b": "v"},
    {"a": "u"},
    {"b": "w"},
    {"a": "t", "b": "v"},
    {},
    {"a": "u", "b": "w"},
]
ODD = {
    "one item": (ITEMS[:1], ["A"], {}),
    "one class": (ITEMS, ["A"] * 6, {}),
    "two items": (ITEMS[:2], ["A", "B"], {}),
    "a class an item": (ITEMS, list("ABCDEF"), {}),
    "nothing but missing": ([{"a": None}, {"a": None}, {}], ["A", "B", "B"], {}),
    "some missing": (ITEMS * 4, list("ABABAB") * 4, {}),
    "missing as a category": (ITEMS * 4, list("ABABAB") * 4, {"missing": "category"}),
    "several targets": (ITEMS * 4, [["A", "1"], ["B", "2"], ["A", "2"]] * 8, {}),
    "soft labels": (ITEMS * 4, [{"A": 0.3, "B": 0.7}, {"A": 1.0}, {"C": 2.0}] * 8, {}),
    "sets of labels": (ITEMS * 4, [{"A", "B"}, {"A"}, {"C", "B"}] * 8, {}),
    "an indicator": (ITEMS * 4, np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0]] * 8), {}),
    "counts": (sparse.csr_array(np.eye(6)[[0, 1, 2, 3] * 5] * 3.0), list("ABBA") * 5, {}),
    "documents": (["to be", "or not", "", "to be or"] * 5, list("ABBA") * 5, {}),
    "pairs of words": (["to be", "or not", "", "to be or"] * 5, list("ABBA") * 5, {"ngrams": 2}),
    "conjunctions": (ITEMS * 4, list("ABABAB") * 4, {"interactions": 2}),
    "each a dimension": (ITEMS * 4, list("ABABAB") * 4, {"dimensions": "each"}),
    "a policy": (
        ITEMS * 4,
        list("ABABAB") * 4,
        {"dimensions": "each", "policy": [["a", "b"], ["a"], ["b"]]},
    ),
    "the class frequencies": (
        ITEMS * 4,
        list("ABABAB") * 4,
        {"dimensions": "each", "policy": [[]]},
    ),
    "a learnt policy": (ITEMS * 4, list("ABABAB") * 4, {"dimensions": "each", "policy": "learn"}),
    "numbers": ([{"n": k / 7} for k in range(24)], list("AABB") * 6, {"continuous": {"n": 3}}),
    "order": (
        [{"n": "SML"[k % 3]} for k in range(24)],
        list("AABB") * 6,
        {"ordinal": {"n": list("SML")}},
    ),
    "large powers": (ITEMS * 4, list("ABABAB") * 4, {"power": 50.0}),
    "small powers": (ITEMS * 4, list("ABABAB") * 4, {"power": 0.001}),
    "much entropy": (ITEMS * 4, list("ABABAB") * 4, {"entropy": 300.0}),
    "much balance": (ITEMS * 4, list("AAABAA") * 4, {"balance": 300.0}),
}


@pytest.mark.parametrize("name", ODD)
def test_phases_of_anything_are_valid(name: str) -> None:
    X, y, options = ODD[name]
    fitted = SparseTensorClassifier(**{"entropy": 0.0, **options}, phases=QUICK).fit(X, y)
    plain = SparseTensorClassifier(**{"entropy": 0.0, **options}).fit(X, y)
    assert fitted.corpus_.equals(plain.corpus_)
    assert dict(fitted.phase_history_.schema).items() >= HISTORY.items()
    assert all(-math.pi <= angle <= math.pi for angle in phases_of(fitted).values())
    assert all(0 < own < math.inf for own in sharpness_of(fitted))
    joint = fitted.predict_joint(X)
    assert joint["probability"].is_between(0, 1).all()
    sums = joint.group_by("item").agg(pl.col("probability").sum())["probability"]
    np.testing.assert_allclose(sums, 1, rtol=0, atol=1e-12)
    predicted, expected = fitted.predict(X), plain.predict(X)
    assert len(predicted) == len(expected)
    assert type(predicted) is type(expected)
    shares = fitted.explain(X).table.group_by("item").agg(pl.col("share").sum())["share"]
    np.testing.assert_allclose(shares, 1, atol=1e-6)
    plain_joint = fitted.set_params(phases={}).predict_joint(X)
    assert plain_joint.equals(plain.predict_joint(X))


def test_phases_of_a_policy_are_of_each_set() -> None:
    X, y = equal_or_not(60, 3)
    records = [{"a": [a, "k"], "b": [b, "k"]} for a, b in X.tolist()]
    options = {"dimensions": "each", "policy": [["a", "b"], ["b"]]}
    fitted = model(PLAIN, phases=QUICK, **options).fit(records, y)
    assert {where for where, _, _ in phases_of(fitted)} == {("a", "b"), ("b",)}
    alone = model(PLAIN, phases=QUICK, dimensions="each", policy=[["b"]]).fit(records, y)
    history = fitted.phase_history_
    assert history.tail(alone.phase_history_.height).equals(alone.phase_history_)
    assert history.height > alone.phase_history_.height
    found = phases_of(fitted)
    assert {entry: found[entry] for entry in phases_of(alone)} == phases_of(alone)


def test_the_threshold_of_labels_is_that_of_the_phases_learnt() -> None:
    """With phases learnt after fitting as with those learnt in it."""
    dice = np.random.default_rng(5)
    X = dice.integers(0, 3, (80, 2)).astype(str)
    y = [{"same"} if a == b else {"other", a} for a, b in X.tolist()]
    learner = PhaseLearner(penalties=(0.25,), folds=5, validation=1)
    fitted = model(PLAIN, phases=learner).fit(X, y)
    later = model(PLAIN).fit(X, y).learn_phases(X, y, learner=learner)
    assert phases_of(fitted) == phases_of(later) != {}
    np.testing.assert_array_equal(later.label_threshold_, fitted.label_threshold_)
    assert later.predict(X) == fitted.predict(X)


# --- phases in the life of a model ----------------------------------------------------------------


def test_phases_survive_learning_more(twins: SparseTensorClassifier) -> None:
    fitted = copied(twins)
    before, sharpness = phases_of(fitted), sharpness_of(fitted)
    X, y = equal_or_not(30, 4, seed=2)  # the value 3 is new
    fitted.partial_fit(X, y)
    after = phases_of(fitted)
    assert {entry: after[entry] for entry in before} == before
    new = {entry: angle for entry, angle in after.items() if entry not in before}
    assert {name for _, name, _ in new} == {"x0=3", "x1=3"}
    assert set(new.values()) == {0.0}
    assert sharpness_of(fitted) == sharpness
    fitted.unlearn(X, y)
    assert phases_of(fitted) == before
    np.testing.assert_allclose(
        fitted.predict_proba(X[:5]), twins.predict_proba(X[:5]), rtol=0, atol=1e-9
    )


def test_phases_survive_new_classes_before_and_between_the_old_ones() -> None:
    X, y = equal_or_not(60, 3)
    fitted = model(PLAIN, phases=QUICK).fit(X, np.where(y, "b", "d"))
    before = phases_of(fitted)
    fitted.partial_fit(X[:3], ["a", "c", "e"], classes=["aa", "b"])
    assert fitted.classes_.tolist() == ["a", "aa", "b", "c", "d", "e"]
    after = phases_of(fitted)
    assert {entry: after[entry] for entry in before} == before
    assert not any(angle for entry, angle in after.items() if entry not in before)


def test_unlearning_keeps_the_phases_that_are_left() -> None:
    X, y = equal_or_not(60, 3)
    rare = [["0", "rare"], ["rare", "1"]]
    records = [*X.tolist(), *rare]
    fitted = model(PLAIN, phases=QUICK).fit(records, [*y, True, False])
    before, sharpness = phases_of(fitted), sharpness_of(fitted)
    fitted.unlearn(rare, [True, False])
    after = phases_of(fitted)
    gone = {name for _, name, _ in before} - {name for _, name, _ in after}
    assert gone == {"x0=rare", "x1=rare"}
    assert after == {entry: angle for entry, angle in before.items() if entry in after}
    assert sharpness_of(fitted) == sharpness
    fitted.unlearn(X, y)
    assert not hasattr(fitted, "classes_")


def turn_all(fitted: SparseTensorClassifier, start: float, sharpness: float) -> dict[Any, float]:
    """Give each entry of each set an angle of its own, as if it had been learnt."""
    learnt = fitted._learnt
    corpora = dict(learnt.model.corpora)
    for subset, corpus in corpora.items():
        if subset:
            angles = start + np.arange(corpus.mass.nnz) / 100
            corpora[subset] = replace(corpus, phases=Phases(angles, sharpness))
    fitted._become(replace(learnt, model=replace(learnt.model, corpora=corpora)))
    return phases_of(fitted)


NORTH = [{"a": "u", "b": "v"}, {"a": "t", "b": "v"}, {"a": "u", "b": "s"}]
SOUTH = [{"b": "v", "a": "u"}, {"b": "new", "a": "t"}]
TENSORS = [{}, {"dimensions": "each", "policy": [["a", "b"], ["b"]]}]


@pytest.mark.parametrize("options", TENSORS)
@pytest.mark.parametrize(("mine", "theirs"), [(1.0, 1.0), (1.0, 5.0)])
def test_merging_takes_the_phases_of_the_heavier(options: Any, mine: float, theirs: float) -> None:
    north = model(**options).fit(NORTH, ["A", "B", "B"], sample_weight=[mine] * 3)
    south = model(**options).fit(SOUTH, ["A", "0"], sample_weight=[theirs] * 2)
    ours_of, theirs_of = turn_all(north, 0.5, 2.0), turn_all(south, -1.5, 3.0)
    assert set(ours_of) & set(theirs_of)
    heavier, lighter = (ours_of, theirs_of) if mine * 3 > theirs * 2 else (theirs_of, ours_of)
    for both in (north + south, south + north):
        assert phases_of(both) == {**lighter, **heavier}
        assert set(sharpness_of(both)) == {2.0 if heavier is ours_of else 3.0}
    assert phases_of(north) == ours_of
    assert phases_of(south) == theirs_of


@pytest.mark.parametrize("options", TENSORS)
def test_of_equals_ours_stay_and_where_only_one_has_phases_it_keeps_them(options: Any) -> None:
    north = model(**options).fit(NORTH[:2], ["A", "B"])
    south = model(**options).fit(SOUTH, ["A", "0"])
    plain = copied(south)
    ours_of, theirs_of = turn_all(north, 0.5, 2.0), turn_all(south, -1.5, 3.0)
    assert phases_of(north + south) == {**theirs_of, **ours_of}
    assert set(sharpness_of(north + south)) == {2.0}
    assert phases_of(south + north) == {**ours_of, **theirs_of}
    for both in (north + plain, plain + north):
        found = phases_of(both)
        assert {entry: found[entry] for entry in ours_of} == ours_of
        assert not any(angle for entry, angle in found.items() if entry not in ours_of)
        assert set(sharpness_of(both)) == {2.0}
    assert phases_of(plain + plain) == {}


def test_learning_anew_may_leave_no_phases() -> None:
    X, y = [["u", "v"]] * 4, ["A"] * 4
    fitted = model(PLAIN).fit(X, y)
    assert turn_all(fitted, 0.5, 2.0)
    fitted.learn_phases(X, y)  # of one class there is nothing to learn
    assert phases_of(fitted) == {}
    assert fitted.phase_history_.height >= 0


def test_phases_survive_copies(twins: SparseTensorClassifier) -> None:
    X, _ = equal_or_not(20, 3, seed=3)
    expected = twins.predict_proba(X)
    for copy_of in (copied(twins), copy.copy(twins), copy.deepcopy(twins)):
        np.testing.assert_array_equal(copy_of.predict_proba(X), expected)
        assert phases_of(copy_of) == phases_of(twins)
        assert copy_of.phase_history_.equals(twins.phase_history_)
    copied_first = copy.copy(twins)
    copied_first.partial_fit([["9", "9"]], [True])
    np.testing.assert_array_equal(twins.predict_proba(X), expected)


@pytest.mark.parametrize(
    "phases",
    [None, {}, "learn", PhaseLearner(max_iter=7), {True: {"x0": {"1": 0.5}}}, np.full((6, 2), 0.3)],
)
def test_clones_have_the_phases_as_parameter_and_nothing_learnt(phases: Any) -> None:
    data = equal_or_not(12, 3)
    fitted = model(PLAIN, phases=phases).fit(*data)
    twin = clone(fitted)
    assert not hasattr(twin, "classes_")
    assert repr(twin.phases) == repr(phases)
    assert repr(twin) == repr(fitted)
    np.testing.assert_array_equal(
        twin.fit(*data).predict_proba([["1", "2"]]),
        fitted.predict_proba([["1", "2"]]),
    )


def test_phases_go_and_come_back_without_fitting(twins: SparseTensorClassifier) -> None:
    X, _ = equal_or_not(50, 3, seed=4)
    fitted = copied(twins)
    learnt = fitted.predict_proba(X)
    plain = model(PLAIN).fit(*equal_or_not(200, 3)).predict_proba(X)
    given_ones = {True: {"x0": {"1": 1.0}}}
    assert abs(learnt - plain).max() > 0.1
    for back in (None, "learn", QUICK):
        np.testing.assert_array_equal(fitted.set_params(phases={}).predict_proba(X), plain)
        np.testing.assert_array_equal(fitted.set_params(phases=back).predict_proba(X), learnt)
        given_proba = fitted.set_params(phases=given_ones).predict_proba(X)
        assert abs(given_proba - learnt).max() > 1e-3
        assert abs(given_proba - plain).max() > 1e-3
        np.testing.assert_array_equal(fitted.set_params(phases=back).predict_proba(X), learnt)
    assert phases_of(fitted) == phases_of(twins)


# --- bad input ------------------------------------------------------------------------------------

ROWS, LABELS_OF = [["u", "v"], ["u", "w"]], ["A", "B"]
BAD_PHASES = [
    ({"never": {"x0": {"u": 1.0}}}, ValueError, "'never'"),
    ({"A": {"never": {"u": 1.0}}}, ValueError, "'never'"),
    ({"A": {"x0": {"u": "left"}}}, TypeError, "'left'"),
    ({"A": {"x0": {"u": "0.5"}}}, TypeError, "'0.5'"),
    ({"A": {"x0": {"u": None}}}, TypeError, "'u'"),
    ({"A": {"x0": {"u": math.nan}}}, ValueError, "'u'"),
    ({"A": {"x0": {"u": -math.inf}}}, ValueError, "finite"),
    ({"A": {"x0": 1.0}}, TypeError, "'x0'"),
    ({"A": [1.0, 2.0]}, TypeError, "phases"),
    (np.zeros((3, 3)), ValueError, r"\(3, 3\).*\(3, 2\)"),
    (np.zeros(3), ValueError, "shape"),
    (np.zeros((3, 1)), ValueError, "shape"),
    (np.zeros((1, 2)), ValueError, "shape"),
    ([], ValueError, "shape"),
    ([["a", "b"]] * 3, TypeError, "phases"),
    ([["0.5", "0.5"]] * 3, TypeError, "phases"),
    (np.full((3, 2), np.nan), ValueError, "finite"),
    (np.full((3, 2), np.inf), ValueError, "finite"),
    ("lern", ValueError, "'phases'"),
    (3, ValueError, "'phases'"),
]


@pytest.mark.parametrize(("phases", "kind", "words"), BAD_PHASES)
def test_bad_phases_are_told(phases: Any, kind: type[Exception], words: str) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF)
    expected = fitted.predict_proba(ROWS)
    fitted.set_params(phases=phases)
    for ask in (fitted.predict_proba, fitted.predict, fitted.explain, fitted.predict_log_proba):
        with pytest.raises(kind, match=words):
            ask(ROWS)
    np.testing.assert_array_equal(fitted.set_params(phases=None).predict_proba(ROWS), expected)


def test_bad_parameters_of_phases_are_told_by_fit() -> None:
    for phases in ("lern", 3, PhaseLearner):
        with pytest.raises(ValueError, match="'phases'"):
            model(phases=phases).fit(ROWS, LABELS_OF)


def test_the_class_frequencies_have_no_phases() -> None:
    fitted = model(PLAIN, policy=[[]], phases={"A": {"x0": {"u": 1.0}}}).fit(ROWS, LABELS_OF)
    np.testing.assert_array_equal(fitted.predict_proba(ROWS), [[0.5, 0.5]] * 2)


def test_phases_can_be_given_for_one_dimension_only() -> None:
    fitted = model(dimensions="each", phases={"A": {"x0": {"u": 1.0}}}).fit(ROWS, LABELS_OF)
    with pytest.raises(ValueError, match="one dimension"):
        fitted.predict(ROWS)
    assert fitted.set_params(phases={}).predict(ROWS).tolist() == LABELS_OF


BAD_THETA = [
    ([[0.0, 0.0]], ValueError, r"theta"),
    ([[0.0], [0.0]], ValueError, r"\(2, 1\).*\(2, 2\)"),
    (np.zeros((2, 3)), ValueError, "theta"),
    (3.0, ValueError, "theta"),
    ([[0.0, math.nan], [0.0, 0.0]], ValueError, "theta.*x1.*item 0"),
    ([[0.0, 0.0], [math.inf, 0.0]], ValueError, "theta.*x0.*item 1"),
    ([["left", 0.0], [0.0, 0.0]], TypeError, "theta"),
    ([["0.5", "0.0"], ["0.0", "0.0"]], TypeError, "theta"),
    ([{"x0": 1.0}], ValueError, "theta has 1 items, X has 2"),
    ([{"x0": "left"}, {}], TypeError, "theta.*x0"),
    ([{"x0": "0.5"}, {}], TypeError, "theta.*x0"),
    ([{"x0": math.nan}, {}], ValueError, "theta.*x0.*item 0"),
    ([{"x0": 1.0}, 3.0], TypeError, "theta"),
    ("left", TypeError, "theta"),
]


@pytest.mark.parametrize(("theta", "kind", "words"), BAD_THETA)
def test_bad_theta_is_told(theta: Any, kind: type[Exception], words: str) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF)
    expected = fitted.predict_proba(ROWS)
    asks = (fitted.predict, fitted.predict_proba, fitted.predict_log_proba, fitted.explain)
    for ask in (*asks, fitted.predict_joint):
        with pytest.raises(kind, match=words):
            ask(ROWS, theta=theta)
    np.testing.assert_array_equal(fitted.predict_proba(ROWS), expected)


@pytest.mark.parametrize(
    ("theta", "kind", "words"),
    [
        ([{"to": 1.0}], ValueError, "theta has 1 items, X has 2"),
        ({"to": 1.0}, TypeError, "theta"),
        (3.0, TypeError, "theta"),
        ([1.0, 2.0], TypeError, "theta"),
        ([{"to": "left"}, {}], TypeError, "theta"),
        ([{}, {"or": math.nan}], ValueError, "theta.*item 1"),
    ],
)
def test_bad_theta_of_documents_is_told(theta: Any, kind: type[Exception], words: str) -> None:
    fitted = model(PLAIN).fit(["to be", "or not"], LABELS_OF)
    with pytest.raises(kind, match=words):
        fitted.predict(["to be", "or not"], theta=theta)


@pytest.mark.parametrize(
    ("theta", "kind", "words"),
    [
        (np.zeros((2, 3)), ValueError, r"\(2, 3\).*\(2, 2\)"),
        (sparse.csr_array((3, 2)), ValueError, r"\(3, 2\).*\(2, 2\)"),
        (np.full((2, 2), np.nan), ValueError, "theta.*item 0"),
        ([["left", "right"]] * 2, TypeError, "theta"),
    ],
)
def test_bad_theta_of_counts_is_told(theta: Any, kind: type[Exception], words: str) -> None:
    X = sparse.csr_array(np.eye(2))
    fitted = model(PLAIN).fit(X, LABELS_OF)
    with pytest.raises(kind, match=words):
        fitted.predict(X, theta=theta)


def test_a_frame_of_theta_needs_every_column_of_x() -> None:
    X = pd.DataFrame(ROWS, columns=["a", "b"])
    fitted = model(PLAIN).fit(X, LABELS_OF)
    with pytest.raises(ValueError, match="theta has no column 'b'"):
        fitted.predict(X, theta=pd.DataFrame({"a": [0.0, 1.0]}))


BAD_LEARNING = [
    ((ROWS, LABELS_OF), {"learner": "learn"}, TypeError, "learner.*str"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner}, TypeError, "learner"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(max_iter=0)}, ValueError, "'max_iter'"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(folds=1)}, ValueError, "'folds'"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(folds="many")}, ValueError, "'folds'"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(penalties=3.0)}, ValueError, "'penalties'"),
    (
        (ROWS, LABELS_OF),
        {"learner": PhaseLearner(penalties=("a",))},
        (TypeError, ValueError),
        "penalties",
    ),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(penalties=(-1.0,))}, ValueError, "penalties"),
    ((ROWS, LABELS_OF), {"learner": PhaseLearner(penalties=(math.nan,))}, ValueError, "penalties"),
    (
        (ROWS, LABELS_OF),
        {"learner": PhaseLearner(random_state="a")},
        ValueError,
        "seed|random_state",
    ),
    ((ROWS, LABELS_OF[:1]), {}, ValueError, "inconsistent"),
    ((ROWS, None), {}, ValueError, "requires y"),
    ((ROWS, ["A", "Z"]), {}, ValueError, "'Z'"),
    ((ROWS, ["A", "AA"]), {}, ValueError, "'AA'"),
    (([["u"]], ["A"]), {}, ValueError, "features"),
    ((ROWS, LABELS_OF), {"sample_weight": [0.0, 0.0]}, ValueError, "sample_weight"),
    ((ROWS, LABELS_OF), {"sample_weight": [1.0, -1.0]}, ValueError, "sample_weight"),
]


@pytest.mark.parametrize(("data", "options", "kind", "words"), BAD_LEARNING)
def test_a_failure_to_learn_phases_changes_nothing(
    data: Any, options: Any, kind: Any, words: str
) -> None:
    fitted = model(PLAIN).fit(ROWS, LABELS_OF)
    turn_all(fitted, 0.5, 2.0)
    before, expected = phases_of(fitted), fitted.predict_proba(ROWS)
    with pytest.raises(kind, match=words):
        fitted.learn_phases(*data, **options)
    assert phases_of(fitted) == before
    np.testing.assert_array_equal(fitted.predict_proba(ROWS), expected)
    assert not hasattr(fitted, "phase_history_")


def test_phases_need_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        model().learn_phases(ROWS, LABELS_OF)


def test_a_failing_fit_leaves_the_phases_that_were_learnt(twins: SparseTensorClassifier) -> None:
    fitted = copied(twins)
    before = phases_of(fitted)
    with pytest.raises(ValueError, match="'folds'"):
        fitted.set_params(phases=PhaseLearner(folds=1)).fit(ROWS, LABELS_OF)
    assert phases_of(fitted) == before
