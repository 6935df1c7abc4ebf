"""What a source can do: show its columns, learn where the data is, and answer in kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import polars as pl

from stc._core.model import Model
from stc.sources.groups import Groups, Plan

# Rows that are read, encoded and counted at a time.
BATCH = 250_000
# Rows that tell what columns there are.
FEW = 1_000
# The most items that are explained at once.
MOST = 100_000


class Learning(Protocol):
    """What to do with items to learn. It can be pickled and sent to where the data is."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""

    def __call__(self, frames: Iterable[pl.DataFrame]) -> Model | None:
        """The model of these items alone; None if there are none."""

    def plan(self, schema: pl.Schema) -> Plan | None:
        """How a database could count columns of these types itself; None if it could not."""

    def of_groups(self, groups: Groups, first: pl.DataFrame) -> Model | None:
        """The model of items that a database has counted; the first ones tell of what kind."""


class Answering(Protocol):
    """What to do with items to answer for. It can be pickled and sent to where the data is."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""

    @property
    def carried(self) -> tuple[str, ...]:
        """Those of them that are only carried along, as they are."""

    @property
    def schema(self) -> pl.Schema:
        """The columns of an answer."""

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The answers for some items, a row for each."""


class Source(Protocol):
    """Where data comes from when it is not in memory."""

    @property
    def arrays(self) -> bool:
        """Whether answers that are written nowhere come as arrays, since rows have an order."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns of the data."""

    def head(self, columns: Sequence[str], rows: int) -> pl.DataFrame:
        """The first rows."""

    def kinds(self, columns: Sequence[str]) -> pl.Schema:
        """The types of columns that are carried along as they are."""

    def frames(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows, a batch at a time; no batch is empty."""

    def learn(self, task: Learning) -> Model | None:
        """The model of all the data; None if there is none."""

    def answer(self, task: Answering, to: Any) -> Any:
        """The answers for all the data, in kind; or written where `to` says."""


def kinds_of(few: pl.DataFrame) -> pl.Schema:
    """The types of columns as a few rows tell them; what has no value yet may become a text."""
    return pl.Schema(
        {name: pl.String() if dtype == pl.Null else dtype for name, dtype in few.schema.items()}
    )
