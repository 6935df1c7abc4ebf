"""The data the benchmarks run on: 20 Newsgroups from the data folder, and generated Zipf tables."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".bench_cache"
TOKEN_PATTERN = r"\w+|[^\w\s]"

COLUMNS = 20
CLASSES = 10
EXPONENT = 1.1

Labels = npt.NDArray[Any]


class DataMissingError(RuntimeError):
    """The data folder is not there, or lacks a file; the message says where it was looked for."""


class News(NamedTuple):
    """20 Newsgroups by date: the raw texts, and their labels as arrays of strings."""

    train: list[str]
    test: list[str]
    y_train: Labels
    y_test: Labels


def data_folder() -> Path:
    """Return the folder named by STC_DATA, or `../shared/data` beside the repository."""
    return Path(os.environ.get("STC_DATA") or ROOT.parent / "shared" / "data")


def news_files() -> tuple[Path, Path]:
    """Return the train and the test file of 20 Newsgroups; raise DataMissingError if not there."""
    folder = data_folder() / "20newsgroups"
    files = folder / "train.jsonl.gz", folder / "test.jsonl.gz"
    for file in files:
        if not file.is_file():
            raise DataMissingError(
                f"{file} is missing. Set STC_DATA to the folder that holds "
                "20newsgroups/train.jsonl.gz and 20newsgroups/test.jsonl.gz "
                "(a JSON object with text and label on each line)."
            )
    return files


def load_news() -> News:
    """Read 20 Newsgroups."""
    parts = []
    for file in news_files():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            parts.append([json.loads(line) for line in lines])
    train, test = parts
    return News(
        [item["text"] for item in train],
        [item["text"] for item in test],
        np.array([item["label"] for item in train]),
        np.array([item["label"] for item in test]),
    )


def tokenize(texts: list[str]) -> list[list[str]]:
    """Return the words and the punctuation of each text, case kept."""
    find = re.compile(TOKEN_PATTERN).findall
    return [find(text) for text in texts]


def zipf_file(rows: int, values: int) -> Path:
    """Return a Parquet file of Zipf string columns c00..c19 and a random `label`, made if absent.

    Every column draws from `values` strings of its own, so that no two columns share one.
    """
    file = CACHE / f"zipf_{rows}x{COLUMNS}_{values}.parquet"
    if not file.exists():
        CACHE.mkdir(exist_ok=True)
        draft = file.with_suffix(".draft")
        _zipf_frame(rows, values).write_parquet(draft)
        draft.rename(file)  # an interrupted run must not leave half a file to be read as whole
    return file


def _zipf_frame(rows: int, values: int) -> pl.DataFrame:
    rng = np.random.default_rng(20)
    cumulative = np.cumsum(np.arange(1, values + 1, dtype=float) ** -EXPONENT)
    ranks = pl.Series(np.arange(values)).cast(pl.String).str.zfill(len(str(values - 1)))
    columns = {}
    for j in range(COLUMNS):
        drawn = np.searchsorted(cumulative, rng.random(rows) * cumulative[-1], side="right")
        # Shuffled names, so that the order of the alphabet says nothing about frequency.
        names = f"c{j:02d}_" + ranks.gather(rng.permutation(values))
        columns[f"c{j:02d}"] = names.gather(drawn)
    columns["label"] = "class_" + pl.Series(rng.integers(CLASSES, size=rows)).cast(pl.String)
    return pl.DataFrame(columns)
