"""Models in stores: parameters that go round, copies, threads."""

from __future__ import annotations

import copy
import pickle
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_html_repr

from stc import PhaseLearner, PolicyAgent, SparseTensorClassifier
from stc.stores import StoreError
from support.conformance import assert_same, corpus
from support.edge_cases import FRAME, ITEMS, plain

MANY = pl.concat([FRAME] * 10)
NUMBERS = pl.DataFrame({"n": np.linspace(0, 1, 60), "a": ["x", "y"] * 30})
PARAMETERS: dict[str, tuple[dict[str, Any], pl.DataFrame, Any]] = {
    "an agent": (
        {"dimensions": "each", "policy": PolicyAgent(random_state=3)},
        MANY.select("a", "b"),
        MANY["class"],
    ),
    "a learner": (
        {"phases": PhaseLearner(penalties=(1.0,)), "entropy": 0.0},
        MANY.select("a", "b"),
        MANY["class"],
    ),
    "phases of whole numbers": ({"phases": {0: {"a": {"x": 0.5}}}}, ITEMS, [0, 1, 0, 1]),
    "phases as an array": ({"phases": np.zeros((5, 2))}, ITEMS, FRAME["class"]),
    "automatic numbers": ({"continuous": "auto"}, NUMBERS, ["p", "q"] * 30),
    "knots": ({"continuous": {"n": np.array([0, 0.5, 1])}}, NUMBERS, ["p", "q"] * 30),
    "an order of whole numbers": ({"ordinal": {"b": [1, 2]}}, ITEMS, FRAME["class"]),
    "tuples": ({"dimensions": (("a",), ("b",))}, ITEMS, FRAME["class"]),
    "a tiny power": ({"power": 1e-300}, ITEMS, FRAME["class"]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_go_round(url: str, name: str) -> None:
    params, X, y = PARAMETERS[name]
    memory = SparseTensorClassifier(**params).fit(X, y)
    SparseTensorClassifier(store=url, **params).fit(X, y)
    opened = SparseTensorClassifier(store=url)
    assert_same(memory.predict_proba(X), opened.predict_proba(X))
    for parameter, value in memory.get_params(deep=False).items():
        if parameter != "store":
            assert repr(getattr(opened, parameter)) == repr(value)
    for frame in ("policy_values_", "phase_history_"):
        if hasattr(memory, frame):
            assert getattr(opened, frame).equals(getattr(memory, frame))


def test_what_is_no_plain_data_is_refused(url: str) -> None:
    agent = PolicyAgent(random_state=np.random.RandomState(0))
    model = SparseTensorClassifier(dimensions="each", policy=agent, store=url)
    with pytest.raises(TypeError, match=r"policy: .* RandomState .* plain data"):
        model.fit(MANY.select("a", "b"), MANY["class"])
    assert not Path(url.split(":///")[1]).exists()


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "copy"])
def test_a_copy_is_the_same_stored_model(url: str, how: str) -> None:
    model = SparseTensorClassifier(store=url, power=0.3).fit(ITEMS, FRAME["class"])
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda own: pickle.loads(pickle.dumps(own)),
        "deepcopy": copy.deepcopy,
        "copy": copy.copy,
    }
    other = ways[how](model).partial_fit(ITEMS, FRAME["class"])
    assert other.class_mass_.sum() == model.class_mass_.sum() == 8
    assert other.power == 0.3


def test_a_model_can_be_shown_without_its_server() -> None:
    model = SparseTensorClassifier(store="postgresql://ada:s3cret@localhost:1/zoo")
    for shown in (model._repr_html_(), estimator_html_repr(model), repr(model)):
        assert "postgresql://ada@localhost:1/zoo" in shown
        assert "s3cret" not in shown
    with pytest.raises(StoreError, match="cannot be reached"):
        model.predict([["a"]])


def test_no_password_is_shown() -> None:
    model = SparseTensorClassifier(store="postgresql://ada:s3cret@localhost:1/zoo")
    pipeline = Pipeline([("model", model)])
    search = GridSearchCV(model, {"power": [1.0]})
    for own in (model, pipeline, search):
        assert "s3cret" not in repr(own)
        assert b"s3cret" not in pickle.dumps(own)
    with pytest.raises(ValueError, match="Invalid parameter") as refused:
        model.set_params(nothing=1)
    with pytest.raises(StoreError) as failed:
        model.fit([["a"]], ["x"])
    for error in (refused.value, failed.value):
        assert "s3cret" not in "".join(traceback.format_exception_only(error))
        assert error.__cause__ is None


def test_reading_makes_no_file(url: str) -> None:
    with pytest.raises(NotFittedError):
        SparseTensorClassifier(store=url).predict([["a"]])
    assert not Path(url.split(":///")[1]).exists()


def test_a_removed_file_is_begun_anew(url: str) -> None:
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    Path(url.split(":///")[1]).unlink()
    with pytest.raises(NotFittedError):
        model.predict(ITEMS)
    model.partial_fit(ITEMS, FRAME["class"])
    assert SparseTensorClassifier(store=url).class_mass_.tolist() == [2.0, 2.0]


def test_a_failed_fit_leaves_the_old_model(url: str) -> None:
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    for X, y in ((ITEMS, [None] * 4), ([["a\0"]], ["x"])):
        with pytest.raises(ValueError, match=r"NaN|NUL"):
            model.fit(X, y)
    assert corpus(model) == corpus(SparseTensorClassifier(store=url)) == corpus(plain())


def test_the_sum_of_stored_models_is_in_memory(url: str) -> None:
    one = SparseTensorClassifier(store=url, name="1").partial_fit([["a"]], ["x"], batch_id="b1")
    two = SparseTensorClassifier(store=url, name="2").partial_fit([["b"]], ["y"], batch_id="b2")
    both = one + two
    assert both.store is None
    assert both.partial_fit([["a"]], ["x"], batch_id="b1").class_mass_.tolist() == [1.0, 1.0]
    assert one.class_mass_.tolist() == [1.0]
    one.merge(two)
    assert SparseTensorClassifier(store=url, name="1").class_mass_.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="count twice"):
        one.merge(two)


@pytest.mark.parametrize("shared", [True, False])
def test_threads_lose_nothing(url: str, shared: bool) -> None:
    model = SparseTensorClassifier(store=url)

    def learn(thread: int) -> None:
        own = model if shared else SparseTensorClassifier(store=url)
        for k in range(6):
            own.partial_fit([[f"{thread}/{k % 3}"]], ["xyz"[k % 3]], batch_id=f"{thread}/{k}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(learn, range(4)))
    assert corpus(model) == corpus(SparseTensorClassifier(store=url))
    assert model.class_mass_.tolist() == [8.0, 8.0, 8.0]


def test_a_stored_model_learns_and_answers_from_files(url: str, tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    FRAME.write_parquet(path)
    SparseTensorClassifier(store=url).fit(path, "class", "w")
    model = SparseTensorClassifier(store=url)
    assert model.predict(path).tolist() == ["p", "q", "p", "q"]
    assert model.score(path) == 1.0
    for _ in range(2):
        model.partial_fit(path, batch_id="again")
    assert model.class_mass_.tolist() == [2.0, 6.0]
    assert corpus(model.unlearn(path)) == corpus(SparseTensorClassifier().fit(FRAME, "class", "w"))
    assert pl.read_csv(model.predict(path, to=tmp_path / "a.csv")).height == 4
