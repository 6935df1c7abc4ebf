"""Interactions: conjunctions of values as features, such as `body=round and head=round`.

Use them for rules that combine attributes, with explanations that show it. Conjunctions are many:
by default those that pay are chosen; max_features keeps those with the highest entropy weight.
"""

from itertools import product

import numpy as np

from stc import SparseTensorClassifier

shapes, hands, colours = "round square octagon", "sword balloon flag", "red yellow green blue"
kinds = {"head": shapes, "body": shapes, "holds": hands, "jacket": colours, "tie": "yes no"}
robots = [dict(zip(kinds, row, strict=True)) for row in product(*map(str.split, kinds.values()))]
robots = [robots[k] for k in np.random.default_rng(0).permutation(len(robots))]
y = ["friend" if r["head"] == r["body"] or r["jacket"] == "red" else "foe" for r in robots]
half = len(robots) // 2

for options in (
    {},  # the default: chosen by leave-one-out
    {"interactions": 1},  # single values
    {"interactions": 2},  # and all pairs
    {"interactions": 2, "max_features": 9},  # and the 9 most informative pairs
):
    model = SparseTensorClassifier(**options).fit(robots[:half], y[:half])
    accuracy, size = model.score(robots[half:], y[half:]), len(model.get_feature_names_out())
    print(f"{options}: {size} features, accuracy {accuracy:.2f}")

print([name for name in model.get_feature_names_out() if "head" in name and "body" in name])
print(model.explain_local([{"head": "round", "body": "round", "jacket": "blue"}]))

# prints:
# {}: 104 features, accuracy 1.00
# {'interactions': 1}: 15 features, accuracy 0.75
# {'interactions': 2}: 104 features, accuracy 1.00
# {'interactions': 2, 'max_features': 9}: 24 features, accuracy 1.00
# ['body=round and head=round', 'body=square and head=square', 'body=octagon and head=octagon']
# friend, 1.00: because body=round and head=round (85 %), jacket=blue (6 %), body=round (6 %)
