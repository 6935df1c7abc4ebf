"""Pseudo-random numbers of integers and texts, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
# An odd number that spreads positions and lengths over all bits.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Bytes of a text that are hashed together.
_WORD = 8


def mixed(numbers: Hashes) -> Hashes:
    """Return pseudo-random numbers: the finalizer of the generator SplitMix64."""
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))


def text_hashes(texts: Sequence[str]) -> Hashes:
    """Return a hash of the UTF-8 bytes of each text.

    Examples
    --------
    >>> [hex(number) for number in text_hashes(["", "a", "not a short text"]).tolist()]
    ['0x48218226ff3cd4bf', '0xdb87c9c9a517a502', '0x24a3c1adb858248e']
    """
    if not len(texts):
        return np.zeros(0, dtype=np.uint64)
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
    # At least one byte is added, so that an empty text has a word, too.
    padded = b"".join(text.ljust((len(text) | _WORD - 1) + 1, b"\0") for text in encoded)
    words = np.frombuffer(padded, dtype="<u8").astype(np.uint64, copy=False)
    sizes = lengths // _WORD + 1
    return mixed(sums_of_runs(words, sizes) + GOLDEN * lengths.astype(np.uint64))


def sums_of_runs(numbers: Hashes, sizes: NDArray[np.int64]) -> Hashes:
    """Return a hash of each run of numbers in its order, given the sizes of the runs, above 0."""
    starts = np.cumsum(sizes) - sizes
    places = np.arange(len(numbers)) - np.repeat(starts, sizes)
    with np.errstate(over="ignore"):
        return np.add.reduceat(mixed(numbers + GOLDEN * (places + 1).astype(np.uint64)), starts)
