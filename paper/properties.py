"""The properties that the paper states, each checked on a small example."""

from __future__ import annotations

from typing import Any

import corpora  # noqa: F401  (puts the benchmarks' loaders on the path)
import data
import numpy as np
import polars as pl
from sklearn.metrics import accuracy_score, f1_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from steps import Step, hyper_parameters

from stc import CLASSICAL, QUANTUM, STC_C, STC_Q, SparseTensorClassifier, load_zoo

SETTINGS = {
    "classical": CLASSICAL,
    "classical, entropy": STC_C,
    "quantum": QUANTUM,
    "quantum, entropy": STC_Q,
}
TEST_SHARE = 0.3
NOISE = (0, 10, 30, 100, 300, 1000)
BALANCES = tuple(np.round(np.linspace(0, 2, 11), 2).tolist())
BATCHES = 10
# Prior knowledge of animals, and the weight of each statement in animals.
TEXTBOOK = {
    "Mammal": {"milk": 1, "hair": 1},
    "Bird": {"feathers": 1, "eggs": 1},
    "Fish": {"fins": 1, "breathes": 0},
    "Bug": {"legs": 6, "backbone": 0},
    "Invertebrate": {"backbone": 0, "aquatic": 1},
    "Reptile": {"tail": 1, "venomous": 1},
    "Amphibian": {"aquatic": 1, "legs": 4, "eggs": 1},
}
TEXTBOOK_WEIGHT = 2.0
FEW = (5, 10, 15, 20, 30, 40, 60)


def _zoo_splits(splits: int, **given: Any) -> Any:
    X, y = load_zoo()
    for seed in range(splits):
        yield seed, train_test_split(X, y, random_state=seed, **given)


def _rounded(values: Any, digits: int = 6) -> Any:
    return np.round(np.asarray(values, dtype=float), digits).tolist()


# --- special cases -------------------------------------------------------------------------------


def special_cases() -> dict[str, Any]:
    """Compare two settings with textbook formulas of probability, written out densely.

    Classical: the law of total probability, sum over j of P(i|j) x_j. Quantum: the squared modulus
    of a sum of amplitudes, |sum over j of sqrt(P(j|i)) sqrt(x_j)|^2, normalised (Born's rule).
    """
    X, y, names = load_zoo(names=True)
    model = SparseTensorClassifier(**STC_Q).fit(X, y)
    states = X.to_dummies(X.columns).to_numpy().astype(float) / X.width
    classes = model.classes_
    mass = np.array([states[y.to_numpy() == label].sum(axis=0) for label in classes])
    total = states @ (mass / mass.sum(axis=0)).T
    amplitudes = np.sqrt(states) @ np.sqrt(mass / mass.sum(axis=1, keepdims=True)).T
    born = amplitudes**2 / (amplitudes**2).sum(axis=1, keepdims=True)
    shown = names.to_list().index("dolphin")
    found = {}
    for name, setting, formula in (("classical", CLASSICAL, total), ("quantum", QUANTUM, born)):
        ours = model.set_params(**setting).predict_proba(X)
        found[name] = {
            "difference": float(abs(ours - formula).max()),
            "ours": _rounded(ours[shown]),
            "formula": _rounded(formula[shown]),
        }
    return found | {"classes": classes.tolist(), "animal": "dolphin"}


# --- noise ---------------------------------------------------------------------------------------


