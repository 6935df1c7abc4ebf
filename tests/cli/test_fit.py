"""The command `stc`: every command, every format in and out, the same answers as the library."""

import gzip
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import confusion_matrix, log_loss, precision_recall_fscore_support
from typer.main import get_command

import stc
from stc import SparseTensorClassifier
from stc.cli import main
from stc.cli.app import app
from support.cli_stress import kill

ZOO = pl.read_csv(Path(stc.__file__).parent / "data" / "zoo.csv")
READERS = {
    ".csv": pl.read_csv,
    ".tsv": lambda path: pl.read_csv(path, separator="\t"),
    ".jsonl": pl.read_ndjson,
    ".parquet": pl.read_parquet,
    ".arrow": pl.read_ipc,
}
WRITERS = {
    ".csv": pl.DataFrame.write_csv,
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
}
ROLES = ["--target", "class_type", "--ignore", "animal_name"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def run(capsys):
    """Run a command that must end well; what it says to stdout and stderr."""

    def work(*arguments, code=0):
        capsys.readouterr()
        found = main([str(own) for own in arguments])
        said = capsys.readouterr()
        assert found == code, said.err
        return said

    return work


@pytest.fixture
def zoo(run):
    ZOO.write_csv("zoo.csv")
    run("fit", "zoo.csv", *ROLES, "-o", "zoo.stc.parquet")
    return stc.load("zoo.stc.parquet")


def items() -> pl.DataFrame:
    return ZOO.drop("animal_name", "class_type")


def given(monkeypatch, data: bytes) -> None:
    """Put data into the standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def same(one: SparseTensorClassifier, other: SparseTensorClassifier) -> None:
    assert one.corpus_.equals(other.corpus_)
    assert np.array_equal(one.predict_proba(items()), other.predict_proba(items()))


# --- fit ----------------------------------------------------------------------------------------


def test_fit_is_the_librarys(zoo):
    same(
        zoo, SparseTensorClassifier().fit(stc.source("zoo.csv", ignore="animal_name"), "class_type")
    )
    assert zoo.score(stc.source("zoo.csv")) == zoo.score(items(), ZOO["class_type"])


def test_fit_says_what_it_learnt(run):
    ZOO.write_csv("zoo.csv")
    said = run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet")
    assert said.out == ""
    pattern = r"learnt 101 items, 16 attributes, 7 classes -> m\.stc\.parquet \(\d+\.\d kB\)\n"
    assert re.fullmatch(pattern, said.err)
    assert run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet", "--quiet").err == ""
    said = run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet", "--json")
    assert said.err == ""
    facts = json.loads(said.out)
    assert (facts["items"], facts["classes"], facts["model"]) == (101.0, 7, "m.stc.parquet")


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_in(run, zoo, monkeypatch, ending, zipped):
    path = Path(f"data{ending}")
    WRITERS[ending](ZOO, path)
    if zipped:
        data, path = path.read_bytes(), Path(f"data{ending}.gz")
        path.write_bytes(gzip.compress(data))
    run("fit", path, *ROLES, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    given(monkeypatch, path.read_bytes())
    run("fit", "-", "--format", ending[1:], *ROLES, "-o", "n.stc.parquet")
    same(stc.load("n.stc.parquet"), zoo)


def test_several_files_another_name_and_a_pipe(run, zoo):
    for place, part in enumerate(ZOO.iter_slices(40)):
        part.write_csv(f"part{place}.csv")
    run("fit", "part*.csv", *ROLES, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    run("fit", "part*.csv", "--format", "csv", *ROLES, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    ZOO.write_csv("zoo.data")
    run("fit", "zoo.data", "--format", "csv", *ROLES, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    end, pipe = os.pipe()
    os.write(pipe, ZOO.write_csv().encode())
    os.close(pipe)
    run("fit", f"/dev/fd/{end}", "--format", "csv", *ROLES, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)


def test_settings_are_the_librarys(run):
    ZOO.with_columns(w=pl.lit(2)).write_csv("zoo.csv")
    settings = ["--power", 0.4, "--balance", 0.5, "--entropy", 0, "--interactions", 2]
    settings += ["--missing", "category", "--min-support", 2, "--columns", "hair,milk"]
    settings += ["--columns", "legs", "--weight", "w"]
    run("fit", "zoo.csv", "-t", "class_type", *settings, "-o", "m.stc.parquet")
    own = SparseTensorClassifier(0.4, 0.5, 0, interactions=2, missing="category", min_support=2)
    source = stc.source("zoo.csv", columns=["hair", "milk", "legs"])
    own.fit(source, "class_type", "w")
    found = stc.load("m.stc.parquet")
    assert found.corpus_.equals(own.corpus_)
    assert np.array_equal(found.predict_proba("zoo.csv"), own.predict_proba("zoo.csv"))
    assert found.get_params() == own.get_params()
    assert found.class_mass_.sum() == 202


def test_numbers_dimensions_policy_and_phases(run):
    ZOO.with_columns(kilos=pl.int_range(101) + 0.5).write_csv("zoo.csv")
    common = ["fit", "zoo.csv", "-t", "class_type", "-o", "m.stc.parquet"]
    run(*common, "--columns", "kilos,legs", "--continuous", "kilos")
    assert stc.load("m.stc.parquet").continuous == ["kilos"]
    run(*common, "--columns", "kilos,legs", "--continuous", "auto")
    assert stc.load("m.stc.parquet").continuous == "auto"
    run(*common, "--columns", "hair,milk,legs", "--dimensions", "each", "--policy", "learn")
    learnt = stc.load("m.stc.parquet")
    assert learnt.policy_[0] == ["hair", "milk", "legs"]
    assert learnt.policy == "learn"
    groups = ["--dimensions", "coat=hair,feathers", "--dimensions", "legs"]
    run(*common, *groups, "--policy", "coat,legs", "--policy", "legs")
    assert stc.load("m.stc.parquet").policy_ == [["coat", "legs"], ["legs"], []]
    run(*common, "--columns", "hair,milk,legs", "--phases", "learn")
    assert stc.load("m.stc.parquet").phase_history_.height


def test_a_warning_is_a_note(run):
    ZOO.with_columns(kilos=pl.int_range(101) + 0.5).write_csv("zoo.csv")
    common = ["fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet"]
    first, *_ = run(*common).err.splitlines()
    assert first.startswith("stc: note: nearly every value of column 'kilos' is distinct")
    assert first.endswith("name it with --continuous")
    assert run(*common, "--quiet").err == ""


@pytest.mark.parametrize("sign", [";", "|", r"\t", " "])
@pytest.mark.parametrize("form", ["plain", "gzip", "pattern", "pipe", "named"])
def test_another_separator(run, zoo, monkeypatch, sign, form):
    """All commands that read data; a comma in a cell is then a comma."""
    text = ZOO.with_columns(pl.col("animal_name") + ", the")
    content = text.write_csv(separator="\t" if sign == r"\t" else sign).encode()
    Path("animals.csv").write_bytes(content)
    Path("animals.csv.gz").write_bytes(gzip.compress(content))
    Path("animals.data").write_bytes(content)
    names = {"plain": "animals.csv", "gzip": "animals.csv.gz", "pattern": "anim*.csv"}
    more = ["--separator", sign, *(["--format", "csv"] if form == "named" else [])]
    data = names.get(form, "-" if form == "pipe" else "animals.data")

    def work(*arguments):
        given(monkeypatch, content)
        return run(*(data if own is ... else own for own in arguments), *more)

    work("fit", ..., *ROLES, "-o", "m.stc.parquet")
    same(zoo, stc.load("m.stc.parquet"))
    work("predict", "m.stc.parquet", ..., "-o", "out.csv")
    assert pl.read_csv("out.csv")["prediction"].to_list() == zoo.predict(items()).tolist()
    assert pl.read_csv("out.csv")["animal_name"][0] == "aardvark, the"
    assert json.loads(work("evaluate", "m.stc.parquet", ..., "--json").out)["items"] == 101
    assert "Mammal" in work("explain", "m.stc.parquet", ..., "--item", 0).out
    work("update", "m.stc.parquet", ...)
    assert stc.load("m.stc.parquet").class_mass_.sum() == 202
    work("unlearn", "m.stc.parquet", ...)
    same(zoo, stc.load("m.stc.parquet"))
    work("report", "m.stc.parquet", ..., "-o", "page.html", "--rows", 5)
    assert Path("page.html").exists()


@pytest.mark.parametrize(
    ("name", "sign", "message"),
    [
        ("zoo.csv", ";;", "--separator ';;': give one sign, such as ';', or"),
        ("zoo.csv", "", "--separator '': give one sign"),
        ("zoo.csv", '"', "give one sign"),
        ("zoo.csv", "§", "give one sign"),
        ("zoo.parquet", ";", "--separator ';' is for .csv and .tsv, not for .parquet"),
    ],
)
def test_a_separator_that_cannot_be(run, name, sign, message):
    WRITERS[Path(name).suffix](ZOO, name)
    said = run("fit", name, *ROLES, "-o", "m.stc.parquet", "--separator", sign, code=2)
    assert message in said.err
    assert not Path("m.stc.parquet").exists()


def test_a_fault_in_a_file_with_another_separator_is_found(run):
    Path("a.csv").write_text("x;y;class\n1;2;u\n1;2;u;3\n")
    said = run("fit", "a.csv", "-t", "class", "-o", "m.stc.parquet", "--separator", ";", code=4)
    assert said.err.startswith("stc: a.csv: line 3")


def test_tune_chooses_and_learns_all(run):
    values = [(a, b, "friend" if a == b else "foe") for a in "uvw" for b in "uvw"] * 20
    pl.DataFrame(values, schema=["head", "body", "kind"], orient="row").write_csv("robots.csv")
    common = ["fit", "robots.csv", "-t", "kind", "-o", "m.stc.parquet", "--tune"]
    said = run(*common, "--power", 0.5)
    assert re.search(r"chosen by 180 rows: power 0\.5, .*interactions [23]", said.err)
    model = stc.load("m.stc.parquet")
    assert model.score("robots.csv") == 1.0
    assert model.interactions > 1
    assert "--policy" in run(*common, "--policy", "learn", code=2).err


def test_tune_keeps_groups_together(run):
    """A patient has the same label in all rows, so by lot the patient's own habits tell it."""
    rng = np.random.default_rng(0)
    rows = []
    for patient in range(40):
        kind = "sick" if patient % 2 else "well"
        for _ in range(6):
            hint = kind if rng.random() < 0.8 else ("well" if kind == "sick" else "sick")
            rows.append((f"p{patient}", f"town {patient}", hint, kind))
    schema = ["patient", "town", "hint", "kind"]
    pl.DataFrame(rows, schema=schema, orient="row").write_csv("visits.csv")
    common = ["fit", "visits.csv", "-t", "kind", "-o", "m.stc.parquet"]
    run(*common, "--tune", "--group", "patient")
    model = stc.load("m.stc.parquet")
    assert list(model.feature_names_in_) == ["town", "hint"]
    visits = pl.read_csv("visits.csv")
    X, y = visits.select("town", "hint"), visits["kind"]
    expected = stc.SparseTensorClassifierCV().fit(X, y, groups=visits["patient"])
    assert np.allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-12)
    by_lot = stc.SparseTensorClassifierCV().fit(X, y)
    assert by_lot.best_score_ > expected.best_score_ + 0.1
    assert "--group is for --tune" in run(*common, "--group", "patient", code=2).err
    assert "'pacient'" in run(*common, "--tune", "--group", "pacient", code=4).err
    said = run(*common, "--tune", "--group", "patient", "--columns", "hint,patient")
    assert list(stc.load("m.stc.parquet").feature_names_in_) == ["hint", "patient"]
    X = visits.select("hint", "patient")
    expected.fit(X, y, groups=visits["patient"])
    assert f"power {expected.best_params_['power']:.3g}, " in said.err
    learnt = stc.load("m.stc.parquet").predict_proba(X)
    assert np.allclose(learnt, expected.predict_proba(X), atol=1e-12)


