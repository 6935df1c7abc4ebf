"""Models in stores, which every command takes as `store-url#name`."""

import json
import shlex
import sqlite3
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import stc
from stc import SparseTensorClassifier
from stc.cli import main
from support.cli_cases import PAPER, ROLES, ZOO, items, same, started
from support.models import paper_model

URLS = {"sqlite": "sqlite:///zoo.db", "duckdb": "duckdb:///zoo.duckdb"}
FILE = "zoo.stc.parquet"
# Every way to name a model.
COMMANDS = (
    "fit zoo.csv --target class_type -o {}",
    "update {} zoo.csv --batch-id monday",
    "unlearn {} zoo.csv",
    "merge {} zoo.stc.parquet -o m.stc.parquet",
    "merge zoo.stc.parquet zoo.stc.parquet -o {}",
    "predict {} zoo.csv -o -",
    "evaluate {} zoo.csv",
    "explain {}",
    "explain {} zoo.csv --item 3",
    "explain {} zoo.csv --html page.html",
    "report {} zoo.csv -o page.html",
    "info {}",
    "sql {}",
)


@pytest.fixture(params=URLS)
def url(request):
    return URLS[request.param]


@pytest.fixture
def stored(zoo, run, url):
    """The Zoo in a file and, as `zoo`, in a store; 30 animals in new.csv."""
    ZOO.head(30).write_csv("new.csv")
    run("fit", "zoo.csv", *ROLES, *PAPER, "-o", f"{url}#zoo")
    return f"{url}#zoo"


def in_store(url: str, name: str = "zoo") -> SparseTensorClassifier:
    with stc.open_store(url) as store:
        return store[name].to_estimator()


def execute(url: str, *statements: str) -> None:
    """Change a database behind the back of stc."""
    database = duckdb if url.startswith("duckdb") else sqlite3
    connection = database.connect(url.partition(":///")[2])
    for statement in statements:
        connection.execute(statement)
    if database is sqlite3:
        connection.commit()
    connection.close()


# --- every command answers as from a file ---------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "predict {} zoo.csv",
        "predict {} zoo.csv --proba --explain 2 --out-format jsonl",
        "evaluate {} zoo.csv",
        "evaluate {} zoo.csv --json",
        "explain {}",
        "explain {} --class Bird --top 3",
        "explain {} zoo.csv --item 3 --json",
    ],
)
def test_a_command_prints_what_it_prints_for_a_file(run, stored, command):
    said = run(*shlex.split(command.format(stored)))
    assert said == run(*shlex.split(command.format(FILE)))
    assert said.out


@pytest.mark.parametrize(
    "command", ["predict {} zoo.csv --proba -o {}", "report {} zoo.csv --title Zoo -o {}"]
)
def test_a_command_writes_what_it_writes_for_a_file(run, stored, command):
    for place, out in ((stored, "one.csv"), (FILE, "other.csv")):
        run(*shlex.split(command.format(place, out)))
    assert Path("one.csv").read_bytes() == Path("other.csv").read_bytes()


def test_the_query_of_a_model_answers_as_that_of_a_file(run, stored):
    """Its features stand in another order."""
    animals, answers = items().with_row_index("id"), []
    with duckdb.connect() as database:
        database.register("animals", animals)
        for place in (stored, FILE):
            run("sql", place, "--data", "animals", "--item", "id", "-o", "zoo.sql")
            query = Path("zoo.sql").read_text()
            answers.append(database.sql(query).pl().sort("item", "class"))
            assert run("sql", place, "--data", "animals", "--item", "id").out == query
    assert_frame_equal(*answers, abs_tol=1e-12)
    assert answers[0].height == 101 * 7


def test_pages_are_titled_with_the_name(run, stored):
    run("report", stored, "zoo.csv", "-o", "page.html")
    assert "<title>zoo</title>" in Path("page.html").read_text()
    run("explain", stored, "zoo.csv", "--item", 3, "--html", "item.html")
    assert "<title>zoo: item 3</title>" in Path("item.html").read_text()


