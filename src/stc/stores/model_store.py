"""ModelStore: a mapping from names to the models of a database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeGuard

from sklearn.exceptions import NotFittedError

from stc._utils.database_url import DatabaseURL
from stc._utils.forking import new_lock
from stc._utils.optional import optional
from stc.base import PredictorMixin
from stc.classifier import SparseTensorClassifier, validated_parameters
from stc.exceptions import ModelNotFoundError, ParameterError, ParameterTypeError
from stc.fitted import FittedModel
from stc.io import to_archive, unfitted_header
from stc.stores.database import Database
from stc.stores.keys import check_text
from stc.stores.stored_model import StoredModel, fitting
from stc.stores.transaction import Writing

# One store per URL and process: DuckDB allows only one connection to a file.
_open_stores: dict[tuple[DatabaseURL, str, int], ModelStore] = {}
_open_lock = new_lock()


class ModelStore(Mapping[str, StoredModel]):
    """A database of models: a mapping from their names to the models.

    It is returned by `stc.open_store`. It can be used in a `with` statement, which closes it.

    Examples
    --------
    >>> import stc
    >>> with stc.open_store("sqlite:///:memory:") as store:
    ...     _ = store.create("zoo", stc.SparseTensorClassifier()).fit(*stc.load_zoo())
    ...     print(list(store), store["zoo"].predict([{"milk": 1}]))
    ...     del store["zoo"]
    ...     print(list(store))
    ['zoo'] ['Mammal']
    []
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._models: dict[str, StoredModel] = {}

    @property
    def url(self) -> str:
        """The URL of the database, without its secrets."""
        return str(self._database.url)

    def create(self, name: str, model: Any, *, overwrite: bool = False) -> StoredModel:
        """Create a model in the store.

        Parameters
        ----------
        name : str
            Its name.
        model : SparseTensorClassifier, SparseTensorClassifierCV or StoredModel
            What is stored: its parameters and, if it is fitted, all that it has learnt. It is not
            modified.
        overwrite : bool, default=False
            Whether to replace a model that has this name.

        Returns
        -------
        StoredModel
            The model in the store.

        Raises
        ------
        ParameterError
            If there is such a model.

        Examples
        --------
        >>> import stc
        >>> with stc.open_store("sqlite:///:memory:") as store:
        ...     lights = stc.SparseTensorClassifier(power=0.4).fit([["red"]], ["stop"])
        ...     store.create("lights", lights).classes_.tolist()
        ['stop']
        """
        if not isinstance(name, str):
            raise ParameterTypeError(f"the name of a model is a string, got {type(name).__name__}")
        if not name:
            raise ParameterError("the name of a model is empty")
        parameters, fitted = _content(model)
        # What cannot be stored is refused before a database is created.
        if fitted is None:
            header = unfitted_header(parameters)
        else:
            archive = to_archive(fitted.state, fitted.parameters)

        def work(writing: Writing) -> None:
            if writing.version is not None:
                if not overwrite:
                    raise ParameterError(
                        f"the store already has a model {name!r}",
                        path=self.url,
                        hint="choose another name, delete it, or pass overwrite=True",
                    )
                writing.forget()
            if fitted is None:
                writing.clear(header)
                return
            writing.replace(archive)
            for batch_id in sorted(fitted.state.batches):
                writing.note(batch_id)

        self._database.write(name, work)
        stored = StoredModel(self, name, parameters["tokenizer"])
        self._models[name] = stored
        return stored

    def __getitem__(self, name: str) -> StoredModel:
        """Return a model, after checking that it is one and is not damaged."""
        if not _is_name(name):
            raise ModelNotFoundError(name, list(self), self.url)
        stored = self._models.get(name) or StoredModel(self, name)
        stored._current()
        return self._models.setdefault(name, stored)

    def __iter__(self) -> Iterator[str]:
        return iter(self._database.names())

    def __len__(self) -> int:
        return len(self._database.names())

    def __contains__(self, name: object) -> bool:
        return _is_name(name) and self._database.version(name) is not None

    # By identity: comparing the items, as mappings do, would read every model.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __delitem__(self, name: str) -> None:
        """Remove a model and its batch ledger."""

        def work(writing: Writing) -> None:
            if writing.version is None:
                raise ModelNotFoundError(name, list(self), self.url)
            writing.remove()

        self._models.pop(name, None)
        if name not in self:  # also where a read-only store would refuse to write
            raise ModelNotFoundError(name, list(self), self.url)
        self._database.write(name, work)

    def close(self) -> None:
        """Close files and connections; they are opened again when needed."""
        with _open_lock:
            for key, store in list(_open_stores.items()):
                if store is self:
                    del _open_stores[key]
        self._models.clear()
        self._database.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ModelStore({self.url!r})"

    def __reduce__(self) -> Any:
        return open_store, (self.url,)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def _is_name(name: object) -> TypeGuard[str]:
    """Return whether a model could have the name."""
    if not isinstance(name, str):
        return False
    try:
        check_text(name, "the name")
    except ParameterError:
        return False
    return True


