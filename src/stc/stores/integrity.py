"""Checks that the rows of a stored model are all there, and as they were written."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._utils.forking import refuse_without_pool
from stc._utils.hashing import mixed
from stc.io import ENTRIES
from stc.stores.keys import text_key
from stc.stores.session import ModelRow, Session, damaged_store

_Numbers = NDArray[np.uint64]
# Checksums fit into a signed integer of 64 bits.
_MODULUS = 1 << 63


def checksum(entries: pl.DataFrame) -> int:
    """Return the checksum of entries, whose features are keys and whose classes are texts.

    It is linear in the support, so that the checksum of a sum is the sum of the checksums: a
    writer knows that of the model without reading it.
    """
    refuse_without_pool()
    features = _key_numbers(entries["feature"].to_list())
    texts = entries["class"].unique(maintain_order=True)
    codes = entries["class"].cast(pl.Enum(texts)).to_physical().to_numpy()
    classes = _key_numbers([text_key(text) for text in texts])[codes]
    sets = entries["set"].cast(pl.Int64).to_numpy().astype(np.uint64)
    support = entries["support"].to_numpy().astype(np.uint64)
    # Sums and products of unsigned integers are modulo 2^64. Unmixed, the checksum would be a sum
    # over features plus a sum over classes, and would not see entries that exchange classes.
    places = mixed(features + np.uint64(3) * classes + np.uint64(0x9E3779B97F4A7C15) * sets)
    return int((support * (places | np.uint64(1))).sum(dtype=np.uint64)) % _MODULUS


def sum_of_checksums(one: int, other: int) -> int:
    """Return the checksum of two sets of entries added up."""
    return (one + other) % _MODULUS


def read_entries(session: Session, row: ModelRow) -> pl.DataFrame:
    """Return the entries of a model, in the columns of ENTRIES.

    Raises
    ------
    StoreError
        If rows are missing, repeated or changed.
    """
    features = _checked_rows(session, "stc_features", row, ["key"])
    if features["key"].to_list() != [text_key(text) for text in features["feature"]]:
        raise damaged_store("a row of the table stc_features has the key of another feature")
    classes = _checked_rows(session, "stc_classes", row, ["number"])
    if classes["class"].n_unique() != classes.height:
        raise damaged_store("two rows of the table stc_classes have the same class")
    entries = _checked_rows(session, "stc_entries", row, ["feature", "set", "class"])
    keyed = entries.rename({"class": "number"}).join(classes, on="number", how="left")
    named = keyed.rename({"feature": "key"}).join(features, on="key", how="left")
    for column in ("feature", "class"):
        unknown = named[column].null_count()
        if unknown:
            raise damaged_store(f"{unknown:,} entries have a {column} that no table has")
    found = checksum(named.select("set", "class", "support", feature="key"))
    if found != row.checksum:
        raise damaged_store("entries were removed, added or changed (their checksum differs)")
    return named.select(*ENTRIES.names())


def read_batches(session: Session, row: ModelRow) -> frozenset[str]:
    """Return the ids of the batches in the ledger of a model."""
    rows = _checked_rows(session, "stc_batches", row, ["key"])
    if rows.height != row.batches:
        raise damaged_store(f"its ledger has {rows.height:,} batches, not {row.batches:,}")
    if rows["key"].to_list() != [text_key(text) for text in rows["batch"]]:
        raise damaged_store("a row of the table stc_batches has the key of another batch")
    return frozenset(rows["batch"])


def _checked_rows(session: Session, table: str, row: ModelRow, keys: list[str]) -> pl.DataFrame:
    refuse_without_pool()
    rows = session.rows(table, row.model)
    empty = [name for name in rows.columns if rows[name].null_count()]
    if empty:
        raise damaged_store(f"a row of the table {table} has no {empty[0]}")
    if rows.n_unique(keys) != rows.height:
        raise damaged_store(f"a row of the table {table} is repeated")
    return rows


def _key_numbers(keys: list[bytes]) -> _Numbers:
    """Return the first half of keys of 16 bytes as integers."""
    if any(len(key) != 16 for key in keys):
        raise damaged_store("a key does not have 16 bytes")
    return np.frombuffer(b"".join(keys), dtype="<u8")[::2].astype(np.uint64)
