"""Explanations: a prediction is a sum of named contributions.

Explanations are exact: they show the terms of the score.
"""

from stc import STC_Q, SparseTensorClassifier, load_zoo

X, y, names = load_zoo(names=True)
model = SparseTensorClassifier(**STC_Q).fit(X, y)  # the settings of the paper: no conjunctions

some = [names.to_list().index(animal) for animal in ("dolphin", "penguin", "newt")]
print(model.explain_local(X[some]))  # a sentence per item, with the three strongest reasons

# The same as a table, one row per contribution.
table = model.explain_local(X[some]).to_polars()
print(table.columns)
for row in table.filter(table["item"] == 2).head(3).to_dicts():
    animal = names[some[row["item"]]]
    print(f"  {animal}: {row['feature']} adds {row['contribution']:.4f}, {row['share']:.1%}")

# Contributions add up. With these parameters they add up to the probability itself.
model.set_params(power=1, balance=0, entropy=0)  # acts at once, without refitting
why = model.explain_local(X[some])
total = why.to_polars()["contribution"].sum()
print(f"sum of contributions {total:.6f} = sum of probabilities {why.probabilities.sum():.6f}")

# prints:
# Mammal, 0.45: because milk=1 (31 %), eggs=0 (19 %), toothed=1 (9 %)
# Bird, 0.59: because feathers=1 (31 %), legs=2 (25 %), toothed=0 (10 %)
# Amphibian, 0.28: because legs=4 (22 %), toothed=1 (16 %), aquatic=1 (11 %)
# ['item', 'class', 'attribute', 'value', 'contribution', 'share', 'phase', 'effect', 'feature']
#   newt: legs=4 adds 0.0249, 22.3%
#   newt: toothed=1 adds 0.0181, 16.3%
#   newt: aquatic=1 adds 0.0121, 10.9%
# sum of contributions 1.172304 = sum of probabilities 1.172304
