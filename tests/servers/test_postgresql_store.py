"""The store on a real PostgreSQL server."""

from __future__ import annotations

import os
import pwd
import subprocess

import polars as pl
import psycopg
import pytest

from stc.stores import StoreError, open_store
from support.postgresql import OWNER, postgresql_server  # noqa: F401
from support.store_cases import (
    GREEN,
    HEADER,
    RED,
    SharedStoreCases,
    assert_entries,
    corpus_of,
    learnt,
)

OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def server(postgresql_server):  # noqa: F811
    return postgresql_server


@pytest.fixture
def url(server):
    return server.new_schema()


class TestPostgresql(SharedStoreCases):
    @pytest.fixture
    def url(self, server):
        return server.new_schema()


def refused(url: str, words: str) -> None:
    store = open_store(url)
    for act in (store.names, lambda: store.read("zoo"), lambda: learnt(store)):
        with pytest.raises(StoreError, match=words) as caught:
            act()
        told = str(caught.value)
        assert caught.value.path.startswith("postgresql://postgres@127.0.0.1:")
        assert told.startswith(f"{caught.value.path}: ")
        assert "\n" not in told
        assert "secret" not in told + repr(store)
    store.close()


def test_wrong_password(server):
    refused(server.url(password="secret"), "password")


def test_no_such_database(server):
    refused(server.url("nowhere", ""), "password|nowhere")
    refused(server.url("nowhere"), "nowhere")


def test_no_server():
    refused("postgresql://postgres:secret@127.0.0.1:1/zoo", "cannot be reached")


def test_other_encodings_are_refused(server):
    url = server.new_database("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    refused(url, "LATIN1.*UTF8")


def test_a_connection_lost_in_the_middle_is_taken_up_again(url):
    store = open_store(url)
    learnt(store)
    calls = []

    def work(writing):
        calls.append(writing.version)
        writing.note("batch")
        if len(calls) == 1:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(OTHERS)
        writing.add(HEADER, GREEN)

    store.write("zoo", work)
    assert len(calls) == 2
    twice = GREEN.with_columns(pl.col("mass", "support") * 2)
    assert_entries(corpus_of(store), pl.concat([RED, twice]))
    assert store.write("zoo", lambda writing: writing.batches()) == {"batch"}
    store.close()


def test_a_connection_lost_at_the_very_end_is_not_counted_twice(url):
    store = open_store(url)
    learnt(store)
    version = store.version("zoo")

    def work(writing):
        writing.note("batch")

        def lose():
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(OTHERS)

        # The last statement of a transaction is the model's row; then comes the commit.
        finish = writing.finish
        writing.finish = lambda: (finish(), lose())

    with pytest.raises(StoreError, match=r"lost during the commit.*batch id"):
        store.write("zoo", work)
    assert store.version("zoo") == version
    store.close()


def test_a_server_that_goes_away_and_comes_back(server, url):
    store = open_store(url)
    learnt(store)

    def work(writing):
        writing.note("batch")
        server.stop()
        writing.add(HEADER, GREEN)

    try:
        with pytest.raises(StoreError, match="cannot be reached"):
            store.write("zoo", work)
    finally:
        server.start()
    assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
    assert store.write("zoo", lambda writing: writing.batches()) == frozenset()
    store.close()


def test_read_only(url):
    store = open_store(url)
    learnt(store)
    store.close()
    store = open_store(f"{url}%20-cdefault_transaction_read_only%3Don")
    assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
    for act in (lambda: learnt(store), lambda: learnt(store, "new"), lambda: store.remove("zoo")):
        with pytest.raises(StoreError, match="read-only"):
            act()
    assert store.names() == ["zoo"]
    store.close()


def test_a_user_who_may_only_read(server, url):
    store = open_store(url)
    learnt(store)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        schema = connection.execute("SELECT current_schema()").fetchone()[0]
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest")
    guest = open_store(url.replace(f"{OWNER}:{server.password}", "guest:guest"))
    assert_entries(corpus_of(guest), pl.concat([RED, GREEN]))
    with pytest.raises(StoreError, match="this user may not write"):
        learnt(guest)
    guest.close()
    store.close()


def test_full_disk(server, tmp_path_factory):
    folder = server.folder / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]).returncode:
        pytest.skip("this machine lets no one mount a small disk")
    try:
        owner = pwd.getpwnam(OWNER)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        url = server.new_database("TABLESPACE small")
        store = open_store(url)
        learnt(store)
        many = RED.drop("set").join(pl.DataFrame({"set": range(100_000)}), how="cross")
        with pytest.raises(StoreError, match="disk of the server is full"):
            store.write("zoo", lambda writing: (writing.note("b"), writing.add(HEADER, many)))
        assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
        assert store.write("zoo", lambda writing: writing.batches()) == frozenset()
        store.close()
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {url.rpartition('/')[2]}")
            connection.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", folder], check=True)


def test_tables_that_went_away_are_made_again(url):
    store = open_store(url)
    learnt(store)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE stc_models, stc_entries, stc_features")
        connection.execute("DROP TABLE stc_classes, stc_batches")
    assert store.read("zoo") is None
    learnt(store)
    assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
    store.close()
