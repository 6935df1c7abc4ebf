"""Experiment 2: 20 Newsgroups by date, with the tokens of nltk."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import corpora
import joblib
import numpy as np
import sklearn
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from steps import Step, hyper_parameters

from stc import STC_Q, PhaseLearner, SparseTensorClassifier, SparseTensorClassifierCV

SEED = 0
STC: dict[str, dict[str, Any]] = {
    "STC-Q": {**STC_Q},
    "STC-Q, p=1/3": {**STC_Q, "power": 1 / 3},
}
# Parameters of SparseTensorClassifierCV (phases take the longest), and whether the folds keep
# threads together.
TUNED: dict[str, tuple[dict[str, Any], bool]] = {
    "STC, tuned": ({}, False),
    "STC, tuned, threads apart": ({}, True),
    "STC, tuned without phases": ({"phases": None}, False),
    "STC, tuned without phases, threads apart": ({"phases": None}, True),
}
# The slowest first, so that two processes end together.
PEERS = ("SVM", "RF", "LR", "DT", "KNN", "MNB", "ComplementNB", "LinearSVC")
QUICK_PEERS = ("KNN", "MNB", "ComplementNB", "LinearSVC")
CHECKED = 40  # documents


def peer(name: str) -> Any:
    """Return a classifier at scikit-learn's defaults, by the paper's name for it."""
    return {
        "DT": DecisionTreeClassifier(random_state=SEED),
        "RF": RandomForestClassifier(random_state=SEED),
        "KNN": KNeighborsClassifier(),
        "SVM": SVC(),
        "MNB": MultinomialNB(),
        "LR": LogisticRegression(),
        "ComplementNB": ComplementNB(),
        "LinearSVC": LinearSVC(random_state=SEED),
    }[name]


def measures(truth: Any, predicted: Any) -> dict[str, float]:
    """Return precision, recall and F1, averaged over the classes, and the accuracy."""
    macro = precision_recall_fscore_support(truth, predicted, average="macro", zero_division=0)
    values = [*macro[:3], accuracy_score(truth, predicted)]
    names = ("precision", "recall", "f1", "accuracy")
    return {name: round(float(value), 6) for name, value in zip(names, values, strict=True)}


class Clock:
    """Wall-clock seconds, and CPU seconds on all cores, which other processes hardly change."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def seconds(self) -> dict[str, float]:
        """Return the seconds since the clock was created."""
        now = time.perf_counter(), time.process_time()
        clock, work = (end - start for end, start in zip(now, self._start, strict=True))
        return {"clock": round(clock, 3), "work": round(work, 3)}


def judged(
    model: Any, train: Any, y_train: Any, test: Any, y_test: Any, **options: Any
) -> dict[str, Any]:
    """Fit, predict, and return the measures with the seconds of both."""
    clock = Clock()
    model.fit(train, y_train, **options)
    fit = clock.seconds()
    clock = Clock()
    predicted = model.predict(test)
    return measures(y_test, predicted) | {"seconds": {"fit": fit, "predict": clock.seconds()}}


# --- ours ----------------------------------------------------------------------------------------


def plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Evaluate a setting of the paper."""
    given = corpora.load_documents()
    model = SparseTensorClassifier(**parameters)
    found = judged(model, given.train, given.y_train, given.test, given.y_test)
    return found | {"terms": len(model.get_feature_names_out())}


def tuned(options: dict[str, Any], threads_apart: bool) -> dict[str, Any]:
    """Evaluate the settings that cross-validation chooses, n-grams among them.

    Random folds share threads between training and validation, which the later test documents
    seldom do; with `threads_apart`, no thread is on both sides of a split.
    """
    given = corpora.load_documents()
    groups = corpora.threads(corpora.raw_texts().train) if threads_apart else None
    # N-grams need documents that are strings; tokens of nltk contain no blanks.
    train, test = (list(map(" ".join, part.to_list())) for part in (given.train, given.test))
    model = SparseTensorClassifierCV(tokenizer=str.split, random_state=SEED, **options)
    found = judged(model, train, given.y_train, test, given.y_test, groups=groups)
    chosen = model.best_params_
    numbers = {name: float(chosen[name]) for name in ("ngrams", "power", "balance", "entropy")}
    return found | {
        "chosen": numbers | {"phases": _penalty(chosen["phases"])},
        "settings_tried": len(model.cv_results_["params"]),
        "score_in_cross_validation": round(float(model.best_score_), 6),
    }


def _penalty(learner: PhaseLearner | None) -> float | None:
    """Return the penalty of learnt phases; None without phases."""
    return None if learner is None else float(learner.penalties[0])


def answers_in_known_threads() -> dict[str, Any]:
    """Return the share of documents in a thread of the training set: of the test, and of folds."""
    texts = corpora.raw_texts()
    train, test = (np.array(corpora.threads(part)) for part in (texts.train, texts.test))
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED).split(train, texts.y_train)
    of_folds = [np.isin(train[judged], train[learning]).mean() for learning, judged in folds]
    return {
        "threads": len(np.unique(train)),
        "share_of_test": round(float(np.isin(test, train).mean()), 6),
        "share_of_folds": round(float(np.mean(of_folds)), 6),
    }


def fit_phases() -> dict[str, Any]:
    """Evaluate learnt phases with the paper's best setting."""
    given = corpora.load_documents()
    model = SparseTensorClassifier(**STC["STC-Q, p=1/3"] | {"phases": "learn"})
    found = judged(model, given.train, given.y_train, given.test, given.y_test)
    return found | {"sharpness": round(float(model.sharpness_), 4)}


