"""Several targets online, and distributions in their cells."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal
from sklearn.base import clone

from stc import SparseTensorClassifier
from support.models import paper_model
from support.target_cases import ASKED, FORMS, PARTS, Form, N, X, any_estimator, fitted, numbers

Soft: TypeAlias = list[dict[str, float]]


# ---------------------------------------------------------------- learning is a sum


def assert_same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    """Both know the same and say the same."""
    assert one.joint_classes_.tolist() == other.joint_classes_.tolist()
    assert [c.tolist() for c in one.classes_] == [c.tolist() for c in other.classes_]
    order = [name for name in one.corpus_.columns if name not in {"mass", "support"}]
    assert_frame_equal(
        one.corpus_.sort(order), other.corpus_.sort(order), rel_tol=1e-12, abs_tol=1e-12
    )
    for ours, theirs in zip(one.predict_proba(ASKED), other.predict_proba(ASKED), strict=True):
        assert_allclose(ours, theirs, atol=1e-9)


GROWING = {
    name: FORMS[name] for name in FORMS if FORMS[name].rows != FORMS["one target alike"].rows
}
growing = pytest.mark.parametrize("form", GROWING.values(), ids=GROWING.keys())


def part(form: Form, items: Sequence[int]) -> tuple[pl.DataFrame, Any]:
    return X[list(items)], form.make([form.rows[n] for n in items])


@growing
@any_estimator
def test_partial_fits_make_a_fit(form: Form, params: dict[str, Any]) -> None:
    model = paper_model(**params)
    seen = []
    for items in PARTS:
        model.partial_fit(*part(form, items))
        seen.append(len(model.joint_classes_))
    assert seen[0] < seen[-1]
    assert_same(model, fitted(form, params))


@growing
@any_estimator
def test_unlearning(form: Form, params: dict[str, Any]) -> None:
    model = fitted(form, params)
    for items in PARTS[1:]:
        model.unlearn(*part(form, items))
    assert_same(model, paper_model(**params).fit(*part(form, PARTS[0])))


@growing
@any_estimator
def test_merging(form: Form, params: dict[str, Any]) -> None:
    models = [paper_model(**params).fit(*part(form, items)) for items in PARTS]
    whole = fitted(form, params)
    assert_same(models[3] + models[0] + models[2] + models[1], whole)
    assert_same(models[0].merge(models[1]).merge(models[2]).merge(models[3]), whole)


LONGER: dict[str, tuple[Any, Any, list[list[Any]]]] = {
    "texts": (
        np.array([["a", "b"], ["b", "c"]]),
        np.array([["longer", "c"]]),
        [["a", "b"], ["b", "c"], ["longer", "c"]],
    ),
    "texts in a frame": (
        pl.DataFrame({"k": ["a", "b"], "l": [1, 2]}),
        pl.DataFrame({"k": ["longer"], "l": [2]}),
        [["a", 1], ["b", 2], ["longer", 2]],
    ),
    "numbers": (
        np.array([[1, 2], [3, 4]], dtype="i1"),
        np.array([[300, 4]]),
        [[1, 2], [3, 4], [300, 4]],
    ),
}


@pytest.mark.parametrize(("first", "second", "classes"), LONGER.values(), ids=LONGER.keys())
def test_later_classes_may_need_more_room(first: Any, second: Any, classes: Any) -> None:
    model = paper_model().partial_fit([["x"], ["y"]], first)
    other = paper_model().fit([["z"]], second)
    for both in (model + other, other + model, model.partial_fit([["z"]], second)):
        assert both.joint_classes_.tolist() == classes
        assert both.predict([["z"]]).tolist() == classes[-1:]
        assert both.classes_[0].tolist() == [row[0] for row in classes]


def test_unlearning_everything_leaves_an_empty_model() -> None:
    form = FORMS["polars"]
    model = fitted(form, {}).unlearn(X, form.y)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "joint_classes_")
    assert_same(model.partial_fit(X, form.y), fitted(form, {}))


def test_a_batch_of_zeros_and_ones_is_joint_where_the_model_is() -> None:
    y = np.array([[a - 3, b - 1] for a, b in numbers()])
    order = np.argsort(y.max(axis=1), kind="stable")[::-1]
    first = int((y.max(axis=1) == 2).sum())
    assert 0 < first < N
    model = paper_model().partial_fit(X[order[:first]], y[order[:first]])
    model.partial_fit(X[order[first:]], y[order[first:]])
    assert_same(model, paper_model().fit(X, y))
    assert 0 <= model.score(X[order[first:]], y[order[first:]]) <= 1


# ---------------------------------------------------------------- distributions in the cells


FEW = [{"a": "x", "b": ["u", "v"]}, {"a": "x"}, {"a": "y", "b": "u"}, {"b": "v"}, {"a": "z"}]
COLORS = [["red", "blue"], ["red"], ["blue", "red"], ["green"], ["green", "red", "blue"]]
SIZES = [["big"], ["big", "small"], ["small", "big"], ["small"], ["small"]]
VOTES: list[dict[str, int]] = [
    {"big": 1},
    {"big": 3, "small": 1},
    {"small": 2, "big": 2},
    {"small": 5},
    {"small": 1},
]


def product(sizes: Sequence[Any]) -> Soft:
    """The joint distribution of each item as that of one target."""
    return [
        {f"{c} {s}": share(size)[s] / len(color) for c in color for s in share(size)}
        for color, size in zip(COLORS, sizes, strict=True)
    ]


def share(cell: Any) -> dict[str, float]:
    """The distribution in a cell."""
    weights = cell if isinstance(cell, dict) else dict.fromkeys(cell, 1)
    return {value: weight / sum(weights.values()) for value, weight in weights.items()}


def with_cells(sizes: Sequence[Any]) -> list[dict[str, Any]]:
    """Records with their two targets among the attributes."""
    return [
        {"color": color, **record, "size": size}
        for record, color, size in zip(FEW, COLORS, sizes, strict=True)
    ]


def targets_of(sizes: Sequence[Any], library: Any) -> Any:
    return library.DataFrame({"color": COLORS, "size": sizes})


NAMED = paper_model(targets=["color", "size"])
ALL_IN = pl.DataFrame(
    with_cells(SIZES), schema={"color": pl.List(pl.String), "a": pl.String}
).with_columns(b=pl.Series([["u", "v"], [], ["u"], ["v"], []]), size=pl.Series(SIZES))
DISTRIBUTIONS: dict[str, tuple[Callable[[], SparseTensorClassifier], Sequence[Any]]] = {
    "records": (lambda: clone(NAMED).fit(with_cells(SIZES)), SIZES),
    "records of votes": (lambda: clone(NAMED).fit(with_cells(VOTES)), VOTES),
    "polars": (lambda: clone(NAMED).fit(ALL_IN), SIZES),
    "pandas": (lambda: clone(NAMED).fit(pd.DataFrame(with_cells(SIZES))), SIZES),
    "pandas of votes": (lambda: clone(NAMED).fit(pd.DataFrame(with_cells(VOTES))), VOTES),
    "y in polars": (lambda: paper_model().fit(FEW, targets_of(SIZES, pl)), SIZES),
    "y in pandas": (lambda: paper_model().fit(FEW, targets_of(SIZES, pd)), SIZES),
    "votes in pandas": (lambda: paper_model().fit(FEW, targets_of(VOTES, pd)), VOTES),
}


@pytest.mark.parametrize(("make", "sizes"), DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
def test_cells_with_several_values_make_a_product(
    make: Callable[[], SparseTensorClassifier], sizes: Sequence[Any]
) -> None:
    single = paper_model().fit(FEW, product(sizes))
    model = make()
    found = [" ".join(row) for row in model.joint_classes_.tolist()]
    assert found == single.classes_.tolist()
    ours = model.predict_joint(FEW)["probability"].to_numpy().reshape(len(FEW), -1)
    assert_allclose(ours, single.predict_proba(FEW), atol=1e-12)


@pytest.mark.parametrize("sizes", [SIZES, VOTES])
def test_products_are_learnt_and_unlearnt_in_parts(sizes: Sequence[Any]) -> None:
    records = with_cells(sizes)
    model = clone(NAMED).partial_fit(records[:2]).partial_fit(records[2:])
    whole = clone(NAMED).fit(records)
    assert model.joint_classes_.tolist() == whole.joint_classes_.tolist()
    assert_frame_equal(model.predict_joint(FEW), whole.predict_joint(FEW), abs_tol=1e-12)
    model.unlearn(records[2:])
    assert_frame_equal(
        model.predict_joint(FEW), clone(NAMED).fit(records[:2]).predict_joint(FEW), abs_tol=1e-12
    )
