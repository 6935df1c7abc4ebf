"""A dense oracle of tensors: the formulas of the design on full NumPy arrays.

It knows nothing of ``stc``, of sparsity or of marginals: for every set of dimensions the whole
tensor is written down, by one ``einsum`` over the items. A dimension in which an item has no value
is a row of zeros, so the products vanish by themselves. Long doubles, where the machine has them,
keep its own rounding out of the comparison.

Symbols are the paper's: i is a class, j a tuple of features, one of each dimension of the set S.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from support.oracle import Bag, Hyper, observation

Item: TypeAlias = Sequence[Bag]  # one bag per dimension
Set: TypeAlias = tuple[int, ...]  # positions of dimensions, ascending
Soft: TypeAlias = Mapping[Any, float]

# The contract calls a smaller entropy weight rounding, and so exactly zero.
NO_ENTROPY = 1e-12
ROUNDING = 2.0**-52


@dataclass(frozen=True)
class Tensor:
    """What was learnt: ``x`` of each dimension is (items, features), ``y`` is (items, classes)."""

    features: list[list[Hashable]]
    x: list[np.ndarray]
    y: np.ndarray
    s: np.ndarray
    classes: list[Any]
    # Only to be quick: the weights are the same for all items.
    known: dict[tuple[Set, Hyper], np.ndarray] = field(default_factory=dict, compare=False)

    def corpus(self, S: Set) -> np.ndarray:
        """``C[tuple, class] = sum_n s_n prod_d x_d y_i``; of the empty set, the class mass."""
        return sum_of_products([self.x[d] for d in S], self.y * self.s[:, None])

    def support(self, S: Set) -> np.ndarray:
        """The number of items behind each entry."""
        there = (self.y > 0) & (self.s > 0)[:, None]
        return sum_of_products([(self.x[d] > 0).astype(int) for d in S], there.astype(int))

    def entries(self, S: Set) -> dict[tuple[tuple[Any, ...], Any], tuple[float, int]]:
        """``C`` as a dict ``(tuple, class) -> (mass, support)`` of what is not zero."""
        C, support = self.corpus(S), self.support(S)
        return {
            (self.tuple_at(S, place[:-1]), self.classes[place[-1]]): (
                float(C[place]),
                int(support[place]),
            )
            for place in zip(*np.nonzero(C), strict=True)
        }

    def tuple_at(self, S: Set, place: Sequence[int]) -> tuple[Any, ...]:
        return tuple(self.features[d][j] for d, j in zip(S, place, strict=True))

    def balanced(self, S: Set, b: float) -> np.ndarray:
        """``B_ij = C_ij / ((sum_i' C_i'j)^(1-b) * (sum_j' C_ij')^b)``; absent stays absent."""
        C = self.corpus(S)
        across, along = C.sum(axis=-1, keepdims=True), of_class(C)
        return np.divide(C, power(across, 1 - b) * power(along, b), where=C > 0, out=0 * C)

    def entropy(self, S: Set) -> np.ndarray:
        """``H_j = 1 + sum_i P_i|j ln P_i|j / ln I``, I the classes with mass in this corpus."""
        C = self.corpus(S)
        massive = of_class(C)[of_class(C) > 0].size
        if massive <= 1:
            return np.ones_like(C[..., 0])
        P = np.divide(C, of_class(C), where=C > 0, out=0 * C)
        total = P.sum(axis=-1, keepdims=True)
        P = np.divide(P, total, where=total > 0, out=0 * C)
        logs = np.log(P, where=P > 0, out=np.zeros_like(P))
        H = 1 + (P * logs).sum(axis=-1) / np.log(np.longdouble(massive))
        return np.where(NO_ENTROPY > H, 0 * H, H)

    def weights(self, S: Set, hyper: Hyper) -> np.ndarray:
        """``W_ij = H_j^h * B_ij^p``; h = 0 drops the entropy altogether."""
        if (S, hyper) not in self.known:
            H = self.entropy(S)[..., None]
            factor = H**hyper.entropy if hyper.entropy else np.ones_like(H)
            self.known[S, hyper] = factor * power(self.balanced(S, hyper.balance), hyper.power)
        return self.known[S, hyper]

    def observed(self, item: Item, S: Set) -> np.ndarray:
        """The product distribution of an item over the tuples of S whose values were learnt."""
        return product([shares(item[d], self.features[d]) for d in S])

    def contributions(self, item: Item, S: Set, hyper: Hyper) -> np.ndarray:
        """``w_ij(x) = W_ij * x_j^p``."""
        return self.weights(S, hyper) * power(self.observed(item, S), hyper.power)[..., None]

    def scores(self, item: Item, S: Set, hyper: Hyper) -> np.ndarray:
        """``U_i = |sum_j w_ij(x)|``."""
        w = self.contributions(item, S, hyper)
        return w.reshape(-1, len(self.classes)).sum(axis=0)

    def used(self, item: Item, policy: Sequence[Set], hyper: Hyper) -> Set:
        """The first set that scores the item, or the empty one."""
        return next((S for S in policy if S and self.scores(item, S, hyper).any()), ())

    def logarithms(self, item: Item, policy: Sequence[Set], hyper: Hyper) -> np.ndarray:
        """``ln X_i`` with ``X_i = U_i^(1/p) / sum_k U_k^(1/p)``, or of the class frequencies."""
        S = self.used(item, policy, hyper)
        with np.errstate(divide="ignore"):
            if S:
                logs = np.log(self.scores(item, S, hyper)) / np.longdouble(hyper.power)
            else:
                logs = np.log(self.corpus(()))
        logs = logs - logs.max()
        return logs - np.log(np.exp(logs).sum())

    def probabilities(self, items: Sequence[Item], policy: Sequence[Set], hyper: Hyper) -> Any:
        return np.exp(np.array([self.logarithms(item, policy, hyper) for item in items]))

    def coverage(self, item: Item, policy: Sequence[Set]) -> float:
        """The share of the item in tuples known to the first set that knows any of it."""
        for S in policy:
            known = self.corpus(S).sum(axis=-1) > 0
            share = float(self.observed(item, S)[known].sum()) if S else 0.0
            if share > 0:
                return share
        return 0.0

    def tolerance(self, policy: Sequence[Set], hyper: Hyper) -> float:
        """1e-12, unless badly conditioned: H_j is one minus something, see ``oracle.Oracle``."""
        H = np.concatenate([np.ones(1), *(self.entropy(S).ravel() for S in policy if S)])
        worst = hyper.entropy / float(H[H > 0].min())
        return 1e-12 + 8 * ROUNDING * worst / hyper.power


def learn_tensor(
    items: Sequence[Item], y: Sequence[Soft], sample_weight: Sequence[float] | None = None
) -> Tensor:
    """Dense arrays of the items; what only items of weight zero have was never learnt."""
    s = [1.0] * len(items) if sample_weight is None else [float(w) for w in sample_weight]
    kept = [n for n in range(len(items)) if s[n] > 0]
    features = [sorted_keys([items[n][d] for n in kept]) for d in range(len(items[0]))]
    classes = sorted_keys([y[n] for n in kept])
    return Tensor(
        features,
        [np.array([shares(items[n][d], js) for n in kept]) for d, js in enumerate(features)],
        np.array([shares(y[n], classes) for n in kept]),
        np.array([s[n] for n in kept], dtype=np.longdouble),
        classes,
    )


def joint(parts: Sequence[Soft]) -> dict[tuple[Any, ...], Fraction]:
    """The distribution of several targets that are independent given the item: the product."""
    cells: dict[tuple[Any, ...], Fraction] = {(): Fraction(1)}
    for part in parts:
        shares_of = observation(part)
        cells = {(*c, i): p * q for c, p in cells.items() for i, q in shares_of.items()}
    return cells


def marginal(classes: Sequence[tuple[Any, ...]], joint: np.ndarray, t: int) -> Any:
    """The classes of target t, and their probabilities for every row of the joint."""
    values = sorted({c[t] for c in classes})
    columns = [sum(joint[:, k] for k, c in enumerate(classes) if c[t] == v) for v in values]
    return values, np.array(columns).T


def loss(target: Sequence[float], predicted: Sequence[float], options: Mapping[str, Any]) -> float:
    """What the agent pays for one prediction; every item counts, also a certain mistake."""
    if options.get("loss", "norm") == "log":
        floor = options.get("floor", 1e-9)
        return -sum(
            x * float(np.log(max(p, floor))) for x, p in zip(target, predicted, strict=True)
        )
    q = options.get("order", 1.0)
    apart = sum(abs(x - p) ** q for x, p in zip(target, predicted, strict=True))
    return float(apart ** (1 / q)) / 2


def value(
    learnt: Tensor, asked: Tensor, items: Sequence[Item], policy: Sequence[Set], **options: Any
) -> float:
    """The value of a state, its fallbacks behind it: the mean reward, weighted by the items."""
    predicted = learnt.probabilities(items, policy, options.pop("hyper"))
    costs = [loss(asked.y[n], predicted[n], options) for n in range(len(items))]
    return -float(np.average(costs, weights=asked.s))


def sum_of_products(x: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
    """``sum_n x_1 (x) x_2 (x) ... (x) y``: axis 0 of each is the item."""
    operands: list[Any] = []
    for axis, part in enumerate([*x, y], start=1):
        operands += [part, [0, axis]]
    return np.einsum(*operands, list(range(1, len(x) + 2)))


def of_class(C: np.ndarray) -> np.ndarray:
    """``sum_j' C_ij'``."""
    return C.reshape(-1, C.shape[-1]).sum(axis=0)


def product(x: Sequence[np.ndarray]) -> np.ndarray:
    return reduce(np.multiply.outer, x, np.ones((), dtype=np.longdouble))


def power(base: np.ndarray, exponent: float) -> np.ndarray:
    """Absent entries are never raised to a power."""
    return np.power(base, np.longdouble(exponent), where=base > 0, out=0 * base)


def shares(bag: Bag, keys: Sequence[Hashable]) -> np.ndarray:
    """The weights of a bag, divided by the total of all of it, at the keys that are known."""
    x = observation(bag)
    found = [x.get(key, Fraction(0)) for key in keys]
    return np.array(
        [np.longdouble(v.numerator) / np.longdouble(v.denominator) for v in found],
        dtype=np.longdouble,
    )


def sorted_keys(bags: Sequence[Bag]) -> list[Any]:
    keys = {key for bag in bags for key in observation(bag)}
    return sorted(keys, key=sortable)


def sortable(key: Any) -> Any:
    """A missing value is None and has no order of its own: it comes last."""
    return tuple((part is None, part) for part in key) if isinstance(key, tuple) else key
