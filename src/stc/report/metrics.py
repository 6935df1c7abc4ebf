"""The evaluation on the page: metrics of scikit-learn, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, confusion_matrix, precision_recall_fscore_support

from stc._core.formulas import Floats
from stc.report.names import clipped
from stc.report.truth import Truth

# Maximal number of classes of the confusion matrix; bins of the calibration curve.
_LARGEST_MATRIX, _BINS = 25, 10
# Maximal number of rows of the table of classes.
_LISTED = 200


def evaluation(truth: Truth, probabilities: Floats) -> dict[str, Any]:
    """Return accuracy, precision, recall, F1, confusion matrix and calibration curve."""
    metrics: dict[str, Any] = {
        "accuracy": _accuracy(truth),
        "items": len(truth.true),
        "mistakes": int(truth.mistaken.sum()),
        "multilabel": truth.multilabel,
        "averages": _averages(truth),
        "never_learnt": [clipped(label) for label in truth.labels[probabilities.shape[1] :]],
        **_of_classes(truth),
    }
    if not truth.multilabel:
        true, predicted = truth.true.argmax(axis=1), truth.predicted.argmax(axis=1)
        metrics["confusion"] = _confusion(truth, true, predicted)
        metrics["calibration"] = _calibration(true == predicted, probabilities.max(axis=1))
    return metrics


def _accuracy(truth: Truth) -> float:
    if truth.multilabel:  # right with all labels
        return float(np.mean(~truth.mistaken))
    return float(accuracy_score(truth.true.argmax(axis=1), truth.predicted.argmax(axis=1)))


def _scores(truth: Truth, average: str | None) -> Any:
    if truth.multilabel:
        return precision_recall_fscore_support(
            truth.true, truth.predicted, average=average, zero_division=0
        )
    pair = truth.true.argmax(axis=1), truth.predicted.argmax(axis=1)
    shown = np.flatnonzero(truth.true.any(axis=0) | truth.predicted.any(axis=0))
    labels = np.arange(len(truth.labels)) if average is None else shown
    return precision_recall_fscore_support(*pair, labels=labels, average=average, zero_division=0)


def _averages(truth: Truth) -> list[dict[str, Any]]:
    rows = []
    for average in ("micro", "macro") if truth.multilabel else ("macro", "weighted"):
        precision, recall, f1, _ = _scores(truth, average)
        scores = {"precision": float(precision), "recall": float(recall), "f1": float(f1)}
        rows.append({"name": average, **scores})
    return rows


def _of_classes(truth: Truth) -> dict[str, Any]:
    """Return a row per true or predicted class, most items first."""
    precision, recall, f1, support = _scores(truth, None)
    used = np.asarray((truth.true | truth.predicted).any(axis=0))
    order = [k for k in np.argsort(-support, kind="stable").tolist() if used[k]]
    rows = [
        {
            "name": clipped(truth.labels[k]),
            "precision": float(precision[k]),
            "recall": float(recall[k]),
            "f1": float(f1[k]),
            "support": int(support[k]),
        }
        for k in order
    ]
    return {"classes": rows[:_LISTED], "classes_left_out": max(len(rows) - _LISTED, 0)}


def _confusion(truth: Truth, true: NDArray[Any], predicted: NDArray[Any]) -> dict[str, Any]:
    """Return the confusion matrix (rows true, columns predicted) of the largest classes."""
    items = np.bincount(np.concatenate([true, predicted]), minlength=len(truth.labels))
    used = np.flatnonzero(items)
    largest = used[np.argsort(-items[used], kind="stable")][:_LARGEST_MATRIX]
    shown = np.sort(largest)
    inside = np.isin(true, shown) & np.isin(predicted, shown)
    counts = np.full((len(shown), len(shown)), inside.sum())
    if inside.any() and len(shown) > 1:  # scikit-learn warns about a single class
        counts = confusion_matrix(true[inside], predicted[inside], labels=shown)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return {
        "labels": [clipped(truth.labels[k], 40) for k in shown],
        "rows": counts.tolist(),
        "shades": np.round(counts / totals, 3).tolist(),
        "left_out": len(used) - len(shown),
        "items_left_out": int((~inside).sum()),
    }


def _calibration(right: NDArray[np.bool_], confidence: Floats) -> list[dict[str, float]]:
    """Return the accuracy of the predictions by their probability."""
    confidence = np.clip(confidence, 0.0, 1.0)  # sums may exceed 1 by rounding
    observed, stated = calibration_curve(right, confidence, n_bins=_BINS)
    # The bins of scikit-learn, which does not return the number of items in each.
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    items = np.bincount(np.searchsorted(edges[1:-1], confidence), minlength=_BINS)
    triples = zip(stated, observed, items[items > 0], strict=True)
    return [{"stated": float(s), "right": float(r), "items": int(n)} for s, r, n in triples]
