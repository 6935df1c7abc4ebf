"""Conjunctions in blocks, and those that are too many."""

import math
import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from stc import SparseTensorClassifier
from stc._core.interactions import Interactions
from stc._core.observations import Observations
from stc.exceptions import DataError
from support.interaction_cases import (
    FEWER,
    PAIRED,
    PAIRS,
    assert_learnt,
    bags,
    entries,
    items,
    snapshot,
)
from support.models import paper_model
from support.oracle import learn
from support.strategies import Data, soft


def test_small_blocks_give_the_same_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    X = [
        {a: generator.choice(["u", "v", "w"], generator.integers(0, 3)).tolist() for a in "abc"}
        for _ in range(30)
    ]
    y = generator.choice(["p", "q"], 30).tolist()
    whole = paper_model(interactions=3, missing="category").fit(X, y)
    chosen = paper_model(interactions=3, max_features=9).fit(X, y)
    theta = generator.uniform(-3, 3, (30, 3))

    def answers(model: SparseTensorClassifier) -> list[Any]:
        methods = (model.predict_proba, model.predict_log_proba, model.coverage)
        with np.errstate(divide="ignore"):
            numbers = [method(X) for method in methods]
        return [*numbers, model.predict_proba(X, theta), model.explain_local(X).table]

    for model in (whole, chosen):
        before = answers(model)
        for size in (1, 7, 40):
            monkeypatch.setattr("stc._core.cascade._BLOCK_TUPLES", size)
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
    model = paper_model(interactions=3).fit(X, ["p", "q"] * 16)
    held: list[int] = []
    applied = Interactions.apply

    def watched(self: Interactions, observed: Observations) -> Observations:
        held.append(observed.n_items)
        return applied(self, observed)

    monkeypatch.setattr(Interactions, "apply", watched)
    monkeypatch.setattr("stc._core.cascade._BLOCK_TUPLES", 21)
    for method in (model.predict_proba, model.predict, model.coverage):
        held.clear()
        method(X)
        assert sum(held) == len(X)
        assert max(held) == 3


@FEWER
@given(items(smallest=0.25, least=2), st.integers(2, 4))
def test_too_many_are_refused_by_their_number(data: Data, order: int) -> None:
    needed = entries(data, order)
    if needed < 2:
        return
    model = paper_model(interactions=order, max_entries=needed - 1)
    words = rf"interactions={order}.* {needed:,} entries for {len(data)} items, more than "
    with pytest.raises(ValueError, match=words + f"max_entries={needed - 1:,}; lower interactions"):
        model.fit(data.records, data.y, data.weights)
    assert not hasattr(model, "classes_")
    model.set_params(max_entries=needed).fit(data.records, data.y, data.weights)


def test_the_conjunctions_are_counted_in_the_message() -> None:
    # 3 pairs and 1 triple of attributes.
    X = [{"a": 1, "b": 2, "c": 3}]
    for order, sets in ((2, 3), (3, 4), (9, 4)):
        model = paper_model(interactions=order, max_entries=1)
        with pytest.raises(ValueError, match=f"would make {sets} conjunctions of the 3 attributes"):
            model.fit(X, ["p"])


def test_an_explosion_takes_no_memory() -> None:
    X = np.random.default_rng(2).integers(0, 3, (200, 60))
    y = np.arange(200) % 2
    model = paper_model(interactions=20)
    needed = 200 * sum(math.comb(60, size) * max(size - 1, 1) for size in range(1, 21))
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"and {f'{needed:,}'[:12]}[\d,]+ entries for 200 items"):
        model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_later_calls_are_refused_as_the_first() -> None:
    model = paper_model(interactions=2, max_entries=20).fit(PAIRS, PAIRED)
    before = snapshot(model, PAIRS)
    crowd = [{"a": list(range(9)), "b": list(range(7))}]
    for method in (model.partial_fit, model.unlearn, model.learn_phases):
        with pytest.raises(ValueError, match=r"79 entries for 1 items, more than max_entries=20"):
            method(crowd, ["p"])
    for method in (model.predict, model.predict_proba, model.coverage, model.explain_local):
        with pytest.raises(DataError, match=r"\b79\b.* max_entries=20") as caught:
            method([*PAIRS[:1], *crowd])
        assert caught.value.item == 1
    assert snapshot(model, PAIRS) == before


