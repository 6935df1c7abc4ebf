"""Numbers and order with the rest of the model."""

import math
import pickle
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from support.models import paper_model
from support.oracle import Bag, Hyper, learn, observation
from support.scale_cases import (
    KNOWN,
    X,
    Y,
    assert_learnt,
    assert_predicts,
    of_knots,
    of_order,
    readable,
    snapshot,
    spread,
)
from support.strategies import bag, soft

SCALES = {"n": of_knots([0, 1, 4]), "s": of_order(["lo", "mid", "hi"])}


def expected_bags(records: Sequence[Any], missing: str = "ignore") -> list[Bag]:
    plain = [{**own, "n": readable(own.get("n"))} for own in records]
    return [spread(bag(own, ("n", "s", "c"), missing), SCALES) for own in plain]


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_conjunctions_of_scales(order: int, missing: str) -> None:
    model = paper_model(**KNOWN, interactions=order, missing=missing).fit(X, Y)

    def bags(records: Sequence[Any]) -> list[Bag]:
        result: list[Bag] = []
        for single in expected_bags(records, missing):
            by_name: dict[str, dict[Any, Any]] = {}
            for (attribute, value), weight in single.items():  # type: ignore[misc]
                by_name.setdefault(attribute, {})[value] = weight
            chosen = [
                [name for name, taken in zip(sorted(by_name), mask, strict=True) if taken]
                for mask in product((False, True), repeat=len(by_name))
            ]
            own: dict[Any, Fraction] = {}
            for names in chosen:
                if 0 < len(names) <= order:
                    for values in product(*(by_name[name] for name in names)):
                        parts = [by_name[n][v] for n, v in zip(names, values, strict=True)]
                        own[tuple(names), values] = math.prod(parts, start=Fraction(1))
            result.append(own)
        return result

    truth = learn(bags(X), soft(Y))
    corpus = model.corpus_
    found = {((tuple(a), tuple(v)), c): (m, n) for a, v, c, m, n in corpus.rows()}
    assert {entry: n for entry, (_, n) in found.items()} == truth.support
    mass = {entry: float(c) for entry, c in truth.corpus.items()}
    assert {entry: m for entry, (m, _) in found.items()} == pytest.approx(mass, rel=1e-12)
    assert_predicts(model, X, bags(X), truth, Hyper())
    assert "n=below 0.5 and s=lo" in set(model.get_feature_names_out())


def test_dimensions_of_scales() -> None:
    model = paper_model(**KNOWN, dimensions=[["n"], ["s"]]).fit(X, Y)
    questions = []
    for single in expected_bags(X):
        n, s = (
            observation({j: w for j, w in single.items() if j[0] == name})  # type: ignore[index]
            for name in "ns"
        )
        questions.append({(a, b): n[a] * s[b] for a in n for b in s})
    truth = learn(questions, soft(Y))
    expected = [truth.probabilities(own, Hyper()) for own in questions]
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=0, atol=1e-12)


def test_explanations_name_the_interval() -> None:
    model = paper_model(**KNOWN).fit(X, Y)
    explanation = model.explain_local([{"n": 0.25, "s": "lo"}])
    truth = learn(expected_bags(X), soft(Y))
    parts = truth.contributions(expected_bags([{"n": 0.25, "s": "lo"}])[0], Hyper())
    label = explanation.labels[0]
    expected = {j: float(w) for (j, i), w in parts.items() if i == label and w}
    rows = explanation.table.to_dicts()
    assert {(r["attribute"], r["value"]): r["contribution"] for r in rows} == pytest.approx(
        expected
    )
    names = {f"{attribute}={value}" for attribute, value in expected}
    assert names == {row["feature"] for row in rows}
    assert "n=below 0.5" in explanation.sentences()[0]


@pytest.mark.parametrize("order", [1, 2])
def test_theta_turns_all_of_a_number(order: int) -> None:
    generator = np.random.default_rng(2)
    model = paper_model(**KNOWN, interactions=order).fit(X, Y)
    plain = paper_model(interactions=order)
    # The same weights, as the categories of a record.
    scaled = []
    for single in expected_bags(X):
        record: dict[str, dict[Any, float]] = {}
        for (attribute, value), weight in single.items():  # type: ignore[misc]
            record.setdefault(attribute, {})[value] = float(weight)
        scaled.append(record)
    plain.fit(scaled, Y)
    theta = [{name: generator.uniform(-3, 3) for name in "nsc"} for _ in X]
    np.testing.assert_allclose(
        model.predict_proba(X, theta), plain.predict_proba(scaled, theta), rtol=0, atol=1e-12
    )
    assert not np.allclose(model.predict_proba(X, theta), model.predict_proba(X), atol=1e-3)
    zero = [dict.fromkeys("nsc", 0.0) for _ in X]
    np.testing.assert_array_equal(model.predict_proba(X, zero), model.predict_proba(X))


