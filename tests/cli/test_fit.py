"""`stc fit` and `stc tune`: every format in, the same model as the library."""

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import stc
from stc import SparseTensorClassifier
from support.cli_cases import PAPER, ROLES, ZOO, given, items, same
from support.models import paper_model

WRITERS = {
    ".csv": pl.DataFrame.write_csv,
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    ".jsonl": pl.DataFrame.write_ndjson,
    ".parquet": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
}


# --- fit ----------------------------------------------------------------------------------------


def test_fit_is_the_librarys(zoo):
    source = stc.source("zoo.csv", ignore="animal_name")
    same(zoo, paper_model().fit(source, "class_type"))
    assert zoo.score(stc.source("zoo.csv")) == zoo.score(items(), ZOO["class_type"])


def test_fit_chooses_as_the_library_does(run):
    ZOO.write_csv("zoo.csv")
    run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet")
    found = stc.load("m.stc.parquet")
    own = SparseTensorClassifier().fit(stc.source("zoo.csv", ignore="animal_name"), "class_type")
    same(found, own)
    assert found.get_params() == own.get_params() == SparseTensorClassifier().get_params()
    assert found.chosen_params_ == own.chosen_params_
    assert found.choices_.equals(own.choices_)
    run("fit", "zoo.csv", *ROLES, "--power", 0.3, "--interactions", 1, "-o", "m.stc.parquet")
    found = stc.load("m.stc.parquet")
    assert (found.power_, found.interactions_, found.balance) == (0.3, 1, "auto")


def test_fit_says_what_it_learnt(run):
    ZOO.write_csv("zoo.csv")
    said = run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet")
    assert said.out == ""
    pattern = r"learnt 101 items, 16 attributes, 7 classes -> m\.stc\.parquet \(\d+\.\d kB\)\n"
    chosen = (
        "accuracy about 0.96 on new rows, by exact leave-one-out over 59; always guessing Mammal: "
        "0.41\n60% of the rows occur more than once: new rows may be harder\n"
    )
    assert re.fullmatch(pattern + re.escape(chosen), said.err)
    said = run("fit", "zoo.csv", *ROLES, *PAPER, "-o", "m.stc.parquet")
    assert re.fullmatch(pattern, said.err)  # nothing was chosen
    assert run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet", "--quiet").err == ""
    said = run("fit", "zoo.csv", *ROLES, "-o", "m.stc.parquet", "--json")
    assert said.err == ""
    info = " ".join(run("info", "m.stc.parquet").out.split())
    assert "60% of the rows occur more than once: new rows may be harder" in info
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
    run("fit", path, *ROLES, *PAPER, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    given(monkeypatch, path.read_bytes())
    run("fit", "-", "--format", ending[1:], *ROLES, *PAPER, "-o", "n.stc.parquet")
    same(stc.load("n.stc.parquet"), zoo)


def test_several_files_another_name_and_a_pipe(run, zoo):
    for place, part in enumerate(ZOO.iter_slices(40)):
        part.write_csv(f"part{place}.csv")
    run("fit", "part*.csv", *ROLES, *PAPER, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    run("fit", "part*.csv", "--format", "csv", *ROLES, *PAPER, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    ZOO.write_csv("zoo.data")
    run("fit", "zoo.data", "--format", "csv", *ROLES, *PAPER, "-o", "m.stc.parquet")
    same(stc.load("m.stc.parquet"), zoo)
    end, pipe = os.pipe()
    os.write(pipe, ZOO.write_csv().encode())
    os.close(pipe)
    run("fit", f"/dev/fd/{end}", "--format", "csv", *ROLES, *PAPER, "-o", "m.stc.parquet")
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
    run("fit", "zoo.csv", *ROLES, "--scoring", "balanced_accuracy", "-o", "m.stc.parquet")
    found = stc.load("m.stc.parquet")
    expected = SparseTensorClassifier(scoring="balanced_accuracy")
    expected.fit(stc.source("zoo.csv", ignore=["animal_name"]), "class_type")
    assert found.get_params() == expected.get_params()
    assert found.fitted_.hyper == expected.fitted_.hyper
    assert "--scoring" in run("fit", "zoo.csv", *ROLES, "--scoring", "f1", "-o", "n", code=2).err


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

    work("fit", ..., *ROLES, *PAPER, "-o", "m.stc.parquet")
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
        (
            "zoo.csv",
            ";;",
            "--separator ';;' is not a single character; use a",
        ),
        ("zoo.csv", "", "--separator '' is not a single character"),
        ("zoo.csv", '"', "is not a single character"),
        ("zoo.csv", "§", "is not a single character"),
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
    assert re.search(r"chosen by 180 rows: power 0\.5, .*conjunctions .*missing ignore", said.err)
    model = stc.load("m.stc.parquet")
    assert model.score("robots.csv") == 1.0
    assert model.interactions_ != 1
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
    plain = run(*common, "--group", "patient")
    model = stc.load("m.stc.parquet")
    chosen = stc.SparseTensorClassifier().fit(X, y, groups=visits["patient"])
    assert model.fitted_.hyper == chosen.fitted_.hyper
    assert np.allclose(model.predict_proba("visits.csv"), chosen.predict_proba(X), atol=1e-12)
    assert f"accuracy about {chosen.loo_accuracy_:.2f} on new rows" in plain.err
    assert chosen.loo_accuracy_ < stc.SparseTensorClassifier().fit(X, y).loo_accuracy_ - 0.1
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
    assert said.startswith(
        "stc: visits.csv: line 3, column 'who': groups has a missing value; give the item a group"
    )
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
    assert "d.csv: line 3: the row has 4 cells, the header 3" in run(*common, code=4).err
    Path("d.csv").write_bytes(b"\na;a;class\n1;2;p\n2;3;q\n")
    assert "two columns are named 'a'" in run(*common, code=4).err
