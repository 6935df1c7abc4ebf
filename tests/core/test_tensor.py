"""Tensors: every set of dimensions against a dense oracle."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle import Hyper, learn
from support.strategies import (
    ATTRIBUTES,
    PROFILE,
    Data,
    Record,
    hypers,
    questions,
    soft,
    tables,
    to_pandas,
    to_polars,
)
from support.tensor_cases import (
    CLASSICAL,
    MODEST,
    WORDS,
    Answers,
    Case,
    Layout,
    assert_learnt,
    assert_predicts,
    build,
    cases,
)
from support.tensor_oracle import learn_tensor

MANY = settings(PROFILE, max_examples=100)


# The oracle, by hand and against the exact one.

HAND = [{"a": "u", "b": ["x", "y"]}, {"a": "u", "b": "x"}, {"a": "v"}]
HAND_Y = ["A", "B", "B"]
HAND_LAYOUT = Layout("each", {"a": ("a",), "b": ("b",)})
BY_HAND = [
    # C_uxA = 1/2, C_uyA = 1/2, C_uxB = 1: B_uxA = 1/3, B_uxB = 2/3.
    (CLASSICAL, {"a": "u", "b": "x"}, [1 / 3, 2 / 3], ("a", "b")),
    # Half of it is unseen, which is the same for both classes.
    (CLASSICAL, {"a": "u", "b": ["x", "z"]}, [1 / 3, 2 / 3], ("a", "b")),
    # Balanced: B_uxA = B_uyA = 1/2 and B_uxB = 1, each times 1/2.
    (Hyper(1, 1, 0), {"a": "u", "b": ["x", "y"]}, [0.5, 0.5], ("a", "b")),
    # An unseen value of b: C_uA = 1, C_uB = 1 of the set a alone.
    (CLASSICAL, {"a": "u", "b": "z"}, [0.5, 0.5], ("a",)),
    # No value of b at all; B has u in 1 of 2 and A in 1 of 1.
    (Hyper(1, 1, 0), {"a": "u"}, [2 / 3, 1 / 3], ("a",)),
    (Hyper(0.5, 1, 0), {"a": "u"}, [2 / 3, 1 / 3], ("a",)),
    (CLASSICAL, {"a": ["v", "u"]}, [1 / 4, 3 / 4], ("a",)),
    # v and x were seen, but never together.
    (CLASSICAL, {"a": "v", "b": "x"}, [0, 1], ("a",)),
    (CLASSICAL, {"a": "z", "b": "x"}, [1 / 3, 2 / 3], ()),
    (CLASSICAL, {"b": "y"}, [1 / 3, 2 / 3], ()),
]


@pytest.mark.parametrize(("hyper", "asked", "expected", "used"), BY_HAND)
def test_by_hand(hyper: Hyper, asked: Record, expected: list[float], used: tuple[str]) -> None:
    policy = [["a", "b"], ["a"]]
    truth = learn_tensor(HAND_LAYOUT.items(HAND), soft(HAND_Y))
    chain, items = HAND_LAYOUT.chain(policy), HAND_LAYOUT.items([asked])
    np.testing.assert_allclose(
        truth.probabilities(items, chain, hyper).astype(float), [expected], rtol=0, atol=1e-15
    )
    assert HAND_LAYOUT.named(truth.used(items[0], chain, hyper)) == used
    model = build(hyper, dimensions="each", policy=policy).fit(HAND, HAND_Y)
    np.testing.assert_allclose(model.predict_proba([asked]), [expected], rtol=0, atol=1e-12)
    assert model.policy_used([asked]).tolist() == [used]
    assert model.policy_ == [["a", "b"], ["a"], []]


def test_entropy_counts_the_classes_of_its_own_set() -> None:
    # C has no value of b, so over both dimensions there are two classes.
    X = [{"a": "u", "b": "x"}, {"a": "u", "b": "x"}, {"a": "v", "b": "y"}, {"a": "u"}]
    y = ["A", "B", "B", "C"]
    case = Case(Data(X, y, None, {}), HAND_LAYOUT, None, Answers(y, soft(y)), Hyper(1, 0, 1))
    H = case.truth.entropy((0, 1))
    assert case.truth.features == [[("a", "u"), ("a", "v")], [("b", "x"), ("b", "y")]]
    # Balanced, A has 1 in ux and B 1/2, so P = (2/3, 1/3); of I = 2, not of 3.
    expected = 1 + (2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3)) / math.log(2)
    assert float(H[0, 0]) == pytest.approx(expected, abs=1e-15)
    asked = [{"a": ["u", "v"], "b": ["x", "y"]}]
    # B_uxA = 1/2, B_uxB = 1/2, B_vyB = 1; x_j = 1/4 each, and H_vy = 1.
    U = [expected / 2, expected / 2 + 1, 0]
    proba = case.fitted().predict_proba(asked)
    np.testing.assert_allclose(proba, [np.array(U) / sum(U)], rtol=0, atol=1e-12)


@MODEST
@given(st.data(), tables(), hypers())
def test_the_oracle_of_one_dimension_is_the_exact_one(
    draws: st.DataObject, data: Data, hyper: Hyper
) -> None:
    bags = data.bags([*data.records, *draws.draw(questions(data)), {}])
    exact = learn(bags[: len(data)], soft(data.y), data.weights)
    dense = learn_tensor([[b] for b in bags[: len(data)]], soft(data.y), data.weights)
    assert dense.classes == exact.classes
    expected = {((j,), i): (float(c), exact.support[j, i]) for (j, i), c in exact.corpus.items()}
    found = dense.entries((0,))
    assert {key: n for key, (_, n) in found.items()} == {k: n for k, (_, n) in expected.items()}
    assert {key: m for key, (m, _) in found.items()} == pytest.approx(
        {key: m for key, (m, _) in expected.items()}, rel=1e-15
    )
    proba = dense.probabilities([[b] for b in bags], [(0,)], hyper).astype(float)
    truth = [exact.probabilities(b, hyper) for b in bags]
    np.testing.assert_allclose(proba, truth, rtol=0, atol=exact.tolerance(hyper))
    covered = [dense.coverage([b], [(0,)]) for b in bags]
    assert covered == pytest.approx([exact.coverage(b) for b in bags], abs=1e-15)
    assert dense.tolerance([(0,)], hyper) == pytest.approx(exact.tolerance(hyper), rel=1e-3)


# The model against the oracle.


@MANY
@given(cases())
def test_any_tensor_of_records(case: Case) -> None:
    model = case.fitted()
    assert_learnt(model, case)
    asked = [*case.asked, *case.data.records, {}]
    assert_predicts(model, asked, asked, case)


@MODEST
@given(cases(framed=True), st.booleans())
def test_any_tensor_of_a_frame(case: Case, polars: bool) -> None:
    data, asked = case.data, case.asked
    learnt, frame = (
        to_polars(records, data, WORDS) if polars else to_pandas(records, data)
        for records in (data.records, asked)
    )
    model = case.model().fit(learnt, case.answers.y, sample_weight=data.weights)
    assert_learnt(model, case)
    assert_predicts(model, frame, asked, case)
    assert_predicts(model, asked, asked, case)


@MODEST
@given(cases(), st.lists(hypers(), min_size=2, max_size=3))
def test_hyper_parameters_act_at_prediction_time(case: Case, several: list[Hyper]) -> None:
    model = case.fitted()
    for h in several:
        model.set_params(power=h.power, balance=h.balance, entropy=h.entropy)
        now = replace(case, hyper=h)
        assert_predicts(model, case.data.records, case.data.records, now)


# 5 dimensions, several attributes in some, values missing in some items.
FIVE = Layout(
    {"p": ["a", "b"], "q": "c", "r": ["d"], "s": ["e", "f"], "t": "g"},
    {"p": ("a", "b"), "q": ("c",), "r": ("d",), "s": ("e", "f"), "t": ("g",)},
)


def five(items: int, seed: int) -> list[Record]:
    draw = np.random.default_rng(seed)

    def cell(attribute: str) -> Any:
        values = [f"{attribute}{k}" for k in draw.integers(0, 3, draw.integers(1, 4))]
        if draw.random() < 0.5:
            return {v: float(w) for v, w in zip(values, draw.random(len(values)), strict=True)}
        return values if draw.random() < 0.9 else None

    return [{attribute: cell(attribute) for attribute in "abcdefg"} for _ in range(items)]


@pytest.mark.parametrize("hyper", [Hyper(), CLASSICAL, Hyper(0.5, 1, 0), Hyper(1 / 3, 0.5, 2)])
def test_five_dimensions_and_all_their_sets(hyper: Hyper) -> None:
    sizes = range(len(FIVE.names), 0, -1)
    policy = [list(S) for size in sizes for S in combinations(FIVE.names, size)]
    X, asked = five(24, 0), [*five(6, 1), {"a": "a0", "c": "c1", "e": "no"}, {}]
    y = [{"A": 1.0, "B": n % 3, "C": n % 2} for n in range(24)]
    weights = [0.5 + n % 4 for n in range(24)]
    case = Case(Data(X, y, weights, {}), FIVE, policy, Answers(y, soft(y)), hyper)
    model = case.fitted()
    assert_learnt(model, case)
    assert_predicts(model, asked, asked, case)
    assert len(set(model.policy_used([*X, *asked]).tolist())) > 4
    for S in policy[::5]:
        assert_predicts(model.set_params(policy=[S]), asked, asked, replace(case, policy=[S]))


def glued(record: Record) -> Record:
    """Tuples as the texts of one attribute: the slow way to the same."""
    return {"all": ["|".join(each) for each in product(*record.values())]}


@pytest.mark.parametrize(("dimensions", "values"), [(13, 60), (70, 2), (3, 4)])
@pytest.mark.parametrize("several", [False, True])
def test_tuples_are_never_confused(dimensions: int, values: int, several: bool) -> None:
    # But for the last, the full tensors have more than 2^64 cells, more than a number can count.
    dice = Random(dimensions)
    X = [{f"d{k}": [str(dice.randrange(values))] for k in range(dimensions)} for _ in range(120)]
    if several:
        X = [{**r, "d0": ["1", "0"], "d2": ["0", *r["d2"], "u"]} for r in X]
    X[90:] = X[:30]
    y = dice.choices("ABC", k=120)
    model = build(dimensions="each").fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    other = build().fit([glued(r) for r in X], y)
    known = pl.col("value").list.join("|"), "class", "support"
    tuples, texts = (
        model.corpus_.select(known).rows(),
        other.corpus_.select("value", *known[1:]).rows(),
    )
    assert sorted(tuples) == sorted(texts)
    asked = [*X, *({**a, "d0": b["d0"]} for a, b in pairwise(X))]
    expected = other.predict_proba([glued(r) for r in asked])
    np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=0, atol=1e-12)


def test_many_tuples_of_many_items_are_scored_in_parts() -> None:
    # 100 items of up to 125,000 tuples each: more than is wise to hold at once.
    dice = Random(0)
    X = [{a: [str(k) for k in range(50)] for a in "abc"}, {"a": "0", "b": "1", "c": "2"}]
    model = build(CLASSICAL, dimensions="each").fit([*X, {"a": "3"}], ["A", "B", "C"])
    sizes = [(dice.choice((1, 50)), dice.choice((1, 50)), 50) for _ in range(100)]
    asked = [
        {a: [str(k) for k in range(size)] for a, size in zip("abc", three, strict=True)}
        for three in sizes
    ]
    # Only (0, 1, 2) tells B, by 1 of 1 / 125,000, and an item has it if b goes beyond 0.
    mine, theirs = 1 / 125_000, 1.0
    share = [1 / math.prod(three) if three[1] > 1 else 0.0 for three in sizes]
    B = np.array([s * theirs / (mine + theirs) for s in share])
    expected = np.column_stack([1 - B, B, 0 * B])
    np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=0, atol=1e-12)


@MODEST
@given(cases(one_target=True))
def test_contributions_rebuild_the_probabilities(case: Case) -> None:
    model, truth = case.fitted(), case.truth
    records = [*case.data.records, *case.asked]
    explanation, proba = model.explain_local(records), model.predict_proba(records)
    tolerance = truth.tolerance(case.chain, case.hyper)
    np.testing.assert_allclose(explanation.probabilities, proba.max(axis=1), rtol=0, atol=1e-12)
    for n, item in enumerate(case.items(records)):
        S = truth.used(item, case.chain, case.hyper)
        label = truth.classes.index(explanation.labels[n])
        rows = explanation.table.filter(pl.col("item") == n)
        if not S:
            assert rows.is_empty()
            continue
        w = truth.contributions(item, S, case.hyper)[..., label]
        expected = {truth.tuple_at(S, j): float(w[j]) for j in zip(*np.nonzero(w), strict=True)}
        found = contributions(rows, len(case.layout.groups) > 1)
        assert found == pytest.approx(expected, rel=max(1e-9, tolerance), abs=1e-12)
        U = truth.scores(item, S, case.hyper)
        odds = (U / sum(found.values())) ** (1 / np.longdouble(case.hyper.power))
        assert explanation.probabilities[n] == pytest.approx(float(1 / odds.sum()), abs=tolerance)


def contributions(rows: pl.DataFrame, several: bool) -> dict[Any, float]:
    """Tuples of (attribute, value), as the oracle names them."""
    found = {}
    for a, v, w in rows.select("attribute", "value", "contribution").iter_rows():
        key = tuple(zip(a, v, strict=True)) if several else ((a, v),)
        assert key not in found
        found[key] = w
    return found


def test_shares_of_an_explanation_sum_to_one_and_sentences_join_values() -> None:
    X = [{"legs": 4, "hair": 1}, {"legs": 4, "hair": 0}, {"legs": 2, "hair": 1}]
    model = build(dimensions="each", policy=[["legs", "hair"], ["hair"]])
    model.fit(X, ["cat", "frog", "ape"])
    asked = [{"legs": 4, "hair": [1, 0]}, {"legs": 3, "hair": 0}, {"legs": 3}]
    explanation = model.explain_local(asked)
    cat, frog, nothing = explanation.sentences()
    assert "legs=4 & hair=1 (100 %)" in cat or "legs=4 & hair=0 (100 %)" in cat
    assert frog == "frog, 1.00: because hair=0 (100 %)"
    assert "because" not in nothing.replace("because nothing", "")
    shares = explanation.table.group_by("item", maintain_order=True).agg(pl.col("share").sum())
    assert shares["share"].to_list() == pytest.approx([1.0, 1.0], abs=1e-12)
    assert explanation.table.schema["attribute"] == pl.List(pl.String)
    assert explanation.table.schema["value"] == pl.List(pl.String)
    assert explanation.table["attribute"].to_list()[-1] == ["hair"]


@MODEST
@given(cases(one_target=True), st.integers(2, 5))
def test_a_marginal_is_the_sum_of_the_full_tensor(case: Case, dimensions: int) -> None:
    names = list(ATTRIBUTES[:dimensions])
    policy = [list(S) for k in range(len(names), 0, -1) for S in combinations(names, k)]
    dice = Random(len(case.data))
    X = [{a: dice.choices(WORDS, k=dice.randint(1, 3)) for a in names} for _ in case.data.y]
    model = build(dimensions="each", policy=policy)
    table = model.fit(X, case.data.y, sample_weight=case.data.weights).corpus_
    full = table.filter(pl.col("dimensions") == pl.lit(names, dtype=pl.List(pl.String)))
    for S in policy:
        expected = marginalised(full, S)
        found = {
            (tuple(v), c): m
            for d, v, c, m in table.select("dimensions", "value", "class", "mass").iter_rows()
            if d == S
        }
        assert found == pytest.approx(expected, rel=1e-12)


def marginalised(full: pl.DataFrame, S: Sequence[str]) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for names, values, label, mass in full.select("dimensions", "value", "class", "mass").rows():
        key = (tuple(v for name, v in zip(names, values, strict=True) if name in S), label)
        sums[key] = sums.get(key, 0.0) + mass
    return sums


@MODEST
@given(cases(one_target=True), st.booleans())
def test_a_group_of_everything_is_no_group(case: Case, named: bool) -> None:
    order = list(case.data.kinds)[::-1]
    data, asked = case.data, [*case.data.records, *case.asked, {}]
    name = "it all" if named else "+".join(order)
    plain, model = (
        case.model(dimensions=spelt, policy=None).fit(data.records, data.y, data.weights)
        for spelt in (None, {name: order} if named else [order])
    )
    proba = plain.predict_proba(asked)
    np.testing.assert_allclose(model.predict_proba(asked), proba, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.coverage(asked), plain.coverage(asked), rtol=0, atol=1e-12)
    assert model.policy_ == [[name], []]
    assert plain.policy_ == [["all"], []]
    assert model.policy_used(asked).tolist() == [S and (name,) for S in plain.policy_used(asked)]
