"""Conjunctions of attributes and words in a row: what plain loops make of them, and no other."""

import copy
import math
import pickle
import tracemalloc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from stc import SparseTensorClassifier
from stc.conjunctions import Interactions
from stc.observations import Observations
from support.oracle import Bag, Class, Hyper, Oracle, learn
from support.strategies import (
    MISSING,
    PROFILE,
    UNSEEN,
    Data,
    bag,
    cells,
    hypers,
    sample_weights,
    soft,
)

# The attributes and the values of a feature; a single one is a conjunction of one.
Feature: TypeAlias = tuple[tuple[str | None, ...], tuple[str | None, ...]]
Parts: TypeAlias = Mapping[str, Mapping[str | None, Fraction]]

FEWER = settings(PROFILE, max_examples=25)
FEW = settings(PROFILE, max_examples=12)
# Sorted they stand otherwise than drawn; "a" + "x: y" and "a: x" + "y" must not meet.
ATTRIBUTES = ("legs", "a: x", "b", "a")
VALUES = ("y", "x: y", 1, 2.5)


# ---------------------------------------------------------------- plain loops


def parts_of(single: Bag) -> Parts:
    """The values of each attribute."""
    parts: dict[str, dict[str | None, Fraction]] = {}
    for (attribute, value), weight in single.items():  # type: ignore[misc]
        parts.setdefault(attribute, {})[value] = Fraction(weight)
    return parts


def conjoined(parts: Parts, order: int) -> dict[Feature, Fraction]:
    """Single values, and the conjunctions of up to ``order`` attributes, sorted by name."""
    result: dict[Feature, Fraction] = {}
    for size in range(1, min(order, len(parts)) + 1):
        for names in combinations(sorted(parts), size):
            for values in product(*(parts[name] for name in names)):
                weight = Fraction(1)
                for name, value in zip(names, values, strict=True):
                    weight *= parts[name][value]
                result[names, values] = weight
    return result


def bags(data: Data, records: Sequence[Any], order: int, missing: str = "ignore") -> list[Bag]:
    singles = data.bags(records, missing)
    return [conjoined(parts_of(single), order) for single in singles]


def name_of(feature: Feature) -> str:
    """`legs=4 and hair is missing`; words are joined by spaces."""
    attributes, values = feature
    if attributes[0] is None:
        return " ".join("(missing)" if value is None else value for value in values)
    words = [
        f"{attribute} is missing" if value is None else f"{attribute}={value}"
        for attribute, value in zip(attributes, values, strict=True)
    ]
    return " and ".join(words)


# ---------------------------------------------------------------- drawn data


@st.composite
def items(draw: st.DrawFn, missing: str = "ignore", smallest: float = 0.0, least: int = 1) -> Data:
    """Records of one to four attributes, their keys in any order."""
    width = draw(st.integers(1, 4))
    several = ("one", "list", "dict", "any") if width < 4 else ("one", "list")
    columns = {a: draw(st.sampled_from(several)) for a in ATTRIBUTES[:width]}
    pool = VALUES[: draw(st.integers(1, 3 if width < 4 else 2))]
    every = {a: cells(kind, pool) for a, kind in columns.items()}
    optional = {} if missing == "category" else every
    record = st.fixed_dictionaries({} if optional else every, optional=optional)
    drawn = draw(st.lists(record, min_size=least, max_size=5))
    shuffled = [dict(draw(st.permutations(list(own.items())))) for own in drawn]
    labels = st.sampled_from(("p", "q", "r")[: draw(st.integers(1, 3))])
    soft_labels = st.dictionaries(labels, st.sampled_from((0.5, 1.0, 3.0)), min_size=1)
    kind = soft_labels if draw(st.integers(0, 3)) == 0 else labels
    y = draw(st.lists(kind, min_size=len(drawn), max_size=len(drawn)))
    return Data(shuffled, y, draw(sample_weights(len(drawn), smallest)), columns)


@st.composite
def asked(draw: st.DrawFn, data: Data, missing: str = "ignore") -> list[Any]:
    """Items to classify: those learnt, others, some with a value or a key never seen, and none."""
    every = {a: cells(kind, (*VALUES[:3], UNSEEN)) for a, kind in data.kinds.items()}
    drawn = draw(st.lists(st.fixed_dictionaries({}, optional=every), max_size=2))
    # With missing as a category, the others would miss a key that one of them brings.
    stranger = {} if missing == "category" else {"zz never seen": "y", **data.records[0]}
    return [*data.records[:2], *drawn, stranger, {}]


@st.composite
def partition(draw: st.DrawFn, data: Data, most: int = 4) -> list[Data]:
    """The items shuffled and cut into parts, none of them empty."""
    order = draw(st.permutations(range(len(data))))
    cuts = draw(st.sets(st.integers(1, len(data) - 1), min_size=1, max_size=most - 1))
    return [data.take(order[a:b]) for a, b in pairwise([0, *sorted(cuts), len(data)])]


def halves(data: Data) -> tuple[Data, Data]:
    middle = len(data) // 2
    return data.take(range(middle)), data.take(range(middle, len(data)))


def model_of(hyper: Hyper = Hyper(), **options: Any) -> SparseTensorClassifier:  # noqa: B008
    return SparseTensorClassifier(hyper.power, hyper.balance, hyper.entropy, **options)


def learn_more(model: SparseTensorClassifier, data: Data) -> SparseTensorClassifier:
    return model.partial_fit(data.records, data.y, sample_weight=data.weights)


def fitted(data: Data, **options: Any) -> SparseTensorClassifier:
    return SparseTensorClassifier(**options).fit(data.records, data.y, data.weights)


