"""A dense oracle of phases: interference, its bounds and its gradient, written with plain loops.

It knows nothing of ``stc``. Contributions are those of ``oracle``, with 60 digits, and so are the
sines and cosines here: a difference is the code's.

Symbols are the paper's: i is a class, j a feature; ``phi[j, i]`` turns an entry of the model,
``theta[j]`` a value of the item.
"""

import cmath
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import Any, NamedTuple, TypeAlias

from support.oracle import EXACT, Bag, Class, Entry, Hyper, Oracle, decimal, observation

Angles: TypeAlias = Mapping[Hashable, float]

# Relative error of one addend in double precision; H_j, one minus something, may have more.
ROUNDING = 2.0**-52
ADDEND = 2e-14


class Bounds(NamedTuple):
    """The least and the greatest that each probability may be, in the order of the classes."""

    low: list[float]
    high: list[float]


@dataclass(frozen=True)
class Interference:
    """An oracle whose entries have phases; what has none has phase 0."""

    truth: Oracle
    hyper: Hyper
    phi: Angles
    sharpness: float = 1.0

    def addends(self, bag: Bag, theta: Angles) -> dict[Entry, tuple[Decimal, Decimal]]:
        """``w_ij(x) = e^{i(theta_j - phi_ij)} W_ij x_j^p``: real and imaginary part."""
        found = {}
        with localcontext(EXACT):
            for (j, i), w in self.truth.contributions(bag, self.hyper).items():
                angle = Decimal(theta.get(j, 0.0)) - Decimal(self.phi.get((j, i), 0.0))
                found[j, i] = w * cosine(angle), w * sine(angle)
        return found

    def sums(self, bag: Bag, theta: Angles) -> dict[Class, tuple[Decimal, Decimal]]:
        """``Z_i = sum_j w_ij(x)``."""
        Z = dict.fromkeys(self.truth.classes, (Decimal(0), Decimal(0)))
        with localcontext(EXACT):
            for (_, i), (real, imaginary) in self.addends(bag, theta).items():
                Z[i] = Z[i][0] + real, Z[i][1] + imaginary
        return Z

    def scores(self, bag: Bag, theta: Angles) -> dict[Class, Decimal]:
        """``U_i = |Z_i|``."""
        with localcontext(EXACT):
            return {i: (a * a + b * b).sqrt() for i, (a, b) in self.sums(bag, theta).items()}

    def exact_probabilities(self, bag: Bag, theta: Angles) -> dict[Class, Decimal]:
        """``X_i = U_i^(sharpness / p) / sum_k U_k^(sharpness / p)``, or the class frequencies."""
        with localcontext(EXACT):
            powers = {i: self._raised(u) for i, u in self.scores(bag, theta).items()}
            if not any(powers.values()):
                powers = {i: decimal(mass) for i, mass in self.truth.class_mass.items()}
            total = sum(powers.values(), Decimal(0))
            return {i: powers[i] / total for i in self.truth.classes}

    def _raised(self, u: Decimal) -> Decimal:
        return u ** (Decimal(self.sharpness) / Decimal(self.hyper.power))

    def error(self) -> Decimal:
        """Relative error of an addend, which is the exponential of a logarithm.

        A logarithm of so many digits has so many times the rounding; see ``Oracle.tolerance`` for
        what H_j does to it.
        """
        tiny = [float(value) for value in self.truth.entropy().values() if value]
        worst = self.hyper.entropy / min(tiny, default=1.0)
        W = self.truth.weights(self.hyper).values()
        digits = max((abs(w.adjusted()) for w in W if w), default=0)
        return Decimal(ADDEND + 8 * ROUNDING * (worst + digits))

    def bounds(self, bag: Bag, theta: Angles) -> Bounds:
        """What double precision can be held to where addends cancel.

        The rule: each addend may be off by ``error``, so a sum by ``error * sum_j |w_ij|``, which
        is little beside ``U_i`` unless the addends cancel. A probability then lies between those
        of the least own and the greatest other scores, and the other way round. Where every score
        may be rounding, anything goes; where there is no addend at all, the frequencies do.
        """
        sizes = self.truth.scores(bag, self.hyper)
        exact = [float(x) for x in self.exact_probabilities(bag, theta).values()]
        if not any(sizes.values()):
            return Bounds(exact, exact)
        with localcontext(EXACT):
            U, off = self.scores(bag, theta), self.error()
            least = {i: self._raised(max(u - off * sizes[i], Decimal(0))) for i, u in U.items()}
            most = {i: self._raised(u + off * sizes[i]) for i, u in U.items()}
            if not any(least.values()):
                return Bounds([0.0] * len(U), [1.0] * len(U))
            low = {i: least[i] / (least[i] + total(most, i)) if least[i] else Decimal(0) for i in U}
            high = {i: most[i] / (most[i] + total(least, i)) if most[i] else Decimal(0) for i in U}
        return Bounds([float(x) for x in low.values()], [float(x) for x in high.values()])

    def decided(self, bag: Bag, theta: Angles) -> bool | None:
        """Whether the item has a score; None where rounding may make or take one."""
        sizes = self.truth.scores(bag, self.hyper)
        U, off = self.scores(bag, theta), self.error()
        if not any(sizes.values()):
            return False
        return True if any(u > off * sizes[i] for i, u in U.items()) else None


