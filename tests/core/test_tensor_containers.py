"""Dimensions spelt in every way, of data in every container."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.oracle import Hyper
from support.strategies import soft
from support.tensor_cases import (
    ASKED,
    ASKED_RECORDS,
    CONTAINERS,
    TABLE,
    TABLE_RECORDS,
    TABLE_Y,
    Layout,
    assert_probabilities,
    build,
    snapshot,
)
from support.tensor_oracle import learn_tensor

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
