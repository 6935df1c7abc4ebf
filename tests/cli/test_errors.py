"""Errors of the command `stc`: one line that names file, line and column, and an exit code."""

import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
import pytest

import stc
from stc import SparseTensorClassifier
from stc.cli import main
from stc.cli.output import Output
from stc.cli.signals import signals_raise
from support.models import paper_model

TABLE = "a,b,class\n1,2,x\n3,4,y\n"
BAD = {
    "ragged": (TABLE + "5,6,7,y\n", "line 4: the row has 4 cells, the header 3; "),
    "no label": (TABLE + "5,6,\n", "line 4, column 'class': no label; "),
    "short": (TABLE + "5\n", "line 4, column 'class': no label; "),
    "blank line": (TABLE + "\n1,2,x\n", "line 4, column 'class': no label; "),
    "open quote": (TABLE + '5,"6,x\n7,8,y\n', "line 4: a quote is never closed; "),
    "only an open quote": ('a,b,class\n5,"6,x\n', "line 2: a quote is never closed; "),
    "stray quote": (TABLE + '5,"6"7,x\n', "line 4: ',' expected after '\"'; "),
    "empty": ("", "is empty"),
    "only a header": ("a,b,class\n", "has no rows"),
    "two names": ("a,a,class\n1,2,x\n", "line 1: two columns are named 'a'; "),
    "no header": ("1,2,x\n3,4,y\n", "; the first line must hold the names of the columns"),
    "semicolons": ("a;b;class\n1;2;x\n", "as its ending says: --separator ';'"),
    "tabs": ("a\tb\tclass\n1\t2\tx\n", r"as its ending says: --separator '\t'"),
    "not UTF-8": (
        TABLE.encode() + b"5,\xff\xfe,x\n",
        "line 4, column 'b': the text is not UTF-8; ",
    ),
}
BAD_JSON = {
    "syntax": (
        '{"a":1,"class":"x"}\n\n{"a":2,"class"\n',
        "line 3: the line is not JSON: Expecting ':' delimiter at character 15",
    ),
    "shape": (
        '{"a":1,"class":"x"}\n{"a":[2],"class":"y"}\n',
        "line 2, column 'a': the key holds a list or an ",
    ),
    "no object": ("[1, 2]\n", "line 1: the line is not a JSON object"),
    "no label": ('{"a":1,"class":"x"}\n\n{"a":2}\n', "line 3, column 'class': no label; "),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fails(capsys):
    """Run a command that must fail with this code; its one line."""

    def work(code, *arguments):
        capsys.readouterr()
        found = main([str(own) for own in arguments])
        said = capsys.readouterr()
        assert (found, said.out) == (code, ""), said
        assert said.err.startswith("stc: "), said.err
        assert said.err.count("\n") == 1, said.err
        assert "Traceback" not in said.err
        return said.err[5:-1]

    return work


@pytest.fixture
def model():
    Path("good.csv").write_text(TABLE)
    assert main(["fit", "good.csv", "-t", "class", "-o", "m.stc.parquet", "-q"]) == 0
    return Path("m.stc.parquet")


FIT = ("-t", "class", "-o", "m.stc.parquet")


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("case", BAD)
def test_bad_csv(fails, case, zipped):
    data, expected = BAD[case]
    data = data if isinstance(data, bytes) else data.encode()
    path = Path("bad.csv.gz" if zipped and data else "bad.csv")
    path.write_bytes(gzip.compress(data) if zipped and data else data)
    line = fails(4, "fit", path, *FIT)
    assert line.startswith(f"{path}: ")
    assert expected in line
    assert not Path("m.stc.parquet").exists()


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json(fails, case):
    data, expected = BAD_JSON[case]
    Path("bad.jsonl").write_text(data)
    assert fails(4, "fit", "bad.jsonl", *FIT).startswith(f"bad.jsonl: {expected}")


@pytest.mark.parametrize("name", ["bad.parquet", "bad.arrow", "bad.csv.gz", "bad.parquet.gz"])
def test_files_of_another_kind(fails, name):
    Path(name).write_text("neither this nor that")
    assert fails(4, "fit", name, *FIT).startswith(f"{name}: is no")


def test_half_a_gzip(fails):
    Path("d.csv.gz").write_bytes(gzip.compress(TABLE.encode() + os.urandom(99_999))[:50_000])
    assert fails(4, "fit", "d.csv.gz", *FIT).startswith(
        "d.csv.gz: the file is not complete gzip data: "
    )


def test_the_line_after_a_cell_of_several_lines(fails):
    Path("d.csv").write_text('a,class\n"one\ntwo\nthree",x\nfour,\n')
    assert fails(4, "fit", "d.csv", *FIT).startswith("d.csv: line 5, column 'class': no label")


def test_the_line_in_the_second_of_several_files_and_batches(fails, monkeypatch):
    from stc.sources import files

    monkeypatch.setattr(files, "BATCH_ROWS", 4)
    Path("p1.csv").write_text("a,class\n" + "1,x\n" * 7)
    Path("p2.csv").write_text("a,class\n" + "1,x\n" * 5 + "2,\n")
    assert fails(4, "fit", "p*.csv", *FIT).startswith("p2.csv: line 7, column 'class': no label")


def test_a_wrong_number_names_line_and_column(fails):
    rows = "".join(f"{n}.5,x\n" for n in range(40))
    Path("d.csv").write_text(f"kilos,class\n{rows}")
    assert main(["fit", "d.csv", "--continuous", "kilos", *FIT, "-q"]) == 0
    Path("e.csv").write_text("kilos,class\n1.5,x\nmuch,x\n")
    for command in (["predict"], ["evaluate"], ["update"]):
        line = fails(4, *command, "m.stc.parquet", "e.csv")
        assert line.startswith("e.csv: line 3, column 'kilos': 'much' is"), line


def test_a_row_of_a_file_without_lines(fails):
    pl.DataFrame({"a": [1, 2], "class": ["x", None]}).write_parquet("d.parquet")
    assert fails(4, "fit", "d.parquet", *FIT).startswith("d.parquet: row 1, column 'class': no la")


def test_the_standard_input_has_a_name(fails, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TABLE.encode() + b"5,6,\n")))
    assert fails(4, "fit", "-", *FIT).startswith("standard input: line 4, column 'class': no label")


