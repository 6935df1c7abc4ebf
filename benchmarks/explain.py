"""Explanations: `python benchmarks/explain.py [--only NAME ...] [--documents 200] [--json OUT]`.

Speed against predict_proba and LIME, faithfulness against LIME and SHAP on the same model (20
Newsgroups), and counterfactuals verified by brute force (Zoo and House votes). See README.md beside
this file.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import data
import harness
import numpy as np
import polars as pl
from harness import Figure, Result, Runs

from stc import STC_Q, LocalExplanation, SparseTensorClassifier, load_zoo
from stc._input.documents import TOKEN_PATTERN

PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars", "lime", "shap"]
MOST_REMOVED = 20  # words
BRUTE_FORCE = 4  # values removed at the most
SAMPLES = 5000
CALLS = 100  # documents explained in a run
NEWS = "20 Newsgroups"


class News(NamedTuple):
    """A model of 20 Newsgroups, and the documents to explain."""

    model: SparseTensorClassifier
    documents: list[str]


def news() -> News:
    """Learn from the training documents."""
    task = data.load_task("news")
    ((learn, test),) = task.folds
    model = SparseTensorClassifier(**STC_Q).fit(task.X[learn].tolist(), task.y[learn])
    return News(model, task.X[test].tolist())


def tokens_of(document: str) -> list[str]:
    """Return the tokens of a document as the model sees them."""
    return re.findall(TOKEN_PATTERN, document)


# --- speed ---------------------------------------------------------------------------------------


def all_documents(task: News, repeats: int) -> Result:
    """All contributions to the predicted classes of all documents, against predicting them."""
    ours, theirs = Runs(), Runs()
    for _ in range(repeats):
        theirs.run(lambda: task.model.predict_proba(task.documents))
        ours.run(lambda: task.model.explain_local(task.documents).table)
    work = f"explain {len(task.documents):,} documents"
    return Result(NEWS, work, "predict_proba", ours.seconds, theirs.seconds, bar=2.0)


def one_document(task: News, repeats: int) -> list[Result]:
    """One document, alone and in a batch, against LIME with its 5,000 samples."""
    alone, together, theirs = Runs(), Runs(), Runs()
    task.model.explain_local(task.documents[:1]).to_dicts()  # computes the feature names once
    for number in range(repeats):
        some = task.documents[number * CALLS : (number + 1) * CALLS]
        theirs.run(lambda text=some[0]: by_lime(task.model, text))
        alone.run(lambda texts=some: [task.model.explain_local([text]).table for text in texts])
        together.run(lambda texts=some: task.model.explain_local(texts).table)
    return [
        Result(
            NEWS,
            work,
            "LIME",
            [seconds / CALLS for seconds in runs.seconds],
            theirs.seconds,
            bar=1e-3,
        )
        for work, runs in (("one document alone", alone), (f"one of {CALLS} documents", together))
    ]


# --- faithfulness --------------------------------------------------------------------------------

Ranking = list[str]  # words, the most important first


def by_impact(model: SparseTensorClassifier, document: str) -> Ranking:
    """Rank by the probability without each word: exact, by predicting again."""
    return model.explain_local([document]).impact(0)["value"].to_list()


def by_contribution(model: SparseTensorClassifier, document: str) -> Ranking:
    """Rank by the contribution of each word to the score of the class."""
    return model.explain_local([document]).table["value"].to_list()


def by_lime(model: SparseTensorClassifier, document: str) -> Ranking:
    """Rank by LIME's weights, with its defaults, on the tokens of the model."""
    from lime.lime_text import LimeTextExplainer

    best = int(np.argmax(model.predict_proba([document])[0]))
    explainer = LimeTextExplainer(random_state=0, split_expression=tokens_of)
    explained = explainer.explain_instance(
        document, model.predict_proba, labels=[best], num_features=MOST_REMOVED
    )
    return [word for word, _ in sorted(explained.as_list(best), key=lambda pair: -pair[1])]


def by_shap(model: SparseTensorClassifier, document: str) -> Ranking:
    """Rank by SHAP's sampling explainer: words present or absent, as many samples as LIME."""
    import shap

    tokens = np.array(tokens_of(document), dtype=object)
    words, place = np.unique(tokens.astype(str), return_inverse=True)
    best = int(np.argmax(model.predict_proba([document])[0]))

    def probability(presence: np.ndarray) -> np.ndarray:
        texts = [" ".join(tokens[row[place] > 0]) for row in presence]
        return model.predict_proba(texts)[:, best]

    explainer = shap.SamplingExplainer(probability, np.zeros((1, len(words))))
    count = max(SAMPLES, 2 * len(words))
    values = explainer.shap_values(np.ones((1, len(words))), nsamples=count, silent=True)
    return words[np.argsort(-values[0], kind="stable")].tolist()


METHODS: dict[str, Callable[..., Ranking]] = {
    "impact": by_impact,
    "contribution": by_contribution,
    "LIME": by_lime,
    "SHAP": by_shap,
}


def curve(model: SparseTensorClassifier, document: str, ranking: Ranking) -> list[float]:
    """Return the probability of the predicted class without the first 0, 1, ... words."""
    tokens = tokens_of(document)
    texts = [document]
    for count in range(1, MOST_REMOVED + 1):
        away = set(ranking[:count])
        texts.append(" ".join(word for word in tokens if word not in away))
    probabilities = model.predict_proba(texts)
    return probabilities[:, int(np.argmax(probabilities[0]))].tolist()


