"""StoredModel: a named model of a store, with a copy of it in memory that follows its version."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import getitem
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import polars as pl
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from stc import learning
from stc.base import Learn, LearnerMixin, Unlearn
from stc.classifier import SparseTensorClassifier, validated_parameters
from stc.exceptions import ModelFileError, ModelNotFoundError, ParameterError, StoreError
from stc.fitted import FittedModel, amplitudes_given
from stc.io import (
    ENTRIES,
    Archive,
    entries_of,
    from_archive,
    header_of,
    is_fitted,
    read_archive,
    read_header,
    to_archive,
    unfitted_header,
)
from stc.stores.database import Database, StoredRows
from stc.stores.transaction import Writing

if TYPE_CHECKING:
    from stc.stores.model_store import ModelStore

# What decides how a batch becomes entries; another writer may have changed it meanwhile.
_BASIS = ("format", "parameters", "dimensions", "sets", "scales", "interactions")


class _Copy(NamedTuple):
    """A stored model in memory.

    Attributes
    ----------
    version
        The version in the store.
    parameters
        The parameters; of a tokenizer only its name.
    fitted
        The model without the deltas; None if nothing was learnt.
    deltas
        What was written by this process since, and is part of the version.
    """

    version: int
    parameters: Mapping[str, Any]
    fitted: FittedModel | None
    deltas: tuple[FittedModel, ...] = ()


class StoredModel(LearnerMixin):
    """A model in a store, with the methods of SparseTensorClassifier.

    It is returned by `ModelStore.create` and `store[name]`. Each call sees the model as it is in
    the store; each change is one transaction. The parameters are part of the stored model: they
    change only by `set_params`, for all processes.

    Attributes
    ----------
    store : ModelStore
        The store.
    name : str
        Name of the model in the store.

    Examples
    --------
    >>> import stc
    >>> store = stc.open_store("sqlite:///:memory:")
    >>> lights = store.create("lights", stc.SparseTensorClassifier(entropy=0))
    >>> lights
    StoredModel('lights', store=ModelStore('sqlite:///:memory:'))
    >>> for _ in range(2):  # a repeated batch counts once
    ...     _ = lights.partial_fit([["red"], ["green"]], ["stop", "go"], batch_id="monday")
    >>> lights.classes_.tolist(), lights.class_mass_.tolist()
    (['go', 'stop'], [1.0, 1.0])
    >>> store.close()
    """

    def __init__(self, store: ModelStore, name: str, tokenizer: Any = None) -> None:
        self.store = store
        self.name = name
        self._database: Database = store._database
        # Code is not stored: the tokenizer of this process.
        self._tokenizer = tokenizer
        self._copy: _Copy | None = None
        self._lock = RLock()

    # --- parameters -------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters that are stored with the model.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of a PolicyAgent or PhaseLearner.

        Returns
        -------
        dict
            Parameters of SparseTensorClassifier. A tokenizer that was not given to this process
            is None.

        Examples
        --------
        >>> import stc
        >>> with stc.open_store("sqlite:///:memory:") as store:
        ...     model = store.create("zoo", stc.SparseTensorClassifier(power=0.4))
        ...     model.get_params()["power"]
        0.4
        """
        parameters: dict[str, Any] = self._unfitted().get_params(deep)
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters of the stored model, for every process.

        Parameters
        ----------
        **parameters
            Parameters of SparseTensorClassifier. Of a tokenizer, which is code, the store holds
            the name: each process that reads documents gives it again.

        Returns
        -------
        StoredModel
            Itself.

        Raises
        ------
        ValueError
            If a parameter is not valid, or does not fit what was learnt; nothing is changed then.

        Examples
        --------
        >>> import stc
        >>> with stc.open_store("sqlite:///:memory:") as store:
        ...     model = store.create("zoo", stc.SparseTensorClassifier())
        ...     model.set_params(power=0.4).get_params()["power"]
        0.4
        """
        tokenizer = parameters.get("tokenizer", self._tokenizer)

        def work(writing: Writing) -> _Copy:
            before = self._in_transaction(writing)
            changed = _estimator(before.parameters, self._tokenizer).set_params(**parameters)
            # A copy: what the caller does to a list or an agent later changes nothing here.
            valid = validated_parameters(clone(changed).get_params(deep=False))
            if before.fitted is None:
                header = unfitted_header(valid)
                fitted = None
            else:
                fitted = fitting(before.fitted, valid)
                header = header_of(fitted.state, valid)
            if "tokenizer" not in parameters:
                header["parameters"]["tokenizer"] = _written_tokenizer(writing)
            writing.set_header(header)
            named = {**valid, "tokenizer": read_header(header)["tokenizer"]}
            return _Copy(writing.next_version, named, fitted)

        with self._lock:
            if not self._is_given_again(parameters):
                self._write(work)
            self._tokenizer = tokenizer
        return self

    def _is_given_again(self, parameters: Mapping[str, Any]) -> bool:
        """Return whether these are the stored tokenizer alone: a read-only store allows that."""
        named = self._current().parameters
        if parameters.keys() != {"tokenizer"} or named["tokenizer"] is None:
            return False
        given = unfitted_header(validated_parameters({**named, **parameters}))
        return bool(read_header(given)["tokenizer"] == named["tokenizer"])

    def __setattr__(self, name: str, value: Any) -> None:
        # On an estimator this changes a parameter; here it would have no effect.
        if name in SparseTensorClassifier._parameter_constraints:
            raise AttributeError(
                f"{name} is a parameter of the stored model; change it with set_params({name}=...)"
            )
        super().__setattr__(name, value)

    def to_estimator(self) -> SparseTensorClassifier:
        """Return a copy of the model in memory.

        Returns
        -------
        SparseTensorClassifier
            An estimator with the same parameters and, if it is fitted, the same fitted state.

        Examples
        --------
        >>> import stc
        >>> with stc.open_store("sqlite:///:memory:") as store:
        ...     model = store.create("zoo", stc.SparseTensorClassifier()).fit(*stc.load_zoo())
        ...     model.to_estimator().predict([{"milk": 1}]).tolist()
        ['Mammal']
        """
        if self._current().fitted is None:
            return self.__sklearn_clone__()
        return self._in_memory(self._checked())

    @property
    def batches_(self) -> frozenset[str]:
        """Ids of the batches in the ledger, also of a model that has unlearnt everything."""
        fitted = self._current().fitted
        if fitted is not None:
            return fitted.state.batches
        rows = self._database.read(self.name)
        if rows is None:
            raise self._missing()
        return rows.batches

    # --- learning ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the model with its stored parameters; anything learnt before is replaced.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `SparseTensorClassifier.fit`.

        Returns
        -------
        StoredModel
            Itself.

        Examples
        --------
        >>> import stc
        >>> with stc.open_store("sqlite:///:memory:") as store:
        ...     model = store.create("lights", stc.SparseTensorClassifier())
        ...     model.fit([["red"], ["green"]], ["stop", "go"]).predict([["green"]]).tolist()
        ['go']
        """
        header = self._header()
        parameters = self._parameters(read_header(header))
        fitted = learning.fit(parameters, X, y, sample_weight, groups)

        def work(writing: Writing) -> _Copy:
            now, model = _header_in(writing, self.name), fitted
            if now["parameters"] != header["parameters"]:
                changed = self._parameters(read_header(now))
                model = learning.fit(changed, X, y, sample_weight, groups)
            _check_given_amplitudes(model)
            archive = to_archive(model.state, model.parameters)
            archive.header["parameters"] = now["parameters"]
            writing.forget()
            writing.replace(archive)
            return _Copy(writing.next_version, read_header(now), model)

        self._write(work)
        return self

    def _learn_batch(self, learn: Learn, batch_id: str | None) -> None:
        """Learn a batch, and write only the entries that it adds.

        It is learnt before the transaction, where it blocks nobody, and again only if somebody
        else has changed the model's features or parameters meanwhile. To choose thresholds of
        labels, or to check gains and phases that are given, the whole model is needed.
        """
        header = self._header()
        delta = learn(self._blank(header), self._parameters(read_header(header)))
        multilabel = delta.model.form.multilabel

        def work(writing: Writing) -> _Copy | None:
            now = _header_in(writing, self.name)
            parameters = self._parameters(read_header(now))
            thresholds = multilabel and parameters["label_threshold"] is None
            if is_fitted(now) and (thresholds or amplitudes_given(parameters)):
                return work_on_whole(writing, now, parameters)
            part = delta
            if _basis(now) != _basis(header):
                part = learn(self._blank(now), parameters)
            part = part.with_batch(batch_id)
            after = part
            if is_fitted(now):
                after = _added(self._bare(now), _without_entries(part))
            else:
                _check_given_amplitudes(part)
            writing.add(_header_of(after, now), entries_of(part.model))
            copy = self._copy
            if not is_fitted(now):
                part = _with_batches(part, writing.batches())
                return _Copy(writing.next_version, read_header(now), part)
            if copy is None or copy.version != writing.version:
                return None
            # Nobody else has written: the copy stays valid.
            return copy._replace(version=writing.next_version, deltas=(*copy.deltas, part))

        def work_on_whole(
            writing: Writing, now: dict[str, Any], parameters: Mapping[str, Any]
        ) -> _Copy:
            before = self._in_transaction(writing)
            after = learn(before.fitted, parameters).with_batch(batch_id)
            _check_given_amplitudes(after)
            part = learn(self._blank(now), parameters)
            writing.add(_header_of(after, now), entries_of(part.model))
            return _Copy(writing.next_version, read_header(now), after)

        self._write_once(work, batch_id)

    def _unlearn_batch(self, unlearn: Unlearn, batch_id: str | None) -> None:
        """Unlearn a batch: write its entries as a negative delta, if all of it was learnt."""
        marked = learning.unlearnt_id(batch_id)

        def work(writing: Writing) -> _Copy | None:
            now, before = _header_in(writing, self.name), self._in_transaction(writing)
            if marked is not None and writing.has(marked):
                return None  # also after the last batch, which leaves nothing but the ledger
            if before.fitted is None:
                raise self._not_fitted()
            learning.is_to_unlearn(batch_id, writing.has)
            fitted = before.fitted.with_parameters(self._parameters(before.parameters))
            after, counts = unlearn(fitted, True)
            if marked is not None:
                writing.note(marked)
            if after is None:
                writing.clear({name: now[name] for name in ("format", "parameters")})
            else:
                assert counts is not None
                _check_given_amplitudes(after)
                entries = entries_of(counts).with_columns(-pl.col("mass", "support"))
                writing.add(_header_of(after, now), entries)
                after = after.with_batch(marked)
            return _Copy(writing.next_version, before.parameters, after)

        self._write(work)

    def _change(self, changed: Callable[[FittedModel], FittedModel]) -> None:
        """Replace the stored model by what a function makes of it; keep its batch ledger."""

        def work(writing: Writing) -> _Copy:
            now, before = _header_in(writing, self.name), self._in_transaction(writing)
            if before.fitted is None:
                raise self._not_fitted()
            fitted = before.fitted.with_parameters(self._parameters(before.parameters))
            after = changed(fitted)
            _check_given_amplitudes(after)
            for added in sorted(after.state.batches - fitted.state.batches):
                writing.note(added)
            archive = to_archive(after.state, after.parameters)
            archive.header["parameters"] = now["parameters"]
            writing.replace(archive)
            return _Copy(writing.next_version, before.parameters, after)

        self._write(work)

    def _write_once(self, work: Callable[[Writing], _Copy | None], batch_id: str | None) -> None:
        """Run `work` in a transaction, unless the batch is in the ledger."""

        def work_once(writing: Writing) -> _Copy | None:
            if batch_id is not None:
                if writing.has(batch_id):
                    return None
                _header_in(writing, self.name)
                writing.note(batch_id)
            return work(writing)

        self._write(work_once)

    def _write(self, work: Callable[[Writing], _Copy | None]) -> None:
        """Run `work` in a transaction, and update the copy."""
        with self._lock:
            copy = self._database.write(self.name, work)
            if copy is not None:
                self._copy = copy

    # --- the copy in memory -----------------------------------------------------------------------

    def _checked(self) -> FittedModel:
        copy = self._current()
        if copy.fitted is None:
            raise self._not_fitted()
        return copy.fitted.with_parameters(self._parameters(copy.parameters))

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"The stored model {self.name!r} is not fitted yet. Call 'fit'.")

    def _current(self) -> _Copy:
        """Return the model as it is in the store; it is read only if it has changed there."""
        with self._lock:
            version = self._database.version(self.name)
            copy = self._copy
            if copy is None or copy.version != version:
                rows = self._database.read(self.name)
                if rows is None:
                    self._copy = None
                    raise self._missing()
                copy = self._restored(rows)
            fitted = copy.fitted
            for delta in copy.deltas:
                assert fitted is not None
                fitted = _added(fitted, delta)
            self._copy = copy._replace(fitted=fitted, deltas=())
            return self._copy

    def _in_transaction(self, writing: Writing) -> _Copy:
        """Return the model as a transaction sees it."""
        copy = self._copy
        if copy is not None and copy.version == writing.version and not copy.deltas:
            return copy
        _header_in(writing, self.name)
        rows = StoredRows(writing.version or 0, writing.read(), writing.batches())
        return self._restored(rows)

    def _restored(self, rows: StoredRows) -> _Copy:
        """Return the model of its rows, or raise an error if they are not those of a model."""
        header, entries = rows.archive
        try:
            named = read_header(header)
            if not is_fitted(header):
                self._check_unfitted(named, entries)
                return _Copy(rows.version, named, None)
            # In an order that no database decides: sums are rounded in that order.
            entries = entries.sort("set", "feature", "class")
            state, _ = read_archive(Archive(header, entries))
            state = replace(state, batches=rows.batches)
            parameters = {**named, "tokenizer": self._tokenizer}
            fitted = FittedModel.checked(state, lambda: validated_parameters(parameters))
        except ModelFileError as error:
            message = f"the model {self.name!r} {error.message}"
            raise StoreError(message, path=str(self._database.url), hint=error.hint) from None
        return _Copy(rows.version, {**fitted.parameters, "tokenizer": named["tokenizer"]}, fitted)

    @staticmethod
    def _check_unfitted(named: Mapping[str, Any], entries: pl.DataFrame) -> None:
        if entries.height:
            raise ModelFileError("cannot be loaded as a model: it has entries and no schema")
        try:
            validated_parameters({**named, "tokenizer": None})
        except (ValueError, TypeError, ArithmeticError) as error:
            raise ModelFileError(f"cannot be loaded as a model: {error!s:.200}") from None

    def _parameters(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters with the tokenizer of this process."""
        if named["tokenizer"] is not None and self._tokenizer is None:
            raise ParameterError(
                f"the model {self.name!r} was learnt with the tokenizer {named['tokenizer']!r}, "
                "which is code and not in the store",
                hint="give it again, set_params(tokenizer=...)",
            )
        tokenizer = None if named["tokenizer"] is None else self._tokenizer
        return validated_parameters({**named, "tokenizer": tokenizer})

    def _unfitted(self) -> SparseTensorClassifier:
        return _estimator(self._current().parameters, self._tokenizer)

    def _header(self) -> dict[str, Any]:
        """Return the header in the store."""
        header = self._database.header(self.name)
        if header is None:
            raise self._missing()
        return header

    def _bare(self, header: dict[str, Any]) -> FittedModel:
        """Return the model of a header, without entries."""
        state = from_archive(Archive(header, pl.DataFrame(schema=ENTRIES)))
        return FittedModel(state, self._parameters(read_header(header)))

    def _blank(self, header: dict[str, Any]) -> FittedModel | None:
        """Return a model like that of a header, without counts, classes and phases."""
        if not is_fitted(header):
            return None
        bare = self._bare(header)
        state = bare.state
        nothing = type(state.threshold_counts).none()
        blank = replace(state, model=state.model.cleared(), threshold_counts=nothing)
        return FittedModel(blank, bare.parameters)

    def _missing(self) -> ModelNotFoundError:
        return ModelNotFoundError(self.name, list(self.store), str(self._database.url))

    def _in_memory(self, fitted: FittedModel) -> SparseTensorClassifier:
        estimator: SparseTensorClassifier = clone(SparseTensorClassifier(**fitted.parameters))
        estimator._fitted = fitted
        return estimator

    # --- protocols of Python and scikit-learn -----------------------------------------------------

    def __repr__(self) -> str:
        return f"StoredModel({self.name!r}, store={self.store!r})"

    def __reduce__(self) -> Any:
        return getitem, (self.store, self.name)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __sklearn_clone__(self) -> SparseTensorClassifier:
        """Clone in memory: folds of a cross-validation must not replace what is stored."""
        self._parameters(self._current().parameters)  # refuses to go on without the tokenizer
        return self._unfitted()

    def __sklearn_tags__(self) -> Any:
        return self._unfitted().__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return self._current().fitted is not None


def fitting(
    fitted: FittedModel,
    parameters: Mapping[str, Any],
    hint: str = "create another model with them",
) -> FittedModel:
    """Return the model with other parameters, or raise an error if they contradict its state."""
    try:
        return FittedModel.checked(fitted.state, lambda: parameters)
    except ModelFileError as error:
        message = error.message.removeprefix("cannot be loaded as a model: ")
        raise ParameterError(message, hint=hint) from None


def _check_given_amplitudes(fitted: FittedModel) -> None:
    """Raise an error if the model lacks a class or feature of `gains` or `phases`.

    No other parameter can come to contradict the state by learning. Stored, it could not be opened.
    """
    if amplitudes_given(fitted.parameters):
        hint = "declare its classes, or change gains and phases with set_params before"
        fitting(fitted, fitted.parameters, hint)


def _estimator(named: Mapping[str, Any], tokenizer: Any) -> SparseTensorClassifier:
    """Return an estimator with stored parameters; nothing of the copy can be changed through it."""
    parameters = {**named, "tokenizer": named["tokenizer"] and tokenizer}
    estimator: SparseTensorClassifier = clone(SparseTensorClassifier(**parameters))
    return estimator


def _header_in(writing: Writing, name: str) -> dict[str, Any]:
    """Return the header in a transaction; a model is created by `ModelStore.create` only."""
    header = writing.header
    if header is None:
        raise ModelNotFoundError(name)
    return header


def _header_of(fitted: FittedModel, now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the header of a model with the parameters as they are in the store."""
    return {**header_of(fitted.state, fitted.parameters), "parameters": now["parameters"]}


def _written_tokenizer(writing: Writing) -> Any:
    header = writing.header
    return None if header is None else header["parameters"].get("tokenizer")


def _with_batches(fitted: FittedModel, batches: frozenset[str]) -> FittedModel:
    return FittedModel(replace(fitted.state, batches=batches), fitted.parameters)


def _without_entries(fitted: FittedModel) -> FittedModel:
    state = fitted.state
    return FittedModel(replace(state, model=state.model.without_entries()), fitted.parameters)


def _added(before: FittedModel, delta: FittedModel) -> FittedModel:
    """Return the model after a delta that was learnt from a blank one."""
    state = before.state.merged(delta.state)
    state = replace(
        state,
        warned=before.state.warned or delta.state.warned,
        roles=delta.state.roles,
        batches=before.state.batches | delta.state.batches,
    )
    return FittedModel(state, delta.parameters)


def _basis(header: Mapping[str, Any]) -> str:
    return json.dumps({name: header.get(name) for name in _BASIS})
