"""URLs of stores on the command line: split into store and name, and shown without secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from stc._utils.database_url import DatabaseURL
from stc.exceptions import ParameterError, StcError

# Databases in files, whose URLs have no password before an @.
FILE_DATABASES = ("duckdb", "sqlite")
_URL = re.compile(r"[A-Za-z0-9+_.-]*://(.*)", re.DOTALL)


def is_url(argument: str) -> bool:
    """Return whether an argument is a URL; a name with :// is that of no file."""
    return "://" in argument


def split_url(argument: str) -> tuple[DatabaseURL, str]:
    """Return the URL of a store, and the name of a model after its last #; "" without one.

    Raises
    ------
    ParameterError
        If the URL is not valid; the message has no part of it that may be a secret.
    """
    address, _, name = argument.rpartition("#") if "#" in argument else (argument, "", "")
    url = DatabaseURL.parse(address)
    if url.database not in FILE_DATABASES and "@" in name:
        # The # stood in a password.
        raise ParameterError(
            f"{url.scheme}://...: this is not a valid URL",
            hint="write # in a password as %23, and @ in the name of a model as %40",
        )
    return url, unquote(name)


def shown_url(url: DatabaseURL, name: str) -> str:
    """Return what names a model, without secrets; `split_url` reads it again."""
    for sign in "%#@":
        name = name.replace(sign, f"%{ord(sign):02X}")
    return f"{url}#{name}" if name else str(url)


def without_secrets(text: str, arguments: Sequence[str]) -> str:
    """Return a text that may quote arguments, without the secrets of URLs in them."""
    for argument in arguments:
        found = _URL.search(argument)
        if found is None:
            continue
        try:
            url, name = split_url(found[0])
        except StcError:
            shown = "..."
        else:
            if not url.secrets:
                continue
            shown = shown_url(url, name).partition("://")[2]
        # After the scheme: a short option may stand right before it. Errors quote an argument as
        # it is, with escapes, or in one line.
        tail = found[1]
        for written in (tail, repr(tail)[1:-1], " ".join(tail.split())):
            text = text.replace(written, shown) if written else text
    return text
