"""Every formula against the dense oracle, and the oracle against numbers computed by hand."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from stc import SparseTensorClassifier
from support.models import paper_model
from support.oracle import Bag, Hyper, Oracle, learn
from support.strategies import (
    MISSING,
    PROFILE,
    TEXTS,
    UNSEEN,
    VALUES,
    Data,
    all_settings,
    any_sparse,
    bag,
    matrices,
    questions,
    sample_weights,
    soft,
    tables,
    targets,
    to_pandas,
    to_polars,
)

KINDS = ("one", "list", "dict")
PANDAS_MISSING = (*MISSING, pd.NA, pd.NaT)

# By hand: the corpus of these three items is C_uA = 3/2, C_vA = 1/2, C_vB = 1.
HAND_X = [{"t": ["u", "v"]}, {"t": "u"}, {"t": "v"}]
HAND_Y = ["A", "A", "B"]
HAND = [
    # b 0: B_uA = 1, B_vA = 1/3, B_vB = 2/3, so U = (1 + 1/3, 2/3) / 2.
    (Hyper(1, 0, 0), ["u", "v"], [2 / 3, 1 / 3]),
    # b 1: B_uA = 3/4, B_vA = 1/4, B_vB = 1, so U = (1, 1) / 2.
    (Hyper(1, 1, 0), ["u", "v"], [0.5, 0.5]),
    # b 2: B_uA = 3/2 * 3/2 / 4 = 9/16, B_vA = 1/2 * 3/2 / 4 = 3/16, B_vB = 3/2.
    (Hyper(1, 2, 0), ["u", "v"], [1 / 3, 2 / 3]),
    # p 2: U = (9/16 + 1/16, 1) / 4, and then the square root.
    (Hyper(2, 1, 0), ["u", "v"], [0.44151844011225286, 0.5584815598877471]),
    # H_v = 1 - (0.2 log2 5 + 0.8 log2 1.25) = 0.27807190511263774, H_u = 1:
    # U ~ (sqrt(3/4) + H_v / 2, H_v), and then the square.
    (Hyper(), ["u", "v"], [0.9288956754232084, 0.07110432457679156]),
    # One feature: the entropy cancels, and X_i is B_ij normalised, whatever the power.
    (Hyper(), ["v", "unseen"], [0.2, 0.8]),
    (Hyper(0.01, 0, 4), ["v"], [1 / 3, 2 / 3]),
    # Nothing known: the class frequencies, whatever the balance.
    (Hyper(), ["unseen"], [2 / 3, 1 / 3]),
]
# By hand: u is uniform over the classes once these are balanced, so H_u = 0.
UNIFORM_X = [{"t": "u"}, {"t": "u"}, {"t": "u"}]
UNIFORM_Y = ["A", "B", "B"]
UNIFORM = [
    (Hyper(), [1 / 3, 2 / 3]),  # H^1 = 0: degenerate
    (Hyper(1, 1, 0.001), [1 / 3, 2 / 3]),  # H^0.001 = 0: degenerate
    (Hyper(0.5, 1, 0), [0.5, 0.5]),  # h = 0 drops the entropy
    (Hyper(0.5, 0, 0), [1 / 3, 2 / 3]),
]


def by_hand(X: Sequence[dict[str, Any]], y: Sequence[Any]) -> Oracle:
    return learn([bag(record, (), "ignore") for record in X], soft(y))


def model(hyper: Hyper = Hyper(), **options: Any) -> SparseTensorClassifier:  # noqa: B008
    return paper_model(**vars(hyper), **options)


def table(corpus: pl.DataFrame, column: str) -> dict[Any, Any]:
    """``corpus_`` as a dict, in the shape of the oracle's."""
    keys = zip(corpus["attribute"], corpus["value"], corpus["class"], strict=True)
    return {((a, v), c): number for (a, v, c), number in zip(keys, corpus[column], strict=True)}


def assert_learnt(fitted: SparseTensorClassifier, truth: Oracle) -> None:
    """The model holds what the oracle holds, and nothing else."""
    assert list(fitted.classes_) == truth.classes
    expected = [float(truth.class_mass[i]) for i in truth.classes]
    np.testing.assert_allclose(fitted.class_mass_, expected, rtol=1e-12)
    assert table(fitted.corpus_, "support") == truth.support
    mass = {entry: float(c) for entry, c in truth.corpus.items()}
    assert table(fitted.corpus_, "mass") == pytest.approx(mass, rel=1e-12, abs=0)
    assert len(fitted.corpus_) == len(mass)
    assert len(fitted.get_feature_names_out()) == len(truth.features)


