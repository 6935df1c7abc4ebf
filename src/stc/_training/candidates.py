"""Candidates of a search: the settings that SparseTensorClassifierCV tries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from stc._core.formulas import Hyper
from stc._core.interactions import Interactions
from stc._core.observations import Observations
from stc._core.schema import KIND_NAMES
from stc.exceptions import ParameterError

# Values of "auto". Settings without phases cost little; phases are learnt for few settings.
_PLAIN = {"power": (1 / 3, 0.5, 1.0), "balance": (0.0, 0.5, 1.0), "entropy": (0.0, 0.5, 1.0, 2.0)}
_WITH_PHASES = (Hyper(0.5, 1, 0), Hyper(0.5, 0.5, 0), Hyper(0.5, 0, 1))
_WITH_PHASES_IN_TEXT = (
    Hyper(0.5, 1, 1),
    Hyper(0.5, 0.5, 0.5),
    Hyper(0.5, 0.5, 0),
    Hyper(1 / 3, 1, 1),
)
# The same where some of power, balance and entropy are given.
_FEW_WITH_PHASES = {"power": (0.5,), "balance": (0.5, 1.0), "entropy": (0.0, 1.0)}
# The first penalty is tried with every setting, the others with the best settings.
_PENALTIES = (1.5, 10.0, 0.25)
_PENALTIES_IN_TEXT = (5.0, 15.0, 1.0)
_ORDERS, _NGRAMS = (1, 2, 3), (1, 2)
# Conjunctions of three attributes are tried if (items' conjunctions) x classes is at most this.
_FEW_TRIPLES = 10_000_000


class Candidate(NamedTuple):
    """One setting: order of interactions or n-grams, hyper-parameters, and penalty of the phases.

    The penalty is None for the plain model, and infinite if only the sharpness is learnt.
    """

    order: int
    hyper: Hyper
    penalty: float | None


def grid_values(grid: Any, auto: Sequence[Any]) -> list[Any]:
    """Return the values of a grid; "auto" stands for those given here."""
    if isinstance(grid, str):
        return list(auto)
    return list(grid) if isinstance(grid, (list, tuple, np.ndarray)) else [grid]


@dataclass(frozen=True)
class Grids:
    """The values to try of each parameter: "auto", one value or several."""

    power: Any
    balance: Any
    entropy: Any
    interactions: Any
    ngrams: Any
    phases: Any

    @property
    def automatic_phases(self) -> bool:
        """Whether the penalties are chosen in two rounds."""
        return isinstance(self.phases, str)

    def refuse_other_kinds(self, kind: str) -> None:
        """Raise an error for interactions of other data than tables, n-grams of no documents."""
        for name, needed in (("interactions", "table"), ("ngrams", "documents")):
            grid = getattr(self, name)
            if kind != needed and any(value > 1 for value in grid_values(grid, (1,))):
                raise ParameterError(f"{name}={grid!r} is for {needed}; X holds {KIND_NAMES[kind]}")

    def ngram_orders(self) -> list[int]:
        """Return the n of the n-grams to try."""
        return [int(n) for n in grid_values(self.ngrams, _NGRAMS)]

    def interaction_orders(self, items: Observations, n_classes: int, max_tuples: int) -> list[int]:
        """Return the orders of interactions to try; "auto": those that the data allows."""
        if items.kind != "table":
            return [1]
        orders = [int(order) for order in grid_values(self.interactions, _ORDERS)]
        if not isinstance(self.interactions, str):
            for order in orders:
                Interactions(order).check_size(items, max_tuples)
            return orders
        return [n for n in orders if _is_affordable(n, items, n_classes, max_tuples)]

    def plain(self, orders: Iterable[int]) -> list[Candidate]:
        """Return the candidates without phases."""
        values = grid_values(self.phases, (np.inf,))
        penalties = [value for value in values if value is None or np.isinf(value)]
        return [Candidate(*c) for c in product(orders, self._hypers(_PLAIN), penalties)]

    def fit_phases(self, orders: Iterable[int], documents: bool) -> list[Candidate]:
        """Return the candidates with phases; for "auto", those with the first penalty."""
        if self.automatic_phases:
            hypers, penalties = self._automatic_hypers(documents), _penalties(documents)[:1]
        else:
            values = [p for p in grid_values(self.phases, ()) if p is not None and np.isfinite(p)]
            hypers, penalties = self._hypers(_PLAIN), tuple(map(float, values))
        return [Candidate(*c) for c in product(orders, hypers, penalties)]

    def _automatic_hypers(self, documents: bool) -> list[Hyper]:
        if all(isinstance(grid, str) for grid in (self.power, self.balance, self.entropy)):
            return list(_WITH_PHASES_IN_TEXT if documents else _WITH_PHASES)
        return self._hypers(_FEW_WITH_PHASES)

    def _hypers(self, auto: Mapping[str, tuple[float, ...]]) -> list[Hyper]:
        grids = [grid_values(getattr(self, name), values) for name, values in auto.items()]
        return [Hyper(**dict(zip(auto, values, strict=True))) for values in product(*grids)]


def with_other_penalties(candidates: Iterable[Candidate], documents: bool) -> list[Candidate]:
    """Return the candidates with each of the other penalties of "auto"."""
    others = _penalties(documents)[1:]
    return [candidate._replace(penalty=other) for candidate, other in product(candidates, others)]


def _penalties(documents: bool) -> tuple[float, ...]:
    return _PENALTIES_IN_TEXT if documents else _PENALTIES


def _is_affordable(order: int, items: Observations, n_classes: int, max_tuples: int) -> bool:
    """Return whether "auto" tries an order of interactions."""
    if order == 1:
        return True
    needed = Interactions(order).sizes(items).sum()
    few = order == 2 or needed * n_classes <= _FEW_TRIPLES
    return bool(order <= len(items.columns) and needed <= max_tuples and few)
