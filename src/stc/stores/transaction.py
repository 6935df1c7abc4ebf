"""A transaction that changes one model, the same for all databases."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from itertools import count
from typing import Any

import polars as pl

from stc._core.domain import MOST, class_too_heavy
from stc.exceptions import DataError, StoreError
from stc.io import ENTRIES, OF_CLASSES, Archive
from stc.stores.integrity import checksum, read_batches, read_entries, sum_of_checksums
from stc.stores.keys import check_json_series, check_text, header_json, text_key
from stc.stores.session import COLUMNS, NO_HEADER, ModelRow, Session, damaged_store

_ENTRY_TABLES = ("stc_entries", "stc_features", "stc_classes")


class Writing:
    """A transaction that changes one model.

    Transactions of the same model do not overlap. All changes are committed when the work ends;
    none are if it raises an error.

    Attributes
    ----------
    version
        Version of the model when the transaction began; None if there is no such name.
    next_version
        Version of the model once the transaction is committed.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session = session
        self._name = name
        row = session.find(name)
        self._model = row.model if row else None
        self.version = row.version if row else None
        self._header = row.header if row else None
        self._header_key = row.header_key if row else b""
        self._checksum = row.checksum if row else 0
        self._batches = row.batches if row else 0
        self._changed = False
        # With the time, a model that is removed and created again never repeats a version.
        self.next_version = max(time.time_ns(), (self.version or 0) + 1)

    @property
    def header(self) -> dict[str, Any] | None:
        """Header of the model; None if there is no such name."""
        return None if self._header is None else parsed_header(self._header, self._header_key)

    def read(self) -> Archive:
        """Return the header and the entries of the model as this transaction sees them."""
        header, row = self.header, self._row()
        if header is None:
            raise StoreError(f"the model {self._name!r} has no header")
        return Archive(header, read_entries(self._session, row))

    def batches(self) -> frozenset[str]:
        """Return the ids of all batches in the ledger."""
        return frozenset() if self._model is None else read_batches(self._session, self._row())

    def has(self, batch_id: str) -> bool:
        """Return whether a batch is in the ledger."""
        check_text(batch_id, "the batch id")
        query = "SELECT batch FROM stc_batches WHERE model = :model AND key = :key"
        return self._model is not None and bool(self._execute(query, key=text_key(batch_id)))

    def note(self, batch_id: str) -> None:
        """Enter a batch into the ledger."""
        if not self.has(batch_id):
            self._change()
            self._batches += 1
            self._execute(
                "INSERT INTO stc_batches (model, key, batch, written_at)"
                " VALUES (:model, :key, :batch, :time)",
                key=text_key(batch_id),
                batch=batch_id,
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            )

    def forget(self) -> None:
        """Empty the ledger."""
        if self._model is not None:
            self._session.delete(self._change(), ["stc_batches"])
            self._batches = 0

    def set_header(self, header: dict[str, Any]) -> None:
        """Replace the header and keep the entries."""
        self._change()
        self._set_header(header_json(header))

    def add(self, header: dict[str, Any], entries: pl.DataFrame) -> None:
        """Add mass and support to existing entries, and insert new entries.

        Mass and support may be negative; an entry is deleted when its support reaches zero.
        Existing entries keep their gain and phase; new ones take those given.
        """
        self._add(header_json(header), *_keyed(entries))

    def replace(self, archive: Archive) -> None:
        """Replace the model and keep its ledger."""
        # What cannot be stored is refused before anything is deleted.
        header, keyed = header_json(archive.header), _keyed(archive.entries)
        self._clear()
        self._add(header, *keyed)

    def clear(self, header: dict[str, Any]) -> None:
        """Delete all entries and keep the ledger: everything was unlearnt."""
        self._clear()
        self.set_header(header)

    def remove(self) -> None:
        """Remove the model and its ledger."""
        if self._model is not None:
            self._session.delete(self._model, COLUMNS)
            self._execute("DELETE FROM stc_models WHERE id = :model")
            self._model, self._changed = None, False

    def finish(self) -> None:
        """Write the new row of the model."""
        if self._changed:
            self._execute(
                "UPDATE stc_models SET version = :version, header_key = :header_key,"
                " header = :header, checksum = :checksum, batches = :batches WHERE id = :model",
                version=self.next_version,
                header_key=self._header_key,
                header=self._header,
                checksum=self._checksum,
                batches=self._batches,
            )

    def _row(self) -> ModelRow:
        if self._model is None:
            raise StoreError(f"the store has no model {self._name!r}")
        header, version = self._header or "", self.next_version
        key, checksum, batches = self._header_key, self._checksum, self._batches
        return ModelRow(self._model, self._name, version, key, header, checksum, batches)

    def _set_header(self, text: str) -> None:
        self._header, self._header_key = text, text_key(text)

    def _clear(self) -> None:
        if self._model is not None:
            self._session.delete(self._change(), _ENTRY_TABLES)
            self._checksum = 0

    def _add(self, header: str, features: pl.DataFrame, entries: pl.DataFrame) -> None:
        model, empty = self._change(), self._checksum == 0
        self._set_header(header)
        self._checksum = sum_of_checksums(self._checksum, checksum(entries))
        numbers = self._class_numbers(entries["class"].unique().sort().to_list())
        number = pl.col("class").replace_strict(numbers, return_dtype=pl.Int32)
        entries = entries.with_columns(number)
        self._session.add_features(model, features)
        if empty and (entries["support"] > 0).all():
            self._session.insert("stc_entries", model, entries)
        else:
            self._session.add_entries(model, entries)
            self._check_class_mass()

    def _check_class_mass(self) -> None:
        """Raise if the sum of the weights of a class is too large; reads only such classes."""
        query = (
            "SELECT c.class, e.mass FROM stc_entries e JOIN stc_classes c"
            " ON c.model = e.model AND c.number = e.class"
            " WHERE e.model = :model AND e.feature = :key AND e.mass > :most"
        )
        for class_, mass in self._execute(query, key=text_key(OF_CLASSES), most=MOST)[:1]:
            raise class_too_heavy(class_, mass)

    def _execute(self, statement: str, **values: Any) -> list[Any]:
        return self._session.execute(statement, model=self._model, **values)

    def _change(self) -> int:
        """Mark the model as changed, and return its number; it is created if necessary."""
        self._changed = True
        if self._model is None:
            self._model = self._session.create(self._name, self.next_version)
            self._set_header(NO_HEADER)
        return self._model

    def _class_numbers(self, classes: list[str]) -> dict[str, int]:
        query = "SELECT class, number FROM stc_classes WHERE model = :model"
        numbers: dict[str, int] = dict(self._execute(query))
        new = [name for name in classes if name not in numbers]
        added = dict(zip(new, count(max(numbers.values(), default=-1) + 1), strict=False))
        if added:
            columns = {"number": list(added.values()), "class": list(added)}
            rows = pl.DataFrame(columns, schema={"number": pl.Int32, "class": pl.String})
            self._session.insert("stc_classes", self._change(), rows)
        return numbers | added


