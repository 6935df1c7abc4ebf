"""A file that is there as a whole or not at all: written beside its place, then renamed."""

from __future__ import annotations

import glob
import os
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What a process that was killed has left behind is taken away when it is older than this (seconds).
_OLD = 3600.0
# Letters of a name that are in the one beside it, which may not be longer than a system allows.
_LONGEST = 100


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A place beside a file to write to; at the end it takes the place of the file.

    If anything goes wrong, the file stays as it was, and nothing is left beside it. A link stays a
    link, and the file behind it keeps its mode and its owner.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{str(path)!r}: there is no folder {str(path.parent)!r}")
    path = Path(os.path.realpath(path))
    _tidy(path)
    # Others may write to the same place at the same time: threads, or processes of other machines.
    part = path.with_name(f".{path.name[:_LONGEST]}.{uuid.uuid4().hex}.part")
    try:
        yield part
        _like(part, path)
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _like(part: Path, path: Path) -> None:
    """Give a file the mode and the owner of the one whose place it takes."""
    with suppress(OSError):
        before = path.stat()
        os.chmod(part, stat.S_IMODE(before.st_mode))
        os.chown(part, before.st_uid, before.st_gid)


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name is on the disk, where a system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _tidy(path: Path) -> None:
    for left in path.parent.glob(f".{glob.escape(path.name[:_LONGEST])}.*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                left.unlink()
