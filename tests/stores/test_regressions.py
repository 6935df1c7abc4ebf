"""What went wrong once with models in stores."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from stc import StoreError, open_store
from support.edge_cases import FRAME, ITEMS, plain
from support.models import paper_model
from support.stores import opened


def test_unlearning_has_ids_of_its_own(url: str) -> None:
    model = open_store(url).create("zoo", plain())
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
    model = paper_model().fit(relation, "class")
    assert model.predict(relation).columns == ["class", "prediction"]
    model.predict(relation, to="predicted")
    assert connection.table("predicted").columns == ["class", "prediction"]
    with pytest.raises(Exception, match="predicted"):
        model.predict(relation, to="predicted")


def test_roles_named_later_are_remembered_in_a_store(url: str) -> None:
    frame = FRAME.select(*ITEMS.columns, "class")
    model = open_store(url).create("zoo", paper_model())
    model.partial_fit(ITEMS, FRAME["class"]).partial_fit(frame, "class").partial_fit(frame)
    assert model.class_mass_.sum() == opened(url).class_mass_.sum() == 12


def test_assigning_a_parameter_of_a_stored_model_is_refused(url: str) -> None:
    model = open_store(url).create("zoo", paper_model())
    with pytest.raises(AttributeError, match=r"set_params\(power=\.\.\.\)"):
        model.power = 0.3
    assert model.get_params()["power"] == 0.5


def test_learning_with_a_changed_header_names_the_store(tmp_path: Path) -> None:
    path = tmp_path / "zoo.db"
    model = open_store(f"sqlite:///{path}").create("zoo", plain())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE stc_models SET header = '{}'")
    with pytest.raises(StoreError, match=r"header .* was changed") as refused:
        model.partial_fit(ITEMS, FRAME["class"])
    assert str(refused.value).startswith(model.store.url)
