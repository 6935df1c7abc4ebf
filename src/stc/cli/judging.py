"""How good a model is on data of any size: counts of who is taken for whom, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.target import Target
from stc._input import encode_targets
from stc.explain import Answers
from stc.explain.names import text_of
from stc.report.truth import predicted_labels

# What a class is held to have at least when the log-loss is taken, as scikit-learn does.
_LEAST = float(np.finfo(np.float64).eps)
Floats = NDArray[np.float64]


@dataclass
class Verdict:
    """What is found in judging a model, batch by batch.

    Attributes
    ----------
    items, weight, right, loss
        Items, their weight, that of those predicted right, and the sum of `-ln` of the
        probability of the true class.
    pairs
        The weight of the items of each (true class, predicted class).
    labels
        Of several labels an item: for each label, the weight of items that have it and are said
        to, that are said to only, and that have it only.
    """

    items: int = 0
    weight: float = 0.0
    right: float = 0.0
    loss: float = 0.0
    pairs: Counter[tuple[Any, Any]] = field(default_factory=Counter)
    labels: dict[Any, Floats] = field(default_factory=dict)

    def judge(self, model: Any, items: Any, truth: Mapping[str, Any], weight: Floats) -> None:
        """Take the items of a batch into account."""
        answers: Answers = model.explain(items)._answers
        target = encode_targets(truth)
        answers.model.form.joined(target.form, "the data")
        self.items += len(weight)
        self.weight += float(weight.sum())
        if answers.model.form.multilabel:
            self._judge_sets(answers, target, predicted_labels(model, answers), weight)
        else:
            self._judge_classes(answers, target, weight)

    def _judge_classes(self, answers: Answers, target: Target, weight: Floats) -> None:
        places = {label: place for place, label in enumerate(answers.names.labels)}
        values = np.asarray(target.column.values, dtype=object).tolist()
        true = np.array([places.setdefault(own, len(places)) for own in values])
        true = true[target.column.codes]
        known = true < len(answers.names.labels)
        given = np.zeros(len(true))
        given[known] = answers.probabilities[known, true[known]]
        self.loss -= float(np.log(np.clip(given, _LEAST, 1.0)) @ weight)
        self.right += float(weight[true == answers.best].sum())
        pairs, place = np.unique(true * len(places) + answers.best, return_inverse=True)
        labels = list(places)
        for pair, sum_ in zip(pairs.tolist(), np.bincount(place, weight).tolist(), strict=True):
            own, other = divmod(pair, len(places))
            self.pairs[labels[own], labels[other]] += sum_

    def _judge_sets(
        self, answers: Answers, target: Target, said: NDArray[np.bool_], weight: Floats
    ) -> None:
        places = {label: place for place, label in enumerate(answers.names.labels)}
        values = np.asarray(target.column.values, dtype=object).tolist()
        of_value = np.array([places.setdefault(own, len(places)) for own in values])
        items, codes, _ = target.column.entries()
        true = np.zeros((len(weight), len(places)), dtype=bool)
        true[items, of_value[codes]] = True
        predicted = np.zeros_like(true)
        predicted[:, : said.shape[1]] = said
        self.right += float(weight[(true == predicted).all(axis=1)].sum())
        cells = [true & predicted, predicted & ~true, true & ~predicted]
        counts = np.stack([weight @ own for own in cells], axis=1)
        for label, place in places.items():
            self.labels[label] = self.labels.get(label, np.zeros(3)) + counts[place]

    # --- what follows ---------------------------------------------------------------------

    def figures(self, targets: Sequence[str]) -> dict[str, Any]:
        """Accuracy and the rest, as plain data."""
        if not self.weight:
            raise ValueError("every item has the weight 0: there is nothing to judge")
        found: dict[str, Any] = {"items": self.items, "accuracy": self.right / self.weight}
        if self.labels:
            return found | _of_labels(self.labels)
        found["log_loss"] = self.loss / self.weight
        if len(targets) == 1:
            return found | _of_classes(self.pairs)
        parts = {}
        for place, name in enumerate(targets):
            pairs: Counter[tuple[Any, Any]] = Counter()
            for (true, predicted), weight in self.pairs.items():
                pairs[true[place], predicted[place]] += weight
            right = sum(weight for (true, said), weight in pairs.items() if true == said)
            parts[name] = {"accuracy": right / self.weight} | _of_classes(pairs)
        return found | {"targets": parts}


def _of_classes(pairs: Counter[tuple[Any, Any]]) -> dict[str, Any]:
    """The figures of each class that is true or predicted of any item; who is taken for whom."""
    seen = {label for pair, weight in pairs.items() if weight for label in pair}
    counts = {label: np.zeros(3) for label in sorted(seen, key=_ordered)}
    for (true, said), weight in pairs.items():
        if weight and true == said:
            counts[true][0] += weight
        elif weight:
            counts[said][1] += weight
            counts[true][2] += weight
    confused = sorted(pairs.items(), key=lambda own: (-own[1], _ordered(own[0][0])))
    confusion = [
        {"true": true, "predicted": said, "items": _whole(weight)}
        for (true, said), weight in confused
        if weight
    ]
    return {**_averaged(counts, ("macro", "weighted")), "confusion": confusion}


def _of_labels(counts: Mapping[Any, Floats]) -> dict[str, Any]:
    ordered = {label: counts[label] for label in sorted(counts, key=_ordered)}
    return _averaged(ordered, ("micro", "macro"))


def _averaged(counts: Mapping[Any, Floats], averages: Iterable[str]) -> dict[str, Any]:
    rows = [
        {"class": label, **_scores(*own), "support": _whole(own[0] + own[2])}
        for label, own in counts.items()
    ]
    table = pl.DataFrame([{k: v for k, v in row.items() if k != "class"} for row in rows])
    kinds: dict[str, Callable[[], dict[str, float]]] = {
        "micro": lambda: _scores(*np.sum(list(counts.values()), axis=0)),
        "macro": lambda: table.select("precision", "recall", "f1").mean().row(0, named=True),
        "weighted": lambda: {
            name: float(np.average(table[name], weights=table["support"]))
            for name in ("precision", "recall", "f1")
        },
    }
    return {"classes": rows, **{name: kinds[name]() for name in averages}}


def _scores(both: float, said: float, true: float) -> dict[str, float]:
    """Precision, recall and F1; 0 where there is nothing to divide by."""

    def share(part: float, whole: float) -> float:
        return float(part / whole) if whole else 0.0

    f1 = share(2 * both, 2 * both + said + true)
    return {"precision": share(both, both + said), "recall": share(both, both + true), "f1": f1}


def _whole(weight: float) -> int | float:
    return int(weight) if float(weight).is_integer() else float(weight)


def _ordered(label: Any) -> tuple[Any, ...]:
    """Numbers by their size, before texts."""
    number = isinstance(label, int | float)
    return (not number, label if number else 0, text_of(label))
