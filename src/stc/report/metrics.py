"""The evaluation on the page: metrics of scikit-learn, as plain data."""

from __future__ import annotations

from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.calibration import calibration_curve

from stc._core.formulas import Floats
from stc.evaluation import Comparison, label_scores
from stc.explain import label_text
from stc.report.names import clipped

# Maximal number of classes of the confusion matrix; bins of the calibration curve.
_LARGEST_MATRIX, _BINS = 25, 10
# Maximal number of rows of the table of classes.
_LISTED = 200


def evaluation(comparison: Comparison, probabilities: Floats) -> dict[str, Any]:
    """Return accuracy, precision, recall, F1, confusion matrix and calibration curve."""
    correct = comparison.correct
    never_learnt = comparison.labels[probabilities.shape[1] :]
    metrics: dict[str, Any] = {
        "accuracy": float(correct.mean()),
        "items": len(correct),
        "mistakes": int((~correct).sum()),
        "multilabel": comparison.multilabel,
        "never_learnt": [clipped(label_text(label)) for label in never_learnt],
        **_scores(comparison),
    }
    if not comparison.multilabel:
        metrics["confusion"] = _confusion(comparison)
        metrics["calibration"] = _calibration(correct, probabilities.max(axis=1))
    return metrics


def _scores(comparison: Comparison) -> dict[str, Any]:
    """Return the averages, and a row per true or predicted class, most items first."""
    labels, true, predicted = comparison.labels, comparison.true, comparison.predicted
    if comparison.multilabel:
        names = ("micro", "macro")
        used = (true | predicted).any(axis=0)
    else:
        names = ("macro", "weighted")
        places, codes = np.unique(np.concatenate([true, predicted]), return_inverse=True)
        labels = [labels[place] for place in places]
        true, predicted = np.split(codes, 2)
        used = np.ones(len(labels), dtype=bool)
    scores = label_scores(labels, true, predicted, np.ones(len(true)), names)
    rows = sorted(compress(scores["classes"], used), key=lambda row: -row["support"])
    return {
        "averages": [{"name": name, **scores[name]} for name in names],
        "classes": [{"name": clipped(label_text(row["class"])), **row} for row in rows[:_LISTED]],
        "classes_left_out": max(len(rows) - _LISTED, 0),
    }


def _confusion(comparison: Comparison) -> dict[str, Any]:
    """Return the confusion matrix (rows true, columns predicted) of the largest classes."""
    n_labels, pair = len(comparison.labels), (comparison.true, comparison.predicted)
    ones = np.ones(len(comparison.true), dtype=np.int64)
    matrix = sparse.coo_array((ones, pair), shape=(n_labels, n_labels)).tocsr()
    items = matrix.sum(axis=0) + matrix.sum(axis=1)
    used = np.flatnonzero(items)
    shown = np.sort(used[np.argsort(-items[used], kind="stable")][:_LARGEST_MATRIX])
    counts = matrix[shown][:, shown].toarray()
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return {
        "labels": [clipped(label_text(comparison.labels[k]), 40) for k in shown],
        "rows": counts.tolist(),
        "shades": np.round(counts / totals, 3).tolist(),
        "left_out": len(used) - len(shown),
        "items_left_out": int(len(ones) - counts.sum()),
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