def test_a_row_without_a_group(run):
    rows = [("p", "u", "a"), (None, "v", "b")] * 10
    pl.DataFrame(rows, schema=["who", "x", "kind"], orient="row").write_csv("visits.csv")
    common = ["fit", "visits.csv", "-t", "kind", "-o", "m.stc.parquet", "--tune", "--group", "who"]
    said = run(*common, code=4).err
    assert said.startswith("stc: visits.csv: line 3, column 'who': missing; give the item a group")
    pl.DataFrame(rows, schema=["who", "x", "kind"], orient="row").fill_null("q").write_csv(
        "visits.csv"
    )
    assert "chosen by 20 rows" in run(*common).err
    pl.DataFrame({"who": ["p"] * 9, "x": [*"abc"] * 3, "kind": [*"uuv"] * 3}).write_csv(
        "visits.csv"
    )
    assert "folds need as many groups, and there are 1" in run(*common, code=4).err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", "a,b"], "--group a,b: give one column, not 2"),
        (["--weight", "w,a"], "--weight w,a: give one column, not 2"),
        (["--text", "a,b"], "--text a,b: give one column, not 2"),
        (["--group", "class"], "column 'class' is --target and --group: name it once"),
        (["--weight", "class"], "column 'class' is --target and --weight: name it once"),
        (["--group", "w", "--weight", "w"], "column 'w' is --weight and --group: name it once"),
        (["--text", "a", "--group", "a"], "column 'a' is --text and --group: name it once"),
        (["--target", "class"], "column 'class' is --target and --target: name it once"),
    ],
)
def test_a_column_has_one_role(run, options, message):
    Path("d.csv").write_text("a,b,w,class\nx,y,1,p\nz,y,1,q\n")
    common = ["fit", "d.csv", "-t", "class", "-o", "m.stc.parquet", "--tune"]
    assert message in run(*common, *options, code=2).err


