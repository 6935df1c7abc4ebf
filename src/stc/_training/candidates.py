"""Candidates with phases: what SparseTensorClassifierCV tries beside the plain model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

from stc._core.formulas import Hyper
from stc._core.interactions import Interactions
from stc._core.observations import Observations

# Power, balance and entropy to learn phases with; where some are given, combinations of values.
_SETTINGS = ((0.5, 1.0, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 1.0))
_SETTINGS_IN_TEXT = ((0.5, 1.0, 1.0), (0.5, 0.5, 0.5), (0.5, 0.5, 0.0), (1 / 3, 1.0, 1.0))
_FREE = {"power": (0.5,), "balance": (0.5, 1.0), "entropy": (0.0, 1.0)}
# Phases learn a sharpness, and have neither prior nor floor unless one is given.
_NEUTRAL = {"prior": 0.0, "sharpness": 1.0, "floor": 0.0}
_PENALTIES, _PENALTIES_IN_TEXT = (1.5, 10.0, 0.25), (5.0, 15.0, 1.0)
_ORDERS, _NGRAMS = (1, 2, 3), (1, 2)
# Conjunctions of three attributes are tried if (items' conjunctions) x classes is at most this.
_FEW_TRIPLES = 10_000_000


class Candidate(NamedTuple):
    """Conjunctions, settings, and the penalty of the phases; None: the plain model."""

    interactions: Interactions
    hyper: Hyper
    penalty: float | None


def settings_with_phases(given: Mapping[str, float], documents: bool) -> list[Hyper]:
    """Return the settings to learn phases with, of which some may be given."""
    if given.keys() & _FREE:
        values = [(given[name],) if name in given else own for name, own in _FREE.items()]
        settings = list(product(*values))
    else:
        settings = list(_SETTINGS_IN_TEXT if documents else _SETTINGS)
    return [Hyper(*values, **{**_NEUTRAL, **_others(given)}) for values in settings]


def _others(given: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in given.items() if name in _NEUTRAL}


def automatic_penalties(documents: bool) -> tuple[float, ...]:
    """Return the penalties to try; the first with all settings, the others with the best."""
    return _PENALTIES_IN_TEXT if documents else _PENALTIES


def automatic_ngrams() -> list[Interactions]:
    """Return the n-grams of documents to try."""
    return [Interactions(ngrams=n) for n in _NGRAMS]


def automatic_conjunctions(
    items: Observations, n_classes: int, max_entries: int
) -> list[Interactions]:
    """Return the orders of conjunctions to try, as the size of the data allows."""
    orders = map(Interactions, _ORDERS if items.kind == "table" else _ORDERS[:1])
    return [own for own in orders if _is_affordable(own, items, n_classes, max_entries)]


def with_penalties(
    candidates: Iterable[Candidate], penalties: Iterable[float | None]
) -> list[Candidate]:
    """Return the candidates with each of the penalties."""
    return [own._replace(penalty=penalty) for own, penalty in product(candidates, penalties)]


def _is_affordable(
    interactions: Interactions, items: Observations, n_classes: int, max_entries: int
) -> bool:
    """Return whether an order of interactions is tried."""
    order = interactions.order
    if order == 1:
        return True
    few = order == 2 or interactions.sizes(items).sum() * n_classes <= _FEW_TRIPLES
    fits = interactions.entries(items).sum() <= max_entries
    return bool(order <= len(items.columns) and fits and few)
