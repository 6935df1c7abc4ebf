"""The query: where the items are, their scores, and what becomes of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.generator import Generator

from stc._core.cascade import Cascade
from stc._core.formulas import Floats
from stc.sql.columns import from_data
from stc.sql.long import long_answers, long_scores
from stc.sql.reading import from_features, table_of
from stc.sql.terms import Answers, Terms
from stc.sql.tree import Query
from stc.sql.wide import wide_answers, wide_scores


def query(
    cascade: Cascade,
    dialect: str,
    form: Literal["long", "wide"],
    features: str,
    data: str | None,
    item: str,
    thresholds: Floats | None,
) -> str:
    """The probabilities of a model as one SELECT; see `stc.sql.to_sql`."""
    if form not in ("long", "wide"):
        raise ValueError(f"form={form!r}: give 'long' or 'wide'")
    dialect = type(Dialect.get_or_raise(dialect)).__name__.lower()
    whole = Query(dialect)
    terms, answers = Terms.of(cascade), Answers.of(cascade.model, thresholds)
    table = table_of(features if data is None else data, dialect)
    if data is None:
        found = from_features(whole, terms, table)
    else:
        found = from_data(whole, terms, cascade.model, table, item)
    scores = long_scores if form == "long" else wide_scores
    answer = long_answers if form == "long" else wide_answers
    select = answer(whole, scores(whole, terms, answers, found), answers)
    if table.name.lower() in whole.names:
        raise ValueError(f"the query has a part named {table.name!r}, too: rename the table")
    names = [item, *terms.attributes, *answers.targets, *answers.names]
    return _rendered(whole, select, pretty=_can_be_indented(names, terms))


def _can_be_indented(names: Sequence[str], terms: Terms) -> bool:
    """Whether indenting the query will leave all names in it as they are."""
    mark = Generator.SENTINEL_LINE_BREAK  # what stands for the end of a line within a text
    return not any("\n" in own or mark in own for own in names) and mark not in str(terms.features)


def _rendered(whole: Query, select: exp.Select, pretty: bool) -> str:
    tree = whole.written(select)
    try:
        return tree.sql(
            whole.dialect,
            pretty=pretty,
            max_text_width=10**9,
            unsupported_level=ErrorLevel.RAISE,
            copy=False,
        )
    except UnsupportedError as error:
        raise ValueError(
            f"the query cannot be said in dialect={whole.dialect!r}: {error}"
        ) from None