def test_columns_that_are_not_there(fails, model):
    line = fails(4, "fit", "good.csv", "-t", "clas", "-o", "n.stc.parquet")
    assert line == (
        "good.csv: there is no column 'clas' (did you mean 'class'?); there is 'a', 'b', 'class'"
    )
    for option in ("--ignore", "--columns", "--text", "--weight", "--continuous", "--dimensions"):
        assert "there is no column 'z'" in fails(4, "fit", "good.csv", *FIT, option, "z")
    Path("other.csv").write_text("a,B,class\n1,2,x\n")
    line = fails(4, "predict", model, "other.csv")
    assert line.startswith(
        "other.csv: there is no column 'b', which the model was learnt from (did you mean 'B'?)"
    )


def test_files(fails, model):
    assert fails(3, "fit", "absent.csv", *FIT) == "absent.csv: No such file or directory"
    assert fails(3, "fit", "absent*.csv", *FIT) == "absent*.csv: no file has such a name"
    assert fails(3, "fit", ".", *FIT).startswith(".: is a folder; ")
    assert fails(3, "info", "absent") == "absent: No such file or directory"
    assert fails(3, "info", ".").startswith(".: is a folder; ")
    line = fails(3, "fit", "good.csv", "-t", "class", "-o", "absent/m.stc.parquet")
    assert line == "absent/m.stc.parquet: there is no folder 'absent'"
    assert fails(3, "predict", model, "good.csv", "-o", "absent/o.csv").startswith("absent/o.csv:")
    assert fails(3, "report", model, "good.csv", "-o", ".").startswith(".: is a folder; ")


