"""The command line itself: help, completion, pipes, colours."""

import os
import re
import shlex
import subprocess
import sys

import polars as pl
import pytest
from typer.main import get_command

import stc
from stc.cli.app import app
from support.cli_cases import ZOO


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


HEAVY = (
    "numpy", "polars", "sklearn", "scipy", "narwhals", "pandas", "pyarrow", "sqlglot",
    "sqlalchemy", "duckdb", "psycopg", "stc.stores",
)  # fmt: skip


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
