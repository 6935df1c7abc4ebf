"""Scores of predicted probabilities, by scikit-learn's scorers or by the default of a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from stc._core.formulas import Floats
from stc._core.target import TargetForm
from stc._training.problem import Problem
from stc.exceptions import ParameterError

# Positions of items and their probabilities -> a score; higher is better.
ScoreFunction = Callable[[NDArray[Any], Floats], float]

# The default score is the accuracy minus this share of the log-loss, whose probabilities are
# floored.
LOSS_SHARE, PROBABILITY_FLOOR = 0.2, 1e-4


def accuracy_minus_loss(P: Floats, truth: Floats, weight: Floats) -> float:
    """Return the accuracy minus a share of the log-loss."""
    correct = truth[np.arange(len(P)), np.argmax(P, axis=1)]
    loss = -(truth * np.log(np.maximum(P, PROBABILITY_FLOOR))).sum(axis=1)
    return float(np.average(correct - LOSS_SHARE * loss, weights=weight))


def make_scorer(scoring: Any, problem: Problem, form: TargetForm) -> ScoreFunction:
    """Return the function that scores probabilities of items."""
    truth, weight = problem.truth, problem.sample_weight
    if scoring is None:
        return lambda items, P: accuracy_minus_loss(P, truth[items], weight[items])
    best = np.argmax(truth, axis=1)
    if scoring == "accuracy":  # as in scikit-learn, without its validation in each call
        return lambda items, P: float(np.mean(np.argmax(P, axis=1) == best[items]))
    if form.kind == "joint":
        raise ParameterError(
            f"scoring={scoring!r} is not available with several targets",
            hint="use None or 'accuracy', which is that of all targets together",
        )
    labels = form.public_classes(problem.classes)
    scorer = check_scoring(_FixedPredictions(labels, np.zeros((1, 1))), scoring)
    y = labels[best]

    def score(items: NDArray[Any], P: Floats) -> float:
        value = float(scorer(_FixedPredictions(labels, P), np.zeros((len(P), 1)), y[items]))
        if np.isnan(value):
            raise ParameterError(f"scoring={scoring!r} gave NaN for a split")
        return value

    return score


class _FixedPredictions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Estimator that returns given probabilities, for scorers of scikit-learn."""

    def __init__(self, classes: NDArray[Any], probabilities: Floats) -> None:
        self.classes_ = classes
        self.probabilities = probabilities

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        return self.probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.probabilities, axis=1)])
