"""Settings chosen by exact leave-one-out.

On a quarter of the items, balance and entropy take the values of a fixed grid with the least loss,
then one setting after the other does. On all items the values near these are tried in three rounds.
For each value tried the sharpness, which costs little, follows in fixed steps; the floor follows at
the end of each round. No random numbers, and no minimiser whose path depends on rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core import formulas
from stc._core.cascade import Cascade
from stc._core.formulas import PAPER, Floats, Hyper
from stc._core.model import Model
from stc._core.observations import Column, Observations
from stc._training.leave_one_out import LearntItems, LeaveOneOut
from stc._training.sample import Sample, sample_of
from stc._training.state import CHOICES, LooScore

# Largest number of distinct items that choose; of documents, which have many values, fewer.
MOST_ITEMS, MOST_DOCUMENTS = 4000, 1000
# Fewest items that choose: a grid of settings would fit the noise of less.
FEWEST_ITEMS = 20

# Values to try; of the prior, in units of the mass that an item gives to one of its values.
_GRIDS: Mapping[str, Sequence[float]] = {
    "prior": (0.0, 0.1, 0.3, 1.0, 3.0, 10.0),
    "power": (0.1, 0.25, 0.5, 1.0),
    "balance": (0.0, 0.5, 0.75, 0.875, 0.9375, 1.0),
    "entropy": (0.0, 0.5, 1.0, 2.0),
}
# Balance and entropy are tried together at first, with these values of other settings.
_FIRST_POWER, _FIRST_PRIOR, _FIRST_FLOOR = 0.25, 0.3, 1e-2
_HIGHEST_FIRST_SHARPNESS = 8.0
_FLOORS = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
# A balance above 1 favours the class that an item was left out of, whatever its values are.
_RANGES = {
    "prior": (0.0, 30.0), "power": (0.05, 2.0), "balance": (0.0, 1.0), "entropy": (0.0, 4.0),
    "sharpness": (1 / 64, 256.0), "floor": (0.0, 0.2),
}  # fmt: skip
# The fixed grids are tried on a quarter of the items.
_ROUGH = 4
# Factors of the sharpness: coarse steps, and those of the refinement.
_STEPS, _FINE_STEPS = (2.0, 2**0.5), (2**0.25, 2**0.125)
# Factors by which settings are refined, and those where similar ones are known.
_REFINEMENTS, _NEAR = (2.0, 1.5, 1.2), (2.0, 1.2)
# Differences of losses that are rounding errors.
_TIE = 1e-9
# Largest number of cells (features x classes) of a model whose prior is chosen.
_MOST_CELLS = 1 << 24
_TINY = np.finfo(np.float64).tiny


class Scoring(NamedTuple):
    """The loss of settings: so much log-loss, less so much accuracy.

    Attributes
    ----------
    log_loss, accuracy
        Their shares.
    balanced
        Whether classes count alike, whatever their mass.
    """

    log_loss: float
    accuracy: float
    balanced: bool = False


# The values of the parameter `scoring`. The accuracy alone is the same for many settings.
SCORINGS: Mapping[str | None, Scoring] = {
    None: Scoring(1.0, 0.3),
    "neg_log_loss": Scoring(1.0, 0.0),
    "accuracy": Scoring(1e-3, 1.0),
    "balanced_accuracy": Scoring(1e-3, 1.0, balanced=True),
}


class Goal(NamedTuple):
    """What is chosen.

    Attributes
    ----------
    free
        The names of the settings that are chosen.
    scoring
        The parameter of that name, a key of `SCORINGS`.
    """

    free: Collection[str] = ()
    scoring: str | None = None


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    hyper
        The settings.
    loss
        Their loss.
    table
        What was tried: the settings and their loss, one row each.
    judge
        The items that chose.
    """

    hyper: Hyper
    loss: float
    table: pl.DataFrame
    judge: Judge

    def is_of(self, model: Model) -> bool:
        """Return whether the settings were chosen for a model of these counts."""
        ours = self.judge.left_out.cascade.model
        same = len(ours.classes) == len(model.classes) and ours.interactions == model.interactions
        return same and np.allclose(ours.class_mass, model.class_mass, rtol=1e-12, atol=0)

    @property
    def score(self) -> LooScore:
        """The figures of leave-one-out for the settings."""
        return self.judge.score(self.hyper)

    @property
    def losses(self) -> Floats:
        """The loss of each item."""
        Q = self.judge.shares(self.judge.scored(self.hyper), self.hyper.sharpness)
        return self.judge.losses(Q, self.hyper.floor)


