"""Contrasts: what each feature adds to the scores of two classes of an item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from stc._core.tables import named_features
from stc.explain.answers import Answers, NamedContributions
from stc.explain.names import WORTH_NAMING, with_probability, with_share
from stc.explain.table import TableMixin, differences


@dataclass(frozen=True, eq=False)
class Contrast(TableMixin):
    """Why an item has one class and not another, feature by feature.

    Attributes
    ----------
    item
        Number of the item.
    label, other
        The class explained, and the class it is compared with.
    probability, probability_of_other
        Their probabilities.
    table
        One row per feature, the largest difference first: `attribute`, `value`, `adds` (to the
        score of the class), `adds_to_other` (to the score of the other class), `difference` (the
        differences sum to the difference of the scores), `share` (the difference divided by the
        higher of the two scores) and `feature`.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> X, y = [["milk", 4], ["milk", 4], ["eggs", 4], ["eggs", 2]], ["cat", "dog", "frog", "hen"]
    >>> model = SparseTensorClassifier(entropy=0).fit(X, y)
    >>> contrast = model.explain_local([["eggs", 4]]).why_not(0)
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
        parts = [answers.contributions(np.array([class_])) for class_ in (first, second)]
        scale = max(float(part.scales.max(initial=-np.inf)) for part in parts)
        adds, adds_to_other = (
            _added(answers, part, name, scale)
            for part, name in zip(parts, ("adds", "adds_to_other"), strict=True)
        )
        highest = max(float(table[:, -1].sum()) for table in (adds, adds_to_other))
        share = pl.col("difference") / (highest or 1.0)
        columns = ["attribute", "value", "adds", "adds_to_other", "difference", "share", "feature"]
        return cls(
            item,
            answers.names.labels[first],
            answers.names.labels[second],
            float(answers.probabilities[0, first]),
            float(answers.probabilities[0, second]),
            differences(adds, adds_to_other).with_columns(share=share).select(columns),
        )

    def sentence(self, reasons: int = 3) -> str:
        """Return the contrast as a sentence.

        Parameters
        ----------
        reasons : int, default=3
            Maximal number of features to name for each of the two classes.

        Returns
        -------
        str
            The strongest features for the class, and those for the other class.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.explain_local(["good bad"]).why_not(0, "+").sentence()
        '-, 0.57, not +, 0.43: because bad (100 %); although good (87 %)'
        """
        share = pl.col("share")
        pro = _texts(self.table.filter(share >= WORTH_NAMING).head(reasons))
        contra = _texts(self.table.filter(share <= -WORTH_NAMING).head(reasons))
        because = f"because {', '.join(pro)}" if pro else "no feature speaks for it"
        although = f"; although {', '.join(contra)}" if contra else ""
        label = with_probability(self.label, self.probability)
        other = with_probability(self.other, self.probability_of_other)
        return f"{label}, not {other}: {because}{although}"

    def __str__(self) -> str:
        return self.sentence()

    __repr__ = __str__


def _texts(table: pl.DataFrame) -> list[str]:
    return list(map(with_share, table["feature"], table["share"].abs()))


def _added(answers: Answers, parts: NamedContributions, name: str, scale: float) -> pl.DataFrame:
    """Return what each feature adds to the score of a class, as a column of this name.

    All is divided by `exp(scale)`, so that two classes are compared.
    """
    features = named_features(answers.model, parts.features, parts.places)
    added = parts.along()[0] * np.exp(parts.scales - scale)
    return pl.DataFrame(features | {name: pl.Series(added, dtype=pl.Float64)})
