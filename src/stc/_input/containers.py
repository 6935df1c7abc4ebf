"""Anything a user has -> Observations: tell the container, read its columns."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from scipy import sparse

from stc._core.observations import Column, Missing, Observations
from stc._input.cells import (
    check_weights,
    column_of_cells,
    column_of_series,
)
from stc._input.documents import Tokenizer, column_of_rows, columns_of_documents
from stc._input.pandas import Reader, is_pandas, pandas_reader, strings_of
from stc._input.values import is_missing
from stc._utils.threads import threaded

# Fewer cells than this are not worth a thread.
_MANY_CELLS = 20_000
# Entries of a sparse matrix that are sorted at a time.
_BLOCK_ENTRIES = 1 << 18


def encode(
    X: Any,
    *,
    missing: Missing = "ignore",
    tokenizer: Tokenizer | None = None,
    ngrams: int = 1,
    names: Sequence[str] = (),
    counts: bool = False,
) -> Observations:
    """Encode frames, records, arrays, sparse matrices or documents as Observations.

    Parameters
    ----------
    X
        The caller's data; never changed.
    missing
        "ignore" drops missing values, "category" makes them a value of their own.
    tokenizer
        How a document becomes tokens; None: words and punctuation.
    ngrams
        How many neighbouring tokens of a document may be a feature together.
    names
        The attributes a model knows already: a record that lacks one has a missing value there.
    counts
        Whether an array of numbers is one of counts, for a model learnt from a sparse matrix.
    """
    text = Text(tokenizer, ngrams)
    observed = _encode(X, missing, text, names, counts)
    if ngrams > 1 and observed.kind != "documents":
        raise ValueError(f"ngrams={ngrams} is for documents (strings); X holds {observed.kind}")
    return replace(observed, missing=missing)


class Text(NamedTuple):
    """How documents are read."""

    tokenizer: Tokenizer | None
    ngrams: int


def _encode(
    X: Any, missing: Missing, text: Text, names: Sequence[str], counts: bool
) -> Observations:
    if sparse.issparse(X):
        return _encode_sparse(X)
    if counts and _is_rows(X):
        return _encode_sparse(sparse.csr_array(np.asarray(X, dtype=np.float64)))
    if isinstance(X, (list, tuple)):
        return _encode_sequence(X, missing, text, names)
    if hasattr(X, "__arrow_c_array__") and not hasattr(X, "column_names"):
        X = pl.Series(X)  # one chunk of Arrow, which narwhals does not take for a series
    series = nw.from_native(X, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _encode_series(series, missing, text, names)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return _encode_frame(frame, missing)
    return _encode_sequence(X, missing, text, names)


# --- sparse matrices -----------------------------------------------------------------------


def _encode_sparse(X: Any) -> Observations:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: the weights of a sparse matrix must be real")
    if X.ndim != 2:
        raise ValueError(f"Expected a 2-D sparse matrix, got {X.ndim} dimension(s)")
    _refuse_empty(X.shape[0], X.shape[1])
    rows = X.tocsr()
    weights = rows.data.astype(np.float64, copy=False)
    if len(weights) and not (weights.min() > 0 and np.isfinite(weights.max())):
        items = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        _check_counts(weights, items, rows.indices)
        rows = sparse.csr_array((weights, rows.indices, rows.indptr), shape=rows.shape, copy=True)
        rows.eliminate_zeros()
        weights = rows.data
    column = Column(None, None, rows.shape[1], rows.indices, rows.indptr, weights)
    if not rows.has_canonical_format and _has_duplicates(rows):
        rows = sparse.csr_array((weights, rows.indices, rows.indptr), shape=rows.shape, copy=True)
        rows.sum_duplicates()  # on a copy: the caller's matrix stays as it is
        column = Column(None, None, rows.shape[1], rows.indices, rows.indptr, rows.data)
    return Observations("counts", rows.shape[0], (column,))


def _has_duplicates(rows: Any) -> bool:
    """Whether a row names a column twice; sorting numbers is faster than SciPy sorting rows."""

    def one(bounds: tuple[int, int]) -> bool:
        indptr = rows.indptr[bounds[0] : bounds[1] + 1]
        keys = np.repeat(np.arange(len(indptr) - 1) * rows.shape[1], np.diff(indptr))
        keys += rows.indices[indptr[0] : indptr[-1]]
        keys.sort()
        return bool((keys[1:] == keys[:-1]).any())

    blocks = max(rows.nnz // _BLOCK_ENTRIES, 1)
    bounds = np.linspace(0, rows.shape[0], blocks + 1, dtype=int).tolist()
    return any(threaded(one, pairwise(bounds)))


def _check_counts(weights: Any, items: Any, columns: Any) -> None:
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        check_weights(weights, items, f"column {columns[wrong[0]]}")


# --- documents -----------------------------------------------------------------------------


def _encode_series(series: Any, missing: Missing, text: Text, known: Sequence[str]) -> Observations:
    """A Series of texts, of bags of tokens, or of records."""
    _refuse_empty(len(series), 1)
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return _encode_documents(strings_of(series), missing, text)
    if series.dtype not in (nw.Object, nw.List, nw.Struct):
        raise ValueError(_reshape_hint(f"a column of {series.dtype}"))
    cells = series.to_native().tolist() if is_pandas(series.to_native()) else series.to_list()
    if any(isinstance(cell, (list, tuple, set, frozenset, np.ndarray)) for cell in cells):
        column = column_of_cells(None, cells, missing)
        columns = (column,) if text.ngrams == 1 else (column, column_of_rows(cells, text.ngrams))
        return Observations("documents", len(cells), columns)
    return _encode_sequence(cells, missing, text, known)


def _encode_documents(texts: pl.Series, missing: Missing, text: Text) -> Observations:
    columns = columns_of_documents(texts, text.tokenizer, missing, text.ngrams)
    return Observations("documents", len(texts), columns)


# --- frames --------------------------------------------------------------------------------


def _encode_frame(frame: Any, missing: Missing) -> Observations:
    native = frame.to_native()
    columns = list(native.columns) if is_pandas(native) else frame.columns
    named = all(isinstance(name, str) for name in columns)
    if not named and any(isinstance(name, str) for name in columns):
        raise TypeError(
            "Feature names are only supported if all input features have string names, "
            f"but these columns mix strings with other types: {reprlib.repr(columns)}"
        )
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"column {twice!r} occurs more than once; column names must be unique")
    _refuse_empty(len(frame), len(columns))
    names = tuple(columns) if named else positions(len(columns))
    read = pandas_reader(native) if is_pandas(native) else _polars_reader(frame)
    return _encode_columns(len(frame), names, named, read, missing)


def _polars_reader(frame: Any) -> Reader:
    columns = frame.to_polars().get_columns()
    return lambda place, name, missing: column_of_series(name, columns[place], missing)


def _encode_columns(
    n_items: int, names: tuple[str, ...], named: bool, read: Reader, missing: Missing
) -> Observations:
    def encoded(place: int) -> Column:
        try:
            return read(place, names[place], missing)
        except UnicodeError as error:
            raise ValueError(f"column {names[place]!r}: {error}") from error
        except TypeError as error:
            raise TypeError(_naming(names[place], error)) from error
        except ValueError as error:
            raise ValueError(_naming(names[place], error)) from error

    many = n_items * len(names) >= _MANY_CELLS
    columns = threaded(encoded, range(len(names)), worthwhile=many)
    return Observations("table", n_items, tuple(columns), names, named)


def _naming(name: str, error: Exception) -> str:
    message = str(error)
    return message if "column" in message else f"column {name!r}: {message}"


# --- sequences: documents, records, rows ------------------------------------------------------


def _encode_sequence(X: Any, missing: Missing, text: Text, known: Sequence[str]) -> Observations:
    if isinstance(X, Mapping):
        raise TypeError("X is one record; give a list of records, [record], even for one item")
    if isinstance(X, str):
        raise ValueError("X is one document; give a list of documents, [text], even for one item")
    if isinstance(X, Iterator):
        raise TypeError(f"X is a {type(X).__name__}, which can be read only once; give list(X)")
    if not isinstance(X, (list, tuple)):
        masked = isinstance(X, np.ma.MaskedArray)
        X = np.where(X.mask, None, X.data.astype(object)) if masked else np.asarray(X)
        if X.ndim != 1:
            return _encode_array(X, missing)
        if X.dtype.kind not in "OUS":
            raise ValueError(_reshape_hint(f"array={reprlib.repr(X)}"))
        X = X.tolist()
    _refuse_empty(len(X), 1)
    first = next((item for item in X if item is not None), None)
    if isinstance(first, Mapping):
        return _encode_records(X, missing, known)
    if isinstance(first, (str, bytes)) or first is None:
        return _encode_texts(X, missing, text)
    if isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) == 1:
        return _encode_rows(X, missing)
    if isinstance(first, (set, frozenset)):
        raise TypeError("X holds sets; give records, {'attribute': {values}}")
    raise ValueError(_reshape_hint(f"array={reprlib.repr(X)}"))


def _encode_texts(X: Sequence[Any], missing: Missing, text: Text) -> Observations:
    documents = [None if is_missing(document) else document for document in X]
    for item, document in enumerate(documents):
        if not isinstance(document, (str, bytes, type(None))):
            raise TypeError(
                f"item {item}: a document must be a string, got {type(document).__name__}; "
                "a table is given as a list of rows or records"
            )
    decoded = [t.decode("utf-8") if isinstance(t, bytes) else t for t in documents]
    try:
        series = pl.Series(decoded, dtype=pl.String)
    except UnicodeError as error:
        raise ValueError(f"documents: {error}") from error
    return _encode_documents(series, missing, text)


def _encode_records(X: Sequence[Any], missing: Missing, known: Sequence[str]) -> Observations:
    for item, record in enumerate(X):
        if not isinstance(record, Mapping):
            raise TypeError(f"item {item}: expected a record (a dict), got {type(record).__name__}")
    keys = dict.fromkeys(chain.from_iterable(X))
    wanted: dict[Any, None] = {**dict.fromkeys(known), **keys} if missing == "category" else keys
    for key in wanted:
        if not isinstance(key, str):
            raise TypeError(f"the attributes of a record are strings, got {key!r}")
    names = tuple(wanted)

    def read(place: int, name: str, missing: Missing) -> Column:
        return column_of_cells(name, [record.get(name) for record in X], missing)

    observed = _encode_columns(len(X), names, True, read, missing)
    return replace(observed, closed=False)


def _encode_rows(X: Sequence[Any], missing: Missing) -> Observations:
    width = len(X[0]) if X[0] is not None else 0
    for item, row in enumerate(X):
        if not isinstance(row, (list, tuple, np.ndarray)) or len(row) != width:
            raise ValueError(
                f"item {item}: every row must have {width} entries like the first; for items "
                "with varying numbers of values give records, {'attribute': [values]}"
            )
    _refuse_empty(len(X), width)
    columns = list(zip(*X, strict=True))
    names = positions(width)

    def read(place: int, name: str, missing: Missing) -> Column:
        return column_of_cells(name, columns[place], missing)

    return _encode_columns(len(X), names, False, read, missing)


def _encode_array(X: Any, missing: Missing) -> Observations:
    if X.ndim != 2:
        raise ValueError(f"Found array with dim {X.ndim}, while dim <= 2 is required")
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers or strings")
    _refuse_empty(*X.shape)
    names = positions(X.shape[1])

    def read(place: int, name: str, missing: Missing) -> Column:
        cells = X[:, place]
        if X.dtype.kind in "biuf" and X.dtype != np.float16:
            return column_of_series(name, pl.Series(np.ascontiguousarray(cells)), missing)
        return column_of_cells(
            name, cells.tolist() if X.dtype.kind in "OUS" else list(cells), missing
        )

    return _encode_columns(X.shape[0], names, False, read, missing)


# --- small things ---------------------------------------------------------------------------


def positions(count: int) -> tuple[str, ...]:
    """Names of unnamed columns, as scikit-learn numbers them."""
    return tuple(f"x{place}" for place in range(count))


def _is_rows(X: Any) -> bool:
    if isinstance(X, (list, tuple)):
        return bool(X) and isinstance(X[0], (list, tuple, np.ndarray))
    return isinstance(X, np.ndarray) and X.ndim == 2


def _refuse_empty(n_items: int, n_columns: int) -> None:
    if n_items == 0:
        raise ValueError(
            f"Found array with 0 sample(s) (shape=({n_items}, {n_columns})) "
            "while a minimum of 1 is required."
        )
    if n_columns == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({n_items}, {n_columns})) "
            "while a minimum of 1 is required."
        )


def _reshape_hint(what: str) -> str:
    return (
        f"Expected 2D array, got 1D array instead: {what}. Reshape your data either using "
        "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it "
        "contains a single sample. A list of strings is taken as documents."
    )
