"""What reaches the terminal, and what ends a command at its start."""

import json
import os
import pty
import signal
import subprocess
import sys
import textwrap
from numbers import Real
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stc
from stc._utils.validation import Interval
from stc.cli import main
from stc.cli.app import _application
from support.cli_cases import PAPER

# Sets the title of the window; the C1 forms do the same in some terminals.
EVIL = "\x1b]0;evil\x07\x9b31m\u202eend"
CONTROLS = ("\x1b]", "\x07", "\x9b", "\u202e", "\r")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Data and a model whose attribute, values, classes and text hold control characters."""
    names = ("data.jsonl", "model.stc.parquet", "texts.jsonl", "text.stc.parquet", f"no{EVIL}.csv")
    paths = {name: str(tmp_path / name) for name in names}
    values = [f"{EVIL} {k % 3}" for k in range(12)]
    labels = [f"class {EVIL} {k % 3}" for k in range(12)]
    pl.DataFrame({f"a{EVIL}": values, "class": labels}).write_ndjson(paths["data.jsonl"])
    pl.DataFrame({"text": values, "class": labels}).write_ndjson(paths["texts.jsonl"])
    for data, model in (("data.jsonl", "model.stc.parquet"), ("texts.jsonl", "text.stc.parquet")):
        more = ["--text", "text"] if data == "texts.jsonl" else []
        options = ["--target", "class", "-q", *PAPER, *more, "-o", paths[model]]
        assert main(["fit", paths[data], *options]) == 0
    return paths


COMMANDS = {
    "explain an item": ["explain", "model.stc.parquet", "data.jsonl"],
    "explain a text": ["explain", "text.stc.parquet", "texts.jsonl"],
    "explain the model": ["explain", "model.stc.parquet"],
    "explain as JSON": ["explain", "model.stc.parquet", "data.jsonl", "--json"],
    "evaluate": ["evaluate", "model.stc.parquet", "data.jsonl"],
    "info": ["info", "model.stc.parquet"],
    "predict": ["predict", "model.stc.parquet", "data.jsonl", "--proba", "--explain", "1"],
    "predict lines": ["predict", "model.stc.parquet", "data.jsonl", "--out-format", "jsonl"],
    "sql": ["sql", "model.stc.parquet"],
    "a class that is unknown": ["explain", "model.stc.parquet", "--class", "no"],
    "a file that is absent": ["predict", "model.stc.parquet", f"no{EVIL}.csv"],
    "a target that is absent": ["update", "model.stc.parquet", "data.jsonl", "--target", EVIL],
}


def on_terminal(arguments: list[str]) -> str:
    """Return what a command writes to a terminal."""
    code = "import sys; from stc.cli import main; sys.exit(main(sys.argv[1:]))"
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        parts = []
        while part := _read(ours):
            parts.append(part)
        process.wait(timeout=120)
    os.close(ours)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


@pytest.mark.parametrize("name", COMMANDS)
def test_no_control_character_of_data_reaches_the_terminal(
    files: dict[str, str], name: str
) -> None:
    written = on_terminal([files.get(word, word) for word in COMMANDS[name]])
    assert "evil" in written or "no class 'no'" in written
    assert [sign for sign in CONTROLS if sign in written] == []


def test_files_and_pipes_get_the_data_as_it_is(
    files: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    lines = ["--out-format", "jsonl", "-q"]
    assert main(["predict", files["model.stc.parquet"], files["data.jsonl"], *lines]) == 0
    first = json.loads(capfd.readouterr().out.splitlines()[0])
    assert first["prediction"] == f"class {EVIL} 0"
    assert main(["explain", files["model.stc.parquet"], files["data.jsonl"], "--json"]) == 0
    shown = capfd.readouterr().out
    assert json.loads(shown)["class"] == f"class {EVIL} 0"
    assert shown.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "data.jsonl", "--target", "class", "-o", "-"],
        ["merge", "model.stc.parquet", "text.stc.parquet", "-o", "-"],
        ["report", "model.stc.parquet", "data.jsonl", "-o", "-"],
        ["explain", "model.stc.parquet", "data.jsonl", "--html", "-"],
        ["demo", "--csv", "-"],
    ],
)
def test_the_standard_output_is_no_file(
    files: dict[str, str],
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main([files.get(word, word) for word in command]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err == "stc: -: this output is a file; ./- is one of that name\n"
    assert os.listdir() == []


@pytest.mark.parametrize(
    "module", ["typer", "rich", "stc.cli.app", "stc.cli.signals", "stc.cli.model_place", "polars"]
)
def test_ctrl_c_while_modules_are_imported(module: str, files: dict[str, str]) -> None:
    script = f"""
        import os, signal, sys
        from stc.cli import main

        class Interrupting:
            def find_spec(name, *_):
                if name == {module!r}:
                    sys.meta_path.remove(Interrupting)
                    os.kill(os.getpid(), signal.SIGINT)

        sys.meta_path.insert(0, Interrupting)
        sys.exit(main(["explain", {files["model.stc.parquet"]!r}]))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (found.returncode, found.stdout) == (130, "")
    assert found.stderr == "stc: interrupted; every file is as it was\n"


