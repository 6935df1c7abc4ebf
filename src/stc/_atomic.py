"""A file that is there as a whole or not at all: written beside its place, then renamed."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What a process that was killed has left behind is taken away when it is older than this (seconds).
_OLD = 3600.0


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A place beside a file to write to; at the end it takes the place of the file.

    If anything goes wrong, the file stays as it was, and nothing is left beside it.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{str(path)!r}: there is no folder {str(path.parent)!r}")
    _tidy(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(part, path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name is on the disk, where a system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _tidy(path: Path) -> None:
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _OLD:
                left.unlink()
