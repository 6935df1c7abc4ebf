"""A canary password, and all that could show it: texts, pages, pickles, errors and files."""

from __future__ import annotations

import io
import logging
import pickle
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import joblib
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_html_repr

from stc import ModelStore, StoredModel
from stc.report import report

# Letters only: escaping leaves it as it is, so that it is found wherever it is written.
CANARY = "kanarienvogel"
HOST = "127.0.0.1:1"  # where no server answers
# Passwords with every sign that has a meaning in a URL.
PASSWORDS = [CANARY, *(f"x{sign}{CANARY}{sign}y" for sign in "@:/?#%&=+ '\"\\[]*;,$é")]

# URLs that hold the canary as a secret, by their shape; each can be parsed.
URLS = {
    "a password": f"postgresql://ada:{CANARY}@{HOST}/zoo",
    "no user": f"postgresql://:{CANARY}@{HOST}/zoo",
    "a user with @": f"postgresql://ada@corp.com:{CANARY}@{HOST}/zoo",
    "a user with %40": f"postgresql://ada%40corp.com:{CANARY}@{HOST}/zoo",
    "a password with a raw @": f"postgresql://ada:{CANARY}@{CANARY}@{HOST}/zoo",
    "a password with a raw :": f"postgresql://ada:{CANARY}:{CANARY}@{HOST}/zoo",
    "a password with a raw %": f"postgresql://ada:%{CANARY}%zz@{HOST}/zoo",
    "a password with [": f"postgresql://ada:[{CANARY}@{HOST}/zoo",
    "an option": f"postgresql://ada@{HOST}/zoo?password={CANARY}",
    "an option in capitals": f"postgresql://ada@{HOST}/zoo?PASSWORD={CANARY}",
    "an option of TLS": f"postgresql://ada@{HOST}/zoo?sslmode=disable&sslpassword={CANARY}",
    "an escaped option": f"postgresql://ada@{HOST}/zoo?p%61ssword={CANARY}",
    "an option twice": f"postgresql://ada@{HOST}/zoo?password={CANARY}&password={CANARY}2",
    "options within an option": f"postgresql://ada@{HOST}/zoo?application_name=a;pwd={CANARY}",
    "a URL within an option": f"postgresql://{HOST}/z?application_name=http://a:{CANARY}%40b",
    **{
        f"{password!r}, escaped": f"postgresql://ada:{quote(password, safe='')}@{HOST}/zoo"
        for password in PASSWORDS[1:]
    },
}

# What cannot be parsed, or is not the URL of a store.
WRONG_URLS = {
    "a password with a raw /": f"postgresql://ada:x/{CANARY}@{HOST}/zoo",
    "a password with a raw ?": f"postgresql://ada:x?{CANARY}@{HOST}/zoo",
    "a password with a raw #": f"postgresql://ada:x#{CANARY}@{HOST}/zoo",
    "a password with digits and /": f"postgresql://ada:12/{CANARY}@{HOST}/zoo",
    "a raw @ in an option": f"postgresql://{HOST}/zoo?user=ada@b&password={CANARY}",
    "no host": f"postgresql://ada:{CANARY}/zoo",
    "a port that is none": f"postgresql://ada:{CANARY}@127.0.0.1:port/zoo",
    "a port that is too large": f"postgresql://ada:{CANARY}@127.0.0.1:65536/zoo",
    "a port without end": f"postgresql://ada:{CANARY}@127.0.0.1:{'9' * 5000}/zoo",
    "an open bracket": f"postgresql://ada:{CANARY}@[::1/zoo",
    "a NUL": f"postgresql://ada:{CANARY}%00@{HOST}/zoo",
    "a raw NUL": f"postgresql://ada:{CANARY}\0@{HOST}/zoo",
    "a surrogate": f"postgresql://ada:{CANARY}\ud800@{HOST}/zoo",
    "no scheme": f"ada:{CANARY}@{HOST}/zoo",
    "no slashes": f"postgresql:ada:{CANARY}@{HOST}/zoo",
    "one slash": f"postgresql:/ada:{CANARY}@{HOST}/zoo",
    "a scheme of Java": f"jdbc:postgresql://ada:{CANARY}@{HOST}/zoo",
    "a conninfo": f"host=127.0.0.1 user=ada password={CANARY}",
    "a password in the path": f"postgresql://ada@{HOST}/zoo;password={CANARY}",
    "a password in the host": f"mssql://127.0.0.1;Password={CANARY}/zoo",
    "another database": f"mysql://ada:{CANARY}@{HOST}/zoo",
    "an unknown database": f"zoo+driver://ada:{CANARY}@{HOST}/zoo",
    "a file with a login": f"sqlite://ada:{CANARY}@{HOST}/zoo.db",
    "a file with a password": f"sqlite://:{CANARY}@/zoo.db",
    "a file with a raw /": f"duckdb://ada:12/{CANARY}@127.0.0.1/zoo.db",
    "a file with an option only": f"sqlite://?password={CANARY}",
}