# ---------------------------------------------------------------- against the loops


def table(corpus: pl.DataFrame, column: str) -> dict[tuple[Feature, Class], Any]:
    """``corpus_`` as a dict; a single value is a tuple of one."""
    features = zip(corpus["attribute"].to_list(), corpus["value"].to_list(), strict=True)
    keys = [(tuple(a), tuple(v)) for a, v in features]
    entries = zip(keys, corpus["class"], corpus[column], strict=True)
    return {(feature, label): number for feature, label, number in entries}


def assert_learnt(model: SparseTensorClassifier, truth: Oracle) -> None:
    """The model holds what the oracle holds, under the same names, and nothing else."""
    assert list(model.classes_) == truth.classes
    expected = [float(truth.class_mass[i]) for i in truth.classes]
    np.testing.assert_allclose(model.class_mass_, expected, rtol=1e-12)
    assert model.corpus_.schema["value"] == model.corpus_.schema["attribute"] == pl.List(pl.String)
    assert table(model.corpus_, "support") == truth.support
    mass = {entry: float(c) for entry, c in truth.corpus.items()}
    assert table(model.corpus_, "mass") == pytest.approx(mass, rel=1e-12, abs=0)
    names = sorted(name_of(feature) for feature in truth.features)  # type: ignore[arg-type]
    assert sorted(model.get_feature_names_out()) == names


def assert_predicts(
    model: SparseTensorClassifier, X: Any, questions: Sequence[Bag], truth: Oracle, hyper: Hyper
) -> None:
    """Probabilities, their logarithms, the class and the coverage are the oracle's."""
    expected = np.array([truth.probabilities(item, hyper) for item in questions])
    tolerance = truth.tolerance(hyper)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=tolerance)
    with np.errstate(divide="ignore"):
        logs = model.predict_log_proba(X)
    np.testing.assert_allclose(np.exp(logs), proba, rtol=0, atol=1e-12)
    chosen = expected[range(len(questions)), np.searchsorted(truth.classes, model.predict(X))]
    assert (chosen >= expected.max(axis=1) - 2 * tolerance).all()
    covered = [truth.coverage(item) for item in questions]
    np.testing.assert_allclose(model.coverage(X), covered, rtol=0, atol=1e-12)


def assert_explains(
    model: SparseTensorClassifier, X: Any, questions: Sequence[Bag], truth: Oracle, hyper: Hyper
) -> None:
    """The contributions to the predicted class are the oracle's, under the right names."""
    explanation = model.explain(X)
    assert explanation.table.schema["attribute"] == pl.List(pl.String)
    for number, question in enumerate(questions):
        label = explanation.labels[number]
        parts = truth.contributions(question, hyper)
        expected = {j: float(w) for (j, i), w in parts.items() if i == label and w}
        rows = explanation.table.filter(pl.col("item") == number).to_dicts()
        found = {(tuple(r["attribute"]), tuple(r["value"])): r["contribution"] for r in rows}
        assert found == pytest.approx(expected, rel=1e-9, abs=truth.tolerance(hyper))
        assert {name_of(feature) for feature in found} == {row["feature"] for row in rows}
        if rows:
            assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=1e-9)


def assert_same(a: SparseTensorClassifier, b: SparseTensorClassifier, X: Any) -> None:
    """Two models know the same, and say the same."""
    keys = ["attribute", "value", "class", "support"]
    assert a.corpus_.schema == b.corpus_.schema
    assert a.corpus_.select(keys).equals(b.corpus_.select(keys))
    np.testing.assert_allclose(a.corpus_["mass"], b.corpus_["mass"], rtol=1e-12)
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.class_mass_, b.class_mass_, rtol=1e-12)
    assert sorted(a.get_feature_names_out()) == sorted(b.get_feature_names_out())
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.coverage(X), b.coverage(X), rtol=0, atol=1e-12)


def snapshot(model: SparseTensorClassifier, X: Any) -> tuple[Any, ...]:
    """All that can be seen of a model, bit for bit."""
    return (
        model.corpus_.rows(),
        model.classes_.tolist(),
        model.class_mass_.tobytes(),
        model.get_feature_names_out().tolist(),
        model.predict_proba(X).tobytes(),
    )


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
    model = SparseTensorClassifier(interactions=2).fit(X, ["mammal", "bird", "bird"])
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
    assert "legs=4 and milk=1" in model.explain([X[0]]).sentences()[0]
    # A part is missing: no conjunction. A part is unseen: one that was never seen.
    assert model.coverage([{"legs": 4}, {"legs": 4, "milk": 7}]).tolist() == [1, third]


def test_the_weight_of_a_conjunction_is_the_product_of_its_parts() -> None:
    X = [{"a": {"u": 2, "v": 3}, "b": {"w": 5}, "c": ["x", "x", "y"]}]
    model = SparseTensorClassifier(interactions=3).fit(X, ["p"])
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
    model = SparseTensorClassifier(interactions=3, missing=missing).fit(X, y)
    learnt = bags(data, records, 3, missing)
    truth = learn(learnt, soft(y))
    assert_learnt(model, truth)
    assert_predicts(model, X, learnt, truth, Hyper())


@pytest.mark.parametrize("order", [3, 4, 50, 10**12])
def test_an_order_beyond_the_attributes_is_all_of_them(order: int) -> None:
    X = [{"a": "u", "b": "v", "c": "w"}, {"a": "u", "b": "x"}]
    model = SparseTensorClassifier(interactions=order).fit(X, ["p", "q"])
    expected = bags(Data(X, [], None, dict.fromkeys("abc", "one")), X, 3)
    assert_learnt(model, learn(expected, soft(["p", "q"])))
    assert_predicts(model, X, expected, learn(expected, soft(["p", "q"])), Hyper())


