"""Experiment 2: 20 Newsgroups by date, the tokens of nltk and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import corpora
import joblib
import sklearn
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from steps import Step

from stc import PhaseLearner, SparseTensorClassifier, SparseTensorClassifierCV

SEED = 0
STC: dict[str, dict[str, float]] = {
    "STC-Q": {"power": 1 / 2, "balance": 1.0, "entropy": 1.0},
    "STC-Q, p=1/3": {"power": 1 / 3, "balance": 1.0, "entropy": 1.0},
}
# SparseTensorClassifierCV at its defaults but for phases, which take the longest.
TUNED: dict[str, Any] = {"phases": None}
PHASES: dict[str, Any] = {"penalties": [5.0], "max_iter": 60, "validation": 1}
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
    """Seconds by the clock, and of work on all cores: others on the machine slow the first only."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def seconds(self) -> dict[str, float]:
        """Return the seconds since it was made."""
        now = time.perf_counter(), time.process_time()
        clock, work = (end - start for end, start in zip(now, self._start, strict=True))
        return {"clock": round(clock, 3), "work": round(work, 3)}


def judged(model: Any, train: Any, y_train: Any, test: Any, y_test: Any) -> dict[str, Any]:
    """Fit, predict, and return the measures with the seconds of both."""
    clock = Clock()
    model.fit(train, y_train)
    fit = clock.seconds()
    clock = Clock()
    predicted = model.predict(test)
    return measures(y_test, predicted) | {"seconds": {"fit": fit, "predict": clock.seconds()}}


# --- ours ----------------------------------------------------------------------------------------


def plain(parameters: dict[str, float]) -> dict[str, Any]:
    """Judge a setting of the paper."""
    given = corpora.load_documents()
    model = SparseTensorClassifier(**parameters)
    found = judged(model, given.train, given.y_train, given.test, given.y_test)
    return found | {"terms": len(model.get_feature_names_out())}


def tuned(options: dict[str, Any]) -> dict[str, Any]:
    """Judge the settings that cross-validation chooses, words in a row among them."""
    given = corpora.load_documents()
    # Words in a row need documents that are strings; no token of nltk has a blank in it.
    train, test = (list(map(" ".join, part.to_list())) for part in (given.train, given.test))
    model = SparseTensorClassifierCV(tokenizer=str.split, random_state=SEED, **options)
    found = judged(model, train, given.y_train, test, given.y_test)
    chosen = {name: value for name, value in model.best_params_.items() if name != "tokenizer"}
    return found | {
        "chosen": {name: repr(value) for name, value in sorted(chosen.items())},
        "settings_tried": len(model.cv_results_["params"]),
        "score_in_cross_validation": round(float(model.best_score_), 6),
    }


def with_phases(options: dict[str, Any]) -> dict[str, Any]:
    """Judge learnt phases, on the paper's best setting."""
    given = corpora.load_documents()
    learner = PhaseLearner(**(options | {"penalties": tuple(options["penalties"])}))
    model = SparseTensorClassifier(power=1 / 3, phases=learner)
    found = judged(model, given.train, given.y_train, given.test, given.y_test)
    return found | {"sharpness": round(float(model.sharpness_), 4)}


# --- peers ---------------------------------------------------------------------------------------


def _folder_of_models() -> Path:
    return corpora.cache() / f"sklearn-{sklearn.__version__}"


def _kept(name: str, make: Any) -> Any:
    """Return what was made before, or make it and keep it."""
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
    """Return a peer that has learnt 20 Newsgroups."""
    return _kept(name, lambda: _fit_and_judge(name))["model"]


def peer_on_news(name: str) -> dict[str, Any]:
    """Judge a peer at its defaults, and keep it for the third experiment."""
    found: dict[str, Any] = _kept(name, lambda: _fit_and_judge(name))["found"]
    return found


def vectorizing() -> dict[str, Any]:
    """Say what tokens and weights cost, and whether kept tokens give nltk's weights."""
    from nltk import word_tokenize

    corpora.offer_nltk_data()
    texts = corpora.raw_texts().train[:CHECKED]
    # A quick run lowers tokens instead of texts, so it has none to compare: it makes some.
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


def own_step(*, quick: bool) -> Step:
    """Return our part; one after the other, for the times are compared."""
    parts: dict[str, Any] = {name: (plain, (given,)) for name, given in STC.items()}
    settings: dict[str, Any] = {"stc": STC, "seed": SEED}
    if not quick:
        parts |= {"STC, phases": (with_phases, (PHASES,)), "STC, tuned": (tuned, (TUNED,))}
        settings |= {"phases": PHASES, "tuned": TUNED}
    return Step("news_stc", settings, parts, jobs=1)


def peer_step(*, quick: bool) -> Step:
    """Return the peers' part."""
    names = QUICK_PEERS if quick else PEERS
    parts: dict[str, Any] = {name: (peer_on_news, (name,)) for name in names}
    parts["weights"] = (vectorizing, ())
    settings = {"peers": list(names), "seed": SEED}
    return Step("news_peers", settings, parts, before=tfidf, kept=_folder_of_models())
