"""Greedy search for a policy: add, one at a time, the dimension that improves it most."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from stc._core import formulas
from stc._core.cascade import Policy, read_policy
from stc._core.corpus import Corpus, count
from stc._core.formulas import Floats, Hyper
from stc._core.observations import Column, Observations
from stc._core.product import cartesian_product
from stc._core.scoring import Scorer
from stc._core.tensor import Dimensions, Subset
from stc._core.vocabulary import Vocabulary
from stc._training.folds import stratified_sample
from stc._training.state import POLICY_STATES
from stc._utils.progress import Progress
from stc._utils.threads import thread_map
from stc._utils.validation import Interval, StrOptions
from stc.exceptions import DataError

_log = logging.getLogger(__name__)

# Relative difference below which two values are equal.
_ROUNDING = 1e-12
# Number of items from which on each split gets a thread.
_MANY_ITEMS = 5_000


@dataclass(eq=False, repr=False)
class PolicyAgent(BaseEstimator):  # type: ignore[misc]
    """Options for learning a policy: `SparseTensorClassifier(policy=PolicyAgent(...))`.

    The search is greedy. It starts from the class frequencies. At each step it tries to add each
    dimension to the current set, predicts held-out items, and moves to the best set if that is
    better than the current one.

    Parameters
    ----------
    loss : {"norm", "log"}, default="norm"
        Loss of a prediction: half the distance between the true and the predicted distribution,
        or their cross-entropy.
    order : float, default=1.0
        q of the norm `1/2 (sum_i |X_i - Xhat_i|^q)^(1/q)`.
    floor : float, default=1e-9
        Lower bound of a probability in the cross-entropy.
    iterations : int, default=10
        Number of random stratified splits on which every state is tried.
    validation : float, default=0.3
        Share of the items that are held out in each split.
    priorities : list of str, default=None
        Dimensions to try first. The others are tried when none of these improves the policy.
    start : list of lists of str, default=None
        Policy to start from. None: the class frequencies.
    max_dimensions : int, default=None
        Maximum number of dimensions in a set.
    max_candidates : int, default=None
        Maximum number of dimensions tried in a step, drawn at random.
    time_limit : float, default=None
        Seconds after which the best policy so far is returned.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits. None: other splits in every call.
    verbose : bool, default=None
        Whether to show a progress bar. None: only on a terminal.

    Examples
    --------
    >>> from stc import PolicyAgent, SparseTensorClassifier
    >>> items = [{"sky": sky, "day": k % 7} for k, sky in enumerate(["red", "grey"] * 20)]
    >>> agent = PolicyAgent(iterations=5, loss="log")
    >>> model = SparseTensorClassifier(dimensions="each", policy=agent)
    >>> model.fit(items, ["dry", "wet"] * 20).policy_
    [['sky'], []]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({"norm", "log"})],
        "order": [Interval(Real, 1, None, closed="left")],
        "floor": [Interval(Real, 0, 1, closed="neither")],
        "iterations": [Interval(Integral, 1, None, closed="left")],
        "validation": [Interval(Real, 0, 1, closed="neither")],
        "priorities": [list, tuple, None],
        "start": [list, tuple, None],
        "max_dimensions": [Interval(Integral, 1, None, closed="left"), None],
        "max_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose", None],
    }

    loss: Literal["norm", "log"] = "norm"
    order: float = 1.0
    floor: float = 1e-9
    iterations: int = 10
    validation: float = 0.3
    priorities: Sequence[str] | None = None
    start: Sequence[Sequence[str]] | None = None
    max_dimensions: int | None = None
    max_candidates: int | None = None
    time_limit: float | None = None
    random_state: int | np.random.RandomState | None = 0
    verbose: bool | None = None


@dataclass(frozen=True)
class State:
    """A policy that was tried.

    Attributes
    ----------
    path
        The dimensions of its first set in the order in which they were added.
    policy
        Its sets, the empty one last.
    predictions
        Probabilities of the held-out items, for each split; empty if the set is too large.
    value
        Mean reward over the held-out items of all splits; None if the set is too large.
    """

    path: tuple[int, ...]
    policy: Policy
    predictions: tuple[Floats, ...]
    value: float | None


