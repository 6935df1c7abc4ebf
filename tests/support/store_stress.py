"""Writers at once, and writers killed: of rows in a database, and of models in a store.

`python tests/support/store_stress.py concurrency|kill rows|models URL`.
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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

from stc import SparseTensorClassifier, StoredModel, open_store
from stc.exceptions import ModelNotFoundError, ParameterError, StoreError
from stc.io import ENTRIES
from stc.learning import UNLEARNT
from stc.stores.transaction import Writing

if __name__ == "__main__":
    # So that `support` is found, as the tests find it.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from support.edge_cases import FRAME, ITEMS
from support.models import paper_model

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
            1.0,
            0.0,
        )
        for place in places
    ]
    return pl.DataFrame(rows, schema=ENTRIES, orient="row")


def expected(batches: Iterable[tuple[int, int]]) -> pl.DataFrame:
    """The corpus of these batches."""
    deltas = [delta(*batch) for batch in batches]
    whole = pl.concat(deltas) if deltas else ENTRIES.to_frame()
    sums = pl.col("mass", "support").sum(), pl.col("gain", "phase").first()
    return whole.group_by("set", "feature", "class").agg(*sums).select(*ENTRIES.names())


def learn_rows(url: str, stream: int, batches: Iterable[int]) -> None:
    """Write batches of a stream, those once that were written before."""
    store = open_store(url)
    for batch in batches:
        rows, name = delta(stream, batch), f"{stream}/{batch}"

        def once(writing: Writing, rows: pl.DataFrame = rows, name: str = name) -> None:
            if not writing.has(name):
                writing.note(name)
                writing.add({"written by": name}, rows)

        store._database.write(NAME, once)
    store.close()


def disturb_rows(url: str, stream: int, batches: Iterable[int]) -> None:
    """Write batches and take each away at once: nothing of them stays."""
    store = open_store(url)
    for batch in batches:
        more = delta(-stream, batch)
        less = more.with_columns(-pl.col("mass"), -pl.col("support"))
        for rows in (more, less):
            store._database.write(
                NAME, lambda writing, rows=rows: writing.add({"by": stream}, rows)
            )
    store.close()


def check_rows(url: str) -> set[tuple[int, int]]:
    """Check that the corpus is that of the batches in the ledger, and return these."""
    with open_store(url) as store:
        # A writer is not blocked by what one that was killed has left. It comes before the reader:
        # a server may still be committing the last batch of that one, and it waits for this.
        noted = store._database.write(NAME, lambda writing: writing.batches())
        found = store._database.read(NAME)
    there = ENTRIES.to_frame() if found is None else found.archive.entries
    assert noted == (frozenset() if found is None else found.batches)
    batches = set(map(_numbers, noted))
    assert_frame_equal(there, expected(batches), check_row_order=False, check_exact=True)
    return batches


# --- models in a store ----------------------------------------------------------------------------

COLUMNS, ITEMS_A_BATCH = 4, 12
POWERS = [0.25, 0.5, 0.75, 1.0]


@cache
def items(stream: int, batch: int) -> tuple[list[list[str]], list[str], np.ndarray]:
    """Return the items, classes and weights of a batch: known from its name alone."""
    chance = random.Random(f"{stream}/{batch}")
    X = [[f"value {chance.randrange(40)}" for _ in range(COLUMNS)] for _ in range(ITEMS_A_BATCH)]
    y = [f"class {chance.randrange(CLASSES)}" for _ in X]
    return X, y, np.array([chance.randrange(1, EIGHTHS) / 8 for _ in X])


def model_in(url: str) -> StoredModel:
    """Return the model, which the first of several writers creates."""
    store = open_store(url)
    try:
        return store.create(NAME, paper_model())
    except ParameterError:
        return store[NAME]


def learn_models(url: str, stream: int, batches: Iterable[int]) -> None:
    """Learn batches of a stream, and some of another one that somebody else learns as well.

    Every fourth batch is unlearnt.
    """
    model = model_in(url)
    for batch in batches:
        for name in (stream, stream - 1) if batch % 3 == 0 and stream > 1 else (stream,):
            X, y, weights = items(name, batch)
            model.partial_fit(X, y, sample_weight=weights, batch_id=f"{name}/{batch}")
        if batch % 4 == 3:
            X, y, weights = items(stream, batch)
            model.unlearn(X, y, sample_weight=weights, batch_id=f"{stream}/{batch}")
    model.store.close()


def disturb_models(url: str, stream: int, batches: Iterable[int]) -> None:
    """Change parameters while others learn."""
    model = model_in(url)
    for batch in batches:
        for power in POWERS:
            model.set_params(power=power, balance=1 / (batch + 1))
    model.store.close()


def check_models(url: str) -> set[tuple[int, int]]:
    """Check that the model is that of the batches in the ledger, and return these."""
    with open_store(url) as store:
        try:
            model = store[NAME]
            model.set_params(entropy=1.0)  # a writer is not blocked by one that was killed
            found = model.to_estimator()
        except ModelNotFoundError:
            return set()
    ledger = found.fitted_.state.batches if hasattr(found, "fitted_") else frozenset()
    gone = {_numbers(name.removeprefix(UNLEARNT)) for name in ledger if name.startswith(UNLEARNT)}
    batches = {_numbers(name) for name in ledger if not name.startswith(UNLEARNT)}
    assert gone <= {(stream, batch) for stream, batch in batches if batch % 4 == 3}
    parts = [items(*batch) for batch in sorted(batches - gone)]
    if not parts:
        assert not hasattr(found, "fitted_")
        return batches
    X, y, weights = ([row for part in parts for row in part[k]] for k in range(3))
    memory = SparseTensorClassifier(**found.get_params()).fit(X, y, weights)
    assert_frame_equal(memory.corpus_, found.corpus_, check_row_order=False, check_exact=True)
    np.testing.assert_allclose(memory.predict_proba(X), found.predict_proba(X), rtol=0, atol=1e-12)
    return batches


def _numbers(name: str) -> tuple[int, int]:
    stream, batch = name.split("/")
    return int(stream), int(batch)


@dataclass(frozen=True)
class Work:
    """What writers write, what disturbs them, and what checks the outcome."""

    name: str
    learn: Callable[[str, int, Iterable[int]], None]
    disturb: Callable[[str, int, Iterable[int]], None]
    check: Callable[[str], set[tuple[int, int]]]

    def __str__(self) -> str:
        return self.name


ROWS = Work("rows", learn_rows, disturb_rows, check_rows)
MODELS = Work("models", learn_models, disturb_models, check_models)


# --- what the tests start -------------------------------------------------------------------------


def overfill(url: str) -> str:
    """Return what a store says when there is no room for what it is given."""
    noise = random.Random(1)
    X = pl.DataFrame({"a": [f"{noise.random()} {n}" for n in range(200_000)], "b": 1})
    with open_store(url) as store:
        try:
            store["zoo"].partial_fit(X, ["p"] * X.height, batch_id="b")
        except StoreError as error:
            return str(error)
    return "it fitted"


def overfill_limited(url: str, answer: Connection) -> None:
    """The same where no file may be large."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
    answer.send(overfill(url))


