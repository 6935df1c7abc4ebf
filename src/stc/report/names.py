"""Names on the page, each stored once and shortened."""

from __future__ import annotations

from typing import Any

# Maximal number of characters of a name.
_MAX_LENGTH = 160


def clipped(text: str, max_length: int = _MAX_LENGTH) -> str:
    """Return a text, or the beginning of a long one with its length.

    Examples
    --------
    >>> clipped("a" * 20, 5)
    'aaaaa… (20 characters)'
    """
    if len(text) <= max_length:
        return text
    return f"{text[:max_length]}… ({len(text):,} characters)"


class Names:
    """Numbered names. A value of an attribute is stored as [number of the attribute, value].

    Examples
    --------
    >>> names = Names()
    >>> names.of_value("legs", "4"), names.of_value("legs", "4"), names.of_text("good")
    (1, 1, 2)
    >>> names.listed()
    ['legs', [0, '4'], 'good']
    """

    def __init__(self) -> None:
        # The number and the shown form of each name.
        self._entries: dict[Any, tuple[int, Any]] = {}

    def of_text(self, text: str) -> int:
        """Return the number of a word, or of the name of a feature."""
        return self._number(text, clipped(text))

    def of_value(self, attribute: str | None, value: str | None) -> int:
        """Return the number of a value of an attribute; None is a missing value."""
        if attribute is None:
            return self.of_text("(missing)" if value is None else value)
        shown = None if value is None else clipped(value)
        return self._number((attribute, value), [self.of_text(attribute), shown])

    def listed(self) -> list[Any]:
        """Return all names, ordered by number."""
        return [shown for _, shown in self._entries.values()]

    def _number(self, key: Any, shown: Any) -> int:
        return self._entries.setdefault(key, (len(self._entries), shown))[0]
