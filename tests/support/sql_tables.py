"""Random tables, whose prediction by a database must be that of the model."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from typing import Any

import polars as pl
from hypothesis import strategies as st

from stc import SparseTensorClassifier
from support.export_cases import SETTINGS
from support.models import paper_model

TEXTS = ("u", "v", "", "1", "1.0", "1e-05", "true", "True", "nan", "inf", "0.1", "'", "a=b", "☃")
FLOATS = st.one_of(
    st.sampled_from(
        [0.0, -0.0, 0.1, 1e-5, 0.1 + 0.2, 1 / 3, 1e15, 1e16, 1e22, 2.0**60, 0.0001, 123456.789,
         math.inf, -math.inf, math.nan]
    ),
    st.floats(-1e6, 1e6),
    st.integers(-9, 9).map(float),
)  # fmt: skip
SINGLES = st.one_of(
    st.sampled_from([0.1, 1e-4, 1e-5, 2.0**24, 2.0**24 + 2, 1e15, math.inf, math.nan]),
    st.floats(-1e6, 1e6, width=32),
)
MOMENTS = st.one_of(
    st.sampled_from(
        [datetime(2024, 1, 1), datetime(2024, 1, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 100),
         datetime(1850, 12, 31, 23, 59, 59, 500_000)]
    ),
    st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1)),
)  # fmt: skip
TIMES = st.one_of(st.sampled_from([time(), time(1), time(1, 2, 3, 400)]), st.times())
DECIMALS = st.decimals("-9999.99", "9999.99", places=2)
SMALL_DECIMALS = st.decimals("-0.02", "0.02", places=6)

# Strategies of cells by the type of their column.
CELLS: dict[Any, st.SearchStrategy[Any]] = {
    pl.String(): st.sampled_from(TEXTS),
    pl.Int64(): st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)),
    pl.Float64(): FLOATS,
}
# Types that SQLite does not have.
TYPED_CELLS: dict[Any, st.SearchStrategy[Any]] = {
    pl.Boolean(): st.booleans(),
    pl.Float32(): SINGLES,
    pl.Date(): st.dates(date(1000, 1, 1)),
    pl.Datetime("us"): MOMENTS,
    pl.Datetime("us", "UTC"): MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC)),
    pl.Time(): TIMES,
    pl.Decimal(9, 2): DECIMALS,
    pl.Decimal(9, 6): SMALL_DECIMALS,
}


@st.composite
def tables(draw: st.DrawFn, *, typed: bool) -> pl.DataFrame:
    """A table with columns of any types, whose cells repeat."""
    cells = {**CELLS, **TYPED_CELLS} if typed else CELLS
    rows = draw(st.integers(2, 8))
    columns = []
    for place, kind in enumerate(
        draw(st.lists(st.sampled_from(list(cells)), min_size=1, max_size=3))
    ):
        pool = draw(st.lists(cells[kind], min_size=1, max_size=4))
        chosen = st.sampled_from([*pool, None])
        column = draw(st.lists(chosen, min_size=rows, max_size=rows))
        columns.append(pl.Series("abc"[place], column, dtype=kind))
    return pl.DataFrame(columns)


@st.composite
def fitted_tables(draw: st.DrawFn, *, typed: bool) -> tuple[SparseTensorClassifier, pl.DataFrame]:
    """A table, and a model that has learnt some of its rows."""
    X = draw(tables(typed=typed))
    known = draw(st.integers(1, X.height))
    y = draw(st.lists(st.sampled_from("pqr"), min_size=known, max_size=known))
    settings: dict[str, Any] = dict(draw(st.sampled_from(SETTINGS)))
    settings["missing"] = draw(st.sampled_from(["ignore", "category"]))
    settings["interactions"] = draw(st.sampled_from([1, 2]))
    numbers = [name for name, kind in X.schema.items() if kind in (pl.Float64, pl.Int64)]
    finite = [name for name in numbers if X[name][:known].is_finite().any()]
    if finite and draw(st.booleans()):
        settings["continuous"] = finite[:1]
    return paper_model(**settings).fit(X[:known], y), X
