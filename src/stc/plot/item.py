"""What the displays of one item share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stc.explain import LocalExplanation
from stc.explain.names import text_of
from stc.plot.axes import Display


class ItemDisplay(Display):
    """A display of one item."""

    @classmethod
    def from_estimator(cls, model: Any, X: Any, item: int | None = None, **options: Any) -> Self:
        """Explain an item and draw it.

        Parameters
        ----------
        model : SparseTensorClassifier or SparseTensorClassifierCV
            A fitted one.
        X
            Items, as in `fit`.
        item : int, default=None
            Which of them; None: the only one.
        **options
            As in `from_explanation`.

        Returns
        -------
        the display

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import ProbabilityDisplay
        >>> model = SparseTensorClassifier().fit([["red"], ["blue"]], ["hot", "cold"])
        >>> display = ProbabilityDisplay.from_estimator(model, [["red"]], ax=Figure().subplots())
        >>> display.labels, display.probabilities
        (['hot', 'cold'], [1.0, 0.0])
        """
        return cls._from_model(model, [X], item, **options)


def one_item(explanation: LocalExplanation, item: int | None) -> LocalExplanation:
    """The explanation of one item."""
    if item is None:
        if len(explanation) != 1:
            raise ValueError(
                f"the explanation is of {len(explanation):,} items: say which one, as in "
                f"item={explanation.items[0] if len(explanation) else 0}"
            )
        item = int(explanation.items[0])
    return explanation.why(item)


def ranked(one: LocalExplanation) -> list[int]:
    """Numbers of the classes: the one explained, then the others, most probable first."""
    label = np.asarray(one.labels[0], dtype=object).tolist()
    proba = one.proba[0].copy()
    proba[one.classes.index(tuple(label) if isinstance(label, list) else label)] = np.inf
    return [int(place) for place in np.argsort(-proba, kind="stable")]


def reason_of(one: LocalExplanation) -> str:
    """What the explanation says of an item that nothing speaks for."""
    opening = f"{text_of(one.labels[0])}, {one.probabilities[0]:.2f}: "
    return one.sentences(1)[0].removeprefix(opening)
