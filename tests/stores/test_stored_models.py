"""Edges of stores and sources: odd files, many small batches, threads, parameters that go round."""

from __future__ import annotations

import copy
import gzip
import pickle
import random
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import estimator_html_repr

import stc
from stc import PhaseLearner, PolicyAgent, SparseTensorClassifier
from stc.stores import StoreError, open_store
from support.conformance import assert_same, corpus

FRAME = pl.DataFrame(
    {
        "a": ["x", "y", "x", "z"],
        "b": [1, 2, 1, 2],
        "w": [1.0, 2.0, 0.0, 1.0],
        "class": ["p", "q", "p", "q"],
    }
)
ITEMS = FRAME.select("a", "b")
CSV = "a,b,class\nx,1,p\ny,2,q\nx,1,p\nz,2,q\n"


@pytest.fixture(params=["sqlite", "duckdb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store of its own for each test."""
    address = f"{request.param}:///{tmp_path}/models.{request.param}"
    yield address
    open_store(address).close()


def plain() -> SparseTensorClassifier:
    return SparseTensorClassifier().fit(ITEMS, FRAME["class"])


# --- columns named in memory ----------------------------------------------------------------------

IN_MEMORY: dict[str, Callable[[pl.DataFrame], Any]] = {
    "polars": lambda frame: frame,
    "lazy": pl.DataFrame.lazy,
    "pandas": pl.DataFrame.to_pandas,
    "arrow": pl.DataFrame.to_arrow,
    "records": pl.DataFrame.to_dicts,
}


@pytest.mark.parametrize("kind", IN_MEMORY)
class TestNamedColumns:
    def test_a_target_and_a_weight_by_name(self, kind: str) -> None:
        data = IN_MEMORY[kind](FRAME)
        model = SparseTensorClassifier().fit(data, "class", "w")
        weighed = SparseTensorClassifier().fit(ITEMS, FRAME["class"], FRAME["w"].to_numpy())
        assert corpus(model) == corpus(weighed)
        assert model.feature_names_in_.tolist() == ["a", "b"]

    def test_they_may_be_there_or_not_in_predicting(self, kind: str) -> None:
        model = SparseTensorClassifier().fit(IN_MEMORY[kind](FRAME), "class", "w")
        whole, items = IN_MEMORY[kind](FRAME), IN_MEMORY[kind](ITEMS)
        assert model.predict(whole).tolist() == model.predict(items).tolist()
        assert model.score(whole) == model.score(whole, "class") == 1.0

    def test_they_are_remembered(self, kind: str) -> None:
        data = IN_MEMORY[kind](FRAME)
        model = SparseTensorClassifier().fit(data, "class", "w").partial_fit(data)
        assert model.class_mass_.tolist() == [2.0, 6.0]
        assert copy.deepcopy(model).unlearn(data).class_mass_.tolist() == [1.0, 3.0]
        assert pickle.loads(pickle.dumps(model)).partial_fit(data).class_mass_.sum() == 12

    def test_a_wrong_name_is_refused(self, kind: str) -> None:
        with pytest.raises(ValueError, match="'clas'"):
            SparseTensorClassifier().fit(IN_MEMORY[kind](FRAME), "clas")
        with pytest.raises(ValueError, match="'ww'"):
            SparseTensorClassifier().fit(IN_MEMORY[kind](FRAME), "class", "ww")


def test_codes_with_leading_zeros_stay_texts(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("zip,size,class\n01234,0.5,001\n02345,1.5,1\n1234,-0.5,1\n")
    model = SparseTensorClassifier().fit(path, "class")
    assert model.classes_.tolist() == ["001", "1"]
    assert {"zip=01234", "zip=1234", "size=0.5"} < set(model.get_feature_names_out())
    assert model.predict(path).tolist() == ["001", "1", "1"]


@pytest.mark.parametrize("ignored", [[], ["id"], ["a"]], ids=len)
def test_a_line_with_too_many_cells_is_never_learnt(ignored, tmp_path):
    path = tmp_path / "ragged.csv"
    lines = ["id,a,b,class", *(f"{k},1,2,x" for k in range(2000)), "2000,1,2,3,y", "2001,1,2,y"]
    path.write_text("\n".join(lines))
    with pytest.raises(pl.exceptions.ComputeError, match="more fields"):
        SparseTensorClassifier().fit(stc.source(path, ignore=ignored), "class")


def test_targets_and_a_weight_by_name_go_together(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "d.parquet")
    named = SparseTensorClassifier().fit(FRAME, "class", "w")
    for data in (FRAME, tmp_path / "d.parquet"):
        model = SparseTensorClassifier(targets="class").fit(data, sample_weight="w")
        assert corpus(model) == corpus(named)
    with pytest.raises(ValueError, match="give no y"):
        SparseTensorClassifier(targets="class").fit(FRAME, "class")


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        (".csv", b"\xef\xbb\xbf" + CSV.encode()),
        (".csv", CSV.replace("\n", "\r\n").encode()),
        (".csv", CSV.replace("x", '"x"').encode()),
        (".csv", CSV[:-1].encode()),
        (".CSV", CSV.encode()),
        (".csv.gz", gzip.compress(CSV.encode())),
        (".tsv", CSV.replace(",", "\t").encode()),
        (".jsonl.gz", gzip.compress(FRAME.drop("w").write_ndjson().encode())),
    ],
    ids=["BOM", "CRLF", "quotes", "no newline at the end", "capitals", "gz", "tabs", "jsonl.gz"],
)
def test_dialects_of_files_say_the_same(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"a name with spaces{ending}"
    path.write_bytes(content)
    assert corpus(SparseTensorClassifier().fit(path, "class")) == corpus(plain())


def test_another_separator(tmp_path: Path) -> None:
    content = 'a;b;class\n"1;5";x;u\n2,5;y;v\n'
    (tmp_path / "t.csv").write_text(content)
    data = stc.source(tmp_path / "t.csv", separator=";")
    model = SparseTensorClassifier().fit(data, "class")
    assert sorted(model.get_feature_names_out()) == ["a=1;5", "a=2,5", "b=x", "b=y"]
    assert model.predict(data).tolist() == ["u", "v"]
    (tmp_path / "t.tsv").write_text(content)
    again = SparseTensorClassifier().fit(stc.source(tmp_path / "t.tsv", separator=";"), "class")
    assert again.corpus_.equals(model.corpus_)
    with pytest.raises(
        ValueError, match=r"separator=';' is for \.csv and \.tsv, not for \.parquet"
    ):
        stc.source(tmp_path / "t.parquet", separator=";")
    with pytest.raises(ValueError, match="separator=';;': give one sign"):
        stc.source(tmp_path / "t.csv", separator=";;")
    for other in (data, pl.LazyFrame({"a": [1]})):
        with pytest.raises(ValueError, match="separator is for the path of a CSV"):
            stc.source(other, separator=";")


def test_a_quoted_cell_holds_anything(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('a,class\n"x, ""y""\nz",p\n')
    model = SparseTensorClassifier().fit(path, "class")
    assert model.corpus_["value"].to_list() == ['x, "y"\nz']


def test_files_of_a_glob_may_order_their_columns_differently(tmp_path: Path) -> None:
    FRAME.drop("w")[:2].write_parquet(tmp_path / "1.parquet")
    FRAME.select("class", "b", "a")[2:].write_parquet(tmp_path / "2.parquet")
    model = SparseTensorClassifier().fit(f"{tmp_path}/*.parquet", "class")
    assert corpus(model) == corpus(plain())


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "not there.parquet", f"{tmp_path}/no*.csv", "nothing.jsonl"):
        with pytest.raises(FileNotFoundError, match="no file"):
            SparseTensorClassifier().fit(path, "class")
    with pytest.raises(ValueError, match="ends with"):
        SparseTensorClassifier().fit(tmp_path, "class")
    (tmp_path / "header.csv").write_text("a,b,class\n")
    with pytest.raises(ValueError, match="no rows"):
        SparseTensorClassifier().fit(tmp_path / "header.csv", "class")
    with pytest.raises(ValueError, match="no rows"):
        plain().predict(tmp_path / "header.csv")


def test_an_error_names_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stc.sources.scan.BATCH", 1500)
    labels = ["p"] * 3012 + [None] + ["p"] * 987
    pl.DataFrame({"a": ["x"] * 4000, "class": labels}).write_parquet(tmp_path / "d.parquet")
    with pytest.raises(ValueError, match=r"rows 3000 to 3999 of the data: .* item 12 "):
        SparseTensorClassifier().fit(tmp_path / "d.parquet", "class")


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_answers_for_a_frame_in_memory_are_written(tmp_path: Path, kind: str) -> None:
    data = IN_MEMORY[kind](FRAME.drop("w"))
    to = plain().predict_proba(data, to=tmp_path / "answers.csv")
    found = pl.read_csv(to)
    assert found.columns == ["class", "probability_p", "probability_q"]
    assert_same(plain().predict_proba(ITEMS), found.select("^prob.*$").to_numpy())


def test_a_file_is_replaced_by_its_answers_only_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stc.sources.scan.BATCH", 2)
    path = tmp_path / "d.parquet"
    FRAME.drop("w").write_parquet(path)
    model = plain()
    calls: list[int] = []

    def failing(predictor: Any, items: pl.DataFrame) -> pl.DataFrame:
        calls.append(items.height)
        if len(calls) == 3:
            raise ValueError("in the middle")
        return pl.DataFrame({"prediction": predictor.predict(items)})

    with monkeypatch.context() as patched:
        patched.setattr("stc.streams.predictions", failing)
        with pytest.raises(ValueError, match="in the middle"):
            model.predict(path, to=path)
    assert pl.read_parquet(path).columns == ["a", "b", "class"]
    assert [own.name for own in tmp_path.iterdir()] == ["d.parquet"]
    model.predict(path, to=path)
    assert pl.read_parquet(path)["prediction"].to_list() == ["p", "q", "p", "q"]


def test_answers_never_hide_a_column(tmp_path: Path) -> None:
    to = tmp_path / "answers.csv"
    with pytest.raises(ValueError, match=r"'prediction'.*rename"):
        plain().predict(FRAME.drop("w").with_columns(prediction=1), to=to)
    with pytest.raises(ValueError, match=r"'probability_p'.*rename"):
        plain().predict_proba(FRAME.drop("w").with_columns(probability_p=1), to=to)
    for wrong in ("answers.xlsx", tmp_path, ""):
        with pytest.raises(ValueError, match="ends with"):
            plain().predict(FRAME.drop("w"), to=wrong)
    with pytest.raises(TypeError, match="frame or a source"):
        plain().predict([["x", 1]], to=to)
    assert not to.exists()


def test_columns_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("b,more,a\n1,u,x\n2,u,y\n")
    assert plain().predict(path).tolist() == ["p", "q"]
    path.write_text("id\n1\n")
    with pytest.raises(ValueError, match="no column 'a'"):
        plain().predict(path)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".arrow"])
