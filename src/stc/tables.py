"""What a model holds, as plain tables for people."""

from __future__ import annotations

import numpy as np
import polars as pl

from stc.model import Model
from stc.vocabulary import feature_name


def corpus_table(model: Model) -> pl.DataFrame:
    """One row an entry of the corpus, sorted: attribute, value, class, mass, support."""
    features = model.vocabulary.features()
    table = model.corpus.mass
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    described = pl.DataFrame(
        features, schema={"attribute": pl.String, "value": pl.String}, orient="row"
    )[rows]
    classes = pl.Series("class", model.classes[table.indices].tolist())
    return described.with_columns(
        classes,
        pl.Series("mass", table.data),
        pl.Series("support", model.corpus.support),
    ).sort("attribute", "value", "class")


def feature_names(model: Model) -> list[str]:
    """Name of every feature that has an entry, in the model's order."""
    kept = np.diff(model.corpus.mass.indptr) > 0
    return [
        feature_name(attribute, value)
        for (attribute, value), there in zip(model.vocabulary.features(), kept, strict=True)
        if there
    ]
