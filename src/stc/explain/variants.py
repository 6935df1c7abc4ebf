"""An item with some of its values away or replaced: many variants of it at once."""

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
from stc._core.observations import Column, offsets_of
from stc._core.scales import Knots, scaled
from stc._core.vocabulary import feature_name
from stc.explain.answers import Answers

# Choices for a value: it stays, it is away, or it is the k-th of the others.
STAYS, AWAY = -1, 0
# Values of all variants that are judged at a time.
_BLOCK_VALUES = 1 << 21


class Unit(NamedTuple):
    """A value of the item.

    Attributes
    ----------
    attribute, value
        What it is.
    place, code
        Its column, and its code there.
    others
        What else it could be, if its attribute has one value an item.
    """

    attribute: Any
    value: str
    place: int
    code: int
    others: tuple[str, ...]

    def name(self, choice: int = STAYS) -> str:
        """The value, or the one it is replaced by, in words."""
        return feature_name(self.attribute, self.value if choice < 1 else self.others[choice - 1])


@dataclass(frozen=True, eq=False)
class Variants:
    """Judges variants of one item.

    Attributes
    ----------
    answers
        Of that item only.
    """

    answers: Answers

    @cached_property
    def units(self) -> list[Unit]:
        """The values of the item, each of which can be away or, perhaps, replaced."""
        units = []
        for place, column in enumerate(self.answers.raw.columns):
            if column.conjunction:
                continue  # words in a row go with their words
            values: Any = column.values
            for code in column.entries()[1].tolist():
                value = f"x{code}" if values is None else values[code]
                if value is not None:
                    others = self._others(column, value)
                    units.append(Unit(column.attribute, value, place, code, others))
        return units

    def _others(self, column: Column, value: str) -> tuple[str, ...]:
        """The other values that an attribute of one value an item may have."""
        model = self.answers.model
        if column.offsets is not None or model.schema.kind != "table":
            return ()
        scale = model.scales.get(str(column.attribute))
        if isinstance(scale, Knots):
            return tuple(repr(knot) for knot in scale.knots if repr(knot) != value)
        known = model.vocabulary.index.get(column.attribute, {}) if scale is None else scale.order
        return tuple(own for own in known if isinstance(own, str) and own != value)

    def judged(self, choices: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Scores, the set they come from, and what the values were divided by, for each row."""
        size = max(_BLOCK_VALUES // max(len(self.units), 1), 1)
        parts = [self._judged(choices[k : k + size]) for k in range(0, len(choices), size)]
        scores, used, totals = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(used), np.concatenate(totals)

    def _judged(self, choices: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64], Floats]:
        raw, cascade = self.answers.raw, self.answers.cascade
        columns = tuple(
            self._varied(place, column, choices) for place, column in enumerate(raw.columns)
        )
        varied = replace(raw, n_items=len(choices), columns=columns)
        observed = scaled(varied, cascade.model.scales)
        totals = observed.totals if normalised(observed) else np.ones(len(choices))
        return *cascade.scores(observed), np.array(totals)

    def log_probabilities(self, scores: Floats, used: NDArray[np.int64]) -> Floats:
        """Logarithms of the probabilities, none of them infinite."""
        P = self.answers.cascade.probabilities_of(scores, used)
        return np.asarray(np.log(np.maximum(P, np.finfo(np.float64).tiny)))

    def _varied(self, place: int, column: Column, choices: NDArray[np.int64]) -> Column:
        """A column of the item once for each row of choices."""
        if column.offsets is None:
            return self._replaced(place, column, choices)
        alive = self._alive(place, column, choices == AWAY)
        rows, entries = np.nonzero(alive)
        return replace(
            column,
            codes=column.codes[entries],
            offsets=offsets_of(np.bincount(rows, minlength=len(choices))),
            weights=None if column.weights is None else column.weights[entries],
            angles=None if column.angles is None else column.angles[entries],
        )

    def _replaced(self, place: int, column: Column, choices: NDArray[np.int64]) -> Column:
        own = [number for number, unit in enumerate(self.units) if unit.place == place]
        angles = None if column.angles is None else np.repeat(column.angles, len(choices))
        if not own:  # missing, or missing as a category
            return replace(column, codes=np.repeat(column.codes, len(choices)), angles=angles)
        unit = self.units[own[0]]
        values = [unit.value, *unit.others]
        picked = choices[:, own[0]]
        codes = np.where(picked == STAYS, 0, np.where(picked == AWAY, len(values), picked))
        return replace(
            column, values=values, n_values=len(values), codes=codes, angles=angles, complete=False
        )

    def _alive(self, place: int, column: Column, away: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which entries of a column are left in each variant."""
        alive = np.ones((len(away), len(column.codes)), dtype=bool)
        values: Any = column.values
        if column.conjunction:
            words = {unit.value: number for number, unit in enumerate(self.units)}
            for entry, code in enumerate(column.codes.tolist()):
                parts = [words[word] for word in set(values[code]) if word in words]
                alive[:, entry] = ~away[:, parts].any(axis=1)
            return alive
        of_code = {u.code: k for k, u in enumerate(self.units) if u.place == place}
        for entry, code in enumerate(column.codes.tolist()):
            if code in of_code:
                alive[:, entry] = ~away[:, of_code[code]]
        return alive


def rows_of(moves: Sequence[Sequence[tuple[int, int]]], n_units: int) -> NDArray[np.int64]:
    """A row of choices for each list of (unit, choice)."""
    rows = np.full((len(moves), n_units), STAYS, dtype=np.int64)
    for row, own in zip(rows, moves, strict=True):
        for unit, choice in own:
            row[unit] = choice
    return rows


def impact(answers: Answers, explained: int) -> pl.DataFrame:
    """The probability of a class of the only item without each of its values."""
    variants = Variants(answers)
    units = variants.units
    # The first row is the item as it is, so that there always is one.
    plans = [[], *([(number, AWAY)] for number in range(len(units)))]
    scores, used, _ = variants.judged(rows_of(plans, len(units)))
    probability = answers.cascade.probabilities_of(scores, used)[:, explained]
    names = [unit.name() for unit in units]
    order = sorted(range(len(units)), key=lambda number: (probability[number + 1], names[number]))
    without = probability[1:][order]
    columns = {
        "attribute": [units[number].attribute for number in order],
        "value": [units[number].value for number in order],
        "feature": [names[number] for number in order],
    }
    texts = {name: pl.Series(own, dtype=pl.String) for name, own in columns.items()}
    numbers = {"probability": without, "drop": probability[0] - without}
    return pl.DataFrame(texts | numbers).select(
        "attribute", "value", "probability", "drop", "feature"
    )
