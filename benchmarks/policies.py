"""Learning a policy: `python benchmarks/policies.py [--only NAME ...] [--repeats 3] [--json OUT]`.

Seconds of fit, the dimensions left out, and the accuracy of the learnt policy. The bars are the
project's goals. See README.md beside this file.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from statistics import mean, median
from typing import Any, NamedTuple

import data
import harness
import numpy as np
import polars as pl
from harness import Figure, Runs
from sklearn.model_selection import StratifiedKFold, train_test_split

from stc import CLASSICAL, STC_Q, PolicyAgent, SparseTensorClassifier, load_zoo

SEEDS = 10
LEARN = 70  # animals; the 31 others are for the test
NOISE = ("n1", "n2")
CATEGORIES = 5  # of noise
MORE_SEEDS = 100  # the standard error of the mean over ten seeds is 0.016


class Noise(NamedTuple):
    """How f2 is derived from the legs."""

    values: int = 0  # noise values beside the legs
    replaced: float = 0.0  # share of the animals with legs at random
    shift: int = 0  # largest random number added to or subtracted from the legs
    present: bool = False  # whether f1 has only the traits that are present


MAIN = "Zoo, f2 = legs + (-4 to 4)"
VARIANTS = {
    MAIN: Noise(shift=4),
    "Zoo, the same, f1 of present traits": Noise(shift=4, present=True),
    "Zoo, f2 = legs, 1 noise value": Noise(values=1),
    "Zoo, the same, 20 % of legs at random": Noise(values=1, replaced=0.2),
    "Zoo, f2 = legs, 3 noise values": Noise(values=3),
}
HYPERPARAMETERS: dict[str, Mapping[str, Any]] = {"classical": CLASSICAL, "STC-Q": STC_Q}
PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars"]


def learner(policy: Any = "learn", **hyperparameters: Any) -> SparseTensorClassifier:
    """Return a model with a dimension for each attribute and a learnt or given policy."""
    return SparseTensorClassifier(**hyperparameters, dimensions="each", policy=policy)


def written(policy: list[list[str]]) -> str:
    """Return a policy on one line: `f1+f2 > f1 > []`."""
    return " > ".join("+".join(dimensions) or "[]" for dimensions in policy)


def most_common(policies: list[str]) -> str:
    """Return a text with the learnt policies and their counts."""
    counts = Counter(policies).most_common()
    shown = "; ".join(f"{policy} ({count})" for policy, count in counts[:3])
    rest = len(counts) - 3
    return f"learnt {shown}" + (f"; {rest} others" if rest > 0 else "")


def noisy_zoo(seed: int, kind: Noise) -> tuple[list[dict[str, Any]], data.Labels]:
    """Return the animals as records of f1 (traits), f2 (legs and noise), n1 and n2 (noise)."""
    X, y = load_zoo()
    rng = np.random.default_rng(seed)
    traits = [name for name in X.columns if name != "legs"]
    legs_seen = sorted(set(X["legs"]))
    noise = [f"noise {k}" for k in range(CATEGORIES)]
    items = []
    for row in X.iter_rows(named=True):
        legs = rng.choice(legs_seen) if rng.random() < kind.replaced else row["legs"]
        legs += rng.integers(-kind.shift, kind.shift + 1)
        beside = rng.choice(noise, size=kind.values, replace=False).tolist()
        items.append(
            {
                "f1": [f"{t}={row[t]}" for t in traits if row[t] or not kind.present],
                "f2": [f"{legs} legs", *beside],
                **{name: str(rng.choice(noise)) for name in NOISE},
            }
        )
    return items, y.to_numpy()


class ZooRuns(NamedTuple):
    """Results for one kind of noise: a value for each seed, and the seconds of every fit."""

    seconds: list[float]
    policies: list[list[list[str]]]
    learnt: list[float]  # accuracy, as the next two
    with_log: list[float]
    alone: list[float]


def run_zoo(kind: Noise, repeats: int) -> ZooRuns:
    """Learn from 70 animals, test on the 31 others, for each seed; the first ones are timed."""
    runs = Runs(keep=True)
    found = ZooRuns([], [], [], [], [])
    for seed in range(MORE_SEEDS):
        items, y = noisy_zoo(seed, kind)
        X, X_test, y, y_test = train_test_split(items, y, train_size=LEARN, random_state=seed)
        for _ in range(repeats if seed < SEEDS else 1):
            runs.run(lambda X=X, y=y: learner().fit(X, y))
        found.policies.append(runs.value.policy_)
        found.learnt.append(runs.value.score(X_test, y_test))
        log = learner(PolicyAgent(loss="log")).fit(X, y)
        found.with_log.append(log.score(X_test, y_test))
        found.alone.append(learner([["f1"]]).fit(X, y).score(X_test, y_test))
    return found._replace(seconds=runs.seconds[: SEEDS * repeats])


def zoo(repeats: int) -> list[Figure]:
    """Measure Zoo with noise; the bars are for the main variant."""
    figures = []
    for work, kind in VARIANTS.items():
        found = run_zoo(kind, repeats)
        lines = [written(policy) for policy in found.policies]
        harness.progress(f"{work}: {most_common(lines)}")
        figures += zoo_figures(work, found, lines)
    return figures


def zoo_figures(work: str, found: ZooRuns, lines: list[str]) -> list[Figure]:
    """Return the rows of one variant."""
    bars = (0.2, 9, 0.9) if work == MAIN else (None, None, None)
    figure = partial(Figure, "zoo", work)
    without = [not any(set(NOISE) & set(names) for names in policy) for policy in found.policies]
    few, many = sum(without[:SEEDS]), sum(without)
    some = found.learnt[:SEEDS]
    notes = {
        "note": f"{most_common(lines)} of {MORE_SEEDS} seeds",
        "extra": {"policies": lines},
    }
    return [
        figure("fit", median(found.seconds), found.seconds, "<", bars[0], "s", **notes),
        figure(f"n1, n2 left out, of {SEEDS}", few, [few], ">=", bars[1], "seeds"),
        figure(f"accuracy, {SEEDS} seeds", mean(some), some, ">=", bars[2]),
        figure(f"n1, n2 left out, of {MORE_SEEDS}", many, [many], unit="seeds"),
        figure(f"accuracy, {MORE_SEEDS} seeds", mean(found.learnt), found.learnt),
        figure("the same, loss log", mean(found.with_log), found.with_log),
        figure("the same, f1 alone", mean(found.alone), found.alone),
    ]


def folds_of(
    X: pl.DataFrame, y: data.Labels, seed: int, **hyperparameters: Any
) -> tuple[list[float], list[str], list[float]]:
    """Return accuracy, policy and seconds of fit of each of 5 folds."""
    runs, policies, scores = Runs(keep=True), [], []
    with warnings.catch_warnings():  # one class of Nursery has two members
        warnings.filterwarnings("ignore", message="The least populated class")
        splits = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y))
    for train, test in splits:
        runs.run(lambda X=X[train], y=y[train]: learner(**hyperparameters).fit(X, y))
        policies.append(written(runs.value.policy_))
        scores.append(float(np.mean(runs.value.predict(X[test]) == y[test])))
    return scores, policies, runs.seconds


def car(repeats: int) -> list[Figure]:
    """Measure the accuracy on Car over 5 folds, shuffled with seed 0 and with 4 others."""
    X, y = data.load_table("car")
    figures = []
    for name, hyperparameters in HYPERPARAMETERS.items():
        work = f"Car, 5 folds, {name}"
        means, policies, scores, seconds = [], [], [], []
        for seed in range(5):
            accuracies, learnt, took = folds_of(X, y, seed, **hyperparameters)
            means.append(mean(accuracies))
            scores.append(accuracies)
            policies += learnt
            seconds += took
            harness.progress(f"{work}, seed {seed}: accuracy {means[-1]:.4f}")
        figures += [
            Figure(
                "car",
                work,
                "accuracy, seed 0; 5 seeds",
                means[0],
                means,
                ">=",
                0.93 if name == "classical" else None,
                note=most_common(policies),
                extra={"folds": scores, "policies": policies},
            ),
            Figure("car", work, "fit", median(seconds), seconds, unit="s"),
        ]
    return figures


def nursery(repeats: int) -> list[Figure]:
    """Measure the fit of Nursery, and the accuracy over 5 folds."""
    X, y = data.load_table("nursery")
    figures = []
    for name, hyperparameters in HYPERPARAMETERS.items():
        work = f"Nursery, {len(X):,} x {X.width}, {name}"
        runs = Runs(keep=True)
        for repeat in range(1, repeats + 1):
            seconds = runs.run(lambda given=hyperparameters: learner(**given).fit(X, y))
            harness.progress(f"{work}: {repeat}/{repeats}: {harness.show(seconds)}")
        policy = written(runs.value.policy_)
        figures.append(
            Figure(
                "nursery",
                work,
                "fit",
                median(runs.seconds),
                runs.seconds,
                "<",
                10.0,
                "s",
                note=f"learnt {policy}",
                extra={"policy": policy, "values": runs.value.policy_values_.to_dicts()},
            )
        )
        scores, policies, _ = folds_of(X, y, 0, **hyperparameters)
        figures.append(
            Figure(
                "nursery",
                f"Nursery, 5 folds, {name}",
                "accuracy",
                mean(scores),
                scores,
                note=most_common(policies),
                extra={"policies": policies},
            )
        )
    return figures


LOSS_TABLES = {"house-votes-84": {}, "car": CLASSICAL, "tic-tac-toe": {}}


def losses(repeats: int) -> list[Figure]:
    """Measure the accuracy of policies learnt with either loss, over 5 folds."""
    figures = []
    for name, hyperparameters in LOSS_TABLES.items():
        X, y = data.load_table(name)
        for loss in ("norm", "log"):
            policy = PolicyAgent(loss=loss)
            scores, policies, _ = folds_of(X, y, 0, policy=policy, **hyperparameters)
            note = most_common(policies)
            work = f"{name}, 5 folds, loss {loss}"
            figures.append(Figure("losses", work, "accuracy", mean(scores), scores, note=note))
            harness.progress(f"{work}: {mean(scores):.4f}, {note}")
    return figures


GROUPS: dict[str, Callable[[int], list[Figure]]] = {
    "zoo": zoo,
    "car": car,
    "nursery": nursery,
    "losses": losses,
}
NEED_DATA = {"car": ["car"], "nursery": ["nursery"], "losses": list(LOSS_TABLES)}


def main() -> int:
    """Measure the chosen groups, print the table, write the JSON."""
    arguments = harness.arguments(__doc__, GROUPS, repeats=3)
    try:
        for name in arguments.only:
            for table in NEED_DATA.get(name, []):
                data.table_file(table)
    except data.DataMissingError as error:
        print(f"{error}\nWithout it, this can be measured: --only zoo", file=sys.stderr)
        return 2
    harness.warn_if_busy()
    figures = []
    for name in arguments.only:
        figures += GROUPS[name](arguments.repeats)
    print(harness.table_of_figures(figures))
    if arguments.json:
        harness.write_json(arguments.json, figures, PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
