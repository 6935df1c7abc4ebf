"""Contributions to a score as arrows, with their phases as angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize

from stc.explain import LocalExplanation
from stc.plot.display import ItemDisplay, check_positive, one_item, reason_of, remove_frame, title
from stc.plot.style import AGAINST, AGAINST_TEXT, FOR, LINE, font, matplotlib, share_colour
from stc.plot.text import class_title, clean, inches, literal, more

# Maximal number of characters of a name, and the radius of the circle in inches.
_NAME_LENGTH, _RADIUS = 22, 1.7
_LEGEND = "length: relative to the strongest; angle: phase to the sum, which points right"


@dataclass(eq=False)
class PhaseDisplay(ItemDisplay):
    """The contributions to the score of a class as arrows in the complex plane.

    There is one arrow per contribution. Its length is relative to the strongest contribution. Its
    angle is the phase relative to the sum, which points to the right: arrows to the left (shaded)
    interfere destructively.

    Parameters
    ----------
    table : polars.DataFrame
        The contributions, with `feature`, `contribution`, `share` and `phase`.
    label
        The class.
    probability : float
        Its probability.
    reason : str
        Message if there are no contributions.

    Attributes
    ----------
    figure_, ax_
        The figure and the axes.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.plot import PhaseDisplay
    >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
    >>> explanation = model.explain_local([["a", "b"]], theta=[[0.5, 0.0]])
    >>> display = PhaseDisplay.from_explanation(explanation)
    >>> display.ax_.get_title("left")
    'x, 1.00'
    """

    table: pl.DataFrame = field(repr=False)
    label: Any
    probability: float
    reason: str = "nothing speaks for it"

    @classmethod
    def from_explanation(
        cls,
        explanation: LocalExplanation,
        item: int | None = None,
        *,
        label: Any = None,
        n_features: int = 30,
        n_names: int = 8,
        ax: Any = None,
    ) -> Self:
        """Draw the contributions to a class of an item and their phases.

        Parameters
        ----------
        explanation : LocalExplanation
            The result of `model.explain_local(X)`.
        item : int, default=None
            Number of the item; None: the only item.
        label : default=None
            The class; None: the class explained.
        n_features : int, default=30
            Maximal number of contributions, the strongest ones.
        n_names : int, default=8
            Maximal number of contributions that are named.
        ax : Axes, default=None
            Axes to draw into; None: a new figure.

        Returns
        -------
        PhaseDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import PhaseDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> explanation = model.explain_local(["good fun"])
        >>> display = PhaseDisplay.from_explanation(explanation, ax=Figure().subplots())
        >>> display.ax_.get_xlabel()
        'all phases are 0: no interference'
        """
        one = one_item(explanation, item)
        if label is not None:
            one = one.of_class(label)
        return cls(
            table=one.table,
            label=one.classes[int(one.explained[0])],
            probability=float(one.probabilities[0]),
            reason=reason_of(one) if one.table.is_empty() else cls.reason,
        ).plot(ax, n_features=n_features, n_names=n_names)

    def plot(self, ax: Any = None, *, n_features: int = 30, n_names: int = 8) -> Self:
        """Draw the display, with parameters as in `from_explanation`, and return it.

        Examples
        --------
        >>> import polars as pl
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import PhaseDisplay
        >>> waves = {"feature": ["a", "b"], "contribution": [2.0, 1.0]}
        >>> table = pl.DataFrame({**waves, "share": [2.0, -1.0], "phase": [0.0, 3.141592653589793]})
        >>> display = PhaseDisplay(table, "x", 1.0).plot(Figure().subplots())
        >>> waves = [line for line in display.ax_.lines if line.get_gid() == "wave"]
        >>> sorted(float(line.get_xdata()[1]) for line in waves)
        [-0.5, 1.0]
        """
        check_positive(n_features=n_features)
        waves = self.table.sort("contribution", descending=True, maintain_order=True)
        waves = waves.head(n_features)
        ends = _ends(waves)
        names = [clean(name, _NAME_LENGTH) for name in waves["feature"].head(n_names)]
        left, right = _limits(names, ends)
        self._take_axes(ax, _RADIUS * (right - left) + 0.3, 1.5 if waves.is_empty() else 4.5)
        title(self.ax_, class_title(self.label, self.probability))
        if self.table.is_empty():
            self._message(self.ax_, self.reason)
            return self
        self._draw_circle(left, right)
        self._draw_arrows(ends, waves["share"].to_list())
        self._write_names(names, ends)
        turned = (self.table["phase"] != 0).any()
        legend = _LEGEND if turned else "all phases are 0: no interference"
        rest = more(self.table.height - n_features, "contribution", "contributions")
        self._note(ax, [legend, *rest])
        return self

    def _draw_circle(self, left: float, right: float) -> None:
        """Draw the unit circle, with the destructive half shaded."""
        patches = matplotlib("patches")
        ax = self.ax_
        remove_frame(ax)
        ax.set_aspect("equal")
        ax.set_xlim(left, right)
        ax.set_ylim(-1.05, 1.2)
        ax.add_patch(patches.Wedge((0, 0), 1, 90, 270, color=AGAINST, alpha=0.1, linewidth=0))
        ax.add_patch(patches.Circle((0, 0), 1, fill=False, edgecolor=LINE, linewidth=1))
        ax.plot([-1, 1], [0, 0], color=LINE, linewidth=0.8, zorder=0.5)
        ax.plot([0, 0], [-1, 1], color=LINE, linewidth=0.8, zorder=0.5)
        ax.text(-0.5, 1.05, "against", **font(color=AGAINST_TEXT, ha="center"))
        ax.text(0.5, 1.05, "for", **font(color=FOR, ha="center"))

    def _draw_arrows(self, ends: NDArray[np.complex128], shares: Sequence[float]) -> None:
        """Draw the contributions, the strongest last and so on top."""
        for end, share in reversed(list(zip(ends.tolist(), shares, strict=True))):
            dot: dict[str, Any] = {"marker": "o", "markersize": 5, "markevery": [1]}
            line = [0, end.real], [0, end.imag]
            self.ax_.plot(*line, color=share_colour(share), linewidth=1.6, gid="wave", **dot)

    def _write_names(self, names: Sequence[str], ends: NDArray[np.complex128]) -> None:
        """Write names beside the circle, each with a line to its arrow."""
        for side, places in zip((-1, 1), _sides(names, ends), strict=True):
            for place, height in zip(places, _spread(ends.imag[places]), strict=True):
                line = [ends[place].real, side * 1.1], [ends[place].imag, height]
                self.ax_.plot(*line, color=LINE, linewidth=0.7, zorder=0.6)
                style = font(va="center", ha="left" if side > 0 else "right")
                self.ax_.text(side * 1.14, height, literal(names[place]), **style)


def _ends(waves: pl.DataFrame) -> NDArray[np.complex128]:
    """Return the ends of the arrows; the strongest ends on the unit circle."""
    amount, phase = waves["contribution"].to_numpy(), waves["phase"].to_numpy()
    return np.asarray(amount / (amount.max(initial=0.0) or 1.0) * np.exp(1j * phase))


def _sides(names: Sequence[str], ends: NDArray[np.complex128]) -> tuple[list[int], list[int]]:
    """Return the names to the left of the circle, and those to the right."""
    left = ends.real[: len(names)] < 0
    return np.flatnonzero(left).tolist(), np.flatnonzero(~left).tolist()


def _limits(names: Sequence[str], ends: NDArray[np.complex128]) -> tuple[float, float]:
    """Return the horizontal limits of the circle with the names beside it, in radii."""
    left, right = (
        max((1.2 + inches(names[place]) / _RADIUS for place in places), default=1.1)
        for places in _sides(names, ends)
    )
    return -left, right


def _spread(heights: NDArray[np.float64], gap: float = 0.14) -> list[float]:
    """Return the nearest heights at which names do not overlap."""
    n = len(heights)
    if not n:
        return []
    # Of equal heights the strongest is in the middle, so that the lines do not cross.
    order = sorted(range(n), key=lambda k: (heights[k], k if k % 2 else -k))
    steps = gap * np.arange(n)
    lowest = optimize.isotonic_regression(heights[order] - steps).x
    top = max(1.0, steps[-1] / 2)
    spread = np.empty(n)
    spread[order] = np.clip(lowest, -top, top - steps[-1]) + steps
    return list(spread.tolist())