def test_several_labels_are_written_as_lists(tmp_path: Path, ending: str) -> None:
    items = pl.DataFrame({"a": ["x", "y"]})
    model = SparseTensorClassifier(label_threshold=0.01).fit(items, [["p"], ["p", "q"]])
    to = model.predict(items, to=tmp_path / f"answers{ending}")
    read: Any = {".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet, ".arrow": pl.read_ipc}[
        ending
    ]
    assert read(to)["prediction"].to_list() == [["p"], ["p", "q"]]


def test_a_model_of_documents_takes_the_column_or_the_texts(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "body": ["good fun", "dull"], "class": ["+", "-"]})
    frame.write_parquet(tmp_path / "d.parquet")
    model = SparseTensorClassifier().fit(stc.source(tmp_path / "d.parquet", text="body"), "class")
    for data in (tmp_path / "d.parquet", frame, frame.to_dicts(), frame["body"], [*frame["body"]]):
        assert model.predict(data).tolist() == ["+", "-"]
    with pytest.raises(ValueError, match="'body'"):
        model.predict(frame.drop("body"))


# --- many small batches ---------------------------------------------------------------------------

DAY = date(2026, 1, 1)
CELLS: dict[str, tuple[Any, list[Any]]] = {
    "text": (pl.String, ["x", "y", "é", "'\"", "1", "🙂", "a,b", " x"]),
    "whole": (pl.Int64, [0, 1, -5, 10**12]),
    "truth": (pl.Boolean, [True, False]),
    "day": (pl.Date, [DAY + timedelta(days=k) for k in range(4)]),
    "moment": (pl.Datetime("us"), [datetime(2026, 1, 1, k) for k in range(4)]),
    "price": (pl.Decimal(10, 2), [Decimal("1.10"), Decimal("2.00"), Decimal("0")]),
    "number": (pl.Float64, [0.0, 1.0, 2.5, float("nan"), -0.0]),
    "hour": (pl.Time, [time(1), time(2, 3)]),
}


