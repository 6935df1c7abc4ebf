"""One estimator, several threads: learning is serialised, reading needs no lock."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from stc import SparseTensorClassifier
from support.models import paper_model

READERS, WRITERS, BATCHES = 3, 2, 12


@pytest.fixture(autouse=True)
def switching() -> Iterator[None]:
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def name(writer: int, batch: int) -> str:
    return f"w{writer}b{batch}"


def write(model: SparseTensorClassifier, writer: int, start: Barrier) -> None:
    start.wait()
    for batch in range(BATCHES):
        label = name(writer, batch)
        model.partial_fit([[label]], [label], batch_id=label)
        assert model.predict([[label]]).tolist() == [label], "a batch is known once it is learnt"


def read(model: SparseTensorClassifier, start: Barrier) -> int:
    """Ask until all is learnt; every answer must be that of one state of the model."""
    start.wait()
    known = 0
    while known <= WRITERS * BATCHES:
        labels, probabilities = model.predict([["start"]]), model.predict_proba([["start"]])
        assert labels.tolist() == ["start"]
        assert probabilities.max() == 1.0
        fitted = model.fitted_
        classes = fitted.classes
        assert len(classes) >= known, "what was seen once is not forgotten"
        known = len(classes)
        items = classes[:, None].tolist()
        assert fitted.predict(items).tolist() == classes.tolist()
        np.testing.assert_array_equal(fitted.predict_proba(items), np.eye(known))
        assert fitted.model.class_mass.sum() == known
    return known


@pytest.mark.parametrize("runs", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_readers_beside_writers(runs: int) -> None:
    for _ in range(runs):
        model = paper_model().fit([["start"]], ["start"])
        start = Barrier(READERS + WRITERS)
        with ThreadPoolExecutor(READERS + WRITERS) as pool:
            writers = [pool.submit(write, model, writer, start) for writer in range(WRITERS)]
            readers = [pool.submit(read, model, start) for _ in range(READERS)]
            for future in writers:
                future.result()
            everything = 1 + WRITERS * BATCHES
            assert [future.result() for future in readers] == [everything] * READERS
        assert model.class_mass_.sum() == everything
        learnt = {name(writer, batch) for writer in range(WRITERS) for batch in range(BATCHES)}
        assert set(model.classes_) == learnt | {"start"}
        assert model.fitted_.state.batches == learnt


def test_weights_are_computed_once_for_all_threads() -> None:
    model = paper_model().fit([["a"], ["b"]], ["x", "y"])
    with ThreadPoolExecutor(8) as pool:
        cascades = list(pool.map(lambda _: model.fitted_.cascade, range(64)))
    assert len({id(cascade) for cascade in cascades}) == 1


def test_threads_that_merge_and_unlearn_lose_nothing() -> None:
    model = paper_model().fit([["start"]], ["start"])
    parts = [paper_model().fit([[f"m{k}"]], [f"m{k}"]) for k in range(WRITERS * BATCHES)]
    for k in range(BATCHES):
        model.partial_fit([[f"gone{k}"]], [f"gone{k}"])
    with ThreadPoolExecutor(4) as pool:
        work = [pool.submit(model.merge, part) for part in parts]
        work += [pool.submit(model.unlearn, [[f"gone{k}"]], [f"gone{k}"]) for k in range(BATCHES)]
        for future in work:
            future.result()
    assert set(model.classes_) == {"start", *(f"m{k}" for k in range(len(parts)))}
    assert model.class_mass_.sum() == 1 + len(parts)
