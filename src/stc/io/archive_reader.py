"""Reading a model from plain data that may be damaged: what a store holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from stc._core.schema import Schema
from stc._training.state import FittedState
from stc._utils.forking import refuse_without_pool
from stc.io.entries import check_numbers, too_wide
from stc.io.header import as_tuple, check_format, parameters_of, values_of
from stc.io.serializer import Archive, from_archive
from stc.io.shapes import COUNT, OBJECT, object_with
from stc.io.validation import check_header, check_state, damage_as_error, damaged, require


def read_archive(archive: Archive) -> tuple[FittedState, dict[str, Any]]:
    """Return the fitted state of an archive, and the parameters of its estimator.

    Raises
    ------
    ModelFileError
        If it is not a model, is damaged or was written by a later version of stc.
    """
    refuse_without_pool()
    with damage_as_error():
        check_header(archive.header, file=False)
        values = values_of(archive.header)
        check_numbers(archive.entries)
        _check_features(values, archive.entries)
        state = from_archive(archive)
        check_state(state)
        return state, values["parameters"]


def read_header(header: Any) -> dict[str, Any]:
    """Return the parameters in the header of a stored model that has learnt nothing."""
    with damage_as_error():
        object_with(format=COUNT, parameters=OBJECT).check(header, "header")
        check_format(header)
        return parameters_of(header)


def _check_features(values: Mapping[str, Any], entries: pl.DataFrame) -> None:
    """Raise an error if an entry's feature is not one of its set of dimensions."""
    sets, schema, dimensions = values["sets"], values["schema"], values["dimensions"]
    require(bool((entries["set"] < len(sets)).all()), "an entry is of a set that is not there")
    if schema.kind == "counts":
        wide = too_wide(schema.width, entries.height)
        require(not wide, f"it has {schema.width:,} columns for {entries.height:,} entries")
    groups = dimensions.attributes or (schema.names,)
    for number, text in entries.select("set", "feature").unique().iter_rows():
        parts = _parsed(text)
        subset = sets[number]
        if not isinstance(parts, list) or len(parts) != len(subset):
            raise damaged(f"the feature {text:.80} is not one of its dimensions")
        for dimension, part in zip(subset, parts, strict=True):
            if not _is_feature(part, schema, groups[dimension]):
                raise damaged(f"the feature {text:.80} is not one of its attributes")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise damaged(f"the feature {text!r:.80} is not JSON") from None


def _is_feature(part: Any, schema: Schema, names: tuple[str, ...]) -> bool:
    """Return whether a part of a feature is a column of counts, or an attribute and a value."""
    if schema.kind == "counts":
        return type(part) is int and 0 <= part < schema.width
    if not isinstance(part, list) or len(part) != 2:
        return False
    attribute, value = map(as_tuple, part)
    if isinstance(value, tuple) and (schema.kind != "table" or isinstance(attribute, tuple)):
        if schema.kind != "table":  # an n-gram
            return attribute == () and all(isinstance(word, str) for word in value)
        pairs = zip(attribute, value, strict=False)
        same_length = 0 < len(attribute) == len(value)
        return same_length and all(_is_pair(*pair, schema, names) for pair in pairs)
    return _is_pair(attribute, value, schema, names)


def _is_pair(attribute: Any, value: Any, schema: Schema, names: tuple[str, ...]) -> bool:
    known = attribute in names if schema.kind == "table" else attribute is None
    missing = value is None and schema.missing == "category"
    return known and (missing or isinstance(value, str))
