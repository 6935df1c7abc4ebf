"""Explanations as Matplotlib figures. Plots choose rows and format them; they compute nothing.

Each display is used as those of scikit-learn: `from_explanation` or `from_estimator` draws it, and
`plot` draws it once more. The axes are yours if you give some, and are left for you to change.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize

from stc._optional import optional
from stc.explain import Contrast, GlobalExplanation, LocalExplanation
from stc.explain.names import text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "ContrastDisplay",
    "GlobalDisplay",
    "HeatmapDisplay",
    "LocalDisplay",
    "PhaseDisplay",
    "ProbabilityDisplay",
]

# Blue and orange are told apart with every kind of colour blindness.
_FOR, _AGAINST, _NEITHER = "#2171b5", "#e6811c", "#b8bec6"
_AGAINST_TEXT, _QUIET, _LINE = "#b35900", "#66707c", "#c9ced6"
_SIZE, _TITLE_SIZE, _NOTE_SIZE = 9, 10, 8
# Characters of a name, and of a line of notes an inch; the width of a character in points.
_NAME_LENGTH, _WAVE_NAME, _CLASS_LENGTH, _NOTE_LENGTH = 28, 22, 18, 14
_CHARACTER = 6.0
# A name as short as any that room is left for, and the radius of the circle of phases in inches.
_USUAL, _RADIUS = "and 9 more features", 1.7
_LISTED_UNSEEN = 3
# Percentages below it are drawn as 0; shares above it are rounding, of waves that cancel.
_NOTHING, _MEANINGLESS = 0.005, 1e9


# --- text that any font can draw ------------------------------------------------------------------


def _shortened(name: str, length: int) -> str:
    """A name with an ellipsis for its middle if it is too long: both its ends tell what it is."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


@cache
def _glyphs(paths: tuple[str, ...]) -> frozenset[int]:
    fonts = optional("matplotlib.font_manager", "plot", "plotting")
    return frozenset().union(*(fonts.get_font(path).get_charmap() for path in paths))


def _drawable() -> frozenset[int]:
    """The characters that the fonts in use have, those that Matplotlib falls back on included."""
    fonts = optional("matplotlib.font_manager", "plot", "plotting")
    wanted = fonts.FontProperties()
    paths = []
    for family in wanted.get_family():
        one = wanted.copy()
        one.set_family(family)
        try:
            paths.append(str(fonts.findfont(one, fallback_to_default=False)))
        except ValueError:  # not installed: Matplotlib skips it, too
            continue
    return _glyphs(tuple(paths or [str(fonts.findfont(wanted))]))


def _drawn(text: str) -> str:
    """A text in one line, with a mark for each character that cannot be drawn."""
    drawable = _drawable()
    mark = "\ufffd" if 0xFFFD in drawable else "?"
    drawn = []
    for own in text:
        kind = unicodedata.category(own)
        if own.isspace():
            drawn.append(" ")
        elif kind != "Cf":  # invisible ones, which may turn the direction of what follows
            drawn.append(mark if kind[0] == "C" or ord(own) not in drawable else own)
    return "".join(drawn)


def _width(*texts: str) -> float:
    """How wide the widest of these is, in points."""
    fonts = optional("matplotlib.font_manager", "plot", "plotting")
    measure = optional("matplotlib.textpath", "plot", "plotting").TextToPath()
    font = fonts.FontProperties(size=_SIZE)
    sizes = [measure.get_text_width_height_descent(own, font, False)[0] for own in texts if own]
    return float(max(sizes, default=0.0))


def _clean(text: str, length: int = _NAME_LENGTH) -> str:
    """A text that can be drawn, and is no longer than so many characters of usual width."""
    clean = _drawn(_shortened(text, length))
    for fewer in range(length - 1, 2, -1):
        if _width(clean) <= _CHARACTER * length:
            break
        clean = _drawn(_shortened(text, fewer))
    return clean


