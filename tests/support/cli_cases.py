"""The Zoo as a file, read and written in every format."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

import stc
from stc import SparseTensorClassifier

ZOO = pl.read_csv(Path(stc.__file__).parent / "datasets" / "zoo.csv")
ROLES = ["--target", "class_type", "--ignore", "animal_name"]
# Options for the standard settings of the paper, for tests of what does not depend on a choice.
PAPER = [
    option
    for name, value in stc.STC_Q.items()
    if value is not None
    for option in (f"--{name}", str(value))
]


def items() -> pl.DataFrame:
    return ZOO.drop("animal_name", "class_type")


def given(monkeypatch, data: bytes) -> None:
    """Put data into the standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.corpus_.equals(other.corpus_)
    assert np.array_equal(one.predict_proba(items()), other.predict_proba(items()))


def started(*arguments: str, **options) -> subprocess.Popen:
    """Start the command in a process of its own."""
    code = "import sys; from stc.cli import main; sys.exit(main(sys.argv[1:]))"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)
