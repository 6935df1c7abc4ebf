"""Labels in arrays of several dtypes, units and widths are one class exactly if they are equal."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stc._core.labels import (
    distinct_labels,
    label_array,
    label_list,
    label_repr,
    places_of,
    union_of_classes,
)
from stc._core.product import object_array
from stc.exceptions import DataError, DataTypeError
from support.examples import many
from support.value_cases import MOMENT, NANO, NOON, Mood

SOON = MOMENT + timedelta(microseconds=1)


@pytest.mark.parametrize(
    "labels",
    [
        ["u", "u\0"],
        [b"u", b"u\0"],
        [2**60, 2**60 + 1],
        [2**63, 2**63 + 1],
        [2**63, -1],
        [2**64, 1],
        [2**60 + 1, 1.0],
        [True, 2],
        [MOMENT, date(2024, 1, 2)],
        [NOON, NOON + timedelta(hours=1)],
        [Mood.GOOD, Mood.BAD],
    ],
    ids=repr,
)
def test_an_array_gives_back_every_label(labels: list[Any]) -> None:
    back = label_array(labels).tolist()
    assert back == labels
    assert list(map(type, back)) == list(map(type, labels))


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        (np.array([MOMENT], dtype="M8[ns]"), [MOMENT]),
        (np.array(["2024-01-02"], dtype="M8[D]"), [date(2024, 1, 2)]),
        (np.array([61], dtype="m8[s]"), [timedelta(seconds=61)]),
        (np.array([NANO]), [NANO]),
        (np.array(["12000-01-02"], dtype="M8[D]"), [np.datetime64("12000-01-02")]),
        (np.array([2**62], dtype="m8[ms]"), [np.timedelta64(2**62, "ms")]),
    ],
)
def test_moments_are_objects_of_python_where_it_has_them(moments: Any, expected: Any) -> None:
    assert label_list(moments) == expected
    assert list(map(type, label_list(moments))) == list(map(type, expected))
    assert label_repr(moments[0]) == repr(expected[0])


def in_dtypes(numbers: list[int]) -> list[np.ndarray]:
    """The numbers in every dtype that holds them all."""
    arrays = [object_array(numbers)]
    for dtype in (np.int64, np.uint64, np.float64):
        limits = np.iinfo(dtype) if dtype != np.float64 else None
        if limits is None:
            fits = all(int(float(number)) == number for number in numbers)
        else:
            fits = all(limits.min <= number <= limits.max for number in numbers)
        if fits:
            arrays.append(np.array(numbers, dtype=dtype))
    return arrays


edges = [0, 1, -1, 2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64]
numbers = st.lists(st.sampled_from(edges) | st.integers(-3, 3), min_size=1, max_size=5, unique=True)


@many()
@given(ours=numbers, theirs=numbers, data=st.data())
def test_integers_meet_exactly_in_all_dtypes(
    ours: list[int], theirs: list[int], data: st.DataObject
) -> None:
    classes, codes = distinct_labels(data.draw(st.sampled_from(in_dtypes(ours))))
    labels = data.draw(st.sampled_from(in_dtypes(theirs)))
    assert [int(label) for label in classes[codes]] == ours
    both = union_of_classes(classes, labels)
    assert [int(label) for label in both] == sorted({*ours, *theirs})
    assert [int(label) for label in both[places_of(both, labels)]] == theirs
    unknown = places_of(classes, labels) == len(classes)
    assert unknown.tolist() == [number not in ours for number in theirs]


texts = st.lists(st.text("u\0é", max_size=3), min_size=1, max_size=4, unique=True)


@many()
@given(ours=texts, theirs=texts, as_bytes=st.booleans(), objects=st.booleans())
def test_strings_and_bytes_meet_exactly_in_all_widths(
    ours: list[str], theirs: list[str], as_bytes: bool, objects: bool
) -> None:
    pair: list[list[Any]] = [ours, theirs]
    if as_bytes:
        pair = [[text.encode() for text in each] for each in pair]
    classes, _ = distinct_labels(label_array(pair[0]))
    labels = object_array(pair[1]) if objects else label_array(pair[1])
    both = union_of_classes(classes, labels)
    assert both.tolist() == sorted({*pair[0], *pair[1]})
    assert both[places_of(both, labels)].tolist() == pair[1]


units = st.sampled_from(["s", "ms", "us", "ns", "object"])
seconds = st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True)


@many()
@given(ours=seconds, theirs=seconds, unit=st.tuples(units, units), kind=st.sampled_from("mM"))
def test_moments_and_durations_meet_exactly_in_all_units(
    ours: list[int], theirs: list[int], unit: tuple[str, str], kind: str
) -> None:
    def array(counts: list[int], unit: str) -> np.ndarray:
        typed = np.array(counts, dtype=f"{kind}8[s]")
        return (
            object_array(typed.tolist()) if unit == "object" else typed.astype(f"{kind}8[{unit}]")
        )

    classes, _ = distinct_labels(array(ours, unit[0]))
    both = union_of_classes(classes, array(theirs, unit[1]))
    assert [int(np.array([x]).astype(f"{kind}8[s]").astype(int)[0]) for x in both] == sorted(
        {*ours, *theirs}
    )
    unknown = places_of(classes, array(theirs, unit[1])) == len(classes)
    assert unknown.tolist() == [count not in ours for count in theirs]


def test_nanoseconds_of_pandas_meet_those_of_numpy() -> None:
    array = np.array([NANO, NANO + np.timedelta64(1, "ns")])
    stamps = object_array([pd.Timestamp(moment) for moment in array])
    assert places_of(array, stamps).tolist() == [0, 1]
    assert union_of_classes(array[:1], stamps).tolist() == array.tolist()


def test_days_meet_their_midnights() -> None:
    days = np.array(["2024-01-02", "2024-01-03"], dtype="M8[D]")
    assert places_of(days, object_array([datetime(2024, 1, 3), MOMENT])).tolist() == [1, 2]
    assert places_of(days, object_array([date(2024, 1, 3)])).tolist() == [1]


def test_a_known_class_changes_no_dtype() -> None:
    assert union_of_classes(np.array([1, 2]), np.array([2.0])).dtype == np.int64
    assert union_of_classes(np.array([1, 2]), np.array([3.0])).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ([1], ["a"], r"numbers \(such as 1\), these are strings \(such as 'a'\)"),
        ([True], [1], "booleans .* numbers"),
        ([b"a"], ["a"], "bytes .* strings"),
        ([MOMENT], [NOON], "dates .* dates with a time zone"),
        ([MOMENT], [timedelta(1)], "dates .* durations"),
        ([2**64], ["a"], "numbers .* strings"),
        ([Mood.GOOD], ["GOOD"], "of type Mood .* strings"),
        ([(1, "a")], [(1, 2)], "strings .* numbers"),
    ],
)
def test_labels_of_other_kinds_are_refused(ours: Any, theirs: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        union_of_classes(object_array(ours), object_array(theirs))


def test_labels_without_an_order_are_sorted_by_their_text() -> None:
    classes, codes = distinct_labels(object_array([Mood.GOOD, Mood.BAD, Mood.GOOD]))
    assert classes.tolist() == [Mood.BAD, Mood.GOOD]
    assert codes.tolist() == [1, 0, 1]
    with pytest.raises(DataTypeError, match="cannot be ordered: Mood, str"):
        distinct_labels(object_array([Mood.GOOD, "a"]))


def test_moments_of_two_zones_are_one_class() -> None:
    classes = object_array([NOON])
    assert places_of(classes, object_array([NOON.astimezone(UTC), SOON])).tolist() == [0, 1]
