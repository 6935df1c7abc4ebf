"""The store on a real PostgreSQL server."""

from __future__ import annotations

import os
import pickle
import pwd
import subprocess

import polars as pl
import psycopg
import pytest

from stc import StoreError, open_store
from support.edge_cases import FRAME, ITEMS, plain
from support.file_stores import check_read_only, kept, unharmed
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
from support.stores import close_stores, database_of, opened

OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
def server(postgresql_server):  # noqa: F811
    return postgresql_server


@pytest.fixture
def url(server):
    address = server.new_schema()
    yield address
    close_stores(address)


class TestPostgresql(SharedStoreCases):
    """Rows and transactions."""


def refused(url: str, words: str) -> None:
    store = open_store(url)
    for act in (
        lambda: list(store),
        lambda: "zoo" in store,
        lambda: store["zoo"],
        lambda: store.create("zoo", plain()),
    ):
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
    database = database_of(url)
    learnt(database)
    calls = []

    def work(writing):
        calls.append(writing.version)
        writing.note("batch")
        if len(calls) == 1:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(OTHERS)
        writing.add(HEADER, GREEN)

    database.write("zoo", work)
    assert len(calls) == 2
    twice = GREEN.with_columns(pl.col("mass", "support") * 2)
    assert_entries(corpus_of(database), pl.concat([RED, twice]))
    assert database.write("zoo", lambda writing: writing.batches()) == {"batch"}


def test_a_connection_lost_at_the_very_end_is_not_counted_twice(url):
    database = database_of(url)
    learnt(database)
    version = database.version("zoo")

    def work(writing):
        writing.note("batch")

        def lose():
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(OTHERS)

        # The last statement of a transaction is the model's row; then comes the commit.
        finish = writing.finish
        writing.finish = lambda: (finish(), lose())

    with pytest.raises(StoreError, match=r"lost during the commit.*batch id"):
        database.write("zoo", work)
    assert database.version("zoo") == version


def test_a_server_that_goes_away_and_comes_back(server, url):
    database = database_of(url)
    learnt(database)

    def work(writing):
        writing.note("batch")
        server.stop()
        writing.add(HEADER, GREEN)

    try:
        with pytest.raises(StoreError, match="cannot be reached"):
            database.write("zoo", work)
    finally:
        server.start()
    assert_entries(corpus_of(database), pl.concat([RED, GREEN]))
    assert database.write("zoo", lambda writing: writing.batches()) == frozenset()


def test_a_model_learns_once_although_the_connection_is_lost(url):
    model = open_store(url).create("zoo", plain())
    work = model._database.write

    def interrupted(name, changes):
        lost = []

        def losing(writing):
            result = changes(writing)
            if not lost:
                lost.append(True)
                with psycopg.connect(url, autocommit=True) as other:
                    other.execute(OTHERS)
                writing.batches()  # the next statement fails, and all is done again
            return result

        return work(name, losing)

    model._database.write = interrupted
    try:
        for _ in range(2):
            model.partial_fit(ITEMS, FRAME["class"], batch_id="again")
            assert model.class_mass_.tolist() == [4.0, 4.0]
        model.set_params(power=0.9)
        model.unlearn(ITEMS, FRAME["class"], batch_id="again")
    finally:
        del model._database.write
    assert opened(url).class_mass_.tolist() == [2.0, 2.0]
    assert opened(url).get_params()["power"] == 0.9


def test_read_only(url, tmp_path):
    kept(url)
    address = f"{url}%20-cdefault_transaction_read_only%3Don"
    with open_store(address) as store:
        check_read_only(store, store.url, "is read-only", tmp_path)
    unharmed(url)


def test_a_user_who_may_only_read(server, url, tmp_path):
    kept(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
        schema = connection.execute("SELECT current_schema()").fetchone()[0]
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO guest")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO guest")
    with open_store(url.replace(f"{OWNER}:{server.password}", "guest:guest")) as guest:
        check_read_only(guest, guest.url, "this user may not write", tmp_path)
        model = guest["zoo"]
        open_store(url)["zoo"].partial_fit(ITEMS, FRAME["class"])
        assert model.class_mass_.tolist() == [4.0, 4.0]  # the guest sees what the owner writes
        open_store(url)["zoo"].unlearn(ITEMS, FRAME["class"])
    unharmed(url)


def test_a_user_who_may_only_read_an_empty_schema(server, url):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE visitor LOGIN PASSWORD 'visitor'")
        schema = connection.execute("SELECT current_schema()").fetchone()[0]
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO visitor")
    with open_store(url.replace(f"{OWNER}:{server.password}", "visitor:visitor")) as store:
        assert list(store) == []
        with pytest.raises(StoreError, match="this user may not write"):
            store.create("zoo", plain())


def test_a_user_who_may_not_read(server, url):
    kept(url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
        schema = connection.execute("SELECT current_schema()").fetchone()[0]
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO stranger")
        with open_store(url.replace(f"{OWNER}:{server.password}", "stranger:stranger")) as store:
            for use in (lambda: list(store), lambda: store["zoo"]):
                with pytest.raises(StoreError, match=r"this user may not read$"):
                    use()
            connection.execute("GRANT SELECT ON stc_models TO stranger")
            assert list(store) == ["zoo"]
            with pytest.raises(StoreError, match=r"this user may not read$"):
                _ = store["zoo"]
    unharmed(url)


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
        kept(url)
        with open_store(url) as store:
            X = pl.DataFrame({"a": [f"value {n}" for n in range(200_000)], "b": 1})
            with pytest.raises(StoreError, match="disk of the server is full"):
                store["zoo"].partial_fit(X, ["p"] * X.height, batch_id="b")
            assert store["zoo"].class_mass_.tolist() == [2.0, 2.0]
        unharmed(url)
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {url.rpartition('/')[2]}")
            connection.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", folder], check=True)


def test_tables_that_went_away_are_made_again(url):
    store = open_store(url)
    model = store.create("zoo", plain())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE stc_models, stc_entries, stc_features")
        connection.execute("DROP TABLE stc_classes, stc_batches")
    assert store._database.read("zoo") is None
    assert list(store) == []
    for ask in (lambda: model.predict(ITEMS), lambda: model.partial_fit(ITEMS, FRAME["class"])):
        with pytest.raises(KeyError, match="there is no model 'zoo'"):
            ask()
    store.create("zoo", plain())
    assert model.class_mass_.tolist() == [2.0, 2.0]
    store.close()
    unharmed(url)


def test_a_pickle_holds_no_password(server, url, monkeypatch):
    model = open_store(url).create("zoo", plain())
    pickled = pickle.dumps((model, model.store))
    assert server.password.encode() not in pickled
    assert server.password not in repr(model) + repr(model.store) + model.store.url
    with pytest.raises(StoreError, match="password"):
        pickle.loads(pickled)
    open_store(model.store.url).close()
    monkeypatch.setenv("PGPASSWORD", server.password)
    again, store = pickle.loads(pickled)
    assert again.predict(ITEMS).tolist() == model.predict(ITEMS).tolist()
    store.close()
