"""The domain of weights: 0, or between 1e-100 and 1e100.

It holds for the weights of items, of values and of classes, and for their sums over an item and
over a class. Within it no formula overflows, and no item or class vanishes beside another one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc.exceptions import DataError

LEAST, MOST = 1e-100, 1e100
# The domain in words, for errors.
IN_DOMAIN = "must be 0 or between 1e-100 and 1e100"


def first_outside(weights: NDArray[Any]) -> int | None:
    """Return the place of the first weight that is not in the domain; None if all are."""
    # One pass that finds nothing is the common case; the place is looked up only on failure.
    if not len(weights) or (weights.min() >= LEAST and weights.max() <= MOST):
        return None
    outside = ~((weights == 0) | ((weights >= LEAST) & (weights <= MOST)))
    return int(np.argmax(outside)) if outside.any() else None


def class_too_heavy(label: str, mass: float) -> DataError:
    """Return an error for a class whose items have too large a sum of weights."""
    return DataError(
        f"the sum of the weights of class {label} {IN_DOMAIN}, got {mass}",
        hint="give smaller weights",
    )
