"""Phases as a caller gives them -> an angle for each entry of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.corpus import Phases
from stc._core.model import Model, shown
from stc._core.tensor import Subset
from stc._core.vocabulary import Attribute, Value
from stc._input.theta import numbers
from stc._input.values import canonical

Floats = NDArray[np.float64]


def given_phases(model: Model, given: Any) -> dict[Subset, Phases]:
    """Read phases out of {class: {attribute: {value: radians}}}, or an array features x classes."""
    if isinstance(given, Mapping) and not given:
        return {}
    if len(model.dimensions.names) > 1:
        raise ValueError(
            "phases can be given for one dimension only; with several, learn them: phases='learn'"
        )
    if model.dimensions.whole not in model.corpora:
        return {}  # a policy of the class frequencies alone has nothing to turn
    if not isinstance(given, Mapping):
        return {model.dimensions.whole: Phases(_of_array(model, given))}
    table = np.zeros(model.corpora[model.dimensions.whole].mass.shape)
    classes = model.form.shown_classes(model.classes)
    labels = {label: k for k, label in enumerate(_labels(model, classes))}
    for label, by_attribute in given.items():
        if label not in labels:
            known = ", ".join(map(shown, list(labels)[:5]))
            raise ValueError(f"phases names the class {label!r}, never learnt; there is {known}")
        _read_class(model, by_attribute, table[:, labels[label]])
    return {model.dimensions.whole: Phases(_at_entries(model, table))}


def _labels(model: Model, classes: Any) -> list[Any]:
    if model.form.kind == "joint":
        return list(model.classes)
    return [label.item() if isinstance(label, np.generic) else label for label in classes]


def _read_class(model: Model, by_attribute: Any, angles: Floats) -> None:
    """Enter the angles of one class."""
    if not isinstance(by_attribute, Mapping):
        raise TypeError("phases is {class: {attribute: {value: radians}}}, or of words in between")
    index = model.vocabulary.index
    if model.schema.kind != "table":  # words, or columns of counts, have no attribute
        by_attribute = {None: by_attribute}
    for attribute, by_value in by_attribute.items():
        if attribute not in index and model.schema.kind == "table":
            raise ValueError(f"phases names the attribute {attribute!r}, never learnt")
        if not isinstance(by_value, Mapping):
            raise TypeError(f"phases of {attribute!r} is {by_value!r}; give {{value: radians}}")
        for value, angle in by_value.items():
            place = _place(model, attribute, _canonical(value))
            if place is not None:  # a value that comes later starts at 0
                angles[place] = _radians(angle, f"phases of {attribute!r}, {value!r}")


def _place(model: Model, attribute: Attribute, value: Value) -> int | None:
    if model.vocabulary.index:
        where = (
            () if attribute is None and isinstance(value, tuple) else attribute
        )  # words in a row
        return model.vocabulary.index.get(where, {}).get(value)
    number = str(value).removeprefix("x")
    return int(number) if number.isdigit() and int(number) < model.vocabulary.size else None


def _canonical(value: Any) -> Value:
    if isinstance(value, tuple):
        return tuple(canonical(own) for own in value)
    return canonical(value)


def _radians(angle: Any, where: str) -> float:
    try:
        number = float("a string" if isinstance(angle, (str, bytes)) else angle)
    except (TypeError, ValueError):
        raise TypeError(f"{where}: an angle must be a number, got {angle!r}") from None
    if not np.isfinite(number):
        raise ValueError(f"{where}: an angle must be finite, got {angle!r}")
    return number


def _of_array(model: Model, given: Any) -> Floats:
    corpus = model.corpora[model.dimensions.whole]
    rows = np.flatnonzero(corpus.used_rows)
    shape = (len(rows), corpus.mass.shape[1])
    try:
        array = numbers(given)
    except (TypeError, ValueError) as error:
        raise TypeError(f"phases must be numbers: {error}") from error
    if array.shape != shape:
        raise ValueError(
            f"phases has shape {array.shape}, the corpus {shape}: a row for each of "
            "get_feature_names_out(), a column for each of classes_"
        )
    if not np.isfinite(array).all():
        raise ValueError("phases must be finite angles")
    table = np.zeros(corpus.mass.shape)
    table[rows] = array
    return _at_entries(model, table)


def _at_entries(model: Model, table: Floats) -> Floats:
    """The angles of the entries that there are."""
    mass = model.corpora[model.dimensions.whole].mass
    rows = np.repeat(np.arange(mass.shape[0]), np.diff(mass.indptr))
    return np.asarray(table[rows, mass.indices])
