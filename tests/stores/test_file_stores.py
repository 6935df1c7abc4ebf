"""Stores in files: SQLite and DuckDB."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from multiprocessing import Pipe

import pytest

from stc import open_store
from stc.exceptions import ModelNotFoundError, ParameterError, ParameterTypeError, StoreError
from stc.stores.transaction import Writing
from support import store_stress
from support.edge_cases import FRAME, ITEMS, plain
from support.file_stores import FILES, file_of, kept, refused, unharmed, writes
from support.models import paper_model
from support.store_cases import SharedStoreCases, StoreCases, schema_of
from support.stores import close_stores, database_of


class TestSqlite(SharedStoreCases):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path}/zoo.db"


class TestDuckdb(StoreCases):
    @pytest.fixture
    def url(self, tmp_path):
        return f"duckdb:///{tmp_path}/zoo.duckdb"


@pytest.fixture(params=FILES)
def url(request, tmp_path):
    address = FILES[request.param].format(tmp_path)
    yield address
    close_stores(address)


def test_opening_and_reading_make_no_file(url):
    store = open_store(url)
    assert list(store) == []
    assert len(store) == 0
    assert "zoo" not in store
    for ask in (lambda: store["zoo"], lambda: store.__delitem__("zoo")):
        with pytest.raises(ModelNotFoundError, match="there is no model 'zoo'"):
            ask()
    database = store._database
    assert database.version("zoo") is database.read("zoo") is database.header("zoo") is None
    database.remove("zoo")
    assert not file_of(url).exists()


def test_a_refused_model_makes_no_file(url):
    for model, error in (
        (paper_model(power=-1), ValueError),
        (paper_model(power="x"), ValueError),
        ("no model", TypeError),
    ):
        with pytest.raises(error):
            open_store(url).create("zoo", model)
    assert not file_of(url).exists()


def test_no_such_folder(url):
    url = url.replace("zoo", "nowhere/zoo")
    with open_store(url) as store:
        assert database_of(url).read("zoo") is None
        assert list(store) == []
        with refused(url, "folder"):
            store.create("zoo", plain())


def test_not_a_database(url):
    file_of(url).write_bytes(b"not a database, but long enough to look at" * 500)
    store = open_store(url)
    for act in (lambda: list(store), lambda: store["zoo"], lambda: store.create("zoo", plain())):
        with refused(url, "is not a (SQLite|DuckDB) database"):
            act()


def test_a_file_of_the_other_kind(tmp_path):
    kept(f"sqlite:///{tmp_path}/zoo")
    other = f"duckdb:///{tmp_path}/zoo"
    with open_store(other) as store, refused(other, "the file is not a DuckDB"):
        store.create("zoo", plain())
    unharmed(f"sqlite:///{tmp_path}/zoo")


def test_a_file_that_was_removed_is_made_again(url):
    store = open_store(url)
    model = store.create("zoo", plain())
    for file in file_of(url).parent.iterdir():
        file.unlink()
    assert list(store) == []
    with pytest.raises(ModelNotFoundError):
        model.predict(ITEMS)
    with pytest.raises(ModelNotFoundError):
        model.partial_fit(ITEMS, FRAME["class"])
    assert not file_of(url).exists()
    store.create("zoo", paper_model()).partial_fit(ITEMS, FRAME["class"], batch_id="b")
    for file in file_of(url).parent.iterdir():
        file.unlink()
    store.create("zoo", plain())
    store.close()
    unharmed(url)


def test_duckdb_says_that_another_process_has_the_file(tmp_path):
    url = f"duckdb:///{tmp_path}/zoo.duckdb"
    kept(url)
    here, there = Pipe()
    process = store_stress.started(store_stress.hold, url, there)
    there.close()
    assert here.recv() == ["zoo"]
    store = open_store(url)
    for act in (lambda: list(store), lambda: store["zoo"], lambda: store.create("new", plain())):
        with refused(url, "open in another process.*one process only; close it there"):
            act()
    here.send("done")
    process.join()
    unharmed(url)


def test_a_forked_child_is_kept_from_a_duckdb_file(tmp_path):
    url = f"duckdb:///{tmp_path}/zoo.duckdb"
    store = open_store(url)
    store.create("zoo", plain())
    child = os.fork()
    if child == 0:
        try:
            list(open_store(url))
        except StoreError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    store.close()
    unharmed(url)


@pytest.mark.parametrize("kind", FILES)
def test_in_memory(kind):
    store = open_store(f"{kind}:///:memory:")
    store.create("zoo", plain())
    assert open_store(f"{kind}:///:memory:")["zoo"].class_mass_.tolist() == [2.0, 2.0]
    store.close()
    assert list(open_store(f"{kind}:///:memory:")) == []
    open_store(f"{kind}:///:memory:").close()


@pytest.mark.parametrize("kind", FILES)
def test_relative_paths(kind, tmp_path, monkeypatch):
    stores = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        stores.append(open_store(f"{kind}:///zoo.db"))
        stores[-1].create(folder, plain())
    assert [list(store) for store in stores] == [["a"], ["b"]]
    assert (tmp_path / "a" / "zoo.db").exists()
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        ("mysql://u:secret@h/d", "'mysql://u@h/d' is not the URL of a", "starts with duckdb://"),
        ("zoo.db", "this is not the URL of a database", "sqlite:///zoo.db"),
        ("", "this is not the URL of a database", "sqlite:///zoo.db"),
        ("sqlite3:///x", "'sqlite3:///x' is not the URL of a supported", "starts with duckdb://"),
        ("sqlite://", "'sqlite://' does not name a file", "write sqlite:///file"),
        ("postgresql://u:secret@h:port/d", "is not a valid URL", "user:password@host:port"),
    ],
)
def test_urls_of_no_store(url, message, hint):
    with pytest.raises(ParameterError, match=re.escape(message)) as caught:
        open_store(url)
    assert hint in caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_url_is_a_string():
    with pytest.raises(ParameterTypeError, match="a URL is a string, got int"):
        open_store(7)


def test_a_file_that_stays_locked(tmp_path, monkeypatch):
    for module in ("database", "sqlite"):
        monkeypatch.setattr(f"stc.stores.{module}.PATIENCE", 0.2)
    url = f"sqlite:///{tmp_path}/zoo.db"
    kept(url)
    store = open_store(url)
    with closing(sqlite3.connect(tmp_path / "zoo.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        for act in writes(store).values():
            with refused(url, "locked by another process; gave up after"):
                act()
        assert store["zoo"].predict(ITEMS).tolist() == plain().predict(ITEMS).tolist()
    store.create("another", plain())
    store.close()
    unharmed(url)


def test_a_thread_that_keeps_writing(tmp_path, monkeypatch):
    monkeypatch.setattr("stc.stores.duckdb.PATIENCE", 0.2)
    url = f"duckdb:///{tmp_path}/zoo.duckdb"
    store = open_store(url)

    def work(writing: Writing) -> None:
        with refused(url, "another thread has been writing for"):
            store.create("zoo", plain())

    store._database.write("zoo", work)
    store.create("zoo", plain())
    store.close()
    unharmed(url)


def test_a_database_of_someone_else_is_left_as_it_is(tmp_path):
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()
    before = file.read_bytes()
    with open_store(f"sqlite:///{file}") as store:
        assert list(store) == []
        assert store._database.read("zoo") is None
    assert file.read_bytes() == before
    with open_store(f"sqlite:///{file}") as store:
        store.create("zoo", plain())
    assert {table for table, *_ in schema_of(f"sqlite:///{file}")} > {"theirs", "stc_models"}


@pytest.mark.parametrize("package", ["duckdb", "sqlalchemy", "psycopg"])
def test_a_package_that_is_missing_is_named(package, monkeypatch, tmp_path):
    urls = {
        "duckdb": f"duckdb:///{tmp_path}/missing",
        "sqlalchemy": f"sqlite:///{tmp_path}/missing",
        "psycopg": "postgresql://u:secret@127.0.0.1:1/missing",
    }
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: pip install"):
        open_store(urls[package])


def test_no_database_package_is_loaded_before_it_is_needed():
    packages = "duckdb", "sqlalchemy", "psycopg"
    code = f"import sys, stc.stores; print([p for p in {packages} if p in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