def learn_policy(
    agent: PolicyAgent,
    observed: Observations,
    target: Column,
    sample_weight: Floats,
    dimensions: Dimensions,
    hyper: Hyper,
    max_entries: int,
) -> tuple[Policy, pl.DataFrame]:
    """Return a policy learnt from these items, and the value of every state visited."""
    agent._validate_params()
    if observed.n_items < 2:
        raise DataError("learning a policy needs at least 2 items, got 1 sample")
    generator = check_random_state(agent.random_state)
    validation = _Validation(agent, observed, target, sample_weight, hyper, generator)
    search = _GreedySearch(agent, validation, dimensions, max_entries, generator)
    state = search.run()
    names = [list(dimensions.named(subset)) for subset in state.policy]
    _log.info("Learnt policy %s: value %.6f, %d states", names, state.value, len(search.visited))
    return state.policy, search.table()


def _is_better(value: float, than: float | None) -> bool:
    """Return whether a value is higher by more than rounding."""
    return than is None or value - than > _ROUNDING * max(abs(than), 1.0)


@dataclass
class _GreedySearch:
    """The greedy search through the states."""

    agent: PolicyAgent
    validation: _Validation
    dimensions: Dimensions
    max_entries: int
    generator: np.random.RandomState
    visited: list[State] = field(default_factory=list)

    def __post_init__(self) -> None:
        agent, n_dimensions = self.agent, len(self.dimensions.names)
        self.priorities = self.dimensions.numbers(agent.priorities or (), "priorities")
        self.start = read_policy(agent.start or [[]], self.dimensions, "start")
        self.most = min(agent.max_dimensions or n_dimensions, n_dimensions)
        limit = np.inf if agent.time_limit is None else agent.time_limit
        self.deadline = time.monotonic() + limit

    def run(self) -> State:
        """Search until no state is better, all dimensions are used, or time is up."""
        state = self._first()
        with Progress("learning the policy", self.agent.verbose) as progress:
            while len(state.path) < self.most:
                better = self._step(state, progress)
                if better is None:
                    break
                state = better
        return state

    def _first(self) -> State:
        """Return the state to start from."""
        frequencies = self.validation.frequencies
        state = State((), ((),), frequencies, self.validation.value(frequencies))
        for subset in self.start[-2::-1]:
            state = self._extended(state, subset, subset)
            if state.value is None:
                self.dimensions.check_size(self.validation.observed, subset, self.max_entries)
        self.visited.append(state)
        return state

    def _step(self, state: State, progress: Progress) -> State | None:
        """Return the best next state that is better than this one, or None."""
        unused = [d for d in self.dimensions.whole if d not in state.path]
        first = [d for d in unused if d in self.priorities]
        others = [d for d in unused if d not in self.priorities]
        for group in (first, others):
            best = state
            for place, dimension in enumerate(self._candidates(group)):
                if time.monotonic() >= self.deadline:
                    return best if best is not state else None
                best_value = f"{len(best.path)} dimensions, value {best.value:.4f}"
                progress.update(place, len(group), best_value)
                path = (*state.path, dimension)
                candidate = self._extended(state, path, tuple(sorted(path)))
                self.visited.append(replace(candidate, predictions=()))
                if candidate.value is not None and _is_better(candidate.value, best.value):
                    best = candidate
            if best is not state:
                return best
        return None

    def _candidates(self, group: list[int]) -> list[int]:
        """Return the dimensions of a group to try, at most `max_candidates`."""
        most = self.agent.max_candidates or len(group)
        if most >= len(group):
            return group
        return sorted(self.generator.choice(group, most, replace=False).tolist())

    def _extended(self, state: State, path: tuple[int, ...], subset: Subset) -> State:
        """Return the state with one more set in front; without a value if it is too large."""
        policy = (subset, *state.policy)
        observed = self.validation.observed
        if len(subset) > 1 and self.dimensions.sizes(observed, subset).sum() > self.max_entries:
            return State(path, policy, (), None)
        columns = self.dimensions.columns(observed, subset)
        column = columns[0] if len(columns) == 1 else cartesian_product(columns)
        predictions = self.validation.predictions(column, state.predictions)
        return State(path, policy, predictions, self.validation.value(predictions))

    def table(self) -> pl.DataFrame:
        """Return the value of every state visited, in the order of the visits."""
        sizes = self.agent.iterations, self.validation.n_items
        rows = [(self.dimensions.named(s.path), s.value, *sizes) for s in self.visited]
        return pl.DataFrame(rows, schema=POLICY_STATES, orient="row")


