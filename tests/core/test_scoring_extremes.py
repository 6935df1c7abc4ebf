"""Scores at the edge of floating-point numbers: classes that vanish, ties, batches of any size."""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc import SparseTensorClassifier
from support.examples import many
from support.models import paper_model

Records = list[dict[str, Any]]


def tenth(**changes: Any) -> SparseTensorClassifier:
    """A model of one value, seen once with one class and nine times with the other."""
    model = paper_model(**{"power": 1000.0, "balance": 0.0, "entropy": 0.0, **changes})
    return model.fit([["u"]] * 10, ["p"] + ["q"] * 9)


def test_a_class_that_vanishes_beside_another_is_rescued() -> None:
    model = tenth()
    np.testing.assert_allclose(model.predict_proba([["u"]]), [[0.1, 0.9]], rtol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba([["u"]]), np.log([[0.1, 0.9]]), rtol=1e-12)
    np.testing.assert_allclose(
        model.loo_predict_proba([["u"]], ["q"]), [[1 / 9, 8 / 9]], rtol=1e-12
    )


def test_the_logarithm_of_a_probability_that_no_double_holds_is_exact() -> None:
    model = tenth(sharpness=1000.0)
    expected = 1000 * np.log(1 / 9)
    np.testing.assert_allclose(model.predict_log_proba([["u"]]), [[expected, 0.0]], rtol=1e-12)
    assert model.predict_proba([["u"]]).tolist() == [[0.0, 1.0]]


def test_predicting_changes_nothing_in_the_model() -> None:
    """Some weights are 0, since the value `x` is equally frequent in all classes."""
    X = [{"a": {"u": 2.0, "x": 1.0}}, {"a": {"v": 2.0, "x": 1.0}}, {"a": {"w": 1, "u": 1, "x": 1}}]
    model = paper_model(0.5, 1.0, 3000.0).fit(X, ["p", "q", "q"])
    before, proba = model.corpus_.rows(), model.predict_proba(X)
    assert (model.explain_global().table.filter(value="x")["weight"] == 0).all()
    assert model.corpus_.rows() == before
    assert model.predict_proba(X).tolist() == proba.tolist()


@pytest.mark.parametrize("others", [1, 2000])
def test_only_shares_that_vanish(others: int) -> None:
    """A share to the power of 1,000 underflows; beside items for which it does not."""
    model = paper_model(100.0, 0.0, 0.0).fit([["u"], ["u"], ["v"]], ["p", "q", "q"])
    wanted = {"x0": {"u": 1.0, "v": 1e-6}}
    X = [wanted, *[{"x0": {"v": 1.0}}] * others]
    proba = model.predict_log_proba(X)
    np.testing.assert_allclose(proba[0], np.log([0.5, 0.5]), rtol=1e-6)
    np.testing.assert_array_equal(proba[1:], [[-np.inf, 0.0]] * others)


