"""Strings that every database keeps alike, and the keys by which they are found."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

import polars as pl

# A NUL as JSON writes it, but not a backslash of the text itself, which is written twice.
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SHOWN = 60


def check_text(text: str, what: str) -> None:
    """Refuse what some database cannot keep, before anything is written."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a text, not {type(text).__name__}")
    if "\x00" in text:
        raise _refusal(text, what, "a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refusal(text, what, "half a surrogate pair") from None


def check_json(text: str, what: str) -> None:
    """Refuse JSON whose strings some database cannot keep, escaped or not."""
    check_text(text, what)
    if _NUL.search(text):
        raise _refusal(text, what, "a NUL character")
    if "\\ud" in text.lower():
        check_text(json.dumps(json.loads(text), ensure_ascii=False), what)


def check_all_json(texts: pl.Series, what: str) -> None:
    """Refuse the same among many texts; only the suspicious are looked at one by one."""
    suspicious = texts.filter(texts.str.contains(r"(?i)\x00|\\u0000|\\ud"))
    for text in suspicious:
        check_json(text, what)


def _refusal(text: str, what: str, found: str) -> ValueError:
    shown = ascii(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
    return ValueError(f"{what} {shown} holds {found}, which databases do not keep: remove it")


def header_text(header: dict[str, Any]) -> str:
    """The header as JSON that every database keeps."""
    text = json.dumps(header, ensure_ascii=False)
    check_json(text, "the header")
    return text


def key_of(text: str) -> bytes:
    """A key of 16 bytes: an index takes it, however long the text is."""
    return blake2b(text.encode(), digest_size=16).digest()
