"""`stc update`, `unlearn` and `merge`."""

import json
from pathlib import Path

import pytest

import stc
from support.cli_cases import PAPER, ROLES, ZOO, items, same
from support.cli_stress import kill
from support.models import paper_model


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


def test_ids_that_no_batch_can_have(run, zoo):
    before = Path("zoo.stc.parquet").read_bytes()
    run("demo", "--csv", "new.csv")
    said = run("unlearn", "zoo.stc.parquet", "new.csv", "--batch-id", "never", code=4).err
    assert said == "stc: new.csv: cannot unlearn: the batch 'never' was never learnt\n"
    for command in ("update", "unlearn"):
        said = run(command, "zoo.stc.parquet", "new.csv", "--batch-id", "", code=2).err
        assert said == "stc: --batch-id is empty; give each batch an id of its own\n"
        said = run(command, "zoo.stc.parquet", "new.csv", "--batch-id", "unlearnt: 7", code=2).err
        assert said == "stc: --batch-id 'unlearnt: 7': an id cannot start with 'unlearnt: '\n"
    assert Path("zoo.stc.parquet").read_bytes() == before


def test_a_model_that_knows_no_target(run):
    paper_model().fit(items(), ZOO["class_type"]).save("m.stc.parquet")
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
        run("fit", f"{place}.csv", *ROLES, *PAPER, "-o", f"{place}.stc.parquet")
        names.append(f"{place}.stc.parquet")
    said = run("merge", *names, "-o", "all.stc.parquet").err
    assert said.startswith("merged 3 models: 101 items, 16 attributes, 7 classes -> all")
    whole = stc.load("all.stc.parquet")
    assert whole.corpus_.equals(zoo.corpus_)
    run("merge", "all.stc.parquet", names[0], "-o", "all.stc.parquet")
    assert stc.load("all.stc.parquet").class_mass_.sum() == 135


@pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_updates_leave_a_whole_model(tmp_path, times):
    found = kill(tmp_path, times=times, seed=1, rows=300)
    assert found["old"] + found["new"] == times
