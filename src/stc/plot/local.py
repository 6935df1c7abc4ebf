"""Contributions to the most probable classes of an item, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl

from stc.explain import LocalExplanation
from stc.plot.bars import draw_strongest
from stc.plot.display import ItemDisplay, class_fields, number_of_classes, one_item, reason_of
from stc.plot.text import class_title, more_classes, never_seen


@dataclass(eq=False)
class LocalDisplay(ItemDisplay):
    """Bars of the strongest contributions to the most probable classes of an item.

    Parameters
    ----------
    tables : list of polars.DataFrame
        The contributions to each class, with `feature` and `share`.
    labels : list
        The classes.
    probabilities : list of float
        Their probabilities.
    unseen : list of str
        Features of the item not seen in training.
    more_classes : int
        Number of classes not drawn.
    reason : str
        Message for a class without contributions.

    Attributes
    ----------
    figure_, axes_
        The figure, and the axes of each class.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import LocalDisplay
    >>> X, y = load_zoo()
    >>> explanation = SparseTensorClassifier().fit(X, y).explain_local(X[:1])
    >>> display = LocalDisplay.from_explanation(explanation, n_classes=2)
    >>> [ax.get_title("left") for ax in display.axes_]
    ['Mammal, 0.99', 'Bird, 0.00']
    """

    tables: Sequence[pl.DataFrame] = field(repr=False)
    labels: Sequence[Any]
    probabilities: Sequence[float]
    unseen: Sequence[str] = ()
    more_classes: int = 0
    reason: str = "nothing speaks for it"

    @classmethod
    def from_explanation(
        cls,
        explanation: LocalExplanation,
        item: int | None = None,
        *,
        n_classes: int | None = None,
        n_features: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the contributions to the most probable classes of an item.

        Parameters
        ----------
        explanation : LocalExplanation
            The result of `model.explain_local(X)`.
        item : int, default=None
            Number of the item; None: the only item.
        n_classes : int, default=None
            Number of classes: the one explained, and the most probable of the others. None: 3, or
            the number of axes given.
        n_features : int, default=10
            Maximal number of contributions per class, the strongest ones.
        ax : Axes or array of Axes, default=None
            Axes to draw into, one per class; None: a new figure.

        Returns
        -------
        LocalDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import LocalDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> explanation = model.explain_local(["what fun"])
        >>> display = LocalDisplay.from_explanation(explanation, ax=Figure().subplots())
        >>> display.labels, display.unseen, display.more_classes
        (['+'], ['what'], 1)
        """
        one = one_item(explanation, item)
        priority = one.proba[0].copy()
        priority[one.explained[0]] = np.inf
        n_classes = number_of_classes(ax, n_classes, 3)
        places = np.argsort(-priority, kind="stable")[:n_classes].tolist()
        return cls(
            tables=[one.of_class(one.classes[place]).table for place in places],
            reason=reason_of(one) if one.table.is_empty() else cls.reason,
            **class_fields(one, places),
        ).plot(ax, n_features=n_features)

    def plot(self, ax: Any = None, *, n_features: int = 10) -> Self:
        """Draw the display, with parameters as in `from_explanation`, and return it.

        Examples
        --------
        >>> import polars as pl
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import LocalDisplay
        >>> table = pl.DataFrame({"feature": ["milk=1", "fins=1"], "share": [1.25, -0.25]})
        >>> display = LocalDisplay([table], ["mammal"], [0.9]).plot(Figure().subplots())
        >>> [float(bar.get_width()) for bar in display.ax_.patches]
        [1.25, -0.25]
        """
        titles = map(class_title, self.labels, self.probabilities)
        shares = draw_strongest(self, ax, self.tables, titles, n_features, self.reason)
        against = "; orange: against the class" if any(share < 0 for share in shares) else ""
        legend = [f"share of the score{against}"] if shares else []
        self._note(ax, [*legend, *never_seen(self.unseen), *more_classes(self.more_classes)])
        return self
