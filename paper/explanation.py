"""Experiment 3: the most important words of a newsgroup, and how faithful the explanations are."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import corpora
import news
import numpy as np
import polars as pl
from kernel import FastSVC
from steps import Step, hyper_parameters

from stc import SparseTensorClassifier

PEERS = ("RF", "SVM", "LR", "DT", "KNN", "MNB")
QUICK_PEERS = ("KNN", "MNB")
TOP = 10  # words of a class that are listed
MOST_WORDS = 20  # words of an explanation, and words removed
LONGEST = 500  # distinct words: LIME makes a column of each
SEEDS = (0, 1)

Probabilities = Callable[[list[list[str]]], np.ndarray]
Weighted = list[tuple[str, float]]  # words and their weights for the class, strongest first


# --- models: lists of tokens in, probabilities out -----------------------------------------------


@cache
def own_model() -> SparseTensorClassifier:
    """Return the explained model, p = 1/3."""
    given = corpora.load_documents()
    return SparseTensorClassifier(**news.STC["STC-Q, p=1/3"]).fit(given.train, given.y_train)


def _series(documents: Sequence[Sequence[str]]) -> pl.Series:
    return pl.Series(documents, dtype=pl.List(pl.String))


def own_probabilities(documents: list[list[str]]) -> np.ndarray:
    """Return our probabilities."""
    found: np.ndarray = own_model().predict_proba(_series(documents))
    return found


class Peer:
    """A classifier of scikit-learn for lists of tokens, with TF-IDF weights."""

    def __init__(self, name: str) -> None:
        weights = news.tfidf()
        self._weights: Callable[..., Any] = weights["vectorizer"].transform
        model = news.fitted(name)
        self._model = FastSVC(model, weights["train"]) if name == "SVM" else model

    def __call__(self, documents: list[list[str]]) -> np.ndarray:
        """Return probabilities; for SVM, which has none, the softmax of its decision function."""
        weights = self._weights([[token.lower() for token in tokens] for tokens in documents])
        if hasattr(self._model, "predict_proba"):
            found: np.ndarray = self._model.predict_proba(weights)
            return found
        values = self._model.decision_function(weights)
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


@cache
def probabilities_of(name: str) -> Probabilities:
    """Return the model that a method explains."""
    return own_probabilities if name.startswith("STC") else Peer(name)


# --- methods: a document in, words out -----------------------------------------------------------


def _speaking_for(weights: Iterable[tuple[str, float]]) -> Weighted:
    """Return the words with a positive weight for the class, strongest first."""
    return sorted((pair for pair in weights if pair[1] > 0), key=lambda pair: -pair[1])[:MOST_WORDS]


def by_contributions(tokens: list[str], seed: int) -> Weighted:
    """Rank by the contribution of each word to the score of the class."""
    table = own_model().explain_local(_series([tokens])).table.head(MOST_WORDS)
    return list(zip(table["value"], table["contribution"], strict=True))


def by_impact(tokens: list[str], seed: int) -> Weighted:
    """Rank by the drop of the probability without each word."""
    table = own_model().explain_local(_series([tokens])).impact(0)
    return _speaking_for(zip(table["value"], table["drop"], strict=True))


def at_random(tokens: list[str], seed: int) -> Weighted:
    """Rank at random, as a baseline."""
    words = sorted(set(tokens))
    order = np.random.default_rng(seed).permutation(len(words))[:MOST_WORDS]
    return [(words[k], 0.0) for k in order]


class Lime:
    """LIME on a model: words are removed at random, and a linear model is fitted to the answers.

    All occurrences of a word are removed together, as in our impact.
    """

    def __init__(self, model: Probabilities, samples: int) -> None:
        self._model = model
        self._samples = samples

    def __call__(self, tokens: list[str], seed: int) -> Weighted:
        """Return the words with a positive weight for the class."""
        from lime.lime_text import LimeTextExplainer

        best = int(self._model([tokens])[0].argmax())
        # Tokens hold no blanks, so a document can be passed to LIME as one string.
        found = LimeTextExplainer(split_expression=str.split, random_state=seed).explain_instance(
            " ".join(tokens),
            lambda texts: self._model([text.split() for text in texts]),
            labels=[best],
            num_features=LONGEST,
            num_samples=self._samples,
        )
        return _speaking_for((str(word), float(weight)) for word, weight in found.as_list(best))


Methods = dict[str, Callable[[list[str], int], Weighted]]


def methods(peers: Sequence[str], samples: int) -> Methods:
    """Return all methods by name, which starts with the name of the model."""
    ours: Methods = {"STC, contributions": by_contributions, "STC, impact": by_impact}
    with_lime = {f"{name}, LIME": Lime(probabilities_of(name), samples) for name in peers}
    return {**ours, "STC, LIME": Lime(own_probabilities, samples), **with_lime}


def model_of(method: str) -> str:
    """Return the name of the model that a method explains."""
    return method.split(",")[0]


# --- faithfulness --------------------------------------------------------------------------------


def curves(name: str, tokens: list[str], words: list[str]) -> dict[str, list[float]]:
    """Return deletion and insertion curves: without, and with only, the first 0, 1, ... words.

    They hold the probability of the class, and whether it is the most probable one.
    """
    steps = [set(words[:count]) for count in range(MOST_WORDS + 1)]
    fewer = [[token for token in tokens if token not in away] for away in steps]
    alone = [[token for token in tokens if token in kept] for kept in steps]
    found = probabilities_of(name)(fewer + alone)
    best = int(found[0].argmax())
    probability, first = found[:, best], found.argmax(axis=1) == best
    half = len(steps)
    return {
        "deletion": probability[:half].tolist(),
        "insertion": probability[half:].tolist(),
        "deletion, class kept": first[:half].astype(float).tolist(),
        "insertion, class found": first[half:].astype(float).tolist(),
    }


class RunningCounts:
    """Sums over the documents of a part, for each method."""

    def __init__(self) -> None:
        self.documents = 0
        self._curves: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
        self._lists: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self._terms: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)

    def add_curves(self, method: str, found: dict[str, list[float]]) -> None:
        """Add the curves of a document."""
        for kind, values in found.items():
            self._curves[method][kind] = self._curves[method].get(kind, 0.0) + np.array(values)

    def add_figure(self, method: str, figure: str, value: float) -> None:
        """Add a figure of a document."""
        self._lists[method][figure].append(round(value, 5))

    def add_words(self, method: str, label: str, words: Weighted) -> None:
        """Add the weights of the words for the predicted class."""
        totals = self._terms[method].setdefault(label, {})
        for word, weight in words:
            totals[word] = round(totals.get(word, 0.0) + weight, 5)

    def summary(self) -> dict[str, Any]:
        """Return all as plain data; curves are sums over the documents."""
        return {
            "documents": self.documents,
            "curves": {
                method: {kind: np.round(total, 4).tolist() for kind, total in kinds.items()}
                for method, kinds in self._curves.items()
            },
            "figures": self._lists,
            "terms": self._terms,
        }


@cache
def _stop_words() -> frozenset[str]:
    return corpora.stop_words()


def is_dull(word: str) -> bool:
    """Return whether a word is a stop-word or punctuation."""
    return word.lower() in _stop_words() or corpora.is_punctuation(word)


def _explain(
    tally: RunningCounts,
    method: str,
    explain: Callable[[list[str], int], Weighted],
    tokens: list[str],
    *,
    again: bool,
) -> None:
    """Explain a document, `again` with another seed, and add the results to the tally."""
    model = model_of(method)
    best = int(probabilities_of(model)([tokens])[0].argmax())  # loads lazy parts before the timing
    start = time.perf_counter()
    found = explain(tokens, SEEDS[0])
    tally.add_figure(method, "seconds", time.perf_counter() - start)
    words = [word for word, _ in found]
    tally.add_words(method, str(own_model().classes_[best]), found)
    tally.add_curves(method, curves(model, tokens, words))
    if words:  # LIME may find no word with a positive weight
        dull = np.mean([is_dull(word) for word in words[:TOP]])
        tally.add_figure(method, "dull", float(dull))
    if again:
        other = [word for word, _ in explain(tokens, SEEDS[1])]
        overlap = len(set(words[:TOP]) & set(other[:TOP])) / max(min(TOP, len(words)), 1)
        tally.add_figure(method, "overlap", overlap)


def _drawn(label: str, count: int) -> list[list[str]]:
    """Return random test documents of a newsgroup that are not too long."""
    given = corpora.load_documents()
    short = (given.test.list.unique().list.len() <= LONGEST).to_numpy()
    rows_of_label = np.flatnonzero((given.y_test == label) & short)
    rows = np.random.default_rng(SEEDS[0]).choice(rows_of_label, count, replace=False).tolist()
    return [given.test[k].to_list() for k in rows]


def explain_documents(
    label: str, count: int, twice: int, samples: int, peers: Sequence[str]
) -> dict[str, Any]:
    """Evaluate all methods on documents of a newsgroup; the first `twice` with two seeds."""
    tally = RunningCounts()
    for number, tokens in enumerate(_drawn(label, count)):
        tally.documents += 1
        for method, explain in methods(peers, samples).items():
            _explain(tally, method, explain, tokens, again=number < twice)
        words = [word for word, _ in at_random(tokens, SEEDS[0])]
        for model in ("STC", *peers):
            tally.add_curves(f"{model}, at random", curves(model, tokens, words))
    return tally.summary()


# --- terms of a class, of the whole test set and of the model ------------------------------------


def _listed(table: pl.DataFrame) -> dict[str, list[str]]:
    """Return the first words of each class of a table that has the strongest first."""
    first = table.group_by("class", maintain_order=True).head(TOP)
    return {
        str(label): rows["value"].to_list()
        for (label,), rows in first.sort("class", maintain_order=True).group_by(
            "class", maintain_order=True
        )
    }


def own_terms() -> dict[str, Any]:
    """Return the words of each class: summed over the test set, and of the model (STC-G)."""
    model, test = own_model(), corpora.load_documents().test
    start = time.perf_counter()
    total = model.explain_local(test).aggregate()
    seconds = time.perf_counter() - start
    again = model.explain_local(test).aggregate()
    lists = {"STC": _listed(total), "STC-G": _listed(model.explain_global().table)}
    return lists | {
        "dull_share": dull_shares(lists),
        "seconds": round(seconds, 3),
        "documents": len(test),
        "same_twice": bool(total.equals(again)),
    }


def bayes_terms() -> dict[str, Any]:
    """Return the most probable words of each class by P(t|c) of MNB (MNB-G)."""
    model, vectorizer = news.fitted("MNB"), news.tfidf()["vectorizer"]
    names = vectorizer.get_feature_names_out()
    order = np.argsort(-model.feature_log_prob_, axis=1, kind="stable")[:, :TOP]
    lists = {
        "MNB-G": {
            str(label): names[rows].tolist()
            for label, rows in zip(model.classes_, order, strict=True)
        }
    }
    return lists | {"dull_share": dull_shares(lists)}


def dull_shares(found: dict[str, Any]) -> dict[str, float]:
    """Return the share of stop-words and punctuation in the words of all classes."""
    return {
        name: round(
            float(np.mean([is_dull(word) for words in lists.values() for word in words])), 4
        )
        for name, lists in found.items()
        if isinstance(lists, dict)
    }


def step(
    per_class: int, twice: int, samples: int, labels: Sequence[str], peers: Sequence[str]
) -> Step:
    """Return the experiment."""
    parts: dict[str, Any] = {"STC": (own_terms, ()), "MNB-G": (bayes_terms, ())}
    for label in labels:
        parts[label] = (explain_documents, (label, per_class, twice, samples, tuple(peers)))
    settings = {
        "documents_per_class": per_class,
        "explained_twice": twice,
        "samples": samples,
        "labels": list(labels),
        "peers": list(peers),
        "most_words": MOST_WORDS,
        "longest": LONGEST,
        "top": TOP,
        "seeds": list(SEEDS),
        "model": hyper_parameters(news.STC["STC-Q, p=1/3"]),
    }

    def peers_learnt() -> None:
        for name in peers:
            news.fitted(name)

    return Step("explanation", settings, parts, before=peers_learnt)
