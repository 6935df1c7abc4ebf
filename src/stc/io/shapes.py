"""Shapes of JSON values: checked when a file is read, described in docs/format.md."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from stc.exceptions import ModelFileError


class Shape(NamedTuple):
    """What a JSON value may be.

    Attributes
    ----------
    text
        The shape in words.
    check
        Raises an error unless a value, which the second argument names, has the shape.
    """

    text: str
    check: Callable[[Any, str], None]


def _shape(text: str, valid: Callable[[Any], bool]) -> Shape:
    def check(value: Any, where: str) -> None:
        if not valid(value):
            raise ModelFileError(f"{where} is {value!r:.80}, expected {text}")

    return Shape(text, check)


NULL = _shape("null", lambda value: value is None)
STRING = _shape("string", lambda value: type(value) is str)
BOOLEAN = _shape("boolean", lambda value: type(value) is bool)
NUMBER = _shape("number", lambda value: type(value) in (int, float))
POSITIVE = _shape(
    "positive number",
    lambda value: type(value) in (int, float) and 0 < value <= sys.float_info.max,
)
COUNT = _shape("non-negative integer", lambda value: type(value) is int and 0 <= value < 1 << 62)
LIST = _shape("list", lambda value: type(value) is list)
OBJECT = _shape("object", lambda value: type(value) is dict)


def one_of(*words: str) -> Shape:
    """Return the shape of one of several strings."""
    return _shape(" or ".join(f'"{word}"' for word in words), lambda value: value in words)


def list_of(shape: Shape) -> Shape:
    """Return the shape of a list whose values have one shape."""

    def check(value: Any, where: str) -> None:
        LIST.check(value, where)
        for place, item in enumerate(value):
            shape.check(item, f"{where}[{place}]")

    return Shape(f"list of {shape.text}", check)


def object_of(shape: Shape) -> Shape:
    """Return the shape of an object with any keys, whose values have one shape."""

    def check(value: Any, where: str) -> None:
        OBJECT.check(value, where)
        for name, item in value.items():
            shape.check(item, f"{where}.{name}")

    return Shape(f"object of {shape.text}", check)


def object_with(**shapes: Shape) -> Shape:
    """Return the shape of an object that has at least these keys."""

    def check(value: Any, where: str) -> None:
        OBJECT.check(value, where)
        for name, shape in shapes.items():
            if name not in value:
                raise ModelFileError(f"{where} has no {name!r}")
            shape.check(value[name], f"{where}.{name}")

    fields = ", ".join(f"{name}: {shape.text}" for name, shape in shapes.items())
    return Shape("{" + fields + "}", check)


def either(first: Shape, second: Shape) -> Shape:
    """Return the shape of a value that has one of two shapes; errors are those of the first."""

    def check(value: Any, where: str) -> None:
        try:
            second.check(value, where)
        except ModelFileError:
            first.check(value, where)

    return Shape(f"{first.text} or {second.text}", check)
