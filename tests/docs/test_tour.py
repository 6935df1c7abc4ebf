"""The output in docs/tour.md is what the commands print.

`python tests/docs/test_tour.py` updates it.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from stc.cli import main

TOUR = Path(__file__).parents[2] / "docs" / "tour.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.S)


def output_of(command: str) -> str:
    """Return what a command prints; stc runs in this process, which is faster."""
    program, *arguments = shlex.split(command)
    if program == "stc":
        shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            main(arguments)
        shown.flush()
        text = shown.buffer.getvalue().decode()
    else:
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
        )
        text = done.stdout.decode()
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def steps(block: str) -> list[tuple[str, str]]:
    """Return the commands of a block, each with the output below it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)
    assert parts[0] == ""
    return list(zip(parts[1::2], parts[2::2], strict=True))


def test_commands_print_what_the_tour_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    every = [step for block in BLOCK.findall(TOUR.read_text("utf-8")) for step in steps(block)]
    assert len(every) > 15
    for command, expected in every:
        pattern = re.escape(expected).replace(re.escape("..."), ".*")
        shown = output_of(command)
        assert re.fullmatch(pattern, shown, re.S), f"$ {command}\n{shown}"


def updated(text: str) -> str:
    """Return the tour with the current output."""

    def block(match: re.Match[str]) -> str:
        parts = [f"$ {command}\n{output_of(command)}" for command, _ in steps(match[1])]
        return f"```console\n{''.join(parts)}```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    before = TOUR.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        after = updated(before)
    TOUR.write_text(after, "utf-8")
    sys.exit(0)
