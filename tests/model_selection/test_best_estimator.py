"""What is chosen, and what becomes of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from stc import PhaseLearner, SparseTensorClassifier, SparseTensorClassifierCV
from support.tuning_cases import (
    GIVEN,
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

# ---------------------------------------------------------------- missing values


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


@pytest.mark.parametrize("phases", [None, "auto", [1.0]], ids=str)
def test_missing_values_are_a_category_if_that_is_better(phases: Any) -> None:
    model = SparseTensorClassifierCV(interactions=1, phases=phases, cv=3)
    for make, expected in ((informative_gaps, "category"), (meaningless_gaps, "ignore")):
        X, y = make()
        model.fit(X, y)
        assert model.best_params_["missing"] == model.best_estimator_.missing == expected
        assert set(model.cv_results_["param_missing"].tolist()) == {expected}
    assert_consistent(model)
    given = clone(model).set_params(missing="category").fit(X, y)
    assert given.best_params_["missing"] == given.best_estimator_.missing == "category"


def test_with_too_few_items_to_choose_missing_values_are_ignored() -> None:
    X, y = [[None], ["u"]] * 8, ["a", "b"] * 8
    model = SparseTensorClassifierCV(**ONE, phases=None, cv=2).fit(X, y)
    assert model.best_params_["missing"] == "ignore"


# ---------------------------------------------------------------- what comes of it

# Settings that phases are learnt with if they are given.
SHARP: dict[str, Any] = {"sharpness": 2.0, "floor": 0.1}


CHOICES: dict[str, tuple[Callable[[], tuple[Any, Any]], dict[str, Any]]] = {
    "given": (lambda: table(), {**GIVEN, "phases": None, "interactions": 2}),
    "chosen": (lambda: table(), {"phases": None}),
    "conjunctions": (lambda: equal(300, 2), {"phases": None}),
    "phases": (lambda: equal(60, 2), {**ONE, "phases": [0.5]}),
    "all of it given": (lambda: equal(60, 2), {**ONE, **SHARP, "phases": [0.5]}),
    "documents": (lambda: (documents(40, 0), hard(40, 0)), {"ngrams": 2, "phases": None}),
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


def test_what_leave_one_out_says_is_kept_if_there_are_no_phases() -> None:
    X, y = equal(300, 0)
    model = SparseTensorClassifierCV(phases=None).fit(X, y)
    alone = SparseTensorClassifier(continuous="auto").fit(X, y)
    assert_array_equal(answers(model, X), answers(alone, X))
    assert model.choices_.equals(alone.choices_)
    assert model.loo_accuracy_ == alone.loo_accuracy_
    assert model.loo_log_loss_ == alone.loo_log_loss_
    chosen = alone.chosen_params_
    assert model.best_params_ == {name: chosen[name] for name in model.best_params_}
    assert model.best_params_.keys() >= {"sharpness", "floor", "prior", "ngrams"}
    phased = clone(model).set_params(**ONE, phases=[0.5]).fit(X, y)
    assert phased.best_index_ > 0
    assert not hasattr(phased, "loo_accuracy_")


def clone_of(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, with a learner that nobody has used."""
    return {n: clone(v) if isinstance(v, PhaseLearner) else v for n, v in params.items()}


def test_random_state_decides_the_folds_and_nothing_else_does() -> None:
    X, y = table()
    state = np.random.get_state()[1].copy()
    fits = [
        SparseTensorClassifierCV(**GIVEN, **QUICK, random_state=own).fit(X, y)
        for own in (7, np.random.RandomState(7), 8)
    ]
    scores = [scores_of(own.cv_results_) for own in fits]
    assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()
    assert_array_equal(state, np.random.get_state()[1])


def test_everything_is_asked_of_the_best_estimator() -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**GIVEN, **QUICK).fit(X, y)
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
    model = SparseTensorClassifierCV(**GIVEN, **QUICK).fit(X, y)
    before = answers(model, X)
    model.best_estimator_.partial_fit(X[:9], y[:9])
    assert (answers(model, X) != before).any()
    model.best_estimator_.unlearn(X[:9], y[:9])
    assert_allclose(answers(model, X), before, atol=1e-12)
