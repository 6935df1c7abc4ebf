"""Conjunctions by plain loops, data to draw, and what must be equal."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from stc import SparseTensorClassifier
from support.models import paper_model
from support.oracle import Bag, Class, Hyper, Oracle
from support.strategies import PROFILE, UNSEEN, Data, cells, sample_weights

# The attributes and the values of a feature; a single one is a conjunction of one.
Feature: TypeAlias = tuple[tuple[str | None, ...], tuple[str | None, ...]]
Parts: TypeAlias = Mapping[str, Mapping[str | None, Fraction]]
FEWER = settings(PROFILE, max_examples=25)
FEW = settings(PROFILE, max_examples=12)
# Sorted they stand otherwise than drawn; "a" + "x: y" and "a: x" + "y" must not meet.
ATTRIBUTES = ("legs", "a: x", "b", "a")
VALUES = ("y", "x: y", 1, 2.5)


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


def halves(data: Data) -> tuple[Data, Data]:
    middle = len(data) // 2
    return data.take(range(middle)), data.take(range(middle, len(data)))


def model_of(hyper: Hyper = Hyper(), **options: Any) -> SparseTensorClassifier:  # noqa: B008
    return paper_model(hyper.power, hyper.balance, hyper.entropy, **options)


def learn_more(model: SparseTensorClassifier, data: Data) -> SparseTensorClassifier:
    return model.partial_fit(data.records, data.y, sample_weight=data.weights)


def fitted(data: Data, **options: Any) -> SparseTensorClassifier:
    return paper_model(**options).fit(data.records, data.y, data.weights)


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
    explanation = model.explain_local(X)
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


PAIRS = [{"a": "u", "b": "v"}, {"b": "w", "a": "u"}, {"a": "t", "b": "v"}]
PAIRED = ["p", "q", "q"]


def supports(learnt: Sequence[Bag], weights: Sequence[float] | None) -> dict[Feature, float]:
    """How many items show each conjunction; one of weight 2 is two, and of weight 0 none."""
    shown: dict[Feature, float] = {}
    for own, weight in zip(learnt, weights or [1.0] * len(learnt), strict=True):
        for feature in own if weight > 0 else ():
            if len(feature[1]) > 1:  # type: ignore[arg-type]
                shown[feature] = shown.get(feature, 0.0) + max(weight, 1.0)
    return shown


def kept(model: SparseTensorClassifier) -> set[Feature]:
    """The conjunctions that a model has."""
    return {feature for feature, _ in table(model.corpus_, "mass") if len(feature[1]) > 1}


def only(learnt: Sequence[Bag], chosen: set[Feature]) -> list[Bag]:
    """Single values, and the conjunctions that were chosen."""
    return [
        {j: w for j, w in own.items() if len(j[1]) == 1 or j in chosen}  # type: ignore[index]
        for own in learnt
    ]


def entries(data: Data, order: int) -> int:
    """How many entries the items need: a conjunction of k attributes counts as k - 1."""
    return sum(
        max(len(names) - 1, 1) for own in bags(data, data.records, order) for names, _ in own
    )
