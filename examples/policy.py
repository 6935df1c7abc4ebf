"""A given policy: back-off from specific to general combinations.

Each item is predicted by the first set of dimensions that knows its combination of values; if none
does, by the class frequencies.
"""

from stc import SparseTensorClassifier

parcels = [
    {"city": "Oslo", "country": "no", "goods": "books"},
    {"city": "Oslo", "country": "no", "goods": "glass"},
    {"city": "Bergen", "country": "no", "goods": "glass"},
    {"city": "Bern", "country": "ch", "goods": "glass"},
]
carrier = ["train", "ship", "ship", "van"]
policy = [["city", "goods"], ["country", "goods"], ["goods"], []]  # []: the class frequencies
model = SparseTensorClassifier(dimensions="each", policy=policy).fit(parcels, carrier)

new = [
    {"city": "Oslo", "country": "no", "goods": "books"},
    {"city": "Voss", "country": "no", "goods": "glass"},
    {"city": "Graz", "country": "at", "goods": "books"},
    {"city": "Graz", "country": "at", "goods": "fruit"},
]
for used, why in zip(model.policy_used(new), model.explain_local(new).sentences(), strict=True):
    print(used, why)

# A policy acts at prediction time: learnt sets can be used in any order, without refitting.
model.set_params(policy=[["goods"]])
print(model.policy_, model.predict(new).tolist())

# prints:
# ('city', 'goods') train, 1.00: because city=Oslo & goods=books (100 %)
# ('country', 'goods') ship, 1.00: because country=no & goods=glass (100 %)
# ('goods',) train, 1.00: because goods=books (100 %)
# () ship, 0.50: no combination in it was seen before; the class frequencies decide
# [['goods'], []] ['train', 'ship', 'train', 'ship']
