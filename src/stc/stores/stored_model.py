"""A named model of a store, with a copy of it in memory that follows its version."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import polars as pl

from stc._core.model import Model
from stc._training.state import FittedState
from stc.exceptions import DuplicateBatchError, StoredModelMissingError
from stc.fitted import FittedModel
from stc.io import ENTRIES, Archive, entries_of, from_archive, header_of, parameters_of, to_archive
from stc.stores import Store, Writing, open_store

# What decides how a batch becomes entries; another writer may have created the model meanwhile.
_BASIS = ("format", "dimensions", "sets", "scales", "interactions")

# Version, model and pending deltas of a StoredModel.
Copy = tuple[int, FittedModel | None, tuple[FittedModel, ...]]
Learn = Callable[[FittedModel | None], FittedModel]
# Returns the model that is left (None: nothing), and the counts that were taken away.
Unlearn = Callable[[FittedModel], tuple[FittedModel | None, Model]]


@dataclass
class StoredModel:
    """One named model of a store, and the copy of it in memory.

    Attributes
    ----------
    url, store, name
        Where it is.
    version
        The version of the copy; None: nothing was read yet.
    fitted
        The copy, without the deltas that are still to be added to it.
    pending
        Deltas that were written here since, and are part of that version.
    """

    url: str = field(repr=False)
    store: Store
    name: str
    version: int | None = None
    fitted: FittedModel | None = None
    pending: tuple[FittedModel, ...] = ()
    # Threads may share an estimator: version, copy and deltas change together.
    _lock: RLock = field(default_factory=RLock, repr=False)

    @classmethod
    def of(cls, url: str, name: str) -> StoredModel:
        """Open the store; the model need not exist yet."""
        return cls(url, open_store(url), name)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that the model was learnt with; none if there is no model."""
        header = self.store.header(self.name)
        return {} if header is None else parameters_of(header)

    def exists(self) -> bool:
        """Return whether the store has a model of this name."""
        return self.store.header(self.name) is not None

    def current(self) -> FittedModel | None:
        """Return the model as it is in the store; it is read only if it has changed there."""
        with self._lock:
            version = self.store.version(self.name)
            if version is None:
                self._set(None, None)
            elif version != self.version or (self.fitted is None and self.pending):
                self._set(*(self.store.read(self.name) or (None, None)))
            for delta in self.pending:
                self.fitted = delta if self.fitted is None else _added(self.fitted, delta)
            self.pending = ()
            return self.fitted

    def _set(self, version: int | None, archive: Archive | None) -> None:
        fitted = None if archive is None else _restored(archive)
        self.version, self.fitted, self.pending = version, fitted, ()

    def replace(self, fitted: FittedModel) -> None:
        """Replace the stored model and its batch ledger."""
        archive = to_archive(fitted.state, fitted.parameters)

        def work(writing: Writing) -> Copy:
            writing.forget()
            writing.replace(archive)
            for batch_id in sorted(fitted.state.batches):
                writing.note(batch_id)
            return writing.next_version, fitted, ()

        self._write(work)

    def change(self, changed: Callable[[FittedModel], FittedModel]) -> None:
        """Replace the stored model by what a function makes of it; keep its batch ledger."""

        def work(writing: Writing) -> Copy:
            after = changed(self._in_transaction(writing, "change"))
            for batch_id in sorted(after.state.batches):
                if writing.has(batch_id):
                    raise DuplicateBatchError(batch_id)
                writing.note(batch_id)
            writing.replace(to_archive(after.state, after.parameters))
            return writing.next_version, after, ()

        self._write(work)

    def add(self, learn: Learn, batch_id: str | None, thresholds: bool) -> None:
        """Learn a batch, and write only the entries that it adds.

        `learn` gets a model without counts, or None if there is no model yet. It works before
        the transaction, where it blocks nobody, and again only if somebody else has created the
        model meanwhile. With `thresholds` of labels to choose, it gets the whole model.
        """
        header = self.store.header(self.name)
        delta = learn(_blank(header))
        whole = header is not None and delta.model.form.multilabel and thresholds

        def work(writing: Writing) -> Copy | None:
            now = writing.header
            part = delta if _basis(now) == _basis(header) else learn(_blank(now))
            after = part if now is None else _added(_bare(now), _without_entries(part))
            writing.add(header_of(after.state, part.parameters), entries_of(part.model))
            if writing.version is None:
                return writing.next_version, part, ()
            if writing.version == self.version:  # nobody else has written: the copy stays valid
                return writing.next_version, self.fitted, (*self.pending, part)
            return None

        def work_on_whole(writing: Writing) -> Copy:
            before = None if writing.header is None else self._in_transaction(writing, "change")
            after, part = learn(before), learn(_blank(writing.header))
            writing.add(header_of(after.state, after.parameters), entries_of(part.model))
            return writing.next_version, after, ()

        self._write(work_on_whole if whole else work, batch_id)

    def unlearn(self, unlearn: Unlearn, batch_id: str | None) -> None:
        """Unlearn a batch: write its entries as a negative delta, if all of it was learnt."""

        def work(writing: Writing) -> Copy:
            after, counts = unlearn(self._in_transaction(writing, "unlearn"))
            if after is None:
                writing.clear()
            else:
                entries = entries_of(counts).with_columns(-pl.col("mass", "support"))
                writing.add(header_of(after.state, after.parameters), entries)
            return writing.next_version, after, ()

        self._write(work, batch_id)

    def _write(self, work: Callable[[Writing], Copy | None], batch_id: str | None = None) -> None:
        """Run `work` in a transaction, unless the batch is in the ledger, and update the copy."""

        def work_once(writing: Writing) -> Copy | None:
            if batch_id is not None:
                if writing.has(batch_id):
                    return None
                writing.note(batch_id)
            return work(writing)

        with self._lock:
            copy = self.store.write(self.name, work_once)
            if copy is not None:
                self.version, self.fitted, self.pending = copy

    def batches(self) -> frozenset[str]:
        """Return the ids of the batches that were learnt."""
        return self.store.write(self.name, lambda writing: writing.batches())

    def _in_transaction(self, writing: Writing, verb: str) -> FittedModel:
        """Return the model as a transaction sees it."""
        if writing.header is None:
            raise StoredModelMissingError(self.name, verb)
        if writing.version == self.version and self.fitted is not None and not self.pending:
            return self.fitted
        return _restored(writing.read())