def most_items(observed: Observations) -> int:
    """Return the largest number of distinct items that choose settings."""
    return MOST_DOCUMENTS if observed.kind == "documents" else MOST_ITEMS


def choose_settings(
    cascade: Cascade,
    observed: Observations,
    target: Column,
    sample_weight: Floats,
    goal: Goal,
    *,
    near: Choice | None = None,
    sample: Sample | None = None,
    groups: NDArray[Any] | None = None,
) -> Choice | None:
    """Choose settings of a model by items that it has learnt; None if these are too few.

    Parameters
    ----------
    cascade
        The model, with the values to start from, and of the settings that are not free.
    observed, target, sample_weight
        The items.
    goal
        The settings to choose.
    near
        What was chosen for a similar model: values near it are tried only.
    sample
        Those of the items that choose, if they are known.
    groups
        The group of each item; these are left out together. None: each is left out alone.
    """
    if sample_weight.sum() < FEWEST_ITEMS:
        return None
    learnt = LearntItems.of(cascade.model, observed, target, sample_weight)
    if sample is None:
        data = observed, target, learnt.truth, learnt.sample_weight
        sample = sample_of(*data, most_items(observed), cascade.model.class_mass, groups)
    drawn = learnt.sampled(sample.items, sample.weight, sample.group)
    judge = Judge(cascade, drawn, sample, goal.scoring)
    if near is None:
        return choose_anew(judge, cascade.hyper, goal)
    start = near.hyper
    if "prior" in goal.free:
        start = start._replace(prior=start.prior * judge.unit / near.judge.unit)
    search = _Search(judge, _free(judge, goal))
    loss, hyper = search.refined(start, _NEAR)
    return Choice(hyper, loss, search.table(), judge)


def choose_anew(judge: Judge, given: Hyper, goal: Goal) -> Choice:
    """Return the settings that are best for some items, whatever was chosen for others.

    `given` has the values of the settings that are not free.
    """
    search = _Search(judge, _free(judge, goal))
    rough = _Search(judge.rough(), search.free)
    loss, hyper = search.refined(rough.start(given), _REFINEMENTS)
    if goal.scoring is not None:
        # A score of few distinct values has many local maxima: the usual choice is a start too.
        usual = choose_anew(judge.scoring(None), given, Goal(goal.free))
        found = search.refined(usual.hyper, _REFINEMENTS)
        loss, hyper = min((loss, hyper), found, key=_loss)
    return Choice(hyper, loss, search.table(), judge)


def _free(judge: Judge, goal: Goal) -> tuple[str, ...]:
    """Return the settings to choose; the prior would take too long for a large model."""
    model = judge.left_out.cascade.model
    cells = max(corpus.mass.shape[0] for corpus in model.corpora.values()) * len(model.classes)
    large = cells > _MOST_CELLS
    names = (name for name in Hyper._fields if name in goal.free)
    return tuple(name for name in names if not (large and name == "prior"))


