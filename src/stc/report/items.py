"""The items of the page as plain data, with contributions to a few classes of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.explain import Answers, LocalExplanation
from stc.explain.answers import value_of
from stc.explain.highlight import document_text, token_spans
from stc.report.names import Names, clipped

# Maximal number of classes with contributions per item: of a table, and of other data.
_CLASSES, _CLASSES_LONG = 8, 4
# Maximal number per item of values, of unseen values, of probabilities, of characters of the text.
_VALUES, _VALUES_LONG, _UNSEEN, _PROBABILITIES, _TEXT_LENGTH = 200, 60, 60, 6, 20_000
# Maximal number of counterfactuals of correct items; of all items where each needs a search.
_COUNTERFACTUALS, _COUNTERFACTUALS_SEARCHED, _COUNTERFACTUALS_TEXT = 200, 20, 5
# Maximal work for all counterfactuals (values x classes, some 20 seconds), and a minimum per item.
_WORK, _WORK_PER_ITEM = 7_000_000, 2500
_SENTENCE_LENGTH = 600
# Shares and probabilities are stored as integers, in ten-thousandths.
_UNITS = 10_000

# An attribute and its value.
Cell = tuple[str | None, str | None]


def share_units(share: float) -> int:
    """Return a share in ten-thousandths; 0 if it is not finite."""
    return round(share * _UNITS) if np.isfinite(share) else 0


@dataclass(frozen=True, eq=False)
class ItemData:
    """Builds the data of each item.

    Attributes
    ----------
    answers
        Answers for the items of the page.
    numbers
        Their numbers in the batch.
    true
        Whether each label is true, if known: items x labels.
    mistaken
        Whether any label is predicted wrongly.
    predicted
        Whether each class is predicted: items x classes.
    names
        The names of the page; new names are added.
    """

    answers: Answers
    numbers: NDArray[np.int64]
    true: NDArray[np.bool_] | None
    mistaken: NDArray[np.bool_]
    predicted: NDArray[np.bool_]
    names: Names

    @property
    def _long(self) -> bool:
        return self.answers.model.schema.kind != "table"

    @property
    def _interacting(self) -> bool:
        """Whether a feature may consist of several values."""
        model = self.answers.model
        return model.interactions.enabled or len(model.dimensions.names) > 1

    @property
    def _n_slots(self) -> int:
        return int(self.slots.shape[1])

    def listed(self) -> list[dict[str, Any]]:
        """Return one dict per item, with short keys, as there may be many."""
        documents = self.answers.documents
        sets = self.answers.sets()
        counterfactuals = self._counterfactuals()
        items = []
        for place, number in enumerate(self.numbers.tolist()):
            cells = self._shown_cells(place)
            data = {
                "n": number,
                "p": int(self.answers.best[place]),
                "c": share_units(float(self.answers.coverage[place])),
                "pr": self._probabilities(place),
                "k": self.slots[place].tolist(),
                "sc": [round(float(score), 6) for score in self._scores[place]],
                "u": [self.names.of_value(*cell) for cell in cells],
                "us": self._slot_units(self._share(place, cell) for cell in cells),
                "un": [self.names.of_value(*cell) for cell in self._unseen[place][:_UNSEEN]],
                "un+": max(len(self._unseen[place]) - _UNSEEN, 0),
                "cf": counterfactuals.get(place),
                "by": sets[place],
            }
            if self.true is not None:
                data["t"] = np.flatnonzero(self.true[place]).tolist()
                data["x"] = bool(self.mistaken[place])
            if self.answers.model.form.multilabel:
                data["ps"] = np.flatnonzero(self.predicted[place]).tolist()
            if self._interacting or self.answers.model.scales:
                data |= self._features_of(place)
            if documents is not None:
                data |= self._marked(place, document_text(documents[place]), cells)
            items.append(data)
        return items

    # --- classes ------------------------------------------------------------------------------

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """Numbers of the classes shown for each item: predicted, true, most probable others."""
        priority = self.answers.probabilities.copy()
        n_classes = priority.shape[1]
        if self.true is not None:
            priority += 2.0 * self.true[:, :n_classes]
        priority[np.arange(len(priority)), self.answers.best] = np.inf
        shown = min(n_classes, _CLASSES_LONG if self._long else _CLASSES)
        order: NDArray[np.int64] = np.argsort(-priority, axis=1, kind="stable")[:, :shown]
        return order

    def _probabilities(self, place: int) -> list[list[int]]:
        P = self.answers.probabilities[place]
        likely = np.argsort(-P, kind="stable")[:_PROBABILITIES].tolist()
        likely += [k for k in self.slots[place].tolist()[:2] if k not in likely]
        return [[k, share_units(float(P[k]))] for k in likely]

    @cached_property
    def _tables(self) -> list[pl.DataFrame]:
        """Contributions of all items to the first class shown, to the second, ..."""
        return [LocalExplanation(self.answers, classes).table for classes in self.slots.T]

    @cached_property
    def _scores(self) -> NDArray[np.float64]:
        """Scores of the classes shown, relative to the highest one of the item."""
        along = pl.col("contribution") * pl.col("phase").cos()
        scores = np.zeros(self.slots.shape)
        for slot, table in enumerate(self._tables):
            sums = table.group_by("item").agg(score=along.sum())
            scores[sums["item"].to_numpy(), slot] = np.abs(sums["score"].to_numpy())
        highest = np.maximum(scores.max(axis=1, keepdims=True), np.finfo(float).tiny)
        return np.asarray(scores / highest)

    # --- values -------------------------------------------------------------------------------

    @cached_property
    def _shares(self) -> list[dict[Cell, NDArray[np.float64]]]:
        """Shares of each value of each item in the scores of the classes shown."""
        return self._sums(map(self._by_value, self._tables))

    def _sums(self, tables: Iterable[pl.DataFrame]) -> list[dict[Any, NDArray[np.float64]]]:
        """Return the shares by class of each key of each item, from a table per class.

        The tables have the columns `item`, those of the key, and `share`.
        """
        shares: list[dict[Any, NDArray[np.float64]]] = [{} for _ in self.numbers]
        for slot, table in enumerate(tables):
            for item, *key, share in table.iter_rows():
                by_class = shares[item].setdefault(tuple(key), np.zeros(self._n_slots))
                by_class[slot] += share
        return shares

    def _slot_units(self, shares: Iterable[NDArray[np.float64]]) -> list[list[int]]:
        """Return shares by class, in ten-thousandths."""
        columns = list(shares)
        return [[share_units(column[slot]) for column in columns] for slot in range(self._n_slots)]

    def _by_value(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the share of each value; a feature is divided equally among its values."""
        parts = table.select("item", "attribute", "value", "share")
        if parts["value"].dtype == pl.List(pl.String):
            equal = pl.col("share") / pl.col("value").list.len()
            parts = parts.with_columns(equal).explode("attribute", "value")
        scaled = list(self.answers.model.scales)
        if scaled:  # a number is identified by its attribute, not by its interval
            unscaled = ~pl.col("attribute").is_in(scaled)
            parts = parts.with_columns(value=pl.when(unscaled).then("value"))
        keys = ["item", "attribute", "value"]
        return parts.group_by(keys, maintain_order=True).agg(pl.col("share").sum())

    def _share(self, place: int, cell: Cell) -> NDArray[np.float64]:
        scaled = cell[0] in self.answers.model.scales
        key = (cell[0], None) if scaled else cell
        return self._shares[place].get(key, np.zeros(self._n_slots))

    @cached_property
    def _cells(self) -> list[list[Cell]]:
        """The values of each item."""
        cells: list[list[Cell]] = [[] for _ in self.numbers]
        for column in self.answers.raw.columns:
            if column.conjunction:
                continue
            items, codes, _ = column.entries()
            for item, code in zip(items.tolist(), codes.tolist(), strict=True):
                cells[item].append((column.attribute, value_of(column, code)))
        return cells

    def _shown_cells(self, place: int) -> list[Cell]:
        """Return the values to show: of a table in their order, otherwise strongest first."""
        cells = list(dict.fromkeys(self._cells[place]))
        strength = {cell: float(np.abs(self._share(place, cell)).max()) for cell in cells}
        strongest = sorted(cells, key=lambda cell: -strength[cell])
        if self._long:
            return [cell for cell in strongest[:_VALUES_LONG] if strength[cell]]
        shown = set(strongest[:_VALUES])
        return [cell for cell in cells if cell in shown]

    @cached_property
    def _unseen(self) -> dict[int, list[Cell]]:
        unseen: dict[int, list[Cell]] = defaultdict(list)
        for item, attribute, value, _ in self.answers.unseen().iter_rows():
            unseen[item].append((attribute, value))
        return unseen

    # --- features of several values -----------------------------------------------------------

    @cached_property
    def _feature_shares(self) -> list[dict[tuple[str], NDArray[np.float64]]]:
        """Shares of each feature of each item in the scores of the classes shown."""
        strength = pl.col("share").abs()
        return self._sums(
            table.sort(strength, descending=True, maintain_order=True).select(
                "item", "feature", "share"
            )
            for table in self._tables
        )

    def _features_of(self, place: int) -> dict[str, Any]:
        shares = self._feature_shares[place]
        strongest = sorted(shares, key=lambda feature: -float(np.abs(shares[feature]).max()))
        shown = strongest[:_VALUES_LONG]
        return {
            "f": [self.names.of_text(feature) for (feature,) in shown],
            "fs": self._slot_units(shares[feature] for feature in shown),
        }

    # --- texts --------------------------------------------------------------------------------

    def _marked(self, place: int, text: str, cells: list[Cell]) -> dict[str, Any]:
        """Return the text in pieces, every second one a word, and the value of each word."""
        number = {value: k for k, (_, value) in enumerate(cells)}
        number |= dict.fromkeys((value for _, value in self._unseen[place]), -1)
        tokens = {value for _, value in self._cells[place] if value is not None}
        pieces, marks, position = [], [], 0
        for start, end, token in token_spans(text, tokens):
            if token in number and end <= _TEXT_LENGTH:
                pieces += [text[position:start], text[start:end]]
                marks.append(number[token])
                position = end
        pieces.append(text[position : max(_TEXT_LENGTH, position)])
        return {"s": pieces, "m": marks, "cut": len(text) if len(text) > _TEXT_LENGTH else 0}

    # --- counterfactuals ----------------------------------------------------------------------

    def _counterfactuals(self) -> dict[int, str]:
        """Return counterfactuals as sentences, of as many items as the limits allow."""
        explanation = LocalExplanation(self.answers)
        return {
            place: clipped(explanation.counterfactual(place).sentence(), _SENTENCE_LENGTH)
            for place in self._counterfactual_items()
        }

    def _counterfactual_items(self) -> list[int]:
        """Return mistakes first, then the first items; few where each needs a search.

        Work is counted, not timed, so that the page is the same on every machine.
        """
        order = np.argsort(~self.mistaken, kind="stable")
        if self._interacting or self.answers.cascade.amplitudes:
            limit = _COUNTERFACTUALS_TEXT if self._long else _COUNTERFACTUALS_SEARCHED
            return list(order[:limit].tolist())
        candidates = order[self.mistaken[order] | (order < _COUNTERFACTUALS)]
        n_values = np.array([len(self._cells[place]) for place in candidates], dtype=np.int64)
        n_classes = self.answers.probabilities.shape[1]
        work = _WORK_PER_ITEM + (n_values + len(self.answers.raw.columns)) * n_classes
        return list(candidates[np.cumsum(work) <= _WORK].tolist())