def test_one_attribute_has_no_conjunction() -> None:
    X, y = [["u"], ["v"]], ["p", "q"]
    model = SparseTensorClassifier(interactions=2).fit(X, y)
    assert model.get_feature_names_out().tolist() == ["x0=u", "x0=v"]
    assert model.corpus_.schema["value"] == pl.List(pl.String)
    np.testing.assert_array_equal(
        model.predict_proba(X), SparseTensorClassifier().fit(X, y).predict_proba(X)
    )


def test_order_one_is_the_plain_model_bit_by_bit() -> None:
    X, y = [["u", "v"], ["v", None], [None, None]], ["p", "q", "q"]
    plain, one = SparseTensorClassifier().fit(X, y), SparseTensorClassifier(interactions=1)
    assert snapshot(one.fit(X, y), X) == snapshot(plain, X)
    assert one.corpus_.schema == plain.corpus_.schema


def test_names_with_signs_do_not_collide() -> None:
    X = [{"a": "x: y", "b": "z"}, {"a: x": "y", "b": "z"}, {"a and b": "x", "c": "z"}]
    X += [{"a": "1 and b=2", "c": "z"}, {"a": "1", "b": "2", "c": "z"}]
    y = ["p", "q", "r", "s", "t"]
    model = SparseTensorClassifier(interactions=3).fit(X, y)
    data = Data(X, y, None, dict.fromkeys(["a", "b", "a: x", "a and b", "c"], "one"))
    assert_learnt(model, learn(bags(data, X, 3), soft(y)))
    assert model.predict(X).tolist() == y


def test_targets_are_no_part_of_conjunctions() -> None:
    days = [{"month": 1, "sky": "grey", "wind": 5}, {"month": 7, "sky": "blue", "wind": 1}]
    model = SparseTensorClassifier(interactions=3, targets="wind").fit(days)
    names = ["month=1", "month=1 and sky=grey", "month=7", "month=7 and sky=blue"]
    assert sorted(model.get_feature_names_out()) == [*names, "sky=blue", "sky=grey"]


def test_labels_share_a_conjunction() -> None:
    X = [{"a": "u", "b": "v"}, {"a": "u", "b": "w"}] * 5
    y = [{"p", "q"}, {"q"}] * 5
    model = SparseTensorClassifier(interactions=2).fit(X, y)
    spread = [dict.fromkeys(labels, 1) for labels in y]
    assert_learnt(model, learn(bags(Data(X, y, None, {"a": "one", "b": "one"}), X, 2), spread))
    assert model.predict(X) == y


# ---------------------------------------------------------------- online


@FEWER
@given(st.data(), st.sampled_from(("ignore", "category")), st.integers(2, 3), hypers())
def test_any_partition_is_one_fit(
    draws: st.DataObject, missing: str, order: int, hyper: Hyper
) -> None:
    data = draws.draw(items(missing, smallest=0.25, least=2))
    model = model_of(hyper, interactions=order, missing=missing)
    for part in draws.draw(partition(data)):
        learn_more(model, part)
    truth = learn(bags(data, data.records, order, missing), soft(data.y), data.weights)
    assert_learnt(model, truth)
    learnt = bags(data, data.records, order, missing)
    assert_predicts(model, data.records, learnt, truth, hyper)


@FEW
@given(items(smallest=0.25, least=2), st.integers(2, 3))
def test_unlearning_leaves_no_trace(data: Data, order: int) -> None:
    first, second = halves(data)
    model = learn_more(fitted(first, interactions=order), second)
    model.unlearn(second.records, second.y, sample_weight=second.weights)
    assert_same(model, fitted(first, interactions=order), data.records)


@FEW
@given(items(smallest=0.25, least=2), st.integers(2, 3))
def test_merging_commutes(data: Data, order: int) -> None:
    first, second = halves(data)
    a, b = fitted(first, interactions=order), fitted(second, interactions=order)
    before = snapshot(a, data.records), snapshot(b, data.records)
    assert_same(a + b, fitted(data, interactions=order), data.records)
    assert_same(b + a, a + b, data.records)
    assert (snapshot(a, data.records), snapshot(b, data.records)) == before


PAIRS = [{"a": "u", "b": "v"}, {"b": "w", "a": "u"}, {"a": "t", "b": "v"}]
PAIRED = ["p", "q", "q"]


def test_what_was_never_learnt_together_is_not_unlearnt() -> None:
    model = SparseTensorClassifier(interactions=2).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS)
    with pytest.raises(ValueError, match="item 0 has a=t and b=w, never learnt"):
        model.unlearn([{"a": "t", "b": "w"}], ["q"])
    with pytest.raises(ValueError, match="a=u and b=v and class 'q' were never learnt together"):
        model.unlearn([{"a": "u", "b": "v"}], ["q"])
    assert snapshot(model, PAIRS) == before


def test_the_order_is_fixed_by_the_first_batch() -> None:
    model = SparseTensorClassifier(interactions=2).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS)
    model.set_params(interactions=1)
    assert snapshot(model, PAIRS) == before
    with pytest.raises(ValueError, match=r"interactions=2.* interactions=1: set it back"):
        model.partial_fit(PAIRS, PAIRED)
    assert snapshot(model, PAIRS) == before
    model.unlearn(PAIRS[:1], PAIRED[:1])
    assert_same(model, SparseTensorClassifier(interactions=2).fit(PAIRS[1:], PAIRED[1:]), PAIRS[1:])


