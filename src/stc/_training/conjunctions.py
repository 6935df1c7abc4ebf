"""Conjunctions and n-grams chosen by exact leave-one-out.

Conjunctions of attributes enter one at a time. The best of many candidates looks better than it
is, so it is picked on one half of the items and has to confirm its gain on the other half; the
halves take turns. Those that the loss does not need leave again. All pairs, and all triples, are
rivals as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from stc._core.cascade import Cascade
from stc._core.formulas import Floats, Hyper
from stc._core.interactions import Interactions
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.target import TargetForm
from stc._training.choice import (
    MOST_ITEMS,
    Choice,
    Goal,
    Judge,
    Scored,
    choose_anew,
    choose_settings,
)
from stc._training.conjunction_scores import Candidates, Names
from stc._training.drawing import Items

# Most items that candidates are counted over, and fewest items by which single ones may enter.
MOST_ROWS, _FEWEST_TO_ENTER = 50_000, 200
# Largest numbers of candidates, of triples offered at once, and of conjunctions of a whole order
# with their features.
_MOST_CANDIDATES, _MOST_TRIPLES = 2000, 100
_MOST_WHOLE, _MOST_FEATURES = 400, 100_000
# Rounds of entering conjunctions; failures that end a round; the candidates whose loss is computed
# at first; those tried in each step, by their last loss and by the slope of the loss.
_ROUNDS, _FAILURES, _SCANNED, _TRIED, _TUNED = 4, 8, 60, 4, 2
# Factors of the sharpness tried with each candidate, and the least gain that counts.
_SHARPER, _LEAST_GAIN = (0.7, 0.84, 1.0, 1.19, 1.41), 2e-3
# Factors tried with a whole order; what else settings may spare, in units of 1 / sqrt(items).
_WIDE, _MARGIN = (0.35, 0.5, 0.7, 1.0, 1.41, 2.0), 2.0
# The loss that a conjunction must spare to stay.
_DISPENSABLE = 5e-4
# The least floor while conjunctions enter: without it few items with a tiny probability decide.
_LEAST_FLOOR = 1e-2
# Largest number of contributions: candidates x classes x items.
# Keys of records that few items have are candidates if all columns have so few cells.
_MOST_CELLS = 1 << 23
_MOST_CONTRIBUTIONS = 1 << 26


def choose_ngrams(items: Items, form: TargetForm, hyper: Hyper, goal: Goal) -> Tried | None:
    """Return the length of n-grams that pays, 1 or 2; None for too few items."""
    words = items._replace(observed=without_ngrams(items.observed))
    plain = _tried(words, form, Interactions(), hyper, goal)
    if plain is None:
        return None
    pairs = _tried(items, form, Interactions(ngrams=2), plain.choice, goal)
    return pairs if pairs is not None and pairs.choice.loss < plain.choice.loss else plain


def without_ngrams(observed: Observations) -> Observations:
    """Return documents with their words only."""
    return replace(observed, columns=tuple(c for c in observed.columns if not c.conjunction))


def choose_conjunctions(items: Items, form: TargetForm, hyper: Hyper, goal: Goal) -> Tried | None:
    """Return the conjunctions of attributes that pay; None for too few items or attributes.

    Parameters
    ----------
    items
        Items of a table, at most `MOST_ROWS`.
    form
        The form of the target.
    hyper, goal
        The settings to start from, and those to choose.
    """
    observed = items.observed
    if observed.n_items * len(observed.columns) <= _MOST_CELLS:
        items = items._replace(observed=observed.dense())
    usable = _usable(items)
    # One more than are ever tried stand for all of them, of which there may be billions.
    pairs: list[Names] = list(islice(combinations(usable, 2), _MOST_CANDIDATES + 1))
    triples: list[Names] = list(islice(combinations(usable, 3), _MOST_WHOLE + 1))
    best = _tried(items, form, Interactions(), hyper, goal) if pairs else None
    if best is None:
        return None
    judge = best.choice.judge
    candidates = Candidates.of(items, judge)
    enough = judge.sample.weight.sum() >= _FEWEST_TO_ENTER
    size = len(pairs) * judge.truth.size
    if enough and len(pairs) <= _MOST_CANDIDATES and size <= _MOST_CONTRIBUTIONS:
        best = _entered(best, candidates, form, pairs, triples, goal)
        if best.interactions.enabled:
            # Settings near those without conjunctions need not be the best ones with them.
            anew = choose_anew(best.choice.judge, hyper, goal)
            best = replace(best, choice=anew) if anew.loss < best.choice.loss else best
    for whole in (pairs, pairs + triples):
        small = 0 < len(whole) <= _MOST_WHOLE and _size(items.observed, whole) <= _MOST_FEATURES
        if small and _may_pay(candidates, best.choice, whole):
            rival = _tried(items, form, Interactions.of(whole), hyper, goal)
            best = rival if rival is not None and _pays(best.choice, rival.choice) else best
    return best


@dataclass(frozen=True)
class Tried:
    """Conjunctions, and the settings chosen with them."""

    interactions: Interactions
    choice: Choice


def _tried(
    items: Items,
    form: TargetForm,
    interactions: Interactions,
    start: Hyper | Choice,
    goal: Goal,
) -> Tried | None:
    """Count the items with these conjunctions, and choose the settings.

    A choice to start from is refined only, by the items that it was made by.
    """
    model = replace(Model.blank(items.observed, form=form), interactions=interactions)
    model = model.with_items(*items[:3])
    near = start if isinstance(start, Choice) else None
    hyper = start.hyper if isinstance(start, Choice) else start
    cascade = Cascade(model, model.policy, hyper, np.iinfo(np.int64).max)
    sample = near.judge.sample if near and items.groups is None else None
    choice = choose_settings(
        cascade, *items[:3], goal, near=near, sample=sample, groups=items.groups
    )
    return None if choice is None else Tried(interactions, choice)


def _pays(before: Choice, after: Choice) -> bool:
    """Return whether the mean loss falls by enough standard errors."""
    judge = before.judge
    mean, error = _gain(before.losses, after.losses, judge.share, judge.left_out.learnt.group)
    return mean > max(_errors(judge) * error, _LEAST_GAIN)


def _errors(judge: Judge) -> float:
    """Return how many standard errors a gain must have: more where few items or groups choose."""
    count = int(judge.left_out.learnt.group.max()) + 1
    return 0.5 + 10 / float(np.sqrt(min(count, MOST_ITEMS)))


def _gain(
    before: Floats, after: Floats, shares: Floats, group: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the mean of paired differences, and its standard error if groups differ by chance."""
    differences, shares = before - after, shares / shares.sum()
    mean = float(shares @ differences)
    return mean, float(np.linalg.norm(np.bincount(group, shares * (differences - mean))))


