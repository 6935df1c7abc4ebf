# ruff: noqa: E501  (prose)
"""The chapter of REPORT.md on the second experiment."""

from __future__ import annotations

from typing import Any

import bars
import explained
import published
import summary
from wording import differences, duration, picture, signed, table


def chapter(results: dict[str, dict[str, Any]]) -> str:
    """Return the chapter."""
    rows = summary.news_rows(results)
    weights = results["news_peers"]["parts"]["weights"]
    train, test = weights["documents"]
    terms = rows["STC-Q"]["terms"]
    return f"""## Experiment 2: 20 Newsgroups

By date, {train:,} documents to learn from and {test:,} to judge by, headers kept, the tokens of `nltk.word_tokenize` and
nothing else. Others at scikit-learn's defaults on `TfidfVectorizer(tokenizer=nltk.word_tokenize)`, which lowers the text first;
it is fed with kept tokens, and on {weights["documents_compared"]} documents the weights were compared with those of the tokenizer itself
({"the same" if weights["same_weights_as_with_the_tokenizer"] else "NOT the same"}). Precision, recall and F1 are means over the classes. The standard error of an
accuracy here is {summary.accuracy_error(rows["STC-Q"]["accuracy"], test):.3f} (as if documents were drawn by lot).

{_news_against_paper(rows)}

{picture("news", "Accuracy of all models on 20 Newsgroups, published and found")}

We count {terms:,} terms of training, the paper {published.NEWS_TERMS:,}; it used an older nltk, whose tokens we do not have.

{_news_differences(rows)}

### Rows of our own

{_extra_rows(results, rows)}

### Times

{_news_times(results, rows)}"""


def _news_against_paper(rows: dict[str, dict[str, Any]]) -> str:
    head = ["model"]
    for measure in ("Prec.", "Rec.", "F1", "Acc."):
        head += [f"{measure}, published", "found", "difference"]
    lines = []
    for name, said in published.NEWS.items():
        cells = [f"**{name}**" if name.startswith("STC") else name]
        for measure, value in zip(published.NEWS_MEASURES, said, strict=True):
            found = rows[name][measure]
            cells += [f"{value:.3f}", f"{found:.3f}", signed(found - value)]
        lines.append(cells)
    for name, (f1, accuracy) in published.LITERATURE.items():
        shown = "" if f1 is None else f"{f1:.3f}"
        quoted = ["", "", "", "", "", "", shown, "", "", f"{accuracy:.3f}", "", ""]
        lines.append([f"{name}, quoted", *quoted])
    return table(head, lines)


def _news_differences(rows: dict[str, dict[str, Any]]) -> str:
    reasons: dict[str, list[str]] = {}
    for name, said in published.NEWS.items():
        for measure, value in zip(published.NEWS_MEASURES, said, strict=True):
            difference = rows[name][measure] - value
            if not name.startswith("STC") and abs(difference) > bars.FULL.news_peers:
                reason = explained.NEWS.get((name, measure), "Not explained.")
                reasons.setdefault(reason, []).append(f"{name} {measure} {signed(difference)}")
    return differences(reasons, bars.FULL.news_peers)


def _extra_rows(results: dict[str, dict[str, Any]], rows: dict[str, dict[str, Any]]) -> str:
    extra = [name for name in rows if name not in published.NEWS]
    extra.sort(key=lambda name: (not name.startswith("STC"), name))
    lines = [
        [name, *(f"{rows[name][measure]:.3f}" for measure in published.NEWS_MEASURES)]
        for name in extra
    ]
    threads = results["news_learnt"]["parts"]["threads"]
    return f"""{table(["model", "Prec.", "Rec.", "F1", "Acc."], lines)}

- **STC, phases**: p = 1/3 with `phases="learn"`.
- **STC, tuned**: `SparseTensorClassifierCV()`, which tries words in a row, too, and phases, or with `phases=None`. It judges by accuracy less
  a fifth of the log-loss, in five folds drawn by lot; **threads apart**: `fit(X, y, groups=...)`, no thread (documents of one subject) on both
  sides of a split.

What it chose, of how many settings:

{_choices(rows)}

Of the documents that a fold by lot judges, {threads["share_of_folds"]:.0%} are in a thread that was learnt from; of the test documents, which are later, {threads["share_of_test"]:.0%}
(there are {threads["threads"]:,} threads in training). So by lot that looks useful which only tells one thread from another. {_threads_apart(rows)}"""