def _class(label: Any) -> str:
    """A class as a title: short, for it has neighbours."""
    return _clean(text_of(label), _CLASS_LENGTH)


def _literal(text: str) -> str:
    """A text whose dollars are dollars, not formulas."""
    matplotlib = optional("matplotlib", "plot", "plotting")
    return text.replace("$", r"\$") if matplotlib.rcParams["text.parse_math"] else text


def _font(size: float = _SIZE, **style: Any) -> dict[str, Any]:
    """How a text looks: as the caller's style has it, but never bold, which has fewer glyphs."""
    weight = optional("matplotlib", "plot", "plotting").rcParams["font.weight"]
    return {"fontsize": size, "fontweight": weight, "usetex": False, **style}


def _percent(share: float) -> str:
    """A share in words, with two digits at least: 31 %, 9.0 %, 0.42 %."""
    percent = share * 100
    if not _meaningful(share):
        return "?"
    if abs(percent) < _NOTHING:
        return "0 %"
    digits = 0 if abs(percent) >= 9.95 else 1 if abs(percent) >= 0.995 else 2
    return f"{percent:.{digits}f} %"


def _meaningful(share: float) -> bool:
    return abs(share) < _MEANINGLESS  # which no NaN is


def _more(count: int, what: str, plural: str) -> list[str]:
    return [f"and {count:,} more {what if count == 1 else plural}"] if count > 0 else []


def _more_classes(count: int) -> list[str]:
    return _more(count, "class", "classes")


def _never_seen(features: Sequence[str]) -> list[str]:
    """A note on the values of an item that were never learnt."""
    if not features:
        return []
    named = ", ".join(_clean(own) for own in features[:_LISTED_UNSEEN])
    more = "".join(f" {own}" for own in _more(len(features) - _LISTED_UNSEEN, "value", "values"))
    return [f"never seen: {named}{more}"]


def _positive(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ValueError(f"{name}: at least 1 expected, got {number}")


# --- axes -----------------------------------------------------------------------------------------


def _axes_of(ax: Any) -> list[Axes]:
    """The axes that a caller gives: one, several, or an array of them."""
    kind = optional("matplotlib.axes", "plot", "plotting").Axes
    given: list[Axes] = np.ravel(np.asarray(ax, dtype=object)).tolist()
    for own in given:
        if not isinstance(own, kind):
            raise TypeError(f"ax: Axes of Matplotlib expected, got {type(own).__name__}")
    return given


def _n_classes(ax: Any, asked: int | None, default: int) -> int:
    """How many classes to draw: as many as asked for, else as there are axes given."""
    _positive(n_classes=asked)
    if asked is not None:
        return asked
    return default if ax is None else len(_axes_of(ax))


class _Display:
    """What all displays share: where they draw."""

    figure_: Figure | SubFigure
    axes_: list[Axes]

    @property
    def ax_(self) -> Axes:
        """The axes drawn into; of several, the first."""
        return self.axes_[0]

    def _take(self, ax: Any, width: float, height: float, panels: int = 1) -> None:
        """Take the axes given, or make a figure with panels of this size in inches."""
        if ax is None:
            pyplot = optional("matplotlib.pyplot", "plot", "plotting")
            columns = panels if panels <= 3 else min((4, 3), key=lambda own: -panels % own)
            rows = -(-panels // columns)
            size = columns * width, rows * height
            figure = pyplot.figure(figsize=size, layout="constrained")
            figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1)
            cells = list(figure.add_gridspec(rows, columns))[:panels]
            self.figure_, self.axes_ = figure, [figure.add_subplot(cell) for cell in cells]
            return
        given = _axes_of(ax)
        if len(given) < panels:
            raise ValueError(
                f"ax: {panels} classes are drawn into axes of their own, got {len(given)}: give "
                f"{panels}, or n_classes={len(given)} to from_explanation or from_estimator"
            )
        self.axes_ = given[:panels]
        self.figure_ = self.axes_[0].figure

    def _note(self, ax: Any, lines: Sequence[str]) -> None:
        """Write small print: below a figure of our own, else below the first of the axes given."""
        alone = ax is None and len(self.axes_) > 1
        inches = self.figure_.bbox.width / self.figure_.dpi if ax is None else 4.0
        length = int(_NOTE_LENGTH * inches)
        wrapped = [part for line in lines for part in textwrap.wrap(line, length)]
        text = _literal("\n".join(wrapped))
        style = _font(_NOTE_SIZE, color=_QUIET)
        if alone:
            self.figure_.supxlabel(text, x=0.1 / inches, ha="left", **style)
        else:
            self.ax_.set_xlabel(text, loc="left", labelpad=6, **style)


def _title(ax: Axes, text: str, side: Literal["left", "right"] = "left", **style: Any) -> None:
    ax.set_title(_literal(text), loc=side, **_font(_TITLE_SIZE, **style))


def _bare(ax: Axes) -> None:
    """Axes without a frame and ticks."""
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0, labelsize=_SIZE)
    ax.set_xticks([])
    ax.set_yticks([])


