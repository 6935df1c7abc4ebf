"""Hashes of labels: equal for equal labels, so that the same items choose."""

from datetime import UTC
from typing import Any

import numpy as np
import pytest

from stc._core.product import object_array
from stc._input.targets import encode_target
from stc._training.item_hashes import _label_hashes
from support.value_cases import MOMENT, NANO, NOON, Mood

EQUAL: dict[str, list[Any]] = {
    "numbers": [[1, 2], [1.0, 2.0], object_array([1, 2]), np.array([1, 2], dtype="u1")],
    "moments": [
        object_array([MOMENT, MOMENT.replace(year=2025)]),
        *(np.array([MOMENT, MOMENT.replace(year=2025)], dtype=f"M8[{u}]") for u in ("s", "ns")),
    ],
    "zones": [
        [NOON, NOON.replace(year=2025)],
        [x.astimezone(UTC) for x in (NOON, NOON.replace(year=2025))],
    ],
    "nanoseconds": [np.array([NANO, NANO + 1]), object_array([NANO, NANO + 1])],
    "bytes": [[b"\xff", b"longer"], np.array([b"\xff", b"longer"])],
    "enumeration": [[Mood.BAD, Mood.GOOD], object_array([Mood.BAD, Mood.GOOD])],
}


@pytest.mark.parametrize("forms", EQUAL.values(), ids=EQUAL.keys())
def test_equal_labels_have_equal_hashes_and_others_do_not(forms: list[Any]) -> None:
    hashes = [_label_hashes(encode_target(y).column).tolist() for y in forms]
    assert all(each == hashes[0] for each in hashes)
    assert len(set(hashes[0])) == 2
