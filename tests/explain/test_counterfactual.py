"""What would change a prediction."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from stc import Counterfactual
from stc.exceptions import ParameterError
from support.explanation_cases import DOCUMENTS, KINDS, MODELS, ROWS, TOPICS, ZOO, variants
from support.models import paper_model
from support.oracle import Hyper
from support.strategies import hypers


def reaching(model: Any, row: dict[str, Any], label: Any, wanted: Any, size: int) -> bool:
    """Whether so many values away give another class (or the one wanted), by trying all."""
    present = [name for name, value in row.items() if value is not None]
    sets = list(combinations(present, size))
    if not sets:
        return False
    found = model.predict(variants(row, (dict.fromkeys(own) for own in sets)))
    return bool((found == wanted).any() if wanted is not None else (found != label).any())


def replaced(model: Any, row: dict[str, Any], label: Any, wanted: Any, values: Any, n: int) -> bool:
    """Whether so many values replaced do it, by trying all."""
    present = [name for name, value in row.items() if value is not None]
    options = [
        dict(zip(own, new, strict=True))
        for own in combinations(present, n)
        for new in product(*([v for v in values[name] if v != row[name]] for name in own))
    ]
    if not options:
        return False
    found = model.predict(variants(row, iter(options)))
    return bool((found == wanted).any() if wanted is not None else (found != label).any())


def assert_counterfactual(
    model: Any, frame: pl.DataFrame, item: int, wanted: Any, most: int, proved: bool = True
) -> Counterfactual:
    """It does what it says, and nothing smaller does, tried up to `most` values."""
    row = frame.row(item, named=True)
    explanation = model.explain_local(frame)
    label = explanation.labels[item]
    found = explanation.counterfactual(item, wanted)
    values = {name: frame[name].drop_nulls().unique().to_list() for name in frame.columns}
    for change in (found.removal, found.replacement):
        if change is None:
            continue
        new = {attribute: instead for attribute, _, instead, _ in change.values}
        assert all(row[attribute] == value for attribute, value, _, _ in change.values)
        asked = variants(row, iter([new]))
        assert model.predict(asked)[0] == change.label != label
        assert wanted is None or change.label == wanted
        assert change.probability == pytest.approx(model.predict_proba(asked).max(), abs=1e-12)
        assert change.smallest or not proved or wanted is not None
    removed = len(found.removal.values) if found.removal else 99
    sure = proved and (found.removal.smallest if found.removal else wanted is None)
    for size in range(1, min(removed - 1, most) + 1 if sure else 1):
        assert not reaching(model, row, label, wanted, size)
    other = len(found.replacement.values) if found.replacement else 99
    sure = proved and (found.replacement.smallest if found.replacement else wanted is None)
    for size in range(1, min(other - 1, most - 1) + 1 if sure else 1):
        assert not replaced(model, row, label, wanted, values, size)
    return found


@pytest.mark.parametrize("item", range(0, 101, 4))
def test_counterfactuals_of_animals_are_the_smallest(item: int) -> None:
    frame = ZOO.with_columns(pl.all().cast(pl.String))
    model = paper_model().fit(frame, KINDS)
    found = assert_counterfactual(model, frame, item, None, most=3)
    assert found.removal is not None
    assert found.replacement is not None
    assert found.table["way"].unique().sort().to_list() == ["with", "without"]


@settings(deadline=None, max_examples=100)
@given(st.data(), ROWS, hypers())
def test_counterfactuals_are_the_smallest(data: st.DataObject, rows: list, hyper: Hyper) -> None:
    y = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    frame = pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.String))
    model = paper_model(hyper.power, hyper.balance, hyper.entropy).fit(frame, y)
    item = data.draw(st.integers(0, len(rows) - 1))
    wanted = data.draw(st.sampled_from([None, *sorted(set(y))]))
    label = model.predict(frame)[item]
    if wanted == label:
        refused = r"^item \d+: label='[xyz]' is the predicted class already; ask for another class$"
        with pytest.raises(ParameterError, match=refused) as caught:
            model.explain_local(frame).counterfactual(item, wanted)
        assert caught.value.item == item
        return
    assert_counterfactual(model, frame, item, wanted, most=4)


@pytest.mark.parametrize("name", ["interactions", "phases", "dimensions"])
@pytest.mark.parametrize("wanted", [None, "Fish"])
def test_counterfactuals_by_trying_do_what_they_say(name: str, wanted: Any) -> None:
    frame = ZOO.with_columns(pl.all().cast(pl.String))[:20]
    model = clone(MODELS[name]()[0]).fit(ZOO.with_columns(pl.all().cast(pl.String)), KINDS)
    labels = model.predict(frame)
    for item in range(0, 20, 5):
        if labels[item] != wanted:
            found = assert_counterfactual(model, frame, item, wanted, most=4, proved=False)
            assert found.removal is not None or found.replacement is not None


def test_counterfactuals_of_words() -> None:
    for ngrams in (1, 2):
        model = paper_model(ngrams=ngrams).fit(DOCUMENTS, TOPICS)
        for item, text in enumerate(DOCUMENTS):
            found = model.explain_local(DOCUMENTS).counterfactual(item)
            assert found.replacement is None
            if found.removal is None:
                continue
            words = {value for _, value, _, _ in found.removal.values}
            if ngrams == 1:
                left = " ".join(word for word in text.split() if word not in words)
                assert model.predict([left])[0] == found.removal.label != TOPICS[item]


def test_numbers_and_orders_are_replaced_by_others_of_their_scale() -> None:
    model, X = MODELS["numbers"]()
    frame = X
    for item in range(frame.height):
        found = model.explain_local(frame).counterfactual(item)
        assert found.replacement is not None
        for change in (found.removal, found.replacement):
            if change is None:
                continue
            row = frame.row(item, named=True)
            for attribute, _, instead, _ in change.values:
                row[attribute] = instead if attribute == "o" or instead is None else float(instead)
            asked = pl.DataFrame([row], schema={"n": pl.Float64, "o": pl.String})
            assert model.predict(asked)[0] == change.label


def test_what_cannot_change_is_said() -> None:
    model = paper_model().fit([["a"], ["a"], ["b"]], ["x", "x", "x"])
    found = model.explain_local([["a"]]).counterfactual(0)
    assert found.removal is None
    assert found.replacement is None
    assert "nothing that could be away or replaced would change that" in str(found)
    assert found.table.height == 0
