"""Answers written to a file, a batch at a time, and in its place only when all are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from stc._utils.atomic import beside


def write_frames(frames: Iterable[pl.DataFrame], schema: pl.Schema, to: Any) -> Path:
    """Write frames of one schema to a file whose ending tells its format."""
    path = Path(to)
    sink = _sink(path)
    nested = [name for name, dtype in schema.items() if dtype.is_nested()]
    if nested and path.suffix.lower() in (".csv", ".tsv"):
        raise ValueError(
            f"to={str(path)!r}: column {nested[0]!r} holds several values a cell, which a "
            f"{path.suffix} cannot: write .parquet or .jsonl"
        )
    with beside(path) as part:
        sink(streamed(frames, schema), part)
    return path


def streamed(frames: Iterable[pl.DataFrame], schema: pl.Schema) -> pl.LazyFrame:
    """Frames of one schema as a lazy frame, which can be read once."""

    def rows(
        columns: list[str] | None, predicate: Any, n_rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in frames:
            yield frame if columns is None else frame.select(columns)

    return register_io_source(rows, schema=schema)


def _sink(path: Path) -> Any:
    sinks = {
        ".parquet": pl.LazyFrame.sink_parquet,
        ".csv": pl.LazyFrame.sink_csv,
        ".tsv": lambda frame, to: frame.sink_csv(to, separator="\t"),
        ".jsonl": pl.LazyFrame.sink_ndjson,
        ".ndjson": pl.LazyFrame.sink_ndjson,
        ".arrow": pl.LazyFrame.sink_ipc,
        ".feather": pl.LazyFrame.sink_ipc,
        ".ipc": pl.LazyFrame.sink_ipc,
    }
    if path.suffix.lower() not in sinks:
        raise ValueError(f"to={str(path)!r}: expected a file that ends with {', '.join(sinks)}")
    return sinks[path.suffix.lower()]
