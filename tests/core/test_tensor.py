"""Tensors and policies: every set of dimensions against a dense oracle, and the rules around."""

import math
import pickle
import re
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise, product
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from stc import PolicyAgent, SparseTensorClassifier
from support.oracle import Bag, Hyper, learn
from support.strategies import (
    ATTRIBUTES,
    LABELS,
    PROFILE,
    UNSEEN,
    Data,
    Record,
    bag,
    hypers,
    questions,
    soft,
    tables,
    to_pandas,
    to_polars,
)
from support.tensor_oracle import Set, Tensor, joint, learn_tensor, marginal, value

MANY = settings(PROFILE, max_examples=100)
MODEST = settings(PROFILE, max_examples=30)
# Few values, so that tuples repeat; 1 and 1.0 are one.
FEW = ("u", "v", "x: y", 1, 1.0)
WORDS = ("u", "v", "x: y", "1")
CLASSICAL = Hyper(1, 0, 0)
FRAMED = ("one", "list", "dict")
# Names of dimensions that are also names of attributes must not be taken for them.
NAMES = ("legs", "one", "a", "x & y", "two")


# How a user says it, and what it means.


@dataclass(frozen=True)
class Layout:
    """Dimensions as a user spells them, and the attributes of each."""

    spelt: Any
    groups: dict[str, tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        return list(self.groups)

    def items(self, records: Sequence[Record], missing: str = "ignore") -> list[list[Bag]]:
        """One bag per dimension; attributes that no group names are left out."""
        return [[self.part(r, group, missing) for group in self.groups.values()] for r in records]

    def part(self, record: Record, group: tuple[str, ...], missing: str) -> Bag:
        return bag({a: record[a] for a in group if a in record}, group, missing)

    def chain(self, policy: Sequence[Sequence[str]] | None) -> list[Set]:
        """A policy as positions; the empty set is what remains."""
        sets = [self.names] if policy is None else policy
        return [tuple(sorted(self.names.index(name) for name in S)) for S in sets if S]

    def named(self, S: Set) -> tuple[str, ...]:
        return tuple(self.names[d] for d in S)


@dataclass(frozen=True)
class Answers:
    """y as a user gives it, and what it means; ``names`` are those of several targets."""

    y: Any
    soft: list[dict[Any, Any]]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """All that a test of a random tensor needs."""

    data: Data
    layout: Layout
    policy: list[list[str]] | None
    answers: Answers
    hyper: Hyper
    missing: str = "ignore"
    asked: Sequence[Record] = ()

    @property
    def chain(self) -> list[Set]:
        return self.layout.chain(self.policy)

    def model(self, **more: Any) -> SparseTensorClassifier:
        options = {"dimensions": self.layout.spelt, "policy": self.policy, "label_threshold": 0.5}
        return build(self.hyper, missing=self.missing, **{**options, **more})

    def fitted(self) -> SparseTensorClassifier:
        return self.model().fit(self.data.records, self.answers.y, sample_weight=self.data.weights)

    def items(self, records: Sequence[Record]) -> list[list[Bag]]:
        return self.layout.items(records, self.missing)

    @cached_property
    def truth(self) -> Tensor:
        return learn_tensor(self.items(self.data.records), self.answers.soft, self.data.weights)


def build(hyper: Hyper = Hyper(), **options: Any) -> SparseTensorClassifier:  # noqa: B008
    return SparseTensorClassifier(hyper.power, hyper.balance, hyper.entropy, **options)


# Every case is drawn from one seed: hypothesis varies the seed, so no two cases are alike, while
# its own mutations would repeat the sizes that came first.


def random_case(seed: int, framed: bool, one_target: bool, smallest: float) -> Case:
    """Items of 1 to 5 dimensions, which have every attribute, be it with no value."""
    dice = Random(seed)
    attributes = dice.sample(ATTRIBUTES, dice.choice((1, 2, 3, 3, 4, 4, 5)))
    kinds = {a: dice.choice(FRAMED) if framed else "any" for a in attributes}
    values = WORDS if framed else FEW
    records = random_records(dice, kinds, values, dice.choice((2, 3, 5, 8, 12)))
    layout = random_layout(dice, attributes)
    pool = dice.choice(LABELS)[: dice.randint(1, 5)]
    answers = one(dice, pool, len(records))
    if not one_target:
        answers = dice.choice((one, one, joint_targets, label_sets))(dice, pool, len(records))
    weights = random_weights(dice, smallest, len(records))
    data = Data(records, answers.y, weights, kinds)
    asked = random_records(dice, kinds, (*values, UNSEEN), 4)
    missing = dice.choice(("ignore", "ignore", "category"))
    policy = random_policy(dice, layout.names)
    return Case(data, layout, policy, answers, random_hyper(dice), missing, asked)


def cases(
    *, framed: bool = False, one_target: bool = False, smallest: float = 0.0
) -> st.SearchStrategy[Case]:
    seeds = st.integers(0, 2**32 - 1)
    return seeds.map(lambda seed: random_case(seed, framed, one_target, smallest))


def random_records(
    dice: Random, kinds: Mapping[str, str], values: Sequence[Any], size: int
) -> list[Record]:
    return [{a: random_cell(dice, kind, values) for a, kind in kinds.items()} for _ in range(size)]


def random_cell(dice: Random, kind: str, values: Sequence[Any]) -> Any:
    """One value, a list with repeats, a dict of weights, or nothing."""
    if dice.random() < 0.12:
        return dice.choice((None, math.nan, [])) if kind == "any" else None
    kind = dice.choice(FRAMED) if kind == "any" else kind
    if kind == "one":
        return dice.choice(values)
    several = dice.choices(values, k=dice.randint(1, 3))
    return several if kind == "list" else {v: random_weight(dice, 0.0) for v in several}


def random_weight(dice: Random, smallest: float) -> float:
    return dice.choice((smallest, 0.5, 1.0, 1.0, 2.0, 3.0, dice.uniform(0.1, 10)))


def random_weights(dice: Random, smallest: float, size: int) -> list[float] | None:
    """None, or weights of which some are zero but never all."""
    weights = [random_weight(dice, smallest) for _ in range(size)]
    return dice.choice((None, weights if any(weights) else [1.0, *weights[1:]]))


def random_layout(dice: Random, attributes: Sequence[str]) -> Layout:
    """None, "each", a list of groups or a dict of them, some attributes left out."""
    kind = dice.choice(("none", "each", "each", "list", "list", "dict", "dict"))
    if kind == "none":
        return Layout(None, {"all": tuple(attributes)})
    if kind == "each":
        return Layout("each", {a: (a,) for a in attributes})
    chosen = dice.sample(attributes, max(1, len(attributes) - dice.choice((0, 0, 1))))
    places = [dice.randrange(4) for _ in chosen]
    groups = [
        [a for a, p in zip(chosen, places, strict=True) if p == k] for k in sorted(set(places))
    ]
    spelt = [g[0] if len(g) == 1 and dice.random() < 0.5 else g for g in groups]
    names = ["+".join(g) for g in groups] if kind == "list" else NAMES[: len(groups)]
    meant = dict(zip(names, map(tuple, groups), strict=True))
    return Layout(dict(zip(names, spelt, strict=True)) if kind == "dict" else spelt, meant)


def random_policy(dice: Random, names: Sequence[str]) -> list[list[str]] | None:
    """None, or up to five sets in any order, their names in any order, with or without []."""
    if dice.random() < 0.2:
        return None
    sets = [dice.sample(names, dice.randint(1, len(names))) for _ in range(dice.randrange(6))]
    policy = list({frozenset(S): S for S in sets}.values())
    return [*policy, []] if dice.random() < 0.5 else policy


def random_hyper(dice: Random) -> Hyper:
    """The named corners often."""
    corners = (Hyper(), CLASSICAL, Hyper(1, 0, 1), Hyper(0.5, 1, 0), Hyper(1 / 3))
    free = Hyper(dice.uniform(0.01, 4), dice.uniform(0, 2), dice.uniform(0, 4))
    return dice.choice((*corners, free, free, free))


def one(dice: Random, pool: Sequence[Any], size: int) -> Answers:
    """A label an item, or a distribution over labels."""
    y: list[Any] = dice.choices(pool, k=size)
    if dice.random() < 0.5:
        y = [{c: random_weight(dice, 0.25) for c in dice.choices(pool, k=2)} for _ in y]
    return Answers(y, soft(y))


def joint_targets(dice: Random, pool: Sequence[Any], size: int) -> Answers:
    """Two or three columns, text and whole numbers, in an array or a frame."""
    pools = (("p", "q", "r"), (3, 2, -7), ("s", "t"))[: dice.choice((2, 3))]
    rows = [tuple(dice.choice(labels) for labels in pools) for _ in range(size)]
    meant = [joint([{cell: 1} for cell in row]) for row in rows]
    form = dice.choice((None, pl.DataFrame, pd.DataFrame))
    if form is None:
        names = tuple(f"target{t}" for t in range(len(pools)))
        return Answers(np.array(rows, dtype=object), meant, names)
    named = ("animal", "class", "a")[: len(pools)]
    columns = dict(zip(named, map(list, zip(*rows, strict=True)), strict=True))
    return Answers(form(columns), meant, named)


def label_sets(dice: Random, pool: Sequence[Any], size: int) -> Answers:
    """Lists with repeats, tuples or sets of labels; each label counts once."""
    kind, labels = dice.choice((list, tuple, set, frozenset)), dice.choice(("pqr", (3, 2, -7)))
    y = [kind(dice.choices(labels, k=dice.randint(1, 4))) for _ in range(size)]
    return Answers(y, [dict.fromkeys(labels, 1) for labels in y])


# What must be equal.


def assert_learnt(model: SparseTensorClassifier, case: Case) -> None:
    """The corpus of every set of the policy, and no other entry."""
    truth = case.truth
    several = len(case.layout.groups) > 1
    expected: dict[Any, tuple[float, int]] = {}
    for S in case.chain:
        for (features, label), numbers in truth.entries(S).items():
            told = label if case.answers.names else (label,)
            attributes, values = zip(*features, strict=True)
            expected[case.layout.named(S) if several else (), attributes, values, told] = numbers
    found = read_corpus(model.corpus_, case.answers.names or ("class",), several)
    assert {key: n for key, (_, n) in found.items()} == {k: n for k, (_, n) in expected.items()}
    mass = {key: m for key, (m, _) in expected.items()}
    assert {key: m for key, (m, _) in found.items()} == pytest.approx(mass, rel=1e-12, abs=0)
    assert len(model.corpus_) == len(expected)


def read_corpus(table: pl.DataFrame, labels: Sequence[str], several: bool) -> dict[Any, Any]:
    """``corpus_`` as a dict: of lists with several dimensions, of texts with one."""
    front = ["dimensions", "attribute", "value"] if several else ["attribute", "value"]
    assert table.columns == [*front, *labels, "mass", "support"]
    entries = {}
    for row in table.iter_rows():
        *key, mass, support = row
        told = tuple(key[len(front) :])
        parts = [tuple(part) if several else (part,) for part in key[: len(front)]]
        entries[(*([] if several else [()]), *parts, told)] = (mass, support)
    return entries


def assert_predicts(
    model: SparseTensorClassifier, X: Any, records: Sequence[Record], case: Case
) -> None:
    """Probabilities, their logarithms, the set that answered and the coverage are the oracle's."""
    truth, items, chain = case.truth, case.items(records), case.chain
    logs = np.array([truth.logarithms(item, chain, case.hyper) for item in items])
    tolerance = truth.tolerance(chain, case.hyper)
    if case.answers.names:
        assert_joint(model, X, np.exp(logs).astype(float), truth.classes, case, tolerance)
    else:
        assert list(model.classes_) == truth.classes
        assert_probabilities(model.predict_proba(X), np.exp(logs), tolerance)
        assert_logarithms(model, X, logs, tolerance)
    used = [case.layout.named(truth.used(item, chain, case.hyper)) for item in items]
    found = model.policy_used(X)
    assert (found.dtype, found.shape) == (object, (len(records),))
    assert found.tolist() == used
    covered = [truth.coverage(item, chain) for item in items]
    np.testing.assert_allclose(model.coverage(X), covered, rtol=0, atol=1e-12)


def assert_probabilities(found: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, expected.astype(float), rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


def assert_logarithms(model: SparseTensorClassifier, X: Any, logs: Any, tolerance: float) -> None:
    """Also where a probability itself is too small for a double; minus infinity where it is 0."""
    with np.errstate(divide="ignore"):
        found = model.predict_log_proba(X)
    np.testing.assert_allclose(found, logs.astype(float), rtol=1e-9, atol=10 * tolerance)


def assert_joint(
    model: SparseTensorClassifier,
    X: Any,
    expected: np.ndarray,
    classes: list[tuple[Any, ...]],
    case: Case,
    tolerance: float,
) -> None:
    """The joint table, its marginals, their logarithms, and the likeliest combination."""
    assert [tuple(row) for row in model.joint_classes_.tolist()] == classes
    table = model.predict_joint(X)
    assert table.columns == ["item", *case.answers.names, "probability"]
    told = table.drop("probability").rows()
    assert told == [(n, *c) for n in range(len(expected)) for c in classes]
    np.testing.assert_allclose(table["probability"], expected.ravel(), rtol=0, atol=tolerance)
    with np.errstate(divide="ignore"):
        logs = model.predict_log_proba(X)
    for t, found in enumerate(model.predict_proba(X)):
        values, columns = marginal(classes, expected, t)
        assert model.classes_[t].tolist() == values
        assert_probabilities(found, columns, tolerance)
        np.testing.assert_allclose(np.exp(logs[t]), found, rtol=0, atol=1e-12)
    chosen = model.predict(X)
    assert chosen.shape == (len(expected), len(case.answers.names))
    places = [classes.index(tuple(row)) for row in chosen.tolist()]
    best = expected[np.arange(len(expected)), places]
    assert (best >= expected.max(axis=1) - 2 * tolerance).all()


def refusal(act: Callable[..., Any], *arguments: Any) -> str:
    """What the ValueError says."""
    with pytest.raises(ValueError, match=r"\w") as error:
        act(*arguments)
    return str(error.value)


def snapshot(model: SparseTensorClassifier, asked: Any) -> tuple[Any, ...]:
    """All that can be seen of a model of one target, bit for bit."""
    return (
        model.corpus_.rows(),
        model.corpus_.schema,
        model.policy_,
        model.classes_.tolist(),
        model.class_mass_.tobytes(),
        model.predict_proba(asked).tobytes(),
        model.policy_used(asked).tolist(),
        model.coverage(asked).tobytes(),
    )


def assert_same(a: SparseTensorClassifier, b: SparseTensorClassifier, case: Case) -> None:
    """The same sets with the same entries, and the same predictions."""
    keys = [column for column in a.corpus_.columns if column != "mass"]
    assert a.policy_ == b.policy_
    assert a.corpus_.select(keys).equals(b.corpus_.select(keys))
    np.testing.assert_allclose(a.corpus_["mass"], b.corpus_["mass"], rtol=1e-12)
    np.testing.assert_allclose(a.class_mass_, b.class_mass_, rtol=1e-12)
    asked = [*case.data.records, {}]
    tolerance = case.truth.tolerance(case.chain, case.hyper)
    ours, theirs = a.predict_proba(asked), b.predict_proba(asked)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)
    assert a.policy_used(asked).tolist() == b.policy_used(asked).tolist()


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
    explanation, proba = model.explain(records), model.predict_proba(records)
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
    explanation = model.explain(asked)
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


# Spellings and containers.

TABLE = {
    "a": ["u", "v", "u", "v", "u", "w"],
    "b": ["x", "x", "y", None, "y", "x"],
    "c": ["1", "2", "2", "1", "1", "3"],
}
TABLE_Y = ["A", "B", "A", "B", "C", "C"]
TABLE_RECORDS = [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)]
ASKED = {"a": ["u", "w", "no"], "b": ["y", None, "x"], "c": ["1", "3", "3"]}
ASKED_RECORDS = [dict(zip(ASKED, row, strict=True)) for row in zip(*ASKED.values(), strict=True)]

CONTAINERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "records": lambda t: [dict(zip(t, row, strict=True)) for row in zip(*t.values(), strict=True)],
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "categories": lambda t: pd.DataFrame(t).astype("category"),
    "arrow": lambda t: pl.DataFrame(t).to_arrow(),
    "array": lambda t: np.array(list(zip(*t.values(), strict=True)), dtype=object),
    "lists": lambda t: [list(row) for row in zip(*t.values(), strict=True)],
}
SPELT: list[tuple[Any, dict[str, str]]] = [
    (None, {"all": "abc"}),
    ("each", {"a": "a", "b": "b", "c": "c"}),
    ([["a", "b"], ["c"]], {"a+b": "ab", "c": "c"}),
    ([["a", "b"], "c"], {"a+b": "ab", "c": "c"}),
    ((("c", "a"), "b"), {"c+a": "ca", "b": "b"}),
    (["b", "a"], {"b": "b", "a": "a"}),
    ([["c"]], {"c": "c"}),
    ({"one": ["a", "b"], "two": "c"}, {"one": "ab", "two": "c"}),
    ({"b": ("c",), "c": ["b"]}, {"b": "c", "c": "b"}),
]


def unnamed(spelt: Any, position: bool) -> Any:
    """The same for columns without names: x0, x1, ..., or their positions."""
    if isinstance(spelt, dict):
        return {name: unnamed(group, position) for name, group in spelt.items()}
    if isinstance(spelt, list | tuple):
        return type(spelt)(unnamed(part, position) for part in spelt)
    if spelt not in list("abc"):
        return spelt
    return "abc".index(spelt) if position else f"x{'abc'.index(spelt)}"


