"""The options of the agent, what it leaves, and what it prints."""

import io
import pickle
import sys
import time
from itertools import count
from typing import Any

import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from stc import PolicyAgent, SparseTensorClassifier
from stc._utils.validation import InvalidParameterError
from support.agent_cases import AB, HYPERS, LOG, PLAIN, STEPS, XOR, XOR_Y, Y, learnt, noisy, values
from support.models import paper_model

# ---------------------------------------------------------------- in the company of scikit-learn


DEFAULTS = {
    "loss": "norm",
    "order": 1.0,
    "floor": 1e-9,
    "iterations": 10,
    "validation": 0.3,
    "priorities": None,
    "start": None,
    "max_dimensions": None,
    "max_candidates": None,
    "time_limit": None,
    "random_state": 0,
    "verbose": None,
}


def test_the_options() -> None:
    assert PolicyAgent().get_params() == DEFAULTS
    assert repr(PolicyAgent(iterations=3)) == "PolicyAgent(iterations=3)"


def test_learn_is_the_default_agent() -> None:
    X, y = noisy(2)
    assert_frame_equal(
        learnt(X, y, "learn").policy_values_, learnt(X, y, PolicyAgent()).policy_values_
    )


def test_options_are_set_through_the_model() -> None:
    model = paper_model(dimensions="each", policy=PolicyAgent())
    assert model.get_params()["policy__iterations"] == 10
    model.set_params(policy__iterations=3, policy__max_dimensions=1)
    model.fit(*noisy(0))
    assert set(model.policy_values_["iterations"]) == {3}
    assert max(map(len, values(model))) == 1


def test_clone_takes_the_options_and_not_the_agent() -> None:
    agent = PolicyAgent(iterations=2, priorities=["a"])
    model = learnt(*noisy(0), agent)
    twin = clone(model)
    assert twin.policy is not agent
    assert twin.policy.get_params() == agent.get_params()
    assert not hasattr(twin, "policy_values_")
    assert_frame_equal(twin.fit(*noisy(0)).policy_values_, model.policy_values_)
    assert vars(agent).keys() == DEFAULTS.keys()


def test_grid_search_over_the_agent() -> None:
    X, y = noisy(0)
    model = paper_model(dimensions="each", policy=PolicyAgent(iterations=2), **PLAIN)
    grid = {"policy__max_dimensions": [1, 3], "policy__loss": ["norm", "log"]}
    search = GridSearchCV(model, grid, cv=2, scoring="neg_log_loss").fit(pl.DataFrame(X), y)
    assert len(search.cv_results_["params"]) == 4
    best = clone(model).set_params(**search.best_params_).fit(pl.DataFrame(X), y)
    assert search.best_estimator_.policy_ == best.policy_


def test_pickles() -> None:
    X, y = noisy(0)
    model = learnt(X, y, PolicyAgent(iterations=2))
    twin = pickle.loads(pickle.dumps(model))
    assert twin.policy_values_.equals(model.policy_values_)
    assert twin.policy_ == model.policy_
    assert (twin.predict_proba(X) == model.predict_proba(X)).all()


BAD_OPTIONS = [
    *(("loss", value) for value in ("square", None, 1)),
    *(("order", value) for value in (0, -1.0, "one", None)),
    *(("floor", value) for value in (-1e-9, "low")),
    *(("iterations", value) for value in (0, -1, 1.5, "many", None)),
    *(("validation", value) for value in (0.0, 1.0, -0.1, 1.5, "half", None)),
    *(("max_dimensions", value) for value in (-1, 1.5, "all")),
    *(("max_candidates", value) for value in (0, -1, 1.5, "all")),
    *(("time_limit", value) for value in (-1.0, "short")),
    *(("random_state", value) for value in ("luck", -1)),
    *(("priorities", value) for value in (3, 1.5)),
    *(("start", value) for value in (3, 1.5)),
    *(("verbose", value) for value in ("often", 3.5)),
]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("name", "value"), BAD_OPTIONS)
def test_bad_options(name: str, value: Any, method: str) -> None:
    model = paper_model(dimensions="each", policy=PolicyAgent(**{name: value}))
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of PolicyAgent"):
        getattr(model, method)(*noisy(0))
    assert not hasattr(model, "classes_")


