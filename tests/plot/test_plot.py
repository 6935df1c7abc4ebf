"""Plots draw the numbers of the explanation, whatever the names, and leave all else alone."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline

from stc import SparseTensorClassifier, load_zoo
from stc.exceptions import ParameterError, ParameterTypeError
from stc.explain.names import label_text
from stc.plot import (
    ContrastDisplay,
    GlobalDisplay,
    HeatmapDisplay,
    LocalDisplay,
    PhaseDisplay,
    ProbabilityDisplay,
)
from support.models import paper_model

mpl.use("Agg")

BLUE, ORANGE = "#2171b5", "#e6811c"
OF_ITEM = [LocalDisplay, ContrastDisplay, ProbabilityDisplay, PhaseDisplay]
OF_MODEL = [GlobalDisplay, HeatmapDisplay]
HOSTILE = [
    "$x^2$ costs $5",
    "$",
    r"\$ \frac{1}{0} $\frac$",
    "100 % _under_ ^hat^ & # ~ {",
    "two\nlines\tand\r\nmore",
    "nul\0 bell\a escape\x1b[31m",
    "שלום עולם",
    "مرحبا بالعالم",
    "\u202eturned\u2066 around",
    "漢字 한글 😀 \U0010ffff \ue000 \ufffe",
    "z̸̢̛a͠l͟g̕o̷",
    "long " * 2000,
    "",
    " ",
]


@pytest.fixture(autouse=True)
def _no_figure_is_left() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def zoo() -> SparseTensorClassifier:
    return paper_model().fit(*load_zoo())


@pytest.fixture(scope="module")
def waves() -> SparseTensorClassifier:
    """A model with learnt phases: equal shapes are friends, which no single value can say."""
    shapes = "abc"
    robots = [{"head": a, "body": b, "tie": t} for a in shapes for b in shapes for t in "yn"] * 6
    y = ["friend" if robot["head"] == robot["body"] else "foe" for robot in robots]
    return paper_model(entropy=0, phases="learn").fit(robots, y)


ROBOT = [{"head": "a", "body": "a", "tie": "y"}]


def bars(ax: Any) -> list[tuple[str, float, str, str]]:
    """(name, width, number beside it, colour) of each bar, top first."""
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert ax.yaxis_inverted()
    return [
        (names[k], float(bar.get_width()), ax.texts[k].get_text(), to_hex(bar.get_facecolor()))
        for k, bar in enumerate(ax.patches)
    ]


def png(display: Any) -> bytes:
    return png_of(display.figure_)


def png_of(figure: Any) -> bytes:
    into = io.BytesIO()
    figure.savefig(into, format="png", metadata={"Software": None})
    return into.getvalue()


def expected(table: pl.DataFrame, n: int) -> list[tuple[str, float]]:
    rows = table.select("feature", "share").rows()
    return sorted(rows, key=lambda row: -abs(row[1]))[:n]


# --- the numbers are those of the explanation -----------------------------------------------------


def test_local_bars_are_the_shares(zoo: SparseTensorClassifier) -> None:
    explanation = zoo.explain_local(load_zoo()[0])
    display = LocalDisplay.from_explanation(explanation, 19, n_classes=4, n_features=6)
    order = np.argsort(-explanation.proba[19], kind="stable")[:4]
    assert display.labels == [explanation.classes[k] for k in order]
    assert display.labels[0] == explanation.labels[19]
    assert len(display.axes_) == 4
    for ax, label, place in zip(display.axes_, display.labels, order, strict=True):
        table = explanation.why(19, label).table
        found = bars(ax)
        assert [row[:2] for row in found] == expected(table, 6)
        assert {colour for *_, colour in found} == {BLUE}
        assert ax.get_title("left") == f"{label}, {explanation.proba[19, place]:.2f}"
        assert ax.get_yticklabels()[-1].get_text() == f"and {table.height - 6} more features"
        assert ax.get_xlim() == display.ax_.get_xlim()
    assert display.figure_.get_supxlabel() == "share of the score\nand 3 more classes"
    assert bars(display.ax_)[0][2] == f"{bars(display.ax_)[0][1]:.0%}".replace("%", " %")


def test_bars_against_are_orange_and_to_the_left(waves: SparseTensorClassifier) -> None:
    explanation = waves.explain_local(ROBOT)
    display = LocalDisplay.from_explanation(explanation)
    signs = set()
    for ax, label in zip(display.axes_, display.labels, strict=True):
        found = bars(ax)
        assert [row[:2] for row in found] == expected(explanation.of_class(label).table, 10)
        for _, width, number, colour in found:
            assert colour == (BLUE if width > 0 else ORANGE)
            assert number.startswith("-") == (width < 0)
            assert ax.get_xlim()[0] < width < ax.get_xlim()[1]
            signs.add(width > 0)
    assert signs == {True, False}
    assert "orange: against" in display.figure_.get_supxlabel()


def test_contrast_bars_are_the_differences(zoo: SparseTensorClassifier) -> None:
    explanation = zoo.explain_local(load_zoo()[0])
    contrast = explanation.why_not(19, "Bird")
    display = ContrastDisplay.from_explanation(explanation, 19, label="Bird", n_features=5)
    found = bars(display.ax_)
    rows = contrast.table.select("feature", "share").rows()[:5]
    assert [row[:2] for row in found] == rows
    assert [colour for *_, colour in found] == [BLUE if s > 0 else ORANGE for _, s in rows]
    assert display.ax_.get_title("left") == f"← Bird, {contrast.probability_of_other:.2f}"
    assert display.ax_.get_title("right") == f"Mammal, {contrast.probability:.2f} →"
    again = ContrastDisplay.from_explanation(contrast, n_features=5)
    assert png(again) == png(display)


def test_contrast_of_the_class_explained(zoo: SparseTensorClassifier) -> None:
    explanation = zoo.explain_local(load_zoo()[0][:1]).of_class("Fish")
    display = ContrastDisplay.from_explanation(explanation)
    assert (display.label, display.other) == ("Fish", "Mammal")
    assert LocalDisplay.from_explanation(explanation).labels[:2] == ["Fish", "Mammal"]
    assert ProbabilityDisplay.from_explanation(explanation).labels[0] == "Mammal"


def test_probability_bars_are_the_probabilities(zoo: SparseTensorClassifier) -> None:
    explanation = zoo.explain_local(load_zoo()[0][:1])
    display = ProbabilityDisplay.from_explanation(explanation, n_classes=3)
    pairs = sorted(zip(explanation.proba[0], explanation.classes, strict=True), reverse=True)[:3]
    found = bars(display.ax_)
    assert [(name, width) for name, width, *_ in found] == [(c, p) for p, c in pairs]
    assert [number for *_, number, _ in found] == [f"{p:.2f}" for p, _ in pairs]
    assert [colour == BLUE for *_, colour in found] == [True, False, False]
    assert display.ax_.get_yticklabels()[-1].get_text() == "and 4 more classes"


def test_global_bars_are_the_shares_of_the_weights(zoo: SparseTensorClassifier) -> None:
    explanation = zoo.explain_global()
    display = GlobalDisplay.from_explanation(explanation, n_features=4)
    assert display.labels == explanation.classes
    for ax, label in zip(display.axes_, display.labels, strict=True):
        rows = explanation.for_class(label).top(4).table.select("feature", "share").rows()
        assert [row[:2] for row in bars(ax)] == rows
        assert ax.get_title("left") == label
    assert display.figure_.get_supxlabel() == "share of the weights of the class"
    few = GlobalDisplay.from_explanation(explanation, labels=["Fish", "Bird"])
    assert [ax.get_title("left") for ax in few.axes_] == ["Fish", "Bird"]


def test_heatmap_cells_are_the_shares_of_the_weights(zoo: SparseTensorClassifier) -> None:
    explanation = zoo.explain_global()
    display = HeatmapDisplay.from_explanation(explanation, n_features=9)
    assert display.features == explanation.discriminating(9)["feature"].to_list()
    cells = display.ax_.collections[0].get_array()
    shares = {(f, c): s for f, c, s in explanation.table.select("feature", "class", "share").rows()}
    for row, feature in enumerate(display.features):
        for column, label in enumerate(display.labels):
            assert cells[row, column] == shares.get((feature, label), 0.0)
    written = [text.get_position() for text in display.ax_.texts]
    rows, columns = np.nonzero(display.shares)
    assert written == [(c + 0.5, r + 0.5) for r, c in zip(rows, columns, strict=True)]
    assert display.ax_.yaxis_inverted()
    assert display.colorbar_ is not None
    assert HeatmapDisplay.from_explanation(explanation, colorbar=False).colorbar_ is None


def test_arrows_are_the_waves(waves: SparseTensorClassifier) -> None:
    explanation = waves.explain_local(ROBOT)
    for label in explanation.classes:
        display = PhaseDisplay.from_explanation(explanation, label=label)
        table = explanation.of_class(label).table
        assert (table["phase"] != 0).any()
        lines = [line for line in display.ax_.lines if line.get_gid() == "wave"][::-1]
        largest = table["contribution"].max()
        for line, row in zip(lines, table.iter_rows(named=True), strict=True):
            x, y = (own[1] for own in line.get_data())
            assert math.hypot(x, y) == pytest.approx(row["contribution"] / largest, rel=1e-12)
            assert math.atan2(y, x) == pytest.approx(row["phase"], abs=1e-12)
            assert line.get_color() == (BLUE if row["share"] > 0 else ORANGE)
        names = {text.get_text() for text in display.ax_.texts} - {"for", "against"}
        assert names == set(table["feature"])
        assert "angle" in display.ax_.get_xlabel()


def test_names_of_waves_are_apart_and_near(zoo: SparseTensorClassifier) -> None:
    display = PhaseDisplay.from_explanation(zoo.explain_local(load_zoo()[0][:1]), n_names=8)
    assert display.ax_.get_xlabel() == "all phases are 0: no interference"
    heights = sorted(text.get_position()[1] for text in display.ax_.texts[2:])
    assert len(heights) == 8
    assert min(np.diff(heights)) > 0.13
    assert heights[0] == pytest.approx(-heights[-1])


def test_many_names_of_waves_stay_beside_the_circle() -> None:
    n = 12
    table = pl.DataFrame(
        {
            "feature": [f"word {k}" for k in range(n)],
            "contribution": [1.0] * n,
            "share": [1 / n] * n,
            "phase": [1.5 - 0.01 * k for k in range(n)],
        }
    )
    display = PhaseDisplay(table, "x", 1.0).plot(n_features=10, n_names=9)
    names = sorted((t.get_position()[1], t.get_text()) for t in display.ax_.texts[2:])
    assert [name for _, name in names] == [f"word {k}" for k in reversed(range(9))]
    assert names[-1][0] <= 1.0
    assert display.ax_.get_xlabel().endswith("and 2 more contributions")


# --- models of all kinds --------------------------------------------------------------------------


def models() -> dict[str, tuple[SparseTensorClassifier, Any]]:
    calls = [
        {"words": ["slow", "wifi"], "plan": "home", "team": "net", "urgency": 2},
        {"words": ["wifi", "dead"], "plan": "home", "team": "net", "urgency": 1},
        {"words": ["bill"], "plan": "home", "team": "bill", "urgency": 3},
    ]
    new = [{"words": ["wifi", "new"], "plan": "home"}]
    texts, moods = ["good fun", "bad, bad", "good good"], ["+", "-", "+"]
    pairs = [["a", "b"], ["a", "c"], ["d", "c"]]
    make = SparseTensorClassifier
    return {
        "joint": (make(targets=["team", "urgency"]).fit(calls), new),
        "interactions": (make(interactions=2).fit(pairs, ["x", "y", "y"]), [["a", "c"]]),
        "dimensions": (
            make(dimensions=[["x0"], ["x1"]]).fit(pairs, ["x", "y", "y"]),
            [["a", "c"]],
        ),
        "documents": (make(ngrams=2).fit(texts, moods), ["good bad fun"]),
        "numbers": (make().fit([[1], [2], [2]], [10, 20, 30]), [[2]]),
        "truth": (make().fit([[1], [2]], [True, False]), [[2]]),
        "labels": (make().fit(texts, [{"a"}, {"b"}, {"a", "b"}]), ["good"]),
    }


@pytest.mark.parametrize("kind", list(models()))
def test_every_kind_of_model_can_be_drawn(kind: str) -> None:
    model, X = models()[kind]
    for display in OF_ITEM:
        png(display.from_estimator(model, X))
    for display in OF_MODEL:
        png(display.from_estimator(model))
    explanation, local = model.explain_global(), model.explain_local(X)
    titles = [ax.get_title("left") for ax in GlobalDisplay.from_explanation(explanation).axes_]
    assert titles == [label_text(label) for label in explanation.classes]
    drawn = [row[:2] for row in bars(LocalDisplay.from_explanation(local).ax_)]
    assert drawn == expected(local.table, 10)
    heat = HeatmapDisplay.from_explanation(explanation)
    shares = {(f, c): s for f, c, s in explanation.table.select("feature", "class", "share").rows()}
    classes = explanation.table["class"].unique(maintain_order=True).sort().to_list()
    assert len(classes) == len(heat.labels)
    total = sum(s for (f, _), s in shares.items() if f in heat.features)
    assert heat.shares.sum() == pytest.approx(total)


def test_unseen_features_are_noted() -> None:
    model = paper_model().fit(["good fun", "bad day"], ["+", "-"])
    one = LocalDisplay.from_estimator(model, ["good one"])
    assert one.figure_.get_supxlabel().splitlines() == ["share of the score", "never seen: one"]
    many = ProbabilityDisplay.from_estimator(model, ["good a b c d e"])
    assert "never seen: a, b, c and 2 more values" in many.ax_.get_xlabel()


@pytest.mark.parametrize("kind", OF_ITEM)
def test_items_about_which_nothing_is_known(kind: Any) -> None:
    model = paper_model().fit(["good fun", "bad day"], ["+", "-"])
    display = kind.from_estimator(model, ["hm"])
    png(display)
    said = [text.get_text() for ax in display.axes_ for text in ax.texts]
    said.append(display.ax_.get_xlabel())
    if kind is ContrastDisplay:
        assert "no feature tells them apart" in said[0]
    else:
        assert any("class frequencies decide" in own.replace("\n", " ") for own in said)


def test_waves_that_cancel_have_no_shares() -> None:
    table = pl.DataFrame(
        {
            "feature": ["a", "b", "c"],
            "contribution": [1.0, 1.0, 1.0],
            "share": [math.nan, -math.inf, 1e300],
            "phase": [0.0, math.pi, -math.pi / 2],
        }
    )
    display = LocalDisplay([table], ["x"], [0.0]).plot()
    png(display)
    assert [row[1:3] for row in bars(display.ax_)] == [(0.0, "?")] * 3
    png(PhaseDisplay(table, "x", 0.0).plot())


def test_a_hundred_classes_are_not_all_drawn() -> None:
    X = [{"a": f"v{k}", "b": f"w{k % 7}"} for k in range(100)]
    model = paper_model().fit(X, [f"class {k:02d}" for k in range(100)])
    whole = GlobalDisplay.from_estimator(model)
    assert len(whole.axes_) == 10
    assert whole.figure_.get_supxlabel().endswith("and 90 more classes")
    heat = HeatmapDisplay.from_estimator(model)
    assert heat.shares.shape == (15, 10)
    assert (heat.shares.sum(axis=1) > 0).all()
    assert heat.ax_.get_xlabel().endswith("and 90 more classes")
    proba = ProbabilityDisplay.from_estimator(model, X[:1])
    assert proba.ax_.get_yticklabels()[-1].get_text() == "and 90 more classes"
    local = LocalDisplay.from_estimator(model, X[:1])
    assert local.figure_.get_supxlabel().endswith("and 97 more classes")


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_drawn(name: str) -> None:
    X = [{name or "empty": name, "b": "1"}, {name or "empty": "no", "b": "2"}]
    model = paper_model().fit(X, [f"{name}!", "other"])
    explanation = model.explain_local([{**X[0], "b": f"new {name}"}])
    for item in OF_ITEM:
        display = item.from_explanation(explanation)
        png(display)
    for whole in OF_MODEL:
        png(whole.from_explanation(model.explain_global()))
    table = LocalDisplay.from_explanation(explanation).tables[0]
    assert table["feature"].to_list() == explanation.table["feature"].to_list()


def shown(name: str) -> str:
    table = pl.DataFrame({"feature": [name], "share": [1.0]})
    display = LocalDisplay([table], ["x"], [1.0]).plot(Figure().subplots())
    return str(display.ax_.get_yticklabels()[0].get_text())


def test_names_are_what_they_were_as_far_as_can_be() -> None:
    assert shown("legs=4") == "legs=4"
    assert shown("a $b$ $ c") == r"a \$b\$ \$ c"
    assert shown("a\nb\tc") == "a b c"
    assert shown("a\0b") == "a\ufffdb"
    assert shown("\u202eab") == "ab"
    assert shown("漢=é") == "\ufffd=é"
    long = shown("start" + "x" * 1000 + "end")
    assert long.startswith("start")
    assert long.endswith("xend")
    assert "…" in long
    assert len(long) == 28


@pytest.mark.parametrize("kind", [*OF_ITEM, *OF_MODEL])
@pytest.mark.parametrize("long", ["W" * 99, "short"], ids=["long", "short"])
def test_nothing_is_cut_off_or_covers_a_title(kind: Any, long: str) -> None:
    X = [[f"{long} {k} {own}" for k in range(12)] for own in "abc"]
    model = paper_model().fit(X, [f"{own} {long}" for own in "xyz"])
    mixed = [["new one", *X[1][1:4], *X[0][4:]]]
    display = kind.from_estimator(model, *([mixed] if kind in OF_ITEM else []))
    display.figure_.draw_without_rendering()
    box, (width, height) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    assert min(box.x0, box.y0) > 0
    assert box.x1 < width
    assert box.y1 < height
    titles = [own for ax in display.axes_ for own in (ax.title, ax._left_title, ax._right_title)]
    boxes = [own.get_window_extent() for own in titles if own.get_text()]
    assert not any(boxes[k].overlaps(own) for k in range(len(boxes)) for own in boxes[k + 1 :])


def test_dollars_are_drawn_as_dollars() -> None:
    with mpl.rc_context({"text.parse_math": False}):
        assert shown("$a$") == "$a$"
    drawn = []
    for text, options in ((shown("$a$"), {}), ("$a$", {"parse_math": False}), ("$a$", {})):
        figure = Figure()
        figure.text(0.5, 0.5, text, **options)
        drawn.append(png_of(figure))
    assert drawn[0] == drawn[1] != drawn[2]


def test_no_character_of_unicode_warns() -> None:
    for plane in (range(0, 0x10000, 29), range(0x10000, 0x110000, 997)):
        names = ["".join(map(chr, plane[k : k + 28])) for k in range(0, len(plane), 28)]
        png(ProbabilityDisplay(names, [0.5] * len(names)).plot())


def test_the_fonts_of_the_caller_count() -> None:
    families = ["No Such Font", "STIXGeneral", "DejaVu Sans"]
    with mpl.rc_context({"font.family": families, "axes.titleweight": "bold"}):
        assert shown("ℵ漢") == "ℵ\ufffd"
        table = pl.DataFrame({"feature": ["ℵ漢א"], "share": [1.0]})
        png(LocalDisplay([table], ["ሴ א ۞"], [1.0]).plot())


# --- axes and figures -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*OF_ITEM, *OF_MODEL])
def test_axes_given_are_drawn_into(kind: Any, zoo: SparseTensorClassifier) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    X = [load_zoo()[0][:1]] if kind in OF_ITEM else []
    display = kind.from_estimator(zoo, *X, ax=right)
    assert display.ax_ is right
    assert display.axes_ == [right]
    assert display.figure_ is figure
    assert not left.has_data()
    assert right.has_data()
    assert plt.get_fignums() == []
    assert display.plot(left) is display
    assert display.ax_ is left
    png(display)


def test_axes_for_each_class(zoo: SparseTensorClassifier) -> None:
    axes = Figure().subplots(2, 2)
    display = GlobalDisplay.from_estimator(zoo, ax=axes)
    assert display.axes_ == axes.ravel().tolist()
    assert display.ax_.get_xlabel().endswith("and 3 more classes")
    two = LocalDisplay.from_estimator(zoo, load_zoo()[0], 0, ax=list(axes[0]))
    assert len(two.labels) == 2
    with pytest.raises(ParameterError, match="ax: 2 classes need as many axes, got 1") as caught:
        two.plot(axes[0, 0])
    assert caught.value.hint == "give 2 axes, or n_classes=1"
    with pytest.raises(ParameterTypeError, match="ax: Axes expected, got str"):
        two.plot("axes")


def test_a_figure_of_its_own_is_pyplots_and_others_stay(zoo: SparseTensorClassifier) -> None:
    before = plt.figure()
    settings = mpl.rcParams.copy()
    display = HeatmapDisplay.from_estimator(zoo)
    assert plt.fignum_exists(before.number)
    assert plt.gcf() is display.figure_
    assert before.axes == []
    assert mpl.rcParams == settings
    again = display.figure_
    assert display.plot().figure_ is not again


@pytest.mark.parametrize("kind", [*OF_ITEM, *OF_MODEL])
def test_the_same_bytes_every_time(kind: Any, waves: SparseTensorClassifier) -> None:
    X = [ROBOT] if kind in OF_ITEM else []
    display = kind.from_estimator(waves, *X)
    assert png(display) == png(kind.from_estimator(waves, *X)) == png(display.plot())


# --- errors ---------------------------------------------------------------------------------------


def test_errors_say_the_way_out(zoo: SparseTensorClassifier) -> None:
    X = load_zoo()[0]
    with pytest.raises(ParameterError, match="has 101 items; choose one of them, as in item=0"):
        LocalDisplay.from_estimator(zoo, X)
    with pytest.raises(IndexError, match="no item 500"):
        LocalDisplay.from_estimator(zoo, X, 500)
    with pytest.raises(ParameterError, match="no class 'Unicorn'; the classes are 'Amphibian'"):
        ContrastDisplay.from_estimator(zoo, X, 0, label="Unicorn")
    with pytest.raises(ParameterError, match="n_features: at least 1 expected, got 0"):
        GlobalDisplay.from_estimator(zoo, n_features=0)
    with pytest.raises(ParameterError, match="n_classes: at least 1 expected, got -1"):
        LocalDisplay.from_estimator(zoo, X, 0, n_classes=-1)
    with pytest.raises(
        ParameterTypeError, match=r"^Pipeline has no method explain_local; "
    ) as caught:
        ProbabilityDisplay.from_estimator(make_pipeline(zoo), X, 0)
    assert str(caught.value.hint).startswith("of a pipeline, give the last step")
    assert plt.get_fignums() == []


def run(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_stc_loads_no_matplotlib() -> None:
    code = "import sys, stc, stc.plot; print(any(m.startswith('matplotlib') for m in sys.modules))"
    assert run(code) == "False"


def test_without_matplotlib_a_hint() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
from stc import SparseTensorClassifier
from stc.plot import OF
model = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"])
try:
    OF.from_estimator(model, X)
except ImportError as error:
    print(error)
"""
    hint = "plotting needs matplotlib: pip install 'sparse-tensor-classifier[plot]'"
    assert run(code.replace("OF", "LocalDisplay").replace("X)", '[["a"]])')) == hint
    assert run(code.replace("OF", "HeatmapDisplay").replace(", X)", ")")) == hint