def assert_hidden(found: Any, what: str = "") -> None:
    """Assert that a text, or bytes, does not hold the canary."""
    text = found.decode("latin-1") if isinstance(found, bytes) else str(found)
    place = text.lower().find(CANARY)
    assert place < 0, f"{what}: ...{text[max(place - 80, 0) : place + 40]!r}"


X = [{"a": a, "b": b} for a in "uv" for b in "xyz"] * 3
Y = [row["a"] for row in X]


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Log all that anybody logs, and search it for the canary after each test."""
    for name in (None, "sqlalchemy", "sqlalchemy.engine", "sqlalchemy.pool", "psycopg", "stc"):
        caplog.set_level(logging.DEBUG, name)
    yield caplog
    for record in caplog.get_records("call"):
        assert_hidden(record.getMessage(), record.name)
        assert_hidden(vars(record), record.name)


def chain(error: BaseException) -> list[BaseException]:
    """Return an error, its causes and the errors that were handled when it was raised."""
    found: list[BaseException] = []
    rest: list[BaseException | None] = [error]
    while rest:
        one = rest.pop()
        if one is not None and all(one is not known for known in found):
            found.append(one)
            rest += [one.__cause__, one.__context__]
    return found


def assert_error_hides(error: BaseException) -> None:
    """Assert that neither an error nor one behind it shows the canary."""
    for one in chain(error):
        told = {"str": str(one), "repr": repr(one), "args": one.args, "fields": vars(one)}
        for name, value in told.items():
            assert_hidden(value, f"{type(one).__name__}, {name}")
        assert_hidden(getattr(one, "__notes__", ""), "notes")
        assert_hidden("".join(traceback.format_exception(one)), "traceback")
        # Fields of errors of libraries: a UnicodeError holds all that it could not encode.
        for name in ("object", "orig", "params", "statement", "filename", "doc"):
            assert_hidden(getattr(one, name, ""), name)
    assert_hidden(pickle.dumps(error), "pickle")


def shown_by_store(store: ModelStore) -> Iterator[tuple[str, Any]]:
    """Yield all that shows a store, without connecting to it."""
    for name, one in {
        "store": store,
        "database": store._database,
        "url": store._database.url,
    }.items():
        yield f"{name}: repr", repr(one)
        yield f"{name}: str", str(one)
        yield f"{name}: format", f"{one} {one!a}"
        yield f"{name}: in a container", repr([{"one": (one,)}])
    yield "store.url", store.url
    yield "store: pickle", pickle.dumps(store)
    yield "store: oldest pickle", pickle.dumps(store, protocol=0)
    yield "url: pickle", pickle.dumps(store._database.url)
    yield "store: joblib", _dumped(store)
    unread = StoredModel(store, "zoo")
    yield "model: repr", repr(unread)
    yield "model: pickle", pickle.dumps(unread)
    yield "model: joblib", _dumped(unread)
    yield "pipeline: repr", repr(make_pipeline(FunctionTransformer(), store))
    yield "pipeline: pickle", pickle.dumps(make_pipeline(FunctionTransformer(), unread))


def shown_by_model(model: StoredModel, X: Any, y: Any, folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield all that shows a fitted model of a store, alone and within other estimators."""
    pipeline = make_pipeline(FunctionTransformer(), model)
    grid = GridSearchCV(model, {"power": [0.5, 1.0]}, cv=2)
    holders = {
        "model": model,
        "pipeline": pipeline,
        "grid": grid,
        "fitted grid": clone(grid).fit(X, y),
        "grid of a pipeline": GridSearchCV(pipeline, {}, cv=2),
        "vote": VotingClassifier([("zoo", model)]),
        "clone": clone(model),
        "estimator": model.to_estimator(),
        "fitted": model.fitted_,
    }
    for name, one in holders.items():
        yield f"{name}: repr", repr(one)
        yield f"{name}: str", str(one)
        if name != "fitted":
            yield f"{name}: HTML", estimator_html_repr(one)
            yield f"{name}: parameters", repr(one.get_params())
        if hasattr(one, "_repr_html_"):
            yield f"{name}: notebook", one._repr_html_()
        if hasattr(one, "_repr_mimebundle_"):
            yield f"{name}: bundle", repr(one._repr_mimebundle_())
        yield f"{name}: pickle", pickle.dumps(one)
        yield f"{name}: joblib", _dumped(one)
    page = report(model, X, y)
    yield "page", page.html
    yield "page: repr", repr(page)
    yield "page: notebook", page._repr_html_()
    local, overall = model.explain_local(X), model.explain_global()
    for explanation in (local, overall):
        yield "explanation", f"{explanation!r} {explanation}"
        yield "explanation: notebook", explanation._repr_html_()
    model.save(folder / "zoo.stc.parquet")
    yield "file", (folder / "zoo.stc.parquet").read_bytes()
    yield "metadata", repr(pl.read_parquet_metadata(folder / "zoo.stc.parquet"))
    yield "SQL", model.to_sql("duckdb")
    model.predict(pl.DataFrame(X), to=folder / "answers.csv")
    yield "answers", (folder / "answers.csv").read_bytes()


def _dumped(value: Any) -> bytes:
    file = io.BytesIO()
    joblib.dump(value, file)
    return file.getvalue()
