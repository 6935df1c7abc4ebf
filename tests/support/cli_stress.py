"""`stc update` killed: `python tests/support/cli_stress.py kill [--times N] [--seed N]`.

After each `kill -9`, at a random moment, the model's file is bit for bit the whole old or the whole
new model, and the next update works.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import polars as pl

ROWS, COLUMNS, VALUES = 4_000, 20, 4_000


def items(seed: int, rows: int) -> pl.DataFrame:
    """Items with many values, so that a model takes a while to write."""
    chance = random.Random(seed)
    columns = {
        f"c{place}": [f"v{chance.randrange(VALUES)}" for _ in range(rows)]
        for place in range(COLUMNS)
    }
    return pl.DataFrame({**columns, "class": [f"k{n % 5}" for n in range(rows)]})


def update(model: str, data: str) -> None:
    """What `stc update` does, in a process where everything is imported."""
    from stc.cli import main

    assert main(["update", model, data, "--quiet"]) == 0


def started(model: Path, data: Path) -> ForkServerProcess:
    """Start an update, quickly, from a process in which nothing has run."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["stc.cli.models", "stc.model_selection"])
    process = context.Process(target=update, args=(str(model), str(data)), daemon=True)
    process.start()
    return process


def kill(folder: Path, times: int, seed: int | None = None, rows: int = ROWS) -> Counter[str]:
    """Kill updates at random moments; how often the file was the old, and the new model."""
    from stc.cli import main

    first, more = folder / "first.csv", folder / "more.csv"
    items(1, rows).write_csv(first)
    items(2, 200).write_csv(more)
    model = folder / "model.stc.parquet"
    assert main(["fit", str(first), "--target", "class", "-o", str(model), "--quiet"]) == 0
    old = model.read_bytes()
    for _ in range(2):  # the first has to wait for the process that the others start from
        model.write_bytes(old)
        began = time.perf_counter()
        whole = started(model, more)
        whole.join()
        assert whole.exitcode == 0
        longest = time.perf_counter() - began
    new = model.read_bytes()
    assert old != new
    chance, found = random.Random(seed), Counter[str]()
    for _ in range(times):
        model.write_bytes(old)
        process = started(model, more)
        time.sleep(chance.uniform(0, longest))
        process.kill()
        process.join()
        now = model.read_bytes()
        assert now in (old, new), "neither the old model nor the new one"
        found["new" if now == new else "old"] += 1
        # What a killed process leaves beside is in nobody's way.
        found["left beside"] += len(list(folder.glob(".*.part")))
        for left in folder.glob(".*.part"):
            left.unlink()
    model.write_bytes(old)
    update(str(model), str(more))
    assert model.read_bytes() == new
    return found


def main() -> None:
    """Run it, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["kill"])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        found = kill(Path(folder), given.times, given.seed)
    print(f"killed {given.times} times: {found['old']} old, {found['new']} new, nothing else")
    print(f"({found['left beside']} were killed while they wrote beside the file)")
    print(f"{time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    # So that the processes started find these functions by the name that the tests know.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from support import cli_stress

    cli_stress.main()
