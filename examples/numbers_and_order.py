"""Numbers and ordered values: 37.2 has weights in two intervals; M shares weight with S and L.

Close values are therefore similar. Explanations name the intervals.
"""

import warnings

import numpy as np
import polars as pl

from stc import HardlyCategoricalWarning, SparseTensorClassifier

celsius = np.random.default_rng(0).normal(38, 1, size=600)
X = pl.DataFrame({"temperature": celsius})
y = np.where(celsius < 37.5, "well", np.where(celsius < 39, "fever", "high fever"))

# As categories, measurements are useless, because no value occurs twice. A warning says so:
warnings.simplefilter("ignore", HardlyCategoricalWarning)
model = SparseTensorClassifier().fit(X[:300], y[:300])
print(f"as categories: {model.score(X[300:], y[300:]):.2f}")
model = SparseTensorClassifier(continuous=["temperature"]).fit(X[:300], y[:300])
print(f"as numbers above 0.90: {model.score(X[300:], y[300:]) > 0.9}")

# Given knots: a number has weights at its two neighbouring knots; beyond the last, at that one.
model.set_params(continuous={"temperature": [36, 37, 38, 39, 40]}).fit(X[:300], y[:300])
print(model.explain_local([{"temperature": 37.2}, {"temperature": 45}]))

# Ordered values: neighbours get half of the weight, so unseen sizes can be predicted.
sizes = {"size": ["S", "M", "L", "XL"]}
shirts = SparseTensorClassifier(ordinal=sizes).fit([{"size": "S"}, {"size": "XL"}], ["Ann", "Bob"])
print(shirts.explain_local([{"size": "M"}, {"size": "L"}]))

# prints:
# as categories: 0.54
# as numbers above 0.90: True
# well, 1.00: because temperature=36.5 to 37.5 (86 %), temperature=37.5 to 38.5 (14 %)
# high fever, 1.00: because temperature=above 39.5 (100 %)
# Ann, 0.89: because size=M (50 %), size=S (50 %)
# Bob, 0.89: because size=L (50 %), size=XL (50 %)
