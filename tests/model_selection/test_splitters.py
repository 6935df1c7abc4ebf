"""The splits that settings are judged by."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
)

from stc import SparseTensorClassifierCV
from support.tuning_cases import (
    GIVEN,
    ONE,
    QUICK,
    assert_same_search,
    hard,
    scores_of,
    searched,
    table,
)

SPLITTERS: dict[str, Callable[[], Any]] = {
    "stratified": lambda: StratifiedKFold(4),
    "shuffled": lambda: ShuffleSplit(3, test_size=0.3, random_state=0),
    "predefined": lambda: PredefinedSplit([0, 1, -1] * 20),
    "many": lambda: KFold(9),
    "list": lambda: list(KFold(2).split(np.zeros(60))),
    "overlapping": lambda: [(np.arange(40), np.arange(30, 60)), (np.arange(9, 60), np.arange(5))],
}


@pytest.mark.parametrize("name", SPLITTERS)
def test_splitters_of_scikit_learn(name: str) -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, scoring="accuracy", cv=SPLITTERS[name]())
    grid = searched(model.fit(X, y), X, y)
    assert_same_search(model, grid)
    assert_array_equal(model.cv_results_["rank_test_score"], grid.cv_results_["rank_test_score"])


@pytest.mark.parametrize(("items", "splits"), [(60, 15), (999, 15), (1000, 10), (2000, 5)])
def test_few_items_are_dealt_several_times(items: int, splits: int) -> None:
    X, y = [["a"], ["b"]] * (items // 2) + [["a"]] * (items % 2), hard(items, 0)
    judged: list[list[int]] = []
    model = SparseTensorClassifierCV(
        **ONE, phases=None, scoring=lambda _, X, y: judged.append(y.tolist()) or 0.0
    ).fit(X, y)
    assert model.n_splits_ == splits == len(judged)
    for deal in range(0, splits, 5):
        assert sum(map(len, judged[deal : deal + 5])) == items
    assert len({tuple(own) for own in judged}) == splits  # no deal is another's


def test_an_iterator_of_splits_is_used_once() -> None:
    X, y = table()
    splits = list(KFold(3).split(np.zeros(60)))
    one = SparseTensorClassifierCV(**GIVEN, **QUICK, cv=iter(splits)).fit(X, y)
    other = SparseTensorClassifierCV(**GIVEN, **QUICK, cv=splits).fit(X, y)
    assert_array_equal(scores_of(one.cv_results_), scores_of(other.cv_results_))


def test_a_splitter_of_groups_needs_groups() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="groups"):
        SparseTensorClassifierCV(**QUICK, cv=GroupKFold(2)).fit(X, y)


def test_a_splitter_gets_the_groups_as_gridsearchcv_gives_them() -> None:
    X, y = table()
    groups = [f"person {k // 4}" for k in range(60)]
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, scoring="accuracy", cv=GroupKFold(3))
    model.fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    assert_same_search(model, searched(model.set_params(cv=splits), X, y))
