"""From the rows of a model file, which are all checked, to entries with numbers for features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import MIN_MASS, Amplitudes, Entries
from stc._core.schema import Schema
from stc._core.tensor import Subset, Tuples
from stc._core.vocabulary import Feature, Vocabulary
from stc.exceptions import ModelFileError
from stc.io.columns import MAX_BYTES, NUMBERS, file_schema, text_size
from stc.io.header import as_tuple
from stc.io.serializer import NumberedEntries, vocabulary_of
from stc.io.validation import damaged, require

# Columns that a sparse matrix may have, at least and for each entry.
_COLUMNS, _COLUMNS_PER_ENTRY = 1 << 24, 1000
# The sum of any masses must be finite, too.
_MAX_MASS = 1e300
_KEYS = ["set", "attribute", "value"]
# What the numbers of an entry may be.
_VALID: dict[str, Callable[[pl.Series], pl.Series]] = {
    "set": lambda values: values >= 0,
    "mass": lambda values: (values >= MIN_MASS) & (values <= _MAX_MASS),
    "support": lambda values: (values > 0) & (values < 1 << 62),
    "gain": lambda values: values.is_finite() & (values >= 0),
    "phase": lambda values: values.is_finite(),
}


def too_wide(width: int, entries: int) -> bool:
    """Return whether a sparse matrix has more columns than a file of so many entries may claim."""
    return width > max(_COLUMNS, _COLUMNS_PER_ENTRY * entries)


def read_entries(
    values: Mapping[str, Any], frames: Iterable[pl.DataFrame], schema: pl.Schema, groups: int
) -> NumberedEntries:
    """Return the entries in the rows of a file.

    Parameters
    ----------
    values
        The values of the header.
    frames
        The rows, one frame for each row group.
    schema
        Their columns.
    groups
        The number of row groups.

    Raises
    ------
    ModelFileError
        If the rows are not those of a model with this header.
    """
    names: dict[str, list[str]] = values["class_names"]
    gains = "gain" in schema  # format 1 has none
    complete = schema if gains else pl.Schema({**schema, "gain": NUMBERS["gain"]})
    if dict(complete) not in (dict(file_schema(lists, names)) for lists in (False, True)):
        columns = ", ".join(f"{name} ({kind})" for name, kind in file_schema(False, names).items())
        raise ModelFileError(f"its columns are not those of a model: {columns}")
    runs = _Runs(single=groups == 1)
    for frame in frames:
        if frame.height:
            runs.add(frame if gains else frame.with_columns(gain=pl.lit(1.0)), names)
    return _Numbering(values, runs, lists=schema["value"] != pl.String).run()


# --- runs of rows -------------------------------------------------------------------------------


@dataclass
class _Runs:
    """Runs of rows with the same feature, and the numbers of each row.

    Attributes
    ----------
    single
        Whether all rows come in one frame.
    sets, attributes, values
        Set and feature of each run.
    starts
        First row of each run, an array for each frame.
    rows
        Number of rows so far.
    numbers
        Class and numbers of each row, an array for each frame.
    """

    single: bool = False
    sets: list[int] = field(default_factory=list)
    attributes: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    starts: list[NDArray[np.int64]] = field(default_factory=list)
    rows: int = 0
    numbers: dict[str, list[NDArray[Any]]] = field(
        default_factory=lambda: {name: [] for name in ("class", *NUMBERS)}
    )
    _seen: set[Any] = field(default_factory=set)

    def add(self, frame: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> None:
        """Add checked rows; `names` are the texts of the classes in each of their columns."""
        check_numbers(frame)
        _check_texts(frame)
        classes = _class_numbers(frame, names)
        first = self._is_first(frame)
        previous = self.numbers["class"][-1][-1:] if self.rows else [-1]
        before = np.concatenate([previous, classes[:-1]])
        wrong = np.flatnonzero(~first & (classes <= before))
        if len(wrong):
            raise ModelFileError(
                f"entry {self.rows + int(wrong[0])} is repeated or out of order: the entries of a "
                "feature are consecutive, in the order of the classes"
            )
        self._add_features(frame.filter(pl.Series(first)))
        self.starts.append(self.rows + np.flatnonzero(first))
        self.numbers["class"].append(classes)
        for name in NUMBERS:
            self.numbers[name].append(frame[name].to_numpy())
        self.rows += frame.height

    def _add_features(self, heads: pl.DataFrame) -> None:
        """Add the features of the first rows of runs; none may have come before.

        The check is here and not at the end, where a few bytes, read many times over, could
        have filled the memory.
        """
        require(heads.n_unique(_KEYS) == heads.height, "a feature is repeated")
        sets, attributes, values = (heads[name].to_list() for name in _KEYS)
        if not self.single:
            keys = set(zip(sets, map(as_tuple, attributes), map(as_tuple, values), strict=True))
            require(self._seen.isdisjoint(keys), "a feature is repeated")
            self._seen |= keys
        self.sets += sets
        self.attributes += attributes
        self.values += values

    def _is_first(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Return whether each row has another feature than the row before."""
        changes = (pl.col(key).ne_missing(pl.col(key).shift()) for key in _KEYS)
        first = frame.select(pl.any_horizontal(*changes)).to_series().to_numpy().copy()
        first[:1] = True
        if self.rows:
            last = self.sets[-1], self.attributes[-1], self.values[-1]
            first[:1] = frame.select(_KEYS).row(0) != last
        return np.asarray(first, dtype=bool)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all rows."""
        parts = self.numbers[name]
        return np.concatenate(parts) if parts else np.zeros(0)


def check_numbers(frame: pl.DataFrame) -> None:
    """Raise an error if a number of an entry is out of its range."""
    for name, valid in _VALID.items():
        fine = valid(frame[name]).fill_null(False)
        if not fine.all():
            raise ModelFileError(f"an entry has {name} {frame[name].filter(~fine)[0]}")


def _check_texts(frame: pl.DataFrame) -> None:
    """Raise an error if the strings would take too much memory as Python objects."""
    sizes = (text_size(name, frame.schema).sum().alias(name) for name in ("attribute", "value"))
    if sum(frame.select(*sizes).row(0)) > MAX_BYTES:
        raise ModelFileError(f"the strings of a row group take more than {MAX_BYTES >> 20} MB")


def _class_numbers(frame: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
    """Return the class of each entry."""
    entry_keys = np.zeros(frame.height, dtype=np.int64)
    class_keys = np.zeros(len(next(iter(names.values()))), dtype=np.int64)
    for column, texts in names.items():
        distinct = pl.Enum(list(dict.fromkeys(texts)))
        codes = frame[column].cast(distinct, strict=False).to_physical()
        if codes.null_count():
            unknown = frame[column].filter(codes.is_null())[0]
            raise ModelFileError(f"an entry has the class {unknown!r:.80}, which is unknown")
        size = len(distinct.categories)
        entry_keys = entry_keys * size + codes.to_numpy()
        class_keys = class_keys * size + pl.Series(texts, dtype=distinct).to_physical().to_numpy()
    order = np.argsort(class_keys)
    places = np.searchsorted(class_keys[order], entry_keys)
    known = (places < len(order)).all() and (class_keys[order][places] == entry_keys).all()
    require(bool(known), "an entry has a combination of classes that is unknown")
    return np.asarray(order[places], dtype=np.int64)


# --- features -----------------------------------------------------------------------------------


class _Numbering:
    """Numbers the features of the rows of a file, in the order of their first rows."""

    def __init__(self, values: Mapping[str, Any], runs: _Runs, lists: bool) -> None:
        self._schema: Schema = values["schema"]
        self._policy: Sequence[Subset] = values["sets"]
        self._order = values["order"]
        self._sizes = values["entries"]
        self._runs, self._lists = runs, lists
        dimensions = values["dimensions"]
        groups = dimensions.attributes or (self._schema.names,)
        self._allowed: list[set[str | None]] = [
            set(groups[k]) if self._schema.kind == "table" else {None}
            for k in range(len(dimensions.names))
        ]
        self._numbers: dict[Feature, int] = {}

    def run(self) -> NumberedEntries:
        runs = self._runs
        starts = np.concatenate([np.zeros(0, dtype=np.int64), *runs.starts, [runs.rows]])
        lengths = np.diff(starts)
        run_sets = np.array(runs.sets, dtype=np.int64)
        ordered = (np.diff(run_sets) >= 0).all() and run_sets.max(initial=0) < len(self._policy)
        require(bool(ordered), "its entries are not in the order of their sets")
        bounds = np.searchsorted(run_sets, np.arange(len(self._policy) + 1)).tolist()
        run_features = [
            self._set_features(subset, slice(bounds[k], bounds[k + 1]))
            for k, subset in enumerate(self._policy)
        ]
        vocabulary, numbers = self._vocabulary()
        tuples: dict[Subset, Tuples] = {}
        sets = []
        for k, subset in enumerate(self._policy):
            rows = slice(int(starts[bounds[k]]), int(starts[bounds[k + 1]]))
            count = rows.stop - rows.start
            size = self._sizes[k]
            require(count == size, f"set {k} has {count:,} entries, not {size:,}")
            features = run_features[k]
            if subset and numbers is not None:
                features = numbers[features]
            if len(subset) > 1:
                tuples[subset] = Tuples(features)
                features = np.arange(len(features))
            *columns, gains, angles = (runs.column(name)[rows] for name in ("class", *NUMBERS))
            repeated = np.repeat(features, lengths[bounds[k] : bounds[k + 1]])
            sets.append((Entries(repeated, *columns), Amplitudes(gains, angles)))
        return NumberedEntries(vocabulary, tuples, sets)

    def _set_features(self, subset: Subset, runs: slice) -> NDArray[np.int64]:
        """Return the feature of each run of a set, several numbers each if it has dimensions."""
        attributes, values = self._runs.attributes[runs], self._runs.values[runs]
        if not subset:
            empty = len(values) <= 1 and not any(attributes) and not any(values)
            require(empty, "the class frequencies have an attribute or value")
            return np.zeros(len(values), dtype=np.int64)
        if self._schema.kind == "counts":
            return self._count_columns(values)
        if len(subset) == 1:
            features = self._single_features(attributes, values, subset[0])
            require(len(set(features)) == len(features), "a feature is repeated")
            return np.array(list(map(self._number, features)), dtype=np.int64)
        rows = []
        for names, texts in zip(attributes, values, strict=True):
            complete = self._lists and len(names) == len(texts) == len(subset)
            require(complete, "an entry lacks the value of a dimension")
            pairs = list(zip(names, texts, strict=True))
            for dimension, pair in zip(subset, pairs, strict=True):
                self._check(*pair, dimension)
            rows.append([self._number(pair) for pair in pairs])
        require(len(set(map(tuple, rows))) == len(rows), "a combination of values is repeated")
        return np.array(rows, dtype=np.int64).reshape(-1, len(subset))

    def _number(self, feature: Feature) -> int:
        return self._numbers.setdefault(feature, len(self._numbers))

    def _single_features(
        self, attributes: Sequence[Any], values: Sequence[Any], dimension: int
    ) -> list[Feature]:
        """Return the values and conjunctions of one dimension."""
        if self._lists:
            return [
                self._conjunction(names, texts, dimension)
                for names, texts in zip(attributes, values, strict=True)
            ]
        for name in set(attributes):
            self._check(name, "", dimension)
        if None in values:
            self._check(attributes[0], None, dimension)
        return list(zip(attributes, values, strict=True))

    def _conjunction(self, names: Any, texts: Any, dimension: int) -> Feature:
        if names is None or texts is None or len(names) != len(texts) or not texts:
            raise damaged("an entry lacks the value of an attribute")
        for name, value in zip(names, texts, strict=True):
            self._check(name, value, dimension)
        if len(texts) == 1:
            return names[0], texts[0]
        return (tuple(names) if self._schema.kind == "table" else ()), tuple(texts)

    def _check(self, name: Any, value: Any, dimension: int) -> None:
        if name not in self._allowed[dimension]:
            raise damaged(f"{name!r:.80} is not an attribute of the dimension")
        if value is None and self._schema.missing != "category":
            raise damaged("a value is missing, which the model ignores")

    def _count_columns(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Return the columns x0, x1, ... of a sparse matrix."""
        digits = [str(value)[1:] for value in values]
        numeric = all(text.isdecimal() and len(text) < 19 for text in digits)
        require(numeric, "a column of counts has no number")
        columns = np.array(list(map(int, digits)), dtype=np.int64)
        ascending = (np.diff(columns) > 0).all()
        within = columns.max(initial=0) < max(self._schema.width, 1)
        require(bool(ascending and within), "the columns of counts are not in order")
        return columns

    def _vocabulary(self) -> tuple[Vocabulary, NDArray[np.int64] | None]:
        """Return the features, and the number of each in the order of their first rows."""
        if self._schema.kind == "counts":
            width = self._schema.width
            if too_wide(width, self._runs.rows):
                raise damaged(f"it has {width:,} columns for {self._runs.rows:,} entries")
            return Vocabulary({}, width), None  # the number of a column is its own
        size = len(self._numbers)
        order = np.arange(size)
        if self._order is not None:
            order = np.array(self._order, dtype=np.int64)
            permuted = order.shape == (size,) and bool((np.sort(order) == np.arange(size)).all())
            require(permuted, "the order of its features is not a permutation")
        numbers = dict(zip(self._numbers, order.tolist(), strict=True))
        return vocabulary_of(numbers), order
