"""Evaluation: predictions compared with the truth, for scores, reports and the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from stc._core.formulas import Floats
from stc._core.labels import label_list, places_of, union_of_classes
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.target import Target
from stc._input.targets import encode_sample_weight, encode_targets
from stc.exceptions import DataError
from stc.explain import Answers
from stc.explain.names import ClassNames, label_text
from stc.fitted import FittedModel
from stc.sources import Source
from stc.sources.columns import item_columns, items_in
from stc.sources.learning_task import map_rows

# Lower bound of a probability in the log-loss, as in scikit-learn.
_SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
# Probabilities that are in memory at a time.
_NUMBERS_AT_A_TIME = 5_000_000


@dataclass(frozen=True, eq=False)
class Comparison:
    """Predicted and true labels of items.

    Attributes
    ----------
    labels
        The classes of the model, then labels that it never learnt.
    true, predicted
        The place of each item's label among `labels`; with several labels an item, which labels
        it has (items x labels).
    """

    labels: Sequence[Any]
    true: NDArray[Any]
    predicted: NDArray[Any]

    @property
    def multilabel(self) -> bool:
        """Whether an item may have several labels."""
        return self.true.ndim == 2

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Which items are predicted right, in all of their labels."""
        equal = self.true == self.predicted
        return np.asarray(equal.all(axis=1) if self.multilabel else equal)


def compare(fitted: FittedModel, items: Observations | Answers, target: Target) -> Comparison:
    """Compare the predictions for items with their target.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    items : Observations or Answers
        The items, encoded, or with scores that are computed already.
    target : Target
        Their true classes, encoded.

    Returns
    -------
    Comparison
        True and predicted labels. Of a soft label, the most probable class is true.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> from stc.evaluation import compare
    >>> fitted = SparseTensorClassifier().fit([["a"], ["b"]], ["x", "y"]).fitted_
    >>> items = fitted.observe([["a"], ["a"]])
    >>> target = fitted.reader.target(None, ["x", "z"], fitted.model)
    >>> compare(fitted, items, target).correct.tolist()
    [True, False]
    """
    model = fitted.model
    model.form.merged(target.form)
    n_items = items.raw.n_items if isinstance(items, Answers) else items.n_items
    target.check_length(n_items)
    labels, codes_of_values = _placed(target, model)
    cells, codes, weights = target.column.entries()
    if model.form.multilabel:
        true = np.zeros((n_items, len(labels)), dtype=bool)
        true[cells, codes_of_values[codes]] = True
        predicted = np.zeros_like(true)
        predicted[:, : len(model.classes)] = fitted.chosen_classes(items)
        return Comparison(labels, true, predicted)
    order = np.arange(len(cells)) if weights is None else np.argsort(weights, kind="stable")
    most_probable = np.zeros(n_items, dtype=np.int64)
    most_probable[cells[order]] = codes_of_values[codes[order]]
    return Comparison(labels, most_probable, fitted.most_probable(items))