def noise(splits: int) -> dict[str, Any]:
    """Add random attributes to Zoo and measure the accuracy."""
    accuracies: dict[str, list[list[float]]] = {name: [] for name in SETTINGS}
    for seed, (X_train, X_test, y_train, y_test) in _zoo_splits(splits, test_size=TEST_SHARE):
        generator = np.random.default_rng(seed)
        drawn = [generator.integers(0, 2, (len(part), max(NOISE))) for part in (X_train, X_test)]
        rows: dict[str, list[float]] = {name: [] for name in SETTINGS}
        for count in NOISE:
            noisy = [
                part.hstack([pl.Series(f"noise{k}", values[:, k]) for k in range(count)])
                for part, values in zip((X_train, X_test), drawn, strict=True)
            ]
            model = SparseTensorClassifier(**STC_Q).fit(noisy[0], y_train)
            for name, setting in SETTINGS.items():
                predicted = model.set_params(**setting).predict(noisy[1])
                rows[name].append(float(accuracy_score(y_test, predicted)))
        for name, row in rows.items():
            accuracies[name].append(_rounded(row))
    commonest = [
        float((y_test == y_train.mode()[0]).mean())
        for _, (_, _, y_train, y_test) in _zoo_splits(splits, test_size=TEST_SHARE)
    ]
    return {"values": list(NOISE), "accuracies": accuracies, "commonest": _rounded(commonest)}


# --- balance -------------------------------------------------------------------------------------


def balance() -> dict[str, Any]:
    """Measure the recall of each class of Car, whose rarest class has 4 %, for each balance."""
    task = data.load_task("car")
    labels, counts = np.unique(task.y, return_counts=True)
    rarest = labels[counts.argmin()]
    recalls: list[list[float]] = []
    for learn, test in task.folds:
        model = SparseTensorClassifier(**STC_Q).fit(task.X[learn], task.y[learn])
        row = []
        for value in BALANCES:
            predicted = model.set_params(balance=value).predict(task.X[test])
            row.append(recall_score(task.y[test], predicted, labels=labels, average=None))
        recalls.append(_rounded(row))
    return {
        "balances": list(BALANCES),
        "labels": labels.tolist(),
        "counts": counts.tolist(),
        "rarest": str(rarest),
        "recalls": _rounded(np.mean(recalls, axis=0)),
    }


# --- missing -------------------------------------------------------------------------------------


def missing() -> dict[str, Any]:
    """Compare missing values ignored and as a category: House votes and Soybean, 5 folds."""
    found: dict[str, Any] = {}
    for name in ("house-votes", "soybean"):
        task = data.load_task(name)
        found[name] = {"missing": int(sum(task.X.null_count().row(0))), "rows": len(task.y)}
        for way in ("ignore", "category"):
            found[name][way] = _rounded(
                [
                    SparseTensorClassifier(**STC_Q, missing=way)
                    .fit(task.X[learn], task.y[learn])
                    .score(task.X[test], task.y[test])
                    for learn, test in task.folds
                ]
            )
    return found


# --- fallback ------------------------------------------------------------------------------------


def fallback() -> dict[str, Any]:
    """Predict an animal whose values are all unknown."""
    X, y = load_zoo()
    model = SparseTensorClassifier(**STC_Q).fit(X, y)
    unknown = X[:1].select(pl.lit(99).alias(name) for name in X.columns)
    counts = y.value_counts().sort(y.name)["count"].to_numpy()
    answers = {
        name: model.set_params(**setting).predict_proba(unknown)[0]
        for name, setting in SETTINGS.items()
    }
    frequencies = counts / counts.sum()
    return {
        "classes": model.classes_.tolist(),
        "frequencies": _rounded(frequencies),
        "answer": _rounded(answers["quantum, entropy"]),
        "difference": float(max(abs(answer - frequencies).max() for answer in answers.values())),
    }


# --- online --------------------------------------------------------------------------------------


def online() -> dict[str, Any]:
    """Compare online learning in batches, with unlearning, to a single fit."""
    X, y = load_zoo()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=0)
    whole = SparseTensorClassifier(**STC_Q).fit(X_train, y_train)
    order = np.random.default_rng(0).permutation(len(y_train))
    model, accuracies, seen = SparseTensorClassifier(**STC_Q), [], []
    for rows in np.array_split(order, BATCHES):
        model.partial_fit(X_train[rows], y_train[rows])
        seen.append(len(rows) + (seen[-1] if seen else 0))
        accuracies.append(float(model.score(X_test, y_test)))
    difference = abs(model.predict_proba(X_test) - whole.predict_proba(X_test)).max()
    model.partial_fit(X_test, y_test).unlearn(X_test, y_test)
    after = abs(model.predict_proba(X_test) - whole.predict_proba(X_test)).max()
    return {
        "seen": seen,
        "accuracies": _rounded(accuracies),
        "batch_accuracy": float(whole.score(X_test, y_test)),
        "difference": float(difference),
        "difference_after_unlearning": float(after),
    }


