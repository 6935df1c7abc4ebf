"""Several labels online, and named in the data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from support.label_cases import (
    INDICATORS,
    SETS,
    Make,
    N,
    X,
    Y,
    any_estimator,
    any_form,
    any_pair,
    assert_same,
    codes,
    either,
    fitted,
    part,
    shares,
)
from support.models import paper_model

# ---------------------------------------------------------------- learning is a sum


# Sorted by their first label, so that later parts bring new labels.
ORDER = sorted(range(N), key=lambda n: Y[n][::-1], reverse=True)
PARTS = [ORDER[:10], ORDER[10:35], ORDER[35:]]


@any_pair
def test_partial_fits_make_a_fit(make: Make, params: dict[str, Any]) -> None:
    model = paper_model(**params)
    for items in PARTS:
        model.partial_fit(*part(make, items))
    assert_same(model, fitted(make, **params))


@any_form
def test_unlearning(make: Make) -> None:
    model = fitted(make)
    for items in PARTS[1:]:
        model.unlearn(*part(make, items))
    assert_same(model, paper_model().fit(*part(make, PARTS[0])))


@any_form
def test_merging(make: Make) -> None:
    models = [paper_model().fit(*part(make, items)) for items in PARTS]
    assert_same(models[2] + models[0] + models[1], fitted(make))
    assert_same(models[0].merge(models[1]).merge(models[2]), fitted(make))


@either
@any_estimator
def test_a_weight_is_a_repetition(make: Make, params: dict[str, Any]) -> None:
    weights = np.random.default_rng(1).integers(0, 3, N)
    weighted = paper_model(**params).fit(X, make(Y), sample_weight=weights)
    copies = np.repeat(np.arange(N), weights)
    repeated = paper_model(**params).fit(*part(make, copies.tolist()))
    assert_allclose(weighted.class_mass_, repeated.class_mass_, rtol=1e-12)
    assert_allclose(shares(weighted), shares(repeated), atol=1e-9)


def test_lists_and_sets_are_one_form() -> None:
    model = paper_model()
    for items, name in zip(PARTS, ("lists", "sets", "polars"), strict=True):
        model.partial_fit(*part(SETS[name][0], items))
    assert_same(model, fitted(list))


def test_indicators_in_different_containers_are_one_form() -> None:
    model = paper_model()
    for items, name in zip(PARTS, ("int", "csr", "nested lists"), strict=True):
        model.partial_fit(*part(INDICATORS[name], items))
    assert_same(model, fitted(codes))


def test_a_batch_of_sets_of_zeros_and_ones() -> None:
    y = [[0, 1], [2], [1, 0], [0, 1]]
    items = [["x"], ["y"], ["z"], ["x"]]
    model = paper_model().partial_fit(items[:2], y[:2]).partial_fit(items[2:], y[2:])
    whole = paper_model().fit(items, y)
    assert_allclose(model.predict_proba(items), whole.predict_proba(items), rtol=1e-12)


# ---------------------------------------------------------------- named in the data


DATA = [{**item, "topics": labels} for item, labels in zip(X, Y, strict=True)]
CONTAINERS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "records": list,
    "polars": pl.DataFrame,
    "pandas": pd.DataFrame,
}


@pytest.mark.parametrize("contain", CONTAINERS.values(), ids=CONTAINERS.keys())
@pytest.mark.parametrize("targets", ["topics", ["topics"]])
def test_a_named_target_whose_cells_are_lists(contain: Any, targets: Any) -> None:
    model = paper_model(targets=targets).fit(contain(DATA))
    apart = paper_model().fit(contain(X), Y)
    assert_same(model, apart)
    assert_array_equal(model.label_threshold_, apart.label_threshold_)
    assert model.predict(contain(DATA)) == apart.predict(contain(X))
    assert model.predict(contain(X)) == apart.predict(contain(X))
    assert {type(labels) for labels in model.predict(contain(X))} == {list}