def test_a_report_leaves_the_parameters_in_the_store(run, url):
    pl.DataFrame({"a": ["u", "v"], "b": ["x", "y"]}).write_csv("d.csv")
    with stc.open_store(url) as store:
        store.create("m", paper_model(targets=["b"])).fit("d.csv")
    run("report", f"{url}#m", "d.csv", "-o", "page.html")
    assert in_store(url, "m").targets == ["b"]


def test_info_of_a_model_has_all_but_the_size(run, stored):
    facts = json.loads(run("info", stored, "--json").out)
    of_file = json.loads(run("info", FILE, "--json").out)
    assert facts.pop("model") == stored
    for name in ("model", "bytes", "format", "version"):
        del of_file[name]
    assert facts == of_file
    title, *lines = run("info", stored).out.splitlines()
    assert title == stored
    assert lines == run("info", FILE).out.splitlines()[1:]


def test_info_of_a_store_lists_its_models(run, stored, url):
    with stc.open_store(url) as store:
        store.create("empty", paper_model())
    assert run("info", url).out == f"{url}: 2 models\n  empty\n  zoo\n"
    found = {"store": url, "models": ["empty", "zoo"]}
    assert json.loads(run("info", f"{url}#", "--json").out) == found


def test_fit_into_a_store_is_the_librarys(run, stored, zoo, url):
    same(in_store(url), zoo)
    said = run("fit", "new.csv", *ROLES, *PAPER, "--power", 0.4, "-o", stored)
    assert said.err == f"learnt 30 items, 16 attributes, 6 classes -> {stored}\n"
    found = in_store(url)
    assert found.power == 0.4
    source = stc.source("new.csv", ignore="animal_name")
    same(found, paper_model(0.4).fit(source, "class_type"))
    facts = json.loads(run("fit", "zoo.csv", *ROLES, *PAPER, "-o", stored, "--json").out)
    assert facts == {"model": stored, "items": 101, "attributes": 16, "classes": 7}
    same(in_store(url), zoo)
    run("fit", "new.csv", *ROLES, "-o", stored)
    chosen = SparseTensorClassifier().fit(source, "class_type")
    same(in_store(url), chosen)
    assert in_store(url).chosen_params_ == chosen.chosen_params_


def test_update_and_unlearn_are_the_librarys(run, stored, zoo, url):
    said = run("update", stored, "new.csv")
    assert said.err == (f"learnt 30 items; now 131 items, 16 attributes, 7 classes -> {stored}\n")
    learnt = in_store(url)
    zoo.partial_fit("new.csv")
    assert learnt.class_mass_.tolist() == zoo.class_mass_.tolist()
    assert np.allclose(learnt.predict_proba(items()), zoo.predict_proba(items()), atol=1e-12)
    facts = json.loads(run("unlearn", stored, "new.csv", "--json").out)
    left = {"model": stored, "items": 101, "attributes": 16, "classes": 7, "changed": 30}
    assert facts == left
    expected = stc.load(FILE).predict_proba(items())
    assert np.allclose(in_store(url).predict_proba(items()), expected, atol=1e-12)


def test_a_batch_counts_once(run, stored, url):
    def total():
        return in_store(url).class_mass_.sum()

    run("update", stored, "new.csv", "--batch-id", "7")
    said = run("update", stored, "new.csv", "--batch-id", "7").err
    assert said.startswith("batch '7' was in the model's ledger before, so it does not count again")
    assert total() == 131
    run("unlearn", stored, "new.csv", "--batch-id", "7")
    said = run("unlearn", stored, "new.csv", "--batch-id", "7").err
    assert said.startswith("batch '7' was unlearnt before, so it is not taken away again")
    said = run("update", stored, "new.csv", "--batch-id", "7").err
    assert said.startswith("batch '7' was learnt and unlearnt before, so it does not count again")
    assert total() == 101
    assert json.loads(run("info", stored, "--json").out)["batches"] == ["7", "unlearnt: 7"]
    said = run("unlearn", stored, "new.csv", "--batch-id", "8", code=4).err
    assert said == "stc: new.csv: cannot unlearn: the batch '8' was never learnt\n"


