"""Atomic writing of files."""

from pathlib import Path

import pytest

from stc._utils.atomic import atomic_write
from stc.exceptions import SourceFileError


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
