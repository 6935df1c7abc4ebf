"""Stores in files: SQLite and DuckDB."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing import Pipe
from pathlib import Path

import polars as pl
import pytest

from stc.exceptions import ParameterError
from stc.stores import StoreError, Writing, open_store, shown_url
from support import store_stress
from support.store_cases import (
    GREEN,
    RED,
    SharedStoreCases,
    StoreCases,
    assert_entries,
    corpus_of,
    learnt,
    schema_of,
)


class TestSqlite(SharedStoreCases):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:///{tmp_path}/zoo.db"


class TestDuckdb(StoreCases):
    @pytest.fixture
    def url(self, tmp_path):
        return f"duckdb:///{tmp_path}/zoo.duckdb"


FILES = ("sqlite:///{}/zoo.db", "duckdb:///{}/zoo.duckdb")


@pytest.fixture(params=FILES, ids=["sqlite", "duckdb"])
def url(request, tmp_path):
    return request.param.format(tmp_path)


def file_of(url: str) -> Path:
    return Path(url.partition(":///")[2])


def kept(url: str) -> None:
    """Make a model, and let go of the file."""
    store = open_store(url)
    learnt(store)
    store.close()


def unharmed(url: str) -> None:
    store = open_store(url)
    assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
    assert store.write("zoo", lambda writing: writing.batches()) == frozenset()
    store.close()


@contextmanager
def refused(url: str, words: str) -> Iterator[None]:
    with pytest.raises(StoreError, match=words) as caught:
        yield
    assert caught.value.path == url
    assert str(caught.value).startswith(f"{url}: ")
    assert "\n" not in str(caught.value)


def test_reading_makes_no_file(url):
    store = open_store(url)
    assert store.names() == []
    assert store.version("zoo") is store.read("zoo") is store.header("zoo") is None
    store.remove("zoo")
    assert not file_of(url).exists()
    store.close()


def test_no_such_folder(url):
    url = url.replace("zoo", "nowhere/zoo")
    store = open_store(url)
    assert store.read("zoo") is None
    with refused(url, "folder"):
        learnt(store)
    store.close()


def test_not_a_database(url):
    file_of(url).write_bytes(b"not a database, but long enough to look at" * 500)
    store = open_store(url)
    for act in (store.names, lambda: learnt(store)):
        with refused(url, "is not a (SQLite|DuckDB) database"):
            act()
    store.close()


def test_a_file_of_the_other_kind(tmp_path):
    kept(f"sqlite:///{tmp_path}/zoo")
    store = open_store(f"duckdb:///{tmp_path}/zoo")
    with pytest.raises(StoreError, match=rf"^duckdb:///{tmp_path}/zoo: the file is not a DuckDB"):
        learnt(store)
    store.close()
    unharmed(f"sqlite:///{tmp_path}/zoo")


@pytest.mark.parametrize(
    ("way", "options"),
    [
        ("sqlite:///file:{}/zoo.db", "?mode=ro&uri=true"),
        ("duckdb:///{}/zoo.duckdb", "?access_mode=read_only"),
    ],
    ids=["sqlite", "duckdb"],
)
def test_read_only_by_choice(way, options, tmp_path):
    url = way.format(tmp_path)
    kept(url.replace("file:", ""))
    store = open_store(url + options)
    assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
    for act in (lambda: learnt(store), lambda: learnt(store, "new"), lambda: store.remove("zoo")):
        with pytest.raises(StoreError, match="is read-only"):
            act()
    store.close()
    unharmed(url.replace("file:", ""))


def test_read_only_file(url):
    kept(url)
    file = file_of(url)
    file.chmod(0o444)
    if os.geteuid() == 0 and subprocess.run(["chattr", "+i", file]).returncode:
        pytest.skip("root writes to every file of this disk")
    try:
        store = open_store(url)
        assert_entries(corpus_of(store), pl.concat([RED, GREEN]))
        with refused(url, "is read-only"):
            learnt(store)
        store.close()
    finally:
        if os.geteuid() == 0:
            subprocess.run(["chattr", "-i", file], check=True)
    unharmed(url)


@pytest.mark.parametrize("way", FILES, ids=["sqlite", "duckdb"])
def test_full_disk(way, tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    url = way.format(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder]).returncode:
        pytest.skip("this machine lets no one mount a small disk")
    try:
        kept(url)
        told = store_stress.overfill(url)
        assert told == f"{url}: the disk is full"
        unharmed(url)
    finally:
        subprocess.run(["umount", folder], check=True)


def test_no_larger_file_allowed(url):
    kept(url)
    here, there = Pipe()
    process = store_stress.started(store_stress.overfill_limited, url, there)
    there.close()
    assert re.match(".*: the (disk is full|file would exceed the largest size)", here.recv())
    process.join()
    unharmed(url)


def test_a_file_that_was_removed_is_made_again(url):
    store = open_store(url)
    learnt(store)
    for file in file_of(url).parent.iterdir():
        file.unlink()
    assert store.read("zoo") is None
    learnt(store)
    store.write("zoo", lambda writing: writing.note("b"))
    for file in file_of(url).parent.iterdir():
        file.unlink()
    learnt(store)
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
    for act in (store.names, lambda: learnt(store)):
        with refused(url, "open in another process.*one process only; close it there"):
            act()
    here.send("done")
    process.join()
    unharmed(url)


def test_a_forked_child_is_kept_from_a_duckdb_file(tmp_path):
    url = f"duckdb:///{tmp_path}/zoo.duckdb"
    store = open_store(url)
    learnt(store)
    child = os.fork()
    if child == 0:
        try:
            open_store(url).names()
        except StoreError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    store.close()
    unharmed(url)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_in_memory(kind):
    store = open_store(f"{kind}:///:memory:")
    learnt(store)
    assert_entries(corpus_of(open_store(f"{kind}:///:memory:")), pl.concat([RED, GREEN]))
    store.close()
    assert open_store(f"{kind}:///:memory:").names() == []
    open_store(f"{kind}:///:memory:").close()


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_relative_paths(kind, tmp_path, monkeypatch):
    stores = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        stores.append(open_store(f"{kind}:///zoo.db"))
        learnt(stores[-1], folder)
    assert [store.names() for store in stores] == [["a"], ["b"]]
    assert (tmp_path / "a" / "zoo.db").exists()
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("url", "message", "hint"),
    [
        (
            "mysql://u:secret@h/d",
            "store='mysql://u@h/d' is not the URL of",
            "starts with duckdb://",
        ),
        (
            "zoo.db",
            "store='zoo.db' is not the URL of a supported database",
            "starts with duckdb://",
        ),
        ("", "store='' is not the URL of a supported database", "starts with duckdb://"),
        ("sqlite3:///x", "store='sqlite3:///x' is not the URL of", "starts with duckdb://"),
        ("sqlite://", "store='sqlite://' does not name a file", "write sqlite:///file"),
        ("postgresql://u:secret@h:port/d", "is not a valid URL", "user:password@host:port"),
    ],
)
def test_urls_of_no_store(url, message, hint):
    with pytest.raises(ParameterError, match=re.escape(message)) as caught:
        open_store(url)
    assert hint in caught.value.hint
    assert "secret" not in str(caught.value)


def test_a_file_that_stays_locked(tmp_path, monkeypatch):
    for module in ("base", "sqlite"):
        monkeypatch.setattr(f"stc.stores.{module}.PATIENCE", 0.2)
    url = f"sqlite:///{tmp_path}/zoo.db"
    kept(url)
    store = open_store(url)
    with closing(sqlite3.connect(tmp_path / "zoo.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        with refused(url, "locked by another process; gave up after"):
            learnt(store)
    learnt(store, "another")
    store.close()
    unharmed(url)


def test_a_thread_that_keeps_writing(tmp_path, monkeypatch):
    monkeypatch.setattr("stc.stores.duckdb.PATIENCE", 0.2)
    url = f"duckdb:///{tmp_path}/zoo.duckdb"
    store = open_store(url)

    def work(writing: Writing) -> None:
        with refused(url, "another thread has been writing for"):
            learnt(store)

    store.write("zoo", work)
    learnt(store)
    store.close()
    unharmed(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h:1/d", "postgresql://u@h:1/d"),
        ("postgresql://u:p@s/s:w@h/d", "postgresql://u@h/d"),
        ("postgresql://h/d?user=u&password=p&sslpassword=q", None),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
        ("sqlite:////a/b:c@d.db", "sqlite:////a/b:c@d.db"),
        ("duckdb:///:memory:", "duckdb:///:memory:"),
    ],
)
def test_shown_url_has_no_password(url, shown):
    hidden = "postgresql://h/d?user=u&password=***&sslpassword=***"
    assert shown_url(url) == (shown or hidden)


def test_a_database_of_someone_else_is_left_as_it_is(tmp_path):
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
        connection.commit()
    before = file.read_bytes()
    store = open_store(f"sqlite:///{file}")
    assert store.names() == []
    assert store.read("zoo") is None
    store.close()
    assert file.read_bytes() == before
    learnt(open_store(f"sqlite:///{file}"))
    open_store(f"sqlite:///{file}").close()
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