def _usable(items: Items) -> list[str]:
    """Return the attributes with one value per item, that repeat."""
    most = items.sample_weight.sum() / 10
    return sorted(
        str(column.attribute)
        for column in items.observed.columns
        if column.offsets is None and 1 < column.n_values <= most
    )


def _size(observed: Observations, tuples: Iterable[Names]) -> int:
    """Return an upper bound of the number of conjunctions of these attributes."""
    sizes = {str(column.attribute): column.n_values for column in observed.columns}
    return sum(
        min(int(np.prod([sizes[name] for name in names], dtype=float)), observed.n_items)
        for names in tuples
    )


def _may_pay(candidates: Candidates, before: Choice, whole: Sequence[Names]) -> bool:
    """Return whether a whole order may pay, judged with settings chosen for other conjunctions."""
    judge, hyper = candidates.judge, _comparable(before)
    U = candidates.scores([*candidates.singles, *whole], hyper)
    margin = _MARGIN / len(judge.share) ** 0.5
    tried = (_losses(judge, U, hyper, hyper.sharpness * factor) for factor in _WIDE)
    return any(float(judge.share @ losses) < before.loss + margin for losses in tried)


def _comparable(choice: Choice) -> Hyper:
    """Return chosen settings with which further conjunctions are judged: a prior in units."""
    hyper = choice.hyper
    floor = max(hyper.floor, _LEAST_FLOOR)
    return hyper._replace(prior=hyper.prior / choice.judge.unit, floor=floor)


