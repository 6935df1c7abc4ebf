"""Targets named in the data."""

import pickle
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.base import clone

from stc import SparseTensorClassifier
from support.models import paper_model
from support.target_cases import (
    ASKED,
    DATA,
    PARTS,
    ROWS,
    N,
    X,
    any_estimator,
    column,
    pairs,
    polars,
    shown,
)

Data: TypeAlias = Callable[[pl.DataFrame], Any]
CONTAINERS: dict[str, Data] = {
    "polars": lambda data: data,
    "lazy": lambda data: data.lazy(),
    "pandas": lambda data: pd.DataFrame(data.to_dict(as_series=False)),
    "pyarrow": lambda data: data.to_arrow(),
    "records": lambda data: data.to_dicts(),
}
any_container = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
METHODS = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint",
    "coverage",
    "explain_local",
]


def named(make: Data, targets: Any = ("kind", "count"), **params: Any) -> SparseTensorClassifier:
    targets = targets if isinstance(targets, str) else list(targets)
    data = DATA if len(targets) == 2 else DATA.drop("count")
    return paper_model(targets=targets, **params).fit(make(data))


@any_container
@any_estimator
def test_named_targets_are_those_given_apart(make: Data, params: dict[str, Any]) -> None:
    model = named(make, **params)
    apart = paper_model(**params).fit(make(X), polars(pairs()))
    for method in METHODS[:5]:
        asked = make(ASKED)
        assert shown(getattr(model, method)(asked)) == shown(getattr(apart, method)(asked))
    assert model.predict_joint(make(X)).columns == ["item", "kind", "count", "probability"]
    assert model.corpus_.equals(apart.corpus_)


@any_container
@pytest.mark.parametrize("method", METHODS)
def test_targets_in_the_data_asked_are_not_looked_at(make: Data, method: str) -> None:
    ask = getattr(named(make), method)
    lying = DATA.with_columns(kind=pl.lit("unheard of"), count=pl.lit(None, dtype=pl.Int64))
    without = shown(ask(make(DATA.drop("kind", "count"))))
    assert shown(ask(make(DATA))) == without
    assert shown(ask(make(lying))) == without


@any_container
def test_targets_are_no_attributes(make: Data) -> None:
    model = named(make)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["color", "size", "extra"]
    assert set(model.corpus_["attribute"]) == {"color", "size", "extra"}


@pytest.mark.parametrize("name", ["polars", "pandas", "pyarrow", "records"])
def test_the_data_is_not_changed(name: str) -> None:
    data = CONTAINERS[name](DATA)
    before = pickle.dumps(data)
    paper_model(targets=["kind", "count"]).fit(data).predict(data)
    assert pickle.dumps(data) == before


@any_container
@pytest.mark.parametrize("targets", ["kind", ["kind"]])
@any_estimator
def test_one_named_target(make: Data, targets: Any, params: dict[str, Any]) -> None:
    model = named(make, targets, **params)
    apart = paper_model(**params).fit(make(X), column(ROWS, 0))
    assert model.predict(make(ASKED)).shape == (ASKED.height,)
    for method in ("predict", "predict_proba", "predict_log_proba", "coverage", "explain_local"):
        asked = make(ASKED)
        assert shown(getattr(model, method)(asked)) == shown(getattr(apart, method)(asked))
    assert model.classes_.tolist() == ["cold", "hot"]
    assert model.corpus_.rows() == apart.corpus_.rows()
    assert model.predict_joint(make(ASKED)).columns == ["item", "kind", "probability"]


@any_container
def test_targets_are_taken_in_the_order_of_their_names(make: Data) -> None:
    model = named(make, ["count", "kind"])
    assert [classes.tolist() for classes in model.classes_] == [[1, 2, 3], ["cold", "hot"]]
    swapped = [row[::-1] for row in named(make).predict(make(X)).tolist()]
    assert model.predict(make(X)).tolist() == swapped


@any_container
@pytest.mark.parametrize("flags", [(0, 1), (False, True)])
def test_named_targets_of_zeros_and_ones_are_joint(make: Data, flags: tuple[Any, Any]) -> None:
    rows = [(flags[row[0] == "hot"], flags[row[1] > 1]) for row in ROWS]
    data = pl.concat([X, polars(rows)], how="horizontal")
    model = paper_model(targets=["kind", "count"]).fit(make(data))
    assert model.joint_classes_.tolist() == [list(row) for row in sorted(set(rows))]
    assert isinstance(model.predict_proba(make(X)), list)


@any_container
def test_learning_in_parts_with_named_targets(make: Data) -> None:
    whole = named(make)
    parts = [make(DATA[items]) for items in PARTS]
    model = clone(whole)
    for data in parts:
        model.partial_fit(data)
    assert_same_named(model, whole)
    models = [clone(whole).fit(data) for data in parts]
    assert_same_named(models[2] + models[1] + models[0] + models[3], whole)
    for data in parts[1:]:
        model.unlearn(data)
    assert_same_named(model, clone(whole).fit(parts[0]))


def assert_same_named(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.joint_classes_.tolist() == other.joint_classes_.tolist()
    order = ["attribute", "value", "kind", "count"]
    assert_frame_equal(one.corpus_.sort(order), other.corpus_.sort(order), rel_tol=1e-12)


@any_container
def test_the_score_of_named_targets(make: Data) -> None:
    model = named(make)
    apart = paper_model().fit(make(X), polars(pairs()))
    assert 0 < model.score(make(DATA)) < 1
    assert model.score(make(DATA)) == apart.score(make(X), polars(pairs()))
    one = named(make, "kind")
    assert one.score(make(DATA.drop("count"))) == np.mean(one.predict(make(X)) == column(ROWS, 0))


RESERVED = ["item", "probability", "attribute", "value", "mass", "support", "class", "dimensions"]


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("params", [{}, {"dimensions": "each"}])
def test_a_target_may_be_named_like_a_column_of_our_tables(
    name: str, params: dict[str, Any]
) -> None:
    data = DATA.rename({"kind": name})
    model = paper_model(targets=[name, "count"], **params).fit(data)
    assert (
        model.predict(data).tolist() == named(CONTAINERS["polars"], **params).predict(DATA).tolist()
    )
    assert model.corpus_.height == named(CONTAINERS["polars"], **params).corpus_.height
    assert model.predict_joint(data).height == N * len(model.joint_classes_)


def test_weights_with_named_targets() -> None:
    weights = np.arange(N) % 3
    model = paper_model(targets=["kind", "count"]).fit(DATA, sample_weight=weights)
    apart = paper_model().fit(X, polars(pairs()), sample_weight=weights)
    assert model.corpus_.equals(apart.corpus_)
