"""Measure the memory of fit + predict beyond the input; run by speed.py in a separate process.

`python benchmarks/memory.py polars|pandas FILE [--params JSON]` prints one JSON object, all in
bytes; the settings are the paper's, or those given ({}: the default, which chooses). Linux only:
the peak is VmHWM of /proc/self/status, reset by writing 5 to /proc/self/clear_refs.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stc import STC_Q, SparseTensorClassifier

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")


def resident(field: str) -> int:
    """Return a field of this process's status (VmRSS: now, VmHWM: the peak) in bytes."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{STATUS} has no {field}")


def load(library: str, file: Path) -> tuple[Any, Any, int]:
    """Return X, y and the size of the frame as its library reports it."""
    if library == "polars":
        frame = pl.read_parquet(file)
        return frame.drop("label"), frame["label"], int(frame.estimated_size())
    import pandas as pd

    table = pd.read_parquet(file)
    size = int(table.memory_usage(deep=True).sum())
    return table, table.pop("label"), size


def warm_up(X: pl.DataFrame, y: pl.Series, library: str, params: Mapping[str, Any]) -> None:
    """Fit and predict a few rows, so that imports and thread pools are not counted."""
    if library == "pandas":
        X, y = X.to_pandas(), y.to_pandas()
    SparseTensorClassifier(**params).fit(X, y).predict(X)


def measure(library: str, file: Path, params: Mapping[str, Any]) -> dict[str, int]:
    """Return the resident memory before and after the loading, the input's size, and the peaks."""
    few = pl.read_parquet(file, n_rows=1000)
    warm_up(few.drop("label"), few["label"], library, params)
    del few
    gc.collect()
    start = resident("VmRSS")
    X, y, size = load(library, file)
    gc.collect()
    CLEAR_REFS.write_text("5")
    loaded = resident("VmRSS")
    model = SparseTensorClassifier(**params).fit(X, y)
    fitted = resident("VmHWM")
    labels = model.predict(X)
    peak = resident("VmHWM")
    if len(labels) != len(y):
        raise RuntimeError(f"{len(labels)} predictions for {len(y)} rows")
    sizes = {"start": start, "loaded": loaded, "size": size, "fitted": fitted, "peak": peak}
    return sizes | {"rows": len(y)}


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", choices=["polars", "pandas"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--params", type=json.loads, default=STC_Q, metavar="JSON")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.library, arguments.file, arguments.params)))


if __name__ == "__main__":
    main()