def parsed_header(text: str, key: bytes) -> dict[str, Any]:
    """Return the header in the row of a model, given its text and the key of that text."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged_store(f"the header {text!r:.80} is not JSON") from None
    if not isinstance(header, dict):
        raise damaged_store(f"the header {text!r:.80} is not an object")
    if key != text_key(text):
        raise damaged_store("the header in the table stc_models was changed (its key differs)")
    return header


def _keyed(entries: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the keys of the features, and the entries with these keys; both unique and sorted."""
    entries = entries.select(*ENTRIES.names()).cast(ENTRIES)
    for name in ("mass", "gain", "phase"):
        if not entries[name].is_finite().all():
            raise DataError(f"the {name} of an entry is not a finite number")
    if any(entries.null_count().row(0)):
        raise DataError("an entry lacks a value")
    sums = pl.col("mass", "support").sum(), pl.col("gain", "phase").first()
    entries = entries.group_by("set", "feature", "class").agg(*sums)
    features = entries.select(pl.col("feature").unique())
    check_json_series(features["feature"], "the feature")
    check_json_series(entries["class"].unique(), "the class")
    keys = [text_key(feature) for feature in features["feature"]]
    features = features.select(pl.Series("key", keys, dtype=pl.Binary), "feature")
    keyed = entries.join(features, on="feature").drop("feature").rename({"key": "feature"})
    return features.sort("key"), keyed.select(*ENTRIES.names()).sort("feature", "set", "class")
