"""The vocabulary: which feature (attribute, value) has which number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.observations import Column

# Attribute and value; of a conjunction all its attributes and all its values; of words in a row no
# attribute, (), and the words.
Attribute = str | tuple[str, ...] | None
Value = str | tuple[str | None, ...] | None
Feature = tuple[Attribute, Value]


@dataclass(frozen=True)
class Vocabulary:
    """Features, numbered in the order in which they were first seen.

    Attribute and value are kept apart, so `a` + `x: y` and `a: x` + `y` never meet.
    A vocabulary does not change: `extended` and `subset` give new ones.

    Attributes
    ----------
    index
        attribute -> value -> number of the feature; the value None is the missing category.
    size
        Number of features.
    """

    index: dict[Attribute, dict[Value, int]] = field(default_factory=dict)
    size: int = 0

    def locate(self, column: Column) -> NDArray[np.int64]:
        """Feature of each of a column's values, then `size` for "no value"; unseen: `size`."""
        if column.values is None:
            features = np.arange(column.n_values + 1)
            features[-1] = self.size
            return features
        known = self.index.get(column.attribute, {})
        size = self.size
        found = map(known.get, column.values, repeat(size))
        return np.fromiter(chain(found, [size]), np.int64, column.n_values + 1)

    def extended(
        self, columns: Iterable[Column], used: Iterable[NDArray[Any]]
    ) -> tuple[Vocabulary, list[NDArray[np.int64]]]:
        """Vocabulary with the `used` codes of each column in it, and a feature for each code."""
        index = dict(self.index)
        size = self.size
        features = []
        for column, codes in zip(columns, used, strict=True):
            if column.values is None:
                size = max(size, column.n_values)
                features.append(np.arange(column.n_values))
                continue
            known = dict(index.get(column.attribute, {}))  # a copy: self stays as it is
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
        """Vocabulary of the features to keep, renumbered without gaps."""
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
        return {"index": self.index, "size": self.size}  # what follows from them is not kept

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
    """A feature in words: `legs=4`, `legs is missing`, `legs=4 and hair=1`, or the bare word."""
    if isinstance(value, tuple):
        if isinstance(attribute, tuple) and attribute:
            return " and ".join(map(feature_name, attribute, value))
        return " ".join(feature_name(None, own) for own in value)
    if attribute is None:
        return "(missing)" if value is None else value
    return f"{attribute} is missing" if value is None else f"{attribute}={value}"


def parts_of(features: Iterable[Feature]) -> list[tuple[str | None, str | None]]:
    """The single (attribute, value) pairs that a tuple of features is made of."""
    parts: list[tuple[str | None, str | None]] = []
    for attribute, value in features:
        values = value if isinstance(value, tuple) else (value,)
        names: tuple[str | None, ...]
        names = attribute if isinstance(attribute, tuple) else (attribute,)
        parts.extend(zip(names or (None,) * len(values), values, strict=True))
    return parts


def tuple_name(features: Sequence[Feature]) -> str:
    """A feature of several dimensions in words: `legs=4 & hair=1`."""
    if len(features) == 1:
        return feature_name(*features[0])
    return " & ".join(feature_name(attribute, value) for attribute, value in features)
