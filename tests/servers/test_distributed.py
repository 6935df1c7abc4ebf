"""Dask and Spark, on real clusters: what they learn and answer is what memory does."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from stc import STC_Q, SparseTensorClassifier
from stc._core.model import Model
from stc._core.tables import corpus_table
from stc.exceptions import DataError, SourceFileError
from stc.sources.dask import DaskBackend, DaskFiles
from stc.sources.partitions import Partition, shared_out
from stc.sources.protocol import BATCH_ROWS
from stc.sources.spark import SparkBackend, SparkFiles, sum_of

pytestmark = [
    # PySpark 4.3 says so whenever it finds pandas 3, whether or not it is used.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
]

KINDS = ["dask", "dask files", "spark", "spark files"]
LAZY = ["dask", "spark"]
FILES = ["dask files", "spark files"]


def paper_model(**changes: Any) -> SparseTensorClassifier:
    """Return a model as support.models does; workers import this module, and lack helpers."""
    return SparseTensorClassifier(**{**STC_Q, **changes})


class Learn:
    """What a model learns from the columns of a frame but `id`, about `class`."""

    def __init__(self, columns: Iterable[str], **parameters: Any) -> None:
        self.columns = tuple(name for name in columns if name != "id")
        self.parameters = parameters

    def __call__(self, frames: Iterable[pl.DataFrame]) -> Model | None:
        model = paper_model(**self.parameters)
        for frame in frames:
            assert frame.columns == list(self.columns)
            assert 0 < frame.height <= BATCH_ROWS
            model.partial_fit(frame.drop("class"), frame["class"])
        return model.fitted_.model if hasattr(model, "fitted_") else None


class Answer:
    """The predictions of a model, beside the ids of the items."""

    copied = ("id",)
    schema = pl.Schema({"id": pl.Int64, "prediction": pl.String, "sure": pl.UInt32})

    def __init__(self, model: Any, columns: Iterable[str], mark: Path | None = None) -> None:
        self.model = model
        self.columns = tuple(name for name in columns if name != "class")
        self.mark = mark

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self.mark is not None:
            self.mark.write_text("was here")
        items = frame.drop("id")
        sure = (self.model.predict_proba(items).max(axis=1) * 1000).round()
        columns = {"id": frame["id"], "prediction": self.model.predict(items), "sure": sure}
        return pl.DataFrame(columns, schema_overrides={"sure": pl.UInt32})


def items(rows: int = 3000, seed: int = 7) -> pl.DataFrame:
    """Items of all types that categories have, with missing values among them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)

    def column(values: list[Any]) -> pl.Series:
        found = [values[k] for k in (y + rng.integers(0, 2, rows)) % len(values)]
        return pl.Series([None if rng.random() < 0.1 else value for value in found])

    return pl.DataFrame(
        {
            "id": range(rows),
            "text": column(["a", "b", "ünï", "a: b"]),
            "number": column([1, 2, 3]),
            "ratio": column([0.5, 1.0, 2.25]),
            "flag": column([True, False]),
            "a.b": column(["x", "y", "z"]),
            "A.b": column(["x", "y"]),
            "day": column([datetime.date(2026, 1, day) for day in (1, 2, 3)]),
            "several": column([["p", "q"], ["q"], [], ["r", None]]),
            "class": pl.Series([["low", "mid", "high"][k] for k in y]),
        }
    )


@pytest.fixture(scope="module")
def data() -> pl.DataFrame:
    return items()


@pytest.fixture(scope="module")
def fitted(data: pl.DataFrame) -> SparseTensorClassifier:
    return paper_model().fit(data.drop("id", "class"), data["class"])


Make = Callable[..., Any]


