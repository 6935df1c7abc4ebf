"""Answers with their reasons: label, probabilities and the strongest contributions of each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from stc._core.vocabulary import tuple_name
from stc.explain import Answers
from stc.sources.answering import predictions, probabilities


@dataclass(frozen=True)
class Reasoned:
    """An answer: the label of each item, and what else is asked for.

    Attributes
    ----------
    proba
        Whether the probability of each class is in it.
    reasons
        How many of the strongest contributions are in it: `reason_1`, `share_1` and so on. They
        are those of the most probable class, or combination of classes.
    """

    proba: bool = False
    reasons: int = 0

    def __call__(self, predictor: Any, items: Any) -> pl.DataFrame:
        """The columns of the answer, a row an item."""
        answers = predictions(predictor, items)
        if self.proba:
            answers = answers.hstack(probabilities(predictor, items))
        if self.reasons:
            answers = answers.hstack(strongest(predictor.explain(items)._answers, self.reasons))
        return answers


def strongest(answers: Answers, most: int) -> pl.DataFrame:
    """The features with the largest shares of each prediction, and these shares.

    A share below 0 speaks against the prediction. Where there are fewer, or the class frequencies
    decide, there is nothing.
    """
    parts = answers.contributions(answers.best)
    along, _ = parts.along()
    shares = along / np.bincount(parts.items, along)[parts.items]
    order = np.lexsort((parts.ranks()[parts.places], -np.abs(shares), parts.items))
    items = parts.items[order]
    ranks = np.arange(len(items)) - np.searchsorted(items, items)
    kept = order[ranks < most]
    names = pl.Series(list(map(tuple_name, parts.features)), dtype=pl.String)
    columns: dict[str, pl.Series] = {}
    for rank in range(most):
        own = kept[ranks[ranks < most] == rank]
        place = np.full(answers.raw.n_items, -1)
        place[parts.items[own]] = own
        found = pl.Series(place).replace(-1, None)
        columns[f"reason_{rank + 1}"] = names.gather(pl.Series(parts.places).gather(found))
        columns[f"share_{rank + 1}"] = pl.Series(shares, dtype=pl.Float64).gather(found)
    return pl.DataFrame(columns)
