"""Data outside memory: `python benchmarks/scale.py [--only GROUP ...] [--repeats N]`.

2,000,000 items x 20 columns of 5,000 values each, 10 classes, in Parquet: fit, and predict to
Parquet, by each source, against the same files streamed in this process. PostgreSQL has 200,000
of them in a table, against the same rows in memory. Clusters run on this machine with two workers;
the second run counts, when they are warm. The peak memory is that of a separate process, with 2
and with 10 million items.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import polars as pl
from harness import Figure, Result

import stc
from stc import STC_Q, SparseTensorClassifier

PACKAGES = [
    "sparse-tensor-classifier", "numpy", "scipy", "polars", "pyarrow", "duckdb", "dask", "pyspark",
    "adbc-driver-postgresql",
]  # fmt: skip
COLUMNS, VALUES, CLASSES = 20, 5_000, 10
PART = 250_000
MILLION = 1_000_000
CACHE = Path(__file__).resolve().parent.parent / ".bench_cache" / "scale"
TESTS = Path(__file__).resolve().parent.parent / "tests"
# Memory limit of DuckDB; the bar is 1 GB for the whole process.
MEMORY_LIMIT = "300MB"


def files(rows: int) -> str:
    """Return a glob of Parquet files with this many items, created once."""
    folder = CACHE / str(rows)
    for number in range(rows // PART):
        path = folder / f"part-{number:03}.parquet"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            part(number).write_parquet(beside := path.with_suffix(".part"))
            beside.rename(path)
    return str(folder / "*.parquet")


def part(number: int) -> pl.DataFrame:
    """Return the items of one file, whose values depend on the class."""
    rng = np.random.default_rng(number)
    labels = rng.integers(0, CLASSES, PART)
    columns = {}
    for place in range(COLUMNS):
        codes = (rng.integers(0, VALUES, PART) + labels * 37 * (place % 3)) % VALUES
        columns[f"c{place:02}"] = "v" + pl.Series(codes).cast(pl.String).str.zfill(4)
    return pl.DataFrame({**columns, "class": "k" + pl.Series(labels).cast(pl.String)})


def fit(data: Any) -> SparseTensorClassifier:
    """Return a fitted model."""
    return SparseTensorClassifier(**STC_Q).fit(data, "class")


def predict(model: SparseTensorClassifier, data: Any, folder: bool = False) -> None:
    """Write the predictions to a new place."""
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        model.predict(data, to=f"{place}/answers" + ("" if folder else ".parquet"))


def compared(
    title: str,
    data: Any,
    repeats: int,
    bars: tuple[float | None, float | None],
    folder: bool = False,
) -> list[Result]:
    """Measure a source against the same files streamed in this process, and check the answers."""
    path = files(2 * MILLION)
    plain, ours = fit(path), fit(data)  # also warms up
    head = pl.read_parquet(f"{CACHE}/{2 * MILLION}/part-000.parquet", n_rows=1000).drop("class")
    gap = abs(plain.predict_proba(head) - ours.predict_proba(head)).max()
    if gap > 1e-9:
        raise AssertionError(f"{title}: the probabilities differ by {gap}")
    predict(ours, data, folder)
    works = [
        ("fit", partial(fit, path), partial(fit, data)),
        ("predict", partial(predict, plain, path), partial(predict, ours, data, folder)),
    ]
    results = []
    for (work, peer, ours_work), bar in zip(works, bars, strict=True):
        ((theirs, mine),) = harness.alternate(f"{title}, {work}", peer, ours_work, repeats=repeats)
        results.append(
            Result(
                "scale", f"{title}, {work}", "files, in process", mine.seconds, theirs.seconds, bar
            )
        )
    return results


# --- the sources ------------------------------------------------------------------------------


def of_duckdb(repeats: int) -> list[Result]:
    """Measure a relation of DuckDB on the same files."""
    import duckdb

    connection = duckdb.connect()
    relation = connection.sql(f"SELECT * FROM '{files(2 * MILLION)}'")
    return compared("DuckDB relation", relation, repeats, (2.0, 2.5))


def of_dask(repeats: int) -> list[Result]:
    """Measure a Dask cluster: on paths, and on a DataFrame."""
    import dask.dataframe as dd

    with helper("dask_cluster").dask_cluster(workers=2) as client:
        return of_cluster("Dask", client, dd.read_parquet, repeats, (3.0, 1.2))


def of_spark(repeats: int) -> list[Result]:
    """Measure a Spark cluster: on paths, and on a DataFrame."""
    with helper("spark_cluster").spark_cluster(workers=2) as session:
        return of_cluster("Spark", session, session.read.parquet, repeats, (6.0, 2.0))


def of_cluster(
    name: str, on: Any, read: Callable[[str], Any], repeats: int, bars: tuple[float, float]
) -> list[Result]:
    """Measure paths that the workers read, and a DataFrame of the engine, which has no bar."""
    path = files(2 * MILLION)
    results = compared(f"{name}, paths", stc.source(path, on=on), repeats, bars, folder=True)
    frame = read(str(Path(path).parent))
    return results + compared(f"{name} DataFrame", frame, repeats, (None, None), folder=True)


def of_postgresql(repeats: int) -> list[Result]:
    """Measure a table of 200,000 items in PostgreSQL against the same in memory."""
    import adbc_driver_postgresql.dbapi as adbc

    frame = pl.read_parquet(files(2 * MILLION), n_rows=200_000)
    with helper("postgresql").running_server() as server:
        url = server.url()
        with adbc.connect(url) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("items", frame.to_arrow(), mode="create")
            connection.commit()
        table = stc.source(url, "items")
        model = fit(table)
        works = {"fit": partial(fit, table), "predict": partial(model.predict, table)}
        results = []
        for work, ours in works.items():
            title = f"PostgreSQL table of 200,000, {work}"
            ((memory, database),) = harness.alternate(
                title, partial(fit, frame), ours, repeats=repeats
            )
            runs = database.seconds, memory.seconds
            results.append(Result("scale", title, "fit in memory", *runs, 10.0))
    return results


def helper(name: str) -> Any:
    """Return a module of the tests that starts a real server."""
    sys.path.insert(0, str(TESTS))
    from importlib import import_module

    return import_module(f"support.{name}")


# --- memory -----------------------------------------------------------------------------------


def of_memory(repeats: int) -> list[Figure]:
    """Measure the peak of memory of fit and predict to Parquet."""
    figures = []
    for kind, name in (("files", "files, in process"), ("duckdb", "DuckDB relation")):
        for rows in (2 * MILLION, 10 * MILLION):
            files(rows)
            runs = [peak(kind, rows) for _ in range(repeats)]
            work = f"{name}, {rows // MILLION} million items"
            worst = max(runs)
            figures.append(Figure("scale", work, "peak memory", worst, runs, "<", 1000.0, "MB"))
    return figures


def peak(kind: str, rows: int) -> float:
    """Return the peak of a process that fits and predicts, in MB."""
    command = [sys.executable, __file__, "--peak", kind, str(rows)]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(found.stdout)["peak"])


def measure_peak(kind: str, rows: int) -> None:
    """Print the peak of this process, after fit and predict."""
    data: Any = files(rows)
    if kind == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"memory_limit": MEMORY_LIMIT})
        data = connection.sql(f"SELECT * FROM '{data}'")
    predict(fit(data), data)
    print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}))


GROUPS: dict[str, Callable[[int], list[Any]]] = {
    "memory": of_memory,
    "duckdb": of_duckdb,
    "postgresql": of_postgresql,
    "dask": of_dask,
    "spark": of_spark,
}


def main() -> int:
    """Measure the chosen sources, print the tables, write the JSON."""
    if sys.argv[1:2] == ["--peak"]:
        measure_peak(sys.argv[2], int(sys.argv[3]))
        return 0
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")  # PySpark's, about pandas 3
    CACHE.mkdir(parents=True, exist_ok=True)
    return harness.measure(__doc__, GROUPS, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
