"""Features that best tell the classes of a model apart, as a heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.explain import GlobalExplanation
from stc.plot.bars import LINE_HEIGHT
from stc.plot.display import ModelDisplay, check_positive, remove_frame
from stc.plot.style import MUTED, NOTE_SIZE, font
from stc.plot.text import class_name, clean, literal, max_inches, more_classes, percent

if TYPE_CHECKING:
    from matplotlib.colorbar import Colorbar


@dataclass(eq=False)
class HeatmapDisplay(ModelDisplay):
    """Heatmap of the features that best tell the classes apart.

    Parameters
    ----------
    shares : array of shape (n_features, n_classes)
        Share of each feature of the weights of each class.
    features : list of str
        The features.
    labels : list
        The classes.
    more_classes : int
        Number of classes not drawn.

    Attributes
    ----------
    figure_, ax_, colorbar_
        The figure, the axes, and the colour bar or None.

    Examples
    --------
    >>> from stc import STC_Q, SparseTensorClassifier, load_zoo
    >>> from stc.plot import HeatmapDisplay
    >>> X, y = load_zoo()
    >>> model = SparseTensorClassifier(**STC_Q).fit(X, y)
    >>> display = HeatmapDisplay.from_estimator(model, n_features=12)
    >>> display.shares.shape, display.features[:2]
    ((12, 7), ['milk=1', 'feathers=1'])
    """

    shares: NDArray[np.float64] = field(repr=False)
    features: Sequence[str]
    labels: Sequence[Any]
    more_classes: int = 0
    colorbar_: Colorbar | None = field(default=None, init=False, repr=False)

    @classmethod
    def from_explanation(
        cls,
        explanation: GlobalExplanation,
        *,
        labels: Sequence[Any] | None = None,
        n_classes: int = 10,
        n_features: int = 15,
        colorbar: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw the features that best tell the classes apart.

        Parameters
        ----------
        explanation : GlobalExplanation
            The result of `model.explain_global()`.
        labels : list, default=None
            The classes to draw; None: the first classes of the model.
        n_classes : int, default=10
            Maximal number of classes.
        n_features : int, default=15
            Maximal number of features, those that best tell the classes apart.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        ax : Axes, default=None
            Axes to draw into; None: a new figure.

        Returns
        -------
        HeatmapDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import HeatmapDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad bad"], ["+", "-"])
        >>> explanation = model.explain_global()
        >>> display = HeatmapDisplay.from_explanation(explanation, ax=Figure().subplots())
        >>> display.features, display.shares[0].tolist()
        (['bad', 'fun', 'good'], [0.0, 1.0])
        """
        check_positive(n_classes=n_classes, n_features=n_features)
        chosen, tables, others = cls._weights(explanation, labels, n_classes)
        features, shares = _matrix(explanation, tables, n_features)
        return cls(shares, features, chosen, others).plot(ax, colorbar=colorbar)

    def plot(self, ax: Any = None, *, colorbar: bool = True) -> Self:
        """Draw the display, with parameters as in `from_explanation`, and return it.

        Examples
        --------
        >>> import numpy as np
        >>> from matplotlib.figure import Figure
        >>> from stc.plot import HeatmapDisplay
        >>> shares = np.array([[0.75, 0.0], [0.25, 1.0]])
        >>> display = HeatmapDisplay(shares, ["a", "b"], ["x", "y"]).plot(Figure().subplots())
        >>> display.ax_.collections[0].get_array().tolist()
        [[0.75, 0.0], [0.25, 1.0]]
        """
        n_features, n_classes = self.shares.shape
        width = max_inches(self.features) + 0.6 * n_classes + 1.8
        self._take_axes(ax, width, LINE_HEIGHT * max(n_features, 4) + 1.3)
        self.colorbar_ = None
        if not self.shares.size:
            self._message(self.ax_, self._EMPTY)
            return self
        highest = float(self.shares.max()) or 1.0
        style: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": highest, "edgecolors": "white"}
        image = self.ax_.pcolormesh(self.shares, linewidth=1.5, **style)
        self.ax_.set_ylim(n_features, 0)
        remove_frame(self.ax_)
        self._write_names()
        self._write_shares(highest)
        if colorbar:
            bar = self.figure_.colorbar(image, ax=self.ax_, format=_tick, shrink=0.8, aspect=30)
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=0, labelsize=NOTE_SIZE, labelcolor=MUTED)
            self.colorbar_ = bar
        self._note(ax, [self._LEGEND, *more_classes(self.more_classes)])
        return self

    def _write_names(self) -> None:
        features = [literal(clean(name)) for name in self.features]
        self.ax_.set_yticks(np.arange(len(features)) + 0.5, labels=features, **font())
        labels = [literal(class_name(label)) for label in self.labels]
        turned: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
        style = turned if max(map(len, labels)) > 6 else {}
        self.ax_.xaxis.tick_top()
        self.ax_.tick_params(length=0)
        self.ax_.set_xticks(np.arange(len(labels)) + 0.5, labels=labels, **font(**style))

    def _write_shares(self, highest: float) -> None:
        """Write the shares into the cells where they are not 0."""
        for (row, column), share in np.ndenumerate(self.shares):
            if share:
                colour = "white" if share > 0.6 * highest else "#33475b"
                style = font(7, color=colour, ha="center", va="center")
                number = percent(share).removesuffix(" %")
                self.ax_.text(column + 0.5, row + 0.5, number, **style)


def _tick(share: float, _: int | None = None) -> str:
    return f"{share * 100:g} %"


def _matrix(
    explanation: GlobalExplanation, tables: Sequence[pl.DataFrame], n_features: int
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the features that best tell these classes apart, and their share of each class."""
    names = pl.concat([table["class"] for table in tables]).unique()
    keys = ["attribute", "value", "feature"]
    selected = explanation.filter(pl.col("class").is_in(names.implode()))
    best = selected.discriminating(n_features).select(keys).with_row_index("place")
    shares = np.zeros((best.height, len(tables)))
    for column, table in enumerate(tables):
        joined = table.join(best, on=keys, nulls_equal=True)
        shares[joined["place"].to_numpy(), column] = joined["share"].to_numpy()
    return best["feature"].to_list(), shares
