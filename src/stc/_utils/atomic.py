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

from stc.exceptions import SourceFileError

# Temporary files of killed processes are deleted when they are older than this (seconds).
_OLD = 3600.0
# Characters of a name that its temporary file repeats, as systems limit the length of names.
_LONGEST = 100


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces the file at the end.

    In the case of an error the file stays as it was, and the temporary file is deleted. A symbolic
    link stays one, and the file that it points to keeps its mode and its owner.
    """
    if not path.parent.is_dir():
        raise SourceFileError(f"there is no folder {str(path.parent)!r}", path=str(path))
    path = Path(os.path.realpath(path))
    _delete_old(path)
    # Other threads, and processes of other machines, may write the same file at the same time.
    part = path.with_name(f".{path.name[:_LONGEST]}.{uuid.uuid4().hex}.part")
    try:
        yield part
        _copy_permissions(path, part)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _copy_permissions(path: Path, part: Path) -> None:
    """Give the temporary file the mode and the owner of the file, if there is one."""
    with suppress(OSError):
        before = path.stat()
        os.chmod(part, stat.S_IMODE(before.st_mode))
        os.chown(part, before.st_uid, before.st_gid)


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
