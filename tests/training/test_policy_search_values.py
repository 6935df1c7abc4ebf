"""The values of states where all items of a class are alike, and policies learnt by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stc import PolicyAgent
from support.oracle import Hyper
from support.strategies import PROFILE, Data, Record, soft
from support.tensor_cases import (
    CLASSICAL,
    Answers,
    Case,
    Layout,
    assert_learnt,
    assert_predicts,
    build,
)
from support.tensor_oracle import learn_tensor, value

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
