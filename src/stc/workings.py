"""The workings of the estimator: how it reads, learns, keeps and answers. Nothing public."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from stc._core.cascade import Cascade, Hyper, Policy, read_policy
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.schema import KINDS, Schema
from stc._core.tensor import Dimensions
from stc._input import encode_classes
from stc._input.reader import NO_ROLES, Batch, Intake, Roles
from stc._training.label_thresholds import cross_fitted
from stc._training.phase_parsing import given_phases
from stc._training.phases import PhaseLearner, with_phases
from stc._training.policy_search import PolicyAgent, learn_policy
from stc._training.state import FittedState
from stc.exceptions import HardlyCategoricalWarning, ModelFileError, StoreError
from stc.io.validation import check_answers
from stc.sources import BATCH, FEW, MOST, Chosen, source_of
from stc.sources import streaming as streams
from stc.stores import shown_url
from stc.stores.stored_model import Shelf

# What stands in the ledger before the id of what was unlearnt.
UNLEARNT = "unlearnt: "


class Workings(BaseEstimator):  # type: ignore[misc]
    """What the public methods of SparseTensorClassifier are made of.

    The parameters are those of SparseTensorClassifier, which documents them.
    """

    power: float
    balance: float
    entropy: float
    dimensions: Any
    policy: Any
    phases: Any
    interactions: int
    min_support: int
    max_features: int | None
    ngrams: int
    continuous: Any
    ordinal: Mapping[str, Sequence[Any]] | None
    targets: str | Sequence[str] | None
    label_threshold: float | None
    missing: Literal["ignore", "category"]
    tokenizer: Callable[[str], Sequence[str]] | None
    max_tuples: int
    store: str | None
    name: str

    _learnt: FittedState
    _shelf: Shelf
    _taken_over: dict[str, Any]
    _cascades: dict[tuple[Any, ...], Cascade]

    # --- the model ------------------------------------------------------------------------------

    def _known(self) -> Model:
        """The model, or an AttributeError, which is how scikit-learn asks what is fitted."""
        self._refresh()
        if not hasattr(self, "_learnt"):
            raise AttributeError(f"this {type(self).__name__} has not been fitted yet")
        return self._learnt.model

    def _fitted_model(self) -> Model:
        self._refresh()
        check_is_fitted(self)
        return self._learnt.model

    def _refresh(self) -> None:
        """Be what the model in the store is now."""
        if self.store is not None:
            learnt = self._kept().current()
            if learnt is not self.__dict__.get("_learnt"):
                self._become(learnt)

    # --- where the model lives ------------------------------------------------------------

    def _kept(self, *, moving: bool = True) -> Shelf:
        """The model's place in the store; at first sight, with the parameters it has there.

        A model in memory moves to a store that is given later, unless it is to be replaced.
        """
        assert self.store is not None
        shelf: Shelf | None = self.__dict__.get("_shelf")
        if shelf is None or (shelf.url, shelf.name) != (self.store, self.name):
            self._validate_params()
            shelf = Shelf.of(self.store, self.name)
            homeless = moving and "_shelf" not in self.__dict__ and "_learnt" in self.__dict__
            if homeless and shelf.store.header(self.name) is not None:
                raise ValueError(
                    f"the store has a model {self.name!r} already, and this one has learnt in "
                    "memory: give it another name, or merge it into the other"
                )
            if homeless:
                shelf.replace(self._learnt, self._parameters())
            if moving:  # what is to be replaced has no say
                self._take_over(shelf.stored_parameters())
            self._shelf = shelf
        return shelf

    def _take_over(self, parameters: Mapping[str, Any]) -> None:
        """Be what a stored model was, wherever the caller has not said otherwise."""
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        for name, value in self.__dict__.pop("_taken_over", {}).items():
            if getattr(self, name) is value:  # of another model of the store
                setattr(self, name, defaults[name])
        self._taken_over = {}
        for name, value in parameters.items():
            own = getattr(self, name, None)
            if name == "tokenizer" and value is not None and own is None:
                raise ValueError(
                    f"the model {self.name!r} was learnt with the tokenizer {value!r}, which is "
                    "code and so not in the store: give it again, tokenizer=..."
                )
            if name != "tokenizer" and (own is defaults[name] or _same(own, defaults[name])):
                setattr(self, name, value)
                self._taken_over[name] = value

    def _parameters(self) -> dict[str, Any]:
        """The parameters that a store keeps."""
        own = self.get_params(deep=False)
        return {name: value for name, value in own.items() if name not in ("store", "name")}

    def _in_memory(self) -> Self:
        """The same model, with no store behind it."""
        self._fitted_model()
        copy = type(self)(**self._parameters())
        copy._become(self._learnt)
        return copy

    def _batches(self) -> frozenset[str]:
        """Ids of the batches that were learnt."""
        return self._learnt.batches if self.store is None else self._kept().batches()

    def _add(
        self, learn: Callable[[FittedState | None], FittedState], batch_id: str | None
    ) -> None:
        """Learn a batch, unless it has been learnt."""
        _check_id(batch_id)
        if self.store is None:
            before = getattr(self, "_learnt", None)
            if before is None or batch_id not in before.batches:
                self._become(_noted(learn(before), batch_id))
            return
        kept = self._kept()
        kept.add(learn, self._parameters(), batch_id, self.label_threshold is None)

    def _take_away(
        self, take: Callable[[FittedState], tuple[FittedState | None, Model]], batch_id: str | None
    ) -> None:
        """Unlearn a batch, unless it has been unlearnt."""
        _check_id(batch_id)
        batch_id = None if batch_id is None else UNLEARNT + batch_id
        if self.store is None:
            if batch_id not in self._learnt.batches:
                after, _ = take(self._learnt)
                self._become(after and _noted(after, batch_id))
            return
        self._kept().take_away(take, self._parameters(), batch_id)

    def _change(self, work: Callable[[FittedState], FittedState]) -> None:
        """Become what comes of the whole model."""
        if self.store is None:
            self._become(work(self._learnt))
        else:
            self._kept().change(work, self._parameters())

    @classmethod
    def _restored(
        cls, path: Any, learnt: FittedState, parameters: Mapping[str, Any], tokenizer: Any
    ) -> Self:
        """A model out of a file, which must be able to answer."""
        named = parameters.get("tokenizer")
        if named is not None and tokenizer is None:
            raise ValueError(
                f"{path}: the model was learnt with the tokenizer {named!r}, which is code and so "
                "not in the file: give it again, load(path, tokenizer=...)"
            )
        try:
            model = cls(**{**parameters, "tokenizer": tokenizer})
            model._validate_params()
            model._become(learnt)
            model._refuse_other_tensor(learnt.model)
            check_answers(model._cascade())
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelFileError(
                f"{path} is no model that can be opened: its parameters are not those it was "
                f"learnt with ({error!s:.200})"
            ) from None
        return model

    # --- data that is not in memory -------------------------------------------------------

    def _reading(
        self, chosen: Chosen, y: Any, sample_weight: Any, before: FittedState | None
    ) -> streams.Reading:
        """How the rows of a source are read, to be learnt."""
        roles = before.roles if before else NO_ROLES
        return streams.Reading.of(self._intake(roles), chosen, y, sample_weight, before)

    def _learn_source(
        self,
        chosen: Chosen,
        y: Any,
        sample_weight: Any,
        before: FittedState | None,
        learner: PhaseLearner | None,
        classes: Any = None,
    ) -> FittedState:
        """What comes of learning all rows of a source: where they are, then added up."""
        reading = self._reading(chosen, y, sample_weight, before)
        first = reading.first(BATCH if before is None and self._learns_more() else FEW)
        known = before.model if before else None
        batch = reading.intake.batch(first, None, None, known)
        if batch.target.form.multilabel and self.label_threshold is None and len(first) == FEW:
            batch = reading.intake.batch(reading.first(BATCH), None, None, known)
        blank = self._declaring(before or self._blank(batch), classes)
        task = reading.task(blank.model.blanked(), self.max_tuples)
        part = chosen.source.learn(task)
        if part is None:
            raise ValueError("sample_weight is zero for every item: nothing to learn from")
        return self._completed(blank, blank.model.merged(part), batch, learner)

    def _learns_more(self) -> bool:
        """Whether the first batch tells more than the counts do."""
        given = self.policy is None or isinstance(self.policy, (list, tuple))
        counted = self.phases is None or isinstance(self.phases, (Mapping, np.ndarray, list))
        plain = self.min_support == 1 and self.max_features is None and self.continuous is None
        return not (given and counted and plain)

    def _afar(self, X: Any, theta: Any, to: Any) -> Chosen | None:
        """The source that X is; with `to`, a frame in memory is one, too."""
        chosen = source_of(X)
        if chosen is None and to is not None:
            chosen = Chosen(streams.scan_of(X))
        if chosen is not None and theta is not None:
            raise ValueError("theta is of items in memory: read some of the source, and give those")
        return chosen

    @staticmethod
    def _here(X: Any, what: str) -> Any:
        """The items, refusing a source where only items in memory will do."""
        if source_of(X) is not None:
            raise ValueError(
                f"{what} needs items in memory: read some of the source, and give those"
            )
        return X

    def _answered(self, chosen: Chosen, method: str, answer: streams.Answer, to: Any) -> Any:
        """The answers for a source: arrays if its rows have an order, else in kind."""
        predictor = self._in_memory()
        items = streams.items_of(chosen, predictor._learnt)
        if to is None and chosen.source.arrays:
            frames = chosen.source.frames(items)
            told = (streams.told(own, items, predictor._learnt) for own in frames)
            return streams.joined([getattr(predictor, method)(own) for own in told])
        return chosen.source.answer(streams.AnsweringTask.of(predictor, answer, chosen, items), to)

    def _scored(self, chosen: Chosen, y: Any, sample_weight: Any) -> float:
        """The accuracy on a source."""
        predictor = self._in_memory().set_params(targets=None)
        reading = self._reading(chosen, y, sample_weight, self._learnt)
        items, targets = streams.items_of(chosen, self._learnt), reading.targets
        right = total = 0.0
        for frame in chosen.source.frames(reading.columns):
            own = reading.weights(frame)
            weight = float(own.sum())
            truth = frame[targets[0]] if len(targets) == 1 else frame.select(targets)
            told = streams.told(frame, items, predictor._learnt)
            right += weight * predictor.score(told, truth, own) if weight else 0.0
            total += weight
        return right / total if total else float("nan")

    def _gathered(self, chosen: Chosen) -> Any:
        """The items of a source, to be explained in memory."""
        items = streams.items_of(chosen, self._learnt)
        found = chosen.source.head(items, MOST + 1)
        if found.height > MOST:
            raise ValueError(
                f"the source has more than {MOST:,} items, too many to explain at once: give a part"
            )
        return streams.told(found, items, self._learnt)

    def _hyper(self) -> Hyper:
        return Hyper(self.power, self.balance, self.entropy)

    def _become(self, learnt: FittedState | None) -> None:
        """Take over what was learnt: the only place where learning changes the estimator."""
        if learnt is not None:
            self._learnt, self._cascades = learnt, {}
        elif hasattr(self, "_learnt"):  # nothing is left, not even the attributes
            del self._learnt, self._cascades

    def _blank(self, batch: Batch) -> FittedState:
        """A model that has learnt nothing but its dimensions and its policy."""
        observed, form = batch.observed, batch.target.form
        dimensions = Dimensions.of(self.dimensions, Schema.of(observed))
        values = None
        if isinstance(self.policy, (str, PolicyAgent)):
            policy, values = self._learnt_policy(batch, dimensions)
        else:
            policy = self._read_policy(dimensions)
        model = Model.blank(observed, dimensions, policy, form)
        interactions = self._interactions(batch, dimensions)
        model = replace(model, scales=batch.scales, interactions=interactions)
        if form.kind == "indicator":
            model = model.declaring(np.arange(form.width))  # also those that no item shows
        return FittedState(model, values)

    def _interactions(self, batch: Batch, dimensions: Dimensions) -> Interactions:
        """The conjunctions that are features, chosen by the first batch."""
        made = Interactions(self.interactions, ngrams=self.ngrams)
        if self.interactions > 1 and batch.observed.kind != "table":
            raise ValueError(
                f"interactions={self.interactions} needs attributes, and X is "
                f"{KINDS[batch.observed.kind]}; for words in a row, set ngrams"
            )
        if self.interactions > 1 and dimensions.attributes is not None:
            raise ValueError(
                f"interactions={self.interactions} are features of a single dimension: leave "
                "dimensions=None"
            )
        made.refuse_large(batch.observed, self.max_tuples)
        return made.selected(*batch.weighted(), self.min_support, self.max_features)

    def _learnt_policy(self, batch: Batch, dimensions: Dimensions) -> tuple[Policy, pl.DataFrame]:
        agent = self.policy if isinstance(self.policy, PolicyAgent) else PolicyAgent()
        return learn_policy(agent, *batch.weighted(), dimensions, self._hyper(), self.max_tuples)

    def _read_policy(self, dimensions: Dimensions) -> Policy:
        if self.policy is None:
            return (dimensions.whole, ())
        return read_policy(self.policy, dimensions, "policy")

    def _active_policy(self, model: Model) -> Policy:
        """The policy of now, which may be another than the one learnt with, of the same sets."""
        if self.policy == "learn" or isinstance(self.policy, PolicyAgent):
            return model.policy
        if not isinstance(self.policy, (list, tuple, type(None))):
            self._validate_params()
        policy = self._read_policy(model.dimensions)
        for subset in policy:
            if subset not in model.corpora:
                names = list(model.dimensions.named(subset))
                raise ValueError(f"the set {names} of the policy was not learnt: fit again")
        return policy

    def _refuse_other_tensor(self, model: Model) -> None:
        """Refuse to go on with dimensions or a policy that the model was not learnt with."""
        now = Dimensions.of(self.dimensions, model.schema)
        if not now.same_as(model.dimensions):
            raise ValueError(
                f"the model was learnt with the dimensions {list(model.dimensions.names)}; it "
                f"cannot go on with dimensions={self.dimensions!r}: set it back, or fit again"
            )
        self._active_policy(model)
        learnt = {"interactions": model.interactions.order, "ngrams": model.interactions.ngrams}
        for name, value in learnt.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"the model was learnt with {name}={value}; it cannot go on with "
                    f"{name}={getattr(self, name)}: set it back, or fit again"
                )

    def _learn(
        self, before: FittedState, batch: Batch, learner: PhaseLearner | None = None
    ) -> FittedState:
        """What comes of learning a batch (and its phases, with a learner)."""
        model = replace(before.model, form=batch.target.form)
        model.refuse_large(batch.observed, self.max_tuples)
        model = model.learnt(batch.observed, batch.target.column, batch.sample_weight)
        return self._completed(before, model, batch, learner)

    def _completed(
        self, before: FittedState, model: Model, batch: Batch, learner: PhaseLearner | None
    ) -> FittedState:
        """A model that has learnt its items, with what else is learnt from (the first of) them."""
        evidence = before.evidence
        history = before.history
        if learner is not None:
            model, history = with_phases(learner, model, *batch.weighted(), self._hyper())
        if model.form.multilabel and self.label_threshold is None:
            evidence += cross_fitted(model, *batch.weighted(), self._hyper(), self.max_tuples)
        warned = before.warned or self._warned_of_measurements(batch.observed)
        return replace(
            before,
            model=model,
            evidence=evidence,
            warned=warned,
            history=history,
            roles=batch.roles,
        )

    def _declaring(self, before: FittedState, classes: Any) -> FittedState:
        """The same with these classes, whether an item shows them or not."""
        if classes is None:
            return before
        declared = encode_classes(classes, before.model.form)
        return replace(before, model=before.model.declaring(declared))

    def _learner(self) -> PhaseLearner:
        return self.phases if isinstance(self.phases, PhaseLearner) else PhaseLearner()

    @staticmethod
    def _warned_of_measurements(observed: Observations) -> bool:
        doubtful = [str(column.attribute) for column in observed.columns if column.continuous]
        if doubtful:
            warnings.warn(
                f"nearly every value of column {', '.join(map(repr, doubtful))} is distinct: "
                "numbers like these are hardly categories; name it in continuous=[...]",
                HardlyCategoricalWarning,
                stacklevel=_depth(),
            )
        return bool(doubtful)

    def _intake(self, roles: Roles | None = None) -> Intake:
        """How data is read, with columns in these roles, or in those learnt with."""
        targets = self.targets
        names = (targets,) if isinstance(targets, str) else None if targets is None else targets
        reading = {
            "missing": self.missing,
            "tokenizer": self.tokenizer,
            "ngrams": self.ngrams,
        }
        numbers = self.continuous, self.ordinal
        if roles is None:
            roles = self._learnt.roles if hasattr(self, "_learnt") else NO_ROLES
        return Intake(type(self).__name__, names, reading, *numbers, self._check_columns, roles)

    def _check_columns(self, observed: Observations, known: Schema) -> None:
        """Let scikit-learn compare number and names of the columns, in its own words."""
        schema = Schema.of(observed)
        columns: Any = np.broadcast_to(0, (1, schema.width))
        if schema.named:
            columns = pl.DataFrame(schema=dict.fromkeys(schema.names, pl.Null))
        # Not of this estimator but of the model at hand, which may be that of a store.
        fitted = type(type(self).__name__, (BaseEstimator,), {})()
        fitted.n_features_in_ = max(known.width, 1)
        if known.named:
            fitted.feature_names_in_ = np.array(known.names, dtype=object)
        validate_data(fitted, columns, reset=False, skip_check_array=True)

    def _cascade(self) -> Cascade:
        """The weights for the parameters of now, computed once until something changes."""
        model = self._learnt.model
        if isinstance(self.phases, str):
            self._validate_params()
        given = not (self.phases is None or isinstance(self.phases, (str, PhaseLearner)))
        key = (self._hyper(), self._active_policy(model), self.max_tuples, given)
        if given or key not in self._cascades:  # phases may be changed in place
            self._validate_params()
            phases = given_phases(model, self.phases) if given else None
            self._cascades.clear()
            self._cascades[key] = Cascade(model, key[1], key[0], self.max_tuples, phases)
        return self._cascades[key]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if state.get("store") is not None:  # the model is there; and a pickle holds no password
            state["store"] = shown_url(state["store"])
            for name in ("_shelf", "_learnt", "_cascades", "_taken_over"):
                state.pop(name, None)
        return {**state, "_cascades": {}} if "_cascades" in state else state

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy within the process, which may know the password."""
        state = {
            k: v if k == "_learnt" else deepcopy(v, memo) for k, v in self.__getstate__().items()
        }
        copied = type(self).__new__(type(self))
        copied.__setstate__({**state, "store": self.store})
        return copied

    def __sklearn_clone__(self) -> Self:
        """A clone learns in memory: folds of a cross-validation must not replace what is stored."""
        copied: Self = BaseEstimator.__sklearn_clone__(self)
        copied.store = None
        return copied

    def _get_params_html(self, *given: Any, **options: Any) -> Any:
        return BaseEstimator._get_params_html(self._shown(), *given, **options)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return str(BaseEstimator.__repr__(self._shown(), N_CHAR_MAX))

    def _repr_html_inner(self) -> str:
        return str(BaseEstimator._repr_html_inner(self._shown()))

    def _shown(self) -> Self:
        """The same parameters, but no password."""
        if self.store is None:
            return self
        shown: Self = clone(self, safe=False)
        shown.store = shown_url(self.store)
        return shown  # it has learnt nothing, so that showing it asks no server

    def __sklearn_is_fitted__(self) -> bool:
        # A model is also asked by what shows it, where an absent server is no reason to fail.
        with suppress(StoreError, ImportError):
            self._refresh()
        return hasattr(self, "_learnt")


def _check_id(batch_id: str | None) -> None:
    if batch_id is not None and not isinstance(batch_id, str):
        raise TypeError(f"batch_id is a string, got {type(batch_id).__name__}")
    if batch_id is not None and batch_id.startswith(UNLEARNT):
        raise ValueError(f"batch_id={batch_id!r}: an id cannot start with {UNLEARNT!r}")


def _noted(learnt: FittedState, batch_id: str | None) -> FittedState:
    """What was learnt, with the batch among its batches."""
    return learnt if batch_id is None else replace(learnt, batches=learnt.batches | {batch_id})


def _same(own: Any, default: Any) -> bool:
    """Whether a parameter is still at its default."""
    return isinstance(own, str | int | float) and bool(own == default)


def _depth() -> int:
    """How far up the stack the caller of this package is, for a warning."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("stc."):
        depth, frame = depth + 1, frame.f_back
    return depth
