"""A lock for the processes and threads that update the same model file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stc._utils.optional import optional

# Characters of the file's name in that of its lock, which may not be longer than systems allow.
_NAME_LENGTH = 100
# Seconds between two attempts to take a lock that is held.
_POLL = 0.01


@contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Lock a model file: others that lock it, processes or threads, wait until it is released.

    The lock is a hidden file beside the model, `.<name>.lock`, which is removed afterwards. It
    needs the extra `cli` (filelock). Loading a model takes no lock: saving replaces the file
    in one step.

    Parameters
    ----------
    path : str or path
        The model file; a link stands for the file it leads to.

    Raises
    ------
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import stc
    >>> from stc.io import locked
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "lights.stc.parquet"
    ...     stc.SparseTensorClassifier().fit([["red"]], ["stop"]).save(path)
    ...     with locked(path):  # no update by another process is lost
    ...         stc.load(path).partial_fit([["green"]], ["go"]).save(path)
    ...     stc.load(path).classes_.tolist()
    ['go', 'stop']
    """
    filelock = optional("filelock", "cli", "locking a model file")
    file = Path(path).resolve(strict=True)
    lock = file.with_name(f".{file.name[:_NAME_LENGTH]}.lock")
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            filelock.lock_descriptor(descriptor, poll_interval=_POLL)
            if _is_open(lock, descriptor):
                try:
                    yield
                finally:
                    # While it is held, so that nobody's lock but this one is removed. Windows
                    # cannot remove an open file: there it stays.
                    with suppress(OSError):
                        lock.unlink()
                return
        finally:
            os.close(descriptor)


def _is_open(path: Path, descriptor: int) -> bool:
    """Return whether a path is the open file, not one that replaced it while it was waited for."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
