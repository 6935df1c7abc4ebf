"""The figures of REPORT.md, drawn from the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import published
import summary
from matplotlib.figure import Figure

FOLDER = Path(__file__).resolve().parent / "figures"

# Colours that people with any colour vision can tell apart (Okabe and Ito).
INK, GREY, OURS, OTHER = "#222222", "#8a8a8a", "#0072b2", "#d55e00"
HUES = (OURS, OTHER, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a8a8a")
STYLE = {
    "font.size": 9.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "axes.axisbelow": True,
    "legend.frameon": False,
}

Results = dict[str, dict[str, Any]]


@contextmanager
def canvas(name: str, width: float, height: float, folder: Path) -> Iterator[Figure]:
    """Yield a figure to draw on, and write it as PNG; equal results give equal bytes."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
        yield figure
        figure.savefig(folder / f"{name}.png", metadata={"Software": None})


def _dots(ax: Any, names: list[str], ours: Any, errors: Any, said: Any) -> None:
    """Draw published and found figures side by side, a row for each model."""
    places = np.arange(len(names))[::-1]
    for place, our, other in zip(places, ours, said, strict=True):
        if not np.isnan(other):
            ax.plot([our, other], [place, place], color="#c8c8c8", linewidth=2, zorder=1)
    hues = [OURS if name.startswith("STC") else INK for name in names]
    ax.errorbar(ours, places, xerr=errors, fmt="none", ecolor=hues, elinewidth=1.2, zorder=2)
    ax.scatter(ours, places, color=hues, s=34, zorder=3, label="found here, ± standard error")
    ax.scatter(
        said, places, facecolor="none", edgecolor=OTHER, s=64, linewidth=1.6, zorder=4,
        label="published",
    )  # fmt: skip
    ax.set_yticks(places, names)
    ax.grid(axis="y", visible=False)


def zoo(results: Results, folder: Path) -> None:
    """Draw weighted and macro F1 of all models on Zoo."""
    table = summary.zoo_table(results["zoo"])
    names = list(published.ZOO)
    with canvas("zoo", 8, 3.6, folder) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for ax, measure in zip(axes, ("F1", "F1-macro"), strict=True):
            means = [table[name][measure] for name in names]
            k = published.ZOO_MEASURES.index(measure)
            said = np.array([published.ZOO[name][k] for name in names])
            _dots(ax, names, [m.mean for m in means], [m.error for m in means], said)
            ax.set_title({"F1": "Zoo: F1, weighted by support", "F1-macro": "F1, macro"}[measure])
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)


def pairwise(results: Results, folder: Path) -> None:
    """Draw the pairwise comparison of models on Zoo."""
    duels = summary.duels(results["zoo"])
    names = list(duels)
    shares = np.array(
        [[duels[r][c].share if r != c else np.nan for c in names] for r in names], dtype=float
    )
    with canvas("pairwise", 5.6, 4.6, folder) as figure:
        ax = figure.subplots()
        image = ax.imshow(shares, cmap="PuOr_r", vmin=0, vmax=1)
        for (row, column), share in np.ndenumerate(shares):
            if not np.isnan(share):
                hue = "white" if abs(share - 0.5) > 0.3 else INK
                ax.text(column, row, f"{share:.2f}", ha="center", va="center", color=hue)
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(names)), names)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.set_title("Share of splits that row wins against column (F1, no ties)")
        figure.colorbar(image, ax=ax, shrink=0.8)


def news(results: Results, folder: Path) -> None:
    """Draw the accuracy of all models on 20 Newsgroups."""
    rows = summary.news_rows(results)
    names = sorted(rows, key=lambda name: -rows[name]["accuracy"])
    documents = results["news_peers"]["parts"]["weights"]["documents"][1]
    ours = [rows[name]["accuracy"] for name in names]
    said = np.array([published.NEWS[n][3] if n in published.NEWS else np.nan for n in names])
    with canvas("news", 7.5, 4.2, folder) as figure:
        ax = figure.subplots()
        _dots(
            ax,
            names,
            ours,
            [summary.accuracy_error(accuracy, documents) for accuracy in ours],
            said,
        )
        best = published.LITERATURE["DEns"][1]
        ax.axvline(best, color=GREY, linewidth=1, linestyle=":")
        ax.text(
            best - 0.004, 0, "best in the literature\nthat the paper quotes (DEns)", color=GREY,
            fontsize=8, ha="right", va="center",
        )  # fmt: skip
        ax.set_title("20 Newsgroups by date: accuracy on the test set")
        figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)


FAITHFUL = {
    "STC, contributions": (OURS, "-"),
    "STC, impact": ("#009e73", "-"),
    "STC, LIME": (OTHER, "--"),
    "STC, at random": (GREY, ":"),
}


