"""What a model answers about a batch of items, and what of: computed when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.scales import scaled
from stc._core.scoring import Contributions
from stc._core.tensor import Subset
from stc._core.vocabulary import Feature, feature_name, parts_of
from stc.explain.names import ClassNames

# Contributions that are not worth a thread to sort.
_FEW = 10_000


class Parts(NamedTuple):
    """Contributions: what of, of which item, which of the features, how much, in which direction.

    Attributes
    ----------
    features
        What they are of.
    items, places, amounts, angles
        Of each contribution.
    """

    features: list[tuple[Feature, ...]]
    items: NDArray[Any]
    places: NDArray[Any]
    amounts: Floats
    angles: Floats

    def along(self) -> tuple[Floats, Floats]:
        """What each adds in the direction of its item's sum, and its angle to that sum."""
        if not self.angles.any():
            return self.amounts, self.angles
        sums = [
            np.bincount(self.items, self.amounts * turned(self.angles))
            for turned in (np.sin, np.cos)
        ]
        direction = np.arctan2(*sums)[self.items]
        phases = np.pi - (direction - self.angles + np.pi) % (2 * np.pi)
        phases[phases <= -np.pi] = np.pi  # opposite, by rounding
        return self.amounts * np.cos(phases), phases

    def order(self) -> NDArray[Any]:
        """The strongest first within each item; of equals, the first by name."""
        ranks = self.ranks()[self.places]
        if len(ranks) <= _FEW:
            return np.lexsort((ranks, -self.amounts, self.items))
        columns = pl.DataFrame({"item": self.items, "amount": self.amounts, "rank": ranks})
        falling = [False, True, False]  # polars has threads for it
        return columns.select(pl.arg_sort_by(columns.columns, descending=falling))[:, 0].to_numpy()

    def ranks(self) -> NDArray[np.int64]:
        """The place of each feature in the order of their names."""
        keys: list[Any]
        if all(len(own) == 1 and type(own[0][1]) is str for own in self.features):
            keys = [(attribute or "", value) for ((attribute, value),) in self.features]
        else:
            parts = map(parts_of, self.features)
            keys = [[(attribute or "", value or "") for attribute, value in own] for own in parts]
        ranks = np.empty(len(keys), dtype=np.int64)
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return ranks


_NOTHING = Contributions(
    np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0)
)


@dataclass(frozen=True, eq=False)
class Answers:
    """A batch of items and what the model makes of them.

    Attributes
    ----------
    cascade
        The model, its weights and its policy.
    raw
        The items as they came: numbers and orders not yet spread over categories.
    documents
        The texts, if the items are documents.
    """

    cascade: Cascade
    raw: Observations
    documents: Sequence[Any] | None = None

    @property
    def model(self) -> Model:
        """What was learnt."""
        return self.cascade.model

    @cached_property
    def observed(self) -> Observations:
        """The items as the model sees them."""
        return scaled(self.raw, self.model.scales)

    def score(self) -> None:
        """Compute the scores, which everything else follows from."""
        _ = self._scored

    @cached_property
    def _scored(self) -> tuple[Floats, NDArray[np.int64]]:
        return self.cascade.scores(self.observed)

    @property
    def scores(self) -> Floats:
        """`U_i` of each item and class."""
        return self._scored[0]

    @property
    def used(self) -> NDArray[np.int64]:
        """Place in the policy of the set that answers each item."""
        return self._scored[1]

    @cached_property
    def probabilities(self) -> Floats:
        """`X_i` of each item and class."""
        return self.cascade.probabilities_of(*self._scored)

    @cached_property
    def best(self) -> NDArray[np.intp]:
        """The most probable class of each item."""
        return self.cascade.most_probable_of(self.scores)

    @cached_property
    def coverage(self) -> Floats:
        """Share of each item that was ever seen."""
        return self.cascade.coverage(self.observed)

    @cached_property
    def names(self) -> ClassNames:
        """The classes as people know them."""
        return ClassNames(self.model)

    def one(self, item: int) -> Answers:
        """The same for one of the items."""
        keep = np.zeros(self.raw.n_items, dtype=bool)
        keep[item] = True
        documents = None if self.documents is None else [self.documents[item]]
        return Answers(self.cascade, self.raw.select(keep).compacted(), documents)

    def contributions(self, classes: NDArray[Any]) -> Parts:
        """What each feature adds to the score of one class an item."""
        features: list[tuple[Feature, ...]] = []
        parts = [_NOTHING]
        for subset, found in self.cascade.contributions(self.observed, self.used, classes):
            used, place = np.unique(found.features, return_inverse=True)
            parts.append(found._replace(features=place + len(features)))
            features += self.model.features(subset, used)
        return Parts(features, *map(np.concatenate, zip(*parts, strict=True)))

    def sets(self) -> list[list[str]]:
        """The dimensions that answer each item; none where the class frequencies do."""
        named = [list(self.model.dimensions.named(s)) for s in self.cascade.policy]
        return [named[place] for place in self.used.tolist()]

    def unseen(self) -> pl.DataFrame:
        """The values that were never learnt: item, attribute, value, feature."""
        found: list[tuple[int, Any, Any, str]] = []
        learnt = np.append(self._learnt_features(), False)
        for column in self.observed.columns:
            if column.conjunction:
                continue
            items, codes, _ = column.entries()
            unknown = ~learnt[self.model.vocabulary.locate(column)][codes]
            values: Any = column.values
            for item, code in zip(items[unknown].tolist(), codes[unknown].tolist(), strict=True):
                value = f"x{code}" if values is None else values[code]
                name = feature_name(column.attribute, value)
                found.append((item, column.attribute, value, name))
        names = {"item": pl.Int64, "attribute": pl.String, "value": pl.String, "feature": pl.String}
        return pl.DataFrame(found, schema=names, orient="row").sort("item", maintain_order=True)

    def _learnt_features(self) -> NDArray[np.bool_]:
        """Which single features any set of the policy knows."""
        learnt = np.zeros(self.model.vocabulary.size, dtype=bool)
        for subset in self._sets():
            rows = self.model.corpora[subset].used_rows
            if len(subset) == 1:
                learnt[: len(rows)] |= rows
            else:
                learnt[self.model.tuples[subset].rows[rows].ravel()] = True
        return learnt

    def _sets(self) -> list[Subset]:
        return [subset for subset in self.cascade.policy if subset]
