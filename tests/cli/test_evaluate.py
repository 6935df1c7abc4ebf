"""`stc evaluate`: the figures of scikit-learn; several targets, several labels, text."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, log_loss, precision_recall_fscore_support

import stc
from support.cli_cases import ROLES, ZOO, items
from support.models import paper_model

# --- evaluate -----------------------------------------------------------------------------------


def test_figures_are_scikit_learns(run, zoo):
    half = ZOO[::2]
    half.write_csv("half.csv")
    run("fit", "half.csv", *ROLES, "-o", "half.stc.parquet")
    rest = ZOO[1::2].with_columns(class_type=pl.col("class_type").replace("Reptile", "Dragon"))
    rest.write_csv("rest.csv")
    found = json.loads(run("evaluate", "half.stc.parquet", "rest.csv", "--json").out)
    model = stc.load("half.stc.parquet")
    X, y = rest.drop("animal_name", "class_type"), rest["class_type"].to_numpy()
    said = model.predict(X)
    assert found["items"] == len(y)
    assert found["accuracy"] == np.mean(said == y)
    labels = [own["class"] for own in found["classes"]]
    assert labels == sorted({*y, *said})  # a dragon is never predicted, and counts
    scores = precision_recall_fscore_support(y, said, labels=labels, zero_division=0)
    for own, *expected in zip(found["classes"], *scores, strict=True):
        assert [own[name] for name in ("precision", "recall", "f1", "support")] == pytest.approx(
            expected
        )
    for average in ("macro", "weighted"):
        expected = precision_recall_fscore_support(
            y, said, labels=labels, average=average, zero_division=0
        )[:3]
        assert list(found[average].values()) == pytest.approx(expected)
    matrix = np.zeros((len(labels), len(labels)))
    for own in found["confusion"]:
        matrix[labels.index(own["true"]), labels.index(own["predicted"])] = own["items"]
    assert np.array_equal(matrix, confusion_matrix(y, said, labels=labels))
    known = y != "Dragon"
    columns = [*model.classes_]
    loss = log_loss(y[known], model.predict_proba(X)[known], labels=columns) * known.sum()
    loss -= np.log(np.finfo(float).eps) * (~known).sum()
    assert found["log_loss"] == pytest.approx(loss / len(y))


def test_evaluate_in_the_terminal(run, zoo):
    said = run("evaluate", "zoo.stc.parquet", "zoo.csv")
    assert said.out.startswith("101 items, accuracy 0.9901, log-loss 0.6166\n")
    assert re.search(r"^Fish +0\.929 +1\.000 +0\.963 +13$", said.out, re.M)
    assert re.search(r"^7 Reptile +· +· +· +1 +· +· +4$", said.out, re.M)
    assert all(len(line) <= 80 for line in said.out.splitlines())
    assert "\x1b" not in said.out
    assert said.err == ""


def test_of_many_classes_the_largest_confusions(run):
    frame = pl.DataFrame({"a": list(range(20)) * 9, "k": list(range(20)) * 9})
    frame.write_csv("d.csv")
    run("fit", "d.csv", "-t", "k", "-o", "m.stc.parquet")
    frame.with_columns(k=pl.when(pl.col("a") < 5).then(7).otherwise(pl.col("a"))).write_csv("e.csv")
    said = run("evaluate", "m.stc.parquet", "e.csv").out
    assert "the largest of 5 confusions" in said
    assert re.search(r"^7 +0 +9$", said, re.M)


def test_weights_count(run):
    frame = pl.DataFrame({"a": ["u", "v", "v"], "k": ["x", "y", "x"], "w": [1.0, 2.0, 0.5]})
    frame.write_csv("d.csv")
    run("fit", "d.csv", "-t", "k", "--weight", "w", "-o", "m.stc.parquet")
    found = json.loads(run("evaluate", "m.stc.parquet", "d.csv", "--json").out)
    assert found["accuracy"] == stc.load("m.stc.parquet").score("d.csv") == 3 / 3.5
    frame.drop("w").write_csv("e.csv")
    found = json.loads(run("evaluate", "m.stc.parquet", "e.csv", "--json").out)
    assert found["accuracy"] == 2 / 3


# --- several targets, several labels, text ------------------------------------------------------


def test_several_targets(run):
    ZOO.write_csv("zoo.csv")
    run("fit", "zoo.csv", *ROLES, "-t", "domestic", "-o", "m.stc.parquet")
    model = stc.load("m.stc.parquet")
    run("predict", "m.stc.parquet", "zoo.csv", "-o", "o.csv", "--proba", "--explain", 1)
    out = pl.read_csv("o.csv")
    said = model.predict(items().drop("domestic"))
    assert out["predicted_class_type"].to_list() == said[:, 0].tolist()
    assert out["predicted_domestic"].to_list() == said[:, 1].tolist()
    assert out["probability_domestic_1"].null_count() == out["reason_1"].null_count() == 0
    found = json.loads(run("evaluate", "m.stc.parquet", "zoo.csv", "--json").out)
    assert found["accuracy"] == pytest.approx(model.score("zoo.csv"))
    own = found["targets"]["domestic"]
    assert own["accuracy"] == np.mean(said[:, 1].astype(int) == ZOO["domestic"].to_numpy())
    text = run("evaluate", "m.stc.parquet", "zoo.csv").out
    assert "class_type: accuracy" in text
    assert "domestic: accuracy" in text
    assert "Mammal, 1" in run("explain", "m.stc.parquet", "zoo.csv", "--item", 5).out
    run("report", "m.stc.parquet", "zoo.csv", "-o", "r.html", "--rows", 9)


def test_several_labels(run):
    rows = [("u", ["x"]), ("v", ["x", "y"]), ("w", ["y"])] * 10
    frame = pl.DataFrame(rows, schema=["a", "labels"], orient="row")
    frame.write_ndjson("d.jsonl")
    run("fit", "d.jsonl", "-t", "labels", "-o", "m.stc.parquet")
    run("predict", "m.stc.parquet", "d.jsonl", "-o", "o.jsonl", "--proba", "--explain", 1)
    assert pl.read_ndjson("o.jsonl")["prediction"].to_list() == frame["labels"].to_list()
    found = json.loads(run("evaluate", "m.stc.parquet", "d.jsonl", "--json").out)
    assert found["accuracy"] == 1.0
    assert found["micro"]["f1"] == 1.0
    assert [own["support"] for own in found["classes"]] == [20, 20]
    said = run("predict", "m.stc.parquet", "d.jsonl", "-o", "o.csv", code=2).err
    assert said.startswith("stc: column 'labels': a CSV file cannot hold several values in a cell")
    frame.with_columns(labels=pl.lit(["x"])).write_ndjson("e.jsonl")
    found = json.loads(run("evaluate", "m.stc.parquet", "e.jsonl", "--json").out)
    assert found["accuracy"] == 1 / 3
    assert found["micro"] == pytest.approx({"precision": 0.5, "recall": 2 / 3, "f1": 4 / 7})


def test_text(run):
    Path("r.csv").write_text(
        'id,body,label\n1,"good, good fun",up\n2,bad film,down\n'
        '3,"fun and\nfunny",up\n4,a bore,down\n'
    )
    run("fit", "r.csv", "--text", "body", "-t", "label", "-o", "m.stc.parquet")
    texts = pl.read_csv("r.csv")["body"]
    expected = paper_model().fit(texts, pl.read_csv("r.csv")["label"])
    found = stc.load("m.stc.parquet")
    assert np.array_equal(found.predict_proba(texts), expected.predict_proba(texts))
    said = run("explain", "m.stc.parquet", "r.csv", "--item", 2).out
    assert "[+fun+] [+and+]\n[+funny+]" in said
    assert json.loads(run("evaluate", "m.stc.parquet", "r.csv", "--json").out)["accuracy"] == 1
    pl.DataFrame({"words": ["what fun", "so bad"], "n": [1, 2]}).write_csv("n.csv")
    said = run("predict", "m.stc.parquet", "n.csv", "--text", "words")
    assert said.out == "n,prediction\n1,up\n2,down\n"
