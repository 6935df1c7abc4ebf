"""From the rows of a model file to runs of rows with the same feature; every row is checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import MIN_MASS
from stc.exceptions import ModelFileError
from stc.io.columns import MAX_BYTES, NUMBERS, text_size
from stc.io.validation import require

# The sum of any masses must be finite, too.
_MAX_MASS = 1e300
_KEYS = ["set", "attribute", "value"]
# What the numbers of an entry may be.
_VALID: dict[str, Callable[[pl.Series], pl.Series]] = {
    "set": lambda values: values >= 0,
    "mass": lambda values: (values >= MIN_MASS) & (values <= _MAX_MASS),
    "support": lambda values: (values > 0) & (values < 1 << 62),
    "phase": lambda values: values.is_finite(),
}


@dataclass
class Runs:
    """Runs of rows with the same feature, and the numbers of each row.

    Attributes
    ----------
    single
        Whether all rows come in one frame.
    sets, attributes, values
        Set and feature of each run.
    starts
        First row of each run, an array for each frame.
    rows
        Number of rows so far.
    numbers
        Class and numbers of each row, an array for each frame.
    """

    single: bool = False
    sets: list[int] = field(default_factory=list)
    attributes: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    starts: list[NDArray[np.int64]] = field(default_factory=list)
    rows: int = 0
    numbers: dict[str, list[NDArray[Any]]] = field(
        default_factory=lambda: {name: [] for name in ("class", *NUMBERS)}
    )
    _seen: set[Any] = field(default_factory=set)

    def add(self, frame: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> None:
        """Add checked rows; `names` are the texts of the classes in each of their columns."""
        _check_numbers(frame)
        _check_texts(frame)
        classes = _class_numbers(frame, names)
        first = self._is_first(frame)
        previous = self.numbers["class"][-1][-1:] if self.rows else [-1]
        before = np.concatenate([previous, classes[:-1]])
        wrong = np.flatnonzero(~first & (classes <= before))
        if len(wrong):
            raise ModelFileError(
                f"entry {self.rows + int(wrong[0])} is repeated or out of order: the entries of a "
                "feature are consecutive, in the order of the classes"
            )
        self._add_features(frame.filter(pl.Series(first)))
        self.starts.append(self.rows + np.flatnonzero(first))
        self.numbers["class"].append(classes)
        for name in NUMBERS:
            self.numbers[name].append(frame[name].to_numpy())
        self.rows += frame.height

    def _add_features(self, heads: pl.DataFrame) -> None:
        """Add the features of the first rows of runs; none may have come before.

        The check is here and not at the end, where a few bytes, read many times over, could
        have filled the memory.
        """
        require(heads.n_unique(_KEYS) == heads.height, "a feature is repeated")
        sets, attributes, values = (heads[name].to_list() for name in _KEYS)
        if not self.single:
            keys = set(zip(sets, map(_hashable, attributes), map(_hashable, values), strict=True))
            require(self._seen.isdisjoint(keys), "a feature is repeated")
            self._seen |= keys
        self.sets += sets
        self.attributes += attributes
        self.values += values

    def _is_first(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Return whether each row has another feature than the row before."""
        changes = (pl.col(key).ne_missing(pl.col(key).shift()) for key in _KEYS)
        first = frame.select(pl.any_horizontal(*changes)).to_series().to_numpy().copy()
        first[:1] = True
        if self.rows:
            last = self.sets[-1], self.attributes[-1], self.values[-1]
            first[:1] = frame.select(_KEYS).row(0) != last
        return np.asarray(first, dtype=bool)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all rows."""
        parts = self.numbers[name]
        return np.concatenate(parts) if parts else np.zeros(0)


def _hashable(texts: Any) -> Any:
    return tuple(texts) if isinstance(texts, list) else texts


def _check_numbers(frame: pl.DataFrame) -> None:
    for name, valid in _VALID.items():
        fine = valid(frame[name]).fill_null(False)
        if not fine.all():
            raise ModelFileError(f"an entry has {name} {frame[name].filter(~fine)[0]}")


def _check_texts(frame: pl.DataFrame) -> None:
    """Raise an error if the strings would take too much memory as Python objects."""
    sizes = (text_size(name, frame.schema).sum().alias(name) for name in ("attribute", "value"))
    if sum(frame.select(*sizes).row(0)) > MAX_BYTES:
        raise ModelFileError(f"the strings of a row group take more than {MAX_BYTES >> 20} MB")


def _class_numbers(frame: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
    """Return the class of each entry."""
    entry_keys = np.zeros(frame.height, dtype=np.int64)
    class_keys = np.zeros(len(next(iter(names.values()))), dtype=np.int64)
    for column, texts in names.items():
        distinct = pl.Enum(list(dict.fromkeys(texts)))
        codes = frame[column].cast(distinct, strict=False).to_physical()
        if codes.null_count():
            unknown = frame[column].filter(codes.is_null())[0]
            raise ModelFileError(f"an entry has the class {unknown!r:.80}, which is unknown")
        size = len(distinct.categories)
        entry_keys = entry_keys * size + codes.to_numpy()
        class_keys = class_keys * size + pl.Series(texts, dtype=distinct).to_physical().to_numpy()
    order = np.argsort(class_keys)
    places = np.searchsorted(class_keys[order], entry_keys)
    if (places == len(order)).any() or (class_keys[order][places] != entry_keys).any():
        raise ModelFileError("an entry has a combination of classes that is unknown")
    return np.asarray(order[places], dtype=np.int64)