def assert_predicts(
    fitted: SparseTensorClassifier, X: Any, bags: Sequence[Bag], truth: Oracle, hyper: Hyper
) -> None:
    """Probabilities, their logarithms, the class and the coverage are the oracle's."""
    expected = np.array([truth.probabilities(item, hyper) for item in bags])
    tolerance = truth.tolerance(hyper)
    proba = fitted.predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)
    with np.errstate(divide="ignore"):
        logs = fitted.predict_log_proba(X)
    np.testing.assert_allclose(np.exp(logs), proba, rtol=0, atol=1e-12)
    # A tie, or what rounding makes one, may go to any of the best.
    chosen = expected[np.arange(len(bags)), np.searchsorted(truth.classes, fitted.predict(X))]
    assert (chosen >= expected.max(axis=1) - 2 * tolerance).all()
    covered = [truth.coverage(item) for item in bags]
    np.testing.assert_allclose(fitted.coverage(X), covered, rtol=0, atol=1e-12)


def test_oracle_corpus_by_hand() -> None:
    truth = by_hand(HAND_X, HAND_Y)
    u, v = ("t", "u"), ("t", "v")
    half = Fraction(1, 2)
    assert truth.corpus == {(u, "A"): 3 * half, (v, "A"): half, (v, "B"): 1}
    assert truth.support == {(u, "A"): 2, (v, "A"): 1, (v, "B"): 1}
    assert truth.class_mass == {"A": 2, "B": 1}
    assert truth.conditional() == {(u, "A"): 1, (v, "A"): Fraction(1, 5), (v, "B"): Fraction(4, 5)}
    assert float(truth.entropy()[u]) == 1
    assert float(truth.entropy()[v]) == pytest.approx(0.27807190511263774, abs=1e-15)
    assert float(truth.weights(Hyper())[v, "A"]) == pytest.approx(0.13903595255631887, abs=1e-15)
    part = truth.contributions({u: 1, v: 3}, Hyper(1, 1, 0))
    assert part == pytest.approx({(u, "A"): 3 / 16, (v, "A"): 3 / 16, (v, "B"): 3 / 4})
    assert truth.coverage({u: 1, ("t", "w"): 3}) == 0.25


def test_oracle_soft_labels_and_weights_by_hand() -> None:
    u, v = ("t", "u"), ("t", "v")
    bags: list[Bag] = [{u: 3, v: 1}, {u: 1}, {}]
    truth = learn(bags, [{"A": 1, "B": 3}, {"C": 1}, {"A": 1}], [2, 0, 5])
    eighth = Fraction(1, 8)
    expected = {(u, "A"): 3 * eighth, (u, "B"): 9 * eighth, (v, "A"): eighth, (v, "B"): 3 * eighth}
    assert truth.corpus == expected
    assert truth.class_mass == {"A": Fraction(11, 2), "B": Fraction(3, 2)}
    assert set(truth.entropy().values()) == {0}


