"""Weights are 0 or between 1e-100 and 1e100, and so are their sums over an item and a class."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import stc
from stc import SparseTensorClassifier
from stc.exceptions import DataError
from support.edge_cases import url  # noqa: F401 (a fixture)
from support.examples import many
from support.models import paper_model

LEAST, MOST = 1e-100, 1e100
BEYOND = (1e-310, 5e-324, 9.9e-101, 1.1e100, 1e308, math.inf, math.nan, -1.0, -1e-320)
INSIDE = (0.0, 1e-100, 1e-50, 0.1, 1.0, 3, 1e50, 1e100)
Y = ["p", "q"]


def fitted() -> SparseTensorClassifier:
    records = [{"a": {"x": 1, "y": 2}}, {"a": {"y": 1, "z": 3}}]
    return paper_model().fit(records, Y)


# What is asked of a model with items whose weights are wrong; the first two learn anew or more.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "fit": lambda model, X: model.fit(X, Y),
    "partial_fit": lambda model, X: model.partial_fit(X, Y),
    "unlearn": lambda model, X: model.unlearn(X, Y),
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "explain_local": lambda model, X: model.explain_local(X),
    "coverage": lambda model, X: model.coverage(X),
    "loo_predict_proba": lambda model, X: model.loo_predict_proba(X, Y),
}


def answers(model: SparseTensorClassifier) -> list[Any]:
    items = [{"a": {"x": 1.0}}, {"a": {"y": 1, "z": 1}}]
    return [model.predict_proba(items).tolist(), model.corpus_.rows(), model.classes_.tolist()]


def refused(call: Callable[[], Any], words: str, column: str | None, item: int | None) -> None:
    with pytest.raises(DataError, match=words) as caught:
        call()
    assert (caught.value.column, caught.value.item) == (column, item)
    assert "must be 0 or between 1e-100 and 1e100, got " in caught.value.message


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("weight", BEYOND)
def test_a_weight_of_a_value_beyond_the_domain_is_refused(call: str, weight: float) -> None:
    model = fitted()
    before = answers(model)
    X = [{"a": {"y": 1.0}}, {"a": {"x": 1.0, "y": weight}}]
    refused(lambda: CALLS[call](model, X), "a weight must", "a", 1)
    assert answers(model) == before


@pytest.mark.parametrize("call", CALLS)
def test_a_sum_over_an_item_beyond_the_domain_is_refused(call: str) -> None:
    model = fitted()
    before = answers(model)
    for cell in ({"y": MOST, "z": MOST}, {1: MOST, "1": MOST}):
        X = [{"a": "x"}, {"a": cell}]
        refused(lambda X=X: CALLS[call](model, X), "sum of the weights of the item", "a", 1)
    assert answers(model) == before


def test_a_sum_over_the_columns_of_an_item_is_refused() -> None:
    X = [{"a": {"x": 1.0}, "b": {"y": 1.0}}, {"a": {"x": 0.9e100}, "b": {"y": 1e100}}]
    for dimensions in (None, "each"):
        model = paper_model(dimensions=dimensions)
        refused(lambda model=model: model.fit(X, Y), "of the item", "b", 1)


@pytest.mark.parametrize("interactions", [2, [("a", "b")]])
def test_the_weights_of_a_conjunction_are_products(interactions: Any) -> None:
    good = [{"a": {"x": 1.0}, "b": {"y": 1.0}}, {"a": {"x": 2.0}, "b": {"z": 1.0}}]
    bad = [good[0], {"a": {"x": 1e60}, "b": {"y": 1e60}}]
    model = paper_model(interactions=interactions).fit(good, Y)
    for call in CALLS.values():
        refused(lambda call=call: call(model, bad), "weights of a conjunction must", "a, b", 1)
        assert model.predict(good).tolist() == Y


@pytest.mark.parametrize("weight", BEYOND)
def test_counts_of_sparse_matrices(weight: float) -> None:
    good = sparse.csr_array([[1.0, 0, 2], [0, 1, 0]])
    bad = sparse.csr_array([[1.0, 0, 2], [0, weight, 1]])
    model = paper_model().fit(good, Y)
    for name, call in CALLS.items():
        refused(lambda call=call: call(model, bad), "a weight must", "x1", 1)
        assert model.predict(good).tolist() == Y, name
    too_much = sparse.csr_array([[1.0, 0, 2], [0, MOST, MOST]])
    refused(lambda: model.predict(too_much), "sum of the weights of the item", None, 1)


FORMS: dict[str, Callable[[list[dict[str, float]]], Any]] = {
    "records": lambda cells: [{"a": cell} for cell in cells],
    "rows": lambda cells: [[cell] for cell in cells],
    "pandas": lambda cells: pd.DataFrame({"a": cells}),
    "structs": lambda cells: pl.DataFrame({"a": cells}, schema={"a": pl.Struct(STRUCT)}),
    "maps": lambda cells: pl.DataFrame({"a": [_pairs(cell) for cell in cells]}),
}
STRUCT = {"u": pl.Float64, "v": pl.Float64}


def _pairs(cell: dict[str, float]) -> list[dict[str, Any]]:
    return [{"key": key, "value": float(value)} for key, value in cell.items()]


WEIGHTS = st.sampled_from((*BEYOND, *INSIDE)) | st.floats(allow_nan=True)


@many()
@given(
    st.lists(st.fixed_dictionaries({"u": WEIGHTS, "v": WEIGHTS}), min_size=1, max_size=4),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(sorted(CALLS)),
)
def test_what_is_taken_is_what_the_domain_says(
    cells: list[dict[str, float]], form: str, call: str
) -> None:
    def inside(weight: float) -> bool:
        return weight == 0 or LEAST <= weight <= MOST

    valid = all(map(inside, (w for cell in cells for w in (*cell.values(), sum(cell.values())))))
    X, y = FORMS[form](cells), ["p"] * len(cells)
    known = FORMS[form]([{"u": 1.0, "v": 2.0}] * len(cells))
    model = paper_model().fit(known, y)
    if not valid:
        with pytest.raises(DataError, match="must be 0 or between 1e-100 and 1e100"):
            model.fit(X, y) if "fit" in call else model.predict_proba(X)
        return
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.partial_fit(X, y).predict_proba(X)).all()


# --- weights of items and of classes --------------------------------------------------------------


@pytest.mark.parametrize("weight", BEYOND)
@pytest.mark.parametrize("call", ["fit", "partial_fit", "unlearn", "loo_predict_proba"])
def test_a_weight_of_an_item_beyond_the_domain_is_refused(call: str, weight: float) -> None:
    model = fitted()
    before = answers(model)
    X, weights = [{"a": "x"}, {"a": "y"}], [1.0, weight]
    refused(
        lambda: getattr(model, call)(X, Y, sample_weight=weights), "sample_weight must", None, 1
    )
    named = [{**record, "w": w} for record, w in zip(X, weights, strict=True) if w == w]
    if weight == weight:
        refused(lambda: getattr(model, call)(named, Y, sample_weight="w"), "a weight must", "w", 1)
    assert answers(model) == before


@pytest.mark.parametrize("weight", BEYOND)
def test_a_soft_label_beyond_the_domain_is_refused(weight: float) -> None:
    X = [{"a": "x"}, {"a": "y"}]
    y = [{"p": 1.0}, {"p": 1.0, "q": weight}]
    refused(lambda: paper_model().fit(X, y), "the weight of a class in y must", None, 1)


def test_a_sum_of_soft_labels_beyond_the_domain_is_refused() -> None:
    y = [{"p": 1.0}, {"p": MOST, "q": MOST}]
    refused(lambda: fitted().partial_fit([{"a": "x"}] * 2, y), "the sum of the weights", None, 1)


def test_the_share_of_an_item_in_a_class_is_in_the_domain_too() -> None:
    y = [{"p": 1.0}, {"p": 1.0, "q": 1e-60}]
    X = [{"a": "x"}, {"a": "y"}]
    assert np.isfinite(paper_model().fit(X, y).predict_proba(X)).all()
    words = "the weight of the item in a class must"
    refused(lambda: paper_model().fit(X, y, [1.0, 1e-60]), words, None, 1)


HEAVY = 0.6e100


def test_the_sum_over_a_class_is_checked_after_each_batch() -> None:
    words = r"the sum of the weights of class 'p'"
    refused(lambda: paper_model().fit([["a"]] * 3, ["p"] * 3, [HEAVY] * 3), words, None, None)
    model = paper_model().fit([["a"], ["b"]], ["p", "q"], [HEAVY, 1.0])
    before = model.corpus_.rows()
    refused(lambda: model.partial_fit([["c"]], ["p"], sample_weight=[HEAVY]), words, None, None)
    other = paper_model().fit([["c"]], ["p"], [HEAVY])
    refused(lambda: model.merge(other), words, None, None)
    assert model.corpus_.rows() == before
    model.partial_fit([["c"]], ["q"], sample_weight=[HEAVY])  # another class has room
    assert np.isfinite(model.predict_proba([["a"], ["b"], ["c"]])).all()


def test_the_sum_over_a_class_is_checked_in_stores(url: str) -> None:  # noqa: F811
    with stc.open_store(url) as store:
        model = store.create("heavy", paper_model())
        model.partial_fit([["a"], ["b"]], ["p", "q"], sample_weight=[HEAVY, 1.0])
        before = model.corpus_.rows()
        with pytest.raises(DataError, match=r"the sum of the weights of class .p. must be 0"):
            model.partial_fit([["c"]], ["p"], sample_weight=[HEAVY])
        assert model.corpus_.rows() == before
        assert np.isfinite(model.predict_proba([["a"]])).all()


@pytest.mark.parametrize("place", ["csv", "parquet", "duckdb"])
@pytest.mark.parametrize("weight", [1e-310, 1.1e100, 1e308])
def test_weights_from_sources(place: str, weight: float, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "y", "x"], "w": [1.0, 0.0, weight], "class": ["p", "q", "p"]})

    def source(frame: pl.DataFrame) -> Any:
        if place == "duckdb":
            return duckdb.connect().from_arrow(frame.to_arrow())
        path = tmp_path / f"rows.{place}"
        frame.write_csv(path) if place == "csv" else frame.write_parquet(path)
        return stc.source(path)

    model = paper_model().fit(source(frame[:2]), "class", "w")
    before = model.corpus_.rows()
    for call in (model.fit, model.partial_fit, model.unlearn):
        with pytest.raises(DataError, match="must be 0 or between 1e-100 and 1e100") as caught:
            call(source(frame), "class", sample_weight="w")
        assert caught.value.column == "w"
        assert 2 in (caught.value.item, caught.value.row)
    heavy = frame.with_columns(w=pl.lit(HEAVY))
    with pytest.raises(DataError, match="the sum of the weights of class 'p'"):
        model.partial_fit(source(heavy), "class", sample_weight="w")
    assert model.corpus_.rows() == before


@many()
@given(st.lists(st.sampled_from(INSIDE), min_size=1, max_size=6), st.data())
def test_weights_within_the_domain_give_probabilities(
    weights: list[float], draws: st.DataObject
) -> None:
    size = len(weights)
    values = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(INSIDE[:-1]), max_size=3)
    X = [{"a": cell} for cell in draws.draw(st.lists(values, min_size=size, max_size=size))]
    y = draws.draw(st.lists(st.sampled_from("pqr"), min_size=size, max_size=size))
    model = paper_model()
    masses = {
        label: sum(w for w, own in zip(weights, y, strict=True) if own == label) for label in y
    }
    if max(masses.values()) > MOST or not any(weights):
        with pytest.raises(DataError):
            model.fit(X, y, weights)
        return
    model.fit(X, y, weights)
    proba = model.predict_proba([*X, {"a": "x"}, {"a": {"x": 1e-100, "y": 1e99}}])
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
