"""Online: learn as data comes, forget what must be forgotten, add models trained apart.

For streams, for the right to be forgotten, and for data that may not leave its place. Each result
is exactly the model that one fit on the same items would give.
"""

from stc import SparseTensorClassifier

model = SparseTensorClassifier()
model.partial_fit([{"legs": 4}, {"legs": 2}], ["mammal", "bird"])
# A new class (fish), a new value (legs=0) and a new attribute (fins) may come at any time.
model.partial_fit([{"legs": 0, "fins": True}], ["fish"])
print("learnt:   ", model.classes_.tolist(), model.get_feature_names_out().tolist())

model.unlearn([{"legs": 2}], ["bird"])  # the bird's owner asks us to forget it
print("unlearnt: ", model.classes_.tolist(), model.get_feature_names_out().tolist())
again = SparseTensorClassifier().fit([{"legs": 4}, {"legs": 0, "fins": True}], ["mammal", "fish"])
print("no residue:", model.corpus_.equals(again.corpus_))
try:
    model.unlearn([{"legs": 8}], ["fish"])
except ValueError as error:
    print("refused:  ", error)

# Two hospitals, two models; only the models travel.
north = SparseTensorClassifier().fit([{"cough": "dry"}, {"fever": "high"}], ["cold", "flu"])
south = SparseTensorClassifier().fit([{"rash": "red"}], ["measles"])
both = north + south  # a new model; north and south stay as they were
print("added:    ", both.classes_.tolist(), "north still:", north.classes_.tolist())
print("merged:   ", south.merge(north).corpus_.equals(both.corpus_))  # in place, in any order

# prints:
# learnt:    ['bird', 'fish', 'mammal'] ['legs=4', 'legs=2', 'legs=0', 'fins=True']
# unlearnt:  ['fish', 'mammal'] ['legs=4', 'legs=0', 'fins=True']
# no residue: True
# refused:   cannot unlearn: item 0 has legs=8, never learnt
# added:     ['cold', 'flu', 'measles'] north still: ['cold', 'flu']
# merged:    True
