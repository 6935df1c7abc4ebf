"""DataFrames: pandas, polars, PyArrow and others, without conversion or one-hot encoding.

All give the same model. A cell may hold one value, a list of values, or a struct (in pandas: a
dict) with a weight for each value.
"""

import pandas as pd
import polars as pl
import pyarrow as pa

from stc import SparseTensorClassifier

films = {
    "country": ["fr", "us", "us", "fr"],
    "genre": [["drama"], ["action", "comedy"], ["action"], ["drama", "comedy"]],
    # Weight 0 means absent. It is needed here because polars uses the fields of the first struct.
    "minutes": [{"talk": t, "chase": c} for t, c in ((90, 0), (40, 60), (0, 90), (80, 5))],
}
liked_by = ["ann", "bob", "bob", "ann"]
new = {"country": ["us"], "genre": [["drama"]], "minutes": [{"talk": 70, "chase": 20}]}

corpora = []
for frame in (pl.DataFrame, pd.DataFrame, pa.table):
    model = SparseTensorClassifier().fit(frame(films), liked_by)
    corpora.append(model.corpus_)
    print(f"{frame.__module__.split('.')[0]:8}", model.predict_proba(frame(new))[0].round(3))
print("the same model:", all(corpus.equals(corpora[0]) for corpus in corpora))

# Fitted with one library, used with another: only names and values matter.
print(model.explain_local(pl.DataFrame(new)))

# prints:
# polars   [0.378 0.622]
# pandas   [0.378 0.622]
# pyarrow  [0.378 0.622]
# the same model: True
# bob, 0.62: because minutes=chase (69 %), minutes=talk (28 %), country=us (2 %)
