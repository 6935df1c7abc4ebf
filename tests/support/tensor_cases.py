"""Tensors as a user says them and as they are meant, and what must be equal."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from stc import SparseTensorClassifier
from support.models import paper_model
from support.oracle import Bag, Hyper
from support.strategies import ATTRIBUTES, LABELS, PROFILE, UNSEEN, Data, Record, bag, soft
from support.tensor_oracle import Set, Tensor, joint, learn_tensor, marginal

MODEST = settings(PROFILE, max_examples=30)
# Few values, so that tuples repeat; 1 and 1.0 are one.
FEW = ("u", "v", "x: y", 1, 1.0)
WORDS = ("u", "v", "x: y", "1")
CLASSICAL = Hyper(1, 0, 0)
FRAMED = ("one", "list", "dict")
# Names of dimensions that are also names of attributes must not be taken for them.
NAMES = ("legs", "one", "a", "x & y", "two")


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
    return paper_model(hyper.power, hyper.balance, hyper.entropy, **options)


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
    """What the ValueError says; whoever asks looks for the words."""
    with pytest.raises(ValueError, match=r"dimensions?|policy") as error:
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