OTHERS = [
    {"interactions": 1},
    {"interactions": 3},
    {"interactions": 2, "min_support": 2},
    {"interactions": 2, "max_features": 1},
]


@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_models_of_other_conjunctions_are_not_merged(options: dict[str, Any]) -> None:
    model = SparseTensorClassifier(interactions=2).fit(PAIRS, PAIRED)
    other = SparseTensorClassifier(**options).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS), snapshot(other, PAIRS)
    for one, two in ((model, other), (other, model)):
        with pytest.raises(ValueError, match=r"other conjunctions.*same interactions"):
            one + two
    assert (snapshot(model, PAIRS), snapshot(other, PAIRS)) == before


def test_models_of_the_same_choice_are_merged() -> None:
    options = {"interactions": 2, "max_features": 1}
    model = SparseTensorClassifier(**options).fit(PAIRS, PAIRED)
    twice = model + pickle.loads(pickle.dumps(model))
    assert twice.corpus_["support"].to_list() == [2 * n for n in model.corpus_["support"]]
    assert twice.unlearn(PAIRS, PAIRED).corpus_.equals(model.corpus_)


# ---------------------------------------------------------------- choosing


def supports(learnt: Sequence[Bag], weights: Sequence[float] | None) -> Counter[Feature]:
    """How many items show each conjunction; those that weigh nothing are not there."""
    shown: Counter[Feature] = Counter()
    for n, own in enumerate(learnt):
        if weights is None or weights[n] > 0:
            shown.update(feature for feature in own if len(feature[1]) > 1)  # type: ignore[misc]
    return shown


def strengths(
    features: Sequence[Feature],
    learnt: Sequence[Bag],
    y: Sequence[Mapping[Class, float]],
    weights: Sequence[float] | None,
) -> dict[Feature, float]:
    """``H_j`` of ``C_ij = sum_n s_n w_j y_i + N_i / N``, where ``N_i`` is the mass of a class.

    That is one item more, shared as the classes are; ``P_ij = C_ij / N_i``.
    """
    total: dict[Class, float] = {}
    counts: dict[tuple[Feature, Class], float] = {}
    for n, own in enumerate(learnt):
        s = 1.0 if weights is None else weights[n]
        for i, y_i in y[n].items():
            share = s * y_i / sum(y[n].values())
            total[i] = total.get(i, 0.0) + share
            for j in features:
                counts[j, i] = counts.get((j, i), 0.0) + share * float(own.get(j, 0))
    classes = [i for i, mass in total.items() if mass > 0]
    everything = sum(total.values())
    H = {}
    for j in features:
        P = [(counts[j, i] + total[i] / everything) / total[i] for i in classes]
        terms = [p / sum(P) * math.log(p / sum(P)) for p in P]
        H[j] = 1.0 + sum(terms) / math.log(len(classes)) if len(classes) > 1 else 1.0
    return H


def kept(model: SparseTensorClassifier) -> set[Feature]:
    """The conjunctions that a model has."""
    return {feature for feature, _ in table(model.corpus_, "mass") if len(feature[1]) > 1}


def only(learnt: Sequence[Bag], chosen: set[Feature]) -> list[Bag]:
    """Single values, and the conjunctions that were chosen."""
    return [
        {j: w for j, w in own.items() if len(j[1]) == 1 or j in chosen}  # type: ignore[index]
        for own in learnt
    ]


@FEWER
@given(st.data(), st.integers(2, 3), st.integers(1, 3), st.none() | st.integers(0, 6))
def test_the_first_batch_chooses(
    draws: st.DataObject, order: int, support: int, most: int | None
) -> None:
    data = draws.draw(items(least=2))
    options = {"interactions": order, "min_support": support, "max_features": most}
    model = fitted(data, **options)
    learnt = bags(data, data.records, order)
    shown = supports(learnt, data.weights)
    enough = [j for j, n in shown.items() if n >= support]
    chosen = kept(model)
    if most is None or len(enough) <= most:
        assert chosen == set(enough)
    else:
        H = strengths(enough, learnt, soft(data.y), data.weights)
        assert chosen <= set(enough)
        assert len(chosen) == most
        weakest = min((H[j] for j in chosen), default=1.0)
        assert max(H[j] for j in set(enough) - chosen) <= weakest + 1e-9
    truth = learn(only(learnt, chosen), soft(data.y), data.weights)
    assert_learnt(model, truth)
    questions = draws.draw(asked(data))
    assert_predicts(model, questions, only(bags(data, questions, order), chosen), truth, Hyper())


@FEW
@given(items(smallest=0.25, least=2), st.integers(0, 3))
def test_later_batches_use_the_same_choice(data: Data, most: int) -> None:
    first, second = halves(data)
    model = fitted(first, interactions=2, max_features=most)
    chosen = kept(model)
    learn_more(model, second)
    everything = only(bags(data, data.records, 2), chosen)
    truth = learn(everything, soft(data.y), data.weights)
    assert_learnt(model, truth)
    assert_predicts(model, data.records, everything, truth, Hyper())
    model.unlearn(second.records, second.y, sample_weight=second.weights)
    again = fitted(first, interactions=2, max_features=most)
    assert_same(model, again, first.records)


