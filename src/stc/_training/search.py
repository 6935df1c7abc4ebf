"""Scores of the plain model and of candidates with phases on items left out of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from stc._core.cascade import Cascade
from stc._core.formulas import Floats, Hyper, floor_of
from stc._core.interactions import Interactions
from stc._core.target import TargetForm
from stc._training.candidates import Candidate, with_penalties
from stc._training.descent import Descent, random_start, scaled_penalty
from stc._training.folds import Split, small_splits
from stc._training.problem import Layout, Problem
from stc._utils.progress import Progress
from stc.exceptions import ParameterError

# Positions of items and their probabilities -> a score; higher is better.
ScoreFunction = Callable[[NDArray[Any], Floats], float]

# The default score is the accuracy minus this share of the log-loss, whose probabilities are
# floored.
LOSS_SHARE, PROBABILITY_FLOOR = 0.2, 1e-4
# Lower bound of a probability in the log-loss, as in scikit-learn.
_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
_EVERY_CLASS = "a split may lack a class: use fewer folds, or scoring='neg_log_loss' or 'accuracy'"
# Number of folds of the training items, which are left out of the weights that predict them.
_INNER_FOLDS = 10
# First round of the phases: iterations; how many are tried with other penalties, how many go on.
_FIRST_ROUND = (60,)
_PROMISING, _FINALISTS = 3, 2
# Last round: iterations after which the test items are scored.
_CHECKPOINTS = (40, 70, 120, 200)
# Scores from here on cannot be improved noticeably.
PERFECT = 0.9999


@dataclass
class Trial:
    """A candidate after some iterations, its score on each split, and the round (1 or 2)."""

    candidate: Candidate
    steps: int
    scores: list[float]
    stage: int

    @property
    def mean(self) -> float:
        """Mean of the scores."""
        return float(np.mean(self.scores))


@dataclass
class Search:
    """Scores of candidates on splits of one problem."""

    problem: Problem
    splits: Sequence[Split]
    score: ScoreFunction
    seed: int
    n_jobs: int | None
    verbose: bool | None
    trials: list[Trial] = field(default_factory=list)

    def try_plain(self, cascade: Cascade, min_support: int, max_features: int | None) -> Trial:
        """Score the settings and conjunctions of a fitted model, counted anew on each split."""
        predicted = delayed(self.problem.test_probabilities)
        tasks = [predicted(cascade, split, min_support, max_features) for split in self.splits]
        results: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks)
        scores = [self.score(s.test, P) for s, P in zip(self.splits, results, strict=True)]
        candidate = Candidate(cascade.model.interactions, cascade.hyper, None)
        self.trials.append(Trial(candidate, 0, scores, stage=2))
        return self.trials[-1]

    def try_with_phases(
        self,
        layouts: Mapping[Interactions, Layout],
        settings: Iterable[Hyper],
        penalties: Sequence[float],
    ) -> None:
        """Learn phases, in two rounds if there are more candidates than go into the last."""
        candidates = [Candidate(*each, None) for each in product(layouts, settings)]
        if len(candidates) * len(penalties) > _FINALISTS:
            candidates = self._finalists(layouts, candidates, penalties)
        else:
            candidates = with_penalties(candidates, penalties)
        self._descend(layouts, candidates, self.splits, _CHECKPOINTS, stage=2)

    def _finalists(
        self,
        layouts: Mapping[Interactions, Layout],
        candidates: Sequence[Candidate],
        penalties: Sequence[float],
    ) -> list[Candidate]:
        """Return the candidates that score highest on few items with few iterations.

        The first penalty is tried with all settings, the others with the best of them.
        """
        splits = small_splits(self.splits, self.seed)

        def tried(penalties: Sequence[float], of: Iterable[Candidate]) -> list[Trial]:
            several = with_penalties(of, penalties)
            return self._descend(layouts, several, splits, _FIRST_ROUND, stage=1)

        trials = tried(penalties[:1], candidates)
        promising = sorted(trials, key=lambda trial: -trial.mean)[:_PROMISING]
        trials += tried(penalties[1:], [trial.candidate for trial in promising])
        trials.sort(key=lambda trial: -trial.mean)
        return [trial.candidate for trial in trials[:_FINALISTS]]

    def _descend(
        self,
        layouts: Mapping[Interactions, Layout],
        candidates: Sequence[Candidate],
        splits: Sequence[Split],
        checkpoints: Sequence[int],
        stage: int,
    ) -> list[Trial]:
        """Learn phases for each candidate on each split, and score them at checkpoints."""
        groups: dict[tuple[Interactions, Hyper], list[Any]] = {}
        for candidate in candidates:
            penalties = groups.setdefault((candidate.interactions, candidate.hyper), [])
            if candidate.penalty not in penalties:
                penalties.append(candidate.penalty)
        jobs = [(key, split) for key in groups for split in splits]
        tasks = [
            delayed(self._descend_split)(layouts[key[0]], key[1], groups[key], split, checkpoints)
            for key, split in jobs
        ]
        scores: dict[tuple[Candidate, int], list[float]] = {}
        with Progress("tuning the phases", self.verbose) as progress:
            results = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(tasks)
            for number, ((key, _), by_penalty) in enumerate(zip(jobs, results, strict=True)):
                progress.update(number, len(jobs), f"round {stage}")
                for penalty, by_steps in zip(groups[key], by_penalty, strict=True):
                    for steps, score in zip(checkpoints, by_steps, strict=True):
                        scores.setdefault((Candidate(*key, penalty), steps), []).append(score)
        trials = [Trial(*setting, by_split, stage) for setting, by_split in scores.items()]
        self.trials += trials
        return trials

    def _descend_split(
        self,
        layout: Layout,
        hyper: Hyper,
        penalties: Sequence[float],
        split: Split,
        checkpoints: Sequence[int],
    ) -> list[list[float]]:
        """Return the scores of each penalty at each checkpoint, on one split."""
        cross = layout.cross_fit(self.problem, split, _INNER_FOLDS, self.seed)
        test = np.arange(cross.n_items) >= len(split.train)
        objective = cross.objective(hyper).without(test)
        start = random_start(cross, self.seed)
        # Items without known features get the class frequencies, whatever the phases.
        sums = np.asarray(objective.amplitudes.sum(axis=1)).reshape(objective.truth.shape)
        unknown = ~sums[:, test].any(axis=0)

        floor = floor_of(cross.class_mass[-1], hyper.floor)

        def score(P: Floats) -> float:
            P[unknown] = cross.frequencies[-1]
            return self.score(split.test, (1 - hyper.floor) * P + floor)

        log_scores = objective.log_scores(start.angles)
        at_start = objective.log_probabilities(log_scores, start.sharpness)
        results = []
        for penalty in penalties:
            snapshots = _Snapshots(test, checkpoints, score, at_start)
            descent = Descent(objective, scaled_penalty(penalty, cross, objective.weight))
            descent.run(start, checkpoints[-1], snapshots)
            results.append(snapshots.all())
        return results


@dataclass
class _Snapshots:
    """Callback that scores the test items at checkpoints and stops when the score falls."""

    test: NDArray[np.bool_]
    checkpoints: Sequence[int]
    score: Callable[[Floats], float]
    log_probabilities: Floats
    scores: list[float] = field(default_factory=list)

    def __call__(self, step: int, loss: float, log_probabilities: Floats) -> bool:
        self.log_probabilities = log_probabilities
        if step in self.checkpoints:
            self.scores.append(self._current())
        return len(self.scores) > 1 and self.scores[-1] < self.scores[-2]

    def _current(self) -> float:
        return self.score(np.exp(self.log_probabilities[:, self.test]).T)

    def all(self) -> list[float]:
        """Return a score for each checkpoint; after an early stop, that of the last step."""
        missing = len(self.checkpoints) - len(self.scores)
        return [*self.scores, *[self._current()] * missing] if missing else self.scores


def results_table(trials: Sequence[Trial], parameters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of all trials in the form of GridSearchCV's `cv_results_`."""
    n_splits = max(len(trial.scores) for trial in trials)
    scores = np.full((len(trials), n_splits), np.nan)
    for row, trial in zip(scores, trials, strict=True):
        row[: len(trial.scores)] = trial.scores
    rounds = np.array([trial.stage for trial in trials])
    means = np.nanmean(scores, axis=1)
    results: dict[str, Any] = {"params": list(parameters)}
    for name in dict.fromkeys(name for chosen in parameters for name in chosen):
        absent = np.array([name not in chosen for chosen in parameters])
        values = np.empty(len(parameters), dtype=object)
        values[:] = [chosen.get(name) for chosen in parameters]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=absent)
    for number in range(n_splits):
        results[f"split{number}_test_score"] = scores[:, number]
    results["mean_test_score"] = means
    results["std_test_score"] = np.nanstd(scores, axis=1)
    # Trials of the first round rank below all of the last round.
    order = np.where(rounds == 2, means, means - 2 * (1 + np.abs(means).max()))
    results["rank_test_score"] = rankdata(-order, method="min").astype(np.int32)
    results["round"] = rounds
    return results


