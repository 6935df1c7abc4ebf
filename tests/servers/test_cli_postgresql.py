"""The command with a model on a real PostgreSQL server."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import stc
from support.postgresql import Server

ROLES = ("--target", "class_type", "--ignore", "animal_name")


def stc_command(*arguments: str, folder: Path, password: str) -> subprocess.CompletedProcess[str]:
    """Run the command; the password is in the environment, as docs/cli.md advises."""
    code = "import sys; from stc.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, "PGPASSWORD": password}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def url(postgresql_server: Server) -> str:
    """An empty schema, without the password."""
    return postgresql_server.new_schema().replace(f":{postgresql_server.password}@", "@")


def test_the_commands_use_a_stored_model(
    postgresql_server: Server, url: str, tmp_path: Path
) -> None:
    def run(*arguments: str) -> str:
        done = stc_command(*arguments, folder=tmp_path, password=postgresql_server.password)
        assert done.returncode == 0, done.stderr
        assert postgresql_server.password not in done.stdout + done.stderr
        return done.stdout

    place = f"{url}#zoo"
    run("demo", "--csv", "zoo.csv")
    run("fit", "zoo.csv", *ROLES, "-o", place)
    run("fit", "zoo.csv", *ROLES, "-o", "zoo.stc.parquet")
    asked = ("zoo.csv", "-o", "-", "--proba")
    assert run("predict", place, *asked) == run("predict", "zoo.stc.parquet", *asked)
    for _ in range(2):  # a repeated batch counts once
        run("update", place, "zoo.csv", "--batch-id", "monday")
    with ThreadPoolExecutor(4) as threads:
        ids = [f"parallel {k}" for k in range(4)]
        list(threads.map(lambda each: run("update", place, "zoo.csv", "--batch-id", each), ids))
    assert "zoo" in run("info", url)
    full = url.replace("postgres@", f"postgres:{postgresql_server.password}@")
    with stc.open_store(full) as store:
        assert store["zoo"].class_mass_.sum() == 6 * 101
        assert store["zoo"].batches_ == {"monday", *ids}


def test_a_wrong_password_is_an_error_in_one_line(url: str, tmp_path: Path) -> None:
    done = stc_command("info", f"{url}#zoo", folder=tmp_path, password="canary-9c2e")
    assert done.returncode == 3
    assert "password" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "canary-9c2e" not in done.stdout + done.stderr
