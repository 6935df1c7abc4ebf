"""Online learning: learn in batches, unlearn items, merge models trained separately.

For streams, for the right to be forgotten, and for data that cannot be moved. Each result is
exactly the model of one fit on the same items.
"""

from stc import SparseTensorClassifier

model = SparseTensorClassifier()
model.partial_fit([{"legs": 4}, {"legs": 2}], ["mammal", "bird"])
# A new class (fish), a new value (legs=0) and a new attribute (fins) are accepted.
model.partial_fit([{"legs": 0, "fins": True}], ["fish"])
print("learnt:   ", model.classes_.tolist(), model.get_feature_names_out().tolist())

model.unlearn([{"legs": 2}], ["bird"])  # remove the bird
print("unlearnt: ", model.classes_.tolist(), model.get_feature_names_out().tolist())
again = SparseTensorClassifier().fit([{"legs": 4}, {"legs": 0, "fins": True}], ["mammal", "fish"])
print("no residue:", model.corpus_.equals(again.corpus_))
try:
    model.unlearn([{"legs": 8}], ["fish"])
except ValueError as error:
    print("refused:  ", error)

# Two hospitals train two models and share the models only.
north = SparseTensorClassifier().fit([{"cough": "dry"}, {"fever": "high"}], ["cold", "flu"])
south = SparseTensorClassifier().fit([{"rash": "red"}], ["measles"])
both = north + south  # a new model; north and south are unchanged
print("added:    ", both.classes_.tolist(), "north still:", north.classes_.tolist())
print("merged:   ", south.merge(north).corpus_.equals(both.corpus_))  # in place, in any order

# prints:
# learnt:    ['bird', 'fish', 'mammal'] ['legs=4', 'legs=2', 'legs=0', 'fins=True']
# unlearnt:  ['fish', 'mammal'] ['legs=4', 'legs=0', 'fins=True']
# no residue: True
# refused:   item 0: cannot unlearn legs=8, which was never learnt
# added:     ['cold', 'flu', 'measles'] north still: ['cold', 'flu']
# merged:    True
