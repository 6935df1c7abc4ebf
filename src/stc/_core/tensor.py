"""Tensors: attributes grouped into dimensions, and the features of several dimensions, tuples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.observations import Column, Observations
from stc._core.product import LARGEST_KEY, Keys, crossed, joined
from stc._core.schema import Schema

# Numbers of dimensions, ascending. The empty one stands for the classes alone.
Subset = tuple[int, ...]

_ALL = "all"


@dataclass(frozen=True)
class Dimensions:
    """Which attributes share an index of the tensor.

    Attributes
    ----------
    names
        Name of each dimension.
    attributes
        The attributes of each; None: one dimension of all attributes there are or will be.
    each
        Whether every attribute has a dimension of its own, so that no attribute may come later.
    """

    names: tuple[str, ...] = (_ALL,)
    attributes: tuple[tuple[str, ...], ...] | None = None
    each: bool = False

    @classmethod
    def of(cls, given: Any, schema: Schema) -> Dimensions:
        """Read what the caller gave: None, "each", groups, or named groups."""
        if given is None:
            return cls()
        if schema.kind != "table":
            what = {"counts": "a sparse matrix of counts has", "documents": "documents have"}
            raise ValueError(
                f"dimensions={given!r} needs attributes, and {what[schema.kind]} none: "
                "leave dimensions=None"
            )
        if isinstance(given, str):
            return cls(schema.names, tuple((name,) for name in schema.names), each=True)
        if isinstance(given, Mapping):
            groups = {str(name): _group(group, schema) for name, group in given.items()}
            return cls(tuple(groups), tuple(groups.values()))._checked(schema)
        own = tuple(_group(group, schema) for group in given)
        return cls(tuple("+".join(group) for group in own), own)._checked(schema)

    def _checked(self, schema: Schema) -> Dimensions:
        if not self.names:
            raise ValueError("dimensions names no group; give at least one, or None")
        seen: set[str] = set()
        for name, group in zip(self.names, self.attributes or (), strict=True):
            if not group:
                place = self.names.index(name)
                raise ValueError(f"dimension {place} ({name!r}) has no attribute")
            for attribute in group:
                if attribute not in schema.names:
                    known = ", ".join(map(repr, schema.names))
                    raise ValueError(
                        f"dimension {name!r} names the attribute {attribute!r}, which the data "
                        f"does not have; it has {known}"
                    )
                if attribute in seen:
                    raise ValueError(
                        f"attribute {attribute!r} is in the dimensions twice; once is the most"
                    )
                seen.add(attribute)
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise ValueError(f"two dimensions are named {twice[0]!r}; name them apart with a dict")
        return self

    def refuse_more(self, schema: Schema) -> None:
        """Refuse attributes that came after the dimensions were made of them."""
        new = [name for name in schema.names if self.each and name not in self.names]
        if new:
            raise ValueError(
                f"X has the attribute {new[0]!r}, which is new; with dimensions='each' they are "
                "fixed by the first batch: name all attributes in it (None where missing)"
            )

    def same_as(self, other: Dimensions) -> bool:
        """Whether these are the same groups of attributes, in whatever order."""
        if self.attributes is None or other.attributes is None:
            return self == other
        ours, theirs = (
            dict(zip(own.names, map(frozenset, own.attributes or ()), strict=True))
            for own in (self, other)
        )
        return ours == theirs

    @property
    def whole(self) -> Subset:
        """All dimensions."""
        return tuple(range(len(self.names)))

    def named(self, subset: Subset) -> tuple[str, ...]:
        """Names of the dimensions in a subset."""
        return tuple(self.names[d] for d in subset)

    def numbers(self, names: Iterable[str], where: str) -> Subset:
        """Numbers of the dimensions named, in the order given."""
        found = []
        for name in names:
            if name not in self.names:
                hint = "; set dimensions='each' to name attributes" * (self.attributes is None)
                known = ", ".join(map(repr, self.names))
                raise ValueError(
                    f"{where} names the dimension {name!r}, which there is not; "
                    f"there is {known}{hint}"
                )
            found.append(self.names.index(name))
        return tuple(found)

    def places(self, observed: Observations, dimension: int) -> list[int]:
        """Which columns of a batch belong to a dimension."""
        if self.attributes is None:
            return list(range(len(observed.columns)))
        place = {column.attribute: k for k, column in enumerate(observed.columns)}
        return [place[name] for name in self.attributes[dimension] if name in place]

    def view(self, observed: Observations, subset: Subset) -> Observations:
        """A batch as the subset sees it: columns of one dimension, or one column of tuples.

        The values of that column are rows of codes, in the codes of the dimensions' own columns,
        those of a dimension's second column after those of its first.
        """
        if len(subset) > 1:
            return replace(observed, columns=(crossed(self.columns(observed, subset)),))
        if self.attributes is None:
            return observed
        columns = tuple(observed.columns[k] for k in self.places(observed, subset[0]))
        return replace(observed, columns=columns)

    def sizes(self, observed: Observations, subset: Subset) -> NDArray[np.float64]:
        """How many tuples each item has in a subset of several dimensions."""
        needed = np.ones(observed.n_items)
        for dimension in subset:
            values = np.zeros(observed.n_items)
            for place in self.places(observed, dimension):
                values += observed.columns[place].lengths()
            needed *= values
        return needed

    def refuse_large(self, observed: Observations, subset: Subset, most: int) -> None:
        """Refuse a product of too many tuples, before any is made."""
        needed = self.sizes(observed, subset).sum()
        if needed > most:
            names = ", ".join(map(repr, self.named(subset)))
            raise ValueError(
                f"the product of the dimensions {names} would have {needed:,.0f} tuples for "
                f"{observed.n_items:,} items, more than max_tuples={most:,}; give smaller batches, "
                "name fewer dimensions in the policy, or raise max_tuples"
            )

    def columns(self, observed: Observations, subset: Subset) -> list[Column]:
        """One column for each dimension of a subset."""
        return [
            joined([observed.columns[k] for k in self.places(observed, d)], observed.n_items)
            for d in subset
        ]

    def lookups(
        self, observed: Observations, subset: Subset, features: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.int64]]:
        """Per dimension of a subset: feature of each code, from the features of each column."""
        nothing = np.zeros(0, dtype=np.int64)
        return [
            np.concatenate(
                [
                    nothing,
                    *(features[k][: observed.columns[k].n_values] for k in own),
                ]
            )
            for own in (self.places(observed, d) for d in subset)
        ]

    def codes(
        self, observed: Observations, subset: Subset, rows: NDArray[np.int64]
    ) -> dict[int, NDArray[np.int64]]:
        """Per column: which of its codes occur in these rows of codes."""
        used: dict[int, NDArray[np.int64]] = {}
        for place, dimension in enumerate(subset):
            codes = np.unique(rows[:, place])
            for k in self.places(observed, dimension):
                size = observed.columns[k].n_values
                used[k] = codes[(codes >= 0) & (codes < size)]
                codes = codes - size
        return used


def _group(given: Any, schema: Schema) -> tuple[str, ...]:
    """The attributes of a group; columns without names may be told by their places."""
    members: list[Any] = [given] if isinstance(given, (str, int, np.integer)) else list(given)
    group: list[str] = []
    for member in members:
        by_place = isinstance(member, (int, np.integer)) and not schema.named
        if not by_place and not isinstance(member, str):
            raise TypeError(f"dimensions holds {member!r}; attributes are named by strings")
        if by_place and not 0 <= member < len(schema.names):
            raise ValueError(f"dimensions names column {member}; X has {len(schema.names)} columns")
        group.append(schema.names[member] if by_place else member)
    return tuple(group)


def features_of(rows: NDArray[np.int64], lookups: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Rows of codes as rows of features, given the feature of each code per dimension."""
    return np.column_stack([lookup[rows[:, place]] for place, lookup in enumerate(lookups)])


