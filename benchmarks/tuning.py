"""Speed of tuning: `python benchmarks/tuning.py [--only GROUP ...] [--repeats N] [--json OUT]`.

60 settings, 5 folds: SparseTensorClassifierCV against GridSearchCV over SparseTensorClassifier.
Both compare accuracy on the same splits and refit the best setting on all data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import data
import harness
import numpy as np
from harness import Result
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from stc import STC_Q, SparseTensorClassifier, SparseTensorClassifierCV

PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars"]
SPLITS = StratifiedKFold(5, shuffle=True, random_state=0)
GRID = {
    "power": [0.25, 1 / 3, 0.5, 0.75, 1.0],
    "balance": [0.0, 0.5, 1.0],
    "entropy": [0.0, 0.5, 1.0, 2.0],
}
BAR = 1 / 30  # at least 30 times faster


def ours(X: Any, y: data.Labels) -> SparseTensorClassifierCV:
    """Tune with SparseTensorClassifierCV, which builds each corpus once."""
    fixed = {"phases": None, "interactions": 1, "ngrams": 1, "continuous": None}
    return SparseTensorClassifierCV(
        **GRID, **fixed, missing="ignore", scoring="accuracy", cv=SPLITS
    ).fit(X, y)


def theirs(X: Any, y: data.Labels) -> GridSearchCV:
    """Tune with GridSearchCV, which fits each setting on each split."""
    return GridSearchCV(SparseTensorClassifier(**STC_Q), GRID, scoring="accuracy", cv=SPLITS).fit(
        X, y
    )


def compared(name: str, load: Callable[[], tuple[Any, data.Labels]], repeats: int) -> Result:
    """Measure one data set, and check that both find the same scores."""
    X, y = load()
    gap = abs(scores(ours(X, y)) - scores(theirs(X, y))).max()
    if gap > 1e-9:
        raise AssertionError(f"{name}: the scores differ by {gap}")
    work = partial(theirs, X, y), partial(ours, X, y)
    ((peer, tuned),) = harness.alternate(name, *work, repeats=repeats)
    title = f"{name}, 60 settings"
    return Result("tuning", title, "GridSearchCV", tuned.seconds, peer.seconds, bar=BAR)


def scores(search: Any) -> Any:
    """Return the mean score of each setting, in the order of the settings."""
    results = search.cv_results_
    settings = [[params[name] for name in sorted(GRID)] for params in results["params"]]
    order = sorted(range(len(settings)), key=settings.__getitem__)
    return np.asarray(results["mean_test_score"])[order]


def text() -> tuple[Any, data.Labels]:
    """Return the training texts of R8."""
    task = data.load_task("r8")
    learn = task.folds[0][0]
    return [task.X[n] for n in learn], task.y[learn]


GROUPS: dict[str, Callable[[], tuple[Any, data.Labels]]] = {
    "car": partial(data.load_table, "car"),
    "nursery": partial(data.load_table, "nursery"),
    "mushroom": partial(data.load_table, "mushroom"),
    "r8": text,
}


def main() -> int:
    """Measure the chosen data sets, print the table, write the JSON."""
    arguments = harness.arguments(__doc__, GROUPS, repeats=3)
    harness.warn_if_busy()
    results = []
    for name in arguments.only:
        try:
            results.append(compared(name, GROUPS[name], arguments.repeats))
        except data.DataMissingError as error:
            print(error, file=sys.stderr)
            return 2
        harness.progress(f"{name}: {1 / results[-1].ratio:.1f} times faster")
    return harness.finish(results, arguments.json, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
