"""Probabilities of the classes of an item, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stc.explain import LocalExplanation, label_text
from stc.plot.bars import Bar, Panel, draw_panels
from stc.plot.display import ItemDisplay, check_positive, class_fields, one_item, reason_of
from stc.plot.style import FOR, NEITHER
from stc.plot.text import more_classes, never_seen


@dataclass(eq=False)
class ProbabilityDisplay(ItemDisplay):
    """Bars of the probabilities of an item, the highest one in blue.

    Parameters
    ----------
    labels : list
        The classes, the most probable first.
    probabilities : list of float
        Their probabilities.
    unseen : list of str
        Features of the item not seen in training.
    more_classes : int
        Number of classes not drawn.
    reason : str
        Note on an item that the class frequencies decide.

    Attributes
    ----------
    figure_, ax_
        The figure and the axes.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import ProbabilityDisplay
    >>> X, y = load_zoo()
    >>> model = SparseTensorClassifier().fit(X, y)
    >>> display = ProbabilityDisplay.from_estimator(model, X, item=0, n_classes=2)
    >>> display.labels, display.more_classes
    (['Mammal', 'Bird'], 5)
    """

    labels: Sequence[Any]
    probabilities: Sequence[float]
    unseen: Sequence[str] = ()
    more_classes: int = 0
    reason: str = ""

    @classmethod
    def from_explanation(
        cls,
        explanation: LocalExplanation,
        item: int | None = None,
        *,
        n_classes: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the probabilities of an item.

        Parameters
        ----------
        explanation : LocalExplanation
            The result of `model.explain_local(X)`.
        item : int, default=None
            Number of the item; None: the only item.
        n_classes : int, default=10
            Maximal number of classes, the most probable ones.
        ax : Axes, default=None
            Axes to draw into; None: a new figure.

        Returns
        -------
        ProbabilityDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import ProbabilityDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> explanation = model.explain_local(["good", "bad"])
        >>> display = ProbabilityDisplay.from_explanation(explanation, 1, ax=Figure().subplots())
        >>> [float(bar.get_width()) for bar in display.ax_.patches]
        [1.0, 0.0]
        """
        check_positive(n_classes=n_classes)
        one = one_item(explanation, item)
        places = np.argsort(-one.proba[0], kind="stable")[:n_classes].tolist()
        reason = "" if any(one.sets) else reason_of(one)
        return cls(reason=reason, **class_fields(one, places)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display, with parameters as in `from_explanation`, and return it.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import ProbabilityDisplay
        >>> display = ProbabilityDisplay(["cat", "dog"], [0.9, 0.1]).plot(Figure().subplots())
        >>> [text.get_text() for text in display.ax_.texts]
        ['0.90', '0.10']
        """
        bars = [
            Bar(label_text(label), probability, f"{probability:.2f}", NEITHER if place else FOR)
            for place, (label, probability) in enumerate(
                zip(self.labels, self.probabilities, strict=True)
            )
        ]
        panel = Panel(bars, more_classes(self.more_classes))
        draw_panels(self, ax, [panel], (0.0, 1.0), width=3.4, min_lines=2)
        self._note(ax, ["probability", *filter(None, [self.reason]), *never_seen(self.unseen)])
        return self
