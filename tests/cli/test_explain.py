"""`stc explain`, `report`, `info`, `sql` and `demo` show what the library has."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import stc
from support.cli_cases import ZOO, items


def test_explain_an_item(run, zoo):
    explanation = zoo.explain_local(items()).why(12)
    said = run("explain", "zoo.stc.parquet", "zoo.csv", "--item", 12, "--top", 4)
    assert said.out.startswith(f"item 12: {explanation}\n")
    assert "... and 12 more: --top" in said.out
    assert all(len(line) <= 80 for line in said.out.splitlines())
    found = json.loads(
        run("explain", "zoo.stc.parquet", "zoo.csv", "--item", 12, "--top", 99, "--json").out
    )
    assert found["class"] == explanation.labels[0]
    assert found["probability"] == explanation.probabilities[0]
    shares = [row["share"] for row in found["contributions"]]
    assert shares == explanation.table["share"].to_list()
    assert sum(shares) == pytest.approx(1)
    other = run("explain", "zoo.stc.parquet", "zoo.csv", "--item", 12, "--class", "Bird").out
    assert other.startswith(f"item 12: {zoo.explain_local(items()).why(12, 'Bird')}\n")
    said = run("explain", "zoo.stc.parquet", "zoo.csv", "--item", 12, "--html", "i.html")
    assert said.err == "item 12 -> i.html\n"
    assert Path("i.html").read_text().startswith("<!doctype html>")


def test_explain_the_model(run, zoo):
    said = run("explain", "zoo.stc.parquet", "--top", 2).out
    assert re.search(r"^Bird  20 items\n  feathers=1 +24 %  █+.*\n  legs=2 +19 %  █+", said, re.M)
    found = json.loads(run("explain", "zoo.stc.parquet", "--class", "Fish", "--json").out)
    (fish,) = found["classes"]
    table = zoo.explain_global().for_class("Fish").top(10).table
    assert [row["feature"] for row in fish["features"]] == table["feature"].to_list()
    assert [row["share"] for row in fish["features"]] == table["share"].to_list()


def test_a_class_as_predict_writes_it(run):
    Path("d.csv").write_text("a,class\n1,true\n2,false\n")
    run("fit", "d.csv", "-t", "class", "-o", "m.stc.parquet")
    written = run("predict", "m.stc.parquet", "d.csv").out.split()[1].split(",")[-1]
    assert written == "true"
    for label in (written, "True"):
        assert run("explain", "m.stc.parquet", "--class", label).out.startswith("True  1 item\n")
    assert run("explain", "m.stc.parquet", "d.csv", "--class", "false").out.startswith(
        "item 0: False"
    )


@pytest.mark.parametrize("columns", ["0", "1", "40"])
def test_a_narrow_terminal(run, zoo, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    for command in (["explain"], ["explain", "zoo.csv"], ["evaluate", "zoo.csv"], ["info"]):
        name, *data = command
        said = run(name, "zoo.stc.parquet", *data).out
        assert max(map(len, said.splitlines())) <= 40
        if name == "explain":  # a bar stands behind what it is of
            assert not re.search("^█", said, re.MULTILINE)
    figures = run("evaluate", "zoo.stc.parquet", "zoo.csv").out
    assert "class     prec.   recall      F1   items" in figures


@pytest.mark.parametrize("text", [[], ["--text", "a"]])
def test_a_long_value_is_cut_in_the_terminal(run, text):
    long = "v" * 100_000
    Path("d.csv").write_text(f"a,class\n{long},x\nq,y\n")
    run("fit", "d.csv", "-t", "class", *text, "-o", "m.stc.parquet")
    assert len(run("explain", "m.stc.parquet", "d.csv").out) < 1000
    assert long in run("explain", "m.stc.parquet", "d.csv", "--json").out
    Path("e.csv").write_text(f"a,class\n{'w ' * 50_000},x\n")
    assert len(run("explain", "m.stc.parquet", "e.csv").out) < 10_000


def test_unseen_values_are_named(run, zoo):
    ZOO.head(1).with_columns(legs=pl.lit(7)).write_csv("odd.csv")
    said = run("explain", "zoo.stc.parquet", "odd.csv").out
    assert said.rstrip().endswith("Never seen in learning: legs=7")


def test_report_is_the_librarys_page(run, zoo):
    from stc.report import report

    few = ZOO.head(9)
    few.write_csv("few.csv")
    said = run("report", "zoo.stc.parquet", "few.csv", "-o", "r.html", "--title", "Zoo")
    assert re.fullmatch(r"9 items -> r\.html \(\d+\.\d kB\)\n", said.err)
    X = few.drop("animal_name", "class_type")
    assert Path("r.html").read_text() == report(zoo, X, few["class_type"], title="Zoo").html
    said = run("report", "zoo.stc.parquet", "few.csv", "-o", "r.html", "--rows", 5).err
    assert "only the first 5 items" in said
    assert "5 items -> r.html" in said
    X.write_csv("new.csv")
    said = run("report", "zoo.stc.parquet", "new.csv", "-o", "r.html", "--json")
    assert json.loads(said.out)["items"] == 9
    assert said.err == ""
    assert "judged&#34;:true" not in Path("r.html").read_text()


def test_info(run, zoo):
    run("update", "zoo.stc.parquet", "zoo.csv", "--batch-id", "monday")
    found = json.loads(run("info", "zoo.stc.parquet", "--json").out)
    assert found["items"] == 202
    assert found["batches"] == ["monday"]
    assert found["format"] == 2
    assert found["version"] == stc.__version__
    assert found["bytes"] == Path("zoo.stc.parquet").stat().st_size
    assert found["attributes"] == items().columns
    assert found["targets"] == ["class_type"]
    mass = {own["class"]: own["items"] for own in found["classes"]}
    assert mass["Mammal"] == 82
    assert len(mass) == 7
    assert found["parameters"]["power"] == zoo.power == 0.5
    assert found["policy"] == zoo.policy_
    assert found["entries"] == pl.read_parquet("zoo.stc.parquet").height
    said = run("info", "zoo.stc.parquet").out
    assert re.search(r"^batches +1: monday$", said, re.M)
    assert re.search(r"^  Mammal: 82 +40\.6 %  █+", said, re.M)


def test_sql_is_the_librarys(run, zoo):
    import duckdb

    query = run("sql", "zoo.stc.parquet", "--data", "zoo", "--item", "animal_name").out
    assert query == zoo.to_sql("duckdb", data="zoo", item="animal_name") + "\n"
    connection = duckdb.connect()
    connection.register("zoo", ZOO.unique("animal_name").to_arrow())  # there are two frogs
    assert connection.sql(query).fetchall()
    run("sql", "zoo.stc.parquet", "--dialect", "postgres", "--form", "wide", "-o", "z.sql")
    assert Path("z.sql").read_text() == zoo.to_sql("postgres", form="wide") + "\n"


def test_demo(run):
    said = run("demo").out
    assert said.startswith("Zoo: 101 animals, 16 attributes, 7 classes.")
    run("demo", "--csv", "zoo.csv")
    assert pl.read_csv("zoo.csv").equals(ZOO)
