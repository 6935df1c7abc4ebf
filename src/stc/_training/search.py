"""Judging settings on items left out: a split is laid out once, every setting judged on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse
from scipy.special import log_softmax
from scipy.stats import rankdata
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from stc._core.cascade import Hyper
from stc._core.formulas import Floats
from stc._core.matrix import Layout
from stc._training.crossfit import CrossFit, folds_of
from stc._training.folds import Split
from stc._training.phases import Descent, start_of, strength
from stc._utils.progress import Progress

# Folds within what is learnt from, whose weights leave them out.
_INNER_FOLDS = 10
# The default score: accuracy less this share of the log-loss, for which no probability is below ...
_LOSS_SHARE, _LEAST = 0.2, 1e-4


class Candidate(NamedTuple):
    """One setting: how many values are conjoined, the hyper-parameters, and the penalty.

    The penalty is None for the plain model, infinite where only the sharpness is learnt.
    """

    order: int
    hyper: Hyper
    penalty: float | None


@dataclass
class Trial:
    """A candidate after so many iterations, and its score on each split."""

    candidate: Candidate
    steps: int
    scores: list[float]
    stage: int

    @property
    def mean(self) -> float:
        """Mean of the scores."""
        return float(np.mean(self.scores))


@dataclass(frozen=True)
class Problem:
    """What is to be learnt: items as matrices, one for each order of interactions, and classes."""

    layouts: Mapping[int, Layout]
    truth: Floats
    sample_weight: Floats
    min_support: int
    max_features: Mapping[int, int | None]
    documents: bool = False
    missing: str = "ignore"

    def crossed(self, order: int, split: Split, inner_folds: int, seed: int) -> CrossFit:
        """Both parts of a split laid out, with the features that the learning part chooses."""
        layout = self.layouts[order]
        items = np.concatenate([split.learning, split.judged])
        learning = np.arange(len(items)) < len(split.learning)
        truth, weight = self.truth[items], self.sample_weight[items]
        matrix = layout.matrix[items]
        if order > 1:
            chosen = split.learning, self.truth, self.sample_weight
            keep = layout.strongest(*chosen, self.min_support, self.max_features[order])
            matrix = sparse.csr_array(matrix[:, np.flatnonzero(keep)])
        classes = np.argmax(truth[learning], axis=1)
        fold = np.zeros(len(items), dtype=np.int64)
        count = min(inner_folds, len(classes))
        fold[learning] = folds_of(classes, count, check_random_state(seed))
        return CrossFit.among(matrix, truth, weight, learning, fold)


Score = Callable[[NDArray[Any], Floats], float]


@dataclass
class Search:
    """Judges candidates on splits."""

    problem: Problem
    score: Score
    seed: int
    n_jobs: int | None
    progress: bool | None
    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The highest mean score so far."""
        return max((trial.mean for trial in self.trials), default=-np.inf)

    def plain(self, candidates: Sequence[Candidate], splits: Sequence[Split]) -> None:
        """Try settings without phases: all at once on each fold's corpus."""
        for order in {candidate.order: None for candidate in candidates}:
            own = [candidate for candidate in candidates if candidate.order == order]
            tasks = [delayed(self._plain_split)(order, own, split) for split in splits]
            found: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks)
            for place, candidate in enumerate(own):
                each = [by_candidate[place] for by_candidate, _ in found]
                if candidate.penalty is not None:
                    each = self._sharpened(each, splits, [known for _, known in found])
                scores = [self.score(s.judged, P) for s, P in zip(splits, each, strict=True)]
                self.trials.append(Trial(candidate, 0, scores, stage=2))

    def _plain_split(
        self, order: int, candidates: Sequence[Candidate], split: Split
    ) -> tuple[list[Floats], NDArray[np.bool_]]:
        """Probabilities for each candidate, and of which items anything is known."""
        cross = self.problem.crossed(order, split, 1, self.seed)
        hypers = list(dict.fromkeys(candidate.hyper for candidate in candidates))
        found = dict(zip(hypers, cross.judged(hypers), strict=True))
        known = cross.sizes[len(split.learning) :] > 0
        return [found[candidate.hyper] for candidate in candidates], known

    def _sharpened(
        self, found: list[Floats], splits: Sequence[Split], known: list[NDArray[np.bool_]]
    ) -> list[Floats]:
        """What learning the sharpness gives; the frequencies of the classes stay what they are."""
        items = np.concatenate([s.judged[own] for s, own in zip(splits, known, strict=True)])
        if not len(items):
            return found
        P = np.concatenate([own[there] for own, there in zip(found, known, strict=True)])
        sharp = _sharpest(P, self.problem.truth[items], self.problem.sample_weight[items])
        bounds = np.cumsum([there.sum() for there in known])[:-1]
        changed = [own.copy() for own in found]
        for own, there, part in zip(changed, known, np.split(sharp, bounds), strict=True):
            own[there] = part
        return changed

    def phases(
        self,
        candidates: Sequence[Candidate],
        splits: Sequence[Split],
        checkpoints: Sequence[int],
        stage: int,
    ) -> list[Trial]:
        """Learn phases for each candidate on each split, looked at after some iterations."""
        groups: dict[tuple[int, Hyper], list[Any]] = {}
        for candidate in candidates:
            own = groups.setdefault((candidate.order, candidate.hyper), [])
            if candidate.penalty not in own:
                own.append(candidate.penalty)
        jobs = [(key, place) for key in groups for place in range(len(splits))]
        tasks = [
            delayed(self._descended)(*key, groups[key], splits[place], checkpoints)
            for key, place in jobs
        ]
        scores: dict[tuple[Candidate, int], list[float]] = {}
        with Progress("tuning the phases", self.progress) as bar:
            found = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
            for number, ((key, _), by_penalty) in enumerate(zip(jobs, found, strict=True)):
                bar.update(number, len(jobs), f"round {stage}")
                for penalty, by_steps in zip(groups[key], by_penalty, strict=True):
                    for steps, score in zip(checkpoints, by_steps, strict=True):
                        own = scores.setdefault((Candidate(*key, penalty), steps), [])
                        own.append(score)
        trials = [Trial(*what, own, stage) for what, own in scores.items()]
        self.trials += trials
        return trials

    def _descended(
        self,
        order: int,
        hyper: Hyper,
        penalties: Sequence[float],
        split: Split,
        checkpoints: Sequence[int],
    ) -> list[list[float]]:
        """Scores of each penalty after each number of iterations, on one split."""
        cross = self.problem.crossed(order, split, _INNER_FOLDS, self.seed)
        judged = np.arange(cross.n_items) >= len(split.learning)
        waves = cross.waves(hyper).without(judged)
        start = start_of(cross, self.seed)
        # What nothing is known of has the frequencies of the classes, whatever the phases.
        sums = np.asarray(waves.amplitudes.sum(axis=1)).reshape(waves.truth.shape)
        unknown = ~sums[:, judged].any(axis=0)

        def score(P: Floats) -> float:
            P[unknown] = cross.frequencies[-1]
            return self.score(split.judged, P)

        at_start = waves.softmax(waves.logarithms(start.angles), start.sharpness)
        found = []
        for penalty in penalties:
            watch = _Snapshots(judged, checkpoints, score, at_start)
            descent = Descent(waves, strength(penalty, cross, waves.weight))
            descent.run(start, checkpoints[-1], watch)
            found.append(watch.all())
        return found


