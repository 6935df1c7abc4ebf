"""Pseudo-random numbers of integers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return pseudo-random numbers: the finalizer of the generator SplitMix64."""
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
