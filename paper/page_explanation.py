# ruff: noqa: E501  (prose)
"""The chapter of REPORT.md on the third experiment."""

from __future__ import annotations

from typing import Any

import explained
import published
import summary
from wording import code, duration, picture, table


def chapter(result: dict[str, Any]) -> str:
    """Return the chapter."""
    settings = result["settings"]
    count = summary.documents(result)
    return f"""## Experiment 3: explanation

The model is STC-Q with p = 1/3. Which words speak for a newsgroup? **STC**: our contributions to the predicted classes, summed
over all {result["parts"]["STC"]["documents"]:,} test documents. **STC-G**: the weights of the model. **MNB-G**: P(t|c) of naive Bayes. **LIME**, which the paper sums
over the test documents, is slow: here {settings["documents_per_class"]} test documents of each newsgroup drawn by lot ({count} in all, none with more than
{settings["longest"]} distinct tokens), {settings["samples"]:,} samples each, its {settings["most_words"]} strongest words. Its words are the tokens of nltk, case kept, as ours are;
the models of scikit-learn lower them. SVM has no probabilities: LIME gets the softmax of its decision function (computed as in
`kernel.py`, which gives the same values much faster; with SVC's own, LIME would take many times as long).

### rec.sport.baseball

{_baseball(result)}

{explained.BASEBALL}

### All newsgroups

{_all_newsgroups(result)}

### In place of the survey

The paper asked 45 people which words they find convincing. That cannot be repeated by a program. What can be measured:

- **Faithfulness**: the words of an explanation are taken away from the document, the strongest first (deletion), or put alone
  (insertion), up to {settings["most_words"]} of them. Figures are the mean height of the curve, of the probability of the class and of the share of
  documents that keep (find) their class. Probabilities of different models are not on one scale: compare rows of one model.
- **Stability**: how many of the ten strongest words two runs with different seeds share ({settings["explained_twice"]} documents of each newsgroup).
- **Dull words**: the share of stop-words (nltk's list) and punctuation in the ten strongest.
- **Time** for one document (median; two shared cores).

{_faithfulness(result)}

{picture("faithfulness", "Deletion and insertion curves on the model p = 1/3 by contributions, impact, LIME and lot")}

{picture("per_model", "Share of documents that keep their class as words are taken away, model by model")}

{explained.FAITHFULNESS}

In the lists of ten words of all newsgroups the share of dull words is:

{_dull_lists(result)}"""


def _baseball(result: dict[str, Any]) -> str:
    terms = summary.terms(result)
    rows = []
    for name, lists in terms.items():
        short = name.removesuffix(", LIME") if not name.startswith("STC, ") else name
        said = published.TOP_WORDS.get(short)
        found = lists.get(published.BASEBALL, [])[:6]
        shared = f"{len(set(found) & set(said))} of {len(said)}" if said else ""
        rows.append([name, code(said) if said else "", code(found), shared])
    text = table(["by", "published", "found", "shared"], rows)
    return text.replace("|---|---:|---:|---:|", "|---|---|---|---|")


def _all_newsgroups(result: dict[str, Any]) -> str:
    terms = summary.terms(result)
    names = ["STC", "STC-G", "MNB-G"]
    peers = [f"{name}, LIME" for name in result["settings"]["peers"]]
    rows = [
        [label, *(code(terms[name][label][:6]) for name in names)] for label in published.NEWSGROUPS
    ]
    more = [
        [label, *(code(terms[name].get(label, [])[:6]) for name in peers)]
        for label in published.NEWSGROUPS
    ]
    first = table(["newsgroup", *names], rows).replace("---:", "---")
    second = table(["newsgroup", *peers], more).replace("---:", "---")
    return f"""{first}

By LIME, from few documents (empty: none of them was given this newsgroup):

{second}"""


def _faithfulness(result: dict[str, Any]) -> str:
    areas, figures = summary.areas(result), summary.figures(result)
    kinds = ("deletion", "insertion", "deletion, class kept", "insertion, class found")
    models = ["STC", *result["settings"]["peers"]]
    ways = ["contributions", "impact", "LIME", "at random"]
    order = [name for model in models for way in ways if (name := f"{model}, {way}") in areas]
    rows = []
    for method in order:
        values = figures.get(method, {})
        rows.append(
            [
                method.replace("at random", "by lot"),
                *(f"{areas[method][kind]:.3f}" for kind in kinds),
                f"{values['overlap']:.2f}" if "overlap" in values else "",
                f"{values['dull']:.2f}" if "dull" in values else "",
                duration(values["seconds"]) if "seconds" in values else "",
            ]
        )
    head = [
        "model, method",
        "deletion ↓",
        "insertion ↑",
        "class kept ↓",
        "class found ↑",
        "overlap",
        "dull",
        "time",
    ]
    return table(head, rows)


def _dull_lists(result: dict[str, Any]) -> str:
    shares = result["parts"]["STC"]["dull_share"] | result["parts"]["MNB-G"]["dull_share"]
    return table(["", *shares], [["dull words", *(f"{share:.2f}" for share in shares.values())]])
