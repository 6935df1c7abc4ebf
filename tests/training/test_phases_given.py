"""Phases given: interference against a dense oracle, by every kind of data."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from stc import SparseTensorClassifier
from stc._core.corpus import Amplitudes
from support.oracle import Bag, Hyper, Oracle, learn
from support.phase_cases import (
    ANGLES,
    FEW,
    MODEST,
    PLAIN,
    as_mapping,
    assert_interferes,
    assert_within,
    model,
    name_of,
    replace_corpora,
    some_cells,
    some_phases,
    turned,
)
from support.phase_oracle import Angles, Interference, by_policy, tuples, with_conjunctions
from support.strategies import (
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

# --- what is drawn, and what it means ------------------------------------------------------------


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
    learnt = fitted.fitted_.model
    dimensions = learnt.dimensions
    subset = tuple(sorted(dimensions.numbers(parts, "the test")))
    corpus = learnt.corpora[subset]
    rows = np.repeat(np.arange(corpus.mass.shape[0]), np.diff(corpus.mass.indptr))
    features = learnt.features(subset, rows)
    if len(subset) == 1 and len(parts) == len(dimensions.names) == 1:
        features = [own for (own,) in features]  # no tuples at all
    entries = zip(features, corpus.mass.indices.tolist(), strict=True)
    angles = np.array([phi.get((j, truth.classes[k]), 0.0) for j, k in entries])
    turned = Amplitudes(np.ones(len(angles)), angles)
    corpora = {**learnt.corpora, subset: replace(corpus, amplitudes=turned)}
    replace_corpora(fitted, corpora)


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
