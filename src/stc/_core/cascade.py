"""Cascades: items are scored by the first set of dimensions of a policy that has a score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core import formulas
from stc._core.corpus import Amplitudes
from stc._core.formulas import Floats, Hyper
from stc._core.model import Model
from stc._core.observations import Observations
from stc._core.scoring import Contributions, Scorer, seen_share
from stc._core.tensor import Dimensions, Subset
from stc._utils.forking import new_lock
from stc.exceptions import DataError, ParameterError

# Largest number of tuples in a block of items.
_BLOCK_TUPLES = 1 << 21

Policy = tuple[Subset, ...]
# A function of `ln U_i` and the power p.
Answer = Callable[[Floats, Floats | float], NDArray[Any]]


def check_policy(sets: Sequence[Sequence[str]], where: str) -> None:
    """Raise an error if a policy is not a list of lists of names.

    `where` is the name of the parameter, for messages.
    """
    for names in sets:
        listed = isinstance(names, Collection) and not isinstance(names, str)
        if not listed or not all(isinstance(name, str) for name in names):
            raise ParameterError(
                f"{where} holds {names!r}, which is not a list of dimensions",
                hint=None if listed else f"give a list of lists, [[{names!r}], []]",
            )


def read_policy(sets: Sequence[Sequence[str]], dimensions: Dimensions, where: str) -> Policy:
    """Return the policy for sets of names of dimensions; the empty set is appended.

    `where` is the name of the parameter, for messages.
    """
    check_policy(sets, where)
    policy: list[Subset] = []
    for names in sets:
        subset = tuple(sorted(dimensions.numbers(names, where)))
        if len(set(subset)) < len(subset):
            raise ParameterError(f"{where} names a dimension twice in the set {list(names)}")
        if subset in policy:
            raise ParameterError(f"{where} has the set {list(names)} twice")
        policy.append(subset)
    if () in policy[:-1]:
        raise ParameterError(
            f"{where} has sets after [], which are never reached",
            hint="put [] last: the class frequencies answer every item",
        )
    return tuple(policy) if policy and not policy[-1] else (*policy, ())


class Cascade:
    """Scores items by the first set of a policy; items with zero scores go to the next set.

    The weights of a set are computed when they are first needed, once, also with several threads.

    Parameters
    ----------
    model
        The model.
    policy
        Sets of dimensions that the model has, the empty one last.
    hyper
        The settings that act at prediction time.
    max_entries
        Largest number of tuples of one item.
    amplitudes
        The gains and phases of each set that has any; None: those of the model.
    """

    def __init__(
        self,
        model: Model,
        policy: Policy,
        hyper: Hyper,
        max_entries: int,
        amplitudes: Mapping[Subset, Amplitudes] | None = None,
    ) -> None:
        self.model = model
        self.policy = policy
        self.hyper = hyper
        self.max_entries = max_entries
        self.amplitudes = model.amplitudes if amplitudes is None else amplitudes
        self._scorers: dict[Subset, Scorer] = {}
        self._lock = new_lock()
        # The exponents are 1 / power. That of the empty set is not used: its scores are all 0.
        self._powers = hyper.power / np.array(list(map(self.sharpness, policy)))
        self._frequencies = model.frequencies, model.floor(hyper.floor)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=new_lock())

    def scorer(self, subset: Subset) -> Scorer:
        """Return the scorer of a set, with its weights."""
        scorer = self._scorers.get(subset)
        if scorer is None:
            with self._lock:
                if subset not in self._scorers:
                    self._scorers[subset] = self._new_scorer(subset)
                scorer = self._scorers[subset]
        return scorer

    def _new_scorer(self, subset: Subset) -> Scorer:
        return Scorer(self.model.index(subset), *self.log_weights(subset), self.hyper.power)

    def log_weights(self, subset: Subset) -> tuple[sparse.csr_array, Floats | None]:
        """Return `ln g_ij W_ij` of a set, and `phi_ij` of each entry; None: all are 0."""
        mass, amplitudes = self.model.corpora[subset].mass, self.amplitudes.get(subset)
        log_W = formulas.log_weights(mass, self.hyper, self.model.frequencies)
        if amplitudes is None:
            return log_W, None

        def at_weights(of_entries: Floats) -> Floats:
            # Entries that only the prior has are neither scaled nor turned.
            return formulas.entries_at(formulas.with_data(mass, of_entries), log_W)

        if (amplitudes.gains != 1).any():
            with np.errstate(divide="ignore"):
                log_gains = at_weights(np.log(amplitudes.gains))
            log_W = formulas.with_data(log_W, log_W.data + log_gains)
        if not amplitudes.angles.any():  # without any, the sums are real
            return log_W, None
        return log_W, at_weights(amplitudes.angles)

    def sharpness(self, subset: Subset) -> float:
        """Return the factor of the exponent 1/p of the scores of a set."""
        return self.hyper.sharpness * self.learnt_sharpness(subset)

    def learnt_sharpness(self, subset: Subset) -> float:
        """Return the sharpness that goes with the gains and phases of a set."""
        return self.amplitudes[subset].sharpness if subset in self.amplitudes else 1.0

    def map(self, observed: Observations, answer: Answer) -> NDArray[Any]:
        """Apply `answer` to `ln U_i` (items x classes) and the powers of each block.

        The answers of the blocks are concatenated.
        """
        if self._single:
            subset, power = self.policy[0], float(self._powers[0])
            located = self.model.columns_for(observed, subset)
            return self.scorer(subset).map(located, lambda log_U: answer(log_U, power))
        parts = []
        for block in self._blocks(observed):
            log_U, used = self._log_scores(*block)
            parts.append(answer(log_U, self._powers[used][:, None]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def _single(self) -> bool:
        """Whether all items are scored by one dimension, and fit into memory as they are."""
        conjunctions = self.model.interactions.order > 1
        return len(self.policy) == 2 and len(self.policy[0]) == 1 and not conjunctions

    def probabilities(self, observed: Observations) -> Floats:
        """Return `X_i` of each item."""
        return self.map(observed, lambda L, p: formulas.probabilities(L, p, *self._frequencies))

    def log_probabilities(self, observed: Observations) -> Floats:
        """Return `ln X_i` of each item."""
        return self.map(observed, lambda L, p: formulas.log_probabilities(L, p, *self._frequencies))

    def most_probable(self, observed: Observations) -> NDArray[np.intp]:
        """Return `argmax_i X_i` of each item."""
        frequencies, floor = self._frequencies
        if not self._single or floor is not None:
            return self.map(observed, lambda L, p: self._best(L, p))
        subset, power = self.policy[0], float(self._powers[0])
        located = self.model.columns_for(observed, subset)
        return self.scorer(subset).map(
            located, lambda U: formulas.most_probable(U, power, frequencies), logarithms=False
        )

    def _best(self, log_U: Floats, powers: Floats | float) -> NDArray[np.intp]:
        return np.asarray(
            np.argmax(formulas.probabilities(log_U, powers, *self._frequencies), axis=1)
        )

    def log_scores(self, observed: Observations) -> tuple[Floats, NDArray[np.int64]]:
        """Return `ln U_i` of each item, and the index in the policy of the set that gave them."""
        parts = [self._log_scores(*block) for block in self._blocks(observed)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([L for L, _ in parts]), np.concatenate([used for _, used in parts])

    def most_probable_of(self, log_U: Floats, used: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return `argmax_i X_i` of items, given `ln U_i` and the index of their set."""
        return self._best(log_U, self._powers[used][:, None])

    def probabilities_of(self, log_U: Floats, used: NDArray[np.int64]) -> Floats:
        """Return `X_i` of items, given `ln U_i` and the index of their set."""
        return formulas.probabilities(log_U, self._powers[used][:, None], *self._frequencies)

    def log_probabilities_of(self, log_U: Floats, used: NDArray[np.int64]) -> Floats:
        """Return `ln X_i` of items, given `ln U_i` and the index of their set."""
        return formulas.log_probabilities(log_U, self._powers[used][:, None], *self._frequencies)

    def _log_scores(
        self, observed: Observations, numbers: NDArray[Any]
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Return `ln U_i` of each item, and the index of the set that gave them.

        `numbers` are the numbers of the items in the data of the caller, for errors.
        """
        log_U = np.full((observed.n_items, len(self.model.classes)), -np.inf)
        used = np.full(observed.n_items, len(self.policy) - 1)
        left = np.arange(observed.n_items)
        for place, subset in enumerate(self.policy[:-1]):
            located = self._located(observed, subset, numbers[left])
            found = self.scorer(subset).map(located, lambda L: L)
            scored = np.isfinite(found).any(axis=1)
            log_U[left[scored]], used[left[scored]] = found[scored], place
            left = left[~scored]
            if not len(left):
                break
            observed = observed.select(~scored)
        return log_U, used

    def _located(
        self, observed: Observations, subset: Subset, numbers: NDArray[Any]
    ) -> Observations:
        """Return the items for a set, or raise if one item has too many tuples."""
        if len(subset) > 1:
            names = ", ".join(map(repr, self.model.dimensions.named(subset)))
            what = f"tuples in the product of the dimensions {names}"
            self._check_sizes(self.model.dimensions.sizes(observed, subset), what, numbers)
        elif self.model.interactions.order > 1:
            sizes = self.model.interactions.entries(observed)
            self._check_sizes(sizes, "entries of values and conjunctions of them", numbers)
        return self.model.columns_for(observed, subset)

    def _check_sizes(self, sizes: Floats, what: str, numbers: NDArray[Any]) -> None:
        if sizes.max(initial=0) > self.max_entries:
            item = int(np.argmax(sizes))
            raise DataError(
                f"{sizes[item]:,.0f} {what} are more than max_entries={self.max_entries:,}",
                item=int(numbers[item]),
            )

    def _blocks(self, observed: Observations) -> Iterator[tuple[Observations, NDArray[Any]]]:
        """Yield blocks of items with a limited number of tuples, and the numbers of the items."""
        self.model.interactions.check_weights(observed)
        tuples = np.maximum(self.model.interactions.sizes(observed), 1.0)
        for subset in self.policy:
            if len(subset) > 1:
                np.maximum(tuples, self.model.dimensions.sizes(observed, subset), out=tuples)
        np.minimum(tuples, self.max_entries, out=tuples)  # more raise an error later
        block = (np.cumsum(tuples) // _BLOCK_TUPLES).astype(np.int64)
        if block[-1] == block[0]:
            yield observed, np.arange(observed.n_items)
            return
        for number in np.unique(block):
            yield observed.select(block == number), np.flatnonzero(block == number)

    def contributions(
        self, observed: Observations, used: NDArray[np.int64], classes: NDArray[Any]
    ) -> Iterator[tuple[Subset, Contributions]]:
        """Yield the contributions to the score of one class per item, set by set.

        `used` is the index in the policy of the set that gave the scores of each item.
        """
        for block, numbers in self._blocks(observed):
            places = used[numbers]
            for place in np.unique(places[places < len(self.policy) - 1]).tolist():
                subset, items = self.policy[place], numbers[places == place]
                view = block if len(items) == len(numbers) else block.select(places == place)
                located = self.model.columns_for(view, subset)
                parts = self.scorer(subset).contributions(located, classes[items])
                yield subset, parts._replace(items=items[parts.items])

    def coverage(self, observed: Observations) -> Floats:
        """Return the known share of each item, by the first set that knows any of it."""
        return np.concatenate([self._coverage(*block) for block in self._blocks(observed)])

    def _coverage(self, observed: Observations, numbers: NDArray[Any]) -> Floats:
        coverage = np.zeros(observed.n_items)
        left = np.arange(observed.n_items)
        for subset in self.policy[:-1]:
            located = self._located(observed, subset, numbers[left])
            learnt = self.model.corpora[subset].used_rows
            shares = seen_share(self.model.index(subset), located, learnt)
            coverage[left] = shares
            left = left[shares == 0]
            if not len(left):
                break
            observed = observed.select(shares == 0)
        return coverage
