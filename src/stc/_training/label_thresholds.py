"""Several labels an item: how probable, beside the most probable one, is enough for each label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit, logit

from stc._core.cascade import Cascade, Hyper
from stc._core.formulas import Floats
from stc._core.model import Model, union_of_classes
from stc._core.observations import Column, Observations, sum_at
from stc.exceptions import NeverLearntError

# The thresholds there are to choose from: evenly spaced in the logarithm of their odds, and 1.
_THRESHOLDS = np.append(expit(np.linspace(logit(1e-4), logit(0.999), 240)), 1.0)
# Neighbours vouch for each other, so far (in steps): the best of many is else the luckiest.
_NEIGHBOURS = 2.0
# Without any evidence.
_DEFAULT = 0.5
# Few items get more folds, so that each is judged by nearly the whole of the others.
_FEW_ITEMS = 1_000
_FOLDS_OF_FEW = 40
_FOLDS = 10
# A label is judged by its own items and by so many like those of all labels.
_BORROWED = 1.0
# Gains that differ by less are the same.
_ROUNDING = 1e-9
# Steps to the best F1; it gets there in a handful.
_STEPS = 50


@dataclass(frozen=True, eq=False)
class Evidence:
    """How thresholds did on items held out; it adds up over batches and models.

    Attributes
    ----------
    classes
        The labels.
    right, chosen
        Weight of the items that a threshold gives a label, rightly and at all; labels x thresholds.
    true
        Weight of the items that have a label.
    """

    classes: NDArray[Any]
    right: Floats
    chosen: Floats
    true: Floats

    @classmethod
    def none(cls) -> Evidence:
        """Nothing was tried yet."""
        nothing = np.zeros((0, len(_THRESHOLDS)))
        return cls(np.zeros(0), nothing, nothing, np.zeros(0))

    @classmethod
    def of(
        cls, classes: NDArray[Any], probabilities: Floats, target: Column, weight: Floats
    ) -> Evidence:
        """Try all thresholds on these probabilities; the codes of the target name the classes."""
        # A label's bin is the highest threshold that it reaches; 0: not even the lowest.
        bins = np.searchsorted(_THRESHOLDS, ratios(probabilities), side="right")
        shape = (len(classes), len(_THRESHOLDS) + 1)
        bins += np.arange(shape[0]) * shape[1]
        items, codes, _ = target.entries()
        every = np.broadcast_to(weight[:, None], bins.shape).ravel()
        chosen = sum_at(bins.ravel(), every, shape[0] * shape[1]).reshape(shape)
        right = sum_at(bins[items, codes], weight[items], shape[0] * shape[1]).reshape(shape)
        return cls(classes, _reached(right), _reached(chosen), right.sum(axis=1))

    def __add__(self, other: Evidence) -> Evidence:
        classes = union_of_classes(self.classes, other.classes)
        right, chosen = np.zeros((2, len(classes), len(_THRESHOLDS)))
        true = np.zeros(len(classes))
        for part in (self, other):
            places = np.searchsorted(classes, part.classes)
            right[places] += part.right
            chosen[places] += part.chosen
            true[places] += part.true
        return Evidence(classes, right, chosen, true)

    def thresholds(self, classes: NDArray[Any]) -> Floats:
        """The thresholds of these labels that together give the highest micro-F1.

        That is `2 right / (chosen + true)` over all labels. For a share `F1 / 2` of right ones that
        a chosen one must pay, each label has its own best threshold; they give a higher F1, until
        none does.
        """
        total = self.true.sum()
        if not total:
            return np.full(len(classes), _DEFAULT)
        share = _BORROWED / total
        right = _smooth(self.right + share * self.right.sum(axis=0))
        chosen = _smooth(self.chosen + share * self.chosen.sum(axis=0))
        true = (1 + share * len(self.true)) * total
        half, best = 0.0, np.zeros(len(self.true), dtype=np.intp)
        every = np.arange(len(best))
        for _ in range(_STEPS):
            best = _middle_of_best(right - half * chosen)
            better = right[every, best].sum() / (chosen[every, best].sum() + true)
            if better <= half:
                break
            half = better
        found = np.full(len(classes), _DEFAULT)
        known = np.isin(classes, self.classes)
        found[known] = _THRESHOLDS[best[np.searchsorted(self.classes, classes[known])]]
        return found


def _reached(bins: Floats) -> Floats:
    """Sum of each threshold's bin and all above."""
    return np.cumsum(bins[:, ::-1], axis=1)[:, ::-1][:, 1:]


def _middle_of_best(gains: Floats) -> NDArray[np.intp]:
    """Of the thresholds that do best for a label, the middle one: the outermost are luck."""
    tolerance = _ROUNDING * np.abs(gains).max(initial=1.0)
    best = gains >= gains.max(axis=1, keepdims=True) - tolerance
    lowest = _THRESHOLDS[np.argmax(best, axis=1)]
    highest = _THRESHOLDS[-1 - np.argmax(best[:, ::-1], axis=1)]
    distance = np.abs(_THRESHOLDS - (lowest + highest)[:, None] / 2)
    return np.asarray(np.argmin(np.where(best, distance, np.inf), axis=1))


def _smooth(table: Floats) -> Floats:
    """Each threshold as its neighbours see it."""
    return np.asarray(gaussian_filter1d(table, _NEIGHBOURS, axis=1, mode="nearest"))


def ratios(probabilities: Floats) -> Floats:
    """Each label's probability over the highest of the item."""
    return np.asarray(probabilities / probabilities.max(axis=1, keepdims=True))


def each_alone(probabilities: Floats, thresholds: Floats | float) -> Floats:
    """Probability of each label on its own, as scikit-learn wants it of an indicator.

    It rises with the label's share and is above one half where the label is predicted.
    """
    ratio = ratios(probabilities)
    alone = ratio / (ratio + thresholds)
    enough = np.nextafter(0.5, 1.0)
    alone = np.where(ratio >= thresholds, np.maximum(alone, enough), np.minimum(alone, 0.5))
    return np.asarray(np.maximum(alone, np.finfo(np.float64).tiny))


def cross_fitted(
    model: Model,
    observed: Observations,
    target: Column,
    sample_weight: NDArray[np.float64],
    hyper: Hyper,
    max_tuples: int,
) -> Evidence:
    """Evidence of items that the model has learnt, each judged by the model without its fold."""
    found = Evidence.none()
    few = observed.n_items < _FEW_ITEMS
    folds = min(_FOLDS_OF_FEW if few else _FOLDS, observed.n_items)
    fold = np.random.default_rng(0).permutation(observed.n_items) % folds
    places = np.searchsorted(model.classes, np.asarray(target.values))
    for number in range(folds):
        held = fold == number
        items, own, weight = observed.select(held), target.select(held), sample_weight[held]
        try:
            others = model.without(items, own, weight)
        except NeverLearntError:
            continue  # weights so far apart that rounding has eaten the lighter ones
        if not others.class_mass.any():
            continue  # the first item of all has nobody to judge it
        proba = Cascade(others, others.policy, hyper, max_tuples).probabilities(items)
        own = replace(own, codes=places[own.codes])
        found += Evidence.of(model.classes, proba, own, weight)
    return found
