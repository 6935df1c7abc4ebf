"""What the whole model knows."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stc import GlobalExplanation
from support.explanation_cases import KINDS, MODELS, ROWS, ZOO, zoo
from support.models import paper_model
from support.oracle import Hyper, learn
from support.strategies import hypers


@settings(deadline=None, max_examples=60)
@given(st.data(), ROWS, hypers())
def test_weights_are_the_oracles(data: st.DataObject, rows: list, hyper: Hyper) -> None:
    y = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    model = paper_model(hyper.power, hyper.balance, hyper.entropy).fit(rows, y)
    bags = [{(k, v): 1 for k, v in row.items() if v is not None} for row in rows]
    truth = learn(bags, [{c: 1} for c in y], None)
    weights = truth.weights(hyper)
    columns = "class", "attribute", "value", "weight", "support"
    found = model.explain_global().table.select(columns).rows()
    assert len(found) == model.corpus_.height
    for label, attribute, value, weight, support in found:
        expected = float(weights.get(((attribute, value), label), 0))
        assert weight == pytest.approx(expected, rel=1e-9, abs=1e-12)
        shown = [own for row, own in zip(rows, y, strict=True) if row[attribute] == value]
        assert support == shown.count(label)


def test_the_whole_model_in_a_table() -> None:
    explanation = zoo().explain_global()
    assert isinstance(explanation, GlobalExplanation)
    assert explanation.classes == sorted(set(KINDS))
    shares = explanation.table.group_by("class").agg(pl.col("share").sum())["share"]
    assert_allclose(shares, 1.0)
    top = explanation.top(3)
    assert top.table.group_by("class").len()["len"].to_list() == [3] * 7
    for label in explanation.classes:
        own = explanation.for_class(label)
        assert own.table["class"].unique().to_list() == [label]
        assert own.top(3).table.equals(top.for_class(label).table)
        assert own.table["weight"].is_sorted(descending=True)
    compared = explanation.compare("Bird", "Fish")
    bird, fish = (explanation.for_class(c).table for c in ("Bird", "Fish"))
    assert compared["first"].sum() == pytest.approx(1.0)
    assert compared.height == len(set(bird["feature"]) | set(fish["feature"]))
    assert compared["difference"].abs().is_sorted(descending=True)
    best = explanation.discriminating(5)
    assert best["feature"][0] == "milk=1"
    assert best["discrimination"].to_list()[:3] == [1.0] * 3
    assert best["discrimination"].is_sorted(descending=True)
    assert str(explanation).splitlines()[1].startswith("Bird: feathers=1 (")


def test_phases_are_in_the_whole_model() -> None:
    model = zoo().set_params(phases={"Bird": {"feathers": {"1": 0.5}}})
    turned = model.explain_global().table.filter(pl.col("phase") != 0)
    assert turned.select("class", "feature", "phase").rows() == [("Bird", "feathers=1", 0.5)]


def test_several_dimensions_and_targets_in_the_whole_model() -> None:
    table = MODELS["dimensions"]()[0].explain_global().table
    assert sorted(map(tuple, table["dimensions"].unique().to_list())) == [
        ("body", "life"),
        ("life",),
    ]
    y = pl.DataFrame({"kind": KINDS, "milk": ZOO["milk"].cast(pl.String)})
    joint = paper_model().fit(ZOO.drop("milk"), y)
    explanation = joint.explain_global()
    assert explanation.classes[0] == ("Amphibian", "0")
    assert explanation.for_class(("Bird", "0")).table["class"].unique().to_list() == ["Bird, 0"]
    local = joint.explain_local(ZOO.drop("milk"))
    assert local.why(0, ("Fish", "0")).probabilities[0] < local.probabilities[0]
    assert "it would be" in str(local.counterfactual(0))
    with pytest.raises(ValueError, match=r"no class \('Fish', '7'\); the classes are \('Amphi"):
        local.why(0, ("Fish", "7"))