@dataclass(frozen=True, eq=False)
class Tuples:
    """Features of several dimensions: which tuple of single features has which number.

    It answers the same questions as a Vocabulary, for columns whose values are rows of features.

    Attributes
    ----------
    rows
        One row a tuple: the number of a single feature for each dimension.
    """

    rows: NDArray[np.int64]

    @classmethod
    def empty(cls, width: int) -> Tuples:
        """No tuples of so many dimensions."""
        return cls(np.zeros((0, width), dtype=np.int64))

    @property
    def size(self) -> int:
        """Number of tuples."""
        return len(self.rows)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """The tuples as sorted keys and their numbers, if a key can hold a tuple."""
        if prod(self._bases.tolist()) > LARGEST_KEY:
            return None
        keys = self._keys_of(self.rows)
        order = np.argsort(keys)
        return keys[order], order

    @cached_property
    def _bases(self) -> NDArray[np.int64]:
        return np.asarray(self.rows.max(axis=0, initial=0) + 1, dtype=np.int64)

    def _keys_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = Keys(len(rows))
        for place, base in enumerate(self._bases.tolist()):
            keys.append(rows[:, place], base)
        return keys.numbers

    def find(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of each of these tuples; `size` for one that is not here."""
        found = np.full(len(rows), self.size)
        possible = np.flatnonzero((rows < self._bases).all(axis=1))
        if not self.size or not len(possible):
            return found
        if self._sorted is not None:
            known, order = self._sorted
            asked = self._keys_of(rows[possible])
        else:  # keys of ours and theirs together, renumbered on the way
            keys = self._keys_of(np.concatenate([self.rows, rows[possible]]))
            order = np.argsort(keys[: self.size])
            known, asked = keys[: self.size][order], keys[self.size :]
        places = np.minimum(np.searchsorted(known, asked), self.size - 1)
        there = known[places] == asked
        found[possible[there]] = order[places[there]]
        return found

    def locate(self, column: Column) -> NDArray[np.int64]:
        """Number of each of a column's tuples, then `size` for "no value"; unseen: `size`."""
        return np.append(self.find(np.asarray(column.values)), self.size)

    def extended(self, rows: NDArray[np.int64]) -> tuple[Tuples, NDArray[np.int64]]:
        """The tuples with these distinct ones in them, and the number of each of these."""
        numbers = self.find(rows)
        new = numbers == self.size
        numbers[new] = np.arange(self.size, self.size + np.count_nonzero(new))
        return Tuples(np.concatenate([self.rows, rows[new]])), numbers

    def subset(self, keep: NDArray[np.bool_]) -> Tuples:
        """The tuples to keep, renumbered without gaps."""
        return Tuples(self.rows[keep])

    def renumbered(self, numbers: NDArray[Any]) -> Tuples:
        """The same tuples after their single features got these numbers."""
        return Tuples(numbers[self.rows])
