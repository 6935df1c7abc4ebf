"""The explanation is the prediction: its contributions are what the oracle says they are."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stc import LocalExplanation, load_zoo
from support.models import paper_model
from support.oracle import Hyper, learn
from support.strategies import hypers

ITEMS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sampled_from("uvw"), min_size=1),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=60)
@given(st.data(), ITEMS, hypers())
def test_contributions_are_the_oracles(data: st.DataObject, items: list, hyper: Hyper) -> None:
    y = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(items), max_size=len(items)))
    model = paper_model(hyper.power, hyper.balance, hyper.entropy).fit(items, y)
    truth = learn([dict.fromkeys(item.items(), 1) for item in items], [{c: 1} for c in y], None)
    explanation = model.explain_local(items)
    for number, item in enumerate(items):
        label = explanation.labels[number]
        expected = truth.contributions(dict.fromkeys(item.items(), 1), hyper)
        rows = explanation.table.filter(pl.col("item") == number)
        columns = rows.select("attribute", "value", "contribution")
        found = {(a, v): c for a, v, c in columns.iter_rows()}
        for (feature, class_), part in expected.items():
            if class_ == label:
                assert found.get(feature, 0.0) == pytest.approx(float(part), rel=1e-9, abs=1e-12)


def test_contributions_rebuild_the_probability() -> None:
    X, y = load_zoo()
    model = paper_model().fit(X, y)
    explanation = model.explain_local(X)
    scores = explanation.table.group_by("item", maintain_order=True).agg(
        pl.col("contribution").sum(), pl.col("share").sum()
    )
    assert scores["share"].to_list() == pytest.approx([1.0] * len(X), abs=1e-12)
    assert explanation.labels.tolist() == model.predict(X).tolist()
    # X_i sum_k U_k^(1/p) = U_i^(1/p), where the other classes' U_k follow from the odds.
    proba = model.predict_proba(X)
    best = proba.max(axis=1)
    assert explanation.probabilities.tolist() == best.tolist()
    truth = learn(
        [dict.fromkeys(row.items(), 1) for row in X.to_dicts()], [{c: 1} for c in y], None
    )
    for number in (0, 50, 100):
        U = truth.scores(dict.fromkeys(X.row(number, named=True).items(), 1), Hyper())
        total = float(sum(value**2 for value in U.values()))
        assert scores["contribution"][number] ** 2 / total == pytest.approx(best[number], rel=1e-12)


def test_sentences_name_the_strongest_first() -> None:
    X, y, names = load_zoo(names=True)
    model = paper_model().fit(X, y)
    hen = model.explain_local(X.filter(names == "chicken"))
    assert isinstance(hen, LocalExplanation)
    assert str(hen).startswith("Bird, 0.")
    assert ": because feathers=1 (" in str(hen)
    assert len(hen.sentences(reasons=2)[0].split("because ")[1].split(", ")) == 2
    assert str(hen) == str(model.explain_local(X.filter(names == "chicken")))


def test_what_no_value_decides_is_said() -> None:
    model = paper_model().fit([["a", "b"], ["a", "c"]], ["x", "y"])
    assert "nothing in it was seen before" in str(model.explain_local([["new", "new"]]))
    alike = str(model.explain_local([["a", "new"]]))
    assert "what is known of it says nothing" in alike
    assert model.coverage([["a", "new"]]).tolist() == [0.5]


def test_shares_that_round_to_nothing_are_no_reasons() -> None:
    X = [{"w": {"strong": 1e6, "weak": 1}}, {"w": {"other": 1}}]
    model = paper_model(power=1.0).fit(X, ["x", "y"])
    assert model.explain_local(X).sentences()[0] == "x, 1.00: because w=strong (100 %)"
    assert math.isclose(model.explain_local(X).to_polars()["share"].sum(), 2.0)
