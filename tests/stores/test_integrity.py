"""The checksum sees every change of the rows, and what stc has written is never refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from stc import NeverLearntError, SparseTensorClassifier, StoredModel, load, open_store
from stc.exceptions import ParameterError
from stc.stores.integrity import checksum, sum_of_checksums
from stc.stores.keys import text_key
from support.conformance import SETTINGS, corpus
from support.marking import slow_but
from support.models import paper_model
from support.stores import opened
from support.strategies import PROFILE

FEATURES = [text_key(name) for name in "abcde"]
CLASSES = ['"p"', '"q"', "1", '["p",1]']
SCHEMA = {"feature": pl.Binary, "set": pl.Int32, "class": pl.String, "support": pl.Int64}

Row = tuple[bytes, int, str, int]
PLACES = st.tuples(st.sampled_from(FEATURES), st.integers(0, 2), st.sampled_from(CLASSES))
SUPPORTS = st.integers(-(2**62), 2**62) | st.integers(-3, 3)
ROWS = st.dictionaries(PLACES, SUPPORTS, max_size=20)


def frame(rows: dict[tuple[bytes, int, str], int] | list[Row]) -> pl.DataFrame:
    if isinstance(rows, dict):
        rows = [(*place, support) for place, support in rows.items()]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@PROFILE
@given(ROWS, ROWS)
def test_the_checksum_of_a_sum_is_the_sum_of_the_checksums(one: Any, other: Any) -> None:
    both = {place: wrapped(one.get(place, 0) + other.get(place, 0)) for place in {**one, **other}}
    expected = sum_of_checksums(checksum(frame(one)), checksum(frame(other)))
    assert checksum(frame(both)) == expected
    assert 0 <= expected < 2**63
    # Entries that have no support left need not be there.
    assert checksum(frame({place: n for place, n in both.items() if n})) == expected
    negative = {place: -n for place, n in one.items()}
    assert sum_of_checksums(checksum(frame(one)), checksum(frame(negative))) == 0


def wrapped(number: int) -> int:
    """An integer of 64 bits, which is what a database can hold."""
    return (number + 2**63) % 2**64 - 2**63


@PROFILE
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_entries_does_not_matter(rows: Any, rng: random.Random) -> None:
    places = list(rows)
    rng.shuffle(places)
    assert checksum(frame({place: rows[place] for place in places})) == checksum(frame(rows))


@PROFILE
@given(ROWS.filter(len), st.data())
def test_the_checksum_sees_one_changed_value(rows: Any, data: st.DataObject) -> None:
    place = data.draw(st.sampled_from(sorted(rows)))
    other = (*data.draw(PLACES), data.draw(SUPPORTS))
    changed = [(*place, support) for place, support in rows.items()]
    number = list(rows).index(place)
    column = data.draw(st.integers(0, 3))
    before = changed[number]
    changed[number] = (*before[:column], other[column], *before[column + 1 :])
    same = changed[number] == before or (column < 3 and before[3] == 0)
    assert (checksum(frame(changed)) == checksum(frame(rows))) == same


def everything() -> list[Row]:
    """An entry of each feature and class, all with the same support."""
    return [(feature, 0, name, 3) for feature in FEATURES for name in CLASSES]


CHANGES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "a row less": lambda rows: rows[1:],
    "no rows": lambda rows: [],
    "a row twice": lambda rows: [*rows, rows[0]],
    "a row more": lambda rows: [*rows, (text_key("f"), 0, '"p"', 1)],
    "all support twice": lambda rows: [(*row[:3], 6) for row in rows],
    "support moved to another feature": lambda rows: [
        (*row[:3], row[3] + {0: 1, 4: -1}.get(k, 0)) for k, row in enumerate(rows)
    ],
    # Sums over the features and over the classes stay the same.
    "support exchanged crosswise": lambda rows: [
        (*row[:3], row[3] + {0: 1, 1: -1, 4: -1, 5: 1}.get(k, 0)) for k, row in enumerate(rows)
    ],
    "another set": lambda rows: [(feature, 1, *rest) for feature, _, *rest in rows],  # type: ignore[misc]
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_checksum_sees(change: Callable[[list[Row]], list[Row]]) -> None:
    assert checksum(frame(change(everything()))) != checksum(frame(everything()))


def test_the_checksum_sees_features_and_classes_that_are_exchanged() -> None:
    rows = [(FEATURES[0], 0, CLASSES[0], 2), (FEATURES[1], 0, CLASSES[1], 2)]
    crossed = [(FEATURES[0], 0, CLASSES[1], 2), (FEATURES[1], 0, CLASSES[0], 2)]
    assert checksum(frame(rows)) != checksum(frame(crossed))


# --- what stc has written is never refused --------------------------------------------------------

# Weights whose sums and differences lose digits, or all of them.
WEIGHTS = (1.0, 0.1, 1 / 3, 1e9, 1e16, 1e-12, 1e-90, 3e-99, 1e-99, 1e90)
KINDS = (
    "plain", "missing is a category", "several dimensions", "groups of attributes", "interactions",
    "several targets", "text", "several values", "several labels", "learnt thresholds", "numbers",
)  # fmt: skip


def data_of(kind: str) -> tuple[SparseTensorClassifier, Any, Any]:
    """A model that is not fitted, and items with their classes."""
    if kind == "counts":
        X = sparse.random(60, 9, 0.4, format="csr", random_state=1)
        X.data[::5] *= 1e-90
        return paper_model(), X, np.arange(60) % 3
    setting = SETTINGS[kind]
    items, target = setting.given(setting.data())
    return setting.model(), items, target


def check(url: str, model: StoredModel, path: Path) -> None:
    """The model as another process reads it is the same, also in a file."""
    again = opened(url)
    assert repr(again.get_params()) == repr(model.get_params())
    try:
        expected = corpus(model)
    except NotFittedError:
        with pytest.raises(NotFittedError):
            corpus(again)
        return
    assert corpus(again) == expected
    assert again.fitted_.state.batches == model.fitted_.state.batches
    model.save(path)
    assert corpus(load(path)) == expected


class Walk:
    """Random changes of a stored model; it knows which batches it has learnt."""

    def __init__(self, model: StoredModel, X: Any, y: Any, rng: random.Random) -> None:
        self.model, self.X, self.y, self.rng = model, X, y, rng
        self.learnt: list[tuple[Any, Any, Any, str | None]] = []
        self.count = 0

    def step(self) -> None:
        steps = (self.learn, self.learn, self.unlearn, self.unlearn, self.merge, self.set_params)
        rare = (self.refit, self.forget_everything, self.unlearn_by_halves, self.overwrite)
        self.rng.choice(steps if self.rng.random() < 0.8 else rare)()

    def batch(self) -> tuple[Any, Any, Any]:
        size = self.rng.choice([1, 2, 5, 20])
        rows = self.rng.sample(
            range(self.X.shape[0] if sparse.issparse(self.X) else len(self.X)), size
        )
        heavy = self.rng.choice([WEIGHTS[:3], WEIGHTS])
        return self.X[rows], self.y[rows], [self.rng.choice(heavy) for _ in rows]

    def learn(self) -> None:
        self.count += 1
        batch_id = self.rng.choice([None, f"batch {self.count}"])
        batch = self.batch()
        self.model.partial_fit(*batch[:2], sample_weight=batch[2], batch_id=batch_id)
        self.learnt.append((*batch, batch_id))

    def unlearn(self) -> None:
        if self.learnt:
            X, y, weights, batch_id = self.learnt.pop(self.rng.randrange(len(self.learnt)))
            self.model.unlearn(X, y, sample_weight=weights, batch_id=batch_id)

    def unlearn_by_halves(self) -> None:
        """Sums of other parts are rounded in another way."""
        if self.learnt:
            X, y, weights, _ = self.learnt.pop()
            half = len(weights) // 2
            for part in (slice(half, None), slice(half))[: 2 if half else 1]:
                self.model.unlearn(X[part], y[part], sample_weight=weights[part])

    def merge(self) -> None:
        other = SparseTensorClassifier(**self.model.get_params(deep=False))
        X, y, weights = self.batch()
        self.model.merge(other.partial_fit(X, y, sample_weight=weights))
        self.learnt.append((X, y, weights, None))

    def set_params(self) -> None:
        name, values = self.rng.choice(
            [("power", [0.3, 0.5, 1, 2.0]), ("balance", [0, 1.0]), ("entropy", [0.0, 1, 3])]
        )
        self.model.set_params(**{name: self.rng.choice(values)})

    def refit(self) -> None:
        batch = self.batch()
        self.model.fit(*batch)
        self.learnt = [(*batch, None)]

    def forget_everything(self) -> None:
        while self.learnt:
            self.unlearn()

    def overwrite(self) -> None:
        copied = self.model.to_estimator()
        self.model = self.model.store.create("zoo", copied, overwrite=True)


QUICK = ("plain", "several dimensions", "text", "learnt thresholds", "counts")


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
@pytest.mark.parametrize("kind", slow_but([*KINDS, "counts"], QUICK))
def test_a_store_that_stc_wrote_opens(url: str, kind: str, seed: int, tmp_path: Path) -> None:
    unfitted, X, y = data_of(kind)
    rng = random.Random(f"{kind}/{seed}")
    walk = Walk(open_store(url).create("zoo", unfitted), X, y, rng)
    for _ in range(20):
        # Rounding may have lost what is to be unlearnt; models of parts may not fit each other.
        with suppress(NeverLearntError, NotFittedError, ParameterError):
            walk.step()
        check(url, walk.model, tmp_path / "model.stc.parquet")
