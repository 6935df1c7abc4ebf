"""Cascades in several threads: the weights of a set are computed once."""

import pickle
import threading
import time
from collections import Counter
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from stc._core import cascade as module
from stc._core.cascade import Cascade
from stc._core.formulas import Hyper
from stc._core.model import Model
from stc._core.observations import Column, Observations
from stc._core.tensor import Dimensions
from stc._input.containers import encode

RECORDS = [{"a": "u", "b": "v"}, {"a": "u", "b": "w"}, {"a": "t", "b": "w"}]
TARGET = Column(None, np.array(["A", "B"]), 2, np.array([0, 1, 1]), complete=True)
SETS = [(0, 1), (0,), (1,), ()]


def new_cascade() -> tuple[Cascade, Observations]:
    observed = encode(RECORDS)
    model = Model.blank(observed)
    dimensions = Dimensions.of("each", model.schema)
    model = Model.blank(observed, dimensions, tuple(SETS))
    model = model.with_items(observed, TARGET, np.ones(3))
    return Cascade(model, tuple(SETS), Hyper(0.5, 1.0, 1.0), 1000), observed


def test_each_scorer_is_made_once_by_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[int] = Counter()
    scorer_class = module.Scorer

    def slow_scorer(index: Any, *arguments: Any) -> Any:
        made[id(index)] += 1
        time.sleep(0.05)  # so that all threads ask before the first one is done
        return scorer_class(index, *arguments)

    monkeypatch.setattr(module, "Scorer", slow_scorer)
    cascade, _ = new_cascade()
    barrier = threading.Barrier(8)
    scorers: list[Any] = []

    def ask() -> None:
        barrier.wait()
        scorers.append(cascade.scorer((0, 1)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scorers) == 8
    assert len({id(scorer) for scorer in scorers}) == 1
    assert list(made.values()) == [1]


@pytest.mark.parametrize("copied", [deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
@pytest.mark.parametrize("used", [False, True])
def test_copies_answer_alike_and_have_a_lock_of_their_own(copied: Any, used: bool) -> None:
    cascade, observed = new_cascade()
    if used:
        cascade.probabilities(observed)
    copy = copied(cascade)
    assert copy._lock is not cascade._lock
    np.testing.assert_array_equal(copy.probabilities(observed), cascade.probabilities(observed))
    with cascade._lock:  # a copy does not wait for the original
        copy.scorer((1,))
