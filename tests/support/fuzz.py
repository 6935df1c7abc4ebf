"""Random input for every way into stc, until the time is up: `make fuzz`.

A finding is an exception that is no error of stc, a NaN, a row of probabilities that does not sum
to 1, an answer that changes when the model is saved and loaded, or SQL that answers otherwise.
Each finding is printed with a line that repeats it. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import datetime as dt
import decimal
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

if __name__ == "__main__":  # run alone, it finds its neighbours too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import stc
from stc.exceptions import StcError
from support import broken_files, strategies
from support.databases import DuckDB, SQLite
from support.export_cases import NASTY, check, labels, random_table

# Seconds that one trial may take; what it does takes a fraction of one.
PATIENCE = 60
# Findings that are shown in full; of the others, only the line that repeats them.
SHOWN = 5
# Examples of hypothesis in one trial.
EXAMPLES = 20

Trial = Callable[[random.Random, Path], object]


# --- what holds for every model -------------------------------------------------------------------


def check_probabilities(model: Any, X: Any) -> Any:
    """Return the probabilities of items, which sum to 1, as their logarithms do."""
    found, logarithms = model.predict_proba(X), model.predict_log_proba(X)
    for proba, logs in zip(*map(_listed, (found, logarithms)), strict=True):
        assert np.isfinite(proba).all(), "a probability is not a number"
        assert not np.isnan(logs).any(), "a logarithm is not a number"
        assert (proba >= 0).all(), "a probability is below 0"
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-9)
        np.testing.assert_allclose(np.exp(logs), proba, rtol=1e-6, atol=1e-12)
    assert ((model.coverage(X) >= 0) & (model.coverage(X) <= 1)).all()
    return found


def _listed(probabilities: Any) -> list[Any]:
    return probabilities if isinstance(probabilities, list) else [probabilities]


def check_model(model: Any, X: Any, folder: Path) -> None:
    """Check answers, and that the same model comes back from a file."""
    found = check_probabilities(model, X)
    path = folder / "saved.stc.parquet"
    model.save(path)
    again = stc.load(path).predict_proba(X)
    for one, other in zip(_listed(found), _listed(again), strict=True):
        np.testing.assert_array_equal(one, other)
    path.unlink()


def paper(rng: random.Random) -> stc.SparseTensorClassifier:
    """Return a model with random settings; now and then, it chooses them."""
    if rng.random() < 0.1:
        return stc.SparseTensorClassifier()
    given = {
        "power": rng.choice([0.01, 0.5, 1.0, 3.0, 1000.0]),
        "balance": rng.choice([0.0, 0.5, 1.0, 1.5]),
        "entropy": rng.choice([0.0, 0.5, 1.0, 4.0]),
        "prior": rng.choice([0.0, 0.0, 0.1, 10.0]),
        "floor": rng.choice([0.0, 0.0, 0.1]),
    }
    return stc.SparseTensorClassifier(**{**stc.STC_Q, **given})


# --- model files ----------------------------------------------------------------------------------

_GOOD: list[bytes] = []
_HEADERS = (
    broken_files.header_changed,
    broken_files.header_swapped,
    broken_files.header_is_not_json,
    broken_files.wide,
)


def _good_file(rng: random.Random, folder: Path) -> bytes:
    if not _GOOD:
        _GOOD.extend(broken_files._good(folder / "good.stc.parquet"))
    return rng.choice(_GOOD)


def model_files(rng: random.Random, folder: Path) -> None:
    """Bytes, columns and rows of a model file changed."""
    mutation = broken_files.bomb if rng.random() < 0.01 else rng.choice(broken_files.MUTATIONS)
    path = folder / "model.stc.parquet"
    path.write_bytes(mutation(_good_file(rng, folder), rng))
    broken_files.opened(path)


def headers(rng: random.Random, folder: Path) -> None:
    """Values of the header of a model file changed, up to three times."""
    data = _good_file(rng, folder)
    path = folder / "model.stc.parquet"
    for _ in range(rng.choice([1, 1, 2, 3])):
        # A header that is no JSON, nested too deeply or of another shape cannot be changed again.
        with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
            data = rng.choice(_HEADERS)(data, rng)
    path.write_bytes(data)
    broken_files.opened(path)


# --- files of data --------------------------------------------------------------------------------

_CELLS = (
    *("", "1", "1.0", "-0", "1e400", "1e-400", "0x1f", "007", "nan", "NaN", "inf", "None", "null"),
    *("true", "True", "FALSE", "2024-01-01", "2024-01-01T00:00:00Z", "99999999999999999999"),
    *("é", "☃", "\u202e", "\x1b[31m", " ", "a b", "a,b", 'say ""hi""', "9" * 400, "x" * 5000),
)
_SPLICES = (
    *(b'"', b'""', b"\n", b"\r\n", b"\r", b"\0", b",", b"\t", b";", b"\xff", b"\xef\xbb\xbf"),
    *(b"{", b"}", b"[", b"]", b":", b"null", b"NaN", b"1e999", b"\\u0000", b"\\ud800", b"[[" * 50),
)


def _mutated(data: bytes, rng: random.Random) -> bytes:
    """Return bytes as they are, or changed a few times."""
    for _ in range(rng.choice([0, 1, 1, 2, 4])):
        if len(data) < 8:
            break
        if rng.random() < 0.5:
            place = rng.randrange(len(data))
            data = data[:place] + rng.choice(_SPLICES) + data[place:]
        else:
            ways = [way for way in broken_files.BYTES if way.__name__ != "bits_of_footer_flipped"]
            data = rng.choice(ways)(data, rng)
    return data


def _rows(rng: random.Random, cells: tuple[Any, ...]) -> list[dict[str, Any]]:
    names = rng.sample(["a", "b b", "é", "", "x" * 300, "class2"], rng.randrange(1, 4))
    pools = {name: rng.sample(cells, min(rng.randrange(1, 6), len(cells))) for name in names}
    rows = [
        {name: rng.choice(pool) for name, pool in pools.items()} | {"class": rng.choice("uvw")}
        for _ in range(rng.choice([1, 3, 20, 300]))
    ]
    for row in rows:
        if rng.random() < 0.02:
            del row[rng.choice(list(row))]
    return rows


def _learn_and_predict(path: Path, rng: random.Random, folder: Path) -> None:
    """Learn from a file and predict it, from the file and in memory."""
    try:
        model = paper(rng).fit(path, "class")
        check_model(model, path, folder)
        model.predict(path, to=folder / "out.jsonl")
        model.partial_fit(path, "class").unlearn(path, "class")
        check_probabilities(model, path)
    except StcError as error:
        if not str(error).strip():
            raise AssertionError("an error without words") from error


def csv_files(rng: random.Random, folder: Path) -> None:
    """A CSV, sound or not, learnt from and predicted."""
    rows = _rows(rng, _CELLS)
    names = list(rows[0])
    lines = [names, *([row.get(name, "") for name in names] for row in rows)]
    separator = rng.choice(",,\t")
    text = rng.choice(["\n", "\r\n"]).join(separator.join(map(_quoted, line)) for line in lines)
    path = folder / ("data.tsv" if separator == "\t" else "data.csv")
    path.write_bytes(_mutated(text.encode("utf-8", "surrogatepass"), rng))
    _learn_and_predict(path, rng, folder)


def _quoted(cell: Any) -> str:
    return f'"{cell}"' if any(sign in str(cell) for sign in ',\t"\n') else str(cell)


_VALUES = (
    *_CELLS,
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**53 + 1,
        2**63,
        1.5,
        1e300,
        -0.0,
        [],
        ["u", "v", "v"],
        [1, None],
    ),
    *({}, {"k": 1}, {"k": 0.5, "l": 2.0}, {"k": None}, [["u"]], {"k": {"l": 1}}),
)


def jsonl_files(rng: random.Random, folder: Path) -> None:
    """JSON lines, sound or not, learnt from and predicted."""
    import json

    lines = (json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in _rows(rng, _VALUES))
    path = folder / "data.jsonl"
    path.write_bytes(_mutated("\n".join(lines).encode("utf-8", "surrogatepass"), rng))
    _learn_and_predict(path, rng, folder)


# --- records --------------------------------------------------------------------------------------


def _examples(rng: random.Random, strategy: st.SearchStrategy[Any], test: Any) -> None:
    """Run a test on examples of a strategy; the seed says which."""
    profile = settings(
        strategies.PROFILE,
        max_examples=EXAMPLES,
        derandomize=False,
        database=None,
        phases=[Phase.generate, Phase.shrink],
    )
    seed(rng.getrandbits(64))(profile(given(strategy)(test)))()


def tables(rng: random.Random, folder: Path) -> None:
    """Sound records of the property tests: they are learnt, and must be answered."""

    def answered(data: strategies.Data) -> None:
        model = paper(random.Random(len(data))).fit(data.records, data.y, data.weights)
        check_model(model, data.records, folder)

    _examples(rng, strategies.tables(), answered)


_ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(max_size=4),
    st.decimals(),
    st.fractions(),
    st.dates(),
    st.datetimes(timezones=st.none() | st.timezones()),
    st.timedeltas(),
    st.uuids(),
    st.complex_numbers(),
    st.sampled_from(
        [
            np.int8(3),
            np.float32(0.1),
            np.datetime64("NaT"),
            np.datetime64(1, "ns"),
            np.str_("u\0"),
            decimal.Decimal("1E+1000000"),
            10**400,
            dt.time(3),
            object(),
            pl.Series([1]),
            np.array([1, 2]),
            Ellipsis,
        ]
    ),
)
_CELL = st.recursive(
    _ODD,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3),
    ),
    max_leaves=4,
)
_LABEL = st.sampled_from(["u", "v"]) | _ODD | st.dictionaries(st.text(max_size=1), st.floats())
_ODD_ROWS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from(["a", "é", "a=b"]), _CELL), _LABEL), min_size=1
)


def records(rng: random.Random, folder: Path) -> None:
    """Odd records and labels: learnt and answered, or refused in words."""

    def answered_or_refused(rows: list[Any]) -> None:
        X, y = [row for row, _ in rows], [label for _, label in rows]
        model = paper(random.Random(len(rows)))
        with suppress(StcError):
            check_model(model.fit(X, y), X, folder)
        with suppress(StcError):
            model.fit(X, ["u", "v"][: len(X)] * len(X))
        model = stc.SparseTensorClassifier(**stc.STC_Q).fit([{"a": "u"}, {"a": 1}], ["x", "y"])
        with suppress(StcError):
            check_probabilities(model, X)

    _examples(rng, _ODD_ROWS, answered_or_refused)


# --- SQL ------------------------------------------------------------------------------------------

_SQL_VALUES: tuple[tuple[Any, ...], ...] = (
    NASTY,
    (1, 2, 3, -4, 0, 10**12),
    ("1", "1.0", "u", "true", "nan", "is missing", "a=b"),
    (True, False),
    (0.5, 0.25, 1.0, -12.125, 100.0, 1e15),
)


def sql(rng: random.Random, _: Path) -> None:
    """The query of a model of a random table, asked of SQLite and DuckDB."""
    names = rng.sample(["a", "a=b", "b", "it's", 'q"', "Ünï"], rng.randrange(1, 5))
    size = rng.choice([2, 10, 40])
    X = random_table(rng.getrandbits(31), names, size)
    if rng.random() < 0.5:
        pools = {name: rng.choice(_SQL_VALUES) for name in names}
        X = pl.DataFrame(
            {name: [rng.choice([*pool, None]) for _ in range(size)] for name, pool in pools.items()}
        )
    pool: tuple[Any, ...] = rng.choice([("u", "v", "w"), (1, 2, 3), NASTY[:4]])
    model = paper(rng).set_params(
        missing=rng.choice(["ignore", "category"]),
        interactions=rng.choice([1, 1, 2]),
        dimensions=rng.choice([None, None, "each"]),
    )
    if model.dimensions is not None:
        model.set_params(interactions=1)
    learnt = max(size * 3 // 4, 1)
    model.fit(X[:learnt], labels(rng.getrandbits(31), pool, learnt))
    # SQLite has no truth values, and cannot tell them from 0 and 1.
    boolean = pl.Boolean in X.dtypes
    for kind in (DuckDB,) if boolean else (DuckDB, SQLite):
        database = kind()
        # Weights may be too far apart for a database; that is refused.
        with closing(database), suppress(StcError):
            check(database, model, X)


TARGETS: dict[str, Trial] = {
    trial.__name__: trial
    for trial in (model_files, headers, csv_files, jsonl_files, tables, records, sql)
}


# --- running --------------------------------------------------------------------------------------


@contextmanager
def patience() -> Iterator[None]:
    """Raise an error if a trial does not end."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"it took more than {PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tried(name: str, number: int, trial: Trial) -> BaseException | None:
    """Run one trial, which its number determines, and return the finding."""
    rng = random.Random(f"{name} {number}")
    with tempfile.TemporaryDirectory(prefix="stc-fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with patience():
                trial(rng, Path(folder))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Rust is no Exception
            return error
    return None


def place_of(error: BaseException) -> str:
    """Return the line of stc where an error was raised, which tells findings apart."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/src/stc/" in frame.filename] or frames
    line = ours[-1]
    return f"{type(error).__name__} in {Path(line.filename).name}:{line.lineno}"


def run(seconds: float, first: int, names: list[str], trials: int | None) -> int:
    """Run the targets in turn until the time is up; return the number of findings."""
    end = time.monotonic() + seconds
    counts: Counter[str] = Counter()
    found: Counter[str] = Counter()
    number = first
    while time.monotonic() < end and (trials is None or number < first + trials):
        for name in names:
            error = tried(name, number, TARGETS[name])
            counts[name] += 1
            if error is not None:
                _show(name, number, error, found)
            if time.monotonic() >= end:
                break
        number += 1
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))
    for place, count in found.items():
        print(f"found {count} times: {place}")
    return found.total()


def _show(name: str, number: int, error: BaseException, found: Counter[str]) -> None:
    place = f"{name}: {place_of(error)}"
    found[place] += 1
    if found[place] == 1 and len(found) <= SHOWN:
        print("".join(traceback.format_exception(error))[-4000:])
    if found[place] == 1:
        print(f"FINDING {place}: {error!s:.300}")
        print(f"  again: python tests/support/fuzz.py --target {name} --seed {number} --trials 1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("FUZZ_SECONDS", 600)))
    parser.add_argument("--seed", type=int, default=None, help="Number of the first trial.")
    parser.add_argument("--target", action="append", choices=TARGETS, help="Default: all.")
    parser.add_argument("--trials", type=int, default=None, help="Trials of each target.")
    asked = parser.parse_args()
    first = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    print(f"seed {first}", flush=True)
    return 1 if run(asked.seconds, first, asked.target or list(TARGETS), asked.trials) else 0


if __name__ == "__main__":
    sys.exit(main())
