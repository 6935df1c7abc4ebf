"""The probabilities of the classes of an item, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stc.explain import LocalExplanation
from stc.explain.names import text_of
from stc.plot.axes import note, positive
from stc.plot.bars import Bar, Panel, draw
from stc.plot.item import ItemDisplay, one_item, reason_of
from stc.plot.look import FOR, NEITHER
from stc.plot.text import more_classes, never_seen


@dataclass(eq=False)
class ProbabilityDisplay(ItemDisplay):
    """How probable the classes of an item are: a bar a class, that of the highest one in blue.

    Parameters
    ----------
    labels : list
        The classes, the most probable first.
    probabilities : list of float
        Their probabilities.
    unseen : list of str
        Features of the item that were never learnt.
    more_classes : int
        Number of classes that are not among these.
    reason : str
        What else to say of the item.

    Attributes
    ----------
    figure_, ax_
        Where it was drawn.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import ProbabilityDisplay
    >>> X, y = load_zoo()
    >>> model = SparseTensorClassifier().fit(X, y)
    >>> display = ProbabilityDisplay.from_estimator(model, X, item=0, n_classes=2)
    >>> display.labels, display.more_classes
    (['Mammal', 'Reptile'], 5)
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
        """Draw the probabilities of an item of an explanation.

        Parameters
        ----------
        explanation : LocalExplanation
            What `model.explain(X)` gives.
        item : int, default=None
            Number of the item; None: the only one.
        n_classes : int, default=10
            How many classes, the most probable ones.
        ax : Axes, default=None
            Where to draw; None: into a figure of its own.

        Returns
        -------
        ProbabilityDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import ProbabilityDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> explanation = model.explain(["good", "bad"])
        >>> display = ProbabilityDisplay.from_explanation(explanation, 1, ax=Figure().subplots())
        >>> [float(bar.get_width()) for bar in display.ax_.patches]
        [1.0, 0.0]
        """
        positive(n_classes=n_classes)
        one = one_item(explanation, item)
        places = np.argsort(-one.proba[0], kind="stable")[:n_classes].tolist()
        return cls(
            labels=[one.classes[place] for place in places],
            probabilities=[float(one.proba[0, place]) for place in places],
            unseen=one.unseen["feature"].to_list(),
            more_classes=len(one.classes) - len(places),
            reason="" if any(one.sets) else reason_of(one),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax
            As in `from_explanation`.

        Returns
        -------
        ProbabilityDisplay
            Itself.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import ProbabilityDisplay
        >>> display = ProbabilityDisplay(["cat", "dog"], [0.9, 0.1]).plot(Figure().subplots())
        >>> [text.get_text() for text in display.ax_.texts]
        ['0.90', '0.10']
        """
        bars = [
            Bar(text_of(label), proba, f"{proba:.2f}", NEITHER)
            for label, proba in zip(self.labels, self.probabilities, strict=True)
        ]
        bars[:1] = [bar._replace(colour=FOR) for bar in bars[:1]]
        panel = Panel(bars, more_classes(self.more_classes))
        draw(self, ax, [panel], (0.0, 1.0), width=3.4, least=2)
        reason = [self.reason] if self.reason else []
        note(self, ax, ["probability", *reason, *never_seen(self.unseen)])
        return self
