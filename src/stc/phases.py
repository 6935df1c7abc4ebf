"""Learning phases: by gradient, on items judged by weights that do not hold them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy import optimize
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from stc._progress import Progress
from stc.corpus import Phases
from stc.crossfit import CrossFit
from stc.formulas import Floats
from stc.policy import Hyper
from stc.waves import Judgement, Waves

log = logging.getLogger("stc")

# Spread of the random phases at the start: zero is a stationary point.
_START = 0.1
# How far ln(sharpness) may go.
_SHARPEST = 6.0
# A line of descent ends when so many steps have not lowered the loss of the items left out.
_PATIENCE = 12
# Steps of one descent by mini-batches, their size, and how they remember.
_STEPS, _STEP, _MEMORY = 300, 0.03, (0.9, 0.999)
# Phases may cost this many standard errors of the accuracy, not more.
_NOISE = 0.5


class PhaseLearner(BaseEstimator):  # type: ignore[misc]
    """How phases are learnt: the options of `phases="learn"`.

    The cross-entropy of items, each judged by weights from which it was left out, is minimised over
    the phases and over the sharpness of the probabilities. The penalty `lambda * sharpness *
    sum(1 - cos phi) / values per item` keeps contributions together. Penalty and number of
    iterations are those that do best on items left out of the learning, too; if no phases do better
    than none, there are none.

    Parameters
    ----------
    penalties : tuple of float, default=(16.0, 4.0, 1.0, 0.25)
        The lambdas to try, strongest first. One only: that one.
    max_iter : int, default=100
        The most iterations of a descent.
    folds : int, default=10
        Parts of the items that are left out of the weights together.
    validation : int, default=3
        How many of these are used to choose penalty and iterations.
    max_amplitudes : int, default=30_000_000
        Beyond this many (item, value, class) triples, learn by mini-batches of them.
    time_limit : float, default=None
        Seconds after which no new descent is begun.
    random_state : int or RandomState, default=0
        Where the phases start, and which items are left out.
    progress : bool, default=None
        Whether to show a bar. None: on a terminal.

    Examples
    --------
    >>> from stc import PhaseLearner, SparseTensorClassifier
    >>> X = [[a, b] for a in "uvw" for b in "uvw"] * 20
    >>> y = [a == b for a, b in X]
    >>> model = SparseTensorClassifier(entropy=0, phases=PhaseLearner(penalties=(0.25,)))
    >>> model.fit(X, y).score(X, y)
    1.0
    >>> model.set_params(phases={}).score(X, y) < 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalties": [tuple, list],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "validation": [Interval(Integral, 1, None, closed="left")],
        "max_amplitudes": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "progress": [bool, None],
    }

    def __init__(
        self,
        penalties: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25),
        *,
        max_iter: int = 100,
        folds: int = 10,
        validation: int = 3,
        max_amplitudes: int = 30_000_000,
        time_limit: float | None = None,
        random_state: Any = 0,
        progress: bool | None = None,
    ) -> None:
        self.penalties = penalties
        self.max_iter = max_iter
        self.folds = folds
        self.validation = validation
        self.max_amplitudes = max_amplitudes
        self.time_limit = time_limit
        self.random_state = random_state
        self.progress = progress


class Point(NamedTuple):
    """Where a descent is: the phases and the sharpness."""

    angles: Floats
    sharpness: float


class Trace(NamedTuple):
    """One step of a descent: the loss it lowers, and how items left out are judged."""

    loss: float
    held_out: Judgement