def test_a_model_that_has_learnt_nothing_yet(run, url):
    ZOO.drop("animal_name").write_csv("zoo.csv")
    with stc.open_store(url) as store:
        store.create("new", paper_model(power=0.4))
    place = f"{url}#new"
    for command in ("predict {} zoo.csv", "info {}", "merge {} {} -o m.stc.parquet"):
        said = run(*shlex.split(command.format(place, place)), code=5).err
        assert said == f"stc: {place}: the model has learnt nothing; see stc update\n"
    unlearn = ["unlearn", place, "zoo.csv", "--target", "class_type"]
    assert run(*unlearn, code=4).err == f"stc: {place}: the model has learnt nothing\n"
    assert "--target COLUMN" in run("update", place, "zoo.csv", code=2).err
    batch = ["--batch-id", "monday"]
    said = run("update", place, "zoo.csv", "--target", "class_type", *batch).err
    assert said.startswith("learnt 101 items; now 101 items")
    assert in_store(url, "new").power == 0.4
    said = run("unlearn", place, "zoo.csv", *batch).err
    assert said == f"forgot 101 items; now 0 items, 0 attributes, 0 classes -> {place}\n"
    # The same commands again, which cannot know the target any more.
    assert run("unlearn", place, "zoo.csv", *batch).err.startswith("batch 'monday' was unlearnt")
    assert run("update", place, "zoo.csv", *batch).err.startswith("batch 'monday' was learnt and")


def test_merge_files_and_stores_into_both(run, zoo, url):
    places = ["0.stc.parquet", f"{url}#1", f"{url}#2"]
    for place, part in zip(places, ZOO.iter_slices(34), strict=True):
        part.write_csv("part.csv")
        run("fit", "part.csv", *ROLES, *PAPER, "-o", place)
    said = run("merge", *places, "-o", f"{url}#all").err
    assert said == f"merged 3 models: 101 items, 16 attributes, 7 classes -> {url}#all\n"
    same(in_store(url, "all"), zoo)
    run("merge", *places, "-o", "all.stc.parquet")
    same(stc.load("all.stc.parquet"), zoo)
    with stc.open_store(url) as store:
        assert list(store) == ["1", "2", "all"]


def test_merge_into_an_input_is_one_transaction(run, stored, url, monkeypatch):
    from stc.stores import StoredModel

    run("fit", "new.csv", *ROLES, *PAPER, "-o", "new.stc.parquet")
    merge = StoredModel.merge

    def interleaved(self, other):
        # Another process learns after this one has opened the model.
        process = started("update", stored, "new.csv")
        assert process.wait(60) == 0, process.stderr.read()
        process.communicate()
        return merge(self, other)

    if url.startswith("sqlite"):  # a DuckDB file is open in one process only
        monkeypatch.setattr(StoredModel, "merge", interleaved)
    arguments = ["merge", stored, "new.stc.parquet", "new.stc.parquet", "-o", stored]
    run(*arguments)
    assert in_store(url).class_mass_.sum() == 101 + 60 + 30 * url.startswith("sqlite")
    said = run("merge", "new.stc.parquet", stored, "-o", stored, code=2).err
    assert said == f"stc: {stored}: is an input, too; name it first\n"
    written = f"{url.partition(':')[0]}:///{Path().resolve()}/{url.partition(':///')[2]}#zoo"
    assert "name it first" in run("merge", FILE, written, "-o", stored, code=2).err
    pl.DataFrame({"z": [1], "class": ["x"]}).write_csv("other.csv")
    run("fit", "other.csv", "-t", "class", "-o", f"{url}#other")
    for first, second in ((FILE, f"{url}#other"), (f"{url}#other", FILE)):
        said = run("merge", first, second, "-o", "both.stc.parquet", code=4).err
        assert said.startswith(f"stc: {second}: ")
    assert run("merge", stored, f"{url}#other", "-o", stored, code=4).err.startswith("stc: ")


# --- processes ------------------------------------------------------------------------------------


