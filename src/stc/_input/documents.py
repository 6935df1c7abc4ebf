"""Documents -> tokens -> a Column: words and punctuation, by polars or by any callable."""

from __future__ import annotations

import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.observations import Column, Missing, offsets_of
from stc._core.product import Keys, objects
from stc._input.bags import Bags, column_of_bags
from stc._input.cells import added_up, bags_of_lists, blocks_of, column_of_series
from stc._input.scalars import code_series
from stc._input.values import canonical

Tokenizer = Callable[[str], Sequence[str]]

# A word is a run of letters, digits and underscores, also across a sign that stands between two of
# them without a space (don't, e-mail, 3.88, someone@home.org); any other visible sign stands alone.
TOKEN_PATTERN = r"\w+(?:['.@-]\w+)*|[^\w\s]"
_ASCII_TOKENS = re.compile(TOKEN_PATTERN, re.ASCII)
# Fewer documents than this are not worth a thread; so few not even polars.
_MANY, _FEW = 256, 8


def columns_of_documents(
    documents: pl.Series, tokenizer: Tokenizer | None, missing: Missing, ngrams: int
) -> tuple[Column, ...]:
    """Column of the tokens of each document, and one of those in a row."""
    if ngrams == 1:
        return (_column_of_documents(documents, tokenizer, missing),)
    tokens = (
        documents.str.extract_all(TOKEN_PATTERN)
        if tokenizer is None
        else _tokenized(documents, tokenizer)
    )
    return column_of_series(None, tokens, missing), _column_of_rows(tokens, ngrams)


def column_of_rows(bags: Sequence[Any], ngrams: int) -> Column:
    """Column of neighbouring tokens, out of lists of them."""
    lists: list[list[str]] = []
    for item, bag in enumerate(bags):
        if isinstance(bag, (Mapping, AbstractSet)):
            raise TypeError(f"item {item}: ngrams={ngrams} needs an order, and a set has none")
        several = isinstance(bag, (list, tuple, np.ndarray))
        texts = map(canonical, bag if several else [bag])
        lists.append([text for text in texts if text is not None])
    return _column_of_rows(pl.Series(lists, dtype=pl.List(pl.String)), ngrams)


def _column_of_rows(tokens: pl.Series, ngrams: int) -> Column:
    """Column of two up to so many neighbouring tokens; a value is the tuple of them."""
    lengths, flat = bags_of_lists(tokens)
    coded = code_series(flat)
    items = np.repeat(np.arange(len(lengths)), lengths)
    words = objects(coded.values)
    values: list[tuple[str, ...]] = []
    entries: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for size in range(2, ngrams + 1):
        starts = np.arange(max(len(items) - size + 1, 0))
        starts = starts[items[starts] == items[starts + size - 1]]
        keys = Keys(len(starts))
        for place in range(size):
            keys.append(coded.codes[starts + place].astype(np.int64), len(words) + 1)
        rows, codes = keys.distinct()
        entries.append((items[starts], codes + len(values)))
        values.extend(zip(*(words[own].tolist() for own in rows.T), strict=True))
    found = np.concatenate([own for own, _ in entries]), np.concatenate([c for _, c in entries])
    return added_up((), values, (*found, None), len(lengths))


def _column_of_documents(
    documents: pl.Series, tokenizer: Tokenizer | None, missing: Missing
) -> Column:
    """Column of the tokens of each document."""
    if tokenizer is not None:
        return column_of_series(None, _tokenized(documents, tokenizer), missing)
    if missing == "category":
        return column_of_series(None, documents.str.extract_all(TOKEN_PATTERN), missing)
    if len(documents) <= _FEW:
        texts = [text or "" for text in documents.to_list()]
        if all(map(str.isascii, texts)):  # beyond, Python and polars differ about letters
            return _column_of_few(texts)
    return column_of_bags(None, blocks_of(documents, _MANY), _bags_of_words)


def _column_of_few(texts: Sequence[str]) -> Column:
    """The same for a text or two, where starting polars would take longer than the work."""
    index: dict[str, int] = {}
    codes: list[int] = []
    counts: list[int] = []
    lengths = []
    for text in texts:
        tokens = _ASCII_TOKENS.findall(text)
        found = Counter(index.setdefault(token, len(index)) for token in tokens)
        own = sorted(found)
        codes += own
        counts += [found[code] for code in own]
        lengths.append(len(own))
    weights = np.array(counts, dtype=np.float64)
    return Column(
        None,
        list(index),
        len(index),
        np.array(codes, dtype=np.int64),
        offsets_of(np.array(lengths)),
        weights if (weights != 1).any() else None,
    )


def _bags_of_words(documents: pl.Series) -> Bags:
    return bags_of_lists(documents.str.extract_all(TOKEN_PATTERN))


def _tokenized(documents: pl.Series, tokenizer: Tokenizer) -> pl.Series:
    bags = [
        None if text is None else _checked(item, tokenizer(text))
        for item, text in enumerate(documents.to_list())
    ]
    return pl.Series(bags, dtype=pl.List(pl.String))


def _checked(item: int, tokens: Any) -> list[str]:
    """The tokens of one document, if they are strings."""
    if isinstance(tokens, Iterable) and not isinstance(tokens, (str, bytes)):
        found = list(tokens)
        if set(map(type, found)) <= {str} or all(isinstance(token, str) for token in found):
            return found
    raise TypeError(
        f"item {item}: the tokenizer must give a list of strings, got {reprlib.repr(tokens)}"
    )
