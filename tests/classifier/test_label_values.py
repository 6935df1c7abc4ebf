"""Labels of every type come back as they were given, from every container and batch size."""

import uuid
from collections.abc import Callable, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from stc import SparseTensorClassifier, SparseTensorClassifierCV, load
from stc._core.product import object_array
from stc.report import report
from support.examples import many
from support.models import paper_model
from support.value_cases import MOMENT, NANO, NOON, UUIDS, Colour, Mood, Size

TYPES: dict[str, list[Any]] = {
    "nanoseconds": [NANO, NANO + np.timedelta64(1, "ns")],
    "nanoseconds of pandas": [pd.Timestamp(NANO), pd.Timestamp(NANO) + pd.Timedelta(1, "ns")],
    "seconds": [np.datetime64(MOMENT, "s"), np.datetime64(MOMENT, "s") + 1],
    "days": [np.datetime64("2024-01-02", "D"), np.datetime64("2024-01-03", "D")],
    "days beyond Python": [np.datetime64("12000-01-02"), np.datetime64("12000-01-03")],
    "moments with a zone": [NOON, NOON + timedelta(hours=1)],
    "moments": [MOMENT, MOMENT + timedelta(microseconds=1)],
    "dates": [date(2024, 1, 2), date(2024, 1, 3)],
    "durations": [timedelta(1), timedelta(1, 0, 1)],
    "times": [time(1), time(1, 0, 0, 1)],
    "strings that end with zero bytes": ["u", "u\0"],
    "strings of two lengths": ["a", "longer"],
    "bytes of two lengths": [b"a", b"longer"],
    "bytes that end with zero bytes": [b"u", b"u\0"],
    "members of an enumeration": [Mood.BAD, Mood.GOOD],
    "strings of an enumeration": [Colour.BLUE, Colour.RED],
    "numbers of an enumeration": [Size.SMALL, Size.LARGE],
    "integers beyond floats": [2**60, 2**60 + 1],
    "unsigned integers": [2**63, 2**63 + 1],
    "signed and unsigned integers": [-1, 2**63],
    "integers beyond 64 bits": [2**64, 2**64 + 1],
    "an integer of 400 digits": [1, 10**400],
    "integers and floats": [2.0, 2**60 + 1],
    "floats": [1.0, 2.0],
    "decimals": [Decimal("1.1"), Decimal("1.2")],
    "fractions": [Fraction(1, 3), Fraction(1, 2)],
    "UUIDs": UUIDS,
    "periods": [pd.Period("2024-01"), pd.Period("2024-02")],
    "intervals": [pd.Interval(0, 1), pd.Interval(1, 2)],
    "booleans": [False, True],
}
CONTAINERS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "object array": object_array,
    "masked array": lambda labels: np.ma.array(object_array(labels), mask=False),
    "array": np.array,
    "pandas objects": lambda labels: pd.Series(labels, dtype=object),
    "pandas": pd.Series,
    "pandas categories": lambda labels: pd.Series(labels).astype("category"),
    "pandas Arrow": lambda labels: pd.Series(labels, dtype=pd.ArrowDtype(pa.array(labels).type)),
    "pandas frame": lambda labels: pd.DataFrame({"y": labels}),
    "polars": pl.Series,
    "polars objects": lambda labels: pl.Series(labels, dtype=pl.Object),
    "polars frame": lambda labels: pl.DataFrame({"y": labels}),
    "polars lazy frame": lambda labels: pl.LazyFrame({"y": labels}),
    "Arrow": pa.array,
    "Arrow chunks": lambda labels: pa.chunked_array([pa.array(labels)]),
    "Arrow table": lambda labels: pa.table({"y": labels}),
    "soft labels": lambda labels: [{label: 2.0} for label in labels],
}
ITEMS = [{"x": "0"}, {"x": "1"}]
any_type = pytest.mark.parametrize("labels", TYPES.values(), ids=TYPES.keys())


def holds(container: str, labels: list[Any]) -> bool:
    """Whether a container takes these labels, and does not change them before stc sees them."""
    if container == "soft labels":
        return True
    if container.startswith("polars") and isinstance(labels[0], np.generic):
        return False  # polars reads them in another unit
    try:
        y = CONTAINERS[container](labels)
        y = y.collect() if isinstance(y, pl.LazyFrame) else y
        column = y["y"] if hasattr(y, "columns") else y
        if hasattr(column, "to_pylist"):
            return bool(column.to_pylist() == labels)
        numbers = getattr(column, "dtype", None) in (np.int64, np.uint64, np.float64)
        # NumPy rounds integers to compare them with its floats, Python does not.
        return (column.tolist() if numbers else list(column)) == labels
    except Exception:  # of NumPy, pandas, polars or Arrow
        return False


CASES = [
    pytest.param(name, container, id=f"{name}-{container}")
    for name, labels in TYPES.items()
    for container in CONTAINERS
    if holds(container, labels)
]


def test_the_table_has_most_containers_for_most_types() -> None:
    assert len(CASES) > 350


