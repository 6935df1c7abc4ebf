"""Every error and warning that stc raises, with its facts as fields, not only as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self


class StcError(Exception):
    """Base class of the errors of stc: a message, where the fault is, and what to do about it.

    Parameters
    ----------
    message : str
        What is wrong, without the place and the way out.
    column : str, default=None
        The column, attribute or key.
    item : int, default=None
        The item, counted from 0 within the data given to the call.
    row : int, default=None
        The row of the source, counted from 0 over all of its batches.
    rows : range, default=None
        The rows of the source in which the fault is, where the row itself is not known.
    path : str, default=None
        The file, or the URL of the store without its password.
    hint : str, default=None
        What the caller can do.

    Examples
    --------
    >>> from stc.exceptions import DataError
    >>> error = DataError("'old' is not a number", column="age", item=3, hint="correct it")
    >>> print(error)
    column 'age', item 3: 'old' is not a number; correct it
    >>> error.column, error.item, error.hint
    ('age', 3, 'correct it')
    """

    def __init__(
        self,
        message: str = "",
        *,
        column: str | None = None,
        item: int | None = None,
        row: int | None = None,
        rows: range | None = None,
        path: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.column = column
        self.item = item
        self.row = row
        self.rows = rows
        self.path = path
        self.hint = hint

    def __str__(self) -> str:
        where = []
        if self.path is not None:
            where.append(self.path)
        if self.rows is not None:
            where.append(f"rows {self.rows.start} to {self.rows.stop - 1}")
        if self.column is not None:
            where.append(f"column {self.column!r}")
        if self.row is not None:
            where.append(f"row {self.row}")
        elif self.item is not None:
            where.append(f"item {self.item}")
        place = f"{', '.join(where)}: " if where else ""
        return f"{place}{self.message}" + (f"; {self.hint}" if self.hint else "")

    def __reduce__(self) -> Any:
        # The default would call the class with the message alone and lose the fields.
        return _rebuilt, (type(self), self.args, self.__dict__)

    def in_batch(self, start: int, size: int) -> Self:
        """Return the error with rows of the source in the place of items of a batch.

        Parameters
        ----------
        start : int
            Number of the first row of the batch.
        size : int
            Number of rows in the batch.

        Returns
        -------
        StcError
            The error itself.

        Examples
        --------
        >>> from stc.exceptions import DataError
        >>> print(DataError("no label", item=3).in_batch(1000, 500))
        row 1003: no label
        """
        if self.row is not None or self.rows is not None:
            return self  # a smaller batch within this one has told it already
        if self.item is not None:
            self.row = start + self.item
        elif start:
            self.rows = range(start, start + size)
        return self


def _rebuilt(kind: type[StcError], arguments: Sequence[Any], fields: dict[str, Any]) -> StcError:
    error = kind.__new__(kind, *arguments)
    error.args = tuple(arguments)
    error.__dict__.update(fields)
    return error


class DataError(StcError, ValueError):
    """Raised for data that cannot be read, learnt or predicted.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.exceptions import DataError
    >>> try:
    ...     SparseTensorClassifier().fit([["red"], ["green"]], ["stop"])
    ... except DataError as error:
    ...     print(error)
    Found input variables with inconsistent numbers of samples: X has 2 items, y has 1
    """


class DataTypeError(StcError, TypeError):
    """Raised for data of a type that stc does not read.

    Examples
    --------
    >>> from stc.exceptions import DataTypeError, StcError
    >>> issubclass(DataTypeError, StcError), issubclass(DataTypeError, TypeError)
    (True, True)
    """


class MissingColumnError(DataError):
    """Raised when data lacks a column that is needed.

    Parameters
    ----------
    column : str
        The column that is needed.
    present : sequence of str
        The columns that the data has.
    reason : str, default=""
        Who needs it, in words that follow the name of the column.

    Examples
    --------
    >>> from stc.exceptions import MissingColumnError
    >>> print(MissingColumnError("legs", ["hair", "milk"]))
    the data has no column 'legs'; it has 'hair', 'milk'
    """

    def __init__(self, column: str, present: Sequence[str], reason: str = "") -> None:
        known = ", ".join(map(repr, present))
        super().__init__(f"the data has no column {column!r}{reason}; it has {known}")
        self.missing = column
        self.present = tuple(present)
        self.reason = reason


class MissingLabelError(DataError):
    """Raised when an item to learn from has no label.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.exceptions import MissingLabelError
    >>> try:
    ...     SparseTensorClassifier().fit([["red"], ["green"]], ["stop", None])
    ... except MissingLabelError as error:
    ...     print(error.item)
    1
    """


class EmptySourceError(DataError):
    """Raised when a source has no rows.

    Parameters
    ----------
    consequence : str
        What cannot be done because of it.

    Examples
    --------
    >>> from stc.exceptions import EmptySourceError
    >>> print(EmptySourceError("there is nothing to learn from"))
    the source has no rows: there is nothing to learn from
    """

    def __init__(self, consequence: str) -> None:
        super().__init__(f"the source has no rows: {consequence}")


class ParameterError(StcError, ValueError):
    """Raised for a parameter whose value is out of range or contradicts another one.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.exceptions import ParameterError
    >>> try:
    ...     SparseTensorClassifier(ngrams=2).fit([["red"]], ["stop"])
    ... except ParameterError as error:
    ...     print(error)
    ngrams=2 is for documents (strings); X holds table
    """


class ParameterTypeError(StcError, TypeError):
    """Raised for a parameter of a type that is not accepted.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.exceptions import ParameterTypeError
    >>> try:
    ...     SparseTensorClassifier().partial_fit([["red"]], ["stop"], batch_id=7)
    ... except ParameterTypeError as error:
    ...     print(error)
    batch_id is a string, got int
    """


class NeverLearntError(StcError, ValueError):
    """Raised when something is to be unlearnt that was never learnt, or that rounding has lost.

    Attributes
    ----------
    feature, class_
        Number of a feature (None: all items of the class) and of a class where that shows.

    Examples
    --------
    >>> from stc import NeverLearntError, SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["red"], ["green"]], ["stop", "go"])
    >>> try:
    ...     model.unlearn([["red"]], ["go"])
    ... except NeverLearntError as error:
    ...     print(error)
    cannot unlearn: x0=red and class 'go' were never learnt together
    """

    def __init__(
        self,
        message: str,
        feature: int | None = None,
        class_: int | None = None,
        *,
        item: int | None = None,
    ) -> None:
        super().__init__(message, item=item)
        self.feature = feature
        self.class_ = class_


class DuplicateBatchError(StcError, ValueError):
    """Raised when models are merged that have learnt the same batch.

    Parameters
    ----------
    batch_id : str
        The batch.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.exceptions import DuplicateBatchError
    >>> north = SparseTensorClassifier().partial_fit([["snow"]], ["winter"], batch_id="Monday")
    >>> south = SparseTensorClassifier().partial_fit([["sun"]], ["summer"], batch_id="Monday")
    >>> try:
    ...     north.merge(south)
    ... except DuplicateBatchError as error:
    ...     print(error)
    both models have learnt the batch 'Monday': merged, it would count twice
    """

    def __init__(self, batch_id: str) -> None:
        super().__init__(
            f"both models have learnt the batch {batch_id!r}: merged, it would count twice"
        )
        self.batch_id = batch_id


class ModelFileError(StcError, ValueError):
    """Raised when a file cannot be loaded as a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import stc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note.txt"
    ...     _ = path.write_text("no model")
    ...     try:
    ...         stc.load(path)
    ...     except stc.ModelFileError as error:
    ...         print(str(error).removeprefix(folder))
    /note.txt: cannot be loaded as a model: not a Parquet file
    """


class ForkedProcessError(StcError, RuntimeError):
    """Raised in a forked process for what needs polars' threads, which a fork does not copy.

    Predictions for items in memory do not need them.

    Examples
    --------
    >>> from stc.exceptions import ForkedProcessError, StcError
    >>> issubclass(ForkedProcessError, StcError)
    True
    """


class StoreError(StcError, RuntimeError):
    """Raised when a store cannot do what it is asked; nothing is half-written.

    Examples
    --------
    >>> import stc
    >>> store = stc.open_store("sqlite:////no/such/folder/zoo.db")
    >>> try:
    ...     store.create("zoo", stc.SparseTensorClassifier())
    ... except stc.StoreError as error:
    ...     print(error.message)
    the file cannot be opened
    """


class ModelNotFoundError(StoreError, KeyError):
    """Raised when a store has no model of a name.

    Parameters
    ----------
    name : str
        The name.
    names : list of str, default=()
        The names that there are.
    path : str, default=None
        The URL of the store without its secrets.

    Examples
    --------
    >>> from stc.exceptions import ModelNotFoundError
    >>> print(ModelNotFoundError("zo", ["birds", "zoo"]))
    there is no model 'zo'; there are 'birds', 'zoo'
    """

    def __init__(self, name: str, names: Sequence[str] = (), path: str | None = None) -> None:
        listed = ", ".join(map(repr, names))
        super().__init__(
            f"there is no model {name!r}", path=path, hint=f"there are {listed}" if listed else None
        )
        self.name = name


class StoreConflictError(StoreError):
    """Raised when another writer changed a stored model at the same time; retried internally.

    Examples
    --------
    >>> from stc.exceptions import StoreConflictError, StoreError
    >>> issubclass(StoreConflictError, StoreError)
    True
    """


class SourceFileError(StcError, FileNotFoundError):
    """Raised when a file of a source is absent or cannot be opened.

    Examples
    --------
    >>> import stc
    >>> from stc.exceptions import SourceFileError
    >>> try:
    ...     stc.source("no/such/file.csv")
    ... except SourceFileError as error:
    ...     print(error.path)
    no/such/file.csv
    """


class OutputFileError(StcError, OSError):
    """Raised when a file cannot be written where it is asked for; nothing is changed there.

    Examples
    --------
    >>> import stc
    >>> from stc.exceptions import OutputFileError
    >>> try:
    ...     stc.SparseTensorClassifier().fit([["a"]], ["x"]).save("/")
    ... except OutputFileError as error:
    ...     print(error)
    /: is a folder; name a file
    """


class HardlyCategoricalWarning(UserWarning):
    """A column of measurements was given where categories are expected.

    Attributes
    ----------
    columns : tuple of str
        The columns in which nearly every value is distinct.

    Examples
    --------
    >>> import warnings
    >>> from stc import HardlyCategoricalWarning, SparseTensorClassifier
    >>> weights = [[k + 0.5] for k in range(30)]
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = SparseTensorClassifier().fit(weights, [k % 2 for k in range(30)])
    >>> caught[0].category is HardlyCategoricalWarning, caught[0].message.columns
    (True, ('x0',))
    """

    def __init__(self, message: str, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)