# --- prior knowledge -----------------------------------------------------------------------------


def prior_knowledge(splits: int) -> dict[str, Any]:
    """Learn seven statements about animals, then a few animals."""
    accuracies: dict[str, list[list[float]]] = {"without": [], "with": []}
    weights = [TEXTBOOK_WEIGHT] * len(TEXTBOOK)
    for _, (X_train, X_test, y_train, y_test) in _zoo_splits(splits, test_size=TEST_SHARE):
        for name, rows in accuracies.items():
            row = []
            for count in FEW:
                model = SparseTensorClassifier(**STC_Q)
                if name == "with":
                    statements = list(TEXTBOOK.values())
                    model.partial_fit(statements, list(TEXTBOOK), sample_weight=weights)
                model.partial_fit(X_train[:count].to_dicts(), y_train[:count])
                row.append(float(model.score(X_test.to_dicts(), y_test)))
            rows.append(_rounded(row))
    return {"animals": list(FEW), "accuracies": accuracies, "statements": len(TEXTBOOK)}


# --- several labels ------------------------------------------------------------------------------


def several_labels() -> dict[str, Any]:
    """Compare multi-label learning on enron with a classifier per label."""
    part = data.load_enron()
    found: dict[str, Any] = {}
    for name, model in (
        ("STC", SparseTensorClassifier(**STC_Q)),
        ("STC, p=1/3", SparseTensorClassifier(**STC_Q | {"power": 1 / 3})),
        ("MNB per label", OneVsRestClassifier(MultinomialNB())),
    ):
        predicted = model.fit(part.train, part.y_train).predict(part.test)
        found[name] = {
            kind: round(float(f1_score(part.y_test, predicted, average=kind, zero_division=0)), 6)
            for kind in ("micro", "macro")
        }
    texts, sets = ["tank", "kiss", "tank kiss"], [{"war"}, {"love"}, {"war", "love"}]
    shares = [{label: 1 / len(labels) for label in labels} for labels in sets]
    corpora_ = [
        SparseTensorClassifier(**STC_Q, label_threshold=0.5)
        .fit(texts, y)
        .corpus_["mass"]
        .to_numpy()
        for y in (sets, shares)
    ]
    found["difference"] = float(abs(corpora_[0] - corpora_[1]).max())
    found["labels"] = int(part.y_train.shape[1])
    return found


def check_data() -> None:
    """Raise DataMissingError if a table is missing; these are not downloaded."""
    for name in ("car", "house-votes", "soybean"):
        data.task_files(name)
    data.multilabel_files("enron")


def step(splits: int) -> Step:
    """Return the step of all checks; `splits` is the number of random splits of Zoo."""
    parts: dict[str, Any] = {
        "noise": (noise, (splits,)),
        "prior_knowledge": (prior_knowledge, (splits,)),
        "special_cases": (special_cases, ()),
        "balance": (balance, ()),
        "missing": (missing, ()),
        "fallback": (fallback, ()),
        "online": (online, ()),
        "several_labels": (several_labels, ()),
    }
    settings = {
        "splits": splits,
        "settings": {name: hyper_parameters(setting) for name, setting in SETTINGS.items()},
        "noise": list(NOISE),
        "balances": list(BALANCES),
        "textbook": TEXTBOOK,
        "textbook_weight": TEXTBOOK_WEIGHT,
        "few": list(FEW),
        "batches": BATCHES,
    }
    return Step("properties", settings, parts)
