"""What all explanations share: a plain table, in whatever form a caller likes."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from stc._utils.optional import optional

# Rows of a table that a notebook shows.
_SHOWN_ROWS = 20


class Tabular:
    """Something with a table, `table`."""

    if TYPE_CHECKING:  # a field of some, computed when it is asked for by others

        @property
        def table(self) -> pl.DataFrame:
            """The table."""

    def to_polars(self) -> pl.DataFrame:
        """The table.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).to_polars()["value"].to_list()
        ['b']
        """
        return self.table

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).to_pandas()["value"].tolist()
        ['b']
        """
        pandas = optional("pandas", "pandas", "to_pandas")
        return pandas.DataFrame(self.table.to_dict(as_series=False))

    def to_dicts(self) -> list[dict[str, Any]]:
        """The table as a list of dicts, one a row.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).to_dicts()[0]["feature"]
        'x1=b'
        """
        return self.table.to_dicts()

    def to_json(self, indent: int | None = None) -> str:
        """The table as JSON, a list of objects, one a row.

        Parameters
        ----------
        indent : int, default=None
            Blanks to indent by; None: all in one line.

        Returns
        -------
        str
            The same for the same explanation, byte by byte.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).to_json()[:38]
        '[{"item": 0, "class": "x", "attribute"'
        """
        return json.dumps(self.to_dicts(), ensure_ascii=False, indent=indent, default=str)

    def filter(self, *predicates: Any, **equal: Any) -> Self:
        """The same explanation with some rows of its table only.

        Parameters
        ----------
        *predicates, **equal
            As polars' `DataFrame.filter` takes them.

        Returns
        -------
        the same type
            A new one; nothing is computed again, so shares stay shares of the whole.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["a", "c"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).filter(attribute="x0").to_dicts()
        []
        """
        return self._with(self.table.filter(*predicates, **equal))

    def sort(self, by: str | Sequence[str], descending: bool = False) -> Self:
        """The same explanation with its table in another order.

        Parameters
        ----------
        by : str or list of str
            Columns of the table.
        descending : bool, default=False
            Whether the highest come first.

        Returns
        -------
        the same type
            A new one.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit([["a", "b"], ["c", "d"]], ["x", "y"])
        >>> model.explain([["a", "b"]]).sort("value", descending=True).table["value"].to_list()
        ['b', 'a']
        """
        return self._with(self.table.sort(by, descending=descending, maintain_order=True))

    def _with(self, table: pl.DataFrame) -> Self:
        new = copy.copy(self)
        new.__dict__["table"] = table
        return new

    def _repr_html_(self) -> str:
        """Sentences and the first rows of the table, for a notebook."""
        text = html.escape(repr(self))
        rows = "".join(_html_row(row) for row in self.table.head(_SHOWN_ROWS).iter_rows())
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