def _column(rng: random.Random, rows: int, kind: str) -> pl.Series:
    """Values of which some appear only in later batches, and the first is always there."""
    dtype, values = CELLS[kind]
    early = values[: max(len(values) // 2, 1)]
    cells = [rng.choice(early if k < rows / 2 else values) for k in range(rows)]
    gaps = [None if k and rng.random() < 0.2 else v for k, v in enumerate(cells)]
    return pl.Series(gaps, dtype=dtype)


def _target(rng: random.Random, rows: int, kind: str) -> pl.Series:
    kinds: dict[str, tuple[list[Any], list[Any]]] = {
        "text": (["p"], ["p", "a much longer class"]),
        "whole": ([3, 1], [2, 10**10]),
        "day": ([DAY], [DAY, DAY + timedelta(days=9)]),
    }
    early, late = kinds[kind]
    return pl.Series([rng.choice(early if k < rows / 2 else late) for k in range(rows)])


def _many(seed: int) -> tuple[pl.DataFrame, list[str]]:
    rng = random.Random(seed)
    rows = rng.randint(15, 40)
    kinds = rng.sample(sorted(CELLS), 3)
    frame = pl.DataFrame({kind: _column(rng, rows, kind) for kind in kinds})
    return frame.with_columns(
        t=_target(rng, rows, rng.choice(["text", "whole", "day"])),
        u=_target(rng, rows, rng.choice(["text", "whole"])),
        w=pl.Series([rng.choice([0.0, 0.5, 1.0, 3.0]) if k else 1.0 for k in range(rows)]),
    ), kinds


def _settings(items: list[str]) -> list[dict[str, Any]]:
    groups = {"one": items[:1], "other": items[1:]}
    return [
        {},
        {"missing": "category"},
        {"dimensions": groups, "policy": [["one"], ["other"]]},
        {"dimensions": "each", "policy": [items[:2], items[:1]]},
        {"interactions": 2},
    ]


@pytest.mark.parametrize("seed", range(10))
def test_small_batches_are_one_fit(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("scan", "duckdb"):
        monkeypatch.setattr(f"stc.sources.{module}.BATCH", 7)
    monkeypatch.setattr("stc.sources.duckdb.FEW", 5)
    frame, items = _many(seed)
    frame.write_parquet(tmp_path / "d.parquet")
    frame.write_ipc(tmp_path / "d.arrow")
    relation = duckdb.connect().from_arrow(frame.to_arrow())
    sources = [tmp_path / "d.parquet", tmp_path / "d.arrow", frame.lazy(), relation]
    params = _settings(items)[seed % 5]
    target: Any = ["t", "u"] if seed % 3 == 0 else "t"
    y = frame.select(target) if seed % 3 == 0 else frame["t"]
    weight = "w" if seed % 2 else None
    weights = frame["w"].to_numpy() if weight else None
    memory = SparseTensorClassifier(**params).fit(frame.select(items), y, weights)
    for own in sources:
        source = stc.source(own, columns=items)
        fitted = SparseTensorClassifier(**params).fit(source, target, weight)
        assert corpus(fitted) == corpus(memory)
        assert str(fitted.classes_) == str(memory.classes_)
        X = frame.select(items)
        assert_same(memory.predict_proba(X), fitted.predict_proba(X))
        fitted.unlearn(source)
        with pytest.raises(NotFittedError):
            fitted.predict(X)


def test_types_of_duckdb_are_those_of_their_arrow() -> None:
    connection = duckdb.connect()
    values = {
        "UUID": ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
        "TIMESTAMPTZ": ["2026-01-01", "2026-01-02"],
        "TIMESTAMP_S": ["2026-01-01", "2026-01-02"],
        "TIME": ["01:00", "02:00"],
    }
    others = ["HUGEINT", "UBIGINT", "TINYINT", "ENUM('1', '2')", "DECIMAL(18, 3)", "VARCHAR"]
    for kind in [*values, *others]:
        first, second = values.get(kind, ["1", "2"])
        relation = connection.sql(
            f"SELECT CAST('{first}' AS {kind}) AS a, 'p' AS class UNION ALL "
            f"SELECT CAST('{second}' AS {kind}), 'q' UNION ALL SELECT NULL, 'q'"
        )
        memory = SparseTensorClassifier().fit(relation.pl(), "class")
        assert corpus(SparseTensorClassifier().fit(relation, "class")) == corpus(memory)


# --- stores ---------------------------------------------------------------------------------------

MANY = pl.concat([FRAME] * 10)
NUMBERS = pl.DataFrame({"n": np.linspace(0, 1, 60), "a": ["x", "y"] * 30})


PARAMETERS: dict[str, tuple[dict[str, Any], pl.DataFrame, Any]] = {
    "an agent": (
        {"dimensions": "each", "policy": PolicyAgent(random_state=3)},
        MANY.select("a", "b"),
        MANY["class"],
    ),
    "a learner": (
        {"phases": PhaseLearner(penalties=(1.0,)), "entropy": 0.0},
        MANY.select("a", "b"),
        MANY["class"],
    ),
    "phases of whole numbers": ({"phases": {0: {"a": {"x": 0.5}}}}, ITEMS, [0, 1, 0, 1]),
    "phases as an array": ({"phases": np.zeros((5, 2))}, ITEMS, FRAME["class"]),
    "automatic numbers": ({"continuous": "auto"}, NUMBERS, ["p", "q"] * 30),
    "knots": ({"continuous": {"n": np.array([0, 0.5, 1])}}, NUMBERS, ["p", "q"] * 30),
    "an order of whole numbers": ({"ordinal": {"b": [1, 2]}}, ITEMS, FRAME["class"]),
    "tuples": ({"dimensions": (("a",), ("b",))}, ITEMS, FRAME["class"]),
    "a tiny power": ({"power": 1e-300}, ITEMS, FRAME["class"]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_go_round(url: str, name: str) -> None:
    params, X, y = PARAMETERS[name]
    memory = SparseTensorClassifier(**params).fit(X, y)
    SparseTensorClassifier(store=url, **params).fit(X, y)
    opened = SparseTensorClassifier(store=url)
    assert_same(memory.predict_proba(X), opened.predict_proba(X))
    for parameter, value in memory.get_params(deep=False).items():
        if parameter != "store":
            assert repr(getattr(opened, parameter)) == repr(value)
    for frame in ("policy_values_", "phase_history_"):
        if hasattr(memory, frame):
            assert getattr(opened, frame).equals(getattr(memory, frame))


def test_what_is_no_plain_data_is_refused(url: str) -> None:
    agent = PolicyAgent(random_state=np.random.RandomState(0))
    model = SparseTensorClassifier(dimensions="each", policy=agent, store=url)
    with pytest.raises(TypeError, match=r"policy: .* RandomState .* plain data"):
        model.fit(MANY.select("a", "b"), MANY["class"])
    assert not Path(url.split(":///")[1]).exists()


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "copy"])
def test_a_copy_is_the_same_stored_model(url: str, how: str) -> None:
    model = SparseTensorClassifier(store=url, power=0.3).fit(ITEMS, FRAME["class"])
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda own: pickle.loads(pickle.dumps(own)),
        "deepcopy": copy.deepcopy,
        "copy": copy.copy,
    }
    other = ways[how](model).partial_fit(ITEMS, FRAME["class"])
    assert other.class_mass_.sum() == model.class_mass_.sum() == 8
    assert other.power == 0.3


def test_a_model_can_be_shown_without_its_server() -> None:
    model = SparseTensorClassifier(store="postgresql://ada:s3cret@localhost:1/zoo")
    for shown in (model._repr_html_(), estimator_html_repr(model), repr(model)):
        assert "postgresql://ada@localhost:1/zoo" in shown
        assert "s3cret" not in shown
    with pytest.raises(StoreError, match="cannot be reached"):
        model.predict([["a"]])


def test_no_password_is_shown() -> None:
    model = SparseTensorClassifier(store="postgresql://ada:s3cret@localhost:1/zoo")
    pipeline = Pipeline([("model", model)])
    search = GridSearchCV(model, {"power": [1.0]})
    for own in (model, pipeline, search):
        assert "s3cret" not in repr(own)
        assert b"s3cret" not in pickle.dumps(own)
    with pytest.raises(ValueError, match="Invalid parameter") as refused:
        model.set_params(nothing=1)
    with pytest.raises(StoreError) as failed:
        model.fit([["a"]], ["x"])
    for error in (refused.value, failed.value):
        assert "s3cret" not in "".join(traceback.format_exception_only(error))
        assert error.__cause__ is None


def test_reading_makes_no_file(url: str) -> None:
    with pytest.raises(NotFittedError):
        SparseTensorClassifier(store=url).predict([["a"]])
    assert not Path(url.split(":///")[1]).exists()


def test_a_removed_file_is_begun_anew(url: str) -> None:
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    Path(url.split(":///")[1]).unlink()
    with pytest.raises(NotFittedError):
        model.predict(ITEMS)
    model.partial_fit(ITEMS, FRAME["class"])
    assert SparseTensorClassifier(store=url).class_mass_.tolist() == [2.0, 2.0]


def test_a_failed_fit_leaves_the_old_model(url: str) -> None:
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    for X, y in ((ITEMS, [None] * 4), ([["a\0"]], ["x"])):
        with pytest.raises(ValueError, match=r"NaN|NUL"):
            model.fit(X, y)
    assert corpus(model) == corpus(SparseTensorClassifier(store=url)) == corpus(plain())


def test_the_sum_of_stored_models_is_in_memory(url: str) -> None:
    one = SparseTensorClassifier(store=url, name="1").partial_fit([["a"]], ["x"], batch_id="b1")
    two = SparseTensorClassifier(store=url, name="2").partial_fit([["b"]], ["y"], batch_id="b2")
    both = one + two
    assert both.store is None
    assert both.partial_fit([["a"]], ["x"], batch_id="b1").class_mass_.tolist() == [1.0, 1.0]
    assert one.class_mass_.tolist() == [1.0]
    one.merge(two)
    assert SparseTensorClassifier(store=url, name="1").class_mass_.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="count twice"):
        one.merge(two)


@pytest.mark.parametrize("shared", [True, False])
def test_threads_lose_nothing(url: str, shared: bool) -> None:
    model = SparseTensorClassifier(store=url)

    def learn(thread: int) -> None:
        own = model if shared else SparseTensorClassifier(store=url)
        for k in range(6):
            own.partial_fit([[f"{thread}/{k % 3}"]], ["xyz"[k % 3]], batch_id=f"{thread}/{k}")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(learn, range(4)))
    assert corpus(model) == corpus(SparseTensorClassifier(store=url))
    assert model.class_mass_.tolist() == [8.0, 8.0, 8.0]


