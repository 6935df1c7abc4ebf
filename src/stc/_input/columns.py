"""Frames and records: reading them through narwhals, and taking named columns out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import polars as pl

from stc._utils.forking import refuse_without_pool
from stc._utils.names import first_repeated
from stc.exceptions import DataError, DataTypeError, MissingColumnError, StcError

# What libraries raise for data that they cannot convert; pyarrow's errors are among these classes.
_LIBRARY_ERRORS = (
    ValueError,
    TypeError,
    OverflowError,
    NotImplementedError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


class library_errors:  # noqa: N801 (used like those of contextlib)
    """Turn errors of other libraries into DataError, and name the column in those of stc.

    It is entered once for each column. A generator of contextlib takes three times as long.

    Parameters
    ----------
    what
        What cannot be read, for the message.
    column, item
        The column and the item that are being read.
    """

    __slots__ = ("column", "item", "what")

    def __init__(
        self, what: str = "the data", column: str | None = None, item: int | None = None
    ) -> None:
        self.what, self.column, self.item = what, column, item

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, StcError):
            if error.column is None:
                error.column = self.column
        elif isinstance(error, _LIBRARY_ERRORS):
            message = f"{self.what} cannot be read: {error}"
            raise DataError(message, column=self.column, item=self.item) from error


def as_frame(data: Any, column: str | None = None) -> nw.DataFrame[Any] | None:
    """Return data as a narwhals frame; None if it is not a frame.

    Parameters
    ----------
    data
        Anything; a lazy frame is collected.
    column
        The only column needed of a lazy frame, if it is there.
    """
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise _duplicate_error(data) from error
    if isinstance(frame, nw.LazyFrame):
        refuse_without_pool()
        with library_errors("the lazy frame"):
            if column is not None and column in frame.collect_schema():
                frame = frame.select(column)
            frame = frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def as_series(data: Any) -> nw.Series[Any] | None:
    """Return data as a narwhals series; None if it is not a series."""
    if hasattr(data, "__arrow_c_array__") and not hasattr(data, "column_names"):
        data = pl.Series(data)  # an array of Arrow, which narwhals does not take as a series
    series = nw.from_native(data, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def _duplicate_error(frame: Any) -> DataError:
    names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    column = str(first_repeated(names))
    return DataError("the name occurs more than once", column=column, hint="rename one of them")


def split_targets(X: Any, names: Sequence[str], *, needed: bool) -> tuple[Any, dict[str, Any]]:
    """Return the data without these columns or keys, and the columns by name.

    Parameters
    ----------
    X
        A frame, or a list of records.
    names
        Names of the targets or of the weight.
    needed
        Whether they must be in the data (in learning) or may be (in prediction).
    """
    frame = as_frame(X)
    if frame is not None:
        return _split_frame(frame, names, needed)
    if isinstance(X, pl.Series) and X.dtype == pl.Struct:
        return _split_frame(nw.from_native(X.struct.unnest()), names, needed)
    if is_records(X):
        return _split_records(X, names, needed)
    if not needed:
        return X, {}
    raise DataError(
        f"{', '.join(map(repr, names))} must be a column of X, but X is a {type(X).__name__}",
        hint="give X as a frame or as records, or give the labels or weights themselves",
    )


def column_of(X: Any, name: str) -> Any:
    """Return one column of a frame or one key of records; anything else is returned as it is."""
    frame = as_frame(X, name)
    if frame is not None:
        if name not in frame.columns:
            raise MissingColumnError(name, frame.columns, ", which holds the text")
        return frame[name].to_native()
    if is_records(X):
        return [item.get(name) if isinstance(item, Mapping) else item for item in X]
    return X


def is_records(X: Any) -> bool:
    """Return whether X is a list with a record in it."""
    return isinstance(X, (list, tuple)) and any(isinstance(item, Mapping) for item in X)


def check_records(X: Sequence[Any]) -> None:
    """Raise if an item is not a record."""
    for item, record in enumerate(X):
        if not isinstance(record, Mapping):
            raise DataTypeError(
                f"expected a record (a dict), got {type(record).__name__}", item=item
            )


def _split_frame(
    frame: nw.DataFrame[Any], names: Sequence[str], needed: bool
) -> tuple[Any, dict[str, Any]]:
    known = set(frame.columns)
    present = [name for name in names if name in known]
    if needed and len(present) < len(names):
        absent = next(name for name in names if name not in present)
        raise MissingColumnError(absent, frame.columns, ", which is to be a target or the weight")
    if len(present) == len(frame.columns):
        raise DataError("X has no column besides the targets")
    targets = {name: frame[name].to_native() for name in present}
    return frame.drop(present).to_native(), targets


def _split_records(
    X: Sequence[Any], names: Sequence[str], needed: bool
) -> tuple[Any, dict[str, Any]]:
    check_records(X)
    if needed:
        for item, record in enumerate(X):
            for name in names:
                if name not in record:
                    raise DataError(
                        "the record lacks this key, which is to be a target or the weight",
                        column=name,
                        item=item,
                    )
    targets = {name: [record.get(name) for record in X] for name in names}
    rest = [{key: value for key, value in record.items() if key not in names} for record in X]
    if needed and not any(rest):
        raise DataError("the records have no attribute besides the targets")
    return rest, targets
