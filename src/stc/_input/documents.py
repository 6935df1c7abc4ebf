"""Columns of the tokens and the n-grams of documents."""

from __future__ import annotations

import math
import re
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.observations import Column, Missing, offsets_of
from stc._core.product import TupleKeys, object_array
from stc._input.bags import column_of_bags
from stc._input.cells import bags_of_lists, blocks_of, column_of_entries, column_of_series
from stc._input.scalars import code_series
from stc._input.values import canonical
from stc._utils.forking import pool_is_lost
from stc.exceptions import DataTypeError, ParameterError

Tokenizer = Callable[[str], Sequence[str]]

# A word is a run of letters, digits and underscores, which may contain single ' . @ or - signs
# (don't, e-mail, 3.88, someone@home.org); any other visible sign is a token.
TOKEN_PATTERN = r"\w+(?:['.@-]\w+)*|[^\w\s]"
_ASCII_TOKENS = re.compile(TOKEN_PATTERN, re.ASCII)
# Number of documents from which a thread, and up to which Python instead of polars, is faster.
_MANY, _FEW = 256, 8
# So many entries for each word cost no more than the documents do: n-grams of up to five words.
_CHEAP = 10


class NGrams(NamedTuple):
    """Which n-grams of documents are made.

    Attributes
    ----------
    longest
        Their largest number of words; 1: none are made.
    max_entries
        The most entries that they may need; an n-gram of k words counts as k - 1.
    """

    longest: int = 1
    max_entries: float = math.inf

    def check_size(self, lengths: NDArray[Any]) -> None:
        """Raise if documents of these lengths have too many n-grams, before any is made."""
        # The sum of (k - 1) (length - k + 1) over k from 2 to the longest n-gram, in closed form.
        n = np.minimum(self.longest, lengths).astype(np.float64)
        needed = float((n * (n - 1) * (3 * lengths - 2 * n + 2) / 6).sum())
        if needed > max(self.max_entries, _CHEAP * float(lengths.sum())):
            raise ParameterError(
                f"ngrams={self.longest} would make {needed:,.0f} entries for {len(lengths):,} "
                f"documents, more than max_entries={self.max_entries:,}",
                hint="lower ngrams, give smaller batches, or raise max_entries",
            )


def columns_of_documents(
    documents: pl.Series, tokenizer: Tokenizer | None, missing: Missing, ngrams: NGrams
) -> tuple[Column, ...]:
    """Return a column of the tokens of documents; with n-grams also one of these."""
    if ngrams.longest == 1 and tokenizer is None and missing == "ignore":
        return (_column_of_words(documents),)
    tokens = _words(documents) if tokenizer is None else _tokenize(documents, tokenizer)
    column = column_of_series(None, tokens, missing)
    return (column,) if ngrams.longest == 1 else (column, _column_of_ngrams(tokens, ngrams))


def _words(documents: pl.Series) -> pl.Series:
    if pool_is_lost():
        return _tokenize(documents, None)
    return documents.str.extract_all(TOKEN_PATTERN)


def _python_tokenizer(texts: Iterable[str | None]) -> Tokenizer:
    """Return the tokenizer of TOKEN_PATTERN without polars' threads, for these texts.

    Python and polars differ in what letters and spaces are, so polars is asked for each sign.
    """
    signs = pl.Series(sorted(set().union(*filter(None, texts))), dtype=pl.String)
    kinds = signs.str.extract_groups(r"^(?:(\w)|(\s))$").struct.unnest()
    in_words, spaces = ("".join(map(re.escape, kinds[k].drop_nulls())) for k in "12")
    pattern = TOKEN_PATTERN.replace(r"[^\w\s]", f"[^_{in_words}{spaces}]")
    return re.compile(pattern.replace(r"\w", f"[_{in_words}]")).findall


