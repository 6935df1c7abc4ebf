"""The paper, reproduced: the page is what the results give, and the bars can fail."""

import copy
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "paper"
sys.path += [str(PAPER), str(ROOT / "benchmarks")]

import bars  # noqa: E402
import corpora  # noqa: E402
import published  # noqa: E402
import steps  # noqa: E402
import summary  # noqa: E402

import report  # noqa: E402

Results = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def results() -> Results:
    return report.read_results(PAPER / "results")


def test_the_page_is_what_the_results_give(results: Results) -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page(results)


def test_every_figure_of_the_page_is_there(results: Results) -> None:
    named = set(re.findall(r"\(figures/(\w+\.png)\)", report.page(results)))
    assert named == {file.name for file in (PAPER / "figures").iterdir()}


def test_every_bar_holds(results: Results) -> None:
    checked = bars.all_bars(results)
    assert [bar for bar in checked if not bar.holds] == []
    assert {bar.group for bar in checked} == {
        "Zoo",
        "20 Newsgroups",
        "Explanation",
        "Properties",
    }


def test_the_runs_are_as_many_as_the_paper_and_we_promise(results: Results) -> None:
    runs = {name: len(rows) for name, rows in summary.zoo_runs(results["zoo"]).items()}
    assert {runs[name] for name in published.ZOO if name.startswith("STC")} == {1000}
    assert {runs[name] for name in published.ZOO if not name.startswith("STC")} == {100}
    assert summary.news_rows(results).keys() >= published.NEWS.keys()


def _worse_on_zoo(results: Results) -> None:
    for key, part in results["zoo"]["parts"].items():
        if key.startswith("stc"):
            part["STC-Q"] = [[value - 0.02 for value in row] for row in part["STC-Q"]]


def _worse_on_news(results: Results) -> None:
    results["news_stc"]["parts"]["STC-Q"]["accuracy"] -= 0.004


def _worse_peer(results: Results) -> None:
    results["news_peers"]["parts"]["LR"]["f1"] -= 0.1


def _other_words(results: Results) -> None:
    words = results["explanation"]["parts"]["STC"]["STC-G"]
    words[published.BASEBALL] = ["the"] * 10


def _unstable(results: Results) -> None:
    results["explanation"]["parts"]["STC"]["same_twice"] = False


def _online_is_not_batch(results: Results) -> None:
    results["properties"]["parts"]["online"]["difference"] = 1e-3


def _balance_of_no_use(results: Results) -> None:
    part = results["properties"]["parts"]["balance"]
    part["recalls"] = [part["recalls"][0]] * len(part["recalls"])


@pytest.mark.parametrize(
    ("change", "group"),
    [
        (_worse_on_zoo, "Zoo"),
        (_worse_on_news, "20 Newsgroups"),
        (_worse_peer, "20 Newsgroups"),
        (_other_words, "Explanation"),
        (_unstable, "Explanation"),
        (_online_is_not_batch, "Properties"),
        (_balance_of_no_use, "Properties"),
    ],
)
def test_a_changed_result_fails(
    results: Results, change: Callable[[Results], None], group: str
) -> None:
    changed = copy.deepcopy(results)
    change(changed)
    assert {bar.group for bar in bars.all_bars(changed) if not bar.holds} == {group}
    assert report.page(changed) != report.page(results)


def test_the_published_tables_are_complete() -> None:
    peers = ["DT", "RF", "KNN", "SVM", "MNB", "LR"]
    assert list(published.ZOO) == [*peers, "STC-C", "STC-Q"]
    assert list(published.NEWS) == [*peers, "STC-Q", "STC-Q, p=1/3"]
    assert all(len(row) == 4 for row in [*published.ZOO.values(), *published.NEWS.values()])
    assert published.ZOO_PAIRWISE_MEAN.keys() == published.ZOO.keys()
    assert published.ZOO_STC_Q_BEATS.keys() == published.ZOO.keys() - {"STC-Q"}
    assert len(published.NEWSGROUPS) == 20
    assert all(len(words) == 6 for words in published.TOP_WORDS.values())


