"""Models with the settings of the paper, for tests of what does not depend on a choice."""

from __future__ import annotations

from typing import Any

from stc import STC_Q, SparseTensorClassifier


def paper_model(power: Any = 0.5, balance: Any = 1.0, entropy: Any = 1.0, **changes: Any) -> Any:
    """Return an estimator with the standard settings of the paper, but for those given."""
    hyper = {"power": power, "balance": balance, "entropy": entropy}
    return SparseTensorClassifier(**{**STC_Q, **hyper, **changes})
