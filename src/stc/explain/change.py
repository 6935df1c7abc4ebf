"""Counterfactuals: the smallest change of an item that gives it another class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize

from stc._core.formulas import Floats
from stc.explain.answers import Answers
from stc.explain.names import text_of
from stc.explain.tabular import Tabular
from stc.explain.variants import AWAY, Variants, rows_of

# (unit, choice): one value away, or replaced.
Move = tuple[int, int]

# Where removals do not simply add up: pairs that are all tried, moves that are looked at in each
# step, and steps.
_ALL_PAIRS, _MOVES_A_STEP, _STEPS = 5000, 64, 100
# Seconds, and what must be exceeded (as a share of the scores), when a class is asked for.
_TIME_LIMIT, _MARGIN = 2.0, 1e-9
# Sums of scores that should be equal differ by rounding up to this share.
_ROUNDING = 1e-12


class Change(NamedTuple):
    """A change that gives an item another class.

    Attributes
    ----------
    label, probability
        The class that the item would have, and its probability.
    values
        What changes: (attribute, value, what it would be or None, in words).
    smallest
        Whether no smaller one is possible.
    """

    label: Any
    probability: float
    values: tuple[tuple[str | None, str, str | None, str], ...]
    smallest: bool


@dataclass(frozen=True, eq=False)
class Counterfactual(Tabular):
    """What would have to be otherwise for an item to have another class.

    Attributes
    ----------
    item
        Number of the item.
    label, probability
        The class that it has.
    removal
        The fewest values that would have to be away; None: whatever is away, the class stays.
    replacement
        The fewest attributes of one value that would have to have another one; None: as above.
    table
        One row a change of a value: `way` ("without" or "with"), `attribute`, `value`, `instead`,
        `class` and `probability` (after all of its way), `feature`.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["milk", 4], ["eggs", 2]], ["cat", "hen"])
    >>> found = model.explain([["milk", 2]]).counterfactual(0)
    >>> found.removal.label, found.removal.values
    ('hen', (('x0', 'milk', None, 'x0=milk'),))
    """

    item: int
    label: Any
    probability: float
    removal: Change | None
    replacement: Change | None
    table: pl.DataFrame

    def sentence(self) -> str:
        """Both answers in words.

        Returns
        -------
        str
            One sentence.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.explain(["good bad"]).counterfactual(0).sentence()
        '-, 0.57: without bad it would be +, 1.00'
        """
        parts = []
        if self.removal is not None:
            names = ", ".join(name for *_, name in self.removal.values)
            parts.append(f"without {names} {_would_be(self.removal)}")
        if self.replacement is not None:
            names = ", ".join(name for *_, name in self.replacement.values)
            parts.append(f"with {names} {_would_be(self.replacement)}")
        found = "; ".join(parts) or "nothing that could be away or replaced would change that"
        return f"{text_of(self.label)}, {self.probability:.2f}: {found}"

    def __str__(self) -> str:
        return self.sentence()

    __repr__ = __str__


def _would_be(change: Change) -> str:
    return f"it would be {text_of(change.label)}, {change.probability:.2f}"


def counterfactual(answers: Answers, item: int, wanted: int | None) -> Counterfactual:
    """The smallest changes of the only item."""
    variants = Variants(answers)
    before = int(answers.best[0])
    if wanted == before:
        raise ValueError(f"item {item} is {text_of(answers.names.labels[before])} already")
    units = variants.units
    away = [(number, AWAY) for number in range(len(units))]
    others = [(n, k + 1) for n, unit in enumerate(units) for k in range(len(unit.others))]
    ways = {
        "without": _Quest(variants, away, wanted).found(),
        "with": _Quest(variants, others, wanted).found(),
    }
    return Counterfactual(
        item,
        answers.names.labels[before],
        float(answers.probabilities[0, before]),
        ways["without"],
        ways["with"],
        _table(ways, answers),
    )


def _table(ways: dict[str, Change | None], answers: Answers) -> pl.DataFrame:
    schema: dict[str, Any] = {
        "way": pl.String,
        "attribute": pl.String,
        "value": pl.String,
        "instead": pl.String,
        "class": answers.names.column.dtype,
        "probability": pl.Float64,
        "feature": pl.String,
    }
    rows = []
    for way, change in ways.items():
        if change is not None:
            label = text_of(change.label) if isinstance(change.label, tuple) else change.label
            for attribute, value, instead, name in change.values:
                row = way, attribute, value, instead, label, change.probability, name
                rows.append(row)
    return pl.DataFrame(rows, schema=schema, orient="row")


class _Quest:
    """The search for the fewest moves that give the item another class."""

    def __init__(self, variants: Variants, moves: Sequence[Move], wanted: int | None) -> None:
        self.variants = variants
        self.moves = list(moves)
        self.wanted = wanted
        self.before = int(variants.answers.best[0])
        self.n_units = len(variants.units)

    def found(self) -> Change | None:
        """The smallest change, or the smallest that was found, or none."""
        if not self.moves:
            return None
        plan, sure = self._planned() if self._adds_up() else self._searched()
        return None if plan is None else self._change(plan, sure)

    def _change(self, plan: Sequence[Move], sure: bool) -> Change:
        best, logarithms = (own[0] for own in self._outcomes([plan]))
        values = []
        for number, choice in sorted(plan):
            unit = self.variants.units[number]
            instead = None if choice == AWAY else unit.others[choice - 1]
            name = unit.name() if instead is None else f"{unit.name(choice)} for {unit.name()}"
            values.append((unit.attribute, unit.value, instead, name))
        label = self.variants.answers.names.labels[best]
        return Change(label, float(np.exp(logarithms[best])), tuple(values), sure)

    def _outcomes(self, plans: Sequence[Sequence[Move]]) -> tuple[NDArray[np.intp], Floats]:
        """The class after each plan, and the logarithms of the probabilities."""
        scores, used, _ = self.variants.judged(rows_of(plans, self.n_units))
        best = self.variants.answers.cascade.most_probable_of(scores)
        return best, self.variants.log_probabilities(scores, used)

    def _is_goal(self, best: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether the class is the one wanted, or any other."""
        reached = best != self.before if self.wanted is None else best == self.wanted
        return np.asarray(reached)

    def _reaches(self, plan: Sequence[Move]) -> bool:
        return bool(self._is_goal(self._outcomes([plan])[0])[0])

    def _margin(self, logarithms: Floats) -> Floats:
        """How near the goal is."""
        goal = self.before if self.wanted is None else self.wanted
        rest = np.delete(logarithms, goal, axis=1).max(axis=1, initial=-np.inf)
        margin = logarithms[:, goal] - rest
        return np.asarray(-margin if self.wanted is None else margin)

    # --- where moves add up: exactly --------------------------------------------------------

    def _adds_up(self) -> bool:
        """Whether each move changes the scores by what it changes them alone."""
        answers = self.variants.answers
        cascade, model = answers.cascade, answers.model
        first = cascade.policy[0]
        return (
            len(cascade.policy) == 2
            and len(first) == 1
            and model.interactions.order == 1
            and model.interactions.ngrams == 1
            and not (first in cascade.phases and cascade.phases[first].angles.any())
            and all(column.angles is None for column in answers.raw.columns)
        )

    def _changes(self) -> tuple[Floats, Floats]:
        """The scores of the item, and what each move changes them by."""
        plans: list[list[Move]] = [[], *([move] for move in self.moves)]
        scores, _, totals = self.variants.judged(rows_of(plans, self.n_units))
        # A value's share is of all that is there: back to the shares that it had before.
        power = self.variants.answers.cascade.hyper.power
        scaled = scores * (totals / (totals[0] or 1.0))[:, None] ** power
        return scaled[0], scaled[1:] - scaled[0]

    def _planned(self) -> tuple[list[Move] | None, bool]:
        """The fewest moves, by what each of them changes; and whether there can be no fewer."""
        scores, changes = self._changes()
        everything: list[Move] = []
        if self.moves[0][1] == AWAY:  # without anything the class frequencies decide
            everything = [m for m, own in zip(self.moves, changes, strict=True) if own.any()]
        if self.wanted is not None:
            return self._solved(self.wanted, scores, changes, everything)
        plans = [
            plan
            for other in range(len(scores))
            if other != self.before
            for plan in self._overtakes(other, scores, changes)
        ]
        return self._best_of(sorted([*plans, everything], key=len)), True

    def _overtakes(self, other: int, scores: Floats, changes: Floats) -> Iterator[list[Move]]:
        """The fewest moves after which a class has a higher score, and one more for a tie."""
        gains = changes[:, other] - changes[:, self.before]
        best: dict[int, int] = {}  # unit -> its most gainful move
        for number in np.argsort(-gains, kind="stable").tolist():
            if gains[number] > 0:
                best.setdefault(self.moves[number][0], number)
        order = list(best.values())
        needed = (scores[self.before] - scores[other]) - _ROUNDING * scores[self.before]
        enough = np.flatnonzero(np.cumsum(gains[order]) >= needed)
        if len(enough):
            for count in (enough[0] + 1, enough[0] + 2):
                if count <= len(order):
                    yield [self.moves[number] for number in order[:count]]

    def _best_of(self, plans: list[list[Move]]) -> list[Move] | None:
        """The shortest plan that does it; of several, the one that does it most clearly."""
        plans = [plan for plan in plans if plan]
        if not plans:
            return None
        classes, logarithms = self._outcomes(plans)
        reached = np.flatnonzero(self._is_goal(classes))
        if not len(reached):
            return None
        shortest = len(plans[reached[0]])
        best = [k for k in reached.tolist() if len(plans[k]) == shortest]
        return plans[best[int(np.argmax(self._margin(logarithms[best])))]]

    def _solved(
        self, goal: int, scores: Floats, changes: Floats, everything: list[Move]
    ) -> tuple[list[Move] | None, bool]:
        """The fewest moves after which the class wanted has the highest score of all.

        With ties allowed there can be no fewer, but a tie may go to the other class.
        """
        tied = self._program(goal, scores, changes, -_ROUNDING)
        if tied and self._reaches(tied):
            return tied, True
        clear = self._program(goal, scores, changes, _MARGIN) if tied else None
        best = self._best_of(sorted([own for own in (clear, everything) if own], key=len))
        if best is None and tied is None:
            return None, True
        return (best, len(best) == len(tied or [])) if best else self._searched()

    def _program(
        self, goal: int, scores: Floats, changes: Floats, margin: float
    ) -> list[Move] | None:
        """A program in whole numbers: moves are made or not, no value twice, all are overtaken."""
        rest = np.delete(np.arange(len(scores)), goal)
        ahead = scores[rest] - scores[goal] + margin * scores.max()
        unit = np.array([number for number, _ in self.moves])
        once = (unit == np.unique(unit)[:, None]).astype(float)
        found = optimize.milp(
            np.ones(len(self.moves)),
            integrality=np.ones(len(self.moves)),
            bounds=optimize.Bounds(0, 1),
            constraints=[
                optimize.LinearConstraint((changes[:, [goal]] - changes[:, rest]).T, lb=ahead),
                optimize.LinearConstraint(once, ub=1),
            ],
            options={"time_limit": _TIME_LIMIT},
        )
        if found.x is None:
            return None
        return [move for move, made in zip(self.moves, found.x > 0.5, strict=True) if made]

    # --- where they do not: by trying --------------------------------------------------------

    def _searched(self) -> tuple[list[Move] | None, bool]:
        """One move, two moves, or many, the most effective first; and whether it is the fewest."""
        singles = [[move] for move in self.moves]
        plan = self._best_of(singles)
        if plan is not None:
            return plan, True
        pairs = [list(pair) for pair in combinations(self.moves, 2) if pair[0][0] != pair[1][0]]
        exhaustive = len(pairs) <= _ALL_PAIRS
        if exhaustive and pairs:
            plan = self._best_of(pairs)
            if plan is not None:
                return plan, True
        plan = self._stepwise()
        return (None, False) if plan is None else (self._pruned(plan), False)

    def _stepwise(self) -> list[Move] | None:
        plan: list[Move] = []
        moves = self.moves
        for step in range(min(_STEPS, self.n_units)):
            touched = {unit for unit, _ in plan}
            options = [[*plan, move] for move in moves if move[0] not in touched]
            if not options:
                return None
            classes, logarithms = self._outcomes(options)
            margin = self._margin(logarithms)
            if step == 0:
                moves = [moves[k] for k in np.argsort(-margin, kind="stable")[:_MOVES_A_STEP]]
            best = int(np.argmax(margin))
            plan = options[best]
            if self._is_goal(classes[[best]])[0]:
                return plan
        return None

    def _pruned(self, plan: list[Move]) -> list[Move]:
        """Take back what turns out not to be needed."""
        for move in list(plan):
            rest = [own for own in plan if own != move]
            if rest and self._reaches(rest):
                plan = rest
        return plan