@pytest.fixture
def make(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """A function that makes a source of a kind of some frames, one for each partition."""
    server = request.getfixturevalue("dask_client" if "dask" in kind else "spark")
    return partial(MAKERS[kind], server, tmp_path)


def dask_source(client: Any, folder: Path, *frames: pl.DataFrame) -> DaskBackend:
    import dask.dataframe as dd
    from dask import delayed

    parts = list(map(pandas_of, frames))
    return DaskBackend(dd.from_delayed([delayed(part) for part in parts], meta=parts[0].head(0)))


def pandas_of(frame: pl.DataFrame) -> Any:
    # Arrow's types: Dask makes text of all other objects, lists and dicts among them.
    return frame.to_pandas(use_pyarrow_extension_array=True)


def spark_source(session: Any, folder: Path, *frames: pl.DataFrame) -> SparkBackend:
    # Of several files, as several partitions: one frame would be shared out by Spark's own rules.
    paths = written(folder, *frames, name="in {}.parquet")
    whole = session.read.parquet(str(paths[0]))
    for path in paths[1:]:
        whole = whole.union(session.read.parquet(str(path)))
    return SparkBackend(whole)


def written(folder: Path, *frames: pl.DataFrame, name: str = "in [{}].parquet") -> list[Path]:
    paths = [folder / name.format(number) for number in range(len(frames))]
    for path, frame in zip(paths, frames, strict=True):
        frame.write_parquet(path, row_group_size=400)
    return paths


MAKERS: dict[str, Make] = {
    "dask": dask_source,
    "dask files": lambda client, folder, *frames: DaskFiles(written(folder, *frames), client),
    "spark": spark_source,
    "spark files": lambda session, folder, *frames: SparkFiles(written(folder, *frames), session),
}


def parts(data: pl.DataFrame, count: int) -> list[pl.DataFrame]:
    return list(data.iter_slices(-(-data.height // count)))


def assert_same_model(model: Model | None, other: Model | None) -> None:
    assert model is not None
    assert other is not None
    order = corpus_table(other).columns[:-2]
    tables = [corpus_table(own).sort(order) for own in (model, other)]
    assert_frame_equal(*tables, rel_tol=1e-9, abs_tol=1e-12)


def read_back(folder: Any) -> pl.DataFrame:
    return pl.read_parquet(f"{folder}/*.parquet").sort("id")


def expected(task: Answer, data: pl.DataFrame) -> pl.DataFrame:
    return task(data.select(task.columns)).sort("id")


# --- the same as in memory ----------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 11])
@pytest.mark.parametrize("kind", KINDS)
def test_learns_the_same_model(make: Make, data: pl.DataFrame, count: int) -> None:
    task = Learn(data.columns)
    model = make(*parts(data, count)).learn(task)
    assert_same_model(model, task([data.select(task.columns)]))


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_reach_the_workers(make: Make, data: pl.DataFrame) -> None:
    task = Learn(["text", "number", "class"], dimensions="each", missing="category")
    model = make(*parts(data, 3)).learn(task)
    assert_same_model(model, task([data.select(task.columns)]))


@pytest.mark.parametrize("kind", KINDS)
def test_writes_the_same_answers(
    make: Make, data: pl.DataFrame, fitted: SparseTensorClassifier, tmp_path: Path
) -> None:
    task = Answer(fitted, data.columns)
    folder = tmp_path / "answers"
    assert make(*parts(data, 3)).predict(task, folder) == folder
    assert_frame_equal(read_back(folder), expected(task, data), check_dtypes=False)
    assert not list(tmp_path.glob(".answers*"))


@pytest.mark.parametrize("kind", KINDS)
def test_empty_partitions(
    make: Make, data: pl.DataFrame, fitted: SparseTensorClassifier, tmp_path: Path
) -> None:
    few = data.head(500)
    source = make(few.clear(), few.head(300), few.clear(), few.tail(200))
    task = Learn(data.columns)
    assert_same_model(source.learn(task), task([few.select(task.columns)]))
    answer = Answer(fitted, data.columns)
    source.predict(answer, tmp_path / "answers")
    assert_frame_equal(read_back(tmp_path / "answers"), expected(answer, few), check_dtypes=False)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_at_all(
    make: Make, data: pl.DataFrame, fitted: SparseTensorClassifier, tmp_path: Path
) -> None:
    source = make(data.clear(), data.clear())
    assert source.learn(Learn(data.columns)) is None
    source.predict(Answer(fitted, data.columns), tmp_path / "answers")
    assert read_back(tmp_path / "answers").shape == (0, 3)
    assert list(source.frames(["text"])) == []
    assert source.head(["text"], 5).shape == (0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_values(make: Make) -> None:
    words = [{"good": 2.0, "film": 1.0}, {"bad": 1.0, "film": None}, {"good": 1.0, "film": 0.5}]
    data = pl.DataFrame({"words": words * 20, "class": ["up", "down", "up"] * 20})
    task = Learn(data.columns)
    assert_same_model(make(*parts(data, 2)).learn(task), task([data]))


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_names_head_and_frames(make: Make, data: pl.DataFrame) -> None:
    source = make(data.clear(), *parts(data, 3))
    assert source.names == tuple(data.columns)
    head = source.head(["number", "id"], 1200)
    ordered = not isinstance(source, SparkBackend)
    kept = data.head(1200) if ordered else data.filter(pl.col("id").is_in(head["id"]))
    assert_frame_equal(head, kept.select("number", "id"), check_row_order=ordered)
    assert head.height == 1200
    frames = list(source.frames(["a.b", "A.b", "id"]))
    assert len(frames) > 1
    found, wanted = pl.concat(frames), data.select("a.b", "A.b", "id")
    assert_frame_equal(found, wanted, check_row_order=ordered)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_not_there(make: Make, data: pl.DataFrame) -> None:
    source = make(data.head(9).select("id", "text"))
    with pytest.raises(ValueError, match=r"has no column 'texts'; it has 'id', 'text'$"):
        source.learn(Learn(["texts"]))


# --- errors -------------------------------------------------------------------------------------


def broken() -> pl.DataFrame:
    words = [{"good": 1.0}, {"good": -1.0}]
    return pl.DataFrame({"id": [0, 1], "words": words, "class": ["up", "down"]})


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_arrives_as_it_was(make: Make) -> None:
    task = Learn(broken().columns)
    with pytest.raises(ValueError, match="a weight must be 0 or between") as in_memory:
        task([broken().drop("id")])
    good = broken().with_columns(words=pl.struct(good=1.0))
    with pytest.raises(ValueError, match="a weight must be 0 or between") as far_away:
        make(good, broken(), good).learn(task)
    assert str(far_away.value) == str(in_memory.value)


class Refusing(Answer):
    """A task that refuses all data, whether it is to learn or to predict."""

    copied = ()

    def __call__(self, frames: Any) -> Any:
        list(frames)
        raise DataError("not a number", column="words", item=1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_a_worker_has_its_class_and_its_fields(make: Make, tmp_path: Path) -> None:
    task = Refusing(None, broken().columns)
    source = make(broken(), broken())
    with pytest.raises(DataError, match=r"^column 'words', item 1: not a number$") as learning:
        source.learn(task)
    assert (learning.value.column, learning.value.item) == ("words", 1)
    with pytest.raises(DataError, match=r"^column 'words', item 1: not a number$"):
        source.predict(task, tmp_path / "answers")


@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_fail_leave_nothing(make: Make, tmp_path: Path) -> None:
    good = broken().with_columns(words=pl.struct(good=1.0))
    model = paper_model().fit(good.select("words"), good["class"])
    task = Answer(model, good.columns)
    source = make(good, broken())
    with pytest.raises(ValueError, match=r"^column 'words', item 1: a weight must be 0 or between"):
        source.predict(task, tmp_path / "answers")
    assert not list((tmp_path / "answers").glob("*"))
    assert not list(tmp_path.glob(".answers*"))


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_do_not_add_up(make: Make) -> None:
    one = pl.DataFrame({"x": ["a"], "class": ["b"]})
    task = Mixed(["x", "class"])
    with pytest.raises(ValueError, match="the classes learnt so far are"):
        make(one, one.with_columns(x=pl.lit("other"))).learn(task)


class Mixed(Learn):
    """Classes that are numbers in one place and strings in another."""

    def __call__(self, frames: Iterable[pl.DataFrame]) -> Model | None:
        parts = [self._model(frame) for frame in frames]
        return None if not parts else parts[0] if len(parts) == 1 else parts[0].merged(parts[1])

    @staticmethod
    def _model(frame: pl.DataFrame) -> Model:
        y = frame["class"] if frame["x"][0] == "a" else pl.Series([1] * frame.height)
        return paper_model().fit(frame.select("x"), y).fitted_.model


@pytest.mark.parametrize("kind", ["dask", *FILES])
def test_a_folder_that_is_there(
    make: Make, data: pl.DataFrame, fitted: SparseTensorClassifier, tmp_path: Path
) -> None:
    source, task = make(data.head(50)), Answer(fitted, data.columns)
    (tmp_path / "answers").mkdir()
    source.predict(task, tmp_path / "answers")  # an empty one is as good as none
    with pytest.raises(FileExistsError, match="already exists; name a new folder"):
        source.predict(task, tmp_path / "answers")
    assert read_back(tmp_path / "answers").height == 50


# --- lazy answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAZY)
def test_answers_are_lazy(
    make: Make, kind: str, data: pl.DataFrame, fitted: SparseTensorClassifier, tmp_path: Path
) -> None:
    task = Answer(fitted, data.columns, tmp_path / "mark")
    answers = make(data.clear(), *parts(data, 3)).predict(task, None)
    assert not (tmp_path / "mark").exists()
    found = pl.DataFrame(answers.toArrow() if kind == "spark" else answers.compute())
    assert (tmp_path / "mark").exists()
    assert_frame_equal(found.sort("id"), expected(task, data), check_dtypes=False)


# --- Dask ---------------------------------------------------------------------------------------


def test_dask_keeps_the_index(
    dask_client: Any, data: pl.DataFrame, fitted: SparseTensorClassifier
) -> None:
    import dask.dataframe as dd

    frame = pandas_of(data)
    frame.index = [f"item {number:05}" for number in frame["id"]]
    lazy = dd.from_pandas(frame, npartitions=3)
    answers = DaskBackend(lazy).predict(Answer(fitted, data.columns))
    assert answers.known_divisions
    found = answers.compute()
    assert found.index.tolist() == frame.index.tolist()
    assert found.dtypes.equals(answers.dtypes)


def test_dask_without_a_cluster(data: pl.DataFrame, fitted: SparseTensorClassifier) -> None:
    import dask
    import dask.dataframe as dd

    source = DaskBackend(dd.from_pandas(pandas_of(data), npartitions=3))
    task, answer = Learn(data.columns), Answer(fitted, data.columns)
    with dask.config.set(scheduler="threads"):
        assert_same_model(source.learn(task), task([data.select(task.columns)]))
        found = pl.DataFrame(source.predict(answer).compute())
    assert_frame_equal(found, expected(answer, data), check_dtypes=False)


def test_dask_cells_of_pandas(dask_client: Any) -> None:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["a", None, "b", "a"] * 5),
            "year": pd.Categorical([2024, 2025, None, 2024] * 5),
            "moment": pd.to_datetime(["2026-01-01", None, "2026-01-02", "2026-01-01"] * 5),
            "seconds": pd.Series(pd.to_datetime(["2026-01-01", None] * 10)).astype("datetime64[s]"),
            "zoned": pd.to_datetime(["2026-01-01", "2026-01-02"] * 10, utc=True),
            "nullable": pd.array([1, None, 2, 1] * 5, dtype="Int64"),
            "mixed": pd.Series(["a", 1, None, 2.0] * 5, dtype=object),
            "set": pd.Series([{"a", "b"}, None, {"b"}, set()] * 5, dtype=object),
            "weights": pd.Series([{"a": 1.0}, {"b": 2.0}, None, {}] * 5, dtype=object),
            "lists": pd.Series([["a"], None, ["b", "a"], []] * 5, dtype=object),
            "ragged": pd.Series([["a"], [1], "b", ["c", None]] * 5, dtype=object),
            "class": ["up", "down", "up", "down"] * 5,
        }
    )
    with dask.config.set({"dataframe.convert-string": False}):
        source = DaskBackend(dd.from_pandas(frame, npartitions=2))
        task = Learn(frame.columns)
        model = paper_model().fit(frame.drop(columns="class"), frame["class"])
        assert_same_model(source.learn(task), model.fitted_.model)
        types = source.head(["lists", "set"], 3).dtypes
    assert types == [pl.List(pl.String), pl.Object]


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ([0, 1], TypeError, "rename"),
        (["a", "a"], ValueError, "column 'a': the name of the column occurs more than once"),
    ],
)
def test_dask_names_of_columns(names: list[Any], error: Any, message: str) -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame([[1, 2], [3, 4]]), npartitions=1)
    frame.columns = names
    with pytest.raises(error, match=message):
        DaskBackend(frame)


