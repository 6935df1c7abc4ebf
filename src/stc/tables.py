"""What a model holds, as plain tables for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.model import Model
from stc.scoring import Contributions
from stc.tensor import Subset
from stc.vocabulary import tuple_name


def described(model: Model, subset: Subset, rows: NDArray[Any]) -> pl.DataFrame:
    """`attribute` and `value` of these rows of a set's corpus, a name for each dimension.

    In a model of one dimension they are strings, in others lists of strings.
    """
    if len(model.dimensions.names) == 1:
        single = [feature for (feature,) in model.features(subset, rows)]
        return pl.DataFrame(
            single, schema={"attribute": pl.String, "value": pl.String}, orient="row"
        )
    features = model.features(subset, rows)
    strings = pl.List(pl.String)
    return pl.DataFrame(
        {
            "attribute": [[attribute for attribute, _ in own] for own in features],
            "value": [[value for _, value in own] for own in features],
        },
        schema={"attribute": strings, "value": strings},
    )


def contribution_table(
    model: Model, contributions: Iterable[tuple[Subset, Contributions]]
) -> pl.DataFrame:
    """One row a contribution: item, attribute, value, contribution."""
    strings = pl.String if len(model.dimensions.names) == 1 else pl.List(pl.String)
    schema = {"item": pl.Int64, "attribute": strings, "value": strings, "contribution": pl.Float64}
    tables = [pl.DataFrame(schema=schema)]
    for subset, found in contributions:
        used, place = np.unique(found.features, return_inverse=True)
        named = described(model, subset, used)[place]
        numbers = pl.Series("item", found.items), pl.Series("contribution", found.parts)
        tables.append(named.with_columns(*numbers).select(list(schema)))
    return pl.concat(tables)


def corpus_table(model: Model) -> pl.DataFrame:
    """One row an entry of the corpora, sorted: attribute, value, class, mass, support."""
    tables = [_corpus_of(model, subset) for subset in model.policy if subset]
    order = ["attribute", "value", *model.form.target_names]
    if len(model.dimensions.names) > 1:
        order = ["dimensions", *order]
    return pl.concat(tables).sort(order)


def _corpus_of(model: Model, subset: Subset) -> pl.DataFrame:
    table = model.corpora[subset].mass
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    used, place = np.unique(rows, return_inverse=True)
    columns = [
        *described(model, subset, used)[place].get_columns(),
        *_class_columns(model, table.indices),
        pl.Series("mass", table.data),
        pl.Series("support", model.corpora[subset].support),
    ]
    if len(model.dimensions.names) > 1:
        names = pl.Series("dimensions", [list(model.dimensions.named(subset))] * len(rows))
        columns = [names.cast(pl.List(pl.String)), *columns]
    return pl.DataFrame(columns)


def _class_columns(model: Model, classes: NDArray[Any]) -> list[pl.Series]:
    """The labels of these classes, a column per target."""
    shown = model.form.shown_classes(model.classes)
    labels = model.form.by_target(model.classes if model.form.kind == "joint" else shown)
    return [
        pl.Series(name, own[classes].tolist(), dtype=None if len(classes) else pl.String)
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
