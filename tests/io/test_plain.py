"""A fitted state as plain data, and back."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from stc._core.vocabulary import Vocabulary
from stc._training.state import PHASE_HISTORY, POLICY_STATES, FittedState
from stc.io import from_plain, to_plain
from stc.io.plain import _CLASSES
from support.conformance import SETTINGS
from support.models import paper_model

WORDS = st.text(max_size=3)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS
KEYS = SCALARS | st.lists(WORDS | st.none(), max_size=3).map(tuple)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.lists(st.lists(inner, max_size=3).map(tuple), max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(KEYS, max_size=4),
        st.frozensets(KEYS, max_size=4),
    ),
    max_leaves=20,
)


def types_of(value: Any) -> Any:
    """Return the types of a value and of all that it holds, in a form that compares."""
    if isinstance(value, dict):
        return {key: (type(key), types_of(key), types_of(item)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [types_of(item) for item in value]
    return type(value)


@given(value=VALUES)
def test_containers_go_round_with_their_types_and_their_order(value: Any) -> None:
    plain = to_plain(value)
    again = from_plain(plain)
    assert again == value
    assert types_of(again) == types_of(value)
    if isinstance(value, dict):
        assert list(again) == list(value)
    json.dumps(plain)  # nothing but dicts with strings as keys, lists and scalars


@pytest.mark.parametrize(
    "name", ["<i8", "|b1", "<f4", "<c16", "<U7", "|S3", "<M8[D]", "<m8[25us]", "|O", ">i4", "|u1"]
)
def test_dtypes_go_round(name: str) -> None:
    plain = to_plain((np.dtype(name),))
    json.dumps(plain)
    (again,) = from_plain(plain)
    assert again == np.dtype(name)
    assert again.str == name


def test_a_dtype_without_a_name_stays_as_it_is() -> None:
    for dtype in (np.dtypes.StringDType(), np.dtype([("a", "i4")])):
        assert from_plain(to_plain([dtype])) == [dtype]


DAY, CLOCK = date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize(
    ("values", "plain"),
    [
        ([DAY, CLOCK, Decimal("1.50"), timedelta(1, 2, 3)], True),
        ([("a", DAY), ("b", None)], True),
        ([CLOCK.replace(tzinfo=UTC)], False),
        ([CLOCK.replace(fold=1)], False),
        ([DAY, Fraction(1, 2)], False),
        ([DAY, np.int8(1)], False),
    ],
)
def test_labels_go_round_exactly(values: list[Any], plain: bool) -> None:
    """As plain data if that keeps all of them, and as they are if not."""
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    assert isinstance(to_plain(labels), dict) == plain
    again = from_plain(to_plain(labels))
    assert list(map(repr, again)) == list(map(repr, labels))
    assert types_of(again.tolist()) == types_of(values)


def test_a_sparse_table_goes_round_with_its_types() -> None:
    table = sparse.random(5, 4, 0.5, format="csr", random_state=1, dtype=np.float32)
    table = sparse.csr_array(table)
    again = from_plain(to_plain(table))
    assert type(again) is sparse.csr_array
    assert (again != table).nnz == 0
    assert (again.shape, again.dtype) == (table.shape, table.dtype)
    assert again.indices.dtype == table.indices.dtype


@pytest.mark.parametrize("name", SETTINGS)
def test_every_part_of_a_state_goes_round(name: str) -> None:
    setting = SETTINGS[name]
    frame = setting.data()
    model = setting.model().fit(*setting.given(frame), setting.weights(frame))
    state = model.fitted_.state
    again = from_plain(pickle.loads(pickle.dumps(to_plain(state))))
    assert_same_parts(state, again)


def assert_same_parts(one: Any, other: Any, place: str = "state") -> None:
    """Assert that two states are the same in every field, type and bit."""
    assert type(one) is type(other), place
    if is_dataclass(one):
        for part in fields(one):
            mine, theirs = getattr(one, part.name), getattr(other, part.name)
            assert_same_parts(mine, theirs, f"{place}.{part.name}")
    elif isinstance(one, dict):
        assert list(one) == list(other), place
        for key, item in one.items():
            assert_same_parts(item, other[key], f"{place}[{key!r}]")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), place
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_same_parts(*pair, f"{place}[{number}]")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        assert one.tolist() == other.tolist(), place
    elif isinstance(one, sparse.csr_array):
        for array in ("data", "indices", "indptr"):
            assert_same_parts(getattr(one, array), getattr(other, array), f"{place}.{array}")
        assert one.shape == other.shape, place
    elif isinstance(one, pl.DataFrame):
        assert one.schema == other.schema, place
        assert one.equals(other), place
    else:
        assert one == other, place


def test_tables_without_rows_keep_their_columns() -> None:
    X, y = [["a"], ["b"]], ["x", "y"]
    state = paper_model().fit(X, y).fitted_.state
    empty = FittedState(
        state.model, policy_values=POLICY_STATES.to_frame(), phase_history=PHASE_HISTORY.to_frame()
    )
    assert_same_parts(empty, from_plain(to_plain(empty)))
    assert_same_parts(state, from_plain(to_plain(state)))


def test_every_class_is_one_by_its_name_only() -> None:
    """A class of the same name elsewhere is not taken for ours."""
    assert len(_CLASSES) == len(set(_CLASSES.values()))

    class Vocabulary:
        pass

    other = Vocabulary()
    assert to_plain(other) is other
    assert _CLASSES["Vocabulary"] is not Vocabulary


def containers(value: Any) -> int:
    """Return the number of lists and dicts in plain data."""
    if isinstance(value, dict):
        return 1 + sum(map(containers, value.values()))
    return 1 + sum(map(containers, value)) if isinstance(value, list) else 0


@pytest.mark.parametrize("parameters", [{}, {"ngrams": 3}])
def test_the_number_of_containers_does_not_grow_with_the_words(parameters: dict[str, Any]) -> None:
    """Pickling takes time for each of them, and a vocabulary may have millions of words."""

    def counted(words: int) -> int:
        text = " ".join(f"word{k}" for k in range(words))
        model = paper_model(**parameters).fit([text, "other"], ["x", "y"])
        assert model.fitted_.model.vocabulary.size > words
        return containers(to_plain(model.fitted_.state))

    assert counted(10) == counted(1000)


def test_a_vocabulary_is_written_without_what_can_be_computed() -> None:
    vocabulary = Vocabulary({"a": {"x": 0, None: 1}, ("a", "b"): {("x", None): 2}}, 3)
    assert len(vocabulary.features) == 3  # kept from now on
    plain = to_plain(vocabulary)
    assert set(plain) == {"class", "index", "size"}
    again = from_plain(plain)
    assert again == vocabulary
    assert again.features == vocabulary.features
