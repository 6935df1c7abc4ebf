"""What new users met once and should never meet again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from scipy import sparse
from sklearn.base import clone

import stc
from stc.cli import main
from stc.exceptions import DataError
from support.models import paper_model

Y = ["p", "q"]


def features(X: Any) -> list[str]:
    return sorted(paper_model().fit(X, Y).get_feature_names_out())


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([{"a": True}, {"a": 2}], ["a=2", "a=True"]),
        ([{"a": ["u"]}, {"a": "v"}], ["a=u", "a=v"]),
        ([{"a": {"u": 2}}, {"a": "v"}], ["a=u", "a=v"]),
        ([{"a": float("nan")}, {"a": "v"}], ["a=v"]),
        ([{"a": np.int64(3)}, {"a": pd.Timestamp("2024-01-01")}], ["a=2024-01-01", "a=3"]),
        ([{"a": {"u": 2}}, {"a": {"v": 1}}], ["a=u", "a=v"]),
    ],
)
def test_a_series_of_records_is_records(records: list[Any], expected: list[str]) -> None:
    assert features(pd.Series(records)) == features(records) == expected


def test_a_series_of_token_lists_is_documents() -> None:
    tokens = [["a", "b"], ["c", "a"]]
    for series in (pd.Series(tokens), pl.Series(tokens), pa.array(tokens)):
        assert features(series) == ["a", "b", "c"]


def test_arrow_maps_hold_weights() -> None:
    maps = pa.array([[("u", 1.0)], [("v", 2.0), ("u", 6.0)]], pa.map_(pa.string(), pa.float64()))
    corpus = paper_model().fit(pa.table({"a": maps}), Y).corpus_
    assert corpus["mass"].to_list() == [1.0, 0.75, 0.25]


def test_sparse_columns_of_pandas() -> None:
    frame = pd.get_dummies(pd.DataFrame({"a": ["u", "v"]}), sparse=True)
    assert features(frame) == ["a_u=False", "a_u=True", "a_v=False", "a_v=True"]


def test_no_weight_is_no_value() -> None:
    frame = pl.DataFrame({"a": [{"u": 1.0, "v": None}, {"u": None, "v": 2.0}]})
    assert features(frame) == features(frame.to_dicts()) == ["a=u", "a=v"]


def test_lists_within_rows_hold_several_values() -> None:
    assert features([["a", ["b", "c"]], ["a", ["d"]]]) == ["x0=a", "x1=b", "x1=c", "x1=d"]


def test_a_frame_leaves_a_model_of_records_open() -> None:
    model = paper_model().fit([{"a": 1, "b": 2}], ["p"])
    model.partial_fit(pl.DataFrame({"a": [1]}), ["q"]).partial_fit([{"c": 3}], ["q"])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.predict(pl.DataFrame({"b": [2]})).tolist() == ["p"]


@pytest.mark.parametrize("missing", ["ignore", "category"])
def test_a_model_of_a_frame_learns_from_records(missing: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["u", "v"]})
    model = paper_model(missing=missing).fit(frame, Y)
    model.partial_fit([{"b": "w"}], ["r"])
    whole = frame.vstack(pl.DataFrame({"a": [None], "b": ["w"]}, schema=frame.schema))
    expected = paper_model(missing=missing).fit(whole, [*Y, "r"])
    assert model.corpus_.equals(expected.corpus_)
    with pytest.raises(DataError, match="only X has this attribute") as caught:
        model.partial_fit([{"c": 1}], ["p"])
    assert caught.value.column == "c"
    model.unlearn([{"b": "w"}], ["r"])
    assert model.corpus_.equals(paper_model(missing=missing).fit(frame, Y).corpus_)


def test_absent_columns_cannot_be_a_category() -> None:
    model = paper_model(missing="category").fit([{"a": 1, "b": 2}], ["p"])
    with pytest.raises(DataError, match=r"X has no such column.*filled with") as caught:
        model.predict(pl.DataFrame({"a": [1]}))
    assert caught.value.column == "b"


def test_missing_values_cannot_change_their_meaning_midway() -> None:
    model = paper_model().fit([["a"], [None]], Y).set_params(missing="category")
    for call in (lambda: model.predict([["a"]]), lambda: model.partial_fit([["a"]], ["p"])):
        with pytest.raises(ValueError, match="learnt with missing='ignore'"):
            call()


def test_what_was_never_seen_cannot_outweigh_what_was() -> None:
    records = [{"w": {"u": 1, "v": 1}}, {"w": {"u": 1, "v": 3}}]
    model = paper_model(power=4.0).fit(records, Y)
    item = {"u": 1.0, "v": 2.0}
    expected = model.predict_proba([{"w": item}])
    proba = model.predict_proba([{"w": {**item, "never seen": 1e100}}, {"w": {"never seen": 1.0}}])
    np.testing.assert_allclose(proba[:1], expected, rtol=1e-12)
    assert proba[1].tolist() == [0.5, 0.5]


def test_masked_cells_are_missing() -> None:
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert features(masked) == ["x0=1", "x0=3", "x1=4"]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((2, 2, 2)), "dim 3"),
        ((record for record in [{}]), "generator"),
        ([{"a"}, {"b"}], "records"),
    ],
)
def test_strange_containers_are_named(X: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        paper_model().fit(X, Y)


def test_messages_show_labels_as_python_does() -> None:
    model = paper_model().fit([["a"], ["b"]], np.array(Y))
    with pytest.raises(ValueError, match="class 'z', which was never learnt"):
        model.unlearn([["a"]], np.array(["z"]))


def test_a_wide_sparse_matrix_is_quick() -> None:
    X = sparse.random_array((50, 200_000), density=0.001, format="csr", rng=0)
    model = paper_model().fit(X, np.arange(50) % 3)
    assert model.predict(X).shape == (50,)


def test_importing_stc_loads_nothing_optional() -> None:
    # scikit-learn itself loads pandas where it is installed, so only what we add counts.
    core = "import sys, polars, narwhals, scipy.sparse, sklearn.metrics, sklearn.model_selection"
    optional = {
        *(
            "adbc_driver_postgresql",
            "dask",
            "distributed",
            "duckdb",
            "jinja2",
            "matplotlib",
            "sqlglot",
        ),
        *("pandas", "psycopg", "pyarrow", "pyspark", "sqlalchemy"),
    }
    ours = f"old = {{*sys.modules}}; import stc.cli; print(({optional} - old) & {{*sys.modules}})"
    code = f"{core}; {ours}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
import pandas as pd
from stc import SparseTensorClassifier
frame = pd.DataFrame({
    "a": ["u", "v", None],
    "b": pd.array([1, None, 2], dtype="Int64"),
    "c": pd.Categorical(["x", "y", "x"]),
    "d": pd.to_datetime(["2024-01-01", None, "2024-01-02"]),
    "e": [["p", "q"], ["p"], None],
    "f": pd.array([True, None, False], dtype="boolean"),
})
y = pd.Series(["p", "q", "p"])
model = SparseTensorClassifier().fit(frame, y)
print(*sorted(model.get_feature_names_out()), *model.predict(frame))
texts = SparseTensorClassifier().fit(pd.Series(["good fun", "bad day", None]), y)
print(*texts.predict(pd.Series(["fun"])))
many = SparseTensorClassifier().fit(pd.concat([frame] * 300), pd.concat([y] * 300))
print(set(many.get_feature_names_out()) == set(model.get_feature_names_out()))
"""


