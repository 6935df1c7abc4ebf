"""Data for the agent that learns a policy, and the values of its states."""

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from stc import SparseTensorClassifier
from support.models import paper_model

State: TypeAlias = tuple[str, ...]
Values: TypeAlias = dict[State, float | None]
# One tuple an item is then scored by the plain frequencies within each class.
PLAIN = {"power": 1.0, "balance": 1.0, "entropy": 0.0}
CLASSICAL = {"power": 1.0, "balance": 0.0, "entropy": 0.0}


def learnt(
    X: Any, y: Any, agent: Any = "learn", sample_weight: Any = None, **params: Any
) -> SparseTensorClassifier:
    """A model of one dimension an attribute whose policy was learnt."""
    model = paper_model(**{"dimensions": "each", "policy": agent, **PLAIN, **params})
    return model.fit(X, y, sample_weight=sample_weight)


def values(model: SparseTensorClassifier) -> Values:
    """The value of each state."""
    table = model.policy_values_
    return dict(zip(map(tuple, table["state"].to_list()), table["value"].to_list(), strict=True))


# Splits are random, so the values are known beforehand only where every split is the same:
# here all items of a class look alike, and its share in validation is a whole number.
# "a" tells r from the others, "b" tells p from q but nothing of r, "c" tells nothing at all.
Y = ["p"] * 10 + ["q"] * 10 + ["r"] * 40
STEPS = pl.DataFrame(
    {"a": ["x"] * 20 + ["y"] * 40, "b": ["p"] * 10 + ["q"] * 10 + [None] * 40, "c": ["z"] * 60}
)
AB = STEPS.select("a", "b")


def noisy(seed: int, n: int = 60) -> tuple[list[dict[str, Any]], list[str]]:
    """Records of five attributes that tell more or less of the class; some values are missing."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["p", "q", "r"], n, p=[0.5, 0.3, 0.2])
    records = []
    for label in y:
        record: dict[str, Any] = {
            name: label if rng.random() < told else str(rng.choice(["p", "q", "r"]))
            for name, told in (("a", 0.7), ("b", 0.6), ("c", 0.4), ("d", 0.0))
        }
        record["e"] = [str(v) for v in rng.choice([label, "q", "v", "w"], rng.integers(0, 3))]
        if rng.random() < 0.2:
            record[str(rng.choice(list("abcd")))] = None
        records.append(record)
    return records, y.tolist()


def better(value: float | None, than: float | None) -> bool:
    return value is not None and (than is None or value > than)


def children(found: Iterable[State], state: State) -> list[State]:
    return [child for child in found if len(child) == len(state) + 1 and child[:-1] == state]


def walk(model: SparseTensorClassifier, start: State = ()) -> list[State]:
    """The states from the start on, each the best of those tried, until none is better."""
    found = values(model)
    chain = [start]
    while tried := children(found, chain[-1]):
        best = max(tried, key=lambda child: -math.inf if found[child] is None else found[child])
        if not better(found[best], found[chain[-1]]):
            break
        chain.append(best)
    return chain


def sets(chain: Iterable[Iterable[str]]) -> list[set[str]]:
    return [set(state) for state in chain]


HYPERS = [PLAIN, CLASSICAL, {"power": 0.5, "balance": 1.0, "entropy": 1.0}]
LOG = {"loss": "log", "floor": 0.05}
XOR = pl.DataFrame({"a": [0, 0, 1, 1] * 10, "b": [0, 1, 0, 1] * 10})
XOR_Y = ["even", "odd", "odd", "even"] * 10
