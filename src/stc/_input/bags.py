"""Columns of bags of strings (documents, lists of tokens), encoded block by block in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.observations import Column, offsets_of, run_starts
from stc._input.scalars import code_series
from stc._utils.threads import thread_map

Part = TypeVar("Part")


class Bags(NamedTuple):
    """Several bags: the length of each, and the values of all, one bag after the other."""

    lengths: NDArray[Any]
    values: pl.Series


class _Block(NamedTuple):
    """Coded bags.

    Attributes
    ----------
    values
        The distinct values of the block.
    lengths
        Number of distinct values of each bag.
    codes, counts
        Which values a bag has, as indices of `values`, and how often.
    """

    values: list[str]
    lengths: NDArray[Any]
    codes: NDArray[Any]
    counts: NDArray[Any]


def column_of_bags(
    attribute: str | None, parts: Iterable[Part], unpack: Callable[[Part], Bags]
) -> Column:
    """Return a column of several strings per item; missing strings are left out.

    Parameters
    ----------
    attribute
        Name of the attribute.
    parts
        Blocks of items; an iterator makes the next one while threads code those before.
    unpack
        Returns the bags of a part; called in a thread.
    """
    blocks = thread_map(lambda part: _count(unpack(part)), parts)
    values, lookups = _merge([block.values for block in blocks])
    codes = [lookup[block.codes] for lookup, block in zip(lookups, blocks, strict=True)]
    counts = np.concatenate([block.counts for block in blocks])
    return Column(
        attribute,
        values,
        len(values),
        np.concatenate(codes),
        offsets_of(np.concatenate([block.lengths for block in blocks])),
        counts.astype(np.float64) if (counts != 1).any() else None,
    )


def _count(bags: Bags) -> _Block:
    """Code the values of bags and count how often each bag has a value."""
    coded = code_series(bags.values)
    items, codes = np.repeat(np.arange(len(bags.lengths)), bags.lengths), coded.codes
    width = max(len(coded.values), 1)
    if not coded.complete:
        present = codes != len(coded.values)
        items, codes = items[present], codes[present]
    # Sorting and splitting 32-bit keys takes half the time.
    small = len(bags.lengths) * width < 2**32
    keys: NDArray[Any] = items.astype(np.uint32 if small else np.int64)
    keys *= keys.dtype.type(width)
    keys += codes.astype(keys.dtype)
    keys.sort()
    starts = run_starts(keys)
    items, codes = np.divmod(keys[starts], keys.dtype.type(width))
    lengths = np.bincount(items, minlength=len(bags.lengths))
    return _Block(coded.values, lengths, codes, np.diff(starts, append=len(keys)))


def _merge(vocabularies: list[list[str]]) -> tuple[list[str], list[NDArray[Any]]]:
    """Return the values of all vocabularies, and the codes of each one's values among them."""
    if len(vocabularies) == 1:
        return vocabularies[0], [np.arange(len(vocabularies[0]))]
    coded = code_series(pl.concat([pl.Series(values, dtype=pl.String) for values in vocabularies]))
    bounds = np.cumsum([len(values) for values in vocabularies])[:-1]
    return coded.values, np.split(coded.codes, bounds)