def assert_spelt(X: Any, asked: Any, spelt: Any, names: Sequence[str], meant: Any) -> None:
    """Fitted and asked in one container, the model is the oracle's."""
    model = build(dimensions=spelt).fit(X, TABLE_Y)
    assert model.policy_ == [list(names), []]
    layout = Layout(spelt, {name: tuple(group) for name, group in meant.items()})
    truth = learn_tensor(layout.items(TABLE_RECORDS), soft(TABLE_Y))
    expected = truth.probabilities(layout.items(ASKED_RECORDS), layout.chain(None), Hyper())
    assert_probabilities(model.predict_proba(asked), expected, 1e-12)


@pytest.mark.parametrize(("spelt", "meant"), SPELT, ids=str)
@pytest.mark.parametrize("container", [c for c in CONTAINERS if c not in ("array", "lists")])
def test_named_columns(container: str, spelt: Any, meant: dict[str, str]) -> None:
    X, asked = CONTAINERS[container](TABLE), CONTAINERS[container](ASKED)
    assert_spelt(X, asked, spelt, list(meant), meant)


@pytest.mark.parametrize(("spelt", "meant"), SPELT, ids=str)
@pytest.mark.parametrize("container", ["array", "lists"])
@pytest.mark.parametrize("position", [False, True], ids=["x0", "0"])
def test_unnamed_columns(container: str, spelt: Any, meant: dict[str, str], position: bool) -> None:
    X, asked = CONTAINERS[container](TABLE), CONTAINERS[container](ASKED)
    own = isinstance(spelt, dict) or spelt is None
    names = (
        list(meant) if own else ["+".join(f"x{'abc'.index(a)}" for a in g) for g in meant.values()]
    )
    assert_spelt(X, asked, unnamed(spelt, position), names, meant)


