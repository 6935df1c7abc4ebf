"""The table of results is that of GridSearchCV."""

import numpy as np
import polars as pl
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

from stc import SparseTensorClassifierCV
from support.tuning_cases import GIVEN, ONE, assert_consistent, equal, scores_of, searched, table


def test_results_are_laid_out_as_grid_search_lays_them_out() -> None:
    X, y = table()
    given = {"interactions": 2, "min_support": 3, "max_features": 9}
    model = SparseTensorClassifierCV(**GIVEN, phases=None, **given, scoring="accuracy", cv=KFold(3))
    model.fit(X, y)
    grid = searched(model, X, y)
    ours, theirs = model.cv_results_, grid.cv_results_
    assert set(ours) == {name for name in theirs if not name.endswith("_time")} | {"round"}
    assert ours["params"] == theirs["params"]
    for name in ours:
        assert len(ours[name]) == 1
        if name.startswith("param_"):
            assert isinstance(ours[name], np.ma.MaskedArray)
            assert ours[name].tolist() == theirs[name].tolist()
    assert ours["param_max_features"].tolist() == [9]
    assert ours["param_min_support"].tolist() == [3]
    assert ours["rank_test_score"].dtype == theirs["rank_test_score"].dtype
    assert_array_equal(ours["rank_test_score"], theirs["rank_test_score"])
    assert ours["round"].tolist() == [2]
    pl.DataFrame({name: own for name, own in ours.items() if "score" in name})


def test_results_of_two_rounds() -> None:
    X, y = equal(90, 0)
    model = SparseTensorClassifierCV(interactions=1).fit(X, y)
    assert_consistent(model)
    assert set(model.cv_results_["round"]) == {1, 2}
    few = scores_of(model.cv_results_)[model.cv_results_["round"] == 1]
    assert np.isfinite(few[:, 0]).all()
    assert np.isnan(few).any()


def test_results_of_one_penalty() -> None:
    """So few candidates need no first round."""
    X, y = equal(60, 1)
    model = SparseTensorClassifierCV(**ONE, phases=4.0, cv=3).fit(X, y)
    assert_consistent(model)
    plain, *tried = [own["phases"] for own in model.cv_results_["params"]]
    assert plain is None
    assert {own.penalties for own in tried} == {(4.0,)}
    looks = [own.max_iter for own in tried]
    assert looks == sorted(set(looks))
    assert set(model.cv_results_["round"]) == {2}
    assert model.n_splits_ == 3
