"""The contents of a model as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import Corpus
from stc._core.labels import label_list, plain_label
from stc._core.model import Model
from stc._core.observations import items_of
from stc._core.tensor import Subset
from stc._core.vocabulary import Feature, parts_of, tuple_name

# Up to this many rows, a Python list is faster than a gather.
_FEW_ROWS = 5000
# Types of labels that polars keeps; it cuts or refuses others.
_TYPES_OF_COLUMNS = {str, bool, bytes, Decimal, date, datetime, time, timedelta}
_COLUMNS = {"dimensions", "attribute", "value", "mass", "support", "item", "probability"}


def _feature_schema(model: Model) -> dict[str, Any]:
    """Return the dtypes of attribute and value: lists of strings if features may be tuples."""
    several = len(model.dimensions.names) > 1 or model.interactions.enabled
    strings: Any = pl.List(pl.String) if several else pl.String
    return {"attribute": strings, "value": strings}


def described(model: Model, subset: Subset, rows: NDArray[Any]) -> pl.DataFrame:
    """Return `attribute`, `value` and `feature` (its name) of rows of the corpus of a set."""
    used, place = np.unique(rows, return_inverse=True)
    return pl.DataFrame(named_features(model, model.features(subset, used), place))


def named_features(
    model: Model, features: Sequence[tuple[Feature, ...]], place: NDArray[Any]
) -> dict[str, pl.Series]:
    """Return `attribute`, `value` and `feature` (its name) of the features at these places."""
    schema = _feature_schema(model)
    if schema["value"] == pl.String:
        pairs: list[tuple[Any, Any]] = [pair for (pair,) in features]
    else:
        parts = map(parts_of, features)
        pairs = [([a for a, _ in part], [v for _, v in part]) for part in parts]
    columns: dict[str, tuple[list[Any], Any]] = {
        "attribute": ([attribute for attribute, _ in pairs], schema["attribute"]),
        "value": ([value for _, value in pairs], schema["value"]),
        "feature": (list(map(tuple_name, features)), pl.String),
    }
    return {name: gather(*column, place) for name, column in columns.items()}


def gather(values: Sequence[Any], dtype: Any, place: NDArray[Any]) -> pl.Series:
    """Return a series of the values at these places."""
    if len(place) <= _FEW_ROWS:
        return pl.Series([values[k] for k in place.tolist()], dtype=dtype)
    return pl.Series(values, dtype=dtype).gather(place)


def label_series(name: str, labels: NDArray[Any]) -> pl.Series:
    """Return labels as a column in a type that keeps them apart; as text if polars has none."""
    cells = list(map(plain_label, label_list(labels)))
    kinds = set(map(type, cells))
    if kinds <= {int, float} or (len(kinds) == 1 and kinds <= _TYPES_OF_COLUMNS):
        with suppress(OverflowError, ValueError, TypeError, pl.exceptions.PolarsError):
            return pl.Series(name, cells, strict=False)
    return pl.Series(name, list(map(str, cells)))


def corpus_table(model: Model) -> pl.DataFrame:
    """Return one row per entry of the corpora, sorted: attribute, value, class, mass, support."""
    empty = Corpus.empty((0, len(model.classes)))
    tables = [_corpus_frame(model, (), pl.DataFrame(schema=_feature_schema(model)), empty)]
    for subset, corpus in model.corpora.items():
        if subset:
            rows = items_of(corpus.mass.indptr)
            tables.append(_corpus_frame(model, subset, described(model, subset, rows), corpus))
    table = pl.concat(tables)
    return table.sort(*table.columns[:-2])


def _corpus_frame(
    model: Model, subset: Subset, features: pl.DataFrame, corpus: Corpus
) -> pl.DataFrame:
    columns = [
        *features.select("attribute", "value").get_columns(),
        *_class_columns(model, corpus.mass.indices),
        pl.Series("mass", corpus.mass.data, dtype=pl.Float64),
        pl.Series("support", corpus.support, dtype=pl.Int64),
    ]
    if len(model.dimensions.names) > 1:
        names = [list(model.dimensions.named(subset))] * features.height
        columns = [pl.Series("dimensions", names, dtype=pl.List(pl.String)), *columns]
    return pl.DataFrame(columns)


def _class_columns(model: Model, classes: NDArray[Any]) -> list[pl.Series]:
    """Return the labels of these classes, a column per target, under unique names."""
    form = model.form
    labels = form.by_target(
        model.classes if form.kind == "joint" else form.public_classes(model.classes)
    )
    return [
        label_series(f"{name} (target)" if name in _COLUMNS else name, column).gather(classes)
        for name, column in zip(form.target_names, labels, strict=True)
    ]


def joint_table(model: Model, probabilities: NDArray[np.float64]) -> pl.DataFrame:
    """Return one row per item and joint class: item, a column per target, probability."""
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
    """Return the names of the features with entries in the first set of the policy."""
    subset = model.policy[0]
    if not subset:
        return []
    rows = np.flatnonzero(model.corpora[subset].used_rows)
    return [tuple_name(features) for features in model.features(subset, rows)]
