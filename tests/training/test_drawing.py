"""The items that choose: the same for any order, any partition, any way to write weights."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc._input.containers import encode
from stc._input.targets import encode_target
from stc._training.drawing import Drawn, Items, Sizes
from stc._utils.hashing import mixed, text_hashes

VALUES: dict[str, Any] = {
    "text": st.sampled_from(["a", "b", "", "1", "\0", "é", None]),
    "number": st.sampled_from([0, 1, 2, None]),
    "several": st.lists(st.sampled_from(["x", "y", "z"]), max_size=3),
    "weights": st.dictionaries(st.sampled_from("uv"), st.sampled_from([0.5, 1.0]), max_size=2),
}
RECORDS = st.tuples(*VALUES.values()).map(lambda cells: dict(zip(VALUES, cells, strict=True)))
WORDS = st.lists(st.sampled_from(["no", "yes", "so"]), min_size=1, max_size=4).map(" ".join)
LABELS = st.sampled_from(["p", "q", "r"])
SOFT = st.dictionaries(LABELS, st.sampled_from([0.5, 1.0, 2.0]), min_size=1)
WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 3.0])
ROWS = st.one_of(
    st.lists(st.tuples(items, labels, WEIGHTS), min_size=1, max_size=40)
    for items in (RECORDS, WORDS)
    for labels in (LABELS, SOFT)
)
MISSING = st.sampled_from(["ignore", "category"])
SIZES = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda pair: Sizes(*pair))


def drawn_of(rows: Any, sizes: Sizes, missing: Any = "ignore", before: Any = None) -> Drawn | None:
    X, y, weight = (list(column) for column in zip(*rows, strict=True))
    observed = encode(X, missing=missing, ngrams="auto", names=tuple(VALUES))
    return Drawn.of(observed, encode_target(y), np.array(weight), sizes, before=before)


def content(given: Items) -> list[Any]:
    """What a sample holds: of each item its values, its label and its weight."""
    observed, target, weight, _ = given
    columns = sorted([*observed.columns, target], key=lambda column: str(column.attribute))
    items: list[list[Any]] = [[] for _ in range(len(weight))]
    for column in columns:
        values = np.asarray(column.values, dtype=object)
        entries = column.entries()
        amounts = np.ones(len(entries[1])) if entries[2] is None else entries[2]
        for item, code, amount in zip(entries[0], entries[1], amounts, strict=True):
            value = values[code]
            items[item].append((str(column.attribute), str(value), float(amount)))
    return [(sorted(item), round(w, 9)) for item, w in zip(items, weight, strict=True)]


def parts_of(drawn: Drawn | None) -> Any:
    return drawn and (content(drawn.candidates), content(drawn.sample), drawn.per_class)


@given(ROWS, SIZES, MISSING, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_partition_do_not_matter(
    rows: Any, sizes: Sizes, missing: Any, random: Any, count: int
) -> None:
    whole = drawn_of(rows, sizes, missing)
    shuffled = random.sample(rows, len(rows))
    assert parts_of(drawn_of(shuffled, sizes, missing)) == parts_of(whole)
    parts = [shuffled[k::count] for k in range(count) if shuffled[k::count]]
    on_workers = [drawn_of(part, sizes, missing) for part in parts]
    merged = None
    for part in on_workers:
        if part is not None:
            part = pickle.loads(pickle.dumps(part))
            merged = part if merged is None else merged.merged(part)
    assert parts_of(merged) == parts_of(whole)
    streamed = None
    for part in parts:  # items that are too large already are left out
        more = drawn_of(part, sizes, missing, streamed)
        if more is not None:
            streamed = more if streamed is None else streamed.merged(more)
    assert parts_of(streamed) == parts_of(whole)


@given(ROWS, SIZES)
def test_a_weight_of_three_is_three_rows_and_one_of_zero_is_none(rows: Any, sizes: Sizes) -> None:
    split = [
        (item, label, min(weight, 1.0))
        for item, label, weight in rows
        for _ in range(int(np.ceil(weight)))
    ]
    expected = drawn_of(split, sizes) if split else None
    assert parts_of(drawn_of(rows, sizes)) == parts_of(expected)


@given(st.lists(st.tuples(RECORDS, LABELS, WEIGHTS), min_size=1, max_size=40), SIZES)
def test_how_many_are_drawn(rows: Any, sizes: Sizes) -> None:
    drawn = drawn_of(rows, sizes)
    everything = drawn_of(rows, Sizes(10**6, 10**6))
    if everything is None:
        assert drawn is None
        return
    distinct = {
        (repr(content(drawn_of([(item, label, 1.0)], Sizes(1, 1)).candidates)))  # type: ignore[union-attr]
        for item, label, weight in rows
        if weight
    }
    assert len(everything.order) == len(distinct)
    assert everything.amounts.sum() == pytest.approx(sum(weight for *_, weight in rows))
    if drawn is None:
        assert sizes == (0, 0)
        return
    assert len(drawn.candidates[2]) == min(sizes.candidates, len(distinct))
    sizes_of_classes = np.bincount(drawn.sample[1].codes) if sizes.items else np.zeros(0)
    classes = len(np.unique(everything.class_))
    assert sizes_of_classes.sum() <= max(sizes.items, classes if sizes.items else 0)
    assert np.count_nonzero(sizes_of_classes) == (classes if sizes.items else 0)


def test_the_same_value_in_another_type_has_the_same_hash() -> None:
    y = encode_target(["p", "q", "p"])
    ways: list[Any] = [
        [1, 2, None],
        [1.0, 2.0, float("nan")],
        ["1", "2", None],
        pl.Series(["1", "2", None], dtype=pl.Categorical),
        np.array([1, 2, None], dtype=object),
        pl.Series([1, 2, None], dtype=pl.Int8),
        [[1], [2.0], []],
        [{"1": 1.0}, {"2": 1}, {}],
    ]
    orders = []
    for way in ways:
        frame = pl.DataFrame({"a": pl.Series(way, strict=False) if isinstance(way, list) else way})
        drawn = Drawn.of(encode(frame), y, np.ones(3), Sizes(9, 9))
        assert drawn is not None
        orders.append(drawn.order.tolist())
    assert orders == [orders[0]] * len(ways)
    for labels in ([1, 2, 1], [1.0, 2.0, 1.0], np.array([1, 2, 1], dtype=object)):
        drawn = Drawn.of(
            encode(pl.DataFrame({"a": ways[0]})), encode_target(labels), np.ones(3), Sizes(9, 9)
        )
        assert drawn is not None
        assert len(set(drawn.class_.tolist())) == 2
        orders.append(drawn.order.tolist())
    assert orders[-1] == orders[-2] == orders[-3] != orders[0]


def test_hashes_of_texts_differ_and_never_change() -> None:
    texts = ["", "\0", "\0" * 8, "a", "a\0", "\0a", "12345678", "123456789", "é", "\ud800"]
    texts += [f"{k}" for k in range(100_000)] + ["x" * k for k in range(1, 300)]
    hashes = text_hashes(texts)
    assert len(set(hashes.tolist())) == len(set(texts))
    assert hashes[3:9:5].tolist() == [0xDB87C9C9A517A502, text_hashes(["é"])[0]]
    # Every bit is set in about half of them.
    bits = (hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02
    assert len(set(mixed(np.arange(1000, dtype=np.uint64)).tolist())) == 1000