def test_names_are_found_behind_a_mark_and_blank_lines(run):
    common = ["fit", "d.csv", "-t", "class", "-o", "m.stc.parquet", "--separator", ";"]
    Path("d.csv").write_bytes(b'\xef\xbb\xbf"a;1";b;class\n1;2;p\n2;3;q;9\n')
    assert "d.csv: line 3: 4 cells, where line 1 names 3 columns" in run(*common, code=4).err
    Path("d.csv").write_bytes(b"\na;a;class\n1;2;p\n2;3;q\n")
    assert "two columns are named 'a'" in run(*common, code=4).err


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
    table = model.explain(items()).table
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
    from stc.cli import answering

    run("predict", "zoo.stc.parquet", "zoo.csv", "-o", "one.csv", "--proba", "--explain", 2)
    whole = json.loads(run("evaluate", "zoo.stc.parquet", "zoo.csv", "--json").out)
    monkeypatch.setattr(answering, "_AT_A_TIME", 70)  # ten items, or fewer
    run("predict", "zoo.stc.parquet", "zoo.csv", "-o", "ten.csv", "--proba", "--explain", 2)
    assert Path("one.csv").read_text() == Path("ten.csv").read_text()
    said = run("predict", "zoo.stc.parquet", "zoo.csv", "--proba", "--explain", 2)
    assert said.out == Path("one.csv").read_text()
    parts = json.loads(run("evaluate", "zoo.stc.parquet", "zoo.csv", "--json").out)
    assert parts.pop("log_loss") == pytest.approx(whole.pop("log_loss"), rel=1e-12)
    assert parts == whole


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
    assert said.startswith("stc: column 'labels' holds several values a cell, which csv cannot")
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
    expected = SparseTensorClassifier().fit(texts, pl.read_csv("r.csv")["label"])
    found = stc.load("m.stc.parquet")
    assert np.array_equal(found.predict_proba(texts), expected.predict_proba(texts))
    said = run("explain", "m.stc.parquet", "r.csv", "--item", 2).out
    assert "[+fun+] [+and+]\n[+funny+]" in said
    assert json.loads(run("evaluate", "m.stc.parquet", "r.csv", "--json").out)["accuracy"] == 1
    pl.DataFrame({"words": ["what fun", "so bad"], "n": [1, 2]}).write_csv("n.csv")
    said = run("predict", "m.stc.parquet", "n.csv", "--text", "words")
    assert said.out == "n,prediction\n1,up\n2,down\n"