def test_the_published_means_count_each_model_against_itself_as_nothing() -> None:
    mean = sum(published.ZOO_STC_Q_BEATS.values()) / len(published.ZOO)
    assert mean == pytest.approx(published.ZOO_PAIRWISE_MEAN["STC-Q"], abs=0.005)
    # 28 pairs, each giving 1 in all, shared by 8 models.
    assert sum(published.ZOO_PAIRWISE_MEAN.values()) == pytest.approx(28 / 8, abs=0.005)


def test_duels_leave_ties_out() -> None:
    rows = {"DT": [0.5, 0.9, 0.7, 0.7], "STC-Q": [0.6, 0.8, 0.9, 0.7]}
    parts = {name: [[0, 0, f1, 0] for f1 in scores] for name, scores in rows.items()}
    duels = summary.duels({"parts": {"stc 0000": parts}})
    assert duels["STC-Q"]["DT"].share == pytest.approx(2 / 3)
    assert duels["STC-Q"]["DT"].ties == 1
    assert summary.duel_mean(duels["STC-Q"]) == pytest.approx(1 / 3)


def test_a_variant_stands_in_for_a_peer() -> None:
    rows = {"DT": [0.5, 0.9], "STC-Q": [0.6, 0.8], "DT, small": [0.1, 0.2]}
    parts = {name: [[0, 0, f1, 0] for f1 in scores] for name, scores in rows.items()}
    duels = summary.duels({"parts": {"stc 0000": parts}}, {"DT": "DT, small"})
    assert duels.keys() == {"DT", "STC-Q"}
    assert duels["STC-Q"]["DT"].share == 1


def test_the_thread_of_a_document_is_its_subject() -> None:
    texts = [
        "From: a\nSubject: Re: RE:  The  Old Car\nLines: 1\n\nSubject: not this",
        "Subject: the old car\n\nhi",
        "From: a\n\nno subject",
        "SUBJECT: Re:\n\nempty",
        "Subject: Reality\n\nno answer",
    ]
    assert corpora.threads(texts) == [
        "the old car",
        "the old car",
        "document 2",
        "document 3",
        "reality",
    ]


def test_a_run_without_its_data_says_so_at_once(tmp_path: Path) -> None:
    run = [sys.executable, str(PAPER / "run.py"), "--only", "properties", "zoo", "--fresh"]
    before = (PAPER / "results" / "zoo.json").read_bytes()
    process = subprocess.run(
        run,
        env=os.environ | {"STC_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 1
    assert "car.csv.gz is missing. Set STC_DATA" in process.stderr
    assert "--only zoo news_stc news_learnt news_peers explanation" in process.stderr
    assert "Traceback" not in process.stderr
    assert (PAPER / "results" / "zoo.json").read_bytes() == before


def _append(file: str, text: str) -> str:
    with Path(file).open("a") as lines:
        lines.write(text)
    return text


def _break() -> None:
    raise ZeroDivisionError


def test_a_step_goes_on_where_it_was_and_starts_anew_with_other_settings(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parts: dict[str, Any] = {key: (_append, (str(log), key)) for key in "ab"}
    broken = steps.Step("step", {"runs": 1}, {**parts, "c": (_break, ())}, jobs=1)
    with pytest.raises(ZeroDivisionError):
        steps.run(broken, tmp_path)
    mended = steps.Step("step", {"runs": 1}, {**parts, "c": (_append, (str(log), "c"))}, jobs=1)
    assert steps.run(mended, tmp_path)["parts"] == {"a": "a", "b": "b", "c": "c"}
    assert log.read_text() == "abc"
    again = steps.run(mended, tmp_path)
    assert log.read_text() == "abc"
    assert again == steps.read(mended.file(tmp_path))
    steps.run(steps.Step("step", {"runs": 2}, parts, jobs=1), tmp_path)
    assert log.read_text() == "abcab"
    steps.forget(mended, tmp_path)
    assert not mended.file(tmp_path).exists()
