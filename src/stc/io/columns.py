"""The columns of a model's file: one row an entry, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.model import Model
from stc._core.tensor import Subset
from stc._core.vocabulary import parts_of
from stc.io.archiving import written
from stc.io.inspection import MOST_ROWS
from stc.io.plain import to_plain

# What is written, and read, at a time.
_ROWS = MOST_ROWS // 2
BYTES = 1 << 28
# What a text takes beside its letters.
_OBJECT = 128

NUMBERS = {"mass": pl.Float64(), "support": pl.Int64(), "phase": pl.Float64()}


# --- classes ------------------------------------------------------------------------------------


def class_names(model: Model) -> dict[str, list[str]]:
    """Column -> the text in it for each class; one column, or one for each of several targets."""
    form, classes = model.form, model.classes
    if form.kind == "joint":
        labels = zip(form.target_names, form.by_target(classes), strict=True)
        return {f"class_{name}": _names(own) for name, own in labels}
    named = form.kind == "indicator" and len(set(form.names)) == len(classes)
    return {"class": list(form.names) if named else _names(classes)}


def _names(labels: Iterable[Any]) -> list[str]:
    """Labels as texts: in plain words, if these tell them apart."""
    labels = list(labels)
    words = [own if isinstance(own, str) else str(own) for own in labels]
    exact = [written(to_plain(own)) for own in labels]
    return words if len(set(zip(words, exact, strict=True))) == len(set(words)) else exact


# --- to columns ---------------------------------------------------------------------------------


def columns_of(model: Model) -> pl.Schema:
    """The columns of a model's file."""
    several = len(model.dimensions.names) > 1 or model.interactions.made
    return file_schema(several, class_names(model))


def file_schema(several: bool, classes: Iterable[str]) -> pl.Schema:
    """Attribute and value are texts; where features are several values at once, lists of them."""
    texts = pl.List(pl.String()) if several else pl.String()
    labels = dict.fromkeys(classes, pl.String())
    return pl.Schema({"set": pl.Int32(), "attribute": texts, "value": texts, **labels, **NUMBERS})


def frames_of(model: Model) -> Iterator[pl.DataFrame]:
    """A row for each entry: set by set, feature by feature, in the order of the classes."""
    schema = columns_of(model)
    names = class_names(model)
    classes = pl.DataFrame(names, schema=dict.fromkeys(names, pl.String))
    for number, subset in enumerate(model.policy):
        corpus = model.corpora[subset]
        mass = corpus.mass
        used = np.flatnonzero(corpus.used_rows)  # of a sparse matrix, few of many
        rows = np.repeat(np.arange(len(used)), np.diff(mass.indptr)[used])
        features = _feature_texts(model, subset, used, schema)
        angles = np.zeros(mass.nnz) if corpus.phases is None else corpus.phases.angles
        for start, end in _parts(features["bytes"].to_numpy()[rows]):
            own = slice(start, end)
            yield pl.DataFrame(
                {
                    "set": pl.repeat(number, end - start, dtype=pl.Int32, eager=True),
                    **features.select("attribute", "value")[rows[own]].to_dict(),
                    **classes[mass.indices[own]].to_dict(),
                    "mass": mass.data[own],
                    "support": corpus.support[own],
                    "phase": angles[own],
                },
                schema=schema,
            )


def _feature_texts(
    model: Model, subset: Subset, rows: NDArray[Any], schema: pl.Schema
) -> pl.DataFrame:
    """Attribute and value of these rows of a set's corpus, and how long they are."""
    if model.schema.kind == "counts" and subset:
        features: Any = [((None, f"x{place}"),) for place in rows.tolist()]
    else:
        features = model.features(subset, rows) if subset else [()] * len(rows)
    parts = map(parts_of, features)
    if schema["value"] == pl.String:
        pairs: Any = [own[0] if own else (None, None) for own in parts]
    else:
        pairs = [([a for a, _ in own], [v for _, v in own]) for own in parts]
    texts = {"attribute": [a for a, _ in pairs], "value": [v for _, v in pairs]}
    frame = pl.DataFrame(texts, schema={name: schema[name] for name in texts})
    return frame.with_columns(bytes=length_of("attribute", schema) + length_of("value", schema))


def length_of(column: str, schema: pl.Schema) -> pl.Expr:
    """How many bytes the texts of a column take, row by row."""
    size = pl.element().str.len_bytes()
    own = pl.col(column)
    if schema[column] != pl.String:
        # Each text of a list is an object of its own while it is read.
        return own.list.eval(size.fill_null(0) + _OBJECT).list.sum().fill_null(0).cast(pl.Int64)
    length = own.str.len_bytes()
    return length.fill_null(0).cast(pl.Int64)


def _parts(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Where to cut the entries, so that no part has too many rows or bytes."""
    if len(sizes) and sizes.max() > BYTES // 4:
        raise ValueError(f"a value is longer than {BYTES >> 22} MB: too long for a file")
    upto = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = upto[start] - sizes[start]
        fits = int(np.searchsorted(upto, before + BYTES // 2, side="right"))
        end = min(max(fits, start + 1), start + _ROWS)
        yield start, end
        start = end


def order_of(model: Model) -> NDArray[np.int64] | None:
    """The number of each single feature in the order in which the file shows them.

    None if they are numbered in that order, as nearly all are.
    """
    if model.schema.kind == "counts":
        return None
    shown = [np.zeros(0, dtype=np.int64)]
    for subset in filter(None, model.policy):
        used = np.flatnonzero(model.corpora[subset].used_rows)
        shown.append(used if len(subset) == 1 else model.tuples[subset].rows[used].ravel())
    numbers, first = np.unique(np.concatenate(shown), return_index=True)
    order = np.argsort(np.argsort(numbers[np.argsort(first)]))
    return None if (order == np.arange(len(order))).all() else order
