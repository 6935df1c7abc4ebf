"""Why one class and not another: the same features, and what each adds to the scores of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from stc._core.tables import named_features
from stc.explain.answers import Answers
from stc.explain.names import percent, text_of
from stc.explain.tabular import Tabular

_WORTH_NAMING = 0.005


@dataclass(frozen=True, eq=False)
class Contrast(Tabular):
    """What tells one class of an item from another.

    Attributes
    ----------
    item
        Number of the item.
    label, other
        The class that it has, and the one that it has not.
    probability, probability_of_other
        Their probabilities.
    table
        One row a feature, the one that tells most first: `attribute`, `value`, `adds` (to the score
        of the class), `adds_to_other` (to that of the other), `difference` (of the two; they sum to
        the difference of the scores), `share` (of it in the larger of both scores) and `feature`.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> X, y = [["milk", 4], ["milk", 4], ["eggs", 4], ["eggs", 2]], ["cat", "dog", "frog", "hen"]
    >>> contrast = SparseTensorClassifier(entropy=0).fit(X, y).explain([["eggs", 4]]).why_not(0)
    >>> contrast.label, contrast.other, contrast.table["feature"].to_list()
    ('frog', 'cat', ['x0=eggs', 'x1=4'])
    """

    item: int
    label: Any
    other: Any
    probability: float
    probability_of_other: float
    table: pl.DataFrame

    @classmethod
    def of(cls, answers: Answers, item: int, first: int, second: int) -> Contrast:
        """Compare two classes of the only item."""
        names = {first: "adds", second: "adds_to_other"}
        parts = [_added(answers, place, name) for place, name in names.items()]
        keys = ["attribute", "value", "feature"]
        both = parts[0].join(parts[1], on=keys, how="full", coalesce=True, nulls_equal=True)
        highest = max(float(part[:, -1].sum()) for part in parts)
        difference = pl.col("adds") - pl.col("adds_to_other")
        table = both.with_columns(pl.col("adds", "adds_to_other").fill_null(0.0)).with_columns(
            difference=difference, share=difference / (highest or 1.0)
        )
        order = [pl.col("difference").abs(), pl.col("feature")]
        columns = ["attribute", "value", "adds", "adds_to_other", "difference", "share", "feature"]
        return cls(
            item,
            answers.names.labels[first],
            answers.names.labels[second],
            float(answers.probabilities[0, first]),
            float(answers.probabilities[0, second]),
            table.sort(order, descending=[True, False], maintain_order=True).select(columns),
        )

    def sentence(self, reasons: int = 3) -> str:
        """The contrast in words.

        Parameters
        ----------
        reasons : int, default=3
            How many features to name at the most, for each side.

        Returns
        -------
        str
            What speaks for the class, and what for the other.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.explain(["good bad"]).why_not(0, "+").sentence()
        '-, 0.57, not +, 0.43: because bad (100 %); although good (87 %)'
        """
        share = pl.col("share")
        pro = _in_words(self.table.filter(share >= _WORTH_NAMING).head(reasons))
        contra = _in_words(self.table.filter(share <= -_WORTH_NAMING).head(reasons))
        because = f"because {', '.join(pro)}" if pro else "no feature speaks for it"
        although = f"; although {', '.join(contra)}" if contra else ""
        return (
            f"{text_of(self.label)}, {self.probability:.2f}, not {text_of(self.other)}, "
            f"{self.probability_of_other:.2f}: {because}{although}"
        )

    def __str__(self) -> str:
        return self.sentence()

    __repr__ = __str__


def _in_words(table: pl.DataFrame) -> list[str]:
    rows = zip(table["feature"], table["share"].abs(), strict=True)
    return [percent(feature, share) for feature, share in rows]


def _added(answers: Answers, place: int, name: str) -> pl.DataFrame:
    """What each feature adds to the score of a class, in the direction of the sum."""
    parts = answers.contributions(np.array([place]))
    added = pl.Series(name, parts.along()[0], dtype=pl.Float64)
    named = named_features(answers.model, parts.features, parts.places)
    return pl.DataFrame(named | {name: added})
