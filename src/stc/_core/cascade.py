"""Policies: which sets of dimensions an item is scored by, one after the other until one can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stc._core import formulas
from stc._core.corpus import Phases
from stc._core.formulas import Floats
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.scoring import Contributions, Scorer, seen_share
from stc._core.tensor import Dimensions, Subset

# Tuples of the items that are scored at a time.
_BLOCK_TUPLES = 1 << 21

Policy = tuple[Subset, ...]
# What makes answers of scores and of the power that they are to be taken to.
Answer = Callable[[Floats, Floats | float], NDArray[Any]]


class Hyper(NamedTuple):
    """The three hyper-parameters."""

    power: float
    balance: float
    entropy: float


def read_policy(given: Sequence[Sequence[str]], dimensions: Dimensions, where: str) -> Policy:
    """Sets of dimensions by name -> by number, closed by the empty set."""
    policy: list[Subset] = []
    for names in given:
        if isinstance(names, str):
            raise ValueError(
                f"{where} holds {names!r}; it is a list of lists of dimensions, [[{names!r}], []]"
            )
        subset = tuple(sorted(dimensions.numbers(names, where)))
        if len(set(subset)) < len(subset):
            raise ValueError(f"{where} names a dimension twice in the set {list(names)}")
        if subset in policy:
            raise ValueError(f"{where} has the set {list(names)} twice")
        policy.append(subset)
    if () in policy[:-1]:
        raise ValueError(f"{where} goes on after []; the class frequencies answer every item")
    return tuple(policy) if policy and not policy[-1] else (*policy, ())


class Cascade:
    """Scores items by the first set of a policy that can: the next gets those left at zero.

    Parameters
    ----------
    model
        What was learnt.
    policy
        Sets that the model has, the empty one last.
    hyper
        Power, balance and entropy.
    max_tuples
        The most tuples that one item may have.
    phases
        The phases of each set that has any; None: those that were learnt.
    """

    def __init__(
        self,
        model: Model,
        policy: Policy,
        hyper: Hyper,
        max_tuples: int,
        phases: Mapping[Subset, Phases] | None = None,
    ) -> None:
        self.model = model
        self.policy = policy
        self.hyper = hyper
        self.max_tuples = max_tuples
        self.phases = model.phases if phases is None else phases
        self._scorers: dict[Subset, Scorer] = {}
        # The frequencies are for those without a score: any power will do.
        self._powers = np.array(
            [
                hyper.power / self.phases[s].sharpness if s in self.phases else hyper.power
                for s in policy
            ]
        )

    def scorer(self, subset: Subset) -> Scorer:
        """The weights of a set, computed when they are first asked for."""
        if subset not in self._scorers:
            log_W = formulas.log_weights(self.model.corpora[subset].mass, *self.hyper)
            index = self.model.index(subset)
            phases = self.phases.get(subset)
            angles = None if phases is None else phases.angles
            self._scorers[subset] = Scorer(index, log_W, self.hyper.power, angles)
        return self._scorers[subset]

    def map(self, observed: Observations, answer: Answer) -> NDArray[Any]:
        """Apply `answer` to the scores `U_i` (items x classes) and powers of each block; join."""
        made = self.model.interactions.order > 1
        if len(self.policy) == 2 and len(self.policy[0]) == 1 and not made:
            subset, power = self.policy[0], float(self._powers[0])
            located = self.model.located(observed, subset)
            return self.scorer(subset).map(located, lambda U: answer(U, power))
        parts = []
        for block in self._blocks(observed):
            U, used = self._scores(*block)
            parts.append(answer(U, self._powers[used][:, None]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def probabilities(self, observed: Observations) -> Floats:
        """`X_i` of each item."""
        frequencies = self.model.frequencies
        return self.map(observed, lambda U, power: formulas.probabilities(U, power, frequencies))

    def log_probabilities(self, observed: Observations) -> Floats:
        """`ln X_i` of each item."""
        frequencies = self.model.frequencies
        return self.map(
            observed, lambda U, power: formulas.log_probabilities(U, power, frequencies)
        )

    def most_probable(self, observed: Observations) -> NDArray[np.intp]:
        """`argmax_i X_i` of each item."""
        frequencies = self.model.frequencies
        return self.map(observed, lambda U, _: formulas.most_probable(U, frequencies))

    def scores(self, observed: Observations) -> tuple[Floats, NDArray[np.int64]]:
        """`U_i` of each item, and the place in the policy of the set that they come from."""
        parts = [self._scores(*block) for block in self._blocks(observed)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([U for U, _ in parts]), np.concatenate([used for _, used in parts])

    def most_probable_of(self, U: Floats) -> NDArray[np.intp]:
        """`argmax_i X_i` of items whose scores are known."""
        return formulas.most_probable(U, self.model.frequencies)

    def probabilities_of(self, U: Floats, used: NDArray[np.int64]) -> Floats:
        """`X_i` of items whose scores are known, and of which set."""
        return formulas.probabilities(U, self._powers[used][:, None], self.model.frequencies)

    def _scores(
        self, observed: Observations, numbers: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Scores of each item, and the place of the set they come from.

        `numbers` tells how the caller counts the items.
        """
        U = np.zeros((observed.n_items, len(self.model.classes)))
        used = np.full(observed.n_items, len(self.policy) - 1)
        left = np.arange(observed.n_items)
        for place, subset in enumerate(self.policy[:-1]):
            located = self._located(observed, subset, numbers[left])
            own = self.scorer(subset).map(located, _itself)
            scored: NDArray[np.bool_] = np.asarray(own.any(axis=1))
            U[left[scored]], used[left[scored]] = own[scored], place
            left = left[~scored]
            if not len(left):
                break
            observed = observed.select(~scored)
        return U, used

    def _located(
        self, observed: Observations, subset: Subset, numbers: NDArray[Any]
    ) -> Observations:
        """The items as a set sees them, refusing one that alone has too many tuples."""
        if len(subset) > 1:
            needed = self.model.dimensions.sizes(observed, subset)
            if needed.max(initial=0) > self.max_tuples:
                item = int(np.argmax(needed))
                names = ", ".join(map(repr, self.model.dimensions.named(subset)))
                raise ValueError(
                    f"item {numbers[item]} would have {needed[item]:,.0f} tuples in the product "
                    f"of the dimensions {names}, more than max_tuples={self.max_tuples:,}"
                )
        elif self.model.interactions.order > 1:
            needed = self.model.interactions.sizes(observed)
            if needed.max(initial=0) > self.max_tuples:
                item = int(np.argmax(needed))
                raise ValueError(
                    f"item {numbers[item]} would have {needed[item]:,.0f} values and conjunctions "
                    f"of them, more than max_tuples={self.max_tuples:,}"
                )
        return self.model.located(observed, subset)

    def _blocks(self, observed: Observations) -> Iterator[tuple[Observations, NDArray[Any]]]:
        """Cut the items into blocks of bounded numbers of tuples; and their numbers."""
        tuples = np.maximum(self.model.interactions.sizes(observed), 1.0)
        for subset in self.policy:
            if len(subset) > 1:
                np.maximum(tuples, self.model.dimensions.sizes(observed, subset), out=tuples)
        np.minimum(tuples, self.max_tuples, out=tuples)  # more are refused if they are needed
        block = (np.cumsum(tuples) // _BLOCK_TUPLES).astype(np.int64)
        if block[-1] == block[0]:
            yield observed, np.arange(observed.n_items)
            return
        for number in np.unique(block):
            yield observed.select(block == number), np.flatnonzero(block == number)

    def contributions(
        self, observed: Observations, used: NDArray[np.int64], classes: NDArray[Any]
    ) -> Iterator[tuple[Subset, Contributions]]:
        """What each feature adds to the score of one class an item, by the set that answers."""
        for block, numbers in self._blocks(observed):
            own = used[numbers]
            for place in np.unique(own[own < len(self.policy) - 1]).tolist():
                subset, items = self.policy[place], numbers[own == place]
                view = block if len(items) == len(numbers) else block.select(own == place)
                located = self.model.located(view, subset)
                found = self.scorer(subset).contributions(located, classes[items])
                yield subset, found._replace(items=items[found.items])

    def coverage(self, observed: Observations) -> Floats:
        """Share of each item known to the first set that knows any of it."""
        return np.concatenate([self._coverage(*block) for block in self._blocks(observed)])

    def _coverage(self, observed: Observations, numbers: NDArray[Any]) -> Floats:
        seen = np.zeros(observed.n_items)
        left = np.arange(observed.n_items)
        for subset in self.policy[:-1]:
            located = self._located(observed, subset, numbers[left])
            learnt = self.model.corpora[subset].used_rows
            own = seen_share(self.model.index(subset), located, learnt)
            seen[left] = own
            left = left[own == 0]
            if not len(left):
                break
            observed = observed.select(own == 0)
        return seen


def _itself(U: Floats) -> Floats:
    return U
