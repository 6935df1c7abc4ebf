"""Exact leave-one-out: items predicted by the model without them, by subtracting their counts.

For an item that was learnt, the counts without it are known: `C_ij` less what it has added, and
likewise the mass of its values, of its classes and of all items. Everything else follows from
these by the formulas, so the answers are those of a model fitted without the item. Phases, knots
of scales, selected conjunctions and label thresholds stay as they were learnt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from stc._core import formulas
from stc._core.cascade import Cascade
from stc._core.formulas import Floats, Hyper
from stc._core.labels import places_of
from stc._core.matrix import FeatureMatrix
from stc._core.model import Model
from stc._core.observations import Column, Observations, items_of, offsets_of
from stc._core.product import first_places, unique_keys
from stc._core.tensor import Subset
from stc.exceptions import NeverLearntError

# What is left of a mass below this share of it is a rounding error of the subtraction.
_ROUNDING = 1e-12
# Largest number of cells (values of items x classes) in a block.
_BLOCK_CELLS = 1 << 20
# Corpora of at most this many cells are stored densely, which is faster to read.
_DENSE_CELLS = 1 << 22
# exp() of less is 0 beside 1.
_LARGEST_EXPONENT = 600.0


@dataclass(frozen=True)
class LearntItems:
    """Items that a model has learnt.

    Attributes
    ----------
    observed
        The encoded items.
    truth
        The target of each item as shares of the classes of the model.
    sample_weight
        The weight of each item in the model.
    removed
        The weight that is left out together with an item.
    group
        The group of each item, from 0; the items of a group are left out together.
    """

    observed: Observations
    truth: Floats
    sample_weight: Floats
    removed: Floats
    group: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        model: Model,
        observed: Observations,
        target: Column,
        sample_weight: Floats,
        groups: NDArray[np.int64] | None = None,
    ) -> LearntItems:
        """Return items with the units to leave out.

        Without groups that is one unit of the weight of each item, at most the item itself.
        """
        weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
        truth = truth_of(model, target, weight)
        if groups is None:
            single = np.arange(observed.n_items)
            return cls(observed, truth, weight, np.minimum(weight, 1.0), single)
        return cls(observed, truth, weight, weight, groups)

    def sampled(
        self, items: NDArray[np.int64], weight: Floats, group: NDArray[np.int64] | None
    ) -> LearntItems:
        """Return some items, in ascending order, with weights; the units left out are as in `of`.

        Of groups there must be all items.
        """
        mask = np.zeros(len(self.group), dtype=bool)
        mask[items] = True
        numbers = np.arange(len(items))
        selected, truth = self.observed.select(mask), self.truth[mask]
        if group is not None:
            return LearntItems(selected, truth, weight, weight, group)
        return LearntItems(selected, truth, weight, np.minimum(weight, 1.0), numbers)

    @property
    def single(self) -> bool:
        """Whether each item is left out alone."""
        return bool((self.group == np.arange(len(self.group))).all())

    def select(self, items: NDArray[np.int64]) -> LearntItems:
        """Return some of the items: whole groups, numbered anew."""
        mask = np.zeros(len(self.group), dtype=bool)
        mask[items] = True
        group = np.unique(self.group[mask], return_inverse=True)[1]
        arrays = self.truth[mask], self.sample_weight[mask], self.removed[mask]
        return LearntItems(self.observed.select(mask), *arrays, group)


def truth_of(model: Model, target: Column, sample_weight: Floats) -> Floats:
    """Return the target of each item as shares of the classes of a model."""
    values = np.asarray(target.values)
    places = places_of(model.classes, values)
    known = places < len(model.classes)
    items, codes, weights = target.entries()
    unknown = np.flatnonzero(~known[codes] & (sample_weight[items] > 0))
    if len(unknown):
        raise NeverLearntError("its class was never learnt", item=int(items[unknown[0]]))
    kept = known[codes]
    truth = np.zeros((target.n_items, len(model.classes)))
    amounts = np.ones(len(codes)) if weights is None else weights
    truth[items[kept], places[codes[kept]]] = amounts[kept]
    totals = truth.sum(axis=1, keepdims=True)
    return np.asarray(truth / np.where(totals > 0, totals, 1.0))


@dataclass(frozen=True, eq=False)
class Remaining:
    """What is left of the model for each item of a block, for one set of dimensions.

    Values of the same feature and share, of items that leave the same behind, share a row.

    Attributes
    ----------
    members
        Which rows each item has, items x rows.
    sizes
        The number of values of each item, with those of which nothing is left.
    item_kinds
        The kind of each item.
    kinds
        The kind of the items of each row, by what they leave behind.
    x
        The share `x_j` of each row.
    C
        `C_ij` of each row, classes x rows: few classes are summed fastest along the first axis.
    per_class
        `sum_j C_ij`, classes x kinds.
    frequencies
        `f_i`, classes x kinds.
    log_gains, angles
        `ln g_ij` and `phi_ij` of each row, classes x rows; None: all are 0.
    """

    members: sparse.csr_array
    sizes: NDArray[np.int64]
    item_kinds: NDArray[np.int64]
    kinds: NDArray[np.int64]
    x: Floats
    C: Floats
    per_class: Floats
    frequencies: Floats
    log_gains: Floats | None
    angles: Floats | None
    # The last logarithms, by prior: settings are often tried one after the other.
    _logarithms: dict[float, tuple[Floats, Floats, Floats]] = field(default_factory=dict)

    def log_scores(self, hyper: Hyper) -> Floats:
        """Return `ln U_i` of each item; -inf where `U_i` is 0."""
        return self._summed(self.log_contributions(hyper))

    def log_contributions(self, hyper: Hyper) -> Floats:
        """Return `ln w_ij` of each row, classes x rows."""
        log_C, log_F, log_H = self._logs(hyper.prior)
        log_w = log_C + self._log_x
        if hyper.balance != 1:
            log_w -= (1 - hyper.balance) * log_F
        if hyper.balance != 0:
            log_w -= hyper.balance * self._log_per_class
        log_w *= hyper.power
        if hyper.entropy != 0:
            log_w += hyper.entropy * log_H
        if self.log_gains is not None:
            log_w += self.log_gains
        return log_w

    @cached_property
    def _masses(self) -> Floats:
        """Mass of the classes of each row; 1 for a class without, which has no entries."""
        return np.asarray(np.where(self.per_class > 0, self.per_class, 1.0)[:, self.kinds])

    @cached_property
    def _log_per_class(self) -> Floats:
        return np.log(self._masses)

    @cached_property
    def _log_x(self) -> Floats:
        return np.log(self.x)

    def _logs(self, prior: float) -> tuple[Floats, Floats, Floats]:
        """Return `ln C_ij`, `ln sum_i C_ij` and `ln H_j` of each row, with a prior."""
        if prior not in self._logarithms:
            if len(self._logarithms) > 1:
                del self._logarithms[next(iter(self._logarithms))]
            C = self.C
            if prior:
                spread = prior * np.where(self.per_class > 0, self.frequencies, 0.0)
                C = C + np.where(C.any(axis=0), spread[:, self.kinds], 0.0)
            F = C.sum(axis=0)
            with np.errstate(divide="ignore"):
                logs = np.log(C), np.log(np.where(F > 0, F, 1.0)), np.log(self._entropies(C))
            self._logarithms[prior] = logs
        return self._logarithms[prior]

    def _entropies(self, C: Floats) -> Floats:
        """Return `H_j` of each row; see `formulas.entropy_weights`."""
        n_classes = np.count_nonzero(self.per_class, axis=0)[self.kinds]
        P = C / self._masses
        P /= np.maximum(P.sum(axis=0), np.finfo(np.float64).tiny)
        several = np.maximum(n_classes, 2)
        # x ln x is 0 for 0.
        terms = P * np.log(np.where(P > 0, P * several, 1.0))
        H = terms.sum(axis=0) / np.log(several)
        H[formulas.NO_INFORMATION > H] = 0.0
        return np.where(n_classes < 2, 1.0, np.minimum(H, 1.0))

    def _summed(self, log_w: Floats) -> Floats:
        """Return `ln |sum_j w_ij|` of each item; items x classes."""
        members, angles = self.members, self.angles
        highest: Any = log_w.max(initial=-np.inf)
        highest = highest if np.isfinite(highest) else 0.0
        lowest = log_w.min(where=np.isfinite(log_w), initial=highest)
        shifts = highest
        if highest - lowest > _LARGEST_EXPONENT:
            # Numbers that vanish beside the largest of all may be the largest of their score.
            rows, items = members.indices, items_of(members.indptr)
            log_w, angles = log_w[:, rows], None if angles is None else angles[:, rows]
            ones = np.ones(len(rows)), np.arange(len(rows)), members.indptr
            shifts = np.zeros((len(log_w), members.shape[0]))
            filled = np.flatnonzero(np.diff(members.indptr))
            shifts[:, filled] = np.maximum.reduceat(log_w, members.indptr[filled], axis=1)
            shifts[np.isneginf(shifts)] = 0.0
            members = sparse.csr_array(ones, shape=(members.shape[0], len(rows)))
            highest = shifts[:, items]
        w = np.exp(log_w - highest)
        if angles is None:
            U = members @ w.T
        else:
            U = np.abs(members @ formulas.turned(w, -angles).T)
            U[formulas.CANCELLED * (members @ w.T) >= U] = 0.0
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(U) + np.transpose(shifts))


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Items of a block, and what is left of the model without each.

    Attributes
    ----------
    cascade
        The model, its policy and its phases.
    learnt
        The items.
    """

    cascade: Cascade
    learnt: LearntItems

    @cached_property
    def _class_mass(self) -> Floats:
        """The mass `m_i` of each class, groups x classes."""
        learnt, mass = self.learnt, self.cascade.model.class_mass
        left = mass - _sums(learnt.group, learnt.removed[:, None] * learnt.truth)
        left[left <= _ROUNDING * mass] = 0.0
        return np.asarray(left)

    @cached_property
    def _group_frequencies(self) -> Floats:
        """The share of each class among the items that are left, groups x classes."""
        mass = self._class_mass
        totals = mass.sum(axis=1, keepdims=True)
        uniform = np.full(mass.shape, 1 / max(mass.shape[1], 1))
        return np.asarray(np.divide(mass, totals, out=uniform, where=totals > 0))

    @cached_property
    def frequencies(self) -> Floats:
        """The share of each class among the items that are left, items x classes."""
        return np.asarray(self._group_frequencies[self.learnt.group])

    def floor(self, share: float) -> Floats | None:
        """Return the least probability of each class, items x classes; None if the share is 0."""
        if share == 0:
            return None
        return formulas.floor_of(self._class_mass, share)[self.learnt.group]

    @cached_property
    def remaining(self) -> tuple[Remaining, ...]:
        """What is left of each set of the policy but the last, which is empty."""
        return tuple(self._remaining(subset) for subset in self.cascade.policy[:-1])

    def _remaining(self, subset: Subset) -> Remaining:
        learnt, corpus = self.learnt, self.cascade.model.corpora[subset]
        items, features, x = _values(self.cascade.model, subset, learnt.observed)
        covered = np.bincount(items, minlength=len(learnt.group)) > 0
        kind, first_items = _kinds(learnt, covered)
        shares, x_codes = np.unique(x, return_inverse=True)
        keys = (features * len(first_items) + kind[items]) * max(len(shares), 1) + x_codes
        places = unique_keys(keys, int(keys.max(initial=-1)) + 1)[1]
        rows = first_places(places)
        taken, counted = self._taken(items, features, x, rows)
        C = _rows(corpus.mass, features[rows])
        _check_learnt(items[rows], C, taken)
        support = _rows(formulas.with_data(corpus.mass, corpus.support), features[rows])
        left = C - taken
        left[(support <= counted) | (left <= _ROUNDING * C)] = 0.0
        mass = corpus.class_mass()
        removed = np.bincount(items, x * learnt.removed[items], minlength=len(learnt.group))
        per_class = mass - _sums(learnt.group, removed[:, None] * learnt.truth)
        per_class[per_class <= _ROUNDING * mass] = 0.0
        log_gains, angles = self._amplitudes(subset, features[rows])
        # Values of which nothing is left contribute nothing: most n-grams occur in one item only.
        seen = np.asarray(left.any(axis=1))
        rows, left = rows[seen], left[seen]
        present = seen[places]
        places = (np.cumsum(seen) - 1)[places[present]]
        sizes = np.bincount(items, minlength=len(learnt.group))
        indptr = offsets_of(np.bincount(items[present], minlength=len(learnt.group)))
        members = (np.ones(len(places)), places, indptr)
        first_groups = learnt.group[first_items]
        return Remaining(
            sparse.csr_array(members, shape=(len(learnt.group), len(rows))),
            sizes,
            kind,
            kind[items[rows]],
            x[rows],
            np.ascontiguousarray(left.T),
            per_class[first_groups].T,
            self._group_frequencies[first_groups].T,
            None if log_gains is None else log_gains[seen].T,
            None if angles is None else angles[seen].T,
        )

    def _amplitudes(
        self, subset: Subset, features: NDArray[np.int64]
    ) -> tuple[Floats | None, Floats | None]:
        """Return `ln g_ij` and `phi_ij` of features, features x classes; None: all are 0."""
        amplitudes = self.cascade.amplitudes.get(subset)
        if amplitudes is None:
            return None, None
        mass = self.cascade.model.corpora[subset].mass
        with np.errstate(divide="ignore"):
            of_entries = np.log(amplitudes.gains), amplitudes.angles
        log_gains, angles = (
            _rows(formulas.with_data(mass, values), features) if values.any() else None
            for values in of_entries
        )
        return log_gains, angles

    def _taken(
        self,
        items: NDArray[np.int64],
        features: NDArray[np.int64],
        x: Floats,
        rows: NDArray[np.int64],
    ) -> tuple[Floats, Floats]:
        """Return the mass that is left out of the entries of rows, and the number of items."""
        learnt = self.learnt
        whole = learnt.removed == learnt.sample_weight

        def parts(values: Any) -> tuple[Floats, Floats]:
            owners = items[values]
            truth = learnt.truth[owners]
            counted = (truth > 0) & (whole & (learnt.removed > 0))[owners][:, None]
            return (x[values] * learnt.removed[owners])[:, None] * truth, counted.astype(np.float64)

        if learnt.single:
            return parts(rows)
        keys = learnt.group[items] * (int(features.max(initial=0)) + 1) + features
        places = np.unique(keys, return_inverse=True)[1]
        taken, counted = (_sums(places, part)[places[rows]] for part in parts(slice(None)))
        return taken, counted

    def log_scores(self, hyper: Hyper) -> tuple[Floats, NDArray[np.int64]]:
        """Return `ln U_i` of each item, and the index of the set that gave them."""
        last = len(self.cascade.policy) - 1
        used = np.full(len(self.learnt.group), last)
        log_U = np.full(self.learnt.truth.shape, -np.inf)
        for place, remaining in enumerate(self.remaining):
            found = remaining.log_scores(hyper)
            scored = np.isfinite(found).any(axis=1) & (used == last)
            log_U[scored], used[scored] = found[scored], place
        return log_U, used

    def probabilities(self, hyper: Hyper) -> Floats:
        """Return `X_i` of each item by the model without it."""
        log_U, used = self.log_scores(hyper)
        learnt = np.array([self.cascade.learnt_sharpness(s) for s in self.cascade.policy])
        power = (hyper.power / (hyper.sharpness * learnt))[used][:, None]
        return formulas.probabilities(log_U, power, self.frequencies, self.floor(hyper.floor))


