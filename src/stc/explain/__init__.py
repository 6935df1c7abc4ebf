"""Explanations of predictions and of models, as plain tables."""

from stc.explain.answers import Answers
from stc.explain.contrast import Contrast
from stc.explain.counterfactual import Change, Counterfactual
from stc.explain.highlight import Highlight
from stc.explain.local import LocalExplanation
from stc.explain.names import label_text
from stc.explain.overall import GlobalExplanation

__all__ = [
    "Answers",
    "Change",
    "Contrast",
    "Counterfactual",
    "GlobalExplanation",
    "Highlight",
    "LocalExplanation",
    "label_text",
]
