"""Where a model is: in a file, or under a name in a store."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.exceptions import NotFittedError

import stc
from stc._utils.database_url import MEMORY, DatabaseURL
from stc.cli.data import check_output
from stc.cli.errors import DATA, FILE, MODEL, USAGE, CommandError, one_line, writing
from stc.cli.urls import FILE_DATABASES, is_url, shown_url, split_url
from stc.exceptions import ModelNotFoundError, ParameterError, StoreError
from stc.fitted import FittedModel
from stc.io import locked
from stc.stores import ModelStore, StoredModel, open_store


class Learnt(NamedTuple):
    """What a model has learnt: weight of its items, numbers of attributes and classes, batches."""

    items: float
    attributes: int
    classes: int
    batches: frozenset[str]

    @classmethod
    def of(cls, fitted: FittedModel) -> Learnt:
        """Return what a fitted model has learnt."""
        mass = fitted.model.class_mass
        attributes = max(fitted.model.schema.width, 1)
        return cls(float(mass.sum()), attributes, len(mass), fitted.state.batches)


class ModelPlace(ABC):
    """Where a model is.

    Attributes
    ----------
    title
        A short name.
    file
        The file that holds it, which no output may replace; None: a server does.
    """

    title: str
    file: str | None

    @abstractmethod
    def __str__(self) -> str:
        """Return the place as a user writes it, without secrets."""

    @abstractmethod
    def check_output(self, *inputs: str) -> None:
        """Refuse a place that cannot be written to, or is an input, before any work is done."""

    @abstractmethod
    def check_change(self, data: str) -> None:
        """Refuse a model that cannot be changed by some data, before waiting for the data."""

    @abstractmethod
    def is_same(self, other: ModelPlace) -> bool:
        """Return whether this is the other place, too."""

    @abstractmethod
    def load(self) -> stc.SparseTensorClassifier:
        """Return the fitted model, as a copy in memory."""

    @abstractmethod
    def save(self, model: stc.SparseTensorClassifier) -> None:
        """Save a fitted model in the place of any other."""

    @abstractmethod
    def change(self, work: Callable[[Any, Learnt], None]) -> tuple[Learnt, Learnt]:
        """Change the model by a function, which sees what was learnt: all of it, or nothing.

        Returns what was learnt before and after.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[None]:
        """Let no other command change the model between load and save."""

    def facts(self, learnt: Learnt) -> dict[str, Any]:
        """Return facts about the model that was saved."""
        numbers = learnt._asdict()
        del numbers["batches"]
        return {"model": str(self), **numbers}


class FilePlace(ModelPlace):
    """A model file.

    Parameters
    ----------
    path
        Its path.
    """

    def __init__(self, path: str) -> None:
        self.file: str = path
        self.title = Path(path).name

    def __str__(self) -> str:
        return self.file

    def check_output(self, *inputs: str) -> None:
        """Refuse a file that cannot be written, or is an input."""
        check_output(self.file, *inputs)

    def check_change(self, data: str) -> None:
        """Refuse a file that is absent, is no file, or is the data, too."""
        check_output(self.file, data)
        os.stat(self.file)

    def is_same(self, other: ModelPlace) -> bool:
        """Return whether this is the other file, also by another name."""
        return isinstance(other, FilePlace) and os.path.samefile(self.file, other.file)

    def load(self) -> stc.SparseTensorClassifier:
        """Load the file."""
        if os.path.isdir(self.file):
            raise CommandError(f"{self}: is a folder; name a model file", FILE)
        try:
            return stc.load(self.file)
        except ValueError as error:
            message = one_line(str(error))
            named = message if self.file in message else f"{self}: {message}"
            raise CommandError(named, MODEL) from error

    def save(self, model: stc.SparseTensorClassifier) -> None:
        """Write the file."""
        with writing(self.file):
            model.save(self.file)

    def change(self, work: Callable[[Any, Learnt], None]) -> tuple[Learnt, Learnt]:
        """Load the model, change it and save it, one process at a time."""
        with locked(self.file):
            model = self.load()
            before = Learnt.of(model.fitted_)
            work(model, before)
            if not hasattr(model, "fitted_"):
                raise CommandError(
                    f"{self}: nothing would be left of the model; delete it instead", DATA
                )
            self.save(model)
        return before, Learnt.of(model.fitted_)

    def exclusive(self) -> AbstractContextManager[None]:
        """Lock the file, if there is one."""
        return locked(self.file) if os.path.exists(self.file) else nullcontext()

    def facts(self, learnt: Learnt) -> dict[str, Any]:
        """Return facts about the model and its file."""
        return {**super().facts(learnt), "bytes": os.path.getsize(self.file)}


