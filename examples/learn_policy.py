"""Learning a policy: which combinations of dimensions to use, and what to back off to.

The agent starts from the class frequencies. Step by step it adds the dimension that predicts
held-out items best, and stops when none improves the result. Noise is left out.
"""

import numpy as np

from stc import PolicyAgent, SparseTensorClassifier, load_zoo

X, y = load_zoo()
noise = np.random.default_rng(0).integers(5, size=(2, len(X)))
X = X.with_columns(ticket=noise[0], keeper=noise[1])  # two columns of noise

agent = PolicyAgent(loss="log", iterations=20, max_dimensions=4)  # "learn" is PolicyAgent()
model = SparseTensorClassifier(dimensions="each", policy=agent).fit(X, y)
print(*model.policy_, sep="\n")

# The mean reward (negative loss) of each state that was tried, and the number of predictions.
values = model.policy_values_.sort("value", descending=True)
single = values.filter(values["state"].list.len() == 1)
for (state,), value, _, items in single[[0, 1, -2, -1]].rows():
    print(f"{state}: {value:.2f} on {items} predictions")

# Prior knowledge: a policy to start from, and dimensions to try first.
known = PolicyAgent(loss="log", start=[["milk"]], priorities=["eggs", "tail"], max_dimensions=3)
print(model.set_params(policy=known).fit(X, y).policy_)

# prints:
# ['feathers', 'milk', 'backbone', 'fins']
# ['feathers', 'milk', 'backbone']
# ['feathers', 'milk']
# ['milk']
# []
# milk: -1.07 on 605 predictions
# feathers: -1.44 on 605 predictions
# ticket: -7.61 on 605 predictions
# keeper: -8.25 on 605 predictions
# [['milk', 'toothed', 'tail'], ['milk', 'tail'], ['milk'], []]