def hold(url: str, answer: Connection) -> None:
    """Keep a store open until told otherwise."""
    store = open_store(url)
    answer.send(list(store))
    answer.recv()
    store.close()


def learn_when_told(url: str, answer: Connection) -> None:
    """Read the model "zoo", wait, and learn with what was read; tell its power each time."""
    with open_store(url) as store:
        model = store["zoo"]
        model.predict(ITEMS)
        answer.send(model.get_params()["power"])
        answer.recv()
        model.partial_fit(ITEMS, FRAME["class"])
        answer.send(model.get_params()["power"])


def started(target: object, *arguments: object) -> ForkServerProcess:
    """Start a process, quickly, from one in which nothing has run."""
    context = multiprocessing.get_context("forkserver")
    kinds = [f"stc.stores.{kind}" for kind in ("duckdb", "sqlite", "postgresql")]
    context.set_forkserver_preload(["polars.testing", "psycopg", "stc.learning", *kinds])
    process = context.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def concurrency(url: str, work: Work, processes: int = 8, batches: int = 200) -> None:
    """Write from many processes at once, from the making of the tables on; nothing is lost."""
    streams = range(1, processes + 1)
    running = [started(work.learn, url, stream, range(batches)) for stream in streams]
    running.append(started(work.disturb, url, processes + 1, range(max(1, batches // 8))))
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * (processes + 1)
    assert work.check(url) == {(stream, batch) for stream in streams for batch in range(batches)}
    if work is MODELS:
        with open_store(url) as store:
            parameters = store[NAME].get_params()
            assert parameters["power"] == POWERS[-1]
            assert parameters["balance"] == 1 / max(1, batches // 8)


def learn_noticed(learn: Callable[..., None], ready: Event, url: str, first: int) -> None:
    """Learn batches without end, and tell when the first of them is learnt."""

    def batches() -> Iterator[int]:
        for batch in count(first):
            yield batch
            ready.set()

    learn(url, 1, batches())


def kill(url: str, work: Work, times: int = 200, seed: int | None = None) -> int:
    """Kill a writer at random moments: what is there is what the ledger says, every time."""
    chance = random.Random(seed)
    done: set[tuple[int, int]] = set()
    for _ in range(times):
        # Again from the last batch on, which may have been learnt but not answered.
        first = max(0, len(done) - 1)
        ready = multiprocessing.get_context("forkserver").Event()
        process = started(learn_noticed, work.learn, ready, url, first)
        # A busy machine would kill every writer while it starts.
        if chance.random() < 0.5:
            ready.wait(timeout=60)
        time.sleep(chance.uniform(0, 0.5))
        process.kill()
        process.join()
        found = work.check(url)
        assert found >= done, "a committed batch is gone"
        assert found == {(1, batch) for batch in range(len(found))}
        done = found
    whole = len(done) + 10
    work.learn(url, 1, range(whole))
    assert work.check(url) == {(1, batch) for batch in range(whole)}
    return len(done)


def main() -> None:
    """Run one of them, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["concurrency", "kill"])
    parser.add_argument("work", choices=["rows", "models"])
    parser.add_argument("url")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args()
    work = {str(work): work for work in (ROWS, MODELS)}[given.work]
    start = time.perf_counter()
    if given.what == "concurrency":
        concurrency(given.url, work, given.processes, given.batches)
        print(f"{given.processes} processes x {given.batches} batches: nothing lost")
    else:
        done = kill(given.url, work, given.times, given.seed)
        print(f"killed {given.times} times, {done} batches on the way: exact")
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    # So that the processes started find these functions by the name that the tests know.
    from support import store_stress

    store_stress.main()
