"""Explanations: plain tables of the contributions that a prediction is the sum of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

# Contributions that would round to 0 % are no reasons.
_WORTH_NAMING = 0.005


@dataclass(frozen=True, eq=False)
class LocalExplanation:
    """Why each item was given its class.

    Attributes
    ----------
    labels, probabilities
        The predicted class of each item and its probability.
    coverage
        Share of each item that was ever seen.
    table
        One row a contribution, strongest first within each item: `item`, `attribute`, `value`,
        `contribution` (the modulus of its addend in the score of the predicted class), `share` (of
        that score: what it adds in the direction of the sum, below 0 if it works against it),
        `phase` (the angle between the two, in radians; 0 without phases) and `feature` (its name).
        With several dimensions or interactions, `attribute` and `value` are lists.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> explanation = model.explain([["red"], ["green"]])
    >>> explanation.labels.tolist(), explanation.coverage.tolist()
    (['stop', 'go'], [1.0, 1.0])
    """

    labels: NDArray[Any]
    probabilities: NDArray[Any]
    coverage: NDArray[Any]
    table: pl.DataFrame

    @classmethod
    def of(
        cls,
        labels: NDArray[Any],
        probabilities: NDArray[Any],
        coverage: NDArray[Any],
        contributions: pl.DataFrame,
    ) -> LocalExplanation:
        """Sort the contributions and tell their shares and their angles to the sum."""
        turned = contributions.filter(pl.col("phase") != 0).height > 0
        shared = _shared_waves(contributions) if turned else _shared(contributions)
        order = {"item": False, "contribution": True, "attribute": False, "value": False}
        table = shared.sort(list(order), descending=list(order.values()), maintain_order=True)
        columns = ["item", "attribute", "value", "contribution", "share", "phase", "feature"]
        return cls(labels, probabilities, coverage, table.select(columns))

    def to_polars(self) -> pl.DataFrame:
        """The table of contributions.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).to_polars()["value"].to_list()
        ['b']
        """
        return self.table

    def sentences(self, reasons: int = 3) -> list[str]:
        """Each item in a sentence with its strongest reasons.

        Parameters
        ----------
        reasons : int, default=3
            How many contributions to name at the most.

        Returns
        -------
        list of str
            One sentence an item.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> for sentence in model.explain(["what fun!", "hm"]).sentences():
        ...     print(sentence)
        +, 1.00: because fun (100 %)
        +, 0.50: nothing in it was seen before; the class frequencies decide
        """
        tensor = self.table.schema["attribute"] != pl.String
        unseen = "no combination" if tensor else "nothing"
        share = pl.col("share")
        pro = self._named(self.table.filter(share >= _WORTH_NAMING), reasons)
        contra = self._named(self.table.filter(share <= -_WORTH_NAMING), 1)
        return [
            f"{_label(label)}, {probability:.2f}: {_because(pro.get(item, []), seen, unseen)}"
            + "".join(f"; despite {words}" for words in contra.get(item, []))
            for item, (label, probability, seen) in enumerate(
                zip(self.labels, self.probabilities, self.coverage, strict=True)
            )
        ]

    @staticmethod
    def _named(table: pl.DataFrame, reasons: int) -> dict[int, list[str]]:
        """The strongest contributions of each item, in words."""
        weight = pl.col("share").abs()
        strongest = table.sort(weight, descending=True, maintain_order=True)
        named: dict[int, list[str]] = {}
        for row in strongest.group_by("item", maintain_order=True).head(reasons).to_dicts():
            words = f"{row['feature']} ({row['share']:.0%})".replace("%", " %")
            named.setdefault(row["item"], []).append(words)
        return named

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def _shared(contributions: pl.DataFrame) -> pl.DataFrame:
    """Shares of a sum of numbers."""
    return contributions.with_columns(
        share=pl.col("contribution") / pl.col("contribution").sum().over("item")
    )


def _shared_waves(contributions: pl.DataFrame) -> pl.DataFrame:
    """Shares of a sum of waves, `|w| cos(angle to the sum) / |sum|`; and those angles."""
    amount, angle = pl.col("contribution"), pl.col("phase")
    sums = (amount * angle.sin()).sum(), (amount * angle.cos()).sum()
    direction = pl.arctan2(*(own.over("item") for own in sums))
    turned = contributions.with_columns(phase=np.pi - (direction - angle + np.pi) % (2 * np.pi))
    # No squares, which would leave the range of a double; and by rounding, opposite may be -pi.
    along = amount * angle.cos()
    return turned.with_columns(
        phase=pl.when(angle <= -np.pi).then(np.pi).otherwise(angle),
        share=along / along.sum().over("item"),
    )


def _label(label: Any) -> str:
    """A class in words, of one target or of several."""
    return ", ".join(map(str, label)) if isinstance(label, np.ndarray) else str(label)


def _because(reasons: list[str], seen: float, unseen: str) -> str:
    if reasons:
        return f"because {', '.join(reasons)}"
    if seen:
        return "what is known of it says nothing; the class frequencies decide"
    return f"{unseen} in it was seen before; the class frequencies decide"
