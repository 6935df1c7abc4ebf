"""The transcript of the tour in docs/tour.md is what a user sees.

`python tests/docs/test_tour.py` writes it anew.
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


def said(command: str) -> str:
    """What a command shows: ours in this process, which has everything imported already."""
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
    """The commands of a block, each with the output that stands below it."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.M)
    assert parts[0] == ""
    return list(zip(parts[1::2], parts[2::2], strict=True))


def test_the_tour_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    every = [step for block in BLOCK.findall(TOUR.read_text("utf-8")) for step in steps(block)]
    assert len(every) > 15
    for command, promised in every:
        pattern = re.escape(promised).replace(re.escape("..."), ".*")
        shown = said(command)
        assert re.fullmatch(pattern, shown, re.S), f"$ {command}\n{shown}"


def written_anew(text: str) -> str:
    """The tour with the output of now."""

    def block(found: re.Match[str]) -> str:
        return "```console\n" + "".join(f"$ {c}\n{said(c)}" for c, _ in steps(found[1])) + "```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    os.environ["COLUMNS"] = "80"
    before = TOUR.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        after = written_anew(before)
    TOUR.write_text(after, "utf-8")
    sys.exit(0)