@pytest.mark.parametrize("support", [1, 3])
def test_the_strongest_are_chosen(support: int) -> None:
    generator = np.random.default_rng(6)
    X = [
        {a: generator.choice(["u", "v", "w"], generator.integers(0, 3)).tolist() for a in "abc"}
        for _ in range(40)
    ]
    X[0]["b"] = {"u": 0.1, "v": 5.0}
    y = [{"p": 1.0, "q": 2.0} if n % 7 == 0 else {"pqqqrrrr"[n % 8]: 1.0} for n in range(40)]
    weights = generator.choice([0.0, 0.5, 1.0, 9.0], 40).tolist()
    learnt = bags(Data(X, y, weights, dict.fromkeys("abc", "list")), X, 2)
    enough = [j for j, n in supports(learnt, weights).items() if n >= support]
    H = strengths(enough, learnt, y, weights)
    ranked = sorted(enough, key=H.__getitem__, reverse=True)
    told = 0
    for most in range(1, len(ranked)):
        if H[ranked[most - 1]] - H[ranked[most]] > 1e-9:  # of equals, see below
            model = SparseTensorClassifier(
                interactions=2, min_support=support, max_features=most
            ).fit(X, y, weights)
            assert kept(model) == set(ranked[:most])
            told += 1
    assert told > 8


def test_what_tells_the_classes_apart_is_chosen() -> None:
    # a=u and b=v is always p; the others are as frequent in p as in q.
    X = [{"a": "u", "b": "v", "c": c} for c in "st" * 4]
    X += [{"a": "u", "b": "w", "c": c} for c in "st" * 4]
    y = ["p"] * 8 + ["q"] * 8
    model = SparseTensorClassifier(interactions=2, max_features=2).fit(X, y)
    assert kept(model) == {(("a", "b"), ("u", "v")), (("a", "b"), ("u", "w"))}


def test_equals_are_chosen_by_their_names() -> None:
    # All are alike; first come the names of the attributes, then their values, missing ones last.
    X = [{"c": "s", "b": "v", "a": "z"}, {"b": "w", "a": "y", "c": None}]
    y = ["p", "q"]
    every = ["a=y and b=w", "a=z and b=v", "a=y and b=w and c is missing", "a=z and b=v and c=s"]
    every += ["a=y and c is missing", "a=z and c=s", "b=v and c=s", "b=w and c is missing"]
    backwards = [dict(reversed(record.items())) for record in reversed(X)]
    for most in range(9):
        model = SparseTensorClassifier(interactions=3, max_features=most, missing="category")
        assert {name_of(feature) for feature in kept(model.fit(X, y))} == set(every[:most])
        assert {name_of(j) for j in kept(model.fit(backwards, y[::-1]))} == set(every[:most])


def test_of_equals_missing_values_are_chosen_last() -> None:
    X = [{"a": "z", "b": None}, {"a": "z", "b": "v"}, {"a": "z", "b": ""}]
    every = ["a=z and b=", "a=z and b=v", "a=z and b is missing"]
    for most in range(4):
        model = SparseTensorClassifier(interactions=2, max_features=most, missing="category")
        model.fit(X, ["p", "q", "r"])
        assert {name_of(feature) for feature in kept(model)} == set(every[:most])


def test_equals_are_chosen_whatever_the_order_of_items() -> None:
    generator = np.random.default_rng(8)
    X = [{a: str(generator.integers(3)) for a in "abcd"} for _ in range(30)]
    y = generator.choice(["p", "q"], 30).tolist()
    for most in (1, 5, 20, 60):
        models = []
        for order in (np.arange(30), generator.permutation(30)):
            model = SparseTensorClassifier(interactions=3, max_features=most)
            models.append(model.fit([X[n] for n in order], [y[n] for n in order]))
        assert kept(models[0]) == kept(models[1])
        assert len(kept(models[0])) == most


@pytest.mark.parametrize("options", [{"max_features": 0}, {"min_support": 3}], ids=str)
def test_no_conjunction_kept(options: dict[str, Any]) -> None:
    plain = SparseTensorClassifier().fit(PAIRS, PAIRED)
    model = SparseTensorClassifier(interactions=2, **options).fit(PAIRS, PAIRED)
    for more in (PAIRS, [{"a": "new", "b": "newer", "c": "newest"}]):
        labels = PAIRED[: len(more)]
        model.partial_fit(more, labels)
        plain.partial_fit(more, labels)
        assert sorted(model.get_feature_names_out()) == sorted(plain.get_feature_names_out())
        np.testing.assert_array_equal(model.predict_proba(PAIRS), plain.predict_proba(PAIRS))
        np.testing.assert_array_equal(model.coverage(PAIRS), plain.coverage(PAIRS))


def test_a_choice_without_interactions_changes_nothing() -> None:
    options = {"min_support": 2, "max_features": 0}
    model = SparseTensorClassifier(**options).fit(PAIRS, PAIRED)
    assert snapshot(model, PAIRS) == snapshot(SparseTensorClassifier().fit(PAIRS, PAIRED), PAIRS)


def test_items_without_weight_choose_nothing() -> None:
    X = [*PAIRS, PAIRS[0], PAIRS[2]]
    model = SparseTensorClassifier(interactions=2, min_support=2)
    model.fit(X, ["p", "q", "q", "p", "q"], sample_weight=[1, 1, 1, 1, 0])
    assert kept(model) == {(("a", "b"), ("u", "v"))}


# ---------------------------------------------------------------- size


