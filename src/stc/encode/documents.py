"""Documents -> tokens -> a Column: words and punctuation, by polars or by any callable."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from stc._parallel import cores, threaded
from stc.encode.cells import Missing, column_of_series
from stc.observations import Column

Tokenizer = Callable[[str], Sequence[str]]

# A word is a run of letters, digits and underscores, also across a sign that stands between two of
# them without a space (don't, e-mail, 3.88, someone@home.org); any other visible sign stands alone.
TOKEN_PATTERN = r"\w+(?:['.@-]\w+)*|[^\w\s]"
# Fewer documents than this are not worth a thread.
_MANY = 256


def column_of_documents(
    documents: pl.Series, tokenizer: Tokenizer | None, missing: Missing
) -> Column:
    """Column of the tokens of each document."""
    split = _by_pattern if tokenizer is None else _by_callable(tokenizer)
    return column_of_series(None, split(documents), missing)


def _by_pattern(documents: pl.Series) -> pl.Series:
    parts = cores() if len(documents) >= _MANY else 1
    bounds = np.linspace(0, len(documents), parts + 1, dtype=int)
    slices = [documents.slice(a, b - a) for a, b in pairwise(bounds)]
    tokens = threaded(lambda part: part.str.extract_all(TOKEN_PATTERN), slices)
    return pl.concat(tokens)


def _checked(item: int, tokens: Any) -> list[str]:
    """The tokens of one document, if they are strings."""
    if isinstance(tokens, Iterable) and not isinstance(tokens, (str, bytes)):
        found = list(tokens)
        if set(map(type, found)) <= {str} or all(isinstance(token, str) for token in found):
            return found
    raise TypeError(
        f"item {item}: the tokenizer must give a list of strings, got {reprlib.repr(tokens)}"
    )


def _by_callable(tokenizer: Tokenizer) -> Callable[[pl.Series], pl.Series]:
    def split(documents: pl.Series) -> pl.Series:
        bags = [
            None if text is None else _checked(item, tokenizer(text))
            for item, text in enumerate(documents.to_list())
        ]
        return pl.Series(bags, dtype=pl.List(pl.String))

    return split
