"""Gains and phases given by a user -> a gain and an angle for each entry of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from stc._core.corpus import Amplitudes
from stc._core.formulas import Floats
from stc._core.labels import label_repr, plain_label
from stc._core.model import Model
from stc._core.observations import items_of
from stc._core.tensor import Subset
from stc._core.vocabulary import Attribute, Value
from stc._input.theta import numbers
from stc._input.values import canonical
from stc.exceptions import ParameterError, ParameterTypeError


class _Parameter(NamedTuple):
    """A parameter that holds numbers for entries.

    Attributes
    ----------
    name
        Its name.
    number
        What each number is.
    unit
        How its values are written in hints.
    neutral
        The number of entries that are not named.
    least
        The least number that is allowed.
    """

    name: str
    number: str
    unit: str
    neutral: float
    least: float


_PHASES = _Parameter("phases", "an angle", "radians", 0.0, -np.inf)
_GAINS = _Parameter("gains", "a gain", "gain", 1.0, 0.0)


def read_amplitudes(model: Model, gains: Any, phases: Any) -> dict[Subset, Amplitudes]:
    """Return the gains and phases that are given, or None, for each entry.

    Each is {class: {attribute: {value: number}}}, or an array with a row for each feature and a
    column for each class.
    """
    given = [
        (parameter, numbers)
        for parameter, numbers in ((_GAINS, gains), (_PHASES, phases))
        if numbers is not None and not (isinstance(numbers, Mapping) and not numbers)
    ]
    if not given:
        return {}
    if len(model.dimensions.names) > 1:
        raise ParameterError(
            f"{given[0][0].name} can be given for one dimension only",
            hint="with several dimensions, learn phases: phases='learn'",
        )
    whole = model.dimensions.whole
    if whole not in model.corpora:
        return {}  # the policy uses the class frequencies alone
    mass = model.corpora[whole].mass
    tables = {parameter.name: _read(model, parameter, numbers) for parameter, numbers in given}
    entries = items_of(mass.indptr), mass.indices
    neutral = Amplitudes.neutral(mass.nnz)
    return {
        whole: Amplitudes(
            np.asarray(tables["gains"][entries]) if "gains" in tables else neutral.gains,
            np.asarray(tables["phases"][entries]) if "phases" in tables else neutral.angles,
        )
    }


def _read(model: Model, parameter: _Parameter, given: Any) -> Floats:
    """Return the numbers of a parameter, features x classes."""
    read = _read_mapping if isinstance(given, Mapping) else _read_array
    return read(model, parameter, given)


def _read_mapping(model: Model, parameter: _Parameter, given: Mapping[Any, Any]) -> Floats:
    shape = model.corpora[model.dimensions.whole].mass.shape
    table = np.full(shape, parameter.neutral)
    columns = {label: column for column, label in enumerate(_labels(model))}
    for label, by_attribute in given.items():
        label = plain_label(label)
        if label not in columns:
            known = ", ".join(map(label_repr, list(columns)[:5]))
            raise ParameterError(
                f"{parameter.name} has the class {label!r}, which was never learnt; "
                f"learnt were {known}"
            )
        _read_class(model, parameter, by_attribute, table[:, columns[label]])
    return table


def _labels(model: Model) -> list[Any]:
    """Return the classes as a user writes them."""
    if model.form.kind == "joint":
        return list(model.classes)
    return list(map(plain_label, model.form.public_classes(model.classes)))


def _read_class(model: Model, parameter: _Parameter, by_attribute: Any, column: Floats) -> None:
    """Enter the numbers of one class in its column of the table."""
    shape = f"{{value: {parameter.unit}}}"
    if not isinstance(by_attribute, Mapping):
        raise ParameterTypeError(
            f"{parameter.name} of a class must be a mapping, got {type(by_attribute).__name__}",
            hint=f"give {{class: {{attribute: {shape}}}}}; of words {{class: {shape}}}",
        )
    is_table = model.schema.kind == "table"
    if not is_table:  # words and columns of counts have no attribute
        by_attribute = {None: by_attribute}
    for attribute, by_value in by_attribute.items():
        name = None if attribute is None else str(attribute)
        if is_table and attribute not in model.vocabulary.index:
            message = f"{parameter.name} has an attribute that was never learnt"
            raise ParameterError(message, column=name)
        if not isinstance(by_value, Mapping):
            raise ParameterTypeError(
                f"{parameter.name} of an attribute must be a mapping, got {by_value!r}",
                column=name,
                hint=f"give {shape}",
            )
        for value, number in by_value.items():
            row = _row(model, attribute, value)
            if row is not None:  # values that are learnt later are neutral
                column[row] = _number(parameter, number, value, name)


def _row(model: Model, attribute: Attribute, value: Any) -> int | None:
    """Return the row of a feature in the corpus, or None if it was never learnt."""
    name: Value = tuple(map(canonical, value)) if isinstance(value, tuple) else canonical(value)
    if model.vocabulary.index:
        is_ngram = attribute is None and isinstance(name, tuple)
        return model.vocabulary.index.get(() if is_ngram else attribute, {}).get(name)
    number = str(name).removeprefix("x")
    return int(number) if number.isdigit() and int(number) < model.vocabulary.size else None


def _number(parameter: _Parameter, given: Any, value: Any, column: str | None) -> float:
    """Return a number that is valid."""
    where = f"{parameter.name.removesuffix('s')} of {value!r}: {parameter.number} must be"
    try:
        number = float("a string" if isinstance(given, (str, bytes)) else given)
    except (TypeError, ValueError):
        raise ParameterTypeError(f"{where} a number, got {given!r}", column=column) from None
    if not _valid(parameter, np.array(number)):
        raise ParameterError(f"{where} {_range(parameter)}, got {given!r}", column=column)
    return number


def _valid(parameter: _Parameter, numbers: Floats) -> bool:
    return bool(np.isfinite(numbers).all() and (numbers >= parameter.least).all())


def _range(parameter: _Parameter) -> str:
    return "finite" if np.isinf(parameter.least) else f"finite and at least {parameter.least:g}"


def _read_array(model: Model, parameter: _Parameter, given: Any) -> Floats:
    """Return the numbers of an array; those of features without items are neutral."""
    corpus = model.corpora[model.dimensions.whole]
    rows = np.flatnonzero(corpus.used_rows)
    shape = (len(rows), corpus.mass.shape[1])
    try:
        array = numbers(given)
    except (TypeError, ValueError) as error:
        raise ParameterTypeError(f"{parameter.name} must be numbers: {error}") from error
    if array.shape != shape:
        raise ParameterError(
            f"{parameter.name} has shape {array.shape}, the corpus {shape}",
            hint="give a row for each of get_feature_names_out(), a column for each of classes_",
        )
    if not _valid(parameter, array):
        raise ParameterError(f"{parameter.name}: each must be {_range(parameter)}")
    table = np.full(corpus.mass.shape, parameter.neutral)
    table[rows] = array
    return table
