"""One core and several give the same bits."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from stc._utils.threads import cores
from support.models import paper_model

DICE = np.random.default_rng(0)
WORDS = [f"w{k}" for k in range(500)]
BAGS = [DICE.choice(WORDS, size=size).tolist() for size in DICE.integers(5, 40, 5000)]
CELLS = {f"c{k}": DICE.integers(0, 30, 5000).astype(str) for k in range(5)}
X: dict[str, Callable[[], Any]] = {
    "documents": lambda: [" ".join(bag) for bag in BAGS],
    "lists in a frame": lambda: pl.DataFrame({"t": BAGS}),
    "lists in records": lambda: [{"t": bag} for bag in BAGS],
    "cells": lambda: pl.DataFrame(CELLS),
    "counts": lambda: sparse.random_array((5000, 300), density=0.05, format="csr", rng=1),
}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in X},
    "n-grams": ("documents", {"ngrams": 2}),
    "conjunctions": ("cells", {"interactions": 2}),
    "a tensor": ("cells", {"dimensions": {"a": ["c0", "c1"], "b": ["c2", "c3"]}}),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_one_core_gives_the_same_bits(setting: str) -> None:
    form, parameters = SETTINGS[setting]
    y, weights = np.arange(5000) % 7 % 3, 0.1 + np.arange(5000) % 11 / 3

    def answers() -> list[Any]:
        items = X[form]()
        model = paper_model(**parameters).fit(items, y, weights)
        return [model.predict_proba(items).tobytes(), model.corpus_.rows()]

    allowed = os.sched_getaffinity(0)
    several = answers()
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert cores() == 1
        assert answers() == several
    finally:
        os.sched_setaffinity(0, allowed)