# --- explain, report, info, sql -----------------------------------------------------------------


def test_explain_an_item(run, zoo):
    explanation = zoo.explain(items()).why(12)
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
    assert other.startswith(f"item 12: {zoo.explain(items()).why(12, 'Bird')}\n")
    said = run("explain", "zoo.stc.parquet", "zoo.csv", "--item", 12, "--html", "i.html")
    assert said.err == "item 12 -> i.html\n"
    assert Path("i.html").read_text().startswith("<!doctype html>")


def test_explain_the_model(run, zoo):
    said = run("explain", "zoo.stc.parquet", "--top", 2).out
    assert re.search(r"^Bird  20 items\n  feathers=1 +24 %  █+.*\n  legs=2 +19 %  █+", said, re.M)
    found = json.loads(run("explain", "zoo.stc.parquet", "--class", "Fish", "--json").out)
    (fish,) = found["classes"]
    table = zoo.explain().for_class("Fish").top(10).table
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
    assert found["format"] == 1
    assert found["version"] == stc.__version__
    assert found["bytes"] == Path("zoo.stc.parquet").stat().st_size
    assert found["attributes"] == items().columns
    assert found["targets"] == ["class_type"]
    mass = {own["class"]: own["items"] for own in found["classes"]}
    assert mass["Mammal"] == 82
    assert len(mass) == 7
    assert found["parameters"]["power"] == 0.5
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
    connection.register("zoo", ZOO.to_arrow())
    assert connection.sql(query).fetchall()
    run("sql", "zoo.stc.parquet", "--dialect", "postgres", "--form", "wide", "-o", "z.sql")
    assert Path("z.sql").read_text() == zoo.to_sql("postgres", form="wide") + "\n"