@dataclass
class Descent:
    """Minimise `cross-entropy + lambda sharpness sum(1 - cos phi) / (m n)` from a start.

    Attributes
    ----------
    waves
        The items.
    penalty
        `lambda / (m n)`.
    max_iter
        The most steps.
    watched
        The items that the trace judges; they should count for nothing in `waves`.
    """

    waves: Waves
    penalty: float
    max_iter: int
    watched: Waves | None = None
    trace: list[Trace] = field(default_factory=list)

    def run(self, start: Point, shown: Callable[[int], None] = lambda step: None) -> Point:
        """Go down by L-BFGS."""
        last: dict[str, Any] = {}

        def value(x: Floats) -> tuple[float, Floats]:
            point = Point(x[:-1], float(np.exp(x[-1])))
            loss, gradient, log_probabilities = self.penalised(self.waves, point)
            last.update(loss=loss, log_probabilities=log_probabilities)
            gradient[-1] *= np.exp(x[-1])  # by the logarithm of the sharpness
            return loss, gradient

        def stepped(intermediate_result: Any) -> None:
            shown(len(self.trace))
            watched = self.watched or self.waves
            self.trace.append(Trace(last["loss"], watched.judgement(last["log_probabilities"])))
            if self.watched is not None and self._stale():
                raise StopIteration

        x = np.append(start.angles, np.log(start.sharpness))
        free = [(None, None)] * len(start.angles)
        # Its vectors are too short for threads, which would only wait for each other.
        with threadpool_limits(1, user_api="blas"):
            result = optimize.minimize(
                value,
                x,
                jac=True,
                method="L-BFGS-B",
                bounds=[*free, (-_SHARPEST, _SHARPEST)],
                callback=stepped,
                options={"maxiter": self.max_iter},
            )
        return Point(_wrapped(result.x[:-1]), float(np.exp(result.x[-1])))

    def penalised(self, waves: Waves, point: Point) -> tuple[float, Floats, Floats]:
        """The loss, its derivatives by angles and sharpness, and `ln P`."""
        slope = waves.slope(*point)
        bent = self.penalty * float((1 - np.cos(point.angles)).sum())
        gradient = slope.angles + self.penalty * point.sharpness * np.sin(point.angles)
        loss = slope.loss + point.sharpness * bent
        return loss, np.append(gradient, slope.sharpness + bent), slope.log_probabilities

    def _stale(self) -> bool:
        losses = [step.held_out.loss for step in self.trace]
        return len(losses) > _PATIENCE and min(losses[-_PATIENCE:]) > min(losses)


class Choice(NamedTuple):
    """What held-out items say: a penalty and a number of steps; None: no phases."""

    penalty: float | None
    steps: int
    judgement: Judgement


def learn_phases(
    learner: PhaseLearner, cross: CrossFit, hyper: Hyper
) -> tuple[Phases | None, pl.DataFrame]:
    """The phases of a corpus, or None if the plain model is as good; and what was tried."""
    learner._validate_params()
    return _Learning(learner, cross, hyper).run()


