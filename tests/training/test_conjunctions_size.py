"""Conjunctions that are chosen: of many attributes, the possible ones are not even listed."""

import tracemalloc

import numpy as np

from stc import SparseTensorClassifier


def test_many_columns_take_no_memory_for_their_triples() -> None:
    """400 columns have 10,586,800 triples, which would take 700 MB."""
    generator = np.random.default_rng(0)
    X, y = generator.choice(list("uvw"), (300, 400)), generator.choice(["p", "q"], 300)
    tracemalloc.start()
    model = SparseTensorClassifier().fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000
    assert model.chosen_params_["interactions"] == 1
