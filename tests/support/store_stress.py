"""Writers at once, and writers killed.

`python tests/support/store_stress.py concurrency|kill URL`.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import signal
import sys
import time
from collections.abc import Iterable
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

from stc.io import ENTRIES
from stc.stores import StoreError, Writing, open_store

NAME = "stress"
FEATURES, CLASSES, ENTRIES_A_BATCH = 400, 4, 120
# Eighths of small numbers: any order of summing gives the very same sum.
EIGHTHS = 64


@cache
def delta(stream: int, batch: int) -> pl.DataFrame:
    """What a batch adds: known from its name alone, and in an order of its own."""
    chance = random.Random(f"{stream}/{batch}")
    places = chance.sample(range(FEATURES * CLASSES), ENTRIES_A_BATCH)
    rows = [
        (
            0,
            json.dumps(["attribute", place // CLASSES]),
            json.dumps(f"class {place % CLASSES}"),
            chance.randrange(1, EIGHTHS) / 8,
            chance.randrange(1, 9),
            0.0,
        )
        for place in places
    ]
    return pl.DataFrame(rows, schema=ENTRIES, orient="row")


def expected(batches: Iterable[tuple[int, int]]) -> pl.DataFrame:
    """The corpus of these batches."""
    deltas = [delta(*batch) for batch in batches]
    whole = pl.concat(deltas) if deltas else ENTRIES.to_frame()
    sums = pl.col("mass").sum(), pl.col("support").sum(), pl.col("phase").first()
    return whole.group_by("set", "feature", "class").agg(*sums).select(*ENTRIES.names())


def learn(url: str, stream: int, batches: Iterable[int]) -> None:
    """Learn batches of a stream, those once that were learnt before."""
    store = open_store(url)
    for batch in batches:
        rows, name = delta(stream, batch), f"{stream}/{batch}"

        def once(writing: Writing, rows: pl.DataFrame = rows, name: str = name) -> None:
            if not writing.has(name):
                writing.note(name)
                writing.add({"written by": name}, rows)

        store.write(NAME, once)
    store.close()


def unlearn(url: str, stream: int, batches: Iterable[int]) -> None:
    """Learn batches and unlearn each at once: nothing of them stays."""
    store = open_store(url)
    for batch in batches:
        more = delta(-stream, batch)
        less = more.with_columns(-pl.col("mass"), -pl.col("support"))
        for rows in (more, less):
            store.write(NAME, lambda writing, rows=rows: writing.add({"by": stream}, rows))
    store.close()


def check(url: str) -> set[tuple[int, int]]:
    """Whether the corpus is that of the batches in the ledger; which those are."""
    store = open_store(url)
    try:
        found, noted = store.write(
            NAME, lambda writing: (writing.header and writing.read().entries, writing.batches())
        )
    finally:
        store.close()
    batches = {(int(stream), int(batch)) for stream, batch in (n.split("/") for n in noted)}
    there = ENTRIES.to_frame() if found is None else found
    assert_frame_equal(there, expected(batches), check_row_order=False, check_exact=True)
    return batches


def overfill(url: str) -> str:
    """What a store says when there is no room for what it is given."""
    noise = random.Random(1)
    values = [(0, f'"{noise.random()} {n}"', '"c"', noise.random(), 1, 0.0) for n in range(200_000)]
    rows = pl.DataFrame(values, schema=ENTRIES, orient="row")
    store = open_store(url)
    try:
        store.write("zoo", lambda writing: (writing.note("b"), writing.add({}, rows)))
    except StoreError as error:
        return str(error)
    finally:
        store.close()
    return "it fitted"


def overfill_limited(url: str, answer: Connection) -> None:
    """The same where no file may be large."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
    answer.send(overfill(url))


def hold(url: str, answer: Connection) -> None:
    """Keep a store open until told otherwise."""
    store = open_store(url)
    answer.send(store.names())
    answer.recv()
    store.close()


def started(target: object, *arguments: object) -> ForkServerProcess:
    """Start a process, quickly, from one in which nothing has run."""
    context = multiprocessing.get_context("forkserver")
    kinds = [f"stc.stores.{kind}" for kind in ("duckdb", "sqlite", "postgresql")]
    context.set_forkserver_preload(["polars.testing", "psycopg", *kinds])
    process = context.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def concurrency(url: str, processes: int = 8, batches: int = 200) -> None:
    """Many processes write at once, from the very making of the tables on; nothing is lost."""
    running = [started(learn, url, stream, range(batches)) for stream in range(1, processes + 1)]
    # One more learns and unlearns, so that entries come and go under the others.
    running.append(started(unlearn, url, processes + 1, range(max(1, batches // 8))))
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * (processes + 1)
    everything = {(s, b) for s in range(1, processes + 1) for b in range(batches)}
    assert check(url) == everything


def kill(url: str, times: int = 200, seed: int | None = None) -> int:
    """Kill a writer at random moments: what is there is what the ledger says, every time."""
    chance = random.Random(seed)
    done: set[tuple[int, int]] = set()
    for _ in range(times):
        process = started(learn, url, 1, range(len(done), len(done) + 100_000))
        time.sleep(chance.uniform(0, 0.5))
        process.kill()
        process.join()
        found = check(url)
        assert found >= done, "a committed batch is gone"
        assert found == {(1, batch) for batch in range(len(found))}
        done = found
    whole = len(done) + 10
    learn(url, 1, range(whole))
    assert check(url) == {(1, batch) for batch in range(whole)}
    return len(done)


def main() -> None:
    """Run one of them, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["concurrency", "kill"])
    parser.add_argument("url")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    start = time.perf_counter()
    if given.what == "concurrency":
        concurrency(given.url, given.processes, given.batches)
        print(f"{given.processes} processes x {given.batches} batches: nothing lost")
    else:
        done = kill(given.url, given.times, given.seed)
        print(f"killed {given.times} times, {done} batches on the way: exact")
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    # So that the processes started find these functions by the name that the tests know.
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from support import store_stress

    store_stress.main()
