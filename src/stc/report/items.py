"""The items of the page as plain data: the strongest contributions to a few classes of each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc.explain import Answers, LocalExplanation
from stc.explain.highlight import document_text, token_spans
from stc.report.names import Names, clipped
from stc.report.truth import Truth

# Classes whose contributions are kept for each item: of tables, and of long items.
_CLASSES, _CLASSES_LONG = 8, 4
# Values, features and never-seen values of an item; probabilities; characters of its text.
_VALUES, _VALUES_LONG, _UNSEEN, _LIKELY, _LONGEST_TEXT = 200, 60, 60, 6, 20_000
# Counterfactuals beside those of mistakes; and in all, where a search is needed for each.
_COUNTERFACTUALS, _COUNTERFACTUALS_SEARCHED, _COUNTERFACTUALS_TEXT = 200, 20, 5
# Work (values x classes, and that of any item) that all of them may be: some 20 seconds.
_WORK, _WORK_OF_ANY = 7_000_000, 2500
_LONGEST_SENTENCE = 600
# Numbers are written as whole ten-thousandths.
_UNITS = 10_000

# An attribute and its value.
Cell = tuple[str | None, str | None]


def share_units(share: float) -> int:
    """A share in whole ten-thousandths; 0 where there is none."""
    return round(share * _UNITS) if np.isfinite(share) else 0


@dataclass(frozen=True, eq=False)
class ItemData:
    """What the page says of each item.

    Attributes
    ----------
    answers
        Of the items of the page.
    numbers
        Their numbers in the batch.
    truth
        What is true of them, if it is known.
    predicted
        Which classes are predicted for each: items x classes.
    names
        The names of the page, which grow.
    """

    answers: Answers
    numbers: NDArray[np.int64]
    truth: Truth | None
    predicted: NDArray[np.bool_]
    names: Names

    @property
    def _long(self) -> bool:
        return self.answers.model.schema.kind != "table"

    @property
    def _conjoined(self) -> bool:
        """Whether features are something else than the values of the item."""
        model = self.answers.model
        return model.interactions.made or len(model.dimensions.names) > 1 or bool(model.scales)

    def listed(self) -> list[dict[str, Any]]:
        """One dict an item, with short keys, as there may be many."""
        texts = self._texts()
        sets = self.answers.sets()
        changes = self._counterfactuals()
        found = []
        for place, number in enumerate(self.numbers.tolist()):
            cells = self._kept_cells(place)
            known = {
                "n": number,
                "p": int(self.answers.best[place]),
                "c": share_units(float(self.answers.coverage[place])),
                "pr": self._probabilities(place),
                "k": self.slots[place].tolist(),
                "sc": [round(float(score), 6) for score in self._scores[place]],
                "u": [self.names.of_value(*cell) for cell in cells],
                "us": self._of_cells(place, cells),
                "un": [self.names.of_value(*cell) for cell in self._unseen[place][:_UNSEEN]],
                "un+": max(len(self._unseen[place]) - _UNSEEN, 0),
                "cf": changes.get(place),
                "by": sets[place],
            }
            if self.truth is not None:
                known["t"] = np.flatnonzero(self.truth.true[place]).tolist()
                known["x"] = bool(self.truth.mistaken[place])
            if self.answers.model.form.multilabel:
                known["ps"] = np.flatnonzero(self.predicted[place]).tolist()
            if self._conjoined:
                known |= self._features_of(place)
            if texts is not None:
                known |= self._marked(place, texts[place], cells)
            found.append(known)
        return found

    # --- classes ------------------------------------------------------------------------------

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The classes kept for each item: predicted, true, and the most probable others."""
        priority = self.answers.probabilities.copy()
        n_classes = priority.shape[1]
        if self.truth is not None:
            priority += 2.0 * self.truth.true[:, :n_classes]
        priority[np.arange(len(priority)), self.answers.best] = np.inf
        kept = min(n_classes, _CLASSES_LONG if self._long else _CLASSES)
        order: NDArray[np.int64] = np.argsort(-priority, axis=1, kind="stable")[:, :kept]
        return order

    def _probabilities(self, place: int) -> list[list[int]]:
        P = self.answers.probabilities[place]
        likely = np.argsort(-P, kind="stable")[:_LIKELY].tolist()
        likely += [k for k in self.slots[place].tolist()[:2] if k not in likely]
        return [[k, share_units(float(P[k]))] for k in likely]

    @cached_property
    def _tables(self) -> list[pl.DataFrame]:
        """Contributions of all items, to the first class kept of each, to the second, ..."""
        return [LocalExplanation(self.answers, own).table for own in self.slots.T]

    @cached_property
    def _scores(self) -> NDArray[np.float64]:
        """The score of each class kept, the highest of the item being 1."""
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
        """For each item what each of its values adds to the classes kept, as shares."""
        shares: list[dict[Cell, NDArray[np.float64]]] = [{} for _ in self.numbers]
        for slot, table in enumerate(self._tables):
            for item, attribute, value, share in self._by_value(table):
                own = shares[item].setdefault((attribute, value), np.zeros(self.slots.shape[1]))
                own[slot] += share
        return shares

    def _by_value(self, table: pl.DataFrame) -> Iterator[tuple[int, Any, Any, float]]:
        """Contributions to the single values: each has an equal part of those it is part of."""
        parts = table.select("item", "attribute", "value", "share")
        if parts["value"].dtype == pl.List(pl.String):
            equal = pl.col("share") / pl.col("value").list.len()
            parts = parts.with_columns(equal).explode("attribute", "value")
        scaled = list(self.answers.model.scales)
        if scaled:  # of a number it is the attribute that counts, not the interval
            unscaled = ~pl.col("attribute").is_in(scaled)
            parts = parts.with_columns(value=pl.when(unscaled).then("value"))
        keys = ["item", "attribute", "value"]
        return parts.group_by(keys, maintain_order=True).agg(pl.col("share").sum()).iter_rows()

    def _share(self, place: int, cell: Cell) -> NDArray[np.float64]:
        scaled = cell[0] in self.answers.model.scales
        key = (cell[0], None) if scaled else cell
        return self._shares[place].get(key, np.zeros(self.slots.shape[1]))

    @cached_property
    def _cells(self) -> list[list[Cell]]:
        """The values of each item."""
        cells: list[list[Cell]] = [[] for _ in self.numbers]
        for column in self.answers.raw.columns:
            if column.conjunction:
                continue
            values: Any = column.values
            items, codes, _ = column.entries()
            for item, code in zip(items.tolist(), codes.tolist(), strict=True):
                value = f"x{code}" if values is None else values[code]
                cells[item].append((column.attribute, value))
        return cells

    def _kept_cells(self, place: int) -> list[Cell]:
        """The values to show: of a table in their order, otherwise the strongest first."""
        cells = list(dict.fromkeys(self._cells[place]))
        strength = {cell: float(np.abs(self._share(place, cell)).max()) for cell in cells}
        strongest = sorted(cells, key=lambda cell: -strength[cell])
        if self._long:
            return [cell for cell in strongest[:_VALUES_LONG] if strength[cell]]
        kept = set(strongest[:_VALUES])
        return [cell for cell in cells if cell in kept]

    def _of_cells(self, place: int, cells: list[Cell]) -> list[list[int]]:
        shares = [self._share(place, cell) for cell in cells]
        slots = range(self.slots.shape[1])
        return [[share_units(own[slot]) for own in shares] for slot in slots]

    @cached_property
    def _unseen(self) -> dict[int, list[Cell]]:
        found: dict[int, list[Cell]] = defaultdict(list)
        for item, attribute, value, _ in self.answers.unseen().iter_rows():
            found[item].append((attribute, value))
        return found

    # --- features that are more than a value ---------------------------------------------------

    @cached_property
    def _of_features(self) -> list[dict[str, NDArray[np.float64]]]:
        shares: list[dict[str, NDArray[np.float64]]] = [{} for _ in self.numbers]
        for slot, table in enumerate(self._tables):
            strongest = table.sort(pl.col("share").abs(), descending=True, maintain_order=True)
            for item, feature, share in strongest.select("item", "feature", "share").iter_rows():
                own = shares[item].setdefault(feature, np.zeros(self.slots.shape[1]))
                own[slot] += share
        return shares

    def _features_of(self, place: int) -> dict[str, Any]:
        own = self._of_features[place]
        strongest = sorted(own, key=lambda feature: -float(np.abs(own[feature]).max()))
        kept = strongest[:_VALUES_LONG]
        slots = range(self.slots.shape[1])
        return {
            "f": [self.names.of_text(feature) for feature in kept],
            "fs": [[share_units(own[feature][slot]) for feature in kept] for slot in slots],
        }

    # --- texts --------------------------------------------------------------------------------

    def _texts(self) -> list[str] | None:
        documents = self.answers.documents
        return None if documents is None else [document_text(own) for own in documents]

    def _marked(self, place: int, text: str, cells: list[Cell]) -> dict[str, Any]:
        """The text in pieces, every other one a word; and which value of the item each word is."""
        number = {value: k for k, (_, value) in enumerate(cells)}
        number |= dict.fromkeys((value for _, value in self._unseen[place]), -1)
        tokens = {value for _, value in self._cells[place] if value is not None}
        pieces, marks, at = [], [], 0
        for start, end, token in token_spans(text, tokens):
            if token in number and end <= _LONGEST_TEXT:
                pieces += [text[at:start], text[start:end]]
                marks.append(number[token])
                at = end
        pieces.append(text[at : max(_LONGEST_TEXT, at)])
        return {"s": pieces, "m": marks, "cut": len(text) if len(text) > _LONGEST_TEXT else 0}

    # --- counterfactuals ----------------------------------------------------------------------

    def _counterfactuals(self) -> dict[int, str]:
        """What would change the class, in words, of as many items as can be afforded."""
        explanation = LocalExplanation(self.answers)
        sentences = {}
        for place in self._affordable():
            found = explanation.counterfactual(place).sentence()
            sentences[place] = clipped(found, _LONGEST_SENTENCE)
        return sentences

    def _affordable(self) -> list[int]:
        """Mistakes first, then the first items; few where values do not simply add up.

        Work is counted, not timed: the same page on every machine.
        """
        mistaken = np.zeros(len(self.numbers), dtype=bool)
        if self.truth is not None:
            mistaken = self.truth.mistaken
        order = np.argsort(~mistaken, kind="stable")
        model = self.answers.model
        phases = self.answers.cascade.phases
        if model.interactions.made or len(model.dimensions.names) > 1 or phases:
            most = _COUNTERFACTUALS_TEXT if self._long else _COUNTERFACTUALS_SEARCHED
            return [int(place) for place in order[:most]]
        wanted = order[mistaken[order] | (order < _COUNTERFACTUALS)]
        values = [len(self._cells[place]) for place in wanted]
        values_of_any = len(self.answers.raw.columns)
        works = [_WORK_OF_ANY + (own + values_of_any) * self._n_classes for own in values]
        return [int(place) for place in wanted[np.cumsum(works) <= _WORK]]

    @property
    def _n_classes(self) -> int:
        return int(self.answers.probabilities.shape[1])
