"""The command `stc`, and model files: `python benchmarks/cli.py [--only GROUP ...] [--json OUT]`.

fit: `stc fit` on a CSV of 5,000,000 rows x 20 columns of Zipf strings and a class (the table of
`data.py`, 1,000 values a column), against polars counting the same file: for every column
`group_by(column, class).len()`, after reading it once. Each run is a separate process,
including its start-up; the peak memory is that of the process. start: `stc --help`.
file: save and load of the model of the training texts of 20 Newsgroups, and its size.
columns: `stc fit` with its defaults on a CSV of 100 rows and up to 40,000 columns: the time at
twice the columns, as a ratio; CPU time, because that of a shared machine varies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import data
import harness
import numpy as np
import polars as pl
from harness import Figure, Result

from stc import STC_Q

PACKAGES = ["sparse-tensor-classifier", "numpy", "scipy", "scikit-learn", "polars", "typer", "rich"]
ROWS, VALUES = 5_000_000, 1_000
COLUMNS = (2_500, 5_000, 10_000, 20_000, 40_000)
LABEL = "label"
STC = [sys.executable, "-c", "import sys; from stc.cli import main; sys.exit(main(sys.argv[1:]))"]
# The settings of the paper, as options: counting is measured, not choosing.
SETTINGS = [
    option
    for name, value in STC_Q.items()
    if value is not None
    for option in (f"--{name}", str(value))
]
# The peer: every column of the file grouped with the class, the file read once into memory. The
# streaming engine, which needs less of it, reads the file again for each column.
COUNTING = f"""
import sys
import polars as pl
table = pl.scan_csv(sys.argv[1], infer_schema=False).collect()
columns = [name for name in table.columns if name != "{LABEL}"]
counts = [table.lazy().group_by(name, "{LABEL}").len() for name in columns]
tables = pl.collect_all(counts)
assert sum(count["len"].sum() for count in tables) == len(columns) * {ROWS}
"""


class Run(NamedTuple):
    """Seconds, peak memory in MB and seconds of CPU of a process."""

    seconds: float
    peak: float
    cpu: float


def timed(command: list[str]) -> Run:
    """Run a process and return its time and memory."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[-1]}: {errors}")
    return Run(seconds, used.ru_maxrss / 1e3, used.ru_utime + used.ru_stime)


def csv_file(rows: int) -> Path:
    """Return the table as a CSV, made once."""
    path = data.CACHE / f"zipf_{rows}x20_{VALUES}.csv"
    if not path.exists():
        draft = path.with_suffix(".draft")
        pl.scan_parquet(data.zipf_file(rows, VALUES)).sink_csv(draft)
        draft.rename(path)
    return path


def of_fit(repeats: int) -> list[Any]:
    """Measure `stc fit` against polars counting the same file."""
    path = csv_file(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "m.stc.parquet"))
        ours = [*STC, "fit", str(path), "--target", LABEL, "-o", model, "--quiet", *SETTINGS]
        peer = [sys.executable, "-c", COUNTING, str(path)]
        runs: dict[str, list[Run]] = {"ours": [], "peer": []}
        for repeat in range(1, repeats + 1):
            for name, command in (("peer", peer), ("ours", ours)):
                runs[name].append(timed(command))
            seconds = [f"{name} {times[-1].seconds:.1f} s" for name, times in runs.items()]
            harness.progress(f"fit: {repeat}/{repeats}: {', '.join(seconds)}")
    times = [[run.seconds for run in runs[name]] for name in ("ours", "peer")]
    peaks = {name: [run.peak for run in all_runs] for name, all_runs in runs.items()}
    work = f"stc fit, {ROWS:,} x 20, CSV of {path.stat().st_size / 1e6:,.0f} MB"
    return [
        Result("fit", work, "polars, group_by of each column", *times, 3.0),
        Figure(
            "fit", work, "peak memory", max(peaks["ours"]), peaks["ours"], "<", 2000.0, "MB"
        ),
        Figure("fit", "polars, the same file", "peak memory", max(peaks["peer"]), peaks["peer"],
               unit="MB"),
    ]  # fmt: skip


def of_start(repeats: int) -> list[Figure]:
    """Measure how long `stc --help` takes."""
    runs = [timed([*STC, "--help"]).seconds for _ in range(9)]
    return [Figure("start", "stc --help", "start-up, median", median(runs), runs, "<", 0.5, "s")]


def of_file(repeats: int) -> list[Figure]:
    """Measure save and load of the model of 20 Newsgroups."""
    import stc

    news = data.load_news()
    model = stc.SparseTensorClassifier(**stc.STC_Q).fit(news.train, news.y_train)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "news.stc.parquet")
        saves, loads = harness.Runs(), harness.Runs()
        for _ in range(repeats):
            saves.run(partial(model.save, path))
            loads.run(partial(stc.load, path))
        size = path.stat().st_size / 1e6
    work = f"20 Newsgroups, {len(model.get_feature_names_out()):,} features"
    return [
        Figure("file", work, "save", median(saves.seconds), saves.seconds, "<", 1.0, "s"),
        Figure("file", work, "load", median(loads.seconds), loads.seconds, "<", 1.0, "s"),
        Figure("file", work, "size of the file", size, [size], "<", 12.0, "MB"),
    ]


def wide_csv(path: Path, columns: int) -> Path:
    """Write a table of 100 rows, so many columns of three values each, and a class."""
    generator = np.random.default_rng(columns)
    cells = generator.choice(list("uvw"), (100, columns))
    table = pl.DataFrame(cells, schema=[f"c{place}" for place in range(columns)])
    table.with_columns(pl.Series(LABEL, generator.choice(["p", "q"], 100))).write_csv(path)
    return path


def of_columns(repeats: int) -> list[Figure]:
    """Measure `stc fit` on 2n columns against n."""
    runs: dict[int, list[float]] = {count: [] for count in COLUMNS}
    with tempfile.TemporaryDirectory() as folder:
        paths = {count: wide_csv(Path(folder, f"{count}.csv"), count) for count in COLUMNS}
        model = str(Path(folder, "m.stc.parquet"))
        for repeat in range(1, repeats + 1):
            for count, path in paths.items():
                ours = [*STC, "fit", str(path), "--target", LABEL, "-o", model, "--quiet"]
                runs[count].append(timed(ours).cpu)
            seconds = [f"{count:,}: {times[-1]:.1f} s" for count, times in runs.items()]
            harness.progress(f"columns: {repeat}/{repeats}: {', '.join(seconds)}")
    figures = []
    for few, many in pairwise(COLUMNS):
        ratios = [after / before for before, after in zip(runs[few], runs[many], strict=True)]
        work = f"stc fit, CSV of {many:,} columns"
        figures.append(
            Figure("columns", work, f"CPU time against {few:,}", median(ratios), ratios, "<", 2.2)
        )
    return figures


GROUPS: dict[str, Callable[[int], list[Any]]] = {
    "fit": of_fit,
    "start": of_start,
    "file": of_file,
    "columns": of_columns,
}


def main() -> int:
    """Measure the chosen groups, print the tables, write the JSON."""
    return harness.measure(__doc__, GROUPS, PACKAGES)


if __name__ == "__main__":
    sys.exit(main())
