"""What is true of the items, and where the model is mistaken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.target import Form, Target
from stc._input.columns import split_targets
from stc._input.targets import encode_target, encode_targets
from stc.classifier import SparseTensorClassifier
from stc.evaluation import compare
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
    comparison = compare(model.fitted_, answers, target)
    true, predicted = comparison.true, comparison.predicted
    if not comparison.multilabel:
        true, predicted = (
            np.equal(codes[:, None], np.arange(len(comparison.labels)))
            for codes in (true, predicted)
        )
    labels = [text_of(label) for label in comparison.labels]
    return Truth(labels, true, predicted, comparison.multilabel)


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
