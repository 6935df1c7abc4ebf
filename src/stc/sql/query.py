"""The query: the items, their scores and their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.generator import Generator

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc.exceptions import ParameterError, ParameterTypeError
from stc.sql.expressions import Query
from stc.sql.items import parse_table, read_features, read_items
from stc.sql.long_form import long_answers, long_scores
from stc.sql.weights import Classes, ModelWeights
from stc.sql.wide_form import wide_answers, wide_scores


def query_text(
    cascade: Cascade,
    dialect: str,
    form: Literal["long", "wide"],
    features: str,
    data: str | None,
    item: str,
    thresholds: Floats | None,
) -> str:
    """Return the probabilities of a model as one SELECT; see `stc.sql.to_sql`."""
    if form not in ("long", "wide"):
        raise ParameterError(f"form={form!r}: expected 'long' or 'wide'")
    if not isinstance(item, str):
        raise ParameterTypeError(f"item is a string, got {type(item).__name__}")
    if "://" in str(dialect):  # the error of sqlglot would show its password
        raise ParameterError(
            "dialect is a URL", hint="name the dialect of the database, as in 'postgres'"
        )
    try:
        dialect = type(Dialect.get_or_raise(dialect)).__name__.lower()
    except ValueError as error:
        raise ParameterError(f"dialect={dialect!r}: {error}".rstrip(".")) from None
    query = Query(dialect)
    weights, classes = ModelWeights.of(cascade), Classes.of(cascade, thresholds)
    table = parse_table(features if data is None else data, dialect)
    if data is None:
        known = read_features(query, weights, table)
    else:
        known = read_items(query, weights, cascade.model, table, item)
    scores = long_scores if form == "long" else wide_scores
    answers = long_answers if form == "long" else wide_answers
    select = answers(query, scores(query, weights, classes, known), classes)
    if table.name.lower() in query.subqueries:
        raise ParameterError(
            f"the query has a part named {table.name!r}, as the table is", hint="rename the table"
        )
    names = [item, *weights.attributes, *classes.targets, *classes.names]
    return _rendered(query, select, pretty=_can_be_indented(names, weights))


def _can_be_indented(names: Sequence[str], weights: ModelWeights) -> bool:
    """Return whether all names stay as they are if the query is indented."""
    mark = Generator.SENTINEL_LINE_BREAK  # stands for a line break within text
    if any("\n" in name or mark in name for name in names):
        return False
    return mark not in str(weights.features)


def _rendered(query: Query, select: exp.Select, pretty: bool) -> str:
    try:
        return query.completed(select).sql(
            query.dialect,
            pretty=pretty,
            max_text_width=10**9,
            unsupported_level=ErrorLevel.RAISE,
            copy=False,
        )
    except UnsupportedError as error:
        raise ParameterError(
            f"dialect={query.dialect!r} cannot express the query: {error}"
        ) from None
