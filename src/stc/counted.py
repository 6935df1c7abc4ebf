"""A batch counted for every set of dimensions, in the batch's own codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc.corpus import Corpus, Entries, count, count_classes
from stc.observations import Column, Observations, run_starts
from stc.tensor import Dimensions, Subset, features_of


@dataclass(frozen=True)
class Counted:
    """A batch of items as each set of dimensions sees and counts it.

    Attributes
    ----------
    dimensions
        How the attributes are grouped.
    observed, target
        The items and their classes.
    views
        The items as each set but the empty one sees them.
    counted
        Corpus of each column of each view, and of the classes alone.
    """

    dimensions: Dimensions
    observed: Observations
    target: Column
    views: dict[Subset, Observations]
    counted: dict[Subset, list[Entries]]

    @classmethod
    def of(
        cls,
        dimensions: Dimensions,
        subsets: Iterable[Subset],
        observed: Observations,
        target: Column,
        sample_weight: NDArray[np.float64],
    ) -> Counted:
        """Count the items for each of the subsets."""
        views = {s: dimensions.view(observed, s) for s in subsets if s}
        counted = {s: count(view, target, sample_weight) for s, view in views.items()}
        counted[()] = [count_classes(target, sample_weight)]
        return cls(dimensions, observed, target, views, counted)

    def places(self, subset: Subset) -> list[int]:
        """The columns that a set of one dimension reads."""
        return [k for d in subset for k in self.dimensions.places(self.observed, d)]

    def used(self) -> list[NDArray[np.int64]]:
        """For each column the codes that some set has counted."""
        used: list[list[NDArray[np.int64]]] = [[] for _ in self.observed.columns]
        for subset in self.views:
            if len(subset) > 1:
                found = self.dimensions.codes(self.observed, subset, self.rows(subset)[1])
            else:
                each = [entries.codes for entries in self.counted[subset]]
                codes = [own[run_starts(own)] for own in each]
                found = dict(zip(self.places(subset), codes, strict=True))
            for place, own in found.items():
                used[place].append(own)
        return [_union(codes) for codes in used]

    def rows(self, subset: Subset) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The tuples that a set of several dimensions has counted: their codes, and what of."""
        counted = self.counted[subset][0].codes
        codes = counted[run_starts(counted)]
        values: Any = self.views[subset].columns[0].values
        return codes, values[codes]

    def tuples(self, subset: Subset, features: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The tuples that a set has counted as rows of features, given those of each column."""
        lookups = self.dimensions.lookups(self.observed, subset, features)
        return features_of(self.rows(subset)[1], lookups)

    def delta(
        self,
        subset: Subset,
        classes: NDArray[Any],
        features: list[NDArray[np.int64]],
        shape: tuple[int, int],
    ) -> Corpus:
        """Corpus of the batch for a set, given where classes and features belong.

        `features` has the row for each code of each column, or for each tuple counted.
        """
        per_column = self.counted[subset]
        columns = [entries._replace(classes=classes[entries.classes]) for entries in per_column]
        if not subset:
            return Corpus.of_entries(columns, [columns[0].codes], shape)
        if len(subset) > 1:
            lookup = np.zeros(self.views[subset].columns[0].n_values, dtype=np.int64)
            lookup[self.rows(subset)[0]] = features[0]
            return Corpus.of_entries(columns, [lookup[columns[0].codes]], shape)
        own = [features[k] for k in self.places(subset)]
        rows = [lookup[entries.codes] for lookup, entries in zip(own, columns, strict=True)]
        return Corpus.of_entries(columns, rows, shape)


def _union(codes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Sorted codes of all; each of them is sorted already."""
    if len(codes) == 1:
        return codes[0]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *codes]))
