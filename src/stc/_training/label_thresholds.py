"""Thresholds of multilabel targets.

A label is predicted if the ratio of its probability to the highest of the item reaches the
threshold of the label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit, logit

from stc._core.cascade import Cascade
from stc._core.formulas import Floats, Hyper
from stc._core.labels import places_of, union_of_classes
from stc._core.model import Model
from stc._core.observations import Column, Observations, sum_at
from stc.exceptions import NeverLearntError

# The thresholds to choose from: evenly spaced in the logarithm of their odds, and 1.
_THRESHOLDS = np.append(expit(np.linspace(logit(1e-4), logit(0.999), 240)), 1.0)
# Standard deviation, in steps, of the smoothing over thresholds: the best of many is overfitted.
_SMOOTHING = 2.0
# The threshold where nothing is known.
_DEFAULT = 0.5
# Folds; few items get more, so that each is predicted by nearly all of the others.
_FOLDS, _FOLDS_OF_FEW, _FEW_ITEMS = 10, 40, 1_000
# Weight of items like those of all labels that is added to the counts of each label.
_SHARED_WEIGHT = 1.0
# Gains that differ by less are equal.
_ROUNDING = 1e-9
# Maximum number of steps to the best F1; a handful is usual.
_STEPS = 50


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """Counts of held-out items at each threshold; they add up over batches and models.

    Attributes
    ----------
    classes
        The labels.
    right, chosen
        Weight of the true positives and of all positives; labels x thresholds.
    true
        Weight of the items that have each label.
    """

    classes: NDArray[Any]
    right: Floats
    chosen: Floats
    true: Floats

    @classmethod
    def none(cls) -> ThresholdCounts:
        """Return the counts of no items."""
        empty = np.zeros((0, len(_THRESHOLDS)))
        return cls(np.zeros(0), empty, empty, np.zeros(0))

    @classmethod
    def of(
        cls, classes: NDArray[Any], probabilities: Floats, target: Column, weight: Floats
    ) -> ThresholdCounts:
        """Count items with these probabilities; codes of the target are positions in classes."""
        # The bin of a label is the highest threshold that it reaches; 0: none.
        bins = np.searchsorted(_THRESHOLDS, probability_ratios(probabilities), side="right")
        shape = (len(classes), len(_THRESHOLDS) + 1)
        bins += np.arange(shape[0]) * shape[1]
        items, codes, _ = target.entries()
        weights = np.broadcast_to(weight[:, None], bins.shape).ravel()
        chosen = sum_at(bins.ravel(), weights, shape[0] * shape[1]).reshape(shape)
        right = sum_at(bins[items, codes], weight[items], shape[0] * shape[1]).reshape(shape)
        return cls(classes, _reached(right), _reached(chosen), right.sum(axis=1))

    def __add__(self, other: ThresholdCounts) -> ThresholdCounts:
        classes = union_of_classes(self.classes, other.classes)
        right, chosen = np.zeros((2, len(classes), len(_THRESHOLDS)))
        true = np.zeros(len(classes))
        for part in (self, other):
            places = places_of(classes, part.classes)
            right[places] += part.right
            chosen[places] += part.chosen
            true[places] += part.true
        return ThresholdCounts(classes, right, chosen, true)

    def thresholds(self, classes: NDArray[Any]) -> Floats:
        """Return the thresholds of these labels with the highest micro-F1.

        Micro-F1 is `2 right / (chosen + true)`, summed over all labels. With `half = F1 / 2`, each
        label has a threshold that maximises `right - half * chosen`; these thresholds give a higher
        F1, and so on until it rises no more.
        """
        total = self.true.sum()
        if not total:
            return np.full(len(classes), _DEFAULT)
        share = _SHARED_WEIGHT / total
        right = _smooth(self.right + share * self.right.sum(axis=0))
        chosen = _smooth(self.chosen + share * self.chosen.sum(axis=0))
        true = (1 + share * len(self.true)) * total
        half, best = 0.0, np.zeros(len(self.true), dtype=np.intp)
        labels = np.arange(len(best))
        for _ in range(_STEPS):
            best = _middle_of_best(right - half * chosen)
            higher = right[labels, best].sum() / (chosen[labels, best].sum() + true)
            if higher <= half:
                break
            half = higher
        thresholds = np.full(len(classes), _DEFAULT)
        places = places_of(self.classes, classes)
        known = places < len(self.classes)
        thresholds[known] = _THRESHOLDS[best[places[known]]]
        return thresholds


def _reached(bins: Floats) -> Floats:
    """Return the sum of the bin of each threshold and of all bins above."""
    return np.cumsum(bins[:, ::-1], axis=1)[:, ::-1][:, 1:]


def _middle_of_best(gains: Floats) -> NDArray[np.intp]:
    """Return the middle one of the thresholds with the highest gain, for each label."""
    tolerance = _ROUNDING * np.abs(gains).max(initial=1.0)
    best = gains >= gains.max(axis=1, keepdims=True) - tolerance
    lowest = _THRESHOLDS[np.argmax(best, axis=1)]
    highest = _THRESHOLDS[-1 - np.argmax(best[:, ::-1], axis=1)]
    distance = np.abs(_THRESHOLDS - (lowest + highest)[:, None] / 2)
    return np.asarray(np.argmin(np.where(best, distance, np.inf), axis=1))


def _smooth(table: Floats) -> Floats:
    """Return the table smoothed over neighbouring thresholds."""
    return np.asarray(gaussian_filter1d(table, _SMOOTHING, axis=1, mode="nearest"))


def probability_ratios(probabilities: Floats) -> Floats:
    """Return the ratio of each probability to the highest of the item."""
    return np.asarray(probabilities / probabilities.max(axis=1, keepdims=True))


def label_probabilities(probabilities: Floats, thresholds: Floats | float) -> Floats:
    """Return the probability of each label by itself, as scikit-learn expects for indicators.

    It increases with the probability of the label and is above 0.5 where the label is predicted.
    """
    ratio = probability_ratios(probabilities)
    P = ratio / (ratio + thresholds)
    P = np.where(ratio >= thresholds, np.maximum(P, np.nextafter(0.5, 1.0)), np.minimum(P, 0.5))
    return np.asarray(np.maximum(P, np.finfo(np.float64).tiny))


def held_out_counts(
    model: Model,
    observed: Observations,
    target: Column,
    sample_weight: Floats,
    hyper: Hyper,
    max_entries: int,
) -> ThresholdCounts:
    """Return the counts of learnt items, each predicted by the model without its fold."""
    counts = ThresholdCounts.none()
    n_folds = min(_FOLDS_OF_FEW if observed.n_items < _FEW_ITEMS else _FOLDS, observed.n_items)
    # Predicting needs the class above only, and folds import scikit-learn, which is slow.
    from stc._training.folds import random_folds

    fold = random_folds(observed.n_items, n_folds)
    places = places_of(model.classes, np.asarray(target.values))
    for number in range(n_folds):
        test = fold == number
        items, labels, weight = observed.select(test), target.select(test), sample_weight[test]
        try:
            others = model.subtract_items(items, labels, weight)
        except NeverLearntError:
            continue  # rounding has lost light items beside much heavier ones
        if not others.class_mass.any():
            continue  # there are no other items
        proba = Cascade(others, others.policy, hyper, max_entries).probabilities(items)
        labels = replace(labels, codes=places[labels.codes])
        counts += ThresholdCounts.of(model.classes, proba, labels, weight)
    return counts
