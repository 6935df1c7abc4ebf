"""Model files broken in every way we can think of: each is an error in words, or a model.

Run alone, it opens so many of them and tells the outcome, and the most memory it ever took:
`python tests/support/broken_files.py --times 1000`.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

if __name__ == "__main__":  # run alone, it finds its neighbours too
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import stc
from stc.io.footer import read_footer

if __name__ == "__main__":
    # So that `support` is found, as the tests find it.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from support.models import paper_model

DIGEST = "stc.digest"
HUGE = [2**31 - 1, 2**40, 2**62, 2**63, 10**30, -1, -(2**40), 1e308, 0, 0.5]
OTHER = [None, True, "", "x", "no", [], {}, [[]], {"array": ["<f8", [2**40], ""]}, *HUGE]
TYPES = [pl.Int8, pl.Int32, pl.UInt64, pl.Float32, pl.String, pl.Float64, pl.Int64]

GOLDEN = Path(__file__).parents[1] / "io" / "golden"
ITEMS = stc.load_zoo()[0][:5]

Mutation = Callable[[bytes, random.Random], bytes]


def sealed(raw: bytes) -> bytes:
    """The same file with the digest that belongs to it, as whoever edits on purpose would do."""
    try:
        found = read_footer(raw)
        place = raw.index(found.metadata[DIGEST].encode(), found.start)
    except (ValueError, KeyError):
        return raw
    size = len(found.metadata[DIGEST])
    blank = raw[:place] + b"0" * size + raw[place + size :]
    return blank[:place] + hashlib.sha256(blank).hexdigest()[:size].encode() + blank[place + size :]


def _parts(raw: bytes) -> tuple[pl.DataFrame, dict[str, str]]:
    metadata = pl.read_parquet_metadata(io.BytesIO(raw))
    metadata.pop("ARROW:schema", None)
    return pl.read_parquet(io.BytesIO(raw)), metadata


def _joined(frame: pl.DataFrame, metadata: dict[str, str], **options: Any) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, metadata=metadata, **options)
    return sealed(file.getvalue())


# --- bytes ----------------------------------------------------------------------------------------


def cut_short(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw))]


def beginning_gone(raw: bytes, rng: random.Random) -> bytes:
    return raw[rng.randrange(1, len(raw)) :]


def bits_flipped(raw: bytes, rng: random.Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        changed[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def bits_of_footer_flipped(raw: bytes, rng: random.Random) -> bytes:
    changed = bytearray(raw)
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    for _ in range(rng.choice([1, 1, 2, 4])):
        changed[rng.randrange(footer, len(raw))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def bytes_overwritten(raw: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(raw))
    size = rng.randrange(1, 64)
    return raw[:start] + rng.choice([b"\0", b"\xff", b"A"]) * size + raw[start + size :]


def bytes_moved(raw: bytes, rng: random.Random) -> bytes:
    a, b, c = sorted(rng.randrange(len(raw)) for _ in range(3))
    return raw[:a] + raw[b:c] + raw[a:b] + raw[c:]


def bytes_inserted(raw: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(raw))
    return raw[:start] + rng.randbytes(rng.randrange(1, 100)) + raw[start:]


def and_sealed(mutation: Mutation) -> Mutation:
    """The same, by somebody who knows of the digest."""

    def both(raw: bytes, rng: random.Random) -> bytes:
        return sealed(mutation(raw, rng))

    both.__name__ = f"{mutation.__name__}, sealed"
    return both


# --- the header -----------------------------------------------------------------------------------


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place in plain data that holds a value."""
    if not isinstance(value, dict | list):  # changed before
        return
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, own in list(pairs):
        yield value, key
        yield from _nodes(own)


