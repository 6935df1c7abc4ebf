"""What is chosen, and what becomes of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from stc import PhaseLearner, SparseTensorClassifier, SparseTensorClassifierCV
from stc._training import search
from support.tuning_cases import (
    FEW,
    INF,
    ONE,
    QUICK,
    answers,
    assert_consistent,
    documents,
    equal,
    hard,
    rng_of,
    scales,
    scores_of,
    table,
)

# ---------------------------------------------------------------- GridSearchCV


def informative_gaps() -> tuple[list[list[Any]], list[str]]:
    """A value is missing where the class is the one, and says nothing where it is there."""
    generator = rng_of(0)
    y = hard(120, 0)
    return [[None if own == y[0] else str(generator.integers(3)), "same"] for own in y], list(y)


def meaningless_gaps() -> tuple[list[list[Any]], list[str]]:
    """Where nothing is missing all is said; what is missing is one of many attributes' noise."""
    generator = rng_of(1)
    y = hard(120, 0)
    gaps = generator.random((120, 6)) < 0.5
    rows = [[None if gap else own for gap in row] for row, own in zip(gaps, y, strict=True)]
    return rows, list(y)


@pytest.mark.parametrize("phases", [None, "auto", [None, 1.0]], ids=str)
def test_missing_values_are_a_category_if_that_is_better(phases: Any) -> None:
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3)
    plain = clone(model).set_params(phases=INF if phases == "auto" else None)
    for make, expected in ((informative_gaps, "category"), (meaningless_gaps, "ignore")):
        X, y = make()
        ways = [clone(plain).set_params(missing=own).fit(X, y) for own in ("ignore", "category")]
        assert (ways[0].best_score_ < ways[1].best_score_) == (expected == "category")
        model.fit(X, y)
        assert model.best_params_["missing"] == model.best_estimator_.missing == expected
        results = model.cv_results_
        phased = [own["missing"] for own in results["params"] if has_phases(own)]
        assert set(phased) == ({expected} if phases else set())
        assert set(results["param_missing"].tolist()) == {"ignore", "category"}
    assert_consistent(model)
    given = clone(model).set_params(missing="category").fit(X, y)
    assert given.best_params_["missing"] == given.best_estimator_.missing == "category"


def has_phases(params: dict[str, Any]) -> bool:
    return params["phases"] is not None and np.isfinite(params["phases"].penalties[0])


def test_what_is_all_right_is_not_certain() -> None:
    """Sharpness fitted to the judged items: one item more keeps it within bounds."""
    P = np.array([[0.6, 0.4]] * 10 + [[0.4, 0.6]] * 10)
    truth = np.array([[1.0, 0.0]] * 10 + [[0.0, 1.0]] * 10)
    right = search._sharpen(P, truth, np.ones(20))
    # All alike: the share of the right ones that (20 + 1/2) in 21 say.
    assert_allclose(right[truth > 0], 20.5 / 21, rtol=1e-4)
    many = search._sharpen(np.tile(P, (50, 1)), np.tile(truth, (50, 1)), np.ones(1000))
    assert_allclose(many[:20][truth > 0], 1000.5 / 1001, rtol=1e-5)


# ---------------------------------------------------------------- what comes of it


CHOICES: dict[str, tuple[Callable[[], tuple[Any, Any]], dict[str, Any]]] = {
    "plain": (lambda: table(), {**FEW, "phases": None, "interactions": [1, 2]}),
    "phases": (lambda: equal(60, 2), {**ONE, "phases": [0.5]}),
    "only the sharpness": (lambda: table(), {**FEW, "phases": INF}),
    "documents": (lambda: (documents(40, 0), hard(40, 0)), {"ngrams": [2], "phases": None}),
    "auto": (lambda: equal(45, 3), {"power": 0.5, "balance": 1.0, "interactions": 1}),
    "numbers": (lambda: (scales(60, 0), hard(60, 0)), {**QUICK, "ordinal": {"o": list("SML")}}),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_the_best_estimator_is_a_model_with_the_best_parameters(choice: str) -> None:
    make, params = CHOICES[choice]
    X, y = make()
    model = SparseTensorClassifierCV(**params, cv=3).fit(X, y)
    assert type(model.best_estimator_) is SparseTensorClassifier
    anew = SparseTensorClassifier(**clone_of(model.best_params_)).fit(X, y)
    assert_array_equal(answers(anew, X), answers(model, X))
    twin = clone(model).set_params(n_jobs=2).fit(X, y)  # the same in threads
    assert repr(twin.best_params_) == repr(model.best_params_)
    assert_array_equal(scores_of(twin.cv_results_), scores_of(model.cv_results_))
    assert_array_equal(answers(twin, X), answers(model, X))


def clone_of(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, with a learner that nobody has used."""
    return {n: clone(v) if isinstance(v, PhaseLearner) else v for n, v in params.items()}


def test_random_state_decides_the_folds_and_nothing_else_does() -> None:
    X, y = table()
    state = np.random.get_state()[1].copy()
    fits = [
        SparseTensorClassifierCV(**FEW, **QUICK, random_state=own).fit(X, y)
        for own in (7, np.random.RandomState(7), 8)
    ]
    scores = [scores_of(own.cv_results_) for own in fits]
    assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()
    assert_array_equal(state, np.random.get_state()[1])


def test_everything_is_asked_of_the_best_estimator() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**FEW, **QUICK).fit(X, y)
    best = model.best_estimator_
    for method in ("predict", "predict_proba", "predict_log_proba", "coverage"):
        assert_array_equal(getattr(model, method)(X), getattr(best, method)(X))
    theta = np.full(X.shape, 0.0)
    theta[:, 0] = 2.0
    for method in ("predict", "predict_proba", "predict_log_proba"):
        assert_array_equal(getattr(model, method)(X, theta), getattr(best, method)(X, theta))
    assert (model.predict_proba(X, theta) != model.predict_proba(X)).any()
    assert str(model.explain_local(X[:3])) == str(best.explain_local(X[:3]))
    assert str(model.explain_local(X[:3], theta[:3])) == str(best.explain_local(X[:3], theta[:3]))
    weight = np.arange(60)
    assert model.score(X, y) == best.score(X, y)
    assert model.score(X, y, weight) == best.score(X, y, weight) != best.score(X, y)
    assert_array_equal(model.get_feature_names_out(), best.get_feature_names_out())
    assert_array_equal(model.classes_, best.classes_)
    assert_array_equal(model.feature_names_in_, best.feature_names_in_)
    assert model.n_features_in_ == best.n_features_in_ == 4


def test_the_best_estimator_can_go_on_learning() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**FEW, **QUICK).fit(X, y)
    before = answers(model, X)
    model.best_estimator_.partial_fit(X[:9], y[:9])
    assert (answers(model, X) != before).any()
    model.best_estimator_.unlearn(X[:9], y[:9])
    assert_allclose(answers(model, X), before, atol=1e-12)
