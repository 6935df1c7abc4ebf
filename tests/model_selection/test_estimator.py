"""SparseTensorClassifierCV as an estimator: failures, copies, pipelines, progress."""

import copy
import pickle
from io import StringIO
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from stc import SparseTensorClassifierCV
from support.tuning_cases import (
    GIVEN,
    ONE,
    QUICK,
    answers,
    documents,
    equal,
    hard,
    scores_of,
    table,
)

# ---------------------------------------------------------------- an estimator


def state_of(model: SparseTensorClassifierCV, X: Any) -> Any:
    names = ("best_params_", "best_score_", "best_index_", "n_splits_")
    return [answers(model, X).tolist(), *(getattr(model, name) for name in names)]


class Interrupts:
    """A scoring that gives up after a while."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error
        self.left = 2

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        self.left -= 1
        if not self.left:
            raise self.error
        return 0.0


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("phases", [None, [4.0]], ids=str)
def test_a_fit_that_fails_leaves_everything_as_it_was(
    error: type[BaseException], phases: Any
) -> None:
    X, y = equal(45, 0)
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3)
    model.set_params(scoring=Interrupts(error))
    with pytest.raises(error):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "cv_results_")
    assert not hasattr(model, "classes_")
    model.set_params(scoring=None).fit(X, y)
    before = state_of(model, X)
    results = model.cv_results_
    with pytest.raises(error):
        model.set_params(scoring=Interrupts(error)).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match="inconsistent"):
        model.set_params(scoring=None).fit(X, y[:-1])
    assert state_of(model, X) == before
    assert model.cv_results_ is results


def test_before_the_fit() -> None:
    model = SparseTensorClassifierCV()
    for method in ("predict", "predict_proba", "predict_log_proba", "explain_local", "coverage"):
        with pytest.raises(NotFittedError):
            getattr(model, method)([["a"]])
    with pytest.raises(NotFittedError):
        model.score([["a"]], ["x"])
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()
    for name in ("classes_", "n_features_in_", "feature_names_in_", "best_estimator_"):
        assert not hasattr(model, name)
    unnamed = SparseTensorClassifierCV(**ONE, phases=None, cv=2).fit([["a"], ["b"]] * 3, [0, 1] * 3)
    assert not hasattr(unnamed, "feature_names_in_")


def test_parameters_clones_and_pickles() -> None:
    X, y = equal(45, 0)
    given = {**ONE, "phases": [0.5], "cv": KFold(3), "scoring": "accuracy", "tokenizer": str.split}
    model = SparseTensorClassifierCV(**given)
    assert {name: model.get_params()[name] for name in given} == given
    model.fit(X, y)
    twin = clone(model)
    assert repr(twin.get_params()) == repr(model.get_params())
    assert not hasattr(twin, "best_estimator_")
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(answers(other, X), answers(model, X))
        assert repr(other.best_params_) == repr(model.best_params_)
        assert set(other.cv_results_) == set(model.cv_results_)
        assert repr(other) == repr(model)
    assert {name: model.get_params()[name] for name in given} == given  # a fit changes none


def test_the_data_is_not_changed() -> None:
    X, y = table()
    weight = np.arange(60.0)
    before = pickle.dumps((X, y, weight))
    SparseTensorClassifierCV(**GIVEN, phases=None, interactions=2).fit(X, y, weight)
    assert pickle.dumps((X, y, weight)) == before


def test_pipelines_and_searches_around_it() -> None:
    texts, y = documents(60, 1), hard(60, 1)
    pipeline = make_pipeline(
        CountVectorizer(token_pattern=r"\w"), SparseTensorClassifierCV(**GIVEN, **QUICK, cv=3)
    ).fit(texts, y)
    tuned = pipeline[-1]
    direct = SparseTensorClassifierCV(**GIVEN, phases=None, ngrams=1, cv=3).fit(texts, y)
    assert_allclose(scores_of(tuned.cv_results_), scores_of(direct.cv_results_), atol=1e-9)
    assert_allclose(pipeline.predict_proba(texts), direct.predict_proba(texts), atol=1e-9)
    X, labels = table()
    scores = cross_val_score(SparseTensorClassifierCV(**GIVEN, **QUICK, cv=3), X, labels, cv=3)
    assert scores.mean() > 0.4


@pytest.mark.parametrize("kind", ["records", "polars", "pandas", "arrow", "array"])
def test_containers_are_alike(kind: str) -> None:
    X, y = table()
    made = {
        "records": lambda: X.to_dicts(),
        "polars": lambda: X,
        "pandas": lambda: X.to_pandas(),
        "arrow": lambda: X.to_arrow(),
        "array": lambda: X.to_numpy(),
    }[kind]()
    model = SparseTensorClassifierCV(**GIVEN, phases=None, interactions=1, cv=3).fit(made, y)
    expected = SparseTensorClassifierCV(**GIVEN, phases=None, interactions=1, cv=3).fit(X, y)
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert_allclose(answers(model, made), answers(expected, X), atol=1e-12)


# ---------------------------------------------------------------- what is shown


class Terminal(StringIO):
    """Something that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def fit_with_phases(verbose: bool | None) -> None:
    X, y = equal(30, 0)
    SparseTensorClassifierCV(**ONE, phases=0.25, cv=2, verbose=verbose).fit(X, y)


@pytest.mark.parametrize("verbose", [None, False])
def test_nothing_is_shown_in_a_pipe(verbose: bool | None, capfd: pytest.CaptureFixture) -> None:
    fit_with_phases(verbose)
    assert capfd.readouterr() == ("", "")


def test_a_bar_where_one_is_asked_for(capfd: pytest.CaptureFixture) -> None:
    fit_with_phases(True)
    shown = capfd.readouterr()
    assert "tuning" in shown.err
    assert "0/2" in shown.err
    assert shown.err.endswith("\r")
    assert shown.out == ""


@pytest.mark.parametrize("verbose", [None, False, True])
def test_a_bar_on_a_terminal(verbose: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the search nor the last fit shows one where it was declined."""
    monkeypatch.setattr("stc._utils.progress._DELAY", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    fit_with_phases(verbose)
    assert bool(terminal.getvalue()) == (verbose is not False)
