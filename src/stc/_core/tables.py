"""What a model holds, as plain tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import Corpus
from stc._core.model import Model
from stc._core.tensor import Subset
from stc._core.vocabulary import Feature, parts_of, tuple_name

# Rows that are few enough for plain Python.
_FEW = 5000
_OURS = {"dimensions", "attribute", "value", "mass", "support", "item", "probability"}


def _named(model: Model) -> dict[str, Any]:
    """Columns of a feature: strings in a model of single features, in others lists of them."""
    several = len(model.dimensions.names) > 1 or model.interactions.made
    strings: Any = pl.List(pl.String) if several else pl.String
    return {"attribute": strings, "value": strings}


def described(model: Model, subset: Subset, rows: NDArray[Any]) -> pl.DataFrame:
    """`attribute`, `value` and `feature` (the name) of these rows of a set's corpus."""
    used, place = np.unique(rows, return_inverse=True)
    return pl.DataFrame(named_features(model, model.features(subset, used), place))


def named_features(
    model: Model, features: Sequence[tuple[Feature, ...]], place: NDArray[Any]
) -> dict[str, pl.Series]:
    """`attribute`, `value` and `feature` (the name) of the features at these places."""
    schema = _named(model)
    if schema["value"] == pl.String:
        pairs: list[tuple[Any, Any]] = [own for (own,) in features]
    else:
        parts = map(parts_of, features)
        pairs = [([a for a, _ in own], [v for _, v in own]) for own in parts]
    columns: dict[str, tuple[list[Any], Any]] = {
        "attribute": ([attribute for attribute, _ in pairs], schema["attribute"]),
        "value": ([value for _, value in pairs], schema["value"]),
        "feature": (list(map(tuple_name, features)), pl.String),
    }
    return {name: picked(*own, place) for name, own in columns.items()}


def picked(values: Sequence[Any], dtype: Any, place: NDArray[Any]) -> pl.Series:
    """A column of the values at these places."""
    if len(place) <= _FEW:  # a list is quicker than a gather
        return pl.Series([values[k] for k in place.tolist()], dtype=dtype)
    return pl.Series(values, dtype=dtype).gather(place)


def corpus_table(model: Model) -> pl.DataFrame:
    """One row an entry of the corpora, sorted: attribute, value, class, mass, support."""
    empty = Corpus.empty((0, len(model.classes)))
    tables = [_corpus_frame(model, (), pl.DataFrame(schema=_named(model)), empty)]
    for subset, corpus in model.corpora.items():
        if subset:
            rows = np.repeat(np.arange(corpus.mass.shape[0]), np.diff(corpus.mass.indptr))
            tables.append(_corpus_frame(model, subset, described(model, subset, rows), corpus))
    table = pl.concat(tables)
    return table.sort(*table.columns[:-2])


def _corpus_frame(
    model: Model, subset: Subset, named: pl.DataFrame, corpus: Corpus
) -> pl.DataFrame:
    columns = [
        *named.select("attribute", "value").get_columns(),
        *_class_columns(model, corpus.mass.indices),
        pl.Series("mass", corpus.mass.data, dtype=pl.Float64),
        pl.Series("support", corpus.support, dtype=pl.Int64),
    ]
    if len(model.dimensions.names) > 1:
        names = [list(model.dimensions.named(subset))] * named.height
        columns = [pl.Series("dimensions", names, dtype=pl.List(pl.String)), *columns]
    return pl.DataFrame(columns)


def _class_columns(model: Model, classes: NDArray[Any]) -> list[pl.Series]:
    """The labels of these classes, a column per target, named apart from our own columns."""
    shown = model.form.shown_classes(model.classes)
    labels = model.form.by_target(model.classes if model.form.kind == "joint" else shown)
    return [
        pl.Series(f"{name} (target)" if name in _OURS else name, own.tolist()).gather(classes)
        for name, own in zip(model.form.target_names, labels, strict=True)
    ]


def joint_table(model: Model, probabilities: NDArray[np.float64]) -> pl.DataFrame:
    """One row per item and joint class: item, a column per target, probability."""
    n_items, n_classes = probabilities.shape
    classes = np.tile(np.arange(n_classes), n_items)
    return pl.DataFrame(
        [
            pl.Series("item", np.repeat(np.arange(n_items), n_classes)),
            *_class_columns(model, classes),
            pl.Series("probability", probabilities.ravel()),
        ]
    )


def feature_names(model: Model) -> list[str]:
    """Name of every feature that has an entry in the policy's first set, in the model's order."""
    subset = model.policy[0]
    if not subset:
        return []
    rows = np.flatnonzero(model.corpora[subset].used_rows)
    return [tuple_name(features) for features in model.features(subset, rows)]