def exact(
    counts: dict[tuple[str, str], int], item: dict[str, float], power: float, classes: str
) -> dict[str, Decimal]:
    """The logarithms of the probabilities, with balance and entropy 0, in 50 digits."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = 50, -(10**9), 10**9
        total = sum(map(Decimal, item.values()))
        p = Decimal(power)
        U = {i: Decimal(0) for i in classes}
        for value, weight in item.items():
            mass = sum(n for (j, _), n in counts.items() if j == value)
            for i in classes:
                n = counts.get((value, i), 0)
                if n:
                    U[i] += (Decimal(n) / mass * Decimal(weight) / total) ** p
        powers = {i: u.ln() / p for i, u in U.items() if u}
        whole = sum(x.exp() for x in powers.values())
        return {i: x - whole.ln() for i, x in powers.items()}


@many()
@given(
    st.dictionaries(
        st.tuples(st.sampled_from("uvw"), st.sampled_from("pqr")), st.integers(1, 50), min_size=2
    ),
    st.lists(
        st.dictionaries(st.sampled_from("uvw"), st.floats(1e-30, 1e30), min_size=1),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from((0.5, 3.0, 50.0, 1000.0)),
)
def test_probabilities_of_any_power_are_exact(
    counts: dict[tuple[str, str], int], items: list[dict[str, float]], power: float
) -> None:
    classes = "".join(sorted({i for _, i in counts}))
    pairs = list(counts)
    model = paper_model(power, 0.0, 0.0).fit(
        [{"x": value} for value, _ in pairs],
        [i for _, i in pairs],
        [counts[pair] for pair in pairs],
    )
    known = {value for value, _ in pairs}
    X = [{"x": item} for item in items]
    logarithms, proba = model.predict_log_proba(X), model.predict_proba(X)
    for item, found, shares in zip(items, logarithms, proba, strict=True):
        if not known & item.keys():
            continue
        expected = exact(counts, item, power, classes)
        for i, got, share in zip(classes, found, shares, strict=True):
            if i not in expected:
                assert got == -np.inf
                assert share == 0
            else:
                assert got == pytest.approx(float(expected[i]), rel=1e-10, abs=1e-10)
                assert share == pytest.approx(np.exp(float(expected[i])), rel=1e-9, abs=1e-300)
    assert model.predict(X).tolist() == [classes[k] for k in proba.argmax(axis=1)]


def test_shares_that_vanish_before_large_weights_raise_them_again() -> None:
    rows = [("u", "p", 1), ("v", "p", 20), ("v", "q", 30)]
    model = paper_model(1000.0, 0.0, 0.0)
    model.fit([[value] for value, *_ in rows], [label for _, label, _ in rows], [1, 20, 30])
    item = {"u": 1.7407603023397266e29, "v": 1.87955008864817e29}
    counts = {(value, label): n for value, label, n in rows}
    expected = exact(counts, item, 1000.0, "pq")
    found = model.predict_log_proba([{"x0": item}])
    np.testing.assert_allclose(found, [[float(expected[i]) for i in "pq"]], rtol=1e-10)
    assert model.predict([{"x0": item}]).tolist() == ["q" if found[0, 1] > found[0, 0] else "p"]


@pytest.mark.parametrize("dimensions", [None, "each"])
def test_explanations_of_a_class_that_vanishes(dimensions: Any) -> None:
    X = [{"a": "u", "b": "s"}] * 10 + [{"a": "v", "b": "t"}]
    y = ["p", *"q" * 9, "q"]
    model = paper_model(1000.0, 0.0, 0.0, dimensions=dimensions).fit(X, y)
    item = [{"a": "u", "b": "s"}]
    explanation = model.explain_local(item)
    np.testing.assert_allclose(explanation.proba, model.predict_proba(item), rtol=1e-12)
    for label in "pq":
        table = explanation.why(0, label).table
        assert table["share"].sum() == pytest.approx(1)
        assert table["share"].len() == (2 if dimensions is None else 1)
        assert table["contribution"].max() > 0
    contrast = explanation.why_not(0, "p")
    assert contrast.table["difference"].max() > 0
    assert contrast.table["share"].sum() == pytest.approx(1)
    assert explanation.impact(0)["probability"].is_not_nan().all()
    explanation.counterfactual(0)


def test_vanishing_classes_with_phases() -> None:
    X = [{"a": "u", "b": "s"}] * 10
    phases = {"p": {"a": {"u": 0.3}}}
    model = paper_model(300.0, 0.0, 0.0, phases=phases).fit(X, ["p"] + ["q"] * 9)
    expected = np.array([0.1 * (np.cos(0.15)) ** (1 / 300), 0.9])
    proba = model.predict_proba(X[:1])
    np.testing.assert_allclose(proba[0], expected / expected.sum(), rtol=1e-9)
    shares = model.explain_local(X[:1]).why(0, "p").table
    assert shares["share"].to_list() == pytest.approx([0.5, 0.5])
    assert sorted(abs(shares["phase"])) == pytest.approx([0.15, 0.15])


# --- ties -----------------------------------------------------------------------------------------

WEIGHTS = st.lists(st.sampled_from((0.1, 0.2, 0.3, 0.7, 1 / 3, 1.0)), min_size=1, max_size=6)


@many()
@given(WEIGHTS, st.randoms(use_true_random=False), st.floats(0.05, 20), st.sampled_from((0.0, 0.1)))
def test_ties_go_to_the_first_class_whatever_the_order_of_rows(
    weights: list[float], random: Any, power: float, floor: float
) -> None:
    """Three classes have the same items, in orders of their own, so all sums are the same."""
    rows = []
    for label in "pqr":
        own = list(enumerate(weights))
        random.shuffle(own)
        rows += [({"a": f"v{k % 2}", "b": f"w{k % 3}"}, label, w) for k, w in own]
    X, y, w = map(list, zip(*rows, strict=True))
    asked = [*X[:6], {"a": "v0"}, {"b": "w1", "a": "v1"}, {"a": "unknown"}, {}]
    # Beside an item with weights, others are divided by their number of values.
    weighted = [*asked, {"a": {"v0": 0.3, "v1": 0.6}}]
    for parameters in ({}, {"dimensions": "each"}):
        model = paper_model(power, 1.0, 0.0, floor=floor, **parameters).fit(X, y, w)
        for batch in (asked, weighted, asked[:1]):
            assert set(model.predict(batch)) == {"p"}
            assert set(model.predict_proba(batch).argmax(axis=1)) == {0}
            assert set(model.predict_log_proba(batch).argmax(axis=1)) == {0}
            assert set(model.explain_local(batch).labels) == {"p"}
        assert set(model.loo_predict_proba(X, y, w).argmax(axis=1)) <= {0, 1}


@many()
@given(
    st.lists(
        st.tuples(st.sampled_from("uvw"), st.sampled_from("st"), st.sampled_from("pqr")),
        min_size=2,
        max_size=30,
    ),
    st.floats(1e-2, 1e6),
    st.floats(0, 2),
    st.floats(0, 2),
    st.sampled_from((0.0, 0.2)),
)
def test_the_prediction_is_the_most_probable_class_in_batches_of_any_size(
    rows: list[tuple[str, str, str]], power: float, balance: float, entropy: float, floor: float
) -> None:
    X, y = pl.DataFrame([row[:2] for row in rows], orient="row"), [row[2] for row in rows]
    model = paper_model(power, balance, entropy, floor=floor).fit(X, y)
    proba = model.predict_proba(X)
    labels = model.predict(X).tolist()
    assert labels == [str(model.classes_[k]) for k in proba.argmax(axis=1)]
    singly = [model.predict(X[k : k + 1])[0] for k in range(len(X))]
    assert labels == singly
    shuffled = X.reverse()
    assert model.predict(shuffled).tolist() == labels[::-1]
