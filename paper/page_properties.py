# ruff: noqa: E501  (prose)
"""The chapter of REPORT.md on the properties."""

from __future__ import annotations

from typing import Any

import summary
from wording import picture, table, with_error


def chapter(result: dict[str, Any]) -> str:
    """Return the chapter."""
    parts, settings = result["parts"], result["settings"]
    sections = [
        _special_cases(parts["special_cases"]),
        _noise(parts["noise"], settings["splits"]),
        _balance(parts["balance"]),
        _missing(parts["missing"]),
        _fallback(parts["fallback"]),
        _online(parts["online"]),
        _prior(parts, settings),
        _labels(parts["several_labels"]),
    ]
    return "\n\n".join(["## Properties", *sections])


def _special_cases(part: dict[str, Any]) -> str:
    return f"""### Classical and quantum probability

With entropy 0, power 1 and balance 0 the model is the law of total probability; with power 1/2 and balance 1 it is Born's rule.
Over all animals and classes of Zoo the largest difference from the formulas, written out densely, is {part["classical"]["difference"]:.1g} and
{part["quantum"]["difference"]:.1g}.

{picture("special_cases", "Probabilities of a dolphin by stc and by textbook formulas")}"""


def _noise(part: dict[str, Any], splits: int) -> str:
    rows = [
        [name, *(with_error(mean) for mean in means)]
        for name, means in summary.noise_table(part).items()
    ]
    head = ["setting", *(f"{value:,} random values" for value in part["values"])]
    return f"""### Noise

Zoo, to each animal random values added, each 0 or 1 of an attribute of its own; accuracy, {splits} splits. Always the commonest
class would have {summary.mean_of(part["commonest"]).mean:.3f}.

{table(head, rows)}

{picture("noise", "Accuracy on Zoo against the number of random values, four settings")}"""


def _balance(part: dict[str, Any]) -> str:
    recall = summary.recall_of_rarest(part)
    share = min(part["counts"]) / sum(part["counts"])
    rows = [
        [f"{value:g}", *(f"{recall_of_class:.3f}" for recall_of_class in row)]
        for value, row in zip(part["balances"], part["recalls"], strict=True)
    ]
    return f"""### Balance

Car evaluation, 5 folds, default power and entropy. The rarest class, `{part["rarest"]}`, is {share:.1%} of the cars; its recall is {recall[0.0]:.3f}
with balance 0, {recall[1.0]:.3f} with 1, {recall[2.0]:.3f} with 2. Beyond 1 frequent classes pay.

{table(["balance", *part["labels"]], rows)}

{picture("balance", "Recall of each class of Car against the balance")}"""


def _missing(part: dict[str, Any]) -> str:
    rows = [
        [
            name,
            f"{scores['missing']:,} in {scores['rows']:,} rows",
            *(with_error(summary.mean_of(scores[way])) for way in ("ignore", "category")),
        ]
        for name, scores in part.items()
    ]
    return f"""### Missing values

Ignored, or a category of their own; accuracy, 5 folds.

{table(["data", "missing", "ignored", "a category"], rows)}

{picture("missing", "Accuracy on House votes and Soybean with missing values ignored and as a category")}"""


def _fallback(part: dict[str, Any]) -> str:
    return f"""### Nothing known

For an item of which no value was ever seen the answer is the class frequencies, in all four settings; largest difference
{part["difference"]:.1g}.

{picture("fallback", "The answer for an unknown animal and the class frequencies")}"""


def _online(part: dict[str, Any]) -> str:
    return f"""### Online is batch

Zoo in {len(part["seen"])} batches in another order: the probabilities differ from those of one fit by at most {part["difference"]:.1g}; after more was
learnt and unlearnt, by {part["difference_after_unlearning"]:.1g}.

{picture("online", "Accuracy on Zoo as batches come, and of one fit")}"""


def _prior(parts: dict[str, Any], settings: dict[str, Any]) -> str:
    part = parts["prior_knowledge"]
    rows = [
        [name, *(with_error(mean) for mean in means)]
        for name, means in summary.prior_table(parts).items()
    ]
    return f"""### Prior knowledge

{part["statements"]} statements about animals ("feathers and eggs: bird"; in `properties.py`), each worth {settings["textbook_weight"]:g} animals, told before any
animal is seen; accuracy, {settings["splits"]} splits.

{table(["animals learnt from", *map(str, part["animals"])], rows)}

{picture("prior_knowledge", "Accuracy on Zoo from few animals with and without prior knowledge")}"""


def _labels(part: dict[str, Any]) -> str:
    rows = [
        [name, f"{scores['micro']:.3f}", f"{scores['macro']:.3f}"]
        for name, scores in sorted(part.items())
        if isinstance(scores, dict)
    ]
    return f"""### Several labels

enron, {part["labels"]} labels. A set of labels is learnt as equal shares of each (difference of the corpora: {part["difference"]:.1g}).

{table(["model", "micro-F1", "macro-F1"], rows)}

{picture("several_labels", "Micro and macro F1 on enron")}"""
