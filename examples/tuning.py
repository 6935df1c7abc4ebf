"""Tuning: settings and conjunctions by leave-one-out, phases by cross-validation.

The model that leave-one-out chooses is compared with models with phases on the same splits.
"""

from itertools import product

import numpy as np

from stc import SparseTensorClassifier, SparseTensorClassifierCV

shapes, colours, either = "round square octagon", "red yellow green blue", "yes no"
kinds = {"head": shapes, "body": shapes, "smiles": either, "holds": "sword balloon flag"}
kinds |= {"jacket": colours, "tie": either}
robots = [dict(zip(kinds, row, strict=True)) for row in product(*map(str.split, kinds.values()))]
robots = [robots[k] for k in np.random.default_rng(0).permutation(len(robots))]
y = ["friend" if r["head"] == r["body"] or r["jacket"] == "red" else "foe" for r in robots]
train, test = (robots[:216], y[:216]), (robots[216:], y[216:])

search = SparseTensorClassifierCV(phases=None).fit(*train)
print("conjunctions of", ", ".join(map(" and ".join, search.best_params_["interactions"])), end=" ")
print(f"with test accuracy {search.score(*test):.2f}")

# Phases: a number or a list of penalties. Any scorer can be used.
given = {"power": 0.5, "balance": 1, "entropy": 0, "interactions": 1, "phases": 0.25}
search = SparseTensorClassifierCV(**given, scoring="neg_log_loss").fit(*train)
scores = search.cv_results_["mean_test_score"]
print(f"phases reduce the log-loss to less than a third: {scores.max() > scores[0] / 3}")

# The result is an ordinary model; best_params_ has its parameters.
again = SparseTensorClassifier(**search.best_params_).fit(*train)
print((again.predict(robots) == search.best_estimator_.predict(robots)).all())

# prints:
# conjunctions of body and head and jacket with test accuracy 1.00
# phases reduce the log-loss to less than a third: True
# True
