"""Several labels: `python benchmarks/multilabel.py [--only NAME ...] [--repeats 5] [--json OUT]`.

Micro-F1, macro-F1 and seconds of fit + predict, compared with one classifier per label
(OneVsRest), on the same sparse counts and the same indicator matrix. See README.md beside this
file.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean, median
from typing import Any

import data
import harness
import numpy as np
from harness import Figure, Result, Runs, alternate
from scipy.sparse import vstack
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB

from stc import STC_Q, SparseTensorClassifier
from stc._input.documents import TOKEN_PATTERN

LOADERS: dict[str, Callable[[], data.Labelled]] = {
    "modapte": partial(data.load_modapte, TOKEN_PATTERN),
    "enron": data.load_enron,
    "emotions": data.load_emotions,
    "slashdot": data.load_slashdot,
}
SMALL = {"enron", "emotions"}
WITH_BAR = {"modapte", "enron", "emotions"}
OURS: dict[str, dict[str, Any]] = {
    "stc": {**STC_Q},
    "stc, power 1/3": {**STC_Q, "power": 1 / 3},
    "stc, balance 1/2": {**STC_Q, "balance": 0.5},
}
BAYES, LOGISTIC = "OvR MultinomialNB", "OvR LogisticRegression"
PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars"]


@dataclass(frozen=True)
class Score:
    """One row of the table of scores."""

    group: str
    model: str
    micro_f1: float
    macro_f1: float
    labels_per_item: float
    runs: list[float]
    extra: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """Return the quantities derived from the runs."""
        return {"seconds": median(self.runs)}


def fit_predict(part: data.Labelled, make: Callable[[], Any]) -> tuple[Any, Any]:
    """Return a model fitted to the training set, and its predictions for the test set."""
    model = make().fit(part.train, part.y_train)
    return model, model.predict(part.test)


def scored(group: str, name: str, part: data.Labelled, runs: Runs) -> Score:
    """Return the scores of the predictions of the last run."""
    model, predicted = runs.value
    f1 = partial(f1_score, part.y_test, predicted, zero_division=0)
    threshold = getattr(model, "label_threshold_", None)
    return Score(
        group,
        name,
        float(f1(average="micro")),
        float(f1(average="macro")),
        float(predicted.sum(axis=1).mean()),
        runs.seconds,
        extra={} if threshold is None else {"label_threshold": np.asarray(threshold).tolist()},
    )


def measure(group: str, repeats: int) -> tuple[list[Score], list[Figure], list[Result]]:
    """Run all models on one data set; logistic regression once, the others in turns."""
    part = LOADERS[group]()
    makers = [partial(SparseTensorClassifier, **given) for given in OURS.values()]
    pairs = alternate(
        f"{group}, {BAYES}",
        partial(fit_predict, part, lambda: OneVsRestClassifier(MultinomialNB())),
        *(partial(fit_predict, part, make) for make in makers),
        repeats=repeats,
        keep=True,
    )
    logistic = Runs(keep=True)
    logistic.run(
        partial(
            fit_predict,
            part,
            lambda: OneVsRestClassifier(LogisticRegression(max_iter=1000, solver="liblinear")),
        )
    )
    harness.progress(f"{group}, {LOGISTIC}: {harness.show(logistic.seconds[0])}")
    bayes = scored(group, BAYES, part, pairs[0][0])
    ours = [scored(group, name, part, mine) for name, (_, mine) in zip(OURS, pairs, strict=True)]
    figures = [
        Figure(
            group,
            f"{group}, {score.model}",
            "micro-F1, OvR MNB as bar",
            score.micro_f1,
            [score.micro_f1],
            ">",
            bayes.micro_f1,
        )
        for score in ours
        if group in WITH_BAR
    ]
    size = f"{part.train.shape[0]:,} + {part.test.shape[0]:,} items, {part.y_test.shape[1]} labels"
    results = [
        Result(
            group,
            f"{name}, {group}: {size}",
            BAYES,
            mine.seconds,
            theirs.seconds,
            1.0 if group == "modapte" else None,
        )
        for name, (theirs, mine) in zip(OURS, pairs, strict=True)
    ]
    return [*ours, bayes, scored(group, LOGISTIC, part, logistic)], figures, results


def random_splits(group: str, splits: int = 12) -> list[Figure]:
    """Return micro-F1 over random splits of all items, because the test sets are small."""
    part = LOADERS[group]()
    X, y = vstack([part.train, part.test]).tocsr(), np.vstack([part.y_train, part.y_test])
    makers = {name: partial(SparseTensorClassifier, **given) for name, given in OURS.items()}
    makers["stc, balance 1/2, entropy 0"] = partial(
        SparseTensorClassifier, **STC_Q | {"balance": 0.5, "entropy": 0.0}
    )
    makers[BAYES] = lambda: OneVsRestClassifier(MultinomialNB())
    found: dict[str, list[float]] = {name: [] for name in makers}
    sampled = ShuffleSplit(splits, test_size=part.test.shape[0], random_state=1)
    for learn, judge in sampled.split(X):
        for name, make in makers.items():
            predicted = make().fit(X[learn], y[learn]).predict(X[judge])
            found[name].append(float(f1_score(y[judge], predicted, average="micro")))
    what = f"micro-F1, {splits} random splits"
    return [
        Figure(group, f"{group}, {name}", what, fmean(runs), runs) for name, runs in found.items()
    ]


def table_of_scores(scores: list[Score]) -> str:
    """Return the scores as aligned text."""
    head = ["data", "model", "micro-F1", "macro-F1", "labels an item", "fit + predict"]
    rows = [
        [
            score.group,
            score.model,
            f"{score.micro_f1:.4f}",
            f"{score.macro_f1:.4f}",
            f"{score.labels_per_item:.2f}",
            harness.show(median(score.runs)),
        ]
        for score in scores
    ]
    return harness.layout(head, rows, numbers=range(2, 6))


def main() -> int:
    """Measure on the chosen data sets, print the tables, write the JSON."""
    arguments = harness.arguments(__doc__, LOADERS, repeats=5)
    try:
        for name in arguments.only:
            data.multilabel_files(name)
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    harness.warn_if_busy()
    # OneVsRest warns of every label that is absent from the training set.
    warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
    scores: list[Score] = []
    figures: list[Figure] = []
    results: list[Result] = []
    for name in arguments.only:
        measured = measure(name, arguments.repeats)
        scores += measured[0]
        figures += measured[1]
        if name in SMALL:
            figures += random_splits(name)
        results += measured[2]
    for text in (
        table_of_scores(scores),
        harness.table_of_figures(figures),
        harness.table(results),
    ):
        print(text, end="\n\n")
    if arguments.json:
        harness.write_json(arguments.json, [*scores, *figures, *results], PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
