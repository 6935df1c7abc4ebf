"""A model that lives in a store: what was learnt, as it is there now."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

import polars as pl

from stc._core.model import Model
from stc._training.state import FittedState
from stc.io.archive import ENTRIES, Archive
from stc.io.archiving import archived, entries_of, header_of, parameters_of, restored
from stc.stores import Store, Writing, open_store

# What decides how a batch becomes entries; another writer may have settled it meanwhile.
_BASIS = ("format", "dimensions", "sets", "scales", "interactions")

Learn = Callable[[FittedState | None], FittedState]
# What is left (None: nothing), and what was taken away.
Take = Callable[[FittedState], tuple[FittedState | None, Model]]


@dataclass
class Shelf:
    """One named model of a store, and what is known of it here.

    Attributes
    ----------
    url, store, name
        Where it is.
    version
        The version that is known here; None: none yet.
    learnt
        The model of that version, without what is still to be added to it.
    pending
        What was added here since, and is in the version already.
    """

    url: str = field(repr=False)
    store: Store
    name: str
    version: int | None = None
    learnt: FittedState | None = None
    pending: tuple[FittedState, ...] = ()
    # Threads may share an estimator: what one has read and what it adds to it belong together.
    _turn: RLock = field(default_factory=RLock, repr=False)

    @classmethod
    def of(cls, url: str, name: str) -> Shelf:
        """The place of a model, whether there is one yet or not."""
        return cls(url, open_store(url), name)

    def stored_parameters(self) -> dict[str, Any]:
        """The parameters that the model was learnt with; none if there is no model."""
        header = self.store.header(self.name)
        return {} if header is None else parameters_of(header)

    def current(self) -> FittedState | None:
        """The model as it is in the store; read again only if it has changed there."""
        with self._turn:
            return self._current()

    def _current(self) -> FittedState | None:
        version = self.store.version(self.name)
        if version is None:
            self._know(None, None)
        elif version != self.version or (self.learnt is None and self.pending):
            found = self.store.read(self.name)
            self._know(*(found or (None, None)))
        for delta in self.pending:
            self.learnt = delta if self.learnt is None else _joined(self.learnt, delta)
        self.pending = ()
        return self.learnt

    def _know(self, version: int | None, archive: Archive | None) -> None:
        self.version, self.learnt, self.pending = version, None, ()
        if archive is not None:
            self.learnt = restored(_sorted(archive))

    def replace(self, learnt: FittedState, parameters: Mapping[str, Any]) -> None:
        """Put another model there, with the batches that it has learnt and no others."""
        archive = archived(learnt, parameters)

        def work(writing: Writing) -> int:
            writing.forget()
            writing.replace(archive)
            for batch_id in sorted(learnt.batches):
                writing.note(batch_id)
            return writing.next_version

        with self._turn:
            self.version = self.store.write(self.name, work)
            self.learnt, self.pending = learnt, ()

    def change(
        self, work_on: Callable[[FittedState], FittedState], parameters: Mapping[str, Any]
    ) -> None:
        """Put there what comes of the model; its batches stay learnt."""

        def work(writing: Writing) -> tuple[int, FittedState]:
            before = self._seen_by(writing)
            if before is None:
                raise ValueError(f"the model {self.name!r} is gone: there is nothing to change")
            after = work_on(before)
            for batch_id in sorted(after.batches):
                if writing.has(batch_id):
                    raise ValueError(twice(batch_id))
                writing.note(batch_id)
            writing.replace(archived(after, parameters))
            return writing.next_version, after

        with self._turn:
            self._has_become(self.store.write(self.name, work))

    def add(
        self,
        learn: Learn,
        parameters: Mapping[str, Any],
        batch_id: str | None,
        thresholds: bool,
    ) -> None:
        """Learn a batch: only what it adds is written.

        `learn` is given a model that has learnt nothing, or None if there is no model yet. It
        does its work before the transaction, where it is in nobody's way, and again only if
        somebody else has made the model meanwhile. But `thresholds` of labels are learnt by the
        whole model.
        """
        header = self.store.header(self.name)
        delta = learn(_nothing_of(header))
        if header is not None and delta.model.form.multilabel and thresholds:
            self._add_knowing_all(learn, parameters, batch_id)
            return

        def work(writing: Writing) -> tuple[int | None, int, FittedState] | None:
            if not _is_new(writing, batch_id):
                return None
            now = writing.header
            mine = delta if _basis(now) == _basis(header) else learn(_nothing_of(now))
            after = mine if now is None else _joined(_bare(now), _without_entries(mine))
            writing.add(header_of(after, parameters), entries_of(mine.model))
            return writing.version, writing.next_version, mine

        with self._turn:
            done = self.store.write(self.name, work)
            if done is not None:
                self._has_added(*done)

    def _has_added(self, found: int | None, version: int, mine: FittedState) -> None:
        if found is None:
            self.version, self.learnt, self.pending = version, mine, ()
        elif found == self.version:  # nobody else has written: what is known here stays good
            self.version, self.pending = version, (*self.pending, mine)

    def _add_knowing_all(
        self, learn: Learn, parameters: Mapping[str, Any], batch_id: str | None
    ) -> None:
        def work(writing: Writing) -> tuple[int, FittedState] | None:
            if not _is_new(writing, batch_id):
                return None
            before = self._seen_by(writing)
            after, delta = learn(before), learn(_nothing_of(writing.header))
            writing.add(header_of(after, parameters), entries_of(delta.model))
            return writing.next_version, after

        with self._turn:
            self._has_become(self.store.write(self.name, work))

    def take_away(self, take: Take, parameters: Mapping[str, Any], batch_id: str | None) -> None:
        """Unlearn a batch: a negative delta, if all of it was learnt."""

        def work(writing: Writing) -> tuple[int, FittedState | None] | None:
            if not _is_new(writing, batch_id):
                return None
            before = self._seen_by(writing)
            if before is None:
                raise ValueError(f"the model {self.name!r} is gone: there is nothing to unlearn")
            after, part = take(before)
            if after is None:
                writing.clear()
            else:
                entries = entries_of(part).with_columns(-pl.col("mass", "support"))
                writing.add(header_of(after, parameters), entries)
            return writing.next_version, after

        with self._turn:
            self._has_become(self.store.write(self.name, work))

    def _has_become(self, done: tuple[int, FittedState | None] | None) -> None:
        if done is not None:
            self.version, self.learnt = done
            self.pending = ()

    def batches(self) -> frozenset[str]:
        """Ids of the batches that were learnt."""
        return self.store.write(self.name, lambda writing: writing.batches())

    def _seen_by(self, writing: Writing) -> FittedState | None:
        """The model as a transaction sees it."""
        if writing.header is None:
            return None
        if writing.version == self.version and self.learnt is not None and not self.pending:
            return self.learnt
        return restored(_sorted(writing.read()))


def _is_new(writing: Writing, batch_id: str | None) -> bool:
    """Whether a batch is not in the ledger; from now on it is."""
    if batch_id is None:
        return True
    if writing.has(batch_id):
        return False
    writing.note(batch_id)
    return True


def twice(batch_id: str) -> str:
    """What is wrong with merging two models that have learnt the same batch."""
    return f"both models have learnt the batch {batch_id!r}: merged, it would count twice"


def _sorted(archive: Archive) -> Archive:
    """The same entries in an order that no database decides."""
    return archive._replace(entries=archive.entries.sort("set", "feature", "class"))


def _bare(header: dict[str, Any]) -> FittedState:
    return restored(Archive(header, pl.DataFrame(schema=ENTRIES)))


def _nothing_of(header: dict[str, Any] | None) -> FittedState | None:
    if header is None:
        return None
    bare = _bare(header)
    return replace(bare, model=bare.model.blanked(), evidence=type(bare.evidence).none())


def _without_entries(learnt: FittedState) -> FittedState:
    return replace(learnt, model=learnt.model.bare())


def _joined(before: FittedState, delta: FittedState) -> FittedState:
    return replace(
        before,
        model=before.model.merged(delta.model),
        evidence=before.evidence + delta.evidence,
        warned=before.warned or delta.warned,
        roles=delta.roles,
    )


def _basis(header: dict[str, Any] | None) -> str | None:
    return None if header is None else json.dumps({name: header[name] for name in _BASIS})
