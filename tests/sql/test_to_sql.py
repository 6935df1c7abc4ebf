"""A model as one SQL query: it answers what predict_proba does, in databases without stc."""

import sys
from collections.abc import Iterator

import polars as pl
import pytest
import sqlglot

from stc import SparseTensorClassifier, load_zoo
from stc.exceptions import DataError, ParameterError, ParameterTypeError
from stc.sql import expressions
from support.databases import DuckDB, SQLite
from support.export_cases import ANY_CASE, CASES, Database, check, close, typed_columns
from support.models import paper_model


@pytest.fixture(params=[DuckDB, SQLite], ids=lambda kind: kind.dialect)
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    own = request.param()
    yield own
    own.close()


@pytest.mark.parametrize("case", ANY_CASE)
def test_query_says_what_predict_proba_does(database: Database, case: str) -> None:
    for model, X in CASES[case]():
        check(database, model, X)


def test_types_that_sqlite_has_not() -> None:
    for model, X in typed_columns():
        check(DuckDB(), model, X)


def test_sqlite_gets_many_rows_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        expressions, "_SQLITE_ROWS", 300
    )  # else there would have to be 20,000 features
    *_, (model, X) = CASES["many"]()
    assert model.to_sql("sqlite").count("VALUES") > 4
    check(SQLite(), model, X)


# --- the table of features ------------------------------------------------------------------------


def lights() -> SparseTensorClassifier:
    return paper_model().fit([{"light": "red"}, {"light": "green"}], ["stop", "go"])


def asked(database: Database, model: SparseTensorClassifier, rows: list[tuple]) -> dict:
    kinds = {"item": pl.String, "feature": pl.String, "weight": pl.Float64}
    database.load("features", pl.DataFrame(rows, schema=kinds, orient="row"))
    answer = database.ask(model.to_sql(database.dialect, form="wide")).drop("prediction")
    return {row[0]: row[1:] for row in answer.rows()}


def test_rows_that_say_nothing(database: Database) -> None:
    rows = [
        ("known", "light=red", 1.0),
        ("zero", "light=red", 0.0),
        ("no weight", "light=red", None),
        ("negative", "light=red", -1.0),
        ("no feature", None, None),
        ("unknown", "light=blue", 1.0),
        ("both", "light=green", 2.0),
        ("both", "never seen", 50.0),
        (None, "light=red", 1.0),
    ]
    nothing = (0.5, 0.5)
    assert asked(database, lights(), rows) == {
        "known": (0.0, 1.0),
        "zero": nothing,
        "no weight": nothing,
        "negative": nothing,
        "no feature": nothing,
        "unknown": nothing,
        "both": (1.0, 0.0),
    }


def test_rows_of_one_feature_add_up(database: Database) -> None:
    model = paper_model().fit([{"a": ["u", "v"]}, {"a": ["v", "w", "w"]}], ["x", "y"])
    once = [("i", "a=u", 3.0), ("i", "a=w", 2.0)]
    parts = [("i", "a=u", 1.0), ("i", "a=w", 2.0), ("i", "a=u", 2.0)]
    found = asked(database, model, once)["i"]
    assert found == pytest.approx(asked(database, model, parts)["i"])
    assert found == pytest.approx(model.predict_proba([{"a": {"u": 3, "w": 2}}])[0])


def test_query_follows_the_parameters(database: Database) -> None:
    X, y = load_zoo()
    model = paper_model().fit(X, y)
    for power in (0.2, 1.0):
        check(database, model.set_params(power=power), X[:20])


def test_scores_that_would_vanish(database: Database) -> None:
    """The power 1/p of a small share is no double, and PostgreSQL refuses to compute it."""
    X = [{"a": k % 3, "b": k % 5, "c": k % 7} for k in range(60)]
    model = paper_model(power=0.001).fit(X, [k % 4 for k in range(60)])
    check(database, model, pl.DataFrame(X))


# --- names ----------------------------------------------------------------------------------------


