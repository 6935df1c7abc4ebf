"""What a model has chosen, for tests that compare it, and data in which there is a choice."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest


def uneven(rows: int = 700, seed: int = 3) -> pl.DataFrame:
    """A rare class, a pair of columns that decides, one with gaps, one of numbers, and weights."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.choice(list("xyz"), rows) for name in "abc"})
    equal, rare = (frame["a"] == frame["c"]).to_numpy(), rng.random(rows) < 0.1
    noisy = np.where(rng.random(rows) < 0.15, ~equal, equal)
    sizes = np.where(rare, rng.integers(4, 6, rows), rng.integers(0, 5, rows))
    return frame.with_columns(
        gaps=pl.Series(rng.choice(["s", "m", None], rows).tolist()),
        size=pl.Series(sizes),
        half=pl.Series(rng.integers(0, 9, rows) / 2),
        weight=pl.Series(rng.choice([0.0, 1.0, 1.0, 2.0], rows)),
        label=pl.Series(np.where(rare, "rare", np.where(noisy, "same", "other"))),
    )


def reviews(rows: int = 300, seed: int = 5) -> pl.DataFrame:
    """Short texts in which the order of two words decides; many have the same words."""
    rng = np.random.default_rng(seed)
    good = rng.random(rows) < 0.5
    last = ["not bad" if each else "bad not" for each in good]
    texts = [" ".join([*rng.choice(["so", "the", "film"], 2), words]) for words in last]
    noisy = np.where(rng.random(rows) < 0.1, ~good, good)
    return pl.DataFrame({"text": texts, "label": np.where(noisy, "good", "bad")})


def assert_same_choice(one: Any, other: Any) -> None:
    """Two models have chosen the same, by the same figures."""
    ours, theirs = one.chosen_params_, other.chosen_params_
    assert ours["interactions"] == theirs["interactions"]
    assert ours["ngrams"] == theirs["ngrams"]
    assert one.fitted_.hyper == pytest.approx(other.fitted_.hyper, rel=1e-12)
    loo = asdict(one.fitted_.state.loo)
    assert loo == pytest.approx(asdict(other.fitted_.state.loo), rel=1e-9)
