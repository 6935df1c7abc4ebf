"""Observations from frames, records, arrays, sparse matrices and documents."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress, pairwise
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from stc._core.domain import first_outside
from stc._core.observations import Column, Missing, Observations
from stc._input.arrays import values_of_arrow, values_of_numpy
from stc._input.cells import Values, column_of_cells, column_of_values
from stc._input.columns import as_frame, as_series, check_records, library_errors
from stc._input.documents import NGrams, Tokenizer, column_of_ngrams, columns_of_documents
from stc._input.pandas import is_pandas, strings_of, values_of
from stc._input.values import STRINGS, is_missing, naming_items, string_series, unmasked
from stc._input.weights import check_totals, check_weights
from stc._utils.threads import thread_map
from stc.exceptions import DataError, DataTypeError, ParameterError, StcError

# Number of cells from which threads are faster.
_MANY_CELLS = 20_000
# Number of entries of a sparse matrix that are sorted at a time.
_BLOCK_ENTRIES = 1 << 18
# A key is rare if so many times the records that have it are fewer than all records.
_RARE = 8
# The items that have a key, and their cells.
RareCells = tuple[list[int], list[Any]]
_ROW_TYPES = (list, tuple, np.ndarray)
# Length of the n-grams that are counted before it is chosen whether they pay.
MOST_NGRAMS = 2


def encode(
    X: Any,
    *,
    missing: Missing = "ignore",
    tokenizer: Tokenizer | None = None,
    ngrams: int | Literal["auto"] = 1,
    names: Sequence[str] = (),
    counts: bool = False,
    max_entries: float = math.inf,
) -> Observations:
    """Encode frames, records, arrays, sparse matrices or documents as Observations.

    Parameters
    ----------
    X
        The data; never changed.
    missing
        "ignore" drops missing values, "category" makes them a category.
    tokenizer
        Splits a document into tokens; None: words and punctuation.
    ngrams
        Largest n of the n-grams of documents; "auto": those to choose from, if X has documents.
    names
        The attributes of a fitted model: a record that lacks one has a missing value there.
    counts
        Whether an array of numbers holds counts, for a model fitted to a sparse matrix.
    max_entries
        The most entries that n-grams may need, and the most columns of the sparse matrix that a
        model is fitted to.
    """
    with library_errors("X"):
        longest = NGrams(MOST_NGRAMS if ngrams == "auto" else ngrams, max_entries)
        observed = _encode(X, _Options(missing, tokenizer, longest, names), counts)
    if ngrams != "auto" and ngrams > 1 and observed.kind != "documents":
        raise ParameterError(f"ngrams={ngrams} is for documents (strings); X holds {observed.kind}")
    return check_totals(replace(observed, missing=missing))


def rows_of(X: Any, keep: NDArray[np.bool_]) -> Any:
    """Return some items of frames, records, arrays, sparse matrices or rows."""
    if isinstance(X, (list, tuple)):
        return list(compress(X, keep))
    if is_pandas(X):
        return X[keep]
    if sparse.issparse(X):
        return X.tocsr()[keep]
    frame = as_series(X) if as_series(X) is not None else as_frame(X)
    return np.asanyarray(X)[keep] if frame is None else frame.filter(keep.tolist()).to_native()


class _Options(NamedTuple):
    """Parameters of `encode`."""

    missing: Missing
    tokenizer: Tokenizer | None
    ngrams: NGrams
    names: Sequence[str]


def _encode(X: Any, options: _Options, counts: bool) -> Observations:
    if sparse.issparse(X):
        if not counts:
            _check_width(X, options.ngrams.max_entries)
        return _encode_sparse(X)
    if counts and _is_rows(X):
        present = np.ma.filled(X, 0) if np.ma.isMaskedArray(X) else X  # a masked count is absent
        return _encode_sparse(sparse.csr_array(np.asarray(present, dtype=np.float64)))
    if isinstance(X, (list, tuple)):
        return _encode_sequence(X, options)
    series = as_series(X)
    if series is not None:
        return _encode_series(series, options)
    frame = as_frame(X)
    return _encode_sequence(X, options) if frame is None else _encode_frame(frame, options)


# --- sparse matrices -----------------------------------------------------------------------


def _check_width(X: Any, max_entries: float) -> None:
    """Raise if a model of a matrix would have too many columns, as each takes memory."""
    if X.ndim == 2 and X.shape[1] > max_entries:
        raise ParameterError(
            f"X has {X.shape[1]:,} columns, more than max_entries={max_entries:,}",
            hint="hash to fewer columns, leave out empty ones, or raise max_entries",
        )


def _encode_sparse(X: Any) -> Observations:
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: the weights of a sparse matrix must be real")
    if X.ndim != 2:
        raise DataError(f"Expected a 2-D sparse matrix, got {X.ndim} dimension(s)")
    _check_not_empty(X.shape[0], X.shape[1])
    rows = X.tocsr()
    weights = rows.data.astype(np.float64, copy=False)
    wrong = first_outside(weights)
    if wrong is not None:
        with naming_items(rows.indptr):
            check_weights(weights, column=f"x{rows.indices[wrong]}")
    if len(weights) and weights.min() == 0:
        rows = sparse.csr_array((weights, rows.indices, rows.indptr), shape=rows.shape, copy=True)
        rows.eliminate_zeros()
        weights = rows.data
    if not rows.has_canonical_format and _has_duplicates(rows):
        rows = sparse.csr_array((weights, rows.indices, rows.indptr), shape=rows.shape, copy=True)
        rows.sum_duplicates()  # in a copy: the matrix of the caller is not changed
        weights = rows.data
    column = Column(None, None, rows.shape[1], rows.indices, rows.indptr, weights)
    return Observations("counts", rows.shape[0], (column,))


def _has_duplicates(rows: Any) -> bool:
    """Return whether a row has two entries of a column; faster than SciPy, which sorts rows."""

    def in_block(bounds: tuple[int, int]) -> bool:
        indptr = rows.indptr[bounds[0] : bounds[1] + 1]
        keys = np.repeat(np.arange(len(indptr) - 1) * rows.shape[1], np.diff(indptr))
        keys += rows.indices[indptr[0] : indptr[-1]]
        keys.sort()
        return bool((keys[1:] == keys[:-1]).any())

    blocks = max(rows.nnz // _BLOCK_ENTRIES, 1)
    bounds = np.linspace(0, rows.shape[0], blocks + 1, dtype=int).tolist()
    return any(thread_map(in_block, pairwise(bounds)))


# --- documents -----------------------------------------------------------------------------


def _encode_series(series: Any, options: _Options) -> Observations:
    """Encode a series of texts, of lists of tokens, or of records."""
    _check_not_empty(len(series), 1)
    if series.dtype in (nw.String, nw.Categorical, nw.Enum):
        return _encode_documents(strings_of(series, "a document"), options)
    if series.dtype not in (nw.Object, nw.List, nw.Array, nw.Struct):
        raise _reshape_error(f"a column of {series.dtype}")
    cells = series.to_native().tolist() if is_pandas(series.to_native()) else series.to_list()
    if any(isinstance(cell, (list, tuple, set, frozenset, np.ndarray)) for cell in cells):
        columns = [column_of_cells(None, cells, options.missing)]
        if options.ngrams.longest > 1:
            columns.append(column_of_ngrams(cells, options.ngrams))
        return Observations("documents", len(cells), tuple(columns))
    return _encode_sequence(cells, options)


def _encode_documents(texts: pl.Series, options: _Options) -> Observations:
    columns = columns_of_documents(texts, options.tokenizer, options.missing, options.ngrams)
    return Observations("documents", len(texts), columns)


# --- frames --------------------------------------------------------------------------------


def _encode_frame(frame: Any, options: _Options) -> Observations:
    native = frame.to_native()
    columns = list(native.columns) if is_pandas(native) else frame.columns
    named = all(isinstance(name, str) for name in columns)
    if not named and any(isinstance(name, str) for name in columns):
        raise DataTypeError(
            "Feature names are only supported if all input features have string names, "
            f"but these columns mix strings with other types: {reprlib.repr(columns)}"
        )
    _check_not_empty(len(frame), len(columns))
    names = tuple(columns) if named else _positions(len(columns))
    series = None if is_pandas(native) else _polars_columns(frame)

    def read(position: int) -> Values:
        return values_of(native.iloc[:, position]) if series is None else series[position]

    return _encode_columns(len(frame), names, named, read, options.missing)


def _polars_columns(frame: nw.DataFrame[Any]) -> list[Values]:
    native = frame.to_native()
    try:
        if nw.dependencies.is_pyarrow_table(native):
            return list(map(values_of_arrow, native.columns))
        return list(frame.to_polars().get_columns())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        for name in frame.columns:
            with library_errors("the column", name):
                frame[name].to_polars()
        raise


def _encode_columns(
    n_items: int,
    names: tuple[str, ...],
    named: bool,
    read: Callable[[int], Values],
    missing: Missing,
    rare: Mapping[str, RareCells] = MappingProxyType({}),
) -> Observations:
    def encoded(position: int) -> Column:
        name = names[position]
        with library_errors("the column", name):
            name.encode()
            if name in rare:
                return _rare_column(name, rare[name], n_items)
            return column_of_values(name, read(position), missing)

    many = n_items * (len(names) - len(rare)) >= _MANY_CELLS
    columns = thread_map(encoded, range(len(names)), worthwhile=many)
    return Observations("table", n_items, tuple(columns), names, named)


# --- sequences: documents, records, rows ------------------------------------------------------


def _encode_sequence(X: Any, options: _Options) -> Observations:
    if isinstance(X, Mapping):
        raise DataTypeError(
            "X is one record",
            hint="give a list of records, [record]; of columns make a frame, pl.DataFrame(X)",
        )
    if isinstance(X, str):
        raise DataError("X is one document", hint="give a list of documents, [text]")
    if isinstance(X, Iterator):
        raise DataTypeError(
            f"X is a {type(X).__name__}, which can be read only once", hint="give list(X)"
        )
    if not isinstance(X, (list, tuple)):
        array = _array_of(X)
        if array.ndim != 1:
            return _encode_array(array, options.missing)
        if array.dtype.kind not in "OUST":
            raise _reshape_error(f"array={reprlib.repr(array)}")
        X = array.tolist()
    _check_not_empty(len(X), 1)
    first = next((item for item in X if item is not None), None)
    if isinstance(first, Mapping):
        return _encode_records(X, options)
    if isinstance(first, (str, bytes)) or first is None:
        return _encode_texts(X, options)
    if isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) == 1:
        return _encode_rows(X, options.missing)
    if isinstance(first, (set, frozenset)):
        raise DataTypeError("X holds sets", hint="give records, {'attribute': {values}}")
    raise _reshape_error(f"array={reprlib.repr(X)}")


def _array_of(X: Any) -> NDArray[Any]:
    """Return X as an array of one dimension or more; masked cells are None."""
    array = unmasked(X) if np.ma.isMaskedArray(X) else np.asarray(X)
    if array.ndim == 0:
        raise DataTypeError(
            f"Expected 2D array, got scalar array instead, from an object of type "
            f"{type(X).__name__}",
            hint="give a frame, a list of records or rows, an array, a sparse matrix or documents",
        )
    return array


def _encode_texts(X: Sequence[Any], options: _Options) -> Observations:
    if not set(map(type, X)) <= STRINGS:
        X = [_text_of(document, item) for item, document in enumerate(X)]
    return _encode_documents(string_series(X, "a document"), options)


def _text_of(document: Any, item: int) -> str | None:
    if is_missing(document):
        return None
    if isinstance(document, bytes):
        with library_errors("the document", item=item):
            return document.decode("utf-8")
    if isinstance(document, str):
        return document
    raise DataTypeError(
        f"a document must be a string, got {type(document).__name__}",
        item=item,
        hint="give a table as a list of rows or records",
    )


def _encode_records(X: Sequence[Any], options: _Options) -> Observations:
    check_records(X)
    known = options.names if options.missing == "category" else ()
    names = tuple(dict.fromkeys(chain(known, chain.from_iterable(X))))
    for key in names:
        if not isinstance(key, str):
            raise DataTypeError(f"the attributes of a record must be strings, got {key!r}")

    def read(position: int) -> list[Any]:
        return [record.get(names[position]) for record in X]

    rare = _rare_keys(X, names) if options.missing == "ignore" else {}
    observed = _encode_columns(len(X), names, True, read, options.missing, rare)
    return replace(observed, closed=False)


def _rare_keys(X: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, RareCells]:
    """Return the items and the cells of keys that few of many records have."""
    if len(X) * len(names) < _MANY_CELLS or _RARE * sum(map(len, X)) > len(X) * len(names):
        return {}
    cells: dict[str, RareCells] = {name: ([], []) for name in names}
    for item, record in enumerate(X):
        for name, cell in record.items():
            items, values = cells[name]
            items.append(item)
            values.append(cell)
    return {name: own for name, own in cells.items() if _RARE * len(own[0]) <= len(X)}


def _rare_column(name: str, cells: RareCells, n_items: int) -> Column:
    """Return the column of a key that few records have."""
    items = np.array(cells[0], dtype=np.int64)
    try:
        return column_of_values(name, cells[1], "ignore").spread(items, n_items)
    except StcError as error:
        if error.item is not None:
            error.item = int(items[error.item])
        raise


def _encode_rows(X: Sequence[Any], missing: Missing) -> Observations:
    width = len(next(row for row in X if row is not None))
    for item, row in enumerate(X):
        if not isinstance(row, _ROW_TYPES) or len(row) != width:
            raise DataError(
                f"expected a row of {width} entries like the first one, got {reprlib.repr(row)}",
                item=item,
                hint="for varying numbers of values give records, {'attribute': [values]}",
            )
    _check_not_empty(len(X), width)
    columns = list(zip(*X, strict=True))
    return _encode_columns(len(X), _positions(width), False, columns.__getitem__, missing)


def _encode_array(X: NDArray[Any], missing: Missing) -> Observations:
    if X.ndim != 2:
        raise DataError(f"Found array with dim {X.ndim}, while dim <= 2 is required")
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported", hint="give real numbers or strings")
    _check_not_empty(*X.shape)

    def read(position: int) -> Values:
        return values_of_numpy(X[:, position])

    return _encode_columns(X.shape[0], _positions(X.shape[1]), False, read, missing)


# --- small things ---------------------------------------------------------------------------


def _positions(count: int) -> tuple[str, ...]:
    """Return names of unnamed columns, numbered as in scikit-learn."""
    return tuple(f"x{position}" for position in range(count))


def _is_rows(X: Any) -> bool:
    if isinstance(X, (list, tuple)):
        return bool(X) and isinstance(X[0], _ROW_TYPES)
    return isinstance(X, np.ndarray) and X.ndim == 2


def _check_not_empty(n_items: int, n_columns: int) -> None:
    for count, what in ((n_items, "sample"), (n_columns, "feature")):
        if count == 0:
            raise DataError(
                f"Found array with 0 {what}(s) (shape=({n_items}, {n_columns})) "
                "while a minimum of 1 is required."  # as scikit-learn checks it
            )


def _reshape_error(what: str) -> DataError:
    return DataError(
        f"Expected 2D array, got 1D array instead: {what}",
        hint="Reshape your data either using array.reshape(-1, 1) if your data has a single "
        "feature or array.reshape(1, -1) if it contains a single sample. A list of strings is "
        "taken as documents",
    )