class _Learning:
    """One go at the phases of one corpus."""

    def __init__(self, learner: PhaseLearner, cross: CrossFit, hyper: Hyper) -> None:
        self.learner = learner
        self.cross = cross
        self.hyper = hyper
        self.generator = check_random_state(learner.random_state)
        self.parts = cross.parts(learner.max_amplitudes)
        # On more items than fit at once, the first part chooses for all.
        self.waves = cross.waves(hyper, self.parts[0])
        self.fold = cross.fold[self.parts[0]]
        self.start = Point(self.generator.normal(0.0, _START, cross.mass.nnz), 1.0)
        self.history: list[dict[str, Any]] = []
        self.began = time.monotonic()

    def run(self) -> tuple[Phases | None, pl.DataFrame]:
        with Progress("learning the phases", self.learner.progress) as progress:
            choice = self._chosen(progress)
            found = self._final(choice, progress)
        plain = self.waves.judgement(self._plain())
        self._log(choice, plain)
        return found, pl.DataFrame(self.history, schema=_HISTORY)

    def _plain(self) -> Floats:
        return self.waves.log_probabilities(np.zeros(self.cross.mass.nnz), 1.0)

    def _penalty(self, penalty: float, waves: Waves) -> float:
        n_items = max(float(waves.weight.sum()), 1.0)
        return penalty / (max(self.cross.values_per_item, 1.0) * n_items)

    def _chosen(self, progress: Progress) -> Choice:
        """Penalty and steps with the lowest held-out loss that cost no accuracy."""
        folds = [k for k in range(self.learner.validation) if (self.fold == k).any()]
        held = np.isin(self.fold, folds)
        plain = self.waves.without(~held).judgement(self._plain())
        noise = _NOISE * np.sqrt(plain.accuracy * (1 - plain.accuracy) / max(held.sum(), 1))
        best = Choice(None, 0, plain)
        if (self.waves.without(~held).weight > 0).sum() == 0:
            return best
        for number, penalty in enumerate(self.learner.penalties):
            if self._late():
                break
            progress.update(number, len(self.learner.penalties) + 1, f"penalty {penalty:g}")
            curve = self._curve(penalty, folds)
            allowed = [
                Choice(penalty, step + 1, own)
                for step, own in enumerate(curve)
                if own.accuracy >= plain.accuracy - noise
            ]
            found = min(allowed, key=lambda choice: choice.judgement.loss, default=best)
            if found.judgement.loss < best.judgement.loss:
                best = found
            elif best.penalty is not None:
                break  # weaker penalties only do worse from here
        return best

    def _curve(self, penalty: float, folds: list[int]) -> list[Judgement]:
        """Judgement of the held-out items after each step, over all validation folds."""
        traces = []
        for fold in folds:
            held = self.fold == fold
            learning, watched = self.waves.without(held), self.waves.without(~held)
            strength = self._penalty(penalty, learning)
            descent = Descent(learning, strength, self.learner.max_iter, watched)
            descent.run(self.start)
            traces.append(descent.trace)
            self._remember(penalty, fold, descent.trace)
        longest = max(map(len, traces), default=0)
        weights = [float((self.waves.weight * (self.fold == fold)).sum()) for fold in folds]
        return [_mean([_at(own, step) for own in traces], weights) for step in range(longest)]

    def _final(self, choice: Choice, progress: Progress) -> Phases | None:
        """Learn with all items what was chosen."""
        number = len(self.learner.penalties)
        if choice.penalty is None:
            sharpness = self._sharpness()
            zero = np.zeros(self.cross.mass.nnz)
            return None if sharpness == 1.0 else Phases(zero, sharpness)
        progress.update(number, number + 1, f"penalty {choice.penalty:g}, all items")
        descent = Descent(self.waves, self._penalty(choice.penalty, self.waves), choice.steps)
        whole = len(self.parts) == 1
        found = descent.run(self.start) if whole else self._by_batches(descent)
        self._remember(choice.penalty, None, descent.trace)
        return Phases(*found)

    def _sharpness(self) -> float:
        """The sharpness alone that fits best: probabilities that mean what they say."""
        zero = np.zeros(self.cross.mass.nnz)
        if not self.waves.weight.any():
            return 1.0

        def loss(logarithm: float) -> float:
            log_P = self.waves.log_probabilities(zero, float(np.exp(logarithm)))
            return self.waves.judgement(log_P).loss

        bounds = (-_SHARPEST, _SHARPEST)
        found = optimize.minimize_scalar(loss, bounds=bounds, method="bounded")
        return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0

    def _by_batches(self, descent: Descent) -> Point:
        """Go down by small steps (Adam), each on another batch of the items."""
        x = np.append(self.start.angles, np.log(self.start.sharpness))
        mean, square = np.zeros_like(x), np.zeros_like(x)
        for step in range(1, _STEPS + 1):
            part = self.parts[self.generator.randint(len(self.parts))]
            waves = self.cross.waves(self.hyper, part)
            point = Point(x[:-1], float(np.exp(x[-1])))
            loss, gradient, log_P = descent.penalised(waves, point)
            gradient[-1] *= point.sharpness
            descent.trace.append(Trace(loss, waves.judgement(log_P)))
            mean += (1 - _MEMORY[0]) * (gradient - mean)
            square += (1 - _MEMORY[1]) * (gradient**2 - square)
            unbiased = mean / (1 - _MEMORY[0] ** step), square / (1 - _MEMORY[1] ** step)
            rate = _STEP * (1 - (step - 1) / _STEPS)
            x = x - rate * unbiased[0] / (np.sqrt(unbiased[1]) + 1e-12)
            x[-1] = np.clip(x[-1], -_SHARPEST, _SHARPEST)
        return Point(_wrapped(x[:-1]), float(np.exp(x[-1])))

    def _late(self) -> bool:
        limit = self.learner.time_limit
        return limit is not None and time.monotonic() - self.began >= limit

    def _remember(self, penalty: float, fold: int | None, trace: list[Trace]) -> None:
        for step, (loss, held_out) in enumerate(trace):
            row = {"penalty": penalty, "fold": fold, "iteration": step + 1, "loss": loss}
            if fold is not None:
                row |= {"held_out_loss": held_out.loss, "held_out_accuracy": held_out.accuracy}
            self.history.append(row)

    def _log(self, choice: Choice, plain: Judgement) -> None:
        if choice.penalty is None:
            log.info("phases: none were better than none (log-loss %.4f)", plain.loss)
            return
        log.info(
            "phases: penalty %g, %d iterations; held-out log-loss %.4f (plain %.4f), "
            "accuracy %.4f (plain %.4f)",
            choice.penalty,
            choice.steps,
            choice.judgement.loss,
            plain.loss,
            choice.judgement.accuracy,
            plain.accuracy,
        )


_HISTORY = {
    "penalty": pl.Float64,
    "fold": pl.Int64,
    "iteration": pl.Int64,
    "loss": pl.Float64,
    "held_out_loss": pl.Float64,
    "held_out_accuracy": pl.Float64,
}


def _at(trace: list[Trace], step: int) -> Judgement:
    """The judgement after a step; a descent that ended early stays where it ended."""
    return trace[min(step, len(trace) - 1)].held_out


def _mean(judgements: list[Judgement], weights: list[float]) -> Judgement:
    return Judgement(*np.average(judgements, axis=0, weights=weights).tolist())


def _wrapped(angles: Floats) -> Floats:
    """The same directions as angles from -pi to pi."""
    return np.asarray((angles + np.pi) % (2 * np.pi) - np.pi)
