"""A real Dask cluster on loopback: a scheduler, some worker processes, and a client of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Pytest names a test module by its path from the root, and so a worker must find it there.
PRELOAD = f"import sys; sys.path.append({str(ROOT)!r})"


@contextmanager
def dask_cluster(workers: int = 2) -> Iterator[Any]:
    """A client of a cluster of its own; all of its processes end with it."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.worker.preload": [PRELOAD]}),
        LocalCluster(
            host="127.0.0.1",
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
