"""Conjunctions of attributes: what plain loops make of them, and no other."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from support.interaction_cases import (
    FEWER,
    PAIRED,
    PAIRS,
    Feature,
    asked,
    assert_explains,
    assert_learnt,
    assert_predicts,
    bags,
    conjoined,
    items,
    kept,
    model_of,
    only,
    parts_of,
    snapshot,
    supports,
    table,
)
from support.models import paper_model
from support.oracle import Bag, Hyper, Oracle, learn
from support.strategies import MISSING, Data, bag, hypers, soft

# ---------------------------------------------------------------- against the loops


@FEWER
@given(st.data(), st.sampled_from(("ignore", "category")), st.integers(2, 4), hypers())
def test_records_hold_what_loops_hold(
    draws: st.DataObject, missing: str, order: int, hyper: Hyper
) -> None:
    data = draws.draw(items(missing))
    model = model_of(hyper, interactions=order, missing=missing)
    model.fit(data.records, data.y, data.weights)
    truth = learn(bags(data, data.records, order, missing), soft(data.y), data.weights)
    assert_learnt(model, truth)
    questions = draws.draw(asked(data, missing))
    expected = bags(data, questions, order, missing)
    assert_predicts(model, questions, expected, truth, hyper)
    assert_explains(model, questions, expected, truth, hyper)


def test_conjunctions_by_hand() -> None:
    X = [{"milk": 1, "legs": 4}, {"legs": 2, "milk": 0}, {"legs": 4}]
    model = paper_model(interactions=2).fit(X, ["mammal", "bird", "bird"])
    third = 1 / 3
    assert model.corpus_.rows() == [
        (["legs"], ["2"], "bird", third, 1),
        (["legs"], ["4"], "bird", 1.0, 1),
        (["legs"], ["4"], "mammal", third, 1),
        (["legs", "milk"], ["2", "0"], "bird", third, 1),
        (["legs", "milk"], ["4", "1"], "mammal", third, 1),
        (["milk"], ["0"], "bird", third, 1),
        (["milk"], ["1"], "mammal", third, 1),
    ]
    assert "legs=4 and milk=1" in model.explain_local([X[0]]).sentences()[0]
    # A part is missing: no conjunction. A part is unseen: one that was never seen.
    assert model.coverage([{"legs": 4}, {"legs": 4, "milk": 7}]).tolist() == [1, third]


def test_the_weight_of_a_conjunction_is_the_product_of_its_parts() -> None:
    X = [{"a": {"u": 2, "v": 3}, "b": {"w": 5}, "c": ["x", "x", "y"]}]
    model = paper_model(interactions=3).fit(X, ["p"])
    a, b, c = {"u": 2, "v": 3}, {"w": 5}, {"x": 2, "y": 1}
    total = 6 * 6 * 4 - 1  # (1 + 5) (1 + 5) (1 + 3): every way to take a value or none, but one
    mass = table(model.corpus_, "mass")
    assert len(mass) == 3 * 2 * 3 - 1
    for u, w, x in product(a, b, c):
        entry = (("a", "b", "c"), (u, w, x)), "p"
        assert mass[entry] == pytest.approx(a[u] * b[w] * c[x] / total, rel=1e-14)
    assert mass[(("a", "c"), ("v", "x")), "p"] == pytest.approx(6 / total, rel=1e-14)


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
    "pyarrow": pa.table,
    "rows": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "array": lambda columns: np.array(list(columns.values()), dtype=object).T,
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_tables(make: Callable[..., Any], missing: str) -> None:
    generator = np.random.default_rng(0)
    drawn = generator.choice(["u", "v", "w", None], (40, 3)).T.tolist()
    names = ["x2", "x0", "x1"] if make in (pl.DataFrame, pd.DataFrame, pa.table) else None
    names = names or ["x0", "x1", "x2"]
    records = [dict(zip(names, row, strict=True)) for row in zip(*drawn, strict=True)]
    y = generator.choice(["p", "q"], 40).tolist()
    data = Data(records, y, None, dict.fromkeys(names, "one"))
    X = make(dict(zip(names, drawn, strict=True)))
    model = paper_model(interactions=3, missing=missing).fit(X, y)
    learnt = bags(data, records, 3, missing)
    truth = learn(learnt, soft(y))
    assert_learnt(model, truth)
    assert_predicts(model, X, learnt, truth, Hyper())


@pytest.mark.parametrize("order", [3, 4, 50, 10**12])
def test_an_order_beyond_the_attributes_is_all_of_them(order: int) -> None:
    X = [{"a": "u", "b": "v", "c": "w"}, {"a": "u", "b": "x"}]
    model = paper_model(interactions=order).fit(X, ["p", "q"])
    expected = bags(Data(X, [], None, dict.fromkeys("abc", "one")), X, 3)
    assert_learnt(model, learn(expected, soft(["p", "q"])))
    assert_predicts(model, X, expected, learn(expected, soft(["p", "q"])), Hyper())


def test_one_attribute_has_no_conjunction() -> None:
    X, y = [["u"], ["v"]], ["p", "q"]
    model = paper_model(interactions=2).fit(X, y)
    assert model.get_feature_names_out().tolist() == ["x0=u", "x0=v"]
    assert model.corpus_.schema["value"] == pl.List(pl.String)
    np.testing.assert_array_equal(model.predict_proba(X), paper_model().fit(X, y).predict_proba(X))


def test_order_one_is_the_plain_model_bit_by_bit() -> None:
    X, y = [["u", "v"], ["v", None], [None, None]], ["p", "q", "q"]
    plain, one = paper_model().fit(X, y), paper_model(interactions=1)
    assert snapshot(one.fit(X, y), X) == snapshot(plain, X)
    assert one.corpus_.schema == plain.corpus_.schema


def test_names_with_signs_do_not_collide() -> None:
    X = [{"a": "x: y", "b": "z"}, {"a: x": "y", "b": "z"}, {"a and b": "x", "c": "z"}]
    X += [{"a": "1 and b=2", "c": "z"}, {"a": "1", "b": "2", "c": "z"}]
    y = ["p", "q", "r", "s", "t"]
    model = paper_model(interactions=3).fit(X, y)
    data = Data(X, y, None, dict.fromkeys(["a", "b", "a: x", "a and b", "c"], "one"))
    assert_learnt(model, learn(bags(data, X, 3), soft(y)))
    assert model.predict(X).tolist() == y


def test_targets_are_no_part_of_conjunctions() -> None:
    days = [{"month": 1, "sky": "grey", "wind": 5}, {"month": 7, "sky": "blue", "wind": 1}]
    model = paper_model(interactions=3, targets="wind").fit(days)
    names = ["month=1", "month=1 and sky=grey", "month=7", "month=7 and sky=blue"]
    assert sorted(model.get_feature_names_out()) == [*names, "sky=blue", "sky=grey"]


def test_labels_share_a_conjunction() -> None:
    X = [{"a": "u", "b": "v"}, {"a": "u", "b": "w"}] * 5
    y = [{"p", "q"}, {"q"}] * 5
    model = paper_model(interactions=2).fit(X, y)
    spread = [dict.fromkeys(labels, 1) for labels in y]
    assert_learnt(model, learn(bags(Data(X, y, None, {"a": "one", "b": "one"}), X, 2), spread))
    assert model.predict(X) == y


# ---------------------------------------------------------------- phases of items


def turned(truth: Oracle, question: Bag, angles: Mapping[Feature, float], hyper: Hyper) -> Any:
    """The probabilities when each contribution has a direction."""
    U = dict.fromkeys(truth.classes, 0j)
    for (j, i), w in truth.contributions(question, hyper).items():
        U[i] += float(w) * np.exp(1j * angles[j])  # type: ignore[index]
    powers = np.array([abs(U[i]) ** (1 / hyper.power) for i in truth.classes])
    return powers / powers.sum()


@pytest.mark.parametrize("hyper", [Hyper(), Hyper(1, 0, 0)])
def test_the_angle_of_a_conjunction_is_the_sum_of_its_parts(hyper: Hyper) -> None:
    generator = np.random.default_rng(4)
    names = ["b", "a", "c"]
    X = [
        {n: generator.choice(["u", "v", "w"], generator.integers(1, 3)).tolist() for n in names}
        for _ in range(8)
    ]
    X[0]["a"], X[1]["b"] = [], {"u": 0.5, "w": 2.0}
    y = list("ppqqrrpq")
    model = model_of(hyper, interactions=3).fit(X, y)
    data = Data(X, y, None, dict.fromkeys(names, "any"))
    learnt = bags(data, X, 3)
    truth = learn(learnt, soft(y))
    theta = [{n: generator.uniform(-4, 4) for n in names} for _ in X]
    expected = [
        turned(truth, own, {j: sum(map(angles.__getitem__, j[0])) for j in truth.features}, hyper)  # type: ignore[index,arg-type]
        for own, angles in zip(learnt, theta, strict=True)
    ]
    np.testing.assert_allclose(model.predict_proba(X, theta), expected, rtol=0, atol=1e-10)
    cells_of = [[angles[n] for n in names] for angles in theta]
    np.testing.assert_allclose(model.predict_proba(X, cells_of), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("most", [None, 9])
@pytest.mark.parametrize("block", [1 << 21, 10])
def test_single_values_chosen_and_turned(
    monkeypatch: pytest.MonkeyPatch, most: int | None, block: int
) -> None:
    monkeypatch.setattr("stc._core.cascade._BLOCK_TUPLES", block)
    generator = np.random.default_rng(7)
    names = ["b", "a", "c"]
    rows = generator.choice(["u", "v", None], (24, 3)).tolist()
    X = [dict(zip(names, row, strict=True)) for row in rows]
    y = generator.choice(["p", "q", "r"], 24).tolist()
    frame = pl.DataFrame(rows, schema=names, orient="row")
    model = paper_model(interactions=3, max_features=most).fit(frame, y)
    every = bags(Data(X, y, None, dict.fromkeys(names, "one")), X, 3)
    learnt = only(every, kept(model))
    assert len(kept(model)) == 9 if most else kept(model) == set(supports(every, None))
    truth = learn(learnt, soft(y))
    assert_learnt(model, truth)
    assert_predicts(model, frame, learnt, truth, Hyper())
    theta = generator.uniform(-3, 3, (24, 3))
    expected = []
    for own, row in zip(learnt, theta.tolist(), strict=True):
        angle = dict(zip(names, row, strict=True))
        angles = {j: sum(map(angle.__getitem__, j[0])) for j in truth.features}  # type: ignore[index,arg-type]
        known = any(truth.contributions(own, Hyper()).values())
        frequencies = truth.probabilities({}, Hyper())
        expected.append(turned(truth, own, angles, Hyper()) if known else frequencies)
    np.testing.assert_allclose(model.predict_proba(frame, theta), expected, rtol=0, atol=1e-9)


# ---------------------------------------------------------------- where there is none


NONE: dict[str, tuple[dict[str, Any], Any, str]] = {
    "documents": ({"interactions": 2}, ["a b", "c"], "interactions=2 .*documents.* set ngrams"),
    "counts": ({"interactions": 2}, sparse.csr_array(np.eye(2)), "interactions=2 .*sparse"),
    "each": ({"interactions": 2, "dimensions": "each"}, PAIRS[:2], "single dimension.*None"),
    "groups": (
        {"interactions": 2, "dimensions": [["a"], ["b"]]},
        PAIRS[:2],
        "interactions=2 .*single dimension; leave dimensions=None",
    ),
    "records": ({"ngrams": 2}, PAIRS[:2], "ngrams=2 is for documents"),
    "words of counts": ({"ngrams": 2}, sparse.csr_array(np.eye(2)), "ngrams=2 .*counts"),
}


@pytest.mark.parametrize(("options", "X", "words"), NONE.values(), ids=NONE.keys())
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_where_conjunctions_make_no_sense(
    options: dict[str, Any], X: Any, words: str, method: str
) -> None:
    model = paper_model(**options)
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(X, ["p", "q"])
    assert not hasattr(model, "classes_")


def test_what_is_unknown_is_said_in_words() -> None:
    model = paper_model(interactions=2).fit(PAIRS, PAIRED)
    explanation = model.explain_local([{"a": "new"}, {"a": "u"}])
    assert "seen before; the class frequencies decide" in explanation.sentences()[0]
    assert explanation.table["item"].unique().to_list() == [1]
    for absent in MISSING:
        assert model.coverage([{"a": absent, "b": "v"}]).tolist() == [1]


def test_bags_of_this_file_are_those_of_the_others() -> None:
    record = {"a": ["u", "u", None], "b": {"v": 2.0}}
    assert conjoined(parts_of(bag(record, (), "ignore")), 1) == {
        (("a",), ("u",)): 2,
        (("b",), ("v",)): 2,
    }