# --- peers ---------------------------------------------------------------------------------------


def _folder_of_models() -> Path:
    return corpora.cache() / f"sklearn-{sklearn.__version__}"


def _kept(name: str, make: Any) -> Any:
    """Return a cached object; create it the first time."""
    folder = _folder_of_models()
    file = folder / f"{name}.joblib"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        made = make()
        draft = Path(f"{file}.{os.getpid()}.draft")
        joblib.dump(made, draft)
        draft.replace(file)
    return joblib.load(file)


def _vectorize() -> dict[str, Any]:
    given = corpora.load_documents(lowercase=True)
    train, test = given.train.to_list(), given.test.to_list()
    vectorizer = TfidfVectorizer(analyzer=list)
    clock = Clock()
    learnt = vectorizer.fit_transform(train)
    fit = clock.seconds()
    clock = Clock()
    seen = vectorizer.transform(test)
    seconds = {"fit": fit, "predict": clock.seconds()}
    return {"vectorizer": vectorizer, "train": learnt, "test": seen, "seconds": seconds}


def tfidf() -> dict[str, Any]:
    """Return the weights that TfidfVectorizer gives the tokens of the texts in lower case."""
    return _kept("tfidf", _vectorize)


def _fit_and_judge(name: str) -> dict[str, Any]:
    weights, given = tfidf(), corpora.load_documents(lowercase=True)
    model = peer(name)
    found = judged(model, weights["train"], given.y_train, weights["test"], given.y_test)
    return {"model": model, "found": found}


def fitted(name: str) -> Any:
    """Return a peer fitted to 20 Newsgroups."""
    return _kept(name, lambda: _fit_and_judge(name))["model"]


def peer_on_news(name: str) -> dict[str, Any]:
    """Evaluate a peer with its defaults, and cache it for the third experiment."""
    found: dict[str, Any] = _kept(name, lambda: _fit_and_judge(name))["found"]
    return found


def vectorizing() -> dict[str, Any]:
    """Return the times of tokens and weights, and whether cached tokens give the same weights."""
    from nltk import word_tokenize

    corpora.offer_nltk_data()
    texts = corpora.raw_texts().train[:CHECKED]
    # A quick run lowers tokens instead of texts, so it tokenises these texts again.
    if corpora.is_quick():
        tokens, _ = corpora.tokenized([text.lower() for text in texts])
    else:
        tokens = corpora.load_documents(lowercase=True).train[:CHECKED].to_list()
    theirs = TfidfVectorizer(tokenizer=word_tokenize, token_pattern=None).fit_transform(texts)
    ours = TfidfVectorizer(analyzer=list).fit_transform(tokens)
    same = theirs.shape == ours.shape and abs(csr_array(theirs) - csr_array(ours)).max() < 1e-12
    return {
        "same_weights_as_with_the_tokenizer": bool(same),
        "documents_compared": CHECKED,
        "terms": len(tfidf()["vectorizer"].vocabulary_),
        "seconds": tfidf()["seconds"],
        "tokenizing_seconds": {
            key: round(value, 1) for key, value in corpora.tokenizing_seconds().items()
        },
        "documents": [len(part) for part in corpora.load_documents()[:2]],
    }


# --- steps ---------------------------------------------------------------------------------------


def own_step() -> Step:
    """Return the step of the paper's settings, run one after the other to compare times."""
    parts: dict[str, Any] = {name: (plain, (given,)) for name, given in STC.items()}
    settings = {name: hyper_parameters(given) for name, given in STC.items()}
    return Step("news_stc", {"stc": settings, "seed": SEED}, parts, jobs=1)


def learnt_step(*, quick: bool) -> Step:
    """Return the step of tuned models and learnt phases, the slowest first."""
    parts: dict[str, Any] = {"threads": (answers_in_known_threads, ())}
    if not quick:
        settings = {name: (tuned, given) for name, given in TUNED.items()}
        parts = {"STC, phases": (fit_phases, ())} | settings | parts
    return Step("news_learnt", {"tuned": TUNED, "seed": SEED, "quick": quick}, parts)


def peer_step(*, quick: bool) -> Step:
    """Return the step of the peers."""
    names = QUICK_PEERS if quick else PEERS
    parts: dict[str, Any] = {name: (peer_on_news, (name,)) for name in names}
    parts["weights"] = (vectorizing, ())
    settings = {"peers": list(names), "seed": SEED}
    return Step("news_peers", settings, parts, before=tfidf, kept=_folder_of_models())
