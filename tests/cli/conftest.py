"""What tests of the command share."""

import pytest

import stc
from stc.cli import main
from support.cli_cases import PAPER, ROLES, ZOO


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
    run("fit", "zoo.csv", *ROLES, *PAPER, "-o", "zoo.stc.parquet")
    return stc.load("zoo.stc.parquet")
