"""Leave-one-out against folds: `python benchmarks/leave_one_out.py [--only NAME ...] [--json OUT]`.

For each table, the figures of exact leave-one-out after all choices, and the mean over 20 folds of
a model that chooses anew in each. Tables with over 500 rows of which under 5 % are repeated count.
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
from accuracy import log_loss
from sklearn.model_selection import StratifiedKFold

from stc import SparseTensorClassifier

FOLDS, FEWEST, MOST_REPEATED = 20, 500, 0.05


def compare(name: str) -> dict[str, Any]:
    """Return both figures of one table."""
    task = data.load_task(name)
    whole = SparseTensorClassifier(continuous="auto").fit(task.X, task.y)
    accuracies, losses = [], []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(task.y, task.y):
        model = SparseTensorClassifier(continuous="auto").fit(task.X[train], task.y[train])
        accuracies.append(float(np.mean(model.predict(task.X[test]) == task.y[test])))
        losses.append(log_loss(model, task.X[test], task.y[test]) or 0.0)
    return {
        "data": name,
        "rows": len(task.y),
        "repeated": whole.fitted_.state.loo.repeated,
        "loo_accuracy": whole.loo_accuracy_,
        "accuracy": fmean(accuracies),
        "loo_log_loss": whole.loo_log_loss_,
        "log_loss": fmean(losses),
    }


def counts(row: dict[str, Any]) -> bool:
    """Return whether a table counts in the means."""
    return bool(row["rows"] > FEWEST and row["repeated"] < MOST_REPEATED)


def report(rows: list[dict[str, Any]]) -> str:
    """Return the rows and the mean differences."""
    head = ["data", "rows", "repeated", "accuracy", "folds", "log-loss", "folds", "counts"]
    cells = [
        [
            row["data"],
            f"{row['rows']:,}",
            f"{row['repeated']:.1%}",
            f"{row['loo_accuracy']:.4f}",
            f"{row['accuracy']:.4f}",
            f"{row['loo_log_loss']:.4f}",
            f"{row['log_loss']:.4f}",
            "yes" if counts(row) else "",
        ]
        for row in rows
    ]
    text = harness.layout(head, cells, numbers=range(1, 7))
    counted = [row for row in rows if counts(row)]
    if not counted:
        return text
    accuracy = fmean(abs(row["loo_accuracy"] - row["accuracy"]) for row in counted)
    apart = [abs(row["loo_log_loss"] - row["log_loss"]) for row in counted]
    each = fmean(d / row["log_loss"] for d, row in zip(apart, counted, strict=True))
    said, found = (sum(row[key] for row in counted) for key in ("loo_log_loss", "log_loss"))
    together = sum(apart) / found
    return (
        f"{text}\nmean difference of accuracy {accuracy:.4f} (bar 0.01), of log-loss {each:.1%} of "
        f"each (bar 5 %), {together:.1%} of the sum; the sums differ by {said / found - 1:+.1%}"
    )


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