def total(powers: Mapping[Class, Decimal], without: Class) -> Decimal:
    return sum((own for i, own in powers.items() if i != without), Decimal(0))


def by_policy(sets: Sequence[tuple[Interference, Bag, Angles]]) -> Bounds:
    """The bounds of the first set that has a score, or the class frequencies."""
    for interference, bag, theta in sets:
        decided = interference.decided(bag, theta)
        if decided is None:
            size = len(interference.truth.classes)
            return Bounds([0.0] * size, [1.0] * size)
        if decided:
            return interference.bounds(bag, theta)
    interference = sets[-1][0]
    mass = [interference.truth.class_mass[i] for i in interference.truth.classes]
    exact = [float(own / sum(mass, Fraction(0))) for own in mass]
    return Bounds(exact, exact)


@lru_cache(maxsize=100_000)
def sine(angle: Decimal) -> Decimal:
    """The series of the sine; of angles up to some 20, beyond which it would lose digits."""
    assert abs(angle) < 30
    return _series(angle, angle, 1)


@lru_cache(maxsize=100_000)
def cosine(angle: Decimal) -> Decimal:
    """The series of the cosine; as of the sine."""
    assert abs(angle) < 30
    return _series(angle, Decimal(1), 0)


def _series(angle: Decimal, term: Decimal, number: int) -> Decimal:
    with localcontext(EXACT):
        found, before = term, None
        while found != before:
            before = found
            number += 2
            term *= -angle * angle / (number * (number - 1))
            found += term
        return +found


# --- features of several attributes --------------------------------------------------------------


def with_conjunctions(bag: Bag, order: int) -> dict[Hashable, Fraction]:
    """Singles and the conjunctions of up to ``order`` attributes; weights are multiplied."""
    found: dict[Hashable, Fraction] = {j: Fraction(w) for j, w in bag.items()}
    for size in range(2, order + 1):
        for names in combinations(sorted({attribute for attribute, _ in bag}), size):
            for values in product(*([v for a, v in bag if a == name] for name in names)):
                parts = list(zip(names, values, strict=True))
                found[names, values] = math.prod((Fraction(bag[j]) for j in parts), start=1)
    return found


def parts_of(feature: Any) -> list[tuple[Any, Any]]:
    """The single features that a conjunction is made of."""
    attribute, value = feature
    return (
        list(zip(*feature, strict=True)) if isinstance(attribute, tuple) else [(attribute, value)]
    )


def tuples(bags: Sequence[Bag]) -> dict[Hashable, Fraction]:
    """The product of several dimensions' distributions: one feature of each."""
    shares = [observation(bag) for bag in bags]
    return {
        js: math.prod((own[j] for own, j in zip(shares, js, strict=True)), start=Fraction(1))
        for js in product(*shares)
    }


# --- the loss and its gradient -------------------------------------------------------------------


class Loss(NamedTuple):
    """Mean cross-entropy, its derivative by each angle, and by the sharpness."""

    value: float
    angles: list[float]
    sharpness: float


def cross_entropy(
    amplitudes: Sequence[Sequence[Mapping[int, float]]],
    truth: Sequence[Sequence[float]],
    weight: Sequence[float],
    angles: Sequence[float],
    sharpness: float,
    power: float,
) -> Loss:
    """Of ``P_ni = |Z_ni|^tau / sum_k |Z_nk|^tau``, ``Z_ni = sum_e A_nie e^{-i phi_e}``.

    ``amplitudes[n][i]`` maps an entry e to A; ``tau = sharpness / p``. With ``dZ/dphi_e = -i A
    e^{-i phi_e}`` the derivative of ``ln |Z|`` is ``Re(conj(Z) dZ/dphi_e) / |Z|^2``.
    """
    tau, every = sharpness / power, sum(weight)
    value, by_sharpness, by_angle = 0.0, 0.0, [0.0] * len(angles)
    for own, y, s in zip(amplitudes, truth, weight, strict=True):
        if not s:
            continue
        Z = [sum(a * cmath.exp(-1j * angles[e]) for e, a in parts.items()) for parts in own]
        L = [math.log(abs(z)) if z else -math.inf for z in Z]
        P = [math.exp(tau * (length - max(L))) for length in L]
        P = [p / math.fsum(P) for p in P]
        for i, parts in enumerate(own):
            if not Z[i]:
                continue
            value -= s / every * y[i] * math.log(P[i])
            rest = s / every * (P[i] - y[i])
            by_sharpness += rest * L[i] / power
            for e, a in parts.items():
                dZ = -1j * a * cmath.exp(-1j * angles[e])
                by_angle[e] += rest * tau * (Z[i].conjugate() * dZ).real / abs(Z[i]) ** 2
    return Loss(value, by_angle, by_sharpness)


def penalty(angles: Sequence[float], sharpness: float, strength: float) -> Loss:
    """``strength * sharpness * sum(1 - cos phi)``."""
    bent = strength * math.fsum(1 - math.cos(angle) for angle in angles)
    return Loss(sharpness * bent, [strength * sharpness * math.sin(a) for a in angles], bent)