def test_theta_by_hand() -> None:
    # Both hats of 1/4 have the angle of the cell, so a quarter turn between n and c.
    model = paper_model(1, 0, 0, continuous={"n": [0, 1]})
    model.fit([{"n": 0.25, "c": "u"}, {"n": 1, "c": "v"}], ["p", "q"])
    truth = learn(
        [{"low": Fraction(3, 4), "high": Fraction(1, 4), "u": 1}, {"high": 1, "v": 1}],
        soft(["p", "q"]),
    )
    asked = {"low": Fraction(1, 2), "high": Fraction(1, 2), "u": 1}
    U = dict.fromkeys("pq", 0j)
    for (j, i), w in truth.contributions(asked, Hyper(1, 0, 0)).items():
        U[i] += float(w) * (1j if j in ("low", "high") else 1)
    expected = np.abs([U["p"], U["q"]])
    found = model.predict_proba([{"n": 0.5, "c": "u"}], [{"n": math.pi / 2}])
    np.testing.assert_allclose(found, [expected / expected.sum()], rtol=0, atol=1e-12)


def test_theta_needs_one_number_a_cell() -> None:
    model = paper_model(**KNOWN).fit(X, Y)
    before = snapshot(model, X)
    with pytest.raises(ValueError, match=r"column 'n': theta needs one number per cell"):
        model.predict([{"n": [1, 2]}], [{"n": 0.5}])
    assert snapshot(model, X) == before


@pytest.mark.parametrize("missing", ["ignore", "category"])
@pytest.mark.parametrize("cut", range(1, 6))
def test_parts_make_a_whole(cut: int, missing: str) -> None:
    records = X if missing == "ignore" else [{"n": None, "s": None, "c": None, **own} for own in X]
    options = {**KNOWN, "missing": missing}
    truth = learn(expected_bags(records, missing), soft(Y))
    parts = paper_model(**options)
    for part in (slice(cut, None), slice(cut)):
        parts.partial_fit(records[part], Y[part])
    assert_learnt(parts, truth)
    first = paper_model(**options).fit(records[:cut], Y[:cut])
    second = paper_model(**options).fit(records[cut:], Y[cut:])
    assert_learnt(first + second, truth)
    assert_learnt(second + first, truth)
    assert_predicts(first + second, records, expected_bags(records, missing), truth, Hyper())
    parts.unlearn(records[cut:], Y[cut:])
    assert_learnt(parts, learn(expected_bags(records[:cut], missing), soft(Y[:cut])))
    assert parts.corpus_.drop("mass").equals(first.corpus_.drop("mass"))


def test_knots_stay_those_of_the_first_batch() -> None:
    first = [{"n": number} for number in (0, 1, 2, 3)]
    later = [{"n": number} for number in (1.5, 100, -100)]
    model = paper_model(continuous={"n": 2}).fit(first, list("pppq"))
    model.partial_fit(later, list("qqp"))
    given_ = paper_model(continuous={"n": [0, 3]}).fit(first + later, list("pppqqqp"))
    assert model.corpus_.drop("mass").equals(given_.corpus_.drop("mass"))
    np.testing.assert_allclose(model.corpus_["mass"], given_.corpus_["mass"], rtol=1e-12)
    model.set_params(continuous=None, ordinal=None)  # they act when the first batch is learnt
    np.testing.assert_array_equal(model.predict_proba(later), given_.predict_proba(later))
    twin = pickle.loads(pickle.dumps(model))
    assert snapshot(twin, later) == snapshot(model, later)
    assert twin.fit(first, list("pppq")).get_feature_names_out().tolist() == [
        "n=0",
        "n=1",
        "n=2",
        "n=3",
    ]


OTHER_SCALES: dict[str, dict[str, Any]] = {
    "none": {},
    "other knots": {**KNOWN, "continuous": {"n": [0, 1, 5]}},
    "fewer knots": {**KNOWN, "continuous": {"n": [0, 1]}},
    "no numbers": {"ordinal": KNOWN["ordinal"]},
    "another order": {**KNOWN, "ordinal": {"s": ["hi", "mid", "lo"]}},
    "a longer order": {**KNOWN, "ordinal": {"s": ["lo", "mid", "hi", "top"]}},
    "no order": {"continuous": KNOWN["continuous"]},
}


@pytest.mark.parametrize("options", OTHER_SCALES.values(), ids=OTHER_SCALES.keys())
def test_models_of_other_scales_are_not_merged(options: dict[str, Any]) -> None:
    model = paper_model(**KNOWN).fit(X, Y)
    other = paper_model(**options).fit(X, Y)
    before = snapshot(model, X), snapshot(other, X)
    for one, two in ((model, other), (other, model)):
        with pytest.raises(ValueError, match=r"^column '[ns]'.*another scale.*knots.*same order"):
            one + two
    assert (snapshot(model, X), snapshot(other, X)) == before
