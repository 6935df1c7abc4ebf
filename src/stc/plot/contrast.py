"""Why one class and not another, as bars to both sides."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from stc.explain import Contrast, LocalExplanation
from stc.plot.axes import note, title
from stc.plot.bars import draw, reach_of, strongest
from stc.plot.item import ItemDisplay, one_item
from stc.plot.look import AGAINST_TEXT, FOR
from stc.plot.text import class_title, clean


@dataclass(eq=False)
class ContrastDisplay(ItemDisplay):
    """Why one class and not another: what speaks for it to the right, for the other to the left.

    Parameters
    ----------
    table : polars.DataFrame
        That of a `Contrast`, with `feature` and `share`.
    label, other
        The class that the item has, and the one that it has not.
    probability, probability_of_other : float
        Their probabilities.

    Attributes
    ----------
    figure_, ax_
        Where it was drawn.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import ContrastDisplay
    >>> X, y = load_zoo()
    >>> explanation = SparseTensorClassifier().fit(X, y).explain(X[:1])
    >>> display = ContrastDisplay.from_explanation(explanation, label="Bird")
    >>> display.ax_.get_title("left"), display.ax_.get_title("right")
    ('← Bird, 0.02', 'Mammal, 0.63 →')
    """

    table: pl.DataFrame = field(repr=False)
    label: Any
    other: Any
    probability: float
    probability_of_other: float

    @classmethod
    def from_explanation(
        cls,
        explanation: LocalExplanation | Contrast,
        item: int | None = None,
        *,
        label: Any = None,
        n_features: int = 12,
        ax: Any = None,
    ) -> Self:
        """Draw why an item has its class and not another.

        Parameters
        ----------
        explanation : LocalExplanation or Contrast
            What `model.explain(X)` gives, or `why_not` of it.
        item : int, default=None
            Number of the item; None: the only one.
        label : default=None
            The other class; None: the most probable of the others.
        n_features : int, default=12
            How many features, those that tell most.
        ax : Axes, default=None
            Where to draw; None: into a figure of its own.

        Returns
        -------
        ContrastDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import ContrastDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> contrast = model.explain(["good bad"]).why_not(0)
        >>> display = ContrastDisplay.from_explanation(contrast, ax=Figure().subplots())
        >>> [label.get_text() for label in display.ax_.get_yticklabels()]
        ['bad', 'good']
        """
        found = explanation
        if isinstance(found, LocalExplanation):
            one = one_item(found, item)
            found = one.why_not(int(one.items[0]), label)
        return cls(
            table=found.table,
            label=found.label,
            other=found.other,
            probability=found.probability,
            probability_of_other=found.probability_of_other,
        ).plot(ax, n_features=n_features)

    def plot(self, ax: Any = None, *, n_features: int = 12) -> Self:
        """Draw it.

        Parameters
        ----------
        ax, n_features
            As in `from_explanation`.

        Returns
        -------
        ContrastDisplay
            Itself.

        Examples
        --------
        >>> import polars as pl
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import ContrastDisplay
        >>> table = pl.DataFrame({"feature": ["milk=1", "fins=1"], "share": [0.5, -0.25]})
        >>> display = ContrastDisplay(table, "mammal", "fish", 0.8, 0.2).plot(Figure().subplots())
        >>> [float(bar.get_width()) for bar in display.ax_.patches]
        [0.5, -0.25]
        """
        panel = strongest(self.table, n_features)
        low, high = reach_of(bar.value for bar in panel.bars)
        both = min(low, -0.1 * high), max(high, -0.1 * low)
        empty = "nothing tells one from the other"
        draw(self, ax, [panel], both, width=4.8, height=0.8, empty=empty)
        if panel.bars:
            note(self, ax, ["difference, as a share of the higher score"])
        other = class_title(self.other, self.probability_of_other)
        title(self.ax_, f"{clean('←')} {other}", color=AGAINST_TEXT)
        label = class_title(self.label, self.probability)
        title(self.ax_, f"{label} {clean('→')}", "right", color=FOR)
        return self
