"""`stc predict`: every format out, the same answers as the library."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stc
from support.cli_cases import ROLES, ZOO, given, items

READERS = {
    ".csv": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".jsonl": pl.read_ndjson,
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
}


# --- predict ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", READERS)
def test_every_format_out(run, zoo, ending):
    said = run("predict", "zoo.stc.parquet", "zoo.csv", "-o", f"out{ending}", "--proba")
    assert said.out == ""
    assert said.err == f"predicted 101 items -> out{ending}\n"
    out = READERS[ending](Path(f"out{ending}"))
    assert out.columns[:3] == ["animal_name", "class_type", "prediction"]
    assert out["animal_name"].to_list() == ZOO["animal_name"].to_list()
    assert out["prediction"].to_list() == zoo.predict(items()).tolist()
    names = [f"probability_{own}" for own in zoo.classes_]
    assert np.allclose(out[names].to_numpy(), zoo.predict_proba(items()), rtol=1e-12)


def test_predict_to_the_standard_output(run, zoo, monkeypatch):
    expected = zoo.predict(items()).tolist()
    said = run("predict", "zoo.stc.parquet", "zoo.csv")
    assert pl.read_csv(said.out.encode())["prediction"].to_list() == expected
    assert said.err == "predicted 101 items\n"
    said = run("predict", "zoo.stc.parquet", "zoo.csv", "--out-format", "jsonl", "--quiet")
    assert [json.loads(own)["prediction"] for own in said.out.splitlines()] == expected
    assert said.err == ""
    given(monkeypatch, ZOO.write_ndjson().encode())
    said = run("predict", "zoo.stc.parquet", "-", "-o", "-", "--format", "jsonl")
    assert [json.loads(own)["prediction"] for own in said.out.splitlines()] == expected
    facts = json.loads(run("predict", "zoo.stc.parquet", "zoo.csv", "-o", "o.csv", "--json").out)
    assert facts == {"items": 101, "output": "o.csv"}


@pytest.mark.parametrize("settings", [[], ["--phases", "learn", "--entropy", "0"]])
def test_reasons_are_the_explanations(run, settings):
    ZOO.write_csv("zoo.csv")
    run("fit", "zoo.csv", *ROLES, *settings, "-o", "m.stc.parquet")
    run("predict", "m.stc.parquet", "zoo.csv", "-o", "out.parquet", "--explain", 3)
    out = pl.read_parquet("out.parquet")
    model = stc.load("m.stc.parquet")
    table = model.explain_local(items()).table
    for place in range(101):
        own = table.filter(item=place).sort(pl.col("share").abs(), descending=True)
        shares = [out[f"share_{n}"][place] for n in (1, 2, 3)]
        assert shares == pytest.approx(own["share"].head(3).to_list())
        named = dict(zip(own["feature"], own["share"], strict=True))
        reasons = [out[f"reason_{n}"][place] for n in (1, 2, 3)]
        assert [named[reason] for reason in reasons] == pytest.approx(shares)
        assert len(set(reasons)) == 3


def test_no_reasons_where_frequencies_decide(run, zoo):
    strange = ZOO.head(2).with_columns(pl.exclude("animal_name", "class_type") + 50)
    strange.write_csv("strange.csv")
    said = run("predict", "zoo.stc.parquet", "strange.csv", "--explain", 1)
    assert said.out.splitlines()[1] == "aardvark,Mammal,Mammal,,"


def test_batches_are_one_stream(run, zoo, monkeypatch):
    from stc import evaluation
    from stc.sources import prediction

    run("predict", "zoo.stc.parquet", "zoo.csv", "-o", "one.csv", "--proba", "--explain", 2)
    whole = json.loads(run("evaluate", "zoo.stc.parquet", "zoo.csv", "--json").out)
    for module in (prediction, evaluation):
        monkeypatch.setattr(module, "_NUMBERS_AT_A_TIME", 70)  # ten items, or fewer
    run("predict", "zoo.stc.parquet", "zoo.csv", "-o", "ten.csv", "--proba", "--explain", 2)
    assert Path("one.csv").read_text() == Path("ten.csv").read_text()
    said = run("predict", "zoo.stc.parquet", "zoo.csv", "--proba", "--explain", 2)
    assert said.out == Path("one.csv").read_text()
    parts = json.loads(run("evaluate", "zoo.stc.parquet", "zoo.csv", "--json").out)
    assert parts.pop("log_loss") == pytest.approx(whole.pop("log_loss"), rel=1e-12)
    assert parts == whole
