"""Atomic writing of files: to a temporary file in the same folder, which is then renamed."""

from __future__ import annotations

import glob
import os
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stc.exceptions import OutputFileError, SourceFileError

# Temporary files of killed processes are deleted when they are older than this (seconds).
_OLD = 3600.0
# Characters of a name that its temporary file repeats, as systems limit the length of names.
_LONGEST = 100


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces the file at the end.

    In the case of an error the file stays as it was, and the temporary file is deleted. A symbolic
    link stays one, and the file that it points to keeps its mode and its owner; until it has them,
    nobody else may read the temporary file.
    """
    path = _replaceable(path)
    _delete_old(path)
    # Other threads, and processes of other machines, may write the same file at the same time.
    part = path.with_name(f".{path.name[:_LONGEST]}.{uuid.uuid4().hex}.part")
    os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600 if path.exists() else 0o666))
    try:
        yield part
        _copy_permissions(path, part)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _replaceable(path: Path) -> Path:
    """Return the file that a path leads to, if it can be written and replaced."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OutputFileError("is a link that leads to itself", path=str(path))
    if not target.parent.is_dir():
        raise SourceFileError(f"there is no folder {str(target.parent)!r}", path=str(path))
    if target.is_dir():
        raise OutputFileError("is a folder", path=str(path), hint="name a file")
    if target.exists() and not target.is_file():
        raise OutputFileError("is a device or a pipe", path=str(path), hint="name a file")
    return target


def _copy_permissions(path: Path, part: Path) -> None:
    """Give the temporary file the mode and the owner of the file, if there is one."""
    if not path.exists():
        return
    before = path.stat()
    if hasattr(os, "chown"):  # Windows has no owners
        with suppress(OSError):
            os.chown(part, before.st_uid, before.st_gid)
    with suppress(OSError):
        os.chmod(part, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk, on systems that can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _delete_old(path: Path) -> None:
    """Delete the temporary files of the file that killed processes have left."""
    for part in path.parent.glob(f".{glob.escape(path.name[:_LONGEST])}.*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _OLD:
                part.unlink()