@dataclass(frozen=True)
class _Holdout:
    """One split of the items.

    Attributes
    ----------
    train
        Which items are learnt from.
    target, sample_weight
        Target and weight of these items.
    truth, weight
        Distribution over the classes and weight of the held-out items.
    """

    train: NDArray[np.bool_]
    target: Column
    sample_weight: Floats
    truth: Floats
    weight: Floats


class _Validation:
    """Predictions of held-out items, and their mean reward over several splits."""

    def __init__(
        self,
        agent: PolicyAgent,
        observed: Observations,
        target: Column,
        sample_weight: Floats,
        hyper: Hyper,
        generator: np.random.RandomState,
    ) -> None:
        self.agent = agent
        self.observed = observed
        self.hyper = hyper
        truth = target.matrix().toarray()
        classes = np.argmax(truth, axis=1)
        self._splits: list[_Holdout] = []
        self.frequencies: tuple[Floats, ...] = ()
        for _ in range(agent.iterations):
            test = stratified_sample(classes, agent.validation, generator)
            train = ~test
            weight, labels = np.ascontiguousarray(sample_weight[train]), target.select(train)
            self._splits.append(_Holdout(train, labels, weight, truth[test], sample_weight[test]))
            mass = weight @ labels.matrix()
            self.frequencies += (np.broadcast_to(mass / mass.sum(), truth[test].shape),)
        self.n_items = sum(len(split.weight) for split in self._splits)

    def predictions(self, column: Column, fallback: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Return probabilities by a column of features; the fallback where there is no score."""
        column = replace(column, attribute=None, values=None)
        tasks = list(zip(self._splits, self.frequencies, fallback, strict=True))
        many = self.observed.n_items >= _MANY_ITEMS
        return tuple(
            thread_map(lambda task: self._predicted(column, *task), tasks, worthwhile=many)
        )

    def _predicted(
        self, column: Column, split: _Holdout, frequencies: Floats, fallback: Floats
    ) -> Floats:
        learnt = Observations("table", len(split.sample_weight), (column.select(split.train),))
        entries = count(learnt, split.target, split.sample_weight)
        shape = (column.n_values, split.truth.shape[1])
        corpus = Corpus.of_entries(entries, [entries[0].codes], shape)
        log_W = formulas.log_weights(corpus.mass, self.hyper, frequencies[0])
        scorer = Scorer(Vocabulary(size=column.n_values), log_W, None, self.hyper.power)
        held_out = Observations("table", len(split.weight), (column.select(~split.train),))
        log_U = scorer.map(held_out, lambda L: L)
        # Rows without a score, for which the frequencies stand here, are replaced.
        P = formulas.probabilities(log_U, self.hyper.power / self.hyper.sharpness, fallback[0])
        return np.where(np.isfinite(log_U).any(axis=1, keepdims=True), P, fallback)

    def value(self, predictions: tuple[Floats, ...]) -> float:
        """Return the mean reward over the held-out items of all splits."""
        loss = weight = 0.0
        for split, predicted in zip(self._splits, predictions, strict=True):
            loss += float(self._losses(split.truth, predicted) @ split.weight)
            weight += float(split.weight.sum())
        return -loss / weight

    def _losses(self, truth: Floats, predicted: Floats) -> Floats:
        if self.agent.loss == "log":
            log_P = np.log(np.maximum(predicted, self.agent.floor))
            return np.asarray(-(truth * log_P).sum(axis=1))
        q = self.agent.order
        return np.asarray(0.5 * (np.abs(truth - predicted) ** q).sum(axis=1) ** (1 / q))
