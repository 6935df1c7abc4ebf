"""Search over settings: each is scored on items that are left out of the corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import log_softmax
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.utils.parallel import Parallel, delayed

from stc._core.formulas import Floats, Hyper
from stc._core.target import TargetForm
from stc._training.candidates import Candidate, Grids, with_other_penalties
from stc._training.descent import Descent, random_start, scaled_penalty
from stc._training.folds import Split, small_splits
from stc._training.problem import Problem
from stc._utils.progress import Progress
from stc.exceptions import ParameterError

# Positions of items and their probabilities -> a score; higher is better.
ScoreFunction = Callable[[NDArray[Any], Floats], float]

# The default score is the accuracy minus this share of the log-loss, whose probabilities are
# floored.
LOSS_SHARE, PROBABILITY_FLOOR = 0.2, 1e-4
# Number of folds of the training items, which are left out of the weights that predict them.
_INNER_FOLDS = 10
# First round of the phases: iterations; how many are tried with other penalties, how many go on.
_FIRST_ROUND = (60,)
_PROMISING, _FINALISTS = 3, 2
# Last round: iterations after which the test items are scored.
_CHECKPOINTS = (40, 70, 120, 200)
# Scores from here on cannot be improved noticeably.
_PERFECT = 0.9999


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
    score: ScoreFunction
    seed: int
    n_jobs: int | None
    verbose: bool | None
    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The highest mean score so far."""
        return max((trial.mean for trial in self.trials), default=-np.inf)

    def try_plain(self, candidates: Sequence[Candidate], splits: Sequence[Split]) -> None:
        """Score candidates without phases: all at once on the corpus of each split."""
        for order in {candidate.order: None for candidate in candidates}:
            of_order = [candidate for candidate in candidates if candidate.order == order]
            tasks = [delayed(self._predict_split)(order, of_order, split) for split in splits]
            results: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks)
            for place, candidate in enumerate(of_order):
                by_split = [by_candidate[place] for by_candidate, _ in results]
                if candidate.penalty is not None:
                    by_split = self._sharpened(by_split, splits, [known for _, known in results])
                scores = [self.score(s.test, P) for s, P in zip(splits, by_split, strict=True)]
                self.trials.append(Trial(candidate, 0, scores, stage=2))

    def _predict_split(
        self, order: int, candidates: Sequence[Candidate], split: Split
    ) -> tuple[list[Floats], NDArray[np.bool_]]:
        """Return the probabilities of each candidate, and which items have known features."""
        cross = self.problem.cross_fit(order, split, 1, self.seed)
        hypers = list(dict.fromkeys(candidate.hyper for candidate in candidates))
        by_hyper = dict(zip(hypers, cross.test_probabilities(hypers), strict=True))
        known = cross.n_amplitudes[len(split.train) :] > 0
        return [by_hyper[candidate.hyper] for candidate in candidates], known

    def _sharpened(
        self, by_split: list[Floats], splits: Sequence[Split], known: list[NDArray[np.bool_]]
    ) -> list[Floats]:
        """Return the probabilities of known items with the best sharpness, of others unchanged."""
        items = np.concatenate([s.test[mask] for s, mask in zip(splits, known, strict=True)])
        if not len(items):
            return by_split
        P = np.concatenate([P[mask] for P, mask in zip(by_split, known, strict=True)])
        sharp = _sharpen(P, self.problem.truth[items], self.problem.sample_weight[items])
        bounds = np.cumsum([mask.sum() for mask in known])[:-1]
        changed = [P.copy() for P in by_split]
        for P, mask, part in zip(changed, known, np.split(sharp, bounds), strict=True):
            P[mask] = part
        return changed

    def try_with_phases(self, grids: Grids, splits: Sequence[Split]) -> None:
        """Learn phases, for "auto" in two rounds."""
        candidates = grids.fit_phases(self.problem.layouts, self.problem.documents)
        if grids.automatic_phases:
            candidates = self._finalists(candidates, small_splits(splits, self.seed))
        if candidates:
            self._descend(candidates, splits, _CHECKPOINTS, stage=2)

    def _finalists(self, candidates: list[Candidate], splits: list[Split]) -> list[Candidate]:
        """Return the candidates that score highest on few items with few iterations."""
        tried = self._descend(candidates, splits, _FIRST_ROUND, stage=1)
        promising = sorted(tried, key=lambda trial: -trial.mean)[:_PROMISING]
        more = with_other_penalties((t.candidate for t in promising), self.problem.documents)
        tried += self._descend(more, splits, _FIRST_ROUND, stage=1)
        tried.sort(key=lambda trial: -trial.mean)
        return [trial.candidate for trial in tried[:_FINALISTS]]

    def _descend(
        self,
        candidates: Sequence[Candidate],
        splits: Sequence[Split],
        checkpoints: Sequence[int],
        stage: int,
    ) -> list[Trial]:
        """Learn phases for each candidate on each split, and score them at checkpoints."""
        groups: dict[tuple[int, Hyper], list[Any]] = {}
        for candidate in candidates:
            penalties = groups.setdefault((candidate.order, candidate.hyper), [])
            if candidate.penalty not in penalties:
                penalties.append(candidate.penalty)
        jobs = [(key, split) for key in groups for split in splits]
        tasks = [
            delayed(self._descend_split)(*key, groups[key], split, checkpoints)
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
        order: int,
        hyper: Hyper,
        penalties: Sequence[float],
        split: Split,
        checkpoints: Sequence[int],
    ) -> list[list[float]]:
        """Return the scores of each penalty at each checkpoint, on one split."""
        cross = self.problem.cross_fit(order, split, _INNER_FOLDS, self.seed)
        test = np.arange(cross.n_items) >= len(split.train)
        objective = cross.objective(hyper).without(test)
        start = random_start(cross, self.seed)
        # Items without known features get the class frequencies, whatever the phases.
        sums = np.asarray(objective.amplitudes.sum(axis=1)).reshape(objective.truth.shape)
        unknown = ~sums[:, test].any(axis=0)

        def score(P: Floats) -> float:
            P[unknown] = cross.frequencies[-1]
            return self.score(split.test, P)

        log_scores = objective.log_scores(start.angles)
        at_start = objective.log_probabilities(log_scores, start.sharpness)
        results = []
        for penalty in penalties:
            snapshots = _Snapshots(test, checkpoints, score, at_start)
            descent = Descent(objective, scaled_penalty(penalty, cross, objective.weight))
            descent.run(start, checkpoints[-1], snapshots)
            results.append(snapshots.all())
        return results