def header_changed(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    header = json.loads(metadata["stc"])
    for _ in range(rng.choice([1, 1, 2])):
        if not (places := list(_nodes(header))):
            return raw
        holder, key = rng.choice(places)
        if rng.random() < 0.2:
            del holder[key]
        else:
            holder[key] = rng.choice(OTHER)
    return _joined(frame, {**metadata, "stc": json.dumps(header)})


def header_swapped(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    header = json.loads(metadata["stc"])
    if len(places := list(_nodes(header))) < 2:
        return raw
    one, other = rng.sample(places, 2)
    value = other[0][other[1]]
    one[0][one[1]] = json.loads(json.dumps(value))
    return _joined(frame, {**metadata, "stc": json.dumps(header)})


def header_is_not_json(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    told = metadata["stc"]
    strange = [told[: rng.randrange(len(told))], "[" * 100_000, "1" * 5000, '"\ud7ff"', ""]
    return _joined(frame, {**metadata, "stc": rng.choice(strange)})


# --- the entries ----------------------------------------------------------------------------------


def type_swapped(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    name = rng.choice([n for n, dtype in frame.schema.items() if not dtype.is_nested()])
    return _joined(frame.with_columns(pl.col(name).cast(rng.choice(TYPES), strict=False)), metadata)


def columns_changed(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    name = rng.choice(frame.columns)
    changes = [
        lambda: frame.drop(name),
        lambda: frame.rename({name: "other"}),
        lambda: frame.with_columns(another=pl.lit(1)),
        lambda: frame.select(rng.sample(frame.columns, frame.width)),
        lambda: frame.with_columns(pl.lit(None).cast(frame.schema[name]).alias(name)),
    ]
    return _joined(rng.choice(changes)(), metadata)


def rows_changed(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    a, b = sorted(rng.sample(range(frame.height + 1), 2))
    changes = [
        lambda: pl.concat([frame[:a], frame[b:]]),
        lambda: pl.concat([frame[:b], frame[a:]]),
        lambda: frame.sample(fraction=1, shuffle=True, seed=rng.randrange(1000)),
        lambda: frame.reverse(),
        lambda: frame[:0],
        lambda: pl.concat([frame] * 50),
    ]
    return _joined(rng.choice(changes)(), metadata)


def _with(frame: pl.DataFrame, name: str, rng: random.Random, value: pl.Expr) -> pl.DataFrame:
    """One cell of a column is another."""
    row = pl.int_range(frame.height) == rng.randrange(frame.height)
    return frame.with_columns(pl.when(row).then(value).otherwise(name).alias(name))


def numbers_changed(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    numbers = ["set", "mass", "support", "gain", "phase"]
    name = rng.choice([name for name in numbers if name in frame.schema])  # format 1: no gains
    strange = [float("nan"), float("inf"), -1.0, 0.0, 1e308, 2.0**31, 2.0**62, 5e-324]
    value = pl.Series([rng.choice(strange)]).cast(frame.schema[name], strict=False)[0]
    return _joined(_with(frame, name, rng, pl.lit(value)), metadata)


def texts_changed(raw: bytes, rng: random.Random) -> bytes:
    frame, metadata = _parts(raw)
    texts = [n for n in frame.columns if frame.schema[n] == pl.String]
    name = rng.choice(texts)
    value = rng.choice([None, "", "strange", "x" * 1_000_000, "\0", "1"])
    return _joined(_with(frame, name, rng, pl.lit(value, dtype=pl.String)), metadata)


def _many_lists(frame: pl.DataFrame, metadata: dict[str, str]) -> bytes:
    long = frame[[0] * 60_000].with_columns(pl.lit([["x"] * 50]).first().alias("value"))
    return _joined(long, metadata)


def wide(raw: bytes, rng: random.Random) -> bytes:
    """A sparse matrix with columns without end, or texts with room without end."""
    frame, metadata = _parts(raw)
    header = json.loads(metadata["stc"])
    header["schema"]["width"] = rng.choice([10**6, 10**9, 10**15])
    header["parameters"]["power"] = [{"array": ["<U60000000", [1], ["a"]]}] * rng.choice([0, 50])
    return _joined(frame, {**metadata, "stc": json.dumps(header)})


def bomb(raw: bytes, rng: random.Random) -> bytes:
    """A few bytes that unpack to many rows, or to long texts in each of many rows."""
    frame, metadata = _parts(raw)
    if any(dtype.is_nested() for dtype in frame.dtypes):
        return _many_lists(frame, metadata)
    rows = rng.choice([10**5, 10**6, 2 * 10**6 + 10**5])
    text = "y" * rng.choice([0, 10, 10_000, 1_000_000])
    columns = {}
    for name, dtype in frame.schema.items():
        first = frame[name].drop_nulls().to_list() or ["x"]  # Arrow writes no dictionary of null
        values = [text, text + "z"] if name == "value" else first[:1] * 2
        own = pa.array(values, type=pl.Series([], dtype=dtype).to_arrow().type)
        own = own.cast(pa.string()) if dtype == pl.String else own
        # Each text is in memory, and in the file, once.
        columns[name] = pa.DictionaryArray.from_arrays(np.arange(rows, dtype=np.int32) % 2, own)
    header = {**json.loads(metadata["stc"]), "entries": [rows, 0]}
    told = {**metadata, "stc": json.dumps(header)}
    file, table = io.BytesIO(), pa.table(columns)
    with pq.ParquetWriter(file, table.schema, store_schema=False, compression="zstd") as writer:
        writer.write_table(table, row_group_size=rng.choice([10**5, 10**6, 10**7]))
        writer.add_key_value_metadata(told)
    return sealed(file.getvalue())


BYTES: list[Mutation] = [
    cut_short,
    beginning_gone,
    bits_flipped,
    bits_of_footer_flipped,
    bytes_overwritten,
    bytes_moved,
    bytes_inserted,
]
MUTATIONS: list[Mutation] = [
    *BYTES,
    *map(and_sealed, BYTES),
    *map(and_sealed, BYTES[2:5]),
    header_changed,
    header_changed,
    header_swapped,
    header_is_not_json,
    type_swapped,
    columns_changed,
    rows_changed,
    numbers_changed,
    texts_changed,
    wide,
]
# Takes a second each: not as many.
_BOMBS = 0.01


def opened(path: Path) -> str:
    """What comes of opening a file: the start of the error, or "a model" that is as good as any."""
    try:
        model = stc.load(path)
    except stc.ModelFileError as error:
        text = str(error)
        assert text.startswith(f"{path}: cannot be loaded as a model: "), text
        assert len(text) < 1000, text
        assert "\n" not in text, text
        return "an error"
    model.save(path)
    again = stc.load(path)
    try:
        found = model.predict_proba(ITEMS)
    except (ValueError, TypeError):  # a model of other items may refuse these, in words
        return "a model of other items"
    assert (abs(np.asarray(found).sum(axis=-1) - 1) < 1e-9).all()
    assert (np.asarray(again.predict_proba(ITEMS)) == found).all()
    return "a model"


def _good(path: Path) -> list[bytes]:
    """Files of every kind of model, every second one that of the Zoo."""
    counts = sparse.random(30, 12, 0.4, format="csr", random_state=1)
    paper_model().fit(counts, np.arange(30) % 3).save(path)
    others = [own.read_bytes() for own in sorted(GOLDEN.glob("*.stc.parquet"))]
    zoo = (GOLDEN / "format-1-zoo.stc.parquet").read_bytes()
    return [raw for own in (path.read_bytes(), *others) for raw in (zoo, own)]


def _peak(*, anew: bool = False) -> int:
    """The most memory that the process had (Linux), or a new start of counting it."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(own for own in lines if own.startswith("VmHWM")).split()[1])


def run(times: int, seed: int) -> tuple[Counter[str], int]:
    """Open so many broken files; what came of them, and the most memory it took to open one."""
    peak = 0
    rng = random.Random(seed)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.stc.parquet"
        good = _good(path)
        for number in range(times):
            mutation = bomb if rng.random() < _BOMBS else rng.choice(MUTATIONS)
            path.write_bytes(mutation(good[number % len(good)], rng))
            _peak(anew=True)  # making a file may take more than opening it
            try:
                outcomes[opened(path)] += 1
            except BaseException as error:
                raise AssertionError(f"file {number}, {mutation.__name__}, seed {seed}") from error
            peak = max(peak, _peak())
    return outcomes, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    outcomes, peak = run(given.times, given.seed)
    print(json.dumps({**outcomes, "peak": peak}))
    sys.exit(0 if peak < 10**9 and outcomes.total() == given.times else 1)


if __name__ == "__main__":
    main()