def test_commands_at_the_same_time(run, zoo):
    """Each batch counts, and counts once, however often it is sent."""
    ZOO.head(30).write_csv("new.csv")
    place = "sqlite:///zoo.db#zoo"
    run("fit", "zoo.csv", *ROLES, *PAPER, "-o", place)
    batches = ("a", "a", "b", "b")
    processes = [started("update", place, "new.csv", "--batch-id", batch) for batch in batches]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    found = in_store("sqlite:///zoo.db")
    assert found.class_mass_.sum() == 161
    assert found.fitted_.state.batches == {"a", "b"}


def test_the_command_in_a_process_of_its_own(stored, url):
    process = started("predict", stored, "zoo.csv", "-o", "-", "--quiet")
    out, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "")
    found = pl.read_csv(out.encode())["prediction"].to_list()
    assert found == stc.load(FILE).predict(items()).tolist()


def test_an_interrupted_update_leaves_the_store(run, stored, url, monkeypatch):
    from stc.stores.transaction import Writing

    def interrupted(self):
        raise KeyboardInterrupt  # everything is written, and not committed

    with monkeypatch.context() as patched:
        patched.setattr(Writing, "finish", interrupted)
        said = run("update", stored, "new.csv", "--batch-id", "7", code=130).err
    assert said == "stc: interrupted; every file is as it was\n"
    same(in_store(url), stc.load(FILE))
    assert in_store(url).fitted_.state.batches == frozenset()


# --- names and URLs -------------------------------------------------------------------------------


def test_a_wrong_name_lists_the_names(run, stored, url):
    message = f"stc: {url}: there is no model 'zo'; there are 'zoo'\n"
    for command in ("predict {} zoo.csv", "update {} new.csv", "info {}", "sql {}"):
        assert run(*shlex.split(command.format(f"{url}#zo")), code=5).err == message


def test_a_name_is_needed(run, stored, url):
    expected = f"stc: {url}: name a model of the store, as in {url}#zoo; there are 'zoo'\n"
    before = sorted(Path().iterdir())
    for command in COMMANDS:
        if not command.startswith("info"):
            for given in (url, f"{url}#"):
                assert run(*command.format(given).split(), code=2).err == expected
    assert sorted(Path().iterdir()) == before


def test_a_name_is_needed_where_there_is_no_store(run, zoo):
    expected = "stc: sqlite:///no.db: name a model of the store, as in sqlite:///no.db#zoo\n"
    assert run("sql", "sqlite:///no.db", code=2).err == expected
    assert not Path("no.db").exists()


@pytest.mark.parametrize("name", ["größe 日本", "a%23b", "50%25", "a%40b", "x/y?z", "'; --"])
def test_names_of_every_kind(run, zoo, url, name):
    decoded = name.replace("%23", "#").replace("%25", "%").replace("%40", "@")
    facts = json.loads(run("fit", "zoo.csv", *ROLES, *PAPER, "-o", f"{url}#{name}", "--json").out)
    with stc.open_store(url) as store:
        assert list(store) == [decoded]
    assert facts["model"] == f"{url}#{name}"  # which can be given again
    assert run("predict", facts["model"], "zoo.csv").out == run("predict", FILE, "zoo.csv").out


def test_a_path_with_a_number_sign(run, zoo):
    for written in ("sqlite:///a%23b.db#zoo", "sqlite:///a#b.db#zoo"):
        run("fit", "zoo.csv", *ROLES, *PAPER, "-o", written)
        assert run("info", written).out.startswith(f"{written}\n")
    assert [path.name for path in Path().glob("*.db")] == ["a#b.db"]