def _placed(target: Target, model: Model) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the classes of a model and then unknown labels, and the place of each value."""
    values = np.asarray(target.column.values)
    union_of_classes(model.classes, values)  # refuses numbers where texts were learnt
    places = places_of(model.classes, values)
    unknown = places == len(model.classes)
    places[unknown] += np.arange(np.count_nonzero(unknown))
    return [*ClassNames(model).labels, *label_list(values[unknown])], places


@dataclass
class Evaluation:
    """Sums over batches of compared items, from which the figures follow.

    Attributes
    ----------
    items, weight, correct, loss
        Number of items, their weight, the weight of those predicted right, and the sum of the
        negative logarithm of the probability of the true class.
    confusion
        Weight of the items of each (true class, predicted class).
    label_counts
        With several labels an item, for each label: the weight of items that have it and are
        predicted to, that are predicted to only, and that have it only.
    """

    items: int = 0
    weight: float = 0.0
    correct: float = 0.0
    loss: float = 0.0
    confusion: Counter[tuple[Any, Any]] = field(default_factory=Counter)
    label_counts: dict[Any, Floats] = field(default_factory=dict)

    @property
    def accuracy(self) -> float:
        """Share of the items that are predicted right; NaN without any."""
        return self.correct / self.weight if self.weight else float("nan")

    def add(
        self, comparison: Comparison, weight: Floats, probabilities: Floats | None = None
    ) -> None:
        """Add the items of a batch.

        Parameters
        ----------
        comparison : Comparison
            Their true and predicted labels.
        weight : ndarray
            Their weights.
        probabilities : ndarray, default=None
            Their probabilities, for the log-loss.

        Examples
        --------
        >>> import numpy as np
        >>> from stc.evaluation import Comparison, Evaluation
        >>> evaluation = Evaluation()
        >>> pair = np.array([0, 1]), np.array([0, 0])
        >>> evaluation.add(Comparison(["x", "y"], *pair), np.ones(2))
        >>> evaluation.accuracy, dict(evaluation.confusion)
        (0.5, {('x', 'x'): 1.0, ('y', 'x'): 1.0})
        """
        self.items += len(weight)
        self.weight += float(weight.sum())
        self.correct += float(weight[comparison.correct].sum())
        if comparison.multilabel:
            self._add_labels(comparison, weight)
            return
        labels, true, predicted = comparison.labels, comparison.true, comparison.predicted
        if probabilities is not None:
            known = true < probabilities.shape[1]
            stated = np.zeros(len(true))
            stated[known] = probabilities[known, true[known]]
            self.loss -= float(np.log(np.clip(stated, _SMALLEST_PROBABILITY, 1.0)) @ weight)
        pairs, place = np.unique(true * len(labels) + predicted, return_inverse=True)
        sums = np.bincount(place, weight, minlength=len(pairs))
        for pair, total in zip(pairs.tolist(), sums.tolist(), strict=True):
            self.confusion[labels[pair // len(labels)], labels[pair % len(labels)]] += total

    def _add_labels(self, comparison: Comparison, weight: Floats) -> None:
        true, predicted = comparison.true, comparison.predicted
        cells = [true & predicted, predicted & ~true, true & ~predicted]
        counts = np.stack([weight @ cell for cell in cells], axis=1)
        for label, count in zip(comparison.labels, counts, strict=True):
            self.label_counts[label] = self.label_counts.get(label, np.zeros(3)) + count

    def figures(self, targets: Sequence[str]) -> dict[str, Any]:
        """Return accuracy, log-loss, precision, recall, F1 and confusion matrix as plain data.

        Parameters
        ----------
        targets : sequence of str
            Names of the targets; of several, each has figures of its own.

        Returns
        -------
        dict
            What JSON can write.

        Examples
        --------
        >>> import numpy as np
        >>> from stc.evaluation import Comparison, Evaluation
        >>> evaluation = Evaluation()
        >>> pair = np.array([0, 1]), np.array([0, 0])
        >>> evaluation.add(Comparison(["x", "y"], *pair), np.ones(2))
        >>> [row["recall"] for row in evaluation.figures(["class"])["classes"]]
        [1.0, 0.0]
        """
        if not self.weight:
            raise DataError("every item has the weight 0: there is nothing to judge")
        figures: dict[str, Any] = {"items": self.items, "accuracy": self.accuracy}
        if self.label_counts:
            return figures | _label_figures(self.label_counts)
        figures["log_loss"] = self.loss / self.weight
        if len(targets) == 1:
            return figures | _class_figures(self.confusion)
        parts = {}
        for place, name in enumerate(targets):
            confusion: Counter[tuple[Any, Any]] = Counter()
            for (true, predicted), weight in self.confusion.items():
                confusion[true[place], predicted[place]] += weight
            correct = sum(weight for pair, weight in confusion.items() if pair[0] == pair[1])
            parts[name] = {"accuracy": correct / self.weight} | _class_figures(confusion)
        return figures | {"targets": parts}


def _class_figures(confusion: Counter[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the figures of each class that is true or predicted of any item."""
    present = {pair: weight for pair, weight in confusion.items() if weight}
    labels = sorted({label for pair in present for label in pair}, key=_label_order)
    places = {label: place for place, label in enumerate(labels)}
    true, predicted = (
        np.array([places[pair[side]] for pair in present], dtype=np.int64) for side in (0, 1)
    )
    weight = np.array(list(present.values()))
    ordered = sorted(present.items(), key=lambda cell: (-cell[1], _label_order(cell[0][0])))
    cells = [
        {"true": pair[0], "predicted": pair[1], "items": _whole(total)} for pair, total in ordered
    ]
    averages = label_scores(labels, true, predicted, weight, ("macro", "weighted"))
    return {**averages, "confusion": cells}


