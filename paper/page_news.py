# ruff: noqa: E501  (prose)
"""The page on the second experiment."""

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

{_news_times(rows, weights)}"""


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
    phases = results["news_stc"]["settings"]["phases"]
    tuned = rows["STC, tuned"]
    chosen = ", ".join(f"{key} {value}" for key, value in tuned["chosen"].items())
    return f"""{table(["model", "Prec.", "Rec.", "F1", "Acc."], lines)}

- **STC, phases**: p = 1/3 with learnt phases. `phases="learn"` tries four penalties on five parts held out; to stay within the
  hour this is one penalty ({phases["penalties"][0]:g}), at most {phases["max_iter"]} iterations, {phases["validation"]} part held out.
- **STC, tuned**: `SparseTensorClassifierCV(phases=None)`. Its "auto" tries words in a row, too. It would also try phases, which
  takes longest and is left out here (`make bench-accuracy` does it, on tokens of its own). Of {tuned["settings_tried"]} settings it chose {chosen}. In
  cross-validation its score, accuracy less a fifth of the log-loss, was {tuned["score_in_cross_validation"]:.3f}.

{explained.TUNED}"""


def _news_times(rows: dict[str, dict[str, Any]], weights: dict[str, Any]) -> str:
    lines = []
    for name, own in rows.items():
        parts = [own["seconds"]] if name.startswith("STC") else [own["seconds"], weights["seconds"]]
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
once, on two cores that other work shared heavily: compare the seconds of work (on all cores together), which that changes little, not
those of the clock. Whether the paper's times hold tokenising is not known.

{table(head, [row for _, row in sorted(lines, key=lambda own: own[0])])}"""
