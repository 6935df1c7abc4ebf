"""What is true of the items, and where the model is mistaken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.target import Form, Target
from stc._input import encode_target, encode_targets, split_targets
from stc._training.label_thresholds import ratios
from stc.classifier import SparseTensorClassifier
from stc.explain import Answers
from stc.explain.names import text_of


@dataclass(frozen=True, eq=False)
class Truth:
    """The labels of each item, those predicted and those that are true.

    Attributes
    ----------
    labels
        The classes of the model in words, then labels that it never learnt.
    true, predicted
        Which label each item has: items x labels.
    multilabel
        Whether an item may have several.
    """

    labels: Sequence[str]
    true: NDArray[np.bool_]
    predicted: NDArray[np.bool_]
    multilabel: bool

    @property
    def mistaken(self) -> NDArray[np.bool_]:
        """Which items are predicted wrong, in any label."""
        return np.asarray((self.true != self.predicted).any(axis=1))


def truth_of(model: SparseTensorClassifier, answers: Answers, X: Any, y: Any) -> Truth | None:
    """The truth about the items, if it is given: in y, or in the target columns of X."""
    form = answers.model.form
    target = _target(model, X, y, form)
    if target is None:
        return None
    form.joined(target.form)
    n_items = answers.raw.n_items
    if target.column.n_items != n_items:
        raise ValueError(f"X has {n_items} items, y has {target.column.n_items}")
    return _matched(target, answers, predicted_labels(model, answers))


def predicted_labels(model: SparseTensorClassifier, answers: Answers) -> NDArray[np.bool_]:
    """Which classes are predicted for each item."""
    if answers.model.form.multilabel:
        return np.asarray(ratios(answers.probabilities) >= model.label_threshold_)
    return np.equal(answers.best[:, None], np.arange(len(answers.names.labels)))


def _target(model: SparseTensorClassifier, X: Any, y: Any, form: Form) -> Target | None:
    if model.targets is None:
        return None if y is None else encode_target(y, form)
    names = [model.targets] if isinstance(model.targets, str) else list(model.targets)
    if y is not None:
        raise ValueError(f"targets={names} are taken out of X: give no y")
    columns = split_targets(X, names, needed=False)[1]
    known = len(columns) == len(names) and not any(_missing(own) for own in columns.values())
    return encode_targets(columns) if known else None


def _missing(column: Any) -> bool:
    return any(value is None for value in column)


def _matched(target: Target, answers: Answers, predicted: NDArray[np.bool_]) -> Truth:
    """True and predicted labels in the same columns."""
    places: dict[Any, int] = {label: place for place, label in enumerate(answers.names.labels)}
    values = _labels(target, answers.model.form)
    of_value = np.array([places.setdefault(own, len(places)) for own in values], dtype=np.int64)
    items, codes, weights = target.column.entries()
    true = np.zeros((answers.raw.n_items, len(places)), dtype=bool)
    multilabel = answers.model.form.multilabel
    if not multilabel:  # of a distribution, the most probable class
        order = np.arange(len(items)) if weights is None else np.argsort(weights, kind="stable")
        likeliest = np.zeros(len(true), dtype=np.int64)
        likeliest[items[order]] = of_value[codes[order]]
        items, of_entry = np.arange(len(true)), likeliest
    else:
        of_entry = of_value[codes]
    true[items, of_entry] = True
    wider = np.zeros_like(true)
    wider[:, : predicted.shape[1]] = predicted
    return Truth([text_of(label) for label in places], true, wider, multilabel)


def _labels(target: Target, form: Form) -> list[Any]:
    """The labels of the target as Python has them, indicators by their names."""
    values = np.asarray(target.column.values)
    if form.kind == "indicator" and form.names:
        return [form.names[place] for place in values]
    return list(values.tolist())
