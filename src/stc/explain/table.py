"""The table that every explanation holds, its output formats, and operations on such tables."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from stc._utils.optional import optional

# Maximal number of rows that a notebook shows.
_SHOWN_ROWS = 20


class TableMixin:
    """Mixin for explanations with a table, `table`."""

    if TYPE_CHECKING:  # a field of some explanations, a cached property of others

        @property
        def table(self) -> pl.DataFrame:
            """The table."""

    def to_polars(self) -> pl.DataFrame:
        """Return the table.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain_local([["a", "b"]]).to_polars()["value"].to_list()
        ['b']
        """
        return self.table

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain_local([["a", "b"]]).to_pandas()["value"].tolist()
        ['b']
        """
        pandas = optional("pandas", "pandas", "to_pandas")
        return pandas.DataFrame(self.table.to_dict(as_series=False))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the table as a list of dicts, one per row.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain_local([["a", "b"]]).to_dicts()[0]["feature"]
        'x1=b'
        """
        return self.table.to_dicts()

    def to_json(self, indent: int | None = None) -> str:
        """Return the table as JSON, a list of objects, one per row.

        Parameters
        ----------
        indent : int, default=None
            Number of spaces to indent by; None: everything in one line.

        Returns
        -------
        str
            Deterministic: equal explanations give equal bytes.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain_local([["a", "b"]]).to_json()[:38]
        '[{"item": 0, "class": "x", "attribute"'
        """
        return json.dumps(self.to_dicts(), ensure_ascii=False, indent=indent, default=str)

    def filter(self, *predicates: Any, **equal: Any) -> Self:
        """Return the explanation with some of the rows of its table.

        Parameters
        ----------
        *predicates, **equal
            As in polars' `DataFrame.filter`. Where features are conjunctions, the columns
            `attribute` and `value` hold lists; a text selects the single attribute or value.

        Returns
        -------
        the same type
            A new explanation. Nothing is recomputed: shares remain shares of the whole.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain_local([["a", "b"]]).filter(attribute="x0").to_dicts()
        []
        """
        schema = self.table.schema
        for name in list(equal):
            if isinstance(schema.get(name), pl.List) and isinstance(equal[name], str):
                predicates = (*predicates, pl.col(name) == pl.lit([equal.pop(name)]))
        return self._with(self.table.filter(*predicates, **equal))

    def sort(self, by: str | Sequence[str], descending: bool = False) -> Self:
        """Return the explanation with the rows of its table sorted.

        Parameters
        ----------
        by : str or list of str
            Columns of the table.
        descending : bool, default=False
            Whether to sort in descending order.

        Returns
        -------
        the same type
            A new explanation.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["c", "d"]], ["x", "y"])
        >>> explanation = model.explain_local([["a", "b"]])
        >>> explanation.sort("value", descending=True).table["value"].to_list()
        ['b', 'a']
        """
        return self._with(self.table.sort(by, descending=descending, maintain_order=True))

    def _with(self, table: pl.DataFrame) -> Self:
        new = copy.copy(self)
        new.__dict__["table"] = table
        return new

    def _repr_html_(self) -> str:
        """Return the sentences and the first rows of the table, for a notebook."""
        text = html.escape(repr(self))
        rows = "".join(map(_html_row, self.table.head(_SHOWN_ROWS).iter_rows()))
        names = "".join(f"<th>{html.escape(name)}</th>" for name in self.table.columns)
        more = self.table.height - _SHOWN_ROWS
        note = f"<p>{more} more rows</p>" if more > 0 else ""
        return (
            f'<div class="stc"><pre>{text}</pre>'
            f"<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{note}</div>"
        )


def _html_row(row: tuple[Any, ...]) -> str:
    cells = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)
    return "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def sorted_rows(table: pl.DataFrame, descending: Mapping[str, bool]) -> pl.DataFrame:
    """Return a table sorted by columns, each ascending or descending."""
    directions = list(descending.values())
    return table.sort(list(descending), descending=directions, maintain_order=True)


def differences(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Join two tables of features and add `difference`, of their last columns; largest first.

    A feature that only one table has counts as 0 in the other one.
    """
    *keys, left = first.columns
    right = second.columns[-1]
    both = first.join(second, on=keys, how="full", coalesce=True, nulls_equal=True)
    table = both.with_columns(pl.col(left, right).fill_null(0.0)).with_columns(
        difference=pl.col(left) - pl.col(right)
    )
    order = [pl.col("difference").abs(), pl.col("feature")]
    return table.sort(order, descending=[True, False], maintain_order=True)