def test_a_stored_model_learns_and_answers_from_files(url: str, tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    FRAME.write_parquet(path)
    SparseTensorClassifier(store=url).fit(path, "class", "w")
    model = SparseTensorClassifier(store=url)
    assert model.predict(path).tolist() == ["p", "q", "p", "q"]
    assert model.score(path) == 1.0
    for _ in range(2):
        model.partial_fit(path, batch_id="again")
    assert model.class_mass_.tolist() == [2.0, 6.0]
    assert corpus(model.unlearn(path)) == corpus(SparseTensorClassifier().fit(FRAME, "class", "w"))
    assert pl.read_csv(model.predict(path, to=tmp_path / "a.csv")).height == 4


# ---------------------------------------------------------------- what went wrong once


def test_a_clone_learns_in_memory(url: str) -> None:
    model = SparseTensorClassifier(store=url, power=0.3).fit(ITEMS, FRAME["class"])
    fitted = clone(model).fit(ITEMS[:2], FRAME["class"][:2])
    assert fitted.store is None
    assert fitted.power == 0.3
    assert model.class_mass_.sum() == 4


def test_fitting_anew_has_its_own_parameters(url: str) -> None:
    SparseTensorClassifier(store=url, dimensions="each", power=0.3).fit(ITEMS, FRAME["class"])
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    assert model.get_params()["dimensions"] is None
    assert model.partial_fit(ITEMS, FRAME["class"]).power == 0.5
    assert SparseTensorClassifier(store=url).policy_ == [["all"], []]


def test_a_model_moves_to_a_store(url: str) -> None:
    model = SparseTensorClassifier(power=0.3)
    model.partial_fit(ITEMS, FRAME["class"], batch_id="1")
    expected = model.predict_proba(ITEMS)
    model.set_params(store=url, name="moved")
    np.testing.assert_array_equal(model.predict_proba(ITEMS), expected)
    opened = SparseTensorClassifier(store=url, name="moved")
    np.testing.assert_allclose(opened.predict_proba(ITEMS), expected, atol=1e-12)
    assert opened.partial_fit(ITEMS, FRAME["class"], batch_id="1").class_mass_.sum() == 4
    other = SparseTensorClassifier().fit(ITEMS[:1], FRAME["class"][:1])
    with pytest.raises(ValueError, match="already"):
        other.set_params(store=url, name="moved").predict(ITEMS)
    assert other.set_params(store=None).class_mass_.sum() == 1


def test_another_name_brings_its_own_parameters(url: str) -> None:
    SparseTensorClassifier(store=url, name="a", power=0.3).fit(ITEMS, FRAME["class"])
    SparseTensorClassifier(store=url, name="b", balance=0.2).fit(ITEMS, FRAME["class"])
    model = SparseTensorClassifier(store=url, name="a")
    assert len(model.classes_) == 2
    assert model.power == 0.3
    model.set_params(name="b")
    assert len(model.classes_) == 2
    assert (model.power, model.balance) == (0.5, 0.2)


def test_unlearning_has_ids_of_its_own(url: str) -> None:
    model = SparseTensorClassifier(store=url).fit(ITEMS, FRAME["class"])
    model.partial_fit(ITEMS, FRAME["class"], batch_id="7")
    for _ in range(2):
        model.unlearn(ITEMS, FRAME["class"], batch_id="7")
    assert model.class_mass_.sum() == 4
    assert model.partial_fit(ITEMS, FRAME["class"], batch_id="7").class_mass_.sum() == 4
    with pytest.raises(ValueError, match="cannot start with"):
        model.partial_fit(ITEMS, FRAME["class"], batch_id="unlearnt: 7")


def test_tables_of_the_user_are_not_taken_for_ours(tmp_path: Path) -> None:
    connection = duckdb.connect()
    for name in ("answers", "stc_items", "given"):
        connection.execute(f"CREATE TABLE {name} AS SELECT 42 AS secret")
    connection.register("frame", FRAME.to_arrow())
    relation = connection.sql("SELECT a, b, class FROM frame")
    model = SparseTensorClassifier().fit(relation, "class")
    assert model.predict(relation).columns == ["class", "prediction"]
    model.predict(relation, to="predicted")
    assert connection.table("predicted").columns == ["class", "prediction"]
    with pytest.raises(Exception, match="predicted"):
        model.predict(relation, to="predicted")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_a_bad_weight_is_refused_wherever_it_is(bad: float) -> None:
    weights = [1.0] * 2000
    weights[1500] = bad
    frame = pl.DataFrame({"a": ["x", "y"] * 1000, "class": ["p", "q"] * 1000, "w": weights})
    with pytest.raises(ValueError, match="item 1500: a weight must be finite and not negative"):
        SparseTensorClassifier().fit(duckdb.from_arrow(frame.to_arrow()), "class", "w")


def test_a_column_without_any_value() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": [None, None], "class": ["p", "q"]}).to_arrow()
    relation = duckdb.from_arrow(frame)
    found = SparseTensorClassifier().fit(relation, "class").corpus_
    assert found["attribute"].unique().to_list() == ["a"]


def test_columns_with_percent_signs_and_our_own_names() -> None:
    frame = pl.DataFrame({"100%": ["x", "y"], "%(a)s": ["u", "v"], "class": ["p", "q"]})
    for own in (frame, frame.rename({"100%": "stc_count", "%(a)s": "stc_mass"})):
        model = SparseTensorClassifier().fit(duckdb.from_arrow(own.to_arrow()), "class")
        assert model.predict(own.drop("class")).tolist() == ["p", "q"]


def test_documents_of_a_source_are_explained(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "body": ["good fun", "bad dull"], "class": ["+", "-"]})
    frame.write_parquet(tmp_path / "x.parquet")
    model = SparseTensorClassifier().fit(stc.source(tmp_path / "x.parquet", text="body"), "class")
    for items in (tmp_path / "x.parquet", frame, frame.to_dicts(), frame["body"]):
        explained = model.explain(items)
        assert explained.documents == ["good fun", "bad dull"]
        assert "good" in str(explained.highlight(0))
    other = frame.rename({"body": "txt"})
    other.write_parquet(tmp_path / "y.parquet")
    found = model.predict(stc.source(tmp_path / "y.parquet", text="txt"))
    assert found.tolist() == ["+", "-"]


