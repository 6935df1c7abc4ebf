"""Explanations: plain tables of what a prediction is the sum of. Nothing here draws."""

from stc.explain.answers import Answers
from stc.explain.change import Change, Counterfactual
from stc.explain.contrast import Contrast
from stc.explain.highlight import Highlight
from stc.explain.local import LocalExplanation
from stc.explain.overall import GlobalExplanation

__all__ = [
    "Answers",
    "Change",
    "Contrast",
    "Counterfactual",
    "GlobalExplanation",
    "Highlight",
    "LocalExplanation",
]