def _bars(
    ax: Axes,
    rows: Sequence[tuple[str, float, str, str]],
    reach: tuple[float, float],
    n_rows: int,
    more: Sequence[str] = (),
) -> None:
    """Draw rows of (name, value, its text, colour), the first on top; n_rows leaves room."""
    names, values, texts, colours = zip(*rows, strict=True) if rows else ((), (), (), ())
    _bare(ax)
    widths = [own if _meaningful(own) else 0.0 for own in values]
    bars = ax.barh(np.arange(len(rows)), widths, height=0.7, color=colours)
    ax.bar_label(bars, labels=texts, padding=3, **_font(_NOTE_SIZE, color=_QUIET))
    labels = [_literal(_clean(name)) for name in names] + list(more)
    ax.set_yticks(np.arange(len(labels)), labels=labels, **_font())
    for label in ax.get_yticklabels()[len(rows) :]:
        label.set(color=_QUIET, fontsize=_NOTE_SIZE)
    ax.set_ylim(n_rows - 0.4, -0.6)
    ax.set_xlim(*reach)
    ax.axvline(0, color=_LINE, linewidth=0.8, zorder=0.5)


def _say(ax: Axes, text: str) -> None:
    """A sentence where there is nothing to draw."""
    _bare(ax)
    said = "\n".join(textwrap.wrap(text, 32))
    ax.text(0.5, 0.5, said, transform=ax.transAxes, ha="center", va="center", **_font(color=_QUIET))


def _reach(values: Sequence[float]) -> tuple[float, float]:
    """Limits that hold all values and a number beyond the longest bar of each side."""
    drawn = [0.0, *(own for own in values if _meaningful(own))]
    low, high = min(drawn), max(drawn)
    room = (0.4 if low < 0 < high else 0.2) * ((high - low) or 1.0)
    return low - room if low < 0 else 0.0, high + room


def _strongest(table: pl.DataFrame, n: int) -> list[tuple[str, float, str, str]]:
    """The rows of highest share, whatever its sign."""
    order = pl.col("share").abs().fill_nan(0.0)
    chosen = table.sort(order, descending=True, maintain_order=True).head(n)
    return [
        (feature, share, _percent(share), _colour(share))
        for feature, share in chosen.select("feature", "share").iter_rows()
    ]


def _colour(share: float) -> str:
    return _FOR if share > 0 else _AGAINST if share < 0 else _NEITHER


