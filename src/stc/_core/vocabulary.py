"""The vocabulary: the number of each feature (attribute, value), and the names of features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.observations import Column

# A feature is an attribute and a value; a conjunction is a tuple of each; an n-gram has the empty
# tuple as its attribute and the words as its value.
Attribute = str | tuple[str, ...] | None
Value = str | tuple[str | None, ...] | None
Feature = tuple[Attribute, Value]


@dataclass(frozen=True)
class Vocabulary:
    """Immutable numbering of features, in the order in which they were first seen.

    Attributes and values are kept apart, so `a` + `x: y` and `a: x` + `y` never collide.

    Attributes
    ----------
    index
        Attribute -> value -> number of the feature; the value None is the missing category.
    size
        Number of features.
    """

    index: dict[Attribute, dict[Value, int]] = field(default_factory=dict)
    size: int = 0

    def locate(self, column: Column) -> NDArray[np.int64]:
        """Return the feature of each value of a column, then `size` for "no value".

        The feature of an unknown value is `size`, too.
        """
        if column.values is None:
            features = np.arange(column.n_values + 1)
            features[-1] = self.size
            return features
        known = self.index.get(column.attribute, {})
        size = self.size
        features_or_size = map(known.get, column.values, repeat(size))
        return np.fromiter(chain(features_or_size, [size]), np.int64, column.n_values + 1)

    def extended(
        self, columns: Iterable[Column], used: Iterable[NDArray[Any]]
    ) -> tuple[Vocabulary, list[NDArray[np.int64]]]:
        """Return the vocabulary extended by the `used` codes, and the feature of each code."""
        index = dict(self.index)
        size = self.size
        features = []
        for column, codes in zip(columns, used, strict=True):
            if column.values is None:
                size = max(size, column.n_values)
                features.append(np.arange(column.n_values))
                continue
            known = dict(index.get(column.attribute, {}))  # a copy, as self does not change
            values = [column.values[k] for k in codes.tolist()]
            new = [value for value in values if value not in known] if known else values
            all_new = len(new) == len(values)
            known.update(zip(new, range(size, size + len(new)), strict=True))
            lookup = np.zeros(column.n_values, dtype=np.int64)
            lookup[codes] = (
                np.arange(size, size + len(new))
                if all_new
                else np.fromiter(map(known.__getitem__, values), np.int64, len(values))
            )
            features.append(lookup)
            size += len(new)
            index[column.attribute] = known
        return Vocabulary(index, size), features

    def subset(self, keep: NDArray[np.bool_]) -> Vocabulary:
        """Return the vocabulary of the features to keep, renumbered without gaps."""
        if not self.index:
            return self  # the columns of a sparse matrix keep their places
        number = np.cumsum(keep) - 1
        index: dict[Attribute, dict[Value, int]] = {}
        for attribute, known in self.index.items():
            kept = {value: int(number[k]) for value, k in known.items() if keep[k]}
            if kept:
                index[attribute] = kept
        return Vocabulary(index, int(np.count_nonzero(keep)))

    def __getstate__(self) -> dict[str, Any]:
        return {"index": self.index, "size": self.size}  # without the cached features

    @cached_property
    def features(self) -> list[Feature]:
        """(attribute, value) of every feature, by number."""
        if not self.index:
            return [(None, f"x{place}") for place in range(self.size)]
        features: list[Feature] = [(None, None)] * self.size
        for attribute, known in self.index.items():
            for value, number in known.items():
                features[number] = (attribute, value)
        return features


def feature_name(attribute: Attribute, value: Value) -> str:
    """Return the name of a feature: `legs=4`, `legs is missing`, `legs=4 and hair=1`, a word."""
    if isinstance(value, tuple):
        if isinstance(attribute, tuple) and attribute:
            return " and ".join(map(feature_name, attribute, value))
        return " ".join(feature_name(None, word) for word in value)
    if attribute is None:
        return "(missing)" if value is None else value
    return f"{attribute} is missing" if value is None else f"{attribute}={value}"


def parts_of(features: Iterable[Feature]) -> list[tuple[str | None, str | None]]:
    """Return the single (attribute, value) pairs of a tuple of features."""
    parts: list[tuple[str | None, str | None]] = []
    for attribute, value in features:
        values = value if isinstance(value, tuple) else (value,)
        names: tuple[str | None, ...]
        names = attribute if isinstance(attribute, tuple) else (attribute,)
        parts.extend(zip(names or (None,) * len(values), values, strict=True))
    return parts


def tuple_name(features: Sequence[Feature]) -> str:
    """Return the name of a feature of several dimensions: `legs=4 & hair=1`."""
    return " & ".join(feature_name(attribute, value) for attribute, value in features)