BAD_NAMES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown priority": ({"priorities": ["a", "tail"]}, "tail"),
    "unknown start": ({"start": [["a", "tail"], []]}, "tail"),
    "twice in a set": ({"start": [["a", "a"], []]}, "a"),
    "a set twice": ({"start": [["a"], ["a"], []]}, "a"),
    "the empty set first": ({"start": [[], ["a"]]}, r"\[\]"),
}


@pytest.mark.parametrize(("options", "word"), BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_names_that_are_no_dimensions(options: dict[str, Any], word: str) -> None:
    X, y = noisy(0)
    model = learnt(X, y)
    before = model.policy_values_, model.corpus_
    model.set_params(policy=PolicyAgent(**options))
    with pytest.raises(ValueError, match=word):
        model.fit(X, y)
    model.set_params(policy="learn")
    assert before[0].equals(model.policy_values_)
    assert before[1].equals(model.corpus_)


def test_an_unknown_name_brings_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match="priorities names the dimension 'tail', which does not exist"
    ) as caught:
        learnt(AB.rename({"a": "legs", "b": "hair"}), Y, PolicyAgent(priorities=["tail"]))
    assert "legs" in str(caught.value)
    assert "hair" in str(caught.value)


# ---------------------------------------------------------------- what stays


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier, X: Any) -> None:
    """Both know and say the same, to 1e-12."""
    assert one.policy_ == other.policy_
    keys = ["dimensions", "attribute", "value", "class"]
    assert_frame_equal(
        one.corpus_.sort(keys), other.corpus_.sort(keys), rel_tol=1e-12, abs_tol=1e-12
    )
    assert_allclose(one.class_mass_, other.class_mass_, rtol=1e-12)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


def by_hand(model: SparseTensorClassifier) -> SparseTensorClassifier:
    """An empty model with the learnt policy, given."""
    return clone(model).set_params(policy=model.policy_)


@pytest.mark.parametrize("hyper", HYPERS)
def test_a_learnt_policy_is_as_good_as_one_given(hyper: dict[str, float]) -> None:
    X, y = noisy(0)
    model = learnt(X, y, PolicyAgent(**LOG), **hyper)
    assert len(model.policy_) > 2
    assert_same(model, by_hand(model).fit(X, y), X)


def test_the_first_batch_decides() -> None:
    X, y = noisy(0, 120)
    model = paper_model(dimensions="each", policy=PolicyAgent(**LOG), **PLAIN)
    model.partial_fit(X[:60], y[:60])
    table = model.policy_values_
    assert_frame_equal(table, learnt(X[:60], y[:60], PolicyAgent(**LOG)).policy_values_)
    model.partial_fit(X[60:], y[60:])
    assert table.equals(model.policy_values_)
    assert_same(model, by_hand(model).fit(X, y), X)
    model.unlearn(X[:60], y[:60])
    assert table.equals(model.policy_values_)
    assert_same(model, by_hand(model).fit(X[60:], y[60:]), X)


def test_fitting_again_learns_another_policy() -> None:
    model = learnt(AB, Y)
    model.fit(XOR, XOR_Y)
    assert_frame_equal(model.policy_values_, learnt(XOR, XOR_Y).policy_values_)


def test_classes_declared_and_never_shown() -> None:
    model = paper_model(dimensions="each", policy="learn", **PLAIN)
    model.partial_fit(AB, Y, classes=["p", "q", "r", "never"])
    assert model.policy_ == [["a", "b"], ["a"], []]
    assert values(model)[()] == pytest.approx(-0.5)
    assert model.classes_.tolist() == ["never", "p", "q", "r"]


