"""The settings of the paper, as parameters of SparseTensorClassifier."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


def _setting(power: float, balance: float, entropy: float) -> Mapping[str, Any]:
    """Return all parameters that the paper fixes: single values, and no sharpness."""
    hyper = {"power": power, "balance": balance, "entropy": entropy}
    absent = {"prior": 0.0, "sharpness": 1.0, "floor": 0.0, "phases": None, "gains": None}
    return MappingProxyType(hyper | absent | {"interactions": 1, "ngrams": 1})


# Use them as in SparseTensorClassifier(**stc.STC_Q).
STC_Q = _setting(0.5, 1.0, 1.0)  # the standard configuration
STC_C = _setting(1.0, 0.0, 1.0)
QUANTUM = _setting(0.5, 1.0, 0.0)
CLASSICAL = _setting(1.0, 0.0, 0.0)
