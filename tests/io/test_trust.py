"""Opening a file or a store of a stranger connects to nothing, and writes and creates nothing."""

from __future__ import annotations

import io
import json
import os
import pickle
import select
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import stc
from stc import SparseTensorClassifier
from stc.cli import main
from stc.exceptions import ModelFileError, ModelNotFoundError, SourceFileError, StoreError
from stc.fitted import FittedModel
from stc.io.header import PARAMETERS
from stc.stores.keys import text_key
from support.broken_files import sealed
from support.models import paper_model
from support.stores import another_store

X, Y = stc.load_zoo()
# Events of Python that change files or open connections.
_EVENTS = {
    "sqlite3.connect", "socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen",
    "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.link", "os.symlink",
    "os.system", "os.exec", "os.fork", "os.posix_spawn", "shutil.copyfile", "tempfile.mkstemp",
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_watched: list[list[str]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watched:
        return
    opened = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
    # Python writes the bytecode of what it imports.
    if event in _EVENTS or (opened and "__pycache__" not in str(arguments[0])):
        _watched[-1].append(f"{event} {arguments}")


sys.addaudithook(_hook)  # for good, as no hook can be removed


@contextmanager
def nothing_happens(folder: Path) -> Iterator[None]:
    """Assert that nothing is connected to, written or created: by Python, or in a folder."""
    before = contents(folder)
    _watched.append([])
    try:
        yield
    finally:
        events = _watched.pop()
    assert events == []
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def with_parameters(path: Path, **parameters: Any) -> None:
    """Save a model whose header has other parameters, with the digest that belongs to it."""
    paper_model().fit(X, Y).save(path)
    metadata = pl.read_parquet_metadata(path)
    metadata.pop("ARROW:schema", None)
    header = json.loads(metadata["stc"])
    header["parameters"] |= parameters
    file = io.BytesIO()
    frame = pl.read_parquet(path)
    frame.write_parquet(file, metadata={**metadata, "stc": json.dumps(header)})
    path.write_bytes(sealed(file.getvalue()))


def test_what_happens_is_noticed(tmp_path: Path) -> None:
    def looked(work: Callable[[], Any]) -> None:
        with nothing_happens(tmp_path):
            work()

    def connect() -> None:
        with socket.socket() as one:
            one.connect_ex(("127.0.0.1", 1))

    for work in (
        lambda: sqlite3.connect(":memory:").close(),
        lambda: duckdb.connect(str(tmp_path / "x.duckdb")).close(),
        lambda: (tmp_path / "x").write_bytes(b"x"),
        lambda: (tmp_path / "y").mkdir(),
        connect,
    ):
        with pytest.raises(AssertionError):
            looked(work)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A port that nobody has connected to when the test is over."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server
        assert select.select([server], [], [], 0)[0] == []


LOADERS: dict[str, Callable[[Path], Any]] = {
    "stc.load": stc.load,
    "SparseTensorClassifier.load": SparseTensorClassifier.load,
    "FittedModel.load": FittedModel.load,
}


def strange_parameters(folder: Path, port: int) -> dict[str, dict[str, Any]]:
    """Return parameters that a stranger may write into a header."""
    return {
        "a store in a file": {"store": f"sqlite:///{folder}/evil.db", "name": "zoo"},
        "a store in DuckDB": {"store": f"duckdb:///{folder}/evil.duckdb"},
        "a store on a server": {"store": f"postgresql://ada:b@127.0.0.1:{port}/zoo"},
        "a name only": {"name": "zoo"},
        "nothing": {"store": None},
        "a URL": {"url": f"postgresql://127.0.0.1:{port}/zoo"},
        "an unknown name": {"anything": 1},
        "an attribute": {"__class__": "x"},
        "a method": {"fit": 1},
        "a private attribute": {"_fitted": 1},
        "an empty name": {"": 1},
        "another case": {"Power": 1},
        "a long name": {"x" * 10_000: 1},
        "several lines": {"a\nb": 1},
    }


CASES = list(strange_parameters(Path(), 0))


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("case", CASES)
def test_a_parameter_that_save_does_not_write_is_refused(
    tmp_path: Path, listener: socket.socket, case: str, loader: str
) -> None:
    parameters = strange_parameters(tmp_path, listener.getsockname()[1])[case]
    path = tmp_path / "evil.stc.parquet"
    with_parameters(path, **parameters)
    with nothing_happens(tmp_path), pytest.raises(ModelFileError) as refused:
        LOADERS[loader](path)
    name = f"{next(iter(parameters))!r:.80}"
    message = f"cannot be loaded as a model: {name} is not a parameter of a model"
    assert refused.value.message == message.replace("\n", " ")
    assert refused.value.path == str(path)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("command", ["info", "predict", "explain", "sql", "update", "merge"])
@pytest.mark.parametrize("case", CASES[:4])
def test_no_command_follows_such_a_parameter(
    tmp_path: Path,
    listener: socket.socket,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    case: str,
    command: str,
) -> None:
    parameters = strange_parameters(tmp_path, listener.getsockname()[1])[case]
    path, data = tmp_path / "evil.stc.parquet", tmp_path / "zoo.csv"
    with_parameters(path, **parameters)
    X.with_columns(kind=Y).write_csv(data)
    arguments = {
        "info": [path],
        "predict": [path, data],
        "explain": [path, data],
        "sql": [path],
        "update": [path, data, "--target", "kind"],
        "merge": [path, path, "--output", tmp_path / "merged.stc.parquet"],
    }[command]
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    assert main([command, *map(str, arguments)]) == 5
    shown = capsys.readouterr().err
    assert "is not a parameter of a model" in shown
    assert repr(next(iter(parameters))) in shown
    left = contents(tmp_path)
    if command == "update":  # a lock, next to the file that would be written
        left = {name: content for name, content in left.items() if not name.endswith(".lock")}
    assert left == before


@pytest.mark.parametrize(("name", "kind"), [("phases", "PhaseLearner"), ("policy", "PolicyAgent")])
def test_nor_does_a_learner_in_the_header_take_more(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / "evil.stc.parquet"
    with_parameters(path, **{name: {kind: {"mapping": [["store", f"sqlite:///{tmp_path}/x.db"]]}}})
    for load in LOADERS.values():
        with nothing_happens(tmp_path), pytest.raises(ModelFileError, match="'store'"):
            load(path)


def test_every_parameter_of_the_estimator_is_written_and_no_other_is_read(tmp_path: Path) -> None:
    assert set(SparseTensorClassifier().get_params()) == PARAMETERS
    path = tmp_path / "zoo.stc.parquet"
    paper_model().fit(X, Y).save(path)
    assert set(json.loads(pl.read_parquet_metadata(path)["stc"])["parameters"]) == PARAMETERS


def test_a_file_as_it_is_saved_is_loaded_without_a_trace(tmp_path: Path) -> None:
    """The same edit without a strange parameter is accepted: it is the parameter that is not."""
    path = tmp_path / "zoo.stc.parquet"
    with_parameters(path, power=0.4)
    for load in LOADERS.values():
        with nothing_happens(tmp_path):
            model = load(path)
            assert model.predict(X[:1]).tolist() == Y[:1].to_list()
            model.explain_local(X[:3])
            pickle.loads(pickle.dumps(model)).predict_proba(X)
    assert stc.load(path).power == 0.4


def test_a_parameter_in_a_store_is_refused_as_in_a_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/zoo.db"
    for model in (paper_model(), paper_model().fit(X, Y)):
        with stc.open_store(url) as store:
            store.create("zoo", model, overwrite=True)
        with sqlite3.connect(tmp_path / "zoo.db") as connection:
            (header,) = connection.execute("SELECT header FROM stc_models").fetchone()
            evil = json.loads(header)
            evil["parameters"] |= {"store": f"sqlite:///{tmp_path}/evil.db"}
            text = json.dumps(evil)
            change = "UPDATE stc_models SET header = ?, header_key = ?"
            connection.execute(change, [text, text_key(text)])
        connection.close()
        before = set(contents(tmp_path))
        with stc.open_store(url) as store:
            with pytest.raises(StoreError, match="'store' is not a parameter of a model"):
                _ = store["zoo"]
            del store["zoo"]
        assert set(contents(tmp_path)) == before == {"zoo.db"}


# --- stores -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
@pytest.mark.parametrize("file", ["zoo.db", "no/such/folder/zoo.db"])
def test_a_store_that_is_not_there_is_not_created_by_looking(
    tmp_path: Path, scheme: str, file: str
) -> None:
    with nothing_happens(tmp_path), stc.open_store(f"{scheme}:///{tmp_path}/{file}") as store:
        assert (list(store), len(store), "zoo" in store) == ([], 0, False)
        assert store.get("zoo") is None
        assert dict(store) == {}
        assert pickle.loads(pickle.dumps(store)) is store
        with pytest.raises(ModelNotFoundError, match="'zoo'"):
            _ = store["zoo"]
        with pytest.raises(ModelNotFoundError, match="'zoo'"):
            del store["zoo"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["sqlite:///file:zoo.db", "sqlite:///file:zoo.db?uri=true"])
def test_nor_is_a_file_that_sqlite_may_take_for_a_uri(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with nothing_happens(tmp_path), stc.open_store(url) as store:
        assert (list(store), "zoo" in store) == ([], False)
    with nothing_happens(tmp_path), pytest.raises(SourceFileError, match="no such file"):
        stc.source(url, "zoo")
    with stc.open_store(url) as store:
        store.create("zoo", paper_model())
        assert list(store) == ["zoo"]
    name = "zoo.db" if "uri" in url else "file:zoo.db"
    assert [path.name for path in tmp_path.glob("*.db")] == [name]


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_reading_a_store_changes_nothing(tmp_path: Path, scheme: str) -> None:
    (folder := tmp_path / "store").mkdir()
    url = f"{scheme}:///{folder}/zoo.db"
    with stc.open_store(url) as store:
        store.create("zoo", paper_model()).fit(X, Y)
        store.create("empty", paper_model())
    before = contents(folder)
    for _ in range(2):
        with another_store(url) as store:
            model = store["zoo"]
            assert list(store) == ["empty", "zoo"]
            assert model.predict(X[:1]).tolist() == Y[:1].to_list()
            model.explain_local(X[:3])
            assert model.get_params()["power"] == 0.5
            assert store["empty"].get_params()["power"] == 0.5
            model.save(tmp_path / "zoo.stc.parquet")
            model.to_estimator().partial_fit(X, Y)
            with pytest.raises(ModelNotFoundError, match="'empty', 'zoo'"):
                _ = store["other"]
            assert without_log(folder) == before
        assert contents(folder) == before


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_database_of_others_is_not_changed_by_looking(tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "zoo.db"
    connect: Any = sqlite3.connect if scheme == "sqlite" else duckdb.connect
    connection = connect(str(path))
    connection.execute("CREATE TABLE animals (name TEXT)")
    connection.commit()
    connection.close()
    before = contents(tmp_path)
    with stc.open_store(f"{scheme}:///{path}") as store:
        assert (list(store), "zoo" in store) == ([], False)
        with pytest.raises(ModelNotFoundError, match="'zoo'"):
            _ = store["zoo"]
    assert contents(tmp_path) == before


def test_opening_a_store_of_a_server_does_not_connect(listener: socket.socket) -> None:
    """Only what needs the server connects to it; the listener sees it if anything else does."""
    with stc.open_store(f"postgresql://ada:b@127.0.0.1:{listener.getsockname()[1]}/zoo") as store:
        assert repr(store) == f"ModelStore({store.url!r})"
        assert pickle.loads(pickle.dumps(store)).url == store.url


def without_log(folder: Path) -> dict[str, bytes]:
    """Return all files but those that SQLite has next to a file that is open."""
    found = contents(folder).items()
    return {name: data for name, data in found if not name.endswith(("-wal", "-shm"))}
