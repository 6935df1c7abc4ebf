"""A report: a model, its evaluation and its explanations on one HTML page.

The file is self-contained and opens in any browser. Evaluate on items that the model has not
learnt.
"""

import tempfile
from pathlib import Path

from stc import SparseTensorClassifier, load_zoo
from stc.report import report

X, y = load_zoo()
model = SparseTensorClassifier().fit(X[:70], y[:70])
page = report(model, X[70:], y[70:], title="Zoo: 31 test animals")

with tempfile.TemporaryDirectory() as folder:
    path = page.save(Path(folder, "zoo.html"))
    print(f"{path.name}: {round(path.stat().st_size, -4) // 1000} kB or so")

# In a notebook, `page` as the last line of a cell shows it there.

# prints:
# zoo.html: 80 kB or so
