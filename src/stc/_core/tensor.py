"""Tensors: attributes grouped into dimensions, and tuples of features of several dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.observations import Column, Observations
from stc._core.product import LARGEST_KEY, TupleKeys, cartesian_product, union
from stc._core.schema import Schema
from stc._utils.names import first_repeated
from stc.exceptions import DataError, MissingColumnError, ParameterError, ParameterTypeError

# Numbers of dimensions, ascending. The corpus of the empty subset holds the classes alone.
Subset = tuple[int, ...]

_ALL = "all"


@dataclass(frozen=True)
class Dimensions:
    """The groups of attributes, each of which is one index of the tensor.

    Attributes
    ----------
    names
        Name of each dimension.
    attributes
        The attributes of each dimension; None: one dimension of all attributes, also later ones.
    each
        Whether every attribute is a dimension, so that no attribute can be added later.
    """

    names: tuple[str, ...] = (_ALL,)
    attributes: tuple[tuple[str, ...], ...] | None = None
    each: bool = False

    @classmethod
    def of(cls, parameter: Any, schema: Schema) -> Dimensions:
        """Return the dimensions for the parameter: None, "each", groups, or named groups."""
        if parameter is None:
            return cls()
        if schema.kind != "table":
            what = {"counts": "a sparse matrix of counts has", "documents": "documents have"}
            raise ParameterError(
                f"dimensions={parameter!r} needs attributes, and {what[schema.kind]} none",
                hint="set dimensions=None",
            )
        if isinstance(parameter, str):
            return cls(schema.names, tuple((name,) for name in schema.names), each=True)
        if isinstance(parameter, Mapping):
            groups = {str(name): _group(group, schema) for name, group in parameter.items()}
            return cls(tuple(groups), tuple(groups.values()))._checked(schema)
        attributes = tuple(_group(group, schema) for group in parameter)
        return cls(tuple(map("+".join, attributes)), attributes)._checked(schema)

    def _checked(self, schema: Schema) -> Dimensions:
        if not self.names:
            raise ParameterError("dimensions has no group", hint="give at least one, or None")
        seen, known = set[str](), set(schema.names)
        for name, group in zip(self.names, self.attributes or (), strict=True):
            if not group:
                place = self.names.index(name)
                raise ParameterError(f"dimension {place} ({name!r}) has no attribute")
            for attribute in group:
                if attribute not in known:
                    reason = f", which the dimension {name!r} names"
                    raise MissingColumnError(attribute, schema.names, reason)
                if attribute in seen:
                    raise ParameterError("named twice in dimensions", column=attribute)
                seen.add(attribute)
        repeated = first_repeated(self.names)
        if repeated is not None:
            raise ParameterError(
                f"two dimensions have the name {repeated!r}", hint="give them names with a dict"
            )
        return self

    def refuse_more(self, schema: Schema) -> None:
        """Raise if the schema has attributes that came after the dimensions were fixed."""
        known = set(self.names)
        new = [name for name in schema.names if self.each and name not in known]
        if new:
            raise DataError(
                "the attribute is new, and with dimensions='each' the first batch fixes them",
                column=new[0],
                hint="name all attributes in the first batch (None where missing)",
            )

    def same_as(self, other: Dimensions) -> bool:
        """Whether both have the same groups of attributes, in any order."""
        if self.attributes is None or other.attributes is None:
            return self == other
        ours = dict(zip(self.names, map(frozenset, self.attributes), strict=True))
        return ours == dict(zip(other.names, map(frozenset, other.attributes), strict=True))

    @property
    def whole(self) -> Subset:
        """The subset of all dimensions."""
        return tuple(range(len(self.names)))

    def named(self, subset: Subset) -> tuple[str, ...]:
        """Return the names of the dimensions of a subset."""
        return tuple(self.names[d] for d in subset)

    def numbers(self, names: Iterable[str], where: str) -> Subset:
        """Return the numbers of named dimensions, in the order of the names."""
        numbers, number = [], {name: place for place, name in enumerate(self.names)}
        for name in names:
            if name not in number:
                known = ", ".join(map(repr, self.names))
                hint = "set dimensions='each' to name attributes"
                raise ParameterError(
                    f"{where} names the dimension {name!r}, which does not exist; there is {known}",
                    hint=hint if self.attributes is None else None,
                )
            numbers.append(number[name])
        return tuple(numbers)

    def places(self, observed: Observations, dimension: int) -> list[int]:
        """Return the columns of a batch that belong to a dimension."""
        if self.attributes is None:
            return list(range(len(observed.columns)))
        place = {column.attribute: k for k, column in enumerate(observed.columns)}
        return [place[name] for name in self.attributes[dimension] if name in place]

    def view(self, observed: Observations, subset: Subset) -> Observations:
        """Return a batch for a subset: the columns of one dimension, or one column of tuples.

        The values of that column are rows of codes, one code per dimension. The codes of a
        dimension are numbered through column by column.
        """
        if len(subset) > 1:
            return replace(observed, columns=(cartesian_product(self.columns(observed, subset)),))
        if self.attributes is None:
            return observed
        columns = tuple(observed.columns[k] for k in self.places(observed, subset[0]))
        return replace(observed, columns=columns)

    def sizes(self, observed: Observations, subset: Subset) -> NDArray[np.float64]:
        """Return the number of tuples of each item in a subset of several dimensions."""
        needed = np.ones(observed.n_items)
        for dimension in subset:
            values = np.zeros(observed.n_items)
            for place in self.places(observed, dimension):
                values += observed.columns[place].lengths()
            needed *= values
        return needed

    def check_size(self, observed: Observations, subset: Subset, most: int) -> None:
        """Raise if the batch would have too many tuples, before any is made."""
        needed = self.sizes(observed, subset).sum()
        if needed > most:
            names = ", ".join(map(repr, self.named(subset)))
            raise ParameterError(
                f"the product of the dimensions {names} would have {needed:,.0f} tuples for "
                f"{observed.n_items:,} items, more than max_entries={most:,}",
                hint="give smaller batches, name fewer dimensions in the policy, "
                "or raise max_entries",
            )

    def columns(self, observed: Observations, subset: Subset) -> list[Column]:
        """Return one column for each dimension of a subset."""
        return [
            union([observed.columns[k] for k in self.places(observed, d)], observed.n_items)
            for d in subset
        ]

    def lookups(
        self, observed: Observations, subset: Subset, features: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.int64]]:
        """Return the feature of each code of each dimension, given those of each column."""
        lookups = []
        for dimension in subset:
            places = self.places(observed, dimension)
            parts = [features[k][: observed.columns[k].n_values] for k in places]
            lookups.append(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))
        return lookups

    def codes(
        self, observed: Observations, subset: Subset, rows: NDArray[np.int64]
    ) -> dict[int, NDArray[np.int64]]:
        """Return for each column which of its codes occur in these rows of codes."""
        used: dict[int, NDArray[np.int64]] = {}
        for place, dimension in enumerate(subset):
            codes = np.unique(rows[:, place])
            for k in self.places(observed, dimension):
                size = observed.columns[k].n_values
                used[k] = codes[(codes >= 0) & (codes < size)]
                codes = codes - size
        return used


def _group(group: Any, schema: Schema) -> tuple[str, ...]:
    """Return the attributes of a group; columns without names may be given by position."""
    single = isinstance(group, str) or not isinstance(group, Iterable)
    names: list[str] = []
    for member in [group] if single else group:
        by_place = isinstance(member, (int, np.integer)) and not schema.named
        if not by_place and not isinstance(member, str):
            raise ParameterTypeError(
                f"dimensions has {member!r}; attributes are given by their names, as strings"
            )
        if by_place and not 0 <= member < len(schema.names):
            raise ParameterError(
                f"dimensions names column {member}; X has {len(schema.names)} columns"
            )
        names.append(schema.names[member] if by_place else member)
    return tuple(names)


def features_of(rows: NDArray[np.int64], lookups: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return rows of codes as rows of features, given the feature of each code."""
    return np.column_stack([lookup[rows[:, place]] for place, lookup in enumerate(lookups)])


