"""Atomic writing of files."""

import os
import socket
from pathlib import Path

import polars as pl
import pytest

import stc
from stc._utils.atomic import atomic_write
from stc.exceptions import OutputFileError, SourceFileError


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    path = tmp_path / "no" / "model.stc"
    with pytest.raises(SourceFileError, match="there is no folder") as caught, atomic_write(path):
        pass
    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.path == str(path)


def test_an_error_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "model.stc"
    path.write_text("before")

    def write_half() -> None:
        with atomic_write(path) as part:
            part.write_text("half")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        write_half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_takes_the_place_and_the_mode(tmp_path: Path) -> None:
    path, link = tmp_path / "model.stc", tmp_path / "link.stc"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link) as part:
        part.write_text("after")
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert {*tmp_path.iterdir()} == {path, link}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_nobody_else_reads_a_file_while_it_is_replaced(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "model.parquet"
    path.write_text("before")
    path.chmod(mode)
    with atomic_write(path) as part:
        assert part.stat().st_mode & 0o777 == 0o600
        pl.LazyFrame({"a": [1]}).sink_parquet(part)
        assert part.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_mode & 0o777 == mode


def test_a_new_file_has_the_mode_that_the_process_gives(tmp_path: Path) -> None:
    usual, path = tmp_path / "usual", tmp_path / "model.parquet"
    usual.touch()
    with atomic_write(path) as part:
        part.write_text("new")
    assert path.stat().st_mode == usual.stat().st_mode


def not_a_file(kind: str, folder: Path) -> Path:
    """Make something at a path that is not a file; nothing of the system, which would be lost."""
    path = folder / "place.parquet"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":
        os.mkfifo(folder / "pipe")
        path.symlink_to(folder / "pipe")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    else:
        path.symlink_to(folder / "other")
        (folder / "other").symlink_to(path)
    return path


def identity(path: Path) -> tuple[int, ...]:
    """Return what changes if a path is replaced; not the time of reading, which a look changes."""
    status = path.lstat()
    return status.st_ino, status.st_mode, status.st_mtime_ns


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("folder", "is a folder; name a file"),
        ("pipe", "is a device or a pipe; name a file"),
        ("link to a pipe", "is a device or a pipe; name a file"),
        ("socket", "is a device or a pipe; name a file"),
        ("loop", "is a link that leads to itself"),
    ],
)
def test_what_is_not_a_file_is_not_replaced(tmp_path: Path, kind: str, words: str) -> None:
    path = not_a_file(kind, tmp_path)
    before, entries = identity(path), sorted(tmp_path.iterdir())
    with pytest.raises(OutputFileError, match=words) as caught, atomic_write(path):
        pass
    assert isinstance(caught.value, OSError)
    assert caught.value.path == str(path)
    model = stc.SparseTensorClassifier(**stc.STC_Q).fit([["a"]], ["x"])
    with pytest.raises(OutputFileError, match=words):
        model.save(path)
    assert identity(path) == before
    assert sorted(tmp_path.iterdir()) == entries


def test_a_link_into_no_folder(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "no" / "model.stc")
    with pytest.raises(SourceFileError, match="there is no folder"), atomic_write(link):
        pass