def column_of_ngrams(token_lists: Sequence[Any], ngrams: NGrams) -> Column:
    """Return a column of the n-grams of lists of tokens."""
    lists: list[list[str]] = []
    for item, tokens in enumerate(token_lists):
        if isinstance(tokens, (Mapping, AbstractSet)):
            raise DataTypeError(
                f"ngrams={ngrams.longest} needs an order, and a {type(tokens).__name__} has none",
                item=item,
            )
        several = isinstance(tokens, (list, tuple, np.ndarray))
        texts = map(canonical, tokens if several else [tokens])
        lists.append([text for text in texts if text is not None])
    return _column_of_ngrams(pl.Series(lists, dtype=pl.List(pl.String)), ngrams)


def _column_of_ngrams(tokens: pl.Series, ngrams: NGrams) -> Column:
    """Return a column of the n-grams of two tokens and more; a value is a tuple of tokens."""
    lengths, flat = bags_of_lists(tokens)
    lengths = lengths.astype(np.int64)
    ngrams.check_size(lengths)
    coded = code_series(flat)
    items = np.repeat(np.arange(len(lengths)), lengths)
    words = object_array(coded.values)
    values: list[tuple[str, ...]] = []
    entries: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for size in range(2, min(ngrams.longest, int(lengths.max(initial=0))) + 1):
        starts = np.arange(max(len(items) - size + 1, 0))
        starts = starts[items[starts] == items[starts + size - 1]]
        keys = TupleKeys(len(starts))
        for shift in range(size):
            keys.append(coded.codes[starts + shift].astype(np.int64), len(words) + 1)
        ngram_words, codes = keys.distinct()
        entries.append((items[starts], codes + len(values)))
        values.extend(zip(*(words[column].tolist() for column in ngram_words.T), strict=True))
    if not entries:
        entries = [(items[:0], items[:0])]
    all_items, all_codes = map(np.concatenate, zip(*entries, strict=True))
    return column_of_entries((), values, (all_items, all_codes, None), len(lengths))


def _column_of_words(documents: pl.Series) -> Column:
    if len(documents) <= _FEW:
        texts = [text or "" for text in documents.to_list()]
        if all(map(str.isascii, texts)):  # Python and polars differ in what other letters are
            return _column_of_few(texts)
    blocks = blocks_of(documents, _MANY)
    return column_of_bags(None, blocks, lambda block: bags_of_lists(_words(block)))


def _column_of_few(texts: Sequence[str]) -> Column:
    """Return the column of a few texts, for which polars has too much overhead."""
    index: dict[str, int] = {}
    codes: list[int] = []
    counts: list[int] = []
    lengths = []
    for text in texts:
        tokens = _ASCII_TOKENS.findall(text)
        count_of = Counter(index.setdefault(token, len(index)) for token in tokens)
        codes += sorted(count_of)
        counts += [count_of[code] for code in sorted(count_of)]
        lengths.append(len(count_of))
    weights = np.array(counts, dtype=np.float64)
    return Column(
        None,
        list(index),
        len(index),
        np.array(codes, dtype=np.int64),
        offsets_of(np.array(lengths)),
        weights if (weights != 1).any() else None,
    )


def _tokenize(documents: pl.Series, tokenizer: Tokenizer | None) -> pl.Series:
    texts = documents.to_list()
    tokens_of = tokenizer or _python_tokenizer(texts)
    token_lists = [
        None if text is None else _checked(item, tokens_of(text)) for item, text in enumerate(texts)
    ]
    return pl.Series(token_lists, dtype=pl.List(pl.String))


def _checked(item: int, tokens: Any) -> list[str]:
    """Return the tokens of one document as a list; raise if they are not strings."""
    if isinstance(tokens, Iterable) and not isinstance(tokens, (str, bytes)):
        listed = list(tokens)
        if set(map(type, listed)) <= {str} or all(isinstance(token, str) for token in listed):
            return listed
    raise DataTypeError(
        f"the tokenizer must return a list of strings, got {reprlib.repr(tokens)}", item=item
    )
