"""A lock for the processes and threads that update the same model file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusively(path: str | Path) -> Iterator[None]:
    """Lock a model file: others that lock it, processes or threads, wait until it is released.

    Loading a model takes no lock: saving replaces the file in one step.

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
    >>> from stc.io import exclusively
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "lights.stc.parquet"
    ...     stc.SparseTensorClassifier().fit([["red"]], ["stop"]).save(path)
    ...     with exclusively(path):  # no update by another process is lost
    ...         stc.load(path).partial_fit([["green"]], ["go"]).save(path)
    ...     stc.load(path).classes_.tolist()
    ['go', 'stop']
    """
    try:
        import fcntl
    except ImportError:  # Windows keeps others from a file that is open
        yield
        return
    while True:
        with Path(path).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held it may have put a new file in its place.
            if Path(path).exists() and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                yield
                return
