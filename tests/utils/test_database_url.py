"""URLs of databases: parsed as they were meant, and shown without secrets."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy
from hypothesis import assume, example, given
from hypothesis import strategies as st

import stc
from stc._utils.database_url import DatabaseURL, raise_alone, refuse_url
from stc.exceptions import ParameterError, ParameterTypeError
from support.secret_cases import (
    CANARY,
    PASSWORDS,
    URLS,
    WRONG_URLS,
    assert_error_hides,
    assert_hidden,
    chain,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NAME = st.text("abcxyz_-.09", min_size=1, max_size=8)
HOST = st.one_of(NAME, st.sampled_from(["", "::1", "fe80::1%eth0", "a,b"]))
SECRET_NAMES = ["password", "PASSWORD", "sslpassword", "pwd", "access_token", "api-key", "dsn"]
SECRET_OPTIONS = st.tuples(st.sampled_from(SECRET_NAMES), TEXT)
# Without the words of secrets, in names and values.
OPTIONS = st.tuples(NAME, st.text("abcxyz /@:?#&%+=;é", max_size=8))


def escaped(text: str) -> str:
    return quote(text, safe="")


def written(
    user: str, password: str | None, host: str, port: int | None, path: str, options: Any
) -> str:
    """Return a URL that is escaped as it should be."""
    login = escaped(user) + ("" if password is None else f":{escaped(password)}")
    at = "@" if login else ""
    address = f"[{host}]" if ":" in host else host
    number = "" if port is None else f":{port}"
    query = "&".join(f"{escaped(name)}={escaped(value)}" for name, value in options)
    mark = "?" if query else ""
    return f"postgresql://{login}{at}{address}{number}/{escaped(path)}{mark}{query}"


@given(
    user=TEXT,
    password=st.none() | TEXT,
    host=HOST,
    port=st.none() | st.integers(0, 65535),
    database=st.text("abcxyz /@:?#&%+;é", max_size=8),
    options=st.lists(OPTIONS | SECRET_OPTIONS, max_size=4),
)
@example("ada@corp.com", "@:/?#%", "h", 1, "zoo", [("password", "@:/?#%")])
@example("a/b", "", "", None, "", [])
def test_an_escaped_url_gives_its_parts_back_and_shows_no_secret(
    user: str, password: str | None, host: str, port: int | None, database: str, options: Any
) -> None:
    parsed = DatabaseURL.parse(written(user, password, host, port, database, options))
    assert (parsed.user or "", parsed.password, parsed.port) == (user, password, port)
    assert parsed.host.strip("[]") == host
    assert list(parsed.options) == options
    engine = parsed.for_sqlalchemy("postgresql+psycopg")
    assert (engine.host or "", engine.port, engine.database or "") == (host, port, database)
    assert (engine.username or "") == user
    inner = next((value for name, value in reversed(options) if name == "password"), None)
    assert engine.password == (inner if password is None else password)
    # Nothing depends on the secrets: the URL without them looks and pickles the same.
    shown = [pair for pair in options if pair[0] not in SECRET_NAMES]
    other = DatabaseURL.parse(written(user, None, host, port, database, shown))
    assert other.secrets == ()
    assert str(parsed) == str(other)
    assert repr(parsed) == repr(other)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.dumps(parsed, protocol) == pickle.dumps(other, protocol)
    assert pickle.loads(pickle.dumps(parsed)) == other == DatabaseURL.parse(str(parsed))
    assert DatabaseURL.parse(parsed) is copy.copy(parsed) is copy.deepcopy(parsed) is parsed
    assert hash(parsed) == hash(replace(parsed))
    # As PostgreSQL's own library parses it, which knows no SQLAlchemy.
    assert DatabaseURL.parse(parsed.for_libpq()) == parsed


@given(raw=TEXT, scheme=st.sampled_from(["postgresql", "mysql+driver", "sqlite", "duckdb"]))
@example("x/y", "postgresql")
@example("12/y", "sqlite")
@example("x@y", "duckdb")
@example("x?y#z", "postgresql")
@example("\n", "postgresql")
def test_a_raw_password_is_hidden_or_refused(raw: str, scheme: str) -> None:
    """Not escaped, as people write it: no sign in it makes a part of it public."""
    try:
        parsed = DatabaseURL.parse(f"{scheme}://ada:{raw}@host/zoo")
    except ParameterError as error:
        assert_same_error(error, scheme)
        return
    assert str(parsed) == f"{scheme}://ada@host/zoo"


PIECES = [
    "postgresql", "sqlite", "a+b", "://", ":/", "/", "//", "@", ":", "?", "#", "&", "=", "%", "%40",
    "%zz", "%00", "[", "]", "::1", "password", "pwd=", "host", "ada", "5432", "65536", "²", "٣",
    "\n", " ", "\0", "\ud800", "é", ".", "..", ":memory:", "file:", "9" * 5000, CANARY,
]  # fmt: skip


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12), text=st.text(max_size=5))
@example(["postgresql", "://", "host"], "\n")
def test_any_text_is_parsed_or_refused_without_being_quoted(pieces: list[str], text: str) -> None:
    url = "".join(pieces) + text
    scheme = url.partition("://")[0].lower()
    assume(CANARY not in scheme)
    try:
        parsed = DatabaseURL.parse(url)
    except ParameterError as error:
        assert_same_error(error, scheme)
        return
    assert parsed.path[:1] in ("", "/")
    assert DatabaseURL.parse(str(parsed)) == pickle.loads(pickle.dumps(parsed))
    assert str(DatabaseURL.parse(str(parsed))) == str(parsed)


def assert_same_error(error: ParameterError, scheme: str) -> None:
    """Assert that an error is one of those that say nothing of the URL but its scheme."""
    assert chain(error) == [error]
    assert error.path is None
    assert error.message in {
        "this is not the URL of a database",
        f"{scheme}://...: this is not a valid URL",
        f"{scheme}://...: the URL contains a NUL or a surrogate",
    }
    assert error.hint in {
        None,
        "write it as in sqlite:///zoo.db",
        f"write {scheme}://user:password@host:port/database",
        "write @ / ? # in a user name, a password or an option as %40 %2F %3F %23",
    }


@pytest.mark.parametrize("shape", URLS)
def test_no_shape_shows_the_canary(shape: str) -> None:
    parsed = DatabaseURL.parse(URLS[shape])
    assert any(CANARY in secret for secret in parsed.secrets)
    for shown in (str(parsed), repr(parsed), f"{parsed}", [parsed], {"url": parsed}):
        assert_hidden(shown, shape)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert_hidden(pickle.dumps(parsed, protocol), shape)
    assert pickle.loads(pickle.dumps(parsed)).secrets == ()


@pytest.mark.parametrize("shape", WRONG_URLS)
def test_what_is_not_the_url_of_a_store_is_refused_without_the_canary(shape: str) -> None:
    with pytest.raises(ParameterError) as refused:
        stc.open_store(WRONG_URLS[shape])
    assert_error_hides(refused.value)


@pytest.mark.parametrize("given", [None, 1, b"sqlite:///zoo.db", Path("zoo.db"), ["sqlite://"]])
def test_only_a_string_is_a_url(given: Any) -> None:
    with pytest.raises(
        ParameterTypeError, match=f"^a URL is a string, got {type(given).__name__}$"
    ):
        DatabaseURL.parse(given)


def test_a_user_name_is_no_secret() -> None:
    parsed = DatabaseURL.parse(f"postgresql://{CANARY}@host/zoo")
    assert (parsed.user, parsed.password, parsed.secrets) == (CANARY, None, ())
    assert str(parsed) == f"postgresql://{CANARY}@host/zoo"


def test_what_is_no_secret_is_shown_and_pickled() -> None:
    url = "postgresql://ada%40corp.com@h:5433/my%20zoo?options=-csearch_path%3Dx&connect_timeout=9"
    assert str(DatabaseURL.parse(url)) == url
    assert str(pickle.loads(pickle.dumps(DatabaseURL.parse(url)))) == url


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_text_of_a_driver_is_cleaned_of_the_secrets_however_it_writes_them(password: str) -> None:
    url = DatabaseURL.parse(f"postgresql://ada:{escaped(password)}@h/zoo?sslpassword={CANARY}2")
    conninfo = password.replace("\\", "\\\\").replace("'", "\\'")
    for form in (password, escaped(password), quote(password), repr(password), conninfo):
        cleaned = url.without_secrets(f"cannot use {form} with {CANARY}2")
        assert_hidden(cleaned)
        assert cleaned.startswith("cannot use ")
    assert url.without_secrets("a text without them") == "a text without them"


@pytest.mark.parametrize("password", PASSWORDS)
def test_the_url_of_an_engine_is_read_whole(password: str) -> None:
    made = sqlalchemy.URL.create(
        "postgresql+psycopg", "ada@b", password, "::1", 5433, "my/zoo", {"sslpassword": CANARY}
    )
    parsed = DatabaseURL.of_sqlalchemy(sqlalchemy.create_engine(made).url)
    assert parsed.for_sqlalchemy() == made
    assert str(parsed) == "postgresql+psycopg://ada%40b@[::1]:5433/my/zoo"
    assert set(parsed.secrets) == {password, CANARY}


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///:memory:", ":memory:"),
        ("sqlite:///zoo.db", str(Path("zoo.db").resolve())),
        ("duckdb:////tmp/a%20b@c#d.db", "/tmp/a b@c#d.db"),
        ("sqlite:////tmp/zoo%3F.db?timeout=5", "/tmp/zoo?.db"),
    ],
)
def test_the_path_of_a_file(url: str, path: str) -> None:
    assert DatabaseURL.parse(url).file_path() == path


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite://zoo.db", "duckdb://h/zoo.db", "sqlite://:1/x",
            f"sqlite://:{CANARY}@/x", f"sqlite://ada:{CANARY}@h/x"]
)  # fmt: skip
def test_the_url_of_a_file_has_no_login_and_no_host(url: str) -> None:
    with pytest.raises(ParameterError, match="does not name a file; write ") as refused:
        DatabaseURL.parse(url).file_path()
    assert_error_hides(refused.value)


def test_a_url_is_not_a_path() -> None:
    for url in (
        *URLS.values(),
        f"postgresql:/ada:{CANARY}@{URLS['a password'][-4:]}",
        "sqlite:///z",
    ):
        with pytest.raises(ParameterError, match="a path is needed, and this is a URL") as refused:
            refuse_url(url, "name a file")
        assert_error_hides(refused.value)
    for path in ("zoo.db", "C:/zoo.db", "s3://bucket/d.parquet", "abfss://box@account/d", "a:b@c"):
        refuse_url(path, "name a file")
        refuse_url(Path(path), "name a file")


def test_an_error_can_be_raised_without_what_was_handled() -> None:
    def fail() -> None:
        try:
            raise OSError(CANARY)
        except OSError:
            raise_alone(ParameterError("the database cannot be read"))

    with pytest.raises(ParameterError, match="cannot be read") as raised:
        fail()
    assert_error_hides(raised.value)
    assert chain(raised.value) == [raised.value]
