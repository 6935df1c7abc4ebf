"""The myopic agent: learns a policy by adding, one at a time, the dimension that helps most."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from stc._core import formulas
from stc._core.cascade import Hyper, Policy, read_policy
from stc._core.corpus import Corpus, count
from stc._core.formulas import Floats
from stc._core.observations import Column, Observations
from stc._core.product import crossed
from stc._core.scoring import Scorer
from stc._core.tensor import Dimensions, Subset
from stc._core.vocabulary import Vocabulary
from stc._training.history import STATES
from stc._utils.progress import Progress
from stc._utils.threads import threaded

_log = logging.getLogger(__name__)

# Values that differ by less are the same.
_ROUNDING = 1e-12
# Fewer items than this are not worth a thread for each split.
_MANY_ITEMS = 5_000


class PolicyAgent(BaseEstimator):  # type: ignore[misc]
    """How a policy is learnt: options of the myopic agent, for `SparseTensorClassifier(policy=)`.

    The agent starts from the class frequencies. At each step it tries to add each dimension to
    its set, on items held out, and moves to the best if that is better than where it stands.

    Parameters
    ----------
    loss : {"norm", "log"}, default="norm"
        What a prediction costs: half the distance between the true and the predicted distribution,
        or their cross-entropy.
    order : float, default=1.0
        q of the norm `1/2 (sum_i |X_i - Xhat_i|^q)^(1/q)`.
    floor : float, default=1e-9
        Least probability that the logarithm is taken of.
    iterations : int, default=10
        Number of fresh, stratified splits that every state is tried on.
    validation : float, default=0.3
        Share of the items that are held out in each.
    priorities : list of str, default=None
        Dimensions to be explored first: others are tried only when none of these helps any more.
    start : list of lists of str, default=None
        Policy to start from, as far as it is known; None: the class frequencies.
    max_dimensions : int, default=None
        Most dimensions in a set.
    max_candidates : int, default=None
        Most dimensions tried in a step, drawn at random.
    time_limit : float, default=None
        Seconds after which the best policy so far is taken.
    random_state : int, RandomState instance or None, default=0
        What the splits are drawn with. None: other ones every time.
    progress : bool, default=None
        Whether to show how far it is; None: only on a terminal.

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
        "progress": ["boolean", None],
    }

    def __init__(
        self,
        loss: Literal["norm", "log"] = "norm",
        order: float = 1.0,
        floor: float = 1e-9,
        iterations: int = 10,
        validation: float = 0.3,
        priorities: Sequence[str] | None = None,
        start: Sequence[Sequence[str]] | None = None,
        max_dimensions: int | None = None,
        max_candidates: int | None = None,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = 0,
        progress: bool | None = None,
    ) -> None:
        self.loss = loss
        self.order = order
        self.floor = floor
        self.iterations = iterations
        self.validation = validation
        self.priorities = priorities
        self.start = start
        self.max_dimensions = max_dimensions
        self.max_candidates = max_candidates
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress


@dataclass(frozen=True)
class State:
    """A policy on trial.

    Attributes
    ----------
    path
        The dimensions of its first set in the order in which they were added.
    policy
        Its sets, the empty one last.
    predictions
        Probabilities of the validation items, for each split; None if they are too many.
    value
        Mean reward over all validation items of all splits.
    """

    path: tuple[int, ...]
    policy: Policy
    predictions: tuple[Floats, ...]
    value: float | None


def learn_policy(
    agent: PolicyAgent,
    observed: Observations,
    target: Column,
    sample_weight: NDArray[np.float64],
    dimensions: Dimensions,
    hyper: Hyper,
    max_tuples: int,
) -> tuple[Policy, pl.DataFrame]:
    """Learn a policy from these items: the policy, and the value of every state visited."""
    agent._validate_params()
    if observed.n_items < 2:
        raise ValueError("a policy is learnt from 2 items at least; this is 1 sample")
    generator = check_random_state(agent.random_state)
    trials = _Trials(agent, observed, target, sample_weight, hyper, generator)
    walk = _Walk(agent, trials, dimensions, max_tuples, generator)
    state = walk.to_the_end()
    names = [list(dimensions.named(subset)) for subset in state.policy]
    _log.info("policy %s, value %.6f, of %d states", names, state.value, len(walk.visited))
    return state.policy, walk.table()