class _Snapshots:
    """Watches a descent: scores the judged items at checkpoints, ends it when they get worse."""

    def __init__(
        self,
        judged: NDArray[np.bool_],
        checkpoints: Sequence[int],
        score: Callable[[Floats], float],
        at_start: Floats,
    ) -> None:
        self.judged = judged
        self.checkpoints = checkpoints
        self.score = score
        self.scores: list[float] = []
        self._last = at_start

    def __call__(self, step: int, loss: float, log_probabilities: Floats) -> bool:
        self._last = log_probabilities
        if step in self.checkpoints:
            self.scores.append(self._scored())
        return len(self.scores) > 1 and self.scores[-1] < self.scores[-2]

    def _scored(self) -> float:
        return self.score(np.exp(self._last[:, self.judged]).T)

    def all(self) -> list[float]:
        """One for each checkpoint; a descent that ended early stays where it ended."""
        missing = len(self.checkpoints) - len(self.scores)
        return [*self.scores, *[self._scored()] * missing] if missing else self.scores


def _sharpest(P: Floats, truth: Floats, weight: Floats) -> Floats:
    """Probabilities to the power that makes them fit best.

    One item more, of every class alike and like all the others together, keeps what is right about
    each of these few items from becoming certain: the items judge what they were fitted to.
    """
    with np.errstate(divide="ignore"):
        log_P = np.maximum(np.log(P), -500.0)
    one_more = weight / weight.sum()

    def to_the(logarithm: float) -> Floats:
        return np.asarray(log_softmax(np.exp(logarithm) * log_P, axis=1))

    def loss(logarithm: float) -> float:
        found = to_the(logarithm)
        each = (truth * np.maximum(found, np.log(_LEAST))).sum(axis=1)
        return -float(each @ weight + found.mean(axis=1) @ one_more)

    best = optimize.minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded")
    return np.exp(to_the(best.x))


def accuracy_less_loss(P: Floats, truth: Floats, weight: Floats) -> float:
    """Accuracy, less a share of the log-loss."""
    right = truth[np.arange(len(P)), np.argmax(P, axis=1)]
    loss = -(truth * np.log(np.maximum(P, _LEAST))).sum(axis=1)
    return float(np.average(right - _LOSS_SHARE * loss, weights=weight))


def results_of(trials: Sequence[Trial], chosen: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The table of all trials, as GridSearchCV has it."""
    n_splits = max(len(trial.scores) for trial in trials)
    scores = np.full((len(trials), n_splits), np.nan)
    for row, trial in zip(scores, trials, strict=True):
        row[: len(trial.scores)] = trial.scores
    rounds = np.array([trial.stage for trial in trials])
    means = np.nanmean(scores, axis=1)
    results: dict[str, Any] = {"params": list(chosen)}
    for name in dict.fromkeys(name for own in chosen for name in own):
        absent = np.array([name not in own for own in chosen])
        values = np.empty(len(chosen), dtype=object)
        values[:] = [own.get(name) for own in chosen]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=absent)
    for number in range(n_splits):
        results[f"split{number}_test_score"] = scores[:, number]
    results["mean_test_score"] = means
    results["std_test_score"] = np.nanstd(scores, axis=1)
    # What did not get into the last round comes after all that did.
    order = np.where(rounds == 2, means, means - 2 * (1 + np.abs(means).max()))
    results["rank_test_score"] = rankdata(-order, method="min").astype(np.int32)
    results["round"] = rounds
    return results
