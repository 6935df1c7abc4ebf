"""The prediction of a model as one SQL query, which a database runs without stc."""

from __future__ import annotations

from typing import Literal

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc._utils.optional import optional

__all__ = ["to_sql"]


def to_sql(
    cascade: Cascade,
    dialect: str = "duckdb",
    *,
    form: Literal["long", "wide"] = "long",
    features: str = "features",
    data: str | None = None,
    item: str = "item",
    thresholds: Floats | None = None,
) -> str:
    """Return the probabilities of a model as one query, which holds its weights.

    Parameters
    ----------
    cascade
        The weights of the model for its current hyper-parameters.
    dialect
        The dialect of the database: "duckdb", "sqlite", "postgres", or another one of sqlglot.
    form
        "long": a row for each item and class. "wide": a row for each item, a column for each class.
    features
        A table (item, feature, weight) with a row for each value of an item.
    data
        Instead of `features`: a table with a row for each item and a column for each attribute.
    item
        The column of `data` that identifies the items.
    thresholds
        With several labels per item, the ratio to the most probable label from which each is
        predicted.

    Returns
    -------
    str
        A SELECT.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.sql import to_sql
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> print(to_sql(model.fitted_.cascade, form="wide").splitlines()[-1])
    FROM stc_answers AS t
    """
    optional("sqlglot", "sql", "to_sql")
    from stc.sql.query import query_text

    return query_text(cascade, dialect, form, features, data, item, thresholds)
