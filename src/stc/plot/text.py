"""Text in figures: names that any font can draw, shortened to fit, and notes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from stc.explain import label_text
from stc.plot.style import SIZE, matplotlib

# Maximal number of characters of a name, and of the name of a class.
_NAME_LENGTH, _CLASS_LENGTH = 28, 18
# Typical width of a character, in points.
_CHARACTER = 6.0
# Space is reserved for at least this text.
_TYPICAL = "and 9 more features"
_LISTED_UNSEEN = 3
# Smaller percentages are written as 0; larger shares are rounding errors of cancelled waves.
_ZERO, _MEANINGLESS = 0.005, 1e9


# --- names ----------------------------------------------------------------------------------------


def clean(text: str, length: int = _NAME_LENGTH) -> str:
    """Return a text that can be drawn, shortened to the width of `length` typical characters."""
    cleaned = _drawable_text(_shortened(text, length))
    for fewer in range(length - 1, 2, -1):
        if _points(cleaned) <= _CHARACTER * length:
            break
        cleaned = _drawable_text(_shortened(text, fewer))
    return cleaned


def class_name(label: Any) -> str:
    """Return a label as text, shortened to fit beside others."""
    return clean(label_text(label), _CLASS_LENGTH)


def class_title(label: Any, probability: float) -> str:
    """Return a label and its probability as text."""
    return f"{class_name(label)}, {probability:.2f}"


def literal(text: str) -> str:
    """Return a text with dollar signs escaped, so that Matplotlib reads no formulas."""
    return text.replace("$", r"\$") if matplotlib().rcParams["text.parse_math"] else text


def inches(text: str) -> float:
    """Return the width of a text in inches."""
    return _points(text) / 72


def max_inches(names: Iterable[str]) -> float:
    """Return the width of the widest name in inches once it is clean, and a minimum."""
    return max(map(inches, [*map(clean, names), _TYPICAL]))


def _shortened(name: str, length: int) -> str:
    """Return a name with an ellipsis in the middle if it is too long."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


def _drawable_text(text: str) -> str:
    """Return a text in one line, with a mark for each character that no font has."""
    drawable = _drawable_characters()
    mark = "\ufffd" if 0xFFFD in drawable else "?"
    drawn = []
    for character in text:
        category = unicodedata.category(character)
        if character.isspace():
            drawn.append(" ")
        elif category != "Cf":  # invisible characters, which may change the direction of the text
            missing = category[0] == "C" or ord(character) not in drawable
            drawn.append(mark if missing else character)
    return "".join(drawn)


def _drawable_characters() -> frozenset[int]:
    """Return the characters of the fonts in use, including those that Matplotlib falls back on."""
    fonts = matplotlib("font_manager")
    properties = fonts.FontProperties()
    paths = []
    for family in properties.get_family():
        single = properties.copy()
        single.set_family(family)
        with suppress(ValueError):  # not installed: Matplotlib skips it, too
            paths.append(str(fonts.findfont(single, fallback_to_default=False)))
    return _glyphs(tuple(paths or [str(fonts.findfont(properties))]))


@cache
def _glyphs(paths: tuple[str, ...]) -> frozenset[int]:
    fonts = matplotlib("font_manager")
    return frozenset().union(*(fonts.get_font(path).get_charmap() for path in paths))


def _points(text: str) -> float:
    if not text:
        return 0.0
    font = matplotlib("font_manager").FontProperties(size=SIZE)
    measure = matplotlib("textpath").TextToPath()
    return float(measure.get_text_width_height_descent(text, font, False)[0])


# --- numbers and notes ----------------------------------------------------------------------------


def meaningful(share: float) -> bool:
    """Return whether a share is neither NaN nor a rounding error."""
    return abs(share) < _MEANINGLESS


def percent(share: float) -> str:
    """Return a share as a percentage with at least two digits: 31 %, 9.0 %, 0.42 %."""
    if not meaningful(share):
        return "?"
    size = abs(share * 100)
    if size < _ZERO:
        return "0 %"
    digits = 0 if size >= 9.95 else 1 if size >= 0.995 else 2
    return f"{share * 100:.{digits}f} %"


def more(count: int, singular: str, plural: str) -> list[str]:
    """Return a note on the number of things that are not drawn, if there are any."""
    return [f"and {count:,} more {singular if count == 1 else plural}"] if count > 0 else []


def more_classes(count: int) -> list[str]:
    """Return a note on the number of classes that are not drawn, if there are any."""
    return more(count, "class", "classes")


def never_seen(features: Sequence[str]) -> list[str]:
    """Return a note on the values of an item that were not seen in training, if there are any."""
    if not features:
        return []
    names = ", ".join(map(clean, features[:_LISTED_UNSEEN]))
    rest = more(len(features) - _LISTED_UNSEEN, "value", "values")
    return [" ".join([f"never seen: {names}", *rest])]
