"""Plots: explanations as Matplotlib figures.

Displays are created by from_estimator or from_explanation, as in scikit-learn.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

from stc import STC_Q, SparseTensorClassifier, load_zoo
from stc.plot import ContrastDisplay, GlobalDisplay, HeatmapDisplay, LocalDisplay

matplotlib.use("Agg")  # write files only; not needed in a notebook

X, y, names = load_zoo(names=True)
model = SparseTensorClassifier(**STC_Q).fit(X, y)  # the settings of the paper: no conjunctions
dolphin = names.to_list().index("dolphin")
explanation = model.explain_local(X)

local = LocalDisplay.from_explanation(explanation, dolphin)  # the three most probable classes
local.figure_.suptitle("What is a dolphin?")  # an ordinary Matplotlib figure
displays = {
    "local": local,
    "contrast": ContrastDisplay.from_explanation(explanation, dolphin, label="Fish"),
    "global": GlobalDisplay.from_estimator(model, labels=["Mammal", "Fish", "Bird"], n_features=5),
    "heatmap": HeatmapDisplay.from_estimator(model, n_features=12),
}
with TemporaryDirectory() as folder:
    for name, display in displays.items():
        display.figure_.savefig(Path(folder, f"{name}.png"), dpi=150)
    print("made:", *sorted(path.name for path in Path(folder).iterdir()))
print("local:", "; ".join(ax.get_title("left") for ax in local.axes_))

# prints:
# made: contrast.png global.png heatmap.png local.png
# local: Mammal, 0.45; Fish, 0.27; Reptile, 0.14
