"""Phases learnt by gradient descent, on items predicted by weights that leave them out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from stc._core.corpus import Amplitudes
from stc._core.formulas import Floats, Hyper
from stc._core.labels import label_repr, places_of
from stc._core.model import Model
from stc._core.observations import Column, Observations
from stc._training.crossfit import CrossFit
from stc._training.descent import Descent, Point, best_sharpness, random_start, scaled_penalty
from stc._training.folds import stratified_folds
from stc._training.objective import Metrics, Objective
from stc._training.state import PHASE_HISTORY
from stc._utils.progress import Progress
from stc._utils.validation import Interval
from stc.exceptions import DataError, ParameterError

log = logging.getLogger("stc")

# Early stopping: steps without a lower held-out loss, and the first step at which it may stop,
# because it may take many steps to leave the start.
_PATIENCE, _MIN_STEPS = 15, 40
# Up to this many amplitudes, several starts are tried and the lowest loss is used.
_CHEAP, _STARTS = 1_000_000, 3
# Number of standard errors of the accuracy that phases may cost.
_NOISE = 0.5


@dataclass(eq=False, repr=False)
class PhaseLearner(BaseEstimator):  # type: ignore[misc]
    """Options for learning phases: `SparseTensorClassifier(phases=PhaseLearner(...))`.

    Phases and the sharpness of the probabilities minimise the cross-entropy of items, each
    predicted by weights from which it was left out. The penalty `lambda * sharpness *
    sum(1 - cos phi) / values per item` keeps phases small. Penalty and number of iterations have
    the lowest loss on held-out items. If no phases improve the held-out loss, there are none.

    Parameters
    ----------
    penalties : tuple of float, default=(16.0, 4.0, 1.0, 0.25)
        Values of lambda to try, largest first. Infinity learns the sharpness and no phases.
    max_iter : int, default=200
        Maximum number of iterations of a descent.
    folds : int, default=10
        Number of folds. The items of a fold are left out of their weights together.
    validation : int, default=5
        Number of folds that choose the penalty and the number of iterations. With 0, the first
        penalty is used with `max_iter` iterations.
    max_amplitudes : int, default=60_000_000
        Number of (item, value, class) triples beyond which phases are learnt by mini-batches.
    time_limit : float, default=None
        Seconds after which no other penalty is tried.
    random_state : int or RandomState, default=0
        Seed of the folds and of the phases at the start.
    verbose : bool, default=None
        Whether to show a progress bar. None: only on a terminal.

    Examples
    --------
    >>> from stc import QUANTUM, PhaseLearner, SparseTensorClassifier
    >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
    >>> y = [a == b for a, b in X]
    >>> model = SparseTensorClassifier(**QUANTUM)
    >>> model.set_params(phases=PhaseLearner(penalties=(0.25,))).fit(X, y).score(X, y)
    1.0
    >>> model.set_params(phases={}).score(X, y) < 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalties": [tuple, list],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "validation": [Interval(Integral, 0, None, closed="left")],
        "max_amplitudes": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose", None],
    }

    penalties: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25)
    _: KW_ONLY
    max_iter: int = 200
    folds: int = 10
    validation: int = 5
    max_amplitudes: int = 60_000_000
    time_limit: float | None = None
    random_state: Any = 0
    verbose: bool | None = None


class Choice(NamedTuple):
    """The penalty and number of steps that held-out items choose; penalty None: no phases."""

    penalty: float | None
    steps: int
    metrics: Metrics
    baseline: Metrics


def fit_phases(
    learner: PhaseLearner,
    model: Model,
    observed: Observations,
    target: Column,
    sample_weight: Floats,
    hyper: Hyper,
) -> tuple[Model, pl.DataFrame]:
    """Return the model with phases learnt for each set of its policy, and the history."""
    _check(learner)
    labels = np.asarray(target.values)
    item, code = target.first_entry(places_of(model.classes, labels) == len(model.classes))
    if item is not None:
        raise DataError(f"y has the class {label_repr(labels[code])}, which was never learnt")
    classes = np.argmax(target.matrix().toarray(), axis=1)
    n_folds = min(learner.folds, observed.n_items)
    fold = stratified_folds(classes, n_folds, check_random_state(learner.random_state))
    corpora, history = dict(model.corpora), pl.DataFrame(schema=PHASE_HISTORY)
    for subset in filter(None, model.policy):
        cross = CrossFit.from_model(model, subset, observed, target, sample_weight, fold)
        amplitudes, of_set = _PhaseSearch(learner, cross, hyper).run()
        corpora[subset] = replace(corpora[subset], amplitudes=amplitudes)
        history = history.vstack(of_set)
    return replace(model, corpora=corpora), history


