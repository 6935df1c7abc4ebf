"""What a query holds: features, weights, classes; plain numbers, nothing of SQL yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core import formulas
from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc._core.model import Model
from stc._core.tensor import Subset
from stc._core.vocabulary import Feature, feature_name

Name = Callable[[Feature], str]

# What is left of the smallest weight beside the largest, in logarithms: its square, which phases
# take, must still be a double.
_FAINTEST = -320.0


@dataclass(frozen=True)
class Term:
    """Those features of a set that are made of the same number of single ones.

    Attributes
    ----------
    parts
        The single features of each, by number; a row for each.
    places, classes
        Of each weight: the row, and the class.
    weights
        `W_ij`, the largest of the set being 1: no probability can tell.
    angles
        `phi_ij`; None: 0.
    """

    parts: NDArray[np.int64]
    places: NDArray[np.int64]
    classes: NDArray[np.int64]
    weights: Floats
    angles: Floats | None


@dataclass(frozen=True)
class Step:
    """A set of the policy: its weights, and what a score is taken to the power of."""

    exponent: float
    terms: tuple[Term, ...]

    @property
    def turned(self) -> bool:
        """Whether there are phases."""
        return any(term.angles is not None for term in self.terms)


@dataclass(frozen=True)
class Terms:
    """All that a query holds of a model.

    Attributes
    ----------
    features
        The single features that the others are made of.
    steps
        The sets of the policy, first ones first; those without any weight are left out.
    power
        The p of `x_j^p`.
    """

    features: tuple[Feature, ...]
    steps: tuple[Step, ...]
    power: float

    @classmethod
    def of(cls, cascade: Cascade) -> Terms:
        """The weights for the hyper-parameters of now."""
        numbers: dict[Feature, int] = {}
        steps = []
        for subset in cascade.policy[:-1]:
            terms = _terms(cascade, subset, numbers)
            phases = cascade.phases.get(subset)
            sharpness = 1.0 if phases is None else phases.sharpness
            if terms:
                steps.append(Step(sharpness / cascade.hyper.power, terms))
        return cls(tuple(numbers), tuple(steps), cascade.hyper.power)

    def named(self, name: Name) -> list[str]:
        """The features in words, refusing those that two of them share."""
        names = [name(feature) for feature in self.features]
        if len(set(names)) < len(names):
            seen: dict[str, Feature] = {}
            for own, feature in zip(names, self.features, strict=True):
                if own in seen:
                    raise ValueError(
                        f"two features are named {own!r}, {seen[own]} and {feature}: no table of "
                        "features can tell them apart; rename an attribute, or give data="
                    )
                seen[own] = feature
        return names

    @property
    def attributes(self) -> list[str]:
        """The attributes of the features, each once."""
        return list(dict.fromkeys(str(attribute) for attribute, _ in self.features))


def spelt(feature: Feature) -> str:
    """A feature in words."""
    return feature_name(*feature)


def told_apart(feature: Feature) -> str:
    """The same, but whatever attributes are named, no two features are named alike."""
    attribute, value = feature
    return feature_name(escaped(str(attribute)), value)


def escaped(attribute: str) -> str:
    """The name of an attribute without a bare "=", which is where its values begin."""
    return attribute.replace("\\", "\\\\").replace("=", "\\=")


def _terms(cascade: Cascade, subset: Subset, numbers: dict[Feature, int]) -> tuple[Term, ...]:
    """The weights of a set, by the number of single features; new ones get the next number."""
    log_W = formulas.log_weights(cascade.model.corpora[subset].mass, *cascade.hyper)
    phases = cascade.phases.get(subset)
    angles = None if phases is None or not phases.angles.any() else phases.angles
    kept = np.flatnonzero(np.isfinite(log_W.data))
    if not len(kept):
        return ()
    logarithms = log_W.data[kept] - log_W.data[kept].max()
    if logarithms.min() < _FAINTEST:
        raise ValueError(
            "the weights of the model are too far apart for the numbers of a database: "
            f"the smallest is e^{logarithms.min():.0f} of the largest; lower power or entropy"
        )
    rows = np.repeat(np.arange(log_W.shape[0]), np.diff(log_W.indptr))[kept]
    used, places = np.unique(rows, return_inverse=True)
    parts = [_parts(own) for own in cascade.model.features(subset, used)]
    sizes = np.array([len(own) for own in parts])
    terms = []
    for size in np.unique(sizes).tolist():
        own = np.flatnonzero(sizes == size)
        mine = np.flatnonzero(np.isin(places, own))
        terms.append(
            Term(
                _numbered((parts[k] for k in own.tolist()), numbers),
                np.searchsorted(own, places[mine]),
                log_W.indices[kept[mine]].astype(np.int64),
                np.exp(logarithms[mine]),
                None if angles is None else angles[kept[mine]],
            )
        )
    return tuple(terms)


def _parts(features: Iterable[Feature]) -> list[Feature]:
    """The single features of a tuple; words in a row are one, which no bag of words shows."""
    parts: list[Feature] = []
    for attribute, value in features:
        if isinstance(attribute, tuple) and attribute and isinstance(value, tuple):
            parts.extend(zip(attribute, value, strict=True))
        else:
            parts.append((attribute, value))
    return parts


def _numbered(parts: Iterable[Iterable[Feature]], numbers: dict[Feature, int]) -> NDArray[np.int64]:
    rows = [[numbers.setdefault(feature, len(numbers)) for feature in own] for own in parts]
    return np.array(rows, dtype=np.int64)


@dataclass(frozen=True)
class Answers:
    """What the classes are called, and what an item of which nothing is known gets.

    Attributes
    ----------
    labels
        Of each target (one, unless there are several): the label of each class.
    targets
        The names of the targets.
    kind
        The form of y.
    frequencies
        Share of each class among all items learnt.
    thresholds
        With several labels an item, from which share of the most probable one a label is given.
    """

    labels: tuple[list[Any], ...]
    targets: tuple[str, ...]
    kind: str
    frequencies: Floats
    thresholds: Floats | None

    @classmethod
    def of(cls, model: Model, thresholds: Floats | None) -> Answers:
        """The answers of a model."""
        form = model.form
        if form.kind == "indicator":
            labels = [form.shown_classes(model.classes)]
        else:
            labels = form.by_target(model.classes)
        plain = tuple([_plain(label) for label in own] for own in labels)
        given = thresholds if form.multilabel else None
        return cls(plain, form.target_names, form.kind, model.frequencies, given)

    @property
    def joint(self) -> bool:
        """Whether there are several targets."""
        return self.kind == "joint"

    @property
    def names(self) -> set[str]:
        """All labels, as they are written."""
        return {str(label) for own in self.labels for label in own}

    @property
    def size(self) -> int:
        """Number of classes."""
        return len(self.frequencies)


def _plain(label: Any) -> Any:
    """A label as SQL can hold it: text, a number or a truth value."""
    own = label.item() if isinstance(label, np.generic) and label.dtype.kind in "biuf" else label
    return own if isinstance(own, bool | int | float) else str(own)
