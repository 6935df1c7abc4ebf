"""Targets that are named columns of the data itself: take them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import polars as pl


def split_targets(X: Any, names: Sequence[str], *, needed: bool) -> tuple[Any, dict[str, Any]]:
    """The data without these columns or keys, and those that were there, by name.

    Parameters
    ----------
    X
        A frame, or a list of records.
    names
        The targets.
    needed
        Whether they must be there (in learning), or may be (in predicting).
    """
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return _split_frame(frame, names, needed)
    if isinstance(X, pl.Series) and X.dtype == pl.Struct:
        return _split_frame(nw.from_native(X.struct.unnest()), names, needed)
    if isinstance(X, (list, tuple)) and any(isinstance(item, Mapping) for item in X):
        return _split_records(X, names, needed)
    if not needed:
        return X, {}
    raise ValueError(
        f"{', '.join(map(repr, names))} is to be a column of X, a frame or records; X is a "
        f"{type(X).__name__}: give one of those, or the labels themselves"
    )


def column_of(X: Any, name: str) -> Any:
    """One column of a frame, or one key of records; anything else is that column already."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.select(name).collect()
    if isinstance(frame, nw.DataFrame):
        if name not in frame.columns:
            raise ValueError(f"X has no column {name!r}, which holds the text the model reads")
        return frame[name].to_native()
    if isinstance(X, (list, tuple)) and any(isinstance(item, Mapping) for item in X):
        return [item.get(name) if isinstance(item, Mapping) else item for item in X]
    return X


def _split_frame(frame: Any, names: Sequence[str], needed: bool) -> tuple[Any, dict[str, Any]]:
    absent = [name for name in names if name not in frame.columns]
    if absent and needed:
        raise ValueError(
            f"X has no column {absent[0]!r} to be the target or the weight; it has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    there = [name for name in names if name in frame.columns]
    if len(there) == len(frame.columns):
        raise ValueError("X has no column besides the targets")
    targets = {name: frame[name].to_native() for name in there}
    return frame.drop(there).to_native(), targets


def _split_records(X: Any, names: Sequence[str], needed: bool) -> tuple[Any, dict[str, Any]]:
    wanted = set(names)
    rest, targets = [], {name: [None] * len(X) for name in names}
    for item, record in enumerate(X):
        if not isinstance(record, Mapping):
            raise TypeError(f"item {item}: expected a record (a dict), got {type(record).__name__}")
        for name in names:
            if name in record:
                targets[name][item] = record[name]
            elif needed:
                raise ValueError(f"item {item} has no {name!r}, which is to be the target")
        rest.append({key: value for key, value in record.items() if key not in wanted})
    if needed and not any(rest):
        raise ValueError("the records have no attribute besides the targets")
    return rest, targets