@pytest.mark.parametrize("module", ["stc", "stc.cli", "stc.exceptions"])
def test_ctrl_c_before_the_command_begins(module: str) -> None:
    script = f"""
        import sys

        class Interrupting:
            def find_spec(name, *_):
                if name == {module!r}:
                    import os, signal
                    os.kill(os.getpid(), signal.SIGINT)

        sys.meta_path.insert(0, Interrupting)
        from stc_command import main
        sys.exit(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (-signal.SIGINT, "", "")


def test_the_command_handles_ctrl_c_from_its_entry_point_on() -> None:
    script = """
        import signal, sys
        import stc_command
        import stc.cli
        stc.cli.main = lambda: print(signal.getsignal(signal.SIGINT).__name__)
        sys.exit(stc_command.main())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "default_int_handler\n", "")


@pytest.mark.parametrize("other", ["model", "link", "store"])
def test_merge_says_that_a_model_counts_twice(
    other: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = second = files["model.stc.parquet"]
    if other == "link":
        second = str(tmp_path / "link.stc.parquet")
        Path(second).symlink_to(first)
    elif other == "store":
        first = second = f"sqlite:///{tmp_path}/zoo.db#zoo"
        with stc.open_store(f"sqlite:///{tmp_path}/zoo.db") as store:
            store.create("zoo", stc.load(files["model.stc.parquet"]))
    assert main(["merge", first, second, "-o", str(tmp_path / "both.stc.parquet")]) == 0
    note = f"stc: note: {second} is given twice: its items count twice\n"
    assert note in capsys.readouterr().err
    assert stc.load(tmp_path / "both.stc.parquet").class_mass_.sum() == 24
    assert main(["merge", files["model.stc.parquet"], files["text.stc.parquet"], "-o", first]) != 0
    assert "twice" not in capsys.readouterr().err


def fit_options() -> dict[str, Any]:
    """Return the options of fit that are numbers of the estimator, with their constraints."""
    constraints = stc.SparseTensorClassifier._parameter_constraints
    intervals = {
        name: next(kind for kind in kinds if isinstance(kind, Interval))
        for name, kinds in constraints.items()
        if any(isinstance(kind, Interval) and kind.type is Real for kind in kinds)
    }
    known = {parameter.name: parameter for parameter in _application().commands["fit"].params}
    return {name: (known[name], interval) for name, interval in intervals.items() if name in known}


@pytest.mark.parametrize("name", fit_options())
def test_the_range_of_the_help_is_the_accepted_one(
    name: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option, interval = fit_options()[name]
    upper = "" if interval.right is None else "<1"
    lower = ">0" if interval.closed == "neither" else ">=0"
    shown = {("NUMBER>0", None): (">0", ""), ("0<=NUMBER<1", None): (">=0", "<1")}
    known = shown.get((option.metavar, option.min), (f">={option.min}", ""))
    assert known == (lower, upper)
    data, out = files["data.jsonl"], str(tmp_path / "out.stc.parquet")
    for value in (-1.0, 0.0, 0.5, 1.0, 2.0, float("nan")):
        code = main(["fit", data, "--target", "class", "-q", "-o", out, f"--{name}={value}"])
        assert (code == 0) == (value in interval), value
        assert code in (0, 2)
    capsys.readouterr()
