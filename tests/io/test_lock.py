"""Those who update one model file take turns, and leave nothing beside it."""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path
from threading import Event, Thread

import pytest

from stc import load
from stc.io import locked
from support.file_cases import update
from support.models import paper_model


@pytest.fixture
def model(path: Path) -> Path:
    paper_model().fit([["a"]], ["x"]).save(path)
    return path


def test_threads_take_turns(model: Path) -> None:
    threads = [Thread(target=update, args=(model, 10)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load(model).class_mass_.tolist() == [41.0]
    assert os.listdir(model.parent) == [model.name]


def test_processes_take_turns(model: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    processes = [context.Process(target=update, args=(model, 10)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert load(model).class_mass_.tolist() == [31.0]
    assert os.listdir(model.parent) == [model.name]


def test_a_link_has_the_lock_of_its_file(model: Path) -> None:
    link = model.with_name("link")
    link.symlink_to(model.name)
    entered = Event()

    def enter() -> None:
        with locked(link):
            entered.set()

    with locked(model):
        thread = Thread(target=enter)
        thread.start()
        assert not entered.wait(0.1)
    thread.join()
    assert entered.is_set()


def test_the_lock_is_released_after_an_error(model: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(model):
        raise ZeroDivisionError
    with locked(model):
        assert sorted(os.listdir(model.parent)) == [f".{model.name}.lock", model.name]
    assert os.listdir(model.parent) == [model.name]


def test_what_a_killed_process_left_is_no_lock(model: Path) -> None:
    model.with_name(f".{model.name}.lock").touch()
    update(model, 1)
    assert os.listdir(model.parent) == [model.name]


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"model\.stc\.parquet"), locked(path):
        pass
    assert not os.listdir(path.parent)


def test_absent_filelock_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "filelock", None)
    with (
        pytest.raises(ImportError, match=r"locking a model file needs filelock.*\[cli\]"),
        locked(model),
    ):
        pass
