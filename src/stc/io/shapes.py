"""Shapes of JSON values: checked when a file is read, described in docs/format.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stc.exceptions import ModelFileError

# None (null), a type (str, bool, int, float, list, dict), a dict (an object with these fields), or
# one of the classes below.
Shape = Any

_TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "list",
    dict: "object",
}


@dataclass(frozen=True)
class ListOf:
    """A list of values of one shape."""

    shape: Shape

    def check(self, value: Any, where: str) -> None:
        """Raise an error unless the value has this shape."""
        check_shape(value, list, where)
        for place, item in enumerate(value):
            check_shape(item, self.shape, f"{where}[{place}]")

    def __str__(self) -> str:
        return f"list of {describe(self.shape)}"


@dataclass(frozen=True)
class ObjectOf:
    """An object with any keys and values of one shape."""

    shape: Shape

    def check(self, value: Any, where: str) -> None:
        """Raise an error unless the value has this shape."""
        check_shape(value, dict, where)
        for name, item in value.items():
            check_shape(item, self.shape, f"{where}.{name}")

    def __str__(self) -> str:
        return f"object of {describe(self.shape)}"


class OneOf:
    """A value of one of several shapes."""

    def __init__(self, *shapes: Shape) -> None:
        self.shapes = shapes

    def check(self, value: Any, where: str) -> None:
        """Raise the error of the last shape unless the value has one of the shapes."""
        for shape in self.shapes[:-1]:
            try:
                return check_shape(value, shape, where)
            except ModelFileError:
                continue
        return check_shape(value, self.shapes[-1], where)

    def __str__(self) -> str:
        # "x or null" reads better than "null or x".
        return " or ".join(
            describe(shape) for shape in sorted(self.shapes, key=lambda s: s is None)
        )


class Word:
    """One of several strings."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def check(self, value: Any, where: str) -> None:
        """Raise an error unless the value is one of the strings."""
        if value not in self.words:
            raise ModelFileError(f"{where} is {value!r:.80}, not one of {', '.join(self.words)}")

    def __str__(self) -> str:
        return " or ".join(f'"{word}"' for word in self.words)


@dataclass(frozen=True)
class Number:
    """A number that meets a condition."""

    types: tuple[type, ...]
    valid: Callable[[Any], bool]
    name: str

    def check(self, value: Any, where: str) -> None:
        """Raise an error unless the value is such a number."""
        if type(value) not in self.types or not self.valid(value):
            raise ModelFileError(f"{where} is {value!r:.80}, not a {self.name}")

    def __str__(self) -> str:
        return self.name


COUNT = Number((int,), lambda value: 0 <= value < 1 << 62, "non-negative integer")
POSITIVE = Number((int, float), lambda value: 0 < value < math.inf, "positive number")
STRINGS = ListOf(str)


def check_shape(value: Any, shape: Shape, where: str) -> None:
    """Raise an error unless a value has a shape; `where` names the value."""
    if isinstance(shape, dict):
        check_shape(value, dict, where)
        for name, inner in shape.items():
            if name not in value:
                raise ModelFileError(f"{where} has no {name!r}")
            check_shape(value[name], inner, f"{where}.{name}")
    elif shape is None:
        if value is not None:
            raise ModelFileError(f"{where} is not null")
    elif not isinstance(shape, type):
        shape.check(value, where)
    elif type(value) is not shape:
        raise ModelFileError(f"{where} is {value!r:.80}, not of type {_TYPES[shape]}")


def describe(shape: Shape) -> str:
    """Return a shape in words."""
    if isinstance(shape, dict):
        return "{" + ", ".join(f"{name}: {describe(inner)}" for name, inner in shape.items()) + "}"
    if shape is None:
        return "null"
    return _TYPES[shape] if isinstance(shape, type) else str(shape)