def _content(model: Any) -> tuple[Mapping[str, Any], FittedModel | None]:
    """Return the parameters of a model, and what it has learnt."""
    if not isinstance(model, PredictorMixin):
        raise ParameterTypeError(f"a model of stc is needed, got {type(model).__name__}")
    if isinstance(model, StoredModel):
        model = model.to_estimator()
    try:
        fitted = model._checked()
    except NotFittedError:
        if not isinstance(model, SparseTensorClassifier):
            raise
        return validated_parameters(model.get_params(deep=False)), None
    return fitted.parameters, fitting(fitted, fitted.parameters)


def open_store(url: str) -> ModelStore:
    """Open a store of models.

    The same URL gives the same store until it is closed. Opening a store writes nothing: a missing
    database file is created by the first `create`.

    Parameters
    ----------
    url : str
        `duckdb:///zoo.duckdb` or `sqlite:///zoo.db` for a file (four slashes for an absolute path,
        `:memory:` for a database in memory), `postgresql://user:password@host:port/database` for
        a server. Its secrets are shown nowhere, and are not pickled.

    Returns
    -------
    ModelStore
        The store: a mapping from names to models.

    Raises
    ------
    ParameterError
        If the URL is not that of a supported database.
    ImportError
        If a package that the database needs is not installed.

    Examples
    --------
    >>> import stc
    >>> store = stc.open_store("sqlite:///:memory:")
    >>> model = store.create("zoo", stc.SparseTensorClassifier())
    >>> list(store)
    ['zoo']
    >>> store.close()
    """
    parsed = DatabaseURL.parse(url)
    # A relative path is another file once the working directory changes.
    file = parsed.file_path() if parsed.database in ("duckdb", "sqlite") else ""
    key = parsed, file, os.getpid()
    with _open_lock:
        if key not in _open_stores:
            _open_stores[key] = ModelStore(_database(parsed))
        return _open_stores[key]


def _database(url: DatabaseURL) -> Database:
    match url.database:
        case "duckdb":
            optional("duckdb", "duckdb", "A DuckDB store")
            from stc.stores.duckdb import DuckdbDatabase

            return DuckdbDatabase(url)
        case "sqlite":
            optional("sqlalchemy", "sqlite", "A SQLite store")
            from stc.stores.sqlite import SqliteDatabase

            return SqliteDatabase(url)
        case "postgresql":
            optional("sqlalchemy", "postgresql", "A PostgreSQL store")
            optional("psycopg", "postgresql", "A PostgreSQL store")
            from stc.stores.postgresql import PostgresqlDatabase

            return PostgresqlDatabase(url)
    raise ParameterError(
        f"{str(url)!r} is not the URL of a supported database",
        hint="it starts with duckdb://, sqlite:// or postgresql://",
    )