def _panels(
    display: _Display, ax: Any, tables: Sequence[pl.DataFrame], n: int, empty: str
) -> list[float]:
    """Bars of several tables, each in axes of its own, all of the same scale; what was drawn."""
    _positive(n_features=n)
    chosen = [_strongest(table, n) for table in tables]
    mores = [_more(table.height - n, "feature", "features") for table in tables]
    n_rows = max(len(rows) + len(more) for rows, more in zip(chosen, mores, strict=True))
    drawn = [value for rows in chosen for _, value, *_ in rows]
    low, high = reach = _reach(drawn)
    names = [_clean(name) for rows in chosen for name, *_ in rows]
    width = _width(*names, _USUAL) / 72 + (2.7 if low < 0 < high else 2.1)
    display._take(ax, width, 0.26 * max(n_rows, 4) + 0.6, len(tables))
    for own, rows, more in zip(display.axes_, chosen, mores, strict=True):
        if rows:
            _bars(own, rows, reach, n_rows, more)
        else:
            _say(own, empty)
    return drawn


# --- displays of an item --------------------------------------------------------------------------


def _explained(model: Any, *X: Any) -> Any:
    if not hasattr(model, "explain"):
        raise TypeError(
            f"{type(model).__name__} does not explain: give a SparseTensorClassifier; of a "
            "pipeline, its last step, and the items as they come there"
        )
    return model.explain(*X)


def _one(explanation: LocalExplanation, item: int | None) -> LocalExplanation:
    """The explanation of one item."""
    if item is None:
        if len(explanation) != 1:
            raise ValueError(
                f"the explanation is of {len(explanation):,} items: say which one, as in "
                f"item={explanation.items[0] if len(explanation) else 0}"
            )
        item = int(explanation.items[0])
    return explanation.why(item)


def _ranked(one: LocalExplanation) -> list[int]:
    """Numbers of the classes: the one explained, then the others, most probable first."""
    label = np.asarray(one.labels[0], dtype=object).tolist()
    proba = one.proba[0].copy()
    proba[one.classes.index(tuple(label) if isinstance(label, list) else label)] = np.inf
    return [int(place) for place in np.argsort(-proba, kind="stable")]


def _reason(one: LocalExplanation) -> str:
    """What the explanation says of an item that nothing speaks for."""
    opening = f"{text_of(one.labels[0])}, {one.probabilities[0]:.2f}: "
    return one.sentences(1)[0].removeprefix(opening)


class _ItemDisplay(_Display):
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
        draw: Callable[..., Self] = cls.from_explanation  # type: ignore[attr-defined]
        return draw(_explained(model, X), item, **options)


