"""True and predicted labels of the items of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.target import Target, TargetForm
from stc._input.columns import split_targets
from stc._input.targets import encode_target, encode_targets
from stc.classifier import SparseTensorClassifier
from stc.evaluation import compare
from stc.exceptions import ParameterError
from stc.explain import Answers, label_text


@dataclass(frozen=True, eq=False)
class Truth:
    """True and predicted labels of the items.

    Attributes
    ----------
    labels
        The classes of the model as text, then labels not seen in training.
    true, predicted
        Whether an item has a label: items x labels.
    multilabel
        Whether an item may have several labels.
    """

    labels: Sequence[str]
    true: NDArray[np.bool_]
    predicted: NDArray[np.bool_]
    multilabel: bool

    @property
    def mistaken(self) -> NDArray[np.bool_]:
        """Whether any label of an item is predicted wrongly."""
        return np.asarray((self.true != self.predicted).any(axis=1))


def truth_of(model: SparseTensorClassifier, answers: Answers, X: Any, y: Any) -> Truth | None:
    """Return the true and predicted labels, if the true ones are in y or in columns of X."""
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
    labels = [label_text(label) for label in comparison.labels]
    return Truth(labels, true, predicted, comparison.multilabel)


def _target(model: SparseTensorClassifier, X: Any, y: Any, form: TargetForm) -> Target | None:
    if model.targets is None:
        return None if y is None else encode_target(y, form)
    names = [model.targets] if isinstance(model.targets, str) else list(model.targets)
    if y is not None:
        raise ParameterError(f"targets={names} are columns of X", hint="give no y")
    columns = split_targets(X, names, needed=False)[1]
    missing = any(value is None for column in columns.values() for value in column)
    return None if missing or len(columns) < len(names) else encode_targets(columns)
