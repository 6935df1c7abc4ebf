"""Arrays and lists of lists: rows and columns without names, each distinct entry a category.

For data that is already in NumPy. Columns are called x0, x1, ...; 1, 1.0 and "1" are the same
category, so an array of floats, one of integers and rows out of a CSV agree.
"""

import numpy as np

from stc import SparseTensorClassifier

rows = [["red", 1], ["red", 2], ["green", 1], ["green", None]]
y = ["stop", "stop", "go", "go"]
model = SparseTensorClassifier().fit(rows, y)
print("features:", model.get_feature_names_out().tolist())

# NumPy made text of all cells here, and the text "1.0" is another category than "1": not seen.
array = np.array([["green", 2], ["blue", 1.0]])
for row, label, seen in zip(
    array.tolist(), model.predict(array), model.coverage(array), strict=True
):
    print(f"{row}: {label}, {seen:.0%} of it seen before")

# Binary attributes as 0 and 1: here 0 is a category like any other, unlike in a sparse matrix.
switches = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
lamp = SparseTensorClassifier().fit(switches, [True, False, True, False])
print("lamp on:", lamp.predict(switches.astype(float)))  # floats or not, the same categories

# prints:
# features: ['x0=red', 'x0=green', 'x1=1', 'x1=2']
# ['green', '2']: go, 100% of it seen before
# ['blue', '1.0']: go, 0% of it seen before
# lamp on: [ True False  True False]