def _check(learner: PhaseLearner) -> None:
    """Raise an error for options that are not valid."""
    learner._validate_params()
    for penalty in learner.penalties:
        if not isinstance(penalty, Real) or not penalty >= 0:
            raise ParameterError(f"penalties contains {penalty!r}, which is not a number from 0 on")


class _PhaseSearch:
    """Choice of a penalty for one corpus, and its phases."""

    def __init__(self, learner: PhaseLearner, cross: CrossFit, hyper: Hyper) -> None:
        self.learner = learner
        self.cross = cross
        self.hyper = hyper
        self.parts = cross.parts(learner.max_amplitudes)
        # With more items than fit in memory, the first part chooses the penalty.
        self.objective = cross.objective(hyper, self.parts[0])
        self.fold = cross.fold[self.parts[0]]
        self.start = random_start(cross, learner.random_state)
        self.history: list[tuple[Any, ...]] = []
        limit = np.inf if learner.time_limit is None else learner.time_limit
        self.deadline = time.monotonic() + limit

    def run(self) -> tuple[Amplitudes | None, pl.DataFrame]:
        with Progress("learning the phases", self.learner.verbose) as progress:
            choice = self._validated(progress) if self.learner.validation else self._first()
            phases = self._final(choice, progress)
        _log(choice, phases)
        return phases, pl.DataFrame(self.history, schema=PHASE_HISTORY, orient="row")

    def _first(self) -> Choice:
        """Return the first penalty with all iterations, without validation."""
        penalty = next(iter(self.learner.penalties), np.inf)
        unknown = Metrics(np.nan, np.nan)
        finite = None if np.isinf(penalty) else penalty
        return Choice(finite, self.learner.max_iter, unknown, unknown)

    def _validated(self, progress: Progress) -> Choice:
        """Return the choice with the lowest held-out loss that costs no accuracy."""
        folds = [k for k in range(self.learner.validation) if (self.fold == k).any()]
        held_out = self.objective.without(~np.isin(self.fold, folds))
        _, baseline = best_sharpness(held_out)
        count = max(int(np.count_nonzero(held_out.weight)), 1)
        noise = _NOISE * np.sqrt(baseline.accuracy * (1 - baseline.accuracy) / count)
        best = Choice(None, 0, baseline, baseline)
        for number, penalty in enumerate(filter(np.isfinite, self.learner.penalties)):
            if time.monotonic() >= self.deadline or not held_out.weight.any():
                break
            progress.update(number, len(self.learner.penalties) + 1, f"penalty {penalty:g}")
            allowed = [
                Choice(penalty, step + 1, metrics, baseline)
                for step, metrics in enumerate(self._learning_curve(penalty, folds))
                if metrics.accuracy >= baseline.accuracy - noise
            ]
            choice = min(allowed, key=lambda choice: choice.metrics.loss, default=best)
            if choice.metrics.loss < best.metrics.loss:
                best = choice
        return best

    def _learning_curve(self, penalty: float, folds: list[int]) -> list[Metrics]:
        """Return the mean metrics of the held-out items after each step, over the folds."""
        curves, weights = [], []
        for fold in folds:
            test = self.fold == fold
            training, held_out = self.objective.without(test), self.objective.without(~test)
            if not training.weight.any() or not held_out.weight.any():
                continue
            stopping = _EarlyStopping(held_out, self._recorder(penalty, fold))
            descent = Descent(training, scaled_penalty(penalty, self.cross, training.weight))
            descent.run(self.start, self.learner.max_iter, stopping)
            curves.append(stopping.curve)
            weights.append(float(held_out.weight.sum()))
        # A descent that stopped early keeps its last metrics.
        longest = max(map(len, curves), default=0)
        by_step = [[curve[min(k, len(curve) - 1)] for curve in curves] for k in range(longest)]
        return [Metrics(*np.average(step, axis=0, weights=weights).tolist()) for step in by_step]

    def _final(self, choice: Choice, progress: Progress) -> Amplitudes | None:
        """Return the phases of the choice, learnt from all items."""
        if choice.penalty is None:
            sharpness, _ = best_sharpness(self.objective)
            neutral = Amplitudes.neutral(self.cross.mass.nnz)
            return None if sharpness == 1.0 else replace(neutral, sharpness=sharpness)
        in_memory = len(self.parts) == 1
        weight = self.objective.weight if in_memory else self.cross.sample_weight
        descent = Descent(self.objective, scaled_penalty(choice.penalty, self.cross, weight))
        text, number = f"penalty {choice.penalty:g}, all items", len(self.learner.penalties)
        progress.update(number, number + 1, text)
        if not in_memory:
            record = self._recorder(choice.penalty, None)
            return _turned(descent.run_batches(self.start, self._draw_objective(), record))
        cheap = self.objective.amplitudes.nnz <= _CHEAP
        starts = [self.start, *self._more_starts()] if cheap else [self.start]
        results = []
        for number, start in enumerate(starts):
            progress.update(number, len(starts), text)
            point = descent.run(start, choice.steps, self._recorder(choice.penalty, None, number))
            results.append((descent.penalised(self.objective, point)[0], number, point))
        return _turned(min(results)[2])

    def _more_starts(self) -> list[Point]:
        """Return other starts, because some descents end in a poor local minimum."""
        generator = check_random_state(self.learner.random_state)
        seeds = generator.randint(2**31 - 1, size=_STARTS - 1)
        return [random_start(self.cross, int(seed)) for seed in seeds]

    def _draw_objective(self) -> Callable[[], Objective]:
        """Return a function that draws the objective of a random part of the items."""
        generator = check_random_state(self.learner.random_state)
        return lambda: self.cross.objective(
            self.hyper, self.parts[generator.randint(len(self.parts))]
        )

    def _recorder(self, penalty: float, fold: int | None, start: int = 0) -> Callable[..., None]:
        """Return a callback that adds the steps of a descent to the history."""

        def record(step: int, loss: float, log_P: Floats, held_out: Any = (None, None)) -> None:
            self.history.append((penalty, fold, start, step, loss, *held_out))

        return record