def test_small_blocks_give_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    X = [
        {a: generator.choice(["u", "v", "w"], generator.integers(0, 3)).tolist() for a in "abc"}
        for _ in range(30)
    ]
    y = generator.choice(["p", "q"], 30).tolist()
    whole = SparseTensorClassifier(interactions=3, missing="category").fit(X, y)
    chosen = SparseTensorClassifier(interactions=3, max_features=9).fit(X, y)
    theta = generator.uniform(-3, 3, (30, 3))

    def answers(model: SparseTensorClassifier) -> list[Any]:
        methods = (model.predict_proba, model.predict_log_proba, model.coverage)
        with np.errstate(divide="ignore"):
            numbers = [method(X) for method in methods]
        return [*numbers, model.predict_proba(X, theta), model.explain(X).table]

    for model in (whole, chosen):
        before = answers(model)
        for size in (1, 7, 40):
            monkeypatch.setattr("stc.policy._BLOCK_TUPLES", size)
            for old, new in zip(before, answers(model), strict=True):
                if isinstance(old, pl.DataFrame):
                    assert old.drop("contribution", "share").equals(
                        new.drop("contribution", "share")
                    )
                    np.testing.assert_allclose(old["share"], new["share"], rtol=1e-12)
                else:
                    np.testing.assert_allclose(old, new, rtol=1e-12)
        monkeypatch.undo()


def test_blocks_hold_a_bounded_number_of_conjunctions(monkeypatch: pytest.MonkeyPatch) -> None:
    X = [list(row) for row in product("uv", repeat=3)] * 4  # with 7 values and conjunctions each
    model = SparseTensorClassifier(interactions=3).fit(X, ["p", "q"] * 16)
    held: list[int] = []
    applied = Interactions.applied

    def watched(self: Interactions, observed: Observations) -> Observations:
        held.append(observed.n_items)
        return applied(self, observed)

    monkeypatch.setattr(Interactions, "applied", watched)
    monkeypatch.setattr("stc.policy._BLOCK_TUPLES", 21)
    for method in (model.predict_proba, model.predict, model.coverage):
        held.clear()
        method(X)
        assert sum(held) == len(X)
        assert max(held) == 3


def entries(data: Data, order: int) -> int:
    """How many values and conjunctions the items have."""
    return sum(len(own) for own in bags(data, data.records, order))


@FEWER
@given(items(least=2), st.integers(2, 4))
def test_too_many_are_refused_by_their_number(data: Data, order: int) -> None:
    needed = entries(data, order)
    if needed < 2:
        return
    model = SparseTensorClassifier(interactions=order, max_tuples=needed - 1)
    words = rf"interactions={order}.* {needed:,} entries for {len(data)} items, more than "
    with pytest.raises(ValueError, match=words + f"max_tuples={needed - 1:,}; lower interactions"):
        model.fit(data.records, data.y, data.weights)
    assert not hasattr(model, "classes_")
    model.set_params(max_tuples=needed).fit(data.records, data.y, data.weights)


def test_the_conjunctions_are_counted_in_the_message() -> None:
    # 3 pairs and 1 triple of attributes.
    X = [{"a": 1, "b": 2, "c": 3}]
    for order, sets in ((2, 3), (3, 4), (9, 4)):
        model = SparseTensorClassifier(interactions=order, max_tuples=1)
        with pytest.raises(ValueError, match=f"would make {sets} conjunctions of the 3 attributes"):
            model.fit(X, ["p"])


def test_an_explosion_takes_no_memory() -> None:
    X = np.random.default_rng(2).integers(0, 3, (200, 60))
    y = np.arange(200) % 2
    model = SparseTensorClassifier(interactions=20)
    needed = 200 * sum(math.comb(60, size) for size in range(1, 21))
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"and {f'{needed:,}'[:12]}[\d,]+ entries for 200 items"):
        model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_later_calls_are_refused_as_the_first() -> None:
    model = SparseTensorClassifier(interactions=2, max_tuples=20).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS)
    crowd = [{"a": list(range(9)), "b": list(range(7))}]
    for method in (model.partial_fit, model.unlearn, model.learn_phases):
        with pytest.raises(ValueError, match=r"79 entries for 1 items, more than max_tuples=20"):
            method(crowd, ["p"])
    for method in (model.predict, model.predict_proba, model.coverage, model.explain):
        with pytest.raises(ValueError, match=r"item 1 .*\b79\b.* max_tuples=20"):
            method([*PAIRS[:1], *crowd])
    assert snapshot(model, PAIRS) == before


def test_only_the_conjunctions_chosen_are_counted() -> None:
    X = [{"a": "u", "b": "v", "c": c} for c in "rst"]
    model = SparseTensorClassifier(interactions=3, min_support=2, max_tuples=60)
    model.fit(X, PAIRED)
    crowd = {"a": list(range(5)), "b": list(range(6)), "c": list(range(7))}
    assert model.coverage([crowd]).tolist() == [0]  # 5 + 6 + 7 + 5 * 6 = 48 of them
    model.partial_fit([crowd], ["p"])
    more = {**crowd, "b": list(range(9))}
    with pytest.raises(ValueError, match=r"\b66\b.* max_tuples=60"):
        model.predict([more])
    with pytest.raises(ValueError, match=r"\b66 entries for 1 items, more than max_tuples=60"):
        model.partial_fit([more], ["p"])


def test_tuples_that_need_renumbering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc.product.LARGEST_KEY", 12)
    generator = np.random.default_rng(3)
    X = [
        {a: generator.choice(list("uvwx"), generator.integers(1, 3)).tolist() for a in "abcd"}
        for _ in range(5)
    ]
    y = list("ppqqr")
    model = SparseTensorClassifier(interactions=4).fit(X, y)
    data = Data(X, y, None, dict.fromkeys("abcd", "list"))
    assert_learnt(model, learn(bags(data, X, 4), soft(y)))


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
    monkeypatch.setattr("stc.policy._BLOCK_TUPLES", block)
    generator = np.random.default_rng(7)
    names = ["b", "a", "c"]
    rows = generator.choice(["u", "v", None], (24, 3)).tolist()
    X = [dict(zip(names, row, strict=True)) for row in rows]
    y = generator.choice(["p", "q", "r"], 24).tolist()
    frame = pl.DataFrame(rows, schema=names, orient="row")
    model = SparseTensorClassifier(interactions=3, max_features=most).fit(frame, y)
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


