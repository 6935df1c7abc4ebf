"""Columns of a model file: their types, and the classes and features as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.model import Model
from stc.io.json_values import json_text, to_json

# Of an entry; format 1 has no gains.
NUMBERS = {
    "mass": pl.Float64(), "support": pl.Int64(), "gain": pl.Float64(), "phase": pl.Float64()
}  # fmt: skip
# The most bytes of strings that are written or read at a time.
MAX_BYTES = 1 << 28
# Memory that each string of a list takes while it is read, besides its characters.
_BYTES_PER_STRING = 128


def file_schema(lists: bool, class_columns: Iterable[str]) -> pl.Schema:
    """Return the columns of a file; attribute and value are `lists` if a feature has several."""
    strings = pl.List(pl.String()) if lists else pl.String()
    classes = dict.fromkeys(class_columns, pl.String())
    return pl.Schema(
        {"set": pl.Int32(), "attribute": strings, "value": strings, **classes, **NUMBERS}
    )


def class_names(model: Model) -> dict[str, list[str]]:
    """Return the text of each class in each column: one column, or one for each target."""
    form, classes = model.form, model.classes
    if form.kind == "joint":
        targets = zip(form.target_names, form.by_target(classes), strict=True)
        return {f"class_{name}": _label_texts(labels) for name, labels in targets}
    named = form.kind == "indicator" and len(set(form.names)) == len(classes)
    return {"class": list(form.names) if named else _label_texts(classes)}


def _label_texts(labels: Iterable[Any]) -> list[str]:
    """Return labels as plain text, or as JSON where the plain texts are ambiguous."""
    labels = list(labels)
    plain = [label if isinstance(label, str) else str(label) for label in labels]
    exact = [json_text(to_json(label)) for label in labels]
    return plain if len(set(zip(plain, exact, strict=True))) == len(set(plain)) else exact


def feature_order(model: Model) -> NDArray[np.int64] | None:
    """Return the number of each single feature in the order of their first rows in the file.

    None if they are numbered in that order, as nearly always.
    """
    if model.schema.kind == "counts":
        return None
    rows = [np.zeros(0, dtype=np.int64)]
    for subset in filter(None, model.policy):
        used = np.flatnonzero(model.corpora[subset].used_rows)
        rows.append(used if len(subset) == 1 else model.tuples[subset].rows[used].ravel())
    numbers, first = np.unique(np.concatenate(rows), return_index=True)
    order = np.argsort(np.argsort(numbers[np.argsort(first)]))
    return None if (order == np.arange(len(order))).all() else order


def text_size(column: str, schema: pl.Schema) -> pl.Expr:
    """Return the number of bytes that the strings of a column take, for each row."""
    strings = pl.col(column)
    if schema[column] != pl.String:
        sizes = pl.element().str.len_bytes().fill_null(0) + _BYTES_PER_STRING
        return strings.list.eval(sizes).list.sum().fill_null(0).cast(pl.Int64)
    return strings.str.len_bytes().fill_null(0).cast(pl.Int64)
