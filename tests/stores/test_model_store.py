"""ModelStore: a mapping from names to models."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import stc
from stc import (
    ModelStore,
    SparseTensorClassifier,
    SparseTensorClassifierCV,
    StoredModel,
    StoreError,
    open_store,
)
from stc.exceptions import ModelNotFoundError, ParameterError, ParameterTypeError
from support.conformance import assert_same_model, corpus
from support.edge_cases import FRAME, ITEMS, plain
from support.models import paper_model
from support.stores import another_store, opened

MANY = pl.concat([FRAME] * 10)


@pytest.fixture
def store(url: str) -> ModelStore:
    return open_store(url)


# --- the mapping ----------------------------------------------------------------------------------


def test_a_store_is_a_mapping(store: ModelStore) -> None:
    models = {name: store.create(name, plain()) for name in ("b", "a", "c")}
    assert isinstance(store, Mapping)
    assert list(store) == list(store.keys()) == ["a", "b", "c"]
    assert len(store) == 3
    assert dict(store) == models
    assert list(store.values()) == [models["a"], models["b"], models["c"]]
    assert dict(store.items()) == models
    assert all(store[name] is models[name] is store.get(name) for name in models)
    assert store.get("d") is None
    assert "a" in store
    assert store._ipython_key_completions_() == ["a", "b", "c"]


def test_a_wrong_name_is_a_key_error_that_lists_the_names(store: ModelStore) -> None:
    for wanted in (lambda: store["zo"], lambda: store.__delitem__("zo")):
        with pytest.raises(ModelNotFoundError, match=r"there is no model 'zo'$") as caught:
            wanted()
        assert caught.value.hint is None
    for name in ("zoo", "birds"):
        store.create(name, paper_model())
    for wanted in (lambda: store["zo"], lambda: store.__delitem__("zo")):
        with pytest.raises(ModelNotFoundError) as caught:
            wanted()
        assert isinstance(caught.value, KeyError)
        assert isinstance(caught.value, StoreError)
        assert caught.value.path == store.url
        assert str(caught.value) == (
            f"{store.url}: there is no model 'zo'; there are 'birds', 'zoo'"
        )


@pytest.mark.parametrize("name", [7, None, b"zoo", ("zoo",), "a\0b", "\ud800", "", " zoo"])
def test_what_is_no_name_is_not_there(store: ModelStore, name: Any) -> None:
    store.create("zoo", paper_model())
    assert name not in store
    assert store.get(name) is None
    for wanted in (lambda: store[name], lambda: store.__delitem__(name)):
        with pytest.raises(KeyError, match="there are 'zoo'"):
            wanted()


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("", ParameterError, "the name of a model is empty"),
        (7, ParameterTypeError, "the name of a model is a string, got int"),
        (None, ParameterTypeError, "the name of a model is a string, got NoneType"),
        (b"zoo", ParameterTypeError, "the name of a model is a string, got bytes"),
        ("a\0b", ParameterError, "NUL"),
        ("\ud800", ParameterError, "surrogate"),
    ],
)
def test_names_that_cannot_be_stored_are_refused(
    store: ModelStore, name: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        store.create(name, plain())
    assert list(store) == []


def test_names_are_told_apart(store: ModelStore) -> None:
    names = ["zoo", "Zoo", "zoo ", "z\u00f3o", "zo\u0301o", "zoo#1", "a/b", "#", "0", "動物園"]
    for k, name in enumerate(names):
        store.create(name, paper_model(power=(k + 1) / 10))
    assert list(store) == sorted(names)
    for k, name in enumerate(names):
        assert store[name].get_params()["power"] == (k + 1) / 10


def test_stores_are_compared_by_identity(store: ModelStore, url: str) -> None:
    other = another_store(url)
    assert store == open_store(url)
    assert store != other
    assert other not in {store}
    assert store != {}


def test_a_deleted_model_is_gone_with_its_ledger(store: ModelStore, url: str) -> None:
    model = store.create("zoo", paper_model())
    model.partial_fit([["a"]], ["x"], batch_id="1")
    store.create("other", plain())
    del store["zoo"]
    assert list(store) == list(another_store(url)) == ["other"]
    for ask in (
        lambda: model.predict([["a"]]),
        lambda: model.partial_fit([["a"]], ["x"]),
        lambda: model.fit([["a"]], ["x"]),
        lambda: model.unlearn([["a"]], ["x"]),
        lambda: model.set_params(power=1.0),
        lambda: model.get_params(),
        lambda: model.to_estimator(),
        lambda: model.classes_,
        lambda: clone(model),
    ):
        with pytest.raises(ModelNotFoundError, match="there is no model 'zoo'"):
            ask()
    assert list(store) == ["other"]
    again = store.create("zoo", paper_model())
    assert again.partial_fit([["a"]], ["x"], batch_id="1").class_mass_.tolist() == [1.0]
    assert model.class_mass_.tolist() == [1.0]  # a handle is a name, not what it once named
    assert corpus(store["other"]) == corpus(plain())


# --- creating -------------------------------------------------------------------------------------


def test_an_unfitted_model_is_created(store: ModelStore, url: str) -> None:
    given = paper_model(power=0.4, dimensions="each")
    before = repr(given)
    created = store.create("zoo", given)
    assert isinstance(created, StoredModel)
    assert repr(given) == before
    for model in (created, opened(url)):
        assert model.get_params() == given.get_params()
        assert not hasattr(model, "classes_")
        assert not hasattr(model, "fitted_")
        with pytest.raises(NotFittedError):
            check_is_fitted(model)
        for ask in (
            lambda model=model: model.predict(ITEMS),
            lambda model=model: model.predict_proba(ITEMS),
            lambda model=model: model.score(ITEMS, FRAME["class"]),
            lambda model=model: model.explain_local(ITEMS),
            lambda model=model: model.explain_global(),
            lambda model=model: model.unlearn(ITEMS, FRAME["class"]),
            lambda model=model: model.learn_phases(ITEMS, FRAME["class"]),
            lambda model=model: model.merge(plain()),
            lambda model=model: plain().merge(model),
            lambda model=model: model + plain(),
            lambda model=model: model.save("nowhere"),
            lambda model=model: model.to_sql(),
        ):
            with pytest.raises(NotFittedError, match="'zoo' is not fitted yet"):
                ask()
        memory = model.to_estimator()
        assert type(memory) is SparseTensorClassifier
        assert memory.get_params() == given.get_params()
        assert not hasattr(memory, "classes_")
    opened(url).fit(ITEMS, FRAME["class"])
    check_is_fitted(created)
    assert_same_model(given.fit(ITEMS, FRAME["class"]), created, ITEMS)


def test_a_fitted_model_is_created_and_not_shared(store: ModelStore, url: str) -> None:
    memory = paper_model(power=0.3).partial_fit(ITEMS, FRAME["class"], batch_id="1")
    expected = memory.predict_proba(ITEMS)
    created = store.create("zoo", memory)
    for model in (created, opened(url)):
        np.testing.assert_allclose(model.predict_proba(ITEMS), expected, rtol=0, atol=1e-12)
        assert model.fitted_.state.batches == {"1"}
        assert model.get_params() == memory.get_params()
    memory.partial_fit(ITEMS, FRAME["class"]).set_params(power=0.9)
    assert created.partial_fit(ITEMS, FRAME["class"], batch_id="1").class_mass_.sum() == 4
    assert created.get_params()["power"] == 0.3
    created.partial_fit(ITEMS[:1], FRAME["class"][:1])
    assert memory.class_mass_.sum() == 8


def test_parameters_that_were_changed_after_fitting_are_stored(store: ModelStore) -> None:
    memory = plain().set_params(power=0.8)
    model = store.create("zoo", memory)
    assert model.get_params()["power"] == 0.8
    assert_same_model(memory, model, ITEMS)


def test_a_searched_model_is_created(store: ModelStore, url: str) -> None:
    search = SparseTensorClassifierCV()
    with pytest.raises(NotFittedError):
        store.create("zoo", search)
    assert list(store) == []
    search.fit(MANY.select("a", "b"), MANY["class"])
    store.create("zoo", search)
    assert repr(opened(url).get_params()) == repr(search.best_estimator_.get_params())
    assert_same_model(search.best_estimator_, opened(url), ITEMS)


def test_a_model_of_another_store_is_created(store: ModelStore, url: str, tmp_path: Path) -> None:
    other = open_store(f"sqlite:///{tmp_path}/other.db")
    there = other.create("there", paper_model(power=0.3))
    store.create("unfitted", there)
    there.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    store.create("fitted", there)
    other.close()
    assert opened(url, "unfitted").get_params()["power"] == 0.3
    with pytest.raises(NotFittedError):
        opened(url, "unfitted").predict(ITEMS)
    model = opened(url, "fitted").partial_fit(ITEMS, FRAME["class"], batch_id="1")
    assert model.class_mass_.sum() == 4
    assert model.get_params()["power"] == 0.3
    # Under another name in the same store, too.
    store.create("copy", store["fitted"]).partial_fit(ITEMS, FRAME["class"])
    assert store["fitted"].class_mass_.sum() == 4


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (None, ParameterTypeError, "a model of stc is needed, got NoneType"),
        ("zoo", ParameterTypeError, "a model of stc is needed, got str"),
        (SparseTensorClassifier, ParameterTypeError, "a model of stc is needed"),
        (paper_model(power=-1), ValueError, "'power' parameter"),
        (paper_model(policy="x"), ValueError, "'policy' parameter"),
        (paper_model(policy=[[["x"]]]), ValueError, "not a list of dimensions"),
        (plain().set_params(policy=[["b"]]), ValueError, "names the dimension 'b'"),
        (plain().set_params(power=-1), ValueError, "'power' parameter"),
        (paper_model().fit([["a\0"]], ["x"]), ValueError, "NUL"),
    ],
)
def test_a_model_that_cannot_be_stored_is_refused(
    store: ModelStore, url: str, model: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        store.create("zoo", model)
    assert list(store) == []
    assert not Path(url.partition(":///")[2]).exists() or "NUL" in message
    store.create("zoo", plain())
    with pytest.raises(error, match=message):
        store.create("zoo", model, overwrite=True)
    assert corpus(opened(url)) == corpus(plain())


def test_an_existing_model_is_replaced_only_on_demand(store: ModelStore, url: str) -> None:
    first = store.create("zoo", paper_model(power=0.3))
    first.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    for model in (paper_model(), plain()):
        with pytest.raises(ParameterError, match="already has a model 'zoo'") as caught:
            store.create("zoo", model)
        assert caught.value.path == store.url
        assert "overwrite=True" in caught.value.hint
    assert store["zoo"] is first
    assert first.class_mass_.sum() == 4
    assert first.get_params()["power"] == 0.3

    second = store.create("zoo", paper_model(), overwrite=True)
    assert store["zoo"] is second
    for model in (first, second, opened(url)):
        assert model.get_params()["power"] == 0.5
        assert not hasattr(model, "classes_")
    # The batch was learnt by the model that was replaced.
    second.partial_fit([{"c": 1}], ["new"], batch_id="1")
    assert first.classes_.tolist() == opened(url).classes_.tolist() == ["new"]

    store.create("zoo", plain(), overwrite=True)
    for model in (first, second, opened(url)):
        assert corpus(model) == corpus(plain())
        assert model.fitted_.state.batches == frozenset()
    store.create("new", plain(), overwrite=True)
    assert list(store) == ["new", "zoo"]


# --- opening and closing --------------------------------------------------------------------------


def test_two_handles_see_each_other(store: ModelStore, url: str) -> None:
    one = store.create("zoo", paper_model())
    two = opened(url)
    assert one is store["zoo"]
    assert two is not one
    for k in range(1, 4):
        one.partial_fit(ITEMS, FRAME["class"], batch_id=f"one {k}")
        assert two.class_mass_.sum() == 8 * k - 4
        two.partial_fit(ITEMS, FRAME["class"], batch_id=f"two {k}")
        assert one.class_mass_.sum() == 8 * k
        one.partial_fit(ITEMS, FRAME["class"], batch_id=f"two {k}")  # the other one has learnt it
        assert one.class_mass_.sum() == two.class_mass_.sum() == 8 * k
    two.unlearn(ITEMS, FRAME["class"], batch_id="one 1")
    assert one.class_mass_.sum() == 20
    assert one.fitted_.state.batches == two.fitted_.state.batches
    assert len(one.fitted_.state.batches) == 7


def test_a_store_closes_and_opens_again(store: ModelStore, url: str) -> None:
    model = store.create("zoo", plain())
    store.close()
    store.close()
    again = open_store(url)
    assert again is not store
    assert again["zoo"] is not model
    assert corpus(again["zoo"]) == corpus(plain())
    again.close()
    assert corpus(model) == corpus(plain())  # a closed store opens when it is needed
    model.partial_fit(ITEMS, FRAME["class"])
    store.close()
    assert open_store(url)["zoo"].class_mass_.sum() == 8


def test_a_with_statement_closes_the_store(url: str) -> None:
    with open_store(url) as store:
        assert open_store(url) is store
        store.create("zoo", plain())
    assert open_store(url) is not store
    failure = RuntimeError("out")
    with pytest.raises(RuntimeError, match="out"), open_store(url) as store:
        raise failure
    assert open_store(url) is not store
    assert list(open_store(url)) == ["zoo"]


def test_a_closed_store_can_be_opened_by_another_process(url: str) -> None:
    with open_store(url) as store:
        store.create("zoo", plain())
    code = (
        "import sys, stc\n"
        "with stc.open_store(sys.argv[1]) as store:\n"
        "    store['zoo'].partial_fit([{'a': 'x', 'b': 1}], ['p'], batch_id='there')\n"
    )
    subprocess.run([sys.executable, "-c", code, url], check=True)
    assert open_store(url)["zoo"].class_mass_.tolist() == [3.0, 2.0]
    assert open_store(url)["zoo"].fitted_.state.batches == {"there"}


# --- copies ---------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda own: pickle.loads(pickle.dumps(own)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_is_the_same_store_and_the_same_model(url: str, way: str) -> None:
    store = open_store(url)
    model = store.create("zoo", paper_model(power=0.3)).fit(ITEMS, FRAME["class"])
    assert WAYS[way](store) is store
    assert WAYS[way](model) is model
    assert WAYS[way]({"model": model, "store": store}) == {"model": model, "store": store}
    other = WAYS[way](model).partial_fit(ITEMS, FRAME["class"])
    assert other.class_mass_.sum() == model.class_mass_.sum() == 8
    assert other.get_params()["power"] == 0.3


def test_a_pickle_opens_the_store_again(url: str, tmp_path: Path) -> None:
    store = open_store(url)
    model = store.create("zoo", plain())
    pickled = pickle.dumps((model, store))
    joblib.dump(model, tmp_path / "model.joblib")
    store.close()
    again, its_store = pickle.loads(pickled)
    assert again is not model
    assert again.store is its_store is open_store(url)
    assert corpus(again) == corpus(plain())
    assert joblib.load(tmp_path / "model.joblib") is again
    del its_store["zoo"]
    with pytest.raises(KeyError, match="there is no model 'zoo'"):
        pickle.loads(pickled)


def test_a_pickle_is_opened_in_another_process(url: str, tmp_path: Path) -> None:
    model = open_store(url).create("zoo", plain())
    (tmp_path / "pickle").write_bytes(pickle.dumps(model))
    model.store.close()
    code = (
        "import pickle, sys\n"
        "model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "model.partial_fit([{'a': 'x', 'b': 1}], ['p'])\n"
        "print(model.class_mass_.tolist())\n"
        "model.store.close()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "pickle")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "[3.0, 2.0]\n"
    assert model.class_mass_.tolist() == [3.0, 2.0]


def test_an_estimator_of_a_stored_model_is_a_copy(url: str) -> None:
    model = open_store(url).create("zoo", paper_model(power=0.3))
    model.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    memory = model.to_estimator()
    assert type(memory) is SparseTensorClassifier
    assert memory.get_params() == model.get_params()
    assert_same_model(memory, model, ITEMS)
    memory.partial_fit(ITEMS, FRAME["class"], batch_id="1").partial_fit(ITEMS, FRAME["class"])
    memory.set_params(power=0.9)
    assert memory.class_mass_.sum() == 8
    assert model.class_mass_.sum() == opened(url).class_mass_.sum() == 4
    assert model.get_params()["power"] == 0.3
    pickled = pickle.loads(pickle.dumps(memory))
    assert_same_model(memory, pickled, ITEMS)


# --- scikit-learn ---------------------------------------------------------------------------------


def test_a_clone_learns_in_memory(url: str) -> None:
    model = open_store(url).create("zoo", paper_model(power=0.3))
    model.fit(ITEMS, FRAME["class"])
    version = model.store._database.version("zoo")
    fitted = clone(model)
    assert type(fitted) is SparseTensorClassifier
    assert not hasattr(fitted, "classes_")
    assert fitted.get_params() == model.get_params()
    fitted.fit(ITEMS[:2], FRAME["class"][:2])
    assert fitted.power == 0.3
    assert model.class_mass_.sum() == 4
    assert model.store._database.version("zoo") == version


@pytest.mark.parametrize("fitted", [True, False])
def test_cross_validation_replaces_nothing_in_the_store(url: str, fitted: bool) -> None:
    X, y = MANY.select("a", "b"), MANY["class"].to_list()
    estimator = paper_model(power=0.3)
    model = open_store(url).create(
        "zoo", estimator.fit(ITEMS, FRAME["class"]) if fitted else estimator
    )
    version = model.store._database.version("zoo")
    scores = cross_val_score(model, X, y, cv=3)
    expected = cross_val_score(paper_model(power=0.3), X, y, cv=3)
    assert scores.tolist() == expected.tolist()
    search = GridSearchCV(model, {"power": [0.2, 0.8]}, cv=3).fit(X, y)
    assert type(search.best_estimator_) is SparseTensorClassifier
    assert model.store._database.version("zoo") == version
    assert list(model.store) == ["zoo"]
    assert model.get_params()["power"] == 0.3


def test_scikit_learn_takes_a_stored_model_for_a_classifier(url: str) -> None:
    model = open_store(url).create("zoo", paper_model())
    assert is_classifier(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    pipeline = make_pipeline(model).fit(ITEMS, FRAME["class"])
    check_is_fitted(model)
    assert pipeline.predict(ITEMS).tolist() == model.predict(ITEMS).tolist()
    assert repr(model) in repr(pipeline)
    assert corpus(opened(url)) == corpus(plain())


def test_every_method_of_an_estimator_is_one_of_a_stored_model() -> None:
    names = {name for name in dir(SparseTensorClassifier) if not name.startswith("_")}
    without = {"load", "get_metadata_routing", "set_fit_request", "set_partial_fit_request"}
    absent = {name for name in names - without if not hasattr(StoredModel, name)}
    assert absent <= {name for name in names if name.startswith("set_") and name != "set_params"}


def test_a_stored_model_is_merged_into_another(store: ModelStore, url: str) -> None:
    one = store.create("1", paper_model()).partial_fit([["a"]], ["x"], batch_id="b1")
    two = store.create("2", paper_model()).partial_fit([["b"]], ["y"], batch_id="b2")
    both = one + two
    assert type(both) is SparseTensorClassifier
    assert both.partial_fit([["a"]], ["x"], batch_id="b1").class_mass_.tolist() == [1.0, 1.0]
    assert one.class_mass_.tolist() == [1.0]
    memory = paper_model().fit([["c"]], ["z"]).merge(two)
    assert memory.class_mass_.tolist() == [1.0, 1.0]
    one.merge(two)
    assert opened(url, "1").class_mass_.tolist() == [1.0, 1.0]
    assert opened(url, "2").class_mass_.tolist() == [1.0]
    with pytest.raises(ValueError, match="count twice"):
        one.merge(two)
    with pytest.raises(TypeError, match="can only merge a model of stc, got ModelStore"):
        one.merge(store)


# --- what is shown --------------------------------------------------------------------------------


def test_a_store_and_its_models_show_their_url(store: ModelStore, url: str) -> None:
    model = store.create("zoo", paper_model())
    assert store.url == url
    assert repr(store) == f"ModelStore({url!r})"
    assert repr(model) == f"StoredModel('zoo', store=ModelStore({url!r}))"
    assert model.store is store
    assert model.name == "zoo"


def test_a_store_without_a_server_can_be_shown_and_says_what_is_wrong() -> None:
    store = open_store("postgresql://ada:s3cret@localhost:1/zoo")
    shown = "ModelStore('postgresql://ada@localhost:1/zoo')"
    assert repr(store) == shown
    assert repr(StoredModel(store, "zoo")) == f"StoredModel('zoo', store={shown})"
    assert b"s3cret" not in pickle.dumps(store) + pickle.dumps(StoredModel(store, "zoo"))
    for ask in (
        lambda: list(store),
        lambda: store["zoo"],
        lambda: "zoo" in store,
        lambda: store.create("zoo", plain()),
        lambda: StoredModel(store, "zoo").predict(ITEMS),
        lambda: StoredModel(store, "zoo").get_params(),
    ):
        with pytest.raises(StoreError, match="cannot be reached") as caught:
            ask()
        assert "s3cret" not in str(caught.value)
        assert caught.value.__cause__ is None
    store.close()


def test_a_stored_model_takes_all_kinds_of_data(url: str, tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "d.parquet")
    model = open_store(url).create("zoo", paper_model())
    model.fit(stc.source(tmp_path / "d.parquet", ignore=["w"]), "class")
    for X in (ITEMS, ITEMS.to_pandas(), ITEMS.to_dicts(), ITEMS.to_arrow(), ITEMS.lazy()):
        model.partial_fit(X, FRAME["class"].to_list())
        assert model.predict(X).tolist() == FRAME["class"].to_list()
    assert opened(url).class_mass_.sum() == 24