# ---------------------------------------------------------------- words in a row

WORDS = ("to", "be", "or", "not")


def rows_of_words(tokens: Sequence[str] | None, ngrams: int, missing: str = "ignore") -> Bag:
    """Words, and up to so many of them in a row, as often as they are there."""
    if not tokens:
        return {((None,), (None,)): 1} if missing == "category" else {}
    result: Counter[Feature] = Counter()
    for size in range(1, ngrams + 1):
        for start in range(len(tokens) - size + 1):
            result[(None,) * size, tuple(tokens[start : start + size])] += 1
    return result


texts = st.none() | st.lists(st.sampled_from(WORDS), max_size=6)


@FEWER
@given(st.data(), st.integers(2, 3), st.sampled_from(("ignore", "category")), hypers())
def test_words_in_a_row(draws: st.DataObject, ngrams: int, missing: str, hyper: Hyper) -> None:
    learnt = draws.draw(st.lists(texts, min_size=1, max_size=5))
    questions = [*draws.draw(st.lists(texts, max_size=3)), [UNSEEN.split()[0], "to", "be"]]
    y = draws.draw(st.lists(st.sampled_from("pqr"), min_size=len(learnt), max_size=len(learnt)))
    weights = draws.draw(sample_weights(len(learnt), 0.0))
    tokenizer = draws.draw(st.sampled_from((None, str.split)))
    model = model_of(hyper, ngrams=ngrams, missing=missing, tokenizer=tokenizer)

    def documents(several: Sequence[Any]) -> list[str | None]:
        return [None if tokens is None else " ".join(tokens) for tokens in several]

    model.fit(documents(learnt), y, weights)
    rows = [rows_of_words(tokens, ngrams, missing) for tokens in learnt]
    truth = learn(rows, soft(y), weights)
    assert_learnt(model, truth)
    expected = [rows_of_words(tokens, ngrams, missing) for tokens in questions]
    assert_predicts(model, documents(questions), expected, truth, hyper)
    assert_explains(model, documents(questions), expected, truth, hyper)


def test_many_words_in_a_row() -> None:
    generator = np.random.default_rng(5)
    names = [f"w{n}" for n in range(300)]
    tokens = [generator.choice(names, n).tolist() for n in (0, 400, 1, 2, 700, 3) for _ in range(3)]
    y = ["p", "q", "r"] * 6
    model = SparseTensorClassifier(ngrams=3).fit([" ".join(own) for own in tokens], y)
    support: Counter[tuple[Feature, str]] = Counter()
    mass: dict[tuple[Feature, str], float] = {}
    for own, label in zip(tokens, y, strict=True):
        rows = rows_of_words(own, 3)
        for feature, times in rows.items():
            support[feature, label] += 1  # type: ignore[index]
            share = times / sum(rows.values())
            mass[feature, label] = mass.get((feature, label), 0.0) + share  # type: ignore[index]
    assert table(model.corpus_, "support") == support
    assert table(model.corpus_, "mass") == pytest.approx(mass, rel=1e-12)


def test_rows_of_words_that_need_renumbering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc.product.LARGEST_KEY", 20)
    tokens = [["to", "be", "or", "not", "to", "be"], ["or", "to", "be"]]
    model = SparseTensorClassifier(ngrams=4).fit([" ".join(own) for own in tokens], ["p", "q"])
    assert_learnt(model, learn([rows_of_words(own, 4) for own in tokens], soft(["p", "q"])))


def test_a_pair_that_is_repeated_counts_as_often() -> None:
    model = SparseTensorClassifier(ngrams=2).fit(["a b a b"], ["p"])
    found = {" ".join(value): mass for _, value, _, mass, _ in model.corpus_.rows()}
    assert found == pytest.approx({"a": 2 / 7, "b": 2 / 7, "a b": 2 / 7, "b a": 1 / 7})
    assert model.corpus_["support"].to_list() == [1] * 4


def test_rows_do_not_reach_across_documents() -> None:
    model = SparseTensorClassifier(ngrams=3).fit(["a b", "", "c", None, "d e f"], list("ppppp"))
    names = ["a", "b", "a b", "c", "d", "e", "f", "d e", "e f", "d e f"]
    assert sorted(model.get_feature_names_out()) == sorted(names)


def test_a_token_of_two_words_is_not_the_pair() -> None:
    def split(text: str) -> list[str]:
        return text.split("|")

    X = ["new york", "new|york"]
    model = SparseTensorClassifier(ngrams=2, tokenizer=split).fit(X, ["city", "words"])
    assert model.get_feature_names_out().tolist() == ["new york", "new", "york", "new york"]
    assert model.corpus_["value"].to_list().count(["new york"]) == 1
    assert model.corpus_["value"].to_list().count(["new", "york"]) == 1
    assert model.predict_proba(X).tolist() == [[1, 0], [0, 1]]
    explained = model.explain(X).table.filter(pl.col("feature") == "new york")
    assert explained["value"].to_list() == [["new york"], ["new", "york"]]


