"""Names that any font can draw, short enough for their place; small print."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from stc.explain.names import text_of
from stc.plot.look import SIZE, matplotlib

# Characters of a name, and of that of a class.
_NAME_LENGTH, _CLASS_LENGTH = 28, 18
# The usual width of a character, in points.
_CHARACTER = 6.0
# A name as short as any that room is left for.
_USUAL = "and 9 more features"
_LISTED_UNSEEN = 3
# Percentages below it are drawn as 0; shares above it are rounding, of waves that cancel.
_NOTHING, _MEANINGLESS = 0.005, 1e9


# --- names ----------------------------------------------------------------------------------------


def clean(text: str, length: int = _NAME_LENGTH) -> str:
    """A text that can be drawn, and is no longer than so many characters of usual width."""
    found = _drawn(_shortened(text, length))
    for fewer in range(length - 1, 2, -1):
        if _points(found) <= _CHARACTER * length:
            break
        found = _drawn(_shortened(text, fewer))
    return found


def class_name(label: Any) -> str:
    """A class: short, for it has neighbours."""
    return clean(text_of(label), _CLASS_LENGTH)


def class_title(label: Any, probability: float) -> str:
    """A class and its probability."""
    return f"{class_name(label)}, {probability:.2f}"


def literal(text: str) -> str:
    """A text whose dollars are dollars, not formulas."""
    return text.replace("$", r"\$") if matplotlib().rcParams["text.parse_math"] else text


def inches(text: str) -> float:
    """How wide a text is."""
    return _points(text) / 72


def room_for(names: Iterable[str]) -> float:
    """How wide the widest of these names is once it is clean, in inches; never very narrow."""
    return max(map(inches, [*map(clean, names), _USUAL]))


def _shortened(name: str, length: int) -> str:
    """A name with an ellipsis for its middle if it is too long: both its ends tell what it is."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 2
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


def _drawn(text: str) -> str:
    """A text in one line, with a mark for each character that cannot be drawn."""
    drawable = _drawable()
    mark = "\ufffd" if 0xFFFD in drawable else "?"
    drawn = []
    for own in text:
        kind = unicodedata.category(own)
        if own.isspace():
            drawn.append(" ")
        elif kind != "Cf":  # invisible ones, which may turn the direction of what follows
            drawn.append(mark if kind[0] == "C" or ord(own) not in drawable else own)
    return "".join(drawn)


def _drawable() -> frozenset[int]:
    """The characters that the fonts in use have, those that Matplotlib falls back on included."""
    fonts = matplotlib("font_manager")
    wanted = fonts.FontProperties()
    paths = []
    for family in wanted.get_family():
        one = wanted.copy()
        one.set_family(family)
        try:
            paths.append(str(fonts.findfont(one, fallback_to_default=False)))
        except ValueError:  # not installed: Matplotlib skips it, too
            continue
    return _glyphs(tuple(paths or [str(fonts.findfont(wanted))]))


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
    """Whether a share is more than rounding."""
    return abs(share) < _MEANINGLESS  # which no NaN is


def percent(share: float) -> str:
    """A share in words, with two digits at least: 31 %, 9.0 %, 0.42 %."""
    if not meaningful(share):
        return "?"
    size = abs(share * 100)
    if size < _NOTHING:
        return "0 %"
    digits = 0 if size >= 9.95 else 1 if size >= 0.995 else 2
    return f"{share * 100:.{digits}f} %"


def more(count: int, what: str, plural: str) -> list[str]:
    """A note on what is not drawn."""
    return [f"and {count:,} more {what if count == 1 else plural}"] if count > 0 else []


def more_classes(count: int) -> list[str]:
    """A note on the classes that are not drawn."""
    return more(count, "class", "classes")


def never_seen(features: Sequence[str]) -> list[str]:
    """A note on the values of an item that were never learnt."""
    if not features:
        return []
    named = ", ".join(map(clean, features[:_LISTED_UNSEEN]))
    rest = more(len(features) - _LISTED_UNSEEN, "value", "values")
    return [" ".join([f"never seen: {named}", *rest])]