def _choices(rows: dict[str, dict[str, Any]]) -> str:
    lines = []
    for name, row in rows.items():
        if "chosen" not in row:
            continue
        chosen = row["chosen"]
        numbers = (f"{chosen[key]:.3g}" for key in ("ngrams", "power", "balance", "entropy"))
        penalty = _phases(chosen["phases"])
        score, accuracy = row["score_in_cross_validation"], row["accuracy"]
        lines.append(
            [name, *numbers, penalty, str(row["settings_tried"]), f"{score:.3f}", f"{accuracy:.3f}"]
        )
    head = ["", "words in a row up to", "power", "balance", "entropy", "phases", "of"]
    return table([*head, "score in cross-validation", "accuracy in the test"], lines)


def _phases(penalty: float | None) -> str:
    """Return a text about the learnt phases."""
    if penalty is None:
        return "none"
    return "the sharpness only" if penalty == float("inf") else f"penalty {penalty:g}"


def _threads_apart(rows: dict[str, dict[str, Any]]) -> str:
    """Return a text about the effect of folds that keep threads together."""
    said = []
    for name, way in (("STC, tuned without phases", "without phases"), ("STC, tuned", "with them")):
        lot, apart = rows[name], rows[f"{name}, threads apart"]
        gain = apart["accuracy"] - lot["accuracy"]
        fall = lot["score_in_cross_validation"] - apart["score_in_cross_validation"]
        said.append(f"{way} by {signed(gain)} (the score in cross-validation falls by {fall:.3f})")
    return f"With threads apart the accuracy in the test changes {', '.join(said)}."


def _news_times(results: dict[str, dict[str, Any]], rows: dict[str, dict[str, Any]]) -> str:
    weights = results["news_peers"]["parts"]["weights"]
    lines = []
    for name, row in rows.items():
        parts = [row["seconds"]] if name.startswith("STC") else [row["seconds"], weights["seconds"]]
        seconds = [
            sum(part[phase][kind] for part in parts)
            for kind in ("work", "clock")
            for phase in ("fit", "predict")
        ]
        lines.append((sum(seconds[:2]), [name, *map(duration, seconds)]))
    tokens = [duration(weights["tokenizing_seconds"][part]) for part in ("train", "test")]
    lines.append((0.0, ["tokenising, for all models", *tokens, "", ""]))
    said = published.NEWS_SECONDS
    quoted = [f"about {said['fit']} s", f"about {said['predict']} s"]
    lines.append((0.0, ["the paper's STC, on its machine", "", "", *quoted]))
    head = ["model", "fit, work", "predict, work", "fit, clock", "predict, clock"]
    return f"""To learn from all training documents, and to predict all test documents, from tokens (for the peers with TF-IDF). Measured
once, the two of the paper one after the other, the rest two at a time, {_crowd(results)}. Whether the paper's times hold tokenising is not known.

{table(head, [row for _, row in sorted(lines, key=lambda line: line[0])])}"""


def _crowd(results: dict[str, dict[str, Any]]) -> str:
    """Return a text about the load of the machine; two processes are ours."""
    environments = [
        results[name]["environment"] for name in ("news_stc", "news_learnt", "news_peers")
    ]
    cores, load = environments[0]["cpus"], max(environment["load"] for environment in environments)
    if load <= cores + 1:
        return f"on {cores} cores that did little else (load {load:.1f})"
    return (
        f"on {cores} cores that other work shared heavily (load {load:.1f}): compare the seconds of work (on all cores together), which\n"
        "that changes little, not those of the clock"
    )