# --- Spark --------------------------------------------------------------------------------------


def test_spark_types(spark: Any) -> None:
    row = (
        "'a' AS text, 1 AS number, 1.5D AS ratio, true AS flag, DATE'2026-01-02' AS day, "
        "TIMESTAMP'2026-01-02 03:04:05' AS moment, array('a', 'b') AS several, "
        "map('a', 1.0D, 'b', 2.0D) AS weights, named_struct('a', 1.0D, 'b', 2.0D) AS fields, "
        "CAST(NULL AS STRING) AS nothing, CAST(2.50 AS DECIMAL(5, 2)) AS price"
    )
    frame = spark.sql(f"SELECT {row}, 'up' AS class")
    source = SparkBackend(frame)
    types = source.head(source.names, 1).schema
    assert types["several"] == pl.List(pl.String)
    assert [types[name] for name in ("number", "flag", "day")] == [pl.Int32, pl.Boolean, pl.Date]
    model = source.learn(Learn(source.names))
    features = set(corpus_table(model).select("attribute", "value").rows())
    assert {("weights", "a"), ("weights", "b"), ("fields", "a"), ("several", "b")} <= features
    assert {("number", "1"), ("ratio", "1.5"), ("day", "2026-01-02"), ("price", "2.5")} <= features
    assert "nothing" not in dict(features)


