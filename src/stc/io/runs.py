"""The rows of a model's file -> runs of rows of one feature, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stc._core.corpus import LEAST_MASS
from stc.exceptions import ModelFileError
from stc.io.columns import BYTES, NUMBERS, length_of

# Sums of masses must be numbers, too.
_LARGEST_MASS = 1e300


@dataclass
class Runs:
    """The entries so far: runs of rows of one feature, and the numbers of each row.

    Attributes
    ----------
    alone
        Whether all rows come at once.
    """

    alone: bool = False
    sets: list[int] = field(default_factory=list)
    attributes: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    starts: list[NDArray[np.int64]] = field(default_factory=list)
    rows: int = 0
    seen: set[Any] = field(default_factory=set)
    numbers: dict[str, list[NDArray[Any]]] = field(
        default_factory=lambda: {name: [] for name in ("class", *NUMBERS)}
    )

    def add(self, frame: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> None:
        """Take in some rows, checked."""
        _check_numbers(frame)
        _check_texts(frame)
        classes = _places(frame, names)
        new = self._new(frame)
        last = self.numbers["class"][-1][-1:] if self.rows else classes[:0]
        before = np.concatenate([last if len(last) else [-1], classes[:-1]])
        wrong = np.flatnonzero(~new & (classes <= before))
        if len(wrong):
            entry = self.rows + int(wrong[0])
            raise ModelFileError(
                f"entry {entry} is there twice, or not in its place: those of a feature stand "
                "together, in the order of the classes"
            )
        heads = frame.filter(pl.Series(new))
        if heads.n_unique(["set", "attribute", "value"]) < heads.height:
            raise ModelFileError("a feature is there twice: it is damaged")
        self._take(heads)
        self.starts.append(self.rows + np.flatnonzero(new))
        self.numbers["class"].append(classes)
        for name in NUMBERS:
            self.numbers[name].append(frame[name].to_numpy())
        self.rows += frame.height

    def _take(self, heads: pl.DataFrame) -> None:
        """Take in the features of some rows, refusing those of earlier rows.

        They are refused at once: otherwise a few bytes, read again and again, could fill memory.
        """
        own = [heads[name].to_list() for name in ("set", "attribute", "value")]
        if not self.alone:
            keys = {(number, _fixed(a), _fixed(v)) for number, a, v in zip(*own, strict=True)}
            if not self.seen.isdisjoint(keys):
                raise ModelFileError("a feature is there twice: it is damaged")
            self.seen |= keys
        self.sets += own[0]
        self.attributes += own[1]
        self.values += own[2]

    def _new(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Which rows are of another feature than the row before."""
        keys = ("set", "attribute", "value")
        told = frame.select(pl.col(key).ne_missing(pl.col(key).shift()) for key in keys)
        new = told.select(pl.any_horizontal(keys)).to_series().to_numpy().copy()
        if self.rows:
            last = self.sets[-1], self.attributes[-1], self.values[-1]
            new[:1] = frame.select(keys).row(0) != last
        else:
            new[:1] = True
        return np.asarray(new, dtype=bool)

    def all(self, name: str) -> NDArray[Any]:
        """A column of all rows."""
        parts = self.numbers[name]
        return np.concatenate(parts) if parts else np.zeros(0)


def _fixed(texts: Any) -> Any:
    return tuple(texts) if isinstance(texts, list) else texts


def _check_numbers(frame: pl.DataFrame) -> None:
    """Refuse numbers that no model has."""
    rules: dict[str, tuple[str, Callable[[pl.Series], pl.Series]]] = {
        "set": ("a set", lambda own: own >= 0),
        "mass": ("a mass", lambda own: (own >= LEAST_MASS) & (own <= _LARGEST_MASS)),
        "support": ("a support", lambda own: (own > 0) & (own < 1 << 62)),
        "phase": ("a phase", lambda own: own.is_finite()),
    }
    for name, (what, right) in rules.items():
        fine = right(frame[name]).fill_null(False)
        if not fine.all():
            wrong = frame[name].filter(~fine)[0]
            raise ModelFileError(f"an entry has {what} of {wrong}, which cannot be")


def _check_texts(frame: pl.DataFrame) -> None:
    """Refuse texts that are too long to be held apart."""
    lengths = [length_of(name, frame.schema).sum() for name in ("attribute", "value")]
    if sum(frame.select(one=lengths[0], two=lengths[1]).row(0)) > BYTES:
        raise ModelFileError(f"its texts come to more than {BYTES >> 20} MB at a time")


def _places(frame: pl.DataFrame, names: Mapping[str, Sequence[str]]) -> NDArray[np.int64]:
    """The class of each entry."""
    keys = np.zeros(frame.height, dtype=np.int64)
    own = np.zeros(len(next(iter(names.values()))), dtype=np.int64)
    for column, texts in names.items():
        distinct = pl.Enum(list(dict.fromkeys(texts)))
        codes = frame[column].cast(distinct, strict=False).to_physical()
        if codes.null_count():
            strange = frame[column].filter(codes.is_null())[0]
            raise ModelFileError(f"an entry is of the class {strange!r:.80}, which there is not")
        size = len(distinct.categories)
        keys = keys * size + codes.to_numpy()
        own = own * size + pl.Series(texts, dtype=distinct).to_physical().to_numpy()
    order = np.argsort(own)
    found = np.searchsorted(own[order], keys)
    if (found == len(own)).any() or (own[order][found] != keys).any():
        raise ModelFileError("an entry is of a combination of classes that there is not")
    return np.asarray(order[found], dtype=np.int64)
