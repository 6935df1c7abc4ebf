"""The rows of a model's file -> its entries, the features numbered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.schema import Schema
from stc._core.tensor import Subset, Tuples
from stc._core.vocabulary import Feature, Vocabulary
from stc.exceptions import ModelFileError
from stc.io.archiving import Numbered, SetEntries, policy_of, schema_of, vocabulary_of
from stc.io.columns import NUMBERS, file_schema
from stc.io.runs import Runs

# Columns that a sparse matrix may have, however few of them were ever seen.
_WIDE, _WIDE_PER_ENTRY = 1 << 24, 1000


def too_wide(width: int, entries: int) -> bool:
    """Whether a sparse matrix has more columns than a file of so many entries may tell of."""
    return width > max(_WIDE, _WIDE_PER_ENTRY * entries)


def numbered(
    header: Mapping[str, Any], frames: Iterable[pl.DataFrame], found: pl.Schema, groups: int
) -> Numbered:
    """The entries in the rows of a file, refusing what is not a model."""
    names: dict[str, list[str]] = header["class_names"]
    if dict(found) not in (dict(file_schema(several, names)) for several in (False, True)):
        wanted = ", ".join(f"{name} ({dtype})" for name, dtype in file_schema(False, names).items())
        raise ModelFileError(f"it does not have the columns of a model: {wanted}")
    runs = Runs(alone=groups == 1)
    for frame in frames:
        if frame.height:
            runs.add(frame, names)
    return _Numbering(header, runs, found["value"] != pl.String).numbered()


class _Numbering:
    """Numbers the features of a file's rows."""

    def __init__(self, header: Mapping[str, Any], runs: Runs, lists: bool) -> None:
        self._schema: Schema = schema_of(header)
        self._policy = policy_of(header)
        self._groups = header["dimensions"]["attributes"]
        self._missing = self._schema.missing == "category"
        self._order = header["order"]
        self._sizes = header["entries"]
        self._runs, self._lists = runs, lists
        self._allowed = [self._attributes(d) for d in range(len(header["dimensions"]["names"]))]
        self._numbers: dict[Feature, int] = {}

    def numbered(self) -> Numbered:
        runs = self._runs
        starts = np.concatenate([np.zeros(0, dtype=np.int64), *runs.starts])
        lengths = np.diff(np.append(starts, runs.rows))
        of_set = np.array(runs.sets, dtype=np.int64)
        if (np.diff(of_set) < 0).any() or of_set.max(initial=0) >= len(self._policy):
            raise ModelFileError("its entries are not in the order of their sets")
        bounds = np.searchsorted(of_set, np.arange(len(self._policy) + 1)).tolist()
        rows = [self._rows(k, slice(bounds[k], bounds[k + 1])) for k in range(len(self._policy))]
        vocabulary, numbers = self._vocabulary()
        tuples: dict[Subset, Tuples] = {}
        sets = []
        ends = np.append(starts, runs.rows)[bounds].tolist()
        for k, subset in enumerate(self._policy):
            own = slice(ends[k], ends[k + 1])
            if own.stop - own.start != self._sizes[k]:
                raise ModelFileError(
                    f"set {k} has {own.stop - own.start:,} entries, not {self._sizes[k]:,}"
                )
            features = numbers[rows[k]] if subset and numbers is not None else rows[k]
            if len(subset) > 1:
                tuples[subset] = Tuples(features)
                features = np.arange(len(features))
            each = np.repeat(features, lengths[bounds[k] : bounds[k + 1]])
            columns = [runs.all(name)[own] for name in ("class", *NUMBERS)]
            sets.append(SetEntries(each, *columns))
        return Numbered(vocabulary, tuples, sets)

    def _rows(self, place: int, own: slice) -> NDArray[np.int64]:
        """The features of a set's runs: numbers in the order in which they are first seen."""
        subset = self._policy[place]
        attributes, values = self._runs.attributes[own], self._runs.values[own]
        if not subset:
            if len(values) > 1 or any(attributes) or any(values):
                raise ModelFileError("the frequencies of the classes have an attribute")
            return np.zeros(len(values), dtype=np.int64)
        if self._schema.kind == "counts":
            return self._columns_of_counts(values)
        if len(subset) == 1:
            features = self._features(attributes, values, subset)
            if len(set(features)) < len(features):
                self._refuse("a feature is there twice")
            found = [self._numbers.setdefault(own, len(self._numbers)) for own in features]
            return np.array(found, dtype=np.int64)
        found_rows = []
        for names, texts in zip(attributes, values, strict=True):
            if not self._lists or len(names) != len(subset) or len(texts) != len(subset):
                self._refuse("an entry does not have a value for each of its dimensions")
            pairs = list(zip(names, texts, strict=True))
            for dimension, (name, value) in zip(subset, pairs, strict=True):
                self._check(name, value, dimension)
            found_rows.append([self._numbers.setdefault(p, len(self._numbers)) for p in pairs])
        if len(set(map(tuple, found_rows))) < len(found_rows):
            self._refuse("a combination of values is there twice")
        return np.array(found_rows, dtype=np.int64).reshape(-1, len(subset))

    def _features(
        self, attributes: Sequence[Any], values: Sequence[Any], subset: Subset
    ) -> list[Feature]:
        """Single values and conjunctions of them."""
        if not self._lists:
            pairs = list(zip(attributes, values, strict=True))
            known = set(attributes)
            if self._schema.kind != "table" or known <= self._allowed[subset[0]]:
                if not self._missing and None in values:
                    self._refuse("a value is missing, which the model ignores")
                if self._schema.kind != "table" and known - {None}:
                    self._refuse("a word has an attribute")
                return pairs
            strange = next(iter(known - self._allowed[subset[0]]))
            self._refuse(f"there is no attribute {strange!r:.80} in its place")
        return [
            self._conjunction(names, texts, subset[0])
            for names, texts in zip(attributes, values, strict=True)
        ]

    def _conjunction(self, names: Any, texts: Any, dimension: int) -> Feature:
        if names is None or texts is None or len(names) != len(texts) or not texts:
            self._refuse("an entry does not have a value for each of its attributes")
        for name, value in zip(names, texts, strict=True):
            self._check(name, value, dimension)
        if len(texts) == 1:
            return names[0], texts[0]
        return (tuple(names) if self._schema.kind == "table" else ()), tuple(texts)

    def _check(self, name: Any, value: Any, dimension: int) -> None:
        if name not in self._allowed[dimension]:
            self._refuse(f"there is no attribute {name!r:.80} in its place")
        if value is None and not self._missing:
            self._refuse("a value is missing, which the model ignores")

    def _attributes(self, dimension: int) -> set[str | None]:
        """The attributes that a feature of a dimension may have."""
        if self._schema.kind != "table":
            return {None}
        return set(self._schema.names if self._groups is None else self._groups[dimension])

    def _columns_of_counts(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """The columns of a sparse matrix have no names: x0, x1, ..."""
        digits = [str(value)[1:] for value in values]
        if not all(own.isdecimal() and len(own) < 19 for own in digits):
            self._refuse("a column of counts has no number")
        found = np.array(list(map(int, digits)), dtype=np.int64)
        if (np.diff(found) <= 0).any() or found.max(initial=0) >= max(self._schema.width, 1):
            self._refuse("the columns of counts are not in order")
        return found

    def _vocabulary(self) -> tuple[Vocabulary, NDArray[np.int64] | None]:
        """The features, and the number of each by the order in which it was first seen."""
        if self._schema.kind == "counts":
            width = self._schema.width
            if too_wide(width, self._runs.rows):
                self._refuse(f"it has {width:,} columns for {self._runs.rows:,} entries")
            return Vocabulary({}, width), None  # a column is its own number
        size = len(self._numbers)
        order = np.arange(size)
        if self._order is not None:
            order = np.array(self._order, dtype=np.int64)
            if order.shape != (size,) or (np.sort(order) != np.arange(size)).any():
                self._refuse("the order of its features is not one")
        given = dict(zip(self._numbers, order.tolist(), strict=True))
        return vocabulary_of(given), order

    def _refuse(self, why: str) -> NoReturn:
        raise ModelFileError(f"{why}: it is damaged")
