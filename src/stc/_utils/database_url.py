"""URLs of databases as parsed objects, which never show a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Self
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlencode, urlsplit

from stc.exceptions import ParameterError, ParameterTypeError

# The path of a database in memory.
MEMORY = ":memory:"
# Databases in files, whose URLs have no host.
FILE_DATABASES = ("duckdb", "sqlite")
_SECRET_OPTION = re.compile(r"pass|pwd|secret|token|credential|key|connect$|dsn", re.IGNORECASE)
# A value may hold options of another kind, or a URL: `a;password=b`, `http://user:password@host`.
_SECRET_VALUE = re.compile(r"(pass|pwd|secret|token)\w*\s*=|://.*@", re.IGNORECASE | re.DOTALL)
_HOST_AND_PORT = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{0,5}))?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+_.-]*")
# Drivers write the parts into one string, which would end at a NUL, before the port.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]|%00")
# A URL, also after `Path` has merged its slashes.
_ANY_URL = re.compile(r"(?:\w+:)?([A-Za-z][A-Za-z0-9+_.-]+):/+(.*)", re.DOTALL)
_LOGIN = re.compile(r"[^@]*:[^@]*@")
_DATABASES = (*FILE_DATABASES, "mariadb", "mssql", "mysql", "oracle", "postgres", "postgresql")


@dataclass(frozen=True)
class DatabaseURL:
    """A parsed URL of a database; its secrets are in no repr, message or pickle.

    Attributes
    ----------
    scheme
        The database and, after a plus, the driver.
    user, password, host, port
        Parts of the URL of a server.
    path
        Name of the database, or path of the file, as it stands in the URL.
    options
        What follows the question mark, decoded.
    """

    scheme: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    host: str = ""
    port: int | None = None
    path: str = ""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, url: Any) -> DatabaseURL:
        """Parse a URL; the errors do not quote it, as it may hold a password."""
        if isinstance(url, DatabaseURL):
            return url
        if not isinstance(url, str):
            raise ParameterTypeError(f"a URL is a string, got {type(url).__name__}")
        scheme, separator, rest = url.partition("://")
        if not separator or not _SCHEME.fullmatch(scheme):
            raise ParameterError(
                "this is not the URL of a database", hint="write it as in sqlite:///zoo.db"
            )
        scheme = scheme.lower()
        if _UNWRITABLE.search(url):
            raise ParameterError(f"{scheme}://...: the URL contains a NUL or a surrogate")
        end = re.search(r"[/?#]|\Z", rest)
        assert end is not None
        authority, tail = rest[: end.start()], rest[end.start() :]
        login, _, address = authority.rpartition("@")
        path, _, query = tail.partition("?")
        server = authority or database_of(scheme) not in FILE_DATABASES
        # The name of a file may contain anything.
        if server and (re.search("[@#]", tail) or _SECRET_VALUE.search(unquote(address + path))):
            raise ParameterError(
                f"{scheme}://...: this is not a valid URL",
                hint="write @ / ? # in a user name, a password or an option as %40 %2F %3F %23",
            )
        user, colon, password = login.partition(":")
        found = _HOST_AND_PORT.fullmatch(address)
        if found is None or (found[2] and int(found[2]) > 65535):
            raise ParameterError(
                f"{scheme}://...: this is not a valid URL",
                hint=f"write {scheme}://user:password@host:port/database",
            )
        return cls(
            scheme,
            unquote(user) if user else None,
            unquote(password) if colon else None,
            found[1],
            int(found[2]) if found[2] else None,
            path,
            tuple(parse_qsl(query, keep_blank_values=True)),
        )

    @property
    def database(self) -> str:
        """The kind of the database: the scheme without the driver."""
        return database_of(self.scheme)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The password, and the values of options that may hold one."""
        options = (option[1] for option in self.options if _is_secret(option))
        return tuple(filter(None, (self.password, *options)))

    def __str__(self) -> str:
        """Return the URL without its secrets."""
        options = [option for option in self.options if not _is_secret(option)]
        return self._written(self.scheme, _escaped(self.user), options)

    def __repr__(self) -> str:
        return f"DatabaseURL({str(self)!r})"

    def __reduce__(self) -> Any:
        return DatabaseURL.parse, (str(self),)

    def __getstate__(self) -> dict[str, Any]:
        """Return no secrets: skops writes this, and does not call `__reduce__`."""
        return {"url": str(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(vars(DatabaseURL.parse(state["url"])))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # a copy by way of the pickle would lose the secrets

    def without_secrets(self, text: str) -> str:
        """Return a text of a driver, which may quote the URL, without the secrets.

        The whole text is needed: a part of it may end within a secret.
        """
        forms = {form for secret in self.secrets for form in _forms(secret)}
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, "***")
        return text

    def file_path(self) -> str:
        """Return the absolute path of the database file."""
        path = unquote(self.path)[1:]
        if not path or (self.user, self.password, self.host, self.port) != (None, None, "", None):
            raise ParameterError(
                f"{str(self)!r} does not name a file",
                hint=f"write {self.scheme}:///file or {self.scheme}:///{MEMORY}",
            )
        uri = self.database == "sqlite" and is_sqlite_uri(path, dict(self.options))
        return path if path == MEMORY or uri else str(Path(path).resolve())

    @classmethod
    def of_sqlalchemy(cls, url: Any) -> DatabaseURL:
        """Return the URL of a SQLAlchemy engine."""
        options = [
            (name, value)
            for name, values in url.query.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        path = "" if url.database is None else f"/{quote(url.database)}"
        password = None if url.password is None else str(url.password)
        host = f"[{url.host}]" if ":" in (url.host or "") else url.host or ""
        return cls(url.drivername, url.username, password, host, url.port, path, tuple(options))

    def for_sqlalchemy(self, driver: str | None = None, database: str | None = None) -> Any:
        """Return the URL as SQLAlchemy's, with another driver or path if they are given."""
        from sqlalchemy.engine import URL

        options, password = dict(self.options), self.password
        if password is None and self.database not in FILE_DATABASES:
            password = options.pop("password", None)  # SQLAlchemy shows options
        return URL.create(
            driver or self.scheme,
            self.user,
            password,
            self.host.strip("[]") or None,
            self.port,
            database or unquote(self.path)[1:] or None,
            options,
        )

    def for_libpq(self) -> str:
        """Return the URL with its secrets, as PostgreSQL's own library parses it."""
        password = "" if self.password is None else f":{_escaped(self.password)}"
        return self._written("postgresql", f"{_escaped(self.user)}{password}", self.options)

    def _written(self, scheme: str, login: str, options: Iterable[tuple[str, str]]) -> str:
        at = "@" if login else ""
        port = "" if self.port is None else f":{self.port}"
        query = urlencode(list(options), quote_via=quote)
        mark = "?" if query else ""
        return f"{scheme}://{login}{at}{self.host}{port}{self.path}{mark}{query}"


def database_of(scheme: str) -> str:
    """Return the kind of the database that a scheme names."""
    return scheme.partition("+")[0]


def is_sqlite_uri(path: str, options: Mapping[str, Any]) -> bool:
    """Return whether SQLAlchemy gives a path to SQLite as a URI, because of the option `uri`."""
    asked = str(options.get("uri", "")).lower() in ("true", "yes", "on", "y", "t", "1")
    return asked and path.startswith("file:")


def sqlite_file(path: str, options: Mapping[str, Any]) -> str | None:
    """Return the path of the file that SQLite opens; None for a database in memory."""
    if is_sqlite_uri(path, options):
        memory = options.get("mode") == "memory"
        path = MEMORY if memory else unquote(urlsplit(path).path)
    return None if path in ("", MEMORY) else path


def refuse_url(path: str | os.PathLike[str], hint: str) -> None:
    """Raise an error for a URL where a path is needed: errors about a path would show its secrets.

    URLs of remote files without a login are left to their readers.
    """
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise ParameterTypeError(f"a path is a str or a Path, got {type(path).__name__}")
    if "\0" in os.fspath(path):
        raise ParameterError("a path holds no NUL")
    found = _ANY_URL.fullmatch(os.fspath(path))
    if found and (database_of(found[1].lower()) in _DATABASES or _LOGIN.match(found[2])):
        raise ParameterError("a path is needed, and this is a URL", hint=hint)


def raise_alone(error: Exception) -> NoReturn:
    """Raise an error in the place of the one that is handled, which may quote a secret."""
    try:
        raise error from None
    finally:
        error.__context__ = None  # `from None` only hides it


def _is_secret(option: tuple[str, str]) -> bool:
    return bool(_SECRET_OPTION.search(option[0]) or _SECRET_VALUE.search(option[1]))


def _escaped(text: str | None) -> str:
    return quote(text or "", safe="", errors="surrogatepass")


def _forms(secret: str) -> set[str]:
    """Return a secret as drivers may write it: plain, in a URL, in Python or in a conninfo."""
    quoted = secret.replace("\\", "\\\\").replace("'", "\\'")
    escaped = {quote(secret, safe, errors="surrogatepass") for safe in ("", "/", " +")}
    plus = quote_plus(secret, errors="surrogatepass")
    return {secret, quoted, repr(secret)[1:-1], plus, *escaped}


def file_identity(path: str) -> tuple[int, ...] | None:
    """Return device and inode of a file, which change if it is replaced; None without a file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
