"""What went wrong once with models in stores."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest
from sklearn.base import clone

from stc import SparseTensorClassifier
from support.edge_cases import FRAME, ITEMS


def test_a_clone_learns_in_memory(url: str) -> None:
    model = SparseTensorClassifier(store=url, power=0.3).fit(ITEMS, FRAME["class"])
    fitted = clone(model).fit(ITEMS[:2], FRAME["class"][:2])
    assert fitted.store is None
    assert fitted.power == 0.3
    assert model.class_mass_.sum() == 4


def test_fitting_anew_has_its_own_parameters(url: str) -> None:
    SparseTensorClassifier(store=url, dimensions="each", power=0.3).fit(ITEMS, FRAME["class"])
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    assert model.get_params()["dimensions"] is None
    assert model.partial_fit(ITEMS, FRAME["class"]).power == 0.5
    assert SparseTensorClassifier(store=url).policy_ == [["all"], []]


def test_a_model_moves_to_a_store(url: str) -> None:
    model = SparseTensorClassifier(power=0.3)
    model.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    expected = model.predict_proba(ITEMS)
    model.set_params(store=url, name="moved")
    np.testing.assert_array_equal(model.predict_proba(ITEMS), expected)
    opened = SparseTensorClassifier(store=url, name="moved")
    np.testing.assert_allclose(opened.predict_proba(ITEMS), expected, atol=1e-12)
    assert opened.partial_fit(ITEMS, FRAME["class"], batch_id="1").class_mass_.sum() == 4
    other = SparseTensorClassifier().fit(ITEMS[:1], FRAME["class"][:1])
    with pytest.raises(ValueError, match="already"):
        other.set_params(store=url, name="moved").predict(ITEMS)
    assert other.set_params(store=None).class_mass_.sum() == 1


def test_another_name_brings_its_own_parameters(url: str) -> None:
    SparseTensorClassifier(store=url, name="a", power=0.3).fit(ITEMS, FRAME["class"])
    SparseTensorClassifier(store=url, name="b", balance=0.2).fit(ITEMS, FRAME["class"])
    model = SparseTensorClassifier(store=url, name="a")
    assert len(model.classes_) == 2
    assert model.power == 0.3
    model.set_params(name="b")
    assert len(model.classes_) == 2
    assert (model.power, model.balance) == (0.5, 0.2)


def test_unlearning_has_ids_of_its_own(url: str) -> None:
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    model.partial_fit(ITEMS, FRAME["class"], batch_id="7")
    for _ in range(2):
        model.unlearn(ITEMS, FRAME["class"], batch_id="7")
    assert model.class_mass_.sum() == 4
    assert model.partial_fit(ITEMS, FRAME["class"], batch_id="7").class_mass_.sum() == 4
    with pytest.raises(ValueError, match="cannot start with"):
        model.partial_fit(ITEMS, FRAME["class"], batch_id="unlearnt: 7")


def test_tables_of_the_user_are_not_taken_for_ours(tmp_path: Path) -> None:
    connection = duckdb.connect()
    for name in ("answers", "stc_items", "given"):
        connection.execute(f"CREATE TABLE {name} AS SELECT 42 AS secret")
    connection.register("frame", FRAME.to_arrow())
    relation = connection.sql("SELECT a, b, class FROM frame")
    model = SparseTensorClassifier().fit(relation, "class")
    assert model.predict(relation).columns == ["class", "prediction"]
    model.predict(relation, to="predicted")
    assert connection.table("predicted").columns == ["class", "prediction"]
    with pytest.raises(Exception, match="predicted"):
        model.predict(relation, to="predicted")


def test_roles_named_later_are_remembered_in_a_store(url: str) -> None:
    frame = FRAME.select(*ITEMS.columns, "class")
    model = SparseTensorClassifier(store=url).partial_fit(ITEMS, FRAME["class"])
    model.partial_fit(frame, "class").partial_fit(frame)
    assert model.class_mass_.sum() == 12