def test_pandas_needs_no_arrow() -> None:
    command = [sys.executable, "-W", "error", "-c", WITHOUT_ARROW]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values = "a=u a=v b=1 b=2 c=x c=y d=2024-01-01 d=2024-01-02 e=p e=q f=False f=True"
    assert done.stdout.splitlines() == [f"{values} p q p", "p", "True"]


def test_the_demo_tells_the_tour(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "30 of 31 are right" in told
    assert "-> Mammal" in told
    assert "classes left without the birds: Amphibian, Bug" in told


def test_the_version_is_that_of_the_package() -> None:
    command = [str(Path(sys.executable).with_name("stc")), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"stc {stc.__version__}"


def test_records_with_keys_in_another_order_merge() -> None:
    policy = [["a", "b"], ["b"]]
    model = paper_model(dimensions="each", policy=policy)
    one = clone(model).fit([{"a": "u", "b": "x"}, {"a": "v", "b": "y"}], ["p", "q"])
    other = clone(model).fit([{"b": "x", "a": "v"}], ["p"])
    whole = clone(model).fit(
        [{"a": "u", "b": "x"}, {"a": "v", "b": "y"}, {"a": "v", "b": "x"}], ["p", "q", "p"]
    )
    assert_frame_equal((one + other).corpus_, whole.corpus_)


@pytest.mark.parametrize("dimensions", [None, [["a", "b"]], {"c": ["a"], "d": ["b"]}])
def test_learning_on_with_other_dimensions_is_refused(dimensions: Any) -> None:
    items = [{"a": "u", "b": "x"}]
    model = paper_model(dimensions="each").fit(items, ["p"])
    with pytest.raises(ValueError, match="learnt with the dimensions"):
        model.set_params(dimensions=dimensions).partial_fit(items, ["q"])
    assert model.classes_.tolist() == ["p"]


def test_labels_that_are_told_apart_surely_have_a_moderate_threshold() -> None:
    items, labels = [{"w": ["tank"]}, {"w": ["kiss"]}] * 20, [["war"], ["love"]] * 20
    model = paper_model().fit(items, labels)
    assert ((model.label_threshold_ > 0.1) & (model.label_threshold_ < 0.9)).all()
    assert model.predict([{"w": ["tank"] * 9 + ["kiss"]}]) == [["war"]]


def test_classes_of_several_targets_are_declared_in_both_ways() -> None:
    X, y = [["a"], ["b"]], np.array([["1", "u"], ["2", "v"]])
    by_target = [np.array(["1", "2"]), np.array(["u", "v"])]
    found = paper_model().partial_fit(X, y, classes=by_target).joint_classes_
    assert found.tolist() == [["1", "u"], ["1", "v"], ["2", "u"], ["2", "v"]]
    found = paper_model().partial_fit(X, y, classes=[("3", "u")]).joint_classes_
    assert found.tolist() == [["1", "u"], ["2", "v"], ["3", "u"]]
    with pytest.raises(ValueError, match="class of each of 2 targets"):
        paper_model().partial_fit(X, y, classes=[("3",)])


def test_labels_learnt_one_by_one_find_their_threshold_too() -> None:
    items = [{"w": ["tank", "war"]}, {"w": ["kiss", "love"]}, {"w": ["tank", "kiss"]}] * 10
    labels = [["war"], ["love"], ["love", "war"]] * 10
    model = paper_model()
    for item, own in zip(items, labels, strict=True):
        model.partial_fit([item], [own])
    assert (model.label_threshold_ != 0.5).all()
    assert model.predict(items[:3]) == labels[:3]


def test_labels_in_one_chunk_of_arrow() -> None:
    labels = [["s", "t"], ["u"]]
    model = paper_model(label_threshold=0.5).fit([["a"], ["b"]], pa.array(labels))
    assert model.predict([["a"], ["b"]]) == labels


def test_an_indicator_keeps_its_width() -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        paper_model().partial_fit([["a"]], np.array([[0, 1]]), classes=[0, 1, 2])


def test_a_target_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        paper_model(targets=["k", "k"]).fit([{"a": 1, "k": "p"}])


@pytest.mark.parametrize(
    "labels",
    [
        [2**64, 2**64 + 1, 5, 2**64],
        [2**63 + 1, 2**63, -1, 2**63],  # as floats two of them would be one
        [10**30, -(10**30), 0, 10**30],
        [2**63 + 1, 2**63, 2**63 + 1, 2**63],
    ],
)
@pytest.mark.parametrize("make", [list, lambda own: np.array(own, dtype=object)])
def test_integers_too_large_for_numpy_are_labels(
    labels: list[int], make: Any, tmp_path: Path
) -> None:
    X = [["a"], ["b"], ["c"], ["a"]]
    model = paper_model().fit(X, make(labels))
    assert model.classes_.tolist() == sorted(set(labels))
    assert model.predict(X[1:3]).tolist() == labels[1:3]
    model.partial_fit([["d"]], make(labels[:1])).save(tmp_path / "model.parquet")
    restored = stc.load(tmp_path / "model.parquet")
    assert restored.classes_.tolist() == model.classes_.tolist()
    assert restored.predict([["d"]]).tolist() == labels[:1]