def _restored(archive: Archive) -> FittedModel:
    """Restore a model from plain data; the entries in an order that no database decides."""
    entries = archive.entries.sort("set", "feature", "class")
    state = from_archive(archive._replace(entries=entries))
    return FittedModel(state, parameters_of(archive.header))


def _bare(header: dict[str, Any]) -> FittedModel:
    """Return the model of a header, without entries."""
    return _restored(Archive(header, pl.DataFrame(schema=ENTRIES)))


def _blank(header: dict[str, Any] | None) -> FittedModel | None:
    """Return a model like that of a header, without counts, classes and phases."""
    if header is None:
        return None
    bare = _bare(header)
    state = bare.state
    nothing = type(state.threshold_counts).none()
    blank = replace(state, model=state.model.cleared(), threshold_counts=nothing)
    return FittedModel(blank, bare.parameters)


def _without_entries(fitted: FittedModel) -> FittedModel:
    state = fitted.state
    return FittedModel(replace(state, model=state.model.without_entries()), fitted.parameters)


def _added(before: FittedModel, delta: FittedModel) -> FittedModel:
    """Return the model after a delta that was learnt from a blank one."""
    state: FittedState = before.state.merged(delta.state)
    warned = before.state.warned or delta.state.warned
    state = replace(state, warned=warned, roles=delta.state.roles)
    return FittedModel(state, delta.parameters)


def _basis(header: Mapping[str, Any] | None) -> str | None:
    return None if header is None else json.dumps({name: header[name] for name in _BASIS})