def _turned(point: Point) -> Amplitudes:
    """Return the phases of a point, with gains of 1."""
    return Amplitudes(np.ones(len(point.angles)), *point)


def _log(choice: Choice, phases: Amplitudes | None) -> None:
    """Log what was learnt, in one line."""
    sharpness = 1.0 if phases is None else phases.sharpness
    validated = not np.isnan(choice.metrics.loss)
    if choice.penalty is None:
        result = "No phases improved the held-out loss" if validated else "Learnt no phases"
        log.info("%s; sharpness %.3g", result, sharpness)
        return
    text, values = "Learnt phases: penalty %g, up to %d iterations, sharpness %.3g", []
    if validated:
        text += "; held-out log-loss %.4f, accuracy %.4f; without phases %.4f and %.4f"
        values = [*choice.metrics, *choice.baseline]
    log.info(text, choice.penalty, choice.steps, sharpness, *values)


@dataclass
class _EarlyStopping:
    """Callback that records held-out metrics after each step and stops when they get worse."""

    held_out: Objective
    record: Callable[..., None]
    curve: list[Metrics] = field(default_factory=list)

    def __call__(self, step: int, loss: float, log_probabilities: Floats) -> bool:
        metrics = self.held_out.metrics(log_probabilities)
        self.record(step, loss, log_probabilities, metrics)
        self.curve.append(metrics)
        losses = [earlier.loss for earlier in self.curve]
        return len(losses) > _MIN_STEPS and min(losses[-_PATIENCE:]) > min(losses)
