"""The header of a stored model: everything but its entries, as JSON.

`FIELDS` is its only description. The writer, the reader, the validation and the table in
docs/format.md (`python -m stc.io.header_table`) follow it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any, get_args

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from stc._core.formulas import Hyper
from stc._core.interactions import Interactions
from stc._core.observations import Missing
from stc._core.scales import Knots, Ranks, Scale
from stc._core.schema import KIND_NAMES, Schema
from stc._core.target import FORM_NAMES, TargetForm
from stc._core.tensor import Dimensions
from stc._input.reader import Roles
from stc._training.label_thresholds import ThresholdCounts
from stc._training.state import CHOICES, PHASE_HISTORY, POLICY_STATES, FittedState, LooScore
from stc.exceptions import DataTypeError, ModelFileError, ParameterTypeError
from stc.io.columns import class_names, feature_order
from stc.io.json_values import from_json, json_text, to_json
from stc.io.shapes import (
    BOOLEAN,
    COUNT,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    POSITIVE,
    STRING,
    Shape,
    either,
    list_of,
    object_of,
    object_with,
    one_of,
)

# The version of the header and of the entries. Version 1 lacks some parameters.
FORMAT = 2

# The values of parameters that earlier files do not have.
_ABSENT = {"prior": 0.0, "sharpness": 1.0, "floor": 0.0, "scoring": None, "gains": None}
# The names that parameters had in format 1.
_RENAMED = {"max_tuples": "max_entries"}
# The fields that format 1 did not have.
_NEW_FIELDS: dict[str, Any] = {"chosen": {}, "choices": None, "loo": None}

# The parameters of SparseTensorClassifier: what `save` writes, and no more is read.
PARAMETERS = frozenset(
    (
        "power", "balance", "entropy", "prior", "sharpness", "floor",
        "dimensions", "policy", "phases", "gains", "interactions", "min_support", "max_features",
        "ngrams", "continuous", "ordinal", "targets", "label_threshold", "missing", "tokenizer",
        "max_entries", "scoring",
    )
)  # fmt: skip

_STRINGS = list_of(STRING)
_UNREADABLE = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, PolarsError
)  # fmt: skip
_CONTAINERS: dict[str, type] = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}


# --- fields with a type of their own ------------------------------------------------------------


def _parameter_to_json(name: str, value: Any) -> Any:
    if name == "tokenizer" and value is not None:
        return {"given": getattr(value, "__qualname__", type(value).__name__)}
    try:
        return to_json(value)
    except DataTypeError as error:
        raise ParameterTypeError(
            f"{name}: {error}", hint="files and stores hold plain data only"
        ) from None


def _parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _parameter_to_json(name, parameters[name]) for name in sorted(parameters)}


def _parameters_from_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    parameters = {_RENAMED.get(name, name): value for name, value in parameters.items()}
    unknown = next((name for name in parameters if name not in PARAMETERS), None)
    if unknown is not None:
        raise ModelFileError(f"{unknown!r:.80} is not a parameter of a model")
    values = {
        name: _read_value(f"header.parameters.{name}", partial(_parameter_from_json, name), value)
        for name, value in parameters.items()
    }
    return {"tokenizer": None, **_ABSENT, **values}


def _parameter_from_json(name: str, value: Any) -> Any:
    if name == "tokenizer" and value is not None:
        object_with(given=STRING).check(value, name)
        return value["given"]
    return from_json(value)


def _read_value(where: str, read: Callable[[Any], Any], value: Any) -> Any:
    """Return a value of the header, or raise an error that names its place."""
    try:
        return read(value)
    except ModelFileError as error:
        raise ModelFileError(f"{where}: {error.message}", hint=error.hint) from None
    except _UNREADABLE as error:
        cause = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise ModelFileError(f"{where} cannot be read ({cause:.120})") from None


def _dimensions_from_json(value: Mapping[str, Any]) -> Dimensions:
    groups = value["attributes"]
    return Dimensions(tuple(value["names"]), groups and tuple(map(tuple, groups)), value["each"])


def _form_to_json(form: TargetForm) -> dict[str, Any]:
    return {
        **vars(form),
        "dtypes": [dtype.str for dtype in form.dtypes],
        "container": form.container.__name__,
    }


def _form_from_json(value: Mapping[str, Any]) -> TargetForm:
    return TargetForm(
        value["kind"],
        tuple(value["names"]),
        tuple(map(np.dtype, value["dtypes"])),
        value["width"],
        _CONTAINERS[value["container"]],
    )


def _scale_from_json(value: Mapping[str, Any]) -> Scale:
    return Knots(tuple(value["knots"])) if "knots" in value else Ranks(tuple(value["order"]))


def _interactions_to_json(interactions: Interactions) -> dict[str, Any]:
    chosen: Any = interactions.chosen
    if chosen is not None:
        chosen = [[names, sorted(values, key=repr)] for names, values in chosen.items()]
    attributes = interactions.attributes
    return {
        "order": int(interactions.order),
        "ngrams": int(interactions.ngrams),
        "chosen": chosen,
        "attributes": None if attributes is None else [list(names) for names in sorted(attributes)],
    }


def _interactions_from_json(value: Mapping[str, Any]) -> Interactions:
    chosen = value["chosen"]
    if chosen is not None:
        chosen = {tuple(names): frozenset(map(as_tuple, values)) for names, values in chosen}
    attributes = value["attributes"]
    if attributes is not None:
        attributes = frozenset(map(tuple, attributes))
    interactions = Interactions(value["order"], chosen, value["ngrams"], attributes)
    _check_written_so(value, _interactions_to_json(interactions))
    return interactions


def _frame_to_json(frame: pl.DataFrame | None) -> dict[str, Any] | None:
    if frame is None:
        return None
    return {name: to_json(values) for name, values in frame.to_dict(as_series=False).items()}


def _frame_from_json(schema: Mapping[str, Any], columns: Any) -> pl.DataFrame | None:
    if columns is None:
        return None
    values = {name: from_json(column) for name, column in columns.items()}
    frame = pl.DataFrame(values, schema=schema)
    if any(None in cell for column in values.values() for cell in column if isinstance(cell, list)):
        raise ModelFileError("a list in it lacks a value")
    _check_written_so(columns, _frame_to_json(frame))
    return frame


def _choices_from_json(columns: Any) -> pl.DataFrame | None:
    frame = _frame_from_json(CHOICES, columns)
    if frame is not None and any(frame.null_count().row(0)):
        raise ModelFileError("it lacks a value")
    return frame


def _check_written_so(found: Any, written: Any) -> None:
    """Raise an error if a value in a header was converted when it was read."""
    if json_text(found) != json_text(written):
        raise ModelFileError("it holds a value of another type")


def _chosen_from_json(chosen: Mapping[str, Any]) -> dict[str, float]:
    unknown = next((name for name in chosen if name not in Hyper._fields), None)
    if unknown is not None:
        raise ModelFileError(f"{unknown!r:.80} is not a setting")
    return dict(chosen)


def as_tuple(value: Any) -> Any:
    """Return a list as a tuple, as keys have to be, and any other value as it is."""
    return tuple(value) if isinstance(value, list) else value


# --- the description ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """A field of the header.

    Attributes
    ----------
    shape
        What the JSON value may be.
    meaning
        What it says, in one sentence.
    write
        From the fitted state and the parameters of the estimator to the JSON value.
    read
        From the JSON value to the value in memory.
    file_only
        Whether it is in files only; stores hold the same in tables.
    """

    shape: Shape
    meaning: str
    write: Callable[[FittedState, Mapping[str, Any]], Any]
    read: Callable[[Any], Any] = lambda value: value
    file_only: bool = False


FIELDS: dict[str, Field] = {
    "format": Field(COUNT, f"Version of the format: {FORMAT}.", lambda state, _: FORMAT),
    "parameters": Field(
        OBJECT,
        "Parameters of the estimator; of a tokenizer only its name.",
        lambda _, parameters: _parameters_to_json(parameters),
        _parameters_from_json,
    ),
    "schema": Field(
        object_with(
            kind=one_of(*KIND_NAMES),
            names=_STRINGS,
            named=BOOLEAN,
            closed=BOOLEAN,
            missing=one_of(*get_args(Missing)),
            width=COUNT,
        ),
        "Attributes of the items: their names, whether the data named them, whether the set is "
        "closed to new ones, how missing values count, and the number of columns.",
        lambda state, _: asdict(state.model.schema),
        lambda value: Schema(**{**value, "names": tuple(value["names"])}),
    ),
    "dimensions": Field(
        object_with(names=_STRINGS, attributes=either(list_of(_STRINGS), NULL), each=BOOLEAN),
        "Dimensions: their names, the attributes of each (null: one dimension holds all), and "
        "whether every attribute is a dimension.",
        lambda state, _: asdict(state.model.dimensions),
        _dimensions_from_json,
    ),
    "sets": Field(
        list_of(list_of(COUNT)),
        "The policy: sets of dimensions by number, in the order in which they are tried; the last "
        "one is empty.",
        lambda state, _: [list(subset) for subset in state.model.policy],
        lambda value: tuple(map(tuple, value)),
    ),
    "form": Field(
        object_with(
            kind=one_of(*FORM_NAMES),
            names=_STRINGS,
            dtypes=_STRINGS,
            width=COUNT,
            container=one_of(*_CONTAINERS),
        ),
        "Form of y: its kind, the names and dtypes of the targets, their number, and the "
        "container of an item's labels.",
        lambda state, _: _form_to_json(state.model.form),
        _form_from_json,
    ),
    "classes": Field(
        OBJECT,
        "Classes in ascending order, as an array with its dtype.",
        lambda state, _: to_json(state.model.classes),
        from_json,
    ),
    "declared": Field(
        list_of(BOOLEAN),
        "For each class, whether it was declared with `classes=` and so stays without items.",
        lambda state, _: state.model.declared.tolist(),
        lambda value: np.array(value, dtype=bool),
    ),
    "scales": Field(
        object_of(either(object_with(knots=list_of(NUMBER)), object_with(order=_STRINGS))),
        "For each continuous attribute its knots, for each ordinal attribute its order.",
        lambda state, _: {name: asdict(scale) for name, scale in state.model.scales.items()},
        lambda value: {name: _scale_from_json(scale) for name, scale in value.items()},
    ),
    "interactions": Field(
        object_with(
            order=POSITIVE,
            ngrams=POSITIVE,
            chosen=either(LIST, NULL),
            attributes=either(list_of(_STRINGS), NULL),
        ),
        "Conjunctions: the most attributes and the most words of one, those that were selected as "
        "pairs of attributes and values (null: all), and the attributes of each (null: all).",
        lambda state, _: _interactions_to_json(state.model.interactions),
        _interactions_from_json,
    ),
    "sharpness": Field(
        list_of(either(POSITIVE, NULL)),
        "For each set, the sharpness of its gains and phases; null if it has none.",
        lambda state, _: [
            None if amplitudes is None else amplitudes.sharpness
            for amplitudes in map(state.model.amplitudes.get, state.model.policy)
        ],
    ),
    "values": Field(
        either(object_of(LIST), NULL),
        "Table of the states visited while the policy was learnt, by column; null if it was not.",
        lambda state, _: _frame_to_json(state.policy_values),
        partial(_frame_from_json, POLICY_STATES),
    ),
    "history": Field(
        either(object_of(LIST), NULL),
        "Table of the steps taken while phases were learnt, by column; null if they were not.",
        lambda state, _: _frame_to_json(state.phase_history),
        partial(_frame_from_json, PHASE_HISTORY),
    ),
    "evidence": Field(
        list_of(OBJECT),
        "Evidence for the thresholds of labels: arrays of the labels, of the true positives and "
        "of the predicted positives by threshold, and of the positives.",
        lambda state, _: [
            to_json(getattr(state.threshold_counts, part.name))
            for part in fields(state.threshold_counts)
        ],
        lambda value: ThresholdCounts(*map(from_json, value)),
    ),
    "warned": Field(
        BOOLEAN,
        "Whether the user was warned of columns of measurements.",
        lambda state, _: state.warned,
    ),
    "roles": Field(
        object_with(targets=_STRINGS, weight=either(STRING, NULL), text=either(STRING, NULL)),
        "Columns of the data that hold the targets, the weight and the text of the items.",
        lambda state, _: state.roles._asdict(),
        lambda value: Roles(**{**value, "targets": tuple(value["targets"])}),
    ),
    "chosen": Field(
        object_of(NUMBER),
        "Values of the settings that were chosen by leave-one-out.",
        lambda state, _: dict(state.chosen),
        _chosen_from_json,
    ),
    "choices": Field(
        either(object_of(LIST), NULL),
        "Table of the settings that were tried, by column; null if none were chosen.",
        lambda state, _: _frame_to_json(state.choices),
        _choices_from_json,
    ),
    "loo": Field(
        either(
            object_with(
                accuracy=NUMBER, log_loss=NUMBER, items=COUNT, baseline=NUMBER, repeated=NUMBER
            ),
            NULL,
        ),
        "Figures of leave-one-out over the items that chose: accuracy, log-loss, number of items, "
        "share of the most frequent class, share of repeated items; null if none chose.",
        lambda state, _: None if state.loo is None else asdict(state.loo),
        lambda value: value and LooScore(**value),
    ),
    "class_names": Field(
        object_of(_STRINGS),
        "For each column of classes, the text of each class.",
        lambda state, _: class_names(state.model),
        file_only=True,
    ),
    "entries": Field(
        list_of(COUNT),
        "For each set, the number of its entries.",
        lambda state, _: [state.model.corpora[subset].mass.nnz for subset in state.model.policy],
        file_only=True,
    ),
    "order": Field(
        either(list_of(COUNT), NULL),
        "Numbers of the single features in the order of their first rows; null: 0, 1, 2, ...",
        lambda state, _: None if (order := feature_order(state.model)) is None else order.tolist(),
        file_only=True,
    ),
    "batches": Field(
        _STRINGS,
        "Ids of the batches that were learnt; they are not learnt again.",
        lambda state, _: sorted(state.batches),
        frozenset,
        file_only=True,
    ),
}


def upgraded(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return a header of an earlier format as one of today."""
    if header["format"] != 1:
        return dict(header)
    interactions = header.get("interactions")
    if isinstance(interactions, dict):
        header = {**header, "interactions": {**interactions, "attributes": None}}
    return {**_NEW_FIELDS, **header}