@pytest.mark.parametrize(
    ("place", "code", "message"),
    [
        ("sqlite:///absent/zoo.db#zoo", 3, "sqlite:///absent/zoo.db: there is no such file"),
        ("duckdb:///zoo.duckdb#zoo", 3, "duckdb:///zoo.duckdb: there is no such file"),
        ("sqlite:///#zoo", 2, "'sqlite:///' does not name a file; write sqlite:///file or "),
        ("sqlite:///:memory:#zoo", 2, "sqlite:///:memory:: a database in memory ends with the "),
        ("mysql://h/db#zoo", 2, "'mysql://h/db' is not the URL of a supported database; it "),
        ("://#zoo", 2, "this is not the URL of a database; write it as in sqlite:///zoo.db"),
        ("sqlite:///zoo.db#\udcff", 2, "the name of a model is not UTF-8"),
    ],
)
def test_urls_that_name_no_model(run, zoo, place, code, message):
    before = sorted(Path().iterdir())
    for command in (["info"], ["predict", "zoo.csv"], ["update", "zoo.csv"]):
        name, *data = command
        assert run(name, place, *data, code=code).err.startswith(f"stc: {message}")
    assert sorted(Path().iterdir()) == before


def test_outputs_that_cannot_be_written(run, stored, url):
    kind, _, file = url.partition(":///")
    fit = ["fit", "zoo.csv", *ROLES, *PAPER, "-o"]
    said = run(*fit, f"{kind}:///absent/{file}#zoo", code=3).err
    folder = Path("absent").resolve()
    assert said == f"stc: {folder / file}: there is no folder {str(folder)!r}\n"
    assert run(*fit, f"{kind}:///zoo.csv#zoo", code=2).err.endswith("name another output\n")
    Path("text.db").write_text("no database at all, but some text" * 40)
    said = run(*fit, f"{kind}:///text.db#zoo", code=3).err
    assert said.startswith(f"stc: {kind}:///text.db: the file is not a ")
    # Other outputs are files, and the database is not to be replaced by one.
    before = Path(file).read_bytes()
    for command in (["report", stored, "zoo.csv"], ["sql", stored], ["predict", FILE, "zoo.csv"]):
        assert "is a file, not a URL" in run(*command, "-o", stored, code=2).err
    for command in (["report", stored, "zoo.csv", "-o"], ["explain", stored, "new.csv", "--html"]):
        assert "name another output" in run(*command, file, code=2).err
    assert Path(file).read_bytes() == before
    assert "not a URL" in run("predict", FILE, stored, code=2).err


def test_a_package_that_is_not_installed(run, stored, url, monkeypatch):
    extra = url.partition(":")[0]
    monkeypatch.setitem(sys.modules, {"sqlite": "sqlalchemy", "duckdb": "duckdb"}[extra], None)
    assert f"[{extra}]" in run("info", stored, code=6).err


def test_a_tokenizer_is_code(run, url):
    pl.DataFrame({"text": ["a b", "c d"], "class": ["x", "y"]}).write_csv("d.csv")
    with stc.open_store(url) as store:
        model = paper_model(tokenizer=str.split)
        store.create("m", model).fit(stc.source("d.csv", text="text"), "class")
    for command in (["info"], ["predict", "d.csv"], ["update", "d.csv"]):
        name, *data = command
        assert "tokenizer" in run(name, f"{url}#m", *data, code=5).err


# --- damage ---------------------------------------------------------------------------------------

