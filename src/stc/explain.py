"""Explanations: plain tables of the contributions that a prediction is the sum of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.vocabulary import feature_name, tuple_name

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
        `contribution` (its addend in the score of the predicted class), `share` (of that score).
        With several dimensions, `attribute` and `value` are lists, one of each for a dimension.

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
        """Sort the contributions (item, attribute, value, contribution) and tell their shares."""
        share = pl.col("contribution") / pl.col("contribution").sum().over("item")
        order = {"item": False, "contribution": True, "attribute": False, "value": False}
        table = contributions.with_columns(share=share).sort(
            list(order), descending=list(order.values()), maintain_order=True
        )
        return cls(labels, probabilities, coverage, table)

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
        strongest = self.table.filter(pl.col("share") >= _WORTH_NAMING)
        strongest = strongest.group_by("item", maintain_order=True).head(reasons)
        named: dict[int, list[str]] = {}
        for row in strongest.iter_rows(named=True):
            words = f"{_feature(row['attribute'], row['value'])} ({row['share']:.0%})"
            named.setdefault(row["item"], []).append(words.replace("%", " %"))
        return [
            f"{_label(label)}, {probability:.2f}: {_because(named.get(item, []), seen, unseen)}"
            for item, (label, probability, seen) in enumerate(
                zip(self.labels, self.probabilities, self.coverage, strict=True)
            )
        ]

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def _feature(attribute: Any, value: Any) -> str:
    """A feature in words, of one dimension or of several."""
    if isinstance(attribute, list):
        return tuple_name(zip(attribute, value, strict=True))
    return feature_name(attribute, value)


def _label(label: Any) -> str:
    """A class in words, of one target or of several."""
    return ", ".join(map(str, label)) if isinstance(label, np.ndarray) else str(label)


def _because(reasons: list[str], seen: float, unseen: str) -> str:
    if reasons:
        return f"because {', '.join(reasons)}"
    if seen:
        return "what is known of it says nothing; the class frequencies decide"
    return f"{unseen} in it was seen before; the class frequencies decide"
