"""Different values stay different and equal ones equal, in every container and batch size."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc._input.containers import encode
from stc._input.values import canonical
from support.encode_cases import COLUMNS, repeated
from support.examples import many
from support.value_cases import GROUPS, ROME, TYPED

OF_OBJECTS: dict[str, Callable[[Sequence[Any]], Any]] = {
    **COLUMNS,
    "polars objects": lambda cells: pl.DataFrame({"x0": pl.Series(cells, dtype=pl.Object)}),
    "masked objects": lambda cells: np.ma.array(COLUMNS["object array"](cells), mask=False),
    "lists": lambda cells: [{"x0": [cell]} for cell in cells],
    "sets": lambda cells: [{"x0": {cell}} for cell in cells],
    "weights": lambda cells: [{"x0": {cell: 1}} for cell in cells],
    "lists in pandas": lambda cells: pd.DataFrame({"x0": [[cell] for cell in cells]}),
}
# One, a few, and so many that other ways are taken through the code.
any_size = pytest.mark.parametrize("times", [1, 3, 300])


def categories(X: Any) -> list[Any]:
    """The categories of the only column, in the order of their first item."""
    (column,) = encode(X).columns
    values: Any = column.values
    _, codes, _ = column.entries()
    return [values[k] for k in dict.fromkeys(codes.tolist())]


@any_size
@pytest.mark.parametrize("container", OF_OBJECTS.values(), ids=OF_OBJECTS.keys())
@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_equal_objects_are_one_category_and_others_are_not(
    groups: list[list[Any]], container: Callable[[Sequence[Any]], Any], times: int
) -> None:
    if container is OF_OBJECTS["polars objects"]:  # polars takes their values
        groups = [[cell for cell in group if type(cell).__name__ != "Mood"] for group in groups]
    cells = [cell for group in groups for cell in group]
    if cells:
        expected = [canonical(group[0]) for group in groups]
        assert len(set(expected)) == len(groups)
        assert categories(container(cells * times)) == expected


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS.keys())
def test_equal_objects_are_one_category_in_blocks_of_lists(groups: list[list[Any]]) -> None:
    cells = [["text"], *([cell] for group in groups for cell in group)]
    expected = list(dict.fromkeys(["text", *(canonical(group[0]) for group in groups)]))
    assert categories([{"x0": cell} for cell in cells * 1100]) == expected


@any_size
@pytest.mark.parametrize(("X", "texts"), TYPED.values(), ids=TYPED.keys())
def test_cells_of_a_typed_column_have_the_same_categories(
    X: Any, texts: list[str], times: int
) -> None:
    assert categories(repeated(X, times)) == texts


@any_size
def test_a_missing_value_of_pandas_among_strings_is_missing(times: int) -> None:
    for name in ("records", "list of lists", "object array", "pandas", "lists"):
        assert categories(OF_OBJECTS[name](["a", pd.NA, "b"] * times)) == ["a", "b"]


def test_zero_bytes_that_numpy_cuts_are_lost() -> None:
    assert categories(np.array([["u"], ["u\0"]])) == ["u"]


moments = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))
zoned = st.builds(
    lambda moment, zone: moment.replace(tzinfo=UTC).astimezone(zone),
    moments,
    st.sampled_from([UTC, ROME, ZoneInfo("Asia/Kathmandu")]),
)
# Values of a kind, which Python compares, and which are close so often that some are equal.
KINDS = {
    "text": st.text("u\0é ", max_size=3),
    "integers": st.integers(2**53 - 2, 2**53 + 2) | st.integers(2**63 - 2, 2**64 + 2),
    "decimals": st.decimals(0, 2, places=30) | st.sampled_from([Decimal("1.0"), Decimal("1.10")]),
    "durations": st.timedeltas(timedelta(days=-9), timedelta(days=9)) | st.just(timedelta()),
    "moments": moments,
    "zoned moments": zoned,
}


@pytest.mark.parametrize("kind", KINDS)
@many()
@given(data=st.data())
def test_categories_are_equal_exactly_if_values_are(kind: str, data: st.DataObject) -> None:
    cells = data.draw(st.lists(KINDS[kind], min_size=1, max_size=6))
    expected = [canonical(cell) for cell in dict.fromkeys(cells)]
    assert len(set(expected)) == len(set(cells))
    times = data.draw(st.sampled_from([1, 60, 300]))
    container = data.draw(st.sampled_from([*OF_OBJECTS.values()]))
    assert categories(container(cells * times)) == expected


@many()
@given(
    counts=st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=5),
    kind=st.sampled_from("mM"),
    unit=st.sampled_from(["s", "ms", "us", "ns"]),
    times=st.sampled_from([1, 300]),
)
def test_moments_have_one_category_in_every_unit(
    counts: list[int], kind: str, unit: str, times: int
) -> None:
    cells = np.array(counts, dtype=np.int64).view(f"{kind}8[{unit}]")
    finer = {"s": "ms", "ms": "us", "us": "ns", "ns": "ps"}[unit]
    texts = [str(text) for text in map(canonical, cells)]
    assert texts == [canonical(cell) for cell in cells.astype(f"{kind}8[{finer}]")]
    expected = list(dict.fromkeys(texts))
    assert len(expected) == len(set(counts))
    column = np.repeat(cells, times)
    forms = [column.reshape(-1, 1), pd.DataFrame({"x0": column}), [{"x0": c} for c in column]]
    if unit != "s":
        forms.append(pl.DataFrame({"x0": column}))
    for form in forms:
        assert categories(form) == expected