def _better(value: float, than: float | None) -> bool:
    """Whether a value is higher by more than rounding."""
    return than is None or value - than > _ROUNDING * max(abs(than), 1.0)


class _Walk:
    """The way of the agent through the states."""

    def __init__(
        self,
        agent: PolicyAgent,
        trials: _Trials,
        dimensions: Dimensions,
        max_tuples: int,
        generator: np.random.RandomState,
    ) -> None:
        self.agent = agent
        self.trials = trials
        self.dimensions = dimensions
        self.max_tuples = max_tuples
        self.generator = generator
        self.priorities = dimensions.numbers(agent.priorities or (), "priorities")
        self.start = read_policy(agent.start or [[]], dimensions, "start")
        self.most = min(agent.max_dimensions or len(dimensions.names), len(dimensions.names))
        limit = np.inf if agent.time_limit is None else agent.time_limit
        self.deadline = time.monotonic() + limit
        self.visited: list[State] = []

    def to_the_end(self) -> State:
        """Walk until nothing is better, everything is in, or time is over."""
        state = self._first()
        with Progress("learning the policy", self.agent.progress) as progress:
            while len(state.path) < self.most:
                better = self._step(state, progress)
                if better is None:
                    break
                state = better
        return state

    def _first(self) -> State:
        frequencies = self.trials.frequencies
        state = State((), ((),), frequencies, self.trials.value(frequencies))
        for subset in self.start[-2::-1]:
            state = self._tried(state, subset, subset)  # nobody added them one by one
            if state.value is None:
                self.dimensions.refuse_large(self.trials.observed, subset, self.max_tuples)
        self.visited.append(state)
        return state

    def _step(self, state: State, progress: Progress) -> State | None:
        """The best next state that is better than this one."""
        left = [d for d in self.dimensions.whole if d not in state.path]
        first = [d for d in left if d in self.priorities]
        others = [d for d in left if d not in self.priorities]
        for group in (first, others):
            best = state
            for place, dimension in enumerate(self._candidates(group)):
                if time.monotonic() >= self.deadline:
                    return best if best is not state else None
                best_value = f"{len(best.path)} dimensions, value {best.value:.4f}"
                progress.update(place, len(group), best_value)
                path = (*state.path, dimension)
                found = self._tried(state, path, tuple(sorted(path)))
                self.visited.append(replace(found, predictions=()))
                if found.value is not None and _better(found.value, best.value):
                    best = found
            if best is not state:
                return best
        return None

    def _candidates(self, group: list[int]) -> list[int]:
        most = self.agent.max_candidates or len(group)
        if most >= len(group):
            return group
        return sorted(self.generator.choice(group, most, replace=False).tolist())

    def _tried(self, state: State, path: tuple[int, ...], subset: Subset) -> State:
        """The state with one more set in front, or one without value if the set is too large."""
        policy = (subset, *state.policy)
        observed = self.trials.observed
        if len(subset) > 1 and self.dimensions.sizes(observed, subset).sum() > self.max_tuples:
            return State(path, policy, (), None)
        columns = self.dimensions.columns(observed, subset)
        column = columns[0] if len(columns) == 1 else crossed(columns)
        predictions = self.trials.predictions(column, state.predictions)
        return State(path, policy, predictions, self.trials.value(predictions))

    def table(self) -> pl.DataFrame:
        """The value of every state visited, in the order of the visits."""
        return pl.DataFrame(
            {
                "state": [list(self.dimensions.named(state.path)) for state in self.visited],
                "value": [state.value for state in self.visited],
                "iterations": [self.agent.iterations] * len(self.visited),
                "items": [self.trials.n_validated] * len(self.visited),
            },
            schema=STATES,
        )


@dataclass(frozen=True)
class _Split:
    """One split of the items: what to learn from, and what to be judged by."""

    learning: NDArray[np.bool_]
    target: Column
    sample_weight: NDArray[np.float64]
    truth: Floats
    weight: Floats