DAMAGE = {
    "entries": ("DELETE FROM stc_entries WHERE class = 1", 5, "entries were removed"),
    "header": ("UPDATE stc_models SET header = '{}'", 5, "the header in the table stc_models was"),
    "no JSON": ("UPDATE stc_models SET header = 'x'", 5, "is not JSON"),
    "table": ("DROP TABLE stc_batches", 3, "it has the table stc_models but not stc_batches"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_store(run, stored, url, case):
    statement, code, message = DAMAGE[case]
    execute(url, statement)
    for command in ("info {}", "predict {} zoo.csv", "update {} new.csv", "merge {} {} -o m"):
        said = run(*shlex.split(command.format(stored, FILE)), code=code).err
        assert said.startswith(f"stc: {url}: "), said
        assert message in said
        assert said.count("\n") == 1
    if code == 5:  # a new model takes the place of the damaged one
        run("fit", "zoo.csv", *ROLES, *PAPER, "-o", stored)
        same(in_store(url), stc.load(FILE))


# --- secrets --------------------------------------------------------------------------------------

SERVER = "postgresql://ada:canary@127.0.0.1:1/zoo"
SECRETS = (
    f"{SERVER}#m",
    "postgresql://ada@127.0.0.1:1/zoo?password=canary#m",
    "postgresql+psycopg://ada:canary@127.0.0.1:1/zoo#m",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_secret_where_a_server_cannot_be_reached(run, zoo, command):
    for url in SECRETS:
        for more in ([], ["--debug"]):
            said = run(*command.format(url).split(), *more, code=3)
            assert "canary" not in said.out + said.err
            shown = f"stc: {url.partition(':')[0]}://ada@127.0.0.1:1/zoo: the server cannot be "
            assert said.err.splitlines()[-1].startswith(shown)
            assert said.err.startswith("Traceback") == bool(more)


@pytest.mark.parametrize(
    "command",
    [
        "{}",
        "{} --help-me",
        "nonsense {}",
        "info zoo.stc.parquet {}",
        "info {} {}",
        "info --nonsense={} x",
        "predict zoo.stc.parquet {}",
        "predict zoo.stc.parquet zoo.csv -o {}",
        "predict zoo.stc.parquet zoo.csv -o{}",
        "predict zoo.stc.parquet zoo.csv --format {}",
        "predict zoo.stc.parquet zoo.csv --explain {}",
        "predict zoo.stc.parquet zoo.csv --separator {}",
        "fit {} --target x -o m.stc.parquet",
        "fit zoo.csv --target class_type --weight {} -o m.stc.parquet",
        "fit zoo.csv --target {} -o m.stc.parquet",
        "explain zoo.stc.parquet --class {}",
        "report zoo.stc.parquet zoo.csv --output={}",
        "sql zoo.stc.parquet --dialect {}",
        "demo --csv {}",
    ],
)
def test_no_secret_where_a_url_is_out_of_place(capsys, zoo, command):
    for url in (SERVER, f"{SERVER}#m", "postgresql://ada:x y'\\#canary@h/zoo"):
        for more in ([], ["--debug"]):
            arguments = [word.replace("{}", url) for word in command.split()]
            assert main([*arguments, *more]) in (2, 4)
            said = capsys.readouterr()
            assert "canary" not in said.out + said.err
            assert "stc: " in said.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:1#canary@127.0.0.1:1/zoo",  # not port 1 of the host ada
        "postgresql://ada:1#canary@127.0.0.1:1/zoo#m",
        "postgresql://ada:ca/canary@127.0.0.1:1/zoo#m",
        "postgresql://ada:x@canary@127.0.0.1:no/zoo#m",
        "mysql://ada:canary@h/zoo#m",
        "sqlite://ada:canary@/zoo.db#m",
        "duckdb://ada:canary@h/zoo.duckdb#m",
        "1://ada:canary@h/zoo#m",
    ],
)
def test_no_secret_of_a_url_that_is_not_valid(run, zoo, url):
    fit = ["fit", "zoo.csv", "-t", "x", "-o", url]
    for command in (["info", url], ["predict", url, "zoo.csv"], fit):
        for more in ([], ["--debug"]):
            said = run(*command, *more, code=2)
            assert "canary" not in said.out + said.err


def test_no_secret_of_a_store_that_answers(run, zoo):
    """DuckDB takes a password, and ignores it."""
    given, shown = "duckdb:///zoo.duckdb?password=canary#m", "duckdb:///zoo.duckdb#m"
    for command in COMMANDS:
        for more in ([], [] if command.startswith("sql") else ["--json"]):
            run("fit", "zoo.csv", *ROLES, *PAPER, "-o", given)
            said = run(*command.format(given).split(), *more)
            assert "canary" not in said.out + said.err
    run("fit", "zoo.csv", *ROLES, *PAPER, "-o", given)
    assert json.loads(run("info", given, "--json").out)["model"] == shown
    assert run("info", given.partition("#")[0]).out == "duckdb:///zoo.duckdb: 1 model\n  m\n"
    assert run("predict", given.replace("#m", "#n"), "zoo.csv", code=5).err.startswith(
        "stc: duckdb:///zoo.duckdb: there is no model 'n'; there are 'm'"
    )
    assert not any(b"canary" in path.read_bytes() for path in Path().iterdir())