def test_demo(run):
    said = run("demo").out
    assert said.startswith("Zoo: 101 animals, 16 attributes, 7 classes.")
    run("demo", "--csv", "zoo.csv")
    assert pl.read_csv("zoo.csv").equals(ZOO)


# --- update, unlearn, merge ---------------------------------------------------------------------


def test_update_and_unlearn_are_the_librarys(run, zoo):
    ZOO.head(30).write_csv("new.csv")
    before = Path("zoo.stc.parquet").read_bytes()
    said = run("update", "zoo.stc.parquet", "new.csv")
    assert said.err.startswith("learnt 30 items; now 131 items, 16 attributes, 7 classes -> zoo")
    same(stc.load("zoo.stc.parquet"), zoo.partial_fit("new.csv"))
    facts = json.loads(run("unlearn", "zoo.stc.parquet", "new.csv", "--json").out)
    assert facts["changed"] == 30
    assert facts["items"] == 101
    assert Path("zoo.stc.parquet").read_bytes() == before


def test_a_batch_counts_once(run, zoo):
    ZOO.head(30).write_csv("new.csv")
    run("update", "zoo.stc.parquet", "new.csv", "--batch-id", "7")
    said = run("update", "zoo.stc.parquet", "new.csv", "--batch-id", "7").err
    assert said.startswith("batch '7' was in the model's ledger before, so it does not count again")
    assert stc.load("zoo.stc.parquet").class_mass_.sum() == 131
    run("unlearn", "zoo.stc.parquet", "new.csv", "--batch-id", "7")
    said = run("unlearn", "zoo.stc.parquet", "new.csv", "--batch-id", "7").err
    assert said.startswith("batch '7' was unlearnt before, so it is not taken away again")
    said = run("update", "zoo.stc.parquet", "new.csv", "--batch-id", "7").err
    assert said.startswith("batch '7' was learnt and unlearnt before, so it does not count again")
    assert stc.load("zoo.stc.parquet").class_mass_.sum() == 101


def test_a_model_that_knows_no_target(run):
    SparseTensorClassifier().fit(items(), ZOO["class_type"]).save("m.stc.parquet")
    ZOO.write_csv("zoo.csv")
    for command in ("update", "evaluate"):
        assert "--target" in run(command, "m.stc.parquet", "zoo.csv", code=2).err
    run("evaluate", "m.stc.parquet", "zoo.csv", "--target", "class_type")
    run("update", "m.stc.parquet", "zoo.csv", "--target", "class_type")
    assert stc.load("m.stc.parquet").class_mass_.sum() == 202


