"""Perturbations: copies of an item with some values removed or replaced, scored in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.formulas import Floats
from stc._core.matrix import normalised
from stc._core.observations import Column, item_offsets
from stc._core.scales import Knots, apply_scales
from stc._core.vocabulary import feature_name
from stc.explain.answers import Answers, value_of

# (number of a value, choice): the choice k > 0 is the k-th alternative.
Edit = tuple[int, int]
KEEP, REMOVE = -1, 0
# Number of values in all copies that are scored at a time.
_BLOCK_VALUES = 1 << 21


class ItemValue(NamedTuple):
    """A value of an item.

    Attributes
    ----------
    attribute, value
        Its attribute, and the value.
    place, code
        Index of its column, and its code in this column.
    alternatives
        Values that can replace it; none if an item may have several values of the attribute.
    """

    attribute: Any
    value: str
    place: int
    code: int
    alternatives: tuple[str, ...]

    def name(self, choice: int = KEEP) -> str:
        """Return the name of the feature, or of the alternative chosen."""
        value = self.value if choice < 1 else self.alternatives[choice - 1]
        return feature_name(self.attribute, value)


@dataclass(frozen=True, eq=False)
class Perturbations:
    """Scores copies of one item with some of its values removed or replaced.

    Attributes
    ----------
    answers
        Answers for this item only.
    """

    answers: Answers

    @cached_property
    def values(self) -> list[ItemValue]:
        """The values of the item that can be removed or replaced."""
        values = []
        for place, column in enumerate(self.answers.raw.columns):
            if column.conjunction:
                continue  # n-grams follow their words
            for code in column.entries()[1].tolist():
                value = value_of(column, code)
                if value is not None:
                    alternatives = self._alternatives(column, value)
                    values.append(ItemValue(column.attribute, value, place, code, alternatives))
        return values

    def _alternatives(self, column: Column, value: str) -> tuple[str, ...]:
        model = self.answers.model
        if column.offsets is not None or model.schema.kind != "table":
            return ()
        scale = model.scales.get(str(column.attribute))
        if isinstance(scale, Knots):
            return tuple(repr(knot) for knot in scale.knots if repr(knot) != value)
        known = model.vocabulary.index.get(column.attribute, {}) if scale is None else scale.order
        return tuple(other for other in known if isinstance(other, str) and other != value)

    def scores(self, edits: Sequence[Sequence[Edit]]) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Score a copy of the item for each list of edits.

        Returns
        -------
        log_scores, used, totals
            Logarithms of the scores, index in the policy of the set they come from, and the sums
            that the weights of the values were divided by.
        """
        choices = np.full((len(edits), len(self.values)), KEEP, dtype=np.int64)
        for row, edits_of_copy in zip(choices, edits, strict=True):
            for number, choice in edits_of_copy:
                row[number] = choice
        size = max(_BLOCK_VALUES // max(len(self.values), 1), 1)
        parts = [self._block_scores(choices[k : k + size]) for k in range(0, len(choices), size)]
        scores, used, totals = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(used), np.concatenate(totals)

    def _block_scores(self, choices: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], Floats]:
        raw, cascade = self.answers.raw, self.answers.cascade
        columns = tuple(
            self._edited(place, column, choices) for place, column in enumerate(raw.columns)
        )
        copies = replace(raw, n_items=len(choices), columns=columns)
        observed = apply_scales(copies, cascade.model.scales)
        totals = observed.totals if normalised(observed) else np.ones(len(choices))
        return *cascade.log_scores(observed), np.array(totals)

    def log_probabilities(self, log_scores: Floats, used: NDArray[np.int64]) -> Floats:
        """Return the logarithms of the probabilities, floored to be finite."""
        log_P = self.answers.cascade.log_probabilities_of(log_scores, used)
        return np.maximum(log_P, np.log(np.finfo(np.float64).tiny))

    def _edited(self, place: int, column: Column, choices: NDArray[np.int64]) -> Column:
        """Return a column of the item, edited once for each row of choices."""
        if column.offsets is None:
            return self._edited_single(place, column, choices)
        rows, entries = np.nonzero(self._remaining(place, column, choices == REMOVE))
        return replace(
            column,
            codes=column.codes[entries],
            offsets=item_offsets(rows, len(choices)),
            weights=None if column.weights is None else column.weights[entries],
            angles=None if column.angles is None else column.angles[entries],
        )

    def _edited_single(self, place: int, column: Column, choices: NDArray[np.int64]) -> Column:
        """Return a column with one value per item, edited once for each row of choices."""
        angles = None if column.angles is None else np.repeat(column.angles, len(choices))
        number = next((k for k, value in enumerate(self.values) if value.place == place), None)
        if number is None:  # missing, or missing as a category
            return replace(column, codes=np.repeat(column.codes, len(choices)), angles=angles)
        values = [self.values[number].value, *self.values[number].alternatives]
        chosen = choices[:, number]
        codes = np.where(chosen == KEEP, 0, np.where(chosen == REMOVE, len(values), chosen))
        return replace(
            column, values=values, n_values=len(values), codes=codes, angles=angles, complete=False
        )

    def _remaining(
        self, place: int, column: Column, removed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which entries of a column remain in each copy."""
        remaining = np.ones((len(removed), len(column.codes)), dtype=bool)
        words = {value.value: number for number, value in enumerate(self.values)}
        of_code = {v.code: number for number, v in enumerate(self.values) if v.place == place}
        for entry, code in enumerate(column.codes.tolist()):
            if column.conjunction:  # an n-gram remains while all of its words do
                parts = [words[word] for word in set(value_of(column, code)) if word in words]
                remaining[:, entry] = ~removed[:, parts].any(axis=1)
            elif code in of_code:
                remaining[:, entry] = ~removed[:, of_code[code]]
        return remaining


def impact(answers: Answers, class_: int) -> pl.DataFrame:
    """Return the probability of a class of the only item without each of its values."""
    perturbations = Perturbations(answers)
    values = perturbations.values
    # The first copy is the item itself, so that there always is one.
    edits: list[list[Edit]] = [[], *([(number, REMOVE)] for number in range(len(values)))]
    scores, used, _ = perturbations.scores(edits)
    probability = answers.cascade.probabilities_of(scores, used)[:, class_]
    whole, *rest = probability.tolist()
    rows = [
        (value.attribute, value.value, without, whole - without, value.name())
        for value, without in zip(values, rest, strict=True)
    ]
    names = ("attribute", "value", "probability", "drop", "feature")
    schema: dict[str, Any] = dict.fromkeys(names, pl.String)
    schema |= {"probability": pl.Float64, "drop": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.sort("probability", "feature", maintain_order=True)
