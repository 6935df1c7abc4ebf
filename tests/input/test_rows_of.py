"""Some items of X, in the same container."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from stc._input.containers import encode, rows_of

CELLS = [["a", 1], ["b", 2], ["c", 3]]
MASKED = np.ma.array(CELLS, mask=[[0, 0], [1, 1], [1, 0]], dtype=object)
FRAME = {"x0": ["a", "b", "c"], "x1": [1, 2, 3]}
ALL: dict[str, tuple[Any, Any]] = {
    "rows": (CELLS, [CELLS[0], CELLS[2]]),
    "records": ([{"x": cell} for cell in "abc"], [{"x": "a"}, {"x": "c"}]),
    "array": (np.array(CELLS), np.array([CELLS[0], CELLS[2]])),
    "masked array": (MASKED, MASKED[[0, 2]]),
    "pandas": (pd.DataFrame(FRAME), pd.DataFrame(FRAME).iloc[[0, 2]]),
    "polars": (pl.DataFrame(FRAME), pl.DataFrame(FRAME)[[0, 2]]),
    "Arrow": (pa.table(FRAME), pa.table(FRAME).take([0, 2])),
    "documents": (pl.Series(["a b", "b", "c"]), pl.Series(["a b", "c"])),
    **{
        f"sparse {form}": (
            sparse.csr_array([[1.0, 0], [0, 2], [3, 4]]).asformat(form),
            sparse.csr_array([[1.0, 0], [3, 4]]),
        )
        for form in ("csr", "csc", "coo", "dia", "lil")
    },
}


@pytest.mark.parametrize(("X", "expected"), ALL.values(), ids=ALL.keys())
def test_some_items_are_encoded_as_if_given_alone(X: Any, expected: Any) -> None:
    chosen, alone = (encode(each) for each in (rows_of(X, np.array([True, False, True])), expected))
    assert chosen.n_items == alone.n_items == 2
    for one, other in zip(chosen.columns, alone.columns, strict=True):
        assert one.attribute == other.attribute
        assert one.matrix().toarray().tolist() == other.matrix().toarray().tolist()
