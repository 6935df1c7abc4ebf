"""A model in a file, everything that writes to it, and what a refusal looks like."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stc import ModelStore, SparseTensorClassifier, StoreError, open_store
from support.conformance import corpus
from support.edge_cases import FRAME, ITEMS, plain
from support.models import paper_model

FILES = {"sqlite": "sqlite:///{}/zoo.db", "duckdb": "duckdb:///{}/zoo.duckdb"}


def file_of(url: str) -> Path:
    return Path(url.partition(":///")[2])


def kept(url: str) -> None:
    """Create a model, and let go of the file."""
    with open_store(url) as store:
        store.create("zoo", plain())


def unharmed(url: str) -> None:
    """Check that the model is as it was created."""
    with open_store(url) as store:
        assert corpus(store["zoo"]) == corpus(plain())
        assert store["zoo"].fitted_.state.batches == frozenset()
        assert repr(store["zoo"].get_params()) == repr(plain().get_params())


def writes(store: ModelStore) -> dict[str, Callable[[], Any]]:
    """Return everything that changes the model "zoo", or creates another one."""
    X, y = ITEMS, FRAME["class"]
    model = store["zoo"]
    return {
        "fit": lambda: model.fit(X, y),
        "partial_fit": lambda: model.partial_fit(X, y, batch_id="new"),
        "unlearn": lambda: model.unlearn(X[:1], y[:1]),
        "merge": lambda: model.merge(plain()),
        "learn_phases": lambda: model.learn_phases(X, y),
        "set_params": lambda: model.set_params(power=0.9),
        "create": lambda: store.create("new", paper_model()),
        "overwrite": lambda: store.create("zoo", paper_model(), overwrite=True),
        "delete": lambda: store.__delitem__("zoo"),
    }


@contextmanager
def refused(url: str, words: str) -> Iterator[None]:
    """Check that the store says at once, in one line, what it cannot do and which store it is."""
    start = time.monotonic()
    with pytest.raises(StoreError, match=words) as caught:
        yield
    assert time.monotonic() - start < 5
    assert caught.value.path == url
    assert str(caught.value).startswith(f"{url}: ")
    assert "\n" not in str(caught.value)


def check_read_only(store: ModelStore, url: str, words: str, folder: Path) -> None:
    """Check that a store can be read, predicts and is saved, and refuses every change at once."""
    expected = plain()
    model = store["zoo"]
    assert list(store) == ["zoo"]
    assert model.predict_proba(ITEMS).tolist() == expected.predict_proba(ITEMS).tolist()
    assert model.get_params()["power"] == expected.power
    for act in writes(store).values():
        with refused(url, words):
            act()
    # What failed has not changed the copy in memory either.
    assert corpus(model) == corpus(expected)
    assert model.get_params()["power"] == expected.power
    assert list(store) == ["zoo"]
    model.save(folder / "zoo.stc.parquet")
    saved = SparseTensorClassifier.load(folder / "zoo.stc.parquet")
    assert saved.predict_proba(ITEMS).tolist() == expected.predict_proba(ITEMS).tolist()
