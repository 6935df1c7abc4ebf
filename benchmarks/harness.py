"""Measure times, compare them with a peer or a bar, and print tables; independent of stc."""

from __future__ import annotations

import argparse
import gc
import json
import operator
import os
import platform
import sys
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, Literal, Protocol

Work = Callable[..., Any]


@dataclass(frozen=True)
class Result:
    """One row of the table: our runs, the peer's runs, and the bar."""

    group: str
    work: str
    peer: str
    ours_runs: list[float]
    peer_runs: list[float]
    bar: float | None = None
    unit: str = "s"
    ours_accuracy: float | None = None
    peer_accuracy: float | None = None
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def ours(self) -> float:
        """Return the median of our runs."""
        return median(self.ours_runs)

    @property
    def theirs(self) -> float:
        """Return the median of the peer's runs."""
        return median(self.peer_runs)

    @property
    def ratio(self) -> float:
        """Return ours over theirs."""
        return self.ours / self.theirs

    @property
    def holds(self) -> bool | None:
        """Return whether the ratio is within the bar; None without a bar."""
        return None if self.bar is None else self.ratio <= self.bar

    def summary(self) -> dict[str, Any]:
        """Return the quantities derived from the runs."""
        return {
            "ours": self.ours,
            "theirs": self.theirs,
            "ratio": self.ratio,
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Figure:
    """One row of a table of figures that have no peer: the value, its runs, and the bar."""

    group: str
    work: str
    quantity: str
    value: float
    runs: list[float]
    relation: Literal["<", ">", ">="] = ">="
    bar: float | None = None
    unit: str = ""
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool | None:
        """Return whether the value meets the bar; None without a bar."""
        return None if self.bar is None else bool(_RELATIONS[self.relation](self.value, self.bar))

    def summary(self) -> dict[str, Any]:
        """Return the quantities derived from the value."""
        return {"holds": self.holds}


_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    ">=": operator.ge,
}