@dataclass(eq=False)
class LocalDisplay(_ItemDisplay):
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
        one = _one(explanation, item)
        places = _ranked(one)[: _n_classes(ax, n_classes, 3)]
        labels = [one.classes[place] for place in places]
        return cls(
            tables=[one.of_class(label).table for label in labels],
            labels=labels,
            probabilities=[float(one.proba[0, place]) for place in places],
            unseen=one.unseen["feature"].to_list(),
            more_classes=len(one.classes) - len(places),
            reason=_reason(one) if one.table.is_empty() else cls.reason,
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
        drawn = _panels(self, ax, self.tables, n_features, self.reason)
        for own, label, proba in zip(self.axes_, self.labels, self.probabilities, strict=True):
            _title(own, f"{_class(label)}, {proba:.2f}")
        against = any(value < 0 for value in drawn)
        legend = "share of the score" + ("; orange: against the class" if against else "")
        notes = [*([legend] if drawn else []), *_never_seen(self.unseen)]
        self._note(ax, [*notes, *_more_classes(self.more_classes)])
        return self


@dataclass(eq=False)
class ContrastDisplay(_ItemDisplay):
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
            one = _one(found, item)
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
        _positive(n_features=n_features)
        rows = _strongest(self.table, n_features)
        more = _more(self.table.height - n_features, "feature", "features")
        n_rows = len(rows) + len(more)
        width = _width(*(_clean(name) for name, *_ in rows), _USUAL) / 72 + 4.8
        self._take(ax, width, 0.26 * max(n_rows, 4) + 0.8)
        if rows:
            low, high = _reach([value for _, value, *_ in rows])
            _bars(self.ax_, rows, (min(low, -0.1 * high), max(high, -0.1 * low)), n_rows, more)
            self._note(ax, ["difference, as a share of the higher score"])
        else:
            _say(self.ax_, "nothing tells one from the other")
        other = f"{_clean('←')} {_class(self.other)}, {self.probability_of_other:.2f}"
        _title(self.ax_, other, color=_AGAINST_TEXT)
        label = f"{_class(self.label)}, {self.probability:.2f} {_clean('→')}"
        _title(self.ax_, label, "right", color=_FOR)
        return self


@dataclass(eq=False)
class ProbabilityDisplay(_ItemDisplay):
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
        _positive(n_classes=n_classes)
        one = _one(explanation, item)
        places = np.argsort(-one.proba[0], kind="stable")[:n_classes].tolist()
        return cls(
            labels=[one.classes[place] for place in places],
            probabilities=[float(one.proba[0, place]) for place in places],
            unseen=one.unseen["feature"].to_list(),
            more_classes=len(one.classes) - len(places),
            reason="" if any(one.sets) else _reason(one),
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
        rows = [
            (text_of(label), proba, f"{proba:.2f}", _NEITHER if place else _FOR)
            for place, (label, proba) in enumerate(
                zip(self.labels, self.probabilities, strict=True)
            )
        ]
        more = _more_classes(self.more_classes)
        n_rows = len(rows) + len(more)
        width = _width(*(_clean(name) for name, *_ in rows), _USUAL) / 72 + 3.4
        self._take(ax, width, 0.26 * max(n_rows, 2) + 0.6)
        _bars(self.ax_, rows, (0.0, 1.0), n_rows, more)
        reason = [self.reason] if self.reason else []
        self._note(ax, ["probability", *reason, *_never_seen(self.unseen)])
        return self


@dataclass(eq=False)
class PhaseDisplay(_ItemDisplay):
    """The contributions to the score of a class as waves: how strong, and how far out of step.

    An arrow a contribution. Its length is relative to that of the strongest, its angle is the phase
    to the sum, which points to the right: what points to the left (shaded) is destructive.

    Parameters
    ----------
    table : polars.DataFrame
        The contributions, with `feature`, `contribution`, `share` and `phase`.
    label
        The class.
    probability : float
        Its probability.
    reason : str
        What to say if there are no contributions.

    Attributes
    ----------
    figure_, ax_
        Where it was drawn.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.plot import PhaseDisplay
    >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
    >>> explanation = model.explain([["a", "b"]], theta=[[0.5, 0.0]])
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
        """Draw the phases of an item of an explanation.

        Parameters
        ----------
        explanation : LocalExplanation
            What `model.explain(X)` gives.
        item : int, default=None
            Number of the item; None: the only one.
        label : default=None
            The class; None: the one explained.
        n_features : int, default=30
            How many contributions, the strongest ones.
        n_names : int, default=8
            How many of them have their names written.
        ax : Axes, default=None
            Where to draw; None: into a figure of its own.

        Returns
        -------
        PhaseDisplay

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from stc import SparseTensorClassifier
        >>> from stc.plot import PhaseDisplay
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> explanation = model.explain(["good fun"])
        >>> display = PhaseDisplay.from_explanation(explanation, ax=Figure().subplots())
        >>> display.ax_.get_xlabel()
        'all phases are 0: nothing is out of step'
        """
        one = _one(explanation, item)
        if label is not None:
            one = one.of_class(label)
        return cls(
            table=one.table,
            label=one.classes[_ranked(one)[0]],
            probability=float(one.probabilities[0]),
            reason=_reason(one) if one.table.is_empty() else cls.reason,
        ).plot(ax, n_features=n_features, n_names=n_names)

    def plot(self, ax: Any = None, *, n_features: int = 30, n_names: int = 8) -> Self:
        """Draw it.

        Parameters
        ----------
        ax, n_features, n_names
            As in `from_explanation`.

        Returns
        -------
        PhaseDisplay
            Itself.

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
        _positive(n_features=n_features)
        waves = self.table.sort("contribution", descending=True, maintain_order=True)
        waves = waves.head(n_features)
        ends = _ends(waves)
        names = [_clean(name, _WAVE_NAME) for name in waves["feature"].head(n_names)]
        reach = _room(names, ends)
        self._take(ax, _RADIUS * (reach[1] - reach[0]) + 0.3, 1.5 if waves.is_empty() else 4.5)
        _title(self.ax_, f"{_class(self.label)}, {self.probability:.2f}")
        if self.table.is_empty():
            _say(self.ax_, self.reason)
            return self
        self._circle(reach)
        self._arrows(ends, waves["share"].to_list())
        self._names(names, ends)
        turned = (self.table["phase"] != 0).any()
        legend = "length: relative to the strongest; angle: phase to the sum, which points right"
        note = legend if turned else "all phases are 0: nothing is out of step"
        more = _more(self.table.height - n_features, "contribution", "contributions")
        self._note(ax, [note, *more])
        return self

    def _circle(self, reach: tuple[float, float]) -> None:
        """The unit circle, its destructive half shaded."""
        patches = optional("matplotlib.patches", "plot", "plotting")
        ax = self.ax_
        _bare(ax)
        ax.set_aspect("equal")
        ax.set_xlim(*reach)
        ax.set_ylim(-1.05, 1.2)
        ax.add_patch(patches.Wedge((0, 0), 1, 90, 270, color=_AGAINST, alpha=0.1, linewidth=0))
        ax.add_patch(patches.Circle((0, 0), 1, fill=False, edgecolor=_LINE, linewidth=1))
        ax.plot([-1, 1], [0, 0], color=_LINE, linewidth=0.8, zorder=0.5)
        ax.plot([0, 0], [-1, 1], color=_LINE, linewidth=0.8, zorder=0.5)
        ax.text(-0.5, 1.05, "against", **_font(color=_AGAINST_TEXT, ha="center"))
        ax.text(0.5, 1.05, "for", **_font(color=_FOR, ha="center"))

    def _arrows(self, ends: NDArray[np.complex128], shares: Sequence[float]) -> None:
        """Draw the waves, the strongest last and so on top."""
        for end, share in reversed(list(zip(ends.tolist(), shares, strict=True))):
            dot: dict[str, Any] = {"marker": "o", "markersize": 5, "markevery": [1]}
            line = [0, end.real], [0, end.imag]
            self.ax_.plot(*line, color=_colour(share), linewidth=1.6, gid="wave", **dot)

    def _names(self, names: Sequence[str], ends: NDArray[np.complex128]) -> None:
        """Write names beside the circle, each with a line to its wave."""
        for side, places in _sides(names, ends).items():
            for place, height in zip(places, _apart(ends.imag[places]), strict=True):
                line = [ends[place].real, side * 1.1], [ends[place].imag, height]
                self.ax_.plot(*line, color=_LINE, linewidth=0.7, zorder=0.6)
                style = _font(va="center", ha="left" if side > 0 else "right")
                self.ax_.text(side * 1.14, height, _literal(names[place]), **style)


def _ends(waves: pl.DataFrame) -> NDArray[np.complex128]:
    """Where the arrows end: the strongest on the unit circle."""
    amount, phase = waves["contribution"].to_numpy(), waves["phase"].to_numpy()
    return np.asarray(amount / (amount.max(initial=0.0) or 1.0) * np.exp(1j * phase))


def _sides(names: Sequence[str], ends: NDArray[np.complex128]) -> dict[int, list[int]]:
    """Which names are written to the left (-1) of the circle, and which to the right (1)."""
    places = range(len(names))
    return {
        -1: [place for place in places if ends[place].real < 0],
        1: [place for place in places if ends[place].real >= 0],
    }


def _room(names: Sequence[str], ends: NDArray[np.complex128]) -> tuple[float, float]:
    """How far the circle and the names beside it reach, in radii."""
    left, right = (
        max((1.2 + _width(names[place]) / 72 / _RADIUS for place in places), default=1.1)
        for places in _sides(names, ends).values()
    )
    return -left, right


def _apart(heights: NDArray[np.float64], gap: float = 0.14) -> list[float]:
    """The nearest heights at which names in this order are not written over each other."""
    n = len(heights)
    if not n:
        return []
    # Of equal ones the strongest is in the middle: so the lines of waves in step do not cross.
    order = sorted(range(n), key=lambda k: (heights[k], k if k % 2 else -k))
    steps = gap * np.arange(n)
    apart = optimize.isotonic_regression(heights[order] - steps).x
    top = max(1.0, steps[-1] / 2)
    found = np.empty(n)
    found[order] = np.clip(apart, -top, top - steps[-1]) + steps
    return list(found.tolist())


# --- displays of a model --------------------------------------------------------------------------


class _ModelDisplay(_Display):
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
        draw: Callable[..., Self] = cls.from_explanation  # type: ignore[attr-defined]
        return draw(_explained(model), **options)


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
        chosen = _chosen(explanation, labels, _n_classes(ax, n_classes, 10))
        return cls(
            tables=[explanation.for_class(label).table for label in chosen],
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
        drawn = _panels(self, ax, self.tables, n_features, "no feature has a weight")
        for own, label in zip(self.axes_, self.labels, strict=True):
            _title(own, _class(label))
        legend = ["share of the weights of the class"] if drawn else []
        self._note(ax, [*legend, *_more_classes(self.more_classes)])
        return self


def _chosen(explanation: GlobalExplanation, labels: Sequence[Any] | None, n: int) -> list[Any]:
    """The classes to draw."""
    return list(explanation.classes if labels is None else labels)[:n]


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
        _positive(n_classes=n_classes, n_features=n_features)
        chosen = _chosen(explanation, labels, n_classes)
        tables = [explanation.for_class(label).table for label in chosen]
        features, shares = _matrix(explanation, tables, n_features)
        more = len(explanation.classes) - len(chosen)
        return cls(shares, features, chosen, more).plot(ax, colorbar=colorbar)

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
        width = _width(*map(_clean, self.features), _USUAL) / 72 + 0.6 * n_classes + 1.8
        self._take(ax, width, 0.26 * max(n_features, 4) + 1.3)
        self.colorbar_ = None
        if not self.shares.size:
            _say(self.ax_, "no feature has a weight")
            return self
        highest = float(self.shares.max()) or 1.0
        style: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": highest, "edgecolors": "white"}
        image = self.ax_.pcolormesh(self.shares, linewidth=1.5, **style)
        self.ax_.set_ylim(n_features, 0)
        _bare(self.ax_)
        self._ticks()
        self._numbers(highest)
        if colorbar:
            bar = self.figure_.colorbar(image, ax=self.ax_, format=_tick, shrink=0.8, aspect=30)
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=0, labelsize=_NOTE_SIZE, labelcolor=_QUIET)
            self.colorbar_ = bar
        legend = "share of the weights of the class"
        self._note(ax, [legend, *_more_classes(self.more_classes)])
        return self

    def _ticks(self) -> None:
        features = [_literal(_clean(name)) for name in self.features]
        self.ax_.set_yticks(np.arange(len(features)) + 0.5, labels=features, **_font())
        labels = [_literal(_class(label)) for label in self.labels]
        turned: dict[str, Any] = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
        style = turned if max(map(len, labels)) > 6 else {}
        self.ax_.xaxis.tick_top()
        self.ax_.tick_params(length=0)
        self.ax_.set_xticks(np.arange(len(labels)) + 0.5, labels=labels, **_font(**style))

    def _numbers(self, highest: float) -> None:
        """Write the shares into the cells that have one."""
        for (row, column), share in np.ndenumerate(self.shares):
            if share:
                colour = "white" if share > 0.6 * highest else "#33475b"
                style = _font(7, color=colour, ha="center", va="center")
                number = _percent(share).removesuffix(" %")
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