class Scored(NamedTuple):
    """Scores of items, classes x items: few classes are summed fastest along the first axis.

    Attributes
    ----------
    logarithms
        `ln U_i^(1/p)` less the highest of the item.
    degenerate
        The items whose scores are all 0.
    """

    logarithms: Floats
    degenerate: NDArray[np.intp]

    @classmethod
    def of(cls, log_U: Floats, power: Floats | float) -> Scored:
        """Return scores, given `ln U_i` as classes x items; they may be changed."""
        log_U /= power
        highest = log_U.max(axis=0)
        degenerate = np.flatnonzero(np.isneginf(highest))
        highest[degenerate] = 0.0
        log_U -= highest
        return cls(log_U, degenerate)


class Judge:
    """The loss of settings by leave-one-out over the items of a sample.

    The loss is the mean log-loss, less a share of the accuracy; see `Scoring`. The log-loss has one
    further item of an unknown class: its class has the frequencies of the classes, and its
    probabilities are the mean over the items. Without it a model could be sure of what it has seen
    only few items of.

    Attributes
    ----------
    left_out, sample
        The items, and what is left of the model without each.
    classes
        The class of each item; of several, the one with the largest share.
    truth, floor
        The target and the smoothed class frequencies of each item, classes x items.
    unit
        The mass that an item gives to one of its values, on average.
    share
        The weight of each item in the loss.
    """

    def __init__(
        self, cascade: Cascade, learnt: LearntItems, sample: Sample, scoring: str | None
    ) -> None:
        self.left_out = LeaveOneOut(cascade, learnt)
        self.sample = sample
        self.classes = np.argmax(learnt.truth, axis=1)
        self.truth = np.ascontiguousarray(learnt.truth.T)
        self._is_class = np.arange(len(self.truth))[:, None] == self.classes
        floor = self.left_out.floor(1.0)
        assert floor is not None
        self.floor = np.ascontiguousarray(floor.T)
        mass = cascade.model.class_mass
        self.mass = np.where(mass > 0, mass, 1.0)
        self._name, self._scoring = scoring, SCORINGS[scoring]
        counting = np.full(len(mass), mass.mean()) if self._scoring.balanced else mass
        self.share = replace(sample, mass=counting).share
        doubt = formulas.floor_of(counting, 1.0) / max(mass.sum(), 1.0)
        self._weights = self.truth + np.asarray(doubt)[:, None]
        sizes = [part.sizes for part in self.left_out.remaining[:1]]
        self.unit = 1 / max(1.0, *(float(sample.share @ size) for size in sizes))

    def scoring(self, scoring: str | None) -> Judge:
        """Return the judge of another score."""
        return Judge(self.left_out.cascade, self.left_out.learnt, self.sample, scoring)

    def rough(self) -> Judge:
        """Return the judge of a quarter of the most items."""
        learnt = self.left_out.learnt
        few = self.sample.first(most_items(learnt.observed) // _ROUGH)
        if few is self.sample:
            return self
        learnt = learnt.select(np.searchsorted(self.sample.items, few.items))
        return Judge(self.left_out.cascade, learnt, few, self._name)

    def scored(self, hyper: Hyper) -> Scored:
        """Return the scores of all items."""
        cascade = self.left_out.cascade
        log_U, used = self.left_out.log_scores(hyper)
        sharpness = np.array([cascade.learnt_sharpness(subset) for subset in cascade.policy])
        return Scored.of(np.ascontiguousarray(log_U.T), (hyper.power / sharpness)[used])

    def shares(self, scored: Scored, sharpness: float) -> Floats:
        """Return `Q_i` of all items, classes x items."""
        Q: Floats = np.exp(sharpness * scored.logarithms)
        if len(scored.degenerate):
            Q[:, scored.degenerate] = self.left_out.frequencies[scored.degenerate].T
        Q /= Q.sum(axis=0)
        return Q

    def probabilities(self, Q: Floats, floor: float) -> Floats:
        """Return `X_i` of all items, at least the smallest number."""
        X = (1 - floor) * Q + floor * self.floor if floor else Q
        return np.maximum(X, _TINY)

    def losses(self, Q: Floats, floor: float) -> Floats:
        """Return the loss of each item."""
        X = self.probabilities(Q, floor)
        log_loss = np.einsum("ij,ij->j", self._weights, np.log(X))
        right = self._right(X)
        return np.asarray(-self._scoring.log_loss * log_loss - self._scoring.accuracy * right)

    def _right(self, X: Floats) -> NDArray[np.bool_]:
        """Return whether the first of the most probable classes of each item is its class.

        With few classes this is faster than `np.argmax` along the first axis.
        """
        right: NDArray[np.bool_] = self._is_class[0]
        highest = X[0]
        for of_class, is_class in zip(X[1:], self._is_class[1:], strict=True):
            right = np.where(of_class > highest, is_class, right)
            highest = np.maximum(of_class, highest)
        return right

    def score(self, hyper: Hyper) -> LooScore:
        """Return the figures of a setting."""
        share = self.sample.share
        X = self.probabilities(self.shares(self.scored(hyper), hyper.sharpness), hyper.floor)
        log_loss = -np.einsum("ij,ij->j", self.truth, np.log(X))
        mass = self.left_out.cascade.model.class_mass
        return LooScore(
            accuracy=float(share @ self._right(X)),
            log_loss=float(share @ log_loss),
            items=len(share),
            baseline=float(mass.max() / mass.sum()),
            repeated=self.sample.repeated,
        )


@dataclass
class _Search:
    """The search for the settings with the least loss."""

    judge: Judge
    free: tuple[str, ...]
    _tried: list[tuple[float, ...]] = field(default_factory=list)
    _best: tuple[float, Hyper] = (np.inf, PAPER)

    def start(self, given: Hyper) -> Hyper:
        """Return the best of fixed grids: balance and entropy together, then each setting.

        Balance and entropy depend on each other: one after the other may end in a poor minimum.
        """
        first = {
            "power": _FIRST_POWER,
            "prior": _FIRST_PRIOR * self.judge.unit,
            "floor": _FIRST_FLOOR,
        }
        given = given._replace(**{name: first[name] for name in first if name in self.free})
        names = [name for name in ("balance", "entropy") if name in self.free]
        tried = []
        for values in product(*(_GRIDS[name] for name in names)):
            setting = given._replace(**dict(zip(names, values, strict=True)))
            if "sharpness" in self.free:
                setting = setting._replace(sharpness=_fair_sharpness(setting.balance))
            tried.append(self._tuned(setting, _STEPS[:1], ()))
        self._best = self._tuned(_nearest(tried, *names)[1], _STEPS, _FLOORS)
        self._sweep(lambda name, _: _GRIDS[name], _STEPS, _FLOORS)
        return self._best[1]

    def refined(self, start: Hyper, factors: Sequence[float]) -> tuple[float, Hyper]:
        """Return the least loss near a setting; settings that are not free stay as they are."""
        self._best = self._tuned(start, _STEPS, _FLOORS)
        for factor in factors:
            self._refine(factor)
        return self._best

    def _refine(self, factor: float) -> None:
        """Try values near that of each setting."""
        steps = _STEPS if factor >= max(_STEPS) else _STEPS[1:]
        self._sweep(lambda name, value: _near(name, value, factor), steps, ())
        floor = self._best[1].floor
        near = (floor / factor, floor * factor)
        tuned = self._tuned(self._best[1], _FINE_STEPS, (*_FLOORS, *near))
        self._best = tuned if tuned[0] < self._best[0] - _TIE else self._best

    def _sweep(
        self,
        values: Callable[[str, float], Sequence[float]],
        steps: Sequence[float],
        floors: Sequence[float],
    ) -> None:
        """Try other values of each setting in turn, given its name and its value now."""
        for name in filter(self.free.__contains__, _GRIDS):
            unit = self.judge.unit if name == "prior" else 1.0
            low, high = _RANGES[name]
            now = getattr(self._best[1], name) / unit
            tried = [self._best]
            for value in values(name, now):
                if value != now and low <= value <= high:
                    setting = self._best[1]._replace(**{name: value * unit})
                    if name == "balance" and "sharpness" in self.free:
                        ratio = _fair_sharpness(value) / _fair_sharpness(now)
                        sharpness = np.clip(setting.sharpness * ratio, *_RANGES["sharpness"])
                        setting = setting._replace(sharpness=float(sharpness))
                    tried.append(self._tuned(setting, steps, floors))
            self._best = _nearest(tried, name)

    def _tuned(
        self, hyper: Hyper, steps: Sequence[float], floors: Sequence[float]
    ) -> tuple[float, Hyper]:
        """Return the loss of a setting with its best sharpness and floor, and both of these."""
        scored, judge = self.judge.scored(hyper), self.judge
        shares: dict[float, Floats] = {}  # of the last sharpness, for several floors

        def tried(**changed: float) -> tuple[float, Hyper]:
            setting = hyper._replace(**changed)
            if setting.sharpness not in shares:
                shares.clear()
                shares[setting.sharpness] = judge.shares(scored, setting.sharpness)
            losses = judge.losses(shares[setting.sharpness], setting.floor)
            loss = float(judge.share @ losses)
            self._tried.append((*setting, loss))
            return loss, setting

        best = tried()
        if "sharpness" in self.free:
            for step in steps:
                best = self._climbed(best, step, tried)
        if "floor" in self.free:
            sharpness, (low, high) = best[1].sharpness, _RANGES["floor"]
            others = {floor for floor in floors if low <= floor <= high} - {best[1].floor}
            candidates = [tried(sharpness=sharpness, floor=floor) for floor in sorted(others)]
            best = _nearest([best, *candidates], "floor")
        return best

    def _climbed(
        self,
        best: tuple[float, Hyper],
        step: float,
        tried: Callable[..., tuple[float, Hyper]],
    ) -> tuple[float, Hyper]:
        """Multiply the sharpness by a step, or divide it, as long as the loss falls."""
        low, high = _RANGES["sharpness"]
        for factor in (step, 1 / step):
            start = best
            while low <= (sharpness := best[1].sharpness * factor) <= high:
                other = tried(sharpness=sharpness, floor=best[1].floor)
                if other[0] >= best[0] - _TIE:
                    break
                best = other
            if best is not start:
                break
        return best

    def table(self) -> pl.DataFrame:
        """Return what was tried, the settings that were chosen first, then by their loss."""
        loss, hyper = self._best
        rows = dict.fromkeys([(*hyper, loss), *self._tried])
        by_loss = sorted(rows, key=lambda row: max(np.floor((row[-1] - loss) / _TIE), 0))
        return pl.DataFrame(by_loss, schema=CHOICES, orient="row")


def _near(name: str, value: float, factor: float) -> tuple[float, ...]:
    """Return values of a setting that are near its value now."""
    if name == "balance":
        return (1 - (1 - value) * factor, 1 - (1 - value) / factor) if value < 1 else (0.97,)
    if name == "entropy" and value == 0:
        return (0.25,)
    return (value / factor, value * factor)


def _fair_sharpness(balance: float) -> float:
    """Return the sharpness with which a balance leaves each class its frequency in the answers.

    A class of mass `m_i` has a factor `m_i^((1 - b) p)` in its score, so `m_i^((1 - b) s)` in its
    probability: s is `1 / (1 - b)`, up to a limit.
    """
    return 1 / max(1 - balance, 1 / _HIGHEST_FIRST_SHARPNESS)


def _loss(tried: tuple[float, Hyper]) -> float:
    return tried[0]


def _nearest(tried: Sequence[tuple[float, Hyper]], *names: str) -> tuple[float, Hyper]:
    """Return the least loss; of losses that are equal, the values nearest those of the paper."""
    least = min(map(_loss, tried))
    equal = [each for each in tried if each[0] <= least + _TIE]
    return min(equal, key=lambda e: [abs(getattr(e[1], n) - getattr(PAPER, n)) for n in names])