def test_numpy_positions() -> None:
    X = CONTAINERS["array"](TABLE)
    spelt = [list(np.array([0, 1])), [np.int64(2)]]
    assert build(dimensions=spelt).fit(X, TABLE_Y).policy_ == [["x0+x1", "x2"], []]


def test_attributes_of_no_group_are_left_out() -> None:
    model = build(dimensions=["a", "c"]).fit(TABLE_RECORDS, TABLE_Y)
    without = [{k: v for k, v in r.items() if k != "b"} for r in TABLE_RECORDS]
    other = build(dimensions="each").fit(without, TABLE_Y)
    assert model.corpus_.equals(other.corpus_)
    strange = [{**r, "b": "never learnt", "d": "new"} for r in ASKED_RECORDS]
    assert (
        model.predict_proba(strange).tolist()
        == other.predict_proba([{k: r[k] for k in "ac"} for r in ASKED_RECORDS]).tolist()
    )
    assert model.partial_fit(strange, TABLE_Y[:3]).policy_ == [["a", "c"], []]


def test_records_of_each_are_closed_by_the_first_batch() -> None:
    model = build(dimensions="each").fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    with pytest.raises(ValueError, match="colour"):
        model.partial_fit([{"a": "u", "colour": "red"}], ["A"])
    assert snapshot(model, ASKED_RECORDS) == before
    model.partial_fit([{"a": "u"}], ["A"])
    assert model.class_mass_.tolist() == [3, 2, 2]
    assert snapshot(model, ASKED_RECORDS)[0] == before[0]


# Policies.


def test_policy_defaults_to_everything_then_nothing() -> None:
    model = build(dimensions="each").fit(TABLE_RECORDS, TABLE_Y)
    assert model.policy_ == [["a", "b", "c"], []]
    assert model.policy_used(ASKED_RECORDS).tolist() == [("a", "b", "c"), (), ()]


@pytest.mark.parametrize("closed", [False, True])
def test_the_closing_set_is_added_if_absent(closed: bool) -> None:
    policy = [["a", "c"], ["c"], *([[]] if closed else [])]
    model = build(dimensions="each", policy=policy).fit(TABLE_RECORDS, TABLE_Y)
    assert model.policy_ == [["a", "c"], ["c"], []]
    assert model.get_params()["policy"] is policy
    assert len(policy) == 2 + closed


@pytest.mark.parametrize("policy", [[], [[]]])
def test_a_policy_of_nothing_gives_the_class_frequencies(policy: list[Any]) -> None:
    model = build(dimensions="each", policy=policy).fit(TABLE_RECORDS, [*"AABBCA"])
    assert model.policy_ == [[]]
    expected = [[1 / 2, 1 / 3, 1 / 6]] * 3
    np.testing.assert_allclose(model.predict_proba(ASKED_RECORDS), expected, atol=1e-12)
    assert model.policy_used(ASKED_RECORDS).tolist() == [(), (), ()]
    assert model.coverage(ASKED_RECORDS).tolist() == [0, 0, 0]
    assert model.corpus_.is_empty()


def test_only_items_without_any_score_go_on() -> None:
    X = [{"a": "u", "b": "u"}, {"a": "u", "b": "u"}, {"a": "v", "b": "w"}, {"a": "v", "b": "w"}]
    model = build(dimensions="each", policy=[["a", "b"], ["b"], ["a"]]).fit(X, [*"ABBB"])
    asked = [{"a": "v", "b": "w"}, {"a": "v", "b": "u"}, {"a": "v", "b": "new"}, {"a": "v"}, {}]
    used = [("a", "b"), ("b",), ("a",), ("a",), ()]
    assert model.policy_used(asked).tolist() == used


def test_a_set_that_knows_but_says_nothing_does_not_answer() -> None:
    X = [{"a": "u", "b": "u"}] * 2
    model = build(dimensions="each", policy=[["a", "b"], ["a"]]).fit(X, ["A", "B"])
    assert model.policy_used(X).tolist() == [(), ()]
    assert model.coverage(X).tolist() == [1, 1]


def test_rounding_is_no_information() -> None:
    # Every class has half of its mass in each tuple, but seven times 0.3 by adding is not 2.1.
    tuples = [{"a": "u", "b": "x"}] * 7 + [{"a": "v", "b": "y"}]
    weights = [0.3 * k * share for k in range(1, 8) for share in (*[1] * 7, 7)]
    y = [label for label in "ABCDEFG" for _ in tuples]
    model = build(dimensions="each").fit(tuples * 7, y, sample_weight=weights)
    assert model.policy_used(tuples).tolist() == [()] * 8
    assert model.set_params(entropy=0).policy_used(tuples[:1]).tolist() == [("a", "b")]


def test_coverage_is_of_the_first_set_that_knows_any() -> None:
    X = [{"a": ["u", "v"], "b": "x"}, {"a": "w", "b": "y"}]
    model = build(dimensions="each", policy=[["a", "b"], ["b"]]).fit(X, [*"AB"])
    asked = [
        {"a": ["u", "v", "w", "no"], "b": ["x", "y", "no", "no"]},  # ux, vx, wy of 16
        {"a": "no", "b": ["x", "no"]},
        {"a": "no", "b": "no"},
        {"b": "y"},
        {"a": "u"},
    ]
    assert model.coverage(asked) == pytest.approx([3 / 16, 0.5, 0, 1, 0], abs=1e-15)


def test_names_in_a_set_follow_the_dimensions() -> None:
    model = build(dimensions=["c", "a", "b"], policy=[["b", "a", "c"], ["a", "c"]])
    model.fit(TABLE_RECORDS, TABLE_Y)
    used = model.policy_used([TABLE_RECORDS[0], {"a": "u", "c": "1"}]).tolist()
    assert used == [("c", "a", "b"), ("c", "a")]


def test_policy_used_needs_a_fitted_model() -> None:
    with pytest.raises(NotFittedError):
        build(dimensions="each").policy_used(TABLE_RECORDS)


@MODEST
@given(cases(smallest=0.25, one_target=True), st.data())
def test_a_policy_set_after_fitting_acts_at_once_and_is_kept_up_to_date(
    case: Case, draws: st.DataObject
) -> None:
    sets = [list(case.layout.named(S)) for S in case.chain]
    chosen = draws.draw(st.permutations(sets))[: draws.draw(st.integers(0, len(sets)))]
    data, half = case.data, len(case.data) // 2
    first, second = data.take(range(half)), data.take(range(half, len(data)))
    model = case.model().fit(first.records, first.y, sample_weight=first.weights)
    model.set_params(policy=chosen)
    model.partial_fit(second.records, second.y, sample_weight=second.weights)
    assert_predicts(model, case.asked, case.asked, replace(case, policy=chosen))
    assert_predicts(model.set_params(policy=case.policy), case.asked, case.asked, case)


