"""Scores are those of GridSearchCV."""

from collections.abc import Callable
from typing import Any

import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import balanced_accuracy_score, make_scorer, matthews_corrcoef
from sklearn.model_selection import KFold, StratifiedKFold

from stc import SparseTensorClassifierCV
from support.tuning_cases import GIVEN, ONE, QUICK, assert_same_search, searched, table

Score = Callable[[Any, Any, Any], float]


def by_answers(estimator: Any, X: Any, y: Any) -> float:
    """A scoring that asks for everything."""
    P = estimator.predict_proba(X)
    assert_array_equal(estimator.predict(X), estimator.classes_[P.argmax(axis=1)])
    return float(balanced_accuracy_score(y, estimator.predict(X)) - P.max(axis=1).mean() / 7)


SCORINGS = ["accuracy", "neg_log_loss", "f1_macro", "roc_auc_ovr", "neg_brier_score"]
CALLABLES = [by_answers, make_scorer(matthews_corrcoef)]


@pytest.mark.parametrize(
    "scoring", [*SCORINGS, *CALLABLES], ids=lambda s: getattr(s, "__name__", s)
)
@pytest.mark.parametrize("interactions", [1, 2])
def test_scores_are_those_of_grid_search(scoring: Any, interactions: int) -> None:
    X, y = table()
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    model = SparseTensorClassifierCV(
        **GIVEN, phases=None, interactions=interactions, min_support=2, scoring=scoring, cv=cv
    ).fit(X, y)
    assert_same_search(model, searched(model, X, y))


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "accuracy"])
def test_two_classes_of_numbers(scoring: str) -> None:
    X, y = table()
    numbers = (y == "red").astype(int)
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, scoring=scoring, cv=StratifiedKFold(4))
    assert_same_search(model.fit(X, numbers), searched(model, X, numbers))


def test_of_equals_the_plain_model_is_the_best() -> None:
    X, y = [["a"], ["b"]] * 10, ["x", "y"] * 10
    model = SparseTensorClassifierCV(**ONE, phases=4.0, scoring="accuracy", cv=KFold(2)).fit(X, y)
    assert model.best_index_ == 0
    passed_on = {"continuous": "auto", "ordinal": None, "missing": "ignore", "tokenizer": None}
    more = {"targets": None, "max_entries": 10_000_000, "min_support": 1, "max_features": None}
    more |= {"scoring": "accuracy"}  # by which leave-one-out chooses, too
    assert model.best_params_ == {**ONE, "ngrams": 1, "phases": None, **passed_on, **more}
    ranks = model.cv_results_["rank_test_score"]
    assert len(ranks) > 1
    assert set(ranks.tolist()) == {1}