def accuracy_minus_loss(P: Floats, truth: Floats, weight: Floats) -> float:
    """Return the accuracy minus a share of the log-loss."""
    correct = truth[np.arange(len(P)), np.argmax(P, axis=1)]
    loss = -(truth * np.log(np.maximum(P, PROBABILITY_FLOOR))).sum(axis=1)
    return float(np.average(correct - LOSS_SHARE * loss, weights=weight))


def make_scorer(scoring: Any, problem: Problem, form: TargetForm) -> ScoreFunction:
    """Return the function that scores probabilities of items."""
    truth, weight = problem.truth, problem.sample_weight
    if scoring is None:
        return lambda items, P: accuracy_minus_loss(P, truth[items], weight[items])
    best = np.argmax(truth, axis=1)
    if scoring == "accuracy":  # as in scikit-learn, without its validation in each call
        return lambda items, P: float(np.mean(np.argmax(P, axis=1) == best[items]))
    if scoring == "neg_log_loss":  # scikit-learn's refuses a split that lacks a class
        return lambda items, P: _mean_log(P[np.arange(len(P)), best[items]])
    if form.kind == "joint":
        raise ParameterError(
            f"scoring={scoring!r} is not available with several targets",
            hint="use None or 'accuracy', which is that of all targets together",
        )
    labels = form.public_classes(problem.classes)
    scorer = check_scoring(_FixedPredictions(labels, np.zeros((1, 1))), scoring)
    y = labels[best]

    def score(items: NDArray[Any], P: Floats) -> float:
        try:
            value = float(scorer(_FixedPredictions(labels, P), np.zeros((len(P), 1)), y[items]))
        except ValueError as error:
            raise ParameterError(
                f"scoring={scoring!r} cannot score a split: {error}", hint=_EVERY_CLASS
            ) from error
        if np.isnan(value):
            raise ParameterError(f"scoring={scoring!r} gave NaN for a split", hint=_EVERY_CLASS)
        return value

    return score


def _mean_log(probabilities: Floats) -> float:
    return float(np.mean(np.log(np.maximum(probabilities, _SMALLEST_PROBABILITY))))


class _FixedPredictions(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Estimator that returns given probabilities, for scorers of scikit-learn."""

    def __init__(self, classes: NDArray[Any], probabilities: Floats) -> None:
        self.classes_ = classes
        self.probabilities = probabilities

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing."""
        return self

    def predict_proba(self, X: Any) -> Floats:
        return self.probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[np.argmax(self.probabilities, axis=1)])
