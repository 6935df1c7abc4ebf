"""What a query holds of a model, as plain numbers: features, weights, classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc._core.tensor import Subset
from stc._core.vocabulary import Feature, feature_name
from stc.exceptions import DataError, ParameterError

# The least logarithm of a weight, relative to the largest: its square, which phases need, must not
# underflow.
_MIN_LOGARITHM = -320.0


@dataclass(frozen=True)
class Term:
    """The weights of those features of a set that consist of the same number of single features.

    Attributes
    ----------
    parts
        The numbers of the single features, a row for each feature.
    places, classes
        The row and the class of each weight.
    weights
        `W_ij`, relative to the largest of the set, which leaves probabilities as they are.
    angles
        `phi_ij`; None if all are 0.
    """

    parts: NDArray[np.int64]
    places: NDArray[np.int64]
    classes: NDArray[np.int64]
    weights: Floats
    angles: Floats | None


@dataclass(frozen=True)
class Step:
    """The weights of a set of the policy, and the exponent of its scores."""

    exponent: float
    terms: tuple[Term, ...]

    @property
    def has_phases(self) -> bool:
        """Whether there are phases."""
        return any(term.angles is not None for term in self.terms)


@dataclass(frozen=True)
class ModelWeights:
    """The features and weights of a model.

    Attributes
    ----------
    features
        The single features.
    steps
        The sets of the policy in order, without those that have no weights.
    power
        The p of `x_j^p`.
    """

    features: tuple[Feature, ...]
    steps: tuple[Step, ...]
    power: float

    @classmethod
    def of(cls, cascade: Cascade) -> ModelWeights:
        """Return the weights of a model for its current hyper-parameters."""
        numbers: dict[Feature, int] = {}
        steps = []
        for subset in cascade.policy[:-1]:
            terms = _terms(cascade, subset, numbers)
            if terms:
                steps.append(Step(cascade.sharpness(subset) / cascade.hyper.power, terms))
        return cls(tuple(numbers), tuple(steps), cascade.hyper.power)

    def named(self, name: Callable[[Feature], str]) -> list[str]:
        """Return the names of the features, which must be unique."""
        features: dict[str, Feature] = {}
        for feature in self.features:
            first = features.setdefault(name(feature), feature)
            if first is not feature:
                raise DataError(
                    f"the features {first} and {feature} have the same name {name(feature)!r}, "
                    "which is ambiguous in a table of features",
                    hint="rename an attribute, or give data=",
                )
        return list(features)

    @property
    def attributes(self) -> list[str]:
        """The attributes of the features, each once."""
        return list(dict.fromkeys(str(attribute) for attribute, _ in self.features))


def escaped_name(feature: Feature) -> str:
    """Return a name of a feature that no other feature has, whatever attributes are called."""
    attribute, value = feature
    return feature_name(escaped(str(attribute)), value)


def escaped(attribute: str) -> str:
    """Return the name of an attribute without a bare "=", which separates it from its value."""
    return attribute.replace("\\", "\\\\").replace("=", "\\=")


def _terms(cascade: Cascade, subset: Subset, numbers: dict[Feature, int]) -> tuple[Term, ...]:
    """Return the weights of a set by the number of single features; new ones are numbered."""
    log_W, angles = cascade.log_weights(subset)
    nonzero = np.flatnonzero(np.isfinite(log_W.data))
    if not len(nonzero):
        return ()
    logarithms = log_W.data[nonzero] - log_W.data[nonzero].max()
    if logarithms.min() < _MIN_LOGARITHM:
        raise ParameterError(
            "the weights of the model are too far apart for the numbers of a database: the "
            f"smallest is e^{logarithms.min():.0f} of the largest",
            hint="lower power or entropy",
        )
    rows = np.repeat(np.arange(log_W.shape[0]), np.diff(log_W.indptr))[nonzero]
    used, places = np.unique(rows, return_inverse=True)
    parts = [_parts(features) for features in cascade.model.features(subset, used)]
    sizes = np.array(list(map(len, parts)))
    terms = []
    for size in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == size)
        entries = np.flatnonzero(np.isin(places, members))
        numbered = [
            [numbers.setdefault(feature, len(numbers)) for feature in parts[k]]
            for k in members.tolist()
        ]
        terms.append(
            Term(
                np.array(numbered, dtype=np.int64),
                np.searchsorted(members, places[entries]),
                log_W.indices[nonzero[entries]].astype(np.int64),
                np.exp(logarithms[entries]),
                None if angles is None else angles[nonzero[entries]],
            )
        )
    return tuple(terms)


def _parts(features: Iterable[Feature]) -> list[Feature]:
    """Return the single features of a tuple; an n-gram is one, as a bag has no order."""
    parts: list[Feature] = []
    for attribute, value in features:
        if isinstance(attribute, tuple) and attribute and isinstance(value, tuple):
            parts.extend(zip(attribute, value, strict=True))
        else:
            parts.append((attribute, value))
    return parts


@dataclass(frozen=True)
class Classes:
    """The classes of a model, and the answer for items without known features.

    Attributes
    ----------
    labels
        The label of each class, a list for each target.
    targets
        The names of the targets.
    kind
        The form of y.
    frequencies
        The probability of each class for items without a score.
    floor
        The least probability of each class; None if it is 0.
    thresholds
        With several labels per item, the ratio to the most probable label from which a label is
        predicted.
    """

    labels: tuple[list[Any], ...]
    targets: tuple[str, ...]
    kind: str
    frequencies: Floats
    floor: Floats | None
    thresholds: Floats | None

    @classmethod
    def of(cls, cascade: Cascade, thresholds: Floats | None) -> Classes:
        """Return the classes of a model."""
        model = cascade.model
        form, floor = model.form, model.floor(cascade.hyper.floor)
        if form.kind == "indicator":
            targets = [form.public_classes(model.classes)]
        else:
            targets = form.by_target(model.classes)
        labels = tuple(list(map(_sql_value, labels)) for labels in targets)
        thresholds = thresholds if form.multilabel else None
        degenerate = np.full((1, len(model.classes)), -np.inf)
        (unknown,) = cascade.probabilities_of(degenerate, np.zeros(1, dtype=np.int64))
        return cls(labels, form.target_names, form.kind, unknown, floor, thresholds)

    @property
    def joint(self) -> bool:
        """Whether there are several targets."""
        return self.kind == "joint"

    @property
    def names(self) -> set[str]:
        """All labels as text."""
        return {str(label) for labels in self.labels for label in labels}

    @property
    def size(self) -> int:
        """Number of classes."""
        return len(self.frequencies)


def _sql_value(label: Any) -> Any:
    """Return a label as SQL can hold it: text, a number or a boolean."""
    if isinstance(label, np.generic) and label.dtype.kind in "biuf":
        label = label.item()
    return label if isinstance(label, bool | int | float) else str(label)
