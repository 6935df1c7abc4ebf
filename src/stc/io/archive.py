"""A model as plain data: a header of plain values, and a table with a row for each entry."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

# One row an entry of the corpus of one set of dimensions. Feature and class are written as JSON,
# so that `a` + `x: y` and `a: x` + `y`, the number 1 and the text "1", never meet.
ENTRIES = pl.Schema(
    {
        "set": pl.Int32(),  # which of the header's sets of dimensions
        "feature": pl.String(),
        "class": pl.String(),
        "mass": pl.Float64(),
        "support": pl.Int64(),
        "phase": pl.Float64(),
    }
)


class Archive(NamedTuple):
    """A model as plain data.

    Attributes
    ----------
    header
        Everything but the numbers: what `json.dumps` can write.
    entries
        The numbers, in the columns of ENTRIES, in no particular order.
    """

    header: dict[str, Any]
    entries: pl.DataFrame
