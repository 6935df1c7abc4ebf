"""A dense oracle: the formulas of the design, written with plain loops.

It knows nothing of ``stc``. The corpus, the class masses and the balanced conditionals are exact
fractions, so it is known exactly whether a feature is uniform over the classes (H = 0); whatever
needs a logarithm or a power is computed with 60 decimal digits and a practically unlimited
exponent. Hence no rounding and no underflow of its own: a difference is the code's.

Symbols are the paper's: i is a class, j a feature, I the number of classes with mass.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

Class: TypeAlias = Any
Number: TypeAlias = int | float | Fraction
Bag: TypeAlias = Mapping[Hashable, Number]
Entry: TypeAlias = tuple[Hashable, Class]

EXACT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
# The contract calls a smaller entropy weight rounding, and so exactly zero.
NO_ENTROPY = Decimal("1e-12")


@dataclass(frozen=True)
class Hyper:
    """Power p, balance b and entropy h; prior alpha, sharpness s and floor m."""

    power: float = 0.5
    balance: float = 1.0
    entropy: float = 1.0
    prior: float = 0.0
    sharpness: float = 1.0
    floor: float = 0.0


@dataclass(frozen=True)
class Oracle:
    """What was learnt: ``C_ij``, the items behind each entry, and the mass of each class."""

    corpus: dict[Entry, Fraction]
    support: dict[Entry, int]
    class_mass: dict[Class, Fraction]
    # Only to be quick: the weights are the same for all items.
    known_weights: dict[Hyper, dict[Entry, Decimal]] = field(default_factory=dict, compare=False)

    @property
    def classes(self) -> list[Class]:
        return sorted(self.class_mass)

    @property
    def features(self) -> set[Hashable]:
        return {j for j, _ in self.corpus}

    def of_class(self, i: Class) -> Fraction:
        """``sum_j' C_ij'``."""
        return sum((c for (_, k), c in self.corpus.items() if k == i), Fraction(0))

    def frequencies(self) -> dict[Class, Fraction]:
        """``f_i``, the share of each class among the items."""
        total = sum(self.class_mass.values(), Fraction(0))
        return {i: mass / total for i, mass in self.class_mass.items()}

    def counted(self, prior: float = 0.0) -> dict[Entry, Fraction]:
        """``C_ij + alpha f_i``, for each feature and each class with entries."""
        if not prior:
            return self.corpus
        f = self.frequencies()
        return {
            (j, i): self.corpus.get((j, i), Fraction(0)) + Fraction(prior) * f[i]
            for j in self.features
            for i in self.massive()
        }

    def balanced(self, b: float, prior: float = 0.0) -> dict[Entry, Decimal]:
        """``B_ij = C_ij / ((sum_i' C_i'j)^(1-b) * (sum_j' C_ij')^b)``."""
        C = self.counted(prior)
        totals = {j: Fraction(0) for j in self.features}
        for (j, _), c in C.items():
            totals[j] += c
        with localcontext(EXACT):
            across = {j: decimal(total) ** (1 - Decimal(b)) for j, total in totals.items()}
            along = {i: decimal(self.of_class(i)) ** Decimal(b) for i in self.massive()}
            return {(j, i): decimal(c) / (across[j] * along[i]) for (j, i), c in C.items()}

    def massive(self) -> list[Class]:
        """The classes with mass in the corpus; their number is ``I``."""
        return [i for i in self.classes if self.of_class(i) > 0]

    def conditional(self, prior: float = 0.0) -> dict[Entry, Fraction]:
        """``P_ij = C_ij / sum_j' C_ij'`` and ``P_i|j = P_ij / sum_i' P_i'j``, exactly."""
        mass = {i: self.of_class(i) for i in self.massive()}
        P = {(j, i): c / mass[i] for (j, i), c in self.counted(prior).items()}
        total: dict[Hashable, Fraction] = {}
        for (j, _), value in P.items():
            total[j] = total.get(j, Fraction(0)) + value
        return {(j, i): value / total[j] for (j, i), value in P.items()}

    def entropy(self, prior: float = 0.0) -> dict[Hashable, Decimal]:
        """``H_j = 1 + sum_i P_i|j ln P_i|j / ln I``; 1 when I = 1, 0 exactly when uniform."""
        size = len(self.massive())
        conditional = self.conditional(prior)
        H = {}
        for j in self.features:
            P_j = [value for (k, _), value in conditional.items() if k == j]
            if size == 1:
                H[j] = Decimal(1)
            elif P_j == [Fraction(1, size)] * size:
                H[j] = Decimal(0)
            else:
                with localcontext(EXACT):
                    terms = [decimal(value) * decimal(value).ln() for value in P_j]
                    H[j] = 1 + sum(terms, Decimal(0)) / Decimal(size).ln()
                H[j] = Decimal(0) if H[j] < NO_ENTROPY else H[j]
        return H

    def weights(self, hyper: Hyper) -> dict[Entry, Decimal]:
        """``W_ij = H_j^h * B_ij^p``; h = 0 drops the entropy altogether, so 0^0 is 1."""
        if hyper not in self.known_weights:
            H = self.entropy(hyper.prior)
            h, p = Decimal(hyper.entropy), Decimal(hyper.power)
            with localcontext(EXACT):
                self.known_weights[hyper] = {
                    (j, i): (H[j] ** h if h else Decimal(1)) * b**p
                    for (j, i), b in self.balanced(hyper.balance, hyper.prior).items()
                }
        return self.known_weights[hyper]

    def contributions(self, bag: Bag, hyper: Hyper) -> dict[Entry, Decimal]:
        """``w_ij(x) = W_ij * x_j^p``; what was never seen contributes nothing."""
        x = observation(bag)
        p = Decimal(hyper.power)
        with localcontext(EXACT):
            return {
                (j, i): w * decimal(x[j]) ** p
                for (j, i), w in self.weights(hyper).items()
                if j in x
            }

    def scores(self, bag: Bag, hyper: Hyper) -> dict[Class, Decimal]:
        """``U_i = |sum_j w_ij(x)|``."""
        U = dict.fromkeys(self.classes, Decimal(0))
        with localcontext(EXACT):
            for (_, i), w in self.contributions(bag, hyper).items():
                U[i] += w
        return U

    def exact_probabilities(self, bag: Bag, hyper: Hyper) -> dict[Class, Decimal]:
        """``X_i = (1-m) Q_i + m g_i``, ``Q_i = U_i^(s/p) / sum_k U_k^(s/p)``.

        ``Q_i`` are the class frequencies when all U_i = 0; ``g_i = (m_i + 1/I) / (M + 1)``.
        """
        with localcontext(EXACT):
            exponent = Decimal(hyper.sharpness) / Decimal(hyper.power)
            powers = {i: u**exponent for i, u in self.scores(bag, hyper).items()}
            if not any(powers.values()):
                powers = {i: decimal(mass) for i, mass in self.class_mass.items()}
            total = sum(powers.values(), Decimal(0))
            m, size = Decimal(hyper.floor), len(self.classes)
            mass = sum(self.class_mass.values(), Fraction(0))
            g = {
                i: decimal((m_i + Fraction(1, size)) / (mass + 1))
                for i, m_i in self.class_mass.items()
            }
            return {i: (1 - m) * powers[i] / total + m * g[i] for i in self.classes}

    def probabilities(self, bag: Bag, hyper: Hyper) -> list[float]:
        """The probabilities in the order of ``classes``, as floats."""
        return [float(x) for x in self.exact_probabilities(bag, hyper).values()]

    def log_probabilities(self, bag: Bag, hyper: Hyper) -> list[float]:
        """``ln X_i``, also where X_i itself is too small for a float."""
        exact = self.exact_probabilities(bag, hyper).values()
        with localcontext(EXACT):
            return [float(x.ln()) for x in exact]

    def coverage(self, bag: Bag) -> float:
        """The share of the item that was ever seen."""
        return float(
            sum((x for j, x in observation(bag).items() if j in self.features), Fraction(0))
        )

    def tolerance(self, hyper: Hyper) -> float:
        """How far from the truth double precision may end: 1e-12, unless badly conditioned.

        H_j is one minus something, so its absolute error is some eps and its relative error
        eps / H_j, however one computes; H_j^h multiplies that by h, and U_i^(1/p) by 1/p.
        """
        tiny = [float(value) for value in self.entropy(hyper.prior).values() if value]
        worst = hyper.entropy / min(tiny, default=1.0)
        return 1e-12 + 8 * 2.0**-52 * worst * hyper.sharpness / hyper.power


def learn(
    bags: Sequence[Bag],
    y: Sequence[Mapping[Class, Number]],
    sample_weight: Sequence[Number] | None = None,
) -> Oracle:
    """``C_ij = sum_n s_n x_j y_i``, and ``sum_n s_n y_i`` over all items, empty ones too."""
    corpus: dict[Entry, Fraction] = {}
    support: dict[Entry, int] = {}
    class_mass: dict[Class, Fraction] = {}
    for n, bag in enumerate(bags):
        s = Fraction(1 if sample_weight is None else sample_weight[n])
        for i, y_i in observation(y[n]).items():
            if s > 0:
                class_mass[i] = class_mass.get(i, Fraction(0)) + s * y_i
            for j, x_j in observation(bag).items():
                if s > 0:
                    corpus[j, i] = corpus.get((j, i), Fraction(0)) + s * x_j * y_i
                    support[j, i] = support.get((j, i), 0) + 1
    return Oracle(corpus, support, class_mass)


def observation(bag: Bag) -> dict[Hashable, Fraction]:
    """``X_j``: the weights divided by their total; a zero weight is an absent value."""
    weights = {j: Fraction(w) for j, w in bag.items() if w > 0}
    total = sum(weights.values(), Fraction(0))
    return {j: w / total for j, w in weights.items()}


def decimal(value: Fraction) -> Decimal:
    """A fraction with 60 digits."""
    with localcontext(EXACT):
        return Decimal(value.numerator) / Decimal(value.denominator)
