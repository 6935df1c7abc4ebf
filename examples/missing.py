"""Missing values: ignore them, or treat them as a category.

With "ignore" (the default) a missing value contributes nothing. Use "category" if values are
missing for a reason.
"""

import polars as pl

from stc import SparseTensorClassifier

loans = pl.DataFrame(
    {
        "home": ["own", "own", "own", "rent", "rent", "rent", "own"],
        "income": ["high", "low", "high", "high", None, None, None],  # some did not answer
    }
)
paid = ["yes", "yes", "yes", "yes", "no", "no", "no"]
silent = pl.DataFrame({"home": ["own"], "income": [None]})

for missing in ("ignore", "category"):
    model = SparseTensorClassifier(missing=missing).fit(loans, paid)
    print(f"{missing}: {', '.join(model.get_feature_names_out())}")
    print(" ", model.explain_local(silent))

# prints:
# ignore: home=own, home=rent, income=high, income=low
#   yes, 0.53: because home=own (100 %)
# category: home=own, home=rent, income=high, income=low, income is missing
#   no, 0.99: because income is missing (94 %), home=own (6 %)
