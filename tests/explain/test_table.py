"""Explanations as tables, in every form."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import polars as pl
import pytest

from stc import SparseTensorClassifierCV, load_zoo
from stc.exceptions import ParameterError
from support.explanation_cases import KINDS, ZOO, zoo
from support.models import paper_model


def everything(model: Any) -> list[Any]:
    local = model.explain_local(ZOO)
    return [local, local.why_not(0), local.counterfactual(0), model.explain_global()]


@pytest.mark.parametrize("place", range(4))
def test_tables_in_every_form(place: int) -> None:
    found, again = (everything(zoo())[place] for _ in range(2))
    assert found.to_polars() is found.table
    assert found.to_dicts() == found.table.to_dicts()
    frame = found.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == found.table.columns
    assert frame["feature"].tolist() == found.table["feature"].to_list()
    assert json.loads(found.to_json()) == found.to_dicts()
    for name in ("to_json", "__str__", "__repr__", "_repr_html_"):
        assert getattr(found, name)() == getattr(again, name)()
    few = found.filter(pl.col("feature").str.starts_with("milk"))
    assert type(few) is type(found)
    assert set(few.table["feature"].str.slice(0, 4)) <= {"milk"}
    assert found.table.height > few.table.height
    ordered = found.sort("feature", descending=True).table["feature"]
    assert ordered.to_list() == sorted(ordered.to_list(), reverse=True)


def test_notebooks_get_no_code_from_values() -> None:
    evil = "<script>alert(1)</script>"
    model = paper_model().fit([{evil: evil}, {evil: "b"}], [evil, "y"])
    for found in (model.explain_local([{evil: evil}]), model.explain_global()):
        assert "<script" not in found._repr_html_()
        assert "&lt;script&gt;" in found._repr_html_()


def test_many_items_are_shown_in_short() -> None:
    text = repr(zoo().explain_local(ZOO))
    assert text.splitlines()[:10] == zoo().explain_local(ZOO).sentences()[:10]
    assert text.endswith("... and 91 more items")


def test_the_tuned_model_explains_itself() -> None:
    model = SparseTensorClassifierCV(phases=None, interactions=1, cv=3).fit(ZOO, KINDS)
    assert model.explain_global().table.equals(model.best_estimator_.explain_global().table)
    assert str(model.explain_local(ZOO[:2])) == str(model.best_estimator_.explain_local(ZOO[:2]))


def test_what_there_is_not_is_refused() -> None:
    explanation = zoo().explain_local(ZOO[:3])
    for ask in (explanation.why, explanation.why_not, explanation.counterfactual):
        with pytest.raises(IndexError, match="no item 3 in this explanation of items 0 to 2"):
            ask(3)
        unknown = "there is no class 'Cat'; the classes are 'Amphibian', 'Bird', "
        with pytest.raises(ParameterError, match=unknown):
            ask(0, "Cat")
    with pytest.raises(ParameterError, match="there is no class 'Cat'"):
        explanation.of_class("Cat")
    with pytest.raises(ParameterError, match="there is no class 'Cat'"):
        zoo().explain_global().for_class("Cat")


def test_filter_by_an_attribute_where_there_are_conjunctions() -> None:
    X, y = load_zoo()
    explanation = paper_model(interactions=2).fit(X, y).explain_local(X[:3])
    found = explanation.filter(item=1, attribute="milk", value="1").to_dicts()
    assert [(row["item"], row["feature"]) for row in found] == [(1, "milk=1")]
    assert explanation.filter(attribute="no such").table.is_empty()
    single = explanation.filter(attribute="legs").table
    assert single["attribute"].to_list() == [["legs"]] * 3
