"""A real PostgreSQL server for the tests: a fresh cluster on a free loopback port."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

OWNER = "postgres"
# Small, so that it starts at once; what commits are worth (fsync) is left as it is.
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "shared_buffers": "64MB",
    "max_connections": "40",
    "autovacuum_naptime": "5min",
}


def programs() -> Path:
    """Where the server's programs are: Debian keeps them off the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))


class Server:
    """A cluster of its own, which can be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        secret = folder / "password"
        secret.write_text(self.password)
        if os.geteuid() == 0:  # the server refuses to run as root
            owner = pwd.getpwnam(OWNER)
            for path in (folder, secret):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self._run(
            "initdb", "-D", str(folder / "data"), "-U", OWNER, f"--pwfile={secret}",
            "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8",
        )  # fmt: skip

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-w",
            "-o", f"-p {self.port} -k {self.folder} {options}", "start",
        )  # fmt: skip

    def stop(self) -> None:
        """Stop it, whoever is connected."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")

    def url(self, database: str = "postgres", password: str | None = None) -> str:
        """The address of a database."""
        secret = self.password if password is None else password
        return f"postgresql://{OWNER}:{secret}@127.0.0.1:{self.port}/{database}"

    def new_database(self, options: str = "") -> str:
        """Make an empty database, and give its address."""
        name = f"t{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            statement = sql.SQL("CREATE DATABASE {} " + options)
            connection.execute(statement.format(sql.Identifier(name)))
        return self.url(name)

    def new_schema(self) -> str:
        """Make an empty schema, which is cheaper than a database, and give its address."""
        name = f"t{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        return f"{self.url()}?options=-csearch_path%3D{name}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(programs() / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", OWNER, "--", *command]
        # A server that outlives the command must not hold its pipes open.
        with open(self.folder / "out", "w+b") as out:
            done = subprocess.run(command, stdout=out, stderr=out, cwd="/", timeout=120)
            out.seek(0)
            assert done.returncode == 0, out.read().decode()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_server() -> Iterator[Server]:
    """A server as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="stc-postgresql-") as folder:
        server = Server(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Server]:
    """One server for all tests."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgresql_url(postgresql_server: Server) -> str:
    """The address of one database of that server."""
    return postgresql_server.new_database()