@pytest.mark.parametrize("times", [1, 3, 300])
@pytest.mark.parametrize(("name", "container"), CASES)
def test_labels_come_back(name: str, container: str, times: int) -> None:
    labels = TYPES[name]
    y = CONTAINERS[container](labels * times)
    model = paper_model().fit(ITEMS * times, y)
    assert len(model.classes_) == 2
    assert [a == b for a, b in zip(model.predict(ITEMS), labels, strict=True)] == [True, True]
    assert model.score(ITEMS * times, y) == 1
    model.partial_fit(ITEMS * times, y)
    assert model.class_mass_.tolist() == [2 * times] * 2
    model.unlearn(ITEMS * times, y)
    assert model.class_mass_.tolist() == [times] * 2
    assert model.corpus_["class"].n_unique() == 2


@any_type
def test_a_model_reads_every_container_of_its_labels(labels: list[Any]) -> None:
    ways = [CONTAINERS[container] for container in CONTAINERS if holds(container, labels)]
    for step in (1, 4):  # some pairs of the many
        for one, other in zip(ways, [*ways[step:], *ways[:step]], strict=True):
            model = paper_model().fit(ITEMS[:1], one(labels[:1]))
            model.partial_fit(ITEMS, other(labels))
            assert model.class_mass_.tolist() == [2, 1]
            assert model.score(ITEMS, one(labels)) == 1


@pytest.mark.parametrize("times", [1, 300])
@any_type
def test_an_object_array_with_one_column_is_a_column_of_labels(
    labels: list[Any], times: int
) -> None:
    y = object_array(labels * times).reshape(-1, 1)
    with pytest.warns(DataConversionWarning):
        model = paper_model().fit(ITEMS * times, y)
    assert model.predict(ITEMS).tolist() == labels


@any_type
def test_explanations_name_labels_of_every_type(labels: list[Any]) -> None:
    for y in (labels, object_array(labels)):
        model = paper_model().fit(ITEMS, y)
        explanation = model.explain_local(ITEMS)
        assert list(explanation.labels) == labels
        assert explanation.table["class"].n_unique() == 2
        assert str(explanation)
        assert str(model.explain_global())
        assert str(explanation.why(0, labels[1]))
        assert str(explanation.why_not(0, labels[1]))
        assert str(explanation.counterfactual(0, labels[1]))


@pytest.mark.parametrize("kind", [set, tuple, list])
@any_type
def test_label_sets_keep_labels_of_every_type(labels: list[Any], kind: type) -> None:
    y = [kind([labels[0]]), kind(labels)]
    model = paper_model(label_threshold=0.5).fit(ITEMS * 3, y * 3)
    assert len(model.classes_) == 2
    assert model.predict(ITEMS[:1]) == [kind([labels[0]])]


@any_type
def test_joint_targets_keep_labels_of_every_type(labels: list[Any]) -> None:
    y = pd.DataFrame({"a": pd.Series(labels, dtype=object), "b": ["p", "q"]})
    model = paper_model().fit(ITEMS, y)
    assert [row[0] == label for row, label in zip(model.predict(ITEMS), labels, strict=True)] == [
        True,
        True,
    ]
    assert [len(classes) for classes in model.classes_] == [2, 2]
    assert [len(p) for p in model.predict_proba(ITEMS)] == [2, 2]
    assert model.score(ITEMS, y) == 1


@any_type
def test_a_file_keeps_labels_or_refuses_them(labels: list[Any], tmp_path: Any) -> None:
    model = paper_model().fit(ITEMS, labels)
    kinds = Mood, Fraction, uuid.UUID, pd.Period, pd.Interval
    path = tmp_path / "model.stc.parquet"
    if isinstance(labels[0], kinds) or getattr(labels[0], "nanosecond", 0):
        with pytest.raises(TypeError, match="cannot be saved as plain data"):
            model.save(path)
        return
    model.save(path)
    again = load(path)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.score(ITEMS, labels) == 1


@any_type
def test_everything_that_is_chosen_takes_labels_of_every_type(labels: list[Any]) -> None:
    items = [{"x": str(k % 2), "z": str(k % 3)} for k in range(30)]
    y = labels * 15
    model = SparseTensorClassifier().fit(items, y)
    assert list(model.predict(items[:2])) == labels
    assert model.loo_predict_proba(items, y).shape == (30, 2)
    assert model.partial_fit(items[:1], labels[:1], classes=labels).classes_.shape == (2,)
    same = SparseTensorClassifier(**model.chosen_params_).fit(items, y)
    assert model.merge(same).classes_.shape == (2,)
    tuned = SparseTensorClassifierCV(phases=None, cv=3).fit(items, y)
    assert tuned.score(items, y) == 1
    assert "html" in report(model, items, y).html


@many()
@given(
    labels=st.lists(
        st.integers(2**53 - 2, 2**53 + 2) | st.integers(2**63 - 2, 2**64 + 2),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    ways=st.lists(st.sampled_from(list(CONTAINERS)), min_size=2, max_size=2),
    times=st.sampled_from([1, 60]),
)
def test_integers_are_classes_one_to_one(labels: list[int], ways: list[str], times: int) -> None:
    items = [{"x": str(number)} for number in labels]
    first, second = (CONTAINERS[way] for way in ways)
    assume(holds(ways[0], labels) and holds(ways[1], labels[:1]))
    model = paper_model().fit(items * times, first(labels * times))
    assert [int(label) for label in model.classes_] == sorted(labels)
    model.partial_fit(items[:1], second(labels[:1]))
    assert [int(label) for label in model.predict(items)] == labels
