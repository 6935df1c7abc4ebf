"""Learning phases: by gradient, on items judged by weights that do not hold them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy import optimize
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from stc._core.cascade import Hyper
from stc._core.corpus import Phases
from stc._core.formulas import Floats
from stc._core.model import Model, shown
from stc._core.observations import Column, Observations
from stc._training.crossfit import CrossFit, folds_of
from stc._training.history import HISTORY
from stc._training.objective import Judgement, Waves
from stc._utils.progress import Progress

log = logging.getLogger("stc")

# What writes down a step: its number, its loss, and how held-out items are judged.
Remember = Callable[[int, float, Judgement | None], None]

# Spread of the random phases at the start: zero is a stationary point.
_START = 0.1
# How far ln(sharpness) may go.
_SHARPEST = 6.0
# A descent ends when so many steps have not lowered the loss of the items left out; not too soon,
# for it may take many to leave the start.
_PATIENCE, _SOON = 15, 40
# Steps of one descent by mini-batches, their size, and how they remember.
_STEPS, _STEP, _MEMORY = 300, 0.03, (0.9, 0.999)
_TINY = 1e-12
# How L-BFGS remembers and when it ends.
_LBFGS = {"maxcor": 20, "ftol": 1e-7, "gtol": 1e-7}
# Where descents are cheap (so many amplitudes), so many are begun, and the deepest counts.
_CHEAP, _STARTS = 1_000_000, 3
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
        The lambdas to try, strongest first; infinite: no phases, only the sharpness.
    max_iter : int, default=200
        The most iterations of a descent.
    folds : int, default=10
        Parts of the items that are left out of the weights together.
    validation : int, default=5
        How many of these choose penalty and iterations. 0: none, the first penalty is used with
        all iterations.
    max_amplitudes : int, default=60_000_000
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
        "validation": [Interval(Integral, 0, None, closed="left")],
        "max_amplitudes": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "progress": [bool, None],
    }

    def __init__(
        self,
        penalties: tuple[float, ...] = (16.0, 4.0, 1.0, 0.25),
        *,
        max_iter: int = 200,
        folds: int = 10,
        validation: int = 5,
        max_amplitudes: int = 60_000_000,
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


# What is told of each step: its number from 1, the loss, `ln P` of the items; True ends it.
Watch = Callable[[int, float, Floats], bool | None]


@dataclass(frozen=True)
class Descent:
    """Minimise `cross-entropy + lambda sharpness sum(1 - cos phi) / (m n)` from a start.

    Attributes
    ----------
    waves
        The items.
    penalty
        `lambda / (m n)`.
    """

    waves: Waves
    penalty: float

    def run(self, start: Point, max_iter: int, watch: Watch) -> Point:
        """Go down by L-BFGS, each phase in steps that suit how often its entry is met."""
        scale = np.append(self.waves.scales, 1.0)
        last: tuple[float, Floats] = (0.0, start.angles)

        def value(u: Floats) -> tuple[float, Floats]:
            nonlocal last
            x = u * scale
            point = Point(x[:-1], float(np.exp(x[-1])))
            loss, gradient, log_P = self.penalised(self.waves, point)
            last = loss, log_P
            gradient[-1] *= point.sharpness  # by the logarithm of the sharpness
            return loss, gradient * scale

        steps = 0

        def stepped(intermediate_result: Any) -> None:
            nonlocal steps
            steps += 1
            if watch(steps, *last):
                raise StopIteration

        u = np.append(start.angles, np.log(start.sharpness)) / scale
        free = [(None, None)] * len(start.angles)
        # Its vectors are too short for threads, which would only wait for each other.
        with threadpool_limits(1, user_api="blas"):
            result = optimize.minimize(
                value,
                u,
                jac=True,
                method="L-BFGS-B",
                bounds=[*free, (-_SHARPEST, _SHARPEST)],
                callback=stepped,
                options={"maxiter": max_iter, **_LBFGS},
            )
        x = result.x * scale
        return Point(_wrapped(x[:-1]), float(np.exp(x[-1])))

    def penalised(self, waves: Waves, point: Point) -> tuple[float, Floats, Floats]:
        """The loss, its derivatives by angles and sharpness, and `ln P`."""
        slope = waves.slope(*point)
        bent = self.penalty * float((1 - np.cos(point.angles)).sum())
        gradient = slope.angles + self.penalty * point.sharpness * np.sin(point.angles)
        loss = slope.loss + point.sharpness * bent
        return loss, np.append(gradient, slope.sharpness + bent), slope.log_probabilities


def strength(penalty: float, cross: CrossFit, weight: Floats) -> float:
    """`lambda / (m n)`: the penalty for items of this weight, with so many values each."""
    return penalty / (max(cross.values_per_item, 1.0) * max(float(weight.sum()), 1.0))


def start_of(cross: CrossFit, random_state: Any) -> Point:
    """Small random phases: at zero nothing would move."""
    generator = check_random_state(random_state)
    return Point(generator.normal(0.0, _START, cross.mass.nnz), 1.0)


def best_sharpness(waves: Waves) -> float:
    """The sharpness that fits best without phases: probabilities that mean what they say."""
    if not waves.weight.any():
        return 1.0
    logarithms = waves.logarithms(np.zeros(waves.amplitudes.shape[1]))

    def loss(logarithm: float) -> float:
        return waves.judgement(waves.softmax(logarithms, float(np.exp(logarithm)))).loss

    bounds = (-_SHARPEST, _SHARPEST)
    found = optimize.minimize_scalar(loss, bounds=bounds, method="bounded")
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0


class Choice(NamedTuple):
    """What held-out items say: a penalty and a number of steps; None: no phases."""

    penalty: float | None
    steps: int
    judgement: Judgement
    without: Judgement


def with_phases(
    learner: PhaseLearner,
    model: Model,
    observed: Observations,
    target: Column,
    sample_weight: Floats,
    hyper: Hyper,
) -> tuple[Model, pl.DataFrame]:
    """The model with phases learnt from items, for each set of its policy; and what was tried."""
    _check(learner)
    labels = np.asarray(target.values)[target.entries()[1]]
    unknown = np.flatnonzero(~np.isin(labels, model.classes))
    if len(unknown):
        raise ValueError(f"y has the class {shown(labels[unknown[0]])}, which was never learnt")
    classes = np.argmax(target.matrix().toarray(), axis=1)
    count = min(learner.folds, observed.n_items)
    fold = folds_of(classes, count, check_random_state(learner.random_state))
    corpora, tables = dict(model.corpora), [pl.DataFrame(schema=HISTORY)]
    for subset in filter(None, model.policy):
        cross = CrossFit.of(model, subset, observed, target, sample_weight, fold)
        phases, tried = _Learning(learner, cross, hyper).run()
        corpora[subset] = replace(corpora[subset], phases=phases)
        tables.append(tried)
    return replace(model, corpora=corpora), pl.concat(tables)


def _check(learner: PhaseLearner) -> None:
    """Refuse options that make no sense."""
    learner._validate_params()
    for penalty in learner.penalties:
        if not isinstance(penalty, Real) or not penalty >= 0:
            raise ValueError(f"penalties holds {penalty!r}; each is a number from 0")


class _Learning:
    """One go at the phases of one corpus."""

    def __init__(self, learner: PhaseLearner, cross: CrossFit, hyper: Hyper) -> None:
        self.learner = learner
        self.cross = cross
        self.hyper = hyper
        self.parts = cross.parts(learner.max_amplitudes)
        # On more items than fit at once, the first part chooses for all.
        self.waves = cross.waves(hyper, self.parts[0])
        self.fold = cross.fold[self.parts[0]]
        self.start = start_of(cross, learner.random_state)
        self.history: list[dict[str, Any]] = []
        self.began = time.monotonic()

    def run(self) -> tuple[Phases | None, pl.DataFrame]:
        with Progress("learning the phases", self.learner.progress) as progress:
            choice = self._chosen(progress) if self.learner.validation else self._given()
            found = self._final(choice, progress)
        _log(choice, found)
        return found, pl.DataFrame(self.history, schema=HISTORY)

    def _given(self) -> Choice:
        """What the options say, without a look at items held out."""
        penalty = next(iter(self.learner.penalties), np.inf)
        nothing = Judgement(np.nan, np.nan)
        finite = None if np.isinf(penalty) else penalty
        return Choice(finite, self.learner.max_iter, nothing, nothing)

    def _chosen(self, progress: Progress) -> Choice:
        """Penalty and steps with the lowest held-out loss that cost no accuracy."""
        folds = [k for k in range(self.learner.validation) if (self.fold == k).any()]
        watched = self.waves.without(~np.isin(self.fold, folds))
        without = self._sharpened(watched)
        count = max(int(np.count_nonzero(watched.weight)), 1)
        noise = _NOISE * np.sqrt(without.accuracy * (1 - without.accuracy) / count)
        best = Choice(None, 0, without, without)
        for number, penalty in enumerate(filter(np.isfinite, self.learner.penalties)):
            if self._late() or not watched.weight.any():
                break
            progress.update(number, len(self.learner.penalties) + 1, f"penalty {penalty:g}")
            allowed = [
                Choice(penalty, step + 1, own, without)
                for step, own in enumerate(self._curve(penalty, folds))
                if own.accuracy >= without.accuracy - noise
            ]
            found = min(allowed, key=lambda choice: choice.judgement.loss, default=best)
            if found.judgement.loss < best.judgement.loss:
                best = found
        return best

    @staticmethod
    def _sharpened(waves: Waves) -> Judgement:
        """Judgement without phases but with the best sharpness, which phases have to beat."""
        logarithms = waves.logarithms(np.zeros(waves.amplitudes.shape[1]))
        return waves.judgement(waves.softmax(logarithms, best_sharpness(waves)))

    def _curve(self, penalty: float, folds: list[int]) -> list[Judgement]:
        """Judgement of the held-out items after each step, over all validation folds."""
        curves, weights = [], []
        for fold in folds:
            held = self.fold == fold
            learning, watched = self.waves.without(held), self.waves.without(~held)
            if not learning.weight.any() or not watched.weight.any():
                continue
            curve = _Curve(watched, self._remember(penalty, fold))
            descent = Descent(learning, strength(penalty, self.cross, learning.weight))
            descent.run(self.start, self.learner.max_iter, curve)
            curves.append(curve.judgements)
            weights.append(float(watched.weight.sum()))
        longest = max(map(len, curves), default=0)
        return [_mean([_at(own, step) for own in curves], weights) for step in range(longest)]

    def _final(self, choice: Choice, progress: Progress) -> Phases | None:
        """Learn with all items what was chosen."""
        number = len(self.learner.penalties)
        if choice.penalty is None:
            sharpness = best_sharpness(self.waves)
            zero = np.zeros(self.cross.mass.nnz)
            return None if sharpness == 1.0 else Phases(zero, sharpness)
        progress.update(number, number + 1, f"penalty {choice.penalty:g}, all items")
        whole = len(self.parts) == 1
        weight = self.waves.weight if whole else self.cross.sample_weight
        descent = Descent(self.waves, strength(choice.penalty, self.cross, weight))
        if not whole:
            return Phases(*self._by_batches(descent, self._remember(choice.penalty, None)))
        few = self.waves.amplitudes.nnz <= _CHEAP
        starts = [self.start, *self._more_starts()] if few else [self.start]
        found = []
        for number, start in enumerate(starts):
            progress.update(number, len(starts), f"penalty {choice.penalty:g}, all items")
            remember = self._remember(choice.penalty, None, number)
            point = descent.run(start, choice.steps, _written(remember))
            found.append((descent.penalised(self.waves, point)[0], number, point))
        return Phases(*min(found)[2])

    def _more_starts(self) -> list[Point]:
        """Where else to start: some descents end where it is not deep."""
        generator = check_random_state(self.learner.random_state)
        seeds = generator.randint(2**31 - 1, size=_STARTS - 1)
        return [start_of(self.cross, int(seed)) for seed in seeds]

    def _by_batches(self, descent: Descent, remember: Remember) -> Point:
        """Go down by small steps (Adam), each on another batch of the items."""
        generator = check_random_state(self.learner.random_state)
        x = np.append(self.start.angles, np.log(self.start.sharpness))
        mean, square = np.zeros_like(x), np.zeros_like(x)
        for step in range(1, _STEPS + 1):
            waves = self.cross.waves(self.hyper, self.parts[generator.randint(len(self.parts))])
            point = Point(x[:-1], float(np.exp(x[-1])))
            loss, gradient, _ = descent.penalised(waves, point)
            gradient[-1] *= point.sharpness
            remember(step, loss, None)
            mean += (1 - _MEMORY[0]) * (gradient - mean)
            square += (1 - _MEMORY[1]) * (gradient**2 - square)
            unbiased = mean / (1 - _MEMORY[0] ** step), square / (1 - _MEMORY[1] ** step)
            rate = _STEP * (1 - (step - 1) / _STEPS)
            x = x - rate * unbiased[0] / (np.sqrt(unbiased[1]) + _TINY)
            x[-1] = np.clip(x[-1], -_SHARPEST, _SHARPEST)
        return Point(_wrapped(x[:-1]), float(np.exp(x[-1])))

    def _late(self) -> bool:
        limit = self.learner.time_limit
        return limit is not None and time.monotonic() - self.began >= limit

    def _remember(self, penalty: float, fold: int | None, start: int = 0) -> Remember:
        """What writes the steps of a descent into the history."""

        def remember(step: int, loss: float, held_out: Judgement | None) -> None:
            row = {"penalty": penalty, "fold": fold, "start": start, "iteration": step}
            row["loss"] = loss
            if held_out is not None:
                row |= {"held_out_loss": held_out.loss, "held_out_accuracy": held_out.accuracy}
            self.history.append(row)

        return remember


def _log(choice: Choice, found: Phases | None) -> None:
    """Say in a line what was learnt."""
    sharpness = 1.0 if found is None else found.sharpness
    if choice.penalty is None:
        log.info("phases: none are better than none; sharpness %.3g", sharpness)
        return
    if np.isnan(choice.judgement.loss):  # nothing was held out
        given = choice.penalty, choice.steps, sharpness
        log.info("phases: penalty %g, up to %d iterations, sharpness %.3g", *given)
        return
    log.info(
        "phases: penalty %g, %d iterations, sharpness %.3g; held-out log-loss %.4f (%.4f without), "
        "accuracy %.4f (%.4f without)",
        choice.penalty,
        choice.steps,
        sharpness,
        choice.judgement.loss,
        choice.without.loss,
        choice.judgement.accuracy,
        choice.without.accuracy,
    )


def _written(remember: Remember) -> Watch:
    """What writes down the steps of a descent, and no more."""

    def watch(step: int, loss: float, log_probabilities: Floats) -> None:
        remember(step, loss, None)

    return watch


class _Curve:
    """Watches a descent: judges the held-out items after each step, ends it when they get worse."""

    def __init__(self, watched: Waves, remember: Remember) -> None:
        self.watched = watched
        self.remember = remember
        self.judgements: list[Judgement] = []

    def __call__(self, step: int, loss: float, log_probabilities: Floats) -> bool:
        judgement = self.watched.judgement(log_probabilities)
        self.remember(step, loss, judgement)
        self.judgements.append(judgement)
        losses = [own.loss for own in self.judgements]
        return len(losses) > _SOON and min(losses[-_PATIENCE:]) > min(losses)


def _at(curve: list[Judgement], step: int) -> Judgement:
    """The judgement after a step; a descent that ended early stays where it ended."""
    return curve[min(step, len(curve) - 1)]


def _mean(judgements: list[Judgement], weights: list[float]) -> Judgement:
    return Judgement(*np.average(judgements, axis=0, weights=weights).tolist())


def _wrapped(angles: Floats) -> Floats:
    """The same directions as angles above -pi, up to pi."""
    return np.asarray(np.pi - (np.pi - angles) % (2 * np.pi))