def _values(
    model: Model, subset: Subset, observed: Observations
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the item, the feature and the share of each value of items in a set."""
    located = model.columns_for(observed, subset)
    layout, index = FeatureMatrix.of(located), model.index(subset)
    numbers = [index.locate(column)[: column.n_values] for column in located.columns]
    features = np.concatenate([np.zeros(0, dtype=np.int64), *numbers])[layout.matrix.indices]
    items = items_of(layout.matrix.indptr)
    totals = np.broadcast_to(located.totals, located.n_items)
    x = layout.matrix.data / np.where(totals > 0, totals, 1.0)[items]
    present = np.flatnonzero(x > 0)
    return items[present], features[present], x[present]


def _kinds(
    learnt: LearntItems, covered: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the kind of each item, by what it leaves behind, and an item of each kind."""
    codes: list[NDArray[Any]]
    if not learnt.single:
        codes = [learnt.group]
    elif (learnt.truth.max(axis=1, initial=0.0) == 1).all():  # one class each
        codes = [np.argmax(learnt.truth, axis=1)]
    else:
        codes = [np.unique(learnt.truth, axis=0, return_inverse=True)[1].ravel()]
    codes += [np.unique(learnt.removed, return_inverse=True)[1]]
    codes += [learnt.removed == learnt.sample_weight, covered]
    columns = np.stack([np.asarray(code, dtype=np.int64) for code in codes])
    keys = np.ravel_multi_index(tuple(columns), tuple(columns.max(axis=1, initial=0) + 1))
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return kind, first


def _check_learnt(items: NDArray[np.int64], C: Floats, taken: Floats) -> None:
    """Raise an error if the model has less of a value than an item."""
    wrong = np.flatnonzero(((1 - 1e-9) * taken > C).any(axis=1))
    if len(wrong):
        raise NeverLearntError(
            "it was never learnt with this class and weight", item=int(items[wrong].min())
        )


def probabilities(cascade: Cascade, learnt: LearntItems) -> Floats:
    """Return the probabilities of items by the model without them, in blocks of memory."""
    X = np.empty(learnt.truth.shape)
    for items in _blocks(cascade, learnt):
        part = LeaveOneOut(cascade, learnt.select(items))
        try:
            X[items] = part.probabilities(cascade.hyper)
        except NeverLearntError as error:
            number = None if error.item is None else int(items[error.item])
            raise NeverLearntError(error.message, item=number) from None
    return X


def _blocks(cascade: Cascade, learnt: LearntItems) -> Iterator[NDArray[np.int64]]:
    """Yield items, whole groups at a time, with a limited number of values x classes."""
    sizes = np.maximum(cascade.model.interactions.sizes(learnt.observed), 1.0)
    for subset in cascade.policy:
        if len(subset) > 1:
            sizes = np.maximum(sizes, cascade.model.dimensions.sizes(learnt.observed, subset))
    per_group = np.bincount(learnt.group, sizes * max(learnt.truth.shape[1], 1))
    block = (np.cumsum(per_group) // _BLOCK_CELLS).astype(np.int64)[learnt.group]
    order = np.argsort(block, kind="stable")
    bounds = np.flatnonzero(np.diff(block[order])) + 1
    for items in np.split(order, bounds):
        yield np.sort(items)


def _rows(table: sparse.csr_array, features: NDArray[np.int64]) -> Floats:
    """Return rows of a table, densely; zeros for unknown features."""
    n_features, n_classes = table.shape
    if table.shape[0] * table.shape[1] <= _DENSE_CELLS:
        dense = np.zeros((n_features + 1, n_classes))
        dense[:-1] = table.toarray()
        return np.asarray(dense[features])
    padded = sparse.csr_array(
        (table.data, table.indices, np.append(table.indptr, table.indptr[-1])),
        shape=(n_features + 1, n_classes),
    )
    return np.asarray(padded[features].toarray(), dtype=np.float64)


def _sums(group: NDArray[np.int64], table: Floats) -> Floats:
    """Return the sums of the rows of each group."""
    size = int(group.max(initial=-1)) + 1
    members = sparse.csr_array(
        (np.ones(len(group)), (group, np.arange(len(group)))), shape=(size, len(group))
    )
    return np.asarray(members @ table)
