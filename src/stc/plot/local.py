"""What speaks for the classes of an item, and what against, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from stc.explain import LocalExplanation
from stc.plot.axes import note, number_of_classes, title
from stc.plot.bars import draw_strongest
from stc.plot.item import ItemDisplay, one_item, ranked, reason_of
from stc.plot.text import class_title, more_classes, never_seen


@dataclass(eq=False)
class LocalDisplay(ItemDisplay):
    """What speaks for the most probable classes of an item, and what against: bars of shares.

    Parameters
    ----------
    tables : list of polars.DataFrame
        For each class the contributions, with `feature` and `share`.
    labels : list
        The classes.
    probabilities : list of float
        Their probabilities.
    unseen : list of str
        Features of the item that were never learnt.
    more_classes : int
        Number of classes that are not among these.
    reason : str
        What to say of a class without contributions.

    Attributes
    ----------
    figure_, axes_
        Where it was drawn: a figure, and axes for each class.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import LocalDisplay
    >>> X, y = load_zoo()
    >>> explanation = SparseTensorClassifier().fit(X, y).explain(X[:1])
    >>> display = LocalDisplay.from_explanation(explanation, n_classes=2)
    >>> [ax.get_title("left") for ax in display.axes_]
    ['Mammal, 0.63', 'Reptile, 0.10']
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
        """Draw an item of an explanation.

        Parameters
        ----------
        explanation : LocalExplanation
            What `model.explain(X)` gives.
        item : int, default=None
            Number of the item; None: the only one.
        n_classes : int, default=None
            How many classes: the one explained, and the most probable of the others. None: 3, or
            as many as there are axes given.
        n_features : int, default=10
            How many contributions, the strongest ones.
        ax : Axes or array of them, default=None
            Where to draw, axes for each class; None: into a figure of its own.

        Returns
        -------
        LocalDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import LocalDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> explanation = model.explain(["what fun"])
        >>> display = LocalDisplay.from_explanation(explanation, ax=Figure().subplots())
        >>> display.labels, display.unseen, display.more_classes
        (['+'], ['what'], 1)
        """
        one = one_item(explanation, item)
        places = ranked(one)[: number_of_classes(ax, n_classes, 3)]
        labels = [one.classes[place] for place in places]
        return cls(
            tables=[one.of_class(label).table for label in labels],
            labels=labels,
            probabilities=[float(one.proba[0, place]) for place in places],
            unseen=one.unseen["feature"].to_list(),
            more_classes=len(one.classes) - len(places),
            reason=reason_of(one) if one.table.is_empty() else cls.reason,
        ).plot(ax, n_features=n_features)

    def plot(self, ax: Any = None, *, n_features: int = 10) -> Self:
        """Draw it.

        Parameters
        ----------
        ax, n_features
            As in `from_explanation`.

        Returns
        -------
        LocalDisplay
            Itself.

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
        drawn = draw_strongest(self, ax, self.tables, n_features, self.reason)
        for own, label, proba in zip(self.axes_, self.labels, self.probabilities, strict=True):
            title(own, class_title(label, proba))
        against = "; orange: against the class" if any(value < 0 for value in drawn) else ""
        legend = [f"share of the score{against}"] if drawn else []
        note(self, ax, [*legend, *never_seen(self.unseen), *more_classes(self.more_classes)])
        return self
