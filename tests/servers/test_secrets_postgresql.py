"""A canary password of a real user of PostgreSQL is in nothing that is shown."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import psycopg
import pytest
import sqlalchemy
from psycopg import sql

import stc
from stc._utils.database_url import DatabaseURL
from stc.exceptions import SourceFileError, StoreError
from support.models import paper_model
from support.postgresql import Server
from support.secret_cases import (
    CANARY,
    PASSWORDS,
    X,
    Y,
    assert_error_hides,
    assert_hidden,
    shown_by_model,
    shown_by_store,
)
from support.secret_cases import logged as logged  # an autouse fixture

USER = "ada@corp.com"


@pytest.fixture(scope="module")
def database(postgresql_server: Server) -> str:
    """An empty database that belongs to a user with @ in the name."""
    url = postgresql_server.new_database()
    name = url.rpartition("/")[2]
    with psycopg.connect(postgresql_server.url(), autocommit=True) as connection:
        role = sql.Identifier(USER)
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        owner = sql.SQL("ALTER DATABASE {} OWNER TO {}")
        connection.execute(owner.format(sql.Identifier(name), role))
    return name


def address(server: Server, database: str, login: str, options: str = "") -> str:
    return f"postgresql://{login}@127.0.0.1:{server.port}/{database}{options}"


def set_password(server: Server, password: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        change = sql.SQL("ALTER ROLE {} PASSWORD {}")
        connection.execute(change.format(sql.Identifier(USER), sql.Literal(password)))


def escaped(text: str) -> str:
    return quote(text, safe="")


def table_in(url: str) -> str:
    """Write the items to a table, and return its name."""
    parsed = DatabaseURL.parse(url)
    engine = sqlalchemy.create_engine(parsed.for_sqlalchemy("postgresql+psycopg"))
    pl.DataFrame(X).with_columns(kind=pl.Series(Y)).write_database(
        "items", engine, if_table_exists="replace"
    )
    engine.dispose()
    return "items"


@pytest.mark.parametrize("password", PASSWORDS)
@pytest.mark.parametrize("shape", ["login", "option", "escaped option"])
def test_every_password_connects_and_is_hidden(
    postgresql_server: Server, database: str, password: str, shape: str, tmp_path: Path
) -> None:
    set_password(postgresql_server, password)
    user = escaped(USER)
    url = {
        "login": address(postgresql_server, database, f"{user}:{escaped(password)}"),
        "option": address(
            postgresql_server, database, user, f"?password={escaped(password)}&connect_timeout=9"
        ),
        "escaped option": address(
            postgresql_server, database, user, f"?p%61ssword={escaped(password)}"
        ),
    }[shape]
    with stc.open_store(url) as store:
        model = store.create("zoo", paper_model(power=0.4), overwrite=True).fit(X, Y)
        found = list(shown_by_store(store))
        if password == CANARY:
            found += shown_by_model(model, X, Y, tmp_path)
        for what, shown in found:
            assert_hidden(shown, what)
        assert model.predict(X[:1]).tolist() == Y[:1]
    # Through SQLAlchemy and, for the rows, through libpq by way of ADBC.
    data = stc.source(url, table_in(url))
    assert_hidden(repr(data))
    assert paper_model().fit(data, "kind").score(data, "kind") == 1


def test_a_raw_at_sign_and_colon_connect(postgresql_server: Server, database: str) -> None:
    password = f"{CANARY}@:{CANARY}"
    set_password(postgresql_server, password)
    url = address(postgresql_server, database, f"{USER}:{password}")
    with stc.open_store(url) as store:
        assert "nothing" not in store
        assert_hidden(repr(store))


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_wrong_password_is_hidden(
    postgresql_server: Server, database: str, password: str
) -> None:
    set_password(postgresql_server, "another")
    url = address(postgresql_server, database, f"{escaped(USER)}:{escaped(password)}")
    with stc.open_store(url) as store:
        for call in (
            lambda: list(store),
            lambda: store["zoo"],
            lambda: store.create("zoo", paper_model()),
        ):
            with pytest.raises(StoreError, match="password authentication failed") as refused:
                call()
            assert_error_hides(refused.value)
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    for given in (url, engine):
        with pytest.raises(SourceFileError, match="the database cannot be read") as failed:
            stc.source(given, "items")
        assert_error_hides(failed.value)


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_that_changes_is_hidden_by_every_driver(
    postgresql_server: Server, database: str, password: str
) -> None:
    """The table was found; then ADBC is refused, and SQLAlchemy where it writes."""
    set_password(postgresql_server, password)
    url = address(postgresql_server, database, f"{escaped(USER)}:{escaped(password)}")
    data = stc.source(url, table_in(url))
    model = paper_model().fit(data, "kind")
    set_password(postgresql_server, "another")
    calls: dict[str, Any] = {
        "fit": lambda: paper_model().fit(data, "kind"),
        "predict": lambda: model.predict(data),
        "to": lambda: model.predict(data, to="answers"),
    }
    for call in calls.values():
        with pytest.raises(SourceFileError, match="the database cannot be") as failed:
            call()
        assert_error_hides(failed.value)


def test_a_database_that_is_not_there(postgresql_server: Server, database: str) -> None:
    set_password(postgresql_server, CANARY)
    url = address(postgresql_server, "nowhere", f"{escaped(USER)}:{CANARY}")
    with stc.open_store(url) as store, pytest.raises(StoreError) as refused:
        list(store)
    assert_error_hides(refused.value)


def test_a_server_that_stops_is_an_error_without_the_secret(
    postgresql_server: Server, database: str
) -> None:
    set_password(postgresql_server, CANARY)
    url = address(postgresql_server, database, f"{escaped(USER)}:{CANARY}")
    with stc.open_store(url) as store:
        model = store.create("zoo", paper_model(), overwrite=True).fit(X, Y)
        postgresql_server.stop()
        try:
            with pytest.raises(StoreError) as refused:
                model.predict(X)
        finally:
            postgresql_server.start()
        assert_error_hides(refused.value)
        assert model.predict(X[:1]).tolist() == Y[:1]


def test_a_pickled_model_takes_the_password_of_its_process(
    postgresql_server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_password(postgresql_server, CANARY)
    url = address(postgresql_server, database, f"{escaped(USER)}:{CANARY}")
    with stc.open_store(url) as store:
        model = store.create("zoo", paper_model(), overwrite=True).fit(X, Y)
        data, expected = pickle.dumps(model), model.predict_proba(X)
    assert_hidden(data)
    with pytest.raises(StoreError, match="no password supplied") as refused:
        pickle.loads(data)
    assert_error_hides(refused.value)
    monkeypatch.setenv("PGPASSWORD", CANARY)
    again = pickle.loads(data)
    assert again.predict_proba(X).tolist() == expected.tolist()
    again.store.close()
