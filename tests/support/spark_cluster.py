"""A real Spark cluster on loopback: one master, some workers, and a session connected to them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
# For Java processes that live for a minute and do little.
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
ROOT = Path(__file__).resolve().parents[2]
# What the workers can import, beside stc. Pytest names a test module by its path from the root.
MODULES = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))


@contextmanager
def spark_cluster(
    workers: int = 2, cores: int = 1, memory: str = "2g", **settings: str
) -> Iterator[Any]:
    """A session on a standalone cluster of its own; all of its processes end with it."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stc-spark-")))
        stack.enter_context(_environment(_variables(folder)))
        port = _free_port()
        master = ["master.Master", "--host", HOST, "--port", str(port), "--webui-port", "0"]
        stack.enter_context(_daemon(folder / "master.log", master))
        _wait_for(port, folder / "master.log")
        for number in range(workers):
            worker = ["worker.Worker", "--host", HOST, "--webui-port", "0"]
            worker += ["--cores", str(cores), "--memory", memory, "--work-dir", str(folder)]
            log = folder / f"worker-{number}.log"
            stack.enter_context(_daemon(log, [*worker, f"spark://{HOST}:{port}"]))
        own = {
            "spark.cores.max": str(workers * cores),
            "spark.executor.cores": str(cores),
            "spark.executor.memory": memory,
            "spark.sql.shuffle.partitions": str(2 * workers * cores),
        }
        yield stack.enter_context(_session(f"spark://{HOST}:{port}", folder, {**own, **settings}))


def _variables(folder: Path) -> dict[str, str]:
    import pyspark

    return {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_HOSTNAME": HOST,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"{SHORT_LIVED} -Dspark.master.rest.enabled=false",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": MODULES,
    }


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def _daemon(log: Path, arguments: list[str]) -> Iterator[None]:
    """A Java process of Spark's. `spark-class` replaces itself by it, so that it can be ended."""
    program = Path(os.environ["SPARK_HOME"]) / "bin" / "spark-class"
    command = [str(program), f"org.apache.spark.deploy.{arguments[0]}", *arguments[1:]]
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_for(port: int, log: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"the Spark master did not start: {log.read_text()[-2000:]}")


@contextmanager
def _session(url: str, folder: Path, settings: Mapping[str, str]) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(url).appName("stc")
    for name, value in {**_SETTINGS, "spark.sql.warehouse.dir": str(folder), **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        _stopped(session)


_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
    # Work begins when all workers are there.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    "spark.executorEnv.PYTHONPATH": MODULES,
    "spark.log.level": "ERROR",
}


def _stopped(session: Any) -> None:
    """Stop the session and the Java process that it started, which would outlive it."""
    context = type(session.sparkContext)
    session.stop()
    gateway = context._gateway
    gateway.shutdown()
    context._gateway = context._jvm = None
    gateway.proc.stdin.close()
    _ended(gateway.proc)
