"""Labels of classes: one array for labels of any type, their order, their union and their places.

Two labels are one class exactly if they are equal, whatever the dtypes, units or widths of the
arrays that hold them.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stc._core.product import object_array
from stc.exceptions import DataError, DataTypeError

_KINDS = {
    **{"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "strings"},
    **{"T": "strings", "S": "bytes", "M": "dates", "m": "durations"},
}

_KINDS_OF_OBJECTS: tuple[tuple[Any, str], ...] = (
    (bool, "booleans"),
    ((int, float), "numbers"),
    (str, "strings"),
    (bytes, "bytes"),
    ((datetime.timedelta, np.timedelta64), "durations"),
    ((datetime.date, np.datetime64), "dates"),
)


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels of one type in its dtype, or as objects where NumPy would change one."""
    array = np.array(labels)
    if array.dtype.kind in "mM":
        return array
    back = array.tolist()
    same = back == list(labels) and all(map(_of_one_type, back, labels))
    return array if same else object_array(labels)


def _of_one_type(one: Any, other: Any) -> bool:
    return type(one) is type(other)


def label_list(labels: NDArray[Any]) -> list[Any]:
    """Return labels as Python objects; moments and durations that Python lacks stay NumPy's."""
    if labels.dtype.kind not in "mM":
        return list(labels.tolist())
    days = labels.dtype == "M8[D]"
    exact = labels if days else labels.astype(f"{labels.dtype.kind}8[us]")
    converted = exact.tolist()
    back = exact.astype(labels.dtype)  # not the same where digits were cut or overflowed
    lost = (back != labels).any() or any(isinstance(label, int) for label in converted)
    return list(labels) if lost else list(converted)


def plain_label(label: Any) -> Any:
    """Return a label without a type of NumPy around it; an enumeration's string or number."""
    if isinstance(label, np.datetime64 | np.timedelta64):
        return label_list(np.array([label]))[0]
    if isinstance(label, np.generic):
        return label.item()
    if isinstance(label, enum.Enum) and isinstance(label, str | int | float):
        return label.value
    to_python: Any = getattr(label, "to_pydatetime", None)
    if to_python is not None and not getattr(label, "nanosecond", 0):
        return to_python()
    return label


def label_repr(label: Any) -> str:
    """Return the repr of a label, without the type of NumPy around it."""
    return repr(plain_label(label))


def distinct_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted distinct labels, and the place of each label among them."""
    if labels.dtype != object:
        return np.unique(labels, return_inverse=True)
    number: dict[Any, int] = {}
    codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
    distinct = list(number)
    order = _order(distinct)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return object_array([distinct[k] for k in order]), rank[codes]


def _order(labels: list[Any]) -> list[int]:
    """Return the places of labels in ascending order; by their text if they cannot be compared."""
    places = range(len(labels))
    try:
        return sorted(places, key=labels.__getitem__)
    except (TypeError, ValueError) as error:  # periods of two frequencies raise a ValueError
        kinds = sorted({type(label).__name__ for label in labels})
        if len(kinds) > 1:
            raise DataTypeError(
                f"y mixes labels of types that cannot be ordered: {', '.join(kinds)}"
            ) from error
    return sorted(places, key=lambda place: str(labels[place]))


def union_of_classes(ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes of both, or raise for labels of other types.

    Parameters
    ----------
    ours
        Classes, sorted; returned as they are if they have all labels of `theirs`.
    theirs
        Labels in any order.
    """
    if not len(ours):
        return distinct_labels(theirs)[0]
    if not len(theirs):
        return ours
    for mine, other in zip(_components(ours), _components(theirs), strict=True):
        kinds = [_kind(mine), _kind(other)]
        if kinds[0] != kinds[1]:
            raise DataError(
                f"the classes learnt so far are {kinds[0]} (such as {label_repr(mine[0])}), "
                f"these are {kinds[1]} (such as {label_repr(other[0])})"
            )
    if (places_of(ours, theirs) < len(ours)).all():
        return ours
    return distinct_labels(np.concatenate(_alike(ours, theirs)))[0]


def places_of(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each label among sorted classes; their number for an unknown label."""
    if not len(classes) or not len(labels):
        return np.full(len(labels), len(classes), dtype=np.int64)
    classes, labels = _alike(classes, labels)
    if classes.dtype == object:
        number = {label: place for place, label in enumerate(classes)}
        return np.array([number.get(label, len(classes)) for label in labels], dtype=np.int64)
    places = np.searchsorted(classes, labels)
    known = classes[np.minimum(places, len(classes) - 1)] == labels
    return np.where(known, places, len(classes))


def _alike(ours: NDArray[Any], theirs: NDArray[Any]) -> list[NDArray[Any]]:
    """Return both in one dtype that changes no label."""
    pair = [ours, theirs]
    kinds = {array.dtype.kind for array in pair}
    if ours.dtype == theirs.dtype or kinds <= {"U", "T"}:
        return pair
    if kinds == {"i", "u"}:
        dtype = label_array([*ours.tolist(), *theirs.tolist()]).dtype
        return [array.astype(dtype) for array in pair]
    if kinds in ({"M", "O"}, {"m", "O"}):
        pair = [_moments(array) for array in pair]
        kinds = {array.dtype.kind for array in pair}
    if "O" not in kinds and (len(kinds) == 1 or kinds <= set("iuf")):
        dtype = np.result_type(*pair)
        with np.errstate(invalid="ignore"):
            if all((array.astype(dtype).astype(array.dtype) == array).all() for array in pair):
                return [array.astype(dtype) for array in pair]
    return [object_array(list(map(plain_label, array.tolist()))) for array in pair]


def _moments(labels: NDArray[Any]) -> NDArray[Any]:
    """Return dates or durations without a zone as an array of NumPy's type; others as they are."""
    kind = _kind(labels)
    if labels.dtype.kind in "mM" or kind not in ("dates", "durations"):
        return labels
    make: Any = np.datetime64 if kind == "dates" else np.timedelta64
    # Types of pandas have nanoseconds, which `make` would cut.
    cells = [make(x.to_numpy() if hasattr(x, "to_numpy") else x) for x in labels]
    array = np.array(cells)
    return array if list(array) == cells else labels


def _components(classes: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the classes, or the labels of each target if classes are tuples."""
    if not isinstance(classes[0], tuple):
        return [classes]
    return [object_array(labels) for labels in zip(*classes, strict=True)]


def _kind(classes: NDArray[Any]) -> str:
    """Return the kind of the labels in words, for an error."""
    if classes.dtype.kind in _KINDS:
        return _KINDS[classes.dtype.kind]
    label = plain_label(classes[0])
    if isinstance(label, datetime.datetime) and label.tzinfo is not None:
        return "dates with a time zone"
    for kind, name in _KINDS_OF_OBJECTS:
        if isinstance(label, kind):
            return name
    return f"of type {type(label).__name__}"
