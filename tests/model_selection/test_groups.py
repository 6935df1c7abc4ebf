"""Groups are learnt from or judged, never both."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from stc import SparseTensorClassifierCV, load_zoo
from stc._input.groups import read_groups
from stc._training.folds import Strata, enough_splits, make_splits
from stc.exceptions import DataError
from support.tuning_cases import GIVEN, ONE, QUICK, rng_of, scores_of, table

GROUPS: dict[str, Callable[[list[int]], Any]] = {
    "list": lambda own: own,
    "texts": lambda own: [f"thread {k}" for k in own],
    "mixed": lambda own: [k if k % 2 else str(k) for k in own],
    "array": np.array,
    "column": lambda own: np.array(own)[:, None],
    "polars": pl.Series,
    "pandas": pd.Series,
    "categories": lambda own: pd.Series(own, dtype="category"),
    "days": lambda own: np.datetime64("2026-01-01") + np.array(own),
}


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("cv", [None, 2, 4])
def test_a_group_is_learnt_from_or_judged(kind: str, cv: int | None) -> None:
    """Folds of whole groups; items that weigh nothing are in none."""
    classes, groups = rng_of(6).integers(0, 3, 60), rng_of(7).integers(0, 12, 60)
    present = np.arange(60) % 7 > 0
    items = Strata(classes, present, read_groups(GROUPS[kind](groups.tolist()), 60))
    splits = make_splits(items, cv, seed=0)
    assert len(splits) == (5 if cv is None else cv)
    everything = np.arange(present.sum())
    assert_array_equal(np.sort(np.concatenate([split.test for split in splits])), everything)
    own = groups[present]
    for learning, judged in splits:
        assert_array_equal(np.sort(np.concatenate([learning, judged])), everything)
        assert not set(own[learning]) & set(own[judged])


@pytest.mark.parametrize("cv", [None, 3, GroupKFold(3)])
def test_items_and_groups_without_weight_are_absent(cv: Any) -> None:
    X, y = table()
    groups = rng_of(8).integers(0, 12, 60)
    weight = (groups < 7) * (rng_of(9).random(60) < 0.8) * 2.0
    present = np.flatnonzero(weight)
    model = SparseTensorClassifierCV(**GIVEN, phases=None, interactions=2, cv=cv)
    expected = clone(model).fit(X[present], y[present], weight[present], groups=groups[present])
    if cv is not None and not isinstance(cv, int):  # a splitter knows those that weigh nothing
        model.set_params(
            cv=[(present[a], present[b]) for a, b in cv.split(X[present], groups=groups[present])]
        )
    model.fit(X, y, weight, groups=groups)
    assert_allclose(scores_of(model.cv_results_), scores_of(expected.cv_results_), atol=1e-12)
    assert model.best_params_ == expected.best_params_


@given(data=st.data())
def test_every_fold_of_groups_has_some(data: Any) -> None:
    n = data.draw(st.integers(2, 40))
    groups = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))
    classes = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    count = len(np.unique(groups))
    cv = data.draw(st.one_of(st.none(), st.integers(2, max(count, 2))))
    if count < 2 or (cv or 2) > count:
        return
    present = np.ones(n, dtype=bool)
    splits = make_splits(
        Strata(classes, present, read_groups(groups, n)), cv, data.draw(st.integers(0, 9))
    )
    assert len(splits) == (cv or min(count, 5))
    assert all(len(split.test) and len(split.train) for split in splits)
    assert all(not set(groups[a]) & set(groups[b]) for a, b in splits)
    assert_array_equal(np.sort(np.concatenate([split.test for split in splits])), np.arange(n))
    sizes = [len(split.test) for split in splits]
    assert sizes == sorted(sizes)


def test_one_large_group_does_not_decide_alone() -> None:
    groups = np.r_[np.zeros(4000, int), 1 + np.arange(2000) // 50]
    items = Strata(np.arange(6000) % 2, np.ones(6000, dtype=bool), read_groups(groups, 6000))
    splits = make_splits(items, None, seed=0)
    assert [len(split.test) for split in splits] == [500, 500, 500, 500, 4000]
    assert enough_splits(splits, items) == splits  # of 40 groups, which are not enough
    alone = Strata(items.classes, items.present, read_groups(np.arange(6000), 6000))
    assert len(enough_splits(make_splits(alone, None, seed=0), alone)) == 2
    none = items._replace(groups=None)
    assert len(enough_splits(make_splits(none, None, seed=0), none)) == 2


def test_large_numbers_of_pandas_and_python_are_not_rounded() -> None:
    numbers = [2**60 + k % 12 for k in range(60)]
    for own in (pd.Series(numbers, dtype="Int64"), numbers, [-1, *(2**63 + k for k in range(59))]):
        assert len(np.unique(read_groups(own, 60).codes)) == len(set(own))


def test_groups_of_few_items_of_a_class_are_no_reason_to_warn() -> None:
    X, y = load_zoo()  # 4 amphibians for 5 folds; warnings are errors here
    model = SparseTensorClassifierCV(**GIVEN, **QUICK).fit(X, y, groups=np.arange(len(y)) // 2)
    assert model.n_splits_ == 5


def test_folds_of_groups_have_the_classes_in_proportion() -> None:
    y = np.array(["a"] * 90 + ["b"] * 10)
    seen: list[list[str]] = []
    SparseTensorClassifierCV(
        **ONE, phases=None, cv=5, scoring=lambda _, X, y: seen.append(y.tolist()) or 0.0
    ).fit([["v"]] * 100, y, groups=range(100))
    assert [fold.count("b") for fold in seen] == [2] * 5


@pytest.mark.parametrize(
    ("groups", "cv", "message"),
    [
        ([1, 2, 3], None, "groups has 3 values for 60 items; give one for each item"),
        (
            "person",
            None,
            "groups='person' is a string; give the group of each item, not the name of a column",
        ),
        ([1] * 60, None, "cv=2 folds need as many groups, and there are 1$"),
        ([1, 2, 3] * 20, 4, "cv=4 folds need as many groups, and there are 3$"),
        ([*"abcde", None] * 10, None, "item 5: groups has a missing value; give the item a group"),
        ([1.0, 2.0, float("nan")] * 20, None, "item 2: groups has a missing value"),
        ([float("nan"), *"abcde"] * 10, None, "item 0: groups has a missing value"),
        (np.ma.masked_equal(np.arange(60), 7), None, "item 7: groups has a missing value"),
        (np.zeros((60, 2)), None, "groups must be a list or an array .*shape \\(60, 2\\)"),
        (iter(range(60)), None, "groups must be a list or an array .*, got range_iterator$"),
        (dict.fromkeys(range(60)), None, "groups must be a list or an array .*, got dict$"),
        ([(1, 2)] * 60, None, "groups: a value must be single, got tuple"),
    ],
)
def test_groups_that_cannot_be(groups: Any, cv: int | None, message: str) -> None:
    X, y = table()
    model = SparseTensorClassifierCV(**GIVEN, **QUICK, cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, groups=groups)
    assert not hasattr(model, "best_estimator_")


def test_a_missing_group_names_the_item() -> None:
    X, y = table()
    with pytest.raises(DataError) as caught:
        SparseTensorClassifierCV(**GIVEN, **QUICK).fit(X, y, groups=[1, 2, None] * 20)
    assert caught.value.item == 2
    assert caught.value.hint == "give the item a group, a new one if it belongs to none"


def test_what_tells_groups_apart_is_not_mistaken_for_what_tells_classes() -> None:
    """A word of one thread only: by lot it looks better than it is in a new thread."""
    rng = rng_of(5)
    threads = np.repeat(np.arange(40), 10)
    y = np.where(threads % 2, "yes", "no")
    hint = np.where(rng.random(400) < 0.75, y, np.where(y == "yes", "no", "yes"))
    X = [[own, f"t{thread}"] for own, thread in zip(hint, threads, strict=True)]
    model = SparseTensorClassifierCV(phases=None, interactions=1, scoring="accuracy")
    by_lot = model.fit(X, y).best_score_
    apart = clone(model).fit(X, y, groups=threads).best_score_
    assert by_lot > 0.95
    assert 0.7 < apart < 0.8


def test_folds_by_number_have_of_every_class_the_same_share() -> None:
    _, y = table()
    seen: list[list[str]] = []
    model = SparseTensorClassifierCV(
        **ONE, phases=None, cv=4, scoring=lambda _, X, y: seen.append(y.tolist()) or 0.0
    ).fit([["a"]] * 60, y)
    assert model.n_splits_ == 4
    assert sorted(chain.from_iterable(seen)) == sorted(y.tolist())
    for label in set(y):
        shares = [own.count(label) for own in seen]
        assert max(shares) - min(shares) <= 1
    assert max(map(len, seen)) - min(map(len, seen)) <= 1
