"""Models saved to be read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from polars.testing import assert_frame_equal

from stc import SparseTensorClassifier, load
from stc.io import locked
from support.conformance import assert_same


def exactly(one: Any, other: Any) -> None:
    """Bit for bit the same."""
    if isinstance(one, list) and one and isinstance(one[0], np.ndarray):
        for own, theirs in zip(one, other, strict=True):
            exactly(own, theirs)
    elif isinstance(one, np.ndarray) and one.dtype.kind == "f":
        np.testing.assert_array_equal(one, other)
    else:
        assert_same(one, other)


def assert_exact(one: SparseTensorClassifier, other: SparseTensorClassifier, X: Any) -> None:
    """Two models are the same, and answer bit for bit the same."""
    assert_frame_equal(one.corpus_, other.corpus_, check_exact=True)
    for method in ("predict_proba", "predict_log_proba", "predict", "coverage"):
        exactly(getattr(one, method)(X), getattr(other, method)(X))
    assert one.policy_ == other.policy_
    assert one.get_params().keys() == other.get_params().keys()
    assert one.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()
    mine, theirs = one.fitted_.state, other.fitted_.state
    assert mine.batches == theirs.batches
    assert mine.roles == theirs.roles
    assert mine.model.form == theirs.model.form
    assert mine.model.classes.dtype == theirs.model.classes.dtype
    for name in ("policy_values", "phase_history"):
        a, b = getattr(mine, name), getattr(theirs, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert_frame_equal(a, b, check_exact=True)
    if mine.model.form.multilabel:
        exactly(one.label_threshold_, other.label_threshold_)


def update(path: Path, times: int) -> None:
    """Add an item to a model file so many times, in turns with others."""
    for _ in range(times):
        with locked(path):
            load(path).partial_fit([["a"]], ["x"]).save(path)
