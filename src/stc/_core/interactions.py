"""Interactions: conjunctions of the values of several attributes as additional features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, combinations, pairwise
from math import comb, prod
from typing import Any

import numpy as np

from stc._core.domain import IN_DOMAIN, first_outside
from stc._core.formulas import Floats
from stc._core.matrix import FeatureMatrix
from stc._core.observations import Column, Observations, SparseOffsets, item_offsets
from stc._core.product import cartesian_product, object_array
from stc._core.vocabulary import Value
from stc.exceptions import DataError, ParameterError

# The attributes of a conjunction -> its values that are features; () holds the n-grams.
SelectedConjunctions = Mapping[tuple[str, ...], frozenset[Value]]


# So many tuples of attributes are made without asking which of them occur.
_FEW_TUPLES = 10_000


@dataclass(frozen=True)
class Interactions:
    """Which conjunctions are features in addition to the single values.

    Attributes
    ----------
    order
        Largest number of attributes in a conjunction; 1: no conjunctions.
    chosen
        The conjunctions selected by the first batch; None: all conjunctions.
    ngrams
        Largest number of consecutive words in an n-gram; 1: single words only.
    attributes
        The tuples of attributes whose conjunctions are features; None: all up to the order.
    """

    order: int = 1
    chosen: SelectedConjunctions | None = None
    ngrams: int = 1
    attributes: frozenset[tuple[str, ...]] | None = None

    @classmethod
    def of(cls, given: int | Iterable[Iterable[str]], ngrams: int = 1) -> Interactions:
        """Return interactions up to an order, or of tuples of attributes."""
        if not isinstance(given, Iterable):
            return cls(int(given), ngrams=ngrams)
        attributes = frozenset(tuple(sorted(names)) for names in given)
        order = max(map(len, attributes), default=1)
        return cls(order, ngrams=ngrams, attributes=attributes if attributes else None)

    @property
    def given(self) -> int | list[tuple[str, ...]]:
        """The parameter that they come from."""
        return self.order if self.attributes is None else sorted(self.attributes)

    @property
    def enabled(self) -> bool:
        """Whether there are conjunctions or n-grams."""
        return self.order > 1 or self.ngrams > 1

    def apply(self, observed: Observations) -> Observations:
        """Return the items with their conjunctions as additional columns."""
        if self.order > 1:
            observed = replace(observed, columns=(*observed.columns, *self._conjunctions(observed)))
        if self.chosen is None or not any(column.conjunction for column in observed.columns):
            return observed
        return replace(observed, columns=tuple(map(self._restricted, observed.columns)))

    def _conjunctions(self, observed: Observations) -> list[Column]:
        columns = {str(column.attribute): column for column in observed.columns}
        return [
            _conjunction(names, tuple(columns[name] for name in names))
            for names in self._occurring(observed)
        ]

    def _occurring(self, observed: Observations) -> list[tuple[str, ...]]:
        """Return the tuples of attributes whose conjunctions are made.

        Thousands of attributes that few items have would make millions that no item has: of many,
        only those are returned that an item has.
        """
        width = len(observed.columns)
        possible = sum(comb(width, size) for size in range(2, min(self.order, width) + 1))
        named = self.attributes is not None or self.chosen is not None
        if named or possible <= max(_FEW_TUPLES, self.sizes(observed).sum()):
            return self._tuples(str(column.attribute) for column in observed.columns)
        columns = sorted(observed.columns, key=lambda column: str(column.attribute))
        entries = [np.unique(column.entries()[0]) for column in columns]
        items = np.concatenate(entries)
        order = np.argsort(items, kind="stable")  # each item has its attributes by name
        places = np.repeat(np.arange(width), list(map(len, entries)))[order].tolist()
        bounds = item_offsets(items, observed.n_items).tolist()
        patterns = {tuple(places[start:stop]) for start, stop in pairwise(bounds)}
        sizes = range(2, self.order + 1)
        met = {own for size in sizes for pattern in patterns for own in combinations(pattern, size)}
        names = [str(column.attribute) for column in columns]
        ordered = sorted(met, key=lambda own: (len(own), own))
        return [tuple(names[place] for place in own) for own in ordered]

    def _tuples(self, attributes: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the tuples of these attributes whose conjunctions are features.

        Sorted by name, because the attributes of records come in any order.
        """
        present = sorted(attributes)
        named = [tuples for tuples in (self.attributes, self.chosen) if tuples is not None]
        if not named:
            sizes = range(2, min(self.order, len(present)) + 1)
            return [names for size in sizes for names in combinations(present, size)]
        made = set(named[0]).intersection(*named[1:]) - {()}
        fitting = filter(set(present).issuperset, made)
        return sorted(fitting, key=lambda names: (len(names), names))

    def _restricted(self, column: Column) -> Column:
        """Return a conjunction with its chosen values only."""
        if not column.conjunction:
            return column
        names: Any = column.attribute
        known = (self.chosen or {}).get(names, frozenset())
        values: Any = column.values
        return column.keep_values(np.fromiter((v in known for v in values), bool, column.n_values))

    def sizes(self, observed: Observations) -> Floats:
        """Return the number of values and conjunctions of each item."""
        return self._sizes(observed, lambda size: 1)

    def entries(self, observed: Observations) -> Floats:
        """Return the number of entries of each item that `max_entries` limits.

        A conjunction of k attributes counts as k - 1: what it costs to make and to keep it.
        """
        return self._sizes(observed, lambda size: max(size - 1, 1))

    def _sizes(self, observed: Observations, cost: Callable[[int], int]) -> Floats:
        """Return the sum of the costs of each item's values and conjunctions, by their sizes."""
        if self.order > 1 and (self.chosen is not None or self.attributes is not None):
            return self._sizes_of_chosen(observed, cost)
        order = min(self.order, len(observed.columns))
        total = np.zeros((order + 1, observed.n_items))
        total[0] = 1.0  # number of ways to take none of the columns so far
        for column in observed.columns:
            items: Any = slice(None)
            lengths = column.lengths
            if isinstance(column.offsets, SparseOffsets):
                items, lengths = column.offsets.items, column.stored.lengths
            present = lengths()
            for size in range(order, 0, -1):
                total[size, items] += total[size - 1, items] * present
        return np.asarray([cost(size) for size in range(1, order + 1)] @ total[1:])

    def _sizes_of_chosen(self, observed: Observations, cost: Callable[[int], int]) -> Floats:
        columns = {str(column.attribute): column for column in observed.columns}
        names = self._tuples(columns)
        lengths: dict[str, Any] = {
            name: (
                1.0
                if columns[name].offsets is None and columns[name].complete
                else columns[name].lengths() * 1.0
            )
            for name in set(chain.from_iterable(names))
        }
        singles = replace(self, order=1, chosen=None, attributes=None).sizes(observed)
        each = [cost(len(tuple_)) * prod(lengths[name] for name in tuple_) for tuple_ in names]
        each.append(singles)
        return np.broadcast_to(np.asarray(sum(each), dtype=np.float64), observed.n_items)

    def check_size(self, observed: Observations, most: int) -> None:
        """Raise if the batch would have too many conjunctions, before any is made.

        Conjunctions of named attributes are as many as were asked for: only a single item of them
        may have too many.
        """
        if self.order == 1:
            return
        self.check_weights(observed)
        sizes = self.entries(observed)
        named = self.attributes is not None
        needed = sizes.max(initial=0) if named else sizes.sum()
        if needed > most:
            width = len(observed.columns)
            sets = sum(comb(width, size) for size in range(2, min(self.order, width) + 1))
            if self.chosen is not None or self.attributes is not None:
                sets = len(self.chosen or self.attributes or ())
            raise ParameterError(
                f"interactions={self.given} would make {sets:,} conjunctions of the {width} "
                f"attributes and {needed:,.0f} entries for {observed.n_items:,} items, more than "
                f"max_entries={most:,}",
                hint="lower interactions, leave attributes out, or raise max_entries",
            )

    def check_weights(self, observed: Observations) -> None:
        """Raise if the weights of a conjunction, which are products, are not in the domain."""
        columns = {str(column.attribute): column for column in observed.columns}
        weighted = {name for name, column in columns.items() if column.weights is not None}
        if self.order == 1 or not weighted:
            return
        for names in self._tuples(columns):
            if weighted.isdisjoint(names):
                continue
            totals = np.prod([_totals(columns[name]) for name in names], axis=0)
            item = first_outside(totals)
            if item is not None:
                raise DataError(
                    f"the sum of the weights of a conjunction {IN_DOMAIN}, got {totals[item]}",
                    column=", ".join(names),
                    item=item,
                    hint="they are the products of the weights of its values",
                )

    def select(
        self,
        observed: Observations,
        target: Column,
        sample_weight: Floats,
        min_support: int,
        max_features: int | None,
    ) -> Interactions:
        """Return the interactions restricted to the strongest conjunctions of a batch.

        These have `min_support` items and the highest entropy weights.
        """
        if min_support <= 1 and max_features is None:
            return self
        layout = FeatureMatrix.of(self.apply(observed))
        truth = target.matrix().toarray()
        items = np.arange(observed.n_items)
        keep = layout.strongest(items, truth, sample_weight, min_support, max_features)
        chosen: dict[tuple[str, ...], frozenset[Value]] = {}
        for column, start in zip(layout.columns, layout.starts.tolist(), strict=False):
            kept = np.flatnonzero(keep[start : start + column.n_values]).tolist()
            if column.conjunction and kept:
                values: Any = column.values
                names: Any = column.attribute
                chosen[names] = frozenset(values[k] for k in kept)
        return replace(self, chosen=chosen)


def _conjunction(names: tuple[str, ...], parts: tuple[Column, ...]) -> Column:
    """Return the conjunction of columns; its weights are the products of theirs."""
    column = cartesian_product(parts)
    rows: Any = column.values
    parts_values = [
        object_array(part.values or ())[rows[:, k]].tolist() for k, part in enumerate(parts)
    ]
    values = list(zip(*parts_values, strict=True))
    weights = column.weights
    if weights is not None and column.offsets is not None:
        # Undo the division by the total of each part, which the product makes.
        totals = np.prod(list(map(_totals, parts)), axis=0)
        weights = weights * totals[column.entries()[0]]
    return replace(column, attribute=names, values=values, weights=weights)


def _totals(column: Column) -> Floats:
    """Return the total weight of each item."""
    return np.broadcast_to(np.float64(column.totals), column.n_items)