def test_scores_by_names_of_columns(tmp_path: Path) -> None:
    frame = FRAME.select("a", "b", "class").with_columns(w=pl.Series([1.0, 2.0, 0.0, 4.0]))
    path = tmp_path / "x.parquet"
    frame.write_parquet(path)
    model = SparseTensorClassifier().fit(ITEMS[:2], FRAME["class"][:2])
    expected = model.score(frame.select(ITEMS.columns), frame["class"], frame["w"].to_numpy())
    assert model.score(frame, "class", "w") == expected
    assert model.score(path, "class", "w") == expected
    assert model.score(frame.drop("w"), "class") == model.score(path, "class")


def test_roles_named_later_are_remembered_in_a_store(url: str) -> None:
    frame = FRAME.select(*ITEMS.columns, "class")
    model = SparseTensorClassifier(store=url).partial_fit(ITEMS, FRAME["class"])
    model.partial_fit(frame, "class").partial_fit(frame)
    assert model.class_mass_.sum() == 12


def test_what_is_carried_along_stays_as_it_is(tmp_path: Path) -> None:
    rows = ["id,flag,a,class", "007,true,x,p", "008,maybe,y,q"]
    (tmp_path / "x.csv").write_text("\n".join(rows))
    data = stc.source(tmp_path / "x.csv", columns=["a"])
    model = SparseTensorClassifier().fit(data, "class")
    model.predict(data, to=tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "007,true,p,p"


def test_times_as_classes_are_written(tmp_path: Path) -> None:
    for unit, kind in {"D": pl.Date(), "s": pl.Datetime("us"), "ns": pl.Datetime("us")}.items():
        days = np.array(["2026-01-01", "2026-01-02"], dtype=f"M8[{unit}]")
        model = SparseTensorClassifier().fit(pl.DataFrame({"a": ["x", "y"]}), days)
        model.predict(pl.DataFrame({"a": ["y"]}), to=tmp_path / "out.parquet")
        found = pl.read_parquet(tmp_path / "out.parquet")["prediction"]
        assert found.dtype == kind
        assert str(found[0]).startswith("2026-01-02")


def test_learning_from_files_of_other_widths(tmp_path: Path) -> None:
    for k, dtype in enumerate([pl.Int32, pl.Int64]):
        part = pl.DataFrame({"a": [1, 2], "class": ["p", "q"]}, schema_overrides={"a": dtype})
        part.write_parquet(tmp_path / f"[{k}].parquet")
    model = SparseTensorClassifier().fit(f"{tmp_path}/*.parquet", "class")
    assert model.class_mass_.tolist() == [2.0, 2.0]
    alone = SparseTensorClassifier().fit(f"{tmp_path}/[0].parquet", "class")
    assert alone.class_mass_.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("at", [10_001, 20_000, 60_000])
def test_a_late_exception_in_a_csv_stays_a_text(tmp_path: Path, at: int) -> None:
    cells = [str(k % 3) for k in range(70_000)]
    cells[at] = "many"
    cells[at + 1] = "2.0"
    rows = [f"{cell},{k % 2}" for k, cell in enumerate(cells)]
    (tmp_path / "x.csv").write_text("\n".join(["a,class", *rows]))
    model = SparseTensorClassifier().fit(tmp_path / "x.csv", "class")
    assert set(model.corpus_["value"]) == {"0", "1", "2", "many"}
    assert model.classes_.tolist() == [0, 1]


def test_thresholds_of_labels_are_learnt_from_more_than_a_few(tmp_path: Path) -> None:
    labels = [["l", "m"] if k < 1000 else ["l"] for k in range(3000)]
    frame = pl.DataFrame({"a": ["x", "y", "z"] * 1000, "labels": labels})
    frame.write_parquet(tmp_path / "x.parquet")
    memory = SparseTensorClassifier().fit(frame.select("a"), frame["labels"])
    model = SparseTensorClassifier().fit(tmp_path / "x.parquet", "labels")
    np.testing.assert_allclose(model.label_threshold_, memory.label_threshold_, atol=1e-9)


def test_only_items_in_memory_will_do(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    FRAME.select(*ITEMS.columns, "class").write_parquet(path)
    model = SparseTensorClassifier().fit(path, "class")
    for method in (model.predict_joint, model.policy_used):
        with pytest.raises(ValueError, match="items in memory"):
            method(path)
    with pytest.raises(ValueError, match="items in memory"):
        stc.SparseTensorClassifierCV().fit(path, "class")


def test_gaps_of_sources_that_are_not_in_the_settings(tmp_path: Path) -> None:
    """Each of these fails when its gap closes; docs/scale.md lists them."""
    path = tmp_path / "x.parquet"
    soft = [{"p": 0.5, "q": 0.5}, {"p": 1.0, "q": 0.0}]
    frame = pl.DataFrame({"a": ["x", "y"], "l": [0, 1], "m": [1, 1], "soft": soft})
    frame.write_parquet(path)
    with pytest.raises(ValueError, match="1d array"):
        SparseTensorClassifier().fit(stc.source(path, columns=["a"]), "soft")
    model = SparseTensorClassifier().fit(stc.source(path, columns=["a"]), ["l", "m"])
    assert len(model.classes_) == 2  # two targets, and not one indicator of two labels
    counts = SparseTensorClassifier().fit(sparse.csr_array([[1, 0], [0, 1]]), ["p", "q"])
    with pytest.raises(ValueError, match="sparse matrix"):
        counts.predict(path)
