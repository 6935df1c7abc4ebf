# ruff: noqa: E501  (prose)
"""REPORT.md, written from the results of the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bars
import page_explanation
import page_news
import page_properties
import page_zoo
import published
import steps
import summary
from wording import duration, table

HERE = Path(__file__).resolve().parent
PAGE = HERE / "REPORT.md"
STEPS = ("zoo", "news_stc", "news_learnt", "news_peers", "explanation", "properties")

Results = dict[str, dict[str, Any]]


def read_results(folder: Path) -> Results:
    """Read the results of the steps."""
    return {name: steps.read(folder / f"{name}.json") for name in STEPS}


def complete(folder: Path) -> bool:
    """Return whether every step has a result."""
    return all((folder / f"{name}.json").exists() for name in STEPS)


def write(results: Results) -> None:
    """Write the page and its figures."""
    import figures

    figures.draw(results)
    PAGE.write_text(page(results), encoding="utf-8")


def page(results: Results) -> str:
    """Return the whole page."""
    parts = [
        _opening(results),
        page_zoo.chapter(results["zoo"]),
        page_news.chapter(results),
        page_explanation.chapter(results["explanation"]),
        page_properties.chapter(results["properties"]),
        _all_bars(results),
        _environment(results),
    ]
    return "\n\n".join(parts) + "\n"


def _opening(results: Results) -> str:
    found = bars.all_bars(results)
    groups = dict.fromkeys(bar.group for bar in found)
    rows = []
    for group in groups:
        bars_of_group = [bar for bar in found if bar.group == group]
        beyond = sum(bar.note != "" for bar in bars_of_group)
        rows.append(
            [
                group,
                str(len(bars_of_group)),
                str(sum(bar.holds for bar in bars_of_group)),
                str(beyond),
            ]
        )
    zoo, news = summary.zoo_table(results["zoo"]), summary.news_rows(results)
    said = published.ZOO["STC-Q"][2], published.NEWS["STC-Q, p=1/3"][3]
    return f"""# The paper, reproduced

Made by `make paper` from `results/*.json`; not written by hand. The three experiments of the paper on
the Sparse Tensor Classifier, run again with this package, beside the published figures.

- **Zoo**: STC-Q has a weighted F1 of {zoo["STC-Q"]["F1"].mean:.3f}, published {said[0]:.3f}.
- **20 Newsgroups**: STC-Q with p = 1/3 is right in {news["STC-Q, p=1/3"]["accuracy"]:.3f}, published {said[1]:.3f}.
- **Explanations**: of the six words for baseball, {summary.shared_words(results["explanation"], "STC")} (summed over the test set) and \
{summary.shared_words(results["explanation"], "STC-G")} (of the model) are the published ones.

What must hold is in code (`bars.py`), and listed [at the end](#all-bars).

{table(["part", "bars", "hold", "of these beyond tolerance, explained"], rows)}"""


def _all_bars(results: Results) -> str:
    rows = [
        [
            bar.group,
            bar.what,
            f"{bar.figure:.4g}",
            bar.bar,
            ("yes" if bar.holds else "**NO**") + (f", {bar.note}" if bar.note else ""),
        ]
        for bar in bars.all_bars(results)
    ]
    return "\n\n".join(["## All bars", table(["part", "figure", "found", "bar", "holds"], rows)])


def _environment(results: Results) -> str:
    rows = [
        [
            name,
            duration(result["wall_seconds"]),
            result["environment"]["time"][:10],
            f"{result['environment']['load']:.1f}",
        ]
        for name, result in results.items()
    ]
    rows.append(
        ["all", duration(sum(result["wall_seconds"] for result in results.values())), "", ""]
    )
    environment = results["zoo"]["environment"]
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    return f"""## The machine

Python {environment["python"]}, {environment["cpus"]} cores (the load says how many processes wanted one at the end of a step, two of them ours),
{versions}. A step may have been run in several goes: then
models kept from an earlier go, and tokens, are not in its time.

{table(["step", "took", "on", "load"], rows)}"""
