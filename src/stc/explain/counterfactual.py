"""Counterfactuals: the smallest change of an item that changes its class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize

from stc._core.formulas import Floats
from stc.exceptions import ParameterError
from stc.explain.answers import Answers
from stc.explain.names import label_text, with_probability
from stc.explain.perturbation import REMOVE, Edit, Perturbations
from stc.explain.table import TableMixin

# Where edits are not additive: pairs that are all tried, edits tried in each greedy step, steps.
_MAX_PAIRS, _EDITS_PER_STEP, _MAX_STEPS = 5000, 64, 100
# Limits of the integer program: seconds, and the lead required, as a share of the highest score.
_TIME_LIMIT, _MARGIN = 2.0, 1e-9
# Equal sums of scores differ by rounding up to this share.
_ROUNDING = 1e-12


class Change(NamedTuple):
    """A change that gives an item another class.

    Attributes
    ----------
    label, probability
        The class after the change, and its probability.
    values
        The values that change: (attribute, value, new value or None if removed, text).
    smallest
        Whether it is proven that no smaller change exists.
    """

    label: Any
    probability: float
    values: tuple[tuple[str | None, str, str | None, str], ...]
    smallest: bool


@dataclass(frozen=True, eq=False)
class Counterfactual(TableMixin):
    """The smallest changes of an item that change its class.

    Attributes
    ----------
    item
        Number of the item.
    label, probability
        The predicted class, and its probability.
    removal
        The fewest values to remove; None: no removal changes the class.
    replacement
        The fewest single-valued attributes to give another value; None: no replacement changes
        the class.
    table
        One row per changed value: `way` ("without" or "with"), `attribute`, `value`, `instead`,
        `class` and `probability` (after all changes of this way), `feature`.

    Examples
    --------
    >>> from stc import SparseTensorClassifier
    >>> model = SparseTensorClassifier().fit([["milk", 4], ["eggs", 2]], ["cat", "hen"])
    >>> counterfactual = model.explain_local([["milk", 2]]).counterfactual(0)
    >>> counterfactual.removal.label, counterfactual.removal.values
    ('hen', (('x0', 'milk', None, 'x0=milk'),))
    """

    item: int
    label: Any
    probability: float
    removal: Change | None
    replacement: Change | None
    table: pl.DataFrame

    def sentence(self) -> str:
        """Return both changes as a sentence.

        Returns
        -------
        str
            One sentence.

        Examples
        --------
        >>> from stc import SparseTensorClassifier
        >>> model = SparseTensorClassifier().fit(["good fun", "bad, bad"], ["+", "-"])
        >>> model.explain_local(["good bad"]).counterfactual(0).sentence()
        '-, 0.57: without bad it would be +, 1.00'
        """
        texts = []
        for way, change in (("without", self.removal), ("with", self.replacement)):
            if change is not None:
                names = ", ".join(name for *_, name in change.values)
                outcome = with_probability(change.label, change.probability)
                texts.append(f"{way} {names} it would be {outcome}")
        changes = "; ".join(texts) or "nothing that could be away or replaced would change that"
        return f"{with_probability(self.label, self.probability)}: {changes}"

    def __str__(self) -> str:
        return self.sentence()

    __repr__ = __str__


def find_counterfactual(answers: Answers, item: int, target: int | None) -> Counterfactual:
    """Find the smallest changes of the only item that give it the target class, or any other."""
    perturbations = Perturbations(answers)
    predicted = int(answers.best[0])
    label = answers.names.labels[predicted]
    if target == predicted:
        raise ParameterError(
            f"label={label_text(label)!r} is the predicted class already",
            item=item,
            hint="ask for another class",
        )
    values = perturbations.values
    removals = [(number, REMOVE) for number in range(len(values))]
    replacements = [
        (number, choice + 1)
        for number, value in enumerate(values)
        for choice in range(len(value.alternatives))
    ]
    removal = _Search(perturbations, removals, target).smallest_change()
    replacement = _Search(perturbations, replacements, target).smallest_change()
    table = _table(answers, removal, replacement)
    probability = float(answers.probabilities[0, predicted])
    return Counterfactual(item, label, probability, removal, replacement, table)


def _table(answers: Answers, removal: Change | None, replacement: Change | None) -> pl.DataFrame:
    names = ("way", "attribute", "value", "instead", "class", "probability", "feature")
    schema: dict[str, Any] = dict.fromkeys(names, pl.String)
    schema["probability"] = pl.Float64
    rows: list[tuple[Any, ...]] = []
    classes: list[int] = []
    for way, change in (("without", removal), ("with", replacement)):
        if change is not None:
            classes += [answers.names.index(change.label)] * len(change.values)
            for attribute, value, instead, name in change.values:
                rows.append((way, attribute, value, instead, None, change.probability, name))
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(answers.names.take(np.array(classes, dtype=np.int64)))


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for the fewest edits that give the item the target class, or any other."""

    perturbations: Perturbations
    edits: list[Edit]
    target: int | None

    @property
    def predicted(self) -> int:
        """Number of the predicted class."""
        return int(self.perturbations.answers.best[0])

    def smallest_change(self) -> Change | None:
        """Return the smallest change found, if any."""
        if not self.edits:
            return None
        plan, minimal = self._additive_search() if self._is_additive() else self._trial_search()
        return None if plan is None else self._change(plan, minimal)

    def _change(self, plan: Sequence[Edit], minimal: bool) -> Change:
        (class_,), (log_probabilities,) = self._outcomes([plan])
        values = []
        for number, choice in sorted(plan):
            value = self.perturbations.values[number]
            instead = None if choice == REMOVE else value.alternatives[choice - 1]
            name = value.name() if instead is None else f"{value.name(choice)} for {value.name()}"
            values.append((value.attribute, value.value, instead, name))
        label = self.perturbations.answers.names.labels[class_]
        return Change(label, float(np.exp(log_probabilities[class_])), tuple(values), minimal)

    def _outcomes(self, plans: Sequence[Sequence[Edit]]) -> tuple[NDArray[np.intp], Floats]:
        """Return the class after each plan, and the logarithms of the probabilities."""
        scores, used, _ = self.perturbations.scores(plans)
        classes = self.perturbations.answers.cascade.most_probable_of(scores, used)
        return classes, self.perturbations.log_probabilities(scores, used)

    def _reached(self, classes: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether each class is the target, or any other class than the predicted one."""
        return np.asarray(
            classes != self.predicted if self.target is None else classes == self.target
        )

    def _reaches(self, plan: Sequence[Edit]) -> bool:
        return bool(self._reached(self._outcomes([plan])[0])[0])

    def _margins(self, log_probabilities: Floats) -> Floats:
        """Return the lead of the target, or of the best other class over the predicted one."""
        class_ = self.predicted if self.target is None else self.target
        others = np.delete(log_probabilities, class_, axis=1).max(axis=1, initial=-np.inf)
        margins = log_probabilities[:, class_] - others
        return np.asarray(-margins if self.target is None else margins)

    # --- additive edits: an exact solution ----------------------------------------------------

    def _is_additive(self) -> bool:
        """Return whether several edits change the scores by the sum of their changes."""
        answers = self.perturbations.answers
        cascade, model = answers.cascade, answers.model
        first = cascade.policy[0]
        return (
            len(cascade.policy) == 2
            and len(first) == 1
            and model.interactions.order == 1
            and model.interactions.ngrams == 1
            and not (first in cascade.amplitudes and cascade.amplitudes[first].angles.any())
            and all(column.angles is None for column in answers.raw.columns)
        )

    def _score_changes(self) -> tuple[Floats, Floats]:
        """Return the scores of the item, and the change of the scores by each edit."""
        log_scores, _, totals = self.perturbations.scores([[], *([edit] for edit in self.edits)])
        highest = log_scores.max()
        scores = np.exp(log_scores - (highest if np.isfinite(highest) else 0.0))
        # The weights of the values sum to 1 in every copy: undo this normalisation.
        power = self.perturbations.answers.cascade.hyper.power
        scores = scores * (totals / (totals[0] or 1.0))[:, None] ** power
        return scores[0], scores[1:] - scores[0]

    def _additive_search(self) -> tuple[list[Edit] | None, bool]:
        """Return the fewest edits by their score changes, and whether they are minimal."""
        plan, minimal = self._plan_by_scores()
        if self.perturbations.answers.cascade.hyper.floor == 0:
            return plan, minimal
        # With a floor the highest score need not be the most probable class.
        return (plan, len(plan) == 1) if plan else self._trial_search()

    def _plan_by_scores(self) -> tuple[list[Edit] | None, bool]:
        """Return the fewest edits that give another class, or the target, the highest score."""
        scores, changes = self._score_changes()
        everything: list[Edit] = []
        if self.edits[0][1] == REMOVE:  # without any value the class frequencies decide
            everything = [self.edits[number] for number in np.flatnonzero(changes.any(axis=1))]
        if self.target is not None:
            return self._target_search(self.target, scores, changes, everything)
        plans = [
            plan
            for other in range(len(scores))
            if other != self.predicted
            for plan in self._overtaking(other, scores, changes)
        ]
        return self._best_plan([*plans, everything]), True

    def _overtaking(self, other: int, scores: Floats, changes: Floats) -> Iterator[list[Edit]]:
        """Yield the fewest edits that give another class a higher score; one more for a tie."""
        gains = changes[:, other] - changes[:, self.predicted]
        best: dict[int, int] = {}  # number of the value -> its edit with the highest gain
        for number in np.argsort(-gains, kind="stable").tolist():
            if gains[number] > 0:
                best.setdefault(self.edits[number][0], number)
        order = list(best.values())
        needed = (scores[self.predicted] - scores[other]) - _ROUNDING * scores[self.predicted]
        enough = np.flatnonzero(np.cumsum(gains[order]) >= needed)
        if len(enough):
            for count in (enough[0] + 1, enough[0] + 2):
                if count <= len(order):
                    yield [self.edits[number] for number in order[:count]]

    def _best_plan(self, plans: list[list[Edit]]) -> list[Edit] | None:
        """Return the shortest plan that reaches the goal; of several, the one with most margin."""
        plans = sorted(filter(None, plans), key=len)
        if not plans:
            return None
        classes, log_probabilities = self._outcomes(plans)
        reached = np.flatnonzero(self._reached(classes))
        if not len(reached):
            return None
        shortest = len(plans[reached[0]])
        best = [place for place in reached.tolist() if len(plans[place]) == shortest]
        return plans[best[int(np.argmax(self._margins(log_probabilities[best])))]]

    def _target_search(
        self, target: int, scores: Floats, changes: Floats, everything: list[Edit]
    ) -> tuple[list[Edit] | None, bool]:
        """Return the fewest edits that give the target the highest score of all.

        No plan is shorter than one that allows ties, but a tie may go to another class.
        """
        tied = self._integer_program(target, scores, changes, -_ROUNDING)
        if tied and self._reaches(tied):
            return tied, True
        clear = self._integer_program(target, scores, changes, _MARGIN) if tied else None
        best = self._best_plan([clear or [], everything])
        if best is None and tied is None:
            return None, True
        return (best, len(best) == len(tied or [])) if best else self._trial_search()

    def _integer_program(
        self, target: int, scores: Floats, changes: Floats, margin: float
    ) -> list[Edit] | None:
        """Minimise the number of edits, one per value, such that the target leads by a margin."""
        others = np.delete(np.arange(len(scores)), target)
        leads = scores[others] - scores[target] + margin * scores.max()
        numbers = np.array([number for number, _ in self.edits])
        same_value = (numbers == np.unique(numbers)[:, None]).astype(float)
        solution = optimize.milp(
            np.ones(len(self.edits)),
            integrality=np.ones(len(self.edits)),
            bounds=optimize.Bounds(0, 1),
            constraints=[
                optimize.LinearConstraint((changes[:, [target]] - changes[:, others]).T, lb=leads),
                optimize.LinearConstraint(same_value, ub=1),
            ],
            options={"time_limit": _TIME_LIMIT},
        )
        if solution.x is None:
            return None
        return [self.edits[number] for number in np.flatnonzero(solution.x > 0.5)]

    # --- edits that interact: trial and error -------------------------------------------------

    def _trial_search(self) -> tuple[list[Edit] | None, bool]:
        """Try single edits, pairs, then greedy steps; return the plan, and if it is minimal."""
        plan = self._best_plan([[edit] for edit in self.edits])
        if plan is None:
            pairs = ([a, b] for a, b in combinations(self.edits, 2) if a[0] != b[0])
            first_pairs = list(islice(pairs, _MAX_PAIRS + 1))
            plan = self._best_plan(first_pairs) if len(first_pairs) <= _MAX_PAIRS else None
        if plan is not None:
            return plan, True
        plan = self._greedy_search()
        return (None if plan is None else self._pruned(plan)), False

    def _greedy_search(self) -> list[Edit] | None:
        plan: list[Edit] = []
        edits = self.edits
        for step in range(min(_MAX_STEPS, len(self.perturbations.values))):
            edited = {number for number, _ in plan}
            options = [[*plan, edit] for edit in edits if edit[0] not in edited]
            if not options:
                return None
            classes, log_probabilities = self._outcomes(options)
            margins = self._margins(log_probabilities)
            if step == 0:
                edits = [edits[k] for k in np.argsort(-margins, kind="stable")[:_EDITS_PER_STEP]]
            best = int(np.argmax(margins))
            plan = options[best]
            if self._reached(classes[[best]])[0]:
                return plan
        return None

    def _pruned(self, plan: list[Edit]) -> list[Edit]:
        """Drop the edits that are not needed."""
        for edit in list(plan):
            rest = [other for other in plan if other != edit]
            if rest and self._reaches(rest):
                plan = rest
        return plan