class _Trials:
    """Learns on one part of the items and judges on the other, for all splits."""

    def __init__(
        self,
        agent: PolicyAgent,
        observed: Observations,
        target: Column,
        sample_weight: NDArray[np.float64],
        hyper: Hyper,
        generator: np.random.RandomState,
    ) -> None:
        self.agent = agent
        self.observed = observed
        self.hyper = hyper
        truth = target.matrix().toarray()
        classes = np.argmax(truth, axis=1)
        self._splits = []
        for _ in range(agent.iterations):
            judged = stratified(classes, agent.validation, generator)
            self._splits.append(
                _Split(
                    ~judged,
                    target.select(~judged),
                    np.ascontiguousarray(sample_weight[~judged]),
                    truth[judged],
                    sample_weight[judged],
                )
            )
        self.n_validated = sum(len(split.weight) for split in self._splits)
        self.frequencies = tuple(self._frequencies(split) for split in self._splits)

    @staticmethod
    def _frequencies(split: _Split) -> Floats:
        mass = split.sample_weight @ split.target.matrix()
        return np.broadcast_to(mass / mass.sum(), split.truth.shape)

    def predictions(self, column: Column, fallback: tuple[Floats, ...]) -> tuple[Floats, ...]:
        """Probabilities by a column of features; by the fallback where it has no score."""
        column = replace(column, attribute=None, values=None)
        tasks = list(zip(self._splits, fallback, strict=True))
        many = self.observed.n_items >= _MANY_ITEMS
        return tuple(threaded(lambda task: self._predicted(column, *task), tasks, worthwhile=many))

    def _predicted(self, column: Column, split: _Split, fallback: Floats) -> Floats:
        learnt = Observations("table", len(split.sample_weight), (column.select(split.learning),))
        entries = count(learnt, split.target, split.sample_weight)
        shape = (column.n_values, split.truth.shape[1])
        corpus = Corpus.of_entries(entries, [entries[0].codes], shape)
        log_W = formulas.log_weights(corpus.mass, *self.hyper)
        scorer = Scorer(Vocabulary(size=column.n_values), log_W, self.hyper.power)
        judged = Observations("table", len(split.weight), (column.select(~split.learning),))
        U = scorer.map(judged, lambda U: U)
        scored = np.asarray(U.any(axis=1))[:, None]
        # The frequencies are for items without a score, which here fall back on something better.
        found = formulas.probabilities(U, self.hyper.power, fallback[0])
        return np.where(scored, found, fallback)

    def value(self, predictions: tuple[Floats, ...]) -> float:
        """Mean reward over all validation items of all splits, whatever they were given."""
        lost = weight = 0.0
        for split, predicted in zip(self._splits, predictions, strict=True):
            lost += float(self._losses(split.truth, predicted) @ split.weight)
            weight += float(split.weight.sum())
        return -lost / weight

    def _losses(self, truth: Floats, predicted: Floats) -> Floats:
        if self.agent.loss == "log":
            return np.asarray(
                -(truth * np.log(np.maximum(predicted, self.agent.floor))).sum(axis=1)
            )
        q = self.agent.order
        distances = np.abs(truth - predicted)
        if q == 1:
            return np.asarray(0.5 * distances.sum(axis=1))
        return np.asarray(0.5 * (distances**q).sum(axis=1) ** (1 / q))


def stratified(
    classes: NDArray[Any], share: float, generator: np.random.RandomState
) -> NDArray[np.bool_]:
    """Draw a share of the items, of every class the same share within one item.

    Classes of one or two members are welcome: the items are shuffled, laid out class by class, and
    taken at equal steps from a random start.
    """
    n_items = len(classes)
    order = generator.permutation(n_items)
    order = order[np.argsort(classes[order], kind="stable")]
    steps = np.floor(np.arange(n_items + 1) * share + generator.random_sample())
    drawn = np.zeros(n_items, dtype=bool)
    drawn[order] = np.diff(steps) > 0
    if drawn.all() or not drawn.any():  # something to learn from, something to judge by
        drawn[generator.randint(n_items)] ^= True
    return drawn
