"""Leave-one-out against folds: `python benchmarks/leave_one_out.py [--only NAME ...] [--json OUT]`.

For each table, the figures of exact leave-one-out after all choices, and the mean over 20 folds of
a model that chooses anew in each. Tables with over 500 rows of which under 5 % are repeated count.
The folds are dealt twice: what one deal differs from the other is the noise of the comparison.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import data
import harness
import numpy as np
from accuracy import log_loss as log_loss_of
from sklearn.model_selection import StratifiedKFold

from stc import SparseTensorClassifier

FOLDS, FEWEST, MOST_REPEATED = 20, 500, 0.05


def compare(name: str) -> dict[str, Any]:
    """Return the figures of one table."""
    task = data.load_task(name)
    whole = SparseTensorClassifier(continuous="auto").fit(task.X, task.y)
    accuracy, log_loss = over_folds(task, seed=0)
    accuracy_again, log_loss_again = over_folds(task, seed=1)
    return {
        "data": name,
        "rows": len(task.y),
        "repeated": whole.fitted_.state.loo.repeated,
        "loo_accuracy": whole.loo_accuracy_,
        "accuracy": accuracy,
        "accuracy_again": accuracy_again,
        "loo_log_loss": whole.loo_log_loss_,
        "log_loss": log_loss,
        "log_loss_again": log_loss_again,
    }


def over_folds(task: data.Task, seed: int) -> tuple[float, float]:
    """Return the mean accuracy and log-loss over folds."""
    accuracies, losses = [], []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for train, test in folds.split(task.y, task.y):
        model = SparseTensorClassifier(continuous="auto").fit(task.X[train], task.y[train])
        accuracies.append(float(np.mean(model.predict(task.X[test]) == task.y[test])))
        losses.append(log_loss_of(model, task.X[test], task.y[test]) or 0.0)
    return fmean(accuracies), fmean(losses)


def counts(row: dict[str, Any]) -> bool:
    """Return whether a table counts in the means."""
    return bool(row["rows"] > FEWEST and row["repeated"] < MOST_REPEATED)


def report(rows: list[dict[str, Any]]) -> str:
    """Return the rows and the mean differences."""
    keys = ["loo_accuracy", "accuracy", "accuracy_again", "loo_log_loss", "log_loss"]
    keys.append("log_loss_again")
    head = ["data", "rows", "repeated", "accuracy", "folds", "again"]
    head += ["log-loss", "folds", "again", "counts"]
    cells = [
        [
            row["data"],
            f"{row['rows']:,}",
            f"{row['repeated']:.1%}",
            *(f"{row[key]:.4f}" for key in keys),
            "yes" if counts(row) else "",
        ]
        for row in rows
    ]
    text = harness.layout(head, cells, numbers=range(1, 9))
    counted = [row for row in rows if counts(row)]
    if not counted:
        return text
    lines = [
        f"{what}: accuracy {mean_difference(counted, f'{key}accuracy', f'accuracy{other}'):.4f}, "
        f"log-loss {relative_difference(counted, f'{key}log_loss', f'log_loss{other}')}"
        for what, key, other in (
            ("leave-one-out and folds (bars 0.01, 5 %)", "loo_", ""),
            ("folds and folds dealt again", "", "_again"),
        )
    ]
    return "\n".join([text, "mean absolute differences of", *lines])


def mean_difference(rows: list[dict[str, Any]], one: str, other: str) -> float:
    """Return the mean absolute difference of two figures."""
    return fmean(abs(row[one] - row[other]) for row in rows)


def relative_difference(rows: list[dict[str, Any]], one: str, other: str) -> str:
    """Return the mean absolute difference: of the mean figure, and of each table's own."""
    together = mean_difference(rows, one, other) / fmean(row[other] for row in rows)
    each = fmean(abs(row[one] - row[other]) / row[other] for row in rows)
    return f"{together:.1%} of the mean, {each:.1%} of each"


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(data.TABLES), metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="OUT")
    given = parser.parse_args()
    rows = []
    for name in given.only:
        rows.append(compare(name))
        harness.progress(report(rows[-1:]).splitlines()[2])
    print(report(rows))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