def run_searches(
    searches: Sequence[Search], grids: Grids, splits: Sequence[Split], *, complete: bool
) -> None:
    """Try all candidates; those with phases only in the search with the best plain score.

    Automatic phases are not tried if the plain score is perfect on all splits (`complete`).
    """
    for search in searches:
        search.try_plain(grids.plain(search.problem.layouts), splits)
    best = max(searches, key=lambda search: search.best)
    if not (grids.automatic_phases and complete and best.best >= _PERFECT):
        best.try_with_phases(grids, splits)


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


def _sharpen(P: Floats, truth: Floats, weight: Floats) -> Floats:
    """Return the probabilities raised to the power with the lowest log-loss, normalised.

    The loss includes one more item, the mean of the others with every class as its label in equal
    shares: the items are scored after they were fitted to, and must not become certain.
    """
    with np.errstate(divide="ignore"):
        log_P = np.maximum(np.log(P), -500.0)
    one_more = weight / weight.sum()

    def raised(log_power: float) -> Floats:
        return np.asarray(log_softmax(np.exp(log_power) * log_P, axis=1))

    def loss(log_power: float) -> float:
        log_Q = raised(log_power)
        by_item = (truth * np.maximum(log_Q, np.log(PROBABILITY_FLOOR))).sum(axis=1)
        return -float(by_item @ weight + log_Q.mean(axis=1) @ one_more)

    best = optimize.minimize_scalar(loss, bounds=(-4.0, 4.0), method="bounded")
    return np.exp(raised(best.x))


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
    if form.kind == "joint":
        raise ParameterError(
            f"scoring={scoring!r} is not available with several targets",
            hint="use None or 'accuracy', which is that of all targets together",
        )
    labels = form.public_classes(problem.classes)
    scorer = check_scoring(_FixedPredictions(labels, np.zeros((1, 1))), scoring)
    y = labels[best]

    def score(items: NDArray[Any], P: Floats) -> float:
        value = float(scorer(_FixedPredictions(labels, P), np.zeros((len(P), 1)), y[items]))
        if np.isnan(value):
            raise ParameterError(f"scoring={scoring!r} gave NaN for a split")
        return value

    return score


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
