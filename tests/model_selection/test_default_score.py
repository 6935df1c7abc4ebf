"""The default score, and weights of items in it."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.model_selection import KFold, PredefinedSplit, ShuffleSplit

from stc import SparseTensorClassifierCV
from stc._training import search
from support.tuning_cases import (
    GIVEN,
    QUICK,
    at,
    documents,
    fitted_again,
    hard,
    rng_of,
    scores_of,
    table,
)


def test_the_default_score_is_accuracy_less_some_log_loss() -> None:
    X, y = table()
    weight = rng_of(3).random(60) + 0.1
    cv = KFold(3)
    model = SparseTensorClassifierCV(**GIVEN, phases=None, interactions=2, cv=cv)
    model.fit(X, y, weight)
    for row, setting in enumerate(model.cv_results_["params"]):
        for place, (learning, judged) in enumerate(cv.split(np.zeros(60))):
            classes = np.unique(y)
            data = X, y, weight
            P = fitted_again(classes, setting, data, (learning, judged))
            truth = y[judged, None] == classes
            right = P.argmax(axis=1) == truth.argmax(axis=1)
            loss = -np.log(np.maximum(P, search.PROBABILITY_FLOOR))[truth]
            expected = np.average(right - search.LOSS_SHARE * loss, weights=weight[judged])
            found = model.cv_results_[f"split{place}_test_score"][row]
            assert found == pytest.approx(expected, abs=1e-9)


def test_a_weight_is_a_repetition() -> None:
    X, y = table()
    weight = rng_of(5).integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    place = np.arange(60) % 3
    weighted = SparseTensorClassifierCV(**GIVEN, **QUICK)
    weighted.set_params(cv=PredefinedSplit(place)).fit(X, y, weight)
    repeated = clone(weighted).set_params(cv=PredefinedSplit(place[copies]))
    repeated.fit(X[copies], y[copies])
    results = [scores_of(own.cv_results_) for own in (weighted, repeated)]
    assert_allclose(*results, rtol=0, atol=1e-6)
    unweighted = clone(weighted).fit(X, y)
    assert not np.allclose(scores_of(unweighted.cv_results_), results[0], atol=1e-4)


@pytest.mark.parametrize("cv", [4, PredefinedSplit([0, 1, 2] * 20), "list"], ids=str)
def test_weight_zero_is_absence(cv: Any) -> None:
    """Splits that are given count the items as they were given."""
    X, y = table()
    weight = (rng_of(4).random(60) < 0.6) * 2.0
    present = np.flatnonzero(weight)
    own: Any = cv
    if isinstance(cv, PredefinedSplit):
        own = PredefinedSplit(cv.test_fold[present])
    if cv == "list":
        pairs = list(ShuffleSplit(3, random_state=0).split(np.zeros(60)))
        cv = pairs
        own = [tuple(np.flatnonzero(np.isin(present, part)) for part in pair) for pair in pairs]
    model = SparseTensorClassifierCV(**GIVEN, phases=None, interactions=2, cv=cv)
    model.fit(X, y, weight)
    expected = clone(model).set_params(cv=own).fit(X[present], y[present], weight[present])
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert model.best_params_ == expected.best_params_
    assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-12)


def test_documents_of_weight_zero_are_absent() -> None:
    X, y = documents(40, 0), hard(40, 0)
    weight = np.arange(40) % 3
    present = np.flatnonzero(weight)
    model = SparseTensorClassifierCV(**GIVEN, phases=None, ngrams=2, cv=3).fit(X, y, weight)
    expected = clone(model).fit(at(X, present), at(y, present), weight[present])
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert model.best_params_ == expected.best_params_


def test_a_class_without_weight_is_no_class() -> None:
    X, y = table()
    weight = (y != "red").astype(float)
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, scoring="neg_log_loss", cv=3)
    model.fit(X, y, weight)
    assert model.classes_.tolist() == ["blue", "green"]
    assert np.isfinite(model.best_score_)