@pytest.mark.parametrize(
    ("policy", "named"),
    [([["b"]], "b"), (None, "c"), ([["a"], ["a", "c"], ["b", "c"]], "c")],
    ids=str,
)
def test_a_set_never_learnt_is_told(policy: Any, named: str) -> None:
    known = [["a", "b"], ["a"], []]
    model = build(dimensions="each", policy=known).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    asks = (model.predict, model.predict_proba, model.policy_used, model.coverage, model.explain)
    for ask in asks:
        with pytest.raises(ValueError, match=rf"(?s){named}.*learn|learn.*{named}"):
            model.set_params(policy=policy) and ask(ASKED_RECORDS)
    assert snapshot(model.set_params(policy=known), ASKED_RECORDS) == before


# Learning is a sum, for all sets.

# Every weight positive, so that every part of the data may be learnt alone.
ONLINE = cases(smallest=0.25, one_target=True)


@st.composite
def parted(draw: st.DrawFn, data: Data, parts: int | None = None) -> list[Data]:
    order = draw(st.permutations(range(len(data))))
    cut = st.sets(st.integers(1, len(data) - 1), max_size=3)
    if parts:
        cut = st.sets(st.integers(1, len(data) - 1), min_size=parts - 1, max_size=parts - 1)
    cuts = sorted(draw(cut))
    borders = zip([0, *cuts], [*cuts, len(data)], strict=True)
    return [data.take(order[start:stop]) for start, stop in borders]


def add(model: SparseTensorClassifier, data: Data) -> SparseTensorClassifier:
    return model.partial_fit(data.records, data.y, sample_weight=data.weights)


@MODEST
@given(ONLINE, st.data())
def test_any_partition_in_any_order_is_one_fit(case: Case, draws: st.DataObject) -> None:
    model = case.model()
    for part in draws.draw(parted(case.data)):
        add(model, part)
        model.predict_proba(part.records)  # what is cached now must not survive the next part
    assert_same(model, case.fitted(), case)
    assert_learnt(model, case)


@MODEST
@given(ONLINE, st.data())
def test_unlearning_leaves_no_residue(case: Case, draws: st.DataObject) -> None:
    kept, gone = draws.draw(parted(case.data, parts=2))
    model = case.fitted()
    model.unlearn(gone.records, gone.y, sample_weight=gone.weights)
    assert_same(model, add(case.model(), kept), case)
    add(model, gone)
    assert_learnt(model, case)


@MODEST
@given(ONLINE, st.data())
def test_merging_is_fitting_the_union(case: Case, draws: st.DataObject) -> None:
    first, second = (add(case.model(), part) for part in draws.draw(parted(case.data, parts=2)))
    asked = case.data.records
    before = snapshot(first, asked), snapshot(second, asked)
    both, reverse = first + second, second + first
    assert (snapshot(first, asked), snapshot(second, asked)) == before
    assert_same(both, case.fitted(), case)
    assert_same(reverse, both, case)
    assert first.merge(second) is first
    assert_same(first, both, case)
    assert snapshot(second, asked) == before[1]


def test_a_sum_shares_nothing_with_its_parts() -> None:
    a, b = (
        build(dimensions="each", policy=[["a", "b"], ["c"]]).fit(TABLE_RECORDS[part], TABLE_Y[part])
        for part in (slice(3), slice(3, 6))
    )
    before = snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)
    (a + b).partial_fit(TABLE_RECORDS, TABLE_Y).unlearn(TABLE_RECORDS[:2], TABLE_Y[:2])
    assert (snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)) == before


UNMERGEABLE = [
    ("each", [["a", "b"], ["a"]], "each", [["a", "b"]]),
    ("each", [["b"]], "each", [["a"]]),
    ("each", None, [["a", "b"], "c"], None),
    ([["a", "b"], "c"], None, None, None),
    ({"p": "a", "q": "b"}, None, {"p": "b", "q": "a"}, None),
]


@pytest.mark.parametrize(("ours", "policy", "theirs", "other"), UNMERGEABLE)
def test_models_that_do_not_fit_are_not_merged(
    ours: Any, policy: Any, theirs: Any, other: Any
) -> None:
    a = build(dimensions=ours, policy=policy).fit(TABLE_RECORDS[:3], TABLE_Y[:3])
    b = build(dimensions=theirs, policy=other).fit(TABLE_RECORDS[3:], TABLE_Y[3:])
    before = snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)
    for attempt in (lambda: a.merge(b), lambda: a + b):
        with pytest.raises(ValueError, match=r"dimension|set|policy"):
            attempt()
    assert (snapshot(a, ASKED_RECORDS), snapshot(b, ASKED_RECORDS)) == before


def test_the_other_model_may_have_more_sets() -> None:
    sets = [["a", "b"], ["b"], ["c"]]
    a = build(dimensions="each", policy=sets[:1]).fit(TABLE_RECORDS[:3], TABLE_Y[:3])
    b = build(dimensions="each", policy=sets).fit(TABLE_RECORDS[3:], TABLE_Y[3:])
    whole = build(dimensions="each", policy=sets[:1]).fit(TABLE_RECORDS, TABLE_Y)
    merged = a.merge(b)
    assert merged.policy_ == whole.policy_
    assert merged.corpus_.equals(whole.corpus_)
    with pytest.raises(ValueError, match="learn"):
        merged.set_params(policy=[["b"]]).predict(ASKED_RECORDS)


STRANGERS = [
    ({"a": "u", "b": "x", "c": "3"}, "A"),  # every value was learnt, the tuple never
    ({"a": "u", "b": "no", "c": "1"}, "A"),
    ({"a": "v", "b": "x", "c": "2"}, "A"),  # the tuple was learnt of B
    ({"a": "u", "b": "x"}, "A"),
    ({"a": "u", "b": "x", "c": "1"}, "Z"),
]


@pytest.mark.parametrize(("stranger", "label"), STRANGERS)
def test_unlearning_what_was_never_learnt(stranger: Record, label: str) -> None:
    policy = [["a", "b", "c"], ["a", "b"], ["c"]]
    model = build(dimensions="each", policy=policy).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    with pytest.raises(ValueError, match="learn"):
        model.unlearn([TABLE_RECORDS[0], stranger], ["A", label])
    assert snapshot(model, ASKED_RECORDS) == before