def _label_figures(counts: dict[Any, Floats]) -> dict[str, Any]:
    """Return the figures of each label, where an item may have several."""
    labels = sorted(counts, key=_label_order)
    # Three weighted items for each label: it is true and predicted, only predicted, only true.
    columns = np.arange(len(labels))
    true, predicted = (
        sparse.coo_matrix(
            (np.ones(2 * len(labels), dtype=np.int64), (rows.ravel(), np.tile(columns, 2))),
            shape=(3 * len(labels), len(labels)),
        ).tocsr()
        for rows in (
            np.stack([3 * columns, 3 * columns + 2]),
            np.stack([3 * columns, 3 * columns + 1]),
        )
    )
    weight = np.concatenate([counts[label] for label in labels])
    return label_scores(labels, true, predicted, weight, ("micro", "macro"))


def label_scores(
    labels: Sequence[Any], true: Any, predicted: Any, weight: Floats, averages: Iterable[str]
) -> dict[str, Any]:
    """Return precision, recall and F1 of each label, and their averages, by scikit-learn."""
    from sklearn.metrics import precision_recall_fscore_support

    def scores(average: str | None) -> Any:
        places = np.arange(len(labels))
        return precision_recall_fscore_support(
            true, predicted, labels=places, sample_weight=weight, average=average, zero_division=0
        )

    rows = [
        {"class": label, "precision": p, "recall": r, "f1": f, "support": _whole(support)}
        for label, p, r, f, support in zip(
            labels, *(column.tolist() for column in scores(None)), strict=True
        )
    ]
    names = ("precision", "recall", "f1")
    means = {
        average: dict(zip(names, map(float, scores(average)[:3]), strict=True))
        for average in averages
    }
    return {"classes": rows, **means}


def _whole(weight: float) -> int | float:
    return int(weight) if float(weight).is_integer() else float(weight)


def _label_order(label: Any) -> tuple[Any, ...]:
    """Sort numbers by size, before texts."""
    number = isinstance(label, int | float)
    return (not number, label if number else 0, label_text(label))


def evaluate_source(
    fitted: FittedModel,
    chosen: Source,
    targets: Sequence[str],
    weight: str | None = None,
) -> Evaluation:
    """Evaluate a model on a source, batch by batch.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    chosen : Source
        The source.
    targets : sequence of str
        The columns of the true classes.
    weight : str, default=None
        The column of the weight of each item.

    Returns
    -------
    Evaluation
        The sums; without rows, that of nothing.

    Examples
    --------
    >>> import polars as pl
    >>> import stc
    >>> from stc.evaluation import evaluate_source
    >>> data = stc.source(pl.LazyFrame({"legs": [4, 2], "class": ["dog", "hen"]}))
    >>> fitted = stc.SparseTensorClassifier().fit(data, "class").fitted_
    >>> evaluate_source(fitted, data, ["class"]).accuracy
    1.0
    """
    items = item_columns(chosen, fitted.state)
    others = dict.fromkeys(name for name in (*targets, weight) if name and name not in items)
    rows = max(1, _NUMBERS_AT_A_TIME // len(fitted.model.classes))
    evaluation = Evaluation()

    def add(frame: pl.DataFrame) -> None:
        target = encode_targets({name: frame[name] for name in targets})
        cells = None if weight is None else frame[weight].to_list()
        weights = encode_sample_weight(cells, frame.height, column=weight)
        answers = fitted.answers(items_in(frame, items, fitted.state))
        evaluation.add(compare(fitted, answers, target), weights, answers.probabilities)

    batches = chosen.backend.frames((*items, *others))
    for _ in map_rows(add, (frame for batch in batches for frame in batch.iter_slices(rows))):
        pass
    return evaluation
