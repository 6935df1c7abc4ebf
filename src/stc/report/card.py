"""The model card: what was learnt, with which settings, and what tells the classes."""

from __future__ import annotations

import re
import reprlib
from typing import Any

import numpy as np
import polars as pl

import stc
from stc._core.schema import KINDS
from stc.classifier import SparseTensorClassifier
from stc.explain import Answers
from stc.explain.names import text_of
from stc.report.names import Names, clipped

# Features of a class, and classes, that are shown.
_FEATURES, _LISTED_CLASSES = 12, 200
# Shares of many features are small: they are written in millionths.
_MILLION = 1_000_000
_SHORT = reprlib.Repr()
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 8
_SHORT.maxstring, _SHORT.maxother = 80, 160


def model_card(model: SparseTensorClassifier, answers: Answers) -> dict[str, Any]:
    """What was learnt, and how."""
    learnt, mass = answers.model, model.class_mass_
    facts = {
        "Items learnt": _number(float(mass.sum())),
        "FittedState from": KINDS[learnt.schema.kind],
        "Attributes": _number(model.n_features_in_),
        "Features": _number(len(model.get_feature_names_out())),
        "Classes": _number(len(mass)),
        "Phases": _phases(model, answers),
    }
    if len(learnt.dimensions.names) > 1:
        facts["Dimensions"] = clipped(", ".join(learnt.dimensions.names))
    if learnt.dimensions.attributes is not None:
        sets = (" × ".join(own) or "class frequencies" for own in model.policy_)
        facts["Policy"] = clipped(" → ".join(sets), 600)
    if learnt.interactions.order > 1:
        facts["Interactions"] = f"up to {learnt.interactions.order} attributes"
    if learnt.interactions.ngrams > 1:
        facts["Words in a row"] = f"up to {learnt.interactions.ngrams}"
    facts["Made by"] = f"stc {stc.__version__}"
    return {"facts": facts, "parameters": _parameters(model)}


def _phases(model: SparseTensorClassifier, answers: Answers) -> str:
    phases = answers.cascade.phases
    if not phases:
        return "none"
    source = "learnt" if phases is answers.model.phases else "given"
    return f"{source}, sharpness {model.sharpness_:.3g}"


def _parameters(model: SparseTensorClassifier) -> list[dict[str, Any]]:
    """The parameters of the model; `changed`: other than the default."""
    defaults = type(model)().get_params(deep=False)
    return [
        {"name": name, "value": shown, "changed": shown != _shown(defaults[name])}
        for name, value in model.get_params(deep=False).items()
        for shown in [_shown(value)]
    ]


def _shown(value: Any) -> str:
    """A value of a parameter, the same on every run: without where it is in memory."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if isinstance(value, np.ndarray):
        return f"array {value.shape}"
    return re.sub(r" at 0x[0-9a-f]+", "", _SHORT.repr(value))


def _number(value: float) -> str:
    return f"{value:,.6g}" if value < 1e6 and value % 1 else f"{round(value):,}"


def class_list(model: SparseTensorClassifier, answers: Answers, names: Names) -> dict[str, Any]:
    """The classes, those learnt from most items first, each with its strongest features."""
    labels = [text_of(label) for label in answers.names.labels]
    mass = model.class_mass_
    order = np.argsort(-mass, kind="stable")[:_LISTED_CLASSES]
    strongest = _strongest(model, answers)
    rows = [
        {
            "class": int(k),
            "mass": _number(float(mass[k])),
            "features": [
                [names.of_text(feature), round(share * _MILLION)]
                for feature, share in strongest.get(int(k), [])
            ],
        }
        for k in order
    ]
    return {
        "names": [clipped(label) for label in labels],
        "rows": rows,
        "left_out": len(labels) - len(rows),
    }


def _strongest(
    model: SparseTensorClassifier, answers: Answers
) -> dict[int, list[tuple[str, float]]]:
    """The strongest features of each class, and their shares of its weights."""
    column = answers.names.column
    numbers = pl.DataFrame({"class": column, "number": np.arange(len(column))})
    table = model.explain().top(_FEATURES).table
    found: dict[int, list[tuple[str, float]]] = {}
    joined = table.join(numbers.unique("class"), on="class", maintain_order="left")
    for number, feature, share in joined.select("number", "feature", "share").iter_rows():
        found.setdefault(number, []).append((feature, share))
    return found