def test_names_that_two_features_share() -> None:
    model = paper_model().fit([{"a": "b=c"}, {"a=b": "c"}], ["x", "y"])
    with pytest.raises(DataError, match=r"have the same name 'a=b=c'.*give data="):
        model.to_sql()
    # From a table of items there is no doubt.
    database = DuckDB()
    X = pl.DataFrame({"a": ["b=c", None], "a=b": [None, "c"]})
    database.load("items", X.with_row_index("id"))
    answer = database.ask(model.to_sql(data="items", item="id", form="wide")).sort("item")
    close(answer["probability_x"], [1, 0])


@pytest.mark.parametrize("form", ["long", "wide"])
def test_text_that_sqlglot_has_a_meaning_for(form: str) -> None:
    """Indenting would turn this word into the end of a line."""
    mark = "__SQLGLOT__LB__"
    for model in (
        paper_model().fit([{"a": mark}, {"a": "v"}], ["x", "y"]),
        paper_model().fit([{mark: "u"}, {mark: "v"}], ["x", "y"]),
        paper_model().fit([{"a": "u"}, {"a": "v"}], [mark, "y"]),
    ):
        assert mark in model.to_sql(form=form)


@pytest.mark.parametrize(
    "name", ["f; DROP TABLE f", "f, g", "(SELECT 1)", "f AS g", "it's", "f()", ""]
)
def test_what_is_no_table(name: str) -> None:
    with pytest.raises(ParameterError, match="is not the name of a table"):
        lights().to_sql(features=name)
    with pytest.raises(ParameterError, match="is not the name of a table"):
        lights().to_sql("postgres", data=name)


def test_tables_with_schemas_and_quotes(database: Database) -> None:
    model = lights()
    for name in ("main.features", '"my features"', 'main."drop table; --"'):
        bare = name.removeprefix("main.")
        rows = pl.DataFrame({"item": [1], "feature": ["light=red"], "weight": [1]})
        database.load(bare, rows)
        answer = database.ask(model.to_sql(database.dialect, features=name, form="wide"))
        assert answer["prediction"].to_list() == ["stop"]


def test_a_column_that_is_not_there_is_an_error(database: Database) -> None:
    """SQLite would take its name, in quotes, for a string."""
    database.load("items", pl.DataFrame({"id": [1], "other": ["red"]}))
    with pytest.raises(Exception, match="light"):
        database.ask(lights().to_sql(database.dialect, data="items", item="id"))


# --- what is refused ------------------------------------------------------------------------------


def test_what_is_refused() -> None:
    model = lights()
    with pytest.raises(ParameterError, match="form='broad': expected 'long' or 'wide'"):
        model.to_sql(form="broad")
    with pytest.raises(ParameterError, match="Unknown dialect 'postgresql'"):
        model.to_sql("postgresql")
    with pytest.raises(ParameterError, match="'stc_items', as the table is; rename the table"):
        model.to_sql(features="stc_items")
    with pytest.raises(ParameterTypeError, match="item is a string, got int"):
        model.to_sql(data="t", item=7)
    texts = paper_model().fit(["good", "bad"], ["+", "-"])
    with pytest.raises(ParameterError, match=r"data='t' needs attributes.*from documents"):
        texts.to_sql(data="t")
    null = paper_model().fit([["a\0"], ["b"]], ["+", "-"])
    with pytest.raises(DataError, match=r"'x0=a.x00' holds the character NUL"):
        null.to_sql()
    apart = paper_model(power=600.0).fit([["a"]] * 999 + [["b"]], ["+"] * 998 + ["-"] * 2)
    with pytest.raises(ParameterError, match="too far apart"):
        apart.to_sql()
    both = pl.DataFrame({"a": ["b_c", "b"], "a_b": ["c", "d"]})
    joint = paper_model().fit([["u"], ["v"]], both)
    with pytest.raises(DataError, match="columns of the same name"):
        joint.to_sql(form="wide")


@pytest.mark.parametrize("dialect", ["mysql", "bigquery", "snowflake", "spark", "tsql", "trino"])
def test_other_dialects_can_read_it(dialect: str) -> None:
    """They are not tried here; but what is written is at least of their grammar."""
    for options in ({}, {"form": "wide"}, {"data": "t", "item": "id"}):
        sqlglot.parse_one(lights().to_sql(dialect, **options), dialect=dialect)


def test_absent_sqlglot_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ImportError, match=r"to_sql needs sqlglot: pip install .*\[sql\]"):
        lights().to_sql()
