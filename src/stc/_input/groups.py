"""Groups of items: the values that users give, and an integer code for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._input.columns import as_series
from stc._input.scalars import code_objects
from stc.exceptions import DataError


class ItemGroups(NamedTuple):
    """The group of each item: the value for splitters of scikit-learn, and an integer code."""

    values: NDArray[Any]
    codes: NDArray[Any]


def read_groups(groups: Any, n_items: int) -> ItemGroups | None:
    """Return the group of each item; None if there are no groups."""
    if groups is None:
        return None
    cells = _cells(groups)
    name = getattr(groups, "name", None)
    column = name if isinstance(name, str) and name else None
    if len(cells) != n_items:
        raise DataError(
            f"groups has {len(cells):,} values for {n_items:,} items", hint="give one for each item"
        )
    try:
        coded = code_objects(cells)
    except (TypeError, ValueError) as error:
        message, item = getattr(error, "message", error), getattr(error, "item", None)
        raise DataError(f"groups: {message}", column=column, item=item) from error
    if not coded.complete:
        item = int(np.argmax(coded.codes == len(coded.values)))
        hint = "give the item a group, a new one if it belongs to none"
        raise DataError("groups has a missing value", column=column, item=item, hint=hint)
    values = np.asarray(cells)
    # A splitter gets the values themselves, unless NumPy would round them or could not sort them.
    sortable = values.dtype.kind in "iuUSMm"
    return ItemGroups(values if sortable else coded.codes, coded.codes)


def _cells(groups: Any) -> list[Any]:
    """Return groups as a list of Python values."""
    if isinstance(groups, str):
        raise DataError(
            f"groups={groups!r} is a string",
            hint="give the group of each item, not the name of a column",
        )
    series = as_series(groups)
    if series is not None:
        return series.to_list()
    if isinstance(groups, np.ndarray):
        if groups.ndim == 2 and groups.shape[1] == 1:
            groups = groups[:, 0]
        if groups.ndim == 1:
            return list(groups.tolist())
    elif isinstance(groups, Sequence):
        return list(groups)
    shape = f" of shape {groups.shape}" if hasattr(groups, "shape") else ""
    raise DataError(
        "groups must be a list or an array with the group of each item, got "
        f"{type(groups).__name__}{shape}"
    )
