"""The examples and the code in the guides run without a warning and print what they show."""

import ast
import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from support.marking import slow_values

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MARK = "# prints:"
QUICK = ("documents", "explain", "frames", "online", "pipeline", "records", "several_labels")


def expected_lines(source: str) -> list[str]:
    """Return the lines of the comment block at the end of an example."""
    lines = source.splitlines()
    assert lines.count(MARK) == 1, f"an example ends with a block that starts with {MARK!r}"
    block = lines[lines.index(MARK) + 1 :]
    assert all(line == "#" or line.startswith("# ") for line in block), "nothing after the block"
    return [line[2:] for line in block]


def test_there_are_examples() -> None:
    assert EXAMPLES  # an empty glob would pass as nothing to test


@pytest.mark.parametrize("path", slow_values({path.stem: path for path in EXAMPLES}, QUICK))
def test_example_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    expected = expected_lines(path.read_text(encoding="utf-8"))
    # From an empty folder: an example must not need files that a user does not have.
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(path)],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == expected


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_has_a_docstring(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source))
    assert len(source.splitlines()) < 40


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_code_in_the_guide_runs(path: Path) -> None:
    assert doctest.testfile(str(path), module_relative=False, encoding="utf-8").failed == 0
