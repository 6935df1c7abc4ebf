"""Learning a policy: find out which dimensions, in which combination, are worth asking.

The agent starts from the class frequencies. Step by step it adds the dimension that predicts items
held out best, and stops when none makes it better. Noise stays out.
"""

import numpy as np

from stc import PolicyAgent, SparseTensorClassifier, load_zoo

X, y = load_zoo()
noise = np.random.default_rng(0).integers(5, size=(2, len(X)))
X = X.with_columns(ticket=noise[0], keeper=noise[1])  # two columns that tell nothing

agent = PolicyAgent(loss="log", iterations=20, max_dimensions=4)  # "learn" is PolicyAgent()
model = SparseTensorClassifier(dimensions="each", policy=agent).fit(X, y)
print(*model.policy_, sep="\n")

# What was tried, on how many predictions, and how good it was: the mean reward, minus the loss.
values = model.policy_values_.sort("value", descending=True)
single = values.filter(values["state"].list.len() == 1)
for (state,), value, _, items in single[[0, 1, -2, -1]].rows():
    print(f"{state}: {value:.2f} on {items} predictions")

# Prior knowledge: a set known to be good to start from, dimensions to try before all others.
known = PolicyAgent(loss="log", start=[["milk"]], priorities=["eggs", "tail"], max_dimensions=3)
print(model.set_params(policy=known).fit(X, y).policy_)

# prints:
# ['milk', 'backbone', 'fins', 'legs']
# ['milk', 'fins', 'legs']
# ['milk', 'legs']
# ['milk']
# []
# milk: -1.07 on 605 predictions
# legs: -1.28 on 605 predictions
# ticket: -4.22 on 605 predictions
# keeper: -4.41 on 605 predictions
# [['feathers', 'milk', 'tail'], ['milk', 'tail'], ['milk'], []]
