"""Names on the page: each written once, short enough to be read."""

from __future__ import annotations

from typing import Any

# Characters of a name that are shown.
_LONGEST_NAME = 160


def clipped(text: str, longest: int = _LONGEST_NAME) -> str:
    """The beginning of a text that is too long to be read, and how long it is.

    Examples
    --------
    >>> clipped("a" * 20, 5)
    'aaaaa… (20 characters)'
    """
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


class Names:
    """Names by number. A value of an attribute is kept as [number of the attribute, value].

    Examples
    --------
    >>> names = Names()
    >>> names.of_value("legs", "4"), names.of_value("legs", "4"), names.of_text("good")
    (1, 1, 2)
    >>> names.listed()
    ['legs', [0, '4'], 'good']
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._listed: list[Any] = []

    def of_text(self, text: str) -> int:
        """The number of a word, or of a feature that has a name only."""
        return self._number(text, clipped(text))

    def of_value(self, attribute: str | None, value: str | None) -> int:
        """The number of a value of an attribute; the value None is the missing one."""
        if attribute is None:
            return self.of_text("(missing)" if value is None else value)
        shown = None if value is None else clipped(value)
        return self._number((attribute, value), [self.of_text(attribute), shown])

    def listed(self) -> list[Any]:
        """All names, by number."""
        return self._listed

    def _number(self, key: Any, shown: Any) -> int:
        number = self._numbers.setdefault(key, len(self._listed))
        if number == len(self._listed):
            self._listed.append(shown)
        return number