NO_ROOM = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from stc.cli import main
assert main(["update", "m.stc.parquet", "good.csv"]) == 3
assert main(["predict", "m.stc.parquet", "many.csv", "-o", "o.csv"]) == 3
assert main(["sql", "m.stc.parquet", "-o", "o.sql"]) == 3
assert main(["demo", "--csv", "zoo.csv"]) == 3
assert main(["explain", "m.stc.parquet", "good.csv", "--html", "o.html"]) == 3
"""


def test_no_room_on_the_disk(model):
    before = model.read_bytes()
    Path("many.csv").write_text(TABLE + "1,2,x\n" * 1000)
    done = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, text=True)
    files = ["m.stc.parquet", "o.csv", "o.sql", "zoo.csv", "o.html"]
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (0, len(files))
    for name, line in zip(files, lines, strict=True):
        assert line.startswith(f"stc: {name}: ")
        assert "File too large" in line
    assert model.read_bytes() == before
    left = ["good.csv", "m.stc.parquet", "many.csv"]
    assert sorted(own.name for own in Path().iterdir()) == left


def test_models_that_are_none(fails, model):
    Path("broken.stc.parquet").write_bytes(model.read_bytes()[:-20])
    pl.DataFrame({"a": [1]}).write_parquet("table.parquet")
    Path("data.csv").write_text(TABLE)
    for path in ("broken.stc.parquet", "table.parquet", "good.csv"):
        for command in (["info"], ["predict", "data.csv"], ["update", "data.csv"]):
            name, *data = command
            assert path in fails(5, name, path, *data)
    paper_model(tokenizer=str.split).fit(["a b"], ["x"]).save("code.stc.parquet")
    assert "tokenizer" in fails(5, "info", "code.stc.parquet")


def test_usage(fails, model):
    assert fails(2, "fit", "good.csv", "-t", "class").startswith("Missing option '--output'")
    assert "see stc fit --help" in fails(2, "fit", "good.csv", "-o", "m")
    assert fails(2, "nonsense").startswith("No such command 'nonsense'; see stc --help")
    assert fails(2, "info", model, "--nonsense").startswith("No such option")
    assert "'--missing'" in fails(2, "fit", "good.csv", *FIT, "--missing", "x")
    assert "power" in fails(2, "fit", "good.csv", *FIT, "--power", "0")
    Path("data.txt").write_text(TABLE)
    assert "--format" in fails(2, "fit", "data.txt", *FIT)
    assert fails(2, "predict", model, "good.csv", "-o", "o.xlsx").startswith("o.xlsx: expected")
    assert fails(2, "explain", model, "--html", "x.html").startswith("Invalid value for --html")
    assert fails(2, "merge", model, "-o", "x").startswith("Invalid value for MODEL")
    for other in ("good.csv", model):
        before = Path(other).read_bytes()
        path = Path(other).resolve()
        if other == "good.csv":
            assert "name another output" in fails(2, "predict", model, "good.csv", "-o", path)
        assert "name another output" in fails(2, "report", model, "good.csv", "-o", path)
        assert Path(other).read_bytes() == before
    assert "name another output" in fails(2, "fit", "good.csv", "-t", "class", "-o", "good.csv")


def test_classes_and_items_that_are_not_there(fails, model):
    assert fails(4, "explain", model, "--class", "z") == (
        "m.stc.parquet: there is no class 'z'; there is x, y"
    )
    assert fails(4, "explain", model, "good.csv", "--item", "9") == (
        "good.csv: there is no item 9; it has 2"
    )


def test_what_cannot_be_unlearnt_or_merged(fails, model):
    before = model.read_bytes()
    Path("never.csv").write_text("a,b,class\n1,2,y\n")
    assert "never learnt" in fails(4, "unlearn", model, "never.csv")
    assert "nothing would be left" in fails(4, "unlearn", model, "good.csv")
    assert model.read_bytes() == before
    Path("other.csv").write_text("z,class\n1,x\n")
    assert main(["fit", "other.csv", "-t", "class", "-o", "o.stc.parquet", "-q"]) == 0
    assert fails(4, "merge", model, "o.stc.parquet", "-o", "both").startswith("o.stc.parquet: ")
    assert not Path("both").exists()


def test_an_extra_that_is_not_installed(fails, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    assert "[sql]" in fails(6, "sql", model)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "[report]" in fails(6, "report", model, "good.csv", "-o", "r.html")


def test_a_bug_says_so(fails, model, monkeypatch):
    def broken(*_):
        raise RuntimeError("two and two\nare five")

    monkeypatch.setattr(SparseTensorClassifier, "explain_global", broken)
    assert fails(1, "explain", model) == (
        "RuntimeError: two and two are five; this should not happen: --debug shows where it did"
    )


@pytest.mark.parametrize("arguments", [["--debug", "info", "no"], ["info", "no", "--debug"]])
def test_debug_shows_the_traceback(capsys, arguments):
    assert main(arguments) == 3
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("stc: no: No such file or directory\n")


def test_an_interrupted_update_leaves_the_model(fails, model, monkeypatch):
    before = model.read_bytes()

    def interrupted(self, path):
        raise KeyboardInterrupt  # as if the user had waited until the very moment

    monkeypatch.setattr(SparseTensorClassifier, "save", interrupted)
    assert fails(130, "update", model, "good.csv") == "interrupted; every file is as it was"
    assert model.read_bytes() == before
    assert sorted(own.name for own in Path().iterdir()) == ["good.csv", "m.stc.parquet"]


CODE = "import sys; from stc.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "ended"), ("SIGHUP", 129, "ended")],
)
def test_interrupted_while_it_waits_for_data(model, name, code, word):
    before, pipe = model.read_bytes(), subprocess.PIPE
    # Whoever runs the tests may ignore it, as nohup does, and a process takes that over.
    usual = "default_int_handler" if name == "SIGINT" else "SIG_DFL"
    heard = f"import signal; signal.signal(signal.{name}, signal.{usual}); {CODE}"
    command = [sys.executable, "-c", heard, "update", str(model), "-"]
    environment = {**os.environ, "TMPDIR": os.getcwd()}
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, env=environment) as process:
        process.stdin.write(b"a,b,class\n")
        process.stdin.flush()
        while not [*Path().glob("stc-*/data.csv")]:
            time.sleep(0.02)
            assert process.poll() is None
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=60) == code
        assert process.stderr.read() == f"stc: {word}; every file is as it was\n".encode()
    assert model.read_bytes() == before
    assert sorted(own.name for own in Path().iterdir()) == ["good.csv", "m.stc.parquet"]


@pytest.mark.parametrize("moment", ["unpacked", "unpacking", "writing"])
def test_terminated_with_files_out_of_gzip(fails, model, monkeypatch, moment):
    before, handler = model.read_bytes(), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(tempfile, "tempdir", os.getcwd())
    Path("good.csv.gz").write_bytes(gzip.compress(TABLE.encode()))

    def terminated(*_, **__):
        assert [*Path().glob("stc-*")]
        signal.raise_signal(signal.SIGTERM)

    owner, name = {
        "unpacking": (shutil, "copyfileobj"),
        "unpacked": (SparseTensorClassifier, "partial_fit"),
        "writing": (SparseTensorClassifier, "save"),
    }[moment]
    monkeypatch.setattr(owner, name, terminated)
    assert fails(143, "update", model, "good.csv.gz") == "ended; every file is as it was"
    assert model.read_bytes() == before
    names = ["good.csv", "good.csv.gz", "m.stc.parquet"]
    assert sorted(own.name for own in Path().iterdir()) == names
    assert signal.getsignal(signal.SIGTERM) is handler


def test_terminated_while_polars_writes(fails, model, monkeypatch):
    from stc.sources import prediction

    asked, predictions = [], prediction.predictions

    def terminated(fitted, items):
        asked.append(items)
        if len(asked) > 1:  # the first item tells the columns
            os.kill(os.getpid(), signal.SIGTERM)  # the main thread waits for polars
        return predictions(fitted, items)

    Path("many.csv").write_text(TABLE + "1,2,x\n" * 1000)
    monkeypatch.setattr(prediction, "predictions", terminated)
    monkeypatch.setattr(prediction, "_NUMBERS_AT_A_TIME", 20)
    fails(143, "predict", model, "many.csv", "-o", "o.csv")
    assert len(asked) < 9
    names = ["good.csv", "m.stc.parquet", "many.csv"]
    assert sorted(own.name for own in Path().iterdir()) == names


def test_a_signal_that_is_ignored_stays_so(model):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_raise():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_indicator_is_not_in_a_column(fails):
    frame = pl.DataFrame({"a": ["u", "v"], "b": ["w", "z"]})
    paper_model().fit(frame, [[0, 1], [1, 1]]).save("m.stc.parquet")
    frame.with_columns(c=1).write_csv("d.csv")
    assert "indicator" in fails(4, "evaluate", "m.stc.parquet", "d.csv", "--target", "c")
    assert main(["predict", "m.stc.parquet", "d.csv", "-o", "o.csv", "-q"]) == 0
    assert pl.read_csv("o.csv").height == 2
    assert stc.load("m.stc.parquet")


WEIGHTS = {
    "": "line 3, column 'w': a weight must be 0 or between 1e-100 and 1e100, got nan",
    "-2": "line 3, column 'w': a weight must be 0 or between 1e-100 and 1e100, got -2.0",
    "inf": "line 3, column 'w': a weight must be 0 or between 1e-100 and 1e100, got inf",
    "much": "line 3, column 'w': a weight must be a number, got 'much'",
}


@pytest.mark.parametrize("weight", WEIGHTS)
def test_weights_that_are_none(fails, weight):
    Path("d.csv").write_text("a,w,class\n1,1,x\n3,2,y\n")
    assert main(["fit", "d.csv", *FIT, "--weight", "w", "-q"]) == 0
    Path("e.csv").write_text(f"a,w,class\n1,1,x\n3,{weight},y\n")
    expected = f"e.csv: {WEIGHTS[weight]}"
    assert fails(4, "fit", "e.csv", *FIT, "--weight", "w") == expected
    for command in (["evaluate"], ["evaluate", "--json"], ["update"]):
        name, *options = command
        assert fails(4, name, "m.stc.parquet", "e.csv", *options) == expected


def test_a_weight_in_a_later_batch(fails, monkeypatch):
    from stc.sources import files

    Path("d.csv").write_text("a,w,class\n1,1,x\n3,2,y\n")
    assert main(["fit", "d.csv", *FIT, "--weight", "w", "-q"]) == 0
    monkeypatch.setattr(files, "BATCH_ROWS", 4)
    Path("e.csv").write_text("a,w,class\n" + "1,1,x\n" * 9 + "1,-1,x\n")
    line = fails(4, "evaluate", "m.stc.parquet", "e.csv")
    assert line.startswith("e.csv: line 11, column 'w': a weight must be 0 or between")


def test_not_a_number_is_no_json():
    with pytest.raises(ValueError, match="not JSON compliant"):
        Output().result({"accuracy": float("nan")})


def test_unlearn_nothing(fails, model):
    Path("head.csv").write_text("a,b,class\n")
    assert fails(4, "unlearn", model, "head.csv") == "head.csv: has no rows"


def test_pipes_are_neither_models_nor_outputs(fails, model):
    os.mkfifo("pipe.csv")
    told = "pipe.csv: is a device or a pipe; name a file"
    assert fails(3, "fit", "good.csv", "-t", "class", "-o", "pipe.csv") == told
    assert fails(3, "update", "pipe.csv", "good.csv") == told
    assert fails(3, "demo", "--csv", "pipe.csv") == told
    assert fails(3, "sql", model, "-o", "pipe.csv") == told
    assert fails(5, "info", "pipe.csv").startswith("pipe.csv: cannot be loaded as a model")
    assert fails(5, "predict", "pipe.csv", "good.csv").startswith(
        "pipe.csv: cannot be loaded as a model"
    )


# --- streams that are closed, full, or of another alphabet ----------------------------------------


def test_closed_streams(model, capsys, monkeypatch):
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdin", None)
        assert main(["predict", str(model), "-"]) == 3
        assert capsys.readouterr().err == "stc: standard input: is closed; name a file\n"
        closed.setattr(sys, "stdout", None)
        closed.setattr(sys, "stderr", None)
        assert main(["update", str(model), "good.csv"]) == 0
        assert main(["predict", str(model), "good.csv"]) == 0
        assert main(["--help"]) == 0
        assert main(["info", "absent"]) == 3
        assert sys.stdout is None
    assert stc.load(model).class_mass_.sum() == 4


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode(capsys, monkeypatch, encoding):
    Path("d.csv").write_text("tür,größe\nдверь,日本\n3,x\n")
    assert main(["fit", "d.csv", "-t", "größe", "-o", "m.stc.parquet", "-q"]) == 0
    for command in ("info", "explain", "evaluate", "sql"):
        data = ["d.csv"] if command in ("explain", "evaluate") else []
        printed = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding))
        assert main([command, "m.stc.parquet", *data]) == 0, capsys.readouterr().err
        if command == "sql":
            assert "дверь" in printed.getvalue().decode()
            continue
        assert "??" in printed.getvalue().decode(encoding)
        assert main([command, "m.stc.parquet", *data, "--json"]) == 0
        assert sys.stdout.errors == "strict"
        start = printed.getvalue().index(b"\n{\n")
        assert "日本" in str(json.loads(printed.getvalue()[start:]))


@pytest.mark.parametrize("command", [["--help"], ["fit", "--help"], ["info", "m.stc.parquet"]])
def test_nobody_reads(model, command):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", CODE, *command], stdout=writing, stderr=subprocess.PIPE
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_standard_output(model):
    environment = {name: own for name, own in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", CODE, "info", str(model)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
        )
    said = b"stc: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (3, said)