@pytest.mark.parametrize(("hyper", "values", "expected"), HAND)
def test_probabilities_by_hand(hyper: Hyper, values: list[str], expected: list[float]) -> None:
    asked = {"t": values}
    truth = by_hand(HAND_X, HAND_Y).probabilities(bag(asked, (), "ignore"), hyper)
    assert truth == pytest.approx(expected, abs=1e-14)
    fitted = model(hyper).fit(HAND_X, HAND_Y)
    np.testing.assert_allclose(fitted.predict_proba([asked]), [expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("hyper", "expected"), UNIFORM)
def test_uniform_feature_by_hand(hyper: Hyper, expected: list[float]) -> None:
    truth = by_hand(UNIFORM_X, UNIFORM_Y)
    assert truth.probabilities({("t", "u"): 1}, hyper) == pytest.approx(expected, abs=1e-15)
    fitted = model(hyper).fit(UNIFORM_X, UNIFORM_Y)
    proba = fitted.predict_proba([{"t": "u"}])
    np.testing.assert_allclose(proba, [expected], rtol=0, atol=1e-12)


def test_balance_beyond_one_by_hand() -> None:
    # C_uA = 3, C_vA = 1, C_vB = 1: B_uA = 3 * 3 / 16, B_vA = 1 * 2 / 16, B_vB = 1 * 2 / 1.
    X = [{"t": "u"}, {"t": "u"}, {"t": "u"}, {"t": "v"}, {"t": "v"}]
    y = ["A", "A", "A", "A", "B"]
    hyper = Hyper(power=1, balance=2, entropy=0)
    truth = by_hand(X, y).probabilities({("t", "u"): 1, ("t", "v"): 1}, hyper)
    assert truth == pytest.approx([11 / 43, 32 / 43], abs=1e-15)
    proba = model(hyper).fit(X, y).predict_proba([{"t": ["u", "v"]}])
    np.testing.assert_allclose(proba, [[11 / 43, 32 / 43]], rtol=0, atol=1e-12)


def test_a_class_of_items_without_values_counts_only_in_the_frequencies() -> None:
    fitted = model().fit([*HAND_X, {}], [*HAND_Y, "C"])
    expected = [[*HAND[4][2], 0], [1 / 2, 1 / 4, 1 / 4]]
    proba = fitted.predict_proba([{"t": ["u", "v"]}, {}])
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-12)


@PROFILE
@given(st.data(), tables(), all_settings())
def test_records(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    fitted = model(hyper).fit(data.records, data.y, sample_weight=data.weights)
    truth = data.truth()
    assert_learnt(fitted, truth)
    stranger = {"attribute never learnt": "u", **data.records[0]}
    asked = [*draws.draw(questions(data)), *data.records, stranger, {}]
    assert_predicts(fitted, asked, data.bags(asked), truth, hyper)


@PROFILE
@given(st.data(), tables(complete=True), all_settings())
def test_records_with_missing_as_a_category(draws: st.DataObject, data: Data, hyper: Hyper) -> None:
    fitted = model(hyper, missing="category")
    fitted.fit(data.records, data.y, sample_weight=data.weights)
    truth = data.truth("category")
    assert_learnt(fitted, truth)
    asked = [*draws.draw(questions(data)), *data.records, {}]
    assert_predicts(fitted, asked, data.bags(asked, "category"), truth, hyper)


@PROFILE
@given(
    st.data(), tables(kinds=KINDS, complete=True), all_settings(), st.sampled_from(PANDAS_MISSING)
)
def test_pandas(draws: st.DataObject, data: Data, hyper: Hyper, absent: Any) -> None:
    for missing in ("ignore", "category"):
        fitted = model(hyper, missing=missing)
        frame = to_pandas(data.records, data, absent)
        fitted.fit(frame, data.y, sample_weight=data.weights)
        truth = data.truth(missing)
        assert_learnt(fitted, truth)
        asked = draws.draw(questions(data))
        bags = data.bags(asked, missing)
        assert_predicts(fitted, to_pandas(asked, data), bags, truth, hyper)
        assert_predicts(fitted, asked, bags, truth, hyper)


@PROFILE
@given(st.data(), tables(kinds=KINDS, values=TEXTS, complete=True), all_settings(), st.booleans())
def test_polars_and_pyarrow(draws: st.DataObject, data: Data, hyper: Hyper, arrow: bool) -> None:
    for missing in ("ignore", "category"):
        fitted = model(hyper, missing=missing)
        asked = draws.draw(questions(data, TEXTS))
        learnt, frame = (to_polars(records, data, TEXTS) for records in (data.records, asked))
        if arrow:
            learnt, frame = learnt.to_arrow(), frame.to_arrow()
        fitted.fit(learnt, data.y, sample_weight=data.weights)
        truth = data.truth(missing)
        assert_learnt(fitted, truth)
        assert_predicts(fitted, frame, data.bags(asked, missing), truth, hyper)


def as_array(rows: Sequence[Sequence[Any]], columns: int) -> np.ndarray:
    array = np.empty((len(rows), columns), dtype=object)
    array[:] = rows
    return array


@PROFILE
@given(
    st.data(), all_settings(), st.integers(1, 5), st.sampled_from(("object", "text", "int", "list"))
)
def test_arrays(draws: st.DataObject, hyper: Hyper, columns: int, kind: str) -> None:
    values = {"text": TEXTS, "int": (0, 1, 2, 30)}.get(kind, (*VALUES, *MISSING))
    row = st.lists(st.sampled_from(values), min_size=columns, max_size=columns)
    rows = draws.draw(st.lists(row, min_size=1, max_size=8))
    y, weights = draws.draw(targets(len(rows))), draws.draw(sample_weights(len(rows), 0.0))
    X: Any = {"object": as_array(rows, columns), "list": rows}.get(kind)
    X = np.array(rows) if X is None else X
    names = [f"x{column}" for column in range(columns)]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    data = Data(records, y, weights, dict.fromkeys(names, "one"))
    for missing in ("ignore", "category"):
        fitted = model(hyper, missing=missing).fit(X, y, sample_weight=weights)
        assert_learnt(fitted, data.truth(missing))
        bags = data.bags(records, missing)
        assert_predicts(fitted, X, bags, data.truth(missing), hyper)


def columns_as_bags(dense: np.ndarray) -> list[Bag]:
    return [{(None, f"x{j}"): float(w) for j, w in enumerate(row)} for row in dense]


@PROFILE
@given(st.data(), matrices(), all_settings())
def test_sparse_matrices(draws: st.DataObject, drawn: Any, hyper: Hyper) -> None:
    learnt, asked, y, weights = drawn
    X = any_sparse(draws.draw, learnt)
    fitted = model(hyper).fit(X, y, sample_weight=weights)
    truth = learn(columns_as_bags(learnt), soft(y), weights)
    assert_learnt(fitted, truth)
    bags = columns_as_bags(asked)
    assert_predicts(fitted, any_sparse(draws.draw, asked), bags, truth, hyper)


def test_sparse_duplicates_are_summed_and_explicit_zeros_are_absent() -> None:
    rows, columns, entries = [0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [1.0, 2.0, 1.0, 2.0, 0.0]
    X = sparse.coo_array((entries, (rows, columns)), shape=(2, 3))
    fitted = model().fit(X, ["A", "B"])
    dense = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 0.0]])
    assert_learnt(fitted, learn(columns_as_bags(dense), soft(["A", "B"])))