@dataclass(frozen=True, eq=False)
class Tuples:
    """Immutable numbering of tuples, the features of several dimensions.

    It is used as a Vocabulary is, for columns whose values are rows of features.

    Attributes
    ----------
    rows
        One row per tuple: the number of a single feature for each dimension.
    """

    rows: NDArray[np.int64]

    @classmethod
    def empty(cls, width: int) -> Tuples:
        """Return a numbering without tuples for so many dimensions."""
        return cls(np.zeros((0, width), dtype=np.int64))

    @property
    def size(self) -> int:
        """Number of tuples."""
        return len(self.rows)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Sorted keys of the tuples and their numbers; None if tuples do not fit into keys."""
        if prod(self._bases.tolist()) > LARGEST_KEY:
            return None
        keys = self._keys_of(self.rows)
        order = np.argsort(keys)
        return keys[order], order

    @cached_property
    def _bases(self) -> NDArray[np.int64]:
        return np.asarray(self.rows.max(axis=0, initial=0) + 1, dtype=np.int64)

    def _keys_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = TupleKeys(len(rows))
        for place, base in enumerate(self._bases.tolist()):
            keys.append(rows[:, place], base)
        return keys.numbers

    def find(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each of these tuples; `size` for an unknown tuple."""
        numbers = np.full(len(rows), self.size)
        possible = np.flatnonzero((rows < self._bases).all(axis=1))
        if not self.size or not len(possible):
            return numbers
        if self._sorted is not None:
            known, order = self._sorted
            keys = self._keys_of(rows[possible])
        else:  # keys are renumbered on the way, so known and new tuples need common ones
            keys = self._keys_of(np.concatenate([self.rows, rows[possible]]))
            order = np.argsort(keys[: self.size])
            known, keys = keys[: self.size][order], keys[self.size :]
        places = np.minimum(np.searchsorted(known, keys), self.size - 1)
        found = known[places] == keys
        numbers[possible[found]] = order[places[found]]
        return numbers

    def locate(self, column: Column) -> NDArray[np.int64]:
        """Return the number of each tuple of a column, then `size` for "no value"."""
        return np.append(self.find(np.asarray(column.values)), self.size)

    def extended(self, rows: NDArray[np.int64]) -> tuple[Tuples, NDArray[np.int64]]:
        """Return the numbering extended by distinct tuples, and the number of each of these."""
        numbers = self.find(rows)
        new = numbers == self.size
        numbers[new] = np.arange(self.size, self.size + np.count_nonzero(new))
        return Tuples(np.concatenate([self.rows, rows[new]])), numbers

    def subset(self, keep: NDArray[np.bool_]) -> Tuples:
        """Return the tuples to keep, renumbered without gaps."""
        return Tuples(self.rows[keep])

    def renumbered(self, numbers: NDArray[Any]) -> Tuples:
        """Return the tuples with new numbers for their single features."""
        return Tuples(numbers[self.rows])
