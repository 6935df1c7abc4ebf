"""Stores on disks that are full, read-only or locked."""

from __future__ import annotations

import errno
import re
import time
from multiprocessing import Pipe
from pathlib import Path

import pytest

from stc import StoreError, open_store
from support import store_stress
from support.disks import disk, locked, read_only, read_only_view
from support.edge_cases import FRAME, ITEMS, plain
from support.file_stores import FILES, check_read_only, file_of, kept, refused, unharmed, writes
from support.models import paper_model
from support.stores import close_stores


@pytest.fixture(params=FILES)
def url(request, tmp_path):
    (tmp_path / "disk").mkdir()
    address = FILES[request.param].format(tmp_path / "disk")
    yield address
    close_stores(address)


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
    with open_store(url + options) as store:
        check_read_only(store, url + options, "is read-only", tmp_path)
    unharmed(url.replace("file:", ""))


def test_a_read_only_file_is_read(url, tmp_path):
    kept(url)
    with locked(file_of(url)), open_store(url) as store:
        check_read_only(store, url, "is read-only", tmp_path)
    unharmed(url)


@pytest.mark.parametrize("kind", FILES)
def test_a_store_on_a_read_only_disk_is_read(kind, tmp_path):
    with disk(tmp_path / "disk") as folder:
        url = FILES[kind].format(folder)
        kept(url)
        with read_only(folder), open_store(url) as store:
            check_read_only(store, url, "is read-only", tmp_path)
        unharmed(url)


@pytest.mark.parametrize("kind", FILES)
def test_a_read_only_disk_without_a_store_is_empty(kind, tmp_path):
    with disk(tmp_path / "disk") as folder, read_only(folder):
        url = FILES[kind].format(folder)
        with open_store(url) as store:
            assert list(store) == []
            with refused(url, "is read-only|cannot be opened; check that its folder"):
                store.create("zoo", plain())


def test_a_folder_that_cannot_be_written_is_said_at_once(url, tmp_path):
    kept(url)
    words = {"sqlite": "is read-only", "duckdb": "denied; check that you may write to it and to"}
    with locked(file_of(url).parent), open_store(url) as store:
        check_read_only(store, url, words[url.partition(":")[0]], tmp_path)
    unharmed(url)


def test_a_store_that_lost_its_folder_meanwhile_says_so_at_once(tmp_path):
    url = FILES["duckdb"].format(tmp_path)
    kept(url)
    with open_store(url) as store:
        store["zoo"].predict(ITEMS)
        with locked(tmp_path):
            for act in writes(store).values():
                with refused(url, "denied; check that you may write to it and to its folder"):
                    act()
        store["zoo"].partial_fit(ITEMS, FRAME["class"])  # it is writable again
        assert store["zoo"].class_mass_.tolist() == [4.0, 4.0]


def test_a_read_only_view_shows_what_is_written_elsewhere(tmp_path):
    (tmp_path / "disk").mkdir()
    url = FILES["sqlite"].format(tmp_path / "disk")
    kept(url)
    with read_only_view(tmp_path / "disk", tmp_path / "view") as view:
        writer = open_store(url)
        reader = open_store(FILES["sqlite"].format(view))
        model = reader["zoo"]
        assert model.class_mass_.sum() == 4
        for k in range(1, 4):
            writer["zoo"].partial_fit(ITEMS, FRAME["class"])
            assert model.class_mass_.sum() == 4 + 4 * k  # from the log that the writer shares
            writer.close()
            assert model.class_mass_.sum() == 4 + 4 * k
            if k == 2:  # without a writer, the log is gone
                reader.close()
        with refused(str(reader.url), "is read-only"):
            model.partial_fit(ITEMS, FRAME["class"])
        reader.close()


@pytest.mark.parametrize("kind", FILES)
def test_a_full_disk_is_said_at_once(kind, tmp_path):
    with disk(tmp_path / "disk", "4m") as folder:
        url = FILES[kind].format(folder)
        kept(url)
        start = time.monotonic()
        assert store_stress.overfill(url) == f"{url}: the disk is full"
        assert time.monotonic() - start < 30  # it was 60 s; the machine may be busy
        unharmed(url)


@pytest.mark.parametrize("kind", FILES)
def test_on_a_full_disk_a_store_is_read_and_every_change_is_refused_at_once(kind, tmp_path):
    with disk(tmp_path / "disk", "2m") as folder:
        url = FILES[kind].format(folder)
        kept(url)
        with open_store(url) as store:
            assert list(store) == ["zoo"]  # SQLite needs 32 KB for its first reader
            fill(folder / "filler")
            check_read_only(store, url, "the disk is full", tmp_path)
            (folder / "filler").unlink()
            store["zoo"].partial_fit(ITEMS, FRAME["class"])
            assert store["zoo"].class_mass_.tolist() == [4.0, 4.0]


def fill(path: Path) -> None:
    """Write to a file until there is no room for another page."""
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def test_no_larger_file_allowed(url):
    kept(url)
    here, there = Pipe()
    process = store_stress.started(store_stress.overfill_limited, url, there)
    there.close()
    assert re.match(".*: the (disk is full|file would exceed the largest size)", here.recv())
    process.join()
    unharmed(url)


def test_a_failed_creation_leaves_no_model(tmp_path):
    for kind in FILES:
        with disk(tmp_path / kind, "2m") as folder:
            url = FILES[kind].format(folder)
            large = paper_model().fit([[f"value {k}"] for k in range(60_000)], [0] * 60_000)
            with open_store(url) as store:
                with pytest.raises(StoreError, match="the disk is full"):
                    store.create("zoo", large)
                assert list(store) == []
            kept(url)
            unharmed(url)
