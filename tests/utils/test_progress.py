"""Progress: one line on a terminal, nothing in a pipe, or another renderer."""

import io
import sys
from collections.abc import Iterator
from itertools import count

import pytest

from stc._utils import progress
from stc._utils.progress import Progress, quiet, rendered_by


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Recorder:
    """A renderer that remembers what it is told."""

    log: list[tuple[object, ...]]

    def __init__(self, title: str) -> None:
        self.log.append(("new", title))

    def draw(self, done: int, total: int | None, text: str) -> None:
        self.log.append((done, total, text))

    def close(self) -> None:
        self.log.append(("close",))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, ...]]]:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setattr(Recorder, "log", calls, raising=False)
    with rendered_by(Recorder):
        yield calls


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second passes whenever somebody looks at the clock."""
    seconds = count()
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(seconds)))


def work(shown: bool | None) -> None:
    with Progress("reading", shown) as bar:
        bar.update(1, 4, "penalty 1")
        bar.flow(500, "rows", 1000)
        bar.flow(2000, "rows", 1000)  # the total was an estimate
        bar.flow(2500, "rows")


def test_a_line_on_a_terminal_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    work(None)
    first, second, *_, last, end = terminal.getvalue().split("\r")[1:]
    assert first == "reading [#####...............] 1/4 penalty 1"
    assert second.startswith("reading [##########..........] 500 rows, ")
    assert second.endswith(" left")
    assert last.strip() == ""
    assert end == ""


@pytest.mark.parametrize("shown", [None, False])
def test_nothing_in_a_pipe(shown: bool | None, capfd: pytest.CaptureFixture[str]) -> None:
    work(shown)
    assert capfd.readouterr() == ("", "")


def test_a_line_in_a_pipe_if_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    work(True)
    assert "1/4 penalty 1" in capfd.readouterr().err


def test_another_renderer(log: list[tuple[object, ...]], capfd: pytest.CaptureFixture[str]) -> None:
    work(True)
    assert log[:2] == [("new", "reading"), (1, 4, "1/4 penalty 1")]
    assert log[2][:2] == (500, 1000)
    assert [call[:2] for call in log[3:]] == [(2000, None), (2500, None), ("close",)]
    assert str(log[4][2]).startswith("2,500 rows, ")
    assert capfd.readouterr() == ("", "")


def test_work_that_is_soon_over_makes_no_renderer(
    log: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress.time, "monotonic", lambda: 0.0)
    work(None)
    assert log == []


def test_the_renderer_is_closed_after_an_error(log: list[tuple[object, ...]]) -> None:
    def fail() -> None:
        with Progress("reading", True) as bar:
            bar.update(1, 2, "")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        fail()
    assert log[-1] == ("close",)


def test_quiet_wins_and_ends(log: list[tuple[object, ...]]) -> None:
    with quiet():
        work(True)
    assert log == []
    work(True)
    assert log[-1] == ("close",)