def header_shape(file: bool) -> Shape:
    """Return the shape of the header of a model in a file, or in a store."""
    shapes = {name: field.shape for name, field in FIELDS.items() if file or not field.file_only}
    return object_with(**shapes)


# --- what follows from it -----------------------------------------------------------------------


def header_of(
    state: FittedState, parameters: Mapping[str, Any], *, file: bool = False
) -> dict[str, Any]:
    """Return the header of a model in a store, or in a file."""
    return {
        name: field.write(state, parameters)
        for name, field in FIELDS.items()
        if file or not field.file_only
    }


def unfitted_header(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a stored model that has learnt nothing."""
    written = _parameters_to_json(parameters)
    return {"format": FORMAT, "parameters": written}


def is_fitted(header: Mapping[str, Any]) -> bool:
    """Return whether the header of a stored model is that of a fitted one."""
    return set(header) != {"format", "parameters"}


def values_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the fields of a header, as they are in memory.

    Raises
    ------
    ModelFileError
        If a later version of stc has written it.
    """
    check_format(header)
    header = upgraded(header)
    values = {"parameters": parameters_of(header)}
    for name, field in FIELDS.items():
        if name in header and name not in values:
            values[name] = _read_value(f"header.{name}", field.read, header[name])
    return values


def parameters_of(header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the estimator.

    A tokenizer is code, which is not stored: its value is the name of the function.
    """
    return _parameters_from_json(header["parameters"])


def check_format(header: Mapping[str, Any]) -> None:
    """Raise an error if this version cannot read the format of a header."""
    if not 1 <= header["format"] <= FORMAT:
        raise ModelFileError(
            f"the model is in format {header['format']}, this version reads up to {FORMAT}",
            hint="upgrade stc",
        )
