"""Entries made ready to be written: checked, keyed, each once, in the order of their keys."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from stc.io.archive import ENTRIES
from stc.stores.texts import check_all_json, key_of

_PLACE = ("set", "feature", "class")
# How much goes to a server in one statement, in bytes, more or less.
_PIECE = 1 << 24
_BYTES_A_ROW = 64


class Delta(NamedTuple):
    """What to add to a model.

    Attributes
    ----------
    features
        `key` and `feature`, sorted by key.
    classes
        The classes.
    entries
        The columns of ENTRIES, with the feature's key in place of the feature; sorted.
    """

    features: pl.DataFrame
    classes: list[str]
    entries: pl.DataFrame

    @classmethod
    def of(cls, entries: pl.DataFrame) -> Delta:
        """Make entries ready, or refuse what some database cannot keep."""
        entries = _each_once(_checked(entries))
        features = entries.select(pl.col("feature").unique())
        check_all_json(features["feature"], "the feature")
        classes = entries["class"].unique().sort()
        check_all_json(classes, "the class")
        keys = [key_of(feature) for feature in features["feature"]]
        features = features.select(pl.Series("key", keys, dtype=pl.Binary), "feature")
        keyed = entries.join(features, on="feature").drop("feature").rename({"key": "feature"})
        order = keyed.select(*ENTRIES.names()).sort("feature", "set", "class")
        return cls(features.sort("key"), classes.to_list(), order)

    def numbered(self, numbers: dict[str, int]) -> pl.DataFrame:
        """The entries, with the numbers of the classes in place of the classes."""
        number = pl.col("class").replace_strict(numbers, return_dtype=pl.Int32)
        return self.entries.with_columns(number)


def _checked(entries: pl.DataFrame) -> pl.DataFrame:
    entries = entries.select(*ENTRIES.names()).cast(ENTRIES)
    for name in ("mass", "phase"):
        if not entries[name].is_finite().all():
            raise ValueError(f"the {name} of an entry is not a finite number")
    if any(entries.null_count().row(0)):
        raise ValueError("an entry lacks a value")
    return entries


def _each_once(entries: pl.DataFrame) -> pl.DataFrame:
    sums = pl.col("mass").sum(), pl.col("support").sum(), pl.col("phase").first()
    return entries.group_by(*_PLACE).agg(*sums)


def pieces(frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Cut a frame into pieces that one statement can carry."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    size = pl.sum_horizontal(pl.lit(_BYTES_A_ROW), *(pl.col(n).str.len_bytes() for n in texts))
    if not frame.height:
        return []
    piece = frame.select((size.cast(pl.Int64).cum_sum() // _PIECE).alias("piece"))["piece"]
    if piece[-1] == 0:
        return [frame]
    parts = frame.with_columns(piece).partition_by("piece", maintain_order=True)
    return [part.drop("piece") for part in parts]
