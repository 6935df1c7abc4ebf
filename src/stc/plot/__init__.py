"""Explanations as Matplotlib figures. Plots choose rows and format them; they compute nothing.

Each display is used as those of scikit-learn: `from_explanation` or `from_estimator` draws it, and
`plot` draws it once more. The axes are yours if you give some, and are left for you to change.
"""

from stc.plot.contrast import ContrastDisplay
from stc.plot.local import LocalDisplay
from stc.plot.overall import GlobalDisplay, HeatmapDisplay
from stc.plot.phase import PhaseDisplay
from stc.plot.probability import ProbabilityDisplay

__all__ = [
    "ContrastDisplay",
    "GlobalDisplay",
    "HeatmapDisplay",
    "LocalDisplay",
    "PhaseDisplay",
    "ProbabilityDisplay",
]