def test_unlearning_everything_leaves_an_empty_model() -> None:
    model = build(dimensions="each", policy=[["a", "b"], ["c"]]).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    model.unlearn(TABLE_RECORDS, TABLE_Y)
    with pytest.raises(NotFittedError):
        model.predict(ASKED_RECORDS)
    assert snapshot(model.partial_fit(TABLE_RECORDS, TABLE_Y), ASKED_RECORDS) == before


# Too many tuples.


def many(items: int, *sizes: int) -> list[Record]:
    """Items with so many values in each attribute."""
    return [
        {f"d{k}": [f"v{j}" for j in range(size)] for k, size in enumerate(sizes)}
        for _ in range(items)
    ]


def digits(said: str) -> str:
    """The message, its numbers without separators."""
    return re.sub(r"(?<=\d)[,_ '](?=\d{3})", "", said)


SMALL = many(3, 2, 3)


@pytest.mark.parametrize("act", ["fit", "partial_fit"])
def test_as_many_tuples_as_allowed_are_learnt(act: str) -> None:
    model = build(dimensions="each", max_tuples=18)
    getattr(model, act)(SMALL, [*"ABA"])
    assert len(model.corpus_) == 12


@pytest.mark.parametrize("act", ["fit", "partial_fit", "unlearn"])
@pytest.mark.parametrize("policy", [None, [["d0"], ["d1", "d0"]]])
def test_one_tuple_too_many_is_refused_and_nothing_changes(act: str, policy: Any) -> None:
    model = build(dimensions="each", policy=policy).fit(SMALL, [*"ABA"])
    before = snapshot(model, SMALL)
    model.set_params(max_tuples=17)
    with pytest.raises(ValueError, match=r"\b18\b"):
        getattr(model, act)(SMALL, [*"ABA"])
    assert snapshot(model, SMALL) == before


def test_each_set_of_the_policy_counts_for_itself() -> None:
    X = many(3, 2, 3, 4)
    model = build(dimensions="each", policy=[["d0", "d1"], ["d1", "d2"], ["d2"]], max_tuples=36)
    assert len(model.fit(X, [*"ABA"]).corpus_) == 2 * (6 + 12 + 4)
    with pytest.raises(ValueError, match=r"\b36\b"):
        model.set_params(max_tuples=35).fit(X, [*"ABA"])


def test_one_dimension_is_no_product() -> None:
    model = build(CLASSICAL, dimensions="each", policy=[["d0"], ["d1"]], max_tuples=1)
    assert len(model.fit(SMALL, [*"ABA"]).corpus_) == 10
    assert model.policy_used(SMALL).tolist() == [("d0",)] * 3


def test_in_prediction_the_limit_is_of_one_item() -> None:
    model = build(dimensions="each").fit(SMALL, [*"ABA"])
    expected = model.predict_proba(SMALL).tolist()
    assert model.set_params(max_tuples=6).predict_proba(SMALL).tolist() == expected
    model.set_params(max_tuples=5)
    for ask in (model.predict, model.predict_proba, model.policy_used, model.explain):
        with pytest.raises(ValueError, match=r"\b6\b"):
            ask(SMALL)
    assert model.predict_proba(many(1, 1, 3)).shape == (1, 2)


def test_a_set_that_an_item_does_not_come_to_needs_no_tuples() -> None:
    model = build(CLASSICAL, dimensions="each", policy=[["d0"], ["d0", "d1"]])
    model.fit(SMALL, [*"ABA"]).set_params(max_tuples=5)
    assert model.policy_used(SMALL).tolist() == [("d0",)] * 3
    assert model.predict_proba(SMALL).shape == (3, 2)
    assert model.coverage(SMALL).tolist() == [1, 1, 1]
    asked = [SMALL[0], {"d1": "v0"}, {**SMALL[0], "d0": ["no", "never"]}]
    for ask in (model.predict, model.explain, model.coverage):
        with pytest.raises(ValueError, match=r"item 2 .*\b6\b"):
            ask(asked)


@pytest.mark.parametrize(("sizes", "count"), [([30] * 12, 30**12), ([30] * 20, 30**20)])
def test_a_product_beyond_all_bounds_is_refused_at_once(sizes: list[int], count: int) -> None:
    X = many(1, *sizes)
    model = build(dimensions="each")
    start = time.perf_counter()
    said = digits(refusal(model.fit, X, ["A"]))
    assert time.perf_counter() - start < 5
    assert max(map(float, re.findall(r"\d+", said))) == pytest.approx(count, rel=1e-9)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_memory_is_not_spent_before_refusing() -> None:
    X = many(40, 100, 100, 100)
    model = build(dimensions="each", policy=[["d0"], ["d0", "d1", "d2"]])
    tracemalloc.start()
    try:
        said = refusal(model.fit, X, ["A", "B"] * 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "40000000" in digits(said)
    assert peak < 30e6


def test_a_prediction_of_many_tuples_a_item_is_refused_without_memory() -> None:
    X = many(1, 300, 300, 300)
    model = build(dimensions="each").fit(many(1, 2, 2, 2), ["A"])
    model.partial_fit([{f"d{k}": f"v{j}" for k in range(3)} for j in range(300)], ["B"] * 300)
    assert "27000000" in digits(refusal(model.predict, X))


def test_a_set_too_large_is_passed_by_if_the_policy_lacks_it() -> None:
    X = many(2, 50, 50, 50)
    options = {"policy": [["d1"], ["d0", "d2"]], "max_tuples": 5_000}
    model = build(dimensions="each", **options).fit(X, ["A", "B"])
    assert len(model.corpus_) == 2 * (50 + 2_500)


# Bad input: the culprit is named, the model stays.

BAD_DIMENSIONS = {
    "an unknown attribute": ([["a", "zebra"], ["c"]], ["zebra", "'a'", "'b'", "'c'"]),
    "an unknown attribute of a dict": ({"p": "a", "q": ["zebra"]}, ["zebra"]),
    "one attribute in two groups": ([["a", "b"], ["b", "c"]], ["b"]),
    "one attribute twice in a group": ([["b", "b"]], ["b"]),
    "one attribute twice, bare": ({"p": "b", "q": ["a", "b"]}, ["b"]),
    "an empty group": ([["a"], []], ["empty|no attribute|without"]),
    "an empty group of a dict": ({"p": "a", "hollow": []}, ["hollow"]),
    "no group": ([], ["dimensions"]),
    "no group of a dict": ({}, ["dimensions"]),
    "a word that is none": ("all of them", ["each"]),
    "a number": (3, ["dimensions"]),
}


@pytest.mark.parametrize(("bad", "said"), BAD_DIMENSIONS.values(), ids=BAD_DIMENSIONS.keys())
@pytest.mark.parametrize("frame", [False, True])
def test_bad_dimensions(bad: Any, said: list[str], frame: bool) -> None:
    X = pl.DataFrame(TABLE) if frame else TABLE_RECORDS
    model = build(dimensions="each").fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    message = refusal(model.set_params(dimensions=bad).fit, X, TABLE_Y)
    assert all(re.search(word, message) for word in said), message
    assert snapshot(model.set_params(dimensions="each"), ASKED_RECORDS) == before


def test_two_dimensions_of_one_name() -> None:
    X = [{"a": 1, "b": 2, "a+b": 3}]
    with pytest.raises(ValueError, match=r"a\+b"):
        build(dimensions=[["a", "b"], "a+b"]).fit(X, ["A"])
    spelt = {"p": ["a", "b"], "q": "a+b"}
    assert build(dimensions=spelt).fit(X, ["A"]).policy_ == [["p", "q"], []]


@pytest.mark.parametrize("bad", [[[0, 9]], [[0], [9]], [[0, "x9"]], [[-1], [0]]])
def test_positions_that_are_not_there(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"9|-1"):
        build(dimensions=bad).fit(CONTAINERS["array"](TABLE), TABLE_Y)


@pytest.mark.parametrize("bad", [[[0], ["x0"]], [[1, 1], [0]]])
def test_one_position_twice(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"x?[01]"):
        build(dimensions=bad).fit(CONTAINERS["array"](TABLE), TABLE_Y)


@pytest.mark.parametrize("spelt", ["each", [[0], [1]], {"p": ["x0"]}], ids=str)
@pytest.mark.parametrize(
    "X",
    [["red and blue", "blue"], sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])],
    ids=["text", "counts"],
)
def test_documents_and_counts_have_one_dimension(X: Any, spelt: Any) -> None:
    with pytest.raises(ValueError, match="dimensions"):
        build(dimensions=spelt).fit(X, ["A", "B"])
    assert build().fit(X, ["A", "B"]).policy_ == [["all"], []]


