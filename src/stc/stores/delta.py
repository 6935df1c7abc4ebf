"""Changes of a model as rows for a database."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from stc.exceptions import DataError
from stc.io import ENTRIES
from stc.stores.keys import check_json_series, text_key


class Delta(NamedTuple):
    """Entries to add to a model: checked, unique and sorted by their keys.

    Attributes
    ----------
    features
        Columns `key` and `feature`, sorted by key.
    classes
        The classes, sorted.
    entries
        The columns of ENTRIES, with the feature's key instead of the feature; sorted.
    """

    features: pl.DataFrame
    classes: list[str]
    entries: pl.DataFrame

    @classmethod
    def from_entries(cls, entries: pl.DataFrame) -> Delta:
        """Sum entries that occur several times and key their features."""
        sums = pl.col("mass").sum(), pl.col("support").sum(), pl.col("phase").first()
        entries = _checked(entries).group_by("set", "feature", "class").agg(*sums)
        features = entries.select(pl.col("feature").unique())
        check_json_series(features["feature"], "the feature")
        classes = entries["class"].unique().sort()
        check_json_series(classes, "the class")
        keys = [text_key(feature) for feature in features["feature"]]
        features = features.select(pl.Series("key", keys, dtype=pl.Binary), "feature")
        keyed = entries.join(features, on="feature").drop("feature").rename({"key": "feature"})
        keyed = keyed.select(*ENTRIES.names()).sort("feature", "set", "class")
        return cls(features.sort("key"), classes.to_list(), keyed)

    def numbered(self, numbers: dict[str, int]) -> pl.DataFrame:
        """Return the entries with the numbers of the classes instead of the classes."""
        number = pl.col("class").replace_strict(numbers, return_dtype=pl.Int32)
        return self.entries.with_columns(number)


def _checked(entries: pl.DataFrame) -> pl.DataFrame:
    entries = entries.select(*ENTRIES.names()).cast(ENTRIES)
    for name in ("mass", "phase"):
        if not entries[name].is_finite().all():
            raise DataError(f"the {name} of an entry is not a finite number")
    if any(entries.null_count().row(0)):
        raise DataError("an entry lacks a value")
    return entries
