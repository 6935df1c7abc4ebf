"""Sparse matrices: a column is a feature, its entry a weight."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from stc import SparseTensorClassifier
from stc.exceptions import ParameterError
from support.encode_cases import Entries, entries, learn
from support.models import paper_model

DENSE = np.array([[1, 0, 3], [0, 2, 0], [0, 0, 0], [1, 1, 2]])
SPARSE_CORPUS: Entries = {
    (None, "x0", "p"): 0.25,
    (None, "x0", "q"): 0.25,
    (None, "x1", "q"): 1.25,
    (None, "x2", "p"): 0.75,
    (None, "x2", "q"): 0.5,
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_a_sparse_column_is_a_feature_and_its_entry_a_weight(
    layout: str, kind: str, dtype: str
) -> None:
    X = getattr(sp, f"{layout}_{kind}")(DENSE.astype(dtype))
    model = learn(X, ["p", "q", "p", "q"])
    assert entries(model) == pytest.approx(SPARSE_CORPUS)
    assert model.n_features_in_ == 3
    assert_allclose(model.class_mass_, [2, 2])
    assert model.predict(X[[0, 1]] if layout in {"csr", "csc"} else X)[:2].tolist() == ["p", "q"]


def test_a_boolean_sparse_array_has_weights_of_one() -> None:
    model = learn(sp.csr_array(DENSE > 0), ["p", "q", "p", "q"])
    assert entries(model)[None, "x2", "p"] == pytest.approx(0.5)


# Item 0: x0 = 1 + 2, x1 = 1 and an explicit zero in x2, which nobody else has; item 1: x1 = 5.
LOOSE_WEIGHTS, LOOSE_COLUMNS = [1.0, 2.0, 1.0, 0.0, 5.0], [0, 0, 1, 2, 1]
LOOSE_SPARSE: dict[str, Any] = {
    "coo": sp.coo_array((LOOSE_WEIGHTS, ([0, 0, 0, 0, 1], LOOSE_COLUMNS)), shape=(2, 4)),
    "csr": sp.csr_array((LOOSE_WEIGHTS, LOOSE_COLUMNS, [0, 4, 5]), shape=(2, 4)),
    "csc": sp.csc_array(([1.0, 2.0, 1.0, 5.0, 0.0], [0, 0, 0, 1, 0], [0, 2, 4, 5, 5]), (2, 4)),
}


@pytest.mark.parametrize("X", LOOSE_SPARSE.values(), ids=LOOSE_SPARSE.keys())
def test_sparse_duplicates_are_summed_and_zeros_ignored(X: Any) -> None:
    model = learn(X, ["p", "q"])
    assert entries(model) == pytest.approx(
        {(None, "x0", "p"): 0.75, (None, "x1", "p"): 0.25, (None, "x1", "q"): 1}
    )
    assert model.corpus_["support"].to_list() == [1, 1, 1]
    assert model.n_features_in_ == 4
    assert sorted(model.get_feature_names_out()) == ["x0", "x1"]
    tidy = sp.csr_array([[3.0, 1, 0, 0], [0, 5, 0, 0]])
    assert_allclose(model.predict_proba(X), model.predict_proba(tidy), rtol=1e-12)


def test_sparse_data_of_the_caller_is_never_changed() -> None:
    unsorted = (np.array([1.0, 2, 4, 0, 1]), np.array([2, 0, 0, 1, 1]), np.array([0, 3, 5]))
    X = sp.csr_array(tuple(part.copy() for part in unsorted), shape=(2, 3))
    coo = sp.coo_array((unsorted[0].copy(), ([0, 0, 0, 1, 1], unsorted[1].copy())), shape=(2, 3))
    for data in (X, coo):
        model = learn(data, ["p", "q"])
        model.partial_fit(data, ["p", "q"]).unlearn(data, ["p", "q"]).predict(data)
    for now, then in zip((X.data, X.indices, X.indptr), unsorted, strict=True):
        assert now.tolist() == then.tolist()
    assert coo.data.tolist() == unsorted[0].tolist()
    assert coo.col.tolist() == unsorted[1].tolist()


def test_sparse_and_dense_differ_in_meaning() -> None:
    dense = learn(DENSE, ["p", "q", "p", "q"])
    assert ("x0", "0", "q") in entries(dense)
    assert dense.corpus_["attribute"].null_count() == 0


@pytest.mark.parametrize("width", [2**31, 2**31 - 1, 10_000_001])
def test_too_many_columns_are_refused_before_they_take_memory(width: int) -> None:
    columns = np.array([0, 5, width - 1])
    X = sp.csr_array((np.ones(3), columns, np.arange(4)), shape=(3, width))
    tracemalloc.start()
    with pytest.raises(ParameterError, match=f"X has {width:,} columns, more than max_entries="):
        SparseTensorClassifier().fit(X, ["x", "y", "x"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_max_entries_allows_as_many_columns() -> None:
    X = sp.csr_array(np.eye(3))
    with pytest.raises(ParameterError, match="X has 3 columns, more than max_entries=2"):
        paper_model(max_entries=2).fit(X, [0, 1, 2])
    model = paper_model(max_entries=3).fit(X, [0, 1, 2])
    assert model.predict(X.toarray()).tolist() == [0, 1, 2]
