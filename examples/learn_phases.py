"""Learning phases: which contributions agree and which cancel, found by gradient.

A robot is a friend if its head has the shape of its body, or if its jacket is red (the first of the
Monks problems). No single value can say "the same shape", but values can cancel each other.
"""

from itertools import product

import numpy as np

from stc import SparseTensorClassifier

shapes, colours, either = "round square octagon", "red yellow green blue", "yes no"
kinds = {"head": shapes, "body": shapes, "smiles": either, "holds": "sword balloon flag"}
kinds |= {"jacket": colours, "tie": either}
robots = [dict(zip(kinds, own, strict=True)) for own in product(*map(str.split, kinds.values()))]
robots = [robots[k] for k in np.random.default_rng(0).permutation(len(robots))]
y = ["friend" if r["head"] == r["body"] or r["jacket"] == "red" else "foe" for r in robots]
half = len(robots) // 2

# entropy=0: with entropy, values as frequent among friends as among foes would have no weight.
model = SparseTensorClassifier(entropy=0, phases="learn").fit(robots[:half], y[:half])
learnt = model.score(robots[half:], y[half:])
plain = model.set_params(phases={}).score(robots[half:], y[half:])  # {}: without them
print(f"{half} robots to learn from, {half} others: {plain:.2f} without, {learnt:.2f} with phases")

# What was tried, a row a step: items held out chose the penalty, and when to stop.
loss = model.phase_history_["held_out_loss"]
print(f"held-out loss at the start {loss[0]:.1f}, lowest {loss.min():.1f}")

# Shares are signed: below 0 is what works against the rest. Those of an item sum to 1.
shares = model.set_params(phases=None).explain(robots[half:]).to_polars()["share"]  # None: learnt
print(f"some are below 0: {(shares < 0).any()}; mean sum of an item: {shares.sum() / half:.2f}")

# prints:
# 216 robots to learn from, 216 others: 0.74 without, 1.00 with phases
# held-out loss at the start 0.6, lowest 0.0
# some are below 0: True; mean sum of an item: 1.00
