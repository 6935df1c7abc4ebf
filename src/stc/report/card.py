"""The model card: size, settings, and the strongest features of each class."""

from __future__ import annotations

import re
import reprlib
from collections import defaultdict
from typing import Any

import numpy as np

import stc
from stc._core.schema import KIND_NAMES
from stc._training.state import note_on_repeats
from stc.classifier import SparseTensorClassifier
from stc.explain import Answers, GlobalExplanation, label_text
from stc.fitted import amplitudes_given
from stc.report.names import Names, clipped

# Maximal number of features per class, and of classes.
_FEATURES, _LISTED_CLASSES = 12, 200
# Shares are stored as integers, in millionths: with many features they are small.
_MILLION = 1_000_000
_SHORT = reprlib.Repr()
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 8
_SHORT.maxstring, _SHORT.maxother = 80, 160


def model_card(model: SparseTensorClassifier, answers: Answers) -> dict[str, Any]:
    """Return the facts and the parameters of a model, as text."""
    fitted, mass = answers.model, model.class_mass_
    facts = {
        "Training items": _number(float(mass.sum())),
        "Training data": KIND_NAMES[fitted.schema.kind],
        "Attributes": _number(model.n_features_in_),
        "Features": _number(len(model.get_feature_names_out())),
        "Classes": _number(len(mass)),
        "Gains and phases": _amplitudes(model, answers),
    }
    if len(fitted.dimensions.names) > 1:
        facts["Dimensions"] = clipped(", ".join(fitted.dimensions.names))
    if fitted.dimensions.attributes is not None:
        sets = (" × ".join(names) or "class frequencies" for names in model.policy_)
        facts["Policy"] = clipped(" → ".join(sets), 600)
    if fitted.interactions.order > 1:
        given = fitted.interactions.given
        facts["Interactions"] = (
            f"up to {given} attributes"
            if isinstance(given, int)
            else clipped(", ".join(" and ".join(names) for names in given), 600)
        )
    if fitted.interactions.ngrams > 1:
        facts["N-grams"] = f"up to {fitted.interactions.ngrams} words"
    score = model.fitted_.state.loo
    if score is not None:
        facts["Settings chosen"] = ", ".join(
            f"{name} {value:.3g}" for name, value in model.fitted_.hyper._asdict().items()
        )
        facts["Leave-one-out"] = (
            f"accuracy {score.accuracy:.2f}, log-loss {score.log_loss:.2f} over {score.items:,} "
            f"items; most frequent class {score.baseline:.2f}"
        )
        if note := note_on_repeats(score.repeated):
            facts["Repeated rows"] = note
    facts["Created by"] = f"stc {stc.__version__}"
    return {"facts": facts, "parameters": _parameters(model)}


def _amplitudes(model: SparseTensorClassifier, answers: Answers) -> str:
    if not answers.cascade.amplitudes:
        return "none"
    source = "learnt" if amplitudes_given(model.fitted_.parameters) is None else "given"
    return f"{source}, sharpness {model.sharpness_:.3g}"


def _parameters(model: SparseTensorClassifier) -> list[dict[str, Any]]:
    """Return the parameters of a model; `changed`: the value is not the default."""
    defaults = type(model)().get_params(deep=False)
    return [
        {"name": name, "value": shown, "changed": shown != _shown(defaults[name])}
        for name, value in model.get_params(deep=False).items()
        for shown in [_shown(value)]
    ]


def _shown(value: Any) -> str:
    """Return the value of a parameter as text, without memory addresses."""
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    if isinstance(value, np.ndarray):
        return f"array {value.shape}"
    return re.sub(r" at 0x[0-9a-f]+", "", _SHORT.repr(value))


def _number(value: float) -> str:
    return f"{value:,.6g}" if value < 1e6 and value % 1 else f"{round(value):,}"


def class_list(answers: Answers, names: Names) -> dict[str, Any]:
    """Return the classes, most training items first, each with its strongest features."""
    mass = answers.model.class_mass
    strongest = _strongest(answers)
    rows = [
        {
            "class": k,
            "mass": _number(float(mass[k])),
            "features": [
                [names.of_text(feature), round(share * _MILLION)] for feature, share in strongest[k]
            ],
        }
        for k in np.argsort(-mass, kind="stable")[:_LISTED_CLASSES].tolist()
    ]
    return {
        "names": [clipped(label_text(label)) for label in answers.names.labels],
        "rows": rows,
        "left_out": len(mass) - len(rows),
    }


def _strongest(answers: Answers) -> dict[int, list[tuple[str, float]]]:
    """Return the strongest features of each class, and their shares of its weights."""
    numbers = {label: number for number, label in enumerate(answers.names.column)}
    table = GlobalExplanation(answers.cascade).top(_FEATURES).table
    strongest: dict[int, list[tuple[str, float]]] = defaultdict(list)
    for label, feature, share in table.select("class", "feature", "share").iter_rows():
        strongest[numbers[label]].append((feature, share))
    return strongest