BAD_POLICIES = {
    "an unknown dimension": ([["a", "zebra"], ["a"]], ["zebra", "'a'", "'b'", "'c'"]),
    "a dimension twice in a set": ([["a", "b", "a"]], ["a"]),
    "a set twice": ([["a"], ["b"], ["a"]], ["a"]),
    "a set twice in another order": ([["a", "b"], ["b", "a"]], ["a", "b"]),
    "nothing before something": ([["a"], [], ["b"]], [r"\[\]"]),
    "nothing twice": ([["a"], [], []], [r"\[\]"]),
    "a word that is none": ("guess", ["learn"]),
    "a number": (3, ["policy"]),
}


@pytest.mark.parametrize(("bad", "said"), BAD_POLICIES.values(), ids=BAD_POLICIES.keys())
@pytest.mark.parametrize("act", ["fit", "predict"])
def test_bad_policies(bad: Any, said: list[str], act: str) -> None:
    good = [["a", "b"], ["a"], ["b"]]
    model = build(dimensions="each", policy=good).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    arguments = [TABLE_RECORDS] if act == "predict" else [TABLE_RECORDS, TABLE_Y]
    message = refusal(getattr(model.set_params(policy=bad), act), *arguments)
    assert all(re.search(word, message) for word in said), message
    assert snapshot(model.set_params(policy=good), ASKED_RECORDS) == before


@pytest.mark.parametrize("bad", [bad for bad, _ in BAD_POLICIES.values()], ids=BAD_POLICIES.keys())
def test_a_bad_policy_learns_nothing(bad: Any) -> None:
    model = build(dimensions="each", policy=bad)
    assert refusal(model.partial_fit, TABLE_RECORDS, TABLE_Y)
    with pytest.raises(NotFittedError):
        model.set_params(policy=None).predict(TABLE_RECORDS)


def test_an_item_half_wrong_leaves_all_sets_as_they_were() -> None:
    model = build(dimensions="each", policy=[["a", "b"], ["c"]]).fit(TABLE_RECORDS, TABLE_Y)
    before = snapshot(model, ASKED_RECORDS)
    with pytest.raises(ValueError, match=r"'c', item 1"):
        model.partial_fit([TABLE_RECORDS[0], {"a": "u", "b": "x", "c": {"1": -1}}], ["A", "B"])
    assert snapshot(model, ASKED_RECORDS) == before


# Copies.


def test_pickles_and_clones() -> None:
    model = build(dimensions={"p": ["a", "b"], "q": "c"}, policy=[["p", "q"], ["q"]])
    model.fit(TABLE_RECORDS, TABLE_Y)
    copy = pickle.loads(pickle.dumps(model))
    assert snapshot(copy, ASKED_RECORDS) == snapshot(model, ASKED_RECORDS)
    copy.partial_fit(TABLE_RECORDS, TABLE_Y)
    assert copy.class_mass_.sum() == 2 * model.class_mass_.sum()
    other = clone(model)
    assert other.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        other.predict(ASKED_RECORDS)
    assert snapshot(other.fit(TABLE_RECORDS, TABLE_Y), ASKED_RECORDS) == snapshot(
        model, ASKED_RECORDS
    )


# Several targets.

PETS = [
    {"a": "u", "b": ["x", "y"], "kind": "cat", "size": 2},
    {"a": "v", "b": ["x"], "kind": "dog", "size": 3},
    {"a": "u", "b": ["y"], "kind": "cat", "size": 3},
    {"a": "v", "kind": "dog", "size": 3},
]
PET_LAYOUT = Layout("each", {"a": ("a",), "b": ("b",)})


def pets(records: Sequence[Record]) -> Case:
    soft_y = [joint([as_soft(r["kind"]), as_soft(r["size"])]) for r in records]
    data = Data(list(records), [], None, {})
    policy = [["a", "b"], ["b"], ["a"]]
    return Case(data, PET_LAYOUT, policy, Answers(None, soft_y, ("kind", "size")), Hyper())


def as_soft(cell: Any) -> Mapping[Any, float]:
    if isinstance(cell, dict):
        return cell
    return dict.fromkeys(cell, 1) if isinstance(cell, list) else {cell: 1}


