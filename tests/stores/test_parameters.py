"""Parameters of stored models: they live in the store, and change only by `set_params`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from stc import (
    ModelStore,
    PhaseLearner,
    PolicyAgent,
    StoredModel,
    learning,
    open_store,
)
from stc.exceptions import ParameterError
from support.conformance import assert_same, assert_same_model, corpus
from support.disks import disk, read_only
from support.edge_cases import FRAME, ITEMS, plain
from support.file_stores import FILES
from support.models import paper_model
from support.stores import another_store, opened

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


def created(url: str, **parameters: Any) -> StoredModel:
    return open_store(url).create("zoo", paper_model(**parameters))


def power_of(model: StoredModel) -> float:
    return model.get_params()["power"]


def version_of(model: StoredModel) -> int:
    version = model.store._database.version(model.name)
    assert version is not None
    return version


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_go_round(url: str, name: str) -> None:
    params, X, y = PARAMETERS[name]
    memory = paper_model(**params).fit(X, y)
    created(url, **params).fit(X, y)
    model = opened(url)
    assert_same(memory.predict_proba(X), model.predict_proba(X))
    assert repr(model.get_params()) == repr(memory.get_params())
    for frame in ("policy_values_", "phase_history_"):
        if hasattr(memory, frame):
            assert getattr(model, frame).equals(getattr(memory, frame))
    # Unfitted, too, and changed later.
    open_store(url).create("unfitted", paper_model())
    opened(url, "unfitted").set_params(**params)
    assert repr(opened(url, "unfitted").get_params()) == repr(memory.get_params())


def test_what_is_no_plain_data_is_refused(url: str) -> None:
    agent = PolicyAgent(random_state=np.random.RandomState(0))
    parameters = {"dimensions": "each", "policy": agent}
    with pytest.raises(TypeError, match=r"policy: .* RandomState .* plain data"):
        created(url, **parameters)
    assert not Path(url.partition(":///")[2]).exists()
    model = created(url)
    with pytest.raises(TypeError, match=r"policy: .* RandomState .* plain data"):
        model.set_params(**parameters)
    assert opened(url).get_params()["policy"] is None


# --- other processes ------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[StoredModel], object]] = {
    "partial_fit": lambda model: model.partial_fit(ITEMS, FRAME["class"], batch_id="new"),
    "partial_fit of new values": lambda model: model.partial_fit([{"a": "new", "b": 9}], ["new"]),
    "unlearn": lambda model: model.unlearn(ITEMS[:1], FRAME["class"][:1]),
    "unlearn everything": lambda model: model.unlearn(ITEMS, FRAME["class"]),
    "merge": lambda model: model.merge(plain()),
    "learn_phases": lambda model: model.learn_phases(MANY.select("a", "b"), MANY["class"]),
    "fit": lambda model: model.fit(ITEMS[:2], FRAME["class"][:2]),
    "set_params": lambda model: model.set_params(entropy=0.25),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_stale_copy_never_writes_its_parameters(url: str, change: str) -> None:
    one = created(url, power=0.4).fit(ITEMS, FRAME["class"])
    stale = opened(url)
    stale.predict(ITEMS)  # it has a copy now
    one.set_params(power=1.0, balance=0.2)
    CHANGES[change](stale)
    for model in (one, stale, opened(url)):
        assert power_of(model) == 1.0
        assert model.get_params()["balance"] == 0.2
    memory = paper_model(power=1.0, balance=0.2).fit(ITEMS, FRAME["class"])
    CHANGES[change](memory)
    if hasattr(memory, "classes_"):
        assert_same_model(memory, opened(url), ITEMS)


@pytest.mark.parametrize(
    "parameters",
    [{"power": 1.0}, {"dimensions": "each"}, {"missing": "category"}, {"interactions": 2}],
    ids=str,
)
def test_parameters_changed_during_a_fit_are_those_of_the_model(
    url: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, other = created(url), opened(url)
    fit = learning.fit

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(learning, "fit", fit)
        other.set_params(**parameters)  # after the first one has read the parameters
        return fit(*arguments)

    monkeypatch.setattr(learning, "fit", interrupted)
    model.fit(ITEMS, FRAME["class"])
    memory = paper_model(**parameters).fit(ITEMS, FRAME["class"])
    for stored in (model, other, opened(url)):
        assert stored.get_params() == memory.get_params()
        assert_same_model(memory, stored, ITEMS)


def test_a_handle_sees_parameters_that_another_one_changes(url: str) -> None:
    one = created(url, power=0.4).fit(ITEMS, FRAME["class"])
    two = opened(url)
    for power in (0.3, 0.6, 1.0):
        one.set_params(power=power)
        memory = paper_model(power=power).fit(ITEMS, FRAME["class"])
        assert power_of(two) == power
        assert_same_model(memory, two, ITEMS)
        two.set_params(power=power / 2)
        assert power_of(one) == power / 2


# --- what reading changes: nothing ----------------------------------------------------------------


@pytest.mark.parametrize("fitted", [True, False])
def test_reading_changes_no_parameter(url: str, fitted: bool) -> None:
    model = created(url, power=0.4, policy=[["all"]])
    if fitted:
        model.fit(ITEMS, FRAME["class"])
    for asked in (model, opened(url)):
        version, before = version_of(model), repr(asked.get_params())
        assert hasattr(asked, "classes_") is fitted
        for name in ("fitted_", "policy_", "n_features_in_", "feature_names_in_", "sharpness_"):
            assert hasattr(asked, name) is fitted
        for name in ("policy_values_", "phase_history_", "label_threshold_", "nothing"):
            assert not hasattr(asked, name)
        if fitted:
            asked.predict(ITEMS)
            asked.explain_local(ITEMS)
        clone(asked).set_params(power=0.9)
        asked.to_estimator().set_params(power=0.9)
        assert repr(asked.get_params()) == before
        assert version_of(model) == version


def test_what_get_params_returns_is_a_copy(url: str) -> None:
    policy = [["all"]]
    model = created(url, policy=policy, ordinal={"b": [1, 2]}).fit(ITEMS, FRAME["class"])
    given: list[list[str]] = [["all"], []]
    model.set_params(policy=given)
    before = repr(model.get_params())
    given.append(["never"])
    model.get_params()["policy"].append(["never"])
    model.get_params()["ordinal"]["b"].append(3)
    memory = model.to_estimator()
    memory.policy.append(["never"])
    memory.ordinal["b"].append(3)
    clone(model).policy.append(["never"])
    both = model + model.to_estimator()
    both.policy.append(["never"])
    both.ordinal["b"].append(3)
    assert repr(model.get_params()) == repr(opened(url).get_params()) == before
    model.predict(ITEMS)


# --- what set_params refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dimensions": "each"}, r"learnt with the dimensions \['all'\]"),
        ({"interactions": 2}, "learnt with interactions=1"),
        ({"ngrams": 2}, "learnt with ngrams=1"),
        ({"policy": [["a"]]}, "names the dimension 'a', which does not exist"),
        ({"phases": {"never": {"a": {"x": 1.0}}}}, "the class 'never', which was never learnt"),
        ({"phases": np.zeros((3, 3))}, "phases"),
        ({"power": 0.9, "dimensions": [["a"]]}, r"learnt with the dimensions \['all'\]"),
    ],
    ids=str,
)
def test_parameters_that_contradict_the_state_are_refused(
    url: str, parameters: dict[str, Any], message: str
) -> None:
    model = created(url).fit(ITEMS, FRAME["class"])
    version, before = version_of(model), model.get_params()
    for stored in (model, opened(url)):
        with pytest.raises(ParameterError, match=message) as caught:
            stored.set_params(**parameters)
        assert caught.value.hint == "create another model with them"
        assert stored.get_params() == before
        assert_same_model(plain(), stored, ITEMS)
    assert version_of(model) == version
    if "phases" not in parameters:
        return
    # Nothing contradicts it before something was learnt.
    open_store(url).create("unfitted", paper_model()).set_params(**parameters)


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"power": -1}, "'power' parameter"),
        ({"power": None}, "'power' parameter"),
        ({"balance": 0.1, "entropy": -1.0}, "'entropy' parameter"),
        ({"missing": "x"}, "'missing' parameter"),
        ({"tokenizer": "str.split"}, "'tokenizer' parameter"),
        ({"nothing": 1}, "Invalid parameter 'nothing'"),
        ({"policy__random_state": 1}, "has no attribute 'set_params'"),
        ({"store": "sqlite:///x.db"}, "Invalid parameter 'store'"),
        ({"name": "x"}, "Invalid parameter 'name'"),
    ],
    ids=str,
)
def test_a_wrong_parameter_changes_nothing(
    url: str, fitted: bool, parameters: dict[str, Any], message: str
) -> None:
    model = created(url, power=0.4)
    if fitted:
        model.fit(ITEMS, FRAME["class"])
    version, before = version_of(model), model.get_params()
    for stored in (model, opened(url)):
        with pytest.raises((ValueError, AttributeError), match=message):
            stored.set_params(**parameters)
        assert stored.get_params() == before
    assert version_of(model) == version


def test_set_params_takes_nested_parameters_and_returns_the_model(url: str) -> None:
    model = created(url, dimensions="each", policy=PolicyAgent(random_state=1))
    assert model.set_params(policy__random_state=7, power=0.4) is model
    assert model.set_params() is model
    parameters = opened(url).get_params()
    assert parameters["policy__random_state"] == 7
    assert parameters["power"] == 0.4
    assert "policy__random_state" not in opened(url).get_params(deep=False)


# --- phases that are given ------------------------------------------------------------------------


def test_what_would_contradict_given_phases_is_refused(url: str) -> None:
    """Otherwise no other process could open the model."""
    phases = {"p": {"a": {"x": 0.7}}}
    model = created(url, phases=phases)
    X, y = ITEMS, FRAME["class"]
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ParameterError, match="the class 'p', which was never learnt"):
            learn(X[1:2], y[1:2])
    assert not hasattr(opened(url), "classes_")
    model.partial_fit(X[1:2], y[1:2], classes=["p", "q"])  # a declared class is one
    model.partial_fit([{"a": "new", "b": 1}], ["new"]).partial_fit(X[:1], y[:1])
    memory = paper_model(phases=phases).partial_fit(X[1:2], y[1:2], classes=["p", "q"])
    memory.partial_fit([{"a": "new", "b": 1}], ["new"]).partial_fit(X[:1], y[:1])
    assert_same_model(memory, opened(url), X)

    model.fit(X, y)
    p = FRAME.filter(pl.col("class") == "p")
    with pytest.raises(ParameterError, match="the class 'p', which was never learnt"):
        model.unlearn(p.select("a", "b"), p["class"])
    assert corpus(opened(url)) == corpus(plain())
    opened(url).set_params(phases=None).unlearn(p.select("a", "b"), p["class"])
    assert model.classes_.tolist() == ["q"]

    model.fit(X, y).set_params(phases=np.zeros((5, 2)))
    for change in (
        lambda: model.partial_fit([{"a": "new", "b": 1}], ["p"], batch_id="new"),
        lambda: model.merge(paper_model().fit([{"a": "new", "b": 1}], ["p"])),
    ):
        with pytest.raises(ParameterError, match="phases"):
            change()
    assert corpus(opened(url)) == corpus(plain())
    assert opened(url).fitted_.state.batches == frozenset()


# --- tokenizers -----------------------------------------------------------------------------------

TEXTS, LABELS = ["a-b c,", "d"], ["x", "y"]


def shout(text: str) -> list[str]:
    return text.upper().split()


@pytest.mark.parametrize("fitted", [True, False])
def test_a_tokenizer_is_needed_in_each_process(url: str, fitted: bool) -> None:
    model = created(url, tokenizer=str.split)
    if fitted:
        model.fit(TEXTS, LABELS)
    assert open_store(url)["zoo"].get_params()["tokenizer"] is str.split
    other, version = opened(url), version_of(model)
    assert other.get_params()["tokenizer"] is None
    uses: list[Callable[[], Any]] = [
        lambda: other.fit(TEXTS, LABELS),
        lambda: other.partial_fit(TEXTS, LABELS, batch_id="1"),
        lambda: other.to_estimator(),
        lambda: clone(other),
        lambda: cross_val_score(other, TEXTS * 5, LABELS * 5),
        lambda: open_store(url).create("copy", other),
    ]
    if fitted:
        uses += [
            lambda: other.predict(TEXTS),
            lambda: other.explain_global(),
            lambda: other.classes_,
            lambda: other.unlearn(TEXTS, LABELS),
            lambda: other.save("nowhere"),
            lambda: other.merge(paper_model().fit(TEXTS, LABELS)),
            lambda: paper_model().fit(TEXTS, LABELS).merge(other),
        ]
    for use in uses:
        with pytest.raises(ParameterError, match=r"with the tokenizer 'str\.split'") as caught:
            use()
        assert caught.value.hint == "give it again, set_params(tokenizer=...)"
    assert version_of(model) == version
    assert list(open_store(url)) == ["zoo"]


def test_a_tokenizer_is_given_again(url: str) -> None:
    model = created(url, tokenizer=str.split).fit(TEXTS, LABELS)
    other = opened(url)
    assert other.set_params(power=0.4).get_params()["power"] == 0.4  # needs no tokenizer
    with pytest.raises(ParameterError, match=r"with the tokenizer 'str\.split'"):
        other.predict(["a-b"])
    version = version_of(model)
    assert other.set_params(tokenizer=str.split).predict(["a-b"]).tolist() == ["x"]
    assert version_of(model) == version  # the store has its name already
    assert other.store["zoo"].get_params()["tokenizer"] is str.split
    other.partial_fit(["e-f"], ["z"])
    assert model.predict(["e-f"]).tolist() == ["z"]
    assert "a-b" in model.get_feature_names_out()
    assert clone(other).tokenizer is str.split
    assert other.to_estimator().tokenizer is str.split
    copied = other.store.create("copy", other)
    assert copied.get_params()["tokenizer"] is str.split
    with pytest.raises(ParameterError, match=r"with the tokenizer 'str\.split'"):
        opened(url, "copy").predict(TEXTS)


def test_another_tokenizer_is_one_for_all_processes(url: str) -> None:
    model = created(url, tokenizer=str.split).fit(TEXTS, LABELS)
    other = opened(url).set_params(tokenizer=shout)
    other.fit(TEXTS, LABELS)
    assert "A-B" in other.get_feature_names_out()
    with pytest.raises(ParameterError, match="with the tokenizer 'shout'"):
        opened(url).predict(TEXTS)
    other.set_params(tokenizer=None).fit(TEXTS, LABELS)
    for stored in (model, other, opened(url)):
        assert stored.get_params()["tokenizer"] is None
        assert "," in stored.get_feature_names_out()


def test_a_refused_tokenizer_is_not_used(url: str) -> None:
    model = created(url, tokenizer=str.split).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="'power' parameter"):
        model.set_params(tokenizer=shout, power=-1)
    assert model.get_params()["tokenizer"] is str.split
    assert model.predict(["a-b"]).tolist() == ["x"]


@pytest.mark.parametrize("kind", FILES)
def test_a_tokenizer_is_given_to_a_read_only_store(kind: str, tmp_path: Path) -> None:
    with disk(tmp_path / "disk") as folder:
        url = FILES[kind].format(folder)
        with open_store(url) as store:
            text = paper_model(tokenizer=str.split, ngrams=2).fit(TEXTS, LABELS)
            store.create("zoo", text)
        with read_only(folder), open_store(url) as store:
            model = store["zoo"].set_params(tokenizer=str.split)
            assert model.predict(["a-b"]).tolist() == ["x"]
            with pytest.raises(RuntimeError, match="is read-only"):
                model.set_params(tokenizer=shout)
            assert model.predict(["a-b"]).tolist() == ["x"]


# --- the store decides, whoever creates -----------------------------------------------------------


def test_each_name_has_its_own_parameters(url: str) -> None:
    store = open_store(url)
    store.create("a", paper_model(power=0.3)).fit(ITEMS, FRAME["class"])
    store.create("b", paper_model(balance=0.2)).fit(ITEMS, FRAME["class"])
    other: ModelStore = another_store(url)
    for name, expected in (("a", (0.3, 1.0)), ("b", (0.5, 0.2))):
        parameters = other[name].get_params()
        assert (parameters["power"], parameters["balance"]) == expected


def test_fitting_anew_keeps_the_parameters_of_the_store(url: str) -> None:
    model = created(url, dimensions="each", power=0.3).fit(ITEMS, FRAME["class"])
    assert opened(url).fit(ITEMS[:2], FRAME["class"][:2]).get_params()["dimensions"] == "each"
    assert power_of(model) == 0.3
    assert model.policy_ == [["a", "b"], []]
    open_store(url).create("zoo", paper_model(), overwrite=True)
    model.fit(ITEMS, FRAME["class"])
    assert opened(url).get_params()["dimensions"] is None
    assert opened(url).policy_ == [["all"], []]