def test_a_learnt_policy_may_be_replaced_by_a_part_of_it() -> None:
    model = learnt(AB, Y)
    model.set_params(policy=[["a"], []])
    assert model.policy_ == [["a"], []]
    assert set(model.policy_used(AB)) == {("a",)}
    with pytest.raises(ValueError, match=r"the set \['b'\] of the policy was not learnt"):
        model.set_params(policy=[["b"], []]).predict(AB)


def test_merging_learnt_policies() -> None:
    X, y = noisy(0, 120)
    model = learnt(X[:60], y[:60], PolicyAgent(**LOG))
    assert len(model.policy_) > 1
    other = by_hand(model).fit(X[60:], y[60:])
    whole = by_hand(model).fit(X, y)
    table = model.policy_values_
    assert_same(model + other, whole, X)
    assert_same(model.merge(other), whole, X)
    assert table.equals(model.policy_values_)


def test_a_model_that_lacks_our_sets_is_not_merged() -> None:
    model = learnt(AB, Y)
    before = model.corpus_
    other = learnt(AB, Y, [["a"], []])
    with pytest.raises(ValueError, match=r"does not have the set \['a', 'b'\]"):
        model.merge(other)
    assert model.corpus_.equals(before)
    assert other.merge(model) is other  # the other way round there is all that is needed
    assert other.class_mass_.tolist() == [20, 20, 80]


@pytest.mark.parametrize("policy", [None, [["a"], []]])
def test_no_values_without_an_agent(policy: Any) -> None:
    model = paper_model(dimensions="each", policy=policy)
    assert not hasattr(model, "policy_values_")
    model.fit(AB, Y)
    with pytest.raises(AttributeError, match="the policy was given, not learnt"):
        model.policy_values_  # noqa: B018


ONE: dict[str, Any] = {
    "documents": ["red big", "blue big"] * 10,
    "counts": sp.csr_array([[1, 0, 2], [0, 1, 2]] * 10),
    "array": [["red", "big"], ["blue", "big"]] * 10,
    "records": [{"color": "red"}, {"color": "blue"}] * 10,
}


@pytest.mark.parametrize("X", ONE.values(), ids=ONE.keys())
def test_a_single_dimension(X: Any) -> None:
    model = learnt(X, ["p", "q"] * 10, dimensions=None, entropy=1.0)
    assert set(values(model)) == {(), ("all",)}
    assert model.policy_ == [["all"], []]
    assert set(model.policy_used(X)) == {("all",)}


def test_groups_are_dimensions() -> None:
    data = STEPS.select("c", "a", "b")
    model = learnt(data, Y, dimensions={"first": ["a", "c"], "second": "b"}, entropy=1.0)
    assert {name for state in values(model) for name in state} == {"first", "second"}
    assert model.policy_ == [["first", "second"], ["first"], []]


# ---------------------------------------------------------------- what is printed


class Terminal(io.StringIO):
    """What a terminal would show."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("verbose", [None, False])
def test_nothing_is_printed_in_a_pipe(verbose: Any, capfd: pytest.CaptureFixture[str]) -> None:
    learnt(*noisy(0), PolicyAgent(verbose=verbose))
    assert capfd.readouterr() == ("", "")


def test_progress_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    learnt(*noisy(0), PolicyAgent(verbose=True))
    out, err = capfd.readouterr()
    assert out == ""
    assert err.strip()


@pytest.mark.parametrize(("verbose", "shown"), [(None, True), (True, True), (False, False)])
def test_progress_in_a_terminal(
    verbose: Any, shown: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    terminal, clock = Terminal(), count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))  # it all takes long
    monkeypatch.setattr(sys, "stderr", terminal)
    learnt(*noisy(0), PolicyAgent(verbose=verbose))
    assert bool(terminal.getvalue()) == shown
    assert capfd.readouterr().out == ""
