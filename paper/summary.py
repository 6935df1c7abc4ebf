"""Means, standard errors and tables of the results of the steps."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
import published

Result = dict[str, Any]


class Mean(NamedTuple):
    """A mean, its standard error, and the number of runs."""

    mean: float
    error: float
    runs: int


def mean_of(values: Any) -> Mean:
    """Return the mean of runs and its standard error."""
    array = np.asarray(values, dtype=float)
    error = array.std(ddof=1) / np.sqrt(len(array)) if len(array) > 1 else float("nan")
    return Mean(float(array.mean()), float(error), len(array))


# --- Zoo -----------------------------------------------------------------------------------------


def zoo_runs(result: Result) -> dict[str, np.ndarray]:
    """Return the measures of each model: a row for each split, in the order of the seeds."""
    found: dict[str, list[list[float]]] = {}
    for key in sorted(result["parts"]):
        for name, rows in result["parts"][key].items():
            found.setdefault(name, []).extend(rows)
    order = [*published.ZOO, *sorted(found.keys() - published.ZOO.keys())]
    return {name: np.array(found[name]) for name in order if name in found}


def zoo_table(result: Result, splits: int | None = None) -> dict[str, dict[str, Mean]]:
    """Return the measures of each model, averaged over the first splits, or all of them.

    After the models of the paper come the variants of peers.
    """
    return {
        name: {
            measure: mean_of(rows[:splits, k]) for k, measure in enumerate(published.ZOO_MEASURES)
        }
        for name, rows in zoo_runs(result).items()
    }


class Duel(NamedTuple):
    """Share of runs, without ties, in which a model beats another; its standard error."""

    share: float
    error: float
    ties: int


def duels(result: Result, instead: dict[str, str] | None = None) -> dict[str, dict[str, Duel]]:
    """Compare the weighted F1 of all models on the splits that all have.

    With `instead`, variants stand in for peers.
    """
    everything, instead = zoo_runs(result), instead or {}
    runs = {
        name: everything[instead.get(name, name)] for name in published.ZOO if name in everything
    }
    common = min(map(len, runs.values()))
    f1 = {name: rows[:common, published.ZOO_MEASURES.index("F1")] for name, rows in runs.items()}
    found: dict[str, dict[str, Duel]] = {}
    for row, scores in f1.items():
        found[row] = {}
        for column, other in f1.items():
            if row == column:
                continue
            wins, losses = int((scores > other).sum()), int((scores < other).sum())
            share = wins / max(wins + losses, 1)
            error = np.sqrt(share * (1 - share) / max(wins + losses, 1))
            found[row][column] = Duel(share, float(error), common - wins - losses)
    return found


def duel_mean(row: dict[str, Duel]) -> float:
    """Return the mean of a row as the paper has it: over all models, itself counted as 0."""
    return sum(duel.share for duel in row.values()) / (len(row) + 1)


# --- 20 Newsgroups -------------------------------------------------------------------------------


def news_rows(results: dict[str, Result]) -> dict[str, dict[str, Any]]:
    """Return the measures of every model, ours and the peers'."""
    steps = ("news_stc", "news_learnt", "news_peers")
    parts = {name: part for step in steps for name, part in results[step]["parts"].items()}
    return {name: part for name, part in parts.items() if "accuracy" in part}


def accuracy_error(accuracy: float, documents: int) -> float:
    """Return the standard error of an accuracy on so many documents."""
    return float(np.sqrt(accuracy * (1 - accuracy) / documents))


# --- explanation ---------------------------------------------------------------------------------


def _samples(result: Result) -> list[Result]:
    return [part for _, part in sorted(result["parts"].items()) if "curves" in part]


def documents(result: Result) -> int:
    """Return the number of documents that all methods explained."""
    return sum(part["documents"] for part in _samples(result))


def curves(result: Result) -> dict[str, dict[str, np.ndarray]]:
    """Return the mean curves of each method."""
    totals: dict[str, dict[str, Any]] = defaultdict(lambda: defaultdict(float))
    for part in _samples(result):
        for method, kinds in part["curves"].items():
            for kind, values in kinds.items():
                totals[method][kind] = totals[method][kind] + np.array(values)
    count = documents(result)
    return {
        method: {kind: total / count for kind, total in kinds.items()}
        for method, kinds in totals.items()
    }


def areas(result: Result) -> dict[str, dict[str, float]]:
    """Return the mean height of each curve."""
    return {
        method: {kind: float(values.mean()) for kind, values in kinds.items()}
        for method, kinds in curves(result).items()
    }


def figures(result: Result) -> dict[str, dict[str, float]]:
    """Return the mean of each figure of each method; of seconds the median."""
    lists: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for part in _samples(result):
        for method, kinds in part["figures"].items():
            for kind, values in kinds.items():
                lists[method][kind] += values
    return {
        method: {
            kind: float(np.median(values) if kind == "seconds" else np.mean(values))
            for kind, values in kinds.items()
        }
        for method, kinds in lists.items()
    }


def terms(result: Result) -> dict[str, dict[str, list[str]]]:
    """Return the words of each newsgroup by each method, strongest first."""
    top = result["settings"]["top"]
    found = {
        name: words
        for part in ("STC", "MNB-G")
        for name, words in result["parts"][part].items()
        if name in published.TOP_WORDS
    }
    totals: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for sample in _samples(result):
        for method, labels in sample["terms"].items():
            for label, words in labels.items():
                total = totals[method][label]
                for word, weight in words.items():
                    total[word] = total.get(word, 0.0) + weight
    for method, labels in totals.items():
        if method not in ("STC, contributions", "STC, impact"):
            found[method] = {
                label: sorted(words, key=lambda word: (-words[word], word))[:top]
                for label, words in labels.items()
            }
    return found


def shared_words(result: Result, name: str) -> int:
    """Return how many of the six words of baseball are among the six published ones."""
    said = published.TOP_WORDS[name]
    return len(set(terms(result)[name][published.BASEBALL][: len(said)]) & set(said))


# --- properties ----------------------------------------------------------------------------------


def noise_table(part: Result) -> dict[str, list[Mean]]:
    """Return the accuracy of each setting at each number of random values."""
    return {
        name: [mean_of(column) for column in np.array(rows).T]
        for name, rows in part["accuracies"].items()
    }


def recall_of_rarest(part: Result) -> dict[float, float]:
    """Return the recall of the rarest class at each balance."""
    rarest = part["labels"].index(part["rarest"])
    return {
        balance: row[rarest] for balance, row in zip(part["balances"], part["recalls"], strict=True)
    }


def prior_table(parts: dict[str, Result]) -> dict[str, list[Mean]]:
    """Return the accuracy with and without prior knowledge at each number of animals."""
    return {
        name: [mean_of(column) for column in np.array(rows).T]
        for name, rows in parts["prior_knowledge"]["accuracies"].items()
    }