def _entered(
    best: Tried,
    candidates: Candidates,
    form: TargetForm,
    pairs: list[Names],
    triples: list[Names],
    goal: Goal,
) -> Tried:
    """Return the model with the conjunctions that enter one at a time."""
    few = len(triples) <= _MOST_TRIPLES
    offered, inside = [*pairs, *(triples if few else [])], list[Names]()
    for _ in range(_ROUNDS):
        judge, hyper = best.choice.judge, _comparable(best.choice)
        U = candidates.scores(candidates.singles, hyper)
        kept = _needed(candidates, hyper, U, inside)
        U += candidates.scores(kept, hyper)
        offered = [names for names in offered if names not in kept]
        T = candidates.contributions(offered, hyper)
        entered, tested = _paying(judge, hyper, U, T)
        new = [offered[number] for number in entered]
        more = [*kept, *new]
        if set(more) == set(inside):
            break
        rival = _tried(candidates.items, form, Interactions.of(more), best.choice, goal)
        if rival is None or rival.choice.loss > best.choice.loss + (0 if new else _LEAST_GAIN):
            break
        best, inside = rival, more
        offered = [offered[number] for number in tested]
        if not few:
            offered += _wider(new, pairs, {*offered, *inside})
    return best


def _needed(
    candidates: Candidates, hyper: Hyper, U: Floats, inside: Sequence[Names]
) -> list[Names]:
    """Return the conjunctions without those that the loss does not need.

    One of three attributes may become one of two.
    """
    judge, left = candidates.judge, list(inside)

    def loss(tuples: Sequence[Names]) -> float:
        scores = U + candidates.scores(tuples, hyper)
        tried = (_losses(judge, scores, hyper, hyper.sharpness * factor) for factor in _SHARPER)
        return min(float(judge.share @ losses) for losses in tried)

    now = loss(left)
    while left:
        simpler = []
        for place, names in enumerate(left):
            rest = [*left[:place], *left[place + 1 :]]
            simpler.append(rest)
            if len(names) > 2:
                narrow = (pair for pair in combinations(names, 2) if pair not in rest)
                simpler += [[*rest, pair] for pair in narrow]
        losses = [loss(tuples) for tuples in simpler]
        if min(losses) > now + _DISPENSABLE:
            break
        now, left = min(now, *losses), simpler[int(np.argmin(losses))]
    return left


def _wider(new: list[Names], pairs: list[Names], known: set[Names]) -> list[Names]:
    """Return triples of a chosen pair and one more attribute."""
    usable = sorted({name for pair in pairs for name in pair})
    wider: set[Names] = {
        tuple(sorted({*names, name})) for names in new if len(names) == 2 for name in usable
    }
    return list(filter(lambda names: len(names) == 3, sorted(wider - known)))[:_MOST_WHOLE]


def _shares(judge: Judge, U: Floats, hyper: Hyper, sharpness: float) -> Floats:
    """Return `Q_i` of all items, given their scores."""
    with np.errstate(divide="ignore"):
        log_U = np.log(U)
    if sharpness != hyper.sharpness:
        # The class frequencies stay as they are in the answer: s (1 - b) is constant.
        tilt = (hyper.sharpness / sharpness - 1) * (1 - hyper.balance) * hyper.power
        log_U += tilt * np.log(judge.mass)[:, None]
    return judge.shares(Scored.of(log_U, hyper.power), sharpness)


def _losses(judge: Judge, U: Floats, hyper: Hyper, sharpness: float) -> Floats:
    """Return the loss of each item, given its scores."""
    return judge.losses(_shares(judge, U, hyper, sharpness), hyper.floor)


def _slopes(judge: Judge, U: Floats, hyper: Hyper, sharpness: float) -> Floats:
    """Return the derivatives of the log-loss of each item by its scores, up to a factor."""
    Q = _shares(judge, U, hyper, sharpness)
    right = (Q * judge.truth).sum(axis=0) * (1 - hyper.floor)
    least = hyper.floor * (judge.floor * judge.truth).sum(axis=0)
    slopes = (Q - judge.truth) * (right / np.maximum(right + least, np.finfo(np.float64).tiny))
    return np.asarray(np.divide(slopes, U, out=np.zeros(U.shape), where=U > 0))


