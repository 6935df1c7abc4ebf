"""Strongest features of each class of a model, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from stc.explain import GlobalExplanation
from stc.plot.bars import draw_strongest
from stc.plot.display import ModelDisplay, number_of_classes
from stc.plot.text import class_name, more_classes


@dataclass(eq=False)
class GlobalDisplay(ModelDisplay):
    """Bars of the strongest features of each class, as shares of the weights of the class.

    Parameters
    ----------
    tables : list of polars.DataFrame
        The weights of each class, with `feature` and `share`.
    labels : list
        The classes.
    more_classes : int
        Number of classes not drawn.

    Attributes
    ----------
    figure_, axes_
        The figure, and the axes of each class.

    Examples
    --------
    >>> from stc import STC_Q, SparseTensorClassifier, load_zoo
    >>> from stc.plot import GlobalDisplay
    >>> X, y = load_zoo()
    >>> model = SparseTensorClassifier(**STC_Q).fit(X, y)
    >>> display = GlobalDisplay.from_estimator(model, n_features=5)
    >>> display.labels[:2], [label.get_text() for label in display.axes_[1].get_yticklabels()][:2]
    (['Amphibian', 'Bird'], ['feathers=1', 'legs=2'])
    """

    tables: Sequence[pl.DataFrame] = field(repr=False)
    labels: Sequence[Any]
    more_classes: int = 0

    @classmethod
    def from_explanation(
        cls,
        explanation: GlobalExplanation,
        *,
        labels: Sequence[Any] | None = None,
        n_classes: int | None = None,
        n_features: int = 8,
        ax: Any = None,
    ) -> Self:
        """Draw the strongest features of each class.

        Parameters
        ----------
        explanation : GlobalExplanation
            The result of `model.explain_global()`.
        labels : list, default=None
            The classes to draw; None: the first classes of the model.
        n_classes : int, default=None
            Maximal number of classes. None: 10, or the number of axes given.
        n_features : int, default=8
            Maximal number of features per class, the strongest ones.
        ax : Axes or array of Axes, default=None
            Axes to draw into, one per class; None: a new figure.

        Returns
        -------
        GlobalDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import GlobalDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> axes = Figure().subplots(1, 2)
        >>> GlobalDisplay.from_explanation(model.explain_global(), ax=axes).labels
        ['+', '-']
        """
        n_classes = number_of_classes(ax, n_classes, 10)
        chosen, tables, others = cls._weights(explanation, labels, n_classes)
        return cls(tables, chosen, others).plot(ax, n_features=n_features)

    def plot(self, ax: Any = None, *, n_features: int = 8) -> Self:
        """Draw the display, with parameters as in `from_explanation`, and return it.

        Examples
        --------
        >>> import polars as pl
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import GlobalDisplay
        >>> table = pl.DataFrame({"feature": ["milk=1", "hair=1"], "share": [0.75, 0.25]})
        >>> display = GlobalDisplay([table], ["mammal"]).plot(Figure().subplots(), n_features=1)
        >>> [label.get_text() for label in display.ax_.get_yticklabels()]
        ['milk=1', 'and 1 more feature']
        """
        titles = map(class_name, self.labels)
        shares = draw_strongest(self, ax, self.tables, titles, n_features, self._EMPTY)
        legend = [self._LEGEND] if shares else []
        self._note(ax, [*legend, *more_classes(self.more_classes)])
        return self
