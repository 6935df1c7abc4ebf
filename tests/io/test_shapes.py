"""Shapes of JSON values: what they take, what they refuse, and how they are described."""

from __future__ import annotations

import math
from typing import Any

import pytest

from stc import ModelFileError
from stc.io.shapes import (
    BOOLEAN,
    COUNT,
    NULL,
    NUMBER,
    POSITIVE,
    STRING,
    Shape,
    either,
    list_of,
    object_of,
    object_with,
    one_of,
)

NESTED = object_with(names=list_of(STRING), each=either(BOOLEAN, NULL))


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (COUNT, 0),
        (NUMBER, 1),
        (NUMBER, -0.5),
        (POSITIVE, 10**30),
        (one_of("a", "b"), "b"),
        (either(STRING, NULL), None),
        (object_of(COUNT), {"x": 1}),
        (NESTED, {"names": ["x"], "each": None, "more": 1}),
    ],
)
def test_what_has_a_shape(shape: Shape, value: Any) -> None:
    shape.check(value, "it")


@pytest.mark.parametrize(
    ("shape", "value", "message"),
    [
        (COUNT, -1, "it is -1, expected non-negative integer"),
        (COUNT, True, "it is True, expected non-negative integer"),
        (COUNT, 1 << 62, "expected non-negative integer"),
        (POSITIVE, 0, "it is 0, expected positive number"),
        (POSITIVE, math.inf, "it is inf, expected positive number"),
        (STRING, 1, "it is 1, expected string"),
        (one_of("a", "b"), ["a"], r"""it is \['a'\], expected "a" or "b\""""),
        (list_of(STRING), ["x", 2], r"it\[1\] is 2, expected string"),
        (list_of(STRING), "x", "it is 'x', expected list"),
        (object_of(COUNT), {"x": "y"}, r"it\.x is 'y', expected non-negative integer"),
        (NESTED, {"names": []}, "it has no 'each'"),
        (NESTED, {"names": [], "each": 1}, r"it\.each is 1, expected boolean"),
        (STRING, ["x" * 1000], r"^it is \['x{78}, expected string$"),
    ],
)
def test_what_has_not(shape: Shape, value: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        shape.check(value, "it")


def test_a_shape_in_words() -> None:
    assert NESTED.text == "{names: list of string, each: boolean or null}"
