"""Stores damaged in every way we can think of: each is refused, in words and at once.

Run alone, it damages so many of them, opens each, and prints a table of what came of it:
`python tests/support/broken_stores.py --times 9700` on SQLite and DuckDB files, and with
`--postgresql --times 300` or `--url postgresql://... --times 300` on a PostgreSQL server.

Each trial restores a store of two models, damages the model "zoo" in one way through the driver of
the database, and opens it with `stc.open_store(url)["zoo"]`. Some damages are sealed: keys and
checksum are made to fit again, as somebody who edits on purpose would do, so that the checks behind
the checksum are tested, too.

Not among the damages is what no reader can notice, because a model could have been written so:
another positive mass, as long as the entries of a class have at most twice the mass of its items;
another phase, version or time in the ledger; a feature or class that no entry uses; sealed, other
entries of known features and classes, and other valid parameters, flags or names in the header.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import stc
from stc.exceptions import ModelNotFoundError

if __name__ == "__main__":
    # So that `support` is found, as the tests find it.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from support import header_damages, store_damages
from support.damaged_stores import (
    DAMAGES,
    KINDS,
    NAME,
    REFUSED,
    Damage,
    Files,
    Place,
    Schemas,
    Trial,
)

__all__ = ["header_damages", "store_damages"]

# Seconds in which a store is refused.
SECONDS = 1.0
# Stores that a damage is tried on: some have nothing that it could change.
_ATTEMPTS = 1000


@dataclass
class Outcome:
    """What came of the trials of one damage."""

    refused: int = 0
    accepted: int = 0
    other_errors: int = 0
    too_slow: int = 0
    slowest: float = 0.0


@dataclass
class Report:
    """What came of all trials: by damage, and what is wrong with those that were not refused."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    messages: dict[str, set[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        heads = "damage", "refused", "accepted", "other errors", "too slow", "slowest"
        rows = [
            (name, *(str(n) for n in (o.refused, o.accepted, o.other_errors, o.too_slow)),
             f"{1000 * o.slowest:.0f} ms")
            for name, o in sorted(self.outcomes.items())
        ]  # fmt: skip
        all_of = list(self.outcomes.values())
        counts = [
            str(sum(getattr(o, name) for o in all_of))
            for name in ("refused", "accepted", "other_errors", "too_slow")
        ]
        slowest = max((o.slowest for o in all_of), default=0.0)
        rows.append(("all", *counts, f"{1000 * slowest:.0f} ms"))
        lines = [f"{n:34}{a:>9}{b:>10}{c:>14}{d:>10}{s:>10}" for n, a, b, c, d, s in (heads, *rows)]
        return "\n".join(lines)


def opened(url: str) -> tuple[BaseException | None, float]:
    """Open the model: the error, or None if it is accepted, and the seconds it took."""
    start = time.perf_counter()
    try:
        stc.open_store(url)[NAME]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in polars is not an Exception
        return error, time.perf_counter() - start
    else:
        return None, time.perf_counter() - start
    finally:
        stc.open_store(url).close()


def complaint(error: BaseException, way: Damage) -> str | None:
    """What is wrong with a refusal; None if it is as it should be."""
    allowed = [stc.StoreError, *([ModelNotFoundError] if way.gone else [])]
    if type(error) not in allowed:
        return f"{type(error).__name__}: {str(error)[:300]}"
    assert isinstance(error, stc.StoreError)
    text = str(error)
    if not error.path or not text.startswith(error.path):
        return f"it does not name the store: {text[:300]}"
    if len(text) > 1000 or "\n" in text:
        return f"it is long: {text[:300]}"
    # The words of a library do not name the damage.
    library = re.search(r" failed: |it is damaged \(|cannot be used", text)
    if library or not re.search(way.words, error.message):
        return f"it does not name the damage: {text[:300]}"
    return None


def run(
    places: list[Place], times: int, seed: int, first: int = 0, seconds: float = SECONDS
) -> Report:
    """Damage and open so many stores; each may take so many seconds."""
    report = Report()
    for number in range(first, first + times):
        rng = random.Random(f"{seed}/{number}")
        place = places[number % len(places)]
        ways = [way for way in DAMAGES if place.dialect in way.dialects]
        way = ways[number // len(places) % len(ways)]
        for _ in range(_ATTEMPTS):
            kind = rng.choice(KINDS)
            try:
                with place.trial(kind, rng) as trial:
                    done = way.apply(trial)
            except REFUSED:
                place.clear()
            else:
                break
        else:
            raise AssertionError(f"{place.dialect}: {way.name} cannot be done to any store")
        description = f"{number}: {trial.dialect}, {kind}, {way.name} {done!s:.200}"
        _try(report, way, trial, description, seconds)
        place.clear()
    return report


def _try(report: Report, way: Damage, trial: Trial, description: str, limit: float) -> None:
    outcome = report.outcomes.setdefault(way.name, Outcome())
    error, seconds = opened(trial.url)
    if seconds > limit:  # the machine may have been busy
        error, seconds = opened(trial.url)
    outcome.slowest = max(outcome.slowest, seconds)
    wrong = None
    if error is None:
        outcome.accepted += 1
        wrong = "accepted"
    elif seconds > limit:
        outcome.too_slow += 1
        wrong = f"{seconds:.1f} s"
    elif wrong := complaint(error, way):
        outcome.other_errors += 1
    else:
        outcome.refused += 1
        report.messages.setdefault(way.name, set()).add(str(getattr(error, "message", "")))
    if wrong:
        report.failures.append(f"{description}: {wrong}")


@contextmanager
def file_places() -> Iterator[list[Place]]:
    """A folder of SQLite and DuckDB files."""
    with tempfile.TemporaryDirectory(prefix="stc-broken-") as folder:
        yield [Files(Path(folder), "sqlite"), Files(Path(folder), "duckdb")]


def main() -> None:
    """Run the trials, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first trial")
    parser.add_argument("--url", help="PostgreSQL database to use instead of files")
    parser.add_argument("--postgresql", action="store_true", help="start a PostgreSQL server")
    parser.add_argument("--messages", action="store_true", help="print each message of a refusal")
    given = parser.parse_args()
    start = time.perf_counter()
    if given.postgresql:
        from support.postgresql import running_server

        with running_server() as server:
            places: list[Place] = [Schemas(server.new_database())]
            report = run(places, given.times, given.seed, given.first)
    elif given.url:
        report = run([Schemas(given.url)], given.times, given.seed, given.first)
    else:
        with file_places() as places:
            report = run(places, given.times, given.seed, given.first)
    print(report)
    print(f"{given.times} stores, seed {given.seed}, {time.perf_counter() - start:.0f} s")
    if given.messages:
        for name, messages in sorted(report.messages.items()):
            print(f"\n{name}", *sorted(messages)[:20], sep="\n  ")
    print(*report.failures, sep="\n", file=sys.stderr)
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