class Row(Protocol):
    """A row of the JSON file: a dataclass with derived quantities."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def summary(self) -> dict[str, Any]:
        """Return the quantities derived from the fields."""


@dataclass
class Runs:
    """Wall and CPU seconds of every run of one task; with `keep`, the result of the last run."""

    keep: bool = False
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)  # of all threads of this process
    value: Any = None

    def run(self, work: Work, prepare: Work | None = None) -> float:
        """Run once, after collecting garbage, and return the seconds.

        The work gets the result of `prepare`, whose time does not count.
        """
        self.value = None
        arguments = () if prepare is None else (prepare(),)
        gc.collect()
        start, cpu = time.perf_counter(), time.process_time()
        value = work(*arguments)  # named, so that the time to free it does not count
        self.seconds.append(time.perf_counter() - start)
        self.cpu.append(time.process_time() - cpu)
        if self.keep:
            self.value = value
        return self.seconds[-1]

    def per_call(self, calls: int) -> list[float]:
        """Return the seconds of one call, for a task that loops over `calls` of them."""
        return [seconds / calls for seconds in self.seconds]


def alternate(
    title: str,
    peer: Work,
    *ours: Work,
    repeats: int,
    keep: bool = False,
    prepare: Work | None = None,
) -> list[tuple[Runs, Runs]]:
    """Run peer, ours, peer, ours, ... and return (peer, ours) for each of our tasks.

    Several tasks of ours may build on each other (fit, then predict): within a repeat they run in
    the given order, the peer before each of them, so that all see the same state of the machine.
    The result of a run is freed at once unless `keep`: live objects may speed up or slow down the
    next run (polars keeps the strings of a Categorical as long as any column uses them).
    """
    pairs = [(Runs(keep), Runs(keep)) for _ in ours]
    for repeat in range(1, repeats + 1):
        seconds = []
        for work, (peer_runs, our_runs) in zip(ours, pairs, strict=True):
            seconds += [peer_runs.run(peer, prepare), our_runs.run(work, prepare)]
        shown = ", ".join(show(value) for value in seconds)
        progress(f"{title}: {repeat}/{repeats}: {shown} (peer, ours, ...)")
    return pairs


def arguments(description: str | None, names: Iterable[str], repeats: int) -> argparse.Namespace:
    """Return the command line of a benchmark, parsed: `--only`, `--repeats`, `--json`.

    `only` are the chosen names in the order of `names`; all by default.
    """
    names = list(names)
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}"
    )
    parser.add_argument(
        "--repeats", type=int, default=repeats, help=f"runs of each (default {repeats})"
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write every run to this file")
    parsed = parser.parse_args()
    parsed.only = [name for name in names if not parsed.only or name in parsed.only]
    return parsed


def progress(line: str) -> None:
    """Write a line to the standard error, where it does not mix with the table."""
    print(line, file=sys.stderr, flush=True)


def show(value: float, unit: str = "s") -> str:
    """Return a quantity to three or four digits, seconds in a unit that suits them.

    Shares, which have no unit, are shown to four decimals; other units come in whole numbers.
    """
    if unit != "s":
        return f"{value:.0f} {unit}" if unit else f"{value:.4f}"
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} us"


def table(results: Sequence[Result]) -> str:
    """Return the results as aligned text, the notes below it."""
    head = ["work", "peer", "ours", "peer took", "ratio", "bar", "holds", "accuracy (ours, peer)"]
    text = layout(head, [_cells(result) for result in results], numbers=range(2, 6))
    return "\n".join([text, *_notes(results)])


def table_of_figures(figures: Sequence[Figure]) -> str:
    """Return the figures as aligned text, the notes below it."""
    head = ["work", "figure", "value", "runs", "bar", "holds"]
    rows = [_cells_of_figure(figure) for figure in figures]
    return "\n".join([layout(head, rows, numbers=range(2, 5)), *_notes(figures)])


def layout(head: list[str], rows: Sequence[list[str]], numbers: Container[int]) -> str:
    """Return aligned columns under their names, those of numbers flush right."""
    lines = [head, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    text = [
        "  ".join(
            cell.rjust(width) if k in numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def _notes(results: Sequence[Result] | Sequence[Figure]) -> list[str]:
    notes = [f"- {result.work}: {result.note}" for result in results if result.note]
    return ["", *notes] if notes else []


def _cells_of_figure(figure: Figure) -> list[str]:
    ends = [show(end, figure.unit) for end in (min(figure.runs), max(figure.runs))]
    return [
        figure.work,
        figure.quantity,
        show(figure.value, figure.unit),
        " to ".join(ends) if len(figure.runs) > 1 else "",
        "" if figure.bar is None else f"{figure.relation} {show(figure.bar, figure.unit)}",
        _HOLDS[figure.holds],
    ]


_HOLDS = {None: "", True: "yes", False: "NO"}


def _cells(result: Result) -> list[str]:
    accuracies = (result.ours_accuracy, result.peer_accuracy)
    scored = any(accuracy is not None for accuracy in accuracies)
    shown = ["-" if accuracy is None else f"{accuracy:.4f}" for accuracy in accuracies]
    return [
        result.work,
        result.peer,
        show(result.ours, result.unit),
        show(result.theirs, result.unit),
        f"{result.ratio:.3f}",
        "" if result.bar is None else f"{result.bar:g}",
        _HOLDS[result.holds],
        ", ".join(shown) if scored else "",
    ]


def finish(results: Sequence[Result], file: Path | None, packages: Sequence[str]) -> int:
    """Print the table, write the JSON if a file is named, and return the exit code."""
    print(table(results))
    if file:
        write_json(file, results, packages)
    return 0


def measure(
    description: str | None,
    groups: Mapping[str, Callable[[int], list[Any]]],
    packages: Sequence[str],
) -> int:
    """Measure the chosen groups, print ratios and figures, write the JSON; return the exit code."""
    parsed = arguments(description, groups, repeats=3)
    warn_if_busy()
    rows = [row for name in parsed.only for row in groups[name](parsed.repeats)]
    results = [row for row in rows if isinstance(row, Result)]
    figures = [row for row in rows if isinstance(row, Figure)]
    tables = [results and table(results), figures and table_of_figures(figures)]
    print(*filter(None, tables), sep="\n\n")
    if parsed.json:
        write_json(parsed.json, rows, packages)
    return 0


def write_json(file: Path, results: Sequence[Row], packages: Sequence[str]) -> None:
    """Write every run of every result, and the environment."""
    rows = [asdict(result) | result.summary() for result in results]
    report = {"environment": environment(packages), "results": rows}
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def environment(packages: Sequence[str]) -> dict[str, Any]:
    """Return the machine, the Python version and the versions of packages."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "load": load(),
        "versions": {name: _version(name) for name in packages},
    }


def load() -> float | None:
    """Return the load average of the last minute."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # not available on every platform
        return None


def warn_if_busy() -> None:
    """Warn if the machine is busy, which slows threads more than a plain loop."""
    now = load()
    if now is not None and now > 0.75 * (os.cpu_count() or 1):
        progress(f"the machine is busy (load {now:.1f} on {os.cpu_count()} CPUs): measure again")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # such as stc, run from the source tree
        return None
