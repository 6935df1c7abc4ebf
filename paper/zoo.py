"""Experiment 1: random splits of Zoo into 70 % training set and 30 % test set."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from steps import Step, hyper_parameters

from stc import STC_C, STC_Q, SparseTensorClassifier, load_zoo

TEST_SHARE = 0.3
CHUNK_STC, CHUNK_PEERS = 50, 2  # splits in a part
FOLDS = 5

STC = {"STC-C": STC_C, "STC-Q": STC_Q}
GRIDS: dict[str, dict[str, list[Any]]] = {
    "DT": {"criterion": ["gini", "entropy"], "max_depth": [None, 4, 6, 8]},
    "RF": {"max_features": ["sqrt", None], "max_depth": [None, 6]},
    "KNN": {"n_neighbors": [1, 3, 5, 7, 9], "weights": ["uniform", "distance"]},
    "SVM": {"kernel": ["linear", "rbf"], "C": [0.1, 1.0, 10.0, 100.0]},
    "MNB": {"alpha": [0.01, 0.1, 0.5, 1.0], "fit_prior": [True, False]},
    "LR": {"C": [0.1, 1.0, 10.0, 100.0]},
}

# Other grids, to see where differences from the paper come from; its grids are not known.
VARIANTS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "KNN, 3 to 9 neighbours": ("KNN", {"n_neighbors": [3, 5, 7, 9]}),
    "RF, 10 trees of depth 5": ("RF", {"n_estimators": [10], "max_depth": [5]}),
}


def peer(name: str, seed: int) -> ClassifierMixin:
    """Return a classifier of scikit-learn, by the paper's name for it."""
    return {
        "DT": DecisionTreeClassifier(random_state=seed),
        "RF": RandomForestClassifier(random_state=seed),
        "KNN": KNeighborsClassifier(),
        "SVM": SVC(random_state=seed),
        "MNB": MultinomialNB(),
        "LR": LogisticRegression(max_iter=2000),
    }[name]


def measures(truth: Any, predicted: Any) -> list[float]:
    """Return precision, recall and F1 weighted by support, and the macro F1."""
    weighted = {"average": "weighted", "zero_division": 0}
    found = [
        precision_score(truth, predicted, **weighted),
        recall_score(truth, predicted, **weighted),
        f1_score(truth, predicted, **weighted),
        f1_score(truth, predicted, average="macro", zero_division=0),
    ]
    return [round(float(value), 6) for value in found]


def stc_on_splits(seeds: list[int]) -> dict[str, list[list[float]]]:
    """Evaluate STC-C and STC-Q on splits."""
    X, y = load_zoo()
    found: dict[str, list[list[float]]] = {name: [] for name in STC}
    for seed in seeds:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, random_state=seed
        )
        model = SparseTensorClassifier(**STC_Q).fit(X_train, y_train)
        for name, parameters in STC.items():
            found[name].append(measures(y_test, model.set_params(**parameters).predict(X_test)))
    return found


def peers_on_splits(
    seeds: list[int], grids: dict[str, tuple[str, dict[str, list[Any]]]]
) -> dict[str, list[list[float]]]:
    """Evaluate scikit-learn's classifiers on splits, tuned on each training set for weighted F1."""
    frame, labels = load_zoo()
    X, y = frame.to_numpy().astype(float), labels.to_numpy()
    found: dict[str, list[list[float]]] = {name: [] for name in grids}
    for seed in seeds:
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, random_state=seed
        )
        for name, (kind, values) in grids.items():
            search = GridSearchCV(
                Pipeline([("scale", "passthrough"), ("model", peer(kind, seed))]),
                {"scale": ["passthrough", MinMaxScaler()]}
                | {f"model__{key}": given for key, given in values.items()},
                scoring="f1_weighted",
                cv=FOLDS,
            )
            predicted = search.fit(X_train, y_train).predict(X_test)
            found[name].append(measures(y_test, predicted))
    return found


def step(splits: int, peer_splits: int) -> Step:
    """Return the experiment: the number of splits for STC, and for the peers."""
    grids = {name: (name, values) for name, values in GRIDS.items()}
    parts: dict[str, Any] = {}
    for kind, work, count, chunk, *given in (
        ("stc", stc_on_splits, splits, CHUNK_STC),
        ("peers", peers_on_splits, peer_splits, CHUNK_PEERS, grids),
        ("variants", peers_on_splits, peer_splits, CHUNK_PEERS, VARIANTS),
    ):
        for start in range(0, count, chunk):
            seeds = list(range(start, min(start + chunk, count)))
            parts[f"{kind} {start:04d}"] = (work, (seeds, *given))
    settings = {
        "splits": splits,
        "peer_splits": peer_splits,
        "test_share": TEST_SHARE,
        "stc": {name: hyper_parameters(setting) for name, setting in STC.items()},
        "grids": GRIDS,
        "variants": VARIANTS,
        "folds": FOLDS,
    }
    return Step("zoo", settings, parts)