@PROFILE
@given(st.data(), all_settings())
def test_documents(draws: st.DataObject, hyper: Hyper) -> None:
    words = st.lists(st.sampled_from(("to", "be", "or", "not", "Be", ",")), max_size=6)
    learnt = draws.draw(st.lists(words, min_size=1, max_size=8))
    asked = [*draws.draw(st.lists(words, min_size=1, max_size=3)), [UNSEEN.replace(" ", "-"), "be"]]
    y, weights = draws.draw(targets(len(learnt))), draws.draw(sample_weights(len(learnt), 0.0))
    bags, questions = (
        [{(None, w): text.count(w) for w in text} for text in texts] for texts in (learnt, asked)
    )
    fitted = model(hyper, tokenizer=str.split)
    fitted.fit([" ".join(text) for text in learnt], y, sample_weight=weights)
    truth = learn(bags, soft(y), weights)
    assert_learnt(fitted, truth)
    assert_predicts(fitted, [" ".join(text) for text in asked], questions, truth, hyper)


@PROFILE
@given(tables(), st.lists(all_settings(), min_size=2, max_size=4))
def test_parameters_act_at_prediction_time(data: Data, several: list[Hyper]) -> None:
    fitted = paper_model().fit(data.records, data.y, sample_weight=data.weights)
    truth, bags = data.truth(), data.bags(data.records)
    corpus = fitted.corpus_
    for hyper in several:
        fitted.set_params(**vars(hyper))
        assert_predicts(fitted, data.records, bags, truth, hyper)
    assert fitted.corpus_.equals(corpus)


def test_declared_classes_without_data_have_no_probability() -> None:
    fitted = model().partial_fit(HAND_X, HAND_Y, classes=["Z", "B", "A"])
    assert list(fitted.classes_) == ["A", "B", "Z"]
    asked = [{"t": ["u", "v"]}, {"t": "unseen"}]
    expected = [[*HAND[4][2], 0], [2 / 3, 1 / 3, 0]]
    np.testing.assert_allclose(fitted.predict_proba(asked), expected, rtol=0, atol=1e-12)


def test_ties_go_to_the_first_class() -> None:
    fitted = model().fit([{"t": "u"}, {"t": "v"}], ["B", "A"])
    assert list(fitted.predict([{"t": ["u", "v"]}, {}])) == ["A", "A"]
