"""URLs of stores: their parts, and how to show them without passwords."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from stc.exceptions import ParameterError

# A password may contain characters that should have been escaped: it ends at the last @.
_PASSWORD = re.compile(r"^([^/:]+://[^/:@]*):.*@", re.DOTALL)
_PASSWORD_OPTION = re.compile(r"([?&][^=&]*password=)[^&]*", re.IGNORECASE)
# The path of a database in memory.
MEMORY = ":memory:"


def shown_url(url: str) -> str:
    """Return the URL without its password, for messages.

    Parameters
    ----------
    url
        URL of a store.

    Returns
    -------
    str
        The URL without secrets.

    Examples
    --------
    >>> from stc.stores import shown_url
    >>> shown_url("postgresql://ada:secret@localhost:5432/zoo")
    'postgresql://ada@localhost:5432/zoo'
    """
    return _PASSWORD_OPTION.sub(r"\1***", _PASSWORD.sub(r"\1@", url))


def url_scheme(url: str) -> str:
    """Return the scheme of a URL in lower case, without the driver."""
    return url.partition("://")[0].partition("+")[0].lower() if "://" in url else ""


def file_path(url: str) -> str:
    """Return the absolute path of the file of a URL."""
    parts = urlsplit(url.replace("#", "%23"))
    path = unquote(parts.path)[1:]
    if parts.netloc or not path:
        raise ParameterError(
            f"store={shown_url(url)!r} does not name a file",
            hint=f"write {parts.scheme}:///file or {parts.scheme}:///{MEMORY}",
        )
    return path if path == MEMORY or path.startswith("file:") else str(Path(path).resolve())


def url_options(url: str) -> dict[str, str]:
    """Return the options of a URL, which follow the question mark."""
    return dict(parse_qsl(urlsplit(url.replace("#", "%23")).query))


def file_identity(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file, which change if it is replaced; None without a file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