class StorePlace(ModelPlace):
    """A model in a store.

    Parameters
    ----------
    url
        URL of the store.
    name
        Name of the model; "" stands for the store itself.
    """

    def __init__(self, url: DatabaseURL, name: str) -> None:
        self.url = url
        self.name = self.title = name
        path = url.file_path() if url.database in FILE_DATABASES else ""
        if path == MEMORY:
            raise ParameterError(f"{url}: a database in memory ends with the command; name a file")
        self.file = path if os.path.isabs(path) else None

    def __str__(self) -> str:
        return shown_url(self.url, self.name)

    def is_same(self, other: ModelPlace) -> bool:
        """Return whether this is the other place, too."""
        return isinstance(other, StorePlace) and (self.file or self.url, self.name) == (
            other.file or other.url,
            other.name,
        )

    def names(self) -> list[str]:
        """Return the names of all models of the store."""
        with self._opened() as store:
            return list(store)

    def check_output(self, *inputs: str) -> None:
        """Refuse a store that cannot be opened, or whose file is an input."""
        if self.file is not None:
            check_output(self.file, *inputs)
        with self._open() as store:
            list(store)

    def check_change(self, data: str) -> None:
        """Refuse a model that is absent."""
        with self._opened() as store:
            self._check_name(store)

    def load(self) -> stc.SparseTensorClassifier:
        """Return a copy of the model in memory: one state, whatever others write meanwhile."""
        with self._opened() as store:
            model = self._in_memory(self._stored(store))
        if not hasattr(model, "fitted_"):
            raise CommandError(f"{self}: the model has learnt nothing; see stc update", MODEL)
        return model

    def save(self, model: stc.SparseTensorClassifier) -> None:
        """Replace the model in the store, as a file is replaced."""
        with self._open() as store:
            store.create(self.name, model, overwrite=True)

    def change(self, work: Callable[[Any, Learnt], None]) -> tuple[Learnt, Learnt]:
        """Change the model in the store; `work` calls one method, which is one transaction."""
        with self._opened() as store:
            stored = self._stored(store)
            before = self._learnt(stored)
            try:
                work(stored, before)
            except NotFittedError as error:
                raise CommandError(f"{self}: the model has learnt nothing", DATA) from error
            return before, self._learnt(stored)

    def exclusive(self) -> AbstractContextManager[None]:
        """Return at once: a transaction of the store replaces the model."""
        return nullcontext()

    def _open(self) -> ModelStore:
        url: Any = self.url  # parsed, so that no message has its secrets
        try:
            return open_store(url)
        except ParameterError as error:
            raise CommandError(one_line(str(error)), USAGE) from error

    @contextmanager
    def _opened(self) -> Iterator[ModelStore]:
        """Open the store; one in a file exists already."""
        if self.file is not None and not os.path.exists(self.file):
            raise CommandError(f"{self.url}: there is no such file", FILE)
        with self._open() as store:
            yield store

    def _check_name(self, store: ModelStore) -> None:
        names = list(store)
        if self.name not in names:
            raise ModelNotFoundError(self.name, names, store.url)

    def _stored(self, store: ModelStore) -> StoredModel:
        self._check_name(store)
        try:
            return store[self.name]
        except StoreError as error:  # the store answers, so it is the model that is damaged
            raise CommandError(one_line(str(error)), MODEL) from error

    def _in_memory(self, stored: StoredModel) -> stc.SparseTensorClassifier:
        try:
            return stored.to_estimator()
        except ParameterError as error:  # it was learnt with code that only Python can give
            raise CommandError(f"{self}: {one_line(str(error))}", MODEL) from error

    def _learnt(self, stored: StoredModel) -> Learnt:
        model = self._in_memory(stored)
        if hasattr(model, "fitted_"):
            return Learnt.of(model.fitted_)
        return Learnt(0.0, 0, 0, stored.batches_)  # its ledger is all that is left


def model_place(argument: str) -> ModelPlace:
    """Return where a model is, as a user names it: a file, or store-url#name."""
    if not is_url(argument):
        return FilePlace(argument)
    place = store_place(argument)
    if not place.name:
        raise CommandError(
            f"{place}: name a model of the store, as in {place}#zoo{_listed(place)}", USAGE
        )
    return place


def store_place(argument: str) -> StorePlace:
    """Return the place in a store that a URL names, also without the name of a model."""
    try:
        place = StorePlace(*split_url(argument))
        place.name.encode()
    except UnicodeEncodeError as error:
        raise CommandError("the name of a model is not UTF-8", USAGE) from error
    except ParameterError as error:
        raise CommandError(one_line(str(error)), USAGE) from error
    return place


def _listed(place: StorePlace) -> str:
    """Return the names in a store for a message, as far as they can be read."""
    try:
        names = place.names()
    except (CommandError, StoreError):
        return ""
    return f"; there are {', '.join(map(repr, names))}" if names else "; it has no models"