@pytest.mark.parametrize("X", [["a", "b", None], ["", "", None]], ids=["one word", "no word"])
def test_documents_without_any_pair(X: list[Any]) -> None:
    model = SparseTensorClassifier(ngrams=3).fit(X, ["p", "q", "q"])
    plain = SparseTensorClassifier().fit(X, ["p", "q", "q"])
    assert model.get_feature_names_out().tolist() == plain.get_feature_names_out().tolist()
    assert model.corpus_.schema["value"] == pl.List(pl.String)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert model.predict(["a b"]).tolist() == plain.predict(["a b"]).tolist()


# A missing token is not there.
TOKENS: list[Any] = [["a", "b", "a"], ["b"], [], ["b", None, "a", None]]
LISTS: dict[str, Callable[[list[Any]], Any]] = {
    "polars": pl.Series,
    "pandas": pd.Series,
    "pyarrow": pa.array,
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS.keys())
def test_lists_of_tokens_have_rows_of_words(make: Callable[[list[Any]], Any]) -> None:
    y = list("pqqr")
    model = SparseTensorClassifier(ngrams=2).fit(make(TOKENS), y)
    expected = [rows_of_words([token for token in own if token], 2) for own in TOKENS]
    truth = learn(expected, soft(y))
    assert_learnt(model, truth)
    assert_predicts(model, make(TOKENS), expected, truth, Hyper())


def test_sets_of_tokens_have_no_rows_of_words() -> None:
    with pytest.raises(TypeError, match="item 0: ngrams=2 needs an order"):
        SparseTensorClassifier(ngrams=2).fit(pd.Series([{"a", "b"}, {"c"}]), ["p", "q"])


def test_pairs_are_chosen_by_the_first_batch() -> None:
    X = ["a b c", "a b d", "d c d", "c c", "c d"]
    y = ["p", "p", "q", "q", "p"]
    chosen = SparseTensorClassifier(ngrams=2, min_support=2).fit(X, y)
    twice = {((None, None), ("a", "b")), ((None, None), ("c", "d"))}
    assert kept(chosen) == twice
    chosen.partial_fit(["a c a c", "a b"], ["q", "q"])
    assert kept(chosen) == twice
    assert chosen.coverage(["a b d c"]).tolist() == [1]
    best = SparseTensorClassifier(ngrams=2, max_features=1).fit(X, y)
    assert kept(best) == {((None, None), ("a", "b"))}
    none = SparseTensorClassifier(ngrams=2, max_features=0).fit(X, y)
    plain = SparseTensorClassifier().fit(X, y)
    np.testing.assert_array_equal(none.predict_proba(X), plain.predict_proba(X))


@FEW
@given(st.lists(texts, min_size=2, max_size=6), st.integers(2, 3))
def test_rows_of_words_online(learnt: list[Any], ngrams: int) -> None:
    X = [None if tokens is None else " ".join(tokens) for tokens in learnt]
    y = ["pqr"[n % 3] for n in range(len(X))]
    middle = len(X) // 2
    whole, first, second = (
        SparseTensorClassifier(ngrams=ngrams).fit(X[part], y[part])
        for part in (slice(None), slice(middle), slice(middle, None))
    )
    assert_same(first + second, whole, X)
    assert_same(second + first, whole, X)
    assert_same(copy.deepcopy(first).partial_fit(X[middle:], y[middle:]), whole, X)
    assert_same(whole.unlearn(X[middle:], y[middle:]), first, X)


def test_rows_of_words_are_as_long_as_they_were_learnt() -> None:
    X, y = ["a b", "b a c"], ["p", "q"]
    model = SparseTensorClassifier(ngrams=2).fit(X, y)
    before = snapshot(model, X)
    model.set_params(ngrams=1)
    assert snapshot(model, X) == before
    with pytest.raises(ValueError, match=r"ngrams=2.* ngrams=1: set it back"):
        model.partial_fit(X, y)
    for one, two in ((model, SparseTensorClassifier()), (SparseTensorClassifier(), model)):
        pair = [own if own is model else own.fit(X, y) for own in (one, two)]
        with pytest.raises(ValueError, match=r"other conjunctions.*ngrams"):
            pair[0] + pair[1]
    assert snapshot(model, X) == before
    assert_same(
        model.unlearn(X[1:], y[1:]), SparseTensorClassifier(ngrams=2).fit(X[:1], y[:1]), X[:1]
    )


# ---------------------------------------------------------------- where there is none

NONE: dict[str, tuple[dict[str, Any], Any, str]] = {
    "documents": ({"interactions": 2}, ["a b", "c"], "interactions=2 .*documents.* set ngrams"),
    "counts": ({"interactions": 2}, sparse.csr_array(np.eye(2)), "interactions=2 .*sparse"),
    "each": ({"interactions": 2, "dimensions": "each"}, PAIRS[:2], "single dimension.*None"),
    "groups": (
        {"interactions": 2, "dimensions": [["a"], ["b"]]},
        PAIRS[:2],
        "interactions=2 .*single dimension: leave dimensions=None",
    ),
    "records": ({"ngrams": 2}, PAIRS[:2], "ngrams=2 is for documents"),
    "words of counts": ({"ngrams": 2}, sparse.csr_array(np.eye(2)), "ngrams=2 .*counts"),
}


@pytest.mark.parametrize(("options", "X", "words"), NONE.values(), ids=NONE.keys())
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_where_conjunctions_make_no_sense(
    options: dict[str, Any], X: Any, words: str, method: str
) -> None:
    model = SparseTensorClassifier(**options)
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(X, ["p", "q"])
    assert not hasattr(model, "classes_")


def test_what_is_unknown_is_said_in_words() -> None:
    model = SparseTensorClassifier(interactions=2).fit(PAIRS, PAIRED)
    explanation = model.explain([{"a": "new"}, {"a": "u"}])
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
