"""A canary password is in nothing that a store, a stored model or a source shows."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest
import skops.io
import sqlalchemy
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import stc
from stc._utils.database_url import DatabaseURL
from stc.exceptions import (
    ModelNotFoundError,
    ParameterError,
    SourceFileError,
    StcError,
    StoreError,
)
from stc.stores.stored_model import StoredModel
from support.models import paper_model
from support.secret_cases import (
    CANARY,
    URLS,
    WRONG_URLS,
    X,
    Y,
    assert_error_hides,
    assert_hidden,
    shown_by_model,
    shown_by_store,
)
from support.secret_cases import logged as logged  # an autouse fixture


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A file whose URL has a secret: DuckDB has options for passwords."""
    address = f"duckdb:///{tmp_path}/zoo.duckdb?threads=1&http_proxy_password={CANARY}"
    yield address
    stc.open_store(address).close()


@pytest.fixture
def model(url: str) -> StoredModel:
    return stc.open_store(url).create("zoo", paper_model(power=0.4)).fit(X, Y)


@pytest.fixture(params=URLS)
def unreachable(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a server that does not answer."""
    yield URLS[request.param]
    stc.open_store(URLS[request.param]).close()


def test_a_stored_model_and_what_holds_it_show_no_secret(
    model: StoredModel, tmp_path: Path
) -> None:
    found = list(shown_by_model(model, X, Y, tmp_path))
    assert len(found) > 50
    for what, shown in found:
        assert_hidden(shown, what)


def test_a_store_shows_no_secret(model: StoredModel, url: str, tmp_path: Path) -> None:
    store = stc.open_store(url)
    for what, shown in shown_by_store(store):
        assert_hidden(shown, what)
    assert store.url == f"duckdb:///{tmp_path}/zoo.duckdb?threads=1"
    assert repr(model) == f"StoredModel('zoo', store=ModelStore({store.url!r}))"
    assert repr(store._database) == f"DuckdbDatabase({store.url!r})"
    assert copy.deepcopy(model) is copy.copy(model) is model
    store.close()
    for path in tmp_path.iterdir():
        assert_hidden(path.read_bytes(), path.name)


def test_a_pickled_model_is_opened_again_without_the_secret(model: StoredModel) -> None:
    data, expected = pickle.dumps(model), model.predict_proba(X)
    model.store.close()
    again = pickle.loads(data)
    assert again.store._database.url.secrets == ()
    assert again.predict_proba(X).tolist() == expected.tolist()
    again.store.close()


def test_skops_writes_no_secret(model: StoredModel) -> None:
    # It writes the attributes of objects, whatever their `__reduce__` says.
    store = model.store
    for one in (store, store._database, model, make_pipeline(model), GridSearchCV(model, {})):
        with pytest.raises(TypeError, match="a store has no state to copy; to_estimator"):
            skops.io.dumps(one)
    url = store._database.url
    data = skops.io.dumps(url)
    with ZipFile(BytesIO(data)) as file:
        for name in file.namelist():
            assert_hidden(file.read(name), name)
    again = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    assert again == pickle.loads(pickle.dumps(url)) == DatabaseURL.parse(store.url) != url


REFUSED: dict[str, Callable[[StoredModel], Any]] = {
    "no such model": lambda model: model.store["other"],
    "no such model to delete": lambda model: model.store.__delitem__("other"),
    "a name that is taken": lambda model: model.store.create("zoo", paper_model()),
    "a name that is none": lambda model: model.store.create("", paper_model()),
    "not a model": lambda model: model.store.create("other", object()),
    "a NUL in a name": lambda model: model.store.create("a\0b", paper_model()),
    "a parameter": lambda model: model.set_params(power=-1),
    "another model": lambda model: model.set_params(interactions=2),
    "not learnt": lambda model: model.unlearn([{"a": "u", "b": "new"}], ["u"]),
    "never learnt": lambda model: model.unlearn(X, Y, batch_id="never"),
    "a batch id": lambda model: model.partial_fit(X, Y, batch_id=""),
    "a URL as a dialect": lambda model: model.to_sql(URLS["a password"]),
    "bad data": lambda model: model.partial_fit(X, [None, *Y[1:]]),
    "a folder that is not there": lambda model: model.save("no/such/folder/zoo.stc.parquet"),
    "a removed model": lambda model: (model.store.__delitem__("zoo"), model.predict(X)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_call_shows_no_secret(model: StoredModel, case: str) -> None:
    with pytest.raises((StcError, ValueError)) as refused:
        REFUSED[case](model)
    assert_error_hides(refused.value)


def test_a_damaged_store_shows_no_secret(model: StoredModel, url: str, tmp_path: Path) -> None:
    path = tmp_path / "zoo.duckdb"
    model.store.close()
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError) as refused:
        _ = stc.open_store(url)["zoo"]
    assert_error_hides(refused.value)
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError) as refused:
        _ = stc.open_store(url)["zoo"]
    assert_error_hides(refused.value)


def test_a_driver_that_quotes_a_secret_option_is_not_quoted(tmp_path: Path) -> None:
    """DuckDB quotes the value that it cannot convert, and so would the error behind ours."""
    url = f"duckdb:///{tmp_path}/zoo.duckdb?allow_persistent_secrets={CANARY}"
    with stc.open_store(url) as store, pytest.raises(StoreError) as refused:
        store.create("zoo", paper_model())
    assert "Could not convert string '***' to BOOL" in str(refused.value)
    assert_error_hides(refused.value)


def test_a_driver_that_quotes_an_option_is_quoted_without_its_secret(
    logged: pytest.LogCaptureFixture,
) -> None:
    url = f"postgresql://127.0.0.1:1/zoo?connect_timeout=a;pwd={CANARY}"
    expected = r"bad value for connect_timeout: '\*\*\*'"
    with stc.open_store(url) as store, pytest.raises(StoreError, match=expected) as refused:
        list(store)
    assert_error_hides(refused.value)
    with pytest.raises(SourceFileError, match=expected) as failed:
        stc.source(url, "animals")
    assert_error_hides(failed.value)
    logged.clear()  # at the level DEBUG, SQLAlchemy logs what psycopg said of the option


def test_a_file_that_ignores_a_secret_shows_no_secret(
    tmp_path: Path, logged: pytest.LogCaptureFixture
) -> None:
    store = stc.open_store(f"sqlite:///{tmp_path}/zoo.db?password={CANARY}")
    with pytest.warns(sqlalchemy.exc.SAWarning, match="'password' are not accepted") as warned:
        model = store.create("zoo", paper_model())
    assert_hidden([str(one.message) for one in warned])
    model.fit(X, Y)
    for what, shown in (*shown_by_store(store), *shown_by_model(model, X, Y, tmp_path)):
        assert_hidden(shown, what)
    store.close()
    assert_hidden((tmp_path / "zoo.db").read_bytes())
    names = {record.name for record in logged.get_records("call")}
    assert any(name.startswith("sqlalchemy.engine") for name in names)
    assert any(name.startswith("sqlalchemy.pool") for name in names)


def test_an_option_that_is_no_option_is_an_error_of_the_store() -> None:
    url = f"postgresql://ada:{CANARY}@127.0.0.1:1/zoo?port=none"
    with stc.open_store(url) as store, pytest.raises(StoreError, match="cannot be used") as refused:
        list(store)
    assert_error_hides(refused.value)


def test_a_server_that_does_not_answer(unreachable: str) -> None:
    store = stc.open_store(unreachable)
    for what, shown in shown_by_store(store):
        assert_hidden(shown, what)
    for call in (
        lambda: list(store),
        lambda: store["zoo"],
        lambda: store.create("zoo", paper_model()),
        lambda: store.__delitem__("zoo"),
        lambda: StoredModel(store, "zoo").predict(X),
        lambda: pickle.loads(pickle.dumps(StoredModel(store, "zoo"))),
    ):
        with pytest.raises(StoreError, match="the server cannot be reached: ") as refused:
            call()
        assert_error_hides(refused.value)
        assert refused.value.path == store.url


def test_a_source_of_a_server_that_does_not_answer(unreachable: str) -> None:
    with pytest.raises(SourceFileError, match="the database cannot be read: ") as refused:
        stc.source(unreachable, "animals")
    assert_error_hides(refused.value)


@pytest.mark.filterwarnings("ignore:Query string argument")
@pytest.mark.parametrize("shape", WRONG_URLS)
def test_a_source_that_is_no_url_of_a_database(shape: str) -> None:
    with pytest.raises((ParameterError, ImportError)) as refused:
        stc.source(WRONG_URLS[shape], "animals")
    assert_error_hides(refused.value)


@pytest.mark.parametrize("shape", [*URLS, *WRONG_URLS])
def test_a_url_in_the_place_of_a_path_is_not_quoted(shape: str) -> None:
    url = (URLS | WRONG_URLS)[shape]
    if "://" not in url:
        return  # a path, for all that one can tell
    fitted = paper_model().fit(X, Y)
    for call in (
        lambda: stc.load(url),
        lambda: stc.fitted.FittedModel.load(Path(url)),
        lambda: stc.source(url),
        lambda: fitted.fit(url, "class"),
        lambda: fitted.fit(f"{url}.parquet", "class"),
        lambda: fitted.predict(url),
        lambda: fitted.save(url),
        lambda: fitted.predict(pl.DataFrame(X), to=url),
        lambda: fitted.predict(pl.DataFrame(X), to=f"{url}.csv"),
    ):
        with pytest.raises(StcError) as refused:
            call()
        assert_error_hides(refused.value)


def test_a_source_shows_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "zoo.db"
    pl.DataFrame(X).with_columns(kind=pl.Series(Y)).write_database("zoo", f"sqlite:///{path}")
    # SQLite takes any option of a file: URI, and ignores those that it does not know.
    url = f"sqlite:///file:{path}?uri=true&password={CANARY}"
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    for given in (url, engine):
        for table in (
            "zoo",
            sqlalchemy.select(sqlalchemy.table("zoo", *map(sqlalchemy.column, "ab"))),
        ):
            data = stc.source(given, table)
            for shown in (repr(data), str(data), repr(data.backend), repr([data.backend])):
                assert_hidden(shown)
            for pickled in (pickle.dumps, copy.deepcopy):
                with pytest.raises((AttributeError, TypeError)) as refused:
                    pickled(data)
                assert_error_hides(refused.value)
        model = paper_model().fit(stc.source(given, "zoo"), "kind")
        assert model.predict(stc.source(given, "zoo")).height == len(X)
        with pytest.raises(ParameterError, match="no table 'other'") as missing:
            stc.source(given, "other")
        assert_error_hides(missing.value)
    data = stc.source(engine, "zoo")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE zoo"))
    for call in (
        lambda: paper_model().fit(data, "kind"),
        lambda: model.predict(data),
        lambda: model.predict(data, to="answers"),
    ):
        with pytest.raises(SourceFileError, match="no such table: zoo") as failed:
            call()
        assert_error_hides(failed.value)


def test_names_in_an_error_are_those_of_the_store(model: StoredModel) -> None:
    """A password that is also a name is shown as a name."""
    model.store.create(CANARY, paper_model())
    with pytest.raises(ModelNotFoundError, match=f"'{CANARY}', 'zoo'"):
        _ = model.store["other"]
