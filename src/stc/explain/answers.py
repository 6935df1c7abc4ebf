"""Scores, probabilities and contributions of a batch of items, each computed on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc._core.model import Model
from stc._core.observations import Column, Observations
from stc._core.scales import apply_scales
from stc._core.scoring import Contributions
from stc._core.vocabulary import Feature, feature_name, parts_of
from stc._utils.forking import pool_is_lost
from stc.explain.names import ClassNames

# Up to so many contributions NumPy sorts faster than polars with its threads.
_FEW = 10_000


class NamedContributions(NamedTuple):
    """Contributions of features to the score of one class per item.

    Attributes
    ----------
    features
        The distinct features.
    items
        Item of each contribution.
    places
        Index in `features` of each contribution.
    amounts, angles
        Modulus and argument of each contribution.
    scales
        The amounts of an item that are too small for a double are divided by `exp(scales)`.
    """

    features: list[tuple[Feature, ...]]
    items: NDArray[Any]
    places: NDArray[Any]
    amounts: Floats
    angles: Floats
    scales: Floats

    def along(self) -> tuple[Floats, Floats]:
        """Return the projection of each contribution on its item's sum, and the angle to it."""
        if not self.angles.any():
            return self.amounts, self.angles
        imaginary, real = (
            np.bincount(self.items, self.amounts * part(self.angles)) for part in (np.sin, np.cos)
        )
        direction = np.arctan2(imaginary, real)[self.items]
        phases = np.pi - (direction - self.angles + np.pi) % (2 * np.pi)
        phases[phases <= -np.pi] = np.pi  # opposite, by rounding
        return self.amounts * np.cos(phases), phases

    def order(self) -> NDArray[Any]:
        """Return the order by item, then amount (descending), then name of the feature."""
        ranks = self.ranks()[self.places]
        if len(ranks) <= _FEW or pool_is_lost():
            return np.lexsort((ranks, -self.amounts, self.items))
        table = pl.DataFrame({"item": self.items, "amount": self.amounts, "rank": ranks})
        order = pl.arg_sort_by(table.columns, descending=[False, True, False])
        return table.select(order)[:, 0].to_numpy()

    def ranks(self) -> NDArray[np.int64]:
        """Return the rank of each feature by name."""
        keys: list[Any]
        if all(len(feature) == 1 and type(feature[0][1]) is str for feature in self.features):
            keys = [(attribute or "", value) for ((attribute, value),) in self.features]
        else:
            keys = [
                [(attribute or "", value or "") for attribute, value in parts_of(feature)]
                for feature in self.features
            ]
        ranks = np.empty(len(keys), dtype=np.int64)
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return ranks


_NO_CONTRIBUTIONS = Contributions(
    np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), *(np.zeros(0),) * 3
)


@dataclass(frozen=True, eq=False)
class Answers:
    """Scores, probabilities and contributions of a batch of items.

    Attributes
    ----------
    cascade
        The model, its weights and its policy.
    raw
        The encoded items, with numbers and ordered categories not yet scaled.
    documents
        The texts, if the items are documents.
    """

    cascade: Cascade
    raw: Observations
    documents: Sequence[Any] | None = None

    @property
    def model(self) -> Model:
        """The fitted model."""
        return self.cascade.model

    @cached_property
    def observed(self) -> Observations:
        """The encoded items, with numbers and ordered categories scaled."""
        return apply_scales(self.raw, self.model.scales)

    def score(self) -> None:
        """Compute the scores now, so that items that cannot be scored raise here."""
        _ = self._scored

    @cached_property
    def _scored(self) -> tuple[Floats, NDArray[np.int64]]:
        return self.cascade.log_scores(self.observed)

    @property
    def log_scores(self) -> Floats:
        """Logarithms `ln U_i` of the scores, items x classes."""
        return self._scored[0]

    @property
    def used(self) -> NDArray[np.int64]:
        """Index in the policy of the set of dimensions that scored each item."""
        return self._scored[1]

    @cached_property
    def probabilities(self) -> Floats:
        """Probabilities `X_i`, items x classes."""
        return self.cascade.probabilities_of(*self._scored)

    @cached_property
    def best(self) -> NDArray[np.intp]:
        """Number of the most probable class of each item."""
        return self.cascade.most_probable_of(*self._scored)

    @cached_property
    def coverage(self) -> Floats:
        """Share of each item that was seen in training."""
        return self.cascade.coverage(self.observed)

    @cached_property
    def names(self) -> ClassNames:
        """Labels of the classes."""
        return ClassNames(self.model)

    def select(self, mask: NDArray[np.bool_]) -> Answers:
        """Return the answers for the items where the mask is true."""
        documents = None if self.documents is None else list(compress(self.documents, mask))
        return Answers(self.cascade, self.raw.select(mask).dense(), documents)

    def one(self, place: int) -> Answers:
        """Return the answers for a single item."""
        selected = self.select(np.arange(self.raw.n_items) == place)
        return replace(selected, raw=selected.raw.compacted())

    def contributions(self, classes: NDArray[Any]) -> NamedContributions:
        """Return the contributions to the score of one class per item, given by number."""
        features: list[tuple[Feature, ...]] = []
        parts = [_NO_CONTRIBUTIONS]
        for subset, part in self.cascade.contributions(self.observed, self.used, classes):
            rows, place = np.unique(part.features, return_inverse=True)
            parts.append(part._replace(features=place + len(features)))
            features += self.model.features(subset, rows)
        return NamedContributions(features, *map(np.concatenate, zip(*parts, strict=True)))

    def sets(self) -> list[list[str]]:
        """Return the dimensions that scored each item; none where class frequencies did."""
        names = [list(self.model.dimensions.named(subset)) for subset in self.cascade.policy]
        return [names[place] for place in self.used.tolist()]

    def unseen(self) -> pl.DataFrame:
        """Return the values not seen in training: item, attribute, value, feature."""
        rows: list[tuple[int, Any, Any, str]] = []
        seen = np.append(self._seen_features(), False)
        for column in self.observed.columns:
            if column.conjunction:
                continue
            items, codes, _ = column.entries()
            unseen = ~seen[self.model.vocabulary.locate(column)][codes]
            for item, code in zip(items[unseen].tolist(), codes[unseen].tolist(), strict=True):
                value = value_of(column, code)
                name = feature_name(column.attribute, value)
                rows.append((item, column.attribute, value, name))
        rows.sort(key=lambda row: row[0])
        schema = {"item": pl.Int64} | dict.fromkeys(("attribute", "value", "feature"), pl.String)
        return pl.DataFrame(rows, schema=schema, orient="row")

    def _seen_features(self) -> NDArray[np.bool_]:
        """Return which features of the vocabulary occur in any set of the policy."""
        seen = np.zeros(self.model.vocabulary.size, dtype=bool)
        for subset in filter(None, self.cascade.policy):
            rows = self.model.corpora[subset].used_rows
            if len(subset) == 1:
                seen[: len(rows)] |= rows
            else:
                seen[self.model.tuples[subset].rows[rows].ravel()] = True
        return seen


def value_of(column: Column, code: int) -> Any:
    """Return the value behind a code; columns of an unnamed sparse matrix are x0, x1, ..."""
    return f"x{code}" if column.values is None else column.values[code]
