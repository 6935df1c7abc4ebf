"""Records with keys that few of them have: what they cost follows what occurs."""

import tracemalloc
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stc import SparseTensorClassifier
from stc._core.interactions import Interactions
from stc._core.observations import Column, Observations, SparseOffsets
from stc._input.containers import encode
from stc.exceptions import DataError, DataTypeError, ParameterError
from support.examples import many
from support.models import paper_model

CELLS = st.sampled_from(["u", "v", 1.5, None, [], ["u", "w"], ["u", "u"], {"u": 2.0, "w": 0.5}])
RECORDS = st.lists(
    st.dictionaries(st.sampled_from([f"k{place}" for place in range(30)]), CELLS, max_size=2),
    min_size=16,
    max_size=24,
)


def rare(count: int) -> tuple[list[dict[str, int]], list[str]]:
    """Records with two keys that no other record has."""
    return [{f"k{n}": 1, f"l{n}": 1} for n in range(count)], ["x", "y"] * (count // 2)


def stored(cells: int) -> Any:
    """Return a context in which rare keys are stored by entry from so many cells."""
    return patch("stc._input.containers._MANY_CELLS", cells)


SPARSE, DENSE = stored(1), stored(10**9)


def is_sparse(observed: Observations) -> bool:
    return any(isinstance(column.offsets, SparseOffsets) for column in observed.columns)


def test_rare_keys_take_as_many_codes_as_there_are_cells() -> None:
    X, _ = rare(10_000)
    observed = encode(X)
    assert len(observed.columns) == 20_000
    assert sum(len(column.codes) for column in observed.columns) == 20_000


def test_keys_that_never_meet_make_no_conjunctions() -> None:
    X, _ = rare(2_000)
    for order in (2, 3):
        pairs = [c for c in Interactions(order).apply(encode(X)).columns if c.conjunction]
        assert [len(column.codes) for column in pairs] == [1] * 2_000


def test_nor_do_the_columns_of_a_frame() -> None:
    rows, _ = rare(300)
    columns = Interactions(2).apply(encode(pl.DataFrame(rows, infer_schema_length=None))).columns
    assert sum(column.conjunction for column in columns) == 300


@pytest.mark.parametrize("order", [1, 2])
def test_fitting_takes_memory_for_what_occurs(order: int) -> None:
    """Each column took memory for all items: 500 MB, and 10 GB with pairs."""
    X, y = rare(3_000)
    tracemalloc.start()
    model = paper_model(interactions=order).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 80_000_000
    assert len(model.get_feature_names_out()) == 6_000 + 3_000 * (order - 1)
    assert model.predict(X[:4]).tolist() == y[:4]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"interactions": 2}], ids=str)
def test_ten_thousand_records_of_two_rare_keys(options: dict[str, Any]) -> None:
    X, y = rare(10_000)
    tracemalloc.start()
    model = SparseTensorClassifier(**options).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300_000_000
    assert model.coverage(X).min() == 1


def test_too_many_conjunctions_are_still_refused() -> None:
    X = [{f"k{n}-{m}": 1 for m in range(40)} for n in range(50)]
    with pytest.raises(ParameterError, match="entries for 50 items, more than max_entries=30,000"):
        paper_model(interactions=2, max_entries=30_000).fit(X, ["x", "y"] * 25)


def answers(X: list[dict[str, Any]], weights: list[float], order: int) -> list[Any]:
    """Return what a model answers that has learnt, merged and unlearnt records."""
    half = len(X) // 2
    y = ["xyz"[n % 3] for n in range(len(X))]
    model = paper_model(interactions=order).fit(X, y, weights)
    model.partial_fit(X[:half], y[:half])
    numbers = [model.predict_proba(X), model.coverage(X)]
    table = model.explain_local(X).table
    theta = np.linspace(-3, 3, len(X) * len({key for record in X for key in record}))
    if order == 1 and not any(isinstance(v, list | dict) for record in X for v in record.values()):
        numbers.append(model.predict_proba(X, theta.reshape(len(X), -1)))
    model.unlearn(X[:half], y[:half])
    corpus = model.corpus_.sort("attribute", "value", pl.nth(2))
    facts = [table.drop("contribution", "share").rows(), corpus.drop("mass").rows()]
    return [*facts, *numbers, table["share"].to_numpy(), corpus["mass"].to_numpy()]