@pytest.mark.parametrize("form", [list, pl.DataFrame, pd.DataFrame])
def test_named_targets_are_taken_out_of_the_data(form: Any) -> None:
    case = pets(PETS)
    model = case.model(targets=["kind", "size"]).fit(form(PETS))
    assert_learnt(model, case)
    asked = [{"a": r["a"], "b": r.get("b")} for r in PETS]
    assert_predicts(model, form(asked), asked, case)
    assert_predicts(model, form(PETS), asked, case)
    assert model.predict(form(PETS)).dtype == object
    assert model.explain(form(PETS)).table.equals(model.explain(form(asked)).table)
    assert model.joint_classes_.tolist() == [["cat", 2], ["cat", 3], ["dog", 3]]


def test_cells_of_targets_may_be_distributions() -> None:
    shared = [{**r, "kind": {r["kind"]: 3, "ape": 1}, "size": [r["size"], 4]} for r in PETS]
    case = pets(shared)
    assert case.answers.soft[0][("cat", 4)] == 3 / 8
    model = case.model(targets=["kind", "size"]).fit(shared)
    assert_learnt(model, case)
    asked = [*({"a": r["a"], "b": r.get("b")} for r in shared), {}]
    assert_predicts(model, asked, asked, case)


@MODEST
@given(cases(smallest=0.25))
def test_online_learning_of_all_kinds_of_targets(case: Case) -> None:
    data, y, cut = case.data, case.answers.y, len(case.data) // 2
    model = case.model()
    for part in (range(cut), range(cut, len(data))):
        weights = data.weights and [data.weights[n] for n in part]
        some = y[list(part)] if isinstance(y, np.ndarray | pl.DataFrame) else rows_of(y, part)
        model.partial_fit([data.records[n] for n in part], some, sample_weight=weights)
    assert_learnt(model, case)
    assert_predicts(model, case.asked, case.asked, case)


def rows_of(y: Any, part: range) -> Any:
    return y.iloc[list(part)] if isinstance(y, pd.DataFrame) else [y[n] for n in part]


# The agent: where all items of a class are alike, every stratified split is the same.

COPIES = 10


@dataclass(frozen=True)
class Alike:
    """A prototype per class, ten copies each: 7 to learn from and 3 to predict, in any split."""

    prototypes: list[Record]
    y: list[dict[str, float]]
    layout: Layout

    @property
    def records(self) -> list[Record]:
        return [p for p in self.prototypes for _ in range(COPIES)]

    @property
    def labels(self) -> list[dict[str, float]]:
        return [label for label in self.y for _ in range(COPIES)]

    def value(self, state: Sequence[str], hyper: Hyper, options: Mapping[str, Any]) -> float:
        """Of a state, with those that it came from as its fallbacks."""
        items = self.layout.items(self.prototypes)
        policy = self.layout.chain([state[:k] for k in range(len(state), 0, -1)])
        learnt = learn_tensor(items, self.y, [7.0] * len(items))
        asked = learn_tensor(items, self.y, [3.0] * len(items))
        return value(learnt, asked, items, policy, hyper=hyper, **options)


@st.composite
def alike(draw: st.DrawFn) -> Alike:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    cell = st.lists(st.sampled_from("uvw"), min_size=0, max_size=3)
    record = st.fixed_dictionaries(dict.fromkeys(names, cell))
    prototypes = draw(st.lists(record, min_size=1, max_size=3))
    share = st.sampled_from((0.0, 0.25, 0.4))
    labels = [
        {label: 1.0, "A": draw(share)} if label != "A" else {"A": 1.0}
        for label in "ABC"[: len(prototypes)]
    ]
    return Alike(prototypes, labels, Layout("each", {name: (name,) for name in names}))


LOSSES = [{}, {"order": 2.0}, {"order": 3.5}, {"loss": "log"}, {"loss": "log", "floor": 0.01}]


@settings(PROFILE, max_examples=25)
@given(alike(), st.sampled_from(LOSSES), st.sampled_from((Hyper(), CLASSICAL, Hyper(1, 1, 0))))
def test_values_of_states_are_mean_rewards(data: Alike, options: Any, hyper: Hyper) -> None:
    agent = PolicyAgent(iterations=2, **options)
    model = build(hyper, dimensions="each", policy=agent).fit(data.records, data.labels)
    table = model.policy_values_
    assert table.columns == ["state", "value", "iterations", "items"]
    assert table["state"].to_list()[0] == []
    assert table["iterations"].to_list() == [2] * len(table)
    assert table["items"].to_list() == [2 * 3 * len(data.prototypes)] * len(table)
    expected = [data.value(state, hyper, options) for state in table["state"].to_list()]
    assert table["value"].to_list() == pytest.approx(expected, abs=1e-12)
    assert_walked(model.policy_, table, data.layout.names)


def assert_walked(policy: list[list[str]], table: pl.DataFrame, names: Sequence[str]) -> None:
    """Every step goes to the best of all candidates, if it is better; else it is the last."""
    found = {tuple(state): v for state, v in table.select("state", "value").iter_rows()}
    assert len(found) == len(table)
    state: tuple[str, ...] = ()
    for S in policy[-2::-1]:
        candidates = {s: v for s, v in found.items() if s[:-1] == state and s}
        assert {s[-1] for s in candidates} == set(names) - set(state)
        best = max(candidates, key=lambda s: candidates[s])
        (moved,) = [s for s in candidates if set(s) == set(S)]
        assert candidates[moved] == candidates[best] > found[state]
        state = moved
    last = [v for s, v in found.items() if s and s[:-1] == state]
    assert all(v <= found[state] + 1e-12 for v in last)
    assert len(last) == len(set(names) - set(state))
    assert policy[-1] == []


def noisy(items: int, seed: int, noise: int = 2) -> tuple[list[Record], list[str]]:
    """a tells A from the rest, b tells B from C, the others say nothing."""
    draw = np.random.default_rng(seed)
    y = draw.permutation(["A", "B", "C"] * (items // 3)).tolist()
    known = {"A": ("1", "1"), "B": ("0", "1"), "C": ("0", "0")}
    X = [dict(zip("ab", known[label], strict=True)) for label in y]
    for record in X:
        record.update({f"n{k}": str(draw.integers(4)) for k in range(noise)})
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_a_learnt_policy_predicts_as_one_given_by_hand(seed: int) -> None:
    X, y = noisy(30, seed)
    model = build(CLASSICAL, dimensions="each", policy=PolicyAgent(random_state=seed)).fit(X, y)
    layout = Layout("each", {name: (name,) for name in X[0]})
    case = Case(Data(X, y, None, {}), layout, model.policy_, Answers(y, soft(y)), CLASSICAL)
    assert_learnt(model, case)
    asked = [*noisy(9, seed + 10)[0], {"a": "1", "b": "new"}, {"n0": "1"}, {}]
    assert_predicts(model, asked, asked, case)
