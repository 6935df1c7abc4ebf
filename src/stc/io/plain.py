"""A fitted state as plain containers and arrays: what pickles of an estimator hold.

Copies in memory and pickles keep every bit and any label. Files and stores have a format of their
own, which other versions can read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from stc._core.corpus import Amplitudes, Corpus
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.scales import Knots, Ranks
from stc._core.schema import Schema
from stc._core.target import TargetForm
from stc._core.tensor import Dimensions, Tuples
from stc._core.vocabulary import Vocabulary
from stc._input.reader import Roles
from stc._training.label_thresholds import ThresholdCounts
from stc._training.state import CHOICES, PHASE_HISTORY, POLICY_STATES, FittedState, LooScore
from stc.io.json_values import from_json, to_json

_CLASSES: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        FittedState, Model, Schema, Dimensions, TargetForm, Vocabulary, Tuples, Corpus, Amplitudes,
        Interactions, Knots, Ranks, ThresholdCounts, Roles, LooScore,
    )
}  # fmt: skip
_FRAMES = {"policy_values": POLICY_STATES, "phase_history": PHASE_HISTORY, "choices": CHOICES}
_SCALARS = (str, int, float, bool, type(None))
_DATES = frozenset((date, datetime, time, timedelta, Decimal))
_SEQUENCES: dict[str, type[Any]] = {kind.__name__: kind for kind in (tuple, set, frozenset)}


def to_plain(value: Any) -> Any:
    """Return a fitted state, or a part of one, as plain containers and arrays."""
    name = type(value).__name__
    if isinstance(value, _SCALARS):
        return value
    if _CLASSES.get(name) is type(value):
        return {"class": name, **{key: to_plain(part) for key, part in _parts(value).items()}}
    if isinstance(value, Mapping):
        return {"class": "dict", "keys": _listed(value), "values": _listed(value.values())}
    if isinstance(value, list):
        return _listed(value)
    if _SEQUENCES.get(name) is type(value):
        return {"class": name, "items": _listed(value)}
    if isinstance(value, pl.DataFrame):
        return value.to_dict(as_series=False)
    if isinstance(value, np.dtype) and value.kind in "biufcmMUSO":
        return {"class": "dtype", "name": value.str}
    if isinstance(value, sparse.csr_array):
        arrays = {key: getattr(value, key) for key in ("data", "indices", "indptr")}
        return {"class": "csr", "shape": list(value.shape), **arrays}
    if isinstance(value, np.ndarray) and _has_dates(value):
        return {"class": "labels", "array": to_json(value)}
    return value  # an array, or a type of labels' containers


def from_plain(value: Any) -> Any:
    """Return what `to_plain` was given."""
    if isinstance(value, list):
        return value if _is_flat(value) else [from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    rest = dict(value)
    name = rest.pop("class")
    if name == "dict":
        return dict(zip(*map(from_plain, (rest["keys"], rest["values"])), strict=True))
    if name in _SEQUENCES:
        return _SEQUENCES[name](from_plain(rest["items"]))
    if name == "tuples":
        items = iter(from_plain(rest["items"]))
        return [tuple(islice(items, size)) for size in rest["sizes"]]
    if name == "dtype":
        return np.dtype(rest["name"])
    if name == "labels":
        return from_json(rest["array"])
    if name == "csr":
        arrays = rest["data"], rest["indices"], rest["indptr"]
        return sparse.csr_array(arrays, shape=tuple(rest["shape"]))
    parts = {
        key: _frame(key, part) if key in _FRAMES else from_plain(part) for key, part in rest.items()
    }
    return _CLASSES[name](**parts)


def _has_dates(array: np.ndarray[Any, Any]) -> bool:
    """Return whether an array holds dates or decimals, which JSON values give back exactly.

    An object of any other type stays as it is, and so does one with a time zone.
    """
    if array.dtype != object:
        return False
    leaves = list(_leaves(array.ravel().tolist()))
    kinds = set(map(type, leaves))
    exact = all(getattr(leaf, "tzinfo", None) is None for leaf in leaves)
    exact = exact and not any(getattr(leaf, "fold", 0) for leaf in leaves)
    return exact and bool(kinds & _DATES) and kinds <= _DATES.union(_SCALARS)


def _leaves(items: Iterable[Any]) -> Iterator[Any]:
    for item in items:
        yield from _leaves(item) if type(item) is tuple else (item,)


def _parts(value: Any) -> dict[str, Any]:
    if isinstance(value, Roles):
        return value._asdict()
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _listed(values: Any) -> Any:
    listed = list(values)
    if _is_flat(listed):
        return listed
    if set(map(type, listed)) == {tuple}:  # n-grams and conjunctions: as many as words
        sizes = list(map(len, listed))
        return {"class": "tuples", "sizes": sizes, "items": _listed(chain.from_iterable(listed))}
    return [to_plain(item) for item in listed]


def _is_flat(values: list[Any]) -> bool:
    """Return whether a list holds scalars only, as most do: the words of a vocabulary."""
    return all(issubclass(kind, _SCALARS) for kind in set(map(type, values)))


def _frame(name: str, columns: dict[str, list[Any]] | None) -> pl.DataFrame | None:
    return None if columns is None else pl.DataFrame(columns, schema=_FRAMES[name])
