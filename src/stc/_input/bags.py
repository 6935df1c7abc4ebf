"""Bags of strings -> a Column, block by block in threads: the way of documents and token lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.observations import Column, offsets_of, run_starts
from stc._input.scalars import code_series
from stc._utils.threads import threaded

Part = TypeVar("Part")


class Bags(NamedTuple):
    """Several bags one after the other: how long each is, and all their values."""

    lengths: NDArray[Any]
    values: pl.Series


class _Block(NamedTuple):
    """Bags in their own codes: values, how many distinct ones each bag has, which, how often."""

    values: list[str]
    distinct: NDArray[Any]
    codes: NDArray[Any]
    counts: NDArray[Any]


def column_of_bags(
    attribute: str | None, parts: Iterable[Part], unpack: Callable[[Part], Bags]
) -> Column:
    """Column of several strings an item; missing strings are left out.

    Parameters
    ----------
    attribute
        Name of the attribute.
    parts
        Blocks of items; while one is coded in a thread, the next may be made.
    unpack
        What a thread does to a part to get its bags.
    """
    blocks = threaded(lambda part: _counted(unpack(part)), parts)
    values, lookups = _joined([block.values for block in blocks])
    codes = [lookup[block.codes] for lookup, block in zip(lookups, blocks, strict=True)]
    counts = np.concatenate([block.counts for block in blocks])
    return Column(
        attribute,
        values,
        len(values),
        np.concatenate(codes),
        offsets_of(np.concatenate([block.distinct for block in blocks])),
        counts.astype(np.float64) if (counts != 1).any() else None,
    )


def _counted(bags: Bags) -> _Block:
    coded = code_series(bags.values)
    items, codes = np.repeat(np.arange(len(bags.lengths)), bags.lengths), coded.codes
    width = max(len(coded.values), 1)
    if not coded.complete:
        there = codes != len(coded.values)
        items, codes = items[there], codes[there]
    # Small keys are sorted, and taken apart again, in half the time.
    small = len(bags.lengths) * width < 2**32
    keys: NDArray[Any] = items.astype(np.uint32 if small else np.int64)
    keys *= keys.dtype.type(width)
    keys += codes.astype(keys.dtype)
    keys.sort()
    starts = run_starts(keys)
    items, codes = np.divmod(keys[starts], keys.dtype.type(width))
    distinct = np.bincount(items, minlength=len(bags.lengths))
    return _Block(coded.values, distinct, codes, np.diff(starts, append=len(keys)))


def _joined(vocabularies: list[list[str]]) -> tuple[list[str], list[NDArray[Any]]]:
    """One vocabulary of several, and for each of them where its values are in it."""
    if len(vocabularies) == 1:
        return vocabularies[0], [np.arange(len(vocabularies[0]))]
    everything = pl.concat([pl.Series(values, dtype=pl.String) for values in vocabularies])
    coded = code_series(everything)
    bounds = np.cumsum([len(values) for values in vocabularies])[:-1]
    return coded.values, np.split(coded.codes, bounds)
