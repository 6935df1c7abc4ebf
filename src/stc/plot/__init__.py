"""Explanations as Matplotlib figures, in scikit-learn's style of displays.

`from_explanation` and `from_estimator` create a display and draw it; `plot` draws it again. A
display draws into the axes given, or into a new figure. It only selects and formats rows of an
explanation.
"""

from stc.plot.contrast import ContrastDisplay
from stc.plot.heatmap import HeatmapDisplay
from stc.plot.local import LocalDisplay
from stc.plot.overall import GlobalDisplay
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
