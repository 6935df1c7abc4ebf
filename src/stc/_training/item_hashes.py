"""Hashes of items, which depend on their values, weights and labels only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stc._core.labels import label_list
from stc._core.observations import Column, Observations, SparseOffsets, run_starts
from stc._input.values import canonical
from stc._utils.hashing import GOLDEN, Hashes, mixed, sums_of_runs, text_hashes
from stc.exceptions import DataTypeError

_BLOCK_ROWS = 1 << 14


def orders_of(observed: Observations, target: Column, *, conjunctions: bool = False) -> Hashes:
    """Return a hash of the values and the label of each item, by which items are ordered."""
    hashes = item_hashes(observed, conjunctions=conjunctions)
    label = np.zeros(target.n_items, dtype=np.uint64)
    _add_hashes(label, target, _label_hashes(target))
    with np.errstate(over="ignore"):
        for block in _blocks(target.n_items):
            hashes[block] = mixed(hashes[block] + GOLDEN * label[block])
    return hashes


def class_hashes(target: Column) -> Hashes:
    """Return the hash of the class of each item; of several, of the one with the largest share."""
    hashes = np.append(_label_hashes(target), np.uint64(0))
    if target.offsets is None:
        return np.asarray(hashes[target.codes])
    items, codes, weights = target.entries()
    largest = np.lexsort((codes, -weights if weights is not None else codes, items))
    classes = np.zeros(target.n_items, dtype=np.uint64)
    starts = run_starts(items)
    classes[items[starts]] = hashes[codes[largest[starts]]]
    return classes


def item_hashes(observed: Observations, *, conjunctions: bool) -> Hashes:
    """Return a hash of the values of each item, with or without conjunctions and n-grams."""
    total = np.zeros(observed.n_items, dtype=np.uint64)
    for column in observed.columns:
        if conjunctions or not column.conjunction:
            _add_hashes(total, column, _value_hashes(column))
    return total


def _add_hashes(total: Hashes, column: Column, hashes: Hashes) -> None:
    """Add the hashes of each item's values, with their weights."""
    with np.errstate(over="ignore"):
        if column.offsets is None:
            table = np.append(hashes, np.uint64(0))
            for block in _blocks(column.n_items):
                total[block] += table.take(column.codes[block])
            return
        entries, weights = hashes[column.codes], column.weights
        if weights is not None:
            several = np.flatnonzero(weights != 1)
            bits = np.ascontiguousarray(weights[several]).view(np.uint64)
            entries[several] = mixed(entries[several] + GOLDEN * bits)
        if isinstance(column.offsets, SparseOffsets):
            filled, starts = column.offsets.items, column.offsets.bounds[:-1]
        else:
            filled = np.flatnonzero(np.diff(column.offsets))
            starts = column.offsets[filled]
        if len(filled):
            total[filled] += np.add.reduceat(entries, starts)


def _blocks(n_items: int) -> list[slice]:
    """Return the items in blocks: what is computed of one stays in the cache of the processor."""
    return [slice(start, start + _BLOCK_ROWS) for start in range(0, n_items, _BLOCK_ROWS)]


def _value_hashes(column: Column) -> Hashes:
    """Return a hash of each value, with its attribute."""
    if column.values is None:
        return mixed(np.arange(1, column.n_values + 1, dtype=np.uint64))
    values: Any = column.values
    if column.conjunction:
        return _tuple_hashes(values)
    (salt,) = text_hashes([f"attribute {column.attribute}"])
    missing = [values.index(None)] if None in values else []
    hashes = text_hashes([value or "" for value in values] if missing else values)
    hashes[missing] = GOLDEN
    with np.errstate(over="ignore"):
        return mixed(hashes + salt)


def _tuple_hashes(tuples: Sequence[tuple[str, ...]]) -> Hashes:
    """Return a hash of each tuple of texts."""
    if not len(tuples):
        return np.zeros(0, dtype=np.uint64)
    number: dict[str, int] = {}
    places = [number.setdefault(text, len(number)) for texts in tuples for text in texts]
    sizes = np.fromiter(map(len, tuples), dtype=np.int64, count=len(tuples))
    return mixed(sums_of_runs(text_hashes(list(number))[places], sizes))


def _label_hashes(target: Column) -> Hashes:
    """Return a hash of each class."""
    values: Any = target.values
    return text_hashes(list(map(_label_text, label_list(np.asarray(values)))))


def _label_text(label: Any) -> str:
    """Return the same text for equal labels: 1 and 1.0, a moment in two units or two zones."""
    if isinstance(label, tuple):
        return repr(tuple(map(_label_text, label)))
    try:
        return repr(label) if isinstance(label, bytes) else canonical(label) or ""
    except DataTypeError:  # a type without a text of its own
        return repr(label)
