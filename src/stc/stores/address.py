"""Addresses of stores: where the file is, and what may be shown of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

# A password may hold any character, even those that should have been escaped: all to the last @.
_PASSWORD = re.compile(r"^([^/:]+://[^/:@]*):.*@", re.DOTALL)
_SECRET_OPTION = re.compile(r"([?&][^=&]*password=)[^&]*", re.IGNORECASE)
# What stands for a database that lives in memory only.
MEMORY = ":memory:"


def shown_url(url: str) -> str:
    """The address without its password, for messages.

    Parameters
    ----------
    url
        Address of a store.

    Returns
    -------
    str
        What may be shown.

    Examples
    --------
    >>> from stc.stores import shown_url
    >>> shown_url("postgresql://ada:secret@localhost:5432/zoo")
    'postgresql://ada@localhost:5432/zoo'
    """
    return _SECRET_OPTION.sub(r"\1***", _PASSWORD.sub(r"\1@", url))


def scheme_of(url: str) -> str:
    """The kind of database: what stands before `://`, without a driver."""
    return url.partition("://")[0].partition("+")[0].lower() if "://" in url else ""


def file_of(url: str) -> str:
    """Path of the file that an address names, in full, whatever the working folder becomes."""
    parts = urlsplit(url.replace("#", "%23"))
    path = unquote(parts.path)[1:]
    if parts.netloc or not path:
        kind = parts.scheme
        raise ValueError(
            f"store={shown_url(url)!r} names no file: write {kind}:///file or :memory:"
        )
    return path if path == MEMORY or path.startswith("file:") else str(Path(path).resolve())


def options_of(url: str) -> dict[str, str]:
    """Options of an address: what stands after the question mark."""
    return dict(parse_qsl(urlsplit(url.replace("#", "%23")).query))


def identity_of(file: str) -> tuple[int, int] | None:
    """Which file has a name now: another one, if it was replaced; None if there is none."""
    try:
        found = os.stat(file)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