def _first(values: Floats, most: int) -> list[int]:
    """Return the places of the smallest finite numbers."""
    order = np.argsort(values, kind="stable")[:most]
    return [int(place) for place in order if np.isfinite(values[place])]


@dataclass(eq=False)
class _Scores:
    """The scores of the items, and what is known of candidates until one of them enters.

    Attributes
    ----------
    judge, hyper
        The items and the settings.
    T
        What each candidate would add, candidates x classes x items.
    U, sharpness
        The scores, and the sharpness that goes with them.
    """

    judge: Judge
    hyper: Hyper
    T: NDArray[np.float32]
    U: Floats
    sharpness: float
    _losses: dict[tuple[int, float], Floats] = field(default_factory=dict)
    _slopes: dict[int, Floats] = field(default_factory=dict)

    @cached_property
    def losses(self) -> Floats:
        """The loss of each item."""
        return _losses(self.judge, self.U, self.hyper, self.sharpness)

    def losses_with(self, number: int, factor: float = 1.0) -> Floats:
        """Return the loss of each item with a candidate and another sharpness."""
        key = number, factor
        if key not in self._losses:
            U, sharpness = self.U + self.T[number], self.sharpness * factor
            self._losses[key] = _losses(self.judge, U, self.hyper, sharpness)
        return self._losses[key]

    def slopes(self, side: int, shares: Floats) -> Floats:
        """Return how the loss of one half of the items changes with each candidate."""
        if side not in self._slopes:
            slopes = _slopes(self.judge, self.U, self.hyper, self.sharpness) * shares
            flat = self.T.reshape(len(self.T), self.U.size)
            # Not by BLAS, whose threads would go on spinning on the other cores.
            self._slopes[side] = np.einsum("ij,j->i", flat, slopes.ravel().astype(np.float32))
        return self._slopes[side]

    def with_entered(self, number: int, factor: float) -> _Scores:
        """Return the scores with a candidate."""
        U, sharpness = self.U + self.T[number], self.sharpness * factor
        return _Scores(self.judge, self.hyper, self.T, U, sharpness)


def _paying(
    judge: Judge, hyper: Hyper, U: Floats, T: NDArray[np.float32]
) -> tuple[list[int], list[int]]:
    """Return the numbers of the candidates that enter, and of others that were tried.

    Promising ones are tried on one half of the items; the best of these has to gain so many
    standard errors on the other half.
    """
    scores, errors, half = (
        _Scores(judge, hyper, T, U, hyper.sharpness),
        _errors(judge),
        judge.sample.half,
    )
    free, failed, side = np.ones(len(T), dtype=bool), 0, 0
    last = np.full(len(T), np.inf)  # the last loss of each candidate
    entered, tested = list[int](), set[int]()
    while failed < _FAILURES and free.any():
        picking = half == side
        shares = judge.share * picking
        slopes = np.where(free, scores.slopes(side, shares), np.inf)
        side = 1 - side
        if not np.isfinite(last).any():
            for number in _first(slopes, _SCANNED):
                last[number] = shares @ scores.losses_with(number)
            tested.update(np.flatnonzero(np.isfinite(last)).tolist())
        for number in dict.fromkeys([*_first(last, _TRIED), *_first(slopes, _TRIED)]):
            tested.add(number)
            last[number] = shares @ scores.losses_with(number)
        _, number, factor = min(
            (shares @ scores.losses_with(number, factor), number, factor)
            for number in _first(last, _TUNED)
            for factor in _SHARPER
        )
        free[number], last[number] = False, np.inf
        if _confirmed(judge, scores.losses, scores.losses_with(number, factor), picking, errors):
            scores, failed = scores.with_entered(number, factor), 0
            entered.append(number)
        else:
            failed += 1
    return entered, sorted(tested - set(entered))


def _confirmed(
    judge: Judge, before: Floats, after: Floats, picking: NDArray[np.bool_], errors: float
) -> bool:
    """Return whether losses fall on one half of the items, and by enough on the other half."""
    (picked, _), (mean, error) = (
        _gain(before[part], after[part], judge.share[part], judge.left_out.learnt.group[part])
        for part in (picking, ~picking)
    )
    return picked > 0 and mean > max(errors * error, _LEAST_GAIN)
