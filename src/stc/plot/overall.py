"""What a model knows of its classes: bars for each class, or a heatmap of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.explain import GlobalExplanation
from stc.plot.axes import Display, bare, note, number_of_classes, positive, say, take, title
from stc.plot.bars import LINE_HEIGHT, draw_strongest
from stc.plot.look import NOTE_SIZE, QUIET, font
from stc.plot.text import class_name, clean, literal, more_classes, percent, room_for

if TYPE_CHECKING:
    from matplotlib.colorbar import Colorbar

_LEGEND, _EMPTY = "share of the weights of the class", "no feature has a weight"


class _ModelDisplay(Display):
    """A display of all that a model knows."""

    @classmethod
    def from_estimator(cls, model: Any, **options: Any) -> Self:
        """Explain a model and draw it.

        Parameters
        ----------
        model : SparseTensorClassifier or SparseTensorClassifierCV
            A fitted one.
        **options
            As in `from_explanation`.

        Returns
        -------
        the display

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import HeatmapDisplay
        >>> model = SparseTensorClassifier().fit([["red"], ["blue"]], ["hot", "cold"])
        >>> display = HeatmapDisplay.from_estimator(model, ax=Figure().subplots())
        >>> display.features, display.labels
        (['x0=blue', 'x0=red'], ['cold', 'hot'])
        """
        return cls._from_model(model, [], **options)


@dataclass(eq=False)
class GlobalDisplay(_ModelDisplay):
    """The strongest features of each class: bars of their shares of the weights of the class.

    Parameters
    ----------
    tables : list of polars.DataFrame
        For each class the weights, with `feature` and `share`.
    labels : list
        The classes.
    more_classes : int
        Number of classes that are not among these.

    Attributes
    ----------
    figure_, axes_
        Where it was drawn: a figure, and axes for each class.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import GlobalDisplay
    >>> X, y = load_zoo()
    >>> display = GlobalDisplay.from_estimator(SparseTensorClassifier().fit(X, y), n_features=5)
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
        """Draw an explanation of a model.

        Parameters
        ----------
        explanation : GlobalExplanation
            What `model.explain()` gives.
        labels : list, default=None
            The classes to draw; None: the first ones.
        n_classes : int, default=None
            How many at the most. None: 10, or as many as there are axes given.
        n_features : int, default=8
            How many features of each class, the strongest ones.
        ax : Axes or array of them, default=None
            Where to draw, axes for each class; None: into a figure of its own.

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
        >>> GlobalDisplay.from_explanation(model.explain(), ax=axes).labels
        ['+', '-']
        """
        chosen, tables = _chosen(explanation, labels, number_of_classes(ax, n_classes, 10))
        return cls(
            tables=tables,
            labels=chosen,
            more_classes=len(explanation.classes) - len(chosen),
        ).plot(ax, n_features=n_features)

    def plot(self, ax: Any = None, *, n_features: int = 8) -> Self:
        """Draw it.

        Parameters
        ----------
        ax, n_features
            As in `from_explanation`.

        Returns
        -------
        GlobalDisplay
            Itself.

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
        drawn = draw_strongest(self, ax, self.tables, n_features, _EMPTY)
        for own, label in zip(self.axes_, self.labels, strict=True):
            title(own, class_name(label))
        legend = [_LEGEND] if drawn else []
        note(self, ax, [*legend, *more_classes(self.more_classes)])
        return self


def _chosen(
    explanation: GlobalExplanation, labels: Sequence[Any] | None, n: int
) -> tuple[list[Any], list[pl.DataFrame]]:
    """The classes to draw, and the weights of each."""
    chosen = list(explanation.classes if labels is None else labels)[:n]
    return chosen, [explanation.for_class(label).table for label in chosen]


@dataclass(eq=False)
class HeatmapDisplay(_ModelDisplay):
    """The features that tell the classes apart best, and how much they weigh in each class.

    Parameters
    ----------
    shares : array of shape (n_features, n_classes)
        Share of the weights of the class.
    features : list of str
        The features.
    labels : list
        The classes.
    more_classes : int
        Number of classes that are not among these.

    Attributes
    ----------
    figure_, ax_, colorbar_
        Where it was drawn; no colour bar: None.

    Examples
    --------
    >>> from stc import SparseTensorClassifier, load_zoo
    >>> from stc.plot import HeatmapDisplay
    >>> X, y = load_zoo()
    >>> display = HeatmapDisplay.from_estimator(SparseTensorClassifier().fit(X, y), n_features=12)
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
        """Draw an explanation of a model.

        Parameters
        ----------
        explanation : GlobalExplanation
            What `model.explain()` gives.
        labels : list, default=None
            The classes to draw; None: the first ones.
        n_classes : int, default=10
            How many at the most.
        n_features : int, default=15
            How many features, those that tell the classes apart best.
        colorbar : bool, default=True
            Whether to draw a colour bar.
        ax : Axes, default=None
            Where to draw; None: into a figure of its own.

        Returns
        -------
        HeatmapDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import HeatmapDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad bad"], ["+", "-"])
        >>> display = HeatmapDisplay.from_explanation(model.explain(), ax=Figure().subplots())
        >>> display.features, display.shares[0].tolist()
        (['bad', 'fun', 'good'], [0.0, 1.0])
        """
        positive(n_classes=n_classes, n_features=n_features)
        chosen, tables = _chosen(explanation, labels, n_classes)
        features, shares = _matrix(explanation, tables, n_features)
        others = len(explanation.classes) - len(chosen)
        return cls(shares, features, chosen, others).plot(ax, colorbar=colorbar)

    def plot(self, ax: Any = None, *, colorbar: bool = True) -> Self:
        """Draw it.

        Parameters
        ----------
        ax, colorbar
            As in `from_explanation`.

        Returns
        -------
        HeatmapDisplay
            Itself.

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
        width = room_for(self.features) + 0.6 * n_classes + 1.8
        take(self, ax, width, LINE_HEIGHT * max(n_features, 4) + 1.3)
        self.colorbar_ = None
        if not self.shares.size:
            say(self.ax_, _EMPTY)
            return self
        highest = float(self.shares.max()) or 1.0
        style: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": highest, "edgecolors": "white"}
        image = self.ax_.pcolormesh(self.shares, linewidth=1.5, **style)
        self.ax_.set_ylim(n_features, 0)
        bare(self.ax_)
        self._ticks()
        self._numbers(highest)
        if colorbar:
            bar = self.figure_.colorbar(image, ax=self.ax_, format=_tick, shrink=0.8, aspect=30)
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=0, labelsize=NOTE_SIZE, labelcolor=QUIET)
            self.colorbar_ = bar
        note(self, ax, [_LEGEND, *more_classes(self.more_classes)])
        return self

    def _ticks(self) -> None:
        features = [literal(clean(name)) for name in self.features]
        self.ax_.set_yticks(np.arange(len(features)) + 0.5, labels=features, **font())
        labels = [literal(class_name(label)) for label in self.labels]
        turned: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
        style = turned if max(map(len, labels)) > 6 else {}
        self.ax_.xaxis.tick_top()
        self.ax_.tick_params(length=0)
        self.ax_.set_xticks(np.arange(len(labels)) + 0.5, labels=labels, **font(**style))

    def _numbers(self, highest: float) -> None:
        """Write the shares into the cells that have one."""
        for (row, column), share in np.ndenumerate(self.shares):
            if share:
                colour = "white" if share > 0.6 * highest else "#33475b"
                style = font(7, color=colour, ha="center", va="center")
                number = percent(share).removesuffix(" %")
                self.ax_.text(column + 0.5, row + 0.5, number, **style)


def _tick(share: float, _: int | None = None) -> str:
    return f"{share * 100:g} %"


def _matrix(
    explanation: GlobalExplanation, tables: Sequence[pl.DataFrame], n: int
) -> tuple[list[str], NDArray[np.float64]]:
    """The features that tell these classes apart best, and their share of each class."""
    names = pl.concat([table["class"] for table in tables]).unique()
    keys = ["attribute", "value", "feature"]
    of_these = explanation.filter(pl.col("class").is_in(names.implode()))
    best = of_these.discriminating(n).select(keys).with_row_index("place")
    shares = np.zeros((best.height, len(tables)))
    for column, table in enumerate(tables):
        found = table.join(best, on=keys, nulls_equal=True)
        shares[found["place"].to_numpy(), column] = found["share"].to_numpy()
    return best["feature"].to_list(), shares
