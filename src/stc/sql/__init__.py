"""A model's prediction as one SQL query, for a database that never saw this library."""

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
    """The probabilities of a model as one query that holds its weights.

    Parameters
    ----------
    cascade
        The weights for the hyper-parameters of now.
    dialect
        The language of the database: "duckdb", "sqlite", "postgres", or another that sqlglot has.
    form
        "long": a row per item and class. "wide": a row per item, a column per class.
    features
        A table (item, feature, weight): a row for each value of an item.
    data
        Instead: a table with a row per item and a column per attribute.
    item
        The column of `data` that tells the items apart.
    thresholds
        With several labels an item: how probable each must be, beside the most probable one.

    Returns
    -------
    str
        A SELECT.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.sql import to_sql
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> print(to_sql(model._cascade(), form="wide").splitlines()[-1])
    FROM stc_answers AS t
    """
    optional("sqlglot", "sql", "to_sql")
    from stc.sql.query import query

    return query(cascade, dialect, form, features, data, item, thresholds)