def faithfulness(results: Results, folder: Path) -> None:
    """Draw deletion and insertion curves of our model for four rankings of words."""
    curves = summary.curves(results["explanation"])
    titles = {
        "deletion": "Words taken away, the strongest first:\nlower is better",
        "insertion": "Words put alone, the strongest first:\nhigher is better",
    }
    with canvas("faithfulness", 8, 3.7, folder) as figure:
        axes = figure.subplots(1, 2)
        for ax, (kind, title) in zip(axes, titles.items(), strict=True):
            for method, (hue, line) in FAITHFUL.items():
                label = method.removeprefix("STC, ").replace("at random", "by lot")
                ax.plot(curves[method][kind], line, color=hue, label=label, linewidth=1.8)
            ax.set(title=title, xlabel="words", ylabel="probability of the class", ylim=(0, None))
            ax.set_xticks(range(0, 21, 5))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


def per_model(results: Results, folder: Path) -> None:
    """Draw the share of documents that keep their class without the strongest words."""
    curves = summary.curves(results["explanation"])
    methods = ["STC, contributions", "STC, LIME"] + [
        f"{name}, LIME" for name in results["explanation"]["settings"]["peers"]
    ]
    columns = 4
    with canvas("per_model", 8.4, 4.2, folder) as figure:
        axes = figure.subplots(-(-len(methods) // columns), columns, sharex=True, sharey=True)
        for ax, method in zip(axes.flat, methods, strict=False):
            model = method.split(",")[0]
            colour = OURS if method == "STC, contributions" else INK
            for name, hue, line in ((method, colour, "-"), (f"{model}, at random", GREY, ":")):
                ax.plot(curves[name]["deletion, class kept"], line, color=hue, linewidth=1.8)
            ax.set_title(method.replace("STC, contributions", "STC, itself"))
            ax.set_ylim(0, 1.03)
        for ax in axes.flat[len(methods) :]:
            ax.set_visible(False)
        figure.supxlabel("words taken away: strongest first (line), by lot (dots)", fontsize=9.5)
        figure.supylabel("share that keeps its class", fontsize=9.5)


def special_cases(part: Any, folder: Path) -> None:
    """Draw the probabilities of an animal, ours and the textbook's."""
    with canvas("special_cases", 8, 3.2, folder) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        titles = {
            "classical": r"classical: $\sum_j P(i|j)\,x_j$",
            "quantum": r"quantum: $|\sum_j \sqrt{P(j|i)\,x_j}|^2$, normalised",
        }
        for ax, (name, title) in zip(axes, titles.items(), strict=True):
            places = np.arange(len(part["classes"]))
            ax.bar(places, part[name]["ours"], color=OURS, alpha=0.75, label="stc")
            ax.scatter(
                places, part[name]["formula"], marker="_", color=OTHER, s=220, linewidth=2,
                zorder=3, label="textbook formula",
            )  # fmt: skip
            ax.set_xticks(places, part["classes"], rotation=40, ha="right")
            ax.set_title(f"{part['animal']}, {title}")
            ax.grid(axis="x", visible=False)
        axes[1].legend()


def noise(part: Any, folder: Path) -> None:
    """Draw accuracy against the number of random values."""
    table = summary.noise_table(part)
    places = np.arange(len(part["values"]))
    names = {
        "quantum, entropy": "quantum, entropy (STC-Q)",
        "quantum": "quantum",
        "classical, entropy": "classical, entropy (STC-C)",
        "classical": "classical",
    }
    with canvas("noise", 6.4, 3.6, folder) as figure:
        ax = figure.subplots()
        for (name, label), hue in zip(names.items(), HUES, strict=False):
            means = table[name]
            ax.errorbar(
                places, [m.mean for m in means], [m.error for m in means], color=hue, marker="o",
                markersize=4, label=label, linewidth=1.8, linestyle="-" if "ent" in name else "--",
            )  # fmt: skip
        ax.axhline(np.mean(part["commonest"]), color=GREY, linestyle=":", label="commonest class")
        ax.set_xticks(places, part["values"])
        ax.set(title="Zoo with random values added", xlabel="random values an animal",
               ylabel="accuracy", ylim=(0.3, 1.0))  # fmt: skip
        figure.legend(loc="outside right center", fontsize=8.5)


def balance(part: Any, folder: Path) -> None:
    """Draw the recall of each class against the balance."""
    recalls = np.array(part["recalls"])
    with canvas("balance", 6.4, 3.4, folder) as figure:
        ax = figure.subplots()
        order = np.argsort(part["counts"])
        for k, hue in zip(order, (OTHER, "#e69f00", "#56b4e9", GREY), strict=False):
            share = part["counts"][k] / sum(part["counts"])
            thick = 2.6 if part["labels"][k] == part["rarest"] else 1.6
            label = f"{part['labels'][k]} ({share:.0%})"
            ax.plot(part["balances"], recalls[:, k], color=hue, linewidth=thick, label=label)
        ax.plot(part["balances"], recalls.mean(axis=1), ":", color=INK, label="mean of all")
        ax.set(title="Car: recall of each class", xlabel="balance b", ylabel="recall",
               ylim=(-0.03, 1.03))  # fmt: skip
        figure.legend(loc="outside right center")


def missing(part: Any, folder: Path) -> None:
    """Draw the accuracy with missing values ignored, and as a category."""
    names = {"house-votes": "House votes", "soybean": "Soybean"}
    with canvas("missing", 6.4, 2.3, folder) as figure:
        ax = figure.subplots()
        for shift, way, hue in ((0.12, "ignore", OURS), (-0.12, "category", OTHER)):
            stats = [summary.mean_of(part[name][way]) for name in names]
            label = {"ignore": "ignored", "category": "a category"}[way]
            places = np.arange(len(names))[::-1] + shift
            means, errors = [m.mean for m in stats], [m.error for m in stats]
            ax.errorbar(means, places, xerr=errors, fmt="o", color=hue, label=label)
        ax.set_yticks(range(len(names)), reversed(names.values()))
        ax.set(title="Missing values", xlabel="accuracy, 5 folds", ylim=(-0.5, 1.5))
        ax.grid(axis="y", visible=False)
        figure.legend(loc="outside right center")


def fallback(part: Any, folder: Path) -> None:
    """Draw the answer for an animal without known values."""
    with canvas("fallback", 5.6, 3.2, folder) as figure:
        ax = figure.subplots()
        places = np.arange(len(part["classes"]))
        ax.bar(places, part["answer"], color=OURS, alpha=0.75, label="answer")
        ax.scatter(
            places, part["frequencies"], marker="_", color=OTHER, s=260, linewidth=2, zorder=3,
            label="class frequencies",
        )  # fmt: skip
        ax.set_xticks(places, part["classes"], rotation=40, ha="right")
        ax.set(title="An animal of which no value was ever seen", ylabel="probability")
        ax.grid(axis="x", visible=False)
        ax.legend(loc="upper left")


def online(part: Any, folder: Path) -> None:
    """Draw the accuracy after each batch."""
    with canvas("online", 5.6, 3.2, folder) as figure:
        ax = figure.subplots()
        ax.plot(part["seen"], part["accuracies"], "o-", color=OURS, label="online")
        ax.axhline(part["batch_accuracy"], color=OTHER, linestyle="--", label="all at once")
        ax.set(title="Zoo, learnt in batches", xlabel="animals seen", ylabel="accuracy",
               ylim=(0.4, 1.02))  # fmt: skip
        ax.legend(loc="lower right")


def prior_knowledge(part: Any, folder: Path) -> None:
    """Draw the accuracy with and without prior knowledge."""
    table = summary.prior_table({"prior_knowledge": part})
    with canvas("prior_knowledge", 5.6, 3.2, folder) as figure:
        ax = figure.subplots()
        for name, hue in (("with", OURS), ("without", OTHER)):
            means = table[name]
            ax.errorbar(
                part["animals"], [m.mean for m in means], [m.error for m in means], color=hue,
                marker="o", markersize=4, label=f"{name} prior knowledge",
            )  # fmt: skip
        ax.set(title="Zoo from few animals", xlabel="animals learnt from", ylabel="accuracy")
        ax.legend(loc="lower right")


def several_labels(part: Any, folder: Path) -> None:
    """Draw micro and macro F1 on multi-label data."""
    names = [name for name, scores in part.items() if isinstance(scores, dict)]
    names.sort(key=lambda name: (not name.startswith("STC"), name))
    with canvas("several_labels", 5.6, 3.2, folder) as figure:
        ax = figure.subplots()
        for shift, kind, alpha in ((-0.2, "micro", 0.9), (0.2, "macro", 0.45)):
            hues = [OURS if name.startswith("STC") else OTHER for name in names]
            places = np.arange(len(names)) + shift
            heights = [part[name][kind] for name in names]
            drawn = ax.bar(places, heights, 0.38, color=hues, alpha=alpha)
            ax.bar_label(
                drawn, [f"{kind} {height:.2f}" for height in heights], fontsize=8, padding=2
            )
        ax.set_xticks(range(len(names)), names)
        ax.set(title="enron: F1 of sets of labels", ylabel="F1", ylim=(0, 0.62))
        ax.grid(axis="x", visible=False)


PROPERTIES: dict[str, Callable[[Any, Path], None]] = {
    "special_cases": special_cases,
    "noise": noise,
    "balance": balance,
    "missing": missing,
    "fallback": fallback,
    "online": online,
    "prior_knowledge": prior_knowledge,
    "several_labels": several_labels,
}


def draw(results: Results, folder: Path = FOLDER) -> None:
    """Draw all figures."""
    folder.mkdir(exist_ok=True)
    for whole in (zoo, pairwise, news, faithfulness, per_model):
        whole(results, folder)
    for name, function in PROPERTIES.items():
        function(results["properties"]["parts"][name], folder)
