"""The paper, reproduced: `python paper/run.py [--quick] [--check] [--only STEP ...] [--fresh]`.

Runs the three experiments and the checks of properties, each step only if it has no result yet,
writes `REPORT.md` and its figures from the results, and compares them with the paper.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

# Two processes share two cores: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "benchmarks"))

import bars  # noqa: E402
import corpora  # noqa: E402
import data  # noqa: E402
import harness  # noqa: E402
import published  # noqa: E402
import steps  # noqa: E402

import report  # noqa: E402

RESULTS = HERE / "results"
QUICK_NEWSGROUPS = [published.BASEBALL, "sci.space"]


def all_steps(*, quick: bool) -> list[steps.Step]:
    """Return the steps of a run, in their order."""
    import explanation
    import news
    import properties
    import zoo

    if quick:
        return [
            zoo.step(splits=100, peer_splits=4),
            news.own_step(),
            news.learnt_step(quick=True),
            news.peer_step(quick=True),
            explanation.step(2, 1, 200, QUICK_NEWSGROUPS, explanation.QUICK_PEERS),
            properties.step(splits=5),
        ]
    return [
        zoo.step(splits=1000, peer_splits=100),
        news.own_step(),
        news.learnt_step(quick=False),
        news.peer_step(quick=False),
        explanation.step(10, 4, 1000, published.NEWSGROUPS, explanation.PEERS),
        properties.step(splits=50),
    ]


def shown(found: list[bars.Bar]) -> str:
    """Return the bars as a table."""
    rows = [
        [bar.group, bar.what, f"{bar.figure:.4g}", bar.bar, "yes" if bar.holds else "NO", bar.note]
        for bar in found
    ]
    return harness.layout(["part", "figure", "found", "bar", "holds", ""], rows, numbers={2})


def parse() -> argparse.Namespace:
    """Return the command line, parsed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer runs, wider tolerance")
    parser.add_argument(
        "--check", action="store_true", help="run nothing; compare REPORT.md with the results"
    )
    names = report.STEPS
    parser.add_argument("--only", nargs="+", choices=names, metavar="STEP", help=", ".join(names))
    parser.add_argument(
        "--fresh", action="store_true", help="delete earlier results of these steps"
    )
    return parser.parse_args()


def check() -> int:
    """Check that REPORT.md agrees with the results and that all bars hold."""
    results = report.read_results(RESULTS)
    same = report.page(results) == report.PAGE.read_text(encoding="utf-8")
    found = bars.all_bars(results)
    print(shown([bar for bar in found if not bar.holds]) if not all_hold(found) else "all hold")
    print("REPORT.md is up to date" if same else "REPORT.md is out of date: run `make paper`")
    return 0 if same and all_hold(found) else 1


def all_hold(found: list[bars.Bar]) -> bool:
    """Return whether every bar holds."""
    return all(bar.holds for bar in found)


def chosen_steps(arguments: argparse.Namespace, folder: Path) -> list[steps.Step]:
    """Return the steps to run; exit at once if one lacks its data."""
    chosen = [
        step
        for step in all_steps(quick=arguments.quick)
        if not arguments.only or step.name in arguments.only
    ]
    left = [step for step in chosen if arguments.fresh or not steps.complete(step, folder)]
    if any(step.name == "properties" for step in left):
        import properties

        try:
            properties.check_data()
        except data.DataMissingError as error:
            others = " ".join(name for name in report.STEPS if name != "properties")
            sys.exit(f"{error} The other steps do without: --only {others}")
    return chosen


def main() -> int:
    """Run the chosen steps; return 1 if a bar does not hold."""
    arguments = parse()
    if arguments.check:
        return check()
    folder = RESULTS
    if arguments.quick:
        folder = corpora.use_quick_cache()
        shutil.rmtree(folder, ignore_errors=True)  # a quick run is a test and reuses nothing
    start = time.perf_counter()
    for step in chosen_steps(arguments, folder):
        if arguments.fresh:
            steps.forget(step, folder)
        wall = steps.run(step, folder)["wall_seconds"]
        harness.progress(f"{step.name}: {wall:.0f} s, now or before")
    harness.progress(f"all: {time.perf_counter() - start:.0f} s")
    if arguments.only and not report.complete(folder):
        return 0
    results = report.read_results(folder)
    found = bars.all_bars(results, bars.QUICK if arguments.quick else bars.FULL)
    print(shown(found))
    if not arguments.quick:
        report.write(results)
    return 0 if all_hold(found) else 1


if __name__ == "__main__":
    sys.exit(main())
