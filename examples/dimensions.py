"""Dimensions: features that are combinations of values.

Roads into town are jammed in the morning, roads out of town in the evening: neither the way nor
the hour is informative alone. With several dimensions a feature is a tuple of values.
"""

from itertools import product

from stc import SparseTensorClassifier

values = product(("in", "out"), ("morning", "evening"), ("rain", "sun"))
roads = [{"way": way, "hour": hour, "sky": sky} for way, hour, sky in values]
state = ["jam", "jam", "free", "free", "free", "free", "jam", "jam"]
new = [roads[0], {"way": "out", "hour": "evening", "sky": "fog"}]

for dimensions in (
    None,  # one dimension: each value is a feature
    "each",  # a tuple has a value of every attribute; fog is unknown
    [["way"], ["hour", "sky"]],  # groups: a tuple has a way, and an hour or a sky
):
    model = SparseTensorClassifier(dimensions=dimensions).fit(roads, state)
    print(dimensions, *model.explain_local(new).sentences(), sep="\n  ")

# In tables, attribute and value are lists with one entry per dimension.
model.set_params(dimensions={"way": "way", "time": ["hour"]})  # named; sky is not used
print(model.fit(roads, state).explain_local(new).to_polars()["attribute", "value", "share"].row(0))

# prints:
# None
#   free, 0.50: what is known of it says nothing; the class frequencies decide
#   free, 0.50: what is known of it says nothing; the class frequencies decide
# each
#   jam, 1.00: because way=in & hour=morning & sky=rain (100 %)
#   free, 0.50: no combination in it was seen before; the class frequencies decide
# [['way'], ['hour', 'sky']]
#   jam, 1.00: because way=in & hour=morning (100 %)
#   jam, 1.00: because way=out & hour=evening (100 %)
# (['way', 'hour'], ['in', 'morning'], 1.0)
