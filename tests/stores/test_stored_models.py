"""Learning in stores: failures, threads, sources."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

from stc import NeverLearntError, open_store
from stc.exceptions import ParameterError, ParameterTypeError
from support.conformance import corpus
from support.edge_cases import FRAME, ITEMS, plain
from support.models import paper_model
from support.stores import opened


def test_a_failed_fit_leaves_the_old_model(url: str) -> None:
    model = open_store(url).create("zoo", paper_model())
    model.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    for X, y in ((ITEMS, [None] * 4), ([["a\0"]], ["x"])):
        with pytest.raises(ValueError, match=r"NaN|NUL"):
            model.fit(X, y)
    assert corpus(model) == corpus(opened(url)) == corpus(plain())
    assert opened(url).fitted_.state.batches == {"1"}


@pytest.mark.parametrize("where", ["memory", "store"])
def test_only_a_batch_that_was_learnt_is_unlearnt(url: str, where: str) -> None:
    model = paper_model()
    if where == "store":
        model = open_store(url).create("zoo", model)
    model.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    for batch_id in ("2", " 1", "1 ", "unlearnt"):
        with pytest.raises(NeverLearntError, match=f"the batch '{batch_id}' was never learnt"):
            model.unlearn(ITEMS, FRAME["class"], batch_id=batch_id)
    for learn in (model.partial_fit, model.unlearn):
        with pytest.raises(ParameterError, match="batch_id is empty") as caught:
            learn(ITEMS, FRAME["class"], batch_id="")
        assert caught.value.hint == "give each batch an id of its own, or None"
        with pytest.raises(ParameterError, match="cannot start with 'unlearnt: '"):
            learn(ITEMS, FRAME["class"], batch_id="unlearnt: 1")
        with pytest.raises(ParameterTypeError, match="batch_id is a string, got int"):
            learn(ITEMS, FRAME["class"], batch_id=1)
    assert model.fitted_.state.batches == {"1"}
    assert corpus(model) == corpus(plain())
    model.partial_fit(ITEMS, FRAME["class"])
    for _ in range(2):
        model.unlearn(ITEMS, FRAME["class"], batch_id="1")
        assert corpus(model) == corpus(plain())
    assert model.fitted_.state.batches == {"1", "unlearnt: 1"}


@pytest.mark.parametrize("shared", [True, False])
def test_threads_lose_nothing(url: str, shared: bool) -> None:
    model = open_store(url).create("zoo", paper_model())

    def learn(thread: int) -> None:
        own = model if shared else opened(url)
        for k in range(6):
            own.partial_fit([[f"{thread}/{k % 3}"]], ["xyz"[k % 3]], batch_id=f"{thread}/{k}")
            assert own.class_mass_.sum() >= k + 1

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(learn, range(4)))
    assert corpus(model) == corpus(opened(url))
    assert model.class_mass_.tolist() == [8.0, 8.0, 8.0]
    assert len(opened(url).fitted_.state.batches) == 24


def test_threads_change_parameters_and_learn_at_once(url: str) -> None:
    model = open_store(url).create("zoo", plain())

    def work(thread: int) -> None:
        own = model if thread % 2 else opened(url)
        for k in range(6):
            if thread == 0:
                own.set_params(power=(k + 1) / 10)
            else:
                own.partial_fit(ITEMS, FRAME["class"], batch_id=f"{thread}/{k}")
            assert own.predict(ITEMS).tolist() == FRAME["class"].to_list()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))
    for stored in (model, opened(url)):
        assert stored.class_mass_.sum() == 4 + 3 * 6 * 4
        assert stored.get_params()["power"] == 0.6


def test_a_stored_model_learns_and_answers_from_files(url: str, tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    FRAME.write_parquet(path)
    open_store(url).create("zoo", paper_model()).fit(path, "class", "w")
    model = opened(url)
    assert model.predict(path).tolist() == ["p", "q", "p", "q"]
    assert model.score(path) == 1.0
    for _ in range(2):
        model.partial_fit(path, batch_id="again")
    assert model.class_mass_.tolist() == [2.0, 6.0]
    expected = corpus(paper_model().fit(FRAME, "class", "w"))
    assert corpus(model.unlearn(path, batch_id="again")) == corpus(opened(url)) == expected
    assert pl.read_csv(model.predict(path, to=tmp_path / "a.csv")).height == 4
