"""Shares of values that are missing beside small weights, which `make fuzz` has found."""

import numpy as np
import pytest

import stc

RECORDS = [{"a": {"u": 0.25}}, {"a": "u", "b": "v"}, {"a": {"u": 1e-50, "w": 2e-50}}, {}]


@pytest.mark.parametrize("power", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0]])
def test_a_missing_value_has_no_share(power: float, weights: list[int]) -> None:
    model = stc.SparseTensorClassifier(**{**stc.STC_Q, "power": power})
    model.fit(RECORDS, ["x", "y", "x", "y"], weights)
    found = model.predict_proba(RECORDS)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-9)
    # The same without the attribute that is missing.
    alone = [{k: v for k, v in record.items() if k == "a"} for record in RECORDS[:1]]
    np.testing.assert_array_equal(model.predict_proba(alone), found[:1])
