"""Columns from the cells of one attribute: single values, several values, weights per value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.ma.core import MaskedConstant
from numpy.typing import NDArray

from stc._core.observations import Column, Missing, item_offsets, items_of, offsets_of, run_starts
from stc._input.bags import Bags, column_of_bags
from stc._input.scalars import Coded, code_objects, code_series, filled
from stc._input.values import STRINGS, canonical, is_missing, naming_items
from stc._input.weights import as_weights, check_weights
from stc.exceptions import DataTypeError, StcError

# Number of slices of a series, and number of items in one block of a column of lists.
_MOST_BLOCKS = 8
_BLOCK_ITEMS = 2048


class Categories(NamedTuple):
    """A categorical column of pandas: the code of each item (-1: missing) and the categories."""

    codes: NDArray[Any]
    categories: Sequence[Any] | pl.Series


# The values of a column as they are read.
Values = Sequence[Any] | pl.Series | Categories


def column_of_values(attribute: str | None, values: Values, missing: Missing) -> Column:
    """Return a column of Python cells, of a polars Series or of pandas' categories."""
    if isinstance(values, pl.Series):
        return column_of_series(attribute, values, missing)
    if isinstance(values, Categories):
        return _column_of_categories(attribute, values, missing)
    return column_of_cells(attribute, values, missing)


def column_of_cells(attribute: str | None, cells: Sequence[Any], missing: Missing) -> Column:
    """Return a column of Python cells: scalars, lists (several values), dicts (weights), None."""
    kinds = set(map(type, cells))
    if any(map(_is_several, kinds)):
        return _ragged_of_cells(attribute, cells, kinds, missing)
    return _single(attribute, code_objects(cells, kinds), missing)


def column_of_series(attribute: str | None, series: pl.Series, missing: Missing) -> Column:
    """Return a column of a polars Series: scalars, lists, structs of weights, Arrow maps."""
    if series.dtype.is_extension():
        series = series.ext.storage()
    dtype = series.dtype
    if isinstance(dtype, pl.Struct):
        return _column_of_structs(attribute, series, missing)
    if isinstance(dtype, pl.Map):
        return column_of_series(attribute, series.to_physical(), missing)
    if isinstance(dtype, pl.Array):
        return column_of_series(attribute, series.arr.to_list(), missing)
    if isinstance(dtype, pl.List):
        return _column_of_lists(attribute, series, missing)
    if dtype == pl.Object:
        return column_of_cells(attribute, series.to_list(), missing)
    return _single(attribute, code_series(series), missing)


def _column_of_categories(attribute: str | None, values: Categories, missing: Missing) -> Column:
    codes = values.codes
    try:
        found = values.categories
        coded = code_series(found) if isinstance(found, pl.Series) else code_objects(found)
    except StcError as error:
        items = np.flatnonzero(codes == error.item)
        error.item = int(items[0]) if len(items) else None
        raise
    lookup = np.append(coded.codes, len(coded.values))  # the code -1 takes the last entry: missing
    complete = not (lookup[codes] == len(coded.values)).any()
    return _single(attribute, Coded(lookup[codes], coded.values, complete), missing)


def _is_several(kind: type) -> bool:
    """Return whether a cell of this type holds several values."""
    if issubclass(kind, (str, bytes, MaskedConstant)):
        return False
    return issubclass(kind, (list, tuple, Mapping, AbstractSet, np.ndarray)) or (
        hasattr(kind, "__iter__") and hasattr(kind, "__len__") and hasattr(kind, "to_list")
    )


def _single(attribute: str | None, coded: Coded, missing: Missing) -> Column:
    values: list[Any] = coded.values
    complete = coded.complete
    if missing == "category" and not complete:
        values = [*values, None]  # the code for "missing" is now the index of this value
        complete = True
    return Column(
        attribute,
        values,
        len(values),
        coded.codes,
        complete=complete,
        floats=coded.floats,
        continuous=coded.continuous,
    )


def _ragged_of_cells(
    attribute: str | None, cells: Sequence[Any], kinds: set[type], missing: Missing
) -> Column:
    if kinds <= {list, tuple}:
        if missing == "ignore" and len(cells) >= _BLOCK_ITEMS and _starts_with_text(cells):
            try:
                return column_of_bags(attribute, _token_blocks(cells), lambda bags: bags)
            except (TypeError, UnicodeError):  # not all of them are strings of Unicode
                pass
        bags: Sequence[Any] = cells
        listed = None
    else:
        bags, listed = _bags(cells)
    offsets = offsets_of(np.fromiter(map(len, bags), dtype=np.int64, count=len(bags)))
    weights = None if listed is None else as_weights(listed, offsets, column=attribute)
    with naming_items(offsets):
        flat = code_objects(list(chain.from_iterable(bags)))
    return _ragged(attribute, flat, offsets, weights, missing)


def _starts_with_text(cells: Sequence[Any]) -> bool:
    return any(type(value) is str for cell in cells[:10] for value in cell[:10])


def _token_blocks(cells: Sequence[Any]) -> Iterator[Bags]:
    """Yield lists of strings in blocks; threads code a block while the next one is converted."""
    for start in range(0, len(cells), _BLOCK_ITEMS):
        block = cells[start : start + _BLOCK_ITEMS]
        lengths = np.fromiter(map(len, block), dtype=np.int64, count=len(block))
        values = list(chain.from_iterable(block))
        if not set(map(type, values)) <= STRINGS:
            raise TypeError("not all of them are strings")
        yield Bags(lengths, pl.Series(values, dtype=pl.String))