def test_only_the_conjunctions_chosen_are_counted() -> None:
    X = [{"a": "u", "b": "v", "c": c} for c in "rst"]
    model = paper_model(interactions=3, min_support=2, max_entries=60)
    model.fit(X, PAIRED)
    crowd = {"a": list(range(5)), "b": list(range(6)), "c": list(range(7))}
    assert model.coverage([crowd]).tolist() == [0]  # 5 + 6 + 7 + 5 * 6 = 48 of them
    model.partial_fit([crowd], ["p"])
    more = {**crowd, "b": list(range(9))}
    with pytest.raises(ValueError, match=r"\b66\b.* max_entries=60"):
        model.predict([more])
    with pytest.raises(ValueError, match=r"\b66 entries for 1 items, more than max_entries=60"):
        model.partial_fit([more], ["p"])


def test_tuples_that_need_renumbering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc._core.product.LARGEST_KEY", 12)
    generator = np.random.default_rng(3)
    X = [
        {a: generator.choice(list("uvwx"), generator.integers(1, 3)).tolist() for a in "abcd"}
        for _ in range(5)
    ]
    y = list("ppqqr")
    model = paper_model(interactions=4).fit(X, y)
    data = Data(X, y, None, dict.fromkeys("abcd", "list"))
    assert_learnt(model, learn(bags(data, X, 4), soft(y)))


@pytest.mark.parametrize("values", [1, 2])
def test_named_conjunctions_are_counted_in_parts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, values: int
) -> None:
    """As many rows as there are: max_entries limits what one item has."""
    generator = np.random.default_rng(2)
    cells = generator.choice(list("uvw"), (90, 3, values))
    rows = [{a: sorted({*bag}) for a, bag in zip("abc", row, strict=True)} for row in cells]
    X, y = pl.DataFrame(rows), generator.choice(["p", "q"], 90)
    weight = generator.integers(0, 3, 90).astype(float)
    options: dict[str, Any] = {"interactions": [("a", "b"), ("a", "b", "c")], "max_entries": 26}
    whole = paper_model(**options).fit(X, y, weight)
    monkeypatch.setattr("stc._core.model._MOST_CONJUNCTIONS", 50)
    X.with_columns(y=pl.Series(y), w=weight).write_parquet(tmp_path / "d.parquet")
    parts = paper_model(**options).fit(X, y, weight)
    source = paper_model(**options).fit(tmp_path / "d.parquet", "y", "w")
    for model in (parts, source):
        corpora = [m.corpus_.rename({m.corpus_.columns[2]: "class"}) for m in (model, whole)]
        one, other = (corpus.sort("attribute", "value", "class") for corpus in corpora)
        assert_frame_equal(one, other, rel_tol=1e-12)
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    parts.unlearn(X[:40], y[:40], weight[:40])
    left = paper_model(**options).fit(X[40:], y[40:], weight[40:])
    np.testing.assert_allclose(parts.predict_proba(X), left.predict_proba(X), rtol=1e-12)
    crowded = {name: ["u", "v", "w"] for name in "abc"}
    with pytest.raises(ValueError, match="max_entries=26"):
        paper_model(**options).fit([crowded], ["p"])


@pytest.mark.parametrize("rows", [5, 20])
def test_conjunctions_of_18_attributes_are_refused_before_they_take_memory(rows: int) -> None:
    """Each of k attributes takes k - 1 entries: 2,097,171 for each item."""
    X = np.random.default_rng(2).integers(0, 2, (rows, 18))
    tracemalloc.start()
    with pytest.raises(ValueError, match=rf"262,125 conj.* {rows * 2_097_171:,} entries"):
        SparseTensorClassifier(interactions=18).fit(X, np.arange(rows) % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
