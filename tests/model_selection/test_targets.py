"""Tuning with several targets, single classes, and very few items."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import KFold

from stc import SparseTensorClassifierCV
from support.tuning_cases import (
    GIVEN,
    ONE,
    QUICK,
    assert_consistent,
    equal,
    scores_of,
    table,
)


@pytest.mark.parametrize(
    "y", [[{"a"}, {"a", "b"}] * 10, [[1, 0], [1, 1]] * 10, np.eye(2, dtype=int)[[0, 1] * 10]]
)
def test_several_labels_are_refused_with_a_hint(y: Any) -> None:
    with pytest.raises(
        ValueError,
        match=r"needs one class for each item, and y has several labels; use GridSearchCV",
    ):
        SparseTensorClassifierCV().fit([["u"], ["v"]] * 10, y)


def test_joint_targets() -> None:
    X, y = equal(80, 0)
    both = pl.DataFrame({"same": y, "first": [row[0] for row in X]})
    model = SparseTensorClassifierCV(**GIVEN, phases=None, interactions=2, cv=KFold(3))
    model.fit(X, both)
    assert [own.tolist() for own in model.classes_] == [["other", "same"], ["u", "v", "w"]]
    assert_array_equal(model.predict(X), both.to_numpy())
    labels = np.array([f"{a} {b}" for a, b in both.rows()])
    joined = clone(model).fit(X, labels)
    assert_allclose(scores_of(model.cv_results_), scores_of(joined.cv_results_), atol=1e-12)
    assert model.best_params_ == joined.best_params_
    model.set_params(scoring="accuracy").fit(X, both)  # of both targets together
    joined = clone(model).fit(X, labels)
    assert_allclose(scores_of(model.cv_results_), scores_of(joined.cv_results_), atol=1e-12)
    with pytest.raises(
        ValueError,
        match=r"scoring='f1_macro' is not available with several targets; use None or 'accuracy'",
    ):
        model.set_params(scoring="f1_macro").fit(X, both)


@pytest.mark.parametrize("X", [["a b"] * 10, sp.csr_array(np.eye(10))], ids=["text", "counts"])
def test_what_the_data_cannot_have_is_refused(X: Any) -> None:
    with pytest.raises(ValueError, match=r"interactions=2 needs attributes, and X is"):
        SparseTensorClassifierCV(interactions=2, phases=None).fit(X, [0, 1] * 5)


def test_joint_targets_with_phases() -> None:
    X, y = equal(80, 0)
    both = np.column_stack([y, [row[2] for row in X]]).astype(object)
    model = SparseTensorClassifierCV(**ONE, phases=[0.25], cv=3).fit(X, both)
    assert model.score(X, both) > 0.9


def test_targets_by_name() -> None:
    X, y = table()
    frame = X.with_columns(color=pl.Series(y))
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, targets="color").fit(frame)
    expected = SparseTensorClassifierCV(**GIVEN, **QUICK).fit(X, y)
    assert_array_equal(scores_of(model.cv_results_), scores_of(expected.cv_results_))
    assert_array_equal(model.predict_proba(frame), expected.predict_proba(X))
    assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.score(frame) == expected.score(X, y)
    assert model.best_estimator_.targets == "color"
    joint = SparseTensorClassifierCV(**GIVEN, **QUICK, targets=["color", "a"])
    assert joint.fit(frame.drop_nulls("a")).predict(frame).shape == (60, 2)
    with pytest.raises(ValueError, match="give no y"):
        model.fit(frame, y)
    with pytest.raises(ValueError, match="requires y"):
        SparseTensorClassifierCV().fit(X)


@pytest.mark.parametrize("phases", [None, [4.0], "auto"], ids=str)
def test_a_single_class(phases: Any) -> None:
    X, _ = equal(30, 0)
    model = SparseTensorClassifierCV(0.5, 1.0, 0.0, phases=phases, cv=3).fit(X, ["only"] * 30)
    assert model.classes_.tolist() == ["only"]
    assert_array_equal(model.predict_proba(X), np.ones((30, 1)))
    assert model.best_score_ == pytest.approx(1.0)


@pytest.mark.parametrize("phases", [None, [4.0], "auto"], ids=str)
def test_classes_of_one_item(phases: Any) -> None:
    X, y = equal(45, 0)
    labels = np.array(["once", *y[1:-1], "another"])
    model = SparseTensorClassifierCV(**ONE, phases=phases, cv=3).fit(X, labels)
    assert model.classes_.tolist() == ["another", "once", "other", "same"]
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert_consistent(model)
    accuracy = clone(model).set_params(scoring="accuracy", phases=None).fit(X, labels)
    assert 0 < accuracy.best_score_ < 1


@pytest.mark.parametrize("phases", [None, [1.0], "auto"], ids=str)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_very_few_items(n: int, phases: Any) -> None:
    X, y = [["u", "v"], ["v", "v"], ["u", "u"], ["w", "v"], ["v", "w"]][:n], [True, False] * 3
    model = SparseTensorClassifierCV(0.5, 1.0, phases=phases, cv=2).fit(X, y[:n])
    assert_consistent(model)
    assert model.predict_proba(X).shape == (n, 2)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("n", [1, 4])
def test_fewer_items_than_folds(n: int) -> None:
    with pytest.raises(ValueError, match=f"cv=5 .*{n}"):
        SparseTensorClassifierCV().fit([["u"]] * n, ["x"] * n)
    with pytest.raises(ValueError, match=r"cv=5 .*4"):  # those without weight are not there
        SparseTensorClassifierCV().fit([["u"]] * 6, ["x"] * 6, [1, 1, 0, 1, 1, 0])


def test_a_fold_for_each_item() -> None:
    X, y = equal(12, 0)
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, cv=12).fit(X, y)
    assert model.n_splits_ == 12
    others = clone(model).set_params(cv=KFold(12)).fit(X, y)  # the same folds in another order
    means = [own.cv_results_["mean_test_score"] for own in (model, others)]
    assert_allclose(*means, atol=1e-12)