def _bags(cells: Iterable[Any]) -> tuple[list[Sequence[Any]], list[Any] | None]:
    """Return every cell as a list of values, and the weights if any cell has some."""
    bags: list[Sequence[Any]] = []
    weights: list[Any] = []
    weighted = False
    for cell in cells:
        if isinstance(cell, Mapping):
            weighted = True
            # A weight of None means absent, as in the structs of polars and Arrow.
            present = {value: weight for value, weight in cell.items() if weight is not None}
            bags.append(list(present))
            weights.extend(present.values())
            continue
        bag = _bag(cell)
        bags.append(bag)
        weights.extend([1.0] * len(bag))
    return bags, weights if weighted else None


def _bag(cell: Any) -> Sequence[Any]:
    if isinstance(cell, np.ndarray) and cell.ndim == 0:
        cell = cell.item()
    if not _is_several(type(cell)):
        return [] if is_missing(cell) else [cell]
    if isinstance(cell, AbstractSet):
        return sorted(cell, key=str)  # the order of a set differs from run to run
    return list(cell)


def _column_of_lists(attribute: str | None, series: pl.Series, missing: Missing) -> Column:
    inner = series.dtype.inner  # type: ignore[attr-defined]
    if inner == pl.String and missing == "ignore":
        return column_of_bags(attribute, blocks_of(series, _BLOCK_ITEMS), bags_of_lists)
    lengths, flat = bags_of_lists(series)
    if isinstance(inner, pl.Struct) and [f.name for f in inner.fields] == ["key", "value"]:
        weights = _numbers(attribute, flat.struct.field("value"))
        flat = flat.struct.field("key")
    elif isinstance(inner, (pl.List, pl.Struct, pl.Array)):
        raise DataTypeError(f"a value in a list must be single, got {inner}", column=attribute)
    else:
        weights = None
    offsets = offsets_of(lengths)
    with naming_items(offsets):
        coded = code_series(flat)
    return _ragged(attribute, coded, offsets, weights, missing)


def blocks_of(series: pl.Series, least: int) -> list[pl.Series]:
    """Return a series in slices for threads, each of at least so many items.

    Their number does not depend on that of the cores: it decides the order of the values of an
    item, in which its score is summed up.
    """
    blocks = max(min(_MOST_BLOCKS, len(series) // least), 1)
    bounds = np.linspace(0, len(series), blocks + 1, dtype=int).tolist()
    return [series[start:stop] for start, stop in pairwise(bounds)]


def bags_of_lists(series: pl.Series) -> Bags:
    """Return the lengths of lists, and their values one list after the other."""
    lengths = filled(series.list.len(), 0).to_numpy()
    return Bags(lengths, series.filter(pl.Series(lengths > 0)).explode())


def _column_of_structs(attribute: str | None, series: pl.Series, missing: Missing) -> Column:
    """Return a column of structs {value: weight, ...}; a field that is null is absent."""
    frame = series.struct.unnest()
    if not frame.width:
        return column_of_cells(attribute, [None] * len(series), missing)
    weights = np.column_stack([_numbers(attribute, column) for column in frame.get_columns()])
    present = np.column_stack([column.is_not_null().to_numpy() for column in frame.get_columns()])
    values = [canonical(name) or "" for name in frame.columns]
    codes = np.broadcast_to(np.arange(len(values)), present.shape)[present]
    offsets = offsets_of(present.sum(axis=1))
    return _ragged(
        attribute, Coded(codes, values, complete=True), offsets, weights[present], missing
    )


def _numbers(attribute: str | None, series: pl.Series) -> NDArray[np.float64]:
    if not (series.dtype.is_numeric() or series.dtype == pl.Null):
        raise DataTypeError(
            f"weights must be numbers, got {series.dtype} for {series.name!r}", column=attribute
        )
    return series.cast(pl.Float64).to_numpy()


def _ragged(
    attribute: str | None,
    flat: Coded,
    offsets: NDArray[Any],
    weights: NDArray[np.float64] | None,
    missing: Missing,
) -> Column:
    """Return a column of several values per item, with the weights of equal values added up."""
    items = items_of(offsets)
    codes = flat.codes.astype(np.int64, copy=False)
    values: list[Any] = flat.values
    keep = codes != len(values) if missing == "ignore" else np.ones(len(codes), dtype=bool)
    if weights is not None:
        with naming_items(offsets):
            check_weights(weights, column=attribute)
        keep &= weights > 0
    if not keep.all():
        items, codes = items[keep], codes[keep]
        weights = None if weights is None else weights[keep]
    if missing == "category":
        values = [*values, None]
        # The items without any value have the missing category.
        empty = np.flatnonzero(np.bincount(items, minlength=len(offsets) - 1) == 0)
        items = np.concatenate([items, empty])
        codes = np.concatenate([codes, np.full(len(empty), len(values) - 1, dtype=codes.dtype)])
        if weights is not None:
            weights = np.concatenate([weights, np.ones(len(empty))])
    return column_of_entries(attribute, values, (items, codes, weights), len(offsets) - 1)


def column_of_entries(
    attribute: str | tuple[str, ...] | None,
    values: list[Any],
    entries: tuple[NDArray[Any], NDArray[Any], NDArray[np.float64] | None],
    n_items: int,
) -> Column:
    """Return a column of (item, code, weight), adding the weights of equal values of an item."""
    items, codes, weights = entries
    width = max(len(values), 1)
    keys = items * np.int64(width) + codes
    if weights is None:
        keys = np.sort(keys)
        starts = run_starts(keys)
        counts = np.diff(starts, append=len(keys))
        weights = None if len(starts) == len(keys) else counts.astype(np.float64)
    else:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = run_starts(keys)
        weights = np.add.reduceat(weights[order], starts) if len(starts) else weights[:0]
    items, codes = np.divmod(keys[starts], width)
    offsets = item_offsets(items, n_items)
    return Column(attribute, values, len(values), codes, offsets, weights)