def faithfulness(task: News, count: int, of_shap: int) -> list[Figure]:
    """Return the area under each method's curve; lower is more faithful."""
    generator = np.random.default_rng(0)
    chosen = generator.choice(len(task.documents), count, replace=False).tolist()
    documents = [task.documents[k] for k in chosen]
    areas: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for number, document in enumerate(documents):
        for name, method in METHODS.items():
            if name == "SHAP" and number >= of_shap:
                continue
            start = time.perf_counter()
            ranking = method(task.model, document)
            seconds[name].append(time.perf_counter() - start)
            areas[name].append(float(np.mean(curve(task.model, document, ranking))))
        if (number + 1) % 10 == 0:
            shown = ", ".join(f"{name} {np.mean(values):.4f}" for name, values in areas.items())
            harness.progress(f"{number + 1} documents: {shown}")
    figures = []
    for peer, size in (("LIME", count), ("SHAP", min(of_shap, count))):
        for ours in ("impact", "contribution"):
            area, theirs = float(np.mean(areas[ours][:size])), float(np.mean(areas[peer][:size]))
            times = f"{median(seconds[ours]) * 1e3:.1f} ms, {peer} {median(seconds[peer]):.2f} s"
            figures.append(
                Figure(
                    "faithfulness",
                    f"{ours}, {size} documents",
                    f"area, of {peer} {theirs:.4f}",
                    area,
                    areas[ours][:size],
                    relation="<",
                    bar=theirs if ours == "impact" else None,
                    note=times,
                    extra={"peer": areas[peer][:size]},
                )
            )
    return figures


# --- counterfactuals -----------------------------------------------------------------------------


def tables() -> dict[str, tuple[pl.DataFrame, Any]]:
    """Return the data sets whose counterfactuals are verified."""
    X, y = load_zoo()
    votes = data.load_task("house-votes")
    return {
        "Zoo": (X.with_columns(pl.all().cast(pl.String)), y),
        "House votes": (votes.X, votes.y),
    }


def without(row: dict[str, Any], away: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Return an item once for each set of removed values."""
    rows = [row | dict.fromkeys(names) for names in away]
    return pl.DataFrame(rows, schema=dict.fromkeys(row, pl.String))


def judged(
    model: SparseTensorClassifier, row: dict[str, Any], counterfactual: Any
) -> tuple[bool, bool]:
    """Return whether a removal changes the class as stated, and whether no smaller one does."""
    label = counterfactual.label
    present = [name for name, value in row.items() if value is not None]
    names = (
        [attribute for attribute, *_ in counterfactual.removal.values]
        if counterfactual.removal
        else present
    )
    after = model.predict(without(row, [names]))[0]
    verified = (
        after == counterfactual.removal.label != label if counterfactual.removal else after == label
    )
    for size in range(1, min(len(names) - 1, BRUTE_FORCE) + 1):
        smaller = list(combinations(present, size))
        if (model.predict(without(row, smaller)) != label).any():
            return verified, False
    return verified, True


def counterfactuals(name: str, X: pl.DataFrame, y: Any, most: int) -> list[Figure]:
    """Return the share of counterfactuals that are correct, and that are the smallest."""
    model = SparseTensorClassifier(**STC_Q).fit(X, y)
    explanation: LocalExplanation = model.explain_local(X)
    items = range(min(len(X), most))
    seconds, verdicts = [], []
    for item in items:
        start = time.perf_counter()
        found = explanation.counterfactual(item)
        seconds.append(time.perf_counter() - start)
        verdicts.append(judged(model, X.row(item, named=True), found))
    note = f"{median(seconds) * 1e3:.1f} ms each, {len(items)} items"
    shares = np.mean(verdicts, axis=0)
    return [
        Figure("counterfactuals", name, what, float(share), [float(share)], bar=1.0, note=note)
        for what, share in zip(("verified", "smallest"), shares, strict=True)
    ]


# --- all -----------------------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    """Return the command line, parsed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ["speed", "faithfulness", "counterfactuals"]
    parser.add_argument("--only", nargs="*", choices=parts, default=parts)
    parser.add_argument("--documents", type=int, default=200, help="to remove words from")
    parser.add_argument("--shap", type=int, default=200, help="of these for SHAP, which is slow")
    parser.add_argument("--items", type=int, default=500, help="of a table, for counterfactuals")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every run to this file")
    return parser.parse_args()


def main() -> int:
    """Measure the chosen parts, print the tables, write the JSON."""
    arguments = parse()
    warnings.filterwarnings("ignore", module="lime")
    harness.warn_if_busy()
    results: list[Result] = []
    figures: list[Figure] = []
    if {"speed", "faithfulness"} & set(arguments.only):
        given = news()
        if "speed" in arguments.only:
            results += [all_documents(given, arguments.repeats), *one_document(given, 10)]
        if "faithfulness" in arguments.only:
            figures += faithfulness(given, arguments.documents, arguments.shap)
    if "counterfactuals" in arguments.only:
        for name, (X, y) in tables().items():
            figures += counterfactuals(name, X, y, arguments.items)
    if results:
        print(harness.table(results))
    if figures:
        print(harness.table_of_figures(figures))
    if arguments.json:
        harness.write_json(arguments.json, [*results, *figures], PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
