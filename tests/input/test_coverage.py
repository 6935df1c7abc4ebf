"""Coverage is the share of an item that was ever seen."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from support.encode_cases import learn


@pytest.mark.parametrize(
    ("item", "share"),
    [
        ({"a": "x", "b": "y"}, 1),
        ({"a": "x", "b": "new"}, 0.5),
        ({"a": "y", "b": "x"}, 0),
        ({"a": "x"}, 1),
        ({"a": "x", "new": "x"}, 0.5),
        ({"a": ["x", "x", "new"]}, 2 / 3),
        ({"a": {"x": 3, "new": 1}}, 0.75),
        ({"a": None, "b": "new"}, 0),
    ],
    ids=repr,
)
def test_coverage_is_the_share_ever_seen(item: dict[str, Any], share: float) -> None:
    coverage = learn([{"a": "x", "b": "y"}], ["p"]).coverage([item])
    assert coverage.shape == (1,)
    assert coverage.dtype == np.float64
    assert_allclose(coverage, [share])


def test_coverage_of_documents_and_sparse() -> None:
    assert_allclose(learn(["cat hat"], ["p"]).coverage(["cat dog dog dog", "hat"]), [0.25, 1])
    seen = learn(sp.csr_array([[1, 0, 0]]), ["p"])
    assert_allclose(seen.coverage(sp.csr_array([[1, 3, 0], [2, 0, 0]])), [0.25, 1])


def test_coverage_of_a_missing_value() -> None:
    model = learn([["u", "v"], ["u", None]], ["p", "q"], missing="category")
    assert_allclose(model.coverage([["u", None], [None, "v"]]), [1, 0.5])
