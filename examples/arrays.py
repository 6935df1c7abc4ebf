"""Arrays and lists of lists: columns without names, every distinct entry is a category.

Columns are called x0, x1, ...; 1, 1.0 and "1" are the same category, so an array of floats, an
array of integers and rows of a CSV agree. No one-hot encoding is needed.
"""

import numpy as np

from stc import SparseTensorClassifier

rows = [["red", 1], ["red", 2], ["green", 1], ["green", None]]
y = ["stop", "stop", "go", "go"]
model = SparseTensorClassifier().fit(rows, y)
print("features:", model.get_feature_names_out().tolist())

# NumPy converts all cells to text here; the text "1.0" is another category than "1": unknown.
array = np.array([["green", 2], ["blue", 1.0]])
for row, label, known in zip(
    array.tolist(), model.predict(array), model.coverage(array), strict=True
):
    print(f"{row}: {label}, {known:.0%} known")

# Binary attributes: in an array, 0 is a category like any other; in a sparse matrix it is not.
switches = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
lamp = SparseTensorClassifier().fit(switches, [True, False, True, False])
print("lamp on:", lamp.predict(switches.astype(float)))  # floats are the same categories

# prints:
# features: ['x0=red', 'x0=green', 'x1=1', 'x1=2']
# ['green', '2']: go, 100% known
# ['blue', '1.0']: go, 0% known
# lamp on: [ True False  True False]
