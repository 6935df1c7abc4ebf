"""Keys of texts, and checks that every database can store a text."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import Any

import polars as pl

from stc.exceptions import DataError, ParameterError, ParameterTypeError

# A NUL escaped by JSON, but not an escaped backslash followed by "u0000".
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_MAX_SHOWN = 60


def text_key(text: str) -> bytes:
    """Return a key of 16 bytes, because an index cannot hold texts of any length."""
    return blake2b(text.encode(), digest_size=16).digest()


def header_json(header: dict[str, Any]) -> str:
    """Return the header as JSON that every database can store."""
    text = json.dumps(header, ensure_ascii=False)
    _check_json(text, "the header")
    return text


def check_text(
    text: str, what: str, error: type[DataError] | type[ParameterError] = ParameterError
) -> None:
    """Raise an error for a text that some database cannot store."""
    if not isinstance(text, str):
        raise ParameterTypeError(f"{what} must be a string, got {type(text).__name__}")
    if "\x00" in text:
        raise error(_refusal(text, what, "a NUL character"), hint="remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise error(_refusal(text, what, "half a surrogate pair"), hint="remove it") from None


def check_json_series(texts: pl.Series, what: str) -> None:
    """Raise a DataError if JSON texts contain strings that some database cannot store."""
    for text in texts.filter(texts.str.contains(r"(?i)\x00|\\u0000|\\ud")):
        _check_json(text, what)


def _check_json(text: str, what: str) -> None:
    check_text(text, what, DataError)
    if _NUL.search(text):
        raise DataError(_refusal(text, what, "a NUL character"), hint="remove it")
    if "\\ud" in text.lower():
        check_text(json.dumps(json.loads(text), ensure_ascii=False), what, DataError)


def _refusal(text: str, what: str, character: str) -> str:
    shown = ascii(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")
    return f"{what} {shown} contains {character}, which databases cannot store"
