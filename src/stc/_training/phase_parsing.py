"""Phases given by a user -> an angle for each entry of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stc._core.corpus import Phases
from stc._core.formulas import Floats
from stc._core.labels import label_repr, plain_label
from stc._core.model import Model
from stc._core.observations import items_of
from stc._core.tensor import Subset
from stc._core.vocabulary import Attribute, Value
from stc._input.theta import numbers
from stc._input.values import canonical
from stc.exceptions import ParameterError, ParameterTypeError


def read_phases(model: Model, given: Any) -> dict[Subset, Phases]:
    """Return the phases given as {class: {attribute: {value: radians}}} or as an array.

    An array has a row for each feature and a column for each class.
    """
    if isinstance(given, Mapping) and not given:
        return {}
    if len(model.dimensions.names) > 1:
        raise ParameterError(
            "phases can be given for one dimension only",
            hint="with several dimensions, learn them: phases='learn'",
        )
    whole = model.dimensions.whole
    if whole not in model.corpora:
        return {}  # the policy uses the class frequencies alone
    table = _read_mapping(model, given) if isinstance(given, Mapping) else _read_array(model, given)
    mass = model.corpora[whole].mass
    return {whole: Phases(np.asarray(table[items_of(mass.indptr), mass.indices]))}


def _read_mapping(model: Model, given: Mapping[Any, Any]) -> Floats:
    """Return the angles of a mapping, features x classes."""
    table = np.zeros(model.corpora[model.dimensions.whole].mass.shape)
    columns = {label: column for column, label in enumerate(_labels(model))}
    for label, by_attribute in given.items():
        label = plain_label(label)
        if label not in columns:
            known = ", ".join(map(label_repr, list(columns)[:5]))
            raise ParameterError(
                f"phases has the class {label!r}, which was never learnt; learnt were {known}"
            )
        _read_class(model, by_attribute, table[:, columns[label]])
    return table


def _labels(model: Model) -> list[Any]:
    """Return the classes as a user writes them."""
    if model.form.kind == "joint":
        return list(model.classes)
    return list(map(plain_label, model.form.public_classes(model.classes)))


def _read_class(model: Model, by_attribute: Any, angles: Floats) -> None:
    """Enter the angles of one class in its column of the table."""
    if not isinstance(by_attribute, Mapping):
        raise ParameterTypeError(
            f"phases of a class must be a mapping, got {type(by_attribute).__name__}",
            hint="give {class: {attribute: {value: radians}}}, or {class: {word: radians}}",
        )
    is_table = model.schema.kind == "table"
    if not is_table:  # words and columns of counts have no attribute
        by_attribute = {None: by_attribute}
    for attribute, by_value in by_attribute.items():
        column = None if attribute is None else str(attribute)
        if is_table and attribute not in model.vocabulary.index:
            raise ParameterError("phases has an attribute that was never learnt", column=column)
        if not isinstance(by_value, Mapping):
            raise ParameterTypeError(
                f"phases of an attribute must be a mapping, got {by_value!r}",
                column=column,
                hint="give {value: radians}",
            )
        for value, angle in by_value.items():
            row = _row(model, attribute, value)
            if row is not None:  # phases of values that are learnt later start at 0
                angles[row] = _radians(angle, value, column)


def _row(model: Model, attribute: Attribute, value: Any) -> int | None:
    """Return the row of a feature in the corpus, or None if it was never learnt."""
    name: Value = tuple(map(canonical, value)) if isinstance(value, tuple) else canonical(value)
    if model.vocabulary.index:
        is_ngram = attribute is None and isinstance(name, tuple)
        return model.vocabulary.index.get(() if is_ngram else attribute, {}).get(name)
    number = str(name).removeprefix("x")
    return int(number) if number.isdigit() and int(number) < model.vocabulary.size else None


def _radians(angle: Any, value: Any, column: str | None) -> float:
    """Return an angle as a finite number."""
    try:
        number = float("a string" if isinstance(angle, (str, bytes)) else angle)
    except (TypeError, ValueError):
        message = f"phase of {value!r}: an angle must be a number, got {angle!r}"
        raise ParameterTypeError(message, column=column) from None
    if not np.isfinite(number):
        message = f"phase of {value!r}: an angle must be finite, got {angle!r}"
        raise ParameterError(message, column=column)
    return number


def _read_array(model: Model, given: Any) -> Floats:
    """Return the angles of an array, features x classes, with 0 for features without items."""
    corpus = model.corpora[model.dimensions.whole]
    rows = np.flatnonzero(corpus.used_rows)
    shape = (len(rows), corpus.mass.shape[1])
    try:
        array = numbers(given)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(f"phases must be numbers: {error}") from error
    if array.shape != shape:
        raise ParameterError(
            f"phases has shape {array.shape}, the corpus {shape}",
            hint="give a row for each of get_feature_names_out(), a column for each of classes_",
        )
    if not np.isfinite(array).all():
        raise ParameterError("phases must be finite angles")
    table = np.zeros(corpus.mass.shape)
    table[rows] = array
    return table