def test_merge(run, zoo):
    names = []
    for place, part in enumerate(ZOO.iter_slices(34)):
        part.write_csv(f"{place}.csv")
        run("fit", f"{place}.csv", *ROLES, "-o", f"{place}.stc.parquet")
        names.append(f"{place}.stc.parquet")
    said = run("merge", *names, "-o", "all.stc.parquet").err
    assert said.startswith("merged 3 models: 101 items, 16 attributes, 7 classes -> all")
    whole = stc.load("all.stc.parquet")
    assert whole.corpus_.equals(zoo.corpus_)
    run("merge", "all.stc.parquet", names[0], "-o", "all.stc.parquet")
    assert stc.load("all.stc.parquet").class_mass_.sum() == 135


def test_killed_updates_leave_a_whole_model(tmp_path):
    found = kill(tmp_path, times=5, seed=1, rows=300)
    assert found["old"] + found["new"] == 5


# --- the command line itself --------------------------------------------------------------------


def commands() -> dict[str, object]:
    return get_command(app).commands


def test_the_commands_are_those_of_the_issue():
    table = "demo fit predict evaluate explain update unlearn merge report info sql"
    assert sorted(commands()) == sorted(table.split())


@pytest.mark.parametrize("name", ["", *sorted(commands())])
def test_the_example_of_the_help_runs(run, zoo, name):
    said = run(*([name] if name else []), "--help").out
    epilog = commands()[name].epilog if name else app.info.epilog
    example = epilog.split("\n\n")[0].removeprefix("Example: ")
    assert example in " ".join(said.split())
    ZOO.head(9).write_csv("new.csv")
    if name == "report":
        ZOO.head(9).write_csv("zoo.csv")
    for side in ("north", "south"):
        zoo.save(f"{side}.stc.parquet")
    program, *arguments = shlex.split(example)
    assert program == "stc"
    run(*arguments)


def test_help_tells_the_exit_codes_and_what_fits_80_columns(run):
    said = run("--help").out
    assert "130 interrupted (129, 143: by SIGHUP, SIGTERM)" in " ".join(said.split())
    assert "<bool>" not in said + run("fit", "--help").out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert run("--version").out == f"stc {stc.__version__}\n"


HEAVY = ("numpy", "polars", "sklearn", "scipy", "narwhals", "pandas", "pyarrow", "sqlglot")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from stc.cli import main; code = main(['fit', '--help']); "
        f"print([own for own in {HEAVY} if own in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_the_extra_there_is_a_hint():
    code = "import sys; sys.modules['typer'] = None; from stc.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 6
    assert done.stderr == (
        "stc: the command stc needs typer: pip install 'sparse-tensor-classifier[cli]'\n"
    )


def completed(line: str) -> list[str]:
    """What bash would offer for an unfinished line."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "from stc.cli import main; main()"],
        env={**os.environ, **words, "_STC_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
    )
    return done.stdout.split()


def test_completion():
    assert set(completed("stc un")) == {"unlearn"}
    assert {"--target", "--tune"} <= set(completed("stc fit --t"))
    assert set(completed("stc fit --missing ")) == {"ignore", "category"}
    # The shell is told by the process above: bash, which would be replaced if nothing came after.
    show = shlex.join(
        [sys.executable, "-c", "from stc.cli import main; main(['--show-completion', 'bash'])"]
    )
    done = subprocess.run(["bash", "-c", f"{show}; true"], capture_output=True, text=True)
    assert "_STC_COMPLETE=complete_bash" in done.stdout, done


def test_a_closed_pipe_ends_quietly(zoo):
    pl.concat([ZOO] * 300).write_csv("many.csv")
    code = "import sys; from stc.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "predict", "zoo.stc.parquet", "many.csv", "--quiet"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe) as process:
        assert process.stdout.readline().startswith(b"animal_name,class_type,prediction")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_colours_are_for_terminals(run, zoo, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("explain", "zoo.stc.parquet").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", run("explain", "zoo.stc.parquet").out)