@many(most=300)
@given(RECORDS, st.data(), st.integers(1, 3))
def test_rare_keys_give_the_same_model(
    X: list[dict[str, Any]], draws: st.DataObject, order: int
) -> None:
    X = [*X, {"full": "a"}]
    weights = draws.draw(
        st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=len(X), max_size=len(X))
    )
    weights[-1] = 1.0
    with SPARSE:
        found = answers(X, weights, order)
    with DENSE:
        expected = answers(X, weights, order)
    assert found[:2] == expected[:2]
    for ours, theirs in zip(found[2:], expected[2:], strict=True):
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"interactions": 2}, {"scoring": "accuracy"}], ids=str)
def test_what_is_chosen_and_explained_is_the_same(options: dict[str, Any]) -> None:
    generator = np.random.default_rng(1)
    X = [
        {"full": generator.choice(["a", "b"]), f"k{generator.integers(60)}": "u"}
        | ({"tenth": generator.choice(["p", "q"])} if generator.random() < 0.1 else {})
        for _ in range(300)
    ]
    y = [record["full"] + record.get("tenth", "") for record in X]
    results = []
    for cells in (SPARSE, DENSE):
        with cells:
            assert is_sparse(encode(X)) == (cells is SPARSE)
            model = SparseTensorClassifier(**options).fit(X, y)
            explained = model.explain_local(X)
            one = [explained.impact(7).rows(), str(explained.counterfactual(7))]
            results.append((model.chosen_params_, model.loo_predict_proba(X, y), one))
    (chosen, proba, one), (expected, expected_proba, expected_one) = results
    assert chosen == pytest.approx(expected)
    assert_allclose(proba, expected_proba, rtol=1e-9, atol=1e-12)
    assert str(one) == str(expected_one)  # with its alternatives, as of a column of single values


@pytest.mark.parametrize(
    ("cell", "error"), [(object(), DataTypeError), (1j, DataError), ({"u": -1.0}, DataError)]
)
def test_errors_name_the_item_of_a_rare_key(cell: Any, error: type[Exception]) -> None:
    X: list[dict[str, Any]] = [{f"k{n % 40}": "u"} for n in range(80)]
    X[77] = {"k0": cell}
    with SPARSE, pytest.raises(error) as caught:
        paper_model().fit(X, ["x", "y"] * 40)
    assert (caught.value.column, caught.value.item) == ("k0", 77)  # type: ignore[attr-defined]


def column(items: list[int], n_items: int, several: bool) -> Column:
    codes = np.arange(len(items)) % 3
    values = ["u", "v", "w"]
    if not several:
        return Column("a", values, 3, codes).spread(np.array(items, dtype=np.int64), n_items)
    bounds = np.arange(len(items) + 1) * 2
    twice = np.column_stack([codes, (codes + 1) % 3]).ravel()
    weights = np.arange(1.0, len(twice) + 1)
    whole = Column("a", values, 3, twice, bounds, weights, weights / 9)
    return whole.spread(np.array(items, dtype=np.int64), n_items)


@many(most=300)
@given(st.sets(st.integers(0, 11)), st.booleans(), st.lists(st.integers(0, 11), max_size=15))
def test_a_sparse_column_is_its_dense_one(
    present: set[int], several: bool, taken: list[int]
) -> None:
    sparse = column(sorted(present), 12, several)
    numbers = np.array(taken, dtype=np.int64)
    keep = np.isin(np.arange(12), numbers)
    chosen = np.array([True, False, True])
    pairs = [
        (sparse, sparse.dense()),
        (sparse.take(numbers), sparse.dense().take(numbers)),
        (sparse.select(keep), sparse.dense().select(keep)),
        (sparse.keep_values(chosen), sparse.dense().keep_values(chosen)),
        (sparse.compacted(), sparse.dense().compacted()),
        (Column.concatenated([sparse] * 2), Column.concatenated([sparse.dense()] * 2)),
    ]
    for ours, theirs in pairs:
        assert isinstance(ours.offsets, SparseOffsets)
        assert ours.n_items == theirs.n_items
        assert (ours.matrix() != theirs.matrix()).nnz == 0
        assert ours.lengths().tolist() == theirs.lengths().astype(int).tolist()
        assert_allclose(np.broadcast_to(ours.totals, ours.n_items), theirs.totals)
        back = ours.dense()
        assert back.codes.tolist() == theirs.codes.tolist()
        angles = [own.angles for own in (back, theirs)]
        if angles[0] is None or angles[1] is None:
            assert angles == [None, None]
        else:
            assert angles[0].tolist() == angles[1].tolist()