def test_spark_adds_up_in_levels(spark: Any) -> None:
    frames = [pl.DataFrame({"x": [f"v{k % 3}"], "class": ["ab"[k % 2]]}) for k in range(20)]
    task = Learn(["x", "class"])
    models = [task([frame]) for frame in frames]
    outcomes = spark.sparkContext.parallelize([*models, None], 21)
    assert_same_model(sum_of(outcomes), task(frames))
    with pytest.raises(ValueError, match=r"^only this$"):
        sum_of(spark.sparkContext.parallelize([*models, ValueError("only this")], 21))


def test_spark_has_types_for_all_answers(spark: Any) -> None:
    frame = spark.createDataFrame([(1,), (2,)], "id long")
    found = SparkBackend(frame).predict(Sundry()).toArrow()
    assert pl.DataFrame(found).sort("id").to_dicts() == [
        {**Sundry.cells, "id": number, "s": {"k": 1, "w": [0.5]}} for number in (1, 2)
    ]


class Sundry:
    """Answers of types that Spark has not."""

    columns = ("id",)
    copied = ("id",)
    schema = pl.Schema(
        {
            "id": pl.Int64,
            "c": pl.Categorical(),
            "e": pl.Enum(["y"]),
            "l": pl.List(pl.UInt64),
            "s": pl.Struct({"k": pl.UInt8, "w": pl.List(pl.Float32)}),
            "n": pl.Null,
        }
    )
    cells = {"c": "x", "e": "y", "l": [1, 2], "n": None}  # noqa: RUF012

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        rows = [{**self.cells, "id": k, "s": {"k": 1, "w": [0.5]}} for k in frame["id"]]
        return pl.DataFrame(rows, schema=self.schema)


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FILES)
def test_large_files_are_split(
    make: Make, kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rows = 2 * BATCH_ROWS + 10
    data = pl.DataFrame({"id": range(rows), "x": [0, 1] * (rows // 2)})
    data = data.with_columns(pl.col("x").replace_strict({0: "up", 1: "down"}).alias("class"))
    source = make(data)  # of many row groups
    model = source.learn(Learn(data.columns))
    assert model is not None
    assert model.class_mass.tolist() == [rows / 2, rows / 2]
    fitted = paper_model().fit(data.head(2).select("x"), data.head(2)["class"])
    source.predict(Answer(fitted, data.columns), tmp_path / "answers")
    assert len(list((tmp_path / "answers").iterdir())) == 3
    found = pl.read_parquet(tmp_path / "answers")  # in the order of the items
    assert found["id"].to_list() == list(range(rows))
    assert found["prediction"].equals(data["class"].alias("prediction"))


@pytest.mark.parametrize("kind", FILES)
def test_files_by_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    data = items(60)
    for number, part in enumerate(parts(data, 3)):
        part.write_parquet(tmp_path / f"{number}.parquet")
    server = request.getfixturevalue("dask_client" if "dask" in kind else "spark")
    files: Any = DaskFiles if "dask" in kind else SparkFiles
    monkeypatch.chdir(tmp_path)  # the workers are elsewhere
    task = Learn(data.columns)
    for paths in ("*.parquet", ["0.parquet", tmp_path / "1.parquet", "2.parquet"]):
        model = files(paths, server).learn(task)
        assert_same_model(model, task([data.select(task.columns)]))
    assert files("1.parquet", server).head(["id"], 99)["id"].to_list() == list(range(20, 40))
    with pytest.raises(SourceFileError, match=r"^none\*.parquet: no file matches the pattern"):
        files("none*.parquet", server)
    with pytest.raises(SourceFileError, match="No such file") as absent:
        files("none.parquet", server)
    assert absent.value.path == str(tmp_path / "none.parquet")
    with pytest.raises(ValueError, match=r"^items.csv: a cluster reads only files that end with"):
        files("items.csv", server)
    (tmp_path / "broken.parquet").write_text("PAR1, and nothing else")
    with pytest.raises(DataError, match="cannot be read as Parquet") as broken:
        files("broken.parquet", server)
    assert broken.value.path == str(tmp_path / "broken.parquet")
    with pytest.raises(ValueError, match="use to='a new folder'"):
        files("0.parquet", server).predict(task, None)


@pytest.mark.parametrize("shares", [1, 2, 3, 7, 100])
def test_all_pieces_are_shared_out_in_order(shares: int) -> None:
    rows = [0, 5, 5, 90, 0, 3, 3, 3, 1]
    pieces = [Partition("file", sum(rows[:k]), own) for k, own in enumerate(rows)]
    lists = shared_out(pieces, shares)
    assert [piece for own in lists for piece in own] == pieces
    assert all(lists)
    assert len(lists) <= shares
